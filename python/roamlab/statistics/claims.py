"""A paper's claims, and verdicts that are computed from measurements, never written by hand.

* holds: the effect lies in the claimed range and the 95 % interval excludes everything else;
* contradicted: the interval excludes the claimed range. This is a finding, not a failure;
* undecided: the interval reaches both.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from roamlab.statistics.stats import CONFIDENCE, holm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rich.table import Table

    from roamlab.statistics.stats import Interval

Verdict = Literal["holds", "contradicted", "undecided"]
VERDICTS: tuple[Verdict, ...] = ("holds", "contradicted", "undecided")
_FROM_WORST: tuple[Verdict, ...] = ("contradicted", "undecided", "holds")

NOT_SEARCHED = "robustness not searched"


@dataclass(frozen=True)
class Claimed:
    """The range in which a paper says that an effect lies; `strict` leaves the bounds themselves out."""

    low: float
    high: float
    strict: bool

    def __str__(self) -> str:
        if self.low == -math.inf:
            return f"{'<' if self.strict else '≤'} {self.high:g}"
        if self.high == math.inf:
            return f"{'>' if self.strict else '≥'} {self.low:g}"
        return f"{self.low:g} … {self.high:g}"

    def verdict(self, measured: Interval) -> Verdict:
        """What the measurement says about the claim."""
        if self._misses(measured.low, measured.high):
            return "contradicted"
        inside = self.low <= measured.low and measured.high <= self.high
        if inside and not self._misses(measured.effect, measured.effect):
            return "holds"
        return "undecided"

    def _misses(self, low: float, high: float) -> bool:
        """No value from `low` to `high` is in the claimed range."""
        if self.strict:
            return high <= self.low or low >= self.high
        return high < self.low or low > self.high


def greater(than: float = 0.0) -> Claimed:
    """More than the bound."""
    return Claimed(than, math.inf, strict=True)


def less(than: float = 0.0) -> Claimed:
    """Less than the bound."""
    return Claimed(-math.inf, than, strict=True)


def at_least(bound: float) -> Claimed:
    """The bound or more."""
    return Claimed(bound, math.inf, strict=False)


def at_most(bound: float) -> Claimed:
    """The bound or less."""
    return Claimed(-math.inf, bound, strict=False)


def within(low: float, high: float) -> Claimed:
    """From one bound to the other, both included."""
    return Claimed(low, high, strict=False)


@dataclass(frozen=True)
class Measure:
    """One measured effect and what the paper says of it."""

    what: str
    measured: Interval
    unit: str
    claimed: Claimed

    @property
    def verdict(self) -> Verdict:
        """What the measurement says."""
        return self.claimed.verdict(self.measured)

    @property
    def p(self) -> float | None:
        """The p-value of the bounds of the claimed range that the verdict excludes; `None` where no chance enters.

        Inside the range both are excluded, and the larger p-value counts; outside, the nearer one.
        """
        test, found = self.measured.test, self.measured.effect
        if test is None:
            return None
        bounds = [bound for bound in (self.claimed.low, self.claimed.high) if math.isfinite(bound)]
        if self.claimed.low <= found <= self.claimed.high:
            return max(map(test, bounds), default=0.0)
        return test(min(bounds, key=lambda bound: abs(found - bound)))


@dataclass(frozen=True)
class Claim:
    """A claim of a paper. It holds if every measure holds and is contradicted if one is."""

    id: str
    statement: str
    measures: tuple[Measure, ...]
    reading: str
    """The readings of the paper's open points under which it was measured."""
    why: str
    """The mechanism behind the outcome."""
    others: tuple[Claim, ...] = ()
    """The same claim under other readings."""

    def __post_init__(self) -> None:
        if not self.measures:
            raise ValueError(f"claim {self.id} has no measure")

    @property
    def deciding(self) -> Measure:
        """The measure that settles the verdict: the first with the worst one."""
        return min(self.measures, key=lambda measure: _FROM_WORST.index(measure.verdict))

    @property
    def verdict(self) -> Verdict:
        """What the measurements say about the claim."""
        return self.deciding.verdict

    @property
    def failing(self) -> str:
        """Which of several measures do not hold, for people; empty if there is one, or if all hold."""
        if len(self.measures) == 1 or self.verdict == "holds":
            return ""
        parts = [
            f"{len(found)} {verdict} ({'; '.join(found)})"
            for verdict in _FROM_WORST[:2]
            if (found := [measure.what for measure in self.measures if measure.verdict == verdict])
        ]
        return f"of {len(self.measures)} measures {', '.join(parts)}"

    def as_dict(self) -> dict[str, Any]:
        """For JSON. `effect`, `unit`, `interval` and `runs` are those of the deciding measure."""
        return {
            "id": self.id,
            "statement": self.statement,
            "verdict": self.verdict,
            **_measure_dict(self.deciding),
            "reading": self.reading,
            "why": self.why,
            "measures": [_measure_dict(measure) | {"verdict": measure.verdict} for measure in self.measures],
            "readings": [
                {"reading": other.reading, "verdict": other.verdict, **_measure_dict(other.deciding)}
                for other in self.others
            ],
        }


def _measure_dict(measure: Measure) -> dict[str, Any]:
    return {
        "what": measure.what,
        "claimed": str(measure.claimed),
        "effect": measure.measured.effect,
        "unit": measure.unit,
        "interval": [
            bound if math.isfinite(bound) else None for bound in (measure.measured.low, measure.measured.high)
        ],
        "runs": measure.measured.runs,
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
        """The measure's, if it stands among so many comparisons."""
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


def write_json(claims: Sequence[Claim], path: Path, robustness: Mapping[str, str] | None = None) -> None:
    """The claims as a JSON list, with their `robustness` by id. An unbounded end of an interval is null."""
    lines = robustness or {}
    data = [claim.as_dict() | {"robustness": lines.get(claim.id)} for claim in claims]
    content = json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False)
    path.write_text(content + "\n", encoding="utf-8")


def interval_text(measured: Interval) -> str:
    """The interval for people."""
    if math.isinf(measured.low) or math.isinf(measured.high):
        return "one run: no interval"
    return f"{measured.low:.4g} … {measured.high:.4g}"


def terminal_table(claims: Sequence[Claim]) -> Table:
    """The claims for the terminal, one line per claim."""
    from rich.table import Table

    colours = {"holds": "green", "contradicted": "bold red", "undecided": "yellow"}
    table = Table(title="Claims")
    for heading in ("claim", "verdict", "effect", "95 % interval", "claimed", "runs"):
        justify: Literal["left", "right"] = "right" if heading in ("effect", "runs") else "left"
        table.add_column(heading, justify=justify, no_wrap=heading in ("claim", "verdict"))
    for claim in claims:
        measure = claim.deciding
        table.add_row(
            claim.id,
            f"[{colours[claim.verdict]}]{claim.verdict}[/]",
            f"{measure.measured.effect:.4g} {measure.unit}",
            interval_text(measure.measured),
            str(measure.claimed),
            str(measure.measured.runs),
        )
    return table


def remarks(claims: Sequence[Claim], robustness: Mapping[str, str]) -> str:
    """What the table has no room for: each claim's measures that fail, if there are several, and its robustness."""
    lines = []
    for claim in claims:
        lines.append(f"{claim.id}: {robustness.get(claim.id, NOT_SEARCHED)}")
        lines += [f"  {claim.failing}"] * bool(claim.failing)
    return "\n".join(lines)
