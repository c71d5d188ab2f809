"""Figures of a sweep's runs."""

from __future__ import annotations

import math
import textwrap
from itertools import cycle, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from roamlab.base import figures
from roamlab.base.quantities import counted, named, number, scale
from roamlab.sweeps.words import called, heading

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from roamlab.base.figures import SavedFigure


LINES, POINTS, METRICS = 6, 30, 5
"""Most lines of a figure, or points below each other, and most metrics with axes."""

WIDTH = 60
"""Letters of a line below an axis that has names of points on its left."""


def means_over_axis(metric: str, means: pl.DataFrame, points: pl.DataFrame, kept: pl.DataFrame) -> Figure:
    """The means of a metric with their intervals over the first axis, a line for each value on the others.

    Each run is a dot. `means`, `points` and `kept` are frames as `Runs` has them.
    """
    with figures.new_figure() as (figure, (axes,)):
        _over_axis(axes, metric, means, points, kept)
        figure.set_layout_engine("constrained")
        return figure


def overview(
    means: pl.DataFrame, points: pl.DataFrame, kept: pl.DataFrame, folder: Path, title: str = ""
) -> SavedFigure:
    """The first metrics of a sweep over its first axis or, with too many lines for that, point by point."""
    names = means["metric"].unique(maintain_order=True).to_list()
    of = names[:METRICS]
    axes_named, others = points.columns[3:], points.columns[4:]
    # Points that leave a field as in the base are on no axis.
    whole = bool(axes_named) and points.select(axes_named).null_count().sum_horizontal().item() == 0
    over_axis = whole and (not others or points.select(others).unique().height <= LINES)
    if not over_axis:
        return by_point(means, points, kept, folder, title=title)
    with figures.new_figure(len(of), share_x=False, row_inches=2.6) as (figure, axes):
        for axis, metric in zip(axes, of, strict=True):
            _over_axis(axis, metric, means.filter(means["metric"] == metric), points, kept)
        axes[0].set_title(title)
        return figures.save(figure, folder, "means", _caption("", len(names)))


def by_point(
    means: pl.DataFrame,
    points: pl.DataFrame,
    kept: pl.DataFrame,
    folder: Path,
    row: str = "point",
    title: str = "",
) -> SavedFigure:
    """The first metrics of a sweep or a comparison, a row for each point; `row` names that axis."""
    names = means["metric"].unique(maintain_order=True).to_list()
    of = names[:METRICS]
    inches = 0.9 + 0.2 * min(points.height, POINTS)
    with figures.new_figure(len(of), share_x=False, row_inches=inches) as (figure, axes):
        for axis, metric in zip(axes, of, strict=True):
            _by_point(axis, metric, means.filter(means["metric"] == metric), kept, row)
        axes[0].set_title(title)
        cut = "" if points.height <= POINTS else f" of the first {POINTS} of {points.height} points"
        return figures.save(figure, folder, "means", _caption(cut, len(names)))


def _caption(cut: str, metrics: int) -> str:
    more = metrics - METRICS
    left = f" {counted(more, 'more metric is', 'more metrics are')} in the tables." if more > 0 else ""
    return f"Means{cut} with 95 % intervals, and each run as a dot; one run alone has no interval.{left}"


def _over_axis(
    axes: Axes, metric: str, means: pl.DataFrame, points: pl.DataFrame, kept: pl.DataFrame
) -> None:
    """One metric over the first axis of the sweep; without an axis, point by point."""
    if len(points.columns) == 3:
        _by_point(axes, metric, means, kept)
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
        for place, point in zip(at, line["point"], strict=True):
            dots = _runs(kept, metric, point) / factor
            axes.plot([place] * dots.size, dots, **_DOTS)
    if numbers is None:
        axes.set_xticks(range(len(values)), ["base" if value is None else str(value) for value in values])
    elif _by_factors(numbers):
        axes.set_xscale("log")
        axes.minorticks_off()
        shown = _apart(numbers)
        axes.set_xticks(shown, [number(value) for value in shown])
    if others:
        axes.legend(title=", ".join(others))
    figures.label(axes, (axis, axis_unit), (textwrap.fill(heading(metric), 26), unit))
    _from_zero(axes, "y")


_MARKED = ("o-", "s--", "^-.", "D:", "v-", "P--")
"""Markers and dashes, which tell lines apart without colour."""

_DOTS: dict[str, Any] = {
    "linestyle": "",
    "marker": ".",
    "markersize": 4,
    "color": "0.1",
    "alpha": 0.6,
    "zorder": 3,
}
"""Single runs, on top of their mean."""

_STEPS, _PART = 3.0, 0.5
"""Ratio of the widest to the narrowest step from which an axis is logarithmic; see `_from_zero` for the other."""


def _by_factors(numbers: Sequence[float]) -> bool:
    """True if values such as 4, 16, 64 grow by factors, so that a logarithmic axis spreads them evenly."""
    ordered = sorted(numbers)
    steps = [after - before for before, after in pairwise(ordered)]
    return len(steps) > 1 and ordered[0] > 0 and max(steps) >= _STEPS * min(steps)


def _apart(numbers: Sequence[float]) -> list[float]:
    """The numbers that a logarithmic axis has space to label, from the smallest on."""
    ordered = sorted(numbers)
    least = (ordered[-1] / ordered[0]) ** _LABELLED
    shown = ordered[:1]
    for value in ordered[1:]:
        if value >= shown[-1] * least:
            shown.append(value)
    return shown


_LABELLED = 0.05
"""Part of a logarithmic axis that a label takes."""


def _from_zero(axes: Axes, which: str) -> None:
    """Begin an axis of positive values at 0; if they are all above half of the largest, write where it begins."""
    low, high = axes.get_ylim() if which == "y" else axes.get_xlim()
    low_value = axes.dataLim.y0 if which == "y" else axes.dataLim.x0
    if low_value < 0 or not math.isfinite(low_value):
        return
    begin = low
    if low_value < _PART * high:
        # A mark at 0 is drawn whole.
        begin = 0.0 if low_value > 0 else -0.04 * high
    (axes.set_ylim if which == "y" else axes.set_xlim)(begin, high)
    if begin > 0:
        named_so = axes.get_ylabel() if which == "y" else axes.get_xlabel()
        name = f"{named_so}\n(axis begins at {number(begin)})"
        (axes.set_ylabel if which == "y" else axes.set_xlabel)(name)


def _by_point(axes: Axes, metric: str, means: pl.DataFrame, kept: pl.DataFrame, row: str = "point") -> None:
    rows = means.head(POINTS)
    factor, unit = scale(rows["mean"], rows["unit"][0])
    middle, spans = _spans(rows, factor)
    places = range(rows.height)
    axes.errorbar(middle, places, xerr=spans, fmt="o", capsize=3, linestyle="none")
    for place, point in zip(places, rows["point"], strict=True):
        dots = _runs(kept, metric, point) / factor
        axes.plot(dots, [place] * dots.size, **_DOTS)
    axes.set_yticks(places, [called(name, *rows["name"]) for name in rows["name"]])
    axes.set_ylim(rows.height - 0.5, -0.5)
    axes.set_xlabel(textwrap.fill(named(heading(metric), unit), WIDTH, break_on_hyphens=False))
    axes.set_ylabel(row)
    _from_zero(axes, "x")


def _runs(kept: pl.DataFrame, metric: str, point: int) -> NDArray[np.float64]:
    """The metric of each run of a point that defines it."""
    found = kept.filter((pl.col("metric") == metric) & (pl.col("point") == point))["value"].drop_nans()
    return np.asarray(found, dtype=np.float64)


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
