"""Common parts of the papers' figures."""

from __future__ import annotations

import math
import signal
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.base.figures import BLUE, VERMILION, bar, label, save
from roamlab.papers import texts
from roamlab.running.ensemble import processors
from roamlab.statistics.stats import student

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from roamlab.base.figures import SavedFigure
    from roamlab.statistics.claims import Measure, Verdict
    from roamlab.statistics.stats import Interval

TIME = ("time", "s")

_inherited: Sequence[Callable[[], SavedFigure]] = ()


def draw_all(draws: Sequence[Callable[[], SavedFigure]]) -> list[SavedFigure]:
    """All figures in their order, on Linux in a forked process for each processor.

    Forks inherit what is drawn, but not the threads of Polars: no `draw` may ask a frame.
    """
    workers = min(processors(), len(draws))
    if sys.platform != "linux" or workers < 2:
        return [draw() for draw in draws]
    with warnings.catch_warnings():
        # Python 3.12 warns of forks with threads: see above.
        warnings.simplefilter("ignore", DeprecationWarning)
        with ProcessPoolExecutor(workers, get_context("fork"), _inherit, (draws,)) as pool:
            return list(pool.map(_draw, range(len(draws))))


def _inherit(draws: Sequence[Callable[[], SavedFigure]]) -> None:
    """In a new process. An interrupt is the parent's."""
    global _inherited
    _inherited = draws
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _draw(index: int) -> SavedFigure:
    return _inherited[index]()


def saved(
    paper: str, figure: Figure, folder: Path, name: str, caption: str = "", **values: object
) -> SavedFigure:
    """Writes a figure with its caption from the paper's `paper.toml`, which `values` fill."""
    return save(figure, folder, name, texts(paper).captions[caption or name].format(**values))


def longest(
    times: NDArray[np.float64], packets: NDArray[np.float64], bin_s: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The largest value within each `bin_s`; everything if that is 0."""
    if bin_s == 0.0 or times.size == 0:
        return times, packets
    bins = np.floor(times / bin_s)
    starts = np.flatnonzero(np.diff(bins, prepend=-1.0))
    return bins[starts] * bin_s, np.maximum.reduceat(packets, starts).astype(np.float64)


def mark(axis: Axes, handoffs: Sequence[float]) -> None:
    """Dotted lines at the handoffs."""
    for at in handoffs:
        axis.axvline(at, color="0.4", linestyle=":", linewidth=0.8)


def panel(axis: Axes, title: str, x: tuple[str, str], y: tuple[str, str]) -> None:
    """Title and labels of one of several axes below each other."""
    axis.set_title(title, loc="left", fontsize=9)
    label(axis, x, y)
    axis.label_outer()


def name_ends(axis: Axes) -> None:
    """Write the name of each curve behind its end, right of the axes; names that would overlap are moved apart."""
    low, high = axis.get_ylim()
    right = axis.get_xlim()[1]
    named = [line for line in axis.get_lines() if not str(line.get_label()).startswith("_")]
    ends = []
    for line in named:
        times, values = (np.asarray(each, dtype=np.float64) for each in line.get_data())
        ends.append((float(values[times <= right][-1]), line))
    at = -math.inf
    for value, line in sorted(ends, key=lambda end: end[0]):
        at = max(value, at + (high - low) / 16)
        text = f" {line.get_label()}"
        axis.annotate(text, (right, at), color=line.get_color(), va="center", annotation_clip=False)


def differences(axis: Axes, measures: Sequence[Measure], quantity: str) -> None:
    """The effects of a claim's comparisons with their intervals and the claimed range, a row for each."""
    rows = range(len(measures))[::-1]
    for row, measure in zip(rows, measures, strict=True):
        found, colour = measure.measured, _OF_VERDICT[measure.verdict]
        sides = [[found.effect - found.low], [found.high - found.effect]]
        axis.errorbar([found.effect], [row], xerr=sides, color=colour, marker="o", markersize=4, capsize=3)
        axis.annotate(f" {measure.verdict}", (found.high, row), color=colour, va="bottom", fontsize=8)
    axis.axvline(0.0, color="0.4", linewidth=0.8)
    axis.set_yticks(list(rows), [measure.what for measure in measures])
    axis.set_ylim(-0.6, len(measures) - 0.3)
    axis.margins(x=0.2)
    label(axis, (quantity, measures[0].unit), ("comparison", "1"))


_OF_VERDICT: dict[Verdict, str] = {"holds": BLUE, "contradicted": VERMILION, "undecided": "0.4"}


def errorbars(axis: Axes, places: Iterable[float], means: Sequence[Interval], **style: Any) -> None:
    """Means with their intervals; one run alone has none."""
    ends = [[mean.effect - mean.low for mean in means], [mean.high - mean.effect for mean in means]]
    bounds = [[end if math.isfinite(end) else 0.0 for end in side] for side in ends]
    axis.errorbar(list(places), [mean.effect for mean in means], bounds, **style)


def bars(
    axis: Axes,
    places: Sequence[float],
    means: Sequence[Interval],
    width: float,
    colour: str,
    name: str | None,
    capsize: float = 3,
) -> None:
    """The same as bars."""
    axis.bar(places, [mean.effect for mean in means], width=width, label=name, **bar(colour))
    errorbars(axis, places, means, color="0.2", capsize=capsize, linestyle="none")


def band(axis: Axes, times: NDArray[np.float64], curves: Sequence[Sequence[float]], name: str) -> None:
    """The mean of the curves with its 95 % interval at each time."""
    means = [student(values) for values in zip(*curves, strict=True)]
    (line,) = axis.plot(times, [mean.effect for mean in means], label=name)
    axis.fill_between(
        times,
        [mean.low for mean in means],
        [mean.high for mean in means],
        color=line.get_color(),
        alpha=0.2,
        linewidth=0,
    )
