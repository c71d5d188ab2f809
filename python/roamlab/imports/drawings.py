"""Figures of what was understood: a way, a topology, the visits of satellites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roamlab.base.figures import label, new_figure
from roamlab.base.quantities import number
from roamlab.base.screen import shown
from roamlab.traces.log_figures import svg

if TYPE_CHECKING:
    from roamlab.imports.movement import Trajectory


def of_trajectory(way: Trajectory, log: str) -> str:
    """The way with the positions of the log, and the distance between the two over time, as SVG."""
    track = way.track
    with new_figure(2, share_x=False, row_inches=3.0) as (figure, (above, below)):
        above.plot(*track.places_m.T, ".", markersize=3, label=f"positions in {shown(log)}")
        above.plot(*way.waypoints_m.T, marker="o", markersize=3, linestyle="-", label="trajectory")
        above.plot(*way.waypoints_m[0], "s", color="0.2", label="begin")
        above.set_aspect("equal", adjustable="datalim")
        above.set_title(f"Way of {shown(track.node)} in {shown(log)}: {number(way.length_m())} m")
        label(above, ("x", "m"), ("y", "m"))
        above.legend(loc="best")
        below.plot(track.times_s, way.off_m)
        below.set_title(f"Distance of the host at {number(way.speed_m_per_s)} m/s from its place in the log")
        label(below, ("time", "s"), ("distance", "m"))
        below.set_ylim(bottom=0)
        figure.subplots_adjust(hspace=0.45)
        return svg(figure)
