"""The parts of all pages: one self-contained HTML file, its tables, figures and folded parts."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, TypeAlias

from roamlab.base.figures import FONT
from roamlab.base.screen import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from roamlab.base.figures import SavedFigure
    from roamlab.statistics.stats import Interval

MAX_SVG_BYTES = 400_000
"""A larger drawing is shown as its PNG."""

_PROSE = 40
"""A cell with more letters than this is text, and gets the width that text needs."""


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
        return f"{effect} ({low} … {high})" if math.isfinite(self.interval.low) else effect


Row: TypeAlias = "Sequence[str | Measured]"


@dataclass(frozen=True)
class Table:
    """A table of results."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Row]


def policy(*scripts: str) -> str:
    """Permissions of a page, as an element of its head: show itself, and run these scripts. It loads nothing."""
    digests = (
        base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii") for script in scripts
    )
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    return (
        f'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; script-src {allowed}; '
        "style-src 'unsafe-inline'; img-src data:; connect-src data:; base-uri 'none'; form-action 'none'\">"
    )


def html(title: str, body: str) -> str:
    """A whole page."""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
{policy()}
<title>{escape(title)}</title><style>{_style()}</style></head><body>
<main>
{body}
</main></body></html>
"""


@cache
def _style() -> str:
    rules = (files("roamlab.showing") / "page.css").read_text(encoding="utf-8")
    return f":root{{--font:{FONT}}}\n{rules}"


def prose(text: str) -> str:
    """Text in which a command is between backquotes."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def anchor(name: str) -> str:
    """Target of a link to a figure of this name."""
    return f"figure-{name}"


def figure(saved: SavedFigure, number: int, *, wide: bool = False, of: str = "") -> str:
    """As an image with the data in it: a drawing in an `img` can neither run scripts nor load anything.

    It is as wide as its place. On a narrow screen the reader can enlarge it; it then moves in its own box. `wide` is
    for a drawing that is larger than the page: it can be enlarged on any screen. `of` tells figures of one name apart.
    """
    source, kind = saved.svg, "svg+xml"
    if saved.png is not None and saved.svg.stat().st_size > MAX_SVG_BYTES:
        source, kind = saved.png, "png"
    data = base64.b64encode(source.read_bytes()).decode("ascii")
    caption = escape(saved.caption)
    image = f'<img alt="{caption}" src="data:image/{kind};base64,{data}">'
    shown = box(image, f"figure {number}", "scroll")
    kind = ' class="wide"' if wide else ""
    return (
        f'<figure{kind} id="{escape(anchor(of + saved.name))}"><label class="enlarge"><input type="checkbox">'
        f"enlarge figure {number}</label>{shown}"
        f"<figcaption><b>Figure {number}.</b> {caption}</figcaption></figure>"
    )


def table(title: str, headings: Sequence[str], rows: Iterable[Row]) -> str:
    """A table in a separate box: it is never wider than the page, and no cell narrower than its longest word.

    Empty columns are not shown, and the unit 1 of a ratio, "[1]", is not either.
    """
    title, headings = title.replace(" [1]", ""), [heading.replace(" [1]", "") for heading in headings]
    rows = list(rows)
    used = [at for at in range(len(headings)) if any(str(row[at]) for row in rows)]
    headings, rows = [headings[at] for at in used], [[row[at] for at in used] for row in rows]
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    head = "".join(f'<th scope="col">{escape(heading)}</th>' for heading in headings)
    if not body:
        return "<p>None.</p>"
    return box(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>", title, "scroll")


def folded(title: str, body: str) -> str:
    """A part that is opened by its title."""
    return f"<details><summary>{escape(title.replace(' [1]', ''))}</summary>{body}</details>"


def _cell(value: str | Measured) -> str:
    text = str(value)
    kind = (
        "number" if isinstance(value, Measured) or _is_number(text) else "prose" if len(text) > _PROSE else ""
    )
    return f'<td class="{kind}">{escape(text)}</td>' if kind else f"<td>{escape(text)}</td>"


def _is_number(text: str) -> bool:
    """A number, or the two ends of an interval, which are on one line."""
    try:
        return len([float(part) for part in text.split(" … ")]) <= 2
    except ValueError:
        return False


def box(content: str, name: str, kind: str) -> str:
    """A box that scrolls, by keyboard too."""
    return f'<div class="{kind}" role="group" tabindex="0" aria-label="{escape(name)}">{content}</div>'
