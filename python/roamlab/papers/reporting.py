"""What the papers' reports have in common."""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING

from roamlab import _roamlab
from roamlab.papers.runs import SEED
from roamlab.showing.page import Measured
from roamlab.showing.report import Assumption
from roamlab.statistics.stats import student

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from roamlab.showing.page import Table
    from roamlab.statistics.claims import Claim, Verdict


def origin(runs: int, few: int, default: str) -> tuple[tuple[str, str], ...]:
    """What a report was made with; `few`: runs of what varies little, or stands beside the paper's experiments."""
    return (
        ("engine build", _roamlab.build_hash()),
        ("seed", str(SEED)),
        ("runs of each random experiment of the paper", str(runs)),
        ("runs of what varies little or is not in the paper", str(few)),
        ("default reading", default),
    )


_SAID: dict[Verdict, str] = {
    "holds": "The paper's main claim holds",
    "contradicted": "The paper's main claim is contradicted",
    "undecided": "The paper's main claim is undecided",
}


def headline(decided: Sequence[Claim], main: str) -> str:
    """What became of the main claim, by its name, in one sentence."""
    (claim,) = (each for each in decided if each.id == main)
    return f"{_SAID[claim.verdict]}: {claim.statement}"


NS2 = Assumption(
    "which ns-2, which RTO floor",
    "profile ns2-2009, 200 ms; 1 s in the search",
    "the paper names neither",
)
STARTS = Assumption(
    "starts of the flows",
    "uniform in 0.5 to 1.5 s, once all hosts are registered",
    "A12: not in the paper",
)


def mean_cell(values: Sequence[float]) -> Measured:
    """A mean with its interval."""
    return Measured(student(values))


def write_csv(table: Table, path: Path) -> None:
    """The table as a file; a column with intervals becomes four: mean, low, high and n, the number of runs.

    One run alone has no bounds: they are empty.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    spread = [any(isinstance(cell, Measured) for cell in column) for column in zip(*table.rows, strict=True)]
    spread = spread or [False] * len(table.headings)

    def line(row: Sequence[str | Measured]) -> Iterator[str]:
        for cell, several in zip(row, spread, strict=True):
            if isinstance(cell, Measured):
                found = cell.interval
                yield from (_plain(number) for number in (found.effect, found.low, found.high))
                yield str(found.runs)
            else:
                yield from (cell, "", "", "") if several else (cell,)

    def heading(name: str, several: bool) -> list[str]:
        return [f"{name} {part}" for part in ("mean", "low", "high", "n")] if several else [name]

    first = [
        part for name, several in zip(table.headings, spread, strict=True) for part in heading(name, several)
    ]
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([first, *map(line, table.rows)])


def _plain(number: float) -> str:
    return repr(number) if math.isfinite(number) else ""
