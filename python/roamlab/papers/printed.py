"""The numbers that a paper prints, and ours: the distance of a reproduction is a separate result.

A paper's package has them as data, `printed.toml`: a list `number`, each with

* `what`, `where` (in the paper), `unit`, and `value`, a number or the two ends of a range;
* the place of our number in the report: `claim` and `measure`, or `table`, the `row`'s first cells and the
`column`. `factor` (default 1) converts it to the unit;
* `of`: the claim that it belongs to, where it is no claim's measure;
* `near`: a change that would bring ours near, reported where they are apart by more than `APART`; with
`under`, the place of the number then, given as ours is.
"""

from __future__ import annotations

import math
import tomllib
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from roamlab.base.quantities import named
from roamlab.showing.page import Measured, Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roamlab.showing.page import Row
    from roamlab.showing.report import Report

DATA = "printed.toml"
APART = 1.5
"""Beyond this ratio, to either side, the report has what would bring the two near."""


@dataclass(frozen=True)
class Printed:
    """A number that a paper prints; `low` and `high` are the ends of a range, or the same."""

    what: str
    where: str
    low: float
    high: float
    unit: str
    ours: Mapping[str, Any]
    """Place of our number."""
    factor: float
    near: str
    under: Mapping[str, Any] | None
    """Place of our number then."""
    claim: str
    """Whose card shows it."""

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> Printed:
        """From an entry of the data."""
        value = entry["value"]
        low, high = value if isinstance(value, list) else (value, value)
        ours = {key: entry[key] for key in ("claim", "measure", "table", "row", "column") if key in entry}
        for place in filter(None, (ours, entry.get("under"))):
            if place.keys() not in ({"claim", "measure"}, {"table", "row", "column"}):
                raise ValueError(
                    f"{entry['what']}: a number is a claim's measure, or a cell of a table: {place}"
                )
        return cls(
            entry["what"],
            entry["where"],
            float(low),
            float(high),
            entry["unit"],
            ours,
            entry.get("factor", 1.0),
            entry.get("near", ""),
            entry.get("under"),
            entry["of"] if "of" in entry else entry["claim"],
        )

    def ratio(self, ours: float) -> float:
        """Ours over the printed number; over the nearer end of a range, and 1 within it."""
        if self.low <= ours <= self.high:
            return 1.0
        end = self.low if ours < self.low else self.high
        return ours / end if end else math.inf

    def __str__(self) -> str:
        return f"{self.low:g}" if self.low == self.high else f"{self.low:g} to {self.high:g}"


def numbers(paper: str) -> list[Printed]:
    """Printed numbers of a paper; empty if its package has no such data."""
    data = files("roamlab.papers") / paper / DATA
    if not data.is_file():
        return []
    return [Printed.of(entry) for entry in tomllib.loads(data.read_text(encoding="utf-8"))["number"]]


def table(printed: Sequence[Printed], found: Report) -> Table:
    """The paper's numbers and ours, with the ratio. Raises `LookupError` if the report has no such number."""
    rows: list[Row] = []
    far = 0
    for number in printed:
        ours, cell = _look_up(number, number.ours, found)
        ratio = number.ratio(ours)
        near = ""
        if not 1 / APART <= ratio <= APART:
            far += 1
            near = number.near or "not known"
            if number.under is not None:
                near += f": {_look_up(number, number.under, found)[1]}"
        rows.append((named(number.what, number.unit), number.where, str(number), cell, f"{ratio:.2g}", near))
    title = f"Numbers of the paper and ours: {far} of {len(rows)} apart by more than a factor of {APART:g}"
    headings = ("number", "where", "the paper's", "ours", "ours / the paper's", "what would bring them near")
    return Table(title, headings, rows)


def within(printed: Sequence[Printed], found: Report) -> list[Printed]:
    """Those of these numbers that a part of a report has, each with what would bring it near if the part has that."""

    def has(number: Printed, place: Mapping[str, Any]) -> bool:
        with suppress(LookupError):
            _look_up(number, place, found)
            return True
        return False

    return [
        replace(number, under=number.under if number.under and has(number, number.under) else None)
        for number in printed
        if has(number, number.ours)
    ]


def _look_up(number: Printed, place: Mapping[str, Any], found: Report) -> tuple[float, str]:
    """A number of the report in the unit of the printed one, and the same for people."""
    cells: list[str | Measured]
    if "claim" in place:
        cells = [
            Measured(measure.measured)
            for claim in found.claims
            if claim.id == place["claim"]
            for measure in claim.measures
            if measure.what == place["measure"]
        ]
    else:
        cells = [
            row[of.headings.index(place["column"])]
            for of in found.tables
            if of.title == place["table"]
            for row in of.rows
            if [str(each) for each in row[: len(place["row"])]] == place["row"]
        ]
    if len(cells) != 1:
        raise LookupError(f"{number.what}: {len(cells)} numbers of the report are at {dict(place)}")
    (cell,) = cells
    if isinstance(cell, str):
        value = float(cell) * number.factor
        return value, f"{value:.4g}"
    effect, low, high = (
        bound * number.factor for bound in (cell.interval.effect, cell.interval.low, cell.interval.high)
    )
    if low == high or math.isinf(low):
        return effect, f"{effect:.4g}"
    return effect, f"{effect:.4g} ({low:.4g} … {high:.4g})"
