"""The figure of the page on the distance to Linux: `python -m roamlab.against.page FILE`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roamlab.against.cases import CONTROLS, SECONDS, Case
from roamlab.against.comparison import compare
from roamlab.against.measures import GOODPUT_SHARE, STEP_MS, Difference
from roamlab.against.recordings import FILES, Recordings, made, read

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEAST = 1e-5
"""Differences of goodput are drawn from here on."""


def draw(path: Path, recordings: Recordings) -> None:
    """Draw for each control the differences of goodput, and the windows of the case in the middle."""
    from matplotlib import pyplot as plt

    compared = compare(recordings)
    figure, rows = plt.subplots(2, len(CONTROLS), figsize=(11, 5.5), layout="constrained")
    for column, control in enumerate(CONTROLS):
        own = [(case, one) for case, one in compared if case.control == control]
        _distribution(rows[0][column], control, own)
        _windows(rows[1][column], recordings, own)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _distribution(axes: Axes, control: str, own: list[tuple[Case, Difference]]) -> None:
    sizes = sorted(max(LEAST, abs(one.goodput)) for _, one in own)
    axes.step(sizes, [100 * (place + 1) / len(sizes) for place in range(len(sizes))], where="post")
    axes.axvline(GOODPUT_SHARE, linestyle=":", color="grey")
    axes.set(xscale="log", xlim=(LEAST, 1), ylim=(0, 100), title=control, xlabel="difference of goodput")
    axes.set_ylabel("runs [%]")


def _windows(axes: Axes, recordings: Recordings, own: list[tuple[Case, Difference]]) -> None:
    """The windows of the run whose difference is the median, over the kernel and over our model."""
    case, one = sorted(own, key=lambda row: abs(row[1].goodput))[len(own) // 2]
    kernel: Any = next(found for other, found in recordings.runs if other == case)
    times = [step * STEP_MS / 1000 for step in range(1, len(kernel.cwnd[0]) + 1)]
    axes.plot(times, kernel.cwnd[0], label="Linux", linewidth=2.5, alpha=0.6)
    axes.plot(times, made(case, kernel.phases).cwnd[0], label="Roamlab", linewidth=1)
    axes.set(xlim=(0, SECONDS), ylim=(0, None), xlabel="time [s]", ylabel="window [segments]")
    axes.set_title(
        f"{case.kind}, {case.slowest_mbps} Mbit/s, number {case.number}: {one.goodput:+.2%}", fontsize="small"
    )
    axes.legend(frameon=False)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), read(FILES["links"]))
