"""TCP and UDP over a wireless access network with BCMP.

`experiments` fills the paper's tree and mesh with handovers, the traffic of people, and a download,
`evidence` runs them, `measures` measures a run, `claims` decides, `figures` draws.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING

from roamlab.papers.bcmp import claims, evidence, experiments, figures
from roamlab.papers.bcmp.claims import NAMES
from roamlab.papers.bcmp.experiments import HANDOVERS, HIGH, TCPS, TOPOLOGIES, WAYS
from roamlab.papers.bcmp.measures import STEPS_MS
from roamlab.papers.reporting import Parts, mean, mean_cell, report, table_of
from roamlab.papers.runs import Batch

if TYPE_CHECKING:
    from roamlab.papers import Session
    from roamlab.papers.bcmp.evidence import Case, Evidence, Point
    from roamlab.papers.bcmp.measures import Download
    from roamlab.scenarios.scenario import Scenario
    from roamlab.showing.page import Measured, Table
    from roamlab.showing.report import Report

RUNS = 9
"""With 50 handovers each they are 450: the fewest in which no loss decides two shares of `claims.RARELY`."""


def example() -> Scenario:
    """A run that the report lets one explore."""
    return experiments.downloads("tree", "unplanned", "newreno", 20)


def reproduce(session: Session) -> Report:
    """Simulate, measure and draw."""
    batch, under = Batch(), session.interpretation("bcmp")
    few = evidence.few_runs(session.runs)
    found = evidence.evidence(batch, under, session.runs)
    rules = evidence.other_rules(batch, few)
    swept = evidence.sweep(batch, session.runs, under)
    procedures = evidence.procedures(batch, few, under)
    session.make(batch)
    rules = {session.named: swept} | rules
    decided = {
        "bcmp.login": partial(claims.login, procedures, under.moves),
        "bcmp.nomove": partial(claims.nomove, swept, str(under)),
        **{name: partial(of, found) for name, of in claims.OF_INTERPRETATION.items()},
    }
    tables = {
        "throughput": partial(_throughput, swept),
        "streams": partial(_streams, found),
        "distributions": partial(_distributions, found),
        "rules": partial(_rules, rules),
    }
    drawings = figures.drawings(found, swept, rules, session.figures)
    return report("bcmp", session, batch, Parts(decided, tables, drawings), few, under)


def _throughput(swept: dict[Point, list[Download]]) -> Table:
    return table_of(
        "Figs. 6 and 7: means over the runs, with 95 % intervals",
        ("network", "handovers", "TCP", "window [pkt]"),
        (
            ((topology, way, NAMES[tcp], str(window)), runs)
            for (topology, way, tcp, window), runs in swept.items()
        ),
        {
            "throughput [1]": lambda runs: mean_cell(claims.share(runs).tolist()),
            "timeouts [1/s]": lambda runs: mean_cell([run.timeouts / HANDOVERS for run in runs]),
            "fast retransmits [1/s]": lambda runs: mean_cell(
                [run.fast_retransmits / HANDOVERS for run in runs]
            ),
        },
    )


def _streams(found: Evidence) -> Table:
    def lost(case: Case) -> str | Measured:
        return (
            ""
            if case[1] == "none"
            else mean_cell([float(counts.mean()) for counts in claims.lost(found, case)])
        )

    return table_of(
        "Call, film and conference: means over the runs, with 95 % intervals",
        ("network", "handovers"),
        ((case, case) for case in product(TOPOLOGIES, WAYS)),
        {
            "lost in a handover [pkt]": lost,
            "most [pkt]": lambda case: (
                "" if case[1] == "none" else str(max(counts.max() for counts in claims.lost(found, case)))
            ),
            "forwarding delay [ms]": mean(found.streams, lambda run: 1e3 * run.forwarding_s),
            "largest delay variance [ms]": mean(found.streams, lambda run: 1e3 * run.largest_variance_s),
        },
    )


def _distributions(found: Evidence) -> Table:
    def above(of: str, key: tuple[Case, float]) -> Measured:
        case, step = key
        return mean_cell(claims.above(found.streams[case], of, step).tolist())

    return table_of(
        "Fig. 5 and the delay variance: shares of the call's packets",
        ("network", "handovers", "above [ms]"),
        (((*case, f"{step:g}"), (case, step)) for case in product(TOPOLOGIES, WAYS) for step in STEPS_MS),
        {"delay variance [1]": partial(above, "variance"), "jitter [1]": partial(above, "jitter")},
    )


def _rules(rules: dict[str, dict[Point, list[Download]]]) -> Table:
    def throughput(tcp: str, key: tuple[str, str]) -> Measured:
        name, topology = key
        return mean_cell(claims.share(rules[name][topology, "unplanned", tcp, HIGH]).tolist())

    return table_of(
        f"Unplanned handovers, window of {HIGH}, by TCP's rules: means with 95 % intervals",
        ("rules of TCP", "network"),
        ((key, key) for key in product(rules, TOPOLOGIES)),
        {f"{NAMES[tcp]}, throughput [1]": partial(throughput, tcp) for tcp in TCPS},
    )
