"""Holm's correction over the comparisons of a paper: p-values by the tests that intervals invert."""

from __future__ import annotations

from dataclasses import replace

import pytest
from scipy import stats as scipy_stats

from roamlab.statistics import stats
from roamlab.statistics.claims import (
    Claim,
    Claimed,
    Measure,
    at_least,
    at_most,
    corrected,
    greater,
    less,
    remarks,
    within,
)
from roamlab.statistics.stats import Interval


def _planted(p: float, *, effect: float = 1.0) -> Measure:
    """A measure that excludes 0 with this p-value."""
    low, high = (0.1, 2.0) if p < 0.05 else (-0.1, 2.0)
    return Measure(f"p {p}", Interval(effect, low, high, 9, lambda _: p), "1", greater())


def _claim(*measures: Measure) -> Claim:
    return Claim("moby.swims", "it swims", measures, "", "")


def test_comparisons_of_all_claims_are_adjusted_together() -> None:
    """By hand: p 0.005, 0.01, 0.03, 0.04 of four tests are 4 · 0.005, 3 · 0.01, 2 · 0.03, and the largest so far."""
    found = corrected([_claim(_planted(0.01), _planted(0.04)), _claim(_planted(0.03), _planted(0.005))])
    assert [each.adjusted for each in found] == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert [each.measure.verdict for each in found] == ["holds"] * 4
    assert [each.verdict for each in found] == ["holds", "undecided", "undecided", "holds"]


def test_the_measures_of_a_claim_are_one_family() -> None:
    """By hand: 0.01, 0.02 and 0.04 of three are 0.03, 0.04 and 0.04; 0.02, 0.03 and 0.5 are 0.06, 0.06 and 0.5."""
    good = _claim(_planted(0.02), _planted(0.04), _planted(0.01))
    assert [measure.adjusted for measure in good.measures] == pytest.approx([0.04, 0.04, 0.03])
    assert good.verdict == "holds"
    bad = _claim(_planted(0.02), _planted(0.03), _planted(0.5))
    assert [measure.adjusted for measure in bad.measures] == pytest.approx([0.06, 0.06, 0.5])
    assert [measure.alone for measure in bad.measures] == ["holds", "holds", "undecided"]
    assert [measure.verdict for measure in bad.measures] == ["undecided"] * 3
    told = "undecided: holds alone, but p is 0.06 after correction for all measures"
    assert bad.measures[0].outcome == told
    assert f"  p 0.02: {told}" in remarks([bad]).splitlines()
    # One that is contradicted alone is undecided among others that are not significant.
    below = Measure("below", Interval(-1.0, -2.0, -0.1, 9, lambda _: 0.02), "1", greater())
    assert _claim(below).verdict == "contradicted"
    assert _claim(below, _planted(0.3), _planted(0.5)).verdict == "undecided"
    assert replace(bad, measures=bad.measures[:1]).verdict == "holds", "alone there is nothing to correct"


def test_what_matters_moves_the_bound_that_is_tested() -> None:
    values = [-3.0, -2.0, -4.0, -3.5, -2.5]

    def p(printed: float) -> float | None:
        return Measure("depth", stats.student(values), "m", greater(printed=printed)).p

    assert p(10) == pytest.approx(float(scipy_stats.ttest_1samp(values, -1.0).pvalue))
    assert p(40) == p(0) == pytest.approx(float(scipy_stats.ttest_1samp(values, 0.0).pvalue))


def test_what_no_chance_enters_is_no_comparison() -> None:
    alone = [
        Measure("closed form", stats.exact(3.0), "1", greater()),
        Measure("extreme", stats.largest([1.0, 2.0]), "1", at_most(3)),
        Measure("runs all equal", stats.student([0.0, 0.0, 0.0]), "1", at_most(0)),
        Measure("runs all equal", stats.bootstrap([2.0, 2.0]), "1", at_least(0)),
        Measure("one run", stats.student([1.0]), "1", greater()),
    ]
    assert corrected([_claim(*alone)]) == []
    # Nor does it count: the one other comparison keeps its p-value.
    (found,) = corrected([_claim(*alone, _planted(0.04))])
    assert (found.adjusted, found.verdict) == (0.04, "holds")


@pytest.mark.parametrize(
    "measured",
    [
        stats.student([1.0, 2.0, 4.0, 3.0]),
        stats.paired([1.0, 2.0, 4.0], [0.5, 2.5, 1.0]),
        stats.unpaired([1.0, 2.0, 4.0, 3.0], [0.0, 1.0, 2.5]),
        stats.share_interval(7, 20),
        stats.bootstrap([0.0, 0.1, 0.0, 3.0, 0.2, 0.0, 1.0]),
    ],
)
def test_a_test_agrees_with_its_interval(measured: Interval) -> None:
    """Truths just inside the interval are kept at 5 %, those just outside are not."""
    assert measured.test is not None
    step = (measured.high - measured.low) / 50
    for bound, outwards in ((measured.low, -step), (measured.high, step)):
        assert measured.test(bound + outwards) < 0.05 < measured.test(bound - outwards)


def test_the_p_value_is_that_of_the_bound_that_decides() -> None:
    values = [4.0, 6.0, 5.0, 5.5]

    def student(truth: float) -> float:
        return float(scipy_stats.ttest_1samp(values, truth).pvalue)

    def p(claimed: Claimed) -> float | None:
        return Measure("depth", stats.student(values), "m", claimed).p

    assert p(greater(3)) == pytest.approx(student(3))
    assert p(less(3)) == pytest.approx(student(3))
    assert p(within(1, 6)) == pytest.approx(student(6))  # inside: both bounds are excluded at this level
    assert p(within(7, 9)) == pytest.approx(student(7))  # outside: the nearer one


def test_several_measures_say_which_of_them_fail() -> None:
    good, bad = _planted(0.01), Measure("bad", Interval(-1.0, -2.0, -0.5, 9), "1", greater())
    open_ = Measure("open", Interval(0.1, -2.0, 2.5, 9), "1", greater())
    assert (
        _claim(good, bad, open_, bad).failing == "of 4 measures 2 contradicted (bad; bad), 1 undecided (open)"
    )
    assert _claim(good, good).failing == _claim(bad).failing == ""
    assert remarks([_claim(good, bad), _claim(good)]).splitlines() == [
        "moby.swims:",
        "  of 2 measures 1 contradicted (bad)",
    ]
    assert remarks([_claim(good)]) == ""
