"""`roamlab study procedures` as page, figures, CSV and data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roamlab import _roamlab
from roamlab.base.quantities import named
from roamlab.papers.reporting import write_csv
from roamlab.papers.runs import SEED, Batch
from roamlab.showing.page import Row, Table
from roamlab.showing.report import Assumption, Finding, Parameter, Report
from roamlab.statistics.stats import student
from roamlab.studies.procedures import figures
from roamlab.studies.procedures.answer import surprises, why
from roamlab.studies.procedures.cases import (
    APPLICATIONS,
    BUDGET,
    DOWNLOADS,
    LAWS,
    MOVE_S,
    Case,
    cases,
    procedures,
    scenario,
)
from roamlab.studies.procedures.measures import AFTER_S, BEFORE_S, PLAYOUT_S, QUANTITIES, TAKES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rich.table import Table as Printed

    from roamlab.studies.procedures.measures import Found


def measure(listed: Sequence[Case], runs: int, store: Path, threads: int) -> Found:
    """Values of each quantity in each run of each case."""
    batch = Batch()
    taken: dict[Case, list[dict[str, float]]] = {}
    for application, take in TAKES.items():
        of = {case: (scenario(case), runs) for case in listed if case.application == application}
        taken |= batch.each(of, take)
    batch.make(store, threads)
    return {
        case: {name: [run[name] for run in values] for name in values[0]}
        for case, values in ((case, taken[case]) for case in listed)
    }


def study(runs: int, store: Path, threads: int, draft: Path) -> tuple[Report, dict[str, Any]]:
    """Make the runs and draw; gives the page, and what is measured as data."""
    found = measure(cases(), runs, store, threads)
    means = {application: _means(found, application) for application in APPLICATIONS}
    for application, table in means.items():
        write_csv(table, draft / f"{application.lower()}.csv")
    explained = [(case, why(case, found)) for case in surprises(found)]
    sentences = sentences_of(found)
    page = Report(
        title="Procedures of handover",
        paper="One host moves once from a base station to another, by each procedure of LTE and 5G, while it "
        f"downloads, calls or loads pages. Means of {runs} runs with 95 % intervals, the same draws in all "
        "cases. The page of studies in the documentation has the network.",
        headline=sentences[0],
        claims=(),
        figures=figures.draw(found, draft / "figures"),
        tables=[
            *means.values(),
            Table(
                "What each procedure needs",
                ("procedure", "needs"),
                [(each.name, each.needs) for each in procedures()],
            ),
        ],
        parameters=_PARAMETERS,
        assumptions=_ASSUMPTIONS,
        origin=(
            ("engine build", _roamlab.build_hash()),
            ("seed", str(SEED)),
            ("runs of each case", str(runs)),
        ),
        findings=[Finding(f"Why is {', '.join(case)} silent for so long?", said) for case, said in explained],
    )
    return page, {
        "sentences": sentences,
        "surprises": [{**case._asdict(), "why": said} for case, said in explained],
        "means": [
            {**case._asdict(), **quantity.as_data(found[case][quantity.name])}
            for case in found
            for quantity in QUANTITIES[case.application]
        ],
    }


def sentences_of(found: Found) -> list[str]:
    """Who keeps each download silent for the shortest and for the longest time."""
    said = []
    for application in DOWNLOADS:
        silence = {
            each.name: student(found[Case(each.name, application, BUDGET)]["stall"]).effect
            for each in procedures()
        }
        best, worst = min(silence, key=silence.__getitem__), max(silence, key=silence.__getitem__)
        said.append(
            f"A download over {application} is silent for {silence[best]:.0f} ms with {best} and for "
            f"{silence[worst]:.0f} ms with {worst}, on average."
        )
    return said


def _means(found: Found, application: str) -> Table:
    quantities = QUANTITIES[application]
    rows: list[Row] = [
        (case.procedure, case.law, *(each.measured(values[each.name]) for each in quantities))
        for case, values in found.items()
        if case.application == application
    ]
    headings = ("procedure", "law", *(named(each.what, each.unit) for each in quantities))
    return Table(application, headings, rows)


def terminal_table(data: dict[str, Any]) -> Printed:
    """The stalls for the terminal; the page and the CSV have all."""
    from rich.table import Table as Printed

    stalls = {
        (row["procedure"], row["application"]): row["mean"]
        for row in data["means"]
        if row["quantity"] == "stall" and row["law"] == BUDGET
    }
    table = Printed(title="Longest silence at the move [ms]")
    table.add_column("procedure", no_wrap=True)
    for application in APPLICATIONS:
        table.add_column(application, justify="right", no_wrap=True)
    for procedure in dict.fromkeys(name for name, _ in stalls):
        table.add_row(procedure, *(f"{stalls[procedure, application]:.0f}" for application in APPLICATIONS))
    return table


_PARAMETERS = (
    Parameter("wires", "1 Gbit/s; 20 ms from the server to the base stations, 2 ms between these", "chosen"),
    Parameter("core network", "AMF 4 ms from the base stations, SMF 1 ms from AMF and UPF", "chosen"),
    Parameter("cells", "20 Mbit/s, 2 ms, queues of 300 packets; empty except the host that moves", "chosen"),
    Parameter(
        "move",
        f"once, at {MOVE_S:g} s; the first measurement at which the other cell is better is reported",
        "chosen",
    ),
    Parameter("budget", "RRC 10 ms, interruption 62 ms, random access 5 ms", "TS 38.133, TS 38.331 §12"),
    Parameter(
        "laws",
        f"{', '.join(list(LAWS)[1:])}: measured times from the command to the access",
        "measured durations",
    ),
    Parameter(
        "downloads", "CUBIC and BBR as in Linux 6, QUIC with NewReno by RFC 9002; from 1 to 2 s on", "chosen"
    ),
    Parameter(
        "call", f"G.711 both ways, played out {PLAYOUT_S * 1e3:g} ms after the smallest delay", "chosen"
    ),
    Parameter("pages", "ten objects each, over one connection, CUBIC; 100 ms between pages", "chosen"),
)

_ASSUMPTIONS = (
    Assumption(
        "longest silence at the move",
        f"the longest time without new data from {BEFORE_S:g} s before the move to {AFTER_S:g} s after it",
        "a conditional handover begins ahead of the move",
    ),
    Assumption(
        "hard change and LTE X2",
        "a constant gap of 77 ms, with no law",
        "the sum of the budget; their gap is no law",
    ),
    Assumption(
        "forwarded",
        "data that the old base station sends up again, with tunnel headers, counted on that link",
        "the same place for all procedures",
    ),
    Assumption(
        "surprising",
        "a stall more than twice as long as the middle procedure's with the same application and law",
        "chosen: what a reader asks about",
    ),
)
