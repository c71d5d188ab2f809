"""A fitted channel: its report, and its figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roamlab.base.figures import label, new_figure
from roamlab.base.quantities import number
from roamlab.showing.durations import check_name, write_content
from roamlab.statistics.channels import LOW

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from roamlab.statistics.channels import Chain, Judged, Traits

_NEAR = 0.1
"""Largest difference of two means, as a part of the recorded one, without a warning."""
_MANY = 20
"""Fewer low periods than these do not show their lengths."""


def lines(rates: NDArray[np.float64], chain: Chain, found: Judged) -> list[str]:
    """The report: the series, and a chain of its first half next to the second one."""
    step = chain.step_s
    told = [
        f"{len(rates)} steps of {number(step)} s, {len(chain.next)} states; mean {number(float(rates.mean()))} Mbit/s",
        f"{'':<26}{'first half':>12}{'second half':>13}{'its chain':>12}",
    ]
    parts = (found.first, found.second, found.chain)

    def row(name: str, values: list[float]) -> str:
        texts = [number(value) for value in values]
        return f"  {name:<24}{texts[0]:>12}{texts[1]:>13}{texts[2]:>12}"

    told.append(row("mean [Mbit/s]", [each.mean for each in parts]))
    for place, lag in enumerate(found.lags.tolist()):
        name = f"correlation at {number(lag * step)} s"
        told.append(row(name, [round(float(each.correlation[place]), 3) + 0.0 for each in parts]))
    told.append(row("time with a low rate", [each.low_share for each in parts]))
    told.append(row("low period, mean [s]", [each.low_length * step for each in parts]))
    told.append(
        f"low: below {LOW:g} of the median. The chain is that of the first half, which has not seen the second"
    )
    return told + _warnings(found)


def _warnings(found: Judged) -> list[str]:
    told = []
    apart = abs(found.second.mean / found.first.mean - 1) if found.first.mean else 1.0
    if apart > _NEAR:
        told.append(
            f"warning: the means of the halves differ by {100 * apart:.0f} %: no chain of the one has the mean of "
            "the other; record for longer, or fit each part alone"
        )
    if len(found.second.low_runs) < _MANY:
        told.append(
            f"undecided: {len(found.second.low_runs)} low periods in the second half are too few to judge their length"
        )
    return told


def write_figure(path: Path, chain: Chain, found: Judged) -> None:
    """Draw correlation and low periods of the record and of the chain. Raises `BadInput`."""
    from matplotlib.ticker import FuncFormatter

    check_name(path)
    with new_figure(2, share_x=False) as (figure, (upper, lower)):
        shown = (
            ("first half", found.first),
            ("second half", found.second),
            ("chain of the first", found.chain),
        )
        for name, each in shown:
            upper.plot(found.lags * chain.step_s, each.correlation, marker="o", markersize=3, label=name)
            _runs(lower, name, each, chain.step_s)
        for axes in (upper, lower):
            axes.set_xscale("log")
            axes.xaxis.set_major_formatter(FuncFormatter(lambda time, _: f"{time:g}"))
        upper.set_title("Correlation of the rate with the later rate", loc="left", fontsize=9)
        lower.set_title("Periods with a low rate", loc="left", fontsize=9)
        label(upper, ("time between the two", "s"), ("correlation", "1"))
        label(lower, ("length", "s"), ("share of periods as long or longer", "1"))
        upper.legend(loc="lower left")
        write_content(figure, path)


def _runs(axes: Axes, name: str, each: Traits, step_s: float) -> None:
    lengths = np.sort(each.low_runs) * step_s
    if len(lengths):
        axes.step(lengths, 1 - np.arange(len(lengths)) / len(lengths), where="pre", label=name)
