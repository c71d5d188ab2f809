"""A paper, a claim or a figure of it from Python, as `roamlab reproduce` makes it, and under another choice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from roamlab import papers
from roamlab.base.calls import TEXT, Hinted, Kind, called, public
from roamlab.base.errors import BadInput, unknown_name
from roamlab.base.output import refuse_foreign, whole_folder
from roamlab.base.quantities import with_unit
from roamlab.base.screen import escape
from roamlab.papers import reproducing, robustness
from roamlab.records.frame import Frame
from roamlab.running.ensemble import processors

if TYPE_CHECKING:
    from roamlab.base.figures import SavedFigure
    from roamlab.papers import Part
    from roamlab.papers.robustness import Known
    from roamlab.showing.report import Report
    from roamlab.statistics.claims import Claim

_NUMBERS = ("effect", "low", "high")

_FIGURE = Kind((str, int), "the number or the name of a figure", "write figure=12, for example")
_SETTING = Kind((Mapping, type(None)), "choices and values", 'write {"RTO floor": "1 s"}', of=TEXT)


@public()
@dataclass(frozen=True, repr=False)
class Reproduction(metaclass=Hinted):
    """A paper that was reproduced, or a part of it."""

    paper: str
    report: Report
    """The page that was written, as data."""
    folder: Path
    """Where the page, the figures and the tables are."""
    known: Known | None
    """Result of the search through what the paper leaves open, as it is on record; it is of the default."""

    @cached_property
    def claims(self) -> pl.DataFrame:
        """A row for each claim: its verdict, that of these runs alone, and the measure that decides it.

        `verdict` is the final one, over all that the paper leaves open, as far as it is on record.
        """
        rows = [_row(claim) for claim in self.report.claims]
        columns = ("claim", "verdict", "in_these_runs", "effect", "low", "high", "claimed", "runs")
        kinds = dict.fromkeys(_NUMBERS, pl.Float64) | {"runs": pl.UInt32}
        schema = {column: kinds.get(column, pl.String) for column in columns}
        return Frame.of(pl.DataFrame(rows, schema=schema, orient="row"))

    @cached_property
    def measures(self) -> pl.DataFrame:
        """A row for each comparison of each claim, with the verdict of these runs on it."""
        rows = [
            (
                claim.id,
                of.what,
                of.measured.effect,
                of.measured.low,
                of.measured.high,
                of.unit,
                str(of.claimed),
                of.verdict,
            )
            for claim in self.report.claims
            for of in claim.measures
        ]
        columns = ("claim", "what", "effect", "low", "high", "unit", "claimed", "in_these_runs")
        schema = {column: pl.Float64 if column in _NUMBERS else pl.String for column in columns}
        return Frame.of(pl.DataFrame(rows, schema=schema, orient="row"))

    @cached_property
    def statements(self) -> dict[str, str]:
        """Statement of the paper in each claim."""
        return {claim.id: claim.statement for claim in self.report.claims}

    @cached_property
    def figures(self) -> dict[str, SavedFigure]:
        """The figures and charts, by their names. A notebook shows one that is the value of a cell."""
        drawn = [*self.report.figures, *(each.chart for each in self.report.handovers)]
        return {each.name: each for each in drawn}

    @cached_property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables of the page, by the names of their files."""
        files = sorted((self.folder / "tables").glob("*.csv"))
        return {path.stem: Frame.of(pl.read_csv(path, infer_schema_length=None)) for path in files}

    def depends(self, claim: str | None = None) -> str:
        """Text on what each claim depends on, as it is on record, or one of them alone."""
        if self.known is None:
            return "The record of the search is of the default, and this is another setting."
        asked = [*self.statements] if claim is None else claim_names(self.paper, (claim,))
        lines = []
        for each in (of for of in self.report.claims if of.id in asked):
            facts = self.report.facts.get(each.id, {})
            lines += [f"{each.id}: {each.final}", *(f"  {name}: {text}" for name, text in facts.items())]
            lines += [f"  {line}" for line in [self.report.robustness.get(each.id)] if line]
        return "\n".join([*lines, self.report.searched])

    def turn(self, claim: str) -> dict[str, str]:
        """The smallest change of the default that turned a claim's verdict in the search on record; {}: none did.

        It is a `setting` for `roamlab.reproduce`. Values that the text rules out do not count.
        """
        (name,) = claim_names(self.paper, (claim,))
        found = self.known.found.get(name) if self.known else None
        if found is None or robustness.ruled_out(self.paper, found.turn):
            return {}
        return dict(found.turn)

    def __repr__(self) -> str:
        parts = ", ".join([*self.statements, *self.figures])
        return f"Reproduction({self.paper}: {parts}; {self.folder / 'report.html'})"

    def __str__(self) -> str:
        return f"{self.report.headline}\n{self.claims}\nreport: {self.folder / 'report.html'}"

    def _repr_html_(self) -> str:
        figures = "".join(each._repr_html_() for each in self.figures.values())
        page = escape(str(self.folder / "report.html"))
        return (
            f"<p>{escape(self.report.headline)}</p>{figures}{self.claims._repr_html_()}<p>report: {page}</p>"
        )


def _row(claim: Claim) -> tuple[Any, ...]:
    measure, found = claim.deciding, claim.deciding.measured
    claimed = with_unit(str(measure.claimed), measure.unit)
    return (claim.id, claim.final, claim.verdict, found.effect, found.low, found.high, claimed, found.runs)


@called(figure=_FIGURE, setting=_SETTING)
def reproduce(
    paper: str,
    *,
    claim: str | Sequence[str] = (),
    figure: str | int = "",
    setting: Mapping[str, str] | None = None,
    runs: int | None = None,
    out: str | Path | None = None,
    store: str | Path = "out/store",
    threads: int | None = None,
) -> Reproduction:
    """Reproduce a paper, or a `claim` or `figure` of it: only the runs that this needs are made, and kept in `store`.

    `figure` is its number in the paper, or its name. `setting` changes choices that the paper leaves open, as
    `roamlab.choices(paper)` lists them: {"RTO floor": "1 s"}. `runs`: repetitions; None: the paper's. The page is
    written into `out`; None: a folder below `out` with the name of the part. Figures of single effects
    (`why-…`) keep the default. Raises `BadInput` for a name that the paper does not have.
    """
    check_paper(paper)
    for name, given in (("runs", runs), ("threads", threads)):
        if given is not None and given < 1:
            raise BadInput(
                f"{name} = {given}", "it cannot be used", expected="1 or more", remedy="leave it out"
            )
    chosen = part(paper, (claim,) if isinstance(claim, str) else claim, str(figure))
    labels = dict(setting or {})
    folder = Path(out) if out is not None else Path("out") / folder_name(paper, chosen, labels)
    session = papers.Session(
        folder / "figures",
        folder / "tables",
        Path(store),
        runs or papers.paper(paper).RUNS,
        threads or processors(),
        chosen,
        labels,
    )
    session.interpretation(paper)
    refuse_foreign(folder, session.store)
    with whole_folder(folder) as draft:
        made = replace(session, figures=draft / "figures", tables=draft / "tables")
        found = reproducing.write(paper, made, draft)
    known = None if labels else robustness.known(paper, session.store)
    return Reproduction(paper, _moved(found, session.figures), folder, known)


def _moved(found: Report, figures: Path) -> Report:
    """The report with its figures where they are now."""

    def there(figure: SavedFigure) -> SavedFigure:
        png = figure.png and figures / figure.png.name
        return replace(figure, png=png, svg=figures / figure.svg.name)

    return replace(
        found,
        figures=[there(each) for each in found.figures],
        handovers=[replace(each, chart=there(each.chart)) for each in found.handovers],
    )


@called()
def choices(paper: str) -> pl.DataFrame:
    """Open points of a paper: a row for each value of a choice, the default first.

    `permitted` is false for a value that the text of the paper rules out; `source` has what leaves the choice open.
    """
    check_paper(paper)
    rows = [
        (axis.what, value.label, at == 0, not value.ruled_out, axis.source)
        for axis in papers.space(paper).axes
        for at, value in enumerate(axis.values)
    ]
    columns = ("choice", "value", "default", "permitted", "source")
    return Frame.of(pl.DataFrame(rows, schema=columns, orient="row"))


def check_paper(paper: str, *others: str) -> None:
    """Raises `BadInput` if there is no reproduction of this name; `others`: words that are allowed in its place."""
    names = [*others, *papers.names()]
    if paper not in names:
        otherwise = "`roamlab list` shows what can be named"
        raise unknown_name(f"paper {paper!r}", "there is no such reproduction", paper, names, otherwise)


def claim_names(paper: str, only: Sequence[str]) -> tuple[str, ...]:
    """The IDs of claims, which may be written without the paper's name. Raises `BadInput` for one that no claim has."""
    ids = reproducing.claim_ids(paper) if only else []
    whole = tuple(f"{paper}.{name}" if f"{paper}.{name}" in ids else name for name in only)
    for name in whole:
        if name not in ids:
            otherwise = f"`roamlab reproduce {paper} --claim {ids[0]}`"
            raise unknown_name(f"claim {name}", f"{paper} has no such claim", name, ids, otherwise)
    return whole


def part(paper: str, only: Sequence[str], figure: str) -> Part | None:
    """The part of the paper that is asked for; None: all. Raises `BadInput` for two parts."""
    if only and figure:
        raise BadInput(
            f"figure {figure}",
            "a part is claims or a figure",
            expected="a claim or a figure",
            remedy=f"`roamlab reproduce {paper} --figure {figure}` has the claims that the figure shows",
        )
    return papers.Part(claim_names(paper, only), figure) if only or figure else None


def folder_name(paper: str, of: Part | None, setting: Mapping[str, str] | None = None) -> str:
    """Name of the default folder."""
    words = [word for choice in (setting or {}).items() for word in choice]
    name = paper
    if of is not None:
        number = "fig" * of.figure.isdigit()
        name = "-".join(of.claims) or f"{paper}-{number}{_plain(of.figure)}"
    return "-".join([name, *map(_plain, words)])


def _plain(text: str) -> str:
    """Letters and digits of a text, with hyphens for anything between them."""
    return "-".join("".join(each if each.isalnum() else " " for each in text).split())
