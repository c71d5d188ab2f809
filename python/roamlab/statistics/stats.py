"""95 % intervals. SciPy does the arithmetic; this module handles the special cases.

SciPy is imported in the functions that call it, because loading it takes longer than most computations of an
interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cache, partial
from numbers import Integral, Real
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from roamlab.base.calls import BadCall, Kind, called, no_attribute
from roamlab.base.errors import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

CONFIDENCE = 0.95
LEAST = 5
"""Fewer runs show too little of their own spread: no verdict is given, and no number of runs derived, from
them. With 4 runs Student's quantile is 3.2 and the spread itself is known to a factor of 3.7; with 5 the
factor is 2.9."""


_ROUNDING = 1e-11
"""Values that differ by less than this share of their size differ by the rounding of floating-point numbers."""


_VALUES = Kind(
    ("Values",), "numbers in a list or an array", "write values = [1.5, 2.0, 1.8], one of each run"
)
_RUNS = Kind(("Values",), "numbers in a list or an array", "write [1.5, 2.0, 1.8], one of each run")
_sampled = called(values=_VALUES)


@dataclass(frozen=True)
class Interval:
    """An estimate from `runs` runs with the interval that covers the truth at the confidence level."""

    effect: float
    low: float
    high: float
    runs: int
    test: Callable[[float], float] | None = field(default=None, compare=False, repr=False)
    """The two-sided p-value of the truth being a given value, from the test that the interval inverts. `None` without
    such a test: a closed form, an extreme, a quantile, runs that are all equal, one run alone."""
    fixed: bool = False
    """Chance does not enter: a closed form, or a value that the set-up makes equal in every run."""
    extreme: bool = False
    """The largest or smallest value of the sample: a bound from one side only."""

    def __getattr__(self, name: str) -> NoReturn:
        hint = ".effect is the estimate, .low and .high are its bounds at 95 %, .runs the number of runs"
        raise no_attribute("Interval", name, (), hint)

    def __post_init__(self) -> None:
        if (
            any(map(math.isnan, (self.effect, self.low, self.high)))
            or not self.low <= self.effect <= self.high
        ):
            raise ValueError(f"not an interval around its effect: {self.low} .. {self.effect} .. {self.high}")

    @property
    def same(self) -> bool:
        """All runs of a random sample gave one value. Their spread is then unknown, not zero: see `differs`."""
        return self.low == self.high and self.runs > 1 and not self.fixed

    @property
    def differs(self) -> float:
        """The largest share of runs with another value that agrees with `runs` equal ones (Clopper and Pearson)."""
        return 1.0 - math.pow((1.0 - CONFIDENCE) / 2, 1.0 / self.runs)


@called()
def exact(value: float) -> Interval:
    """A value that no chance enters, such as a closed form: the interval is the value."""
    return Interval(float(value), float(value), float(value), 1, fixed=True)


@_sampled
def largest(values: Sequence[float]) -> Interval:
    """The largest value of a sample. Further runs can only exceed it, so the interval is open above.

    An inventory claim compares the value itself with a bound that each single run must keep. For a result such as "at
    most 14 packets" use `share_interval` of the cases above 14, or `quantile`.
    """
    sample = _sample(values)
    most = float(sample.max())
    return Interval(most, most, math.inf, len(sample), extreme=True)


@_sampled
def smallest(values: Sequence[float]) -> Interval:
    """The smallest value of a sample: as `largest`, with an interval that is open below."""
    sample = _sample(values)
    least = float(sample.min())
    return Interval(least, -math.inf, least, len(sample), extreme=True)


@_sampled
def quantile(values: Sequence[float], share: float) -> Interval:
    """The value below which a `share` of the values lies, with its interval between order statistics.

    The number of values below the true quantile is binomial, whatever their distribution (Conover 1999, "Practical
    Nonparametric Statistics", 3.2). An end for which there are too few values is infinite. Raises `ValueError` if
    `share` is not between 0 and 1.
    """
    from scipy import stats as scipy_stats

    if not 0.0 < share < 1.0:
        remedy = f": write {share / 100:g}" if 1 < share < 100 else ""
        raise ValueError(f"expected a share between 0 and 1, got {share}{remedy}")
    ordered = np.sort(_sample(values))
    below = scipy_stats.binom(len(ordered), share)
    tail = (1.0 - CONFIDENCE) / 2
    # The largest `first` with P(below < first) <= tail, and the smallest `last` with P(below >= last) <= tail.
    first = int(below.ppf(tail))
    last = int(below.ppf(1.0 - tail)) + 1
    low = float(ordered[first - 1]) if first >= 1 else -math.inf
    high = float(ordered[last - 1]) if last <= len(ordered) else math.inf
    found = float(np.quantile(ordered, share, method="inverted_cdf"))
    return Interval(found, low, high, len(ordered))


@_sampled
def student(values: Sequence[float]) -> Interval:
    """The mean and its Student interval. One run alone has no bounds."""
    sample = _sample(values)
    mean = float(sample.mean())
    if len(sample) == 1:
        return Interval(mean, -math.inf, math.inf, 1)
    error = float(sample.std(ddof=1)) / math.sqrt(len(sample))
    if error == 0.0 or _equal(sample):
        return Interval(mean, mean, mean, len(sample))
    low, high = _student_bounds(len(sample) - 1)
    return Interval(
        mean, mean + low * error, mean + high * error, len(sample), partial(_student_test, sample)
    )


def _student_test(sample: NDArray[np.float64], truth: float) -> float:
    from scipy import stats as scipy_stats

    return float(scipy_stats.ttest_1samp(sample, truth).pvalue)


@cache
def _student_bounds(freedom: int) -> tuple[float, float]:
    """Student's t of this number of degrees of freedom lies between them at the confidence level."""
    from scipy import special

    low, high = special.stdtrit(freedom, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


@_sampled
def bootstrap(values: Sequence[float]) -> Interval:
    """The mean and its percentile bootstrap interval, for skewed measures. Resamples in the same way each time."""
    from scipy import stats as scipy_stats

    sample = _sample(values)
    mean = float(sample.mean())
    if len(sample) == 1:
        return Interval(mean, -math.inf, math.inf, 1)
    if _equal(sample):
        return Interval(mean, mean, mean, len(sample))
    resampled = scipy_stats.bootstrap(
        (sample,), np.mean, confidence_level=CONFIDENCE, method="percentile", rng=np.random.default_rng(0)
    )
    found, means = resampled.confidence_interval, resampled.bootstrap_distribution

    def test(truth: float) -> float:
        return min(1.0, 2.0 * float(min(np.mean(means <= truth), np.mean(means >= truth))))

    return Interval(mean, min(float(found.low), mean), max(float(found.high), mean), len(sample), test)


@called(treatment=_RUNS, baseline=_RUNS)
def paired(treatment: Sequence[float], baseline: Sequence[float]) -> Interval:
    """Mean of `treatment - baseline`, run by run, with its Student interval.

    The two must have been run under the same seeds, in the same order.
    """
    if len(treatment) != len(baseline):
        raise ValueError(f"{len(treatment)} runs cannot be paired with {len(baseline)}")
    return student(differences(treatment, baseline))


@called(treatment=_RUNS, baseline=_RUNS)
def differences(treatment: Sequence[float], baseline: Sequence[float]) -> list[float]:
    """`treatment - baseline`, run by run; all equal if they differ by rounding only, and 0 if they are not larger."""
    found = [after - before for after, before in zip(treatment, baseline, strict=True)]
    rounding = _ROUNDING * max((abs(value) for value in (*treatment, *baseline)), default=0.0)
    if not found or max(found) - min(found) > rounding:
        return found
    middle = math.fsum(found) / len(found)
    return [0.0 if abs(middle) <= rounding else middle] * len(found)


@called(treatment=_RUNS, baseline=_RUNS)
def unpaired(treatment: Sequence[float], baseline: Sequence[float]) -> Interval:
    """Difference of the means of two sets of different runs, with Welch's interval. Needs two runs in each."""
    from scipy import stats as scipy_stats

    after, before = _sample(treatment), _sample(baseline)
    difference = float(after.mean() - before.mean())
    runs = len(after) + len(before)
    if min(len(after), len(before)) < 2:
        return Interval(difference, -math.inf, math.inf, runs)
    if _equal(after) and _equal(before):
        return Interval(difference, difference, difference, runs)
    found = scipy_stats.ttest_ind(after, before, equal_var=False).confidence_interval(CONFIDENCE)

    def test(truth: float) -> float:
        return float(scipy_stats.ttest_ind(after - truth, before, equal_var=False).pvalue)

    return Interval(difference, float(found.low), float(found.high), runs, test)


@called(successes=None)
def share_interval(successes: int, n: int, runs: int | None = None) -> Interval:
    """A share with its exact interval (Clopper and Pearson 1934), of `n` independent trials.

    For a count such as "k of 4 TCPs" take the runs in which it is reached, for an extreme such as "at most 14 packets"
    the handovers above it. `runs`: from how many runs the trials are, if a run has several. Raises `ValueError` without
    trials.
    """
    if isinstance(successes, bool) or not isinstance(successes, Integral):
        is_number = (
            isinstance(successes, Real) and not isinstance(successes, bool) and math.isfinite(successes)
        )
        met = round(float(successes) * (n if 0 < successes < 1 else 1)) if is_number else -1
        raise BadCall(
            "share_interval, argument successes",
            f"{successes!r} is no number of trials",
            expected=f"how many of the {n} trials succeeded",
            remedy=f"write successes = {met}"
            if 0 <= met <= n
            else "count them, as in sum(value < 3 for value in values)",
        )
    if not 0 <= successes <= n or n == 0:
        raise ValueError(f"expected 0 to {n} successes in at least one trial, got {successes}")
    share = successes / n
    low, high = clopper_pearson(int(successes), n, 1 - CONFIDENCE)

    def test(truth: float) -> float:
        from scipy import stats as scipy_stats

        of = scipy_stats.binom(n, min(1.0, max(0.0, truth)))
        return min(1.0, 2.0 * float(min(of.cdf(successes), of.sf(successes - 1))))

    return Interval(share, min(low, share), max(high, share), n if runs is None else runs, test)


def clopper_pearson(successes: int, n: int, error: float) -> tuple[float, float]:
    """The bounds of Clopper and Pearson (1934) on a share, each wrong with probability `error` / 2 at most.

    They are quantiles of beta distributions.
    """
    from scipy.special import betaincinv

    low = float(betaincinv(successes, n - successes + 1, error / 2)) if successes else 0.0
    high = 1.0 - float(betaincinv(n - successes, successes + 1, error / 2)) if successes < n else 1.0
    return low, high


@_sampled
def p_value(values: Sequence[float]) -> float | None:
    """Student's two-sided test of a mean of 0. `None` if all values are equal: their spread is then unknown."""
    from scipy import stats as scipy_stats

    sample = _sample(values)
    if _equal(sample):
        return None
    return float(scipy_stats.ttest_1samp(sample, 0.0).pvalue)


@called(p_values=_RUNS)
def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given (Holm 1979, "A simple sequentially rejective procedure").

    Raises `ValueError` for a number that is no probability.

    Rejecting each below 0.05 keeps the chance of any false rejection below 0.05, however the tests depend on each
    other.
    """
    if wrong := [value for value in p_values if not 0.0 <= value <= 1.0]:
        raise ValueError(f"expected probabilities from 0 to 1, got {wrong[0]}")
    adjusted, highest = [1.0] * len(p_values), 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[at]))
        adjusted[at] = highest
    return adjusted


@called()
def clipped(found: Interval, least: float, most: float) -> Interval:
    """The part of an interval in which the truth can lie, for a quantity that is never below `least` or above `most`.

    A value that is impossible is never the truth, so the smaller interval covers it as often. An interval
    without bounds, that of one run alone, is unchanged. Raises `ValueError` if `least` is above `most`.
    """
    if least > most:
        raise ValueError(f"expected the smaller bound first, got {least} and {most}")
    if math.isinf(found.low) or math.isinf(found.high):
        return found
    return replace(
        found, low=min(found.effect, max(found.low, least)), high=max(found.effect, min(found.high, most))
    )


def _equal(sample: NDArray[np.float64]) -> bool:
    """True if all values are the same, except for the rounding of floating-point numbers."""
    return bool(np.ptp(sample) <= _ROUNDING * np.abs(sample).max())


def _sample(values: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    try:
        sample = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"expected numbers, got {quoted(values)}") from None
    if sample.ndim != 1 or sample.size == 0 or not np.isfinite(sample).all():
        raise ValueError(f"expected at least one finite value, got {quoted(values)}")
    return sample
