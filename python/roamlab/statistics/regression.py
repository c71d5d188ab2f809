"""A model of a claim's margins over a space of interpretations: main effects of the axes, and interactions."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from roamlab.statistics.axes import Axis, Setting, Tried
    from roamlab.statistics.claims import Verdict

MARGIN = 5.0
"""Half widths beyond which the distance does not matter."""


def margins_of(tried: Tried, claim: str) -> NDArray[np.float64]:
    """Of a claim in each setting tried, bounded to `MARGIN` half-widths."""
    found = np.array([outcomes[claim].margin for outcomes in tried.values()])
    finite = np.nan_to_num(found, nan=0.0, posinf=MARGIN, neginf=-MARGIN)
    clipped: NDArray[np.float64] = np.clip(finite, -MARGIN, MARGIN)
    return clipped


def goals_of(tried: Tried, claim: str, other: Verdict) -> NDArray[np.float64]:
    """How near each setting tried is to the other verdict of a claim; larger is nearer.

    To holding: by all its measures together, 0 where it holds. So a change is seen that brings one of them nearer,
    while the worst stays as it was. To being contradicted: by the margin of the worst, which alone decides it.
    """
    if other == "holds":
        return np.array([-outcomes[claim].short for outcomes in tried.values()])
    return -margins_of(tried, claim)


_RIDGE = 0.3


def terms_of(axes: Sequence[Axis]) -> list[tuple[int, ...]]:
    """Of each column of `matrix_of` the axes that it is about: main effects, and interactions of two axes."""
    sizes = [len(axis.values) for axis in axes]
    mains = [(at,) for at, size in enumerate(sizes) for _ in range(size)]
    pairs = combinations(range(len(axes)), 2)
    return mains + [pair for pair in pairs for _ in range(sizes[pair[0]] * sizes[pair[1]])]


def matrix_of(axes: Sequence[Axis], settings: Sequence[Setting]) -> NDArray[np.float64]:
    """A row for each setting. Columns are centred by the weights: over the space, terms are not correlated."""
    values = np.array(settings)
    ones = [np.eye(len(axis.values))[values[:, at]] - axis.weights for at, axis in enumerate(axes)]
    pairs = [
        (left[:, :, None] * right[:, None, :]).reshape(len(settings), -1)
        for left, right in combinations(ones, 2)
    ]
    matrix: NDArray[np.float64] = np.concatenate([*ones, *pairs], axis=1)
    return matrix


def weights_of(matrix: NDArray[np.float64], margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """The columns' weights, by least squares with a small ridge; there are more columns than rows."""
    gram = matrix @ matrix.T + _RIDGE * np.eye(len(matrix))
    weights: NDArray[np.float64] = matrix.T @ np.linalg.solve(gram, margins - margins.mean())
    return weights


def shares_of(
    terms: Sequence[tuple[int, ...]], space: NDArray[np.float64], weights: NDArray[np.float64]
) -> dict[tuple[int, ...], float]:
    """Of the variance of the expected margins over the space, what each term accounts for."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for column, term in enumerate(terms):
        groups.setdefault(term, []).append(column)
    parts = {term: float(np.var(space[:, columns] @ weights[columns])) for term, columns in groups.items()}
    total = sum(parts.values())
    return {term: part / total if total > 0 else 0.0 for term, part in parts.items()}
