"""The paper's figures 9 to 17, and two new ones: throughput by the case of fig. 15, and its deviation by the window.

Trajectories are those of one run and are marked as such; what is compared between queues is a mean over all
runs with its 95 % interval.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.base.figures import BLUE, COLOURS, GREEN, VERMILION, label, new_figure
from roamlab.papers.deciding import each
from roamlab.papers.drawing import TIME, band, errorbars, longest, mark, panel, saved
from roamlab.papers.ipf import claims_plan, evidence, experiments, measures
from roamlab.papers.ipf.experiments import (
    BURST_S,
    GAPS_S,
    HOST_COUNTS,
    HOSTS,
    PLAN_SPAN_S,
    QUEUES,
    SPAN_S,
    UNIFORM_S,
    VISIT_COUNTS,
    VISITS,
)
from roamlab.statistics.stats import paired, student

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from roamlab.base.figures import SavedFigure
    from roamlab.papers.ipf.evidence import Evidence, Sweep
    from roamlab.papers.ipf.experiments import Interpretation
    from roamlab.papers.ipf.measures import Planned
    from roamlab.papers.records import QueueTrace

NAMES = {"red": "RED", "mred": "M-RED (IPF)"}
_QUEUE, _AVERAGE, _ORDINARY = BLUE, VERMILION, GREEN
_QUEUE_AXIS = ("queue", "pkt")


def mean_kbps(run: Planned) -> float:
    """Mean throughput of a resident."""
    return float(np.mean(run.means_bps)) / 1e3


def deviation_kbps(run: Planned) -> float:
    """Its standard deviation over windows of 1 s."""
    return float(np.mean(run.deviations_bps, axis=0)[0]) / 1e3


def drawings(
    default: Evidence, sweep: Sweep, traces: dict[str, list[QueueTrace]], folder: Path
) -> dict[str, Callable[[], SavedFigure]]:
    """All figures. `traces` holds the queue of run 0: of "case 1", "case 2" (RED), and of the standard case."""
    return {
        "fig9": partial(_arrivals, traces, default.interpretation, folder),
        "fig10": partial(_visits, traces, default.interpretation, folder),
        "fig11": partial(_fifth, traces, default.interpretation, folder),
        "fig12": partial(utilisation, sweep, [(count, HOSTS) for count in VISIT_COUNTS], 0, folder),
        "fig13": partial(utilisation, sweep, [(VISITS, hosts) for hosts in HOST_COUNTS], 1, folder),
        "fig14": partial(_around, default, folder),
        "fig15": partial(_plan, folder),
        "fig16": partial(_planned, sweep, "red", folder),
        "fig17": partial(_planned, sweep, "mred", folder),
        "cases": partial(_cases, sweep, folder),
        "deviations": partial(_deviations, sweep, folder),
    }


_STEP: dict[str, Any] = {"where": "post", "linewidth": 0.8}


def _lengths(axis: Axes, trace: QueueTrace, thresholds: tuple[int, int], *, ordinary: bool = False) -> None:
    """Queue, average and thresholds."""
    axis.step(trace.times, trace.packets, **_STEP, linestyle="-", color=_QUEUE, label="queue")
    if ordinary:
        others = trace.packets - trace.forwarded
        axis.step(trace.times, others, **_STEP, linestyle="-.", color=_ORDINARY, label="q_size_np")
    name = "avg_q_np" if ordinary else "avg_q"
    axis.plot(trace.times, trace.average, linestyle="--", color=_AVERAGE, linewidth=1.6, label=name)
    for level in thresholds:
        axis.axhline(level, color="0.4", linestyle="--", linewidth=0.8)
    axis.set_ylim(0, experiments.LIMIT_PKTS)
    axis.legend(loc="upper right", ncols=3)


def _arrivals(traces: dict[str, list[QueueTrace]], under: Interpretation, folder: Path) -> SavedFigure:
    span = (8.0, 14.0)
    with new_figure(rows=2) as (figure, axes):
        for axis, case, what in zip(
            axes, (1, 2), ("a connection begins", "a window is forwarded"), strict=True
        ):
            _lengths(axis, traces[f"case {case}"][0].within(*span), under.thresholds_fig9)
            mark(axis, (BURST_S,))
            axis.set_xlim(*span)
            panel(axis, f"case {case}: {what}", TIME, _QUEUE_AXIS)
        return saved("ipf", figure, folder, "fig9", residents=under.residents_fig9)


def _visits(traces: dict[str, list[QueueTrace]], under: Interpretation, folder: Path) -> SavedFigure:
    (trace,) = traces["red"]
    with new_figure() as (figure, (axis,)):
        times, packets = longest(trace.times, trace.packets, 0.1)
        axis.step(times, packets, **_STEP, linestyle="-", color=_QUEUE, label="queue")
        every = slice(None, None, 50)
        axis.plot(trace.times[every], trace.average[every], linestyle="--", color=_AVERAGE, label="avg_q")
        for level in under.thresholds:
            axis.axhline(level, color="0.4", linestyle="--", linewidth=0.8)
        mark(axis, sorted({at for of_host in evidence.visits() for at in of_host}))
        axis.set_xlim(0.0, SPAN_S)
        axis.set_ylim(0, experiments.LIMIT_PKTS)
        axis.legend(loc="upper right", ncols=2)
        label(axis, TIME, _QUEUE_AXIS)
        return saved("ipf", figure, folder, "fig10", residents=under.residents, hosts=HOSTS, visits=VISITS)


def _fifth(traces: dict[str, list[QueueTrace]], under: Interpretation, folder: Path) -> SavedFigure:
    fifth = evidence.visits()[0][VISITS - 1]
    span = (fifth - 1.0, fifth + 5.0)
    with new_figure(rows=2) as (figure, axes):
        for axis, queue in zip(axes, QUEUES, strict=True):
            trace = traces[queue][0].within(*span)
            _lengths(axis, trace, under.thresholds, ordinary=queue == "mred")
            waiting = trace.times[trace.forwarded > 0]
            mark(axis, (waiting[0], waiting[-1]) if waiting.size else ())
            axis.set_xlim(*span)
            panel(axis, NAMES[queue], TIME, _QUEUE_AXIS)
        return saved("ipf", figure, folder, "fig11")


_POINTS: dict[str, Any] = {"capsize": 4, "marker": "o"}


def utilisation(sweep: Sweep, points: Sequence[tuple[int, int]], axis_of: int, folder: Path) -> SavedFigure:
    """Fig. 12 (`axis_of` 0: visits) or 13 (1: hosts): both queues, and the paired differences below."""
    what = ("visits of each host", "hosts that visit")[axis_of]
    where = [point[axis_of] for point in points]
    use = {
        queue: [[run.utilisation * 100 for run in sweep.points[(*point, queue)]] for point in points]
        for queue in QUEUES
    }
    with new_figure(rows=2) as (figure, (top, bottom)):
        for queue, shift in zip(QUEUES, (-0.05, 0.05), strict=True):
            means = [student(values) for values in use[queue]]
            errorbars(top, [at + shift for at in where], means, label=NAMES[queue], **_POINTS)
        top.legend(loc="lower left", ncols=2)
        differences = [paired(mred, red) for mred, red in zip(use["mred"], use["red"], strict=True)]
        errorbars(bottom, where, differences, label="", **_POINTS)
        bottom.axhline(0.0, color="0.4", linestyle="--", linewidth=0.8)
        for axis in (top, bottom):
            axis.ticklabel_format(axis="y", useOffset=False)
            axis.margins(y=0.25)
        top.set_ylim(min(98.0, top.get_ylim()[0]), 100.0)
        bounds = np.abs([bound for mean in differences for bound in (mean.low, mean.effect, mean.high)])
        reach = max(0.1, *bounds[np.isfinite(bounds)])
        bottom.set_ylim(-1.2 * reach, 1.2 * reach)
        bottom.set_xticks(where)
        label(top, (what, "1"), ("utilisation", "%"))
        label(bottom, (what, "1"), ("M-RED minus RED", "% of the link"))
        top.label_outer()
        return saved("ipf", figure, folder, f"fig{12 + axis_of}", runs=len(use["red"][0]))


def _around(default: Evidence, folder: Path) -> SavedFigure:
    with new_figure(rows=2) as (figure, axes):
        titles = ("(a) the connections already present", "(b) the moving connections")
        for axis, title, moving in zip(axes, titles, (False, True), strict=True):
            for queue in QUEUES:
                runs = default.standard[queue]
                curves = [run.moving_curve if moving else run.resident_curve for run in runs]
                band(axis, measures.AROUND_S + measures.WINDOW_S / 2, curves, NAMES[queue])
            mark(axis, (0.0,))
            axis.set_ylim(bottom=0.0)
            axis.legend(loc="upper right", ncols=2)
            panel(axis, title, ("time from the fifth handoff on", "s"), ("throughput", "kbit/s"))
        return saved("ipf", figure, folder, "fig14", runs=len(default.standard["red"]))


def _plan(folder: Path) -> SavedFigure:
    with new_figure() as (figure, (axis,)):
        for row, gap in enumerate(GAPS_S):
            for host, mover in enumerate(experiments.planned(gap)):
                times = [comes for comes, _ in mover.visits]
                style: dict[str, Any] = {
                    "linestyle": "none",
                    "marker": "os^D"[host],
                    "markersize": 5,
                    "alpha": 0.8,
                }
                name = f"host {host + 1}" if row == 0 else "_"
                axis.plot(times, [row] * len(times), **style, color=COLOURS[host], label=name)
        axis.set_yticks(range(len(GAPS_S)), [f"{gap:g}" for gap in GAPS_S])
        axis.set_ylim(len(GAPS_S) - 0.5, -1.4)
        axis.set_xlim(0.0, PLAN_SPAN_S)
        axis.legend(loc="upper left", ncols=4)
        label(axis, ("arrival in the new cell", "s"), ("time between hosts", "s"))
        return saved("ipf", figure, folder, "fig15")


_SMOOTH = 5
"""Windows of 1 s that a point of figs. 16 and 17 averages."""


def _planned(sweep: Sweep, queue: str, folder: Path) -> SavedFigure:
    times = (np.arange(0.0, PLAN_SPAN_S, measures.WINDOW_S * _SMOOTH)) + measures.WINDOW_S * _SMOOTH / 2
    with new_figure(rows=len(GAPS_S), row_inches=1.35) as (figure, axes):
        for axis, gap in zip(axes, GAPS_S, strict=True):
            curves = [
                np.array(run.curve).reshape(-1, _SMOOTH).mean(axis=1).tolist()
                for run in sweep.planned[gap, queue]
            ]
            band(axis, times, curves, NAMES[queue])
            mark(axis, evidence.planned_moves(gap))
            axis.set_xlim(0.0, PLAN_SPAN_S)
            axis.set_ylim(0.0, 400.0)
            panel(axis, f"{gap:g} s apart", TIME, ("throughput", "kbit/s"))
        return saved(
            "ipf", figure, folder, f"fig{16 + QUEUES.index(queue)}", runs=len(sweep.planned[UNIFORM_S, queue])
        )


_PRINTED_KBPS = {"red": 60.0, "mred": 37.0}
"""Section IV-C: the standard deviations."""


def _deviations(sweep: Sweep, folder: Path) -> SavedFigure:
    with new_figure() as (figure, (axis,)):
        for queue, colour in zip(QUEUES, (_QUEUE, _AVERAGE), strict=True):
            windows = measures.DEVIATION_WINDOWS_S
            means = [student(claims_plan.over_time(sweep, queue, window)) for window in windows]
            errorbars(axis, windows, means, label=NAMES[queue], color=colour, **_POINTS)
            over_cases = student(claims_plan.over_cases(sweep, queue)).effect
            axis.axhline(over_cases, color=colour, linestyle="-", linewidth=0.8)
            axis.axhline(_PRINTED_KBPS[queue], color=colour, linestyle="--", linewidth=0.8)
        axis.set_xscale("log")
        axis.set_xticks(windows, [f"{window:g}" for window in windows])
        axis.minorticks_off()
        axis.set_ylim(bottom=0.0)
        axis.legend(loc="upper right")
        label(axis, ("window", "s"), ("standard deviation", "kbit/s"))
        return saved("ipf", figure, folder, "deviations", runs=len(sweep.planned[UNIFORM_S, "red"]))


def _cases(sweep: Sweep, folder: Path) -> SavedFigure:
    where = range(len(GAPS_S))
    with new_figure(rows=2) as (figure, (top, bottom)):
        for queue, shift in zip(QUEUES, (-0.06, 0.06), strict=True):
            runs = [sweep.planned[gap, queue] for gap in GAPS_S]
            places = [at + shift for at in where]
            means, deviations = (
                [student(each(case, pick)) for case in runs] for pick in (mean_kbps, deviation_kbps)
            )
            errorbars(top, places, means, label=NAMES[queue], **_POINTS)
            errorbars(bottom, places, deviations, label=NAMES[queue], **_POINTS)
        for axis, what in ((top, "throughput"), (bottom, "standard deviation")):
            axis.set_xticks(list(where), [f"{gap:g}" for gap in GAPS_S])
            axis.margins(y=0.3)
            label(axis, ("time between hosts", "s"), (what, "kbit/s"))
            axis.label_outer()
        top.legend(loc="upper right", ncols=2)
        return saved("ipf", figure, folder, "cases", runs=len(sweep.planned[UNIFORM_S, "red"]))
