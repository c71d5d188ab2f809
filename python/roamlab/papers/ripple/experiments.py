"""The scenarios of the paper: its network with a mechanism, a TCP and a handover of layer 2.

A `Interpretation` is one choice of what the paper leaves open. Every experiment takes one, so that a claim can be
evaluated under each.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from roamlab.papers.runs import Drawn, of_run
from roamlab.scenarios.scenario import Scenario

TCPS = ("tahoe", "reno", "newreno", "sack")
MECHANISMS = ("Buffer", "noBuffer", "biCast")

HARD_MS = (-500, -400, -300, -200, -100, 0)
"""Figs. 3 and 4: hard handovers with a gap of this number of ms, as in the paper."""
SOFT_MS = (0, 100, 200, 300, 400, 500)
"""Figs. 5 and 6: soft handovers with an overlap of this number of ms. 0, the hard handover without a gap, is
in both."""
DELAYS_MS = HARD_MS + SOFT_MS[1:]

HANDOVERS = 20
DWELL_NS = 4_761_904_762
"""A twenty-first of the run: the host changes cells 20 times, the last time at 95.2 s."""

_NEXT_ROUTER = [f"an-bs-{cell}" for cell in range(1, 21, 3)]
MOVES: dict[str, dict[str, Any]] = {
    "to the next access router, at random times": {"kind": "ping-pong", "cells": _NEXT_ROUTER},
    "to the next access router, evenly": {"kind": "ping-pong", "cells": _NEXT_ROUTER},
    "to a neighbouring access router, by chance": {
        "kind": "random-neighbour",
        "cells": _NEXT_ROUTER,
        "neighbours": "list",
    },
    "to the next base station": {"kind": "ping-pong", "cells": ["an-bs-*"]},
    "within one access router": {"kind": "ping-pong", "cells": ["an-bs-0", "an-bs-1", "an-bs-2"]},
}
"""How the host walks. Along all base stations two moves of three stay below one access router."""

RANDOM_TIMES = "to the next access router, at random times"
"""Each move up to a quarter of a stay earlier or later; other times in each run."""


@dataclass(frozen=True)
class Interpretation:
    """One choice of the open points: fields are in `axes.toml`, statements of the text in `sentences.toml`."""

    trigger: str = "source"
    buffer_pkts: int = 50
    drop: str = "oldest"
    lead_ms: float | Drawn = Drawn(20, 300)
    bicast_ms: int = 100
    detection_ms: float | Drawn = Drawn(1, 100, "layer 3's delay")
    reactive_ms: float | Drawn = Drawn(1, 100, "layer 3's delay")
    min_rto_ms: int = 200
    profile: str = "ns2-2003"
    moves: str = RANDOM_TIMES
    uplink: str = "newest"
    in_flight: str = "delivered"
    duplicates: str = "pass"
    """In an overlap, whether layer 2 of the host passes a second copy on: "pass" or "drop"."""
    correspondent_ms: int = 20
    window_pkts: int = 20
    air_mbps: float = 2
    medium: str = "dcf"
    """Of each cell: "dcf", 802.11b's contention at the rate `air_mbps`, or "dedicated", rate and delay alone."""
    others: int = 0
    normalised_by: str = "no handover"

    def __str__(self) -> str:
        trigger = self.trigger if self.trigger == "no-path" else f"{self.trigger}, {self.lead_ms:g} ms ahead"
        return (
            f"trigger {trigger}; buffer of {self.buffer_pkts} that drops the {self.drop}; bicast "
            f"{self.bicast_ms} ms; layer 3 {self.detection_ms:g} ms after layer 2, {self.reactive_ms:g} ms with "
            f"biCast; "
            f"RTO floor {self.min_rto_ms} ms; {self.profile}; moves {self.moves}; answers by the {self.uplink} cell; "
            f"second copies: {self.duplicates}; in flight at the break: {self.in_flight}; correspondent "
            f"{self.correspondent_ms} ms away; window {self.window_pkts}; air {self.air_mbps:g} Mbit/s, "
            f"{self.medium}, other hosts in a cell: {self.others}; normalised by {self.normalised_by}"
        )


OTHERS_RATE = "200 kbit/s"
DEFAULT = Interpretation()
RFC = Interpretation(profile="rfc")
"""TCP by the RFCs."""


def mobility(mechanism: str, interpretation: Interpretation) -> dict[str, Any]:
    """The paper's mechanism as blocks of M&M, under the interpretation of a run."""
    if mechanism == "biCast":
        return {
            "kind": "mandm",
            "detection": {"delay": f"{interpretation.reactive_ms} ms"},
            "redundancy": {"bicast": f"{interpretation.bicast_ms} ms"},
            "buffer": {"limit": "0 pkt"},
        }
    kept = {"limit": f"{interpretation.buffer_pkts} pkt", "drop": interpretation.drop}
    return {
        "kind": "mandm",
        "detection": {"delay": f"{interpretation.detection_ms} ms"},
        "trigger": {"by": interpretation.trigger, "lead": f"{interpretation.lead_ms} ms"},
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


def radio(delay_ms: int, interpretation: Interpretation) -> dict[str, Any]:
    """A gap before 0 and at it, an overlap above."""
    table: dict[str, Any] = {"in_flight_at_break": interpretation.in_flight}
    if delay_ms <= 0:
        return table | {"kind": "hard", "gap": f"{-delay_ms} ms"}
    overlap = f"{delay_ms} ms"
    return table | {
        "kind": "soft",
        "overlap": overlap,
        "uplink": interpretation.uplink,
        "duplicates": interpretation.duplicates,
    }


@cache
def model() -> Scenario:
    """The paper's network, with a host that stays."""
    text = Path(__file__).with_name("scenario.toml").read_text(encoding="utf-8")
    return Scenario(text, "ripple/scenario.toml")


def _scenario(
    name: str, tcp: str, interpretation: Interpretation, count: int = HANDOVERS, **tables: Any
) -> Scenario:
    data = model().to_dict()
    data["run"] |= {"profile": interpretation.profile, "duration": f"{round(span_s(count), 3):g} s"}
    data["links"][0]["delay"] = f"{interpretation.correspondent_ms} ms"
    data["topology"][0]["cells"] |= {
        "rate": f"{interpretation.air_mbps:g} Mbit/s",
        "medium": {"kind": interpretation.medium},
    }
    data["flows"][0]["transport"] |= {
        "variant": tcp,
        "min_rto": f"{interpretation.min_rto_ms} ms",
        "window": f"{interpretation.window_pkts} pkt",
    }
    data["flows"] += _streams(interpretation)
    return Scenario.from_dict(data | tables, f"ripple/{name}")


def _walk(interpretation: Interpretation, run: int, count: int = HANDOVERS) -> list[dict[str, Any]]:
    host = {name: value for name, value in model().to_dict()["hosts"][0].items() if name != "plan"}
    plan = MOVES[interpretation.moves]
    if interpretation.moves != RANDOM_TIMES:
        moving = host | {"plan": plan | {"dwell": f"{DWELL_NS} ns", "moves": count}}
    else:
        there_and_back = plan["cells"] + plan["cells"][-2:0:-1]
        visits = [
            {"cell": there_and_back[move % len(there_and_back)], "at": f"{at} ns"}
            for move, at in enumerate([0, *turns_ns(interpretation, run, count)])
        ]
        moving = host | {"visits": visits}
    return [moving, *_others(interpretation)]


def turns_ns(interpretation: Interpretation, run: int, count: int = HANDOVERS) -> list[int]:
    """When the host turns to each of its next cells, `count` times."""
    if interpretation.moves != RANDOM_TIMES:
        return [move * DWELL_NS for move in range(1, count + 1)]
    chance = random.Random(run)
    return [round((move + chance.uniform(-0.25, 0.25)) * DWELL_NS) for move in range(1, count + 1)]


def span_s(count: int) -> float:
    """How long a run with `count` handovers lasts: 100 s with the paper's 20."""
    return (count + 1) * 100 / (HANDOVERS + 1)


def _along(interpretation: Interpretation) -> list[str]:
    """The cells of the walk."""
    cells: list[str] = MOVES[interpretation.moves]["cells"]
    return [f"an-bs-{cell}" for cell in range(21)] if cells == ["an-bs-*"] else cells


def _others(interpretation: Interpretation) -> list[dict[str, Any]]:
    """Those who stay in the cells of the walk."""
    return [
        {"name": f"other-{cell}-{number}", "home": "an-0-0", "plan": {"kind": "stay", "cells": [cell]}}
        for cell in _along(interpretation)
        for number in range(interpretation.others)
    ]


def _streams(interpretation: Interpretation) -> list[dict[str, Any]]:
    """Goodput of the hosts that stay."""
    app = {"kind": "cbr", "rate": OTHERS_RATE, "packet": "1000 B", "start": "0 s", "start_within": "1 s"}
    return [
        {"name": f"to-{other['name']}", "path": ["ch", other["name"]], "app": app}
        for other in _others(interpretation)
    ]


@cache
def still(tcp: str, interpretation: Interpretation = DEFAULT, count: int = HANDOVERS) -> Scenario:
    """The run that throughput is normalised by: the host stays in its first cell, as long as with `count` moves."""
    first = _along(interpretation)[0]
    host = model().to_dict()["hosts"][0] | {"plan": {"kind": "stay", "cells": [first]}}
    return _scenario(
        f"{tcp}, no handover", tcp, interpretation, count, hosts=[host, *_others(interpretation)]
    )


@cache
def handovers(
    tcp: str,
    mechanism: str,
    delay_ms: int,
    interpretation: Interpretation = DEFAULT,
    run: int = 0,
    count: int = HANDOVERS,
) -> Scenario:
    """A point of figs. 3 to 6 in a run: what the interpretation draws and random times of moves are its own."""
    own = of_run(interpretation, run)
    return _scenario(
        f"{tcp}, {mechanism}, {delay_ms:+d} ms",
        tcp,
        own,
        count,
        radio=radio(delay_ms, own),
        mobility=mobility(mechanism, own),
        hosts=_walk(own, run, count),
    )


@cache
def named(tcp: str, protocol: str, delay_ms: int, interpretation: Interpretation = DEFAULT) -> Scenario:
    """A point of the map: a named protocol, with everything else as in the interpretation."""
    return _scenario(
        f"{tcp}, {protocol}, {delay_ms:+d} ms",
        tcp,
        interpretation,
        radio=radio(delay_ms, interpretation),
        mobility=NAMED[protocol],
        hosts=_walk(interpretation, 0),
    )
