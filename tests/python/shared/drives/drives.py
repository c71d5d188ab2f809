"""The drives that the shipped channels are fitted to, and chains of them at several levels.

`python drives.py DRIVE.csv.gz` writes the numbers of `crates/radio/src/channel/tables`. The file has one half of the
drives of a PAM 2025 paper (CC0): a row each 0.5 s and one at each event of a handover.
"""

from __future__ import annotations

import csv
import gzip
import re
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from roamlab.statistics.channels import Chain, fitted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Series = NDArray[np.float64]

STEP_S = 0.5
FAMILIES = {"LTE": "lte", "LTE-A": "lte", "5G-low": "nsa", "5G-mid": "nsa"}
"""The table of each technology of the record; others have none."""
DIRECTIONS = ("down", "up")
LEAST_ROWS = 20
"""A shorter stretch is left out."""
LONGEST_STEP_S = 0.8
"""A longer time between two rows begins another stretch."""
BEFORE = ((4.0, 1.0), (2.5, 0.9), (0.75, 0.8), (0.0, 0.55))
AFTER = ((0.0, 0.45), (0.5, 0.65), (1.0, 0.85), (3.0, 1.0))
"""The default curves of `moves`: times before and behind a move, each with a factor of the rate."""
LEVELS, STATES = 4, 16
CHANGE = 1 / 600
"""The chance of another level in a step; see measured.rs."""
TABLES = Path(__file__).parents[4] / "crates/radio/src/channel/tables"


@dataclass(frozen=True)
class Stretch:
    """Rows of a drive in one family of technologies, without a pause."""

    rates: Series
    """Mbit/s as recorded."""
    moves_s: Series
    """Starts of the drive's handovers, from the first row."""

    def between_moves(self) -> Series:
        """The rates without the effect of moves."""
        return self.rates / factors(len(self.rates), self.moves_s)


def factors(steps: int, moves_s: Series) -> Series:
    """The factor of the rate by the curves of `moves` in the middle of each step; of two the smaller one."""
    found = np.ones(steps)
    middle = (np.arange(steps) + 0.5) * STEP_S
    before, falls = zip(*reversed(BEFORE), strict=True)
    after, rises = zip(*AFTER, strict=True)
    for move in moves_s:
        away = middle - move
        near = np.where(away < 0, np.interp(-away, before, falls), np.interp(away, after, rises))
        found = np.minimum(found, near)
    return found


def read(path: Path) -> dict[tuple[str, str, str], list[dict[str, str]]]:
    """The rows of each drive: its name, direction and operator."""
    rows = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            rows[row["run"], row["direction"], row["operator"]].append(row)
    return rows


def stretches(rows: Sequence[dict[str, str]], family: str) -> list[Stretch]:
    """The stretches of a drive. Rows of handovers and rows without a rate are left out."""
    moves = np.array([float(row["time_s"]) for row in rows if row["handover"] == "Start"])
    found: list[Stretch] = []
    times: list[float] = []
    rates: list[float] = []

    def end() -> None:
        if len(rates) >= LEAST_ROWS:
            found.append(Stretch(np.array(rates), moves - times[0]))
        times.clear()
        rates.clear()

    for row in rows:
        if row["handover"] or not row["throughput_mbps"]:
            continue
        time = float(row["time_s"])
        if times and time - times[-1] > LONGEST_STEP_S:
            end()
        if FAMILIES.get(row["technology"]) != family:
            end()
            continue
        times.append(time)
        rates.append(float(row["throughput_mbps"]))
    end()
    return found


def of_table(
    drives: dict[tuple[str, str, str], list[dict[str, str]]], family: str, direction: str
) -> dict[str, list[list[Stretch]]]:
    """The stretches of each drive, by the name of the run, which two operators share."""
    found = defaultdict(list)
    for (run, way, _), rows in drives.items():
        if way == direction and (made := stretches(rows, family)):
            found[run].append(made)
    return found


def halves(of: dict[str, list[list[Stretch]]]) -> tuple[list[list[Stretch]], list[list[Stretch]]]:
    """Every second run, in the order of their numbers, is one half, and the others are the other one."""

    def numbered(run: str) -> list[tuple[int, str]]:
        return [(int(part) if part.isdigit() else -1, part) for part in re.split(r"(\d+)", run)]

    runs = sorted(of, key=numbered)
    first, second = ([drive for run in runs[at::2] for drive in of[run]] for at in (0, 1))
    return first, second


@dataclass(frozen=True)
class Level:
    """The chain of drives of about one mean rate."""

    share: float
    """Part of the rows."""
    chain: Chain


def levels(drives: Sequence[list[Stretch]], count: int = LEVELS, states: int = STATES) -> list[Level]:
    """Drives in the order of their mean rates, in parts of equally many rows, and a chain of each part."""
    between = [[stretch.between_moves() for stretch in drive] for drive in drives]
    rows = np.array([sum(map(len, drive)) for drive in between])
    order = np.argsort([np.concatenate(drive).mean() for drive in between])
    part = np.minimum((np.cumsum(rows[order]) - rows[order] / 2) * count // rows.sum(), count - 1)
    found = []
    for at in range(count):
        chosen = order[part == at]
        series = [rates for drive in chosen for rates in between[drive]]
        found.append(Level(float(rows[chosen].sum() / rows.sum()), fitted(series, STEP_S, states)))
    return found


def joined(of: Sequence[Level]) -> Chain:
    """One chain that changes its level with the chance `CHANGE`, as measured.rs joins them."""
    entries = np.concatenate([CHANGE * level.share * level.chain.shares() for level in of])
    states = len(of[0].chain.next)
    steps = np.tile(entries, (len(entries), 1))
    for at, level in enumerate(of):
        own = slice(at * states, (at + 1) * states)
        steps[own, own] += (1 - CHANGE) * level.chain.next
    return Chain(STEP_S, np.concatenate([level.chain.rates for level in of]), steps)


def rust(name: str, what: str, of: Sequence[Level]) -> str:
    """The numbers of a table, as source."""

    def line(values: Series, digits: str) -> str:
        told = (f"{value:{digits}}" for value in values)
        return "[" + ", ".join(text if "." in text or "e" in text else f"{text}.0" for text in told) + "]"

    lines = [f"//! {what}: written by tests/python/shared/drives/drives.py.", "", "use super::Level;", ""]
    lines += [f"/// {what}.", f"pub const {name}: [Level; {len(of)}] = ["]
    for level in of:
        lines += [f"Level {{ share: {level.share:.4f},", "rate_mbit_s: ["]
        lines += [line(rates, ".4g") + "," for rates in level.chain.rates]
        lines += ["],", "next: ["]
        lines += [line(row, ".4f") + "," for row in level.chain.next]
        lines += ["]},"]
    return "\n".join([*lines, "];", ""])


def main() -> None:
    """Write the tables; `cargo fmt` then breaks their lines."""
    drives = read(Path(sys.argv[1]))
    for family in ("lte", "nsa"):
        for direction in DIRECTIONS:
            of = of_table(drives, family, direction)
            all_drives = [drive for run in of.values() for drive in run]
            rows = sum(len(stretch.rates) for drive in all_drives for stretch in drive)
            series = sum(len(drive) for drive in all_drives)
            way = {"down": "downloads", "up": "uploads"}[direction]
            what = f"{family.upper()}, {way}: {rows} rows in {series} series of {len(all_drives)} drives"
            made = levels(all_drives)
            path = TABLES / f"{family}_{direction}.rs"
            path.write_text(rust(f"{family}_{direction}".upper(), what, made), encoding="utf-8")
            mean = np.concatenate([s.between_moves() for drive in all_drives for s in drive]).mean()
            print(f"{what}; mean of the record {mean:.1f}, of the chain {joined(made).mean():.1f} Mbit/s")


if __name__ == "__main__":
    main()
