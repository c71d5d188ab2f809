"""Hidden Markov models of rates: a chain of states that is fitted to series of rates at equal steps.

Baum-Welch with normal laws of the logarithm of a rate (L. R. Rabiner, "A tutorial on hidden Markov models", Proceedings
of the IEEE 77(2), 1989, section III). The rates of a state are then the quantiles of the rows that it explains: no form
of their distribution is assumed. The chain is reversible (estimators for Markov state models: J.-H. Prinz et al.,
Journal of Chemical Physics 134, 174105, 2011): series that begin and end anywhere are no trend.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Series = NDArray[np.float64]

QUANTILES = 9
"""Rates of a state, at equal distances from the lowest to the highest."""
LEAST_ROWS = 20
"""Rows for each state at least; fewer rows have fewer states."""
MOST_STATES = 16
_ROUNDS = 60
_PIECE = 200
"""Steps of a piece of a long series."""
_NARROWEST = 0.1
"""Least deviation of the logarithm of a rate within a state."""


@dataclass(frozen=True)
class Chain:
    """A fitted chain. Its states are in the order of their mean rates."""

    step_s: float
    rates: NDArray[np.float64]
    """Quantiles of the rate of each state, in the unit of the series; a row for each state."""
    next: NDArray[np.float64]
    """Probabilities of the next state; a row for each state, with the sum 1."""

    def shares(self) -> Series:
        """How often the chain is in each state."""
        # Half of each step stays, so that a chain that alternates settles too.
        steps = (np.eye(len(self.next)) + self.next) / 2
        settled = np.linalg.matrix_power(steps, 2**20).mean(axis=0)
        return np.asarray(settled / settled.sum())

    def mean(self) -> float:
        """The mean rate."""
        return float(self.shares() @ (self.rates[:, :-1] + self.rates[:, 1:]).mean(axis=1) / 2)

    def drawn(self, count: int, rng: np.random.Generator) -> Series:
        """A series of `count` steps, as the engine draws one."""
        uniform = rng.random((count, 2))
        sums = [row.tolist() for row in np.cumsum(self.next, axis=1)]
        last = len(self.next) - 1
        state = min(bisect_right(np.cumsum(self.shares()).tolist(), rng.random()), last)
        states = np.empty(count, dtype=int)
        for step, chance in enumerate(uniform[:, 1].tolist()):
            states[step] = state
            state = min(bisect_right(sums[state], chance), last)
        place = uniform[:, 0] * (self.rates.shape[1] - 1)
        line = place.astype(int)
        low, high = self.rates[states, line], self.rates[states, line + 1]
        return np.asarray(low + (high - low) * (place - line))

    def toml(self) -> dict[str, Any]:
        """The channel of a scenario, if the rates are in Mbit/s."""
        step = f"{self.step_s * 1000:.6f}".rstrip("0").rstrip(".")
        rows = [[float(f"{value:.5g}") for value in row] for row in self.next]
        for row, exact in zip(rows, self.next, strict=True):
            largest = int(np.argmax(exact))
            row[largest] = round(1.0 - sum(row) + row[largest], 9)
        return {
            "kind": "states",
            "step": f"{step} ms",
            "states": [{"rate_mbit_s": [float(f"{rate:.4g}") for rate in row]} for row in self.rates],
            "next": rows,
        }


def fitted(series: Sequence[Series], step_s: float, states: int | None = None) -> Chain:
    """The chain of `states` states; without a number, of as many as there are rows for, up to `MOST_STATES`."""
    rows = sum(len(each) for each in series)
    count = states or max(1, min(MOST_STATES, rows // LEAST_ROWS))
    levels, valid = _padded([piece for each in series for piece in _pieces(each)])
    logs = np.log(np.maximum(levels, _floor(levels[valid])))
    means, deviations, moves, first = _begun(logs, valid, count)
    held = np.zeros(0)
    for _ in range(_ROUNDS):
        held, crossed, start = _expected(logs, valid, (means, deviations, moves, first))
        weight = held[valid]
        total = weight.sum(axis=0) + 1e-9
        means = weight.T @ logs[valid] / total
        spread = (weight * (logs[valid][:, None] - means) ** 2).sum(axis=0) / total
        deviations = np.maximum(np.sqrt(spread), _NARROWEST)
        # As many changes into each state as out of it: the chain then is in each as often as the series were.
        moves = crossed + crossed.T + 1e-9
        moves /= moves.sum(axis=1, keepdims=True)
        first = (start + 1e-3) / (start + 1e-3).sum()
    rates = np.array([_quantiles(levels[valid], column) for column in held[valid].T])
    order = np.argsort(rates.mean(axis=1))
    return Chain(step_s, rates[order], moves[np.ix_(order, order)])


def _floor(levels: Series) -> float:
    """The rate that replaces a rate of 0: a hundredth of the mean."""
    return max(float(levels.mean()) / 100, 1e-9)


def _pieces(rates: Series) -> list[Series]:
    """A series in pieces that are fitted side by side; each begins with the last row of the one before."""
    return [rates[first : first + _PIECE + 1] for first in range(0, max(len(rates) - 1, 1), _PIECE)]


def _padded(series: Sequence[Series]) -> tuple[Series, NDArray[np.bool_]]:
    """All series in one matrix, and where it has values."""
    longest = max(len(each) for each in series)
    levels, valid = np.zeros((len(series), longest)), np.zeros((len(series), longest), dtype=bool)
    for row, each in enumerate(series):
        levels[row, : len(each)], valid[row, : len(each)] = each, True
    return levels, valid


def _begun(
    logs: Series, valid: NDArray[np.bool_], count: int
) -> tuple[Series, Series, NDArray[np.float64], Series]:
    """States that divide the rows by rate into equal parts."""
    edges = np.quantile(logs[valid], np.linspace(0, 1, count + 1)[1:-1])
    state = np.searchsorted(edges, logs)
    both = valid[:, :-1] & valid[:, 1:]
    moves = np.ones((count, count)) / count
    np.add.at(moves, (state[:, :-1][both], state[:, 1:][both]), 1.0)
    each = [logs[valid & (state == number)] for number in range(count)]
    middle = float(np.median(logs[valid]))
    means = np.array([values.mean() if len(values) else middle for values in each])
    deviations = np.array([max(values.std(), _NARROWEST) if len(values) else 1.0 for values in each])
    return means, deviations, moves / moves.sum(axis=1, keepdims=True), np.full(count, 1.0 / count)


def _expected(
    logs: Series, valid: NDArray[np.bool_], model: tuple[Series, Series, NDArray[np.float64], Series]
) -> tuple[NDArray[np.float64], NDArray[np.float64], Series]:
    """The share of each state in each row, the expected changes of state, and the states at the beginnings."""
    means, deviations, moves, first = model
    steps = logs.shape[1]
    distance = (logs[..., None] - means) / deviations
    seen = np.exp(-0.5 * distance**2) / deviations + 1e-12
    seen[~valid] = 1.0
    forward = np.empty_like(seen)
    scale = np.empty(logs.shape)
    for step in range(steps):
        ahead = first * seen[:, 0] if step == 0 else (forward[:, step - 1] @ moves) * seen[:, step]
        scale[:, step] = ahead.sum(axis=1)
        forward[:, step] = ahead / scale[:, step, None]
    backward = np.ones_like(seen)
    crossed = np.zeros_like(moves)
    for step in range(steps - 2, -1, -1):
        behind = seen[:, step + 1] * backward[:, step + 1] / scale[:, step + 1, None]
        behind[~valid[:, step + 1]] = 1.0
        backward[:, step] = behind @ moves.T
        use = valid[:, step + 1]
        crossed += (forward[use, step].T @ behind[use]) * moves
    held = forward * backward
    held /= held.sum(axis=2, keepdims=True)
    return held, crossed, held[:, 0].sum(axis=0)


def _quantiles(rates: Series, weight: Series) -> Series:
    """The quantiles of weighted rates; lines between them have their mean."""
    order = np.argsort(rates, kind="stable")
    cumulated = np.cumsum(weight[order])
    total = max(float(cumulated[-1]), 1e-300)
    at = np.linspace(0, 1, QUANTILES)
    # The ends leave out rows that a state rarely explains.
    at[0], at[-1] = 0.005, 0.995
    found = np.interp(at, (cumulated - weight[order] / 2) / total, rates[order])
    mean = float(weight @ rates) / total
    lines = float((found[:-1] + found[1:]).mean() / 2)
    return found * (mean / lines) if lines > 0 else found


LOW = 0.25
"""A low rate: below this part of the median."""
_LAGS = (1, 2, 5, 10, 20, 50, 100)
_DRAWN = 20_000
"""Steps that are drawn of a chain to know its traits."""


@dataclass(frozen=True)
class Traits:
    """Properties of a series by which a chain is judged."""

    mean: float
    correlation: Series
    """At `lags` steps."""
    low_share: float
    """Part of the time with a low rate."""
    low_runs: Series
    """Lengths of the periods with one, in steps."""

    @property
    def low_length(self) -> float:
        """The mean of these lengths; 0 without one."""
        return float(self.low_runs.mean()) if len(self.low_runs) else 0.0


@dataclass(frozen=True)
class Judged:
    """A chain of the first half of a series next to the second half."""

    lags: NDArray[np.int64]
    first: Traits
    second: Traits
    chain: Traits


def correlations(series: Sequence[Series], lags: Sequence[int]) -> Series:
    """The correlation of the rate over some numbers of steps, about the mean of all series; 1 of a constant rate."""
    rows = np.concatenate(series)
    mean, variance = rows.mean(), rows.var()
    if variance == 0:
        return np.ones(len(lags))
    pairs = (
        [(each[lag:] - mean) * (each[:-lag] - mean) for each in series if len(each) > lag] for lag in lags
    )
    return np.array([np.concatenate(each).mean() / variance for each in pairs])


def traits(series: Sequence[Series], lags: Sequence[int], low: float) -> Traits:
    """The traits of all series together, with rates below `low` as low ones."""
    rows = np.concatenate(series)
    lengths = []
    for each in series:
        edges = np.diff(np.concatenate([[0], (each < low).astype(int), [0]]))
        lengths.append(np.flatnonzero(edges == -1) - np.flatnonzero(edges == 1))
    runs = np.concatenate(lengths).astype(float)
    return Traits(float(rows.mean()), correlations(series, lags), float((rows < low).mean()), runs)


def judged(rates: Series, step_s: float, states: int | None) -> Judged:
    """Fit the first half of a series, and compare with the second one."""
    first, second = rates[: len(rates) // 2], rates[len(rates) // 2 :]
    lags = np.array([lag for lag in _LAGS if lag <= len(first) // 4])
    low = LOW * float(np.median(rates))
    chain = fitted([first], step_s, states)
    drawn = chain.drawn(_DRAWN, np.random.default_rng(1))
    return Judged(lags, *(traits([each], lags.tolist(), low) for each in (first, second, drawn)))
