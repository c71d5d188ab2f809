"""`roamlab demo`: the first figure. A download around one move, under a few schemes of the study."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np
import tomli_w

from roamlab import _roamlab
from roamlab.base.figures import label, new_figure, save
from roamlab.papers.drawing import TIME, band, mark
from roamlab.papers.records import reads
from roamlab.papers.runs import SEED, Batch
from roamlab.records import metrics
from roamlab.showing import report
from roamlab.showing.page import Measured, Table
from roamlab.showing.report import Report
from roamlab.statistics.stats import clipped, student
from roamlab.studies.scenarios import MOVE_S, scenario, schemes

if TYPE_CHECKING:
    from pathlib import Path

    from roamlab.base.figures import SavedFigure
    from roamlab.records.results import Results
    from roamlab.scenarios.scenario import Scenario
    from roamlab.statistics.stats import Interval

FIGURE, PAGE = "demo.png", "report.html"
RUNS = 20
SHOWN = ("Cellular IP hard", "Mobile IP, drop-tail", "X2, fast path switch", "HAWAII MSF")
"""Names of schemes.toml."""
_SPAN_S = (MOVE_S - 0.5, MOVE_S + 2.5)
_MOVE = 50
"""Where the grid has the move."""
_GRID_S = np.linspace(*_SPAN_S, 301)


def scenarios() -> dict[str, Scenario]:
    """The schemes shown, each with a download."""
    return {each.name: scenario(each, "download") for each in schemes() if each.name in SHOWN}


@reads(
    flows="flow source destination completed_ns",
    deliveries="flow time_ns sent_ns fresh bytes",
    handovers="host phase time_ns",
)
def received(results: Results) -> dict[str, list[float]]:
    """Data of a download since half a second before the move, in kB each 10 ms; its silence in ms."""
    rows = results.columns("deliveries")
    new = rows.where("flow", "download") & rows["fresh"]
    at, sizes = metrics.seconds(rows, chosen=new), rows["bytes"][new]
    whole = np.concatenate(([0.0], np.cumsum(sizes) / 1e3))
    course = whole[np.searchsorted(at, _GRID_S, "right")] - whole[np.searchsorted(at, _SPAN_S[0])]
    return {
        "course": course.tolist(),
        "silence": [1e3 * max(metrics.flow_disruptions_s(results, "download"))],
    }


def demonstrate(store: Path, threads: int, folder: Path) -> tuple[list[str], str]:
    """Make the runs; write the page, the figure and the scenarios into `folder`.

    Gives a line for each scheme, and the name of the first scenario's file.
    """
    shown = scenarios()
    batch = Batch()
    found = batch.each({name: (each, RUNS) for name, each in shown.items()}, received)
    batch.make(store, threads)
    caption = (
        f"What a download receives around a move at {MOVE_S:g} s into a cell with three others, by the scheme that "
        f"follows the host: mean of {RUNS} runs, with 95 % intervals. Wires, cells and move are the same for all."
    )
    with new_figure() as (figure, (axes,)):
        for name, runs in found.items():
            band(axes, _GRID_S, [run["course"] for run in runs], name)
        mark(axes, [MOVE_S])
        axes.legend(loc="upper left")
        label(axes, TIME, ("received", "kB"))
        saved = save(figure, folder, FIGURE.partition(".")[0], caption)
    files = {name: f"{re.sub('[^a-z0-9]+', '-', name.lower())}.toml" for name in shown}
    for name, each in shown.items():
        (folder / files[name]).write_text(tomli_w.dumps(each.to_dict()), encoding="utf-8")
    felt = {name: _felt(runs) for name, runs in found.items()}
    report.write(_page(felt, saved), folder / PAGE)
    return [_line(name, *of) for name, of in felt.items()], files[SHOWN[0]]


def _felt(runs: list[dict[str, list[float]]]) -> tuple[Interval, Interval]:
    """Data after the move, in kB, and the silence, in ms."""
    after = [run["course"][-1] - run["course"][_MOVE] for run in runs]
    silences = [run["silence"][0] for run in runs]
    return clipped(student(after), 0.0, math.inf), clipped(student(silences), 0.0, math.inf)


def _page(felt: dict[str, tuple[Interval, Interval]], figure: SavedFigure) -> Report:
    order = sorted(felt, key=lambda name: -felt[name][0].effect)
    most, least = (f"{felt[name][0].effect:.0f} kB with {name}" for name in (order[0], order[-1]))
    headings = ("scheme", f"received in the {_SPAN_S[1] - MOVE_S:g} s after the move [kB]", "silence [ms]")
    rows = [(name, Measured(felt[name][0]), Measured(felt[name][1])) for name in order]
    return Report(
        title="A download around a move",
        paper="The scenarios are next to this page: `roamlab run` simulates one, `roamlab study schemes` compares all "
        "schemes.",
        headline=f"In the {_SPAN_S[1] - MOVE_S:g} s after the same move a download receives {most} and {least}, on "
        "average.",
        claims=(),
        figures=[figure],
        tables=[Table(f"Means of {RUNS} runs with 95 % intervals", headings, rows)],
        parameters=(),
        assumptions=(),
        origin=(("engine build", _roamlab.build_hash()), ("seed", str(SEED))),
    )


def _line(name: str, after: Interval, silence: Interval) -> str:
    return (
        f"{name}: {after.effect:.0f} kB ({after.low:.0f} … {after.high:.0f}) in the {_SPAN_S[1] - MOVE_S:g} s after "
        f"the move, after a silence of {silence.effect:.0f} ms ({silence.low:.0f} … {silence.high:.0f})"
    )
