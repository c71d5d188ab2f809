"""The paper's figures 4 to 7, the delay variance that it left out, and the TCPs under other profiles and floors."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from roamlab.base.figures import BLUE, ORANGE, SavedFigure, bar, label, new_figure
from roamlab.papers import texts
from roamlab.papers.bcmp.claims import NAMES, lost, share
from roamlab.papers.bcmp.experiments import HIGH, LOW, STREAMS, TCPS, TOPOLOGIES, WAYS, WINDOWS, network
from roamlab.papers.bcmp.measures import STEPS_MS, VIDEO_OFFSET_S, VOICE_OFFSET_S
from roamlab.papers.drawing import errorbars, panel, saved
from roamlab.scenarios.scenario import Scenario
from roamlab.showing.network_drawing import drawing
from roamlab.statistics.stats import student

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from matplotlib.axes import Axes

    from roamlab.papers.bcmp.claims import Values
    from roamlab.papers.bcmp.evidence import Evidence, Point
    from roamlab.papers.bcmp.measures import Download

THROUGHPUT = ("throughput", "1")
_MARKERS = "os^Dv*"
_NO_HANDOVERS = {"none": "no handovers", "planned": "planned", "unplanned": "unplanned"}


def drawings(
    found: Evidence,
    swept: Mapping[Point, list[Download]],
    rules: Mapping[str, Mapping[Point, list[Download]]],
    folder: Path,
) -> dict[str, Callable[[], SavedFigure]]:
    """All figures; `rules`: points of `swept` by the rules of TCP."""
    return {
        **{f"network-{topology}": partial(_network, topology, folder) for topology in TOPOLOGIES},
        "fig4": partial(_losses, found, folder),
        "fig5": partial(_above, found, "jitter", "fig5", folder),
        "fig6": partial(_sweep, 6, "mesh", swept, folder),
        "fig7": partial(_sweep, 7, "tree", swept, folder),
        "delay-variance": partial(_above, found, "variance", "delay-variance", folder),
        "noticed": partial(_noticed, found, folder),
        "rules": partial(_rules, rules, folder),
    }


def _network(topology: str, folder: Path) -> SavedFigure:
    tables = network(topology, "planned").to_dict()
    walkers = [host for host in tables["hosts"] if host["name"] == "walker"]
    drawn = drawing(Scenario.from_dict(tables | {"hosts": walkers, "flows": []}, f"bcmp/{topology}"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"network-{topology}.svg"
    path.write_text(drawn, encoding="utf-8")
    return SavedFigure(texts("bcmp").captions["network"].format(topology=topology), None, path)


def _points(axis: Axes, places: list[float], values: list[Values], name: str, style: str) -> None:
    errorbars(axis, places, [student(each.tolist()) for each in values], fmt=style, label=name, capsize=2)


def _losses(found: Evidence, folder: Path) -> SavedFigure:
    most = max(int(run.max()) for topology in TOPOLOGIES for run in lost(found, (topology, "unplanned")))
    with new_figure(rows=2, row_inches=2.2) as (figure, axes):
        for axis, topology in zip(axes, TOPOLOGIES, strict=True):
            for way, shift, colour in (("planned", -0.2, BLUE), ("unplanned", 0.2, ORANGE)):
                counts = lost(found, (topology, way))
                shares = [[float(np.mean(run == number)) for run in counts] for number in range(most + 1)]
                means = [student(each) for each in shares]
                spread = [0.0 if mean.runs == 1 else mean.high - mean.effect for mean in means]
                places = np.arange(most + 1) + shift
                heights = [mean.effect for mean in means]
                axis.bar(places, heights, 0.4, yerr=spread, capsize=2, label=way, **bar(colour))
            axis.set_xticks(range(most + 1))
            axis.set_ylim(0, 1.05)
            panel(axis, topology, ("packets lost in a handover", "pkt"), ("share of the handovers", "1"))
        axes[0].legend()
        return saved(
            "bcmp",
            figure,
            folder,
            "fig4",
            streams=", ".join(STREAMS),
            runs=len(found.streams["tree", "planned"]),
            moves=found.interpretation.moves,
        )


def _above(found: Evidence, of: str, name: str, folder: Path) -> SavedFigure:
    with new_figure(rows=2, row_inches=2.2) as (figure, axes):
        for axis, topology in zip(axes, TOPOLOGIES, strict=True):
            for way, style in zip(WAYS, ("o-", "s-", "^-"), strict=True):
                shares = np.array([getattr(run, of) for run in found.streams[topology, way]], dtype=float)
                # A logarithmic axis has no place for what never happens.
                seen = [at for at in range(len(STEPS_MS)) if shares[:, at].any()]
                steps = [STEPS_MS[at] for at in seen]
                _points(axis, steps, [shares[:, at] for at in seen], _NO_HANDOVERS[way], style)
            axis.set_yscale("log")
            axis.yaxis.set_major_formatter("{x:g}")
            axis.set_ylim(1e-4, 1.3)
            what = "delay variance" if of == "variance" else "jitter"
            panel(axis, topology, (what, "ms"), ("share of packets above", "1"))
        axes[0].legend(ncols=3)
        return saved("bcmp", figure, folder, name, runs=len(found.streams["tree", "planned"]))


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
        runs, still = len(next(iter(swept.values()))), len(swept[topology, "none", "sack", LOW])
        return saved("bcmp", figure, folder, f"fig{number}", runs=runs, still=still)


def _noticed(found: Evidence, folder: Path) -> SavedFigure:
    measures = (
        ("mos", ("opinion score", "1"), "call"),
        ("incomplete", ("frames lost", "1"), "film"),
        ("frozen", ("time frozen", "1"), "film"),
    )
    with new_figure(rows=len(measures), row_inches=1.8) as (figure, axes):
        for axis, (of, what, flow) in zip(axes, measures, strict=True):
            for topology, shift, style in (("tree", -0.08, "o"), ("mesh", 0.08, "s")):
                values = [
                    np.array([getattr(run, of) for run in found.streams[topology, way]]) for way in WAYS
                ]
                _points(axis, [at + shift for at in range(len(WAYS))], values, topology, style)
            axis.set_xlim(-0.5, len(WAYS) - 0.5)
            axis.set_xticks(range(len(WAYS)), [_NO_HANDOVERS[way] for way in WAYS])
            panel(axis, flow, ("handovers", "1"), what)
        axes[0].legend(ncols=2)
        return saved(
            "bcmp",
            figure,
            folder,
            "noticed",
            voice_ms=VOICE_OFFSET_S * 1000.0,
            video_ms=VIDEO_OFFSET_S * 1000.0,
            runs=len(found.streams["tree", "planned"]),
        )


def _rules(rules: Mapping[str, Mapping[Point, list[Download]]], folder: Path) -> SavedFigure:
    with new_figure(rows=2, row_inches=2.2) as (figure, axes):
        for axis, topology in zip(axes, TOPOLOGIES, strict=True):
            for at, (name, of) in enumerate(rules.items()):
                values = [share(of[topology, "unplanned", tcp, HIGH]) for tcp in TCPS]
                places = [index + 0.15 * (at - 2) for index in range(len(TCPS))]
                _points(axis, places, values, "ns-2 of 2003" if name == "default" else name, _MARKERS[at])
            axis.set_xticks(range(len(TCPS)), [NAMES[tcp] for tcp in TCPS])
            axis.set_ylim(0, 1.05)
            panel(axis, topology, ("variant", "1"), THROUGHPUT)
        axes[0].legend(ncols=2, fontsize=7)
        return saved("bcmp", figure, folder, "rules", window=HIGH)
