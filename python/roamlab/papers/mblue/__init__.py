"""Modified BLUE packet buffer for base stations in Mobile IP-based networks.

`experiments` bends the paper's model into the scenarios of its figures, `evidence` runs them, `measures` says what
is measured in a run, `claims` decides, `figures` draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roamlab.papers.mblue import claims, evidence, experiments, figures, measures
from roamlab.papers.mblue.experiments import DEFAULT, QUEUES, Reading
from roamlab.papers.records import queue_trace
from roamlab.papers.reporting import NS2, STARTS, headline, mean_cell, origin, write_csv
from roamlab.papers.runs import SEED, Batch
from roamlab.running.run import run
from roamlab.showing.page import Row, Table
from roamlab.showing.report import Assumption, Parameter, Report

if TYPE_CHECKING:
    from roamlab.papers import Session
    from roamlab.papers.mblue.evidence import Anatomy, Evidence
    from roamlab.papers.mblue.measures import OneHandoff
    from roamlab.scenarios.scenario import Scenario

RUNS = 100

_NEAREST = Reading(idle_mode="continuous", min_rto="1 s")
"""What brings fig. 12 nearest to the printed numbers."""


def example() -> Scenario:
    """A run that the report lets one explore."""
    return experiments.one_handoff("mblue")


def reproduce(session: Session) -> Report:
    """Simulate, measure and draw."""
    batch = Batch()
    anatomy = evidence.anatomy(batch, session.runs)
    few = evidence.few_runs(session.runs)
    found = evidence.evidence(batch, DEFAULT, session.runs)
    nearest = evidence.one_handoff(batch, _NEAREST, few)
    batch.make(session.store, session.threads)
    decided = claims.decide(anatomy, found)
    tables = {
        "table1": _delays(anatomy),
        "means": _means(found),
        "sync": _synchronised(found),
        "fig12": _received({"default": found.one, "empty at any time, RTO floor 1 s": nearest}),
    }
    for name, table in tables.items():
        write_csv(table, session.tables / f"{name}.csv")
    one = {queue: run(experiments.one_handoff(queue), SEED) for queue in QUEUES}
    traces = {
        "one": {queue: queue_trace(results, measures.AIR) for queue, results in one.items()},
        "three": {
            queue: queue_trace(run(experiments.three_handoffs(queue), SEED), measures.AIR) for queue in QUEUES
        },
    }
    return Report(
        title="MBLUE: a modified BLUE buffer for base stations in Mobile IP networks",
        paper="Modified BLUE Packet Buffer for Base-Stations in Mobile IP-based Networks: figures 11 to 15, table I "
        "and equation 1, reproduced from packet-level runs.",
        headline=headline(decided, figures.MAIN),
        main=figures.MAIN,
        lead=figures.LEAD,
        shows=figures.SHOWS,
        claims=decided,
        figures=figures.draw(found, traces, session.figures),
        handovers=[figures.signalling(one["mblue"], session.figures)],
        tables=list(tables.values()),
        parameters=_PARAMETERS,
        assumptions=_ASSUMPTIONS,
        origin=origin(session.runs, few, str(DEFAULT)),
    )


def _delays(anatomy: Anatomy) -> Table:
    rows = [
        (name, f"{claims.FORMULAS[name]:g}", f"{value:.3f}", f"{tolerance:.3f}")
        for name, (value, tolerance) in claims.measured_delays(anatomy).items()
    ]
    headings = ("quantity", "equation 1 [ms]", "simulated [ms]", "serialisation on the path [ms]")
    return Table("Table I: delays by formula and from simulated messages", headings, rows)


def _means(found: Evidence) -> Table:
    rows = [
        (
            figures.NAMES[queue],
            mean_cell([one.received for one in found.one[queue]]),
            mean_cell([one.drops for one in found.one[queue]]),
            mean_cell([one.cutting for one in found.one[queue]]),
            mean_cell([three.goodput_bps / 1e3 for three in found.three[queue]]),
            mean_cell([three.residents_bps / 1e3 for three in found.three[queue]]),
            mean_cell([three.lost_moving for three in found.three[queue]]),
            mean_cell([three.lost_residents for three in found.three[queue]]),
            mean_cell([three.calm_queue for three in found.three[queue]]),
            mean_cell([three.deviation for three in found.three[queue]]),
        )
        for queue in QUEUES
    ]
    headings = (
        "queue",
        "received 9.5 to 13 s [pkt]",
        "lost 10 to 11 s [pkt]",
        "flows that cut within 1 s",
        "moving host over 40 s [kbit/s]",
        "residents over 40 s [kbit/s]",
        "moving host, lost within 1 s of three handoffs [pkt]",
        "residents, lost within 1 s of three handoffs [pkt]",
        "mean queue between handoffs [pkt]",
        "standard deviation of the queue [pkt]",
    )
    return Table("Means over the runs, with 95 % intervals", headings, rows)


def _synchronised(found: Evidence) -> Table:
    rows = [
        (
            figures.NAMES[queue],
            mean_cell([run.cutting for run in found.one[queue]]),
            mean_cell([run.together for run in found.one[queue]]),
            mean_cell([run.together_calm for run in found.one[queue]]),
            mean_cell([run.correlation for run in found.one[queue]]),
        )
        for queue in QUEUES
    ]
    headings = (
        "queue",
        "flows that cut within 1 s of the handoff",
        "most that cut within one round trip, 3 s after it",
        "most residents that cut within one round trip, 3 s before it",
        "window correlation, 3 s [1]",
    )
    return Table("Synchronisation: backing off together, and windows in step", headings, rows)


def _received(found: dict[str, dict[str, list[OneHandoff]]]) -> Table:
    rows: list[Row] = [
        (
            name,
            *(mean_cell([run.received_after for run in each[queue]]) for queue in figures.PAPER_QUEUES),
        )
        for name, each in found.items()
    ]
    headings = ("reading", *(f"{figures.NAMES[queue]} [pkt]" for queue in figures.PAPER_QUEUES))
    title = f"Fig. 12: received from 10 to 13 s; the paper's axis has room for some {claims.AXIS_PKTS}"
    return Table(title, headings, rows)


_PARAMETERS = (
    Parameter("air link", "2 Mbit/s, 3 ms", "section IV.A; 3 ms: half of alpha less the wired millisecond"),
    Parameter("wired links", "10 Mbit/s", "section IV.A"),
    Parameter("agent to agent, agent to base station", "1 ms", "section IV.A"),
    Parameter("T_HA, T_CH, T_O, D_CH_FA", "60, 60, 1, 40 ms", "table I"),
    Parameter("T_B", "50 ms", "table I: one beacon interval"),
    Parameter("TCP", "Reno, window 64, 512 B on the wire", "section IV.A; reading A9 for the headers"),
    Parameter("buffers of the base stations", "120 packets", "tables II and III"),
    Parameter("RED", "40, 80, P_max 0.02, w_q 0.002", "table II"),
    Parameter("BLUE, MBLUE", "d1 1e-4, d2 1e-5, freeze time 1 ms, TH_b 80", "table III"),
    Parameter("residents", "three, round trips 86, 88 and 90 ms", "section IV.A"),
    Parameter("handoffs", "at 10 s; or at 5.7, 17.1 and 28.6 s of 40 s", "figs. 11 and 13; reading A10"),
)

_ASSUMPTIONS = (
    NS2,
    Assumption(
        "BLUE: does a random drop raise P_m?",
        "no",
        "the prose says overflow, eq. 3 says any drop, which feeds back on itself",
    ),
    Assumption(
        "marked packet at a full MBLUE queue",
        "rejected and counted",
        '"does not drop" is impossible there',
    ),
    Assumption(
        "when a queue is empty",
        "when its last packet leaves, and at an arrival that finds it empty; at any time while empty in the search",
        "the paper does not say (B3)",
    ),
    Assumption(
        "freeze time",
        "1 ms; 10 and 90 ms in the search",
        'table III prints 1 ms; section III.B says "basically based on RTT periods"',
    ),
    Assumption(
        "RED",
        "not gentle, ns-2's `wait`, packets; gentle and a P_max of 0.1 in the search",
        "the paper drops every arrival above TH_max; the rest is ns-2's default",
    ),
    Assumption(
        "how long a visit of figs. 13 to 15 lasts",
        "half of the time between two visits",
        "A10: the paper does not say",
    ),
    Assumption(
        "what waits in the buffer",
        "what the air queue held for the host, and later arrivals; at most 64 packets",
        "A4: a shared queue for the air, one buffer per host that left",
    ),
    Assumption("packets in the air at the break", "arrive", "A3: the packet in transmission finishes"),
    Assumption("the burst", "leaves at the rate of the wire", "A5: no pacing is mentioned"),
    Assumption(
        "who updates the correspondent",
        "the registration or the binding warning, whichever is first",
        "A1: eq. 1 needs the registration",
    ),
    Assumption(
        "where the mark survives",
        "ToS is copied inwards and outwards at tunnels, and cleared behind the air",
        "M9: decapsulation comes before the base station",
    ),
    STARTS,
    Assumption(
        "old cell",
        "empty but for the moving host, drop-tail of 120; the compared queue there in the search",
        "the queues are compared at the new base station",
    ),
    Assumption(
        "signalling",
        "overtakes data that waits, not the packet in service",
        "otherwise T_N would grow with the queue, against table I",
    ),
)
