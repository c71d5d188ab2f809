"""Ripple effects of handover mechanisms of layers 2 and 3 on TCP.

`experiments` fills the paper's network with a mechanism, a TCP and a handover of layer 2, `evidence` runs them,
`measures` says what is measured in a run, `claims` decides, `figures` draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roamlab.papers.reporting import headline, mean_cell, origin, write_csv
from roamlab.papers.ripple import claims, evidence, experiments, explanations, figures
from roamlab.papers.ripple.claims import NAMES
from roamlab.papers.ripple.experiments import (
    DEFAULT,
    DELAYS_MS,
    HANDOVERS,
    MECHANISMS,
    RFC,
    SOFT_MS,
    TCPS,
)
from roamlab.papers.runs import Batch
from roamlab.showing.page import Measured, Row, Table
from roamlab.showing.report import Assumption, Parameter, Report

if TYPE_CHECKING:
    from roamlab.papers import Session
    from roamlab.papers.ripple.evidence import Evidence
    from roamlab.papers.ripple.explanations import Explained
    from roamlab.papers.ripple.figures import Named
    from roamlab.scenarios.scenario import Scenario

RUNS = 20


def example() -> Scenario:
    """A run that the report lets one explore."""
    return experiments.handovers("newreno", "Buffer", -200)


def reproduce(session: Session) -> Report:
    """Simulate, measure and draw."""
    batch = Batch()
    few = evidence.few_runs(session.runs)
    default = evidence.evidence(batch, DEFAULT, session.runs)
    rfc = evidence.evidence(batch, RFC, few)
    named = evidence.named(batch, few)
    effects = explanations.gather(batch, session.runs)
    batch.make(session.store, session.threads)
    explained = explanations.explain(effects, session.store, session.threads)
    decided = [claims.blocks(named), *claims.read(default)]
    tables = {
        "points": _points(default),
        "peak": _peak(default),
        "named": _named(default, named),
        "explained": _explained(explained),
        "causes": _causes(explained),
    }
    for name, table in tables.items():
        write_csv(table, session.tables / f"{name}.csv")
    return Report(
        title="Ripple effects: handover mechanisms of layers 2 and 3 under four TCPs",
        paper="Ripple effects of mobility mechanisms of lower layers on TCP (ns-2.26; Buffer, noBuffer and biCast "
        "under Tahoe, Reno, NewReno and SACK): figures 3 to 6, reproduced from packet-level runs.",
        headline=headline(decided, figures.MAIN),
        main=figures.MAIN,
        lead=figures.LEAD,
        shows=figures.SHOWS,
        claims=decided,
        figures=figures.draw(default, rfc, named, explained, session.figures),
        tables=list(tables.values()),
        parameters=_PARAMETERS,
        assumptions=_ASSUMPTIONS,
        origin=origin(session.runs, few, str(DEFAULT)),
    )


def _points(found: Evidence) -> Table:
    def row(tcp: str, delay: int) -> Row:
        cases = [found.moved[tcp, way, delay] for way in MECHANISMS]
        return (
            NAMES[tcp],
            f"{delay:+d}",
            *(mean_cell(claims.throughput(found, tcp, way, delay).tolist()) for way in MECHANISMS),
            *(mean_cell(claims.timeouts(found, tcp, way, delay).tolist()) for way in MECHANISMS),
            *(mean_cell([run.throughput_bps / 1e3 for run in runs]) for runs in cases),
            *(mean_cell([run.duplicates / HANDOVERS for run in runs]) for runs in cases),
        )

    measured = (
        "throughput [1]",
        "timeouts per handover",
        "throughput [kbit/s]",
        "duplicates per handover [pkt]",
    )
    headings = ("TCP", "delay [ms]", *(f"{way}, {what}" for what in measured for way in MECHANISMS))
    rows = [row(tcp, delay) for tcp in TCPS for delay in DELAYS_MS]
    return Table("Figs. 3 to 6: means over the runs, with 95 % intervals", headings, rows)


def _peak(found: Evidence) -> Table:
    """The overlap with the highest throughput, mean of TCPs and mechanisms; the smallest of equal ones."""
    through = [
        sum(claims.throughput(found, tcp, way, overlap) for tcp in TCPS for way in MECHANISMS)
        for overlap in SOFT_MS
    ]
    peaks = [float(SOFT_MS[at]) for at in np.argmax(np.array(through), axis=0)]
    rows: list[Row] = [("default", mean_cell(peaks))]
    return Table("Where throughput is highest in a soft handover", ("reading", "overlap [ms]"), rows)


def _named(default: Evidence, named: Named) -> Table:
    rows: list[Row] = [
        (
            protocol,
            NAMES[tcp],
            f"{delay:+d}",
            mean_cell([run.throughput_bps / 1e3 for run in runs]),
            mean_cell(figures.named_throughput(default, named, (tcp, protocol, delay)).tolist()),
            mean_cell(figures.named_timeouts(default, named, (tcp, protocol, delay)).tolist()),
        )
        for (tcp, protocol, delay), runs in named.items()
    ]
    headings = (
        "protocol",
        "TCP",
        "delay [ms]",
        "throughput [kbit/s]",
        "throughput [1]",
        "timeouts per handover",
    )
    return Table("Named protocols: means over the runs, with 95 % intervals", headings, rows)


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
        for taken in of.effect.readings
    ]
    headings = (
        "difference",
        "of",
        "reading",
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


_PARAMETERS = (
    Parameter(
        "network",
        "12 wired nodes, 21 base stations, depth 5",
        "section III-A; the layout that fits the counts",
    ),
    Parameter("run", "100 s, 20 handovers", "section III-A"),
    Parameter("layer 2, hard", "gaps of 500 to 0 ms by 100", "section III-A"),
    Parameter("layer 2, soft", "overlaps of 0 to 500 ms by 100", "section III-A"),
    Parameter("TCP", "Tahoe, Reno, NewReno, SACK as in ns-2 of 2003", "section III; ns-2.26"),
    Parameter("medium", "802.11b's contention", "abstract"),
    Parameter("Buffer, noBuffer", "proactive: packets at the candidate, or none", "section III"),
    Parameter("biCast", "reactive: both branches once layer 2 has changed", "sections II-C and III"),
    Parameter("measures", "throughput, and timeouts of the sender's timer", "section III"),
)

_ASSUMPTIONS = (
    Assumption(
        "rates and delays", "wires 10 Mbit/s, 5 ms, correspondent 20 ms; air's delay 1 ms", "not in the paper"
    ),
    Assumption("TCP packets", "1000 B", "ns-2's default, which the paper does not change"),
    Assumption("normalised timeouts", "per handover", "not in the paper; there are none without handovers"),
    Assumption("every other choice", "see the table of the paper's sentences", "sentences.toml"),
    Assumption(
        "what differs between runs",
        "the start of the download, the time of each move, the backoffs of 802.11",
        "not in the paper",
    ),
)
