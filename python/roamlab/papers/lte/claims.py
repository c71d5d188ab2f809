"""The paper's claims, decided from the runs. A verdict is computed; the sentence behind it is about the mechanism."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from roamlab.papers.lte import model, modelfit
from roamlab.papers.lte.evidence import NARROW_PKTS, PEAKS, PREDICTIVE
from roamlab.papers.lte.experiments import TARGETS
from roamlab.statistics.claims import Claim, Measure, at_least, at_most, greater, less
from roamlab.statistics.stats import Interval, exact, largest, paired, share_interval, student, unpaired

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from roamlab.papers.lte.evidence import Active12, Anatomy, Evidence
    from roamlab.papers.lte.experiments import Scheme
    from roamlab.papers.lte.measures import Forwarded, Handover
    from roamlab.papers.lte.model import Case
    from roamlab.papers.lte.model import Reading as Equation
    from roamlab.statistics.claims import Claimed

CURVE = range(8, 101, 2)
"""Fig. 4: the values of cwnd_MAX at which the model is drawn."""


_NOTHING = Interval(0.5, 0.0, 1.0, 0)
"""The share of a set without runs: anything."""


def _more_often(what: str, often: int, seldom: int) -> Measure:
    """Whether one case is at least as frequent as another: its share of the runs that are either."""
    runs = often + seldom
    share = share_interval(often, runs) if runs else _NOTHING
    return Measure(what, share, "1", at_least(0.5))


def _compared(
    what: str, after: Sequence[float], before: Sequence[float], unit: str, claimed: Claimed
) -> Measure:
    """Run by run, under the same seeds."""
    return Measure(what, paired(after, before), unit, claimed)


def _is(case: Case, runs: Sequence[Handover]) -> list[float]:
    return [float(run.congestion.outcome == case) for run in runs]


def share_of(case: Case, runs: Sequence[Handover]) -> Interval:
    """How often a case occurs."""
    return share_interval(int(sum(_is(case, runs))), len(runs))


def _chart(found: Evidence) -> Claim:
    runs = found.forwarding["standard", 5]
    return Claim(
        "lte.chart",
        "The message chart of fig. 2 runs as messages, each sent when the one that causes it has arrived.",
        (
            Measure(
                "runs in which a message of the chart is missing or early",
                largest([float(not run.in_order) for run in runs]),
                "of one run",
                at_most(0),
            ),
        ),
        kind="inventory",
        reading=str(found.reading),
        why="Every step is a message that crosses links and queues or a state of its receiver, and the end marker, "
        "which travels among the data to mark their end, is the one that a full queue can drop.",
    )


def _of_defined(values: Sequence[float]) -> Interval:
    """The mean of the runs that define a value. If none does, nothing is known of it."""
    defined = [value for value in values if math.isfinite(value)]
    return student(defined) if defined else Interval(0.0, -math.inf, math.inf, 0)


def _double(anatomy: Anatomy) -> Claim:
    def column(n: int, pick: Callable[[Forwarded], float]) -> list[float]:
        return [pick(run) for run in anatomy.double[n]]

    def rise(run: Forwarded) -> float:
        return run.round_trip_rise_s * 1e3

    twice = [
        Measure(
            f"{n} mobiles in the target cell: forwarded packets that did not queue twice",
            largest(column(n, lambda run: run.packets - run.queued_twice)),
            "pkt",
            at_most(0),
        )
        for n in TARGETS
    ]
    grows = [
        Measure(
            f"{n} mobiles in the target cell: round trip of forwarded packets minus that before",
            _of_defined(column(n, rise)),
            "ms",
            greater(),
        )
        for n in TARGETS
    ]
    few, many = TARGETS[0], TARGETS[-1]
    both = [
        (rise(more), rise(less_))
        for more, less_ in zip(anatomy.double[many], anatomy.double[few], strict=True)
        if np.isfinite(rise(more)) and np.isfinite(rise(less_))
    ]
    return Claim(
        "lte.double",
        "A forwarded packet queues twice in the core router, and its round trip grows with the congestion of the "
        "target link.",
        (
            *twice,
            *grows,
            Measure(
                f"rise with {many} mobiles minus rise with {few}",
                _of_defined([more - less_ for more, less_ in both]),
                "ms",
                greater(),
            ),
        ),
        kind="inventory",
        reading="standard procedure, X2 over the router",
        why="X2 runs over the router, so a forwarded packet waits in its queue to the source and again in the one to "
        "the target, which is the longer the more windows of 44 share it, up to its limit of 90 packets, or 90 ms.",
    )


def curve(case: Case, part: float, reading: Equation, peaks: Iterable[int] = CURVE) -> list[float]:
    """Fig. 4: normalised data by cwnd_MAX; `part` places cwnd_HO from SSthresh (0) to cwnd_MAX (1)."""
    place = Fraction(part).limit_denominator(4)
    return [float(model.delivered(most, (1 + place) * most / 2, reading).normalised(case)) for most in peaks]


def _model(anatomy: Anatomy) -> Claim:
    worst: list[Measure] = []
    costly: tuple[Case, ...] = ("halving", "timeout")
    for case in costly:
        top, middle = (np.array(curve(case, part, "literal", PEAKS)) for part in (1.0, 0.5))
        worst += [
            Measure(f"{case}, handover at cwnd_MAX: highest of the curve", exact(top.max()), "1", less(1)),
            Measure(
                f"{case}: mid-interval minus at cwnd_MAX, highest over the curve",
                exact((middle - top).max()),
                "1",
                less(),
            ),
        ]
    for part, name in ((1.0, "at cwnd_MAX"), (0.5, "mid-interval")):
        timeout, halving = (np.array(curve(case, part, "literal", PEAKS)) for case in reversed(costly))
        behind = timeout - halving
        worst.append(
            Measure(
                f"timeout minus halving, {name}: highest over the curve", exact(behind.max()), "1", less()
            )
        )
    runs: dict[Case, list[float]] = {case: [] for case in model.CASES}
    for window in PEAKS:
        for case, values in modelfit.after_command(anatomy, window).items():
            runs[case] += values
    orders: tuple[tuple[Case, Case], ...] = (("halving", "ideal"), ("timeout", "halving"))
    simulated = [
        Measure(
            f"simulated, {after} minus {before}, after the command",
            unpaired(runs[after], runs[before]),
            "1",
            less(),
        )
        for after, before in orders
        if runs[after] and runs[before]
    ]
    return Claim(
        "lte.model",
        "Equations 1 to 5: a window halving costs data, a timeout costs more, and either costs more in mid-interval "
        "than at cwnd_MAX; simulated runs fall in the same order.",
        (*worst, *simulated),
        reading=f"equation 3 as printed; simulated: standard procedure, 1 + 5 mobiles, cwnd_MAX {PEAKS}",
        why="The equations order the cases. In the runs the order is that of the round trips after the command "
        "that a handover in mid-interval leaves; in the one round trip that a handover at cwnd_MAX leaves, "
        "the cases do not differ.",
    )


def _fig8_compared(found: Evidence) -> list[Measure]:
    tests = []
    for n in TARGETS:
        runs = found.forwarding["standard", n]
        count = {case: int(sum(_is(case, runs))) for case in model.CASES}
        tests += [
            _more_often(
                f"{n} mobiles: halvings among halvings and ideal runs", count["halving"], count["ideal"]
            ),
            _more_often(
                f"{n} mobiles: timeouts among timeouts and halvings", count["timeout"], count["halving"]
            ),
        ]
    return tests


def _fig8(found: Evidence) -> Claim:
    return Claim(
        "lte.fig8",
        "With the standard procedure and 2 to 5 mobiles in the target cell, P(ideal) ≤ P(halving) ≤ P(timeout).",
        tuple(_fig8_compared(found)),
        reading=str(found.reading),
        why="The target's queue of 90 packets overflows when the forwarded window arrives. Either the window "
        "fits, or several packets of it are lost. Reno's fast retransmit repairs one loss of a window, so "
        "several losses end in a timeout. With SACK at the moving mobile the same losses end in a halving "
        "(table of reruns).",
    )


ALWAYS = 0.05
"""What "always" and "at most" leave to chance: the share of runs that may differ."""


def spurious(runs: Sequence[Handover]) -> Interval:
    """The share of runs with a spurious timeout."""
    return share_interval(sum(map(_spurious, runs)), len(runs))


def _share(
    what: str, runs: Sequence[Handover], happened: Callable[[Handover], bool], claimed: Claimed
) -> Measure:
    return Measure(what, share_interval(sum(map(happened, runs)), len(runs)), "1", claimed)


def _spurious(run: Handover) -> bool:
    return run.congestion.spurious > 0


def _fig9_compared(found: Evidence) -> list[Measure]:
    standard, fast = found.forwarding["standard", 5], found.forwarding["fast", 5]
    predictive = found.forwarding["predictive", 5]
    timed_out = [run for run in standard if run.congestion.timeouts]
    spurious = share_interval(sum(map(_spurious, timed_out)), len(timed_out)) if timed_out else _NOTHING
    return [
        Measure(
            "standard: runs with a spurious timeout among those with a timeout", spurious, "1", greater(0.5)
        ),
        _compared(
            "runs with a spurious timeout, fast path switch minus standard",
            [float(_spurious(run)) for run in fast],
            [float(_spurious(run)) for run in standard],
            "1",
            less(),
        ),
        _share("fast path switch: runs with a spurious timeout", fast, _spurious, greater(ALWAYS)),
        _share("prediction: runs with a spurious timeout", predictive, _spurious, less(ALWAYS)),
        _share(
            "prediction: runs with more than one halving",
            predictive,
            lambda run: run.congestion.halvings > 1,
            less(ALWAYS),
        ),
    ]


def _fig9(found: Evidence) -> Claim:
    return Claim(
        "lte.fig9",
        "Standard: the rise of the round trip makes timeouts spurious; fast path switch: avoids them in part; "
        "prediction: no spurious timeout, one window halving at most.",
        tuple(_fig9_compared(found)),
        reading=str(found.reading),
        why="The round trip stays below the timeout: the target's queue of 90 packets overflows first, so "
        "timeouts are genuine. With a queue of 400 packets nothing is lost, the round trip exceeds 300 ms, "
        "and spurious timeouts appear in most runs of the standard procedure and of the fast path switch, and "
        "in none with prediction (table of reruns).",
    )


def _fig11_compared(found: Evidence) -> list[Measure]:
    def pooled(scheme: Scheme, case: Case) -> list[float]:
        by_n = [_is(case, found.forwarding[scheme, n]) for n in TARGETS]
        return [float(np.mean(values)) for values in zip(*by_n, strict=True)]

    cases: tuple[tuple[Case, str, Claimed], ...] = (
        ("timeout", "runs with a timeout", less()),
        ("halving", "runs with a halving alone", greater()),
    )
    return [
        _compared(
            f"{what}, prediction minus standard, 2 to 5 mobiles",
            pooled("predictive", case),
            pooled("standard", case),
            "1",
            claimed,
        )
        for case, what, claimed in cases
    ]


def _fig11(found: Evidence) -> Claim:
    return Claim(
        "lte.fig11",
        "With prediction there are fewer timeouts and more halvings than with the standard procedure.",
        tuple(_fig11_compared(found)),
        reading=str(found.reading),
        why="Prediction spares a packet the second queue, not the losses: after the path switch the whole window "
        "arrives at the target's queue. With a queue of 400 packets no run with prediction times out; with "
        "SACK the timeouts become halvings (table of reruns).",
    )


def _tab4_compared(found: Evidence) -> list[Measure]:
    def rates(case: Active12) -> list[float]:
        return [run.drops.rate["r->enb2"] for run in found.active[case]]

    droptail, red, mark = (
        rates(case) for case in (("standard", "droptail"), ("standard", "red"), ("standard", "mark"))
    )
    return [
        _compared("R to target, drop-tail minus RED dropping", droptail, red, "%", greater()),
        _compared("R to target, RED dropping minus RED marking", red, mark, "%", greater()),
    ]


def _tab4(found: Evidence) -> Claim:
    return Claim(
        "lte.tab4",
        "The drop rate of the link to the target is higher with drop-tail than with RED that drops, and higher with "
        "that than with RED that marks.",
        tuple(_tab4_compared(found)),
        reading=str(found.reading),
        why="RED with ns-2's automatic weight follows the queue slowly in this network and drops in addition to "
        "overflows. With a weight of 0.002 it drops less than drop-tail. Marks replace drops in both cases.",
    )


SYNS = 0.1
"""Packets of an ECN-capable flow that are dropped at the tunnel's end are SYNs: at most so many in a run, of some 30
marked packets."""


def _ecn(anatomy: Anatomy) -> Claim:
    able, unable = anatomy.tunnels["always-ect, ECN"], anatomy.tunnels["always-ect, no ECN"]
    return Claim(
        "lte.ecn",
        "A mark on the tunnel header reaches the user's header if that is ECN-capable; otherwise the packet is "
        "dropped at the tunnel's end.",
        (
            Measure(
                "ECN-capable: answers to marks",
                student([run.drops.answers for run in able]),
                "per run",
                greater(),
            ),
            Measure(
                "ECN-capable: packets dropped at the tunnel's end",
                student([run.drops.tunnel_drops for run in able]),
                "per run",
                at_most(SYNS),
            ),
            Measure(
                "not ECN-capable: packets dropped at the tunnel's end",
                student([run.drops.tunnel_drops for run in unable]),
                "pkt",
                greater(),
            ),
            Measure(
                "not ECN-capable: answers to marks",
                largest([run.drops.answers for run in unable]),
                "per run",
                at_most(0),
            ),
        ),
        kind="inventory",
        reading="every tunnel header ECN-capable, as section V.B has it",
        why="The tunnel's end follows RFC 6040: CE outside goes inwards if the inner header can carry it and costs "
        "the packet if not, after it has used the bottleneck. The SYN of an ECN-capable flow is not ECN-capable (RFC "
        "3168, 6.1.1): in some 9 of 4,000 runs it is marked and dropped.",
    )


def _fig12_compared(found: Evidence) -> list[Measure]:
    def kilobytes(case: Active12, *, more: bool = False) -> list[float]:
        runs = found.active[case] + (found.more_predictive[case] if more else [])
        return [run.handover.handover_bytes / 1e3 for run in runs]

    standard: Active12 = ("standard", "droptail")
    both: Active12 = ("predictive", "red")
    alone: tuple[tuple[str, Active12], ...] = (
        ("AQM", ("standard", "red")),
        ("prediction", ("predictive", "droptail")),
    )
    compared = [
        *((name, case, "standard", standard) for name, case in (*alone, ("prediction and AQM", both))),
        *(("prediction and AQM", both, name, case) for name, case in alone),
    ]

    def measure(one: str, after: Active12, other: str, before: Active12) -> Measure:
        more = {after, before} == set(PREDICTIVE)
        values = kilobytes(after, more=more), kilobytes(before, more=more)
        return _compared(f"{one} minus {other}", *values, "kB", greater())

    return [measure(*each) for each in compared]


def _fig12(found: Evidence) -> Claim:
    return Claim(
        "lte.fig12",
        "From the handover command to one round trip after attachment, AQM, prediction and both together deliver more "
        "than the standard procedure, and both together most.",
        tuple(_fig12_compared(found)),
        reading=str(found.reading),
        why="Prediction holds packets at the target that leave as soon as the mobile is attached. AQM shortens the "
        "queue that these and the forwarded packets meet. What is delivered grows with the window at the handover, "
        "which RED's drops keep smaller: so both together deliver less than prediction alone. With windows of at "
        f"most {NARROW_PKTS} segments, which fill no queue, both deliver the same.",
    )


def _mispredict(anatomy: Anatomy) -> Claim:
    wrong, none = (anatomy.predictions[name, False] for name in ("130 ms ahead", "none"))
    # A flow that receives nothing at all has no silence: its window was cut long before.
    silences = [(one.silence_s - other.silence_s) * 1e3 for one, other in zip(wrong, none, strict=True)]
    return Claim(
        "lte.mispredict",
        "A wrong prediction disconnects the mobile or costs it an outage.",
        (
            Measure(
                "longest silence, wrong prediction minus none",
                _of_defined(silences),
                "ms",
                greater(),
            ),
            Measure(
                "segments received in 1.5 s, wrong prediction minus none",
                paired([float(run.received) for run in wrong], [float(run.received) for run in none]),
                "pkt",
                less(),
            ),
        ),
        reading="predicted 130 ms ahead, path switched back 300 ms later, the target returns what it holds",
        why="The path leads to a cell that the mobile never enters: its packets wait there until the source gives "
        "the prediction up, and then return over the router. The cost is that time, 300 ms, which is our "
        "assumption.",
        kind="inventory",
    )


BY_EVIDENCE = (_fig8, _fig9, _fig11, _tab4, _fig12)


def alone(anatomy: Anatomy) -> list[Claim]:
    """Those on single experiments."""
    return [_double(anatomy), _model(anatomy), _ecn(anatomy), _mispredict(anatomy)]


def beside(found: Evidence, anatomy: Anatomy) -> list[Claim]:
    """Those that few of the axes touch."""
    return [_chart(found), *alone(anatomy)]


def read(found: Evidence) -> list[Claim]:
    """Those that depend on a reading, under one."""
    return [claim(found) for claim in BY_EVIDENCE]


def decide(anatomy: Anatomy, found: Evidence) -> list[Claim]:
    """All claims."""
    return beside(found, anatomy) + read(found)
