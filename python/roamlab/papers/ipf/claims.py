"""The paper's claims, decided from the runs. A verdict is computed; the sentence behind it is about the mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roamlab.papers.ipf import measures
from roamlab.papers.ipf.claims_plan import chosen, fig15, fig16, fig17
from roamlab.papers.ipf.experiments import HOSTS, VISITS, WINDOW_PKTS
from roamlab.statistics.claims import Claim, Measure, at_least, at_most, greater, less, within
from roamlab.statistics.stats import largest, paired, smallest, student

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.papers.ipf.evidence import Anatomy, Evidence, Sweep
    from roamlab.papers.ipf.measures import Standard
    from roamlab.statistics.stats import Interval


def _of(found: Evidence, queue: str, pick: Callable[[Standard], float]) -> list[float]:
    return [float(pick(run)) for run in found.standard[queue]]


def _gain(found: Evidence, pick: Callable[[Standard], float]) -> Interval:
    """M-RED minus RED."""
    return paired(_of(found, "mred", pick), _of(found, "red", pick))


def _gain_of_all(found: Evidence, pick: Callable[[Standard], float]) -> Interval:
    """The same, in the further runs too."""
    mred, red = (
        [float(pick(run)) for run in found.standard[queue] + found.more_standard[queue]]
        for queue in ("mred", "red")
    )
    return paired(mred, red)


def _alg(anatomy: Anatomy) -> Claim:
    differences = [measures.differences(*pair) for pair in zip(*anatomy.unmarked.values(), strict=True)]
    return Claim(
        "ipf.alg",
        "With no priority packets M-RED is RED, decision for decision, on the same random stream; priority packets "
        "are in neither q_size_np nor avg_q_np and are dropped only when the buffer is full.",
        (
            Measure(
                "tables of drops, queue and flows that differ from RED's when nothing is marked",
                largest(differences),
                "tables",
                at_most(0),
            ),
            Measure(
                "priority packets lost to anything but a full queue",
                largest(anatomy.priority_tests),
                "pkt",
                at_most(0),
            ),
            Measure(
                "priority arrivals, smallest run",
                smallest([run.priority_arrivals for run in anatomy.averages]),
                "pkt",
                at_least(1),
            ),
            Measure(
                "of these, arrivals that changed avg_q_np",
                largest([run.priority_changes for run in anatomy.averages]),
                "pkt",
                at_most(0),
            ),
            Measure(
                "other arrivals while priority packets waited, smallest run",
                smallest([run.ordinary_arrivals for run in anatomy.averages]),
                "pkt",
                at_least(1),
            ),
            Measure(
                "of these, arrivals at which avg_q_np did not move by w_q times its distance to q_size_np",
                largest([run.ordinary_errors for run in anatomy.averages]),
                "pkt",
                at_most(0),
            ),
        ),
        kind="inventory",
        reading="five hosts with five visits in 200 s; M-RED draws from the stream that RED would draw from",
        why="Ordinary packets take RED's own code with the queue length of ordinary packets, which is the queue's "
        "own when nothing is marked; a priority packet takes no draw.",
    )


def _arq(anatomy: Anatomy) -> Claim:
    on, off = anatomy.transfer[True], anatomy.transfer[False]
    return Claim(
        "ipf.arq",
        "With layer-2 acknowledgement the host never gets a duplicate because of buffering; without it, duplicates "
        "and unnecessary fast retransmits appear.",
        (
            Measure(
                "with: duplicates at the host, largest run",
                largest([run.duplicates for run in on]),
                "pkt",
                at_most(0),
            ),
            Measure(
                "with: fast retransmits without a loss",
                largest([run.unnecessary for run in on]),
                "1",
                at_most(0),
            ),
            Measure(
                "without: duplicates at the host", student([run.duplicates for run in off]), "pkt", greater()
            ),
            Measure(
                "without: fast retransmits without a loss",
                student([run.unnecessary for run in off]),
                "1",
                greater(),
            ),
        ),
        kind="inventory",
        reading="one transfer alone; without acknowledgement the base station keeps the last 64 packets that it sent",
        why="Copies that the host has already come before the packets that it lacks, and each makes it repeat its "
        "last ACK: three of them look like a loss.",
    )


def _police(anatomy: Anatomy) -> Claim:
    clear, drop, honour = (anatomy.spoofed[policy] for policy in ("clear", "drop", "honour"))
    return Claim(
        "ipf.police",
        "Priority marks that come from the core are policed at the edge: re-marked or dropped, never honoured.",
        (
            Measure(
                "clear: spoofed marks on the new air",
                largest([run.forwarded_on_air for run in clear]),
                "pkt",
                at_most(0),
            ),
            Measure(
                "clear: marks policed, smallest run",
                smallest([run.policed for run in clear]),
                "pkt",
                at_least(1),
            ),
            Measure(
                "clear: policed elsewhere than at the cell's agent",
                largest([run.policed_elsewhere for run in clear]),
                "pkt",
                at_most(0),
            ),
            Measure(
                "drop: segments of the spoofing sender delivered",
                largest([run.delivered for run in drop]),
                "pkt",
                at_most(0),
            ),
            Measure(
                "drop: marks policed, smallest run",
                smallest([run.policed for run in drop]),
                "pkt",
                at_least(1),
            ),
            Measure(
                "without policing: spoofed marks on the new air, smallest run",
                smallest([run.forwarded_on_air for run in honour]),
                "pkt",
                at_least(1),
            ),
        ),
        kind="inventory",
        reading="a resident's correspondent marks all that it sends",
        why="The agent at the edge takes a mark from the core for foreign, whether it comes bare or in the sender's"
        " or the home agent's tunnel; with policing off the sender would get all the protection that a handoff "
        "gets.",
    )


def _fig9(found: Evidence) -> Claim:
    red = found.arrival
    return Claim(
        "ipf.fig9",
        "A window forwarded at 10 s raises RED's average much further than a connection that begins then, and the "
        "queue collapses towards zero around 11 s.",
        (
            Measure(
                "highest avg_q, case 2 minus case 1",
                paired([run.peak_average for run in red[2]], [run.peak_average for run in red[1]]),
                "pkt",
                greater(),
            ),
            Measure(
                "shortest queue of 10.5 to 12 s, case 2 minus case 1",
                paired([run.lowest for run in red[2]], [run.lowest for run in red[1]]),
                "pkt",
                less(),
            ),
            Measure(
                "case 2: shortest queue of 10.5 to 12 s",
                student([run.lowest for run in red[2]]),
                "pkt",
                at_most(1),
            ),
        ),
        reading=str(found.reading),
        why="A forwarded window lifts avg_q further than a slow start does. Below TH_max at most one packet in "
        "fifty is dropped, so the queue sinks by tens of packets and not to zero. With a P_max of 0.1 and drops"
        " that are not spaced (RED of 1993) the queue does run empty.",
    )


def _fig10(found: Evidence) -> Claim:
    return Claim(
        "ipf.fig10",
        "With five hosts that visit five times RED's queue jumps at each visit.",
        (
            Measure(
                "rise within 0.5 s of a handoff, minus that half way between handoffs",
                paired(_of(found, "red", lambda run: run.jump), _of(found, "red", lambda run: run.calm_jump)),
                "pkt",
                greater(),
            ),
        ),
        reading=str(found.reading),
        why="A window of 64 packets for each host comes at 10 Mbit/s and is drained at 2.",
    )


def _fig11(found: Evidence) -> Claim:
    top = float(found.reading.thresholds[1])
    return Claim(
        "ipf.fig11",
        "At the fifth visit RED's avg_q exceeds TH_max and M-RED's avg_q_np does not; the queues are alike until the "
        "priority packets have left (A to B), then RED's collapses and M-RED's does not.",
        (
            Measure(
                "RED: highest avg_q",
                student(_of(found, "red", lambda run: run.peak_average)),
                "pkt",
                greater(top),
            ),
            Measure(
                "M-RED: highest avg_q_np",
                student(_of(found, "mred", lambda run: run.peak_average)),
                "pkt",
                less(top),
            ),
            Measure(
                "mean queue from A to B, M-RED minus RED",
                _gain(found, lambda run: run.before),
                "pkt",
                within(-WINDOW_PKTS / 2, WINDOW_PKTS / 2),
            ),
            Measure(
                "RED: shortest queue of the 3 s after B",
                student(_of(found, "red", lambda run: run.lowest_after)),
                "pkt",
                at_most(1),
            ),
            Measure(
                "shortest queue of the 3 s after B, M-RED minus RED",
                _gain(found, lambda run: run.lowest_after),
                "pkt",
                greater(),
            ),
        ),
        reading=str(found.reading),
        why="Five windows at once carry RED's average over TH_max. RED then drops every arrival, and its queue runs"
        " empty. M-RED leaves the windows out of its average and drops fewer packets, so its queue is longer "
        "from A to B. Hosts that come 1 s apart do not carry the average over TH_max. Under a gentle RED, which"
        " goes on to accept packets above TH_max, the queues are alike.",
    )


def _points(sweep: Sweep, points: Sequence[tuple[int, int]], what: str) -> tuple[Measure, ...]:
    """IPF's gain in utilisation at each point of (visits, hosts)."""
    return tuple(
        Measure(
            f"utilisation, {count if what == 'visits' else hosts} {what}, M-RED minus RED",
            paired(
                [run.utilisation * 100 for run in sweep.points[count, hosts, "mred"]],
                [run.utilisation * 100 for run in sweep.points[count, hosts, "red"]],
            ),
            "%",
            greater(),
        )
        for count, hosts in points
    )


GAINS = (
    "Five windows at once carry RED's average over TH_max. RED drops every arrival, whole windows are lost, their "
    "flows wait a second for their timers, and the link falls idle. M-RED loses fewer packets and fewer timers run "
    "out. If the hosts come 1 s apart or evenly, RED's average stays below TH_max and nothing is left to gain; with"
    " a timer floor of 200 ms the flows are back before the link has been idle for long."
)
"""Figs. 12 and 13: where there is utilisation to gain, and where not."""


def _fig12(sweep: Sweep) -> Claim:
    return Claim(
        "ipf.fig12",
        "The link's utilisation over 200 s with five hosts is higher with M-RED than with RED for each of three to "
        "eight visits.",
        _points(sweep, [(count, HOSTS) for count in sweep.visits], "visits"),
        reading=str(sweep.reading),
        why=GAINS,
    )


def _fig13(sweep: Sweep) -> Claim:
    return Claim(
        "ipf.fig13",
        "It is higher with five visits for each of three to seven hosts.",
        _points(sweep, [(VISITS, hosts) for hosts in sweep.hosts], "hosts"),
        reading=str(sweep.reading),
        why=GAINS,
    )


def _fig14(found: Evidence) -> Claim:
    return Claim(
        "ipf.fig14",
        "After a handoff the throughput of a connection already present (a) and of the moving one (b) is higher with "
        "M-RED than with RED.",
        (
            Measure(
                "(a) a resident, 10 s after each handoff, M-RED minus RED",
                _gain_of_all(found, lambda run: chosen(found.reading, run.residents_after_bps) / 1e3),
                "kbit/s",
                greater(),
            ),
            Measure(
                "(b) a moving host, 10 s after each of its handoffs, M-RED minus RED",
                _gain_of_all(found, lambda run: run.moving_bps / 1e3),
                "kbit/s",
                greater(),
            ),
        ),
        reading=str(found.reading),
        why="Residents gain, for M-RED drops fewer of their packets. Moving hosts do not: five windows overflow "
        "M-RED's queue, which loses as many forwarded packets as RED drops. If priority packets push others out"
        " (R5), hardly any is lost, the moving hosts gain and the residents lose.",
    )


def _period(found: Evidence) -> Claim:
    return Claim(
        "ipf.period",
        "The period of global synchronisation at a handoff is shorter with M-RED than with RED, for the connections "
        "already present and for the moving ones.",
        (
            Measure(
                "time in which at least half of the residents back off together, M-RED minus RED",
                _gain(found, lambda run: run.resident_period_s),
                "s",
                less(),
            ),
            Measure(
                "time in which at least half of the moving hosts back off together, M-RED minus RED",
                _gain(found, lambda run: run.moving_period_s),
                "s",
                less(),
            ),
        ),
        reading=str(found.reading),
        why=PERIOD,
    )


PERIOD = (
    "While RED's average is above TH_max it drops every arrival, so that most flows cut their windows within a round "
    "trip, and again after their timers. M-RED drops fewer. If the hosts come 1 s apart, RED's average stays below "
    "TH_max and no difference shows."
)


def read(found: Evidence, sweep: Sweep) -> list[Claim]:
    """Those that depend on a reading, under one."""
    of_evidence = [claim(found) for claim in (_fig9, _fig10, _fig11, _fig14, _period)]
    return of_evidence + [claim(sweep) for claim in (_fig12, _fig13, fig16, fig17)]


def alone(anatomy: Anatomy) -> list[Claim]:
    """Those on single experiments."""
    return [_alg(anatomy), _arq(anatomy), _police(anatomy), fig15(anatomy.schedules)]


def decide(anatomy: Anatomy, found: Evidence, sweep: Sweep) -> list[Claim]:
    """All claims, in the order of the paper's figures."""
    alg, arq, police, plan = alone(anatomy)
    fig9, fig10, fig11, fig14, period, fig12, fig13, *planned = read(found, sweep)
    return [alg, arq, police, fig9, fig10, fig11, fig12, fig13, fig14, plan, *planned, period]
