"""The paper's claims, decided from the runs. A verdict is computed; the sentence behind it is about the mechanism."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from roamlab.papers.mblue.experiments import (
    ALONE_S,
    FLOWS,
    PROBE_INTERVAL_S,
    THRESHOLD_PKTS,
    WINDOW_PKTS,
)
from roamlab.statistics.claims import Claim, Measure, at_least, at_most, greater, less, within
from roamlab.statistics.stats import bootstrap, exact, largest, paired, student

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.papers.mblue.evidence import Anatomy, Evidence
    from roamlab.papers.mblue.measures import OneHandoff, ThreeHandoffs

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
    on, off, wait = (anatomy.transfer[way] for way in ("detour", "no detour", "wait"))
    return Claim(
        "mblue.reorder",
        "With the detour through the old base station no packet arrives out of order; without it, reordering and "
        "duplicate ACKs appear.",
        (
            Measure("detour: packets lost", student([run.lost for run in on]), "pkt", at_most(0)),
            Measure("detour: packets duplicated", student([run.duplicates for run in on]), "pkt", at_most(0)),
            Measure(
                "no detour: duplicate ACKs", student([run.duplicate_acks for run in off]), "ACKs", greater()
            ),
            Measure(
                "duplicate ACKs, detour minus no detour",
                paired([run.duplicate_acks for run in on], [run.duplicate_acks for run in off]),
                "ACKs",
                less(),
            ),
            Measure(
                "detour, and in_order_wait of 10 ms: duplicate ACKs",
                student([run.duplicate_acks for run in wait]),
                "ACKs",
                at_most(0),
            ),
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
                "packets out of order, detour minus no detour",
                paired([run.reordered for run in on], [run.reordered for run in off]),
                "pkt",
                less(),
            ),
            Measure(
                "detour: packets out of order at all",
                student([run.reordered for run in on]),
                "pkt",
                at_most(0),
            ),
            Measure(
                "detour, and in_order_wait of 10 ms: packets out of order",
                student([run.reordered for run in wait]),
                "pkt",
                at_most(0),
            ),
        ),
        reading="one transfer alone, buffers and queues larger than its window",
        why="The detour keeps the forwarded stream in order, but the old path is 3 ms and three hops longer than the "
        "direct one, so at its end, which the paper does not treat (reading A6), the first packets that the "
        "correspondent sends directly overtake the last forwarded ones unless the new base station lets them wait.",
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


def _fig11(found: Evidence) -> Claim:
    one = found.one
    back_off = float(len(FLOWS)) / 2
    return Claim(
        "mblue.fig11",
        "Up to a window of packets comes from the old base station. BLUE overflows and all flows back off; RED's "
        "average and drop probability rise, with the same effect; MBLUE's P_m goes to zero and it keeps the burst.",
        (
            Measure(
                "packets of the burst from a buffer of three windows, largest run",
                largest(found.wide),
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
            Measure(
                "MBLUE: lowest P_m after the handoff",
                student(_column(one["mblue"], lambda run: run.lowest_probability)),
                "1",
                at_most(1e-4),
            ),
            Measure(
                "MBLUE: forwarded packets lost",
                student(_column(one["mblue"], lambda run: run.forwarded_drops)),
                "pkt",
                at_most(0.5),
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
            Measure(
                "BLUE: flows that cut their windows",
                student(_column(one["blue"], lambda run: run.cutting)),
                "flows",
                greater(back_off),
            ),
            Measure(
                "RED: flows that cut their windows",
                student(_column(one["red"], lambda run: run.cutting)),
                "flows",
                greater(back_off),
            ),
        ),
        reading=str(found.reading),
        why="ACKs of the burst's first packets return within T_h and clock more packets out on the old path; BLUE with "
        "d1 = 1e-4 hardly drops at random, so it is a tail-drop queue that overflows if the burst finds it long, and "
        "RED's average (w_q = 0.002: 500 arrivals) answers after the burst and one flow at a time, so that rarely "
        'more than half the flows, which is how "all" is read, back off together.',
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
        why="MBLUE drops no forwarded packet, and the burst meets a queue that P_m has kept almost empty, so the "
        "moving host's window survives the handoff, while RED and BLUE, whose queues are long when the burst comes, "
        "take several packets out of one window, which Reno repairs by timeouts. From 10 to 13 s "
        f"{_after(found, 'mblue')}, {_after(found, 'red')} and {_after(found, 'blue')} packets come with MBLUE, RED "
        f"and BLUE, and the paper's axis has room for some {AXIS_PKTS}. What brings ours nearer is a P_m that also "
        "falls while the queue stays empty, most of all with an RTO floor of 1 s: and then no gain of MBLUE over RED "
        "is left. No reading tried has both the axis and the order of the paper.",
    )


def _later(runs: Sequence[ThreeHandoffs], pick: Callable[[ThreeHandoffs], Sequence[float]]) -> list[float]:
    return [float(np.mean(pick(run)[1:])) for run in runs]


def _fig13(found: Evidence) -> Claim:
    three = found.three
    half = float(len(FLOWS)) / 2
    few = [
        Measure(
            f"{queue.upper()}: packets lost at the first handoff minus at later ones",
            paired([run.drops[0] for run in three[queue]], _later(three[queue], lambda run: run.drops)),
            "pkt",
            less(),
        )
        for queue in ("red", "blue")
    ]
    cut = [
        Measure(
            f"{queue.upper()}: flows that cut at the second and third handoff",
            student(_later(three[queue], lambda run: run.cutting)),
            "flows",
            greater(half),
        )
        for queue in ("red", "blue")
    ]
    above = [run.above_threshold for run in three["mblue"]]
    return Claim(
        "mblue.fig13",
        "Few packets are lost at the first handoff; from the second on RED and BLUE synchronise, while MBLUE's queue "
        "stays below TH_b between handoffs.",
        (
            *few,
            *cut,
            Measure(
                "MBLUE: share of the calm time with TH_b or more packets", student(above), "1", at_most(0.01)
            ),
        ),
        reading=str(found.reading),
        why="What a burst loses depends on how long the queue is when it comes rather than on its number, and MBLUE, "
        "which acts only at TH_b and there by 1e-4 a millisecond, lets the queue overshoot TH_b for a while before it "
        "empties it; calm is the time from one second after a move to the next.",
    )


def _fig14(found: Evidence) -> Claim:
    goodput = {queue: [run.goodput_bps / 1e3 for run in runs] for queue, runs in found.three.items()}
    return Claim(
        "mblue.fig14",
        "Over 40 s with three handoffs the moving host's throughput is higher with MBLUE than with RED.",
        (Measure("goodput, MBLUE minus RED", paired(goodput["mblue"], goodput["red"]), "kbit/s", greater()),),
        reading=str(found.reading),
        why="MBLUE gives the moving host more inside the full cell and takes it back afterwards: P_m grows by up to "
        "0.05 a second while TH_b packets wait but falls only by 1e-5 whenever the queue is empty, so it overshoots, "
        "and the host returns to its old cell with a small ssthresh and needs seconds to fill the link again. With an "
        "RTO floor of 1 s, under which MBLUE's host times out less often, the sign turns.",
    )


def _fig15(found: Evidence) -> Claim:
    runs = found.three["mblue"]
    lowest = [float(max(run.lowest_probability)) for run in runs]
    before = [float(np.mean(run.probability_before[1:])) for run in runs]
    raised = [float(run.raised_below_threshold) for run in runs]
    return Claim(
        "mblue.fig15",
        "P_m falls to zero at each handoff and climbs again while the queue is above TH_b.",
        (
            Measure("highest of the three lowest P_m after a handoff", student(lowest), "1", at_most(1e-4)),
            Measure("P_m just before the second and third handoff", student(before), "1", greater()),
            Measure(
                "rises of P_m with fewer than TH_b packets waiting", student(raised), "rises", at_most(0)
            ),
        ),
        reading=str(found.reading),
        why="Each marked packet sets P_m to zero, and it rises by d1 only on an unmarked arrival that finds "
        f"{THRESHOLD_PKTS} packets or more.",
    )


def _in_step(found: Evidence, queue: str) -> str:
    return f"{np.mean([run.correlation for run in found.one[queue]]):.2f}"


def _sync(found: Evidence) -> Claim:
    others = ("droptail", "red", "blue")
    cutting = {queue: _column(runs, lambda run: run.cutting) for queue, runs in found.one.items()}
    together = {queue: _column(runs, lambda run: run.together) for queue, runs in found.one.items()}
    return Claim(
        "mblue.sync",
        "Global synchronisation is lower with MBLUE: fewer flows cut their windows at the handoff, and fewer within "
        "one round trip of each other in the 3 s after it.",
        (
            *(
                Measure(
                    f"flows that cut, MBLUE minus {queue}",
                    paired(cutting["mblue"], cutting[queue]),
                    "flows",
                    less(),
                )
                for queue in others
            ),
            *(
                Measure(
                    f"most flows that cut within one round trip, MBLUE minus {queue}",
                    paired(together["mblue"], together[queue]),
                    "flows",
                    less(),
                )
                for queue in others
            ),
        ),
        reading=str(found.reading),
        why="The burst meets a short queue and a P_m of zero, so few flows lose packets then, and those that P_m "
        "cuts later it cuts one by one. Windows are in step all the same, for what nobody cuts grows together: their "
        f"correlation is {_in_step(found, 'mblue')} with MBLUE, {_in_step(found, 'droptail')} with drop-tail, "
        f"{_in_step(found, 'red')} with RED and {_in_step(found, 'blue')} with BLUE. It is a second number, not a "
        "measure: it does not tell backing off together from growing together.",
    )


BY_EVIDENCE = (_fig11, _fig12, _fig13, _fig14, _fig15, _sync)


def read(found: Evidence) -> list[Claim]:
    """Those that depend on a reading, under one."""
    return [claim(found) for claim in BY_EVIDENCE]


def alone(anatomy: Anatomy) -> list[Claim]:
    """Those on the moving host alone."""
    return [_eq1(anatomy), _reorder(anatomy), _perhost(anatomy), _local(anatomy)]


def decide(anatomy: Anatomy, evidence: dict[str, Evidence]) -> list[Claim]:
    """All claims, under the default reading, with those that depend on a reading under the others too."""
    default = evidence["default"]
    others = [found for found in evidence.values() if found is not default]
    return alone(anatomy) + [
        replace(claim(default), others=tuple(claim(found) for found in others)) for claim in BY_EVIDENCE
    ]
