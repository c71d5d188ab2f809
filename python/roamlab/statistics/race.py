"""Which of several settings is best: paired runs, elimination in looks, and multiple comparisons with the best.

Every setting has the same random streams in run n. After each look a setting leaves if another one is surely better.
Those that stay contain the best one, and each has a bound on how far it is behind it (D. G. Edwards and J. C. Hsu,
"Multiple comparisons with the best treatment", 1983). All of it is true together with the chosen confidence: the chance
of error is divided by the looks and by the rivals of a setting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

FIRST_LOOK = 8
"""Runs of each setting before the first look; each further look has twice as many."""


def looks(budget: int) -> list[int]:
    """The numbers of runs after which settings are compared."""
    return [
        *(FIRST_LOOK << look for look in range(budget.bit_length()) if FIRST_LOOK << look < budget),
        budget,
    ]


@dataclass(frozen=True)
class Standing:
    """The settings after a look."""

    kept: list[int]
    """Those that may be the best one."""
    behind: dict[int, float]
    """Of each of these, how far its mean is behind that of the best one at most; 0 of one that is surely the best."""


def standing(values: Mapping[int, Sequence[float]], rivals: Collection[int], error: float) -> Standing:
    """Compare settings by their paired values, of which larger ones are better.

    `rivals`: the settings that may take the place of others. `error`: the chance that one bound is wrong; a bound is of
    Student's t, on the mean of the differences of a pair. Differences that are equal in all runs are exact.
    """
    samples = {at: np.asarray(list(of), dtype=np.float64) for at, of in values.items()}
    bounds = {
        at: [_bounds(samples[rival] - sample, error) for rival in rivals if rival != at]
        for at, sample in samples.items()
    }
    kept = [at for at in samples if not any(low > 0 for low, _ in bounds[at])]
    behind = {at: max([0.0, *(high for _, high in bounds[at])]) for at in kept}
    return Standing(kept, behind)


def _bounds(apart: NDArray[np.float64], error: float) -> tuple[float, float]:
    """Bounds on the mean of differences, each wrong with this chance."""
    from scipy.special import stdtrit

    mean, runs = float(apart.mean()), len(apart)
    spread = float(apart.std(ddof=1)) if runs > 1 else math.inf
    if spread <= 1e-12 * abs(mean):
        return mean, mean
    reach = float(stdtrit(runs - 1, 1 - error)) * spread / math.sqrt(runs)
    return mean - reach, mean + reach


def correlation(values: Mapping[int, Sequence[float]]) -> float:
    """The mean correlation of two settings' values, run by run: pairing spares this part of the variance.

    NaN: the values do not vary.
    """
    rows = np.array([list(of) for of in values.values()], dtype=np.float64)
    rows = rows[rows.std(axis=1) > 0]
    if len(rows) < 2:
        return math.nan
    found = np.corrcoef(rows)
    return float(found[np.triu_indices(len(rows), 1)].mean())
