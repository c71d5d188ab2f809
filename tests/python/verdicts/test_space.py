"""The search through a space of interpretations, on spaces in which it is known where a claim is true."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from roamlab.statistics import fit, space
from roamlab.statistics.axes import Axis, Outcome, Setting, Value, shortfall

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

AXES = [
    Axis(f"f{at}", f"axis {at}", (Value("a", 0, 2.0), Value("b", 1), Value("c", 2)), "planted")
    for at in range(9)
]
"""19,683 settings."""


def _outcome(margin: float) -> Outcome:
    verdict = "holds" if margin >= 1 else "contradicted" if margin <= -1 else "undecided"
    return Outcome(
        verdict,  # type: ignore[arg-type]
        margin,
        f"{margin:g}",
        distance=max(0.0, -margin),
        unit="pkt",
        short=shortfall(margin),
    )


def _explore(margin: Callable[[Setting], float], budget: int = 150) -> space.Robustness:
    def evaluate(settings: Sequence[Setting], _: bool) -> list[dict[str, Outcome]]:
        return [{"claim": _outcome(margin(setting))} for setting in settings]

    return space.explore(AXES, evaluate, budget).claims["claim"]


FRESH = ("holds", 6)


def _in(setting: Setting, corner: dict[int, int]) -> bool:
    return all(setting[at] == value for at, value in corner.items())


@pytest.mark.parametrize("corner", [{2: 1}, {1: 2, 5: 1}, {0: 1, 4: 2}, {3: 1, 6: 2, 8: 1}])
def test_a_corner_without_a_slope_is_found(corner: dict[int, int]) -> None:
    """Nothing near it shows it."""
    found = _explore(lambda setting: 2.0 if _in(setting, corner) else -2.0)
    assert found.turning is not None
    assert found.tried <= 150
    assert {at: value for at, value in enumerate(found.turning) if value} == corner


@pytest.mark.parametrize("corner", [{1: 1, 2: 2, 3: 1, 4: 2}, {0: 2, 3: 2, 5: 2, 7: 2, 8: 2}])
def test_a_small_corner_is_found_by_its_slope(corner: dict[int, int]) -> None:
    noise = np.random.default_rng(5)

    def margin(setting: Setting) -> float:
        missing = sum(setting[at] != value for at, value in corner.items())
        return 2.0 if missing == 0 else -1.5 - missing + noise.normal(0, 0.3)

    found = _explore(margin)
    assert found.turning is not None
    assert {at: value for at, value in enumerate(found.turning) if value} == corner
    assert found.line(AXES, FRESH) == (
        f"contradicted under the default; holds in {found.turned} of 150 settings, such as "
        + ", ".join(f"axis {at} {'abc'[value]}" for at, value in corner.items())
        + " (confirmed by 6 further runs)"
    )


def test_a_value_that_alone_does_nothing_is_tried_with_each_that_does() -> None:
    """Axis 3 matters only where axis 6 has its third value, among many others that bring the claim further away."""

    def margin(setting: Setting) -> float:
        spoiled = sum(setting[at] != 0 for at in (0, 1, 2, 4, 5, 7, 8))
        woken = setting[6] == 2
        return (2.0 if woken and setting[3] == 1 else -1.5) - spoiled - 0.1 * (setting[6] == 1) - 0.2 * woken

    found = _explore(margin, budget=80)
    assert found.turning == (0, 0, 0, 1, 0, 0, 2, 0, 0)


def test_a_claim_that_is_true_nowhere_is_reported_as_such() -> None:
    found = _explore(lambda setting: -2.0 + 0.05 * sum(setting))
    assert found.turning is None
    nearest = ", ".join(f"{axis.what} c" for axis in AXES)
    assert found.line(AXES, None) == (
        f"contradicted under the default; holds in none of the 150 settings tried; closest with {nearest}: "
        "1.1 pkt outside the claimed range, with a 95 % interval of ± 1 pkt"
    )
    assert (found.shares["holds"].effect, found.shares["contradicted"].effect) == (0.0, 1.0)
    assert found.shares["holds"].high < 0.1


def test_a_claim_that_breaks_is_reported_with_what_breaks_it() -> None:
    found = _explore(lambda setting: -2.0 if _in(setting, {4: 1, 7: 1}) else 2.0)
    assert (
        found.line(AXES, ("contradicted", 6))
        == "holds under the default; contradicted in 19 of 150 settings, such as axis 4 b, axis 7 b (confirmed by 6 "
        "further runs)"
    )


def test_a_turn_that_fresh_runs_do_not_confirm_is_told_as_such() -> None:
    found = _explore(lambda setting: 2.0 if _in(setting, {2: 1}) else -2.0)
    begin = f"contradicted under the default; holds in {found.turned} of 150 settings"
    unconfirmed = "further runs do not confirm it: undecided in 6"
    assert found.line(AXES, ("undecided", 6)) == f"{begin} ({unconfirmed}), such as axis 2 b"
    assert found.line(AXES, None) == f"{begin} (not checked by further runs), such as axis 2 b"


def test_a_distance_is_given_in_the_unit_with_the_interval() -> None:
    assert (
        Outcome("contradicted", -3.0, "", 0.25, "1").far
        == "0.25 outside the claimed range, with a 95 % interval of ± 0.083"
    )
    assert Outcome("contradicted", -np.inf, "", 4.0, "pkt").far == "4 pkt outside the claimed range"
    assert (
        Outcome("undecided", 0.5, "", 0.0, "pkt").far
        == "within the claimed range, but part of its 95 % interval is outside"
    )


def test_shares_are_of_the_space_by_weight() -> None:
    # Two of three values count half as much as the first: axis 0 is at its default in half of the space.
    found = _explore(lambda setting: 2.0 if setting[0] else -2.0, budget=400)
    share = found.shares["holds"]
    assert share.low <= 0.5 <= share.high
    assert share.runs == round(400 * space.DRAWN)


def test_what_decides_is_told_with_its_uncertainty() -> None:
    main = _explore(lambda setting: 2.0 if setting[3] else -2.0)
    assert main.effects[0].axes == ("axis 3",)
    assert main.effects[0].share.low > 0.5
    pair = _explore(lambda setting: 2.0 if (setting[2] > 0) != (setting[6] > 0) else -2.0, budget=300)
    assert pair.effects[0].axes == ("axis 2", "axis 6")
    assert all(effect.share.effect >= 0.05 for effect in pair.effects)


def test_what_leans_is_looked_at_closely() -> None:
    """Few runs never decide: a closer look at the best of the undecided settings does."""
    looked: list[Setting] = []

    def evaluate(settings: Sequence[Setting], closely: bool) -> list[dict[str, Outcome]]:
        looked.extend(settings if closely else [])
        margins = [0.4 * (each[1] + each[2]) - 1.2 for each in settings]
        return [{"claim": _outcome(margin * (5 if closely else 1))} for margin in margins]

    found = space.explore(AXES, evaluate, 100).claims["claim"]
    assert (
        found.line(AXES, FRESH)
        == "contradicted under the default; holds in 7 of 100 settings, such as axis 1 c, axis 2 c "
        "(confirmed by 6 further runs)"
    )
    singles = space.alone(AXES)
    assert looked[: len(singles)] == singles, (
        "the default and single values always have many runs, and come first"
    )
    leaning = looked[len(singles) :]
    assert leaning
    assert all(each[1] == each[2] == 2 for each in leaning)


def test_a_value_that_the_text_rules_out_is_tried_alone_and_turns_nothing() -> None:
    """A claim turns with it alone, and with two others together: these are found, and it hides nothing."""
    values = AXES[0].values
    axes = [replace(AXES[0], values=(*values[:2], replace(values[2], ruled_out=True))), *AXES[1:5]]

    def margin(setting: Setting) -> float:
        return 2.0 if setting[0] == 2 or _in(setting, {2: 1, 3: 1}) else -2.0

    def evaluate(settings: Sequence[Setting], _: bool) -> list[dict[str, Outcome]]:
        return [{"claim": _outcome(margin(setting))} for setting in settings]

    found = space.explore(axes, evaluate, 60)
    assert found.claims["claim"].turning == (0, 0, 1, 1, 0)
    assert list(found.ruled_out) == [(2, 0, 0, 0, 0)]
    assert not any(setting[0] == 2 for setting in [*found.tried, *found.drawn])
    assert len(found.tried) == 60
    tried = fit.climb(axes, lambda few: evaluate(few, False), found.tried, ["claim"], 10)
    assert not any(setting[0] == 2 for setting in tried)


def test_the_text_does_not_rule_out_a_default() -> None:
    with pytest.raises(ValueError, match="the text rules out the default"):
        Axis("f", "axis", (Value("a", 0, ruled_out=True), Value("b", 1)), "planted")


def test_all_pairs_of_values_are_tried() -> None:
    tried: list[Setting] = []

    def evaluate(settings: Sequence[Setting], _: bool) -> list[dict[str, Outcome]]:
        tried.extend(settings)
        return [{"claim": _outcome(-2.0)} for _ in settings]

    space.explore(AXES, evaluate, 150)
    assert len(tried) == len(set(tried)) == 150
    for one, other in combinations(range(9), 2):
        assert {(each[one], each[other]) for each in tried} == set(product(range(3), repeat=2))


def test_a_space_smaller_than_the_budget_is_tried_whole() -> None:
    found = space.explore(AXES[:2], lambda few, _: [{"claim": _outcome(-2.0)} for _ in few], 150)
    assert len(found.tried) == 9


def test_equal_searches_are_equal() -> None:
    first, second = (
        space.explore(AXES, lambda few, _: [{"claim": _outcome(sum(each) - 12.0)} for each in few], 100)
        for _ in range(2)
    )
    assert list(first.tried) == list(second.tried)
    assert first.claims == second.claims


def test_an_axis_has_a_choice() -> None:
    with pytest.raises(ValueError, match="two values or more"):
        Axis("f", "axis", (Value("a", 0),), "planted")
