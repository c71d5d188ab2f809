"""The cases of the study of queues: a queue, a congestion control, and what the old base station does."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from roamlab.scenarios.scenario import Scenario, load

MOVE_S = 10.0
"""When the host turns to its new cell, as in network.toml."""
RESIDENTS = ("resident-0", "resident-1", "resident-2")
"""The flows of the hosts that are in the new cell from the beginning."""
FAIR_MBPS = 30.0 / 4 * 1448 / 1500
"""Goodput of one of four hosts that share the new cell equally."""
FORWARDED_MARK = 3
LIMIT = "600 pkt"

_SPARE = {"spare_forwarded": True, "mark": FORWARDED_MARK}
_RED = {"limit": LIMIT, "min_threshold": "200 pkt", "max_threshold": "400 pkt", "mean_packet": "1500 B"}


class Queue(NamedTuple):
    """A discipline: its table without the exemption, and what turns the exemption on; `None`: it has none.

    A full queue is head drop's usual state, so a spared packet takes a place there. The others are rarely
    full, and lose it, as in the papers.
    """

    tables: dict[str, Any]
    exemption: dict[str, Any] | None


QUEUES: dict[str, Queue] = {
    "drop-tail": Queue({"kind": "droptail", "limit": LIMIT}, None),
    "head drop": Queue({"kind": "head-drop", "limit": LIMIT}, {**_SPARE, "forwarded_at_full": "push-out"}),
    "RED": Queue({"kind": "red", **_RED}, None),
    "M-RED": Queue({"kind": "mred", **_RED}, {}),
    "MBLUE": Queue({"kind": "mblue", "limit": LIMIT, "threshold": "400 pkt"}, {}),
    "CoDel": Queue({"kind": "codel", "limit": LIMIT}, _SPARE),
    "PIE": Queue({"kind": "pie", "limit": LIMIT}, _SPARE),
    "FQ-CoDel": Queue({"kind": "fq-codel", "limit": LIMIT, "quantum": "1500 B"}, _SPARE),
    "DualPI2": Queue({"kind": "dualpi2", "limit": LIMIT}, _SPARE),
}
"""The disciplines that the study compares. The thresholds of RED, M-RED and MBLUE are those shares of the limit that
their papers have, one third and two thirds."""

TRANSPORTS: dict[str, str] = {"Reno": "sack", "CUBIC": "cubic", "BBR": "bbr", "Prague": "prague"}
"""Names of congestion controls, and the variants of TCP that have them. Reno has SACK, as in Linux."""

CONTROLS = ("Reno", "CUBIC", "BBR")
"""Those that meet every queue."""
L4S_CONTROL, L4S_QUEUES = "Prague", ("FQ-CoDel", "DualPI2")
"""That of L4S, which meets the queues that mark."""

NOTHING, FORWARDING, EXEMPTION = "no forwarding", "forwarding", "forwarding, exempt"
"""Forwarding at the old base station, and whether the new one's queue spares it."""
WAYS = (NOTHING, FORWARDING, EXEMPTION)


class Case(NamedTuple):
    """One combination."""

    queue: str
    control: str
    way: str


def has_exemption(queue: str) -> bool:
    """True if the discipline can spare forwarded packets."""
    return QUEUES[queue].exemption is not None


def cases() -> list[Case]:
    """All combinations that have a meaning. One queue's follow each other."""
    return [
        Case(queue, control, way)
        for queue in QUEUES
        for control in (*CONTROLS, *((L4S_CONTROL,) if queue in L4S_QUEUES else ()))
        for way in WAYS
        if way != EXEMPTION or has_exemption(queue)
    ]


@cache
def _network() -> Scenario:
    return load(Path(__file__).with_name("network.toml"))


def scenario(case: Case) -> Scenario:
    """The network with this queue in both cells, and this transport of all flows."""
    data = _network().to_dict()
    tables, exemption = QUEUES[case.queue]
    for base_station in ("bs1", "bs2"):
        spares = exemption if case.way == EXEMPTION and exemption else {}
        data["cells"][base_station]["queue"] = {**tables, **spares}
    data["mobility"]["forwarding"] = "none" if case.way == NOTHING else "lossless"
    if case.way == EXEMPTION:
        data["mobility"]["mark"] = FORWARDED_MARK
    for flow in data["flows"]:
        flow["transport"]["variant"] = TRANSPORTS[case.control]
    return Scenario.from_dict(data, f"queues/{', '.join(case)}")
