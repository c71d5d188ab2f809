"""Scenarios that both simulators can run: drawn at random, and the classic ones.

Every flow goes s0 - r1 - r2 - d0, s1 - r1 - r2 - d1 and so on; r1 - r2 is the bottleneck. There may be a second one,
r2 - r3, which a flow may cross too or alone, and flows the other way. Times are whole nanoseconds.
"""

from __future__ import annotations

import math
import random
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any

import variables

VARIANTS = ("tahoe", "reno", "newreno", "sack", "fack", "vegas")
PRESETS = {"ns235": "ns2-2009", "ns21b": "ns2-2001"}
ACK = 40
MILLISECOND = 1_000_000
SECOND = 1_000_000_000


UNIT = 2.0**-30
"""Seconds of ns-2 for one of our nanoseconds (see reference.py)."""


def rate_of_ns2(rate: int, sizes: list[int]) -> float | None:
    """The rate at which ns-2 computes the transmission times of these sizes exactly; `None` if no double is."""
    per_byte = 8 * SECOND // rate * UNIT
    below = above = 8.0 / per_byte
    for _ in range(4):
        for candidate in (below, above):
            if all(8.0 * size / candidate == size * per_byte for size in sizes):
                return candidate
        below, above = math.nextafter(below, 0.0), math.nextafter(above, math.inf)
    return None


def _sizes(segment: int) -> list[int]:
    """Bytes that packets may have on the wire: segments with and without a header, ACKs with SACK blocks."""
    return [segment, segment + ACK, ACK, ACK + 8, ACK + 16, ACK + 24]


@dataclass(frozen=True)
class Flow:
    """A file transfer: its TCP, its own two links, its start and its end."""

    variant: str
    to_r1: int
    from_r2: int
    start: int
    packets: int | None = None
    stop: int | None = None
    thresholds: list[int] | None = None
    """Vegas' alpha, beta and gamma, if not 1, 3 and 1."""
    enters: int = 0
    """The router, counted from 0, that its source is at."""
    leaves: int = 1
    """The router that its sink is at."""


def counts_idle_packets(rate: int, sizes: list[int], mean_packet: int) -> bool:
    """True if ns-2's RED counts n packets in an idle period of exactly n packets, for every n.

    It multiplies the period by the packets per second. Rounded down, those would make one less of some n.
    """
    bits = rate_of_ns2(rate, sizes)
    assert bits
    per_second = Fraction(1) / (Fraction(8 * SECOND // rate * mean_packet) * Fraction(UNIT))
    return Fraction(bits / (8.0 * mean_packet)) >= per_second


@dataclass(frozen=True)
class Red:
    """RED at the bottleneck, by ns-2's names where they are clearer."""

    thresh: int
    maxthresh: int
    q_weight: float
    linterm: int
    mean_packet: int
    gentle: bool
    wait: bool
    bytes: bool
    queue_in_bytes: bool
    use_mark_p: bool
    mark_p: float
    setbit: bool


@dataclass(frozen=True)
class Hop:
    """A second bottleneck, r2 - r3, with a drop-tail queue there and a long one back."""

    rate: int
    delay: int
    queue: int


@dataclass(frozen=True)
class Case:
    """One scenario."""

    name: str
    preset: str
    segment: int
    window: int
    delayed_ack: bool
    flows: list[Flow]
    access_rate: int
    rate: int
    delay: int
    queue: int
    duration: int
    losses: list[int]
    ack_losses: list[int]
    outage: list[int] | None = None
    change: list[int] | None = None
    """When, the bottleneck's new rate, its new delay."""
    red: Red | None = None
    """Instead of a drop-tail queue."""
    ecn: bool = False
    """Of all senders but Vegas, which ns-2 gives no ECN."""
    variables: dict[str, int] = field(default_factory=dict)
    """ns-2's variables that are not as in the preset."""
    back: list[int] | None = None
    """The rate and the delay of the bottleneck's way back, if they are others."""
    late: list[list[int]] = field(default_factory=list)
    """Ordinals of packets that are held back before the bottleneck, and how long, if none are lost there."""
    late_acks: list[list[int]] = field(default_factory=list)
    """The same of packets on the way back, so that later ACKs overtake them."""
    second: Hop | None = None

    @classmethod
    def of(cls, table: dict[str, Any]) -> Case:
        """From a dictionary, as `table` makes it."""
        red = Red(**table["red"]) if table.get("red") else None
        second = Hop(**table["second"]) if table.get("second") else None
        flows = [Flow(**flow) for flow in table["flows"]]
        return cls(**{**table, "flows": flows, "red": red, "second": second})

    def routers(self) -> int:
        """How many routers there are."""
        return 3 if self.second else 2

    def table(self) -> dict[str, Any]:
        """As a dictionary."""
        return asdict(self)

    def sizes(self) -> list[int]:
        """Bytes that its packets may have on the wire."""
        sizes = _sizes(self.segment)
        stamped = [self.segment + 10, self.segment + ACK + 10]
        return sizes + stamped if self.variables.get("timestamps_") else sizes

    def fits(self) -> bool:
        """True if ns-2 computes all its transmission times exactly."""
        rates = [self.access_rate, self.rate]
        rates += [self.back[0]] if self.back else []
        rates += [self.change[1]] if self.change else []
        rates += [self.second.rate] if self.second else []
        return all(rate_of_ns2(rate, self.sizes()) for rate in rates)


# Rates at which a byte takes a whole number of nanoseconds: our clock then never rounds.
_RATES = sorted(8 * SECOND // (2**two * 5**five) for two in range(13) for five in range(10))


def _rate(rng: random.Random, low: int, high: int, sizes: list[int]) -> int:
    return rng.choice([rate for rate in _RATES if low <= rate <= high and rate_of_ns2(rate, sizes)])


def losses(rng: random.Random, most: int) -> list[int]:
    """Ordinals in bursts: neighbours are lost together, and with luck retransmissions too."""
    lost: set[int] = set()
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        first = rng.randrange(most)
        lost |= {
            first + step for step in rng.choice([[0], [0, 1], [0, 1, 2], [0, 2], [0, 3, 6], [0, 8, 17, 25]])
        }
    return sorted(lost)


def draw(seed: int) -> Case:
    """The scenario of a seed."""
    rng = random.Random(seed)
    preset = rng.choice(list(PRESETS))
    segment = rng.choice([rng.randint(200, 1460), 512, 1000, 1460])
    count = rng.choice([1, 1, 1, 2, 3, 4])
    duration = rng.randint(4 * SECOND, 10 * SECOND)
    one = rng.choice(VARIANTS)
    variants = [one if rng.random() < 0.6 else rng.choice(VARIANTS) for _ in range(count)]
    flows = [
        Flow(
            variant,
            to_r1=rng.randint(MILLISECOND // 2, 20 * MILLISECOND),
            from_r2=rng.randint(MILLISECOND // 2, 5 * MILLISECOND),
            start=rng.randint(50 * MILLISECOND, 800 * MILLISECOND),
            packets=rng.randint(3, 400) if rng.random() < 0.25 else None,
            stop=rng.randint(2 * SECOND, duration) if rng.random() < 0.15 else None,
        )
        for variant in variants
    ]
    delay = rng.randint(3 * MILLISECOND, rng.choice([40, 120, 250]) * MILLISECOND)
    outage = change = None
    if rng.random() < 0.3:
        outage = [
            rng.randint(SECOND, duration - SECOND // 2),
            rng.randint(20 * MILLISECOND, 1500 * MILLISECOND),
        ]
    if rng.random() < 0.25:
        rate = _rate(rng, 200_000, 4_000_000, _sizes(segment))
        change = [rng.randint(SECOND, duration - SECOND // 2), rate, rng.randint(MILLISECOND, 2 * delay)]
    case = Case(
        name=f"seed {seed}",
        preset=preset,
        segment=segment,
        window=rng.choice([2, 4, 8, 20, 20, 40, 64, 100]),
        delayed_ack=rng.random() < 0.3,
        flows=flows,
        access_rate=_rate(rng, 5_000_000, 20_000_000, _sizes(segment)),
        rate=_rate(rng, 300_000, 4_000_000, _sizes(segment)),
        delay=delay,
        queue=rng.choice([3, 5, 8, 12, 20, 40, 100]),
        duration=duration,
        losses=losses(rng, 200),
        ack_losses=losses(rng, 150) if rng.random() < 0.25 else [],
        outage=outage,
        change=change,
    )
    if rng.random() < 0.4:
        red = draw_red(rng, case)
        case = replace(case, red=red, ecn=red.setbit or rng.random() < 0.1)
    return replace(case, flows=[replace(flow, thresholds=_thresholds(rng, flow)) for flow in flows])


def _thresholds(rng: random.Random, flow: Flow) -> list[int] | None:
    if flow.variant != "vegas" or rng.random() < 0.5:
        return None
    alpha = rng.randint(0, 4)
    return [alpha, alpha + rng.randint(0, 4), rng.randint(0, 4)]


def draw_red(rng: random.Random, case: Case) -> Red:
    sizes = case.sizes()
    means = [size for size in range(100, 1501) if counts_idle_packets(case.rate, sizes, size)]
    wanted = rng.choice([500, case.segment, case.segment + 40])
    thresh = rng.choice([0, 1, 2, 3, 5, 10])
    return Red(
        thresh=thresh,
        maxthresh=0 if rng.random() < 0.1 else thresh + rng.choice([1, 3, 6, 10, 20]),
        q_weight=rng.choice([0.002, 0.01, 0.05, 0.2, 0.5]),
        linterm=rng.choice([1, 2, 5, 10, 30, 50]),
        mean_packet=min(means, key=lambda size: abs(size - wanted)),
        gentle=rng.random() < 0.5,
        wait=rng.random() < 0.5,
        bytes=rng.random() < 0.3,
        queue_in_bytes=rng.random() < 0.3,
        use_mark_p=rng.random() < 0.5,
        mark_p=rng.choice([0.05, 0.1, 0.5, 0.9]),
        setbit=rng.random() < 0.5,
    )


def draw_wide(seed: int) -> Case:
    """The scenario of a seed, and on it the values that `draw` does not change.

    That is ns-2's variables, other rates and delays back, links without delay, packets held back, a second bottleneck,
    and flows both ways.
    """
    rng = random.Random(f"wide {seed}")
    case = replace(draw(seed), name=f"wide seed {seed}")
    sizes = case.sizes()
    if rng.random() < 0.7:
        case = replace(case, variables=variables.draw(rng, {flow.variant for flow in case.flows}))
    if rng.random() < 0.3:
        case = replace(case, back=[_rate(rng, 20_000, 4_000_000, sizes), rng.randint(0, 2 * case.delay)])
        if case.change:
            case = replace(case, change=None)
    if not case.losses and rng.random() < 0.5:
        ordinals = losses(rng, 200) or [rng.randrange(200)]
        case = replace(case, late=[ordinals, [rng.randint(MILLISECOND, 300 * MILLISECOND)]])
    if rng.random() < 0.35:
        rate = _rate(rng, 300_000, 4_000_000, sizes)
        second = Hop(rate, rng.randint(0, 60 * MILLISECOND), rng.choice([3, 5, 8, 12, 20, 40]))
        case = replace(case, second=second)
    case = replace(case, flows=[_wider(rng, case, flow) for flow in case.flows])
    return case if case.fits() else replace(case, variables={**case.variables, "timestamps_": 0})


def _wider(rng: random.Random, case: Case, flow: Flow) -> Flow:
    if rng.random() < 0.15:
        flow = replace(flow, to_r1=0)
    if rng.random() < 0.15:
        flow = replace(flow, from_r2=0)
    ways = [(0, 1), (0, 1), (1, 0)]
    if case.second:
        ways = [(0, 1), (0, 2), (0, 2), (1, 2), (2, 0)]
    enters, leaves = rng.choice(ways)
    return replace(flow, enters=enters, leaves=leaves)


_CLASSIC = {"one": [14], "two": [14, 28], "three": [14, 26, 28], "four": [14, 24, 26, 28]}


def classic() -> list[Case]:
    """One to four losses in a window on 8 Mbit/s - 0.8 Mbit/s, 100 ms, a queue of 8 and packets of 1000 B.

    The lists of Fall and Floyd, "Simulation-based comparisons of Tahoe, Reno, and SACK TCP", CCR 26(3), 1996.
    """
    return [
        Case(
            name=f"{drops} dropped, {variant}, {preset}",
            preset=preset,
            segment=1000,
            window=28,
            delayed_ack=False,
            flows=[Flow(variant, MILLISECOND // 10, MILLISECOND // 10, 0)],
            access_rate=8_000_000,
            rate=800_000,
            delay=100 * MILLISECOND,
            queue=8,
            duration=6 * SECOND,
            losses=losses,
            ack_losses=[],
        )
        for drops, losses in _CLASSIC.items()
        for variant in VARIANTS
        for preset in PRESETS
    ]
