"""`roamlab study queues` as page, figures, CSV and data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roamlab import _roamlab
from roamlab.base.quantities import named
from roamlab.papers.reporting import write_csv
from roamlab.papers.runs import SEED, Batch
from roamlab.showing.page import Measured, Row, Table
from roamlab.showing.report import Assumption, Finding, Parameter, Report
from roamlab.studies.means import interval_data
from roamlab.studies.queues import answer, figures
from roamlab.studies.queues.cases import (
    CONTROLS,
    EXEMPTION,
    L4S_QUEUES,
    LIMIT,
    MOVE_S,
    QUEUES,
    Case,
    cases,
    has_exemption,
    scenario,
)
from roamlab.studies.queues.measures import AFTER_S, QUANTITIES, move

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.table import Table as Printed

    from roamlab.studies.queues.answer import Effect, Found


def measure(listed: Sequence[Case], runs: int, store: Path, threads: int) -> Found:
    """Values of each quantity in each run of each case."""
    batch = Batch()
    taken = batch.each({case: (scenario(case), runs) for case in listed}, move)
    batch.make(store, threads)
    return {
        case: {quantity.name: [run[quantity.name] for run in values] for quantity in QUANTITIES}
        for case, values in taken.items()
    }


def study(runs: int, store: Path, threads: int, draft: Path) -> tuple[Report, dict[str, Any]]:
    """Make the runs and draw; gives the page, and what is measured as data."""
    found = measure(cases(), runs, store, threads)
    listed = [
        (control, answer.effect(found, queue, (control,)))
        for control in CONTROLS
        for queue in QUEUES
        if has_exemption(queue)
    ]
    listed += [("mean of the three", of) for of in answer.effects(found)]
    means = _means(found)
    write_csv(means, draft / "queues.csv")
    sentences = sentences_of(found)
    page = Report(
        title="Queues at the handover",
        paper="A download moves into a cell where three others download. Is the exemption of MBLUE and M-RED still "
        f"worth it behind today's queues? The sentences take each run's mean over Reno, CUBIC and BBR. Means of {runs} "
        "runs with 95 % intervals, the same draws in all cases. The page of studies in the documentation has "
        "the network.",
        headline=sentences[0],
        claims=(),
        figures=figures.draw(found, draft / "figures"),
        tables=[_changes(listed), means],
        parameters=_PARAMETERS,
        assumptions=_ASSUMPTIONS,
        origin=(
            ("engine build", _roamlab.build_hash()),
            ("seed", str(SEED)),
            ("runs of each case", str(runs)),
        ),
        findings=[
            *(
                Finding(f"Does {answer.NEWER} make {older} unnecessary?", [sentence])
                for older, sentence in answer.replacement(found).items()
            ),
            *(
                Finding(f"Does L4S survive a handover behind {queue}?", [answer.l4s(found, queue)])
                for queue in L4S_QUEUES
            ),
        ],
    )
    return page, {
        "sentences": sentences,
        "means": [
            {**case._asdict(), **quantity.as_data(found[case][quantity.name])}
            for case in found
            for quantity in QUANTITIES
        ],
        "exemption": [
            {
                "queue": of.queue,
                "control": control,
                "verdict": answer.verdict(of.mover).value,
                "mover": interval_data("difference", of.mover),
                "residents": interval_data("difference", of.residents),
            }
            for control, of in listed
        ],
    }


def sentences_of(found: Found) -> list[str]:
    """The answers, the one about the exemption first."""
    return [
        answer.exemption(answer.effects(found)),
        *answer.replacement(found).values(),
        *(answer.l4s(found, queue) for queue in L4S_QUEUES),
    ]


def _means(found: Found) -> Table:
    headings = ("queue", "control", "way", *(named(each.what, each.unit) for each in QUANTITIES))
    rows: list[Row] = [
        (*case, *(each.measured(values[each.name]) for each in QUANTITIES)) for case, values in found.items()
    ]
    return Table("all combinations", headings, rows)


def _changes(listed: Sequence[tuple[str, Effect]]) -> Table:
    rows: list[Row] = [
        (
            of.queue,
            control,
            Measured(of.mover, ".2f"),
            Measured(of.residents, ".2f"),
            answer.verdict(of.mover).value,
        )
        for control, of in listed
    ]
    headings = ("queue", "control", "mover [Mbit/s]", "residents together [Mbit/s]", "the mover has")
    return Table("what the exemption changes", headings, rows)


def terminal_table(data: dict[str, Any]) -> Printed:
    """The mover's goodput for the terminal; the page and the CSV have all."""
    from rich.table import Table as Printed

    goodput = {
        (row["queue"], row["control"], row["way"]): row["mean"]
        for row in data["means"]
        if row["quantity"] == "mover_goodput"
    }
    table = Printed(title=f"Mover's goodput in the {AFTER_S:g} s after the move [Mbit/s]")
    for heading in ("queue", "congestion control"):
        table.add_column(heading, no_wrap=True)
    ways = list(dict.fromkeys(way for _, _, way in goodput))
    for way in ways:
        table.add_column(way.replace(", ", ",\n"), justify="right", no_wrap=True)
    for queue, control in dict.fromkeys((queue, control) for queue, control, _ in goodput):
        values = (goodput.get((queue, control, way)) for way in ways)
        table.add_row(queue, control, *("-" if value is None else f"{value:.2f}" for value in values))
    return table


_PARAMETERS = (
    Parameter("way", "50 ms to the server and back", "chosen"),
    Parameter("cells", f"30 Mbit/s, 4 ms, queues of at most {LIMIT.replace(' pkt', ' packets')}", "chosen"),
    Parameter("move", f"once, at {MOVE_S:g} s, by X2; 30 ms without a link, then random access", "LTE paper"),
    Parameter(
        "downloads",
        "the mover, one other in its old cell, three in the new one; all of the same kind",
        "chosen",
    ),
    Parameter("senders", "as in Linux 6, 1448 B; they start in the first 0.2 to 1.2 s", "linux-6"),
    Parameter("thresholds of RED and M-RED", "a third and two thirds of the limit", "IPF paper's shares"),
    Parameter("threshold of MBLUE", "two thirds of the limit", "MBLUE paper's share"),
)

_ASSUMPTIONS = (
    Assumption(
        "M-RED without exemption",
        "its rules, and nothing is marked: that is RED, packet for packet",
        "the exemption is all that M-RED adds",
    ),
    Assumption(
        "MBLUE without exemption",
        "its rules, and nothing is marked: BLUE that uses the queue's length",
        "the other half of what MBLUE adds to BLUE",
    ),
    Assumption(
        "drop-tail and RED",
        f"no case '{EXEMPTION}'",
        "drop-tail drops only when it is full; RED with the exemption is M-RED",
    ),
    Assumption(
        "a spared packet at a full queue",
        "is lost; with head drop it takes the place of another",
        "the default, and the papers' rule; but head drop is full most of the time",
    ),
    Assumption(
        "little",
        "a difference whose interval excludes 0 and a twentieth of an equal share",
        "chosen: less is not worth a mechanism",
    ),
    Assumption(
        "L4S survives",
        f"if packets are late for less than {answer.BURST_MS} ms beyond the silence",
        "CoDel's interval: how long a queue may last (RFC 8289 §4.3)",
    ),
    Assumption(
        "over congestion controls",
        "sentences have each run's mean over Reno, CUBIC and BBR",
        "the table has each of them; each interval is separate, so one of twenty may err",
    ),
)
