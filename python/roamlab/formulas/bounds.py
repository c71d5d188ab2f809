"""Formulas without an assumption on traffic: bounds, identities, work conservation, Little's law. All are exact."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roamlab.base.quantities import value
from roamlab.formulas.table import Case, Formula
from roamlab.records.constants import NO_LOSS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roamlab.formulas.facts import Facts, Hop, Ints

_NS = 1e-9


def _delay(facts: Facts) -> Iterator[Case]:
    """The tightest packet of each flow next to propagation and transmission on its fastest path."""
    for flow in facts.flows:
        if broken := facts.unsteady():
            yield Case(flow.name, broken=broken)
            continue
        rows = facts.of_flow("deliveries", flow)
        table = facts.columns("deliveries")
        delays = (table["time_ns"][rows].astype(np.int64) - table["sent_ns"][rows].astype(np.int64)) * _NS
        sizes = table["bytes"][rows]
        if not delays.size:
            yield Case(flow.name, broken="no data arrived")
            continue
        least, hops = np.zeros(delays.size), 0
        for size in np.unique(sizes):
            path = facts.path(flow.source, flow.destination, float(size))
            hops = max(hops, len(path))
            least[sizes == size] = sum(hop.time_s(float(size)) for hop in path)
        at = int(np.argmin(delays - least))
        # each hop rounds a transmission to whole nanoseconds
        yield Case(flow.name, float(least[at]), float(delays[at]), slack=hops * _NS)


def _rate(facts: Facts) -> Iterator[Case]:
    """Data on the wire between the first and the last arrival next to the rate of the widest path."""
    for flow in facts.flows:
        broken = facts.unsteady()
        if facts.hosts.keys() & {flow.source, flow.destination} and not facts.breaks_before_it_makes:
            broken = "a host has several links at a time"
        rows = facts.of_flow("deliveries", flow)
        table = facts.columns("deliveries")
        times, sizes = table["time_ns"][rows].astype(np.int64), table["bytes"][rows]
        if not broken and (times.size < 2 or times[-1] == times[0]):
            broken = "fewer than two packets arrived"
        if broken:
            yield Case(flow.name, broken=broken)
            continue
        span = (times[-1] - times[0]) * _NS
        moves = sum(host in (flow.source, flow.destination) for host, *_ in facts.gaps)
        # behind a move the last packets of the old cell may still be in the air
        slack = 8 * (moves * float(sizes.max()) + 1) / span
        measured = 8 * float(sizes[1:].sum()) / span
        yield Case(flow.name, facts.widest_bps(flow.source, flow.destination), measured, slack=slack)


def _busy(facts: Facts) -> Iterator[Case]:
    """The busiest link next to the length of the run."""
    busy = facts.columns("links")["busy_ns"].astype(np.int64)
    if busy.size:
        at = int(busy.argmax())
        name = str(facts.words("links", "link")[at])
        yield Case(name, facts.duration_ns * _NS, float(busy[at]) * _NS)


def _silence(facts: Facts) -> Iterator[Case]:
    """Packets that arrive at a host while it has no link."""
    for host in facts.hosts:
        gaps = [each for each in facts.gaps if each[0] == host]
        broken = facts.unsteady()
        if not facts.breaks_before_it_makes:
            broken = "a host has several links at a time"
        elif not gaps:
            broken = "the host never loses its link"
        if broken:
            yield Case(host, broken=broken)
            continue
        table = facts.columns("deliveries")
        received = np.zeros(table["time_ns"].size, dtype=np.bool_)
        for flow in facts.flows:
            if flow.destination == host:
                received |= facts.of_flow("deliveries", flow)
        times, sizes = table["time_ns"][received].astype(np.int64), table["bytes"][received]
        largest = float(sizes.max()) if sizes.size else 0.0
        air = max(hop.time_s(largest) for hop in facts.hops.values() if hop.target == host)
        inside = sum(
            int(((times > down + round(air * 1e9) + 1) & (times < up)).sum()) for _, down, up, _ in gaps
        )
        yield Case(host, 0.0, float(inside))


def _conservation(facts: Facts) -> Iterator[Case]:
    """Copies of data that arrived or were lost next to those that were sent."""
    duplicated = facts.columns("census")["value"][facts.rows("census", name="duplicated")].sum()
    frame = facts.results.drops
    for flow in facts.flows:
        if duplicated:
            yield Case(flow.name, broken="the network makes copies of packets")
            continue
        row = int(np.flatnonzero(facts.rows("flows", flow=flow.name))[0])
        data = facts.of_flow("drops", flow) & facts.columns("drops")["data"]
        kept = ~frame["reason"].cast(str).is_in(list(NO_LOSS)).to_numpy()
        ended = float(facts.of_flow("deliveries", flow).sum()) + float((data & kept).sum())
        yield Case(flow.name, float(facts.columns("flows")["sent_pkts"][row]), ended)


def _goodput(facts: Facts) -> Iterator[Case]:
    """The goodput next to its definition."""
    table = facts.columns("flows")
    for at, name in enumerate(facts.words("flows", "flow")):
        start = max(int(table["start_ns"][at]), 0)
        if table["start_ns"][at] < 0 or start >= facts.duration_ns:
            yield Case(name, broken="the flow did not begin")
            continue
        expected = 8e9 * float(table["delivered_bytes"][at]) / (facts.duration_ns - start)
        yield Case(name, expected, float(table["goodput_bps"][at]), slack=1e-9 * expected)


def _in_order(facts: Facts) -> Iterator[Case]:
    """Segments that an application got next to new ones that arrived."""
    for flow in facts.flows:
        row = int(np.flatnonzero(facts.rows("flows", flow=flow.name))[0])
        fresh = facts.of_flow("deliveries", flow) & facts.columns("deliveries")["fresh"]
        yield Case(flow.name, float(fresh.sum()), float(facts.columns("flows")["delivered_pkts"][row]))


def _signalling(facts: Facts) -> Iterator[Case]:
    """The tightest message of each kind next to propagation and transmission on the fastest path of its nodes."""
    table = facts.columns("signalling")
    if not table["size_bytes"].size or (broken := facts.unsteady()):
        yield Case("network", broken="there is no signalling" if not table["size_bytes"].size else broken)
        return
    took = (table["arrived_ns"].astype(np.int64) - table["sent_ns"].astype(np.int64)) * _NS
    came = table["arrived_ns"].astype(np.int64) >= 0
    kinds = facts.words("signalling", "message")
    ends = zip(
        facts.words("signalling", "source"),
        facts.words("signalling", "destination"),
        table["size_bytes"].tolist(),
        strict=True,
    )
    paths: dict[tuple[str, str, int], float] = {}
    least = np.zeros(took.size)
    for at, (source, target, size) in enumerate(ends):
        if (source, target, size) not in paths:
            hops = facts.path(source, target, size)
            # over the air a message may have a separate bearer, with another rate than the data
            paths[source, target, size] = sum(
                hop.delay_s if {hop.source, hop.target} & facts.hosts.keys() else hop.time_s(size)
                for hop in hops
            )
        least[at] = paths[source, target, size]
    came &= least > 0  # a broadcast has no path
    for kind in dict.fromkeys(kinds[came].tolist()):
        rows = np.flatnonzero(came & (kinds == kind))
        at = int(rows[np.argmin(took[rows] - least[rows])])
        yield Case(kind, float(least[at]), float(took[at]), slack=len(facts.hops) * _NS)


def _arrivals(facts: Facts, link: str) -> tuple[Ints, Ints]:
    """Of packets that entered a link's queue and were not lost there: time and size."""
    table = facts.columns("packets")
    # random loss is behind the transmission: such a packet took its time
    lost = facts.rows("drops", place=link) & ~facts.rows("drops", place=link, reason="random-loss")
    gone = facts.columns("drops")["serial"][lost]
    rows = facts.rows("packets", event="enqueue", place=link) & ~np.isin(table["serial"], gone)
    return table["time_ns"][rows].astype(np.int64), table["wire_bytes"][rows].astype(np.int64)


def _queued(facts: Facts) -> list[tuple[Hop, str]]:
    """The links whose queues are recorded, each with what forbids to follow their packets; empty: nothing does."""
    found = []
    left = (
        {node for host, *_ in facts.gaps for node in facts.network.get("cells", {})} if facts.gaps else set()
    )
    for name in facts.results.table("queue")["queue"].cast(str).unique(maintain_order=True):
        hop = facts.links.get(name)
        if hop is None:
            continue
        broken = hop.broken
        if name.endswith("/air") and hop.source in left:
            broken = broken or "hosts leave the cell, and packets its queue"
        found.append((hop, broken))
    return found


def _work(facts: Facts) -> Iterator[Case]:
    """The time that a link was busy next to what its packets need."""
    total = float(facts.columns("signalling")["size_bytes"].sum())
    busy = dict(zip(facts.words("links", "link"), facts.columns("links")["busy_ns"].tolist(), strict=True))
    for hop, broken in _queued(facts):
        times, sizes = _arrivals(facts, hop.name)
        if broken or not times.size:
            yield Case(hop.name, broken=broken or "no packet came")
            continue
        waiting = facts.columns("queue")["bytes"][facts.rows("queue", queue=hop.name)]
        left = float(waiting[-1]) if waiting.size else 0.0
        needed = 8 * (float(sizes.sum()) - left) / hop.rate_bps
        # signalling does not wait in the queue; the last packet may be under way at the end
        messages = 8 * total / hop.rate_bps
        slack = messages / 2 + 8 * float(sizes.max()) / hop.rate_bps + times.size * _NS
        yield Case(hop.name, needed + messages / 2, busy[hop.name] * _NS, slack=slack)


def _little(facts: Facts) -> Iterator[Case]:
    """The mean queue next to rate times mean wait, each wait by Lindley's recursion."""
    for hop, given in _queued(facts):
        broken = given
        if hop.queue.get("kind") != "droptail":
            broken = broken or f"the queue is {hop.queue.get('kind')}, not droptail"
        if hop.scheduled:
            broken = broken or "a scheduler orders the packets"
        times, sizes = _arrivals(facts, hop.name)
        if not broken and not times.size:
            broken = "no packet came"
        if not broken and facts.network["network"]["signalling_priority"] and _signals(facts, hop):
            broken = "signalling does not wait in the queue"
        if broken:
            yield Case(hop.name, broken=broken)
            continue
        # the start of service k is the largest of arrival j plus the services j .. k-1
        before = 8e9 / hop.rate_bps * np.concatenate([[0.0], np.cumsum(sizes[:-1], dtype=np.float64)])
        start = np.maximum.accumulate(times - before) + before
        waits = np.minimum(start, facts.duration_ns) - times
        rows = facts.rows("queue", queue=hop.name)
        when = facts.columns("queue")["time_ns"][rows].astype(np.int64)
        length = facts.columns("queue")["packets"][rows].astype(np.int64)
        area = float((length * np.diff(np.append(when, facts.duration_ns))).sum())
        # each wait is in whole nanoseconds
        slack = 2.0 * times.size / facts.duration_ns
        yield Case(hop.name, float(waits.sum()) / facts.duration_ns, area / facts.duration_ns, slack=slack)


def _signals(facts: Facts, hop: Hop) -> bool:
    """True if the link may carry messages, which do not wait in its queue."""
    return any(
        hop in facts.path(source, target, 100.0)
        for source, target in {
            *zip(
                facts.words("signalling", "source").tolist(),
                facts.words("signalling", "destination").tolist(),
                strict=True,
            )
        }
    )


def _timer(facts: Facts) -> Iterator[Case]:
    """The retransmission timeout that is farthest from its rule, next to the rule."""
    for flow in facts.flows:
        rows = facts.of_flow("variables", flow) & (facts.columns("variables")["srtt_ns"] > 0)
        broken = "" if flow.is_tcp else "no flow of TCP"
        if not broken and flow.transport["rto_rule"] != "rfc6298":
            broken = f"its rule is {flow.transport['rto_rule']}"
        if broken or not rows.any():
            yield Case(flow.name, broken=broken or "no round trip was measured")
            continue
        names = ("srtt_ns", "rttvar_ns", "rto_ns", "backoff")
        table = facts.columns("variables")
        srtt, deviation, rto, backoff = (table[name][rows].astype(np.float64) for name in names)
        tick, least, most = (value(flow.transport[name]) * 1e9 for name in ("tick", "min_rto", "max_rto"))
        rule = np.maximum(least, srtt + np.maximum(tick, 4 * deviation)) * backoff
        rule = np.minimum(rule, most)
        # the clock of the sender has ticks
        off = np.abs(rto - rule) - tick * backoff
        at = int(off.argmax())
        slack = tick * backoff[at] * _NS
        yield Case(flow.name, float(rule[at]) * _NS, float(rto[at]) * _NS, slack=float(slack))


FORMULAS = (
    Formula("delay", "d >= sum(prop + 8 bytes/r)", "definition", "s", 0.0, _delay, "at least"),
    Formula("rate of the path", "X <= max over paths of min r", "definition", "bit/s", 0.0, _rate, "at most"),
    Formula("busy time", "busy <= T", "definition", "s", 0.0, _busy, "at most"),
    Formula(
        "silence of a gap", "no packet arrives in the gap", "definition", "packets", 0.0, _silence, "at most"
    ),
    Formula("conservation", "arrived + lost <= sent", "definition", "packets", 0.0, _conservation, "at most"),
    Formula("goodput", "8 bytes/(T - start)", "definition", "bit/s", 0.0, _goodput),
    Formula("delivery", "delivered <= new arrivals", "definition", "packets", 0.0, _in_order, "at most"),
    Formula(
        "delay of messages",
        "d >= sum(prop + 8 bytes/r), on the air sum(prop)",
        "definition",
        "s",
        0.0,
        _signalling,
        "at least",
    ),
    Formula(
        "RTO",
        "max(min, srtt + max(G, 4 var)) 2^n",
        "RFC 6298 2",
        "s",
        0.0,
        _timer,
    ),
    Formula("work conservation", "busy = 8 bytes/r", "Kleinrock 1975", "s", 0.0, _work),
    Formula("Little", "mean queue = X mean wait", "Little 1961; Lindley 1952", "packets", 0.0, _little),
)
