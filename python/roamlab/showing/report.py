"""A report: one self-contained HTML file with the result first, then each claim, then the methods."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from roamlab.base.figures import SavedFigure
from roamlab.base.quantities import counted
from roamlab.base.screen import escape
from roamlab.showing import cards, matrix, page
from roamlab.showing.chart import outcome
from roamlab.showing.chart_svg import svg
from roamlab.showing.page import Table
from roamlab.statistics.claims import NOT_SEARCHED, tally
from roamlab.statistics.stats import LEAST

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from roamlab.showing.chart import Chart
    from roamlab.showing.matrix import Matrix
    from roamlab.statistics.claims import Claim


@dataclass(frozen=True)
class Parameter:
    """A parameter of the reproduction: its value, and where the value is from."""

    name: str
    value: str
    source: str


@dataclass(frozen=True)
class Assumption:
    """An open point of the paper, the interpretation chosen for it, and why."""

    point: str
    interpretation: str
    reason: str


@dataclass(frozen=True)
class Handover:
    """The messages of a handover as a chart, and as a table those that it has no room for."""

    chart: SavedFigure
    beside: Table


@dataclass(frozen=True)
class Finding:
    """A result, in sentences."""

    title: str
    sentences: Sequence[str]
    span_s: tuple[float, float] | None = None
    """When it happened: the explorer opens there."""


@dataclass(frozen=True)
class Link:
    """A page next to the report."""

    words: str
    address: str


@dataclass(frozen=True)
class Report:
    """Result."""

    title: str
    paper: str
    """The paper's full citation, or what the page is about."""
    headline: str
    """Result, in one sentence."""
    claims: Sequence[Claim]
    figures: Sequence[SavedFigure]
    tables: Sequence[Table]
    parameters: Sequence[Parameter]
    assumptions: Sequence[Assumption]
    origin: Sequence[tuple[str, str]]
    """Origin: version, build, seed, runs."""
    main: Sequence[str] = ()
    """The claims that the headline is about."""
    lead: str = ""
    """Name of the figure that carries the headline; empty: the first."""
    shows: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The names of each claim's figures."""
    findings: Sequence[Finding] = ()
    """Text of a page without claims."""
    handovers: Sequence[Handover] = ()
    """Shown message by message."""
    numbers: Mapping[str, Table] = field(default_factory=dict)
    """The paper's numbers and ours, by claim."""
    robustness: Mapping[str, str] = field(default_factory=dict)
    """Where each claim holds, in one line."""
    facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Of each claim that was searched: what it depends on, where it holds, and the paper's statement about it, by
    names."""
    partial: bool = False
    """Only some of the claims were decided: their verdicts are not corrected for the number of all comparisons."""
    matrix: Matrix | None = None
    """The claims when one choice changes."""
    searched: str = ""
    """Source of these."""
    source: str = ""
    """The scenario, as text."""
    explorer: Link | None = None
    """A page to explore a run."""


def moment(begin_s: float, end_s: float) -> str:
    """End of the explorer's address, so that it opens at this time, in s."""
    return f"#t={max(0.0, begin_s):.6g}-{end_s:.6g}"


def handover(made: Chart, folder: Path, name: str, caption: str) -> Handover:
    """Draw a handover's messages as `name`.svg; those that the chart has no room for become a table."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.svg"
    path.write_text(svg(made), encoding="utf-8")
    rows = [
        (
            f"{(each.sent_ns - made.zero_ns) / 1e6:.3f}",
            each.name,
            each.source,
            "all that hear it" if each.destination == "*" else each.destination,
            str(each.size_bytes),
            outcome(each),
        )
        for each in made.beside
    ]
    headings = ("sent [ms, as in the chart]", "message", "from", "to", "size [B]", "outcome [s]")
    title = f"{counted(len(rows), 'message')} about no host in the same time, which the chart does not draw"
    return Handover(SavedFigure(caption, None, path), Table(title, headings, rows))


def write(report: Report, path: Path) -> None:
    """Write the report as one HTML file. Raises `LookupError` if it names a claim or a figure that it has not."""
    named = {*report.main, *report.shows, *report.numbers}
    if unknown := sorted(named - {claim.id for claim in report.claims}):
        raise LookupError(f"the report has no claim {', '.join(unknown)}")
    path.write_text(page.html(report.title, _body(report)), encoding="utf-8")


_RULE = f"""<p class="quiet">Under the default a claim <b>holds</b> if the effect lies in the claimed range and its 95 %
interval excludes the rest; it is <b>contradicted</b> if the interval excludes the claimed range; otherwise, and with
fewer than {LEAST} runs, it is <b>undecided</b>. It <b>depends</b> if another setting that the text permits turns this
verdict, and fresh runs confirm it. A claim that was not searched has the verdict of the default.</p>
<p class="quiet"><b>Results</b> are what the paper found by simulation; in an <b>inventory</b> a part exists and follows
its algorithm, which does not count as a result. In the drawings the claimed range is the grey ground, the measured
effect the point, and its interval the line.</p>
"""


class _Figures:
    """The figures in the order in which the page shows them; each is shown once, and then linked."""

    def __init__(self, report: Report) -> None:
        self._left = {figure.name: figure for figure in report.figures}
        self._charts = {each.chart.name for each in report.handovers}
        self._numbers: dict[str, int] = {}

    def show(self, names: Sequence[str]) -> str:
        """These figures, or their place."""
        return "".join(map(self._show, names))

    def rest(self) -> str:
        """All that were not shown yet."""
        return self.show(list(self._left))

    def chart(self, chart: SavedFigure) -> str:
        """A drawing that is larger than the page."""
        self._numbers[chart.name] = number = len(self._numbers) + 1
        return page.figure(chart, number, wide=True)

    def _show(self, name: str) -> str:
        if name in self._numbers:
            return f'<p><a href="#{escape(page.anchor(name))}">See figure {self._numbers[name]}</a></p>'
        if name in self._charts:
            return f'<p><a href="#{escape(page.anchor(name))}">See the handover message by message</a></p>'
        if name not in self._left:
            raise LookupError(f"the report has no figure {name!r}")
        self._numbers[name] = number = len(self._numbers) + 1
        return page.figure(self._left.pop(name), number)


def _body(report: Report) -> str:
    figures = _Figures(report)
    names = [figure.name for figure in report.figures]
    lead = figures.show([report.lead or names[0]]) if names else ""
    claims = _claims(report, figures)
    several = len(report.handovers) > 1
    charts = "".join(_handover(each, figures, folded=several) for each in report.handovers)
    source = (
        page.box(f"<pre>{escape(report.source)}</pre>", "the scenario", "scroll") if report.source else ""
    )
    parts = {
        "Claims": claims,
        matrix.TITLE: matrix.html(report.matrix) if report.matrix else "",
        "What was found": "".join(_finding(each, report.explorer) for each in report.findings),
        "Message by message": charts,
        "More figures": figures.rest(),
        "Methods and interpretations": _methods(report),
        "Tables": "".join(_folded(each) for each in report.tables if each.rows),
        "Scenario": page.folded("as it was written", source) if source else "",
        "Origin": page.table("origin", ("what", "value"), report.origin),
    }
    parts = {title: text for title, text in parts.items() if text}
    links = "".join(f'<li><a href="#{_section(title)}">{title}</a></li>' for title in parts)
    sections = "".join(f'<h2 id="{_section(title)}">{title}</h2>{text}' for title, text in parts.items())
    paper = f'<p class="quiet">{page.prose(report.paper)}</p>'
    main = [claim for claim in report.claims if claim.id in report.main]
    behind = "".join(
        page.folded(
            f"why{f' {claim.id}' * (len(main) > 1)}, and under which other choices",
            cards.facts({"why": claim.why, "robustness": report.robustness.get(claim.id, NOT_SEARCHED)}),
        )
        for claim in main
    )
    paper += (
        f'<p><a href="{escape(to.address)}">{escape(to.words)}</a></p>' if (to := report.explorer) else ""
    )
    about = f'{lead}{behind}{paper}<nav aria-label="Parts of this page"><ul>{links}</ul></nav>'
    every = (
        f"<div>{cards.tally_bar(report.claims)}{cards.overview(report.claims)}</div>" if report.claims else ""
    )
    return f"""<h1>{escape(report.title)}</h1>
<p class="headline">{escape(report.headline)}</p>{cards.first(main)}
<div class="lead{"" if every else " alone"}"><div>{about}</div>{every}</div>
{sections}"""


def _section(title: str) -> str:
    return title.lower().replace(" ", "-")


def _claims(report: Report, figures: _Figures) -> str:
    if not report.claims:
        return ""
    stands = {} if report.partial else cards.standing(report.claims)
    searched = f'<p class="quiet">{page.prose(report.searched)}</p>' if report.searched else ""
    return f"{_RULE}{searched}" + "".join(
        cards.card(
            claim,
            report.robustness.get(claim.id, NOT_SEARCHED),
            (report.numbers.get(claim.id), report.facts.get(claim.id, {})),
            figures.show(report.shows.get(claim.id, ())),
            stands.get(claim.id, {}),
        )
        for claim in report.claims
    )


def _handover(of: Handover, figures: _Figures, *, folded: bool) -> str:
    shown = figures.chart(of.chart) + (_folded(of.beside) if of.beside.rows else "")
    return page.folded(of.chart.caption, shown) if folded else shown


def _finding(of: Finding, explorer: Link | None) -> str:
    first, *rest = of.sentences
    told = "".join(f"<li>{escape(sentence)}</li>" for sentence in rest)
    steps = f"<ul>{told}</ul>" if told else ""
    link = ""
    if explorer and of.span_s:
        address = explorer.address.partition("#")[0] + moment(*of.span_s)
        link = f'<p><a href="{escape(address)}">Explore this moment packet by packet</a></p>'
    told = f"<h3>{escape(of.title)}</h3><p>{escape(first)}</p>{steps}{link}"
    return f'<article class="card undecided">{told}</article>'


def _folded(table: Table) -> str:
    return page.folded(table.title, page.table(table.title, table.headings, table.rows))


def _methods(report: Report) -> str:
    parts = {
        "Parameters": (
            ("parameter", "value", "source"),
            [(row.name, row.value, row.source) for row in report.parameters],
        ),
        "Interpretations of open points": (
            ("open point", "interpretation", "why"),
            [(row.point, row.interpretation, row.reason) for row in report.assumptions],
        ),
    }
    return "".join(
        page.folded(title, page.table(title, headings, rows))
        for title, (headings, rows) in parts.items()
        if rows
    )


@dataclass(frozen=True)
class Chapter:
    """A reproduction in an index."""

    name: str
    """Of the folder next to the index that has its `report.html`."""
    title: str
    paper: str
    """The paper's full citation."""
    headline: str
    claims: Sequence[Claim]
    robustness: Mapping[str, str]
    """Result of a search through the paper's interpretations for each claim, if one was made."""
    searched: str
    """Source of that."""
    lead: SavedFigure | None = None
    """The figure that carries the headline."""
    matrix: Matrix | None = None
    """The claims when one choice changes."""

    @property
    def address(self) -> str:
        """Place of its report, from the index."""
        return f"{self.name}/report.html"


def _matrix_of(chapter: Chapter) -> str:
    return page.folded(matrix.TITLE, matrix.html(chapter.matrix, chapter.address)) if chapter.matrix else ""


def write_index(chapters: Sequence[Chapter], path: Path, further: tuple[str, str], calibration: str) -> None:
    """Write one HTML file with all claims of several reproductions, and links to their reports.

    `further`: additional pages, with the address, empty if it was not made. `calibration`: how far the engine
    agrees with the simulator that the papers used.
    """
    every = [claim for chapter in chapters for claim in chapter.claims]
    parts = "".join(
        f'<h2><a href="{escape(chapter.address)}">{escape(chapter.title)}</a></h2>'
        f'<p class="statement">{escape(chapter.headline)}</p>'
        f"{page.figure(chapter.lead, number, of=chapter.name) if chapter.lead else ''}{cards.tally_bar(chapter.claims)}"
        f"{cards.overview(chapter.claims, chapter.robustness, chapter.address)}"
        f"{_matrix_of(chapter)}"
        f'<p class="quiet">{escape(chapter.paper)} {page.prose(chapter.searched)}</p>'
        for number, chapter in enumerate(chapters, start=1)
    )
    text, address = page.prose(further[0]), escape(further[1])
    beside = f'<a href="{address}">{text}</a>' if address else text
    headline = f"{counted(len(chapters), 'paper')}, {tally(every)}."
    body = (
        f'<h1>All papers</h1><p class="headline">{escape(headline)}</p>{cards.tally_bar(every)}'
        f"<p>{page.prose(calibration)}</p><p>{beside}</p>{_RULE}{parts}"
    )
    path.write_text(page.html("All papers", body), encoding="utf-8")
