"""Random handovers that a kernel and our model both run: a host moves once from one cell to another.

The two cells have other rates and other distances from the gateway, so the new path may be shorter or longer. During
the gap packets wait at a base station or are lost, as the protocol does it. What the host sends waits in the host.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from roamlab.against.cases import ACCESS, SECONDS, Case

PROTOCOLS = ("mobile-ip", "fmipv6", "cellular-ip", "lte-x2")
"""Those of the handovers."""


@dataclass(frozen=True)
class Handover(Case):
    """A host leaves one cell, is unreachable for a gap, and enters another."""

    gap_ms: int
    at_ms: int
    """When it leaves."""
    uploads: bool
    """The host sends the file. Otherwise it receives it."""
    buffer_pkts: int
    """Packets that wait for the host while it is in no cell; 0: they are lost."""
    rates_mbps: tuple[int, int]
    """Of the air in each cell."""
    delays_ms: tuple[int, int]
    """From the gateway to each access router, one way."""
    queue_pkts: int

    @property
    def slowest_mbps(self) -> int:
        """The rate of the slower cell."""
        return min(self.rates_mbps)

    @property
    def starts_ms(self) -> list[int]:
        """One flow, from the start."""
        return [0]

    @property
    def ends(self) -> list[str]:
        """The host is one of them."""
        return ["mh", "server"] if self.uploads else ["server", "mh"]

    def network(self) -> dict[str, Any]:
        """A gateway, an access router for each cell, and a link between these."""
        queue = {"kind": "droptail", "limit": f"{self.queue_pkts} pkt"}
        fast = {"rate": "100 Mbit/s", "queue": {"kind": "droptail", "limit": "1000 pkt"}}
        ways = [("gw", f"r{number}", delay) for number, delay in enumerate(self.delays_ms)]
        ways.append(("r0", "r1", 2))
        links: list[dict[str, Any]] = [{**ACCESS, "between": ["server", "gw"]}]
        links += [{"between": [one, other], "delay": f"{delay} ms", **fast} for one, other, delay in ways]
        cells = {
            f"bs{number}": {
                "router": f"r{number}",
                "rate": f"{rate} Mbit/s",
                "delay": "3 ms",
                "queue": dict(queue),
                "backhaul": {"delay": "1 ms", **fast},
            }
            for number, rate in enumerate(self.rates_mbps)
        }
        visits = [{"cell": "bs0", "at": "0 s"}, {"cell": "bs1", "at": f"{self.at_ms} ms"}]
        hosts = [{"name": "mh", "home": "gw", "visits": visits}]
        return {"links": links, "cells": cells, "hosts": hosts, **self._mobility()}

    def _mobility(self) -> dict[str, Any]:
        """The protocol, with its parts that let packets wait."""
        gap, limit = f"{self.gap_ms} ms", f"{self.buffer_pkts} pkt"
        hard = {"kind": "hard", "gap": gap}
        if self.kind == "lte-x2":
            # The command comes first: the host leaves a little later than planned.
            measured = {"hysteresis_db": 0.0, "time_to_trigger": "0 ms", "filter_coefficient": 0}
            lte = {"kind": "lte-x2", "detach_time": gap, "measurement": measured}
            lte |= {"buffer_limit": f"{max(1, self.buffer_pkts)} pkt"}
            return {"radio": {"kind": "hard", "measurement": {"period": "10 ms"}}, "mobility": lte}
        if self.kind == "mobile-ip":
            smooth = self.buffer_pkts > 0
            mobile: dict[str, Any] = {"kind": "mobile-ip", "smooth_handoff": smooth}
            if smooth:
                mobile["buffer"] = {"at": "base-station", "limit": limit}
            return {"radio": hard, "mobility": mobile}
        if self.kind == "fmipv6":
            buffer = {"at": "old", "limit": limit}
            return {"radio": hard, "mobility": {"kind": "fmipv6", "buffer": buffer}}
        return {"radio": hard, "mobility": {"kind": "cellular-ip"}}


def handovers(count: int, control: str, seed: int = 1) -> list[Handover]:
    """The given number of handovers for a congestion control. Each depends on its number and the seed alone."""
    return [_handover(number, control, seed) for number in range(count)]


def _handover(number: int, control: str, seed: int) -> Handover:
    draw = random.Random(f"handover {seed}/{number}")
    rates = draw.choice([2, 5, 10]), draw.choice([2, 5, 10])
    delays = draw.choice([2, 5, 10, 20, 40, 80]), draw.choice([2, 5, 10, 20, 40, 80])
    product = min(rates) * 1e6 * 2 * (sum(delays) / 2 + 4) / 1000 / 12_000
    return Handover(
        number=number,
        control=control,
        kind=PROTOCOLS[number % len(PROTOCOLS)],
        gap_ms=draw.choice([20, 50, 100, 150, 200, 300, 450, 600, 900]),
        at_ms=draw.randrange(3000, SECONDS * 1000 - 3500),
        uploads=draw.random() < 0.2,
        buffer_pkts=draw.choice([0, 30, 100, 300]),
        rates_mbps=rates,
        delays_ms=delays,
        queue_pkts=max(8, int(product * draw.uniform(0.5, 2.0))),
    )
