"""The one setting under which most claims hold together, on a space in which it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roamlab.statistics import fit, space
from roamlab.statistics.axes import Axis, Outcome, Setting, Value, shortfall

if TYPE_CHECKING:
    from collections.abc import Sequence

AXES = [
    Axis(f"f{at}", f"axis {at}", (Value("a", 0), Value("b", 1), Value("c", 2)), "planted") for at in range(7)
]
CORNERS = {"one": {0: 1, 3: 2}, "two": {1: 1, 3: 2}, "three": {2: 2, 5: 1}, "four": {4: 1, 6: 2}}
"""Each claim holds in its own corner; all do together in 1 of 2,187 settings."""
AGAINST = {"five": {3: 0}}
"""And this one where two of the others do not."""


def _outcomes(settings: Sequence[Setting], _: bool = False) -> list[dict[str, Outcome]]:
    noise = np.random.default_rng(7)

    def of(setting: Setting, corner: dict[int, int]) -> Outcome:
        missing = sum(setting[at] != value for at, value in corner.items())
        margin = (2.0 if missing == 0 else -0.5 - missing) + noise.normal(0, 0.2)
        verdict = "holds" if margin >= 1 else "contradicted" if margin <= -1 else "undecided"
        return Outcome(verdict, margin, "", short=shortfall(margin))  # type: ignore[arg-type]

    return [{name: of(each, corner) for name, corner in (CORNERS | AGAINST).items()} for each in settings]


def test_the_setting_under_which_most_hold_together_is_found() -> None:
    explored = space.explore(AXES, _outcomes, 60)
    wanted = [*CORNERS, *AGAINST]
    before = max(fit.score(of, wanted)[0] for of in explored.tried.values())
    tried = fit.climb(AXES, _outcomes, explored.tried, wanted, 60)
    assert len(tried) <= 120
    best = fit.ranked(tried, wanted)[0]
    assert fit.score(tried[best], wanted)[0] == 4 > before
    for corner in CORNERS.values():
        assert {at: best[at] for at in corner} == corner


def test_it_ends_where_all_hold() -> None:
    found = {(1,) * 7: _outcomes([(1, 1, 2, 2, 1, 1, 2)])[0]}
    assert fit.climb(AXES, _outcomes, found, list(CORNERS), 60) == found


def test_a_setting_that_holds_more_comes_before_one_with_larger_margins() -> None:
    def of(*margins: float) -> dict[str, Outcome]:
        return {
            name: Outcome("holds" if margin >= 1 else "contradicted", margin, "", short=shortfall(margin))
            for name, margin in zip("ab", margins, strict=True)
        }

    tried = {(1,): of(1.1, 1.1), (0,): of(1e9, -1.5), (2,): of(1.1, 1.1), (3,): of(3.0, 1.1)}
    assert fit.ranked(tried, ["a", "b"]) == [(3,), (1,), (2,), (0,)]
    assert fit.score(tried[0,], ["a", "b"]) == (1, -np.log(3.5), 3.5)
