"""Figures of what was understood: a way, a topology, the visits of satellites."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roamlab.base.figures import BLUE, VERMILION, label, new_figure
from roamlab.base.quantities import counted, number
from roamlab.base.screen import shown
from roamlab.traces.log_figures import svg

if TYPE_CHECKING:
    from roamlab.imports.links import Topology
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


def of_topology(topology: Topology, log: str) -> str:
    """Nodes at their places, or on a circle, and links that are wider for a higher rate, as SVG."""
    placed = all(node.place for node in topology.nodes)
    at = {node.name: (node.place[1], node.place[0]) for node in topology.nodes if node.place}
    if not placed:
        turns = np.linspace(0, 2 * np.pi, len(topology.nodes), endpoint=False)
        at = {node.name: (np.cos(a), np.sin(a)) for node, a in zip(topology.nodes, turns, strict=True)}
    rates = [link.rate or 0 for link in topology.links]
    least, most = min(filter(None, rates), default=1), max(rates) or 1
    with new_figure(1, row_inches=4.2) as (figure, (axes,)):
        for link, rate in zip(topology.links, rates, strict=True):
            part = np.log(max(rate, least) / least) / np.log(most / least) if most > least else 0.0
            x, y = zip(*(at[name] for name in link.between), strict=True)
            axes.plot(x, y, color=BLUE, linestyle="-", linewidth=0.7 + 2.3 * part, alpha=0.7, zorder=1)
        x, y = zip(*at.values(), strict=True)
        axes.scatter(x, y, s=14, color=VERMILION, zorder=2)
        if len(at) <= _NAMED:
            for name, place in at.items():
                axes.annotate(name, place, xytext=(3, 3), textcoords="offset points", fontsize=6.5)
        counts = f"{counted(len(topology.nodes), 'node')}, {counted(len(topology.links), 'link')}"
        wide = "; wider: a higher rate" if most > least else ""
        axes.set_title(f"{shown(log)}: {counts}{wide}")
        if placed:
            label(axes, ("longitude", "degrees"), ("latitude", "degrees"))
        else:
            label(axes, ("no places in the file: x on a circle", "1"), ("y", "1"))
        return svg(figure)


_NAMED = 60
"""Nodes whose names are drawn."""
