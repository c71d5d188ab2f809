"""TCP and UDP over a wireless access network with BCMP.

`experiments` fills the paper's tree and mesh with handovers, what people send, and a download, `evidence` runs them,
`measures` says what is measured in a run, `claims` decides, `figures` draws.
"""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from roamlab.papers.bcmp import claims, evidence, experiments, figures
from roamlab.papers.bcmp.claims import NAMES
from roamlab.papers.bcmp.experiments import DEFAULT, HANDOVERS, HIGH, TCPS, TOPOLOGIES, WAYS
from roamlab.papers.bcmp.measures import STEPS_MS
from roamlab.papers.reporting import headline, mean_cell, origin, write_csv
from roamlab.papers.runs import Batch
from roamlab.showing.page import Row, Table
from roamlab.showing.report import Assumption, Parameter, Report

if TYPE_CHECKING:
    from roamlab.papers import Session
    from roamlab.papers.bcmp.evidence import Evidence, Point
    from roamlab.papers.bcmp.measures import Download
    from roamlab.scenarios.scenario import Scenario

RUNS = 8
"""With 50 handovers each they are 400: the fewest in which no loss can decide a share of `claims.RARELY`."""


def example() -> Scenario:
    """A run that the report lets one explore."""
    return experiments.downloads("tree", "unplanned", "newreno", 20)


def reproduce(session: Session) -> Report:
    """Simulate, measure and draw."""
    batch = Batch()
    few = evidence.few_runs(session.runs)
    found = evidence.evidence(batch, DEFAULT, session.runs)
    rules = evidence.other_rules(batch, few)
    swept = evidence.sweep(batch, session.runs)
    procedures = evidence.procedures(batch, few)
    batch.make(session.store, session.threads)
    rules = {"default": swept} | rules
    decided = [
        claims.login(procedures, DEFAULT.moves),
        claims.nomove(swept, str(DEFAULT)),
        *claims.read(found),
    ]
    tables = {
        "throughput": _throughput(swept),
        "streams": _streams(found),
        "distributions": _distributions(found),
        "rules": _rules(rules),
    }
    for name, table in tables.items():
        write_csv(table, session.tables / f"{name}.csv")
    return Report(
        title="BCMP: TCP and UDP over a wireless access network",
        paper="Performance of TCP and UDP over an access network with the BRAIN candidate mobility protocol (ns-2; "
        "tree and mesh, planned and unplanned handovers, six TCPs, voice, video, web): figures 4 to 7 and what the "
        "paper left out, reproduced from packet-level runs.",
        headline=headline(decided, figures.MAIN),
        main=figures.MAIN,
        lead=figures.LEAD,
        shows=figures.SHOWS,
        claims=decided,
        figures=figures.draw(found, swept, rules, session.figures),
        tables=list(tables.values()),
        parameters=_PARAMETERS,
        assumptions=_ASSUMPTIONS,
        origin=origin(session.runs, few, str(DEFAULT)),
    )


def _throughput(swept: dict[Point, list[Download]]) -> Table:
    rows: list[Row] = [
        (
            topology,
            way,
            NAMES[tcp],
            str(window),
            mean_cell(claims.share(runs).tolist()),
            mean_cell([run.timeouts / HANDOVERS for run in runs]),
            mean_cell([run.fast_retransmits / HANDOVERS for run in runs]),
        )
        for (topology, way, tcp, window), runs in swept.items()
    ]
    headings = (
        "network",
        "handovers",
        "TCP",
        "window [pkt]",
        "throughput [1]",
        "timeouts [1/s]",
        "fast retransmits [1/s]",
    )
    return Table("Figs. 6 and 7: means over the runs, with 95 % intervals", headings, rows)


def _streams(found: Evidence) -> Table:
    def row(topology: str, way: str) -> Row:
        runs = found.streams[topology, way]
        lost = claims.lost(found, (topology, way))
        none = way == "none"
        return (
            topology,
            way,
            "" if none else mean_cell(lost.mean(axis=1).tolist()),
            "" if none else str(lost.max()),
            mean_cell([1e3 * run.forwarding_s for run in runs]),
            mean_cell([1e3 * run.largest_variance_s for run in runs]),
        )

    headings = (
        "network",
        "handovers",
        "lost in a handover [pkt]",
        "most [pkt]",
        "forwarding delay [ms]",
        "largest delay variance [ms]",
    )
    rows = [row(*case) for case in product(TOPOLOGIES, WAYS)]
    return Table("Call, film and conference: means over the runs, with 95 % intervals", headings, rows)


def _distributions(found: Evidence) -> Table:
    rows: list[Row] = [
        (
            topology,
            way,
            f"{step:g}",
            *(
                mean_cell(claims.above(found, (topology, way), of, step).tolist())
                for of in ("variance", "jitter")
            ),
        )
        for topology, way in product(TOPOLOGIES, WAYS)
        for step in STEPS_MS
    ]
    headings = ("network", "handovers", "above [ms]", "delay variance [1]", "jitter [1]")
    return Table("Fig. 5 and the delay variance: shares of the call's packets", headings, rows)


def _rules(rules: dict[str, dict[Point, list[Download]]]) -> Table:
    rows: list[Row] = [
        (
            name,
            topology,
            *(mean_cell(claims.share(of[topology, "unplanned", tcp, HIGH]).tolist()) for tcp in TCPS),
        )
        for name, of in rules.items()
        for topology in TOPOLOGIES
    ]
    headings = ("rules of TCP", "network", *(f"{NAMES[tcp]}, throughput [1]" for tcp in TCPS))
    title = f"Unplanned handovers, window of {HIGH}, by TCP's rules: means with 95 % intervals"
    return Table(title, headings, rows)


_PARAMETERS = (
    Parameter("links", "correspondents 10 Mbit/s 5 ms; gateways 100, 5; wires 20, 1; air 10, 0.5", "table 1"),
    Parameter("anchors", "tree 10, 11, 12; mesh 14, 16, 18", "section 3"),
    Parameter("gateways", "tree 7; mesh 7 and 9", "section 3"),
    Parameter("hosts", "24, of which 2 move", "section 3"),
    Parameter("TCP", "Tahoe, Reno, NewReno, SACK, FACK, Vegas; packets of 1480 B", "sections 1.2 and 3"),
    Parameter("measures", "loss per handover, delay variance, jitter, throughput by the window", "section 4"),
)

_ASSUMPTIONS = (
    Assumption('"Mbytes" of table 1', "Mbit/s", "the text's limit of 10 Mbit/s"),
    Assumption(
        "links of the networks", "three levels of routers above the access routers", "figure 3 is not legible"
    ),
    Assumption("messages, timers", "those of the model page", "no specification could be found"),
    Assumption(
        "who gets what",
        "one walker call, film and conference, the other the download; those who stay 3 calls, a film, "
        "2 conferences, 16 web sessions",
        "not in the paper",
    ),
    Assumption(
        "film",
        "synthetic, statistics of Jurassic Park in MPEG-4 medium",
        "the trace has no licence; high in the search",
    ),
    Assumption("every other choice", "see the table of the paper's sentences", "sentences.toml"),
    Assumption(
        "what differs between runs",
        "where the two hosts go; starts of flows, within 0.5 or 1 s; sizes of frames and pages",
        "not in the paper",
    ),
)
