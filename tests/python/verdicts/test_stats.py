"""Intervals cover what they should; corrections and stopping rules follow their sources."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats as scipy_stats

from roamlab.base.errors import BadInput
from roamlab.statistics import stats, stopping
from roamlab.statistics.stopping import Until

ENSEMBLES = 2000
MEAN, SPREAD = 7.0, 2.0


def _coverage(interval: Any) -> float:
    """Share of `ENSEMBLES` in which `interval(draw)` covers the mean of what `draw(n)` draws."""
    covered = 0
    for ensemble in range(ENSEMBLES):
        rng = np.random.default_rng([20, ensemble])
        found = interval(lambda runs, rng=rng: rng.normal(MEAN, SPREAD, runs).tolist())
        covered += found.low <= MEAN <= found.high
    return covered / ENSEMBLES


def _stopped(rule: Until) -> Any:
    def interval(draw: Any) -> stats.Interval:
        values: list[float] = []
        while (wanted := rule.wanted(values)) > len(values):
            values += draw(wanted - len(values))
        return rule.interval(values)

    return interval


def test_student_covers_95_in_100() -> None:
    assert _coverage(lambda draw: stats.student(draw(20))) == pytest.approx(0.95, abs=0.015)


def test_a_paired_difference_covers_95_in_100() -> None:
    def interval(draw: Any) -> stats.Interval:
        common = draw(15)
        return stats.paired([a + b for a, b in zip(common, draw(15), strict=True)], common)

    assert _coverage(interval) == pytest.approx(0.95, abs=0.015)


def test_the_pilot_rule_keeps_the_coverage() -> None:
    rule = Until("x", half_width=0.6, minimum=10, budget=10_000)
    assert _coverage(_stopped(rule)) == pytest.approx(0.95, abs=0.015)


def test_the_sequential_rule_costs_coverage_and_a_larger_minimum_buys_it_back() -> None:
    small = _coverage(_stopped(Until("x", half_width=1.0, minimum=5, budget=10_000, rule="sequential")))
    large = _coverage(_stopped(Until("x", half_width=1.0, minimum=20, budget=10_000, rule="sequential")))
    print(f"sequential: {small:.4f} with a minimum of 5, {large:.4f} with one of 20")
    assert 0.85 < small < 0.935
    assert small + 0.01 < large < 0.965


def test_bootstrap_covers_a_skewed_mean_less_well_but_decently() -> None:
    # 30 draws of a lognormal: a known case in which no symmetric rule reaches 95 in 100.
    covered = 0
    for ensemble in range(300):
        sample = np.random.default_rng([21, ensemble]).lognormal(0.0, 1.0, 30)
        found = stats.bootstrap(sample.tolist())
        covered += found.low <= math.exp(0.5) <= found.high
    assert 0.82 < covered / 300 < 0.95


def test_the_pilot_fixes_the_number() -> None:
    # s = 1.5811 of 1..5, t(4) = 2.7764: (2.7764 · 1.5811 / 1)² = 19.27 runs, whatever comes after the pilot.
    rule = Until("x", half_width=1.0, minimum=5, budget=100)
    assert rule.wanted([]) == 5
    assert rule.wanted([1, 2, 3, 4, 5]) == 20
    assert rule.wanted([1, 2, 3, 4, 5] + [1000] * 15) == 20
    found = rule.interval([1, 2, 3, 4, 5] + [3] * 15)
    assert (found.effect, found.runs) == (3.0, 20)
    assert found.high - 3.0 == pytest.approx(2.7764 * 1.58114 / math.sqrt(20), rel=1e-4)
    assert Until("x", 1.0, minimum=5, budget=12).wanted([1, 2, 3, 4, 5]) == 12
    assert rule.wanted([3.0] * 5) == 5


def test_the_test_of_a_rule_says_what_its_interval_says() -> None:
    for rule in (
        Until("x", 0.5, minimum=5, budget=40),
        Until("x", 0.5, minimum=5, budget=40, rule="sequential"),
    ):
        for ensemble in range(100):
            draw = np.random.default_rng([22, ensemble]).normal(0.4, 1.0, 40).tolist()
            values: list[float] = []
            while (wanted := rule.wanted(values)) > len(values):
                values = draw[:wanted]
            found = rule.interval(values)
            assert (rule.p_value(values) < 0.05) == (not found.low <= 0.0 <= found.high)


def test_the_sequential_rule_looks_at_everything() -> None:
    # Of n = 10 alternating ±1, s = 1.0541 and t(9) = 2.2622: the half-width is 0.7541.
    values = [1.0, -1.0] * 5
    assert Until("x", 0.76, minimum=10, rule="sequential").wanted(values) == 10
    assert Until("x", 0.75, minimum=10, rule="sequential").wanted(values) == 12
    assert Until("x", 0.75, minimum=10, budget=11, rule="sequential").wanted(values) == 11


@pytest.mark.parametrize(
    "arguments",
    [
        {"half_width": 0.0},
        {"half_width": math.inf},
        {"half_width": "1"},
        {"minimum": 2},
        {"minimum": 20.0},
        {"budget": 3},
        {"rule": "guess"},
        {"metric": "flows.*.timeouts"},
    ],
)
def test_a_bad_rule_names_its_field(arguments: dict[str, Any]) -> None:
    (field,) = arguments
    with pytest.raises(BadInput, match=rf"replications\.{field}"):
        Until(**{"metric": "x", "half_width": 1.0} | arguments)


def test_holm_is_holms_example() -> None:
    # p = 0.01, 0.04, 0.03, 0.005: sorted 0.005·4, 0.01·3, 0.03·2, 0.04·1 → 0.02, 0.03, 0.06, max(0.06, 0.04).
    assert stats.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert stats.holm([]) == []
    assert stats.holm([0.6, 0.7]) == [1.0, 1.0]


def test_a_share_has_clopper_and_pearsons_interval() -> None:
    """None of n: the upper bound solves (1 - p)^n = 0.025."""
    none = stats.share_interval(0, 200)
    assert (none.effect, none.low) == (0.0, 0.0)
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 200))
    half = stats.share_interval(5, 10)
    assert (half.low, half.high) == pytest.approx((0.1871, 0.8129), abs=1e-4)
    with pytest.raises(ValueError, match="at least one trial"):
        stats.share_interval(0, 0)
    for met, runs, error in ((0, 16, 0.05), (3, 16, 0.05), (250, 256, 1e-4), (256, 256, 0.05)):
        expected = scipy_stats.binomtest(met, runs).proportion_ci(1 - error, method="exact")
        assert stats.clopper_pearson(met, runs, error) == pytest.approx(tuple(expected), abs=1e-12)


def test_a_share_of_trials_has_the_number_of_its_runs() -> None:
    """100 handovers in each of 5 runs."""
    assert stats.share_interval(0, 500, runs=5).runs == 5
    assert stats.share_interval(0, 500, runs=5).high == pytest.approx(1 - 0.025 ** (1 / 500))
    assert stats.share_interval(0, 500).runs == 500


def test_a_quantile_lies_between_order_statistics() -> None:
    """Of 10 values the median lies between the 2nd and the 9th with 97.9 %: 1 - 2 · 11 / 1024; of 5 there is none."""
    values = [float(value) for value in range(1, 11)]
    found = stats.quantile(values, 0.5)
    assert (found.effect, found.low, found.high) == (5.0, 2.0, 9.0)
    few = stats.quantile(values[:5], 0.5)
    assert (few.low, few.high) == (-math.inf, math.inf)
    top = stats.quantile(values, 0.95)
    assert (top.effect, top.high) == (10.0, math.inf)
    with pytest.raises(ValueError, match="between 0 and 1"):
        stats.quantile(values, 1.0)


def test_a_quantile_is_covered_by_its_interval() -> None:
    covered = 0
    for ensemble in range(ENSEMBLES):
        sample = np.random.default_rng([23, ensemble]).exponential(size=100)
        found = stats.quantile(sample.tolist(), 0.9)
        covered += found.low <= -math.log(0.1) <= found.high
    assert 0.935 < covered / ENSEMBLES < 0.985


def test_a_clipped_interval_has_no_impossible_value_and_covers_as_often() -> None:
    """A share that is 0 in most runs: Student's interval reaches below 0, where the truth cannot be."""
    values = [0.0, 0.0, 0.0, 0.02, 0.0]
    wide = stats.student(values)
    assert wide.low < 0.0
    found = stats.clipped(wide, 0.0, 1.0)
    assert (found.low, found.high, found.effect, found.runs) == (0.0, wide.high, wide.effect, 5)
    high = stats.clipped(stats.student([1.0, 1.0, 0.9, 1.0]), 0.0, 1.0)
    assert high.high == 1.0
    alone = stats.student([0.3])
    assert stats.clipped(alone, 0.0, 1.0) == alone, "one run alone has no bounds"
    for ensemble in range(200):
        sample = np.random.default_rng([24, ensemble]).exponential(size=5).tolist()
        covers = [each.low <= 1.0 <= each.high for each in (stats.student(sample),)]
        part = stats.clipped(stats.student(sample), 0.0, math.inf)
        assert [part.low <= 1.0 <= part.high] == covers


def test_unpaired_runs_have_welchs_interval() -> None:
    """Equal sizes and variances 2.5: Student's with 8 degrees of freedom, 2.306 standard errors of 1."""
    found = stats.unpaired([2, 3, 4, 5, 6], [1, 2, 3, 4, 5])
    assert (found.effect, found.runs) == (1.0, 10)
    assert (found.low, found.high) == pytest.approx((1 - 2.306, 1 + 2.306), abs=1e-3)
    assert stats.unpaired([1.0], [0.0, 0.0]).high == math.inf
    assert stats.unpaired([1.0, 1.0], [0.0, 0.0]) == stats.Interval(1.0, 1.0, 1.0, 4)


def test_p_value_agrees_with_the_interval() -> None:
    # 1..5 less 3 has t = 0; 1..5 itself t = 3 / (1.5811 / √5) = 4.2426 with 4 degrees of freedom: p = 0.01324.
    assert stats.p_value([-2, -1, 0, 1, 2]) == pytest.approx(1.0)
    assert stats.p_value([1, 2, 3, 4, 5]) == pytest.approx(0.013236, abs=1e-5)
    assert (stats.p_value([0.0, 0.0]), stats.p_value([1.0, 1.0]), stats.p_value([3.0])) == (None, None, None)


def test_seeds_come_from_names() -> None:
    # The first 8 bytes of SHA-256("abc"), ba7816bf 8f01cfea.
    assert stopping.seed("abc") == 0xBA7816BF8F01CFEA
    assert stopping.seed("fig7") != stopping.seed("fig8")
