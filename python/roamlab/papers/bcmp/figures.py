"""The paper's figures 4 to 7, the delay variance that it left out, and the TCPs under other profiles and floors."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from roamlab.base.figures import BLUE, ORANGE, SavedFigure, bar, label, new_figure, save
from roamlab.papers.bcmp.claims import LINK_BPS, NAMES, lost, share
from roamlab.papers.bcmp.experiments import HIGH, LOW, STREAMS, TCPS, TOPOLOGIES, WAYS, WINDOWS, network
from roamlab.papers.bcmp.measures import STEPS_MS, VIDEO_OFFSET_S, VOICE_OFFSET_S
from roamlab.papers.drawing import draw_all, errorbars, panel
from roamlab.scenarios.scenario import Scenario
from roamlab.showing.network_drawing import drawing
from roamlab.statistics.stats import student

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from matplotlib.axes import Axes

    from roamlab.papers.bcmp.claims import Values
    from roamlab.papers.bcmp.evidence import Evidence, Point
    from roamlab.papers.bcmp.measures import Download

THROUGHPUT = ("throughput", "1")
_MARKERS = "os^Dv*"
_NO_HANDOVERS = {"none": "no handovers", "planned": "planned", "unplanned": "unplanned"}


def draw(
    found: Evidence,
    swept: Mapping[Point, list[Download]],
    rules: Mapping[str, Mapping[Point, list[Download]]],
    folder: Path,
) -> list[SavedFigure]:
    """All figures; `rules`: points of `swept` by the rules of TCP."""
    return draw_all(
        [
            *(partial(_network, topology, folder) for topology in TOPOLOGIES),
            partial(_losses, found, folder),
            partial(_above, found, "jitter", "fig5", folder),
            partial(_sweep, 6, "mesh", swept, folder),
            partial(_sweep, 7, "tree", swept, folder),
            partial(_above, found, "variance", "delay-variance", folder),
            partial(_noticed, found, folder),
            partial(_rules, rules, folder),
        ]
    )


def _network(topology: str, folder: Path) -> SavedFigure:
    tables = network(topology, "planned").tables
    walkers = [host for host in tables["hosts"] if host["name"] == "walker"]
    drawn = drawing(Scenario.from_dict(tables | {"hosts": walkers, "flows": []}, f"bcmp/{topology}"))
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"network-{topology}.svg"
    path.write_text(drawn, encoding="utf-8")
    caption = (
        f"The {topology} of section 3 as it runs, with the paper's numbers: correspondents 0 to 5, home agent 6, "
        "access routers 19 to 30, and the ways of the two hosts that move. Those who stay are left out."
    )
    return SavedFigure(caption, None, path)


def _points(axis: Axes, places: list[float], values: list[Values], name: str, style: str) -> None:
    errorbars(axis, places, [student(each.tolist()) for each in values], fmt=style, label=name, capsize=2)


def _losses(found: Evidence, folder: Path) -> SavedFigure:
    most = max(int(lost(found, (topology, "unplanned")).max()) for topology in TOPOLOGIES)
    with new_figure(rows=2, row_inches=2.2) as (figure, axes):
        for axis, topology in zip(axes, TOPOLOGIES, strict=True):
            for way, shift, colour in (("planned", -0.2, BLUE), ("unplanned", 0.2, ORANGE)):
                counts = lost(found, (topology, way))
                shares = [
                    np.asarray(np.mean(counts == number, axis=1), dtype=float) for number in range(most + 1)
                ]
                means = [student(each.tolist()) for each in shares]
                spread = [0.0 if mean.runs == 1 else mean.high - mean.effect for mean in means]
                places = np.arange(most + 1) + shift
                heights = [mean.effect for mean in means]
                axis.bar(places, heights, 0.4, yerr=spread, capsize=2, label=way, **bar(colour))
            axis.set_xticks(range(most + 1))
            axis.set_ylim(0, 1.05)
            panel(axis, topology, ("packets lost in a handover", "pkt"), ("share of the handovers", "1"))
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
        said = (
            "Fig. 5 of the paper: jitter of the call's packets"
            if of == "jitter"
            else "Left out of the paper: what the call's packets wait, above the smallest delay of their stay"
        )
        caption = f"{said}; means of {len(found.streams['tree', 'planned'])} runs with 95 % intervals."
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
            panel(axis, flow, ("handovers", "kind"), what)
        axes[0].legend(ncols=2)
        caption = (
            "Not in the paper: what the host that moves notices. Mean opinion score of its call by the E-model, "
            f"play-out {VOICE_OFFSET_S * 1e3:g} ms after the smallest delay; frames of its film that lack a packet, "
            f"and the share of the time in which the picture stands still, with play-out "
            f"after {VIDEO_OFFSET_S * 1e3:g} ms. Means of {len(found.streams['tree', 'planned'])} runs with 95 % "
            "intervals."
        )
        return save(figure, folder, "noticed", caption)


def _rules(rules: Mapping[str, Mapping[Point, list[Download]]], folder: Path) -> SavedFigure:
    with new_figure(rows=2, row_inches=2.2) as (figure, axes):
        for axis, topology in zip(axes, TOPOLOGIES, strict=True):
            for at, (name, of) in enumerate(rules.items()):
                values = [share(of[topology, "unplanned", tcp, HIGH]) for tcp in TCPS]
                places = [index + 0.15 * (at - 2) for index in range(len(TCPS))]
                _points(axis, places, values, "ns-2 of 2003" if name == "default" else name, _MARKERS[at])
            axis.set_xticks(range(len(TCPS)), [NAMES[tcp] for tcp in TCPS])
            axis.set_ylim(0, 1.05)
            panel(axis, topology, ("variant", "name"), THROUGHPUT)
        axes[0].legend(ncols=2, fontsize=7)
        caption = (
            f"Not in the paper: throughput with unplanned handovers and a window of {HIGH} by the rules of ns-2 of "
            "2003 with floors of the timeout of 1 s and 0.2 s, of ns-2 of 2001, and of the RFCs, and of ns-2 of 2001 "
            "with nothing beside the download, with 95 % intervals."
        )
        return save(figure, folder, "rules", caption)
