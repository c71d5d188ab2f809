"""Intervals against textbook numbers; verdicts against the definition."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamlab.statistics import claims, stats
from roamlab.statistics.claims import Claim, Claimed, Measure
from roamlab.statistics.stats import Interval

if TYPE_CHECKING:
    from pathlib import Path

_NUMBERS = st.floats(-1e9, 1e9)
_SAMPLES = st.lists(_NUMBERS, min_size=2, max_size=20)


def test_printed_digits_bound_a_number() -> None:
    """Half a unit of the last digit to either side."""
    for claimed, bounds, printed in (
        (claims.at_least_as_printed("98"), (97.5, math.inf), 98),
        (claims.at_most_as_printed("0.05"), (-math.inf, 0.055), 0.05),
        (claims.as_printed("15", "16"), (14.5, 16.5), 16),
        (claims.as_printed("15"), (14.5, 15.5), 15),
        (claims.as_printed(".95"), (0.945, 0.955), 0.95),
        (claims.as_printed("2.20"), (2.195, 2.205), 2.2),
    ):
        assert ((claimed.low, claimed.high), claimed.printed) == (bounds, printed)
    with pytest.raises(ValueError, match="not a printed number: 'inf'"):
        claims.as_printed("inf")


def test_student_interval_by_hand() -> None:
    # Mean 3, s = sqrt(2.5), standard error sqrt(0.5); t(0.975, 4) = 2.776445 from the printed table.
    found = stats.student([1, 2, 3, 4, 5])
    half = 2.776445 * math.sqrt(0.5)
    assert found.effect == 3
    assert found.low == pytest.approx(3 - half, rel=1e-6)
    assert found.high == pytest.approx(3 + half, rel=1e-6)
    assert found.runs == 5


def test_pairs_remove_what_both_share() -> None:
    # Differences 1, 1, 2, 2: mean 1.5, s = sqrt(1/3), t(0.975, 3) = 3.182446.
    found = stats.paired([11, 101, 1002, 12], [10, 100, 1000, 10])
    assert found.effect == 1.5
    assert found.high - found.effect == pytest.approx(3.182446 * math.sqrt(1 / 3) / 2, rel=1e-6)
    with pytest.raises(ValueError, match="cannot be paired"):
        stats.paired([1.0], [1.0, 2.0])


@pytest.mark.parametrize("interval", [stats.student, stats.bootstrap])
def test_edges(interval: type) -> None:
    assert interval([4.0]) == Interval(4.0, -math.inf, math.inf, 1)
    constant = interval([0.1] * 10)
    assert (constant.low, constant.effect, constant.high) == pytest.approx((0.1, 0.1, 0.1))
    assert constant.high - constant.low < 1e-15
    for bad in ([], [math.nan, 1.0], [math.inf, 1.0]):
        with pytest.raises(ValueError, match="finite"):
            interval(bad)


@given(sample=_SAMPLES)
def test_intervals_surround_the_mean(sample: list[float]) -> None:
    found = stats.student(sample)
    assert found.low <= found.effect <= found.high


def test_an_extreme_bounds_from_one_side() -> None:
    """Runs that were not made may lie beyond it: "at most" is never shown by a sample's largest value."""
    most, least = stats.largest([1.0, 3.0, 2.0, 3.0, 1.0]), stats.smallest([1.0, 3.0, 2.0, 3.0, 1.0])
    assert most == Interval(3.0, 3.0, math.inf, 5, extreme=True)
    assert least == Interval(1.0, -math.inf, 1.0, 5, extreme=True)
    assert _claim(most).verdict == "holds"
    for claimed, verdict in (
        (claims.at_most(5), "undecided"),
        (claims.at_most(2), "contradicted"),
        (claims.at_least(3), "holds"),
        (claims.within(4, 14), "undecided"),
    ):
        assert Measure("most", most, "pkt", claimed).verdict == verdict
    # An inventory claim is about the runs that were made, however few.
    kept = Measure("most", stats.largest([3.0]), "pkt", claims.at_most(5))
    assert replace(_claim(_GOOD), measures=(kept,), kind="inventory").verdict == "holds"
    assert replace(_claim(_GOOD), measures=(kept,)).verdict == "undecided"


@pytest.mark.parametrize("runs", [2, 4, 5, 30])
def test_fewer_than_five_runs_give_no_verdict(runs: int) -> None:
    values = [1.0 + at / 100 for at in range(runs)]
    measure = Measure("depth", stats.student(values), "m", claims.greater())
    assert measure.verdict == ("holds" if runs >= 5 else "undecided")
    told = f"undecided: {runs} runs are too few, a verdict needs 5"
    assert measure.outcome == ("holds" if runs >= 5 else told)
    claim = replace(_claim(_GOOD), measures=(measure,))
    assert (f"  depth: {told}" in claims.remarks([claim])) == (runs < 5)
    assert claim.as_dict()["too_few_runs"] == (runs < 5)


@pytest.mark.parametrize(
    ("value", "claimed", "runs", "verdict"),
    [
        (0.0, claims.greater(), 2, "undecided"),
        (0.0, claims.greater(), 10, "undecided"),
        (-1.0, claims.greater(), 10, "contradicted"),
        (1.0, claims.greater(), 10, "holds"),
        (0.0, claims.at_most(0), 10, "holds"),
    ],
)
def test_equal_runs_are_no_certainty(value: float, claimed: Claimed, runs: int, verdict: str) -> None:
    """All runs on the excluded bound leave open on which side the mean is."""
    measure = Measure("depth", stats.student([value] * runs), "m", claimed)
    assert (measure.verdict, measure.p) == (verdict, None)
    told = replace(_claim(_GOOD), measures=(measure,)).as_dict()
    assert (told["interval"], told["same_in_every_run"]) == ([None, None], True)
    if runs == 10:
        # None of 10 differ: Clopper and Pearson's upper bound solves (1 - p)^10 = 0.025.
        said = f"the same in all 10 runs; at most {1 - 0.025**0.1:.0%} of further runs differ"
        assert claims.interval_text(measure.measured) == said


def test_what_the_set_up_fixes_needs_no_runs() -> None:
    fixed = Measure("delay", stats.exact(3.0), "ms", claims.within(3, 3))
    assert (fixed.verdict, fixed.p, claims.interval_text(fixed.measured)) == ("holds", None, "exact")
    assert Measure("tie", stats.exact(0.0), "1", claims.greater()).verdict == "contradicted"


def test_a_tie_that_the_set_up_forces_does_not_count() -> None:
    why = "nothing is forwarded by either"
    tie = Measure("tied", stats.student([0.0] * 9), "1", claims.greater(), forced_tie=why)
    alone, beside = (replace(_claim(_GOOD), measures=of) for of in ((tie,), (tie, *_claim(_GOOD).measures)))
    assert (alone.verdict, beside.verdict) == ("undecided", "holds")
    assert alone.as_dict()["forced_tie"] == why
    assert alone.open == [f"tied: not counted: the set-up forces a tie, {why}"]
    # Where the runs differ the set-up forces nothing, and the measure counts.
    free = replace(tie, measured=_BAD)
    assert replace(beside, measures=(free, *beside.measures)).verdict == "contradicted"


def test_results_and_inventory_are_counted_apart() -> None:
    every = [_claim(_GOOD), _claim(_BAD), replace(_claim(_GOOD), kind="inventory")]
    assert claims.counts(every) == {
        "result": {"claims": 2, "holds": 1, "depends": 0, "contradicted": 1, "undecided": 0},
        "inventory": {"claims": 1, "holds": 1, "depends": 0, "contradicted": 0, "undecided": 0},
    }
    assert claims.tally(every) == "2 results: 1 holds, 1 contradicted; 1 inventory claim: 1 holds"
    several = [each for each in every if each.kind == "inventory"] * 13
    assert claims.tally(several) == "13 inventory claims: all hold"
    held = [claim for claim in every if claim.verdict == "holds" and claim.kind == "result"]
    assert claims.tally(held * 2) == "2 results: 2 hold"
    assert [table.title for table in claims.terminal_tables(every)] == ["Results", "Inventory claims"]


def test_bootstrap_is_repeatable_and_narrower_than_the_range() -> None:
    sample = [0.0, 0.0, 1.0, 1.0, 9.0]
    found = stats.bootstrap(sample)
    assert found == stats.bootstrap(sample)
    assert 0.0 <= found.low < 2.2 < found.high <= 9.0


@pytest.mark.parametrize(
    ("claimed", "low", "effect", "high", "verdict"),
    [
        (claims.greater(), 1, 2, 3, "holds"),
        (claims.greater(), -3, -2, -1, "contradicted"),
        (claims.greater(), -1, 1, 3, "undecided"),
        (claims.greater(), 0, 1, 2, "holds"),
        (claims.greater(), 0, 0, 0, "undecided"),
        (claims.greater(5), 1, 2, 3, "contradicted"),
        (claims.greater(), -math.inf, 2, math.inf, "undecided"),
        (claims.less(), -3, -2, -1, "holds"),
        (claims.less(), 1, 2, 3, "contradicted"),
        (claims.at_most(62), 62, 62, 62, "holds"),
        (claims.at_most(62), 60, 61, 63, "undecided"),
        (claims.at_least(0), 0, 0, 0, "holds"),
        (claims.within(-1, 1), -1, 0, 1, "holds"),
        (claims.within(-1, 1), 0, 0.5, 1.5, "undecided"),
        (claims.within(-1, 1), 1.5, 2, 3, "contradicted"),
    ],
)
def test_verdicts(claimed: Claimed, low: float, effect: float, high: float, verdict: str) -> None:
    assert claimed.verdict(Interval(effect, low, high, 10)) == verdict


@pytest.mark.parametrize(
    ("claimed", "low", "effect", "high", "verdict"),
    [
        (claims.greater(printed=10), -0.9, -0.5, -0.2, "undecided"),
        (claims.greater(printed=10), -1.5, -1.2, -0.9, "undecided"),
        (claims.greater(printed=10), -1.5, -1.2, -1.1, "contradicted"),
        (claims.greater(printed=10), 0.2, 0.5, 0.9, "holds"),
        (claims.less(printed=10), 0.2, 0.5, 0.9, "undecided"),
        (claims.as_printed("15", "16"), 17.5, 17.8, 18.05, "undecided"),
        (claims.as_printed("15", "16"), 18.2, 18.4, 18.6, "contradicted"),
        (claims.at_least_as_printed("98"), 87.6, 88.0, 90.0, "undecided"),
        (claims.at_least_as_printed("98"), 86.0, 87.0, 87.5, "contradicted"),
    ],
)
def test_an_effect_contradicts_if_it_matters(
    claimed: Claimed, low: float, effect: float, high: float, verdict: str
) -> None:
    """By more than a tenth of the printed effect; without one, by any."""
    measured = Interval(effect, low, high, 10)
    assert claimed.verdict(measured) == verdict
    told = f"undecided: outside the claimed range by less than {claimed.matters:.2g}, a tenth of the printed effect"
    assert Measure("depth", measured, "m", claimed).outcome == (told if verdict == "undecided" else verdict)


@given(ends=st.tuples(_NUMBERS, _NUMBERS, _NUMBERS).map(sorted))
def test_opposite_claims_never_both_hold(ends: list[float]) -> None:
    measured = Interval(ends[1], ends[0], ends[2], 10)
    verdicts = {claims.greater().verdict(measured), claims.at_most(0).verdict(measured)}
    assert verdicts in (
        {"holds", "contradicted"},
        {"undecided"},
        {"undecided", "contradicted"},
        {"undecided", "holds"},
    )


def test_an_interval_must_surround_its_effect() -> None:
    with pytest.raises(ValueError, match="not an interval"):
        Interval(5, 1, 2, 3)
    with pytest.raises(ValueError, match="not an interval"):
        Interval(math.nan, math.nan, math.nan, 3)


def _claim(*effects: Interval) -> Claim:
    measures = tuple(
        Measure(f"part {at}", effect, "pkt", claims.greater()) for at, effect in enumerate(effects)
    )
    return Claim("mblue.fig12", "more arrives", measures, "buffer 120", "the burst is kept")


_GOOD, _OPEN, _BAD = Interval(2, 1, 3, 30), Interval(1, -1, 3, 30), Interval(-2, -3, -1, 30)


def test_the_worst_measure_decides() -> None:
    assert _claim(_GOOD, _GOOD).verdict == "holds"
    assert _claim(_GOOD, _OPEN).verdict == "undecided"
    assert _claim(_OPEN, _BAD, _GOOD).deciding.measured is _BAD
    with pytest.raises(ValueError, match="no measure"):
        _claim()


def test_json_has_the_fields_of_the_deciding_measure(tmp_path: Path) -> None:
    path = tmp_path / "claims.json"
    claims.write_json([_claim(_GOOD, _BAD), _claim(stats.student([1.0]))], path)
    first, second = json.loads(path.read_text(encoding="utf-8"))
    shown = {
        key: first[key]
        for key in ("id", "verdict", "effect", "unit", "interval", "runs", "interpretation", "why")
    }
    assert shown == {
        "id": "mblue.fig12",
        "verdict": "contradicted",
        "effect": -2,
        "unit": "pkt",
        "interval": [-3, -1],
        "runs": 30,
        "interpretation": "buffer 120",
        "why": "the burst is kept",
    }
    assert second["interval"] == [None, None]
    assert second["verdict"] == "undecided"
