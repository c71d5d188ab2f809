"""The queue disciplines that Linux has too, with the parameters under which both are the same, and ours."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab import _roamlab
from roamlab.against import tc_red
from roamlab.against.arrivals import LARGE, PACKETS, Arrivals, Pattern

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = 1
"""Of arrivals and random numbers."""

SERVED, MARKED, DROPPED = 0, 1, 2


@dataclass(frozen=True)
class Queue:
    """A discipline that both have, with some parameters."""

    kind: str
    """Ours."""
    qdisc: str
    """The kernel's."""
    source: str
    """The kernel's file."""
    limit: int
    """Packets that may wait, where a pattern has no own limit."""
    common: dict[str, Any] = field(default_factory=dict)
    """Our parameters where they are neither defaults nor of `as_linux`."""
    as_linux: dict[str, Any] = field(default_factory=dict)
    """Our parameters that follow Linux where the defaults do not."""
    netlink: tuple[str, ...] = ()
    """The kernel's parameters but the limit: number of the attribute and value."""
    limit_attribute: str = ""
    """The attribute of the limit; of a FIFO it has none."""
    by_bytes: Callable[[int], list[str]] | None = None
    """The kernel's parameters of a queue whose limit counts bytes: a number of large packets."""
    limit_name: str = "limit"
    """Our parameter of the limit."""
    setting: str = ""
    """Difference of these parameters from others of the same discipline."""
    code_points: tuple[int, ...] = (0,)
    """The DSCPs of the flows in turn."""
    lead_ms: int = 0
    """The kernel's queue is made so long before time 0, so that its first update is when ours is."""

    @property
    def name(self) -> str:
        """Ours, with the setting."""
        return f"{self.kind}+{self.setting}" if self.setting else self.kind

    def octets(self, arrivals: Arrivals) -> Any:
        """The ToS octets of packets."""
        code_points = np.array(self.code_points, np.uint8)
        return arrivals.ecn | code_points[arrivals.flows % len(code_points)] << 2

    def options(self, limit: int | None) -> list[str]:
        """The kernel's parameters."""
        packets = limit or self.limit
        if self.by_bytes:
            return [*self.by_bytes(packets * LARGE), *self.netlink]
        return [f"{self.limit_attribute}{packets}", *self.netlink]

    def ours(self, limit: int | None, *, as_linux: bool) -> str:
        """Our parameters as JSON."""
        own = self.common | (self.as_linux if as_linux else {})
        packets = limit or self.limit
        size = f"{packets * LARGE} B" if self.by_bytes else f"{packets} pkt"
        return json.dumps({"kind": self.kind, self.limit_name: size} | own)


def _linux_gain(scaled: int) -> float:
    """Value that the kernel's DualPI2 makes of a gain in 1/256 Hz, in units of 1/s: it rounds to 2^-32 in 64 ns."""
    most = 2**32 - 1
    return (scaled * most // 4 // 10**9) * 1e9 / 64 / most


def _cake(limit: int, **more: Any) -> Queue:
    """CAKE with a limit of a number of large packets."""
    memory: dict[str, Any] = {"by_bytes": lambda size: [f"10={size}"], "limit_name": "limit_bytes"}
    return Queue("cake", "cake", "net/sched/sch_cake.c", limit, **memory, **more)


QUEUES = [
    Queue("droptail", "pfifo", "net/sched/sch_fifo.c", 1000),
    Queue("head-drop", "pfifo_head_drop", "net/sched/sch_fifo.c", 1000),
    Queue(
        "linux-red",
        "red",
        "net/sched/sch_red.c",
        120,
        common={"mark_ecn": True},
        by_bytes=tc_red.options,
    ),
    Queue(
        "codel",
        "codel",
        "net/sched/sch_codel.c",
        1000,
        common={"mark_ecn": True},
        as_linux={"rules": "linux"},
        netlink=("4=1",),
        limit_attribute="2=",
    ),
    Queue(
        "fq-codel",
        "fq_codel",
        "net/sched/sch_fq_codel.c",
        10_240,
        common={"quantum": "1500 B"},
        as_linux={"rules": "linux"},
        limit_attribute="2=",
    ),
    Queue("fq", "fq", "net/sched/sch_fq.c", 10_000, limit_attribute="1="),
    Queue(
        "fq",
        "fq",
        "net/sched/sch_fq.c",
        100,
        setting="bands",
        code_points=(0, 4, 2, 46),
        common={
            "flow_limit": "40 pkt",
            "quantum": "700 B",
            "initial_quantum": "2000 B",
            "refill_delay": "90 ms",
            "mark_above": "30 ms",
        },
        netlink=("2=40", "3=700", "4=2000", "9=90000", "12=30000"),
        limit_attribute="1=",
    ),
    _cake(10_240),
    _cake(
        100,
        setting="tins",
        code_points=(0, 46, 8, 34, 48),
        common={"tins": "diffserv4", "rtt": "30 ms", "target": "2 ms"},
        netlink=("3=1", "7=30000", "8=2000"),
    ),
    _cake(
        60,
        setting="hosts",
        code_points=(0, 1, 16, 26),
        common={"tins": "diffserv8", "isolation": "dual-srchost"},
        netlink=("3=2", "5=5"),
    ),
    Queue(
        "pie",
        "pie",
        "net/sched/sch_pie.c",
        1000,
        common={"mark_ecn": True},
        as_linux={"rules": "linux"},
        netlink=("6=1",),
        limit_attribute="2=",
        lead_ms=500 - 15,
    ),
    Queue(
        "dualpi2",
        "dualpi2",
        "net/sched/sch_dualpi2.c",
        10_000,
        as_linux={"alpha": _linux_gain(41), "beta": _linux_gain(819)},
        limit_attribute="1=",
    ),
]
"""The queues that are compared. The link carries packets without an own header, so Linux's MTU is 1500 B."""


@dataclass(frozen=True)
class Fates:
    """Fates of the packets of a pattern."""

    fates: Any
    """0 served, 1 marked, 2 dropped, for each packet."""
    sojourn_ms: float
    """Mean time in the queue of those that left for the link."""
    ends: str
    """A hash of the times at which the packets left the queue."""

    def share(self, fate: int) -> float:
        """The share of packets with this fate."""
        return float((self.fates == fate).mean())


def fates_of(arrivals: Arrivals, left_ns: Any, fates: Any) -> Fates:
    """The fates of packets that left at these times."""
    stays = (left_ns - arrivals.times_ns)[fates != DROPPED]
    ends = hashlib.sha256(left_ns.astype("<u8").tobytes()).hexdigest()[:16]
    return Fates(fates, round(float(stays.sum()) / max(1, len(stays)) / 1e6, 6), ends)


@cache
def arrivals_of(pattern: Pattern, packets: int) -> Arrivals:
    """The arrivals of a pattern."""
    return pattern.arrivals(packets, SEED)


def our_fates(queue: Queue, pattern: Pattern, packets: int = PACKETS, *, as_linux: bool) -> Fates:
    """The fates in our queue, with the parameters that follow Linux or with the defaults."""
    arrivals = arrivals_of(pattern, packets)
    arrays = (arrivals.times_ns, arrivals.sizes, arrivals.flows, queue.octets(arrivals))
    spec = queue.ours(arrivals.limit, as_linux=as_linux)
    return fates_of(arrivals, *_roamlab.replay_queue(spec, SEED, arrays, arrivals.rates))
