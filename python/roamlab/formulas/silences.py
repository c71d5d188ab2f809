"""The silence of a flow at a handover: from the loss of the link to the first new data.

The model follows the packets. With forwarding the data waits at a station. Without it the first new data comes for an
ACK under way, for an ACK that waited in the host, from a tail loss probe, or from the timer: the first of these. It
needs the state of both ends at the loss of the link.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from roamlab.base.quantities import value
from roamlab.formulas.table import Case, Formula

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roamlab.formulas.facts import Facts, FlowFacts

_PROBE_SLACK_S = 0.002
"""The wait of a tail loss probe beyond two round trips (RFC 8985 section 7.2, 2 ms of a clock's tick)."""
_LINUX_DELAYED_ACK_S = 0.04
"""The shortest delayed ACK of Linux (`TCP_DELACK_MIN`)."""


@dataclass(frozen=True)
class Move:
    """One handover as the silence depends on it, in s from the loss of the link."""

    gap_s: float
    """Until the new cell's link is there (g)."""
    switch_s: float
    """When the gateway first sends to the target (T_sw)."""
    server_gateway_s: float
    """From the sender to the node that switches the path (d_s)."""
    after_s: float
    """One way behind it, over the new cell (u2)."""
    air_s: float
    """One way over the air (a)."""
    packet_s: float
    """A full packet on the new cell's air (s)."""
    forwards: bool
    """The old station forwards the packets that it holds."""
    access_s: float = 0.0
    """Messages on the air before data may flow: 3 a with access request, grant and confirmation."""


@dataclass(frozen=True)
class Ends:
    """The state of both ends at the loss of the link, in s from it."""

    srtt_s: float
    rto_s: float
    probes: bool
    """The sender sends tail loss probes, and its timer counts from the oldest segment in flight (Linux)."""
    acks_s: tuple[float, ...]
    """When the ACKs on their way reach the sender; the last of them begins the silence of the sender."""
    held_ack_s: float
    """When the receiver has an ACK that it can not send: immediately or with its delayed ACK; infinite: it has none."""


def silence(move: Move, ends: Ends) -> tuple[float, str]:
    """Time from the loss of the link to the first new data in s, and the mechanism that ends it."""
    if move.forwards:
        return move.gap_s + move.access_s + move.air_s + move.packet_s, "forwarding"
    there = move.after_s + move.packet_s
    soonest = move.switch_s - move.server_gateway_s
    ways = [(ack + there, "an ACK under way, behind the switch") for ack in ends.acks_s if ack >= soonest]
    held = max(move.gap_s, ends.held_ack_s)
    ways.append((held + move.after_s + there, "an ACK that waited in the host"))
    last = ends.acks_s[-1]
    if ends.probes:
        expiry = last - ends.srtt_s + ends.rto_s
        probe = min(last + 2 * ends.srtt_s + _PROBE_SLACK_S, expiry)
        if probe >= soonest:
            ways.append((probe + there, "a tail loss probe"))
        last = probe
    number = 1
    while (expiry := last + ends.rto_s * (2**number - 1)) < soonest:
        number += 1
    ways.append((expiry + there, f"expiry {number} of the timer"))
    return min(ways)


def observed(facts: Facts, flow: FlowFacts, gap: tuple[str, int, int, int]) -> tuple[Move, Ends, float] | str:
    """A handover of a flow's receiver with the state of its sender and the measured silence, or what forbids it."""
    host, down, up, visit = gap
    visits = facts.hosts[host].get("visits", ())
    if not flow.is_tcp or not flow.endless:
        return "no flow of TCP with endless data"
    if flow.destination != host or visit < 1 or visit >= len(visits):
        return "the host is not the receiver, or its cells are not planned"
    if broken := facts.unsteady():
        return broken
    switched = _switch_ns(facts, host, down)
    if switched is None or "forwarding" not in facts.network["mobility"]:
        return "the protocol's switch of the path is not one of a gateway"
    full = flow.wire_bytes
    old, new = (facts.path(flow.source, host, full, visits[at]["cell"]) for at in (visit - 1, visit))
    if not old or not new or facts.network["radio"]["in_flight_at_break"] != "delivered":
        return "no path is known"
    if facts.shared(flow, new[-1]):
        return "other flows share the new cell"
    back = facts.path(host, flow.source, 40.0, visits[visit - 1]["cell"])
    state = _state(facts, flow, host, down, sum(hop.time_s(40.0) for hop in back), old[-1].time_s(full))
    if state is None:
        return "no ACK was under way"
    table = facts.columns("deliveries")
    times = table["time_ns"].astype(np.int64)
    rows = facts.of_flow("deliveries", flow) & table["fresh"]
    last_air = old[-1].time_s(full)
    later = times[rows & (times > down + round(1e9 * last_air) + 1)]
    if not later.size:
        return "no data arrived behind the move"
    gateway = facts.hosts[host]["home"]
    at_gateway = next((at for at, hop in enumerate(new) if hop.source == gateway), 0)
    forwards = facts.network["mobility"]["forwarding"] != "none"
    move = Move(
        (up - down) / 1e9,
        (switched - down) / 1e9,
        sum(hop.time_s(full) for hop in new[:at_gateway]),
        sum(hop.time_s(full) for hop in new) - new[-1].time_s(full) + new[-1].delay_s,
        new[-1].delay_s,
        8 * full / new[-1].rate_bps,
        forwards,
        3 * new[-1].delay_s,
    )
    return move, state, float(later[0] - down) / 1e9


def _switch_ns(facts: Facts, host: str, down: int) -> int | None:
    """When the gateway sends to the target: the first `path-switched` of the host behind the command."""
    phases, hosts = facts.words("handovers", "phase"), facts.words("handovers", "host")
    times = facts.columns("handovers")["time_ns"].astype(np.int64)
    found = times[(phases == "path-switched") & (hosts == host) & (times > down - 10**9)]
    later = found[found > down] if (found > down).any() else found
    return int(later[0]) if later.size else None


def _state(facts: Facts, flow: FlowFacts, host: str, down: int, back_s: float, air_s: float) -> Ends | None:
    table = facts.columns("variables")
    rows = np.flatnonzero(facts.of_flow("variables", flow) & (table["time_ns"].astype(np.int64) <= down))
    sent = facts.columns("packets")["time_ns"].astype(np.int64)
    acks = sent[facts.rows("packets", event="send", place=host, kind="ack", flow=flow.name)]
    acks = acks[acks <= down]
    got = facts.columns("deliveries")["time_ns"].astype(np.int64)[facts.of_flow("deliveries", flow)]
    got = got[got <= down + round(1e9 * air_s) + 1]
    if not rows.size or not table["srtt_ns"][rows[-1]] or not acks.size or not got.size:
        return None
    tcp, last = flow.transport, rows[-1]
    srtt = float(table["srtt_ns"][last]) / 1e9
    delayed = _LINUX_DELAYED_ACK_S if tcp["ack_rule"] == "linux" else value(tcp["delayed_ack"])
    held = np.inf
    if got[-1] > acks[-1]:
        waiting = int((got > acks[-1]).sum())
        held = float(got[-1] - down) / 1e9 + (delayed if waiting < 2 else 0.0)
    arrive = (acks[acks > down - 1e9 * (back_s + srtt)] - down) / 1e9 + back_s
    probes = bool(tcp["tail_loss_probe"]) and tcp["recovery"] == "rack"
    return Ends(srtt, float(table["rto_ns"][last]) / 1e9, probes, tuple(arrive.tolist()), held)


def _silences(facts: Facts) -> Iterator[Case]:
    """Each handover of each flow's receiver."""
    for flow in facts.flows:
        gaps = [gap for gap in facts.gaps if gap[0] in (flow.source, flow.destination)]
        if not gaps:
            yield Case(flow.name, broken="no end loses its link")
        for gap in gaps:
            found = observed(facts, flow, gap)
            subject = f"{flow.name} at {gap[1] / 1e9:.3f} s"
            if isinstance(found, str):
                yield Case(subject, broken=found)
                continue
            move, ends, measured = found
            expected, _ = silence(move, ends)
            yield Case(subject, expected, measured)


FORMULAS = (
    Formula(
        "silence of a move",
        "forwarded: g + 4a + s; else the first of ACK, held ACK, probe, expiry, then u2 + s",
        "derived, docs/theory.md",
        "s",
        0.1,
        _silences,
    ),
)
