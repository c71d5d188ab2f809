"""The analytic model of the LTE paper, against numbers worked out by hand from its equations."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roamlab.papers.lte.model import CASES, READINGS, Interpretation, delivered, slow_start_rounds


@pytest.mark.parametrize(("cwnd_ho", "halving", "timeout"), [(44, 737, 683), (33, 561, 474), (22, 506, 382)])
def test_the_equations_as_printed_at_a_peak_of_44(cwnd_ho: int, halving: int, timeout: int) -> None:
    """The k are 6, 6 and 5; the sums over slow start are 48, 15, 9."""
    found = delivered(44, cwnd_ho)
    assert [found.of(case) for case in CASES] == [759, halving, timeout]


def test_the_ideal_case_is_the_sum_of_the_windows() -> None:
    for cwnd_max in range(4, 101, 2):
        assert delivered(cwnd_max, cwnd_max).ideal == sum(range(cwnd_max // 2, cwnd_max + 1))


def test_slow_start_takes_a_round_for_each_doubling_and_one_more() -> None:
    assert [slow_start_rounds(Fraction(ssthresh)) for ssthresh in (1, 2, 3, 4, 11, 16, 22)] == [
        1,
        2,
        3,
        3,
        5,
        5,
        6,
    ]
    assert slow_start_rounds(Fraction(33, 2)) == 6


def test_negative_terms_do_not_count_in_the_clamped_interpretation() -> None:
    """At 44 only the last term, 22 - 6 + 5 - 32 = -11, is negative."""
    assert delivered(44, 44, "clamped").timeout == 683 - 11


def test_the_trajectory_ends_with_the_interval() -> None:
    """At the peak one round is left: 1 segment is sent instead of 22. From 22 on, 23 rounds are left."""
    assert delivered(44, 44, "trajectory").timeout == 737 - 21
    sent = [1, 2, 4, 8, 11, *range(12, 30)]
    assert delivered(44, 22, "trajectory").timeout == sum(sent)


@given(half=st.integers(2, 500), share=st.fractions(0, 1), interpretation=st.sampled_from(READINGS))
def test_a_halving_costs_and_a_timeout_costs_more_on_the_trajectory(
    half: int, share: Fraction, interpretation: Interpretation
) -> None:
    found = delivered(2 * half, half + share * half, interpretation)
    assert found.halving < found.ideal
    if interpretation == "trajectory":
        assert 0 < found.timeout <= found.halving
    if interpretation == "clamped":
        assert found.timeout < found.halving


def test_frequencies_weigh_the_cases() -> None:
    found = delivered(44, 33)
    assert found.expected({"ideal": 0.5, "halving": 0.25, "timeout": 0.25}) == 0.5 * 759 + 0.25 * (561 + 474)
    with pytest.raises(ValueError, match=r"add up to 1, not 0\.5"):
        found.expected({"ideal": 0.5})


@pytest.mark.parametrize(
    ("cwnd_max", "cwnd_ho", "words"),
    [(43, 30, "even and at least 4, not 43"), (44, 21, "22 .. 44, not 21"), (44, 45, "22 .. 44, not 45")],
)
def test_outside_the_model_is_refused(cwnd_max: int, cwnd_ho: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        delivered(cwnd_max, cwnd_ho)
