"""95 % intervals. SciPy does the arithmetic; this module settles what to do at the edges.

It is imported where it is called: to load it takes longer than most that is done with an interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean over `runs` runs with the interval that covers it at the confidence level."""

    effect: float
    low: float
    high: float
    runs: int
    test: Callable[[float], float] | None = field(default=None, compare=False, repr=False)
    """The two-sided p-value of the truth being a given value, from the test that the interval inverts; `None` where no
    chance enters: a closed form, an extreme, runs that are all alike, one run alone."""

    def __post_init__(self) -> None:
        if (
            any(map(math.isnan, (self.effect, self.low, self.high)))
            or not self.low <= self.effect <= self.high
        ):
            raise ValueError(f"not an interval around its effect: {self.low} .. {self.effect} .. {self.high}")


def exact(value: float) -> Interval:
    """A value that no chance enters, such as a closed form: the interval is the value."""
    return Interval(float(value), float(value), float(value), 1)


def largest(values: Sequence[float]) -> Interval:
    """The largest of all runs, for a bound that each single run must keep; it estimates no mean and has no spread."""
    sample = _sample(values)
    most = float(sample.max())
    return Interval(most, most, most, len(sample))


def smallest(values: Sequence[float]) -> Interval:
    """The smallest of all runs, for a bound from below that each single run must keep."""
    least = float(_sample(values).min())
    return Interval(least, least, least, len(values))


def student(values: Sequence[float]) -> Interval:
    """The mean and its Student interval. One run alone has no bounds."""
    sample = _sample(values)
    mean = float(sample.mean())
    if len(sample) == 1:
        return Interval(mean, -math.inf, math.inf, 1)
    error = float(sample.std(ddof=1)) / math.sqrt(len(sample))
    if error == 0.0 or np.ptp(sample) == 0.0:
        return Interval(mean, mean, mean, len(sample))
    low, high = _student_bounds(len(sample) - 1)
    return Interval(
        mean, mean + low * error, mean + high * error, len(sample), partial(_student_test, sample)
    )


def _student_test(sample: NDArray[np.float64], truth: float) -> float:
    return p_value((sample - truth).tolist())


@cache
def _student_bounds(freedom: int) -> tuple[float, float]:
    """Student's t of so many degrees of freedom lies between them at the confidence level."""
    from scipy import special

    low, high = special.stdtrit(freedom, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def bootstrap(values: Sequence[float]) -> Interval:
    """The mean and its percentile bootstrap interval, for skewed measures. Resamples alike each time."""
    from scipy import stats as scipy_stats

    sample = _sample(values)
    mean = float(sample.mean())
    if len(sample) == 1:
        return Interval(mean, -math.inf, math.inf, 1)
    if np.ptp(sample) == 0.0:
        return Interval(mean, mean, mean, len(sample))
    resampled = scipy_stats.bootstrap(
        (sample,), np.mean, confidence_level=CONFIDENCE, method="percentile", rng=np.random.default_rng(0)
    )
    found, means = resampled.confidence_interval, resampled.bootstrap_distribution

    def test(truth: float) -> float:
        return min(1.0, 2.0 * float(min(np.mean(means <= truth), np.mean(means >= truth))))

    return Interval(mean, min(float(found.low), mean), max(float(found.high), mean), len(sample), test)


def paired(treatment: Sequence[float], baseline: Sequence[float]) -> Interval:
    """Mean of `treatment - baseline`, run by run, with its Student interval.

    The two must have been run under the same seeds, in the same order.
    """
    if len(treatment) != len(baseline):
        raise ValueError(f"{len(treatment)} runs cannot be paired with {len(baseline)}")
    return student([after - before for after, before in zip(treatment, baseline, strict=True)])


def unpaired(treatment: Sequence[float], baseline: Sequence[float]) -> Interval:
    """Difference of the means of two sets of different runs, with Welch's interval. Needs two runs in each."""
    from scipy import stats as scipy_stats

    after, before = _sample(treatment), _sample(baseline)
    difference = float(after.mean() - before.mean())
    runs = len(after) + len(before)
    if min(len(after), len(before)) < 2:
        return Interval(difference, -math.inf, math.inf, runs)
    if np.ptp(after) == 0.0 and np.ptp(before) == 0.0:
        return Interval(difference, difference, difference, runs)
    found = scipy_stats.ttest_ind(after, before, equal_var=False).confidence_interval(CONFIDENCE)

    def test(truth: float) -> float:
        return float(scipy_stats.ttest_ind(after - truth, before, equal_var=False).pvalue)

    return Interval(difference, float(found.low), float(found.high), runs, test)


def proportion(successes: int, trials: int) -> Interval:
    """A share of runs with its exact interval (Clopper and Pearson 1934). Raises `ValueError` without trials."""
    from scipy import stats as scipy_stats

    if not 0 <= successes <= trials or trials == 0:
        raise ValueError(f"expected 0 to {trials} successes in at least one trial, got {successes}")
    share = successes / trials
    found = scipy_stats.binomtest(successes, trials).proportion_ci(CONFIDENCE, method="exact")

    def test(truth: float) -> float:
        of = scipy_stats.binom(trials, min(1.0, max(0.0, truth)))
        return min(1.0, 2.0 * float(min(of.cdf(successes), of.sf(successes - 1))))

    return Interval(share, min(float(found.low), share), max(float(found.high), share), trials, test)


def p_value(values: Sequence[float]) -> float:
    """Student's two-sided test of a mean of 0. One value alone says nothing: 1."""
    from scipy import stats as scipy_stats

    sample = _sample(values)
    if np.ptp(sample) == 0.0:
        return 1.0 if len(sample) == 1 or sample[0] == 0.0 else 0.0
    return float(scipy_stats.ttest_1samp(sample, 0.0).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given (Holm 1979, "A simple sequentially rejective procedure").

    Rejecting each below 0.05 keeps the chance of any false rejection below 0.05, however the tests depend on each
    other.
    """
    adjusted, highest = [1.0] * len(p_values), 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = highest
    return adjusted


def clipped(found: Interval, least: float, most: float) -> Interval:
    """The part of an interval in which the truth can lie, for a quantity that is never below `least` or above `most`.

    A value that is impossible is never the truth, so the smaller interval covers it as often. An interval without
    bounds, that of one run alone, stays as it is.
    """
    if math.isinf(found.low) or math.isinf(found.high):
        return found
    return replace(
        found, low=min(found.effect, max(found.low, least)), high=max(found.effect, min(found.high, most))
    )


def _sample(values: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    sample = np.asarray(values, dtype=np.float64)
    if sample.ndim != 1 or sample.size == 0 or not np.isfinite(sample).all():
        raise ValueError(f"expected at least one finite value, got {values!r}")
    return sample
