"""Common parts of the papers' reports."""

from __future__ import annotations

import csv
import math
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from roamlab import _roamlab
from roamlab.base.errors import BadInput
from roamlab.papers import texts
from roamlab.papers.deciding import each
from roamlab.papers.drawing import draw_all
from roamlab.papers.runs import SEED, NotMade
from roamlab.showing.page import Measured, Table
from roamlab.showing.report import Assumption, Parameter, Report
from roamlab.statistics.claims import FINAL_VERDICTS, verb
from roamlab.statistics.stats import student

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from roamlab.base.figures import SavedFigure
    from roamlab.papers import Part, Session
    from roamlab.papers.deciding import Pick
    from roamlab.papers.runs import Batch
    from roamlab.papers.spaces import Space
    from roamlab.showing.page import Row
    from roamlab.showing.report import Handover
    from roamlab.statistics.claims import Claim, FinalVerdict


T = TypeVar("T")

_SAID: dict[FinalVerdict, str] = {
    "holds": "holds",
    "depends": "depends on a choice that the paper leaves open",
    "contradicted": "is contradicted",
    "undecided": "is undecided",
}


def headline(claims: Sequence[Claim], *, abstract: bool = True) -> str:
    """The final verdicts on these claims, of the paper's abstract or not, in one sentence."""
    of = "of the paper's abstract " if abstract else ""
    if len(claims) == 1:
        (claim,) = claims
        name = f"The claim {of or claim.id + ' '}"
        return f"{name}{_SAID[claim.final]}: {claim.statement}"
    found = Counter(claim.final for claim in claims)
    said = ", ".join(f"{found[each]} {verb(each, found[each])}" for each in FINAL_VERDICTS if found[each])
    return f"{len(claims)} claims {of}were tested: {said}"


@dataclass(frozen=True)
class Parts:
    """Parts that a paper's report may have, by names: each claim, table, figure and chart of a handover as a function.

    A part of a reproduction calls only what it shows.
    """

    claims: Mapping[str, Callable[[], Claim]]
    tables: Mapping[str, Callable[[], Table]]
    figures: Mapping[str, Callable[[], SavedFigure]]
    handovers: Mapping[str, Callable[[], Handover]] = field(default_factory=dict)


def report(paper: str, session: Session, batch: Batch, parts: Parts, few: int, default: object) -> Report:
    """A paper's report, with its texts, or the part of it that the session asks for. Writes the tables as files.

    `few`: runs of what varies little, or is not in the paper; `default`: the interpretation, mostly the default.
    Raises `BadInput` for a figure that the paper's reproduction does not have.
    """
    of = texts(paper)
    made = _whole(parts) if session.part is None else _part(paper, parts, session.part, batch)
    for name, table in made.tables.items():
        write_csv(table, session.tables / f"{name}.csv")
    ids = {claim.id for claim in made.claims}
    main = [claim for claim in made.claims if claim.id in of.main] or made.claims[:1]
    drawn = [figure.name for figure in made.figures]
    names = [*drawn, *(each.chart.name for each in made.handovers)]
    shows = {
        claim: tuple(figure for figure in figures if figure in names)
        for claim, figures in of.shows.items()
        if claim in ids
    }
    said = headline(main, abstract=session.part is None) if main else f"{of.title}: {', '.join(names)}"
    return Report(
        title=of.title,
        paper=of.paper,
        headline=said,
        main=[claim.id for claim in main],
        lead=of.lead if of.lead in drawn else "",
        shows=shows,
        claims=made.claims,
        figures=made.figures,
        handovers=made.handovers,
        tables=list(made.tables.values()),
        parameters=[Parameter(*row) for row in of.parameters],
        assumptions=[Assumption(*row) for row in of.assumptions],
        origin=(
            ("engine build", _roamlab.build_hash()),
            ("seed", str(SEED)),
            ("runs of each random experiment of the paper", str(session.runs)),
            ("runs of what varies little or is not in the paper", str(few)),
            ("interpretation" if session.setting else "default interpretation", str(default)),
        ),
        partial=session.part is not None,
    )


@dataclass(frozen=True)
class _Made:
    claims: list[Claim]
    tables: Mapping[str, Table]
    figures: list[SavedFigure]
    handovers: list[Handover]


def _whole(parts: Parts) -> _Made:
    return _Made(
        [of() for of in parts.claims.values()],
        {name: of() for name, of in parts.tables.items()},
        draw_all(list(parts.figures.values())),
        [of() for of in parts.handovers.values()],
    )


def _part(paper: str, parts: Parts, part: Part, batch: Batch) -> _Made:
    """The part that is asked for, and what else its runs suffice for: its claims or figures, and tables."""
    shows = texts(paper).shows
    if part.figure:
        name = figure_name(paper, part.figure, [*parts.figures, *parts.handovers])
        figures = {of: draw() for of, draw in parts.figures.items() if of == name}
        handovers = {of: draw() for of, draw in parts.handovers.items() if of == name}
        beside = {of: decide for of, decide in parts.claims.items() if name in shows.get(of, ())}
        claims = _suffice(batch, beside)
    else:
        claims = {of: decide() for of, decide in parts.claims.items() if of in part.claims}
        shown = {figure for claim in claims for figure in shows.get(claim, ())}
        figures = _suffice(batch, {of: draw for of, draw in parts.figures.items() if of in shown})
        handovers = _suffice(batch, {of: draw for of, draw in parts.handovers.items() if of in shown})
    return _Made(
        list(claims.values()),
        _suffice(batch, parts.tables),
        list(figures.values()),
        list(handovers.values()),
    )


def _suffice(batch: Batch, parts: Mapping[str, Callable[[], T]]) -> dict[str, T]:
    """Those of these parts that need no other run than those made."""
    found = {}
    with batch.only_made():
        for name, of in parts.items():
            with suppress(NotMade):
                found[name] = of()
    return found


def figure_name(paper: str, asked: str, names: Collection[str]) -> str:
    """A figure's name, which may be written as its number in the paper. Raises `BadInput` if there is none."""
    for name in (asked, f"fig{asked}"):
        if name in names:
            return name
    raise BadInput(
        f"figure {asked}",
        f"the reproduction of {paper} has no such figure",
        expected=f"one of: {', '.join(name.removeprefix('fig') for name in names)}",
        remedy=f"`roamlab reproduce {paper} --figure {next(iter(names)).removeprefix('fig')}`",
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
