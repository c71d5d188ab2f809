"""Figures of a sweep's runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.base import figures
from roamlab.base.quantities import scale

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from matplotlib.figure import Figure


def means_over_axis(metric: str, means: pl.DataFrame, points: pl.DataFrame) -> Figure:
    """The means of a metric with their intervals over the first axis, a line for each value on the others.

    `means` and `points` are frames as `Runs` has them.
    """
    axis, *others = points.columns[3:]
    factor, unit = scale(means["mean"], means["unit"][0]) if means.height else (1.0, "1")
    rows = means.join(points.drop("name", "runs"), on="point", maintain_order="left")
    values = points[axis].unique(maintain_order=True).to_list()
    numbers, axis_unit = _numbers(values)
    places = dict(zip(values, range(len(values)) if numbers is None else numbers, strict=True))
    with figures.new_figure() as (figure, (axes,)):
        groups = rows.group_by(others, maintain_order=True) if others else [((), rows)]
        for name, line in groups:
            at = [places[value] for value in line[axis]]
            middle, low, high = (line[column].to_numpy() / factor for column in ("mean", "low", "high"))
            label = ", ".join(map(str, name))
            # One run alone has no bounds.
            spans = [np.where(np.isfinite(span), span, 0.0) for span in (middle - low, high - middle)]
            axes.errorbar(at, middle, yerr=spans, fmt="o-", capsize=3, label=label)
        if numbers is None:
            axes.set_xticks(range(len(values)), [str(value) for value in values])
        if others:
            axes.legend(title=", ".join(others))
        figures.label(axes, (axis, axis_unit), (metric, unit))
        figure.set_layout_engine("constrained")
        return figure


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
