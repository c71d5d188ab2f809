"""A report: one HTML file that needs nothing else, neither network nor folder."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, TypeAlias

from roamlab.statistics.claims import NOT_SEARCHED, VERDICTS, corrected, interval_text

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from roamlab.base.figures import SavedFigure
    from roamlab.statistics.claims import Claim
    from roamlab.statistics.stats import Interval

MAX_SVG_BYTES = 400_000
"""A larger drawing is shown as its PNG."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of the reproduction: its value, and where the value is from."""

    name: str
    value: str
    source: str


@dataclass(frozen=True)
class Assumption:
    """An open point of the paper, the reading chosen for it, and why."""

    point: str
    reading: str
    reason: str


@dataclass(frozen=True)
class Measured:
    """A cell with a mean and its interval, written with the digits of `form`."""

    interval: Interval
    form: str = ".4g"

    def __str__(self) -> str:
        effect, low, high = (
            format(number, self.form)
            for number in (self.interval.effect, self.interval.low, self.interval.high)
        )
        return f"{effect} ({low} … {high})"


Row: TypeAlias = Sequence[str | Measured]


@dataclass(frozen=True)
class Table:
    """A table of results."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Row]


@dataclass(frozen=True)
class Report:
    """What a reproduction found."""

    title: str
    paper: str
    """The paper's full citation."""
    summary: str
    """What was found, in a few sentences."""
    claims: Sequence[Claim]
    figures: Sequence[SavedFigure]
    tables: Sequence[Table]
    parameters: Sequence[Parameter]
    assumptions: Sequence[Assumption]
    origin: Sequence[tuple[str, str]]
    """What made it: version, build, seed, runs."""
    robustness: Mapping[str, str] = field(default_factory=dict)
    """Where each claim holds, in one line."""
    searched: str = ""
    """What that is from."""


_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:62rem;margin:2rem auto;padding:0 1rem;color:#1b1f24}
h1{line-height:1.2}table{border-collapse:collapse;width:100%;font-size:13px}
th,td{text-align:left;vertical-align:top;padding:.35rem .6rem;border-bottom:1px solid #d5dae0}
td.number{text-align:right;white-space:nowrap}figure{margin:2rem 0}img{width:100%;height:auto}
figcaption{color:#444}.holds{color:#0a6b3d}.contradicted{color:#b00020}.undecided{color:#8a5a00}
.verdict{font-weight:600}.scroll{overflow-x:auto}
@media(prefers-color-scheme:dark){body{background:#14171a;color:#e4e7ea}figcaption{color:#b5bcc4}
img{background:#fff}.holds{color:#5fd39a}.contradicted{color:#ff7b8a}.undecided{color:#e7b65c}}
"""


def write(report: Report, path: Path) -> None:
    """Write the report as one HTML file."""
    path.write_text(_page(report), encoding="utf-8")


@dataclass(frozen=True)
class Chapter:
    """A reproduction in an index."""

    name: str
    """Of the folder beside the index that has its `report.html`."""
    title: str
    paper: str
    """The paper's full citation."""
    claims: Sequence[Claim]
    robustness: Mapping[str, str]
    """What a search through the paper's readings found of each claim, if one was made."""
    searched: str
    """What that is from."""

    @property
    def address(self) -> str:
        """Where its report stands, from the index."""
        return f"{self.name}/report.html"


def write_index(chapters: Sequence[Chapter], path: Path, further: tuple[str, str]) -> None:
    """Write one HTML file with all claims of several reproductions, and links to their reports.

    `further`: what there is beside them, and its address, empty if it was not made.
    """
    every = [claim for chapter in chapters for claim in chapter.claims]
    summary = f"{len(chapters)} papers, {tally(every)}"
    parts = "".join(
        f'<h2><a href="{escape(chapter.address)}">{escape(chapter.title)}</a></h2>'
        f"<p>{escape(chapter.paper)}<br>{escape(tally(chapter.claims))}<br>{escape(chapter.searched)}</p>"
        f"{_indexed(chapter)}"
        for chapter in chapters
    )
    text, address = map(escape, further)
    beside = f'<a href="{address}">{text}</a>' if address else text
    body = f"<p>{escape(summary)}</p><p>{beside}</p>{_RULE}{parts}"
    path.write_text(_html("All papers", body), encoding="utf-8")


def tally(claims: Sequence[Claim]) -> str:
    """How many claims there are, and how many of each verdict."""
    verdicts = [claim.verdict for claim in claims]
    found = [f"{verdicts.count(verdict)} {verdict}" for verdict in VERDICTS if verdict in verdicts]
    return f"{len(verdicts)} claims: {', '.join(found)}."


def _indexed(chapter: Chapter) -> str:
    rows = [
        f'<tr><td><a href="{escape(chapter.address)}#{escape(claim.id)}"><b>{escape(claim.id)}</b></a><br>'
        f'{escape(claim.statement)}</td><td class="verdict {claim.verdict}">{claim.verdict}</td>'
        f"<td>{escape(claim.failing or claim.deciding.what)}</td>"
        f'<td class="number">{claim.deciding.measured.effect:.4g} {escape(claim.deciding.unit)}</td>'
        f'<td class="number">{escape(interval_text(claim.deciding.measured))}</td>'
        f'<td class="number">{escape(str(claim.deciding.claimed))}</td>'
        f"<td>{escape(chapter.robustness.get(claim.id, NOT_SEARCHED))}</td></tr>"
        for claim in chapter.claims
    ]
    headings = (
        "claim",
        "verdict",
        "deciding measure, or which of several fail",
        "effect",
        "95 % interval",
        "claimed",
        "robustness",
    )
    return _wrap(headings, rows)


_RULE = """<p>A claim <b>holds</b> if the effect lies in the claimed range and its 95 % interval excludes the rest;
it is <b>contradicted</b> if the interval excludes the claimed range; otherwise it is <b>undecided</b>.</p>
"""


def _html(title: str, body: str) -> str:
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{escape(title)}</title><style>{_STYLE}</style></head><body>
<h1>{escape(title)}</h1>
{body}
</body></html>
"""


def _page(report: Report) -> str:
    figures = "".join(_figure(figure, at) for at, figure in enumerate(report.figures, start=1))
    parameters = _table(
        ("parameter", "value", "source"), [(row.name, row.value, row.source) for row in report.parameters]
    )
    assumptions = _table(
        ("open point", "reading", "why"), [(row.point, row.reading, row.reason) for row in report.assumptions]
    )
    tables = "".join(
        f"<h2>{escape(table.title)}</h2>{_table(table.headings, table.rows)}" for table in report.tables
    )
    searched = f"<p>{escape(report.searched)}</p>" if report.searched else ""
    claims = (
        f"<h2>Claims</h2>\n{_RULE}{searched}{_claims(report.claims, report.robustness)}"
        if report.claims
        else ""
    )
    body = f"""<p>{escape(report.paper)}</p>
<p>{escape(report.summary)}</p>
{claims}
<h2>Figures</h2>
{figures}
{tables}
<h2>Parameters</h2>
{parameters}
<h2>Assumptions</h2>
{assumptions}
<h2>Origin</h2>
{_table(("what", "value"), report.origin)}"""
    return _html(report.title, body)


def _claims(claims: Sequence[Claim], robustness: Mapping[str, str]) -> str:
    among = {(each.claim, each.measure.what): each.verdict for each in corrected(claims)}
    rows = []
    for claim in claims:
        for at, measure in enumerate(claim.measures):
            span = f' rowspan="{len(claim.measures)}"'
            first = (
                f'<tr id="{escape(claim.id)}">'
                f"<td{span}><b>{escape(claim.id)}</b><br>{escape(claim.statement)}</td>"
                f'<td{span}><span class="verdict {claim.verdict}">{claim.verdict}</span>'
                f"<br>{escape(claim.failing)}<br>{escape(robustness.get(claim.id, NOT_SEARCHED))}</td>"
            )
            last = f"<td{span}>{escape(claim.reading)}</td><td{span}>{escape(claim.why)}</td>"
            stands = among.get((claim.id, measure.what), measure.verdict) == measure.verdict
            rows.append(
                f"{first if at == 0 else '<tr>'}"
                f'<td>{escape(measure.what)}<br><span class="{measure.verdict}">{measure.verdict}</span>'
                f"{'' if stands else ', undecided among so many comparisons (Holm)'}</td>"
                f'<td class="number">{measure.measured.effect:.4g} {escape(measure.unit)}</td>'
                f'<td class="number">{escape(interval_text(measure.measured))}</td>'
                f'<td class="number">{escape(str(measure.claimed))}</td>'
                f'<td class="number">{measure.measured.runs}</td>{last if at == 0 else ""}</tr>'
            )
    headings = (
        "claim",
        "verdict, robustness",
        "measure",
        "effect",
        "95 % interval",
        "claimed",
        "runs",
        "reading",
        "why",
    )
    return _wrap(headings, rows)


def _table(headings: Sequence[str], rows: Iterable[Row]) -> str:
    return _wrap(
        headings,
        ["<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows],
    )


def _wrap(headings: Sequence[str], rows: Sequence[str]) -> str:
    head = "".join(f"<th>{escape(heading)}</th>" for heading in headings)
    body = "".join(rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _figure(figure: SavedFigure, number: int) -> str:
    """As an image with the data in it: a drawing in an `img` can neither run scripts nor load anything."""
    source, kind = figure.svg, "svg+xml"
    if figure.png is not None and figure.svg.stat().st_size > MAX_SVG_BYTES:
        source, kind = figure.png, "png"
    data = base64.b64encode(source.read_bytes()).decode("ascii")
    caption = escape(figure.caption)
    return (
        f'<figure><img alt="{caption}" src="data:image/{kind};base64,{data}">'
        f"<figcaption>Figure {number}. {caption}</figcaption></figure>"
    )
