"""Measures of each run. Everything comes from the run's tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from roamlab.papers.lte.experiments import DEFAULT, HANDOVER_S, REF, WATCH_S, WINDOW_PKTS
from roamlab.papers.records import reads
from roamlab.papers.stored import storable
from roamlab.records import metrics
from roamlab.records.metrics import Values, count, seconds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from roamlab.papers.lte.experiments import Scheme
    from roamlab.papers.lte.model import Case
    from roamlab.records.columns import Columns, Mask
    from roamlab.records.results import Results

SEGMENT_BYTES = 1460

AHEAD_S = 0.5
"""The cost of a prediction is counted from this long before the handover is due."""

Place = Literal["r->enb1", "r->enb2"]
PLACES: tuple[Place, ...] = ("r->enb1", "r->enb2")

CHART: tuple[tuple[str, str | None], ...] = (
    ("measurement-control", None),
    ("measurement-report", "measurement-control"),
    ("handover-request", "measurement-report"),
    ("handover-request-ack", "handover-request"),
    ("handover-command", "handover-request-ack"),
    ("sn-status-transfer", "handover-request-ack"),
    ("random-access-preamble", "handover-command"),
    ("random-access-response", "random-access-preamble"),
    ("handover-confirm", "random-access-response"),
    ("path-switch-request", "handover-confirm"),
    ("modify-bearer-request", "path-switch-request"),
    ("end-marker", "modify-bearer-request"),
    ("modify-bearer-response", "modify-bearer-request"),
    ("path-switch-request-ack", "modify-bearer-response"),
    ("ue-context-release", "path-switch-request-ack"),
)
"""The messages of fig. 2, each with the one that must have arrived before it is sent."""


def _changed(causes: Mapping[str, str | None]) -> tuple[tuple[str, str | None], ...]:
    """Fig. 2 with other causes of these messages."""
    return tuple((message, causes.get(message, cause)) for message, cause in CHART)


CHARTS: dict[Scheme, tuple[tuple[str, str | None], ...]] = {
    "standard": CHART,
    "fast": _changed({"path-switch-request": "handover-request-ack"}),
    "predictive": _changed(
        {
            "handover-request": None,
            "path-switch-request": "handover-request-ack",
            "handover-command": "measurement-report",
        }
    ),
}
"""The same of fig. 2, of fig. 5 (fast path switch) and of fig. 6 (prediction).

With both of the last the source requests the path switch when the target has answered.
"""


def _where(rows: Columns, **names: str) -> Mask:
    """The rows with these names in these columns."""
    chosen = np.ones(rows.height, dtype=np.bool_)
    for column, name in names.items():
        chosen &= rows.where(column, name)
    return chosen


@storable
@dataclass(frozen=True)
class Transfer:
    """Segments that `ref` received: arrays with one entry per segment, in order of arrival."""

    times: Values
    round_trips: Values
    fresh: NDArray[np.bool_]

    def received(self, start: float, end: float) -> int:
        """Segments delivered for the first time in [start, end) s."""
        return count(self.times[self.fresh], start, end)

    def smoothed(self, at: float) -> float:
        """The smoothed round trip (RFC 2988: gain 1/8) of all segments delivered until `at`, in s; 0 if none was."""
        samples = self.round_trips[self.times <= at]
        if samples.size == 0:
            return 0.0
        # The filter's weights, written out; samples older than 200 have none left.
        recent = samples[::-1][:200]
        weights = 0.125 * 0.875 ** np.arange(recent.size)
        return float((weights * recent).sum() / weights.sum())

    def mean_round_trip(self, start: float, end: float) -> float:
        """Mean round trip of segments delivered in [start, end) s, or NaN."""
        chosen = self.round_trips[(self.times >= start) & (self.times < end)]
        return float(chosen.mean()) if chosen.size else float("nan")


def transfer(results: Results, ack_s: float = DEFAULT.ack_s) -> Transfer:
    """The transfer to `ref`. A segment's round trip is the delay of this copy plus `ack_s`, an ACK's delay in s."""
    rows = results.columns("deliveries")
    own = rows.where("flow", REF)
    times = seconds(rows, chosen=own)
    return Transfer(times, times - seconds(rows, "sent_ns", own) + ack_s, rows["fresh"][own])


def phases(results: Results, name: str) -> Values:
    """When a phase of `ref`'s handover was reached, in s."""
    rows = results.columns("handovers")
    return seconds(rows, chosen=_where(rows, host=REF, phase=name))


def command(results: Results) -> float:
    """When the handover command was sent: the handover starts. Without one, when the handover was due."""
    times = phases(results, "handover-commanded")
    return float(times[0]) if times.size else HANDOVER_S


def attachment(results: Results) -> float:
    """When `ref` was connected to the target: the handover was confirmed. Without a handover, its first link."""
    confirmed = phases(results, "handover-confirmed")
    return float(confirmed[-1] if confirmed.size else phases(results, "link-up")[-1])


@storable
@dataclass(frozen=True)
class Congestion:
    """Events of `ref`'s sender from the command on, in the observed time."""

    timeouts: int
    spurious: int
    """Of the timeouts, those of which an earlier copy of the segment arrived anyway (ground truth)."""
    halvings: int
    """Fast retransmits, and answers to congestion marks."""

    @property
    def outcome(self) -> Case:
        """The worst of what happened."""
        return "timeout" if self.timeouts else "halving" if self.halvings else "ideal"


def congestion(results: Results, start: float, watch_s: float = WATCH_S) -> Congestion:
    """Events in [start, start + watch_s)."""
    tcp = results.columns("tcp")
    times = seconds(tcp)
    watched = (times >= start) & (times < start + watch_s) & _where(tcp, flow=REF)

    def happened(**names: str) -> int:
        return int(np.count_nonzero(watched & _where(tcp, **names)))

    return Congestion(
        timeouts=happened(event="timeout"),
        spurious=happened(event="timeout", timeout="spurious"),
        halvings=happened(event="fast-retransmit") + happened(event="ecn-reduction"),
    )


def window_at(results: Results, at: float, largest: int = WINDOW_PKTS) -> float:
    """The window in use at an instant, in segments."""
    tcp = results.columns("tcp")
    windows = tcp["cwnd"][tcp.where("flow", REF) & (seconds(tcp) <= at)]
    return min(float(windows[-1]), float(largest)) if windows.size else 1.0


@storable
@dataclass(frozen=True)
class Interval:
    """The model's interval in a run: from `cwnd_max` / 2 to `cwnd_max` had nothing happened."""

    cwnd_ho: float
    before: int
    """Segments delivered for the first time within it, before the command."""
    after: int
    """And from the command on."""
    rounds: int
    """Segments delivered for the first time in the cwnd_MAX / 4 + 1 round trips behind the command: those that the
    model's interval has left when the handover comes in mid-interval. A round trip is the smoothed one before."""

    @property
    def delivered(self) -> int:
        """Segments delivered for the first time within it."""
        return self.before + self.after


def interval(results: Results, received: Transfer, start: float, largest: int) -> Interval:
    """The model's interval, round by round.

    Before the command a round lasts as long as the smoothed round trip then, after it as long as the mean one of the
    next second.
    """
    at = window_at(results, start, largest)
    before = received.smoothed(start)
    after = received.mean_round_trip(start + 0.03, start + WATCH_S)
    first = start - max(0.0, at - largest / 2) * before
    last = start + (largest - at + 1) * (before if np.isnan(after) else after)
    rounds = start + (largest / 4 + 1) * before
    return Interval(
        at,
        received.received(first, start),
        received.received(start, last),
        received.received(start, rounds),
    )


@storable
@dataclass(frozen=True)
class Handover:
    """A run with a handover, or one in which it was predicted and did not come."""

    congestion: Congestion
    interval: Interval
    handover_bytes: int
    """Fig. 12: delivered from the command to one round trip after attachment."""
    handover_s: float
    """How long that is."""
    received: int
    """Segments delivered for the first time from `AHEAD_S` before the handover is due to `watch_s` after it."""
    silence_s: float
    """The longest time without a new segment then."""
    lost: int
    """Packets of `ref` lost then."""
    longest_round_trip: float
    """The longest round trip of a segment delivered within `watch_s` of the command, in s."""
    end_marker_lost: bool
    in_order: bool
    """All messages of fig. 2 were sent, each after the one that causes it had arrived."""


_HANDOVER = {
    "deliveries": "time_ns flow sent_ns fresh",
    "drops": "time_ns flow reason",
    "handovers": "time_ns host phase",
    "signalling": "message host sent_ns arrived_ns",
    "tcp": "time_ns flow event cwnd timeout",
}


@reads(**_HANDOVER)
def handover(
    results: Results,
    largest: int = WINDOW_PKTS,
    watch_s: float = WATCH_S,
    ack_s: float = DEFAULT.ack_s,
    count_s: float | None = DEFAULT.count_s,
) -> Handover:
    """Measures a run.

    `largest` is the advertised window in segments, `ack_s` the delay of an ACK, `count_s` the time from attachment to
    the end of fig. 12's count; `None`: the smoothed round trip at attachment.
    """
    start, received = command(results), transfer(results, ack_s)
    attached = attachment(results)
    until = attached + (received.smoothed(attached) if count_s is None else count_s)
    watched = (received.times >= start) & (received.times < start + watch_s)
    drops = results.columns("drops")
    lost = drops.where("flow", REF) & ~drops.where("reason", "duplicate")
    return Handover(
        congestion=congestion(results, start, watch_s),
        interval=interval(results, received, start, largest),
        handover_bytes=received.received(start, until) * SEGMENT_BYTES,
        handover_s=max(0.0, until - start),
        received=received.received(HANDOVER_S - AHEAD_S, HANDOVER_S + watch_s),
        silence_s=metrics.disruption_s(
            received.times[received.fresh],
            HANDOVER_S - AHEAD_S,
            HANDOVER_S + watch_s,
            settle=AHEAD_S + watch_s / 2,
        ),
        lost=count(seconds(drops, chosen=lost), HANDOVER_S - AHEAD_S, HANDOVER_S + watch_s),
        longest_round_trip=float(received.round_trips[watched].max(initial=0.0)),
        end_marker_lost=_end_marker_lost(results),
        in_order=chart_in_order(results),
    )


def _end_marker_lost(results: Results) -> bool:
    sent = results.columns("signalling")
    return bool((sent["arrived_ns"][_where(sent, host=REF, message="end-marker")] < 0).any())


def chart_in_order(results: Results, scheme: Scheme = "standard") -> bool:
    """All messages of the scheme's chart were sent, each after its cause had arrived."""
    rows = results.columns("signalling")
    own = rows.where("host", REF)
    names = rows.words("message", own)
    sent, arrived = rows["sent_ns"][own].tolist(), rows["arrived_ns"][own].tolist()
    for message, cause in CHARTS[scheme]:
        if message not in names:
            return False
        if cause is not None:
            last = len(names) - 1 - names[::-1].index(message)
            first = names.index(cause)
            if not 0 <= arrived[first] <= sent[last]:
                return False
    return True


@storable
@dataclass(frozen=True)
class Forwarded:
    """How forwarded packets fared in a run."""

    packets: int
    queued_twice: int
    """Of these, those that entered the router's queue to the source and then that to the target."""
    round_trip_rise_s: float
    """Their mean round trip less that of `ref`'s segments in the 300 ms before the command; NaN if none arrived."""
    waited_first_s: float
    """Mean wait in the router's queue to the source, at 1 ms a packet."""
    waited_second_s: float
    """And in that to the target."""


@reads(
    deliveries="time_ns flow sent_ns fresh serial",
    handovers="time_ns host phase",
    packets="event place flow kind number waiting serial",
)
def forwarded(results: Results) -> Forwarded:
    """Follows the packets that the source sent to the target through the router."""
    rows = results.columns("packets")
    entered = _where(rows, flow=REF, event="enqueue", kind="data")
    back = entered & rows.where("place", "enb1->r")
    serials, segments = rows["serial"][back], rows["number"][back]
    # Packets that the source had sent over the air without an acknowledgement are sent again as copies with
    # their own serials: on the way to the source a packet is known by its segment.
    first = entered & rows.where("place", "r->enb1") & np.isin(rows["number"], segments)
    second = entered & rows.where("place", "r->enb2") & np.isin(rows["serial"], serials)
    start, received = command(results), transfer(results)
    deliveries = results.columns("deliveries")
    own = np.isin(deliveries["serial"][deliveries.where("flow", REF)], serials)
    rise = float(received.round_trips[own].mean()) if own.any() else float("nan")
    per_packet = 1500 * 8 / 12e6
    return Forwarded(
        packets=len(segments),
        queued_twice=len(
            {*rows["number"][first].tolist()} & {*rows["number"][second].tolist()} & {*segments.tolist()}
        ),
        round_trip_rise_s=rise - received.mean_round_trip(start - 0.3, start),
        waited_first_s=float(rows["waiting"][first].mean()) * per_packet if first.any() else 0.0,
        waited_second_s=float(rows["waiting"][second].mean()) * per_packet if second.any() else 0.0,
    )


@storable
@dataclass(frozen=True)
class Drops:
    """Table IV in a run, and the ends of the tunnels."""

    rate: dict[Place, float]
    """Packets dropped at the router's queue over those handed to it, in percent."""
    tunnel_drops: int
    """Packets dropped at a tunnel's end because they could not carry its mark inwards."""
    answers: int
    """Times that a sender cut its window because a mark had come back."""


def drops(results: Results) -> Drops:
    """Drop rates of the two bottlenecks over the whole run."""
    lost, links = results.columns("drops"), results.columns("links")
    at = {place: int(np.count_nonzero(lost.where("place", place))) for place in PLACES}
    offered = {place: int(links["offered_pkts"][links.where("link", place)].item()) for place in PLACES}
    return Drops(
        rate={place: 100.0 * at[place] / max(1, offered[place]) for place in PLACES},
        tunnel_drops=int(np.count_nonzero(lost.where("reason", "tunnel-congestion"))),
        answers=int(np.count_nonzero(results.columns("tcp").where("event", "ecn-reduction"))),
    )


@storable
@dataclass(frozen=True)
class Active:
    """A run of tables III and IV and fig. 12."""

    handover: Handover
    drops: Drops


@reads(**_HANDOVER | {"drops": "time_ns flow place reason", "links": "link offered_pkts"})
def active(
    results: Results,
    largest: int = WINDOW_PKTS,
    watch_s: float = WATCH_S,
    ack_s: float = DEFAULT.ack_s,
    count_s: float | None = DEFAULT.count_s,
) -> Active:
    """Measures a run, as `handover`."""
    return Active(handover(results, largest, watch_s, ack_s, count_s), drops(results))


@storable
@dataclass(frozen=True)
class Trace:
    """Figs. 9 and 10 in a run."""

    window_times: Values
    window: Values
    timeouts: list[tuple[float, str]]
    """When, and whether genuine or spurious."""
    cuts: list[float]
    times: Values
    round_trips: Values
    command_s: float
    attached_s: float


def trace(results: Results) -> Trace:
    """`ref`'s window and round trips over time."""
    tcp = results.columns("tcp")
    own = tcp.where("flow", REF)
    expired = own & tcp.where("event", "timeout")
    received = transfer(results)
    return Trace(
        window_times=seconds(tcp, chosen=own),
        window=np.minimum(tcp["cwnd"][own], float(WINDOW_PKTS)),
        timeouts=list(zip(seconds(tcp, chosen=expired).tolist(), tcp.words("timeout", expired), strict=True)),
        cuts=seconds(tcp, chosen=own & tcp.where("event", "fast-retransmit")).tolist(),
        times=received.times,
        round_trips=received.round_trips,
        command_s=command(results),
        attached_s=attachment(results),
    )
