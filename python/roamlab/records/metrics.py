"""Metrics of a run's tables: the definitions of `docs/metrics.md`, each with its formula.

Times are seconds from the start of the run; a span is [start, end). An undefined value, such as the
disruption of a host that stayed, is NaN.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from roamlab.base.calls import called
from roamlab.base.errors import BadInput, did_you_mean
from roamlab.records.columns import not_recorded
from roamlab.records.constants import MOVES, NO_LOSS, WITHOUT_CONNECTION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from roamlab.records.columns import Columns, Rows, RunTables

Values = NDArray[np.float64]

REDUCTIONS = ("fast-retransmit", "timeout", "ecn-reduction", "persistent-congestion", "safe-retreat")
"""Events of the table `tcp` that cut the window."""

_NS = 1e9

_REQUESTS = "-requests"
"""How the name of a flow ends that asks for the data of another one."""


def rows_of_flow(rows: Columns, *flows: str) -> NDArray[np.bool_]:
    """Which rows of a table are of these flows. Raises `BadInput` if the run has no flow of such a name."""
    known = rows.names("flow") or ()
    for flow in flows:
        if flow not in known:
            raise BadInput(
                f"flow {flow!r}",
                "the run has no such flow",
                expected=f"one of {', '.join(known)}",
                remedy=did_you_mean(flow, known, "`results.flows` lists them"),
            )
    return rows.where("flow", *flows)


def _check_span(results: RunTables, start: float, end: float) -> None:
    span, stop = f"span [{start:g}, {end:g}) s", duration_s(results)
    if not start < end:
        raise BadInput(
            span,
            "it has no length",
            expected="an end after the start",
            remedy="write the earlier time first",
        )
    if -math.inf < start < 0 or stop * (1 + 1e-9) < end < math.inf:
        raise BadInput(
            span,
            f"the run lasts from 0 to {stop:g} s",
            expected="times within the run, in seconds",
            remedy=f"write at most {stop:g} for the end, in seconds",
        )


def _check_recorded(results: RunTables, table: str) -> None:
    """Refuse a run that did not record a table. Raises `BadInput`."""
    if table not in results.manifest.outline.recorded and not results.columns(table).height:
        raise not_recorded(table, "results")


def seconds(rows: Columns, column: str = "time_ns", chosen: Rows = slice(None)) -> Values:
    """A column of times, in s, in the chosen rows or in all."""
    return rows[column][chosen] / _NS


@called()
def count(times: Values, start: float, end: float) -> int:
    """How many of `times` lie in [start, end)."""
    return int(np.count_nonzero((times >= start) & (times < end)))


@called()
def total(results: RunTables, flow: str, column: str) -> float:
    """A total of a flow at the end of the run, from the table `flows`."""
    flows = results.columns("flows")
    return float(flows[column][rows_of_flow(flows, flow)].item())


@called()
def arrivals(results: RunTables, flow: str) -> Values:
    """When data packets of `flow` were delivered for the first time, in s."""
    rows = results.columns("deliveries")
    return seconds(rows, chosen=rows_of_flow(rows, flow) & rows["fresh"])


@called()
def goodput_bps(results: RunTables, flow: str, start: float, end: float) -> float:
    """Payload delivered for the first time in the span: n · 8 B / (end - start), B the flow's mean payload."""
    _check_span(results, start, end)
    _check_recorded(results, "deliveries")
    packets = total(results, flow, "delivered_pkts")
    payload = total(results, flow, "delivered_bytes") / packets if packets else 0.0
    return count(arrivals(results, flow), start, end) * 8.0 * payload / (end - start)


@called()
def goodput_of_all_bps(results: RunTables) -> float:
    """Bits delivered by all flows, over the time from the start of the first one to the end of the run.

    Goodputs of single flows are each from that flow's own start: their sum is no rate. 0 if no flow starts.
    """
    flows = results.columns("flows")
    begun = flows["start_ns"][flows["start_ns"] >= 0]
    length = results.manifest.outline.duration_ns - int(begun.min()) if begun.size else 0
    return 8.0 * float(flows["delivered_bytes"].sum()) / (length / _NS) if length > 0 else 0.0


@called()
def has_connection(results: RunTables, flow: str) -> bool:
    """True if `flow` has a connection with acknowledgements (TCP, QUIC)."""
    flows = results.columns("flows")
    return not flows.where("kind", *WITHOUT_CONNECTION)[rows_of_flow(flows, flow)].any()


@called()
def elastic_flows(results: RunTables) -> list[str]:
    """The flows that take what the network gives: those with a connection, except requests of other flows' data."""
    flows = results.columns("flows")
    return _without_requests(flows, flows.words("flow", ~flows.where("kind", *WITHOUT_CONNECTION)))


def _without_requests(flows: Columns, names: Iterable[str]) -> list[str]:
    known = set(flows.words("flow"))
    return [
        name for name in names if not (name.endswith(_REQUESTS) and name.removesuffix(_REQUESTS) in known)
    ]


@called()
def fairness(results: RunTables) -> float:
    """Jain's index of the goodput of the elastic flows, or of all flows but requests in a run without any."""
    flows = results.columns("flows")
    names = elastic_flows(results) or _without_requests(flows, flows.words("flow"))
    return jain(flows["goodput_bps"][flows.where("flow", *names)].tolist())


@called()
def losses(results: RunTables, flow: str) -> Values:
    """When data packets of `flow` were lost, in s: for each packet of which no copy arrived, when the last was lost.

    All copies of a packet have the same number and the same time of sending. A retransmission is a separate
    packet.
    """
    drops, deliveries = results.columns("drops"), results.columns("deliveries")
    is_data = _lost_data(results, drops, flow)
    arrived = deliveries.where("flow", flow)
    came = set(zip(deliveries["seq"][arrived].tolist(), deliveries["sent_ns"][arrived].tolist(), strict=True))
    columns = (drops[column][is_data].tolist() for column in ("seq", "sent_ns", "time_ns"))
    lost = {(seq, sent): at for seq, sent, at in zip(*columns, strict=True) if (seq, sent) not in came}
    return np.asarray(sorted(lost.values()), dtype=np.float64) / _NS


def _lost_data(results: RunTables, drops: Columns, flow: str) -> NDArray[np.bool_]:
    """Which rows of the table `drops` lost data of the flow: no acknowledgement, and no spare copy."""
    found: NDArray[np.bool_] = drops.where("flow", flow) & ~drops.where("reason", *NO_LOSS)
    return found & drops["data"].astype(bool) if has_connection(results, flow) else found


@called()
def loss_ratio(results: RunTables, flow: str) -> float:
    """Data packets of which no copy arrived, over data packets sent; a retransmission is a separate packet."""
    sent = total(results, flow, "sent_pkts")
    return losses(results, flow).size / sent if sent else math.nan


@called()
def reordering_extents(order: Sequence[int] | NDArray[np.integer]) -> list[int]:
    """The extent of each packet, in order of arrival; 0: in order (RFC 4737, sections 3.3 and 4.2.1).

    `order` are the numbers that the packets were given when they were sent. The packet that arrived i-th is reordered
    if a larger number arrived before; its extent is i - j, where the j-th was the first larger one to arrive.
    """
    numbers = np.asarray(order)
    if numbers.size == 0:
        return []
    # The largest number so far never falls, so the first larger one is found by bisection.
    largest = np.maximum.accumulate(numbers)
    first = np.searchsorted(largest, numbers, side="right")
    return [max(0, at - int(j)) for at, j in enumerate(first)]


@called()
def reordering_extent(results: RunTables, flow: str) -> int:
    """The largest extent of the flow's data packets; a retransmission is a separate packet."""
    return max(reordering_extents(_sending_order(results, flow)), default=0)


@called()
def reordered_ratio(results: RunTables, flow: str) -> float:
    """Data packets that arrived after one that was sent later, over all that arrived (RFC 4737, section 4.1)."""
    extents = reordering_extents(_sending_order(results, flow))
    return sum(extent > 0 for extent in extents) / len(extents) if extents else math.nan


def _sending_order(results: RunTables, flow: str) -> NDArray[np.integer]:
    """Of the first copy of each data packet that arrived, in order of arrival: its place in the order of sending.

    Copies have the number and the time of sending of their packet; serial numbers are their own. What is sent at one
    time is in the order of its numbers.
    """
    rows = results.columns("deliveries")
    own = rows_of_flow(rows, flow)
    if not own.any():
        return np.zeros(0, dtype=np.int64)
    seq, sent = rows["seq"][own].astype(np.int64), rows["sent_ns"][own].astype(np.int64)
    packets = np.stack([sent, seq], axis=1)
    _, first, order = np.unique(packets, axis=0, return_index=True, return_inverse=True)
    found: NDArray[np.integer] = order.reshape(-1)[np.sort(first)]
    return found


def check_host(results: RunTables, host: str) -> None:
    """Raise `BadInput` unless the run has a mobile host of this name."""
    known = results.columns("handovers").names("host") or ()
    if host in known or host in (
        hosts := [each["name"] for each in results.manifest.network.get("hosts", [])]
    ):
        return
    raise BadInput(
        f"host {host!r}",
        "the run has no mobile host of this name",
        expected=f"one of {', '.join(hosts[:20])}" if hosts else "a run with mobile hosts",
        remedy=did_you_mean(host, hosts, "`results.handovers` lists those that moved"),
    )


@called()
def handover_times(results: RunTables, host: str) -> Values:
    """When the host left a cell, in s."""
    check_host(results, host)
    return _left(results, host)


def _left(results: RunTables, node: str) -> Values:
    """When a node left a cell, in s; none for one that is no mobile host."""
    rows = results.columns("handovers")
    return seconds(rows, chosen=rows.where("host", node) & rows.where("phase", "link-down"))


@called()
def disruption_s(
    times: Values,
    handover: float,
    end: float,
    settle: float = 1.0,
    waits: Callable[[float, float], float] | None = None,
) -> float:
    """The longest silence that a handover at `handover` explains, in s.

    The largest a(k+1) - a(k) over successive arrivals `times` with a(k) < handover + settle and a(k+1) >
    handover. It is the time from the last packet before to the first after, and not hidden by a packet that
    was in the air at the break. The end of the run replaces an arrival that never came: data that ends within
    `settle` of a handover is taken for cut off by it. NaN if nothing arrived before. With `waits`, a silence
    begins when data waits between two arrivals, which that function gives (infinity: none does); NaN if none
    does in any of them.
    """
    found = silence_s(times, handover, end, settle, waits)
    return math.nan if found is None else found[1] - found[0]


@called()
def silence_s(
    times: Values,
    handover: float,
    end: float,
    settle: float = 1.0,
    waits: Callable[[float, float], float] | None = None,
) -> tuple[float, float] | None:
    """Begin and end of that silence, in s; None if nothing arrived before the handover, or nothing was to be sent."""
    if times.size == 0 or times[0] > handover:
        return None
    bounded = np.append(times, max(end, float(times[-1])))
    before, after = bounded[:-1], bounded[1:]
    (explained,) = np.nonzero((before < handover + settle) & (after > handover))
    if explained.size == 0:
        return handover, handover
    begins = before[explained]
    if waits is not None:
        begins = np.asarray(
            [waits(*gap) for gap in zip(begins.tolist(), after[explained].tolist(), strict=True)]
        )
    lengths = np.where(begins < handover + settle, after[explained] - begins, -math.inf)
    longest = int(np.argmax(lengths))
    if lengths[longest] < 0:
        return None
    return float(begins[longest]), float(after[explained][longest])


@called()
def flow_handovers(results: RunTables, flow: str) -> list[float]:
    """When a host at either end of `flow` left a cell, in s, in order of time."""
    return sorted(float(at) for node in ends(results, flow) for at in _left(results, node))


@called()
def ends(results: RunTables, flow: str) -> list[str]:
    """The nodes at the two ends of a flow."""
    flows = results.columns("flows")
    row = rows_of_flow(flows, flow)
    return [name for end in ("source", "destination") for name in flows.words(end, row)]


@called()
def table_of(results: RunTables, flow: str) -> dict[str, Any]:
    """The table `[[flows]]` of a flow, or of the group that it is of, in the scenario; empty if there is none."""
    specs = {spec["name"]: spec for spec in results.manifest.parameters.get("flows", [])}
    name = flow
    while name not in specs and "-" in name:
        name = name.rpartition("-")[0]
    found: dict[str, Any] = specs.get(name, {})
    return found


@called()
def application(results: RunTables, flow: str) -> dict[str, Any]:
    """The application of a flow, as in the scenario; for one without a table there, empty."""
    found: dict[str, Any] = table_of(results, flow).get("app", {})
    return found


@called()
def has_size(results: RunTables, flow: str) -> bool:
    """True if the flow is a file that ends."""
    app = application(results, flow)
    return app.get("kind") == "ftp" and (app.get("size") or app.get("packets")) is not None


@called()
def flow_disruptions_s(results: RunTables, flow: str, settle: float = 1.0) -> list[float]:
    """The disruption of `flow` at each handover of the host at either of its ends, in order of time.

    NaN for a handover at which the flow had nothing to send: a file that was complete, by its size or its stop,
    or a sender that was idle.
    """
    times, stop = arrivals(results, flow), duration_s(results)
    handovers = flow_handovers(results, flow)
    if application(results, flow).get("kind") != "ftp":
        waits = _waiting(results, flow, stop) if handovers else None
        return [disruption_s(times, at, stop, settle, waits) for at in handovers]
    completed = total(results, flow, "completed_ns")
    if completed < 0:
        return [disruption_s(times, at, stop, settle) for at in handovers]
    whole = completed / _NS
    return [disruption_s(times, at, whole, settle) if at < whole else math.nan for at in handovers]


_PAUSE_S = 0.2
"""A sender that pauses for less is not idle."""


def _waiting(results: RunTables, flow: str, stop: float) -> Callable[[float, float], float]:
    """From when on data was under way, or lost and not yet repaired, between two arrivals; infinity if none was.

    A datagram is under way from its sending to its arrival or loss, a segment until it arrives. A pause of the sender
    that is shorter than 200 ms, or than a round trip, does not count.
    """
    rows, drops = results.columns("deliveries"), results.columns("drops")
    own = rows.where("flow", flow)
    new = own & rows["fresh"].astype(bool)
    sent, came, seq = seconds(rows, "sent_ns", new), seconds(rows, chosen=new), rows["seq"][new]
    connected = has_connection(results, flow)
    lost = _lost_data(results, drops, flow)
    begun, ended = seconds(drops, "sent_ns", lost), seconds(drops, chosen=lost)
    if connected:
        arrived: dict[int, list[float]] = {}
        for number, at in zip(seq.tolist(), came.tolist(), strict=True):
            arrived.setdefault(number, []).append(at)
        ended = np.asarray(
            [
                next((at for at in arrived.get(number, ()) if at >= since), math.inf)
                for number, since in zip(drops["seq"][lost].tolist(), begun.tolist(), strict=True)
            ]
        )
    under_way = total(results, flow, "sent_pkts") - np.count_nonzero(own) - np.count_nonzero(lost)
    begins, ends_ = np.concatenate([sent, begun]), np.concatenate([came, ended])
    pause = max(_PAUSE_S, 2.0 * float((came - sent).min())) if came.size else _PAUSE_S

    def since(before: float, after: float) -> float:
        pending = begins[(begins < after) & (ends_ > before)]
        if after >= stop and under_way > 0:
            return before
        first = max(before, float(pending.min())) if pending.size else math.inf
        return before if first - before <= pause else first

    return since


@called()
def handover_timeouts(results: RunTables, flow: str) -> float:
    """Expiries of the retransmission timer whose chain of causes leads to a handover of a host at the flow's ends.

    The chain's root is a motion, a measurement or the like of that host (`MOVES`), later than its first entry of a
    cell. NaN without a handover, or where timeouts or causes were not recorded.
    """
    if not flow_handovers(results, flow) or "tcp" not in results.manifest.outline.recorded:
        return math.nan
    events, causes = results.columns("tcp"), results.columns("causes")
    expired = events["cause"][events.where("flow", flow) & events.where("event", "timeout")]
    return float(np.count_nonzero(of_handovers(results, flow, causes)[roots(causes["cause"], expired)]))


def roots(causes: NDArray[np.integer], rows: NDArray[np.integer]) -> NDArray[np.integer]:
    """Where the chains of these rows of the table `causes` end."""
    at = np.asarray(rows, dtype=np.int64)
    while (further := causes[at] >= 0).any():
        at = np.where(further, causes[at], at)
    return at


@called()
def of_handovers(results: RunTables, flow: str, causes: Columns) -> NDArray[np.bool_]:
    """Which rows of the table `causes` are the root of a handover of a host at the flow's ends."""
    phases = results.columns("handovers")
    found = np.zeros(causes.height, dtype=np.bool_)
    for host in ends(results, flow):
        entered = phases["time_ns"][phases.where("host", host) & phases.where("phase", "link-up")]
        if entered.size:
            found |= causes.where("host", host) & (causes["time_ns"] > entered.min())
    return found & causes.where("kind", *MOVES)


@called()
def duration_s(results: RunTables) -> float:
    """How long the run was, in s."""
    return results.manifest.outline.duration_ns / 1e9


def span_s(text: str) -> float:
    """A time as scenarios write it ("40 s"), in s."""
    number, unit = text.split()
    return float(number) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}[unit]


@called()
def utilisation(results: RunTables, rate_bps: float, start: float, end: float, flows: Iterable[str]) -> float:
    """Bits of data packets of `flows` that arrived in the span, headers included, over rate_bps · (end - start)."""
    _check_span(results, start, end)
    if not rate_bps > 0:
        raise BadInput(
            f"rate {rate_bps:g} bit/s", "no link has it", expected="a rate above 0", remedy="write 2e6"
        )
    _check_recorded(results, "deliveries")
    arrived = results.columns("deliveries")
    times = seconds(arrived)
    chosen = rows_of_flow(arrived, *flows) & (times >= start) & (times < end)
    bits = 8.0 * float(arrived["bytes"][chosen].sum())
    share = bits / (rate_bps * (end - start))
    if share > _NO_SHARE:
        raise BadInput(
            f"rate {rate_bps:g} bit/s",
            f"the link would have been busy for {share:g} times the span",
            expected="the rate of the link in bit/s",
            remedy=f"write {rate_bps:g}e6 for {rate_bps:g} Mbit/s, for example",
        )
    return share


_NO_SHARE = 100
"""A larger share of a link's capacity comes of a rate in another unit."""


@called()
def jain(shares: Iterable[float]) -> float:
    """Jain's fairness index (Σx)² / (n Σx²): 1 if all are equal, 1/n if one has all; NaN if none has anything."""
    values = np.asarray([*shares], dtype=np.float64)
    squares = values.size * float(np.square(values).sum())
    return float(values.sum()) ** 2 / squares if squares else math.nan


@called()
def cutting_flows(results: RunTables, start: float, end: float) -> int:
    """How many flows cut their window in the span."""
    _check_span(results, start, end)
    rows = results.columns("tcp")
    cuts = np.flatnonzero(rows.where("event", *REDUCTIONS))
    times = seconds(rows, chosen=cuts)
    return len(np.unique(rows["flow"][cuts[(times >= start) & (times < end)]]))


@called()
def synchronisation(
    results: RunTables,
    flows: Sequence[str],
    round_trip: float,
    start: float = -math.inf,
    end: float = math.inf,
) -> float:
    """The largest share of `flows` that cut their windows within one round trip of each other, in [start, end) s.

    max over t of |{f : f cuts in [t, t + round_trip]}| / |flows|; 0 if none cuts.
    """
    _check_span(results, start, end)
    rows = results.columns("tcp")
    cuts = np.flatnonzero(rows.where("event", *REDUCTIONS) & rows_of_flow(rows, *flows))
    times = seconds(rows, chosen=cuts)
    within = (times >= start) & (times < end)
    names, times = rows["flow"][cuts][within].tolist(), times[within]
    most = 0
    for first, at in enumerate(times):
        last = int(np.searchsorted(times, at + round_trip, side="right"))
        most = max(most, len(set(names[first:last])))
    return most / len(flows) if flows else math.nan


@called()
def window_correlation(
    results: RunTables,
    flows: Sequence[str],
    start: float,
    end: float,
    *,
    step: float = 0.05,
    largest: float = math.inf,
) -> float:
    """The mean over all pairs of flows of the correlation of their windows.

    Pearson's r of min(cwnd, largest), in segments, at start, start + step, … below end; the window is 1 before its
    first change. One that never changes correlates with nothing: 0.
    """
    _check_span(results, start, end)
    if not step > 0:
        raise BadInput(
            f"step {step:g} s", "no time passes", expected="a time above 0", remedy="leave it out: 0.05"
        )
    grid = np.arange(start, end, step)
    rows = results.columns("tcp")
    windows = []
    for flow in flows:
        own = rows_of_flow(rows, flow)
        if not own.any() and not has_connection(results, flow):
            raise BadInput(
                f"flow {flow!r}",
                "it has no connection, and so no window",
                expected="flows over TCP or QUIC",
                remedy="leave it out; the column `kind` of `results.flows` has the transports",
            )
        cwnd = np.concatenate([[1.0], rows["cwnd"][own]])
        at = np.searchsorted(seconds(rows, chosen=own), grid, side="right")
        windows.append(np.minimum(cwnd[at], largest))
    pairs = [_correlation(left, right) for left, right in combinations(windows, 2)]
    return float(np.mean(pairs)) if pairs else math.nan


def _correlation(left: Values, right: Values) -> float:
    if np.ptp(left) == 0.0 or np.ptp(right) == 0.0:
        return 0.0
    return float(np.corrcoef(left, right)[0, 1])
