"""Ripple effects of handover mechanisms of layers 2 and 3 on TCP.

`experiments` fills the paper's network with a mechanism, a TCP and a handover of layer 2, `evidence` runs
them, `measures` measures a run, `claims` decides, `figures` draws.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from roamlab.papers.reporting import Parts, mean, mean_cell, report, table_of
from roamlab.papers.ripple import claims, evidence, experiments, explanations, figures
from roamlab.papers.ripple.claims import NAMES
from roamlab.papers.ripple.experiments import (
    DELAYS_MS,
    HANDOVERS,
    MECHANISMS,
    RFC,
    SOFT_MS,
    TCPS,
)
from roamlab.papers.runs import Batch
from roamlab.showing.page import Measured, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.papers import Session
    from roamlab.papers.ripple.evidence import Case, Evidence
    from roamlab.papers.ripple.explanations import Explained
    from roamlab.papers.ripple.figures import Named
    from roamlab.scenarios.scenario import Scenario
    from roamlab.showing.page import Row
    from roamlab.showing.report import Report

RUNS = 20


def example() -> Scenario:
    """A run that the report lets one explore."""
    return experiments.handovers("newreno", "Buffer", -200)


def reproduce(session: Session) -> Report:
    """Simulate, measure and draw."""
    batch, under = Batch(), session.interpretation("ripple")
    few = evidence.few_runs(session.runs)
    default = evidence.evidence(batch, under, session.runs)
    rfc = evidence.evidence(batch, RFC, few)
    named = evidence.named(batch, few, under)
    why = [name for name in explanations.NAMES_OF_EFFECTS if session.draws(f"why-{name}")]
    effects = explanations.gather(batch, session.runs, why)
    session.make(batch)
    explained = explanations.explain(effects, session.store, session.threads)
    decided = {
        "ripple.blocks": partial(claims.blocks, named),
        **{name: partial(of, default) for name, of in claims.OF_INTERPRETATION.items()},
    }
    tables = {
        "points": partial(_points, default),
        "peak": partial(_peak, default, session.named),
        "named": partial(_named, default, named),
    }
    if explained:
        tables |= {"explained": partial(_explained, explained), "causes": partial(_causes, explained)}
    drawings = figures.drawings(default, rfc, named, explained, session.figures)
    return report("ripple", session, batch, Parts(decided, tables, drawings), few, under)


def _points(found: Evidence) -> Table:
    measured: dict[str, Callable[[Case], Sequence[float]]] = {
        "throughput [1]": lambda case: claims.throughput(found, *case).tolist(),
        "timeouts per handover": lambda case: claims.timeouts(found, *case).tolist(),
        "throughput [kbit/s]": lambda case: [run.throughput_bps / 1e3 for run in found.moved[case]],
        "duplicates per handover [pkt]": lambda case: [
            run.duplicates / HANDOVERS for run in found.moved[case]
        ],
    }

    def cell(of: Callable[[Case], Sequence[float]], way: str, point: tuple[str, int]) -> Measured:
        return mean_cell(of((point[0], way, point[1])))

    return table_of(
        "Figs. 3 to 6: means over the runs, with 95 % intervals",
        ("TCP", "delay [ms]"),
        (((NAMES[tcp], f"{delay:+d}"), (tcp, delay)) for tcp in TCPS for delay in DELAYS_MS),
        {f"{way}, {what}": partial(cell, of, way) for what, of in measured.items() for way in MECHANISMS},
    )


def _peak(found: Evidence, named: str) -> Table:
    """The overlap with the highest throughput, mean of TCPs and mechanisms; the smallest of equal ones."""
    through = [
        sum(claims.throughput(found, tcp, way, overlap) for tcp in TCPS for way in MECHANISMS)
        for overlap in SOFT_MS
    ]
    peaks = [float(SOFT_MS[at]) for at in np.argmax(np.array(through), axis=0)]
    rows: list[Row] = [(named, mean_cell(peaks))]
    return Table("Where throughput is highest in a soft handover", ("interpretation", "overlap [ms]"), rows)


def _named(default: Evidence, named: Named) -> Table:
    def of(case: Case) -> tuple[str, str, str]:
        tcp, protocol, delay = case
        return protocol, NAMES[tcp], f"{delay:+d}"

    return table_of(
        "Named protocols: means over the runs, with 95 % intervals",
        ("protocol", "TCP", "delay [ms]"),
        ((of(case), case) for case in named),
        {
            "throughput [kbit/s]": mean(named, lambda run: run.throughput_bps / 1e3),
            "throughput [1]": lambda case: mean_cell(figures.named_throughput(default, named, case).tolist()),
            "timeouts per handover": lambda case: mean_cell(
                figures.named_timeouts(default, named, case).tolist()
            ),
        },
    )


def _explained(explained: list[Explained]) -> Table:
    rows: list[Row] = [
        (
            of.effect.what,
            name,
            of.effect.called if taken != "default" else taken,
            "" if taken == "default" else taken,
            mean_cell(explanations.values(of.effect, name, of.found[taken]).tolist()),
            *(
                Measured(explanations.counts(of.effect, name, of.found[taken], field))
                for field in ("timeouts", "fast_retransmits")
            ),
        )
        for of in explained
        for name in of.effect.of
        for taken in of.effect.interpretations
    ]
    headings = (
        "difference",
        "of",
        "interpretation",
        "without",
        "throughput [1]",
        "subtrahend: timeouts per handover",
        "subtrahend: fast retransmits per handover",
    )
    return Table("Surprising effects, and reruns without their causes, with 95 % intervals", headings, rows)


def _causes(explained: list[Explained]) -> Table:
    rows: list[Row] = []
    for of in explained:
        for panel, handover in zip(of.effect.panels, of.handovers, strict=True):
            tcp, way, delay = panel.case
            drawn = f"{NAMES[tcp]}, {way}, {delay:+d} ms{panel.without and '; without: '}{panel.without}"
            for (at, _), chain in zip(handover.cuts, handover.chains, strict=True):
                for step, line in enumerate(chain):
                    rows.append((of.effect.name, drawn, f"{at:.3f}", str(step + 1), line.strip()))
    headings = ("effect", "handover", "window cut at [s]", "step", "time [s] and what it was")
    return Table("Why the window was cut in the handovers drawn: the chains of causes", headings, rows)
