"""The claims of figs. 15 to 17: the plan of the handoffs, and what a connection already present gets under it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roamlab.papers.deciding import claim, least, most
from roamlab.papers.ipf.experiments import PLAN_S, PLAN_SPAN_S, UNIFORM_S
from roamlab.papers.ipf.measures import DEVIATION_WINDOWS_S
from roamlab.statistics.claims import Measure, at_least, at_most, at_most_as_printed, greater, less, within
from roamlab.statistics.stats import paired, student

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from roamlab.papers.ipf.evidence import Sweep
    from roamlab.papers.ipf.experiments import Interpretation
    from roamlab.papers.ipf.measures import Schedule
    from roamlab.statistics.claims import Claim, Claimed
    from roamlab.statistics.stats import Interval

NEAR = 0.25
""""About 60 kb/s" is read as within a quarter of it."""


def _off(gap: float, runs: Iterable[Schedule]) -> list[float]:
    """How far each arrival in the new cell is from what the paper prints for it, in s."""
    return [
        abs(came - (printed + host * gap))
        for run in runs
        for host, times in enumerate(run.arrivals_s)
        for came, printed in zip(times, PLAN_S, strict=False)
    ]


def _waits(runs: Iterable[Schedule]) -> list[float]:
    """From each arrival to the forwarded packets that follow it, in s; the whole span if none do."""
    waits = []
    for run in runs:
        for arrivals, bursts in zip(run.arrivals_s, run.bursts_s, strict=True):
            waits += [
                min((at - came for at in bursts if at >= came), default=PLAN_SPAN_S) for came in arrivals
            ]
    return waits


def fig15(schedules: dict[float, list[Schedule]]) -> Claim:
    """The plan, as the simulated hosts followed it."""
    runs = [run for of_gap in schedules.values() for run in of_gap]

    def visits(run: Schedule) -> float:
        return float(sum(map(len, run.arrivals_s)))

    fewest = "simulated arrivals in the new cell, fewest of a run"
    off = "s apart: simulated arrivals minus those printed, largest"
    # The paper prints tenths of a second.
    first = "from an arrival to the first packet forwarded for it, longest"
    measures = (
        least(fewest, runs, visits, "1", at_least(12)),
        most("the same, most", runs, visits, "1", at_most(12)),
        *(
            most(f"{gap:g} {off}", _off(gap, of_gap), float, "s", at_most_as_printed("0.0"))
            for gap, of_gap in schedules.items()
        ),
        most(first, _waits(runs), float, "s", at_most(0.1)),
    )
    return claim("ipf.fig15", measures)


def chosen(interpretation: Interpretation, of_residents: Sequence[float]) -> float:
    """By interpretation "a TCP connection already present" is the mean of all residents, the first, or the last."""
    picks = {"all": float(np.mean(of_residents)), "first": of_residents[0], "last": of_residents[-1]}
    return picks[interpretation.measured]


def throughputs(sweep: Sweep, queue: str) -> dict[float, list[float]]:
    """By the time between hosts: the throughput of a connection already present in each run, in kbit/s."""
    return {
        gap: [chosen(sweep.interpretation, run.means_bps) / 1e3 for run in sweep.planned[gap, queue]]
        for gap in sweep.gaps
    }


def _bursts(values: dict[float, list[float]]) -> list[float]:
    """Run by run, the mean over the cases that are not uniform."""
    bursts = [of_gap for gap, of_gap in values.items() if gap != UNIFORM_S]
    return [float(mean) for mean in np.mean(bursts, axis=0)]


def over_cases(sweep: Sweep, queue: str) -> list[float]:
    """Run by run: the standard deviation over the cases of a resident's throughput, in kbit/s."""
    cases = [[run.means_bps for run in sweep.planned[gap, queue]] for gap in sweep.gaps]
    deviations = np.std(np.array(cases) / 1e3, axis=0, ddof=1)
    return [chosen(sweep.interpretation, of_run) for of_run in deviations.tolist()]


def over_time(sweep: Sweep, queue: str, window_s: float) -> list[float]:
    """Run by run: the standard deviation of a resident's throughput over windows so long, mean of the cases."""
    at = DEVIATION_WINDOWS_S.index(window_s)
    cases = [
        [
            chosen(sweep.interpretation, [each[at] for each in run.deviations_bps]) / 1e3
            for run in sweep.planned[gap, queue]
        ]
        for gap in sweep.gaps
    ]
    return [float(mean) for mean in np.mean(cases, axis=0)]


def deviations(sweep: Sweep, queue: str) -> list[float]:
    """Run by run: the standard deviation of a resident's throughput, over the span of the interpretation, in kbit/s."""
    over = sweep.interpretation.deviation
    return (
        over_cases(sweep, queue)
        if over == "cases"
        else over_time(sweep, queue, float(over.removesuffix(" s")))
    )


def _by_window(sweep: Sweep, queue: str) -> str:
    """The deviation over time by its window, in words."""
    means = [
        f"{np.mean(over_time(sweep, queue, window)):.0f} over {window:g} s" for window in DEVIATION_WINDOWS_S
    ]
    return f"Over time the deviation depends on the window: {', '.join(means)} [kbit/s]."


def _over(interpretation: Interpretation) -> str:
    return "the cases" if interpretation.deviation == "cases" else f"windows of {interpretation.deviation}"


def _kbps(what: str, values: Interval, claimed: Claimed) -> Measure:
    return Measure(what, values, "kbit/s", claimed)


def _about(kbps: float, sweep: Sweep, queue: str) -> Measure:
    near = within(kbps * (1 - NEAR), kbps * (1 + NEAR), printed=kbps)
    return _kbps(
        f"standard deviation over {_over(sweep.interpretation)}", student(deviations(sweep, queue)), near
    )


def fig16(sweep: Sweep) -> Claim:
    """RED: throughput by case."""
    by_gap = throughputs(sweep, "red")
    apart = paired(by_gap[UNIFORM_S], _bursts(by_gap))
    measures = (
        _kbps("throughput, uniform minus mean of the bursts", apart, less()),
        _about(60, sweep, "red"),
    )
    return claim("ipf.fig16", measures, sweep.interpretation, by_window=_by_window(sweep, "red"))


def fig17(sweep: Sweep) -> Claim:
    """M-RED: the same, and compared with RED."""
    red, mred = (throughputs(sweep, queue) for queue in ("red", "mred"))

    def gain(what: str, of_mred: Sequence[float], of_red: Sequence[float], claimed: Claimed) -> Measure:
        return _kbps(f"{what}, M-RED minus RED", paired(of_mred, of_red), claimed)

    def uneven(by_gap: dict[float, list[float]]) -> list[float]:
        pairs = zip(by_gap[UNIFORM_S], _bursts(by_gap), strict=True)
        return [abs(uniform - burst) for uniform, burst in pairs]

    deviation = f"standard deviation over {_over(sweep.interpretation)}"
    measures = (
        *(gain(f"throughput, {gap:g} s apart", mred[gap], red[gap], greater()) for gap in sweep.gaps),
        _about(37, sweep, "mred"),
        gain(deviation, deviations(sweep, "mred"), deviations(sweep, "red"), less(printed=60 - 37)),
        gain("distance between uniform and bursts", uneven(mred), uneven(red), less()),
    )
    return claim("ipf.fig17", measures, sweep.interpretation, by_window=_by_window(sweep, "mred"))
