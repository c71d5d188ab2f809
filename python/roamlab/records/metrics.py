"""Metrics of a run's tables: the definitions of `docs/metrics.md`, each with its formula.

Times are seconds from the start of the run; a span is [start, end). An undefined value, such as the
disruption of a host that stayed, is NaN.
"""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from roamlab.records.columns import Columns, Rows
    from roamlab.records.results import Results

Values = NDArray[np.float64]

REDUCTIONS = ("fast-retransmit", "timeout", "ecn-reduction", "persistent-congestion", "safe-retreat")
"""Events of the table `tcp` that cut the window."""

MOVES = ("motion", "measurement", "out-of-range", "on-air", "prediction")
"""Roots of the table `causes` that begin a handover of their host."""

NO_LOSS = ("copy-released", "duplicate")
"""Reasons in `drops` that lose no data: a spare copy was let go, or one that the host had got already."""

_NS = 1e9


def seconds(rows: Columns, column: str = "time_ns", chosen: Rows = slice(None)) -> Values:
    """A column of times, in s, in the chosen rows or in all."""
    return rows[column][chosen] / _NS


def count(times: Values, start: float, end: float) -> int:
    """How many of `times` lie in [start, end)."""
    return int(np.count_nonzero((times >= start) & (times < end)))


def total(results: Results, flow: str, column: str) -> float:
    """A total of a flow at the end of the run, from the table `flows`."""
    flows = results.columns("flows")
    return float(flows[column][flows.where("flow", flow)].item())


def arrivals(results: Results, flow: str) -> Values:
    """When data packets of `flow` were delivered for the first time, in s."""
    rows = results.columns("deliveries")
    return seconds(rows, chosen=rows.where("flow", flow) & rows["fresh"])


def goodput_bps(results: Results, flow: str, start: float, end: float) -> float:
    """Payload delivered for the first time in the span: n · 8 B / (end - start), B the flow's mean payload."""
    packets = total(results, flow, "delivered_pkts")
    payload = total(results, flow, "delivered_bytes") / packets if packets else 0.0
    return count(arrivals(results, flow), start, end) * 8.0 * payload / (end - start)


def has_connection(results: Results, flow: str) -> bool:
    """Whether `flow` has a connection with acknowledgements (TCP, QUIC)."""
    flows = results.columns("flows")
    return bool(flows.where("kind", "tcp", "quic", "quinn", "linux")[flows.where("flow", flow)].any())


def losses(results: Results, flow: str) -> Values:
    """When data packets of `flow` were lost, in s: for each packet of which no copy arrived, when the last was lost.

    All copies of a packet have the same number and the same time of sending. A retransmission is a packet of its own.
    """
    drops, deliveries = results.columns("drops"), results.columns("deliveries")
    is_data = drops.where("flow", flow) & ~drops.where("reason", *NO_LOSS)
    if has_connection(results, flow):
        is_data &= drops["seq"] > 0  # an acknowledgement is no data
    arrived = deliveries.where("flow", flow)
    came = set(zip(deliveries["seq"][arrived].tolist(), deliveries["sent_ns"][arrived].tolist(), strict=True))
    columns = (drops[column][is_data].tolist() for column in ("seq", "sent_ns", "time_ns"))
    lost = {(seq, sent): at for seq, sent, at in zip(*columns, strict=True) if (seq, sent) not in came}
    return np.asarray(sorted(lost.values()), dtype=np.float64) / _NS


def loss_ratio(results: Results, flow: str) -> float:
    """Data packets of which no copy arrived, over data packets sent; a retransmission is a packet of its own."""
    sent = total(results, flow, "sent_pkts")
    return losses(results, flow).size / sent if sent else math.nan


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


def reordering_extent(results: Results, flow: str) -> int:
    """The largest extent of the flow's data packets; a retransmission is a packet of its own."""
    return max(reordering_extents(_serials(results, flow)), default=0)


def reordered_ratio(results: Results, flow: str) -> float:
    """Data packets that arrived after one that was sent later, over all that arrived (RFC 4737, section 4.1)."""
    extents = reordering_extents(_serials(results, flow))
    return sum(extent > 0 for extent in extents) / len(extents) if extents else math.nan


def _serials(results: Results, flow: str) -> NDArray[np.integer]:
    rows = results.columns("deliveries")
    serials: NDArray[np.integer] = rows["serial"][rows.where("flow", flow)]
    return serials


def handover_times(results: Results, host: str) -> Values:
    """When the host left a cell, in s."""
    rows = results.columns("handovers")
    return seconds(rows, chosen=rows.where("host", host) & rows.where("phase", "link-down"))


def disruption_s(times: Values, handover: float, end: float, settle: float = 1.0) -> float:
    """The longest silence that a handover at `handover` explains, in s.

    The largest a(k+1) - a(k) over successive arrivals `times` with a(k) < handover + settle and a(k+1) > handover:
    from the last packet before to the first after, and not hidden by a packet that was in the air at the break. The
    end of the run stands for an arrival that never came: data that ends within `settle` of a handover is taken for
    cut off by it. NaN if nothing arrived before.
    """
    found = silence_s(times, handover, end, settle)
    return math.nan if found is None else found[1] - found[0]


def silence_s(times: Values, handover: float, end: float, settle: float = 1.0) -> tuple[float, float] | None:
    """Begin and end of that silence, in s; None if nothing arrived before the handover."""
    if times.size == 0 or times[0] > handover:
        return None
    bounded = np.append(times, max(end, float(times[-1])))
    before, after = bounded[:-1], bounded[1:]
    (explained,) = np.nonzero((before < handover + settle) & (after > handover))
    if explained.size == 0:
        return handover, handover
    longest = explained[np.argmax((after - before)[explained])]
    return float(before[longest]), float(after[longest])


def flow_handovers(results: Results, flow: str) -> list[float]:
    """When a host at either end of `flow` left a cell, in s, in order of time."""
    return sorted(float(at) for host in ends(results, flow) for at in handover_times(results, host))


def ends(results: Results, flow: str) -> list[str]:
    """The nodes at the two ends of a flow."""
    flows = results.columns("flows")
    row = flows.where("flow", flow)
    return [name for end in ("source", "destination") for name in flows.words(end, row)]


def flow_disruptions_s(results: Results, flow: str, settle: float = 1.0) -> list[float]:
    """The disruption of `flow` at each handover of the host at either of its ends, in order of time."""
    times, stop = arrivals(results, flow), duration_s(results)
    return [disruption_s(times, at, stop, settle) for at in flow_handovers(results, flow)]


def handover_timeouts(results: Results, flow: str) -> float:
    """Expiries of the retransmission timer whose chain of causes leads to a handover of a host at the flow's ends.

    The chain's root is a motion, a measurement or the like of that host (`MOVES`), later than its first entry of a
    cell. NaN without a handover, or where timeouts or causes were not recorded.
    """
    if not flow_handovers(results, flow) or "tcp" not in results.manifest.outline.recorded:
        return math.nan
    events, causes = results.columns("tcp"), results.columns("causes")
    expired = events["cause"][events.where("flow", flow) & events.where("event", "timeout")]
    return float(np.count_nonzero(_of_handovers(results, flow, causes)[roots(causes["cause"], expired)]))


def roots(causes: NDArray[np.integer], rows: NDArray[np.integer]) -> NDArray[np.integer]:
    """Where the chains of these rows of the table `causes` end."""
    at = np.asarray(rows, dtype=np.int64)
    while (further := causes[at] >= 0).any():
        at = np.where(further, causes[at], at)
    return at


def _of_handovers(results: Results, flow: str, causes: Columns) -> NDArray[np.bool_]:
    """Which rows of the table `causes` are the root of a handover of a host at the flow's ends."""
    phases = results.columns("handovers")
    found = np.zeros(causes.height, dtype=np.bool_)
    for host in ends(results, flow):
        entered = phases["time_ns"][phases.where("host", host) & phases.where("phase", "link-up")]
        if entered.size:
            found |= causes.where("host", host) & (causes["time_ns"] > entered.min())
    return found & causes.where("kind", *MOVES)


def duration_s(results: Results) -> float:
    """How long the run was, in s."""
    return results.manifest.outline.duration_ns / 1e9


def span_s(text: str) -> float:
    """A time as scenarios write it ("40 s"), in s."""
    number, unit = text.split()
    return float(number) * {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}[unit]


def utilisation(results: Results, rate_bps: float, start: float, end: float, flows: Iterable[str]) -> float:
    """Bits of data packets of `flows` that arrived in the span, headers included, over rate_bps · (end - start)."""
    arrived = results.columns("deliveries")
    times = seconds(arrived)
    chosen = arrived.where("flow", *flows) & (times >= start) & (times < end)
    bits = 8.0 * float(arrived["bytes"][chosen].sum())
    return bits / (rate_bps * (end - start))


def jain(shares: Sequence[float]) -> float:
    """Jain's fairness index (Σx)² / (n Σx²): 1 if all are equal, 1/n if one has all; NaN if nobody has anything."""
    values = np.asarray(shares, dtype=np.float64)
    squares = values.size * float(np.square(values).sum())
    return float(values.sum()) ** 2 / squares if squares else math.nan


def cutting_flows(results: Results, start: float, end: float) -> int:
    """How many flows cut their window in the span."""
    rows = results.columns("tcp")
    cuts = np.flatnonzero(rows.where("event", *REDUCTIONS))
    times = seconds(rows, chosen=cuts)
    return len(np.unique(rows["flow"][cuts[(times >= start) & (times < end)]]))


def synchronisation(
    results: Results,
    flows: Sequence[str],
    round_trip: float,
    start: float = -math.inf,
    end: float = math.inf,
) -> float:
    """The largest share of `flows` that cut their windows within one round trip of each other, in [start, end) s.

    max over t of |{f : f cuts in [t, t + round_trip]}| / |flows|; 0 if none cuts.
    """
    rows = results.columns("tcp")
    cuts = np.flatnonzero(rows.where("event", *REDUCTIONS) & rows.where("flow", *flows))
    times = seconds(rows, chosen=cuts)
    within = (times >= start) & (times < end)
    names, times = rows["flow"][cuts][within].tolist(), times[within]
    most = 0
    for first, at in enumerate(times):
        last = int(np.searchsorted(times, at + round_trip, side="right"))
        most = max(most, len(set(names[first:last])))
    return most / len(flows) if flows else math.nan


def window_correlation(
    results: Results,
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
    grid = np.arange(start, end, step)
    rows = results.columns("tcp")
    windows = []
    for flow in flows:
        own = rows.where("flow", flow)
        cwnd = np.concatenate([[1.0], rows["cwnd"][own]])
        at = np.searchsorted(seconds(rows, chosen=own), grid, side="right")
        windows.append(np.minimum(cwnd[at], largest))
    pairs = [_correlation(left, right) for left, right in combinations(windows, 2)]
    return float(np.mean(pairs)) if pairs else math.nan


def _correlation(left: Values, right: Values) -> float:
    if np.ptp(left) == 0.0 or np.ptp(right) == 0.0:
        return 0.0
    return float(np.corrcoef(left, right)[0, 1])
