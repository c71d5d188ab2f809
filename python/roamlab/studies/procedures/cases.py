"""The cases of the study of procedures: a procedure, what the host does, and the law of the duration."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from roamlab.scenarios.scenario import Scenario, load

MOVE_S = 8.0
"""When the host turns to its new cell, as in network.toml."""

_CUBIC = {"kind": "tcp", "variant": "cubic", "segment": "1400 B"}
_DOWNLOAD = {"kind": "ftp", "start": "1 s", "start_within": "1 s"}
APPLICATIONS: dict[str, dict[str, Any]] = {
    "CUBIC": {"transport": _CUBIC, "app": _DOWNLOAD},
    "BBR": {"transport": {**_CUBIC, "variant": "bbr"}, "app": _DOWNLOAD},
    "QUIC": {"transport": {"kind": "quic", "migration": "rfc"}, "app": _DOWNLOAD},
    "call": {"two_way": True, "app": {"kind": "voip", "start": "1 s", "start_within": "1 s"}},
    "pages": {
        "transport": _CUBIC,
        "app": {"kind": "web", "objects": 10, "think": "100 ms", "start": "1 s", "start_within": "1 s"},
    },
}
"""Activities of the host, one at a time; also the names of the flows."""
DOWNLOADS = ("CUBIC", "BBR", "QUIC")

BUDGET = "budget"
LAWS: dict[str, dict[str, Any] | None] = {
    BUDGET: None,
    "sa_mcg": {"kind": "measured", "table": "sa_mcg"},
    "pam25_all": {"kind": "measured", "table": "pam25_all"},
}
"""Laws of the time from the command until the host has access: the standard's budget, and two that were measured."""


@dataclass(frozen=True)
class Procedure:
    """A way to hand a host over."""

    name: str
    needs: str
    """Requirements on the network and the host."""
    tables: dict[str, Any]
    """Its table `mobility` and, where it has its own, `radio`."""
    law: bool
    """True if its duration can follow a law."""


class Case(NamedTuple):
    """One combination."""

    procedure: str
    application: str
    law: str


@cache
def _network() -> Scenario:
    return load(Path(__file__).with_name("network.toml"))


@cache
def procedures() -> tuple[Procedure, ...]:
    """All procedures, in the order of procedures.toml."""
    import tomli

    listed = tomli.loads(Path(__file__).with_name("procedures.toml").read_text(encoding="utf-8"))
    return tuple(
        Procedure(
            each["name"],
            each["needs"],
            {table: each[table] for table in ("mobility", "radio") if table in each},
            each.get("law", False),
        )
        for each in listed["procedures"]
    )


def cases() -> list[Case]:
    """All combinations that have a meaning."""
    return [
        Case(procedure.name, application, law)
        for procedure in procedures()
        for application in APPLICATIONS
        for law in LAWS
        if law == BUDGET or procedure.law
    ]


def scenario(case: Case) -> Scenario:
    """The network with a procedure, while the host does one thing."""
    (procedure,) = (each for each in procedures() if each.name == case.procedure)
    data = _network().to_dict()
    tables = {name: dict(table) for name, table in procedure.tables.items()}
    if procedure.law:
        law = LAWS[case.law]
        # The first measurement at which the other cell is better is reported.
        first = {"offset_db": 0.0, "hysteresis_db": 0.0, "time_to_trigger": "0 ms", "filter_coefficient": 0}
        tables["mobility"] |= {"measurement": first} | ({} if law is None else {"times": {"handover": law}})
    data["flows"] = [
        {"name": case.application, "path": ["server", "mover"], **APPLICATIONS[case.application]}
    ]
    return Scenario.from_dict(data | tables, f"procedures/{', '.join(case)}")
