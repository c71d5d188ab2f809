"""A scenario has few parameters: what nothing sets is a rule of a profile, or a constant."""

from __future__ import annotations

import json
from typing import Any

import pytest
import tomli

import roamlab as rl
from roamlab import _roamlab
from roamlab.scenarios import profiles

SCHEMA = json.loads(_roamlab.schema())
DEFINITIONS = SCHEMA["$defs"]
MOST_OF_TCP = 20
MOST_OF_MOBILITY = 130
"""Of the protocols of the papers, and FMIPv6."""
MOST_OF_5G = 90
"""Of the protocol whose tables are only its own; the standards have some 40 timers and values for it."""


def _branches(node: dict[str, Any]) -> list[dict[str, Any]]:
    """A schema and those of which a value may, or must, satisfy several, without definitions that are referred to."""
    several = [each for key in ("oneOf", "anyOf", "allOf") for each in node.get(key, [])]
    return [node, *(inner for each in several for inner in _branches(each))]


def _tables(node: dict[str, Any]) -> list[str]:
    """The definitions of tables with fields that a value is made of."""
    found = []
    for branch in _branches(node):
        name = branch.get("$ref", "").rpartition("/")[2]
        if name and any("properties" in each for each in _branches(DEFINITIONS[name])):
            found.append(name)
        for key in ("items", "additionalProperties"):
            if isinstance(branch.get(key), dict):
                found += _tables(branch[key])
    return found


def _parameters(definition: str, without: str = "") -> set[tuple[str, str, str]]:
    """The fields that have a value, those of a table that several share once: table, kind of it, name.

    `without`: a kind that is left out.
    """
    found, waiting, seen = set(), [definition], set()
    while waiting:
        table = waiting.pop()
        if table in seen:
            continue
        seen.add(table)
        for branch in _branches(DEFINITIONS[table]):
            fields = branch.get("properties", {})
            kind = fields.get("kind", {}).get("const", "")
            if kind and kind == without:
                continue
            # A kind whose fields are in a separate definition.
            waiting += _tables({key: value for key, value in branch.items() if key == "$ref"})
            for name, field in fields.items():
                inner = _tables(field)
                waiting += inner
                if name != "kind" and not inner:
                    found.add((table, kind, name))
    return found


def test_a_flow_sets_few_parameters_of_tcp() -> None:
    (tcp,) = (
        branch
        for branch in _branches(DEFINITIONS["TransportSpec"])
        if branch.get("properties", {}).get("kind", {}).get("const") == "tcp"
    )
    fields = set(tcp["properties"]) - {"kind"}
    if "$ref" in tcp:
        fields |= set(DEFINITIONS[tcp["$ref"].rpartition("/")[2]]["properties"])
    assert 0 < len(fields) <= MOST_OF_TCP, fields
    assert fields.isdisjoint(DEFINITIONS["TcpProfile"]["properties"]), "a rule is set in one place"


def test_mobility_protocols_have_few_parameters() -> None:
    found = _parameters("MobilitySpec")
    assert {"beacon_interval", "t304", "route_timeout"} <= {name for *_, name in found}
    others = _parameters("MobilitySpec", without="nr")
    assert len(others) <= MOST_OF_MOBILITY, len(others)
    assert 0 < len(found - others) <= MOST_OF_5G, len(found - others)


_SCENARIO = """
run = { duration = "3 s" }
[[links]]
between = ["a", "b"]
rate = "5 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", limit = "30 pkt" }
[[flows]]
name = "file"
path = ["a", "b"]
transport = { kind = "tcp" }
app = { kind = "ftp" }
"""


@pytest.mark.parametrize("name", profiles.names())
def test_a_profile_that_is_written_out_is_that_profile(name: str) -> None:
    written = tomli.loads(profiles.as_toml(name))
    plain = rl.Scenario(_SCENARIO, "plain.toml").set("run.profile", name)
    copied = plain.set_all({"run.profile": "own", "tcp_profiles": written["tcp_profiles"]})
    full = copied.set("flows.file.transport", written["flows"]["transport"])
    runs = [rl.run(scenario).columns("deliveries")["time_ns"].tolist() for scenario in (plain, copied, full)]
    assert runs[0]
    assert runs[1] == runs[0]
    assert runs[2] == runs[0]
