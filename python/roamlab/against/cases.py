"""Random scenarios that a kernel and our model both run."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

CONTROLS = ("reno", "cubic", "bbr")
"""Congestion controls of these scenarios."""

KINDS = ("plain", "drop", "buffer", "loss", "two-flows")
"""Events on the link: none; a gap in which everything is lost; one in which everything is held; random loss;
a second flow."""

HELD_OUT = 40
"""Cases from this number on are held out: nothing in our model was changed by looking at them."""

SECONDS = 8
"""Duration of a run. A gap is in its middle."""


Phases = tuple[int, ...]
"""The phase with which ProbeBW of BBR begins in a flow, and the one with which it begins again."""


@dataclass(frozen=True)
class Case(ABC):
    """A network with one flow or two."""

    number: int
    control: str
    kind: str
    """Events in it."""

    @property
    @abstractmethod
    def slowest_mbps(self) -> int:
        """The rate of the bottleneck."""

    @property
    @abstractmethod
    def starts_ms(self) -> list[int]:
        """When each flow starts."""

    @property
    @abstractmethod
    def ends(self) -> list[str]:
        """The sender and the receiver of the flows."""

    @abstractmethod
    def network(self) -> dict[str, Any]:
        """The tables of the scenario without flows."""

    @property
    def flows(self) -> int:
        """How many there are."""
        return len(self.starts_ms)

    @property
    def is_held_out(self) -> bool:
        """True if nothing in our model was changed by looking at it."""
        return True

    @property
    def ecn(self) -> bool:
        """True if the flows ask for ECN."""
        return False

    def scenario(self, *, kernel: bool, phases: Sequence[Phases] = (), later_us: int = 0) -> dict[str, Any]:
        """The tables of the scenario, over the kernel or over our model.

        `phases` are those of BBR in our flows. The last flow starts `later_us` later.
        """
        if kernel:
            transport: dict[str, Any] = {"kind": "linux", "congestion_control": self.control}
        else:
            transport = {"kind": "tcp", "variant": _VARIANTS[self.control], "segment": "1448 B"}
            transport |= {"window": "2885 pkt", "timestamps": True}
        if self.ecn:
            transport["ecn"] = True
        flows: list[dict[str, Any]] = [
            {
                "name": f"f{number}",
                "path": self.ends,
                "transport": dict(transport),
                "app": {"kind": "ftp", "start": f"{1000 * start} us"},
            }
            for number, start in enumerate(self.starts_ms)
        ]
        flows[-1]["app"]["start"] = f"{1000 * self.starts_ms[-1] + later_us} us"
        for flow, phase in zip(flows, phases, strict=False):
            drawn = {"first_phase": phase[0], "later_phase": phase[-1]}
            flow["transport"]["congestion_control"] = {"kind": "bbr", "as_linux": True, **drawn}
        run = {"duration": f"{SECONDS} s", "profile": "linux-6-bbr" if self.control == "bbr" else "linux-6"}
        return {"run": run, **self.network(), "flows": flows, "record": {"tcp": True}}


@dataclass(frozen=True)
class OneLink(Case):
    """A bottleneck of one link, the same in both directions, behind a fast one."""

    rate_mbps: int
    delay_ms: int
    """One way."""
    queue_pkts: int
    gap_ms: int
    loss: float
    second_start_ms: int
    """When the second flow starts, if there is one."""

    @property
    def slowest_mbps(self) -> int:
        """The rate of the link."""
        return self.rate_mbps

    @property
    def starts_ms(self) -> list[int]:
        """When each flow starts."""
        return [0, self.second_start_ms] if self.kind == "two-flows" else [0]

    @property
    def ends(self) -> list[str]:
        """Both are fixed."""
        return ["a", "b"]

    @property
    def is_held_out(self) -> bool:
        """True if its number is one of the later ones."""
        return self.number >= HELD_OUT

    def network(self) -> dict[str, Any]:
        """Two links."""
        return {"links": [{**ACCESS, "between": ["a", "x"]}, self._link()]}

    def queue(self) -> dict[str, Any]:
        """The queue of the bottleneck."""
        return {"kind": "droptail", "limit": f"{self.queue_pkts} pkt"}

    def _link(self) -> dict[str, Any]:
        queue = self.queue()
        link: dict[str, Any] = {"between": ["x", "b"], "rate": f"{self.rate_mbps} Mbit/s"}
        link |= {"delay": f"{self.delay_ms} ms", "queue": queue, "reverse_queue": dict(queue)}
        at = SECONDS * 500
        if self.kind == "drop":
            link["changes"] = [{"at": f"{at} ms", "up": False}, {"at": f"{at + self.gap_ms} ms", "up": True}]
        elif self.kind == "buffer":
            # The first packet is held for the gap; what is sent after it arrives behind it, one by one.
            link["changes"] = [
                {"at": f"{at} ms", "delay": f"{self.delay_ms + self.gap_ms} ms"},
                {"at": f"{at + min(self.gap_ms, 5)} ms", "delay": f"{self.delay_ms} ms"},
            ]
        elif self.kind == "loss":
            link |= {"loss": self.loss, "reverse_loss": 0}
        return link


ACCESS = {"rate": "10 Gbit/s", "delay": "1 us"}
"""A fast link. Without it a segment would often reach the bottleneck at the very instant at which another one leaves
that, since ACKs give the time of both. Which of the two is first decides on losses."""

_VARIANTS = {"reno": "sack", "cubic": "cubic", "bbr": "bbr", "dctcp": "dctcp", "vegas": "vegas"}


def cases(count: int, control: str, seed: int = 1) -> list[OneLink]:
    """The given number of cases for a congestion control. Each depends on its number and the seed alone."""
    return [_case(number, control, seed) for number in range(count)]


def _case(number: int, control: str, seed: int) -> OneLink:
    draw = random.Random(f"{seed}/{number}")
    rate, delay = draw.choice([2, 5, 10]), draw.choice([5, 10, 20, 40, 80])
    product = rate * 1e6 * 2 * delay / 1000 / 12_000
    return OneLink(
        number=number,
        control=control,
        kind=draw.choice(KINDS),
        rate_mbps=rate,
        delay_ms=delay,
        queue_pkts=max(5, int(product * draw.uniform(0.4, 2.0))),
        gap_ms=draw.choice([50, 100, 150, 200, 300, 500, 800, 1200]),
        loss=draw.choice([0.001, 0.003, 0.01]),
        second_start_ms=draw.randrange(100, 3000),
    )
