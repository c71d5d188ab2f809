"""`roamlab study prediction` as page, figures, CSV and data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from roamlab import _roamlab
from roamlab.base.figures import COLOURS, new_figure, save
from roamlab.base.quantities import named
from roamlab.papers.lte.experiments import HANDOVER_S
from roamlab.papers.reporting import write_csv
from roamlab.papers.runs import SEED, Batch
from roamlab.running.executor import LocalPool
from roamlab.showing.page import Measured, Row, Table
from roamlab.showing.report import Assumption, Parameter, Report
from roamlab.statistics.race import FIRST_LOOK
from roamlab.statistics.stats import paired
from roamlab.studies.figures import lines, points
from roamlab.studies.means import interval_data
from roamlab.studies.prediction.cases import (
    FAST,
    FORWARDING,
    LEADS_MS,
    MARKING,
    PREDICTED,
    QUEUES,
    Case,
    applicable,
    cases,
    combinations,
    scenario,
)
from roamlab.studies.prediction.measures import BY_NAME, QUANTITIES, move
from roamlab.sweeps.optimise import optimise

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table as Printed

    from roamlab.base.figures import SavedFigure
    from roamlab.statistics.stats import Interval
    from roamlab.sweeps.optimise import Optimum

    Found = dict[Case, dict[str, list[float]]]

BUFFERS = ("10 pkt", "25 pkt", "50 pkt", "200 pkt")
"""Limits of a base station's buffer for forwarded packets, among which each case's best is sought."""
WAYS = (
    ("none", FORWARDING),
    ("none", FAST),
    *((prediction, PREDICTED) for prediction in LEADS_MS if prediction != "none"),
)
"""Predictions with the path switches that they can have; the first one is what the others are compared with."""
_MARKERS = ("s", "o", "^", "D", "v")


class Effect(NamedTuple):
    """Differences of the mover's goodput, in Mbit/s, with the prediction and without."""

    queue: str
    ecn: bool
    prediction: str
    change: Interval
    """To forwarding without a prediction, behind the same queue."""
    joint: Interval | None
    """How much larger that change is than behind drop-tail; none for drop-tail itself."""


def study(runs: int, store: Path, threads: int, draft: Path) -> tuple[Report, dict[str, Any]]:
    """Make the runs and draw; gives the page, and what is measured as data."""
    batch = Batch()
    taken = batch.each({case: (scenario(case), runs) for case in cases()}, move)
    batch.make(store, threads)
    found: Found = {
        case: {quantity.name: [run[quantity.name] for run in values] for quantity in QUANTITIES}
        for case, values in taken.items()
    }
    best = {case: _best_buffer(case, runs, store, threads) for case in found if runs >= FIRST_LOOK}
    effects = effects_of(found)
    means = _means(found, best)
    write_csv(means, draft / "prediction.csv")
    sentences = sentences_of(effects)
    page = Report(
        title="Prediction of handovers with active queue management",
        paper="The LTE paper announces the joint effect of its two remedies, a predicted handover and queues that act "
        f"early, as future work. This page has it. Means of {runs} runs with 95 % intervals, the same draws in all "
        "cases. The page of studies in the documentation has the cases.",
        headline=sentences[0],
        claims=(),
        figures=[_draw(found, name, draft / "figures") for name in ("goodput", "stall")],
        tables=[_changes(effects), means, _left_out()],
        parameters=_PARAMETERS,
        assumptions=_ASSUMPTIONS,
        origin=(
            ("engine build", _roamlab.build_hash()),
            ("seed", str(SEED)),
            ("runs of each case", str(runs)),
        ),
        findings=(),
    )
    return page, {
        "sentences": sentences,
        "means": [
            {**case._asdict(), **quantity.as_data(found[case][quantity.name])}
            for case in found
            for quantity in QUANTITIES
        ],
        "effects": [
            {
                "queue": of.queue,
                "ecn": of.ecn,
                "prediction": of.prediction,
                "change": interval_data("difference", of.change),
                "joint": None if of.joint is None else interval_data("difference", of.joint),
            }
            for of in effects
        ],
        "buffers": [
            {**case._asdict(), "cheapest": of.cheapest, "leader": of.leader, "sentence": of.sentence}
            for case, of in best.items()
        ],
        "not_applicable": [
            {**case._asdict(), "why": applicable(case)} for case in combinations() if applicable(case)
        ],
    }


def _best_buffer(case: Case, runs: int, store: Path, threads: int) -> Optimum:
    """The best buffer for forwarded packets by a race of at most `runs` runs of each limit."""
    return optimise(
        scenario(case),
        {"mobility.buffer_limit": list(BUFFERS)},
        objective="max flows.ref.goodput_bps",
        budget=runs,
        seed=SEED,
        store=store,
        executor=LocalPool(threads),
    )


def _queues() -> list[tuple[str, bool]]:
    return [(queue, ecn) for queue in QUEUES for ecn in (False, True) if not ecn or queue in MARKING]


def _label(queue: str, ecn: bool) -> str:
    return f"{queue} with ECN" if ecn else queue


def effects_of(found: Found) -> list[Effect]:
    """Changes by each prediction behind each queue, run by run, and how they differ from those behind drop-tail."""

    def values(queue: str, ecn: bool, way: tuple[str, str]) -> list[float]:
        return found[Case(*way, queue, ecn)]["goodput"]

    def changes(queue: str, ecn: bool, way: tuple[str, str]) -> list[float]:
        pairs = zip(values(queue, ecn, way), values(queue, ecn, WAYS[0]), strict=True)
        return [after - before for after, before in pairs]

    return [
        Effect(
            queue,
            ecn,
            way[0],
            paired(values(queue, ecn, way), values(queue, ecn, WAYS[0])),
            None
            if queue == "drop-tail"
            else paired(changes(queue, ecn, way), changes("drop-tail", False, way)),
        )
        for queue, ecn in _queues()
        for way in WAYS
        if way[0] != "none"
    ]


def sentences_of(effects: list[Effect]) -> list[str]:
    """The answers: the joint effect of a right prediction and a queue first, then each prediction."""
    right = [of for of in effects if of.prediction == "right" and of.joint is not None]
    clear = [of for of in right if of.joint and _excludes_0(of.joint)]
    names = ", ".join(f"{_label(of.queue, of.ecn)} ({of.joint.effect:+.2f})" for of in clear if of.joint)
    first = (
        f"The joint effect: a right prediction changes the mover's goodput otherwise than behind drop-tail with "
        f"{names} [Mbit/s]; with the other {len(right) - len(clear)} queues it is undecided."
        if clear
        else f"The joint effect is undecided: with none of {len(right)} queues is the gain by a right prediction shown "
        "to differ from that behind drop-tail."
    )
    said = [first]
    for prediction in (each for each in LEADS_MS if each != "none"):
        of_it = [of for of in effects if of.prediction == prediction]
        more = [_label(of.queue, of.ecn) for of in of_it if _excludes_0(of.change) and of.change.effect > 0]
        less = [_label(of.queue, of.ecn) for of in of_it if _excludes_0(of.change) and of.change.effect < 0]
        said.append(
            f"Prediction {prediction}: more goodput for the mover behind {', '.join(more) or 'none'}, less behind "
            f"{', '.join(less) or 'none'}, undecided behind {len(of_it) - len(more) - len(less)} of {len(of_it)}."
        )
    return said


def _excludes_0(found: Interval) -> bool:
    """True if several runs show a difference."""
    return found.runs > 1 and (found.low > 0 or found.high < 0)


def _draw(found: Found, name: str, folder: Path) -> SavedFigure:
    quantity, queues = BY_NAME[name], _queues()
    with new_figure(row_inches=4.6) as (figure, (axis,)):
        for at, way in enumerate(WAYS):
            means = [quantity.mean(found[Case(*way, *queue)][name]) for queue in queues]
            shift = 0.15 * (at - (len(WAYS) - 1) / 2)
            places = [row + shift for row in range(len(queues))]
            label = way[1] if way[0] == "none" else f"prediction {way[0]}"
            points(axis, places, means, _MARKERS[at], label, COLOURS[at])
        lines(axis, "queue of the core router", [_label(*queue) for queue in queues])
        figure.legend(*axis.get_legend_handles_labels(), loc="outside lower center", ncols=3)
        axis.set_xlabel(named(quantity.what, quantity.unit))
        axis.set_xlim(left=0.0)
        axis.set_title(f"Mover's {name} by queue and prediction")
        runs = len(found[Case(*WAYS[0], *queues[0])][name])
        caption = f"Predictions behind each queue. Means of {runs} runs, with 95 % intervals where there are several."
        return save(figure, folder, name, caption)


def _means(found: Found, best: dict[Case, Optimum]) -> Table:
    headings = (
        *("prediction", "path switch", "queue", "ECN"),
        *(named(each.what, each.unit) for each in QUANTITIES),
        *("cheapest buffer among the best", "bound on its distance [Mbit/s]"),
    )
    rows: list[Row] = []
    for case, values in found.items():
        measured = (each.measured(values[each.name]) for each in QUANTITIES)
        buffer, behind = "too few runs", "-"
        if case in best:
            buffer = best[case].cheapest or "-"
            behind = f"{best[case].tried.filter(name=buffer)['behind'][0] / 1e6:.2f}"
        rows.append((*case[:3], "yes" if case.ecn else "no", *measured, buffer, behind))
    return Table("all combinations", headings, rows)


def _changes(effects: list[Effect]) -> Table:
    rows: list[Row] = [
        (
            _label(of.queue, of.ecn),
            of.prediction,
            Measured(of.change, ".2f"),
            "-" if of.joint is None else Measured(of.joint, ".2f"),
        )
        for of in effects
    ]
    headings = ("queue", "prediction", "change [Mbit/s]", "joint: beyond drop-tail's change [Mbit/s]")
    return Table("what a prediction changes for the mover's goodput", headings, rows)


def _left_out() -> Table:
    rows: list[Row] = [
        (*case[:3], "yes" if case.ecn else "no", f"not applicable: {applicable(case)}")
        for case in combinations()
        if applicable(case)
    ]
    return Table("combinations without a meaning", ("prediction", "path switch", "queue", "ECN", "why"), rows)


def terminal_table(data: dict[str, Any]) -> Printed:
    """The mover's goodput for the terminal; the page and the CSV have all."""
    from rich.table import Table as Printed

    goodput = {
        (row["prediction"], row["switch"], row["queue"], row["ecn"]): row["mean"]
        for row in data["means"]
        if row["quantity"] == "goodput"
    }
    table = Printed(title=f"Mover's goodput around the handover at {HANDOVER_S:g} s [Mbit/s]")
    table.add_column("queue", no_wrap=True)
    for prediction, switch in WAYS:
        heading = switch if prediction == "none" else f"prediction {prediction}"
        table.add_column(heading, justify="right")
    for queue, ecn in _queues():
        values = (goodput[(*way, queue, ecn)] for way in WAYS)
        table.add_row(_label(queue, ecn), *(f"{value:.2f}" for value in values))
    return table


_PARAMETERS = (
    Parameter(
        "cells",
        "four mobiles in the source cell, the mover among them; three in the target cell",
        "LTE paper",
    ),
    Parameter("queues", "90 packets at the core router to each base station", "tables III and IV"),
    Parameter("thresholds of RED", "20 and 65 packets, 0.1, gentle", "tables III and IV"),
    Parameter("threshold of MBLUE", "two thirds of the limit", "MBLUE paper's share"),
    Parameter("right prediction", f"{LEADS_MS['right']} ms before the handover is due", "table II"),
    Parameter("late prediction", f"{LEADS_MS['late']} ms before it", "chosen"),
    Parameter("wrong cell", f"{LEADS_MS['wrong cell']} ms before it, an empty third cell", "chosen"),
    Parameter("buffers", ", ".join(BUFFERS), "chosen"),
)

_ASSUMPTIONS = (
    Assumption(
        "ECN through tunnels",
        "the tunnel's ingress copies the field (RFC 6040), and all senders use ECN",
        "the paper marks the tunnel header of every packet, which no RFC permits",
    ),
    Assumption(
        "after a prediction",
        "packets that the source still has are forwarded without loss",
        "the paper does not specify it",
    ),
    Assumption(
        "joint effect",
        "the change by a prediction behind a queue minus that behind drop-tail without ECN, run by run",
        "each interval is separate, so one of twenty may err",
    ),
    Assumption(
        "best buffer",
        f"by a race over the whole run's goodput, from {FIRST_LOOK} runs on",
        "fewer runs have no look",
    ),
)
