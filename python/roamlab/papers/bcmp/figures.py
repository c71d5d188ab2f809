"""The paper's figures 4 to 7, the delay variance that it left out, and the TCPs under other profiles and floors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roamlab.base.figures import label, new_figure, save
from roamlab.papers.bcmp.claims import LINK_BPS, NAMES, lost, share
from roamlab.papers.bcmp.experiments import HIGH, LOW, RFC, STREAMS, TCPS, TOPOLOGIES, WAYS, WINDOWS
from roamlab.papers.bcmp.measures import STEPS_MS
from roamlab.statistics.stats import student

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.axes import Axes

    from roamlab.base.figures import SavedFigure
    from roamlab.papers.bcmp.claims import Values
    from roamlab.papers.bcmp.evidence import Evidence, Point
    from roamlab.papers.bcmp.measures import Download

THROUGHPUT = ("throughput", "1")
PROFILES = ("default", "RTO floor 200 ms", "ns-2 of 2001", RFC)
_MARKERS = "os^Dv*"
_NO_HANDOVERS = {"none": "no handovers", "planned": "planned", "unplanned": "unplanned"}


def draw(
    found: Mapping[str, Evidence], swept: Mapping[Point, list[Download]], folder: Path
) -> list[SavedFigure]:
    """All figures."""
    default = found["default"]
    return [
        _losses(default, folder),
        _above(default, "jitter", "fig5", folder),
        _sweep(6, "mesh", swept, folder),
        _sweep(7, "tree", swept, folder),
        _above(default, "variance", "delay-variance", folder),
        _profiles(found, folder),
    ]


def _points(axis: Axes, places: list[float], values: list[Values], name: str, style: str) -> None:
    means = [student(each.tolist()) for each in values]
    spread = [0.0 if mean.runs == 1 else mean.high - mean.effect for mean in means]
    axis.errorbar(places, [mean.effect for mean in means], spread, fmt=style, label=name, capsize=2)


def _losses(found: Evidence, folder: Path) -> SavedFigure:
    most = max(int(lost(found, (topology, "unplanned")).max()) for topology in TOPOLOGIES)
    with new_figure(rows=2, row_inches=2.2) as (figure, axes):
        for axis, topology in zip(axes, TOPOLOGIES, strict=True):
            for way, shift in (("planned", -0.2), ("unplanned", 0.2)):
                counts = lost(found, (topology, way))
                shares = [
                    np.asarray(np.mean(counts == number, axis=1), dtype=float) for number in range(most + 1)
                ]
                means = [student(each.tolist()) for each in shares]
                spread = [0.0 if mean.runs == 1 else mean.high - mean.effect for mean in means]
                places = np.arange(most + 1) + shift
                axis.bar(places, [mean.effect for mean in means], 0.4, yerr=spread, capsize=2, label=way)
            axis.set_title(topology, loc="left", fontsize=9)
            axis.set_xticks(range(most + 1))
            axis.set_ylim(0, 1.05)
            label(axis, ("packets lost in a handover", "pkt"), ("share of the handovers", "1"))
            axis.label_outer()
        axes[0].legend()
        caption = (
            f"Fig. 4 of the paper: packets of {', '.join(STREAMS)} that a handover loses; mean of "
            f"{len(found.streams['tree', 'planned'])} runs of 100 handovers, with 95 % intervals."
        )
        return save(figure, folder, "fig4", caption)


def _above(found: Evidence, of: str, name: str, folder: Path) -> SavedFigure:
    with new_figure(rows=2, row_inches=2.2) as (figure, axes):
        for axis, topology in zip(axes, TOPOLOGIES, strict=True):
            for way, style in zip(WAYS, ("o-", "s-", "^-"), strict=True):
                shares = np.mean([getattr(run, of) for run in found.streams[topology, way]], axis=0)
                axis.plot(STEPS_MS, np.where(shares > 0, shares, np.nan), style, label=_NO_HANDOVERS[way])
            axis.set_title(topology, loc="left", fontsize=9)
            axis.set_yscale("log")
            axis.yaxis.set_major_formatter("{x:g}")
            axis.set_ylim(1e-4, 1.3)
            what = "delay variance" if of == "variance" else "jitter"
            label(axis, (what, "ms"), ("share of packets above", "1"))
            axis.label_outer()
        axes[0].legend(ncols=3)
        said = (
            "Fig. 5 of the paper: jitter of the call's packets"
            if of == "jitter"
            else "Left out of the paper: what the call's packets wait, above the smallest delay of their stay"
        )
        caption = f"{said}; means of {len(found.streams['tree', 'planned'])} runs."
        return save(figure, folder, name, caption)


def _sweep(number: int, topology: str, swept: Mapping[Point, list[Download]], folder: Path) -> SavedFigure:
    with new_figure() as (figure, (axis,)):
        for at, tcp in enumerate(TCPS):
            places = [window + 0.5 * (at - 2.5) for window in WINDOWS]
            values = [share(swept[topology, "unplanned", tcp, window]) for window in WINDOWS]
            _points(axis, places, values, NAMES[tcp], f"{_MARKERS[at]}-")
        for way, style in (("none", "k+--"), ("planned", "kx:")):
            values = [share(swept[topology, way, "sack", window]) for window in (LOW, HIGH)]
            _points(axis, [float(LOW), float(HIGH)], values, f"SACK, {_NO_HANDOVERS[way]}", style)
        axis.set_ylim(0, 1.05)
        label(axis, ("largest window", "pkt"), THROUGHPUT)
        axis.legend(ncols=2, fontsize=7)
        caption = (
            f"Fig. {number} of the paper: throughput over {LINK_BPS / 1e6:g} Mbit/s by the largest window, {topology}, "
            f"unplanned handovers; means of {len(next(iter(swept.values())))} runs with 95 % intervals. Variants stand "
            "half a packet apart. Dashed and dotted: SACK without handovers and with planned ones."
        )
        return save(figure, folder, f"fig{number}", caption)


def _profiles(found: Mapping[str, Evidence], folder: Path) -> SavedFigure:
    with new_figure(rows=2, row_inches=2.2) as (figure, axes):
        for axis, topology in zip(axes, TOPOLOGIES, strict=True):
            for at, name in enumerate(PROFILES):
                of = found[name].downloads
                values = [share(of[topology, "unplanned", tcp, HIGH]) for tcp in TCPS]
                places = [index + 0.15 * (at - 1.5) for index in range(len(TCPS))]
                _points(axis, places, values, "ns-2 of 2003" if name == "default" else name, _MARKERS[at])
            axis.set_title(topology, loc="left", fontsize=9)
            axis.set_xticks(range(len(TCPS)), [NAMES[tcp] for tcp in TCPS])
            axis.set_ylim(0, 1.05)
            label(axis, ("variant", "name"), THROUGHPUT)
            axis.label_outer()
        axes[0].legend(ncols=2, fontsize=7)
        caption = (
            f"Not in the paper: throughput with unplanned handovers and a window of {HIGH} by the rules of ns-2 of "
            "2003 with floors of the timeout of 1 s and 0.2 s, of ns-2 of 2001, and of the RFCs, with 95 % intervals."
        )
        return save(figure, folder, "profiles", caption)
