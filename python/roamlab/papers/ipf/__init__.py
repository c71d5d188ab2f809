"""TCP performance enhancement by implicit priority forwarding (IPF) in Mobile IP based networks.

`experiments` fills the paper's model with the hosts of its figures, `evidence` runs them, `measures` says what is
measured in a run, `claims` decides, `figures` draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roamlab.papers.ipf import claims, claims_plan, evidence, experiments, figures
from roamlab.papers.ipf.experiments import DEFAULT, GAPS_S, QUEUES
from roamlab.papers.ipf.measures import DEVIATION_WINDOWS_S
from roamlab.papers.reporting import STARTS, headline, mean_cell, origin, write_csv
from roamlab.papers.runs import Batch
from roamlab.showing.page import Row, Table
from roamlab.showing.report import Assumption, Parameter, Report

if TYPE_CHECKING:
    from roamlab.papers import Session
    from roamlab.papers.ipf.evidence import Evidence, Sweep
    from roamlab.scenarios.scenario import Scenario

RUNS = 30


def example() -> Scenario:
    """A run that the report lets one explore."""
    return experiments.arrival(1, "mred")


def reproduce(session: Session) -> Report:
    """Simulate, measure and draw."""
    batch = Batch()
    sweep = evidence.swept(batch, DEFAULT, session.runs)
    found = evidence.evidence(batch, DEFAULT, session.runs)
    anatomy = evidence.anatomy(batch, session.runs)
    traces = evidence.traces(batch)
    batch.make(session.store, session.threads)
    decided = claims.decide(anatomy, found, sweep)
    tables = {
        "utilisation": _points(sweep),
        "standard": _standard(found),
        "cases": _cases(sweep),
        "deviations": _deviations(sweep),
    }
    for name, table in tables.items():
        write_csv(table, session.tables / f"{name}.csv")
    return Report(
        title="IPF: implicit priority forwarding and the M-RED buffer in Mobile IP networks",
        paper="TCP Performance Enhancement by Implicit Priority Forwarding (IPF) Packet Buffering Scheme for Mobile IP "
        "Based Networks: figures 5, 6 and 9 to 17, reproduced from packet-level runs.",
        headline=headline(decided, figures.MAIN),
        main=figures.MAIN,
        lead=figures.LEAD,
        shows=figures.SHOWS,
        claims=decided,
        figures=figures.draw(
            found, sweep, {name: trace for name, (trace,) in traces.items()}, session.figures
        ),
        tables=list(tables.values()),
        parameters=_PARAMETERS,
        assumptions=_ASSUMPTIONS,
        origin=origin(session.runs, evidence.few_runs(session.runs), str(DEFAULT)),
    )


def _points(sweep: Sweep) -> Table:
    rows: list[Row] = []
    for count, hosts in dict.fromkeys((count, hosts) for count, hosts, _ in sweep.points):
        runs = {queue: sweep.points[count, hosts, queue] for queue in QUEUES}
        rows.append(
            (
                str(count),
                str(hosts),
                *(mean_cell([run.utilisation * 100 for run in runs[queue]]) for queue in QUEUES),
                mean_cell([run.priority for run in runs["mred"]]),
                *(mean_cell([run.priority_lost for run in runs[queue]]) for queue in QUEUES),
                *(mean_cell([run.lost for run in runs[queue]]) for queue in QUEUES),
                *(mean_cell([run.timeouts for run in runs[queue]]) for queue in QUEUES),
            )
        )
    headings = (
        "visits",
        "hosts",
        "utilisation, RED [%]",
        "utilisation, M-RED [%]",
        "priority packets",
        "of these lost, RED",
        "of these lost, M-RED",
        "lost in all, RED [pkt]",
        "lost in all, M-RED [pkt]",
        "timeouts, RED",
        "timeouts, M-RED",
    )
    return Table("Figs. 12 and 13: means over the runs, with 95 % intervals", headings, rows)


def _standard(found: Evidence) -> Table:
    rows: list[Row] = [
        (
            figures.NAMES[queue],
            mean_cell([run.jump for run in found.standard[queue]]),
            mean_cell([run.peak_average for run in found.standard[queue]]),
            mean_cell([run.highest_average for run in found.standard[queue]]),
            mean_cell([run.lowest for run in found.standard[queue]]),
            mean_cell([run.before for run in found.standard[queue]]),
            mean_cell([run.after for run in found.standard[queue]]),
            mean_cell([run.moving_bps / 1e3 for run in found.standard[queue]]),
            mean_cell([float(np.mean(run.residents_after_bps)) / 1e3 for run in found.standard[queue]]),
            mean_cell([run.residents_bps / 1e3 for run in found.standard[queue]]),
            mean_cell([run.resident_period_s for run in found.standard[queue]]),
            mean_cell([run.moving_period_s for run in found.standard[queue]]),
        )
        for queue in QUEUES
    ]
    headings = (
        "queue",
        "rise at a handoff [pkt]",
        "highest average at the fifth visit [pkt]",
        "highest average of the run [pkt]",
        "shortest queue of the run [pkt]",
        "mean queue from A to B [pkt]",
        "mean queue of the 3 s after B [pkt]",
        "a moving host, 10 s after handoffs [kbit/s]",
        "a resident, 10 s after handoffs [kbit/s]",
        "a resident over 200 s [kbit/s]",
        "half of the residents back off together, after a handoff [s]",
        "half of the moving hosts back off together, after a handoff [s]",
    )
    return Table("Figs. 10, 11 and 14: means over the runs, with 95 % intervals", headings, rows)


def _cases(sweep: Sweep) -> Table:
    rows: list[Row] = [
        (
            f"{gap:g}",
            *(
                mean_cell([float(np.mean(run.means_bps)) / 1e3 for run in sweep.planned[gap, queue]])
                for queue in QUEUES
            ),
            *(
                mean_cell(
                    [float(np.mean(run.deviations_bps, axis=0)[0]) / 1e3 for run in sweep.planned[gap, queue]]
                )
                for queue in QUEUES
            ),
            *(mean_cell([run.lost for run in sweep.planned[gap, queue]]) for queue in QUEUES),
            *(mean_cell([run.lost_at_arrivals for run in sweep.planned[gap, queue]]) for queue in QUEUES),
        )
        for gap in GAPS_S
    ]
    headings = (
        "time between hosts [s]",
        "throughput, RED [kbit/s]",
        "throughput, M-RED [kbit/s]",
        "deviation over windows of 1 s, RED [kbit/s]",
        "deviation over windows of 1 s, M-RED [kbit/s]",
        "lost, RED [pkt]",
        "lost, M-RED [pkt]",
        "lost within 1.5 s of handoffs, RED [pkt]",
        "lost within 1.5 s of handoffs, M-RED [pkt]",
    )
    return Table("Figs. 16 and 17: a connection already present, means over the runs", headings, rows)


def _deviations(sweep: Sweep) -> Table:
    rows: list[Row] = [
        (
            f"windows of {window:g} s",
            *(mean_cell(claims_plan.over_time(sweep, queue, window)) for queue in QUEUES),
        )
        for window in DEVIATION_WINDOWS_S
    ]
    rows.append(("the cases", *(mean_cell(claims_plan.over_cases(sweep, queue)) for queue in QUEUES)))
    headings = ("standard deviation over", "RED, printed 60 [kbit/s]", "M-RED, printed 37 [kbit/s]")
    return Table("Figs. 16 and 17: the deviation by what it is taken over", headings, rows)


_PARAMETERS = (
    Parameter("air link", "2 Mbit/s, 3 ms", "section IV-A"),
    Parameter("wired links", "10 Mbit/s", "section IV-A"),
    Parameter("agent to agent, agent to base station", "1 ms", "section IV-A"),
    Parameter("agent to home agent, home agent to correspondent", "60 ms", "section IV-A"),
    Parameter(
        "round trips", "residents 86 to 102 ms by 2; moving 88 ms, in figs. 16 and 17 88 to 94", "IV-A, IV-C"
    ),
    Parameter("beacon interval", "50 ms", "section IV-A"),
    Parameter("TCP", "Reno, window 64, 512 B on the wire", "section IV-A; reading A9 for the headers"),
    Parameter("RED, M-RED", "300 packets, P_max 0.02, w_q 0.002", "section IV-B"),
    Parameter("thresholds", "80/160 in fig. 9, 100/200 in the others", "sections IV-B, IV-B.1; reading R6"),
    Parameter("handoffs of figs. 16 and 17", "42.9, 128.6, 214 s and 0 to 20 s later", "section IV-C"),
)

_ASSUMPTIONS = (
    Assumption(
        "how many residents",
        "nine in fig. 9, seven in the others; each the other way in the search",
        "A11: nine in IV-A, seven in IV-B.1, none in IV-C; round trips from the top of the list",
    ),
    Assumption(
        "when the hosts of figs. 10 to 14 come",
        "all together, at T/(2n+1) times 1, 3, 5 and so on; 1 s apart and evenly apart in the search",
        '"five MHs, which visit the new BS a total of five times", "at each visit of the MHs"; A10 for the times',
    ),
    Assumption(
        "how long a visit lasts",
        "half of the time between two visits of a host; a quarter and three quarters in the search",
        "A10: the paper does not say",
    ),
    Assumption(
        "which connection already present",
        "all residents, their mean; the first alone too",
        "figs. 14, 16 and 17 show one and do not say which",
    ),
    Assumption(
        "beacons",
        "each 50 ms, in a phase drawn for each run",
        "section IV-A prints the period",
    ),
    Assumption(
        "TCP, RTO floor",
        "profile ns2-2009, 1 s; 200 ms in the search",
        "no simulator is named; the manuscript is of February 2004; ns-2's floor was 1 s from May 2001 to October 2004",
    ),
    Assumption(
        "RED",
        "not gentle, ns-2's `wait`, packets, P_max 0.02; gentle, the spacing of 1993 and a P_max of 0.1 in the search",
        "the paper drops every arrival above TH_max and prints P_max; ns-2's defaults are gentle and 0.1",
    ),
    Assumption(
        "M-RED: R1 to R5",
        "priority arrivals are no samples and do not count; idle is a queue without any packet; priority passes at "
        "TH_max and is lost at a full queue; each alternative in the search",
        "figs. 5 and 6 leave them open; the page of M-RED gives the reasons",
    ),
    Assumption(
        "old cell",
        "one for all moving hosts, drop-tail of 300; one for each host in the search",
        "fig. 8 shows two cells and one moving host",
    ),
    Assumption(
        "old base station's buffer",
        "64 packets for each host",
        '"a maximum of one window of burst priority packets"',
    ),
    Assumption(
        "where the mark survives",
        "ToS is copied inwards and outwards at tunnels, and cleared behind the air",
        "R9: decapsulation comes before the base station",
    ),
    STARTS,
    Assumption(
        "the deviation of figs. 16 and 17",
        "over the seven cases, of each resident; over time, by the window, as a curve",
        'the paper prints 60 and 37 kbit/s for "the handoff cases" and does not say what they are taken over',
    ),
)
