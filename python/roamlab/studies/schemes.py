"""`roamlab study schemes`: all schemes on the same network and the same move, as page, figures and CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roamlab import _roamlab
from roamlab.base.quantities import named
from roamlab.papers.reporting import write_csv
from roamlab.papers.runs import SEED, Batch
from roamlab.showing.page import Row, Table
from roamlab.showing.report import Assumption, Parameter, Report
from roamlab.statistics.stats import student
from roamlab.studies import figures
from roamlab.studies.measures import COST, FELT, SIGNALLED_S, TAKES, VIDEO_OFFSET_S, VOICE_OFFSET_S
from roamlab.studies.scenarios import APPLICATIONS, LEAD_S, MOVE_S, Scheme, scenario, schemes

if TYPE_CHECKING:
    from pathlib import Path

    from rich.table import Table as Printed

    from roamlab.studies.figures import Found
    from roamlab.studies.means import Quantity


def measure(listed: list[Scheme], runs: int, store: Path, threads: int) -> Found:
    """Values of each quantity in each run: by scheme, application and name."""
    batch = Batch()
    taken = {
        application: batch.each(
            {each.name: (scenario(each, application), runs) for each in listed}, TAKES[application]
        )
        for application in APPLICATIONS
    }
    batch.make(store, threads)
    return {
        (name, application, quantity): [run[quantity] for run in values]
        for application, of in taken.items()
        for name, values in of.items()
        for quantity in values[0]
    }


def study(runs: int, store: Path, threads: int, draft: Path) -> tuple[Report, dict[str, Any]]:
    """Make the runs and draw; gives the page, and what is measured as data."""
    listed = schemes()
    names = [each.name for each in listed]
    found = measure(listed, runs, store, threads)
    columns = [(application, quantity) for application in FELT for quantity in (*FELT[application], *COST)]
    write_csv(_table("all", names, columns, found), draft / "schemes.csv")
    tables = [
        *(
            _table(
                f"What a {application} feels",
                names,
                [(application, quantity) for quantity in FELT[application]],
                found,
            )
            for application in FELT
        ),
        *(
            _table(
                f"What a scheme costs during a {application}",
                names,
                [(application, quantity) for quantity in COST],
                found,
            )
            for application in FELT
        ),
        Table("What each scheme needs", ("scheme", "needs"), [(each.name, each.needs) for each in listed]),
    ]
    page = Report(
        title="All schemes on the same move",
        paper="Effects of a move on a download, a call and a video, and their cost: means of "
        f"{runs} runs with 95 % intervals. The page of studies in the documentation describes the common parts and "
        "what cannot be compared.",
        headline=_headline(names, found),
        claims=(),
        figures=figures.draw(names, found, draft / "figures"),
        tables=tables,
        parameters=_PARAMETERS,
        assumptions=_ASSUMPTIONS,
        origin=(
            ("engine build", _roamlab.build_hash()),
            ("seed", str(SEED)),
            ("runs of each scheme with each application", str(runs)),
        ),
    )
    return page, {"means": [_as_data(name, *column, found) for name in names for column in columns]}


def _headline(names: list[str], found: Found) -> str:
    """Who keeps a download silent for the shortest and for the longest time."""
    silence = {name: student(found[name, "download", "silence"]).effect for name in names}
    best, worst = min(names, key=silence.__getitem__), max(names, key=silence.__getitem__)
    return (
        f"At the same move a download is silent for {silence[best]:.0f} ms with {best} and for {silence[worst]:.0f} ms "
        f"with {worst}, on average."
    )


def _table(title: str, names: list[str], columns: list[tuple[str, Quantity]], found: Found) -> Table:
    rows: list[Row] = [
        (
            name,
            *(
                quantity.measured(found[name, application, quantity.name])
                for application, quantity in columns
            ),
        )
        for name in names
    ]
    headings = [named(f"{application}: {quantity.what}", quantity.unit) for application, quantity in columns]
    return Table(title, ("scheme", *headings), rows)


def _as_data(name: str, application: str, quantity: Quantity, found: Found) -> dict[str, Any]:
    values = found[name, application, quantity.name]
    return {"scheme": name, "application": application, **quantity.as_data(values)}


_PRINTED = (
    ("download", "goodput"),
    ("download", "silence"),
    ("call", "r"),
    ("call", "late"),
    ("video", "freeze"),
)


def terminal_table(data: dict[str, Any]) -> Printed:
    """The means for the terminal, one line per scheme; the page and the CSV have all, with intervals."""
    from rich.table import Table as Printed

    means = data["means"]
    of = {(mean["scheme"], mean["application"], mean["quantity"]): mean for mean in means}
    names = list(dict.fromkeys(mean["scheme"] for mean in means))
    table = Printed(title="Means of the runs")
    table.add_column("scheme", no_wrap=True)
    for column in _PRINTED:
        first = of[names[0], *column]
        unit = "" if first["unit"] == "1" else f"\n[{first['unit']}]"
        heading = f"{first['application']}\n{first['quantity']}{unit}"
        table.add_column(heading, justify="right", no_wrap=True)
    for name in names:
        table.add_row(name, *(f"{of[name, *column]['mean']:.3g}" for column in _PRINTED))
    return table


_PARAMETERS = (
    Parameter("wires", "100 Mbit/s; 20 ms to the gateway, 5 ms from there to each router below", "chosen"),
    Parameter("cells", "8 Mbit/s, 3 ms, 100 packets; 1 ms behind the access router", "chosen"),
    Parameter("move", f"once, at {MOVE_S:g} s, with a gap of 30 ms in layer 2", "table II of the LTE paper"),
    Parameter("others", "three downloads with windows of 40 packets in the new cell", "chosen"),
    Parameter(
        "download", "NewReno by the RFCs, window 64, 1000 B, from a start in 1 to 2 s to 9 s", "chosen"
    ),
    Parameter(
        "call",
        f"G.711, 50 packets a second each way; played out {VOICE_OFFSET_S * 1e3:g} ms after the smallest delay",
        "chosen",
    ),
    Parameter(
        "video", f"fitted to a published film; played out after {VIDEO_OFFSET_S * 1e3:g} ms", "applications"
    ),
    Parameter("triggers", f"{LEAD_S * 1e3:g} ms ahead, where a scheme has one", "chosen"),
    Parameter("buffers", "100 packets for a host, where a scheme has one", "chosen"),
)

_ASSUMPTIONS = (
    Assumption(
        "signalling",
        f"messages about the host, sent from the trigger to {SIGNALLED_S:g} s after the move",
        "soft state that is refreshed in this time counts too",
    ),
    Assumption(
        "bytes of signalling", "each message once, whatever its way", "as the table signalling has it"
    ),
    Assumption(
        "forwarded",
        "data that the old access router sends up again, with tunnel headers, counted on that link",
        "the same place for all schemes",
    ),
    Assumption(
        "buffer", "the most packets that left one buffer at one instant", "buffers are emptied in one burst"
    ),
)
