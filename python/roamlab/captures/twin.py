"""A scenario that behaves like the path of a captured flow, and the ranges of what the capture cannot tell.

The network is one link with the delays and one cell with rate and queue. A silence of the path is a time in which the
receiver is in no cell: with a buffer at the base station packets wait for it, without one they are lost. If it comes
back to another cell, what waited in the old cell's queue is lost as well, and the new one's is empty. A link that is
down loses packets in front of the queue. A rate that changes is that of a link in front of a fast cell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from roamlab.captures.path import FlowPath

AMPLE = 10_000
"""Packets of a queue or a buffer that never overflows."""
PLACES = ("cell", "next", "wire")
"""Where packets are lost in gaps: on the air of the one cell, at a move to another cell, in front of the queue."""
MOST_TIMES = 30
"""Losses at more times than these are lost at random, by their share; of fewer each is lost by its number."""
UNKNOWN_TIMES = 4.0
"""ASSUMPTION: a rate or a queue of which a lower bound alone is known is at most this number of times as large."""
RATE, ROOM = "rate", "room of the queue"
"""Names of two unknowns."""
HANDSHAKE = 2
"""Packets of the sender before its data."""


@dataclass(frozen=True)
class Setting:
    """One twin. Times are in s from the first sending of data."""

    base_s: float
    """The round trip without queues and transmissions."""
    rate_bps: float
    queue: int
    """Room of the cell's queue, in packets."""
    gaps: tuple[tuple[float, float], ...]
    """Begin and end of the times in which nothing passes."""
    held: bool
    """Packets wait in gaps; otherwise they are lost."""
    buffer: int
    """Room for them, in packets."""
    place: str
    """One of `PLACES`."""
    variant: str
    profile: str
    length_s: float
    """How long data are counted."""
    segment: int
    drops: tuple[int, ...] = ()
    """Numbers of packets that are lost, among all of the flow."""
    loss: float = 0.0
    """The share of packets that are lost at random."""
    window: int | None = None
    first_window: int | None = None
    size: int | None = None
    """Bytes of the file; None: it never ends."""
    bursts: tuple[int, float] | None = None
    """Bytes of the application's bursts, and the time from one to the next."""
    min_rto: str | None = None
    discipline: str = "droptail"
    longer: tuple[tuple[float, float, float], ...] = ()
    """Times from which on each way is longer by so much: time, to the receiver, back."""
    seed: int = 1
    """Of its random numbers."""
    rates: tuple[tuple[float, float], ...] = ()
    """Times from which on the rate is another share of `rate_bps`, and these shares."""
    split: float = 0.5
    """The share of the round trip on the way to the receiver."""

    def moved(self, by_s: float) -> Setting:
        """The same with its gaps earlier or later."""
        return replace(self, gaps=_apart(tuple((start + by_s, end + by_s) for start, end in self.gaps)))

    def with_end(self, at: int, end_s: float) -> Setting:
        """The same with another end of one gap."""
        gaps = list(self.gaps)
        gaps[at] = (gaps[at][0], max(end_s, gaps[at][0] + 0.001))
        return replace(self, gaps=_apart(tuple(gaps)))


def _apart(gaps: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], ...]:
    """Gaps in order that do not meet."""
    made: list[tuple[float, float]] = []
    for start, end in sorted(gaps):
        earliest = made[-1][1] + 0.001 if made else 0.0
        begin = max(start, earliest)
        made.append((begin, max(end, begin + 0.001)))
    return tuple(made)


@dataclass(frozen=True)
class Unknown:
    """A quantity that a capture does not tell exactly."""

    name: str
    """In words, for example "end of the gap at 2.92 s"."""
    low: float
    high: float
    unit: str
    change: Callable[[Setting, float], Setting]
    """A setting with another value."""
    is_open: bool = False
    """The upper end is assumed."""

    @property
    def is_wide(self) -> bool:
        """The ends differ by so much that answers may depend on it."""
        return self.high - self.low > (0.02 if self.unit == "s" else 0.1 * abs(self.low))

    def words(self) -> str:
        """Name and range."""
        said = f"{self.name}: {_figure(self.low)} to {_figure(self.high)} {self.unit}"
        return f"{said} (the upper end is assumed)" if self.is_open else said


def _figure(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 100 and value != round(value) else f"{value:.4g}"


def first(path: FlowPath) -> Setting:
    """The most likely setting before anything was run."""
    queue = _full(path) if path.full else _room(path)[0] * 2
    named = _times(path) <= MOST_TIMES
    return Setting(
        base_s=path.base_s,
        rate_bps=path.bps,
        queue=queue,
        gaps=_apart(tuple((sum(gap.start_s) / 2, sum(gap.end_s) / 2) for gap in path.gaps)),
        held=bool(path.gaps) and _is_held(path),
        buffer=AMPLE,
        place="cell",
        variant="cubic",
        profile="linux-6",
        length_s=path.end_s,
        segment=path.segment,
        drops=tuple(HANDSHAKE + number for number in path.lost) if named else (),
        loss=0.0 if named else len(path.lost) / path.packets,
        window=path.window,
        first_window=path.first_window if path.first_window < 10 and not path.bursts else None,
        size=path.bytes if path.is_closed else None,
        bursts=(path.bursts["bytes"], path.bursts["period_s"]) if path.bursts else None,
        longer=_longer(path),
        rates=tuple((each["from_s"], each["bps"] / path.bps) for each in path.rates[1:]),
    )


def _times(path: FlowPath) -> int:
    """At how many times packets were lost for no other reason: those of half a window are one."""
    return sum(after - before > 50 for before, after in pairwise([-100, *path.lost]))


def without_full(setting: Setting, path: FlowPath) -> Setting | None:
    """One with room for the largest wait, in which what a full queue lost is lost by numbers. None: it was not larger.

    Behind a gap the queue may be another one, with more room.
    """
    if not path.full or path.wait_s < 1.25 * path.full_wait_s:
        return None
    drops = sorted({*setting.drops, *(HANDSHAKE + number for number in path.full)})
    return replace(setting, queue=_room(path)[0] * 2, drops=tuple(drops))


def _longer(path: FlowPath) -> tuple[tuple[float, float, float], ...]:
    """The changes of the delay."""
    if path.longer is None:
        return ()
    made = [(path.longer["from_s"], path.longer["ahead_s"], path.longer["back_s"])]
    return (*made, (path.longer["to_s"], 0.0, 0.0)) if path.longer["to_s"] is not None else tuple(made)


def placed(setting: Setting, path: FlowPath, place: str) -> Setting:
    """The same with gaps at this place."""
    gaps = ((sum(gap.starts(place)) / 2, sum(gap.ends(place)) / 2) for gap in path.gaps)
    return replace(setting, place=place, gaps=_apart(tuple(gaps)))


def _is_held(path: FlowPath) -> bool:
    """Packets waited in most of the silent time."""
    of = {True: 0.0, False: 0.0}
    for gap in path.gaps:
        of[gap.is_held] += gap.end_s[0] - gap.start_s[1]
    return of[True] > of[False]


def _full(path: FlowPath) -> int:
    """Packets that the queue has room for, by the wait in front of a loss: one more is in transmission."""
    return max(2, math.ceil(path.full_wait_s / path.packet_s) - 1)


def _room(path: FlowPath) -> tuple[int, int]:
    """Packets that the queue has room for, if it was never seen full: bounds."""
    seen = max(10, math.ceil(path.wait_s / path.packet_s))
    product = path.base_s / path.packet_s
    return seen, math.ceil(max(UNKNOWN_TIMES * seen, 2 * product))


def unknowns(path: FlowPath, place: str, rate_at_most: float | None = None) -> list[Unknown]:
    """The quantities that the capture does not tell exactly, each as a range.

    `place`: of the gaps. `rate_at_most`: a bound that the user knows, in bit/s.
    """
    made = [_rate(path, rate_at_most), _queue(path)]
    for at, gap in enumerate(path.gaps):
        made.append(
            Unknown(
                f"end of the gap at {gap.start_s[0] + path.start_s:.2f} s",
                *gap.ends(place),
                "s",
                partial(_with_end, at),
            )
        )
    if path.gaps:
        made.append(
            Unknown(
                "phase of the gaps within a round trip",
                -path.base_s / 2,
                path.base_s / 2,
                "s",
                Setting.moved,
            )
        )
    made.append(
        Unknown(
            "part of the round trip on the way to the receiver",
            0.1,
            0.9,
            "of 1",
            lambda setting, value: replace(setting, split=value),
        )
    )
    return made


def _with_end(at: int, setting: Setting, end_s: float) -> Setting:
    return setting.with_end(at, end_s)


def _rate(path: FlowPath, at_most: float | None) -> Unknown:
    def changed(setting: Setting, value: float) -> Setting:
        # The wait for a full queue is known, so its room follows the rate.
        queue = max(2, round(setting.queue * value * 1e6 / setting.rate_bps)) if path.full else setting.queue
        return replace(setting, rate_bps=value * 1e6, queue=queue)

    low, high = path.at_least_bps, UNKNOWN_TIMES * path.at_least_bps
    if path.is_filled:
        low, high = path.rates[0]["low_bps"], path.rates[0]["high_bps"]
    elif path.rates:
        low, high = min(low, path.bps), max(path.bps * 1.05, path.at_least_bps)
    elif at_most is not None:
        high = max(low, at_most)
    return Unknown(RATE, low / 1e6, high / 1e6, "Mbit/s", changed, is_open=not path.rates and at_most is None)


def _queue(path: FlowPath) -> Unknown:
    def changed(setting: Setting, value: float) -> Setting:
        return replace(setting, queue=max(2, round(value)))

    if path.full:
        room = _full(path)
        return Unknown(ROOM, max(2, room - 1), room + 1, "pkt", changed)
    low, high = _room(path)
    return Unknown(ROOM, low, high, "pkt", changed, is_open=True)
