"""Captures that tests write packet by packet, and a command with all of the program around it."""

from __future__ import annotations

import io
import struct
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, NamedTuple

import pytest

from roamlab import cli

if TYPE_CHECKING:
    from pathlib import Path


class Done(NamedTuple):
    """How the command ended."""

    code: int
    out: str
    err: str


def called(*words: str | Path) -> Done:
    """A command, with all of the program around it."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["roamlab", *map(str, words)])
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
    return Done(code, out.getvalue(), err.getvalue())


def pcap(path: Path, *packets: bytes) -> Path:
    """A capture of raw IP."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)
    rows = (struct.pack("<IIII", at, 0, len(data), len(data)) + data for at, data in enumerate(packets))
    path.write_bytes(head + b"".join(rows))
    return path


def udp(content: bytes, port: int = 443) -> bytes:
    """A datagram over IPv4."""
    ends = bytes([10, 0, 0, 1]) + bytes([10, 0, 0, 2])
    head = struct.pack("!BBHHHBBH", 0x45, 0, 28 + len(content), 1, 0, 64, 17, 0) + ends
    return head + struct.pack("!HHHH", 5000, port, 8 + len(content), 0) + content
