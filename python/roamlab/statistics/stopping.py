"""The number of repetitions: fixed, or as many as an interval of the wanted width needs."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from roamlab.base.calls import Kind, called, public
from roamlab.base.errors import BadInput
from roamlab.statistics.stats import CONFIDENCE, LEAST, Interval, p_value, student

if TYPE_CHECKING:
    from collections.abc import Sequence


@public(
    "write another roamlab.Until(…)",
    metric=None,
    half_width=None,
    minimum=None,
    budget=None,
    rule=None,
    baseline=None,
)
@dataclass(frozen=True)
class Until:
    """Repetitions until the half-width of `metric`'s 95 % interval is `half_width`, or `budget` are spent.

    The interval is that of each point's mean; with a `baseline`, named as in `Runs.compare`, that of the difference to
    it, run by run.

    * `rule = "pilot"`, Stein's two stages: `minimum` runs give the spread s, then n = (t s / half_width)² are
      made in all. Here t is Student's quantile with minimum - 1 degrees of freedom. The interval is the mean of
      all ± t s / √n. The number does not look at the runs that it asks for, so the coverage is kept.
    * `rule = "sequential"`: runs are added, a fifth at a time, until the Student interval is narrow enough.
      It needs fewer runs, and stops more readily where the spread was underestimated by chance: the coverage is
      lower than stated, the more so the smaller `minimum`. `docs/sweeps.md` has figures.
    """

    metric: str
    half_width: float
    minimum: int = 20
    budget: int = 1000
    rule: Literal["pilot", "sequential"] = "pilot"
    baseline: str | None = None

    def __post_init__(self) -> None:
        def refuse(field: str, value: object, expected: str, remedy: str) -> BadInput:
            return BadInput(
                f"field `replications.{field}`", f"{value!r} cannot be used", expected=expected, remedy=remedy
            )

        if not isinstance(self.metric, str) or "*" in self.metric:
            raise refuse("metric", self.metric, "one metric", 'write for example "flows.moving.goodput_bps"')
        width = self.half_width
        if type(width) not in (int, float) or not (math.isfinite(width) and width > 0):
            raise refuse("half_width", width, "a number above 0", "write it in the metric's unit")
        if type(self.minimum) is not int or self.minimum < LEAST:
            raise refuse("minimum", self.minimum, f"a whole number from {LEAST} on", "write 20, for example")
        if type(self.budget) is not int or self.budget < self.minimum:
            raise refuse(
                "budget", self.budget, "at least the minimum", f"write {10 * self.minimum}, for example"
            )
        if self.rule not in ("pilot", "sequential"):
            raise refuse("rule", self.rule, '"pilot" or "sequential"', 'leave it out: "pilot" is the default')
        if not isinstance(self.baseline, str | None):
            raise refuse(
                "baseline", self.baseline, "the name of a point, or a value on one axis", "leave it out"
            )

    def wanted(self, values: Sequence[float]) -> int:
        """How many runs there are to be, after these; `len(values)` if there are enough."""
        if len(values) < self.minimum:
            return self.minimum
        if self.rule == "pilot":
            needed = math.ceil(self._needed(values[: self.minimum]))
        elif _error(values) / math.sqrt(len(values)) <= self.half_width:
            needed = len(values)
        else:
            needed = len(values) + max(1, len(values) // 5)
        return max(len(values), min(self.budget, needed))

    def missed(self, values: Sequence[float]) -> int:
        """How many runs the goal would take, as these show it; 0 if they reach it."""
        pilot = values[: self.minimum] if self._goes_by_pilot(values) else values
        needed = math.ceil(self._needed(pilot) * (1 - 1e-9))
        return needed if needed > len(values) else 0

    def _needed(self, values: Sequence[float]) -> float:
        """How many runs the goal takes by the spread of these."""
        return (_error(values) / self.half_width) ** 2

    def interval(self, values: Sequence[float]) -> Interval:
        """The interval that belongs to the rule."""
        if not self._goes_by_pilot(values):
            return student(values)
        mean = math.fsum(values) / len(values)
        error = _error(values[: self.minimum]) / math.sqrt(len(values))
        return Interval(mean, mean - error, mean + error, len(values))

    def p_value(self, values: Sequence[float]) -> float | None:
        """The two-sided test of a mean of 0 with the same result as the interval. `None` if all values are equal."""
        from scipy import stats as scipy_stats

        pilot = values[: self.minimum]
        if not self._goes_by_pilot(values) or p_value(pilot) is None:
            return p_value(values)
        statistic = abs(math.fsum(values)) / (np.std(pilot, ddof=1) * math.sqrt(len(values)))
        return float(2 * scipy_stats.t.sf(statistic, self.minimum - 1))

    def _goes_by_pilot(self, values: Sequence[float]) -> bool:
        """True if the spread is that of the pilot, not that of all values."""
        return self.rule == "pilot" and len(values) >= self.minimum


def _error(values: Sequence[float]) -> float:
    """T s: Student's half-width times √n."""
    from scipy import stats as scipy_stats

    quantile = scipy_stats.t.ppf((1 + CONFIDENCE) / 2, len(values) - 1)
    return float(quantile * np.std(values, ddof=1))


_NAME = Kind(
    (str,), "a text", 'a number is a seed already: write seed=7; this makes one of a name, seed("lab")'
)


@called(name=_NAME)
def seed(name: str) -> int:
    """A seed from a name, such as that of an experiment: equal everywhere, different for different names."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big")
