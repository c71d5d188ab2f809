"""One handover of a run in detail: each segment, where it came from, what became of it, and why the window was cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from roamlab.papers.records import NS, reads
from roamlab.papers.stored import storable
from roamlab.records.why import lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from roamlab.records.columns import Mask
    from roamlab.records.results import Results

SENDER, HOST = "ch", "mh"

_CUTS = ("timeout", "fast-retransmit")
"""Events of the sender that cut its window."""


@storable
@dataclass(frozen=True)
class Points:
    """Segments, or acknowledgements by the segment expected next; times from the turn to the new cell on."""

    times_s: NDArray[np.float64]
    numbers: NDArray[np.float64]


@storable
@dataclass(frozen=True)
class Handover:
    """Events of the download around one handover."""

    number: int
    """Which one of the run, from 1."""
    progress: list[int]
    """Segments that were new to the host, from each handover of the run to the next or the end."""
    points: dict[str, Points]
    """By `KINDS`."""
    cuts: list[tuple[float, str]]
    """When, in s after the turn, the window was cut, and by what."""
    chains: list[list[str]]
    """Of each cut the chain of its causes, as text."""


KINDS = (
    "sent",
    "sent again",
    "lost",
    "arrives directly",
    "arrives directly, again",
    "arrives from a buffer",
    "arrives from a buffer, again",
    "acknowledgement sent",
)


@reads(
    packets="time_ns event place kind number retransmission",
    deliveries="time_ns seq fresh serial",
    releases="serial",
    drops="time_ns reason flow seq",
    tcp="time_ns flow event cwnd ssthresh rto_ns seq cause_serial timeout cause",
    causes="time_ns kind name place host flow seq serial cause",
)
def median_handover(
    results: Results, flow: str, turns_ns: Sequence[int], before_s: float, after_s: float
) -> Handover:
    """The handover after which the host gets the median rate of segments: its span from `before_s` to `after_s`.

    `turns_ns`: when the host turns to each next cell. A handover is counted to the next one, and the last one over a
    mean stay.
    """
    delivered = results.columns("deliveries")
    fresh = delivered["time_ns"][delivered["fresh"]].astype(np.int64)
    stays = np.diff(np.array([*turns_ns, turns_ns[-1] + turns_ns[-1] // len(turns_ns)], dtype=np.int64))
    counts = np.histogram(fresh, [turns_ns[0], *(turns_ns[0] + np.cumsum(stays))])[0]
    number = 1 + int(np.argsort(counts / stays, kind="stable")[(len(turns_ns) - 1) // 2])
    turn = turns_ns[number - 1]
    first, last = turn - round(before_s * NS), turn + round(after_s * NS)

    def points(times: NDArray[np.uint64], numbers: NDArray[np.uint32], chosen: Mask) -> Points:
        at = times.astype(np.int64)
        within = chosen & (at >= first) & (at < last)
        return Points((at[within] - turn) / NS, numbers[within].astype(np.float64))

    sent, dropped = results.columns("packets"), results.columns("drops")
    data = sent.where("event", "send") & sent.where("place", SENDER) & sent.where("kind", "data")
    answers = sent.where("event", "send") & sent.where("place", HOST) & sent.where("kind", "ack")
    kept = np.isin(delivered["serial"], results.columns("releases")["serial"])
    # An acknowledgement has no own segment that could be shown as lost.
    lost = dropped.where("flow", flow) & ~dropped.where("reason", "copy-released") & (dropped["seq"] > 0)
    new, arrived = delivered["fresh"], (delivered["time_ns"], delivered["seq"])
    shown = {
        "sent": (sent["time_ns"], sent["number"], data & ~sent["retransmission"]),
        "sent again": (sent["time_ns"], sent["number"], data & sent["retransmission"]),
        "lost": (dropped["time_ns"], dropped["seq"], lost),
        "arrives directly": (*arrived, ~kept & new),
        "arrives directly, again": (*arrived, ~kept & ~new),
        "arrives from a buffer": (*arrived, kept & new),
        "arrives from a buffer, again": (*arrived, kept & ~new),
        "acknowledgement sent": (sent["time_ns"], sent["number"], answers),
    }
    tcp = results.columns("tcp")
    at = tcp["time_ns"].astype(np.int64)
    cutting = (at >= turn) & (at < last) & np.any([tcp.where("event", cut) for cut in _CUTS], axis=0)
    rows = np.flatnonzero(cutting).tolist()
    events = [next(cut for cut in _CUTS if tcp.where("event", cut)[row]) for row in rows]
    return Handover(
        number,
        counts.tolist(),
        {kind: points(*of) for kind, of in shown.items()},
        [((int(at[row]) - turn) / NS, event) for row, event in zip(rows, events, strict=True)],
        [lines(results, "tcp", row)[1:] for row in rows],
    )
