"""A card for each claim: the sentence, the verdict, how robust it is, the numbers, its figures, the measures folded."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from roamlab.base.quantities import with_unit
from roamlab.base.screen import escape
from roamlab.showing import page
from roamlab.statistics.claims import (
    FINAL_VERDICTS,
    KINDS,
    NOT_SEARCHED,
    TITLES,
    corrected,
    counts,
    depends_on,
    interval_text,
    verb,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from roamlab.showing.page import Table
    from roamlab.statistics.claims import Claim, FinalVerdict, Measure, Verdict

_FROM_WORST: tuple[Verdict, ...] = ("contradicted", "undecided", "holds")
MARKS: dict[FinalVerdict, str] = {"holds": "✓", "depends": "±", "contradicted": "✗", "undecided": "?"}
"""They tell the verdicts apart without colours."""
FIRST = 6
"""Comparisons that the first screen has room for."""
_WIDTH, _HEIGHT, _MARGIN = 320.0, 26.0, 8.0
"""Of the drawing of an interval, in px."""


def verdict(of: FinalVerdict, count: int = 1) -> str:
    """The verdict of `count` claims as a word with a mark, which tell it apart without its colour."""
    word = verb(of, count)
    return f'<span class="verdict {of}"><span aria-hidden="true">{MARKS[of]}</span> {word}</span>'


def tally_bar(claims: Sequence[Claim]) -> str:
    """How many claims of each verdict: a bar of the results, and a line of words for each kind."""
    lines = []
    for kind, of in counts(claims).items():
        found = [(each, of[each]) for each in FINAL_VERDICTS if of[each]]
        parts = "".join(f'<span class="{each}" style="flex:{count}"></span>' for each, count in found)
        words = " · ".join(
            f"{'all' if count == of['claims'] > 2 else count}&nbsp;{verdict(each, count)}"
            for each, count in found
        )
        bar = f'<div class="tally" aria-hidden="true">{parts}</div>' if kind == "result" else ""
        if found:
            lines.append(f"{bar}<p>{of['claims']} {TITLES[kind][of['claims'] != 1]}: {words}</p>")
    return "".join(lines)


def overview(claims: Sequence[Claim], robustness: Mapping[str, str] | None = None, address: str = "") -> str:
    """All claims as lists of links to their cards in this page or the one at `address`: results, then inventory."""
    by_kind = ([claim for claim in claims if claim.kind == kind] for kind in KINDS)
    return "".join(_links(of_kind, robustness, address) for of_kind in by_kind if of_kind)


def _links(claims: Sequence[Claim], robustness: Mapping[str, str] | None, address: str) -> str:
    lines = "".join(
        f'<li><span class="mark {claim.final}" role="img" aria-label="{claim.final}">{MARKS[claim.final]}'
        f'</span><span><a href="{escape(address)}#{escape(claim.id)}">{escape(claim.id)}</a><br>'
        f"{escape(claim.statement)}{_told(claim, robustness)}</span></li>"
        for claim in claims
    )
    title = TITLES[claims[0].kind][1].capitalize()
    return f'<p class="quiet">{title}</p><ul class="overview">{lines}</ul>'


def first(claims: Sequence[Claim]) -> str:
    """The claims of the headline with all that was compared, or of more than `FIRST` comparisons what decides each."""
    every = sum(len(claim.measures) for claim in claims) <= FIRST
    return "".join(
        (f'<p class="first">{verdict(claim.final)} {escape(claim.statement)}</p>' if len(claims) > 1 else "")
        + f'<ul class="overview first">{"".join(_compared_lines(claim, every=every))}</ul>'
        for claim in claims
    )


def _compared_lines(claim: Claim, *, every: bool) -> Iterator[str]:
    def line(of: FinalVerdict, text: str) -> str:
        mark = f'<span class="mark {of}" role="img" aria-label="{of}">{MARKS[of]}</span>'
        return f"<li>{mark}<span>{escape(text)}</span></li>"

    if not every or claim.final == "depends":
        yield line(claim.final, decided(claim))
        return
    for measure in claim.measures:
        yield line(measure.verdict, f"{measure.what}: {_compared(measure)}")


def _told(claim: Claim, robustness: Mapping[str, str] | None) -> str:
    """Text of an index about a claim in addition to its sentence."""
    if robustness is None:
        return ""
    why = depends_on(claim) or claim.failing or decided(claim)
    lines = (f"{claim.final}; {why}", robustness.get(claim.id, NOT_SEARCHED))
    return "".join(f'<br><span class="quiet">{escape(line)}</span>' for line in lines)


def card(
    claim: Claim,
    robustness: str,
    beside: tuple[Table | None, Mapping[str, str]],
    figures: str,
    stands: Mapping[str, bool],
) -> str:
    """The card of a claim.

    `beside`: the paper's numbers with ours, and what a search found on the claim. `stands`: true for each
    comparison whose verdict is significant among all of the report.
    """
    numbers, searched = beside
    told = {
        "under the default": claim.verdict if claim.final == "depends" else "",
        "decided by": f"{escape(claim.deciding.what)}{_strip(claim.deciding)}{escape(_compared(claim.deciding))}",
        "measures": _outcomes(claim),
        "robustness": escape(robustness),
        **{name: escape(text) for name, text in searched.items()},
        "why": escape(claim.why),
    }
    shown = page.table(numbers.title, numbers.headings, numbers.rows) if numbers else ""
    count = len(claim.measures)
    measures = page.table(
        f"measures of {claim.id}", _HEADINGS, [_row(each, stands) for each in claim.measures]
    )
    interpretation = (
        f"<p>Interpretation of the paper: {escape(claim.interpretation)}</p>" if claim.interpretation else ""
    )
    several = (
        f"all {count} measures and the interpretation" if count > 1 else "the measure and the interpretation"
    )
    return (
        f'<article class="card {claim.final}" id="{escape(claim.id)}"><header><h3>{escape(claim.id)}</h3>'
        f'{_kind(claim)}{verdict(claim.final)}</header><p class="statement">{escape(claim.statement)}</p>'
        f"{_facts(told)}{shown}{figures}{page.folded(several, measures + interpretation)}</article>"
    )


def _kind(claim: Claim) -> str:
    return '<span class="quiet">inventory, not a result</span>' if claim.kind == "inventory" else ""


def facts(told: Mapping[str, str]) -> str:
    """Facts of a claim by their names."""
    return _facts({name: escape(text) for name, text in told.items()})


def _facts(told: Mapping[str, str]) -> str:
    shown = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in told.items() if text)
    return f'<dl class="facts">{shown}</dl>'


def _outcomes(claim: Claim) -> str:
    """How many of several measures have which verdict."""
    told = []
    if len(claim.measures) > 1:
        found = [measure.verdict for measure in claim.counted]
        told = [f"{found.count(of)} {verb(of, found.count(of))}" for of in _FROM_WORST if of in found]
    return escape("; ".join([", ".join(told), *claim.open] if told else claim.open))


def standing(claims: Sequence[Claim]) -> dict[str, dict[str, bool]]:
    """Of each claim's comparisons of random runs, true if the verdict is significant after Holm's correction."""
    found: dict[str, dict[str, bool]] = {claim.id: {} for claim in claims}
    for each in corrected(claims):
        found[each.claim][each.measure.what] = each.verdict == each.measure.verdict
    return found


_HEADINGS = ("measure", "verdict", "effect", "unit", "95 % interval", "claimed", "runs")


def _row(measure: Measure, stands: Mapping[str, bool]) -> tuple[str, ...]:
    among = (
        ""
        if stands.get(measure.what, True)
        else ", undecided after correction for the number of comparisons (Holm)"
    )
    return (
        measure.what,
        f"{measure.outcome}{among}",
        f"{measure.measured.effect:.4g}",
        measure.unit,
        interval_text(measure.measured),
        _claimed(measure),
        str(measure.measured.runs),
    )


def decided(claim: Claim) -> str:
    """The measure that settles the verdict under the default, in words; with both verdicts if the claim depends."""
    told = f"{claim.deciding.what}: {_compared(claim.deciding)}"
    if depends := depends_on(claim):
        return f"{depends[0].upper()}{depends[1:]}. By default {told}"
    return told


def _compared(measure: Measure) -> str:
    return f"measured {_value(measure)}; claimed {_claimed(measure)}"


def _claimed(measure: Measure) -> str:
    claimed = measure.claimed
    return f"{claimed.low:g}" if claimed.low == claimed.high else str(claimed)


def _value(measure: Measure) -> str:
    found = measure.measured
    value = with_unit(f"{found.effect:.4g}", measure.unit)
    interval = "" if found.fixed else f" ({interval_text(found)})"
    if found.runs == 1 or found.same:
        return f"{value}{interval}"
    runs = f", {found.runs} runs" if found.runs > 1 else ""
    return f"{value}{interval}{runs}"


def _strip(measure: Measure) -> str:
    """The measured interval as a line with its mean, over the claimed range as a ground."""
    found, claimed = measure.measured, measure.claimed
    ends = [
        end for end in (found.low, found.high, found.effect, claimed.low, claimed.high) if math.isfinite(end)
    ]
    low, high = min(ends), max(ends)
    spread = (high - low) or max(abs(high), 1.0)

    def x(value: float) -> float:
        inner = _WIDTH - 4 * _MARGIN
        at = 2 * _MARGIN + (value - low) / spread * inner
        return min(max(at, 0.0), _WIDTH)

    left, right = x(claimed.low), x(claimed.high)
    middle = _HEIGHT / 2
    bars = "".join(
        f'<path d="M{x(end):.1f} {middle - 5}v10" stroke="currentColor" stroke-width="2"/>'
        for end in (found.low, found.high)
        if math.isfinite(end)
    )
    line = (
        f'<path d="M{x(found.low):.1f} {middle}H{x(found.high):.1f}" stroke="currentColor" stroke-width="2"/>{bars}'
        if math.isfinite(found.low) and math.isfinite(found.high)
        else ""
    )
    said = escape(f"Measured {_value(measure)}, on the claimed range {_claimed(measure)} as a grey ground")
    return (
        f'<svg class="strip" viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img" aria-label="{said}">'
        f'<rect class="claimed" x="{left:.1f}" y="0" width="{max(right - left, 2.0):.1f}" height="{_HEIGHT:g}"/>'
        f'{line}<circle cx="{x(found.effect):.1f}" cy="{middle}" r="5" fill="currentColor"/></svg>'
    )
