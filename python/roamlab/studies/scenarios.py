"""The scenarios of the study of schemes: one network and one move, each scheme with each application."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from roamlab.scenarios.scenario import Scenario, load

MOVE_S = 5.0
"""When the host turns to its new cell, as in network.toml."""
LEAD_S = 0.1
"""How much earlier schemes with a trigger have a notice of it."""
OLD, NEW, CROSSING = "ar1", "ar2", "r1"
"""The access routers of the old and of the new cell, and the router above both."""

_TCP = {"kind": "tcp", "variant": "newreno", "window": "64 pkt", "segment": "1000 B"}
_TIMES = {"start": "1 s", "start_within": "1 s", "stop": "9 s"}
APPLICATIONS: dict[str, dict[str, Any]] = {
    "download": {"transport": _TCP, "app": {"kind": "ftp", **_TIMES}},
    "call": {"two_way": True, "app": {"kind": "voip", **_TIMES}},
    "video": {"app": {"kind": "video", **_TIMES}},
}
"""Applications of the moving host, one at a time; also the names of the flows."""


@dataclass(frozen=True)
class Scheme:
    """A way to follow a host that moves."""

    name: str
    needs: str
    """Requirements on the network."""
    tables: dict[str, Any]
    """Its table `mobility` and, where it has its own, `radio`."""
    queue: dict[str, Any] | None
    """The queue of the new cell, if it is not the common one."""


@cache
def _network() -> Scenario:
    return load(Path(__file__).with_name("network.toml"))


def schemes() -> list[Scheme]:
    """All schemes, in the order of schemes.toml."""
    import tomli

    listed = tomli.loads(Path(__file__).with_name("schemes.toml").read_text(encoding="utf-8"))["schemes"]
    return [
        Scheme(
            each["name"],
            each["needs"],
            {table: each[table] for table in ("mobility", "radio") if table in each},
            each.get("queue"),
        )
        for each in listed
    ]


def scenario(scheme: Scheme, application: str) -> Scenario:
    """The network with a scheme, while the host that moves uses one application."""
    data = _network().to_dict()
    data["flows"] = [
        {"name": application, "path": ["ch", "mh"], **APPLICATIONS[application]},
        *data["flows"],
    ]
    if scheme.queue is not None:
        data["cells"]["bs2"]["queue"] = scheme.queue
    return Scenario.from_dict(data | scheme.tables, f"schemes/{scheme.name}, {application}")
