"""The scenarios of the paper: its tree and its mesh, with a way of handover, what people send, and a download.

A `Interpretation` is one choice of what the paper leaves open. Every experiment takes one, so that a claim can be
evaluated under each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from roamlab.papers.runs import Drawn, of_run
from roamlab.scenarios.scenario import Scenario

TCPS = ("tahoe", "reno", "newreno", "sack", "fack", "vegas")
TOPOLOGIES = ("tree", "mesh")
WAYS = ("none", "planned", "unplanned")
"""How hosts change access routers: they do not, or by either handover."""
WINDOWS = (10, 20, 30, 40, 60)
"""The x axis of figs. 6 and 7, in packets."""
LOW, HIGH = 20, 60
"""Windows below and above the paper's knee at 30, of which one fills no queue and the other does."""

HANDOVERS = 100
"""A total of both hosts that move."""
PACKET_BYTES = 1480
"""Of TCP's data."""
DURATION = "102 s"
"""The last move of the second host is at 101.3 s."""

DOWNLOAD = "download"
STREAMS = ("call", "film", "conference")
"""Traffic to the walker without the download; of the call it sends as much."""


ROUTERS = [str(number) for number in range(19, 31)]
"""The access routers, along the edge."""
LOADED = "24"
"""The access router of the resident with the film."""

_BY_CHANCE = {"kind": "random-neighbour", "neighbours": "list"}
_ALONG = {"kind": "ping-pong"}
WALKERS: dict[str, tuple[dict[str, str], str, float]] = {
    "to a neighbour by chance": (_BY_CHANCE, "25", 0.5),
    "along the edge and back": (_ALONG, "25", 0.5),
    "along the edge, in step": (_ALONG, "25", 0.0),
    "one behind the other": (_ALONG, "20", 0.5),
}
"""Movement of the two hosts that move: their plan, where the second one begins, and how much later it moves, in stays.
The first one begins at 19."""


@dataclass(frozen=True)
class Interpretation:
    """One choice of the open points: fields are in `axes.toml`, statements of the text in `sentences.toml`."""

    profile: str = "ns2-2003"
    min_rto: str = "of the profile"
    header_bytes: int = 0
    forwarding: bool = False
    anchor_change: bool = True
    dwell_ms: int = 2006
    walkers: str = "to a neighbour by chance"
    lead_ms: float | Drawn = Drawn(20, 100)
    when_prepared: bool = True
    overlap_ms: int = 0
    in_flight: str = "delivered"
    queue_pkts: int = 50
    film: str = "mpeg4-medium"
    spacing: str = "back-to-back"
    air: str = "of each host"
    beside: str = "everything"
    load: str = "without the download"
    window: int = HIGH

    @property
    def moves(self) -> int:
        """Of each host."""
        return HANDOVERS // 2 if self.dwell_ms >= 2000 else HANDOVERS

    def __str__(self) -> str:
        forwarding = "with" if self.forwarding else "without"
        anchors = "change" if self.anchor_change else "stay"
        moved = (
            f"requested {self.lead_ms:g} ms ahead, moved {'when prepared' if self.when_prepared else 'then'}"
        )
        return (
            f"{self.profile}; RTO floor {self.min_rto}; TCP packets {PACKET_BYTES} + {self.header_bytes} B; "
            f"unplanned {forwarding} forwarding; anchors {anchors}; a handover of each host each {self.dwell_ms} ms, "
            f"{self.walkers}; planned: {moved}; overlap {self.overlap_ms} ms; in flight at the break: "
            f"{self.in_flight}; wired queues {self.queue_pkts} pkt; film {self.film}, frames {self.spacing}; "
            f"air {self.air}; with the download {self.beside}; streams {self.load} in addition; window of the verdict "
            f"{self.window}"
        )


DEFAULT = Interpretation()
FIRST = of_run(DEFAULT, 0)
"""That of run 0."""


@cache
def network(topology: str, way: str) -> Scenario:
    """The paper's network with its handovers; without any it is the one of planned handovers, whose walkers stay."""
    name = f"{topology}-{'planned' if way == 'none' else way}.toml"
    return Scenario(Path(__file__).with_name(name).read_text(encoding="utf-8"), f"bcmp/{name}")


def _residents(interpretation: Interpretation) -> list[dict[str, Any]]:
    """Calls, films, conferences and web sessions of those who stay."""
    frames = {"packets": {"spacing": interpretation.spacing}}
    kinds: list[tuple[str, range, str, dict[str, Any]]] = [
        ("phone", range(3), "3", {"kind": "voip"}),
        ("cinema", range(3, 4), "4", {"kind": "video", "encoding": interpretation.film} | frames),
        ("meeting", range(4, 6), "4", {"kind": "conference"} | frames),
        ("pages", range(6, 22), "5", {"kind": "web"}),
    ]
    flows: list[dict[str, Any]] = []
    for name, hosts, source, app in kinds:
        for host in hosts:
            flow = {
                "name": f"{name}-{host}",
                "path": [source, f"resident-{host}"],
                "app": app | {"start": "1 s", "start_within": "1 s"},
            }
            if name == "pages":
                flow["transport"] = _tcp("newreno", 20, interpretation)
            flows.append(flow | ({"two_way": True} if name == "phone" else {}))
    return flows


def _streams(interpretation: Interpretation) -> list[dict[str, Any]]:
    frames = {"packets": {"spacing": interpretation.spacing}}
    apps: dict[str, dict[str, Any]] = {
        "call": {"kind": "voip"},
        "film": {"kind": "video", "encoding": interpretation.film} | frames,
        "conference": {"kind": "conference"} | frames,
    }
    return [
        {
            "name": name,
            "path": [source, "walker-0"],
            "app": app | {"start": "500 ms", "start_within": "500 ms"},
            **({"two_way": True} if name == "call" else {}),
        }
        for source, (name, app) in zip("123", apps.items(), strict=True)
    ]


def _tcp(variant: str, window: int, interpretation: Interpretation) -> dict[str, Any]:
    floor = {} if interpretation.min_rto == "of the profile" else {"min_rto": interpretation.min_rto}
    return floor | {
        "kind": "tcp",
        "variant": variant,
        "window": f"{window} pkt",
        "segment": f"{PACKET_BYTES} B",
        "header": f"{interpretation.header_bytes} B",
    }


def _download(variant: str, window: int, interpretation: Interpretation) -> dict[str, Any]:
    return {
        "name": DOWNLOAD,
        "path": ["0", "walker-1"],
        "transport": _tcp(variant, window, interpretation),
        "app": {"kind": "ftp", "start": "1 s", "start_within": "1 s"},
    }


def _scenario(
    name: str,
    topology: str,
    way: str,
    interpretation: Interpretation,
    flows: list[dict[str, Any]],
    streamed: bool,
) -> Scenario:
    data = network(topology, way).to_dict()
    data["run"] |= {"duration": DURATION, "profile": interpretation.profile}
    data["network"] = {"queue": {"kind": "droptail", "limit": f"{interpretation.queue_pkts} pkt"}}
    data["radio"]["in_flight_at_break"] = interpretation.in_flight
    if interpretation.overlap_ms:
        data["radio"] |= {"kind": "soft", "overlap": f"{interpretation.overlap_ms} ms"}
    data["mobility"]["anchor_change"] = interpretation.anchor_change
    if way == "planned":
        data["mobility"]["trigger"]["lead"] = f"{interpretation.lead_ms} ms"
        data["mobility"]["move_when_prepared"] = interpretation.when_prepared
    if way == "unplanned":
        data["mobility"]["forward_after_notify"] = interpretation.forwarding
    data["hosts"] = [*(_walker(number, way, interpretation, data) for number in range(2)), _resident(data)]
    data["record"] = {"queues": [], "deliveries": streamed}
    return Scenario.from_dict(data | {"flows": flows}, f"bcmp/{name}")


def _walker(number: int, way: str, interpretation: Interpretation, data: dict[str, Any]) -> dict[str, Any]:
    """A host that moves, or does not. With its own air it has its own cell at each access router."""
    begins = ["19", WALKERS[interpretation.walkers][1]]
    cells = ROUTERS
    if interpretation.air == "of each host":
        cells = [f"{router}-{number}" for router in ROUTERS]
        data["cells"] |= {f"{router}-{number}": data["cells"][router] for router in ROUTERS}
    elif way == "none":
        begins = [LOADED, LOADED]
    host = {"name": f"walker-{number}", "home": "6"}
    begin = cells[ROUTERS.index(begins[number])]
    if way == "none":
        return host | {"plan": {"kind": "stay", "cells": [begin]}}
    kind, _, later = WALKERS[interpretation.walkers]
    plan = {
        "cells": cells,
        "begin": begin,
        "dwell": f"{interpretation.dwell_ms} ms",
        "moves": interpretation.moves,
    }
    return host | {"plan": kind | plan | {"at": f"{round(number * later * interpretation.dwell_ms)} ms"}}


def _resident(data: dict[str, Any]) -> dict[str, Any]:
    hosts: list[dict[str, Any]] = data["hosts"]
    (host,) = (host for host in hosts if host["name"] == "resident")
    return host | {"plan": host["plan"] | {"cells": ROUTERS}}


@cache
def downloads(
    topology: str, way: str, tcp: str, window: int, interpretation: Interpretation = FIRST
) -> Scenario:
    """A point of figs. 6 and 7, or the same planned or without handovers."""
    flows = [_download(tcp, window, interpretation)]
    if interpretation.beside == "everything":
        flows += _streams(interpretation)
    if interpretation.beside != "nothing":
        flows += _residents(interpretation)
    return _scenario(
        f"{topology}, {way}, {tcp}, window {window}", topology, way, interpretation, flows, False
    )


@cache
def streams(topology: str, way: str, interpretation: Interpretation = FIRST) -> Scenario:
    """The call, film and conference of figs. 4 and 5."""
    beside = [_download("newreno", 20, interpretation)] if interpretation.load == "with the download" else []
    flows = [*_streams(interpretation), *beside, *_residents(interpretation)]
    return _scenario(f"{topology}, {way}, streams", topology, way, interpretation, flows, True)


@cache
def procedures(topology: str, way: str, interpretation: Interpretation = FIRST) -> Scenario:
    """All that the protocol does in one run: logins, logouts, changes of the anchor, paging by a packet each 5 s."""
    data = streams(topology, way, replace(interpretation, anchor_change=True)).to_dict()
    rare = {"kind": "cbr", "start": "10 s", "rate": "320 bit/s", "packet": "200 B"}
    data["flows"].append({"name": "rare", "path": ["5", "resident-21"], "app": rare})
    data["mobility"] |= {
        "paging": {"areas": [["*"]], "idle_after": "3 s"},
        "hours": {"resident-0": {"login": "1 s", "logout": "50 s"}},
    }
    return Scenario.from_dict(data, f"bcmp/{topology}, {way}, all procedures")
