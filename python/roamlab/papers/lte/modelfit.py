"""The model of section IV and the runs: the frequency of each case, the prediction, the delivered data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from roamlab.papers.lte import model
from roamlab.papers.lte.experiments import TARGETS, WINDOW_PKTS
from roamlab.statistics.stats import student

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from roamlab.papers.lte.evidence import Anatomy, Evidence
    from roamlab.papers.lte.measures import Handover
    from roamlab.papers.lte.model import Case, Delivered, Interpretation
    from roamlab.statistics.stats import Interval


def groups(found: Evidence) -> dict[str, list[Handover]]:
    """The runs of the standard procedure with cwnd_MAX of table II, by mobiles in the source and target cells."""
    return {f"1 + {n}": found.forwarding["standard", n] for n in TARGETS}


def frequencies(runs: Sequence[Handover]) -> dict[Case, float]:
    """The f of equations 1 to 3: the share of runs in each case."""
    outcomes = [run.congestion.outcome for run in runs]
    return {case: outcomes.count(case) / len(runs) for case in model.CASES}


def predicted(cwnd_ho: float, interpretation: Interpretation, cwnd_max: int = WINDOW_PKTS) -> Delivered:
    """Equations 1 to 3 for a window at the handover as it was measured."""
    return model.delivered(cwnd_max, Fraction(cwnd_ho).limit_denominator(1000), interpretation)


def within_model(runs: Sequence[Handover]) -> list[Handover]:
    """The runs that equation 4 allows: with a window of cwnd_MAX / 2 or more at the handover."""
    return [run for run in runs if run.interval.cwnd_ho >= WINDOW_PKTS / 2]


@dataclass(frozen=True)
class Fit:
    """The model and the runs of one group, in segments."""

    group: str
    outside: int
    """Runs that equation 4 does not allow, which are left out."""
    frequency: Mapping[Case, float]
    simulated: Interval
    predicted: Mapping[Interpretation, float]
    residual: Mapping[Interpretation, Interval]
    """Simulated minus predicted, with the interval of the simulated mean."""
    before: Interval
    """Part of the residual that has arisen before the handover, where all interpretations agree."""


def fits(found: Evidence) -> list[Fit]:
    """One for each group with runs that the model allows."""
    made = []
    for group, runs in groups(found).items():
        allowed = within_model(runs)
        if not allowed:
            continue
        frequency = frequencies(allowed)
        expected: dict[Interpretation, list[float]] = {
            interpretation: [
                predicted(run.interval.cwnd_ho, interpretation).expected(frequency) for run in allowed
            ]
            for interpretation in model.READINGS
        }
        delivered = [float(run.interval.delivered) for run in allowed]
        made.append(
            Fit(
                group,
                len(runs) - len(allowed),
                frequency,
                student(delivered),
                {interpretation: sum(values) / len(values) for interpretation, values in expected.items()},
                {
                    interpretation: student([got - said for got, said in zip(delivered, values, strict=True)])
                    for interpretation, values in expected.items()
                },
                student([run.interval.before - _climb(run.interval.cwnd_ho) for run in allowed]),
            )
        )
    return made


def _climb(cwnd_ho: float) -> float:
    """The segments of the model's rounds before the handover: cwnd_MAX / 2 + ... + (cwnd_ho - 1)."""
    half = WINDOW_PKTS / 2
    return (cwnd_ho - half) * (cwnd_ho + half - 1) / 2


def normalised(anatomy: Anatomy, window: int) -> dict[Case, list[float]]:
    """Fig. 4 as simulated: data in the model's interval over those of the same run without a handover, by case."""
    return _ratios(anatomy, window, lambda run: run.interval.delivered)


def after_command(anatomy: Anatomy, window: int) -> dict[Case, list[float]]:
    """Data in the round trips that a handover in mid-interval has left over those without a handover, by case."""
    return _ratios(anatomy, window, lambda run: run.interval.rounds)


def _ratios(anatomy: Anatomy, window: int, data: Callable[[Handover], int]) -> dict[Case, list[float]]:
    """`data` of each run with a handover over those of the same run without, by case.

    Left out: runs that deliver nothing without a handover, because the window was cut before it.
    """
    found: dict[Case, list[float]] = {case: [] for case in model.CASES}
    for moved, stayed in zip(anatomy.peaks[window, True], anatomy.peaks[window, False], strict=True):
        if data(stayed):
            found[moved.congestion.outcome].append(data(moved) / data(stayed))
    return found
