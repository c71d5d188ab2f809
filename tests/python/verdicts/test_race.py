"""The race of settings: its statements are true of settings whose means are known."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from roamlab.statistics import race
from roamlab.statistics.stats import CONFIDENCE

if TYPE_CHECKING:
    from numpy.typing import NDArray

BUDGET = 64


def _raced(means: NDArray[np.float64], own: float, seed: int) -> tuple[race.Standing, int]:
    """Settings with a common noise of deviation 1 and a separate one; the last look, and the runs of all."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(0, 1, BUDGET) + rng.normal(0, own, (len(means), BUDGET))
    alive, made = list(range(len(means))), 0
    looks = race.looks(BUDGET)
    before = 0
    for runs in looks:
        made += len(alive) * (runs - before)
        before = runs
        values = {at: (means[at] + noise[at, :runs]).tolist() for at in alive}
        found = race.standing(values, alive, (1 - CONFIDENCE) / (len(looks) * (len(means) - 1)))
        alive = found.kept
    return found, made


def test_the_best_setting_is_among_those_that_stay_in_93_of_100_repeats() -> None:
    """A flat optimum of 21 settings: -(x/10)^2 with x from -10 to 10. `make deep` has 2,000 repeats."""
    means = -((np.arange(-10, 11) / 10) ** 2)
    kept, within, runs = 0, 0, 0
    repeats = 100
    for seed in range(repeats):
        found, made = _raced(means, 0.3, seed)
        kept += 10 in found.kept
        within += all(means.max() - means[at] <= found.behind[at] + 1e-12 for at in found.kept)
        runs += made
    assert kept >= 0.93 * repeats
    assert within >= 0.93 * repeats
    assert runs < 0.8 * repeats * len(means) * BUDGET


def test_a_setting_that_is_surely_worse_leaves() -> None:
    found, _ = _raced(np.array([0.0, 1.0, 0.2]), 0.1, 1)
    assert found.kept == [1]
    assert found.behind == {1: 0.0}


def test_equal_settings_stay_and_are_behind_by_the_reach_of_their_interval() -> None:
    found, _ = _raced(np.zeros(3), 0.2, 1)
    assert found.kept == [0, 1, 2]
    # Student's t of 63 degrees of freedom at 0.05 / (4 looks * 2 rivals), and the deviation of a difference.
    reach = 2.56 * 0.2 * math.sqrt(2) / math.sqrt(BUDGET)
    assert all(0.3 * reach < behind < 2.5 * reach for behind in found.behind.values())


def test_differences_that_are_equal_in_all_runs_are_exact() -> None:
    values = {0: [1.0, 2.0, 3.0], 1: [1.5, 2.5, 3.5], 2: [1.5, 2.5, 3.5]}
    found = race.standing(values, [0, 1, 2], 0.01)
    assert found.kept == [1, 2]
    assert found.behind == {1: 0.0, 2: 0.0}


def test_only_a_rival_takes_the_place_of_another() -> None:
    values = {0: [1.0, 2.0, 3.0], 1: [9.0, 10.0, 11.0]}
    assert race.standing(values, [0], 0.01).kept == [0, 1]
    assert race.standing(values, [0, 1], 0.01).kept == [1]


def test_pairing_spares_the_common_part() -> None:
    rng = np.random.default_rng(4)
    common = rng.normal(0, 1, 400)
    rows = {at: (common + rng.normal(0, 0.5, 400)).tolist() for at in range(3)}
    assert race.correlation(rows) == pytest.approx(1 / 1.25, abs=0.05)
    assert math.isnan(race.correlation({0: [1.0, 1.0], 1: [2.0, 2.0]}))


def test_looks_double_and_end_at_the_budget() -> None:
    assert race.looks(8) == [8]
    assert race.looks(20) == [8, 16, 20]
    assert race.looks(64) == [8, 16, 32, 64]
