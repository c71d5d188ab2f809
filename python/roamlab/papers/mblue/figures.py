"""The paper's figures 11 to 15, and a new one: how many flows back off.

Trajectories are those of one run and are marked as such; what is compared between queues is a mean over all
runs with its 95 % interval.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.base.figures import BLUE, GREEN, ORANGE, SKY, VERMILION, label, new_figure
from roamlab.papers import texts
from roamlab.papers.deciding import each
from roamlab.papers.drawing import TIME, band, bars, longest, mark, name_ends, panel, saved
from roamlab.papers.mblue import claims, measures
from roamlab.papers.mblue.experiments import HANDOFF_S, QUEUES, THRESHOLD_PKTS, VISITS_S
from roamlab.showing.chart import chart
from roamlab.showing.report import Handover, handover
from roamlab.statistics.stats import student

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from roamlab.base.figures import SavedFigure
    from roamlab.papers.deciding import Pick
    from roamlab.papers.mblue.evidence import Evidence
    from roamlab.papers.records import QueueTrace
    from roamlab.records.results import Results
    from roamlab.statistics.stats import Interval

PAPER_QUEUES = ("red", "blue", "mblue")


def drawings(
    evidence: Evidence, traces: dict[str, dict[str, list[QueueTrace]]], folder: Path
) -> dict[str, Callable[[], SavedFigure]]:
    """All figures. `traces` holds, for "one" and "three" handoffs, the queue of run 0 under each discipline."""
    one, three = traces["one"], traces["three"]
    return {
        "fig11": partial(_queues, one, (9.5, 13.0), (HANDOFF_S,), folder, "fig11"),
        "fig12": partial(_received, evidence, folder),
        "fig13": partial(_queues, three, (0.0, 40.0), VISITS_S, folder, "fig13"),
        "fig14": partial(_throughput, evidence, folder),
        "fig15": partial(_probability, three, folder),
        "sync": partial(_synchronisation, evidence, folder),
        "overall": partial(_overall, evidence, folder),
    }


def signalling(results: Results, folder: Path) -> Handover:
    """The message sequence chart of the handoff in one run."""
    return handover(chart(results), folder, "signalling", texts("mblue").captions["signalling"])


def _queues(
    traces: dict[str, list[QueueTrace]],
    span: tuple[float, float],
    handoffs: Sequence[float],
    folder: Path,
    name: str,
) -> SavedFigure:
    with new_figure(rows=len(PAPER_QUEUES)) as (figure, axes):
        for axis, queue in zip(axes, PAPER_QUEUES, strict=True):
            trace = traces[queue][0].within(*span)
            times, packets = longest(trace.times, trace.packets, 0.02 if span[1] - span[0] > 10 else 0.0)
            axis.step(times, packets, where="post", linestyle="-", color=BLUE, linewidth=0.8)
            if queue == "red":
                style: dict[str, Any] = {
                    "linestyle": "--",
                    "color": VERMILION,
                    "label": "avg_q",
                    "rasterized": True,
                }
                axis.plot(trace.times, trace.average, **style)
                axis.legend(loc="upper right")
            axis.axhline(THRESHOLD_PKTS, color="0.4", linestyle="--", linewidth=0.8)
            axis.annotate(" TH_b", (span[1], THRESHOLD_PKTS), color="0.4", va="center", annotation_clip=False)
            mark(axis, handoffs)
            axis.set_ylim(0, 125)
            axis.set_xlim(*span)
            panel(axis, claims.NAMES[queue], TIME, ("queue", "pkt"))
        return saved("mblue", figure, folder, name)


def _received(evidence: Evidence, folder: Path) -> SavedFigure:
    with new_figure() as (figure, (axis,)):
        for queue in ("mblue", "red", "blue", "droptail"):
            curves = [run.curve for run in evidence.one[queue]]
            # Counted from 9.5 s on: what was received before is the same host in the old cell.
            shifted = [[value - curve[0] for value in curve] for curve in curves]
            band(axis, measures.CURVE_S, shifted, claims.NAMES[queue])
        mark(axis, (HANDOFF_S,))
        at_handoff = float(np.mean([_at_handoff(run.curve) for run in evidence.one["mblue"]]))
        top = at_handoff + claims.AXIS_PKTS
        axis.axhline(top, color="0.4", linestyle="--", linewidth=0.8)
        axis.annotate("the paper's axis ends here", (9.55, top), color="0.4", va="bottom", fontsize=8)
        axis.set_xlim(9.5, 13.0)
        axis.set_ylim(bottom=0.0)
        name_ends(axis)
        label(axis, TIME, ("received since 9.5 s", "pkt"))
        runs = len(evidence.one["mblue"])
        return saved("mblue", figure, folder, "fig12", runs=runs, axis_pkts=claims.AXIS_PKTS)


def _at_handoff(curve: Sequence[float]) -> float:
    """Data received from 9.5 s to the handoff."""
    return curve[int(np.searchsorted(measures.CURVE_S, HANDOFF_S))] - curve[0]


def _throughput(evidence: Evidence, folder: Path) -> SavedFigure:
    with new_figure() as (figure, (axis,)):
        for queue in ("mblue", "red", "blue"):
            curves = [[value / 1e3 for value in run.throughput_bps] for run in evidence.three[queue]]
            times = np.arange(0.5, len(curves[0]), 1.0) * measures.WINDOW_S
            band(axis, times, curves, claims.NAMES[queue])
        mark(axis, VISITS_S)
        axis.set_xlim(0.0, 40.0)
        axis.set_ylim(0.0, 2500.0)
        axis.legend(loc="upper right", ncols=3)
        label(axis, TIME, ("throughput", "kbit/s"))
        runs = len(evidence.three["mblue"])
        return saved("mblue", figure, folder, "fig14", runs=runs)


def _probability(traces: dict[str, list[QueueTrace]], folder: Path) -> SavedFigure:
    (trace,) = traces["mblue"]
    with new_figure() as (figure, (axis,)):
        axis.step(trace.times, trace.probability, where="post", rasterized=True)
        mark(axis, VISITS_S)
        axis.set_xlim(0.0, 40.0)
        axis.set_ylim(bottom=0.0)
        label(axis, TIME, ("drop probability P_m of MBLUE", "1"))
        return saved("mblue", figure, folder, "fig15")


def _overall(evidence: Evidence, folder: Path) -> SavedFigure:
    panels: tuple[tuple[tuple[str, str], dict[str, Pick]], ...] = (
        (
            ("goodput", "kbit/s"),
            {
                "moving host": lambda run: run.goodput_bps / 1e3,
                "residents": lambda run: run.residents_bps / 1e3,
                "all": lambda run: (run.goodput_bps + run.residents_bps) / 1e3,
            },
        ),
        (("lost at handoffs", "pkt"), {"moving host": "lost_moving", "residents": "lost_residents"}),
    )
    places = range(len(QUEUES))
    with new_figure(rows=2) as (figure, axes):
        for axis, (what, picks) in zip(axes, panels, strict=True):
            for (name, pick), shift, colour in zip(
                picks.items(), (-0.27, 0.0, 0.27), (SKY, ORANGE, GREEN), strict=False
            ):
                means = [student(each(evidence.three[queue], pick)) for queue in QUEUES]
                bars(axis, [at + shift for at in places], means, 0.27, colour, name)
            axis.margins(y=0.3)
            axis.set_ylim(bottom=0.0)
            axis.set_xticks(places, [claims.NAMES[queue] for queue in QUEUES])
            label(axis, ("queue of the new base station", "1"), what)
            axis.label_outer()
        axes[0].legend(loc="upper left", ncols=3)
        return saved("mblue", figure, folder, "overall", runs=len(evidence.three["mblue"]))


def _synchronisation(evidence: Evidence, folder: Path) -> SavedFigure:
    looks = (
        ("of 4, within 1 s of the handoff", "cutting", -0.27, SKY),
        ("of 4, within one round trip, 3 s after the handoff", "together", 0.0, ORANGE),
        ("of 3 residents, within one round trip, 3 s before the handoff", "together_calm", 0.27, GREEN),
    )
    places = range(len(QUEUES))

    def means(field: str) -> list[Interval]:
        return [student(each(evidence.one[queue], field)) for queue in QUEUES]

    with new_figure(rows=2) as (figure, (upper, lower)):
        for name, field, shift, colour in looks:
            bars(upper, [at + shift for at in places], means(field), 0.27, colour, name, capsize=4)
        upper.set_ylim(0.0, 5.5)
        upper.legend(loc="upper right")
        bars(lower, places, means("correlation"), 0.5, BLUE, None, capsize=4)
        lower.set_xticks(places, [claims.NAMES[queue] for queue in QUEUES])
        what = ("queue of the new base station", "1")
        label(upper, what, ("flows that cut their windows", "1"))
        label(lower, what, ("windows' correlation", "1"))
        upper.label_outer()
        return saved(
            "mblue",
            figure,
            folder,
            "sync",
            cut_s=measures.CUT_S,
            round_trip_ms=measures.FULL_RTT_S * 1000.0,
            aftermath_s=measures.AFTERMATH_S,
            runs=len(evidence.one["mblue"]),
        )
