"""The goodput of the ten seconds behind the loss of a link: how much a handover lets through.

What is lost follows from the buffers, the window behind the move from the congestion control. The window then grows by
its law in steps of 2 ms, with the rate min(W/R2, mu2), and is cut where it overflows the new cell's queue.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from roamlab.base.quantities import value
from roamlab.formulas import silences
from roamlab.formulas.silences import silence
from roamlab.formulas.table import Case, Formula

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roamlab.formulas.facts import Facts, FlowFacts
    from roamlab.formulas.silences import Ends, Move

SPAN_S = 10.0
"""The time over which the goodput is measured."""
_STEP_S = 0.002
_SOON_S = 0.002
"""Time in which a station releases its buffer to a host."""
_BETA = {"reno": 0.5, "cubic": 0.7}
_C = 0.4
"""CUBIC's C, in packets per s^3 (RFC 9438 section 5)."""
_REPAIR = 0.55
"""Growth of Linux's window in the recovery (PRR) in windows per round trip, as fitted."""


@dataclass(frozen=True)
class Path:
    """The paths of the flow before and behind the move, and their buffers, in packets and s."""

    rtt_before_s: float
    rtt_s: float
    """Base round trip behind the move (R2)."""
    rate_before_pps: float
    rate_pps: float
    """Packets per second of the new cell (mu2)."""
    queue_pkts: float
    """Limit of the new cell's queue (B2)."""
    held_pkts: float
    """Packets that a station holds for the host at most."""

    @property
    def pipe_pkts(self) -> float:
        """Packets of the path without a queue (Lambda)."""
        return self.rtt_s * self.rate_pps

    @property
    def most_pkts(self) -> float:
        """Packets of the path with a full queue (C2)."""
        return self.pipe_pkts + self.queue_pkts


@dataclass(frozen=True)
class Window:
    """The window at the loss of the link, and the law by which it grows."""

    pkts: float
    ssthresh_pkts: float
    control: str
    acked_each: int
    """Packets of an ACK: 2 with delayed ACKs."""
    counts_packets: bool
    """Growth is by acknowledged packets and not by ACKs (Linux)."""
    linux: bool
    plateau_pkts: float
    """CUBIC's W_max of the last cut; infinite: there was none."""
    prior_pkts: float
    """The window before that cut."""
    since_s: float
    """Time since the growth behind that cut began."""

    @property
    def beta(self) -> float:
        """The share that a cut leaves."""
        return _BETA[self.control]


def backlog_pkts(move: Move, path: Path, window: Window) -> float:
    """Packets that wait at the new station when the host may receive (n)."""
    queued = max(0.0, window.pkts - path.rate_before_pps * path.rtt_before_s)
    return min(window.pkts, queued + path.rate_before_pps * (move.gap_s + 4 * move.air_s))


def lost_pkts(move: Move, ends: Ends, path: Path, window: Window) -> float:
    """Packets of the window that the handover loses (L)."""
    w = window.pkts
    if move.forwards:
        return max(0.0, backlog_pkts(move, path, window) - min(path.held_pkts, path.queue_pkts + 1))
    soonest = move.switch_s - move.server_gateway_s
    behind = sum(ack >= soonest for ack in ends.acks_s)
    return max(0.0, w - window.acked_each * behind)


def outside(move: Move, ends: Ends, path: Path, window: Window, *, sack: bool) -> str:
    """The test of the model's domain that fails; empty: none."""
    lost = lost_pkts(move, ends, path, window)
    if window.control not in _BETA:
        return f"its congestion control is {window.control}"
    if window.pkts < 8:
        return "the window is below 8 packets"
    if lost and not sack:
        return "packets are lost, and the sender has no SACK"
    burst = max(0.0, window.beta * window.pkts - (window.pkts - lost)) if lost else 0.0
    room = path.queue_pkts / (2 if move.forwards else 1)
    if burst > (2 * path.queue_pkts if window.linux else room):
        return "the burst of repairs overflows the queue"
    if lost and window.beta * window.pkts > 0.9 * path.most_pkts:
        return "the window that the cut leaves does not fit into the new path"
    if window.linux and not move.forwards and window.pkts > 300:
        return "all of a window of more than 300 packets is lost"
    if lost and not move.forwards and ends.held_ack_s == math.inf and "expiry" in silence(move, ends)[1]:
        return "the timer ends the silence"
    return ""


def volume_pkts(move: Move, ends: Ends, path: Path, window: Window) -> float:
    """New packets that arrive in the ten seconds behind the loss of the link."""
    begin, _ = silence(move, ends)
    lost = lost_pkts(move, ends, path, window)
    if not lost:
        return _grown(window, path, window.pkts, begin, kept=True)
    target = window.beta * window.pkts
    if not window.linux:
        return _grown(window, path, target, begin + path.rtt_s, kept=False)
    # what is left of the window clocks the repairs, from two packets on
    now, w, volume = begin, min(max(2.0, window.pkts - lost), target), 0.0
    while w < target and now < SPAN_S:
        volume += min(w / path.rtt_s, path.rate_pps) * _STEP_S
        w += _REPAIR * w / path.rtt_s * _STEP_S
        now += _STEP_S
    return volume + _grown(window, path, target, now, kept=False)


def _grown(window: Window, path: Path, first: float, begin: float, *, kept: bool) -> float:
    """Packets from `begin` to the end of the span, with a window that begins with `first`."""
    law = _Law(window, first, kept=kept)
    volume, now = 0.0, begin
    while now < SPAN_S:
        rtt = max(path.rtt_s, law.pkts / path.rate_pps)
        rate = law.pkts / rtt
        volume += rate * min(_STEP_S, SPAN_S - now)
        law.grow(rate, rtt)
        if law.pkts > path.most_pkts:
            law.cut()
        now += _STEP_S
    return volume


class _Law:
    """A window that grows and is cut."""

    def __init__(self, window: Window, first: float, *, kept: bool) -> None:
        self.of, self.pkts, self.estimate = window, first, first
        self.threshold = window.ssthresh_pkts if kept else first
        self.top, self.prior, self.since = window.plateau_pkts, window.prior_pkts, window.since_s
        if not kept:
            self._loses(window.pkts)
            self.since = 0.0
        elif self.top == math.inf:
            self.top = self.prior = first
        self.cut_to = window.beta * self.prior

    def grow(self, rate_pps: float, rtt_s: float) -> None:
        """One step."""
        acked = rate_pps * _STEP_S
        acks = acked if self.of.counts_packets else acked / self.of.acked_each
        if self.pkts < self.threshold:
            self.pkts += acks
        elif self.of.control == "reno":
            self.pkts += acks / self.pkts
        else:
            beta = self.of.beta
            self.since += _STEP_S
            alpha = 1.0 if self.estimate >= self.prior else 3 * (1 - beta) / (1 + beta)
            self.estimate += alpha * acked / self.pkts
            plateau = math.cbrt(max(self.top - self.cut_to, 0.0) / _C)
            target = _C * (self.since + rtt_s - plateau) ** 3 + self.top
            goal = min(max(target, self.pkts), 1.5 * self.pkts)
            # each ACK goes a share 1/W of the way: behind delayed ACKs the window lags
            self.pkts = max(self.pkts + acks * (goal - self.pkts) / self.pkts, self.estimate)

    def cut(self) -> None:
        """A loss where the queue overflows."""
        self._loses(self.pkts)
        self.pkts *= self.of.beta
        self.threshold, self.estimate, self.since, self.cut_to = self.pkts, self.pkts, 0.0, self.pkts

    def _loses(self, pkts: float) -> None:
        """The plateau behind a loss, with fast convergence (RFC 9438 section 4.7)."""
        shrinks = self.of.control == "cubic" and pkts < self.top < math.inf
        self.top, self.prior = pkts * (1 + self.of.beta) / 2 if shrinks else pkts, pkts


def observed(
    facts: Facts, flow: FlowFacts, gap: tuple[str, int, int, int]
) -> tuple[Move, Ends, Path, Window, float] | str:
    """A handover with the window at the loss of the link and the packets of the ten seconds behind it."""
    found = silences.observed(facts, flow, gap)
    if isinstance(found, str):
        return found
    move, ends, _ = found
    host, down, _, visit = gap
    if down + SPAN_S * 1e9 > min([facts.duration_ns, *(each[1] for each in facts.gaps if each[1] > down)]):
        return "fewer than ten seconds follow"
    cells = [facts.hosts[host]["visits"][at]["cell"] for at in (visit - 1, visit)]
    sizes = flow.wire_bytes, 40.0
    ways = [facts.path(flow.source, host, sizes[0], cell) for cell in cells]
    backs = [facts.path(host, flow.source, sizes[1], cell) for cell in cells]
    rates = [min(hop.rate_bps for hop in way) / (8 * sizes[0]) for way in ways]
    rtts = [
        sum(hop.time_s(sizes[0]) for hop in way) + sum(hop.time_s(sizes[1]) for hop in back)
        for way, back in zip(ways, backs, strict=True)
    ]
    limit = ways[1][-1].queue
    if limit.get("kind") != "droptail" or not str(limit["limit"]).endswith(" pkt"):
        return "the new cell's queue is not droptail in packets"
    held = facts.network["mobility"].get("buffer_limit")
    if held is None:
        return "no limit of the stations' buffer is known"
    path = Path(rtts[0], rtts[1], rates[0], rates[1], value(limit["limit"]), value(held))
    table = facts.columns("variables")
    row = np.flatnonzero(facts.of_flow("variables", flow) & (table["time_ns"].astype(np.int64) <= down))[-1]
    linux = flow.transport["recovery"] == "rack"
    window = Window(
        min(float(table["cwnd"][row]), flow.window_pkts),
        float(table["ssthresh"][row]),
        flow.control,
        1 if value(flow.transport["delayed_ack"]) == 0 else 2,
        linux,
        linux,
        *_last_cut(facts, flow, down, whole=linux),
    )
    times = facts.columns("deliveries")["time_ns"].astype(np.int64)
    fresh = facts.of_flow("deliveries", flow) & facts.columns("deliveries")["fresh"]
    arrived = float((fresh & (times > down) & (times <= down + SPAN_S * 1e9)).sum())
    return move, ends, path, window, arrived


def _last_cut(facts: Facts, flow: FlowFacts, at: int, *, whole: bool) -> tuple[float, float, float]:
    """CUBIC's plateau, the window before the last cut, and the time since the round trip behind it.

    `whole`: the sender counts whole packets (Linux).
    """
    table = facts.columns("variables")
    rows = np.flatnonzero(facts.of_flow("variables", flow) & (table["time_ns"].astype(np.int64) <= at))
    cwnd, cuts = table["cwnd"][rows], table["reductions"][rows].astype(np.int64)
    plateau, before, since = math.inf, math.inf, 0.0
    beta = _BETA.get(flow.control, 1.0)
    for row in np.flatnonzero(np.diff(cuts) > 0):
        before = float(cwnd[row])
        plateau = before * (1 + beta) / 2 if before < plateau < math.inf else before
        plateau = math.floor(plateau) if whole else plateau
        began = int(table["time_ns"][rows[row + 1]]) + int(table["srtt_ns"][rows[row + 1]])
        since = max(at - began, 0) / 1e9
    return plateau, before, since


def _goodputs(facts: Facts) -> Iterator[Case]:
    """Each handover of each flow's receiver."""
    for flow in facts.flows:
        for gap in facts.gaps:
            if gap[0] not in (flow.source, flow.destination):
                continue
            subject = f"{flow.name} at {gap[1] / 1e9:.3f} s"
            found = observed(facts, flow, gap)
            if isinstance(found, str):
                yield Case(subject, broken=found)
                continue
            move, ends, path, window, arrived = found
            sack = bool(flow.transport["sack_blocks"])
            if broken := outside(move, ends, path, window, sack=sack):
                yield Case(subject, broken=broken)
                continue
            bits = 8 * flow.segment_bytes / SPAN_S
            yield Case(subject, bits * volume_pkts(move, ends, path, window), bits * arrived)


def _backlogs(facts: Facts) -> Iterator[Case]:
    """The packets that the new station releases to the host that has come, of each handover of each flow's receiver."""
    for flow in facts.flows:
        for host, down, up, visit in facts.gaps:
            if host not in (flow.source, flow.destination):
                continue
            subject = f"{flow.name} at {down / 1e9:.3f} s"
            found = observed(facts, flow, (host, down, up, visit))
            if isinstance(found, str):
                yield Case(subject, broken=found)
                continue
            move, _, path, window, _ = found
            backlog, broken = backlog_pkts(move, path, window), ""
            if not move.forwards:
                broken = "nothing is forwarded"
            elif backlog > path.held_pkts:
                broken = "the stations' buffer is too small for the backlog"
            if broken:
                yield Case(subject, broken=broken)
                continue
            cell = facts.hosts[host]["visits"][visit]["cell"]
            times = facts.columns("releases")["time_ns"].astype(np.int64)
            rows = facts.rows("releases", node=cell, to="", flow=flow.name) & (times >= up)
            released = times[rows]
            if not released.size:
                yield Case(subject, broken="no release is recorded")
                continue
            together = released <= released.min() + round(1e9 * _SOON_S)
            yield Case(subject, backlog, float(together.sum()), accuracy=3 + 0.02 * backlog)


FORMULAS = (
    Formula(
        "forwarded backlog",
        "n = min(W, max(0, W - mu1 R1) + mu1 (g + 4a))",
        "derived, docs/theory.md",
        "packets",
        0.0,
        _backlogs,
    ),
    Formula(
        "goodput behind a move",
        "V = integral of min(W/R2, mu2) from D to 10 s",
        "derived, docs/theory.md",
        "bit/s",
        0.1,
        _goodputs,
    ),
)
