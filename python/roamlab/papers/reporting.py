"""Common parts of the papers' reports."""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING, Any

from roamlab import _roamlab
from roamlab.papers.deciding import each
from roamlab.papers.runs import SEED
from roamlab.papers.texts import texts
from roamlab.showing.page import Measured, Table
from roamlab.showing.report import Assumption, Parameter, Report
from roamlab.statistics.stats import student

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from roamlab.base.figures import SavedFigure
    from roamlab.papers import Session
    from roamlab.papers.deciding import Pick
    from roamlab.papers.spaces import Space
    from roamlab.showing.page import Row
    from roamlab.showing.report import Handover
    from roamlab.statistics.claims import Claim, FinalVerdict


_SAID: dict[FinalVerdict, str] = {
    "holds": "holds",
    "depends": "depends on a choice that the paper leaves open",
    "contradicted": "is contradicted",
    "undecided": "is undecided",
}


def headline(claim: Claim, name: str = "The paper's main claim") -> str:
    """The final verdict on a claim, in one sentence."""
    return f"{name} {_SAID[claim.final]}: {claim.statement}"


def report(
    paper: str,
    session: Session,
    decided: Sequence[Claim],
    tables: Mapping[str, Table],
    figures: Sequence[SavedFigure],
    few: int,
    default: object,
    handovers: Sequence[Handover] = (),
) -> Report:
    """A paper's report, with its texts. Writes the tables as files of these names.

    `few`: runs of what varies little, or is not in the paper; `default`: the default interpretation.
    """
    for name, table in tables.items():
        write_csv(table, session.tables / f"{name}.csv")
    of = texts(paper)
    (main,) = (claim for claim in decided if claim.id == of.main)
    return Report(
        title=of.title,
        paper=of.paper,
        headline=headline(main),
        main=of.main,
        lead=of.lead,
        shows=of.shows,
        claims=decided,
        figures=figures,
        handovers=handovers,
        tables=list(tables.values()),
        parameters=[Parameter(*row) for row in of.parameters],
        assumptions=[Assumption(*row) for row in of.assumptions],
        origin=(
            ("engine build", _roamlab.build_hash()),
            ("seed", str(SEED)),
            ("runs of each random experiment of the paper", str(session.runs)),
            ("runs of what varies little or is not in the paper", str(few)),
            ("default interpretation", str(default)),
        ),
    )


def search_report(
    space: Space[Any],
    session: Session,
    title: str,
    paper: str,
    headline: str,
    tables: Mapping[str, Table],
    origin: dict[str, object],
    **parts: Any,
) -> Report:
    """The report of a search of a space. Writes the tables as files of these names; `parts`: further fields."""
    for name, table in tables.items():
        write_csv(table, session.tables / f"{name}.csv")
    made = {"engine build": _roamlab.build_hash(), "seed": SEED} | origin
    fields: dict[str, Any] = {"claims": (), "figures": (), "parameters": (), "assumptions": ()}
    return Report(
        title=f"{space.title}: {title}",
        paper=paper,
        headline=headline,
        tables=list(tables.values()),
        origin=[(what, str(value)) for what, value in made.items()],
        **fields | parts,
    )


def mean_cell(values: Sequence[float]) -> Measured:
    """A mean with its interval."""
    return Measured(student(values))


def mean(by: Mapping[Any, Sequence[Any]], pick: Pick) -> Callable[[Any], Measured]:
    """A column of `table_of`: the mean of a value of the runs that `by` has for a row."""
    return lambda key: mean_cell(each(by[key], pick))


def table_of(
    title: str,
    keys: Sequence[str],
    rows: Iterable[tuple[Sequence[str], Any]],
    columns: Mapping[str, Callable[[Any], str | Measured]],
) -> Table:
    """A table of rows, each given by its cells under the headings `keys` and by what its `columns` are computed of."""
    cells: list[Row] = [(*names, *(cell(key) for cell in columns.values())) for names, key in rows]
    return Table(title, (*keys, *columns), cells)


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
