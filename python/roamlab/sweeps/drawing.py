"""Figures of a sweep's runs."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.base import figures
from roamlab.base.quantities import named, scale

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import polars as pl
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from roamlab.base.figures import SavedFigure


LINES, POINTS, METRICS = 6, 30, 4
"""A figure has so many lines, or points below each other, and axes for so many metrics, at most."""


def means_over_axis(metric: str, means: pl.DataFrame, points: pl.DataFrame) -> Figure:
    """The means of a metric with their intervals over the first axis, a line for each value on the others.

    `means` and `points` are frames as `Runs` has them.
    """
    with figures.new_figure() as (figure, (axes,)):
        _over_axis(axes, metric, means, points)
        figure.set_layout_engine("constrained")
        return figure


def overview(means: pl.DataFrame, points: pl.DataFrame, folder: Path) -> SavedFigure:
    """The first metrics of a sweep over its first axis or, with too many lines for that, point by point."""
    names = means["metric"].unique(maintain_order=True).to_list()
    of = names[:METRICS]
    axes_named, others = points.columns[3:], points.columns[4:]
    # Points that leave a field as in the base stand on no axis.
    whole = bool(axes_named) and points.select(axes_named).null_count().sum_horizontal().item() == 0
    over_axis = whole and (not others or points.select(others).unique().height <= LINES)
    left = f" {len(names) - len(of)} more metrics are in the tables." if len(names) > len(of) else ""
    inches = 2.6 if over_axis else 0.9 + 0.2 * min(points.height, POINTS)
    with figures.new_figure(len(of), share_x=False, row_inches=inches) as (figure, axes):
        for axis, metric in zip(axes, of, strict=True):
            own = means.filter(means["metric"] == metric)
            if over_axis:
                _over_axis(axis, "mean", own, points)
                axis.set_title(metric, loc="left", fontsize=9)
            else:
                _by_point(axis, metric, own)
        cut = (
            ""
            if over_axis or points.height <= POINTS
            else f" of the first {POINTS} of {points.height} points"
        )
        caption = f"Means{cut} with 95 % intervals; no interval where there is one run alone.{left}"
        return figures.save(figure, folder, "means", caption)


def _over_axis(axes: Axes, named: str, means: pl.DataFrame, points: pl.DataFrame) -> None:
    """One metric; `named` is the name of the vertical axis."""
    if len(points.columns) == 3:
        _by_point(axes, named, means)
        return
    axis, *others = points.columns[3:]
    factor, unit = scale(means["mean"], means["unit"][0]) if means.height else (1.0, "1")
    rows = means.join(points.drop("name", "runs"), on="point", maintain_order="left")
    values = points[axis].unique(maintain_order=True).to_list()
    numbers, axis_unit = _numbers(values)
    places = dict(zip(values, range(len(values)) if numbers is None else numbers, strict=True))
    groups = rows.group_by(others, maintain_order=True) if others else [((), rows)]
    for (name, line), style in zip(groups, cycle(_MARKED), strict=False):
        at = [places[value] for value in line[axis]]
        label = ", ".join(map(str, name))
        axes.errorbar(at, *_spans(line, factor), fmt=style, capsize=3, label=label)
    if numbers is None:
        axes.set_xticks(range(len(values)), ["base" if value is None else str(value) for value in values])
    if others:
        axes.legend(title=", ".join(others))
    figures.label(axes, (axis, axis_unit), (named, unit))


_MARKED = ("o-", "s--", "^-.", "D:", "v-", "P--")
"""Markers and dashes, which tell lines apart without colour."""


def _by_point(axes: Axes, metric: str, means: pl.DataFrame) -> None:
    rows = means.head(POINTS)
    factor, unit = scale(rows["mean"], rows["unit"][0])
    middle, spans = _spans(rows, factor)
    places = range(rows.height)
    axes.errorbar(middle, places, xerr=spans, fmt="o", capsize=3, linestyle="none")
    axes.set_yticks(places, rows["name"].to_list())
    axes.set_ylim(rows.height - 0.5, -0.5)
    axes.set_xlabel(named(metric, unit))
    axes.set_ylabel("point")


def _spans(rows: pl.DataFrame, factor: float) -> tuple[NDArray[np.float64], list[NDArray[np.float64]]]:
    """Means, and how far their intervals reach down and up. One run alone has no bounds."""
    middle, low, high = (rows[column].to_numpy() / factor for column in ("mean", "low", "high"))
    return middle, [np.where(np.isfinite(span), span, 0.0) for span in (middle - low, high - middle)]


def _numbers(values: Sequence[Any]) -> tuple[list[float] | None, str]:
    """Values as numbers of one unit; None if they are no numbers or have several units."""
    if all(type(value) in (int, float) for value in values):
        return [float(value) for value in values], "1"
    try:
        parts = [str(value).split() for value in values]
        ((unit,),) = {tuple(rest) for _, *rest in parts}
        return [float(number) for number, _ in parts], unit
    except ValueError:
        return None, "1"
