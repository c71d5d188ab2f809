"""Figures of what was understood of a log: values over time, or the cells of hosts."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.base.figures import label, new_figure
from roamlab.base.quantities import counted
from roamlab.base.screen import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from roamlab.traces.series import Series

_MOST_POINTS = 3_000
"""More rows are drawn as the least and the greatest value of this number of parts of the time."""
_NAMES = {"rate": "rate", "delay": "one-way delay", "loss": "probability of loss"}


def svg(figure: Figure) -> str:
    """A figure as text, the same for the same data."""
    written = io.StringIO()
    figure.savefig(written, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    return written.getvalue()


def of_series(series: Series, log: str) -> str:
    """The values over time as SVG; gaps are shaded."""
    times, values = series.times / 1e9, series.scaled()
    usual, gaps = series.gaps()
    last = float(times[-1]) + (usual or 1.0)
    with new_figure() as (figure, (axes,)):
        _draw(axes, np.append(times, last), np.append(values, values[-1:]))
        for place in gaps.tolist():
            axes.axvspan(times[place], times[place + 1], color="0.5", alpha=0.25, linewidth=0)
        shaded = f", shaded: {counted(len(gaps), 'gap')}" if len(gaps) else ""
        name = _NAMES[series.quantity.name]
        axes.set_title(f"{name.capitalize()} of {shown(log)}: {counted(len(values), 'row')}{shaded}")
        label(axes, ("time", "s"), (name, series.quantity.unit))
        axes.set_xlim(0, last)
        axes.set_ylim(bottom=0)
        return svg(figure)


def _draw(axes: Any, times: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> None:
    if len(times) <= _MOST_POINTS:
        axes.step(times, values, where="post")
        return
    edges = np.linspace(times[0], times[-1], _MOST_POINTS // 3 + 1)
    firsts = np.searchsorted(times, edges[:-1], side="right") - 1
    low, high = np.minimum.reduceat(values, firsts), np.maximum.reduceat(values, firsts)
    axes.fill_between(edges[:-1], low, high, step="post", linewidth=0.5, alpha=0.8)


def of_moves(schedule: str, log: str) -> str:
    """The cell of each host over time as SVG, of a schedule's text."""
    hosts: dict[str, list[tuple[float, str, str]]] = {}
    for row in csv.DictReader(io.StringIO(schedule)):
        hosts.setdefault(row["host"], []).append((float(row["time_s"]), row["from"], row["to"]))
    count = sum(map(len, hosts.values()))
    with new_figure() as (figure, (axes,)):
        last = max(moves[-1][0] for moves in hosts.values())
        for host, moves in list(hosts.items())[:_MOST_HOSTS]:
            times = [0.0, *(time for time, _, _ in moves), last * 1.05 + 0.1]
            cells = [moves[0][1], *(new for _, _, new in moves), moves[-1][2]]
            axes.step(times, [cell or "no cell" for cell in cells], where="post", label=shown(host))
        first = f"first {_MOST_HOSTS} of " if len(hosts) > _MOST_HOSTS else ""
        axes.set_title(
            f"Cells in {shown(log)}: {counted(count, 'handover')} of {first}{counted(len(hosts), 'host')}"
        )
        label(axes, ("time", "s"), ("cell", "1"))
        if len(hosts) > 1:
            axes.legend()
        return svg(figure)


_MOST_HOSTS = 6
