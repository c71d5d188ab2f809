"""Modified BLUE packet buffer for base stations in Mobile IP-based networks.

`experiments` bends the paper's model into the scenarios of its figures, `evidence` runs them, `measures`
measures a run, `claims` decides, `figures` draws.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from roamlab.papers.deciding import each
from roamlab.papers.mblue import claims, evidence, experiments, figures
from roamlab.papers.mblue.experiments import QUEUES, Interpretation
from roamlab.papers.reporting import Parts, mean, mean_cell, report, table_of
from roamlab.papers.runs import SEED, Batch
from roamlab.running.run import simulate
from roamlab.showing.page import Table

if TYPE_CHECKING:
    from pathlib import Path

    from roamlab.papers import Session
    from roamlab.papers.mblue.evidence import Anatomy, Evidence
    from roamlab.papers.mblue.measures import OneHandoff
    from roamlab.scenarios.scenario import Scenario
    from roamlab.showing.page import Measured
    from roamlab.showing.report import Handover, Report

RUNS = 100

_NEAREST = Interpretation(idle_mode="continuous", min_rto="1 s")
"""Setting that brings fig. 12 nearest to the printed numbers."""


def example() -> Scenario:
    """A run that the report lets one explore."""
    return experiments.one_handoff("mblue")


def reproduce(session: Session) -> Report:
    """Simulate, measure and draw."""
    batch, under = Batch(), session.interpretation("mblue")
    anatomy = evidence.anatomy(batch, session.runs, under)
    few = evidence.few_runs(session.runs)
    found = evidence.evidence(batch, under, session.runs)
    nearest = evidence.one_handoff(batch, _NEAREST, few)
    traces = evidence.traces(batch, under)
    session.make(batch)
    tables = {
        "table1": partial(_delays, anatomy),
        "means": partial(_means, found),
        "sync": partial(_synchronised, found),
        "fig12": partial(_received, {session.named: found.one, "empty at any time, RTO floor 1 s": nearest}),
    }
    handovers = {"signalling": partial(_signalling, under, session.figures)}
    drawings = figures.drawings(found, traces, session.figures)
    parts = Parts(claims.every(anatomy, found), tables, drawings, handovers)
    return report("mblue", session, batch, parts, few, under)


def _signalling(under: Interpretation, folder: Path) -> Handover:
    return figures.signalling(simulate(experiments.one_handoff("mblue", under), SEED), folder)


def _delays(anatomy: Anatomy) -> Table:
    rows = [
        (name, f"{claims.FORMULAS[name]:g}", f"{value:.3f}", f"{tolerance:.3f}")
        for name, (value, tolerance) in claims.measured_delays(anatomy).items()
    ]
    headings = ("quantity", "equation 1 [ms]", "simulated [ms]", "serialisation on the path [ms]")
    return Table("Table I: delays by formula and from simulated messages", headings, rows)


def _means(found: Evidence) -> Table:
    return table_of(
        "Means over the runs, with 95 % intervals",
        ("queue",),
        (((claims.NAMES[queue],), queue) for queue in QUEUES),
        {
            "received 9.5 to 13 s [pkt]": mean(found.one, "received"),
            "lost 10 to 11 s [pkt]": mean(found.one, "drops"),
            "flows that cut within 1 s": mean(found.one, "cutting"),
            "moving host over 40 s [kbit/s]": mean(found.three, lambda run: run.goodput_bps / 1e3),
            "residents over 40 s [kbit/s]": mean(found.three, lambda run: run.residents_bps / 1e3),
            "moving host, lost within 1 s of three handoffs [pkt]": mean(found.three, "lost_moving"),
            "residents, lost within 1 s of three handoffs [pkt]": mean(found.three, "lost_residents"),
            "mean queue between handoffs [pkt]": mean(found.three, "calm_queue"),
            "standard deviation of the queue [pkt]": mean(found.three, "deviation"),
        },
    )


def _synchronised(found: Evidence) -> Table:
    return table_of(
        "Synchronisation: backing off together, and windows in step",
        ("queue",),
        (((claims.NAMES[queue],), queue) for queue in QUEUES),
        {
            "flows that cut within 1 s of the handoff": mean(found.one, "cutting"),
            "most that cut within one round trip, 3 s after the handoff": mean(found.one, "together"),
            "most residents that cut within one round trip, 3 s before the handoff": mean(
                found.one, "together_calm"
            ),
            "window correlation, 3 s [1]": mean(found.one, "correlation"),
        },
    )


def _received(found: dict[str, dict[str, list[OneHandoff]]]) -> Table:
    return table_of(
        f"Fig. 12: received from 10 to 13 s; the paper's axis has room for some {claims.AXIS_PKTS}",
        ("interpretation",),
        (((name,), by_queue) for name, by_queue in found.items()),
        {f"{claims.NAMES[queue]} [pkt]": partial(_mean_received, queue) for queue in figures.PAPER_QUEUES},
    )


def _mean_received(queue: str, by_queue: dict[str, list[OneHandoff]]) -> Measured:
    return mean_cell(each(by_queue[queue], "received_after"))
