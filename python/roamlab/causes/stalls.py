"""The stalls of a flow: no new data reached it although its sender had some. docs/metrics.md defines them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from roamlab.records.slow import FLOOR_NS
from roamlab.scenarios.scenario import Scenario, is_declared_by

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from roamlab.records.columns import Columns
    from roamlab.records.results import Results

NEEDED = ("deliveries", "tcp", "packets")
"""Tables, switched on under `record`, from which stalls and their causes are found."""
_DATA = ("data", "syn", "datagram")
_SYN = -1
"""Replaces the number of a SYN."""


@dataclass(frozen=True)
class Stall:
    """A silence of a flow, in ns from the start of the run."""

    flow: str
    start_ns: int
    end_ns: int
    round_trip_ns: int
    """Twice the smallest one-way delay of the flow's data; 0 if none arrived."""
    cut_off: bool
    """The run ended before data came again."""
    is_slow: bool = False
    """No silence: a slow period in which there is no stall."""

    @property
    def length_ns(self) -> int:
        """How long it was."""
        return self.end_ns - self.start_ns

    def overlaps(self, other: Stall) -> bool:
        """They have a moment in common."""
        return self.start_ns < other.end_ns and other.start_ns < self.end_ns


def stalls(results: Results, flow: str) -> list[Stall]:
    """The stalls of a flow, longest first. The tables `NEEDED` must have been recorded."""
    arrived = results.columns("deliveries")
    rows = arrived.where("flow", flow)
    fresh = rows & arrived["fresh"].astype(bool)
    times = arrived["time_ns"][fresh]
    round_trip = round_trip_ns(results, flow)
    sends = _Sends.of(results.columns("packets"), flow, arrived, fresh)
    if not sends.times.size:
        return []
    totals = results.columns("flows")
    (own,) = np.flatnonzero(totals.where("flow", flow))
    completed = int(totals["completed_ns"][own])
    whole_file = sends_file(results, flow)
    end = completed if completed >= 0 else results.manifest.outline.duration_ns
    bounds = np.concatenate([[sends.begin], times, [end]])
    limit = max(FLOOR_NS, round_trip)
    found = []
    for number in np.flatnonzero(np.diff(bounds) > limit):
        before, after = int(bounds[number]), int(bounds[number + 1])
        last = bool(number == times.size)
        # A file in transfer is never idle: data that have arrived may be waiting for their acknowledgement.
        start = before if whole_file and not last else sends.waiting_since(before, after, round_trip)
        if start is not None and after - start > limit:
            found.append(Stall(flow, start, after, round_trip, last))
    return sorted(found, key=lambda stall: (-stall.length_ns, stall.start_ns))


def round_trip_ns(results: Results, flow: str) -> int:
    """Twice the smallest one-way delay of a flow's data; 0 if none arrived."""
    arrived = results.columns("deliveries")
    rows = arrived.where("flow", flow)
    delays = arrived["time_ns"][rows] - arrived["sent_ns"][rows]
    return 2 * int(delays.min()) if delays.size else 0


def sends_file(results: Results, flow: str) -> bool:
    """True if the application of a flow, or of the group that it is of, is a file transfer."""
    made = results.manifest
    listed = Scenario(made.scenario_text, made.scenario_name).to_dict().get("flows", [])
    own = [each for each in listed if each["name"] == flow]
    of_group = [each for each in listed if is_declared_by(flow, each["name"])]
    return any(each["app"]["kind"] == "ftp" for each in own or of_group)


@dataclass(frozen=True)
class _Sends:
    """When a flow's data was sent, in order of time, and when it arrived first."""

    times: NDArray[np.int64]
    again: NDArray[np.bool_]
    firsts: NDArray[np.int64]
    """When the same data had been sent first."""
    arrivals: NDArray[np.int64]
    begin: int
    """When the first data was sent; where more than one SYN was, or nothing else, the first of these."""

    @staticmethod
    def of(packets: Columns, flow: str, deliveries: Columns, fresh: NDArray[np.bool_]) -> _Sends:
        """From what the flow sent, and the chosen rows of what arrived of it for the first time."""
        chosen = packets.where("flow", flow) & packets.where("event", "send") & packets.where("kind", *_DATA)
        at, again = packets["time_ns"][chosen], packets["retransmission"][chosen].astype(bool)
        opening = packets.where("kind", "syn")[chosen]
        # Each connection numbers its segments from the beginning.
        opened = at[opening & ~again]
        arrived = np.searchsorted(opened, deliveries["sent_ns"][fresh], side="right")
        first: dict[tuple[int, int], int] = {}
        for connection, number, time in zip(
            arrived.tolist(),
            deliveries["seq"][fresh].tolist(),
            deliveries["time_ns"][fresh].tolist(),
            strict=True,
        ):
            first.setdefault((connection, number), time)
            # A SYN is no delivery; it had arrived when the first data of its connection did.
            first.setdefault((connection, _SYN), time)
        connections = np.searchsorted(opened, at, side="right").tolist()
        numbers = np.where(opening, _SYN, packets["number"][chosen].astype(np.int64)).tolist()
        sent = list(zip(connections, numbers, strict=True))
        never = np.iinfo(np.int64).max
        arrivals = np.array([first.get(each, never) for each in sent], dtype=np.int64)
        begun: dict[tuple[int, int], int] = {}
        for each, time in zip(sent, at.tolist(), strict=True):
            begun.setdefault(each, time)
        firsts = np.array([begun[each] for each in sent], dtype=np.int64)
        answered = np.count_nonzero(opening) == 1 and at.size > 1
        begin = int((at[~opening] if answered else at)[0]) if at.size else 0
        return _Sends(at, again, firsts, arrivals, begin)

    def waiting_since(self, before: int, after: int, round_trip: int) -> int | None:
        """From when on the sender had data under way or sent some again; None: it had nothing to send."""
        within = (self.times >= before) & (self.times < after)
        if bool((within & self.again).any()):
            return max(before, int(self.firsts[within & self.again].min()))
        recent = (self.times >= before - max(round_trip, FLOOR_NS)) & (self.times < after)
        waiting = self.times[recent & (self.arrivals > before)]
        return max(before, int(waiting[0])) if waiting.size else None
