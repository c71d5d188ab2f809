"""The one setting of a space under which most claims hold together."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from roamlab.statistics.regression import MARGIN, goals_of, matrix_of, weights_of
from roamlab.statistics.space import BATCH, anywhere, steps_from

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from roamlab.statistics.axes import Axis, Outcome, Setting, Tried

Score: TypeAlias = tuple[int, float, float]
"""How many claims hold; minus the sum of how far they are from holding by all their measures; the sum of all margins,
each bounded to `MARGIN` half-widths."""

_TOPS = 6
"""Settings around which the search continues."""
_FAR = 2000
"""Settings drawn from the whole space in addition to those."""


def score(outcomes: Mapping[str, Outcome], wanted: Sequence[str]) -> Score:
    """Of one setting; a larger one is better."""
    held = sum(outcomes[name].verdict == "holds" for name in wanted)
    margins = [float(np.clip(outcomes[name].margin, -MARGIN, MARGIN)) for name in wanted]
    return held, -sum(outcomes[name].short for name in wanted), sum(margins)


def ranked(tried: Tried, wanted: Sequence[str]) -> list[Setting]:
    """The settings that were tried, the best first; of equal ones that with fewer changes of the default."""

    def order(setting: Setting) -> tuple[int, float, float, int, Setting]:
        held, near, margins = score(tried[setting], wanted)
        return -held, -near, -margins, sum(at != 0 for at in setting), setting

    return sorted(tried, key=order)


def climb(
    axes: Sequence[Axis],
    evaluate: Callable[[Sequence[Setting]], Sequence[Mapping[str, Outcome]]],
    tried: Tried,
    wanted: Sequence[str],
    budget: int,
    tell: Callable[[int], None] = lambda _: None,
) -> Tried:
    """Try `budget` further settings in which the `wanted` claims are expected to hold together.

    A model of how near each claim is to holding, fitted to all settings so far, gives the expected number that hold.
    Candidates are one or two changes away from the best so far, or drawn from the whole space. It ends early where all
    hold.
    """
    rng = np.random.default_rng(3)
    tried = dict(tried)
    end = len(tried) + budget
    while len(tried) < end:
        best = ranked(tried, wanted)[:_TOPS]
        if score(tried[best[0]], wanted)[0] == len(wanted):
            break
        candidates = _candidates(axes, best, rng) - tried.keys()
        if not candidates:
            break
        fresh = sorted(candidates)
        expected = _expected(axes, tried, wanted, fresh)
        chosen = [fresh[at] for at in np.argsort(-expected, kind="stable")[: min(BATCH, end - len(tried))]]
        for setting, found in zip(chosen, evaluate(chosen), strict=True):
            tried[setting] = dict(found)
        tell(len(tried) - (end - budget))
    return tried


def _candidates(axes: Sequence[Axis], best: Sequence[Setting], rng: np.random.Generator) -> set[Setting]:
    def around(settings: set[Setting]) -> set[Setting]:
        return {step for setting in settings for step in steps_from(axes, setting)}

    once = around(set(best))
    return once | around(around({best[0]})) | set(anywhere(axes, _FAR, rng))


def _expected(
    axes: Sequence[Axis], tried: Tried, wanted: Sequence[str], fresh: Sequence[Setting]
) -> NDArray[np.float64]:
    """The expected number of claims that hold, with how near they are to break ties."""
    matrix, further = matrix_of(axes, list(tried)), matrix_of(axes, fresh)
    held = np.zeros(len(fresh))
    for name in wanted:
        goals = goals_of(tried, name, "holds")
        expected = goals.mean() + further @ weights_of(matrix, goals)
        error = max(0.5, float(np.std(goals)) / 2)
        held += 1.0 / (1.0 + np.exp(-np.clip(expected / error * 2, -30, 30))) + 0.01 * expected
    return held
