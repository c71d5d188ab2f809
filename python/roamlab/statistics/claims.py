"""A paper's claims, and verdicts that are computed from measurements, never written by hand.

* holds: the effect lies in the claimed range and the 95 % interval excludes everything else;
* contradicted: the interval excludes the claimed range, by more than the smallest effect that matters: a tenth of the
  effect that the paper prints, if it prints one. This is a finding, not a failure;
* undecided: the interval reaches both, or there are fewer than `LEAST` runs.

A claim with several measures is a family of tests: a measure keeps its verdict if it is significant after Holm's
correction for their number, and is undecided otherwise.

These are taken under the default interpretation. The final verdict is taken over all that the paper leaves open, as far
as a search has tried it, and has a fourth word, "depends": see `Claim.final`.

Claims are of two kinds: results, which a paper found by simulation, and inventory, which states that a part
exists and follows its algorithm. Only results are counted as reproduced or not.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

from roamlab.base.quantities import counted, with_unit
from roamlab.statistics.stats import CONFIDENCE, LEAST, holm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.table import Table

    from roamlab.statistics.stats import Interval

Verdict = Literal["holds", "contradicted", "undecided"]
FinalVerdict = Literal["holds", "depends", "contradicted", "undecided"]
Kind = Literal["result", "inventory"]
KINDS: tuple[Kind, ...] = ("result", "inventory")
VERDICTS: tuple[Verdict, ...] = ("holds", "contradicted", "undecided")
FINAL_VERDICTS: tuple[FinalVerdict, ...] = ("holds", "depends", "contradicted", "undecided")
_FROM_WORST: tuple[Verdict, ...] = ("contradicted", "undecided", "holds")

NOT_SEARCHED = "not searched under other settings"
TITLES: dict[Kind, tuple[str, str]] = {
    "result": ("result", "results"),
    "inventory": ("inventory claim", "inventory claims"),
}
"""One of a kind, and several."""


def too_few(runs: int) -> str:
    """Why there is no verdict."""
    return f"{counted(runs, 'run is', 'runs are')} too few, a verdict needs {LEAST}"


MATTERS = 0.1
"""Part of an effect that the paper prints: a smaller one does not matter, and contradicts nothing."""


@dataclass(frozen=True)
class Claimed:
    """The range in which an effect lies by a paper; `strict` leaves the bounds themselves out."""

    low: float
    high: float
    strict: bool
    printed: float = 0.0
    """Size of the effect that the paper prints; 0 if it prints a direction alone: then any size matters."""

    def __str__(self) -> str:
        if self.low == -math.inf:
            return f"{'<' if self.strict else '≤'} {self.high:g}"
        if self.high == math.inf:
            return f"{'>' if self.strict else '≥'} {self.low:g}"
        return f"{self.low:g} … {self.high:g}"

    @property
    def matters(self) -> float:
        """The smallest distance from the range that matters."""
        return MATTERS * self.printed

    def verdict(self, measured: Interval) -> Verdict:
        """Verdict of the measurement on the claim.

        Runs that are all equal and lie on an excluded bound leave it open: another run may lie on the other side.
        """
        if measured.same and self.strict and measured.effect in (self.low, self.high):
            return "undecided"
        if self._misses(measured.low, measured.high):
            matters = self._misses(measured.low - self.matters, measured.high + self.matters)
            return "contradicted" if matters else "undecided"
        inside = self.low <= measured.low and measured.high <= self.high
        if inside and self.contains(measured.effect):
            return "holds"
        return "undecided"

    def distance(self, value: float) -> float:
        """How far the value is from the claimed range; 0 within it."""
        return max(self.low - value, value - self.high, 0.0)

    def contains(self, value: float) -> bool:
        """The value lies in the claimed range."""
        return not self._misses(value, value)

    def reaches(self, measured: Interval) -> bool:
        """Part of the interval is in the claimed range."""
        return not self._misses(measured.low, measured.high)

    def _misses(self, low: float, high: float) -> bool:
        """No value from `low` to `high` is in the claimed range."""
        if self.strict:
            return high <= self.low or low >= self.high
        return high < self.low or low > self.high


def greater(than: float = 0.0, *, printed: float = 0.0) -> Claimed:
    """More than the bound; `printed`: by how much in the paper, if it prints that."""
    return Claimed(than, math.inf, strict=True, printed=printed)


def less(than: float = 0.0, *, printed: float = 0.0) -> Claimed:
    """Less than the bound; `printed`: by how much in the paper, if it prints that."""
    return Claimed(-math.inf, than, strict=True, printed=printed)


def at_least(bound: float) -> Claimed:
    """The bound or more."""
    return Claimed(bound, math.inf, strict=False)


def at_most(bound: float) -> Claimed:
    """The bound or less."""
    return Claimed(-math.inf, bound, strict=False)


def within(low: float, high: float, *, printed: float = 0.0) -> Claimed:
    """From one bound to the other, both included; `printed`: the number in the paper, if it prints one."""
    return Claimed(low, high, strict=False, printed=printed)


def as_printed(low: str, high: str = "") -> Claimed:
    """A number that a paper prints as `low`, or a range that it prints from `low` to `high`, by their digits.

    A printed number represents all that are rounded to it: "15" is 14.5 to 15.5, ".95" is .945 to .955.
    Counts are exact, and are no printed numbers in this sense.
    """
    largest = max(abs(float(text)) for text in (low, high or low))
    return within(_rounded_to(low)[0], _rounded_to(high or low)[1], printed=largest)


def at_least_as_printed(low: str) -> Claimed:
    """A printed number or more, by its digits: ".98" is .975 and more."""
    return replace(at_least(_rounded_to(low)[0]), printed=abs(float(low)))


def at_most_as_printed(high: str) -> Claimed:
    """A printed number or less, by its digits: "0.05" is 0.055 and less."""
    return replace(at_most(_rounded_to(high)[1]), printed=abs(float(high)))


def _rounded_to(text: str) -> tuple[float, float]:
    """The least and the largest number that is rounded to a printed one."""
    number = Decimal(text)
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int):
        raise ValueError(f"not a printed number: {text!r}")
    half = Decimal(5).scaleb(exponent - 1)
    return float(number - half), float(number + half)


@dataclass(frozen=True)
class Measure:
    """One measured effect and the paper's statement about it."""

    what: str
    measured: Interval
    unit: str
    claimed: Claimed
    forced_tie: str = ""
    """Why the set-up forces both sides to be equal, if it does. Such a tie is shown, and decides nothing."""
    kind: Kind = "result"
    """That of its claim, which sets it."""
    adjusted: float | None = None
    """The p-value after Holm's correction for the measures of its claim, which sets it; `None`: there are no others."""

    @property
    def verdict(self) -> Verdict:
        """Verdict of the measurement, after the correction for the other measures of its claim."""
        return "undecided" if self.insignificant else self.alone

    @property
    def alone(self) -> Verdict:
        """Verdict of the measurement without regard to other measures."""
        if self.kind == "inventory" and self.measured.extreme:
            return "holds" if self.claimed.contains(self.measured.effect) else "contradicted"
        return "undecided" if self.too_few else self.claimed.verdict(self.measured)

    @property
    def insignificant(self) -> bool:
        """The correction for the other measures of its claim leaves it undecided."""
        return self.alone != "undecided" and self.adjusted is not None and self.adjusted >= 1 - CONFIDENCE

    @property
    def too_small(self) -> bool:
        """The interval is outside the claimed range by less than what matters."""
        outside = self.claimed.matters > 0 and not self.claimed.reaches(self.measured)
        return outside and self.alone == "undecided" and not self.too_few

    @property
    def too_few(self) -> bool:
        """There are fewer than `LEAST` runs, and chance enters: no verdict."""
        return not self.measured.fixed and self.measured.runs < LEAST

    @property
    def tied(self) -> bool:
        """The set-up forces a tie, and all runs have it."""
        return bool(self.forced_tie) and self.measured.low == self.measured.high

    @property
    def outcome(self) -> str:
        """The verdict for people, with the reason where it is not that of the interval."""
        if self.tied:
            return f"not counted: the set-up forces a tie, {self.forced_tie}"
        if self.verdict == "undecided" and self.too_few:
            return f"undecided: {too_few(self.measured.runs)}"
        if self.insignificant:
            return f"undecided: {self.alone} alone, but p is {self.adjusted:.2g} after correction for all measures"
        if self.too_small:
            return (
                f"undecided: outside the claimed range by less than {self.claimed.matters:.2g}, a tenth of the printed "
                "effect"
            )
        return self.verdict

    @property
    def p(self) -> float | None:
        """The p-value of the bounds of the claimed range that the verdict excludes; `None` where no chance enters.

        Inside the range both are excluded, and the larger p-value counts; outside, that of the nearer one, moved
        by what matters if the effect is beyond that.
        """
        test, found = self.measured.test, self.measured.effect
        if test is None or self.tied:
            return None
        bounds = [bound for bound in (self.claimed.low, self.claimed.high) if math.isfinite(bound)]
        if self.claimed.low <= found <= self.claimed.high:
            return max(map(test, bounds), default=0.0)
        nearest = min(bounds, key=lambda bound: abs(found - bound))
        if self.claimed.distance(found) <= self.claimed.matters:
            return test(nearest)
        return test(nearest + math.copysign(self.claimed.matters, found - nearest))


@dataclass(frozen=True)
class Searched:
    """Result of a search of all that a paper leaves open, for one claim."""

    turn: Mapping[str, str] = field(default_factory=dict)
    """The smallest change of the default that gave another verdict: choices with their values. Empty: none did."""
    fresh: Verdict | None = None
    """The verdict of fresh runs with this change; `None`: none were made."""
    measured: str = ""
    """Result of the deciding measure in the fresh runs, for people."""
    runs: int = 0
    """Number of the fresh runs."""
    excluded: tuple[str, ...] = ()
    """The choices of `turn` with a value that the text of the paper rules out."""
    share: Interval | None = None
    """The share of the settings drawn at random in which the claim holds; `runs` is their number."""

    @property
    def changes(self) -> str:
        """The change, for people."""
        return ", ".join(f"{what}: {value}" for what, value in self.turn.items())


@dataclass(frozen=True)
class Claim:
    """A claim of a paper. It holds if every measure holds and is contradicted if one is."""

    id: str
    statement: str
    measures: tuple[Measure, ...]
    interpretation: str
    """The interpretations of the paper's open points under which it was measured."""
    why: str
    """The mechanism behind the outcome."""
    kind: Kind = "result"
    searched: Searched | None = None
    """Result of the search for settings with another verdict; `None`: the claim was not searched."""

    def __post_init__(self) -> None:
        if not self.measures:
            raise ValueError(f"claim {self.id} has no measure")
        own = [replace(measure, kind=self.kind) for measure in self.measures]
        object.__setattr__(self, "measures", tuple(_adjusted(own)))

    @property
    def counted(self) -> tuple[Measure, ...]:
        """The measures that may decide: all but the ties that the set-up forces."""
        return tuple(measure for measure in self.measures if not measure.tied)

    @property
    def deciding(self) -> Measure:
        """The measure that settles the verdict: the first with the worst one."""
        return min(self.counted or self.measures, key=lambda measure: _FROM_WORST.index(measure.verdict))

    @property
    def verdict(self) -> Verdict:
        """Verdict under the default; undecided if all measures are ties that the set-up forces."""
        return self.deciding.verdict if self.counted else "undecided"

    @property
    def final(self) -> FinalVerdict:
        """Verdict over all that the paper leaves open: see the function `final`. With too few runs it is undecided."""
        if self.verdict == "undecided" and self.deciding.too_few:
            return "undecided"
        return final(self.verdict, self.searched)

    @property
    def failing(self) -> str:
        """Which of several measures do not hold, for people; empty if there is one, or if all hold."""
        if len(self.counted) < 2 or self.verdict == "holds":
            return ""
        parts = [
            f"{len(found)} {verdict} ({'; '.join(found)})"
            for verdict in _FROM_WORST[:2]
            if (found := [measure.what for measure in self.counted if measure.verdict == verdict])
        ]
        return f"of {len(self.counted)} measures {', '.join(parts)}"

    @property
    def open(self) -> list[str]:
        """Measures that give no separate verdict, with the reason: ties that the set-up forces, too few runs."""
        return [
            f"{measure.what}: {measure.outcome}"
            for measure in self.measures
            if measure.outcome != measure.verdict
        ]

    def as_dict(self) -> dict[str, Any]:
        """For JSON. `effect`, `unit`, `interval` and `runs` are those of the deciding measure under the default."""
        share = self.searched.share if self.searched else None
        return {
            "id": self.id,
            "kind": self.kind,
            "statement": self.statement,
            "verdict": self.final,
            "verdict_default": self.verdict,
            "depends_on": dict(self.searched.turn) if self.searched and self.final == "depends" else None,
            "share_holds": [share.effect, share.low, share.high] if share else None,
            **_measure_dict(self.deciding),
            "interpretation": self.interpretation,
            "why": self.why,
            "measures": [_measure_dict(measure) | {"verdict": measure.verdict} for measure in self.measures],
        }


def _adjusted(measures: Sequence[Measure]) -> list[Measure]:
    """The measures of a claim with their p-values after Holm's correction."""
    found = [None if len(measures) == 1 else measure.p for measure in measures]
    tests = [p for p in found if p is not None]
    after = iter(holm(tests) if len(tests) > 1 else ())
    return [
        replace(measure, adjusted=None if p is None else next(after, None))
        for measure, p in zip(measures, found, strict=True)
    ]


def _measure_dict(measure: Measure) -> dict[str, Any]:
    return {
        "what": measure.what,
        "claimed": str(measure.claimed),
        "effect": measure.measured.effect,
        "unit": measure.unit,
        "interval": [
            bound if math.isfinite(bound) and not measure.measured.same else None
            for bound in (measure.measured.low, measure.measured.high)
        ],
        "runs": measure.measured.runs,
        "same_in_every_run": measure.measured.same or measure.measured.fixed,
        "too_few_runs": measure.too_few,
        "p_corrected": measure.adjusted,
        "forced_tie": measure.forced_tie if measure.tied else None,
    }


@dataclass(frozen=True)
class Corrected:
    """A comparison of random runs, with its p-value and Holm's."""

    claim: str
    measure: Measure
    p: float
    adjusted: float

    @property
    def verdict(self) -> Verdict:
        """The measure's, if it holds after the correction for the number of comparisons."""
        return self.measure.verdict if self.adjusted < 1 - CONFIDENCE else "undecided"


def corrected(claims: Sequence[Claim]) -> list[Corrected]:
    """All comparisons of random runs behind these claims, adjusted for their number by Holm's method."""
    tests = [
        (claim.id, measure, p)
        for claim in claims
        for measure in claim.measures
        if (p := measure.p) is not None
    ]
    adjusted = holm([p for _, _, p in tests])
    return [Corrected(*test, after) for test, after in zip(tests, adjusted, strict=True)]


def turned(default: Verdict) -> Verdict:
    """The verdict that a change of the default may lead to."""
    return "contradicted" if default == "holds" else "holds"


def final(default: Verdict, searched: Searched | None) -> FinalVerdict:
    """The verdict of a claim over all that its paper leaves open.

    It depends if a setting that the text permits turns the verdict of the default, from "holds" to "contradicted" or
    from another one to "holds", and fresh runs confirm it. Otherwise it is the verdict of the default, also for a claim
    that was not searched.
    """
    if searched is None or not searched.turn or searched.excluded:
        return default
    return "depends" if searched.fresh == turned(default) else default


def counts(claims: Sequence[Claim]) -> dict[Kind, dict[str, int]]:
    """Of results and of inventory apart: how many claims there are, and how many of each final verdict."""
    found: dict[Kind, dict[str, int]] = {}
    for kind in KINDS:
        of = Counter(claim.final for claim in claims if claim.kind == kind)
        found[kind] = {"claims": of.total(), **{verdict: of[verdict] for verdict in FINAL_VERDICTS}}
    return found


def tally(claims: Sequence[Claim]) -> str:
    """The same in a sentence, results first."""
    return "; ".join(
        f"{of['claims']} {TITLES[kind][of['claims'] != 1]}: {_outcomes(of)}"
        for kind, of in counts(claims).items()
        if of["claims"]
    )


def _outcomes(of: Mapping[str, int]) -> str:
    """How many claims have each verdict: "2 hold, 1 undecided", or "all hold"."""
    if of["claims"] > 2 and of["holds"] == of["claims"]:
        return "all hold"
    return ", ".join(
        f"{of[verdict]} {verb(verdict, of[verdict])}" for verdict in FINAL_VERDICTS if of[verdict]
    )


def verb(verdict: FinalVerdict, count: int) -> str:
    """A verdict behind a number of claims: "1 holds", "13 hold"."""
    return verdict.removesuffix("s") if count != 1 else verdict


def write_json(claims: Sequence[Claim], path: Path, robustness: Mapping[str, str] | None = None) -> None:
    """The claims as a JSON list, with their `robustness` by id. An unbounded end of an interval is null."""
    lines = robustness or {}
    data = [claim.as_dict() | {"robustness": lines.get(claim.id)} for claim in claims]
    content = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(content + "\n", encoding="utf-8")


def interval_text(measured: Interval) -> str:
    """The interval for people."""
    if measured.fixed:
        return "exact"
    if measured.same:
        return f"the same in all {measured.runs} runs; at most {measured.differs:.0%} of further runs differ"
    if math.isinf(measured.low) and math.isinf(measured.high):
        return f"{'one run' if measured.runs == 1 else f'{measured.runs} runs'}: no interval"
    if math.isinf(measured.high):
        return f"{measured.low:.4g} or more"
    if math.isinf(measured.low):
        return f"{measured.high:.4g} or less"
    return f"{measured.low:.4g} … {measured.high:.4g}"


def terminal_tables(claims: Sequence[Claim]) -> list[Table]:
    """The claims for the terminal, one line per claim: a table of the results, and one of the inventory."""
    by_kind = {kind: [claim for claim in claims if claim.kind == kind] for kind in KINDS}
    return [_terminal_table(kind, of_kind) for kind, of_kind in by_kind.items() if of_kind]


def _terminal_table(kind: Kind, claims: Sequence[Claim]) -> Table:
    from rich.table import Table

    colours = {"holds": "green", "depends": "magenta", "contradicted": "bold red", "undecided": "yellow"}
    table = Table(title=TITLES[kind][1].capitalize())
    for heading in ("claim", "verdict", "effect", "95 % interval", "claimed", "runs"):
        justify: Literal["left", "right"] = "right" if heading in ("effect", "runs") else "left"
        table.add_column(heading, justify=justify, no_wrap=heading in ("claim", "verdict"))
    for claim in claims:
        measure = claim.deciding
        table.add_row(
            claim.id,
            f"[{colours[claim.final]}]{claim.final}[/]",
            with_unit(f"{measure.measured.effect:.4g}", measure.unit),
            interval_text(measure.measured),
            str(measure.claimed),
            str(measure.measured.runs),
        )
    return table


def depends_on(claim: Claim) -> str:
    """The verdicts of a claim that depends: under the default, and under the smallest change. Empty for others."""
    found = claim.searched
    if found is None or claim.final != "depends":
        return ""
    turned_to = f"{found.fresh} in {found.runs} further runs with another choice: {found.changes}"
    return f"{claim.verdict} under the default; {turned_to}"


def remarks(claims: Sequence[Claim]) -> str:
    """Lines for which the table has no room: choices that decide, and measures that fail or do not count.

    Empty if there are none.
    """
    lines = []
    for claim in claims:
        told = [each for each in (depends_on(claim), claim.failing) if each] + claim.open
        lines += [f"{claim.id}:", *(f"  {line}" for line in told)] if told else []
    return "\n".join(lines)
