"""Improving TCP performance during the intra LTE handover.

`experiments` fills the paper's model with the mobiles, queues and schemes of its figures, `evidence` runs them,
`measures` says what is measured in a run, `model` is section IV and `modelfit` lays it over the runs, `claims` decides,
`figures` draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roamlab.papers.lte import claims, evidence, experiments, figures, model, modelfit
from roamlab.papers.lte.experiments import DEFAULT, PREDICTIONS, TARGETS, Reading
from roamlab.papers.lte.measures import PLACES
from roamlab.papers.reporting import headline, mean_cell, origin, write_csv
from roamlab.papers.runs import SEED, Batch
from roamlab.running.run import run
from roamlab.showing.chart import chart
from roamlab.showing.page import Measured, Row, Table
from roamlab.showing.report import Assumption, Parameter, Report

if TYPE_CHECKING:
    from roamlab.papers import Session
    from roamlab.papers.lte.evidence import Active12, Anatomy, Evidence
    from roamlab.papers.lte.measures import Active
    from roamlab.scenarios.scenario import Scenario

RUNS = 200


def example() -> Scenario:
    """A run that the report lets one explore."""
    return experiments.trajectory("standard")


def reproduce(session: Session) -> Report:
    """Simulate, measure and draw."""
    batch = Batch()
    few = evidence.few_runs(session.runs)
    anatomy = evidence.anatomy(batch, session.runs)
    found = evidence.evidence(batch, DEFAULT, session.runs)
    weighed = evidence.active(batch, Reading(queue_weight=0.002), few, evidence.TABLE_IV)
    batch.make(session.store, session.threads)
    decided = claims.decide(anatomy, found)
    tables = {
        "outcomes": _outcomes(found),
        "model": _model(found),
        "table4": _table4(found.active, "Table IV: drop rates over 10 s"),
        "table4-weight": _table4(weighed, "Table IV with RED's weight 0.002"),
        "fig12": _fig12(found, anatomy),
        "tunnels": _tunnels(anatomy),
        "predictions": _predictions(anatomy),
        "double": _double(anatomy),
        "causes": _causes(anatomy),
    }
    for name, table in tables.items():
        write_csv(table, session.tables / f"{name}.csv")
    made = chart(run(experiments.trajectory("standard"), SEED), experiments.REF)
    return Report(
        title="LTE: TCP during the intra LTE handover",
        paper="Improving TCP Performance During the Intra LTE Handover (Pacifico, Pacifico, Fischione, Hjalmarsson and "
        "Johansson): figures 2, 4 and 8 to 12, tables I to IV and equations 1 to 5, reproduced from packet-level runs.",
        headline=headline(decided, figures.MAIN),
        main=figures.MAIN,
        lead=figures.LEAD,
        shows=figures.SHOWS,
        claims=decided,
        figures=figures.draw(anatomy, found, session.figures),
        handovers=[figures.messages(made, session.figures)],
        tables=list(tables.values()),
        parameters=_PARAMETERS,
        assumptions=_ASSUMPTIONS,
        origin=origin(session.runs, few, str(DEFAULT)),
    )


def _outcomes(found: Evidence) -> Table:
    rows: list[Row] = []
    for (scheme, n), runs in found.forwarding.items():
        rows.append(
            (
                figures.NAMES[scheme],
                f"1 + {n}",
                *(Measured(claims.share_of(case, runs), ".3f") for case in figures.CASES),
                str(sum(run.congestion.timeouts for run in runs)),
                str(sum(run.congestion.spurious for run in runs)),
                str(sum(run.end_marker_lost for run in runs)),
                mean_cell([run.lost for run in runs]),
                f"{max(run.longest_round_trip for run in runs) * 1e3:.0f}",
                mean_cell([run.silence_s * 1e3 for run in runs]),
            )
        )
    headings = (
        "procedure",
        "mobiles",
        *(f"P({name})" for name in figures.CASES.values()),
        "timeouts of all runs",
        "of these spurious",
        "runs that lost an end marker",
        "packets lost",
        "longest round trip of all runs [ms]",
        "longest silence [ms]",
    )
    return Table("Figs. 8 and 11: what becomes of the flow", headings, rows)


def _model(found: Evidence) -> Table:
    rows: list[Row] = [
        (
            fit.group,
            str(fit.outside),
            *(f"{fit.frequency[case]:.3f}" for case in model.CASES),
            Measured(fit.simulated, ".0f"),
            *(f"{fit.predicted[reading]:.0f}" for reading in model.READINGS),
            *(Measured(fit.residual[reading], ".0f") for reading in model.READINGS),
            Measured(fit.before, ".0f"),
        )
        for fit in modelfit.fits(found)
    ]
    headings = (
        "mobiles",
        "runs outside equation 4",
        "f_DI",
        "f_DWH",
        "f_DSS",
        "simulated [segments]",
        *(f"predicted, {reading}" for reading in model.READINGS),
        *(f"residual, {reading}" for reading in model.READINGS),
        "of it before the handover",
    )
    return Table("Section IV with the simulated probabilities", headings, rows)


_PAPER_IV = {"droptail": "2.2 / 3.9", "red": "2.2 / 3.6", "mark": "2.1 / 3.3"}


def _table4(found: dict[Active12, list[Active]], title: str) -> Table:
    rows: list[Row] = [
        (
            case[1],
            *(mean_cell([run.drops.rate[place] for run in found[case]]) for place in PLACES),
            _PAPER_IV[case[1]],
            mean_cell([run.drops.answers for run in found[case]]),
        )
        for case in evidence.TABLE_IV
    ]
    headings = (
        "queue",
        "R to source, drop rate [%]",
        "R to target, drop rate [%]",
        "printed in table IV [%]",
        "answers to marks",
    )
    return Table(title, headings, rows)


def _fig12(found: Evidence, anatomy: Anatomy) -> Table:
    rows: list[Row] = []
    narrow = f"{evidence.NARROW_PKTS} pkt"
    cases = [(case, f"{found.reading.window_aqm} pkt", found.active[case]) for case in evidence.FIG12]
    cases += [(case, narrow, runs) for case, runs in anatomy.narrow.items()]
    for (scheme, aqm), window, runs in cases:
        handovers = [run.handover for run in runs]
        rows.append(
            (
                figures.NAMES[scheme],
                aqm,
                window,
                mean_cell([run.handover_bytes / 1e3 for run in handovers]),
                mean_cell([run.handover_s * 1e3 for run in handovers]),
                mean_cell([run.handover_bytes / 1e6 / run.handover_s for run in handovers]),
                mean_cell([run.received for run in handovers]),
                mean_cell([run.lost for run in handovers]),
                *(Measured(claims.share_of(case, handovers), ".3f") for case in figures.CASES),
                str(sum(run.congestion.spurious for run in handovers)),
            )
        )
    headings = (
        "procedure",
        "queue",
        "largest window",
        "delivered [kB]",
        "in [ms]",
        "rate [MB/s]",
        "received in 1.5 s [pkt]",
        "lost in 1.5 s [pkt]",
        *(f"P({name})" for name in figures.CASES.values()),
        "spurious timeouts of all runs",
    )
    return Table("Fig. 12: from the command to one round trip after attachment", headings, rows)


def _tunnels(anatomy: Anatomy) -> Table:
    rows: list[Row] = [
        (
            name,
            mean_cell([run.drops.answers for run in runs]),
            mean_cell([run.drops.tunnel_drops for run in runs]),
            *(mean_cell([run.drops.rate[place] for run in runs]) for place in PLACES),
        )
        for name, runs in anatomy.tunnels.items()
    ]
    headings = (
        "tunnel header and flows",
        "answers to marks",
        "dropped at the tunnel's end [pkt]",
        "R to source, drop rate [%]",
        "R to target, drop rate [%]",
    )
    return Table("Fig. 7: marks in tunnels", headings, rows)


def _predictions(anatomy: Anatomy) -> Table:
    rows: list[Row] = [
        (
            name,
            "yes" if comes else "no",
            mean_cell([run.silence_s * 1e3 for run in anatomy.predictions[name, comes]]),
            mean_cell([run.received for run in anatomy.predictions[name, comes]]),
            mean_cell([run.lost for run in anatomy.predictions[name, comes]]),
            Measured(claims.share_of("timeout", anatomy.predictions[name, comes]), ".3f"),
        )
        for name in PREDICTIONS
        for comes in (True, False)
    ]
    headings = (
        "predicted",
        "comes",
        "longest silence [ms]",
        "received in 1.5 s [pkt]",
        "lost in 1.5 s [pkt]",
        "P(timeout)",
    )
    return Table("Predictions: right, late and wrong", headings, rows)


def _double(anatomy: Anatomy) -> Table:
    rows: list[Row] = [
        (
            str(n),
            mean_cell([run.packets for run in anatomy.double[n]]),
            mean_cell([run.waited_first_s * 1e3 for run in anatomy.double[n]]),
            mean_cell([run.waited_second_s * 1e3 for run in anatomy.double[n]]),
        )
        for n in TARGETS
    ]
    headings = ("mobiles in the target cell", "forwarded [pkt]", "first wait [ms]", "second wait [ms]")
    return Table("Section III.B: forwarded packets in the core router", headings, rows)


def _causes(anatomy: Anatomy) -> Table:
    rows: list[Row] = [
        (
            figures.NAMES[scheme],
            cause,
            *(Measured(claims.share_of(case, runs), ".3f") for case in figures.CASES),
            Measured(claims.spurious(runs), ".3f"),
            mean_cell([run.lost for run in runs]),
            mean_cell([run.longest_round_trip * 1e3 for run in runs]),
        )
        for (scheme, cause), runs in anatomy.causes.items()
    ]
    headings = (
        "procedure",
        "without a cause",
        *(f"P({name})" for name in figures.CASES.values()),
        "P(spurious timeout)",
        "packets lost",
        "longest round trip [ms]",
    )
    return Table("Reruns without a cause, five mobiles in the target cell", headings, rows)


_PARAMETERS = (
    Parameter("router links", "12 Mbit/s, 2 ms, queue of 90 packets", "tables I, II and III"),
    Parameter("server links", "100 Mbit/s, 2 ms", "table I"),
    Parameter("eNodeB queue", "200 packets", "table I"),
    Parameter("scheduler", "WFQ", "table I"),
    Parameter("reordering", "on", "table I"),
    Parameter("detach time", "30 ms, random access included", "table I, section VI.A"),
    Parameter("packet", "1500 B: 1460 B and 40 B of headers", "table I"),
    Parameter("TCP", "Reno, window 44", "section VI.A, table II"),
    Parameter("handover", "2.3 s", "figs. 9 and 10"),
    Parameter("prediction step", "130 ms", "table II"),
    Parameter("mobiles", "1 + 2 to 5 (figs. 8 to 11), 4 + 3 (tables III and IV)", "tables II and III"),
    Parameter("RED", "20 and 65 packets, max_p 0.1, queue of 90", "table III"),
    Parameter(
        "duration", "10 s with AQM; else 3.6 s of the 5 s", "tables II and III; all is measured by then"
    ),
)

_ASSUMPTIONS = (
    Assumption(
        "position of gateway and MME",
        "a gateway between servers and router, 100 Mbit/s and 2 ms away; the MME behind it",
        "fig. 1 shows neither",
    ),
    Assumption("path of X2", "over the core router", "section II says so"),
    Assumption(
        "rate of the source cell",
        "5 Mbit/s for each mobile; 4 and 6 Mbit/s and a shared cell of 24 Mbit/s in the search",
        'the round trip is "the time needed to the SeNodeB to emptying its buffer" (section V.A.2), "around 100 ms" '
        "(section VI.B.1); a window of 44 takes 106 ms at 5 Mbit/s",
    ),
    Assumption(
        "rate of the target cell",
        "24 Mbit/s",
        'its bit rate is "comparable to or even larger than wired links" (section I)',
    ),
    Assumption("delay of the air link", "5 ms", "table I prints the latency of wired links alone"),
    Assumption(
        "cross traffic",
        "one FTP flow to the source base station, beside the mobiles; none and two in the search",
        "table I and section VI.A name FTP cross traffic on the core router without a number; table II attaches one "
        "mobile to the source",
    ),
    Assumption("GTP headers", "not counted", "1500 B is read as the packet on the wire"),
    Assumption(
        "RTO floor",
        "200 ms, tick 10 ms; 100 ms and 1 s in the search",
        "RFC 2988 says 1 s, with which no timer can expire in figs. 9 and 10; ns-2's default is 200 ms",
    ),
    Assumption(
        "window with AQM",
        "1000 packets, which never limits; 44 and 200 in the search",
        "table III prints none; 44 gives a tenth to a fifth of the drop rates of table IV",
    ),
    Assumption(
        "RED's weight",
        "ns-2's automatic one; 0.002 in the search",
        "table III prints none; ns-2's default since October 2004, and the recommendation of the cited page",
    ),
    Assumption("other parameters of RED", "ns-2's: gentle, wait", "Floyd's page, which is cited"),
    Assumption(
        "class of a run with several events",
        "the worst, within one second of the handover command",
        "the paper counts each run once",
    ),
    Assumption("starts of the flows", "uniform in 0.1 to 1.1 s", "not in the paper"),
    Assumption("the handover in tables III and IV", "at 2.3 s too", "not in the paper"),
    Assumption(
        "AQM in fig. 12", "RED that drops; RED that marks in the table", "the paper does not say which"
    ),
    Assumption(
        "one RTT in fig. 12",
        "100 ms for all schemes; each run's own smoothed round trip in the search",
        'the "typical RTT (around 100 ms)" of section VI.B.1; an own round trip counts a scheme that shortens round '
        "trips for a shorter time",
    ),
    Assumption(
        "what prediction leaves at the source",
        "is forwarded at the command, the end marker behind it; not forwarded in the search",
        "the paper's prediction finds nothing left to forward",
    ),
    Assumption("a wrong prediction", "the path is switched back after 300 ms", "the paper names no remedy"),
)
