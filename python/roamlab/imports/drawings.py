"""Figures of what was understood: a way, a topology, the visits of satellites."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roamlab.base.figures import BLUE, VERMILION, label, new_figure
from roamlab.base.quantities import counted, number
from roamlab.base.screen import shown
from roamlab.traces.log_figures import svg

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roamlab.imports.links import Topology
    from roamlab.imports.movement import Trajectory
    from roamlab.imports.orbits import Pass, Sky
    from roamlab.imports.places import Numbers
    from roamlab.imports.serving import Visit


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
        below.set_title("Distance of the host from its place in the log")
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


def of_sky(above: Sky, found: Sequence[Pass], visits: Sequence[Visit], log: str) -> str:
    """The elevations of satellites over time, those that serve marked, and the delay to the one that serves, as SVG."""
    from roamlab.imports.serving import delays

    times = above.times_s
    with new_figure(2, row_inches=2.6) as (figure, (upper, lower)):
        for one in found[:_MOST_PASSES]:
            upper.plot(
                *_thin(times[one.first : one.last + 1], one.elevation[: len(times) - one.first]),
                color="0.75",
                linestyle="-",
                linewidth=0.6,
            )
        for number_, visit in enumerate(visits):
            place = slice(visit.at - visit.one.first, visit.until - visit.one.first)
            colour = (BLUE, VERMILION)[number_ % 2]
            drawn = _thin(times[visit.at : visit.until], visit.one.elevation[place])
            upper.plot(*drawn, color=colour, linestyle="-", linewidth=1.8)
        cells = len({visit.one.name for visit in visits})
        upper.set_title(
            f"{shown(log)}: {counted(len(found), 'pass', 'passes')}, {counted(cells, 'satellite')} serve (coloured)"
        )
        label(upper, ("time", "s"), ("elevation", "degrees"))
        upper.set_ylim(above.least_elevation, 90)
        series = delays(visits, times)
        lower.plot(*_thin(times, series.scaled()), linestyle="-")
        lower.set_title("One-way delay to the satellite that serves")
        label(lower, ("time", "s"), ("delay", "ms"))
        figure.subplots_adjust(hspace=0.35)
        return svg(figure)


_MOST_PASSES = 2000
_MOST_POINTS = 4000


def _thin(times: Numbers, values: Numbers) -> tuple[Numbers, Numbers]:
    """At most `_MOST_POINTS` of the values, and the last one."""
    step = -(-len(times) // _MOST_POINTS)
    places = np.unique(np.append(np.arange(0, len(times), step), len(times) - 1))
    return times[places], values[places]
