"""The scenarios of the paper: its tree and its mesh, with a way of handover, what people send, and a download.

A `Reading` is one choice of what the paper leaves open. Every experiment takes one, so that a claim can be
evaluated under each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

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
PACKET_BYTES = 1480
"""Of TCP's data."""
DURATION = "102 s"
"""The host with the download moves last at 100.8 s, one with a dwell of 1003 ms."""

DOWNLOAD = "download"
STREAMS = ("call", "film", "conference")
"""What the walker without the download gets; of the call it sends as much."""


@dataclass(frozen=True)
class Reading:
    """One choice of the paper's open points. The defaults are those of the first column of the report."""

    profile: str = "ns2-2003"
    """Of TCP. The paper's ns-2 is of 2001 to 2003."""
    min_rto_ms: int = 1000
    """Floor of TCP's retransmission timeout: 1 s before ns-2 of October 2004 and in RFC 6298, 200 ms since."""
    header_bytes: int = 0
    """What comes on top of the 1480 bytes of a TCP packet: nothing as in ns-2 of 2001, 40 bytes since 2003."""
    forwarding: bool = False
    """After an unplanned handover the old access router tunnels to the new one once it is told."""
    anchor_change: bool = False
    """Hosts change to the anchor nearest to them, which the paper allows and does not mandate."""
    dwell_ms: int = 1003
    """Between two handovers, "every 1 second". At 1000 ms each handover of a run meets a call, whose packets are 20 ms
    apart, and a film in the same phase."""
    lead_ms: int = 50
    """From the request to prepare a planned handover until the host moves."""
    overlap_ms: int = 0
    """How long a host has both cells. The paper's "graceful physical handover" is read as one without a gap."""
    in_flight: str = "delivered"
    """What becomes of a packet in the air when the host leaves its cell: "delivered" or "lost"."""
    queue_pkts: int = 50
    """Limit of each wired queue; 50 is ns-2's default."""
    film: str = "mpeg4-medium"
    """The encoding of the film."""
    spacing: str = "back-to-back"
    """How the packets of a frame leave: "back-to-back", or "spread" over the time to the next."""
    load: str = "without the download"
    """What runs beside the streams that are measured: "with the download" of the other walker, or "without the
    download"."""

    def __str__(self) -> str:
        forwarding = "with" if self.forwarding else "without"
        anchors = "change" if self.anchor_change else "stay"
        return (
            f"{self.profile}; RTO floor {self.min_rto_ms} ms; TCP packets {PACKET_BYTES} + {self.header_bytes} B; "
            f"unplanned {forwarding} forwarding; anchors {anchors}; a handover each {self.dwell_ms} ms, prepared "
            f"{self.lead_ms} ms ahead; overlap {self.overlap_ms} ms; in flight at the break: "
            f"{self.in_flight}; wired queues {self.queue_pkts} pkt; "
            f"film {self.film}, frames {self.spacing}; streams {self.load} beside"
        )


DEFAULT = Reading()
RFC = "TCP by the RFCs"
READINGS: dict[str, Reading] = {
    "default": DEFAULT,
    "RTO floor 200 ms": Reading(min_rto_ms=200),
    RFC: Reading(profile="rfc"),
    "ns-2 of 2001": Reading(profile="ns2-2001"),
    "forwarding": Reading(forwarding=True),
    "anchors change": Reading(anchor_change=True),
    "every 1000 ms": Reading(dwell_ms=1000),
    "in flight lost": Reading(in_flight="lost"),
    "overlap 50 ms": Reading(overlap_ms=50),
    "film mpeg4-high": Reading(film="mpeg4-high"),
    "download beside": Reading(load="with the download"),
    "prepared 10 ms ahead": Reading(lead_ms=10),
}


@cache
def network(topology: str, way: str) -> Scenario:
    """The paper's network with its handovers; without any it is the one of planned handovers, whose walkers stay."""
    name = f"{topology}-{'planned' if way == 'none' else way}.toml"
    return Scenario(Path(__file__).with_name(name).read_text(encoding="utf-8"), f"bcmp/{name}")


def _residents(reading: Reading) -> list[dict[str, Any]]:
    """Calls, films, conferences and web sessions of those who stay."""
    frames = {"packets": {"spacing": reading.spacing}}
    kinds: list[tuple[str, range, str, dict[str, Any]]] = [
        ("phone", range(3), "3", {"kind": "voip"}),
        ("cinema", range(3, 4), "4", {"kind": "video", "encoding": reading.film} | frames),
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
                flow["transport"] = _tcp("newreno", 20, reading)
            flows.append(flow | ({"two_way": True} if name == "phone" else {}))
    return flows


def _streams(reading: Reading) -> list[dict[str, Any]]:
    frames = {"packets": {"spacing": reading.spacing}}
    apps: dict[str, dict[str, Any]] = {
        "call": {"kind": "voip"},
        "film": {"kind": "video", "encoding": reading.film} | frames,
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


def _tcp(variant: str, window: int, reading: Reading) -> dict[str, Any]:
    return {
        "kind": "tcp",
        "variant": variant,
        "window": f"{window} pkt",
        "min_rto": f"{reading.min_rto_ms} ms",
        "segment": f"{PACKET_BYTES} B",
        "header": f"{reading.header_bytes} B",
    }


def _download(variant: str, window: int, reading: Reading) -> dict[str, Any]:
    return {
        "name": DOWNLOAD,
        "path": ["0", "walker-1"],
        "transport": _tcp(variant, window, reading),
        "app": {"kind": "ftp", "start": "1 s", "start_within": "1 s"},
    }


def _scenario(
    name: str, topology: str, way: str, reading: Reading, flows: list[dict[str, Any]], streamed: bool
) -> Scenario:
    data = network(topology, way).tables
    data["run"] |= {"duration": DURATION, "profile": reading.profile}
    data["network"] = {"queue": {"kind": "droptail", "limit": f"{reading.queue_pkts} pkt"}}
    data["radio"]["in_flight_at_break"] = reading.in_flight
    if reading.overlap_ms:
        data["radio"] |= {"kind": "soft", "overlap": f"{reading.overlap_ms} ms"}
    data["mobility"]["anchor_change"] = reading.anchor_change
    if way == "planned":
        data["mobility"]["trigger"]["lead"] = f"{reading.lead_ms} ms"
    if way == "unplanned":
        data["mobility"]["forward_after_notify"] = reading.forwarding
    data["hosts"][0]["plan"]["dwell"] = f"{reading.dwell_ms} ms"
    if way == "none":
        data["hosts"][0]["plan"] = {"kind": "stay", "begin": "19"}
    data["record"] = {"queues": [], "deliveries": streamed}
    return Scenario.from_dict(data | {"flows": flows}, f"bcmp/{name}")


@cache
def downloads(topology: str, way: str, tcp: str, window: int, reading: Reading = DEFAULT) -> Scenario:
    """A point of figs. 6 and 7, or the same planned or without handovers."""
    flows = [_download(tcp, window, reading), *_streams(reading), *_residents(reading)]
    return _scenario(f"{topology}, {way}, {tcp}, window {window}", topology, way, reading, flows, False)


@cache
def streams(topology: str, way: str, reading: Reading = DEFAULT) -> Scenario:
    """The call, film and conference of figs. 4 and 5."""
    beside = [_download("newreno", 20, reading)] if reading.load == "with the download" else []
    flows = [*_streams(reading), *beside, *_residents(reading)]
    return _scenario(f"{topology}, {way}, streams", topology, way, reading, flows, True)


@cache
def procedures(topology: str, way: str, reading: Reading = DEFAULT) -> Scenario:
    """All that the protocol does in one run: logins, logouts, changes of the anchor, paging by a packet each 5 s."""
    data = streams(topology, way, replace(reading, anchor_change=True)).tables
    rare = {"kind": "cbr", "start": "10 s", "rate": "320 bit/s", "packet": "200 B"}
    data["flows"].append({"name": "rare", "path": ["5", "resident-21"], "app": rare})
    data["mobility"] |= {
        "paging": {"areas": [["*"]], "idle_after": "3 s"},
        "hours": {"resident-0": {"login": "1 s", "logout": "50 s"}},
    }
    return Scenario.from_dict(data, f"bcmp/{topology}, {way}, all procedures")
