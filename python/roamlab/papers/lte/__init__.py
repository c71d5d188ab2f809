"""Improving TCP performance during the intra LTE handover.

`experiments` fills the paper's model with the mobiles, queues and schemes of its figures, `evidence` runs
them, `measures` measures a run. `model` is section IV and `modelfit` lays it over the runs, `claims` decides,
`figures` draws.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

from roamlab.papers.deciding import each
from roamlab.papers.lte import claims, evidence, experiments, figures, model, modelfit
from roamlab.papers.lte.experiments import PREDICTIONS, TARGETS, Interpretation
from roamlab.papers.reporting import Parts, mean, mean_cell, report, table_of
from roamlab.papers.runs import SEED, Batch
from roamlab.running.run import simulate
from roamlab.showing.chart import chart
from roamlab.showing.page import Measured, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from roamlab.papers import Session
    from roamlab.papers.deciding import Pick
    from roamlab.papers.lte.evidence import Active12, Anatomy, Evidence
    from roamlab.papers.lte.experiments import Scheme
    from roamlab.papers.lte.measures import Active, Handover
    from roamlab.papers.lte.model import Case
    from roamlab.scenarios.scenario import Scenario
    from roamlab.showing.report import Handover as Drawn
    from roamlab.showing.report import Report

RUNS = 200


def example() -> Scenario:
    """A run that the report lets one explore."""
    return experiments.trajectory("standard")


def reproduce(session: Session) -> Report:
    """Simulate, measure and draw."""
    batch, under = Batch(), session.interpretation("lte")
    few = evidence.few_runs(session.runs)
    anatomy = evidence.anatomy(batch, session.runs, under)
    found = evidence.evidence(batch, under, session.runs)
    weighed = evidence.active(batch, Interpretation(queue_weight=0.002), few, evidence.TABLE_IV)
    session.make(batch)
    tables = {
        "outcomes": partial(_outcomes, found),
        "model": partial(_model, found),
        "table4": partial(_table4, found.active, "Table IV: drop rates over 10 s"),
        "table4-weight": partial(_table4, weighed, "Table IV with RED's weight 0.002"),
        "fig12": partial(_fig12, found, anatomy),
        "tunnels": partial(_tunnels, anatomy),
        "predictions": partial(_predictions, anatomy),
        "double": partial(_double, anatomy),
        "schedulers": partial(_schedulers, anatomy),
        "causes": partial(_causes, anatomy),
    }
    traced = cache(partial(evidence.traces, found))
    if session.part is None:
        traced()
    drawings = figures.drawings(anatomy, found, traced, session.figures)
    handovers = {
        name: partial(_messages, scheme, under, session.figures) for scheme, name in figures.CHARTS.items()
    }
    parts = Parts(claims.every(anatomy, found), tables, drawings, handovers)
    return report("lte", session, batch, parts, few, under)


def _messages(scheme: Scheme, under: Interpretation, folder: Path) -> Drawn:
    made = chart(simulate(experiments.trajectory(scheme, interpretation=under), SEED), experiments.REF)
    return figures.messages(made, scheme, folder)


def _shares(by: Mapping[Any, Sequence[Handover]]) -> dict[str, Callable[[Any], Measured]]:
    """Columns with the share of the runs of each case."""

    def share(case: Case, key: Any) -> Measured:
        return Measured(claims.share_of(case, by[key]), ".3f")

    return {f"P({name})": partial(share, case) for case, name in figures.CASES.items()}


def _total(by: Mapping[Any, Sequence[Handover]], pick: Pick) -> Callable[[Any], str]:
    """A column with a total of all runs."""
    return lambda key: str(sum(each(by[key], pick)))


def _outcomes(found: Evidence) -> Table:
    by = found.forwarding
    return table_of(
        "Figs. 8 and 11: the fate of the flow",
        ("procedure", "mobiles"),
        (((figures.NAMES[case[0]], f"1 + {case[1]}"), case) for case in by),
        {
            **_shares(by),
            "timeouts of all runs": _total(by, lambda run: run.congestion.timeouts),
            "of these spurious": _total(by, lambda run: run.congestion.spurious),
            "runs that lost an end marker": _total(by, "end_marker_lost"),
            "packets lost": mean(by, "lost"),
            "longest round trip of all runs [ms]": lambda case: (
                f"{max(run.longest_round_trip for run in by[case]) * 1e3:.0f}"
            ),
            "longest silence [ms]": mean(by, lambda run: run.silence_s * 1e3),
        },
    )


def _model(found: Evidence) -> Table:
    def frequency(case: Case, fit: modelfit.Fit) -> str:
        return f"{fit.frequency[case]:.3f}"

    def predicted(interpretation: model.Interpretation, fit: modelfit.Fit) -> str:
        return f"{fit.predicted[interpretation]:.0f}"

    def residual(interpretation: model.Interpretation, fit: modelfit.Fit) -> Measured:
        return Measured(fit.residual[interpretation], ".0f")

    factors = dict(zip(model.CASES, ("f_DI", "f_DWH", "f_DSS"), strict=True))
    return table_of(
        "Section IV with the simulated probabilities",
        ("mobiles", "runs outside equation 4"),
        (((fit.group, str(fit.outside)), fit) for fit in modelfit.fits(found)),
        {
            **{name: partial(frequency, case) for case, name in factors.items()},
            "simulated [segments]": lambda fit: Measured(fit.simulated, ".0f"),
            **{
                f"predicted, {interpretation}": partial(predicted, interpretation)
                for interpretation in model.READINGS
            },
            **{
                f"residual, {interpretation}": partial(residual, interpretation)
                for interpretation in model.READINGS
            },
            "of it before the handover": lambda fit: Measured(fit.before, ".0f"),
        },
    )


_PAPER_IV = {"droptail": "2.2 / 3.9", "red": "2.2 / 3.6", "mark": "2.1 / 3.3"}
_RATES: dict[str, Callable[[Active], float]] = {
    "R to source, drop rate [%]": lambda run: run.drops.rate["r->enb1"],
    "R to target, drop rate [%]": lambda run: run.drops.rate["r->enb2"],
}


def _table4(found: dict[Active12, list[Active]], title: str) -> Table:
    return table_of(
        title,
        ("queue",),
        (((case[1],), case) for case in evidence.TABLE_IV),
        {
            **{name: mean(found, rate) for name, rate in _RATES.items()},
            "printed in table IV [%]": lambda case: _PAPER_IV[case[1]],
            "answers to marks": mean(found, lambda run: run.drops.answers),
        },
    )


def _fig12(found: Evidence, anatomy: Anatomy) -> Table:
    cases = {(*case, found.interpretation.window_aqm): found.active[case] for case in evidence.FIG12}
    cases |= {(*case, evidence.NARROW_PKTS): runs for case, runs in anatomy.narrow.items()}
    by = {case: [run.handover for run in runs] for case, runs in cases.items()}
    return table_of(
        "Fig. 12: from the command to one round trip after attachment",
        ("procedure", "queue", "largest window"),
        (((figures.NAMES[case[0]], case[1], f"{case[2]} pkt"), case) for case in by),
        {
            "delivered [kB]": mean(by, lambda run: run.handover_bytes / 1e3),
            "in [ms]": mean(by, lambda run: run.handover_s * 1e3),
            "rate [MB/s]": mean(by, lambda run: run.handover_bytes / 1e6 / run.handover_s),
            "received in 1.5 s [pkt]": mean(by, "received"),
            "lost in 1.5 s [pkt]": mean(by, "lost"),
            **_shares(by),
            "spurious timeouts of all runs": _total(by, lambda run: run.congestion.spurious),
        },
    )


def _tunnels(anatomy: Anatomy) -> Table:
    return table_of(
        "Fig. 7: marks in tunnels",
        ("tunnel header and flows",),
        (((name,), name) for name in anatomy.tunnels),
        {
            "answers to marks": mean(anatomy.tunnels, lambda run: run.drops.answers),
            "dropped at the tunnel's end [pkt]": mean(anatomy.tunnels, lambda run: run.drops.tunnel_drops),
            **{name: mean(anatomy.tunnels, rate) for name, rate in _RATES.items()},
        },
    )


def _predictions(anatomy: Anatomy) -> Table:
    by = anatomy.predictions
    return table_of(
        "Predictions: right, late and wrong",
        ("predicted", "comes"),
        (
            ((name, "yes" if comes else "no"), (name, comes))
            for name in PREDICTIONS
            for comes in (True, False)
        ),
        {
            "longest silence [ms]": mean(by, lambda run: run.silence_s * 1e3),
            "received in 1.5 s [pkt]": mean(by, "received"),
            "lost in 1.5 s [pkt]": mean(by, "lost"),
            "P(timeout)": _shares(by)["P(timeout)"],
        },
    )


def _double(anatomy: Anatomy) -> Table:
    return table_of(
        "Section III.B: forwarded packets in the core router",
        ("mobiles in the target cell",),
        (((str(n),), n) for n in TARGETS),
        {
            "forwarded [pkt]": mean(anatomy.double, "packets"),
            "first wait [ms]": mean(anatomy.double, lambda run: run.waited_first_s * 1e3),
            "second wait [ms]": mean(anatomy.double, lambda run: run.waited_second_s * 1e3),
        },
    )


def _schedulers(anatomy: Anatomy) -> Table:
    by = anatomy.schedulers

    def timeouts(scheme: Scheme, name: str) -> Measured:
        return Measured(claims.share_of("timeout", by[name].forwarding[scheme]), ".3f")

    def delivered(case: Active12, name: str) -> Measured:
        return mean_cell([run.handover.handover_bytes / 1e3 for run in by[name].active[case]])

    def dropped(rate: Callable[[Active], float], name: str) -> Measured:
        return mean_cell(each(by[name].active["standard", "droptail"], rate))

    schemes: tuple[Scheme, ...] = ("standard", "predictive")
    return table_of(
        "Schedulers of the eNodeBs",
        ("scheduler",),
        (((name,), name) for name in by),
        {
            **{f"P(timeout), {scheme}, five mobiles": partial(timeouts, scheme) for scheme in schemes},
            **{f"delivered, {', '.join(case)} [kB]": partial(delivered, case) for case in by["wfq"].active},
            **{f"drop-tail: {name}": partial(dropped, rate) for name, rate in _RATES.items()},
        },
    )


def _causes(anatomy: Anatomy) -> Table:
    by = anatomy.causes
    return table_of(
        "Reruns without a cause, five mobiles in the target cell",
        ("procedure", "without a cause"),
        (((figures.NAMES[case[0]], case[1]), case) for case in by),
        {
            **_shares(by),
            "P(spurious timeout)": lambda case: Measured(claims.spurious(by[case]), ".3f"),
            "packets lost": mean(by, "lost"),
            "longest round trip [ms]": mean(by, lambda run: run.longest_round_trip * 1e3),
        },
    )
