"""The claims of a paper under its choices as a table of marks, which shows where each verdict changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from roamlab.base.screen import escape
from roamlab.showing import cards, page
from roamlab.statistics.claims import FINAL_VERDICTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roamlab.statistics.claims import FinalVerdict, Verdict

TITLE = "Claims when one choice changes"


@dataclass(frozen=True)
class Change:
    """A row: one choice with another value than the default's, or the default itself, which is the first row."""

    what: str
    excluded: bool
    """The text of the paper rules the value out."""
    verdicts: Sequence[Verdict | None]
    """Of each claim; `None`: it was not searched."""


@dataclass(frozen=True)
class Matrix:
    """The verdicts of claims when one choice changes alone."""

    claims: Sequence[tuple[str, FinalVerdict]]
    """Of each claim, a column, the ID and the final verdict."""
    rows: Sequence[Change]
    source: str
    """Origin of the verdicts, for people."""

    def of(self, claims: Sequence[str]) -> Matrix:
        """The columns of these claims."""
        chosen = [at for at, (name, _) in enumerate(self.claims) if name in claims]
        rows = [replace(row, verdicts=[row.verdicts[at] for at in chosen]) for row in self.rows]
        return Matrix([self.claims[at] for at in chosen], rows, self.source)


def html(of: Matrix, address: str = "") -> str:
    """The table; a claim links to its card in this page or the one at `address`."""
    heads = "".join(
        f'<th scope="col"><a href="{escape(address)}#{escape(name)}">{escape(name.partition(".")[2])}</a></th>'
        for name, _ in of.claims
    )
    default, *_ = of.rows
    lines = [
        _line("final verdict", "final", [(verdict, False) for _, verdict in of.claims]),
        *(
            _line(
                row.what + (", ruled out by the text" if row.excluded else ""),
                "excluded" if row.excluded else "",
                [(here, here != there) for here, there in zip(row.verdicts, default.verdicts, strict=True)],
            )
            for row in of.rows
        ),
    ]
    table = f'<table class="matrix"><thead><tr><td></td>{heads}</tr></thead><tbody>{"".join(lines)}</tbody></table>'
    return f'<p class="quiet">{_legend()} {page.prose(of.source)}</p>{page.box(table, TITLE, "scroll")}'


def _line(what: str, kind: str, cells: Sequence[tuple[FinalVerdict | None, bool]]) -> str:
    shown = "".join(_cell(verdict, changed=changed) for verdict, changed in cells)
    return f'<tr class="{kind}"><th scope="row">{escape(what)}</th>{shown}</tr>'


def _cell(verdict: FinalVerdict | None, *, changed: bool) -> str:
    if verdict is None:
        return '<td class="quiet"><span role="img" aria-label="not searched">·</span></td>'
    said = f"{verdict}, other than under the default" if changed else verdict
    kind = f"{verdict} changed" if changed else verdict
    return f'<td class="{kind}"><span role="img" aria-label="{said}">{cards.MARKS[verdict]}</span></td>'


def _legend() -> str:
    marks = " · ".join(cards.verdict(each) for each in FINAL_VERDICTS)
    return (
        f"{marks} · not searched: a dot. A filled cell has another verdict than the default on record. Only turns that "
        "fresh runs confirm, and that the text permits, count for the final verdict."
    )
