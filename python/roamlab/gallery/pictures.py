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
    "received": ("received", "kB"),
    "delay": ("delay", "ms"),
    "window": ("congestion window", "pkt"),
    "queue": ("waiting", "pkt"),
}

_TITLES = {
    "received": "The lines show what flow {of} has received since {begin:g} s",
    "delay": "Each point is the delay of a packet of flow {of} at its arrival",
    "window": "The lines show the congestion window of flow {of}",
    "queue": "The lines show how many packets wait in {of}",
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
        title = _TITLES[draw.what].format(of=draw.of, begin=draw.begin_s)
        crosses = any(curve.lost_s.size for curve in answer.curves.values())
        axes.set_title(f"{title}; crosses are lost packets." if crosses else f"{title}.", fontsize=9)
        axes.legend(loc="best")
        label(axes, ("time", "s"), _AXES[draw.what])
        return save(figure, folder, answer.question.name, answer.sentence)
