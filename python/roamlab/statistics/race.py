"""A race of settings: which of them are beaten, and how far the others can be from the best.

Successive elimination with paired runs: run n of all settings has the same random streams, so a difference between two
settings is taken run by run. Looks are after 8, 16, 32, … runs. A setting leaves when another one is shown to be
better. The bounds on what is left are multiple comparisons with the best (Hsu 1981; Edwards and Hsu 1983).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from roamlab.statistics.stats import CONFIDENCE, clopper_pearson

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Measure: TypeAlias = Callable[[Sequence[int], int], tuple[NDArray[np.float64], NDArray[np.bool_]]]

State = Literal["best", "beaten", "fails", "open"]
"""A setting is one of the best, beaten by another one, shown to fail the condition, or not shown to meet it."""

FIRST_LOOK = 8
"""Runs of each setting before the first look; each further look doubles them."""


def looks(first: int, budget: int) -> list[int]:
    """The numbers of runs after which there is a verdict: `first`, its doubles below `budget`, and `budget`."""
    return [*(first << look for look in range(budget.bit_length()) if first << look < budget), budget]


@dataclass(frozen=True)
class Levels:
    """How the 5 % of error are divided.

    The race has a comparison of the best setting with each rival at each look. With a condition it has half of the
    error, and the other half is for the bounds on the share of each setting at each look.
    """

    settings: int
    looks: int
    condition: bool

    @property
    def comparison(self) -> float:
        """The one-sided level of one comparison."""
        return self._half / (self.looks * max(1, self.settings - 1))

    @property
    def share(self) -> float:
        """The two-sided level of the bounds on one share."""
        return self._half / (self.looks * self.settings)

    @property
    def _half(self) -> float:
        return (1 - CONFIDENCE) / (2 if self.condition else 1)


@dataclass
class Finish:
    """The end of a race, a value for each setting.

    `behind` has the upper bound of how far the setting's mean is below the best one; NaN for those that left. All
    bounds hold together with 95 %. `correlation` is that between two settings at the first look, in the mean; NaN with
    one setting or without spread.
    """

    states: list[State]
    runs: list[int]
    met: list[int]
    behind: list[float]
    correlation: float = math.nan


def race(
    settings: int, measure: Measure, *, budget: int, tolerance: float, share: float | None = None
) -> Finish:
    """Race `settings` settings; a larger mean is better.

    `measure(which, runs)` gives the values of the first `runs` runs of these settings, a row for each, and whether each
    run meets the condition. Setting i leaves when for a k that is shown to meet the condition the mean of k - i minus
    t(n - 1) s / √n is above 0. The true best leaves with 5 % at most: its rivals and the looks share the error (union
    bound). The race ends with one setting, or when all that are left are within `tolerance` times the best mean, or
    after `budget` runs of each. `share` is that of runs which must meet the condition (None: there is no condition);
    its bounds are those of Clopper and Pearson.

    ASSUMPTION: the spread of differences that are equal in all runs is 0.
    """
    sizes = looks(FIRST_LOOK, budget)
    levels = Levels(settings, len(sizes), share is not None)
    finish = Finish(["open"] * settings, [0] * settings, [0] * settings, [math.nan] * settings)
    left = list(range(settings))
    for size in sizes:
        values, met = measure(left, size)
        if size == sizes[0]:
            finish.correlation = correlation(values)
        for setting, row in zip(left, met, strict=True):
            finish.runs[setting], finish.met[setting] = size, int(row.sum())
            if finish.states[setting] == "open":
                finish.states[setting] = _verdict(finish.met[setting], size, share, levels)
        upper = upper_bounds(values, levels.comparison)
        places = {setting: at for at, setting in enumerate(left)}
        proven = [places[each] for each in left if finish.states[each] == "best"]
        for setting in left:
            if finish.states[setting] != "fails" and (upper[proven, places[setting]] < 0).any():
                finish.states[setting] = "beaten"
        finish.behind = [math.nan] * settings
        left = [setting for setting in left if finish.states[setting] in ("best", "open")]
        kept = [places[setting] for setting in left]
        for setting in left:
            finish.behind[setting] = max(0.0, float(upper[places[setting], kept].max()))
        if not left or _over(finish, left, tolerance * abs(float(values[kept].mean(axis=1).max()))):
            break
    return finish


def _over(finish: Finish, left: Sequence[int], tolerance: float) -> bool:
    """True if more runs would not change the answer."""
    if any(finish.states[setting] == "open" for setting in left):
        return False
    return len(left) == 1 or all(finish.behind[setting] <= tolerance for setting in left)


def _verdict(met: int, runs: int, share: float | None, levels: Levels) -> State:
    """The state by the share of runs that meet the condition."""
    if share is None:
        return "best"
    low, high = clopper_pearson(met, runs, levels.share)
    return "best" if low >= share else "fails" if high < share else "open"


def upper_bounds(values: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    """Upper bounds of mean k minus mean i, at row i and column k, from paired runs. The diagonal is 0.

    `values` has a row for each setting. Each bound is too small with probability `level`, by Student's t.
    """
    from scipy import special

    runs = values.shape[1]
    quantile = float(special.stdtrit(runs - 1, 1 - level))
    bounds = np.empty((len(values), len(values)))
    for at, row in enumerate(values):
        apart = values - row
        # Equal differences are rounded apart by the subtraction.
        spread = np.where(
            np.ptp(apart, axis=1) <= 1e-11 * np.abs(values).max(), 0.0, apart.std(axis=1, ddof=1)
        )
        bounds[at] = apart.mean(axis=1) + quantile * spread / math.sqrt(runs)
    np.fill_diagonal(bounds, 0.0)
    return bounds


def correlation(values: NDArray[np.float64]) -> float:
    """The correlation of the runs of two settings, over all pairs: 1 minus the ratio of the variances.

    The first is that of the paired differences, the second what it would be without pairs. NaN without two settings, or
    without spread.
    """
    count = len(values)
    single = float(values.var(axis=1, ddof=1).sum())
    if count < 2 or single == 0.0:
        return math.nan
    # The variances of all differences sum to K times the sum of those of the settings, minus that of their sum.
    of_sum = float(values.sum(axis=0).var(ddof=1))
    return 1.0 - (count * single - of_sum) / ((count - 1) * single)
