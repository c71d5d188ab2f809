"""The scenarios of the paper: its network with a mechanism, a TCP and a handover of layer 2.

A `Reading` is one choice of what the paper leaves open. Every experiment takes one, so that a claim can be
evaluated under each.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, fields, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

from roamlab.scenarios.scenario import Scenario

TCPS = ("tahoe", "reno", "newreno", "sack")
MECHANISMS = ("Buffer", "noBuffer", "biCast")

HARD_MS = (-500, -400, -300, -200, -100, 0)
"""Figs. 3 and 4: hard handovers with a gap of so many ms, written as the paper writes them."""
SOFT_MS = (0, 100, 200, 300, 400, 500)
"""Figs. 5 and 6: soft handovers with an overlap of so many ms. 0, the hard handover without a gap, is in both."""
DELAYS_MS = HARD_MS + SOFT_MS[1:]

HANDOVERS = 20
DWELL_NS = 4_761_904_762
"""A twenty-first of the run: the host changes cells 20 times, the last time at 95.2 s."""

_NEXT_ROUTER = [f"an-bs-{cell}" for cell in range(1, 21, 3)]
MOVES: dict[str, dict[str, Any]] = {
    "to the next access router": {"kind": "ping-pong", "cells": _NEXT_ROUTER},
    "to an access router beside it, by chance": {
        "kind": "random-neighbour",
        "cells": _NEXT_ROUTER,
        "neighbours": "list",
    },
    "to the next access router, at random times": {"kind": "ping-pong", "cells": _NEXT_ROUTER},
    "to the next base station": {"kind": "ping-pong", "cells": ["an-bs-*"]},
    "within one access router": {"kind": "ping-pong", "cells": ["an-bs-0", "an-bs-1", "an-bs-2"]},
}
"""How the host walks. Along all base stations two moves of three stay below one access router."""

RANDOM_TIMES = "to the next access router, at random times"
"""Each move up to a quarter of a stay earlier or later; other times in each run."""


@dataclass(frozen=True)
class Reading:
    """One choice of the paper's open points. The defaults are those of the first column of the report."""

    buffer_pkts: int = 50
    """Of the host at one candidate, with Buffer."""
    drop: str = "oldest"
    """Which packet a full buffer loses. "newest" keeps what the host has got before the break."""
    lead_ms: int = 100
    """From the trigger to the moment when the host turns to its next cell, with Buffer and noBuffer."""
    bicast_ms: int = 100
    """How long the old branch lives beside the new one, with biCast."""
    detection_ms: int = 0
    """How much later than layer 2 layer 3 notices that the host has moved."""
    min_rto_ms: int = 1000
    """Floor of TCP's retransmission timeout: 1 s before ns-2 of October 2004 and in RFC 6298, 200 ms since."""
    profile: str = "ns2-2003"
    """The paper's ns-2 is 2.26 of 2003."""
    moves: str = "to the next access router"
    """One of `MOVES`. The paper's handovers are "to a BS in another sub-domain"."""
    uplink: str = "newest"
    """In an overlap, the cell through which the host answers: "newest" or "oldest"."""
    in_flight: str = "delivered"
    """What becomes of a packet whose transmission has begun when the host leaves its cell: "delivered" or "lost"."""
    duplicates: str = "pass"
    """In an overlap, whether layer 2 of the host passes a second copy on: "pass" or "drop"."""
    correspondent_ms: int = 20
    """Delay between correspondent and gateway."""
    window_pkts: int = 20
    """TCP's largest window; 20 is ns-2's default."""
    air_mbps: int = 2
    medium: str = "dedicated"
    """Of each cell: "dedicated", rate and delay alone, or "dcf", 802.11b's contention at the rate `air_mbps`."""
    normalised_by: str = "no handover"
    """"no handover": throughput over that of the same TCP in run n without handovers; "maximum": over the largest mean
    of hard, or of soft, handovers."""

    def __str__(self) -> str:
        return (
            f"buffer of {self.buffer_pkts} that drops the {self.drop}; trigger {self.lead_ms} ms ahead; bicast "
            f"{self.bicast_ms} ms; layer 3 {self.detection_ms} ms after layer 2; RTO floor {self.min_rto_ms} ms; "
            f"{self.profile}; moves {self.moves}; answers by the {self.uplink} cell; second copies: "
            f"{self.duplicates}; in flight at the break: {self.in_flight}; correspondent "
            f"{self.correspondent_ms} ms away; window {self.window_pkts}; air {self.air_mbps} Mbit/s, "
            f"{self.medium}; normalised by {self.normalised_by}"
        )


DEFAULT = Reading()
READINGS: dict[str, Reading] = {
    "default": DEFAULT,
    "buffer 10": Reading(buffer_pkts=10),
    "buffer 20": Reading(buffer_pkts=20),
    "buffer 20, drops newest": Reading(buffer_pkts=20, drop="newest"),
    "lead 0": Reading(lead_ms=0),
    "lead 20 ms": Reading(lead_ms=20),
    "lead 300 ms": Reading(lead_ms=300),
    "bicast 500 ms": Reading(bicast_ms=500),
    "RTO floor 200 ms": Reading(min_rto_ms=200),
    "TCP by the RFCs": Reading(profile="rfc"),
    "a neighbour by chance": Reading(moves="to an access router beside it, by chance"),
    "moves at random times": Reading(moves=RANDOM_TIMES),
    "ns-2 of 2009": Reading(profile="ns2-2009"),
    "in flight lost": Reading(in_flight="lost"),
    "second copies dropped": Reading(duplicates="drop"),
    "next base station": Reading(moves="to the next base station"),
    "one access router": Reading(moves="within one access router"),
    "layer 3 50 ms later": Reading(detection_ms=50),
    "answers by the old cell": Reading(uplink="oldest"),
    "correspondent 50 ms": Reading(correspondent_ms=50),
    "window 40": Reading(window_pkts=40),
    "air 11 Mbit/s": Reading(air_mbps=11),
    "802.11": Reading(medium="dcf"),
    "normalised by the maximum": Reading(normalised_by="maximum"),
}

PAIRED = (
    "buffer 10",
    "buffer 20, drops newest",
    "lead 0",
    "lead 300 ms",
    "RTO floor 200 ms",
    "in flight lost",
    "TCP by the RFCs",
    "next base station",
    "correspondent 50 ms",
)
"""Readings of which every two that differ in different fields are also taken together."""


def changed(reading: Reading) -> dict[str, Any]:
    """The fields in which a reading differs from the default."""
    return {
        field.name: getattr(reading, field.name)
        for field in fields(reading)
        if getattr(reading, field.name) != getattr(DEFAULT, field.name)
    }


def pairs() -> dict[str, Reading]:
    """Two of `PAIRED` at a time."""
    return {
        f"{first} + {second}": replace(READINGS[first], **changed(READINGS[second]))
        for first, second in combinations(PAIRED, 2)
        if not changed(READINGS[first]).keys() & changed(READINGS[second]).keys()
    }


def mobility(mechanism: str, reading: Reading) -> dict[str, Any]:
    """The paper's mechanism as blocks of M&M."""
    table: dict[str, Any] = {"kind": "mandm", "detection": {"delay": f"{reading.detection_ms} ms"}}
    if mechanism == "biCast":
        return table | {"redundancy": {"bicast": f"{reading.bicast_ms} ms"}, "buffer": {"limit": "0 pkt"}}
    kept = {"limit": f"{reading.buffer_pkts} pkt", "drop": reading.drop}
    return table | {
        "trigger": {"by": "source", "lead": f"{reading.lead_ms} ms"},
        "buffer": kept if mechanism == "Buffer" else {"limit": "0 pkt"},
    }


def _mandm(**blocks: Any) -> dict[str, Any]:
    return {"kind": "mandm", **blocks}


def _kept(buffer_pkts: int) -> dict[str, str]:
    return {"limit": f"{buffer_pkts} pkt", "drop": "oldest"}


NAMED: dict[str, dict[str, Any]] = {
    "Cellular IP hard": {"kind": "cellular-ip"},
    "Cellular IP semisoft": {"kind": "cellular-ip", "handoff": "semisoft", "trigger": {"by": "source"}},
    "FMIPv6 predictive": {"kind": "fmipv6", "trigger": {"by": "source"}},
    "FMIPv6 reactive": {"kind": "fmipv6"},
    **{
        f"HAWAII {scheme.upper()}": {"kind": "hawaii", "scheme": scheme}
        for scheme in ("unf", "mnf", "msf", "ssf")
    },
    "M&M bicast": _mandm(redundancy={"bicast": "100 ms"}, buffer=_kept(0)),
    **{
        f"M&M {trigger}, {'buffer' if size else 'none'}": _mandm(trigger={"by": trigger}, buffer=_kept(size))
        for trigger in ("source", "path", "no-path")
        for size in (0, 50)
    },
}
"""Named protocols and their variants as tables of scenarios. The map and the claim on blocks are made of them."""


def radio(delay_ms: int, reading: Reading) -> dict[str, Any]:
    """A gap before 0 and at it, an overlap above."""
    table: dict[str, Any] = {"in_flight_at_break": reading.in_flight}
    if delay_ms <= 0:
        return table | {"kind": "hard", "gap": f"{-delay_ms} ms"}
    overlap = f"{delay_ms} ms"
    return table | {
        "kind": "soft",
        "overlap": overlap,
        "uplink": reading.uplink,
        "duplicates": reading.duplicates,
    }


@cache
def model() -> Scenario:
    """The paper's network, with a host that stays."""
    text = Path(__file__).with_name("scenario.toml").read_text(encoding="utf-8")
    return Scenario(text, "ripple/scenario.toml")


def _scenario(name: str, tcp: str, reading: Reading, **tables: Any) -> Scenario:
    data = model().tables
    data["run"]["profile"] = reading.profile
    data["links"][0]["delay"] = f"{reading.correspondent_ms} ms"
    data["topology"][0]["cells"] |= {
        "rate": f"{reading.air_mbps} Mbit/s",
        "medium": {"kind": reading.medium},
    }
    data["flows"][0]["transport"] |= {
        "variant": tcp,
        "min_rto": f"{reading.min_rto_ms} ms",
        "window": f"{reading.window_pkts} pkt",
    }
    return Scenario.from_dict(data | tables, f"ripple/{name}")


def _walk(reading: Reading, run: int) -> list[dict[str, Any]]:
    host = {name: value for name, value in model().tables["hosts"][0].items() if name != "plan"}
    plan = MOVES[reading.moves]
    if reading.moves != RANDOM_TIMES:
        return [host | {"plan": plan | {"dwell": f"{DWELL_NS} ns", "moves": HANDOVERS}}]
    chance = random.Random(run)
    there_and_back = plan["cells"] + plan["cells"][-2:0:-1]
    visits = [{"cell": there_and_back[0], "at": "0 s"}]
    for move in range(1, HANDOVERS + 1):
        at = round((move + chance.uniform(-0.25, 0.25)) * DWELL_NS)
        visits.append({"cell": there_and_back[move % len(there_and_back)], "at": f"{at} ns"})
    return [host | {"visits": visits}]


@cache
def still(tcp: str, reading: Reading = DEFAULT) -> Scenario:
    """The run that throughput is normalised by: the host stays in its first cell."""
    return _scenario(f"{tcp}, no handover", tcp, reading)


@cache
def handovers(tcp: str, mechanism: str, delay_ms: int, reading: Reading = DEFAULT, run: int = 0) -> Scenario:
    """A point of figs. 3 to 6. The scenario depends on the run only where moves are at random times."""
    return _scenario(
        f"{tcp}, {mechanism}, {delay_ms:+d} ms",
        tcp,
        reading,
        radio=radio(delay_ms, reading),
        mobility=mobility(mechanism, reading),
        hosts=_walk(reading, run),
    )


@cache
def named(tcp: str, protocol: str, delay_ms: int, reading: Reading = DEFAULT) -> Scenario:
    """A point of the map: a named protocol, with everything else as in the reading."""
    return _scenario(
        f"{tcp}, {protocol}, {delay_ms:+d} ms",
        tcp,
        reading,
        radio=radio(delay_ms, reading),
        mobility=NAMED[protocol],
        hosts=_walk(reading, 0),
    )
