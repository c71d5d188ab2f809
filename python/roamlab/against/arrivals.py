"""Arrivals of packets at a queue, in twenty patterns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

PACKETS = 50_000
"""Of a pattern, so that twenty have a million."""

RATE_BPS = 10_000_000
"""Of the link, where a pattern has no other."""

LARGE = 1500
"""Bytes of a packet, where a pattern has no other."""

NOT_ECT, ECT1, ECT0 = 0, 1, 2
"""ECN bits of the IP header."""


@dataclass(frozen=True)
class Arrivals:
    """Packets in order of time, and the link behind the queue."""

    times_ns: Any
    sizes: Any
    flows: Any
    ecn: Any
    rates: list[tuple[int, int]] = field(default_factory=lambda: [(0, RATE_BPS)])
    """From when [ns] the link has which rate [bit/s]."""
    limit: int | None = None
    """Packets that may wait, where it is not the default of the queue."""


@dataclass(frozen=True)
class Pattern:
    """A way in which packets arrive."""

    name: str
    about: str
    make: Callable[[Draws], Arrivals]

    def arrivals(self, packets: int = PACKETS, seed: int = 1) -> Arrivals:
        """The given number of packets. They depend on the seed and the pattern's place among `PATTERNS` alone."""
        return self.make(Draws(packets, seed * 1000 + PATTERNS.index(self)))


class Draws:
    """Random numbers by SplitMix64, which are the same on every machine."""

    def __init__(self, packets: int, seed: int) -> None:
        self.packets = packets
        self._next = seed << 32

    def uniform(self) -> Any:
        """A number from 0 to 1 for each packet."""
        counter = np.arange(self._next, self._next + self.packets, dtype=np.uint64)
        self._next += self.packets
        mixed = (counter + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53

    def whole(self, low: int, high: int) -> Any:
        """A whole number from `low` to `high` for each packet."""
        return (low + self.uniform() * (high - low + 1)).astype(np.int64)

    def exponential(self) -> Any:
        """Exponentially distributed numbers of mean 1, in steps of 2^-20, which hide the last digit of a logarithm."""
        return np.round(-np.log(1 - self.uniform()) * 2**20) / 2**20


def _arrivals(
    draws: Draws, gaps: Any, sizes: Any = LARGE, flows: Any = None, ecn: Any = NOT_ECT, **more: Any
) -> Arrivals:
    """Packets whose gaps are given in transmission times of a large packet."""
    step_ns = LARGE * 8_000_000_000 // RATE_BPS

    def each(value: Any, kind: Any) -> Any:
        return np.broadcast_to(np.asarray(value), (draws.packets,)).astype(kind)

    times = np.cumsum(np.round(each(gaps, np.float64) * step_ns).astype(np.int64))
    chosen = draws.whole(0, 3) if flows is None else flows
    return Arrivals(
        times.astype(np.uint64), each(sizes, np.uint32), each(chosen, np.uint32), each(ecn, np.uint8), **more
    )


def _constant(load: float) -> Callable[[Draws], Arrivals]:
    return lambda draws: _arrivals(draws, 1 / load)


def _poisson(load: float, **what: Callable[[Draws], Any]) -> Callable[[Draws], Arrivals]:
    return lambda draws: _arrivals(
        draws, draws.exponential() / load, **{name: of(draws) for name, of in what.items()}
    )


def _phases(loads: list[float], packets: int) -> Callable[[Draws], Arrivals]:
    """Poisson arrivals whose load changes after this number of packets."""

    def make(draws: Draws) -> Arrivals:
        phase = np.arange(draws.packets) // packets % len(loads)
        return _arrivals(draws, draws.exponential() / np.array(loads)[phase])

    return make


def _bursts(packets: int, gap: float, pause: float) -> Callable[[Draws], Arrivals]:
    """The given number of packets with short gaps, then a pause."""

    def make(draws: Draws) -> Arrivals:
        is_first = np.arange(draws.packets) % packets == 0
        return _arrivals(draws, np.where(is_first, pause, gap))

    return make


def _sawtooth(draws: Draws) -> Arrivals:
    load = 0.8 + 0.45 * (np.arange(draws.packets) % 3000) / 3000
    return _arrivals(draws, draws.exponential() / load, ecn=draws.whole(0, 1) * ECT0)


def _rate_steps(draws: Draws) -> Arrivals:
    steps = [20, 5, 12, 3, 8]
    rates = [(second * 10**9, steps[second % len(steps)] * 10**6) for second in range(draws.packets // 500)]
    return _arrivals(draws, draws.exponential() / 0.8, rates=rates)


def _heavy_and_thin(draws: Draws) -> Arrivals:
    is_thin = draws.uniform() < 0.1
    flows = np.where(is_thin, 1 + draws.whole(0, 19), 0)
    return _arrivals(draws, draws.exponential() / 1.3, np.where(is_thin, 200, LARGE), flows)


def _overflow(draws: Draws) -> Arrivals:
    return _arrivals(draws, draws.exponential() / 3, draws.whole(200, LARGE), limit=50)


def _l4s(draws: Draws) -> Any:
    return draws.whole(0, 1) * ECT1


PATTERNS = [
    Pattern("single", "one packet at a time, with pauses", _constant(0.25)),
    Pattern("below", "constant, 0.9 of the link's rate", _constant(0.9)),
    Pattern("at-rate", "constant, the link's rate", _constant(1)),
    Pattern("above", "constant, 1.05 of the rate", _constant(1.05)),
    Pattern("far-above", "constant, 1.5 of the rate", _constant(1.5)),
    Pattern("poisson-80", "Poisson, 0.8 of the rate", _poisson(0.8)),
    Pattern("poisson-110", "Poisson, 1.1 of the rate", _poisson(1.1)),
    Pattern("on-off", "250 packets at 3 times the rate, then 200 ms", _bursts(250, 1 / 3, 200 / 1.2)),
    Pattern("idle-gaps", "600 packets at twice the rate, then 2 s", _bursts(600, 0.5, 2000 / 1.2)),
    Pattern("batches", "32 together, each 40 ms", _bursts(32, 0, 40 / 1.2)),
    Pattern("steps", "Poisson, 0.5, 1.5, 0.8 and 2 of the rate", _phases([0.5, 1.5, 0.8, 2], 2500)),
    Pattern("sawtooth", "Poisson, 0.8 to 1.25 of the rate, half ECN-capable", _sawtooth),
    Pattern("link-steps", "Poisson, 8 Mbit/s; link 20, 5, 12, 3, 8 Mbit/s, 1 s each", _rate_steps),
    Pattern(
        "sizes",
        "Poisson, 1.13 of the rate, 40 to 1500 B",
        _poisson(2.2, sizes=lambda draws: draws.whole(40, LARGE)),
    ),
    Pattern("flows-200", "Poisson, 1.2, 200 flows", _poisson(1.2, flows=lambda draws: draws.whole(0, 199))),
    Pattern(
        "flows-2000", "Poisson, 1.5, 2,000 flows", _poisson(1.5, flows=lambda draws: draws.whole(0, 1999))
    ),
    Pattern("heavy-and-thin", "Poisson, 1.3, nine tenths in one of 21 flows", _heavy_and_thin),
    Pattern("ecn", "Poisson, 1.15, ECT(0)", _poisson(1.15, ecn=lambda _: ECT0)),
    Pattern("l4s-mixed", "Poisson, 1.2, half ECT(1)", _poisson(1.2, ecn=_l4s)),
    Pattern("overflow", "Poisson, 1.7 of the rate, 200 to 1500 B, limit 50", _overflow),
]
"""All patterns."""
