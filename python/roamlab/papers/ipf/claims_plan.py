"""The claims of figs. 15 to 17: the plan of the handoffs, and what a connection already present gets under it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roamlab.papers.ipf.experiments import PLAN_S, PLAN_SPAN_S, UNIFORM_S
from roamlab.papers.ipf.measures import DEVIATION_WINDOWS_S
from roamlab.statistics.claims import Claim, Measure, at_least, at_most, greater, less, within
from roamlab.statistics.stats import largest, paired, smallest, student

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from roamlab.papers.ipf.evidence import Sweep
    from roamlab.papers.ipf.measures import Planned, Schedule

NEAR = 0.25
""""About 60 kb/s" is read as within a quarter of it."""

COMPARED_S = (1.0, 20.0)
"""Windows over which the deviations over time are compared: the shortest, and the one over which RED's is near 60."""


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
    visits = [float(sum(map(len, run.arrivals_s))) for run in runs]
    return Claim(
        "ipf.fig15",
        "Visits of the first host at 42.9, 128.6 and 214 s of 300 s, those of the other three 20 s apart in the "
        "uniform case, or 0 to 5 s apart in bursts; forwarded packets follow each.",
        (
            Measure(
                "simulated arrivals in the new cell, fewest of a run", smallest(visits), "1", at_least(12)
            ),
            Measure("the same, most", largest(visits), "1", at_most(12)),
            *(
                Measure(
                    f"{gap:g} s apart: simulated arrivals minus those printed, largest",
                    largest(_off(gap, of_gap)),
                    "s",
                    at_most(0.05),
                )
                for gap, of_gap in schedules.items()
            ),
            Measure(
                "from an arrival to the first packet forwarded for it, longest",
                largest(_waits(runs)),
                "s",
                at_most(0.1),
            ),
        ),
        kind="inventory",
        reading='"7 different inter-handoff arrival times" with 20 s among them: 0, 1, 2, 3, 4, 5, 20 s; a host stays '
        "300/7 s in either cell",
        why="Hosts move by the plan, and the old base station forwards what it holds when it has learnt of the move: "
        "beacon, registration and notification take 63 ms and their own serialisation.",
    )


def _each_gap(sweep: Sweep, queue: str, pick: Callable[[Planned], float]) -> dict[float, list[float]]:
    return {gap: [float(pick(run)) for run in sweep.planned[gap, queue]] for gap in sweep.gaps}


def _mean(values: dict[float, list[float]]) -> list[float]:
    """Run by run, the mean over cases."""
    return [float(mean) for mean in np.mean(list(values.values()), axis=0)]


def _bursts(values: dict[float, list[float]]) -> list[float]:
    """Run by run, the mean over the cases that are not uniform."""
    return _mean({gap: of_gap for gap, of_gap in values.items() if gap != UNIFORM_S})


def spread(values: dict[float, list[float]]) -> list[float]:
    """Run by run, the standard deviation over cases."""
    return [float(each) for each in np.std(list(values.values()), axis=0, ddof=1)]


def throughputs(sweep: Sweep, queue: str) -> dict[float, list[float]]:
    """By the time between hosts: the throughput of a connection already present in each run, in kbit/s."""
    return _each_gap(sweep, queue, lambda run: run.mean_bps / 1e3)


def deviations(sweep: Sweep, queue: str, window_s: float) -> list[float]:
    """Run by run, the mean over cases of the standard deviation over windows of this length, in kbit/s."""
    at = DEVIATION_WINDOWS_S.index(window_s)
    return _mean(_each_gap(sweep, queue, lambda run: run.deviations_bps[at] / 1e3))


def _over_time(sweep: Sweep, queue: str) -> str:
    """The deviation over time by its window, in words."""
    means = [
        f"{np.mean(deviations(sweep, queue, window)):.0f} over {window:g} s" for window in DEVIATION_WINDOWS_S
    ]
    return f"Over time the deviation is what its window makes it: {', '.join(means)} [kbit/s]."


def _about(kbps: float, sweep: Sweep, queue: str) -> Measure:
    return Measure(
        "standard deviation over the cases",
        student(spread(throughputs(sweep, queue))),
        "kbit/s",
        within(kbps * (1 - NEAR), kbps * (1 + NEAR)),
    )


def fig16(sweep: Sweep) -> Claim:
    """RED: throughput by case."""
    mean = throughputs(sweep, "red")
    return Claim(
        "ipf.fig16",
        "RED: the throughput of a connection already present is lower for uniform than for burst arrivals, and it "
        "varies: standard deviation over the cases about 60 kbit/s.",
        (
            Measure(
                "throughput, uniform minus mean of the bursts",
                paired(mean[UNIFORM_S], _bursts(mean)),
                "kbit/s",
                less(),
            ),
            _about(60, sweep, "red"),
        ),
        reading=str(sweep.reading),
        why="Residents lose throughput to the hosts that share the link, and that share is the same however they are "
        f"spaced; the drops at a handoff are too few to show. {_over_time(sweep, 'red')}",
    )


def fig17(sweep: Sweep) -> Claim:
    """M-RED: the same, and compared with RED."""
    mean = {queue: throughputs(sweep, queue) for queue in ("red", "mred")}
    uneven = {
        queue: [
            abs(uniform - burst)
            for uniform, burst in zip(mean[queue][UNIFORM_S], _bursts(mean[queue]), strict=True)
        ]
        for queue in ("red", "mred")
    }
    return Claim(
        "ipf.fig17",
        "M-RED: the throughput of a connection already present is higher than RED's in every case, its standard "
        "deviation about 37 kbit/s and lower than RED's, and uniform and burst arrivals differ less.",
        (
            *(
                Measure(
                    f"throughput, {gap:g} s apart, M-RED minus RED",
                    paired(mean["mred"][gap], mean["red"][gap]),
                    "kbit/s",
                    greater(),
                )
                for gap in sweep.gaps
            ),
            _about(37, sweep, "mred"),
            Measure(
                "standard deviation over the cases, M-RED minus RED",
                paired(spread(mean["mred"]), spread(mean["red"])),
                "kbit/s",
                less(),
            ),
            *(
                Measure(
                    f"standard deviation over windows of {window:g} s, M-RED minus RED",
                    paired(deviations(sweep, "mred", window), deviations(sweep, "red", window)),
                    "kbit/s",
                    less(),
                )
                for window in COMPARED_S
            ),
            Measure(
                "distance between uniform and bursts, M-RED minus RED",
                paired(uneven["mred"], uneven["red"]),
                "kbit/s",
                less(),
            ),
        ),
        reading=str(sweep.reading),
        why="A resident's throughput is ruled by the number of connections and by Reno's sawtooth, which both queues "
        "leave alike: what M-RED spares is a handful of forwarded packets of a moving host, not the resident's own. "
        f"{_over_time(sweep, 'mred')}",
    )
