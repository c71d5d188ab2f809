"""The paper's claims, decided from the runs. A verdict is computed; the sentences are in `paper.toml`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from roamlab.papers import texts
from roamlab.papers.deciding import claim, difference, least, mean, most
from roamlab.papers.ipf import measures as measuring
from roamlab.papers.ipf.claims_plan import chosen, fig15, fig16, fig17
from roamlab.papers.ipf.experiments import HOSTS, VISITS, WINDOW_PKTS
from roamlab.statistics.claims import at_least, at_most, greater, less, within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from roamlab.papers.deciding import Pick
    from roamlab.papers.ipf.evidence import Anatomy, Evidence, Sweep
    from roamlab.papers.ipf.measures import Standard
    from roamlab.statistics.claims import Claim, Claimed, Measure


def _gain(found: Evidence, what: str, pick: Pick, unit: str, claimed: Claimed) -> Measure:
    """M-RED minus RED in the standard case."""
    mred, red = found.standard["mred"], found.standard["red"]
    return difference(f"{what}, M-RED minus RED", mred, red, pick, unit, claimed)


def _alg(anatomy: Anatomy) -> Claim:
    pairs = list(zip(*anatomy.unmarked.values(), strict=True))
    averages = anatomy.averages
    measures = (
        most(
            "tables of drops, queue and flows that differ from RED's when nothing is marked",
            pairs,
            lambda pair: measuring.differences(*pair),
            "tables",
            at_most(0),
        ),
        most(
            "priority packets lost for a reason other than a full queue",
            anatomy.priority_tests,
            int,
            "pkt",
            at_most(0),
        ),
        least("priority arrivals, smallest run", averages, "priority_arrivals", "pkt", at_least(1)),
        most("of these, arrivals that changed avg_q_np", averages, "priority_changes", "pkt", at_most(0)),
        least(
            "other arrivals while priority packets waited, smallest run",
            averages,
            "ordinary_arrivals",
            "pkt",
            at_least(1),
        ),
        most(
            "of these, arrivals at which avg_q_np did not move by w_q times its distance to q_size_np",
            averages,
            "ordinary_errors",
            "pkt",
            at_most(0),
        ),
    )
    return claim("ipf.alg", measures)


def _arq(anatomy: Anatomy) -> Claim:
    on, off = anatomy.transfer[True], anatomy.transfer[False]
    measures = (
        most("with: duplicates at the host, largest run", on, "duplicates", "pkt", at_most(0)),
        most("with: fast retransmits without a loss", on, "unnecessary", "1", at_most(0)),
        mean("without: duplicates at the host", off, "duplicates", "pkt", greater()),
        mean("without: fast retransmits without a loss", off, "unnecessary", "1", greater()),
    )
    return claim("ipf.arq", measures)


def _police(anatomy: Anatomy) -> Claim:
    clear, drop, honour = (anatomy.spoofed[policy] for policy in ("clear", "drop", "honour"))
    no, some = at_most(0), at_least(1)
    spoofed = "without policing: spoofed marks on the new air, smallest run"
    measures = (
        most("clear: spoofed marks on the new air", clear, "forwarded_on_air", "pkt", no),
        least("clear: marks policed, smallest run", clear, "policed", "pkt", some),
        most("clear: policed elsewhere than at the cell's agent", clear, "policed_elsewhere", "pkt", no),
        most("drop: segments of the spoofing sender delivered", drop, "delivered", "pkt", no),
        least("drop: marks policed, smallest run", drop, "policed", "pkt", some),
        least(spoofed, honour, "forwarded_on_air", "pkt", some),
    )
    return claim("ipf.police", measures)


def _fig9(found: Evidence) -> Claim:
    first, second = found.arrival[1], found.arrival[2]
    shortest = "shortest queue of 10.5 to 12 s"
    measures = (
        difference("highest avg_q, case 2 minus case 1", second, first, "peak_average", "pkt", greater()),
        difference(f"{shortest}, case 2 minus case 1", second, first, "lowest", "pkt", less()),
        mean(f"case 2: {shortest}", second, "lowest", "pkt", at_most(1)),
    )
    return claim("ipf.fig9", measures, found.interpretation)


def _fig10(found: Evidence) -> Claim:
    red = found.standard["red"]
    what = "rise within 0.5 s of a handoff, minus that half way between handoffs"
    rise = mean(what, red, lambda run: run.jump - run.calm_jump, "pkt", greater())
    return claim("ipf.fig10", (rise,), found.interpretation)


def _fig11(found: Evidence) -> Claim:
    top = float(found.interpretation.thresholds[1])
    red, mred = found.standard["red"], found.standard["mred"]
    alike = within(-WINDOW_PKTS / 2, WINDOW_PKTS / 2)
    shortest = "shortest queue of the 3 s after B"
    measures = (
        mean("RED: highest avg_q", red, "peak_average", "pkt", greater(top)),
        mean("M-RED: highest avg_q_np", mred, "peak_average", "pkt", less(top)),
        _gain(found, "mean queue from A to B", "before", "pkt", alike),
        mean(f"RED: {shortest}", red, "lowest_after", "pkt", at_most(1)),
        _gain(found, shortest, "lowest_after", "pkt", greater()),
    )
    return claim("ipf.fig11", measures, found.interpretation)


def _points(sweep: Sweep, points: Sequence[tuple[int, int]], what: str) -> Iterator[Measure]:
    """IPF's gain in utilisation at each point of (visits, hosts)."""
    for count, hosts in points:
        yield difference(
            f"utilisation, {count if what == 'visits' else hosts} {what}, M-RED minus RED",
            sweep.points[count, hosts, "mred"],
            sweep.points[count, hosts, "red"],
            lambda run: run.utilisation * 100,
            "%",
            greater(),
        )


def _fig12(sweep: Sweep) -> Claim:
    points = [(count, HOSTS) for count in sweep.visits]
    return claim("ipf.fig12", _points(sweep, points, "visits"), sweep.interpretation)


def _fig13(sweep: Sweep) -> Claim:
    points = [(VISITS, hosts) for hosts in sweep.hosts]
    return claim("ipf.fig13", _points(sweep, points, "hosts"), sweep.interpretation)


def _fig14(found: Evidence) -> Claim:
    def resident(run: Standard) -> float:
        return chosen(found.interpretation, run.residents_after_bps) / 1e3

    def moving(run: Standard) -> float:
        return run.moving_bps / 1e3

    more = partial(_gain, found, unit="kbit/s", claimed=greater())
    measures = (
        more("(a) a resident, 10 s after each handoff", resident),
        more("(b) a moving host, 10 s after each of its handoffs", moving),
    )
    return claim("ipf.fig14", measures, found.interpretation)


def _fair(found: Evidence) -> Claim:
    what = "Jain's index of residents and moving hosts, 10 s after each handoff"
    return claim(
        "ipf.fair",
        (_gain(found, what, "fairness", "1", at_least(0)),),
        found.interpretation,
    )


def _period(found: Evidence) -> Claim:
    what = "time in which at least half of the {} back off together"
    measures = (
        _gain(found, what.format("residents"), "resident_period_s", "s", less()),
        _gain(found, what.format("moving hosts"), "moving_period_s", "s", less()),
    )
    return claim("ipf.period", measures, found.interpretation)


def _under(found: Evidence, sweep: Sweep) -> dict[str, Callable[[], Claim]]:
    return {
        "ipf.fig9": partial(_fig9, found),
        "ipf.fig10": partial(_fig10, found),
        "ipf.fig11": partial(_fig11, found),
        "ipf.fig12": partial(_fig12, sweep),
        "ipf.fig13": partial(_fig13, sweep),
        "ipf.fig14": partial(_fig14, found),
        "ipf.fig16": partial(fig16, sweep),
        "ipf.fig17": partial(fig17, sweep),
        "ipf.period": partial(_period, found),
        "ipf.fair": partial(_fair, found),
    }


def _alone(anatomy: Anatomy) -> dict[str, Callable[[], Claim]]:
    return {
        "ipf.alg": partial(_alg, anatomy),
        "ipf.arq": partial(_arq, anatomy),
        "ipf.police": partial(_police, anatomy),
        "ipf.fig15": partial(fig15, anatomy.schedules),
    }


def read(found: Evidence, sweep: Sweep) -> list[Claim]:
    """Those that depend on an interpretation, under one."""
    return [of() for of in _under(found, sweep).values()]


def alone(anatomy: Anatomy) -> list[Claim]:
    """Those on single experiments."""
    return [of() for of in _alone(anatomy).values()]


def every(anatomy: Anatomy, found: Evidence, sweep: Sweep) -> dict[str, Callable[[], Claim]]:
    """All claims, each to be decided alone."""
    of = _alone(anatomy) | _under(found, sweep)
    return {name: of[name] for name in texts("ipf").claims}


def decide(anatomy: Anatomy, found: Evidence, sweep: Sweep) -> list[Claim]:
    """All claims."""
    return [of() for of in every(anatomy, found, sweep).values()]
