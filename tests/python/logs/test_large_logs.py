"""Large logs: what a command keeps of each row is small, and a log of cells in the order of time is not kept."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

FEW, MANY = 60_000, 360_000
"""A file is read in pieces of 1 MB: both have several."""


def _cells(row: int) -> str:
    return f"{row / 100:.2f},{row // 5000 % 7},{-90 - row % 9},47.12345,8.12345,{row % 50}.5\n"


def _pings(row: int) -> str:
    sent = 1_700_000_000 + row / 100 + 5 * (row > 100)
    return f"[{sent:.6f}] 64 bytes from 10.0.0.1: icmp_seq={row % 65536} ttl=57 time={20 + row % 9}.5 ms\n"


CASES: dict[str, tuple[str, Callable[[int], str], list[str], float]] = {
    "cells": (
        "time_s,cell,level,latitude,longitude,rate_mbit_s\n",
        _cells,
        ["schedule", "--host", "car", "--column", "cell=cell", "--column", "level_db=level"],
        4.0,
    ),
    "rates": (
        "time_s,cell,level,latitude,longitude,rate_mbit_s\n",
        _cells,
        ["schedule", "--as", "rate"],
        60.0,
    ),
    "pings": ("", _pings, ["schedule", "--as", "delay"], 60.0),
    "durations": ("gap_ms,cell\n", lambda row: f"{row % 1000}.5,{row % 7}\n", ["fit"], 150.0),
}
"""Of each the first line, a row by its number, the command, and the most bytes that a further row may take."""


_PEAK = """
import atexit, sys
from pathlib import Path
from roamlab.cli import main
# The peak of this program; that of getrusage is the larger one of it and of the program that started it.
peak = lambda: next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
atexit.register(lambda: print(peak(), file=sys.stderr))
main()
"""


def _peak(log: Path, command: list[str]) -> int:
    """The most memory in bytes that the command takes."""
    child = subprocess.run(
        [sys.executable, "-c", _PEAK, *command, str(log)], capture_output=True, text=True, check=True
    )
    return int(child.stderr.split()[-2]) * 1024


@pytest.mark.parametrize("name", CASES)
def test_a_further_row_takes_few_bytes(name: str, tmp_path: Path) -> None:
    first, row, command, most = CASES[name]
    peaks = []
    for rows in (FEW, MANY):
        log = tmp_path / f"{rows}.csv"
        log.write_text(first + "".join(row(at) for at in range(rows)), encoding="ascii")
        peaks.append(_peak(log, command))
    assert (peaks[1] - peaks[0]) / (MANY - FEW) < most
