"""Laws of durations fitted to a sample, judged on the half of it that they were not fitted to; events in groups."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from numpy.typing import NDArray

    Values = NDArray[np.float64]
    Fit = Callable[[Values], "Law"]
    _Two = tuple[tuple[list[float], list[float], list[float]], float]

LEAST_SAMPLE = 30
"""A smaller sample decides nothing: in a half of it the bound of the KS distance is above 0.35."""
CLEARLY_BETTER = 10.0
"""So much lower is the BIC of two components that are better (Kass and Raftery, JASA 90, 1995, §3.2: "very strong")."""
APART = 2.0
"""Ashman's D of components that are apart (Ashman, Bird and Zepf, AJ 108, 1994)."""
SIGNIFICANT = 0.01
"""Events are in groups, or more regular than random ones, with a p value below it."""

_SHARES = (0.0, 0.01, 0.05, *(tenth / 10 for tenth in range(1, 10)), 0.925, 0.95, 0.975, 0.99, 1.0)
_BEYOND = 5
"""Values that are below and above each quantile of a law, except for the shortest and the longest."""
_LEAST_WINDOWS = 10
_PER_WINDOW = 5.0
"""Events that a window of the test for groups has on average."""
_SPLITS = 5
"""Pairs of halves."""
_STEPS = 500
"""Steps of the expectation-maximisation at most."""
_SHORTEST_S = 1e-6
"""Of the mean of an exponential component, for times of 0."""
_GAIN = 1e-4
"""It ends where a step adds less to the logarithm of the likelihood."""


@dataclass(frozen=True)
class Law:
    """A law of times in s, as a scenario writes it."""

    name: str
    toml: dict[str, Any] | str
    """Its fields, as those of `DurationLaw` in the engine; of a constant time that."""
    points: tuple[tuple[float, float], ...] = ()
    """Of a law by quantiles: probabilities and times."""
    parts: tuple[tuple[float, float], ...] = ()
    """Of exponential laws: weights and means."""

    def below(self, times: Values, *, or_at: bool = True) -> Values:
        """The probability of a time below each of these, or at it."""
        if self.parts:
            return np.asarray(sum(w * -np.expm1(-np.maximum(times, 0.0) / mean) for w, mean in self.parts))
        shares, values = (np.array(each) for each in zip(*self.points, strict=True))
        knots, first = np.unique(values, return_index=True)
        if len(knots) == 1:
            return np.where(times > knots[0], 1.0, np.where((times == knots[0]) & or_at, 1.0, 0.0))
        last = np.searchsorted(values, knots, side="right") - 1
        low, high = shares[first], shares[last]
        at = np.searchsorted(knots, times, side="right") - 1
        inside = np.clip(at, 0, len(knots) - 2)
        width = knots[inside + 1] - knots[inside]
        along = high[inside] + (times - knots[inside]) / width * (low[inside + 1] - high[inside])
        exact = knots[np.clip(at, 0, None)] == times
        on = (high if or_at else low)[np.clip(at, 0, None)]
        found = np.where(exact, on, along)
        return np.where(at < 0, 0.0, np.where((at >= len(knots) - 1) & ~exact, 1.0, found))


def distance(law: Law, values: Values) -> float:
    """The Kolmogorov-Smirnov distance between a law and a sample, both of which may have steps."""
    ordered = np.sort(values)
    places = np.unique(np.concatenate([ordered, [time for _, time in law.points]]))
    count = len(ordered)
    at = np.searchsorted(ordered, places, side="right") / count - law.below(places)
    before = np.searchsorted(ordered, places, side="left") / count - law.below(places, or_at=False)
    return float(max(np.abs(at).max(), np.abs(before).max()))


def bound(count: int) -> float:
    """The KS distance that a sample of this size exceeds in 5 of 100 cases: 1.36/sqrt(n) (Smirnov, 1948)."""
    return 1.36 / math.sqrt(count)


def text(time_s: float, digits: int = 4) -> str:
    """A time as a scenario has it, with this number of digits, to a nanosecond at most."""
    value, unit = (time_s, "s") if time_s >= 1 else (time_s * 1e3, "ms")
    places = max(0, digits - 1 - math.floor(math.log10(value))) if value > 0 else 0
    written = f"{value:.{min(places, 9 if unit == 's' else 6)}f}"
    return f"{written.rstrip('0').rstrip('.') if '.' in written else written} {unit}"


def constant(values: Values) -> Law:
    """Always the median."""
    time = float(np.median(values))
    return Law("constant", text(time), points=((0.0, time), (1.0, time)))


def exponential(values: Values) -> Law:
    """The exponential law with the sample's mean."""
    mean = float(values.mean())
    return Law("exponential", {"kind": "exponential", "mean": text(mean)}, parts=((1.0, mean),))


def uniform(values: Values) -> Law:
    """The uniform law from the shortest to the longest time."""
    least, most = float(values.min()), float(values.max())
    toml = {"kind": "uniform", "least": text(least, 12), "most": text(most, 12)}
    return Law("uniform", toml, points=((0.0, least), (1.0, most)))


def quantiles(values: Values) -> Law:
    """The law through the sample's quantiles. No more of them than the sample can tell."""
    beyond = _BEYOND / len(values)
    shares = [share for share in _SHARES if share in (0.0, 1.0) or beyond <= share <= 1 - beyond]
    points = tuple(zip(shares, np.quantile(values, shares).tolist(), strict=True))
    toml = {"kind": "quantiles", "points": [[share, text(time)] for share, time in points]}
    return Law("quantiles", toml, points=points)


def mixture(values: Values) -> Law:
    """Two exponential laws with weights, by maximum likelihood."""
    weights, means, _ = _two_exponentials(values)[0]
    parts = tuple(sorted(zip(weights, means, strict=True), key=lambda part: part[1]))
    components = [
        {"weight": round(weight, 4), "law": {"kind": "exponential", "mean": text(mean)}}
        for weight, mean in parts
    ]
    return Law("mixture", {"kind": "mixture", "components": components}, parts=parts)


def held_out(fit: Fit, values: Values) -> float:
    """The KS distance of a law to values that it was not fitted to.

    Of two halves, drawn at random, each is judged by the law of the other. It is the mean of all distances of `_SPLITS`
    such draws, which are the same for each law.
    """
    rng, found = np.random.default_rng(1), []
    for _ in range(_SPLITS):
        order = rng.permutation(len(values))
        one, other = values[order[::2]], values[order[1::2]]
        found += [distance(fit(one), other), distance(fit(other), one)]
    return float(np.mean(found))


@dataclass(frozen=True)
class Fitted:
    """A law that was chosen, and how well each law fits what it was not fitted to."""

    law: Law
    distances: dict[str, float]
    bound: float
    """Of half of the sample."""

    @property
    def fits(self) -> bool:
        """The distance is below its bound, or below 0.05, which a large sample would exceed for details."""
        return self.distances[self.law.name] <= max(0.05, self.bound)


def fitted(values: Values) -> Fitted:
    """The simplest law that fits: uniform, exponential, a mixture of two exponential ones, or quantiles.

    A law fits if its distance to the half that it was not fitted to is at most `bound` of that half. Quantiles are
    taken where none does. Times that are all equal are a constant.
    """
    limit = bound(max(len(values) // 2, 1))
    if values.min() == values.max():
        return Fitted(constant(values), {"constant": 0.0}, limit)
    distances: dict[str, float] = {}
    for fit in (uniform, exponential, mixture):
        distances[fit.__name__] = held_out(fit, values)
        if distances[fit.__name__] <= limit:
            return Fitted(fit(values), distances, limit)
    distances["quantiles"] = held_out(quantiles, values)
    return Fitted(quantiles(values), distances, limit)


@dataclass(frozen=True)
class Components:
    """Two components that a sample is made of, if they are clearly better than one."""

    what: str
    shares: tuple[float, float]
    centres_s: tuple[float, float]
    """Means of exponential components, medians of log-normal ones."""
    better: float
    """How much lower their BIC is than that of one component."""
    apart: float
    """Of log-normal ones Ashman's D: the distance of their centres by the root of their mean variance."""

    @property
    def clear(self) -> bool:
        """The BIC is lower by `CLEARLY_BETTER`, and log-normal components are apart.

        Components that are nearer than `APART` are one hump with a tail.
        """
        return self.better >= CLEARLY_BETTER and self.apart >= APART


MOST_MIXED = 200_000
"""Times by which components are distinguished. More would change only the duration."""


def components(values: Values) -> list[Components]:
    """Two exponential components against one, and two log-normal ones against one, of times above 0.

    Of more than `MOST_MIXED` times every second one counts, or every third, and so on.
    """
    positive = values[values > 0]
    positive = positive[:: 1 + len(positive) // MOST_MIXED]
    if len(positive) < LEAST_SAMPLE:
        return []
    weigh = math.log(len(positive))
    mean = float(positive.mean())
    one = -len(positive) * (math.log(mean) + 1.0)
    (weights, means, _), two = _two_exponentials(positive)
    found = [_ordered("exponential", (weights, means), 2 * (two - one) - 2 * weigh, math.inf)]
    logs = np.log(positive)
    spread = max(float(logs.std()), _LEAST_SPREAD)
    alone = float(_normal(logs, np.array([float(logs.mean())]), np.array([spread])).sum())
    (weights, means, spreads), two = _two_normals(logs)
    medians = [math.exp(each) for each in means]
    apart = abs(means[0] - means[1]) / math.sqrt((spreads[0] ** 2 + spreads[1] ** 2) / 2)
    return [*found, _ordered("log-normal", (weights, medians), 2 * (two - alone) - 3 * weigh, apart)]


def _ordered(
    what: str, parts: tuple[Sequence[float], Sequence[float]], better: float, apart: float
) -> Components:
    (low, centre), (high, other) = sorted(zip(*parts, strict=True), key=lambda part: part[1])
    return Components(what, (low, high), (centre, other), better, apart)


_LEAST_SPREAD = 0.05
"""Of the logarithms of a component's times: narrower ones would follow single values that are repeated."""


def _normal(logs: Values, means: Values, spreads: Values) -> Values:
    """The logarithm of the density of each component, a row for each."""
    apart = (logs[None, :] - means[:, None]) / spreads[:, None]
    return np.asarray(-0.5 * apart**2 - np.log(spreads)[:, None] - 0.5 * math.log(2 * math.pi))


def _two_normals(logs: Values) -> _Two:
    def step(shares: Values) -> tuple[Values, Values, Values]:
        means = shares @ logs / shares.sum(axis=1)
        variance = (shares * (logs[None, :] - means[:, None]) ** 2).sum(axis=1) / shares.sum(axis=1)
        spreads = np.maximum(np.sqrt(variance), _LEAST_SPREAD)
        return means, spreads, _normal(logs, means, spreads)

    return _two(logs, step)


def _two_exponentials(values: Values) -> _Two:
    shortest = max(float(values.mean()) * 1e-6, _SHORTEST_S)

    def step(shares: Values) -> tuple[Values, Values, Values]:
        means = np.maximum(shares @ values / shares.sum(axis=1), shortest)
        return means, means, -np.log(means)[:, None] - values[None, :] / means[:, None]

    return _two(values, step)


def _two(values: Values, step: Callable[[Values], tuple[Values, Values, Values]]) -> _Two:
    """Weights, centres and spreads of two components, and their logarithmic likelihood, by expectation-maximisation.

    It begins with the values below the median and those above it. `step` takes the share of each component in each
    value, and gives the centres and spreads that fit them, and the logarithms of the densities.
    """
    low = np.where(values <= np.median(values), 0.9, 0.1)
    shares, before = np.array([low, 1 - low]), -math.inf
    for _ in range(_STEPS):
        weights = np.maximum(shares.mean(axis=1), 1e-9)
        centres, spreads, logs = step(np.maximum(shares, 1e-12))
        joint = np.log(weights)[:, None] + logs
        total = np.logaddexp(joint[0], joint[1])
        shares, likelihood = np.exp(joint - total), float(total.sum())
        if likelihood - before < _GAIN:
            break
        before = likelihood
    return (weights.tolist(), centres.tolist(), spreads.tolist()), likelihood


@dataclass(frozen=True)
class Grouping:
    """Test for groups of events: the counts of equal windows against those of a Poisson process."""

    windows: int
    dispersion: float
    """Variance of the counts by their mean: 1 for a Poisson process, more for groups, less for regular events."""
    p_grouped: float
    """Probability of so large a dispersion under a Poisson process, by chi-square."""
    p_regular: float

    @property
    def verdict(self) -> str:
        """One of "grouped", "regular", "as a Poisson process" and "undecided"."""
        if self.windows < _LEAST_WINDOWS:
            return "undecided"
        if self.p_grouped < SIGNIFICANT:
            return "grouped"
        return "regular" if self.p_regular < SIGNIFICANT else "as a Poisson process"


def grouping(series: Sequence[Values]) -> Grouping:
    """Of the times of events, in s; each series has its own beginning, its first event.

    The index of dispersion (Cox and Lewis, "The Statistical Analysis of Series of Events", 1966, §6.3): (k - 1) times
    it is chi-square with k - 1 degrees of freedom. Windows have 5 events on average.
    """
    from scipy.stats import chi2

    spans = [float(times.max() - times.min()) for times in series if len(times) > 1]
    events = sum(len(times) - 1 for times in series if len(times) > 1)
    if sum(spans) <= 0:
        return Grouping(0, math.nan, math.nan, math.nan)
    window = sum(spans) / events * _PER_WINDOW
    counts: list[int] = []
    for times in series:
        since = np.sort(times)[1:] - times.min() if len(times) > 1 else np.array([])
        full = int(since.max() // window) if len(since) else 0
        counts += (
            np.histogram(since[since <= full * window], full, (0, full * window))[0].tolist() if full else []
        )
    if len(counts) < 2 or not any(counts):
        return Grouping(len(counts), math.nan, math.nan, math.nan)
    dispersion = float(np.var(counts, ddof=1) / np.mean(counts))
    statistic, freedom = (len(counts) - 1) * dispersion, len(counts) - 1
    return Grouping(
        len(counts), dispersion, float(chi2.sf(statistic, freedom)), float(chi2.cdf(statistic, freedom))
    )
