"""The paper's claims, decided from the runs. A verdict is computed; the sentence behind it is about the mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roamlab.papers.mblue.experiments import (
    ALONE_S,
    FLOWS,
    PROBE_INTERVAL_S,
    THRESHOLD_PKTS,
    VISITS_S,
    WINDOW_PKTS,
)
from roamlab.statistics.claims import Claim, Measure, at_least, at_most, greater, less, within
from roamlab.statistics.stats import bootstrap, exact, largest, paired, student

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.papers.mblue.evidence import Anatomy, Evidence
    from roamlab.papers.mblue.measures import OneHandoff, ThreeHandoffs
    from roamlab.statistics.stats import Interval

# Table I, in ms.
T_B, T_N, T_HA, T_CH, T_O, D_CH_FA, ALPHA = 50.0, 12.0, 60.0, 60.0, 1.0, 40.0, 8.0
D_HA_FA, D_CH_HA, D_FA_MH = 60.0, 60.0, 4.0

FORMULAS = {
    "T_loss, route optimisation": T_B + T_N + T_O,
    "T_h, route optimisation": T_B + T_N + T_HA + T_CH,
    "T_RTT, route optimisation": 2 * D_CH_FA + ALPHA,
    "T_loss, base protocol": T_B + T_N + T_HA + D_HA_FA,
    "T_h, base protocol": T_B + T_N + T_HA,
    "T_RTT, base protocol": D_CH_HA + D_HA_FA + D_CH_FA + ALPHA,
}
"""Equation 1 with the delays of table I, in ms."""

_AIR_BPS, _WIRE_BPS = 2e6, 10e6

AXIS_PKTS = 256
"""Fig. 12's axis goes from 4400 to 4900 packets. With at least 4400 at 9.5 s and the 488 a second of an air that the
host has alone, it has 4644 at 10 s, and then so many at most until 13 s."""


def _ms(size: int, rate: float) -> float:
    return size * 8 / rate * 1e3


def measured_delays(anatomy: Anatomy) -> dict[str, tuple[float, float]]:
    """Each quantity of eq. 1 as simulated, and one serialisation time for each hop on its path, in ms."""
    found = {}
    for on, name in ((True, "route optimisation"), (False, "base protocol")):
        (run,) = anatomy.outage[on]
        to_agent, to_home, update = _hops(run.sizes)
        notified = to_agent + (update if on else to_home + _ms(84, _WIRE_BPS))
        learnt = run.correspondent_s if on else run.agent_s
        probe = 2 * (_ms(64, _AIR_BPS) + 3 * _ms(84, _WIRE_BPS))
        # The last packet lost passed the old agent this long before it was lost on the air.
        passed = run.last_loss_s * 1e3 - D_FA_MH
        found[f"T_loss, {name}"] = (passed - ALONE_S * 1e3, notified + PROBE_INTERVAL_S * 1e3 + probe)
        found[f"T_h, {name}"] = (
            (learnt - ALONE_S) * 1e3,
            to_agent + to_home + (update if on else 0.0),
        )
        found[f"T_RTT, {name}"] = (run.round_trip_s * 1e3, probe)
    return found


def _hops(sizes: dict[str, int]) -> tuple[float, float, float]:
    """Serialisation on the way to the new agent, on to the home agent, and of a binding update over a hop, in ms."""

    def size(name: str) -> int:
        return sizes.get(name, 0)

    air = ("beacon", "handoff-request", "agent-advertisement", "registration-request")
    wire = ("notification", "agent-advertisement", "registration-request")
    # Signalling overtakes data, but not the probe in service: one more probe for each hop.
    probe = len(air) * _ms(64, _AIR_BPS) + len(wire) * _ms(84, _WIRE_BPS)
    to_agent = sum(_ms(size(name), _AIR_BPS) for name in air) + sum(
        _ms(size(name), _WIRE_BPS) for name in wire
    )
    hop = _ms(84, _WIRE_BPS)
    return (
        to_agent + probe,
        _ms(size("registration-request"), _WIRE_BPS) + hop,
        _ms(size("binding-update"), _WIRE_BPS) + hop,
    )


def _eq1(anatomy: Anatomy) -> Claim:
    found = measured_delays(anatomy)
    return Claim(
        "mblue.eq1",
        "Equation 1 with table I gives 63, 182 and 88 ms, and simulated messages agree within a serialisation "
        "time per hop.",
        tuple(
            Measure(
                f"{name}: simulated minus {FORMULAS[name]:g} ms",
                exact(value - FORMULAS[name]),
                "ms",
                within(-PROBE_INTERVAL_S * 1e3 if name.startswith("T_loss") else 0.0, tolerance),
            )
            for name, (value, tolerance) in found.items()
        ),
        kind="inventory",
        reading="T_B worst; no buffer; a probe of 64 B each millisecond both ways",
        why="The delays are sums of propagation times, to which simulated messages add only their serialisation, and "
        "for T_loss the spacing of the probes that show it.",
    )


def _reorder(anatomy: Anatomy) -> Claim:
    on, off = (anatomy.transfer[way] for way in ("detour", "no detour"))
    beyond = np.mean([run.reordered for run in on])
    return Claim(
        "mblue.reorder",
        "With the detour through the old base station forwarded packets arrive in order among themselves; without "
        "it, reordering and duplicate ACKs appear.",
        (
            Measure(
                "detour: forwarded packets out of order among themselves",
                student([run.reordered_forwarded for run in on]),
                "pkt",
                at_most(0),
            ),
            Measure(
                "no detour: packets out of order", student([run.reordered for run in off]), "pkt", greater()
            ),
            Measure(
                "no detour: duplicate ACKs", student([run.duplicate_acks for run in off]), "ACKs", greater()
            ),
            Measure(
                "duplicate ACKs, detour minus no detour",
                paired([run.duplicate_acks for run in on], [run.duplicate_acks for run in off]),
                "ACKs",
                less(),
            ),
        ),
        reading="one transfer alone, buffers and queues larger than its window",
        why="Packets that reach the old agent while the buffer is being forwarded queue behind it. Fig. 4 ends there. "
        f"At the switch to the direct path {beyond:g} forwarded packets are overtaken: the direct path is shorter.",
    )


def _perhost(anatomy: Anatomy) -> Claim:
    with_buffer, without = anatomy.many_flows[True], anatomy.many_flows[False]
    return Claim(
        "mblue.perhost",
        "One buffer per host recovers all its flows: two TCP flows and a UDP flow.",
        (
            Measure("buffers used", student([run.buffers for run in with_buffer]), "buffers", within(1, 1)),
            Measure(
                "flows in the buffer",
                student([run.released_flows for run in with_buffer]),
                "flows",
                at_least(3),
            ),
            Measure(
                "packets lost with the buffer", student([run.lost for run in with_buffer]), "pkt", at_most(0)
            ),
            Measure(
                "packets lost, with minus without",
                paired([run.lost for run in with_buffer], [run.lost for run in without]),
                "pkt",
                less(),
            ),
        ),
        kind="inventory",
        reading="buffer of 200 packets",
        why="The buffer is filled by address: whatever the transport, a packet for the host that left waits in it.",
    )


def _local(anatomy: Anatomy) -> Claim:
    fast, slow = anatomy.detection[True], anatomy.detection[False]
    bound = T_B + T_N + 1.5
    return Claim(
        "mblue.local",
        "With the local handoff protocol the move is known within T_B + T_N; without it, the host waits for the "
        "advertisement, at most one second.",
        (
            Measure(
                "local handoff: latest detection", largest([at * 1e3 for at in fast]), "ms", at_most(bound)
            ),
            Measure(
                "detection, local handoff minus advertisement",
                paired([at * 1e3 for at in fast], [at * 1e3 for at in slow]),
                "ms",
                less(),
            ),
            Measure(
                "advertisement: latest detection",
                largest([at * 1e3 for at in slow]),
                "ms",
                at_most(1000 + T_N + 1.5),
            ),
        ),
        kind="inventory",
        reading="beacons and advertisements of random phase",
        why="A beacon each 50 ms bounds the wait and fetches the advertisement on request, which is otherwise sent "
        "at most once a second; 1.5 ms are the serialisation of the seven messages.",
    )


def _column(runs: Sequence[OneHandoff], pick: Callable[[OneHandoff], float]) -> list[float]:
    return [float(pick(run)) for run in runs]


_HALF = float(len(FLOWS)) / 2
"""Synchronisation: more flows than this cut their windows."""


def _cutting(found: Evidence, queue: str) -> list[float]:
    return _column(found.one[queue], lambda run: run.cutting)


def _fig11(found: Evidence) -> Claim:
    one = found.one
    lost = {queue: _column(runs, lambda run: run.forwarded_drops) for queue, runs in one.items()}
    return Claim(
        "mblue.fig11",
        "Up to a window of packets arrives from the old base station within T_h. BLUE overflows and the flows "
        "synchronise; RED's average and drop probability rise, with the same effect; MBLUE's P_m falls and it keeps "
        "the burst.",
        (
            Measure(
                "packets of the first burst, from a buffer of three windows",
                student(found.wide),
                "pkt",
                within(1, WINDOW_PKTS),
            ),
            Measure(
                "packets forwarded within T_h",
                student(_column(one["mblue"], lambda run: run.forwarded)),
                "pkt",
                within(1, WINDOW_PKTS),
            ),
            Measure(
                "MBLUE: P_m at the handoff minus the lowest after it",
                student(_column(one["mblue"], lambda run: run.probability_before - run.lowest_probability)),
                "1",
                greater(),
            ),
            *(
                Measure(
                    f"forwarded packets lost, MBLUE minus {queue.upper()}",
                    paired(lost["mblue"], lost[queue]),
                    "pkt",
                    less(),
                )
                for queue in ("red", "blue")
            ),
            Measure(
                "BLUE: packets lost to overflow",
                student(_column(one["blue"], lambda run: run.overflows)),
                "pkt",
                greater(),
            ),
            Measure(
                "RED: highest avg_q after the handoff minus that before",
                student(_column(one["red"], lambda run: run.peak_average - run.calm_average)),
                "pkt",
                greater(),
            ),
            Measure(
                "RED: highest p_b after the handoff minus that before",
                bootstrap(_column(one["red"], lambda run: run.peak_probability - run.calm_probability)),
                "1",
                greater(),
            ),
            *(
                Measure(
                    f"{queue.upper()}: flows that cut their windows within 1 s",
                    student(_cutting(found, queue)),
                    "flows",
                    greater(_HALF),
                )
                for queue in ("blue", "red")
            ),
        ),
        reading=str(found.reading),
        why=FIG11,
    )


FIG11 = (
    "ACKs of the burst's first packets return within T_h and clock more packets out on the old path: that is what "
    "exceeds one window. BLUE with d1 = 1e-4 hardly drops at random: it is a tail-drop queue, which overflows. RED's "
    "average (w_q = 0.002, a memory of 500 arrivals) answers about 0.5 s after the handoff, when most of its drops "
    "come; a count that ends there misses the flows that cut."
)


def _after(found: Evidence, queue: str) -> str:
    return f"{np.mean([run.received_after for run in found.one[queue]]):.0f}"


def _fig12(found: Evidence) -> Claim:
    received = {queue: _column(runs, lambda run: run.received) for queue, runs in found.one.items()}
    return Claim(
        "mblue.fig12",
        "From 9.5 to 13 s the moving host receives more with MBLUE than with RED and with BLUE.",
        tuple(
            Measure(
                f"packets received, MBLUE minus {queue.upper()}",
                paired(received["mblue"], received[queue]),
                "pkt",
                greater(),
            )
            for queue in ("red", "blue")
        ),
        reading=str(found.reading),
        why="With a freeze time of 1 ms P_m overshoots and empties the queue, and the burst finds room. RED's and "
        "BLUE's queues are long when it comes. Where P_m also falls while the queue is empty, the gain goes. From 10 "
        f"to 13 s {_after(found, 'mblue')}, {_after(found, 'red')} and {_after(found, 'blue')} packets come with "
        f"MBLUE, RED and BLUE; the paper's axis has room for some {AXIS_PKTS}.",
    )


def _later(runs: Sequence[ThreeHandoffs], pick: Callable[[ThreeHandoffs], Sequence[float]]) -> list[float]:
    return [float(np.mean(pick(run)[1:])) for run in runs]


def _fig13(found: Evidence) -> Claim:
    three = found.three
    few = [
        Measure(
            f"{queue.upper()}: packets lost at the first handoff minus at later ones",
            paired([run.drops[0] for run in runs], _later(runs, lambda run: run.drops)),
            "pkt",
            less(),
        )
        for queue, runs in (("red", three["red"] + found.more_red), ("blue", three["blue"]))
    ]
    cut = [
        Measure(
            f"{queue.upper()}: flows that cut within 1 s of the second and third handoff",
            student(_later(three[queue], lambda run: run.cutting)),
            "flows",
            greater(_HALF),
        )
        for queue in ("red", "blue")
    ]
    return Claim(
        "mblue.fig13",
        "Few packets are lost at the first of three handoffs; from the second on RED and BLUE synchronise, while "
        "MBLUE's average queue stays below TH_b between handoffs.",
        (
            *few,
            *cut,
            Measure(
                "MBLUE: mean queue between handoffs",
                student([run.calm_queue for run in three["mblue"]]),
                "pkt",
                less(THRESHOLD_PKTS),
            ),
        ),
        reading=str(found.reading),
        why=FIG13,
    )


FIG13 = (
    "RED loses as many packets at the first handoff as at later ones: nothing in the model sets the first one apart. "
    "Fig. 11 says so too, for there the first handoff synchronises the flows."
)


def _gain(found: Evidence, pick: Callable[[ThreeHandoffs], float]) -> Interval:
    """MBLUE minus RED over 40 s."""
    return paired([pick(run) for run in found.three["mblue"]], [pick(run) for run in found.three["red"]])


def _fig14(found: Evidence) -> Claim:
    return Claim(
        "mblue.fig14",
        "Over 40 s the moving host has more throughput with MBLUE than with RED.",
        (
            Measure(
                "goodput of the moving host, MBLUE minus RED",
                _gain(found, lambda run: run.goodput_bps / 1e3),
                "kbit/s",
                greater(),
            ),
        ),
        reading=str(found.reading),
        why=FIG14,
    )


FIG14 = (
    "P_m overshoots: it rises by d1 at each unmarked arrival while TH_b packets wait, and falls only when the queue"
    " has emptied. Random losses then cut the moving host again and again, and it returns to its old cell with a "
    "small slow-start threshold. With a freeze time of 90 ms, a round trip, P_m hardly overshoots and the claim "
    "holds."
)


DEVIATIONS: dict[str, tuple[Callable[[ThreeHandoffs], float], str]] = {
    "from the first handoff on": (lambda run: run.deviation, "pkt"),
    "the visits": (lambda run: run.visit_deviation, "pkt"),
    "relative": (lambda run: run.deviation / max(run.mean_queue, 1e-9), "1"),
}
"""By `Reading.stable`: how little stable the queue is, and its unit."""


def _overall(found: Evidence) -> Claim:
    deviation, unit = DEVIATIONS[found.reading.stable]
    return Claim(
        "mblue.overall",
        "With three handoffs in 40 s MBLUE loses fewer packets of the moving host and of the residents at handoffs "
        "than RED, the throughput of all flows together is higher, and the queue is more stable.",
        (
            Measure(
                "packets of the moving host lost within 1 s of handoffs, MBLUE minus RED",
                _gain(found, lambda run: run.lost_moving),
                "pkt",
                less(),
            ),
            Measure(
                "packets of the residents lost within 1 s of handoffs, MBLUE minus RED",
                _gain(found, lambda run: run.lost_residents),
                "pkt",
                less(),
            ),
            Measure(
                "goodput of all flows, MBLUE minus RED",
                _gain(found, lambda run: (run.residents_bps + run.goodput_bps) / 1e3),
                "kbit/s",
                greater(),
            ),
            Measure(
                "standard deviation of the queue, MBLUE minus RED",
                _gain(found, deviation),
                unit,
                less(),
            ),
        ),
        reading=str(found.reading),
        why=OVERALL,
    )


OVERALL = (
    "A P_m that overshoots keeps dropping while the queue is empty: the residents starve, and the queue swings "
    "between empty and TH_b. With a freeze time of 90 ms the flows together gain, but the queue is then longer, "
    "overflows at handoffs, and loses packets of the moving host."
)


def _fig15(found: Evidence) -> Claim:
    runs = found.three["mblue"]
    return Claim(
        "mblue.fig15",
        "P_m falls at each handoff and has climbed again before the next one.",
        tuple(
            Measure(
                f"fall of P_m at handoff {at + 1}: its value before minus the lowest within 1 s",
                student([run.fall[at] for run in runs]),
                "1",
                greater(),
            )
            for at in range(len(VISITS_S))
        ),
        reading=str(found.reading),
        why="Each marked packet sets P_m to zero, by definition. What could fail is that P_m is above zero when the "
        f"host comes: it rises only while {THRESHOLD_PKTS} packets or more wait.",
    )


def _in_step(found: Evidence, queue: str) -> str:
    return f"{np.mean([run.correlation for run in found.one[queue]]):.2f}"


def _sync(found: Evidence) -> Claim:
    others = ("droptail", "red", "blue")
    looks: tuple[tuple[str, Callable[[OneHandoff], float]], ...] = (
        ("flows that cut within 1 s of the handoff", lambda run: run.cutting),
        ("most flows that cut within one round trip, 3 s after it", lambda run: run.together),
        ("most residents that cut within one round trip, 3 s before it", lambda run: run.together_calm),
    )
    return Claim(
        "mblue.sync",
        "Global synchronisation is lower with MBLUE than with drop-tail, RED and BLUE: fewer flows cut their windows "
        "at the handoff, and fewer within one round trip of each other after it and before it.",
        tuple(
            Measure(
                f"{what}, MBLUE minus {queue}",
                paired(_column(found.one["mblue"], pick), _column(found.one[queue], pick)),
                "flows",
                less(),
            )
            for what, pick in looks
            for queue in others
        ),
        reading=str(found.reading),
        why=f"{SYNC} The windows' correlation in the 3 s after the handoff is {_in_step(found, 'mblue')} with MBLUE, "
        f"{_in_step(found, 'droptail')} with drop-tail, {_in_step(found, 'red')} with RED and "
        f"{_in_step(found, 'blue')} with BLUE. It decides nothing: it does not tell backing off together from growing "
        "together.",
    )


SYNC = (
    "The burst meets a short queue and a P_m of zero, so few flows lose packets at the handoff. But P_m has made the "
    "residents cut together before it: that short queue is the aftermath of a synchronisation by MBLUE itself."
)


BY_EVIDENCE = (_fig11, _fig12, _fig13, _fig14, _fig15, _overall, _sync)


def read(found: Evidence) -> list[Claim]:
    """Those that depend on a reading, under one."""
    return [claim(found) for claim in BY_EVIDENCE]


def alone(anatomy: Anatomy) -> list[Claim]:
    """Those on the moving host alone."""
    return [_eq1(anatomy), _reorder(anatomy), _perhost(anatomy), _local(anatomy)]


def decide(anatomy: Anatomy, found: Evidence) -> list[Claim]:
    """All claims."""
    return alone(anatomy) + read(found)
