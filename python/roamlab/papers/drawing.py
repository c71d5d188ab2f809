"""What the papers' figures have in common."""

from __future__ import annotations

import signal
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING

import numpy as np

from roamlab.running.ensemble import processors
from roamlab.statistics.stats import student

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from roamlab.base.figures import SavedFigure

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
        # Python 3.12 warns of forks beside threads: see above.
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
