"""TCP performance enhancement by implicit priority forwarding (IPF) in Mobile IP based networks.

`experiments` fills the paper's model with the hosts of its figures, `evidence` runs them, `measures` measures
a run, `claims` decides, `figures` draws.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.papers.deciding import each
from roamlab.papers.ipf import claims, claims_plan, evidence, experiments, figures
from roamlab.papers.ipf.experiments import GAPS_S, QUEUES
from roamlab.papers.ipf.measures import DEVIATION_WINDOWS_S
from roamlab.papers.reporting import Parts, mean, mean_cell, report, table_of
from roamlab.papers.runs import Batch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from roamlab.papers import Session
    from roamlab.papers.deciding import Pick
    from roamlab.papers.ipf.evidence import Evidence, Sweep
    from roamlab.scenarios.scenario import Scenario
    from roamlab.showing.page import Measured, Table
    from roamlab.showing.report import Report

RUNS = 30


def example() -> Scenario:
    """A run that the report lets one explore."""
    return experiments.arrival(2, "mred")


def reproduce(session: Session) -> Report:
    """Simulate, measure and draw."""
    batch, under = Batch(), session.interpretation("ipf")
    sweep = evidence.swept(batch, under, session.runs)
    found = evidence.evidence(batch, under, session.runs)
    anatomy = evidence.anatomy(batch, session.runs, under)
    traces = evidence.traces(batch, under)
    session.make(batch)
    tables = {
        "utilisation": partial(_points, sweep),
        "standard": partial(_standard, found),
        "cases": partial(_cases, sweep),
        "deviations": partial(_deviations, sweep),
    }
    drawings = figures.drawings(found, sweep, traces, session.figures)
    parts = Parts(claims.every(anatomy, found, sweep), tables, drawings)
    return report("ipf", session, batch, parts, evidence.few_runs(session.runs), under)


def _by_queue(
    by: Mapping[Any, Sequence[Any]], heading: str, pick: Pick
) -> dict[str, Callable[[Any], Measured]]:
    """A column for RED and one for M-RED; the runs of a row are under its key and the queue."""

    def cell(queue: str, key: tuple[Any, ...]) -> Measured:
        return mean_cell(each(by[*key, queue], pick))

    names = {"red": "RED", "mred": "M-RED"}
    return {heading.format(name): partial(cell, queue) for queue, name in names.items()}


def _points(sweep: Sweep) -> Table:
    points = sweep.points
    return table_of(
        "Figs. 12 and 13: means over the runs, with 95 % intervals",
        ("visits", "hosts"),
        (
            (tuple(map(str, point)), point)
            for point in dict.fromkeys((count, hosts) for count, hosts, _ in points)
        ),
        {
            **_by_queue(points, "utilisation, {} [%]", lambda run: run.utilisation * 100),
            "priority packets": lambda point: mean_cell(each(points[*point, "mred"], "priority")),
            **_by_queue(points, "of these lost, {}", "priority_lost"),
            **_by_queue(points, "lost in all, {} [pkt]", "lost"),
            **_by_queue(points, "timeouts, {}", "timeouts"),
        },
    )


def _standard(found: Evidence) -> Table:
    of: Callable[[Pick], Callable[[Any], Measured]] = partial(mean, found.standard)
    return table_of(
        "Figs. 10, 11 and 14: means over the runs, with 95 % intervals",
        ("queue",),
        (((figures.NAMES[queue],), queue) for queue in QUEUES),
        {
            "rise at a handoff [pkt]": of("jump"),
            "highest average at the fifth visit [pkt]": of("peak_average"),
            "highest average of the run [pkt]": of("highest_average"),
            "shortest queue of the run [pkt]": of("lowest"),
            "mean queue from A to B [pkt]": of("before"),
            "mean queue of the 3 s after B [pkt]": of("after"),
            "a moving host, 10 s after handoffs [kbit/s]": of(lambda run: run.moving_bps / 1e3),
            "a resident, 10 s after handoffs [kbit/s]": of(
                lambda run: float(np.mean(run.residents_after_bps)) / 1e3
            ),
            "a resident over 200 s [kbit/s]": of(lambda run: run.residents_bps / 1e3),
            "Jain's index, 10 s after handoffs [1]": of("fairness"),
            "half of the residents back off together, after a handoff [s]": of("resident_period_s"),
            "half of the moving hosts back off together, after a handoff [s]": of("moving_period_s"),
        },
    )


def _cases(sweep: Sweep) -> Table:
    of = partial(_by_queue, sweep.planned)
    return table_of(
        "Figs. 16 and 17: a connection already present, means over the runs",
        ("time between hosts [s]",),
        (((f"{gap:g}",), (gap,)) for gap in GAPS_S),
        {
            **of("throughput, {} [kbit/s]", figures.mean_kbps),
            **of("deviation over windows of 1 s, {} [kbit/s]", figures.deviation_kbps),
            **of("lost, {} [pkt]", "lost"),
            **of("lost within 1.5 s of handoffs, {} [pkt]", "lost_at_arrivals"),
        },
    )


def _deviations(sweep: Sweep) -> Table:
    def over(queue: str, window: float | None) -> Measured:
        taken = (
            claims_plan.over_time(sweep, queue, window) if window else claims_plan.over_cases(sweep, queue)
        )
        return mean_cell(taken)

    return table_of(
        "Figs. 16 and 17: the deviation by what it is taken over",
        ("standard deviation over",),
        [
            *(((f"windows of {window:g} s",), window) for window in DEVIATION_WINDOWS_S),
            (("the cases",), None),
        ],
        {
            "RED, printed 60 [kbit/s]": partial(over, "red"),
            "M-RED, printed 37 [kbit/s]": partial(over, "mred"),
        },
    )
