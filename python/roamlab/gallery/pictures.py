"""Pictures of the site: of an answer, a curve of each case over time; of a stall, the packets around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.base.figures import BLUE, GREEN, VERMILION, label, new_figure, save
from roamlab.records import metrics
from roamlab.records.analysis import stalls

if TYPE_CHECKING:
    from pathlib import Path

    from roamlab.base.figures import SavedFigure
    from roamlab.gallery.answers import Answer
    from roamlab.records.results import Results

_AXES = {
    "received": ("received of {of} since {begin:g} s", "kB"),
    "delay": ("delay of each packet of {of}", "ms"),
    "window": ("congestion window of {of}", "pkt"),
    "queue": ("packets that wait in {of}", "pkt"),
}


def picture(answer: Answer, folder: Path) -> SavedFigure:
    """Draw an answer into a folder, under the name of its question."""
    draw = answer.question.draw
    with new_figure() as (figure, (axes,)):
        for name, curve in answer.curves.items():
            times, values = curve.points
            # The delay of a packet is a point; everything else lasts until it changes.
            kind: dict[str, Any] = {"drawstyle": "steps-post"}
            if draw.what == "delay":
                kind = {"linestyle": "", "marker": ".", "markersize": 2.5}
            (line,) = axes.plot(times, values, label=name, **kind)
            if times.size and curve.lost_s.size:
                at = values[np.clip(np.searchsorted(times, curve.lost_s, "right") - 1, 0, None)]
                axes.plot(curve.lost_s, at, "x", color=line.get_color(), markersize=5)
        axes.set_xlim(draw.begin_s, draw.end_s)
        axes.set_ylim(bottom=0)
        if any(curve.lost_s.size for curve in answer.curves.values()):
            axes.plot([], [], "x", color="0.3", markersize=5, label="lost packet")
        axes.legend(loc="best")
        what, unit = _AXES[draw.what]
        label(axes, ("time", "s"), (what.format(of=draw.of, begin=draw.begin_s), unit))
        return save(figure, folder, answer.question.name, answer.sentence)


def stall(results: Results, flow: str, folder: Path, name: str) -> SavedFigure:
    """Draw the packets of `flow` around its first stall: when each is sent, arrives or is lost.

    The handover before the stall, its length and the expiries of the timer are named in the picture.
    """
    found = stalls(results, flow)[0]
    begin, end = found.start_ns / 1e9, found.end_ns / 1e9
    handover = max(at for at in metrics.flow_handovers(results, flow) if at <= begin)
    low, high = handover - 0.2, end + 0.4
    arrived, dropped, events = (results.columns(table) for table in ("deliveries", "drops", "tcp"))
    own, lost = arrived.where("flow", flow), dropped.where("flow", flow) & (dropped["seq"] > 0)
    parts = {
        "sent": ("0.6", ".", [(arrived, "sent_ns", own), (dropped, "sent_ns", lost)]),
        "arrives": (BLUE, ".", [(arrived, "time_ns", own)]),
        "lost": (VERMILION, "x", [(dropped, "time_ns", lost)]),
    }
    with new_figure() as (figure, (axes,)):
        axes.axvspan(begin, end, color="#F6E2B3", zorder=0)
        for what, (colour, mark, of) in parts.items():
            times = np.concatenate([metrics.seconds(rows, column, chosen) for rows, column, chosen in of])
            numbers = np.concatenate([rows["seq"][chosen] for rows, _, chosen in of])
            near = (times >= low) & (times <= high)
            size = 6 if mark == "x" else 4
            axes.plot(times[near], numbers[near], mark, color=colour, markersize=size, label=what)
        expired = metrics.seconds(
            events, chosen=events.where("flow", flow) & events.where("event", "timeout")
        )
        top = axes.get_ylim()[1]
        for at in expired[(expired >= begin) & (expired <= high)]:
            axes.axvline(at, color=GREEN, linestyle="--")
            axes.annotate(f"the timer expires, {at:.3f} s ", (at, top), ha="right", va="top")
        axes.axvline(handover, color="0.3", linestyle=":")
        axes.annotate(" the phone leaves its cell", (handover, axes.get_ylim()[0]), va="bottom")
        middle = sum(axes.get_ylim()) / 2
        axes.annotate(f"{end - begin:.3f} s without new data", ((begin + end) / 2, middle), ha="center")
        axes.set_xlim(low, high)
        axes.legend(loc="center right")
        label(axes, ("time", "s"), (f"segment of {flow}", "1"))
        return save(figure, folder, name, f"The packets of {flow} around its stall of {end - begin:.3f} s.")
