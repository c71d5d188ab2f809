"""The picture of an answer: a curve of each case over time, with a cross for each packet that was lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.base.figures import label, new_figure, save

if TYPE_CHECKING:
    from pathlib import Path

    from roamlab.base.figures import SavedFigure
    from roamlab.gallery.answers import Answer

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
