"""Topologies in GraphML, as those of the Internet Topology Zoo and of `networkx.write_graphml`, as links of a scenario.

`<key id="d32" for="edge" attr.name="LinkSpeedRaw" attr.type="double"/>` declares an attribute, `<data key="d32">` in a
node or an edge has its value (GraphML Primer, section 2.4). Hyperedges and graphs in nodes are refused.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from roamlab.base.errors import BadInput
from roamlab.base.inputs import text_lines
from roamlab.base.quantities import counted, number
from roamlab.imports.elements import elements, is_xml
from roamlab.imports.links import Link, Node, Topology, combined
from roamlab.imports.nodes import plain
from roamlab.imports.places import great_circle_m
from roamlab.traces.logs import QUOTED, bad, decimal
from roamlab.traces.series import QUANTITIES

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

EXPECTED = "a topology in GraphML"
_FIBRE_M_PER_S = 2e8
"""The speed of light in fibre, 200 km in a ms."""
_UNITS = {"": 0, "k": 3, "m": 6, "g": 9, "t": 12}
"""LinkSpeedUnits of the Topology Zoo, as powers of ten."""
_RATES, _DELAYS = QUANTITIES["rate"], QUANTITIES["delay"]
_KNOWN = ("name", "latitude", "longitude", *_RATES.columns, *_DELAYS.columns)


@dataclass
class _Part:
    """A node or an edge: its place in the file, its attributes in XML, and those that keys declare."""

    line: int
    xml: Mapping[str, str]
    values: dict[str, str] = field(default_factory=dict)


@dataclass
class _Graph:
    nodes: list[_Part] = field(default_factory=list)
    edges: list[_Part] = field(default_factory=list)
    directed: bool = False


def read(log: Path, named: Mapping[str, str], rate: str, delay: str) -> Topology:
    """The links of a topology.

    `named`: our names of attributes and those of the file. `rate` and `delay`: as a scenario has them, for edges
    without one; empty: such an edge is an error. A delay that the file does not have is that of light in fibre on the
    great circle between the two nodes. Raises `BadInput` with file and line.
    """
    for ours in named:
        if ours not in _KNOWN:
            raise BadInput(
                f"--column {ours}={named[ours]}",
                "a topology is not made of such an attribute",
                expected=f"one of {', '.join(_KNOWN)}",
                remedy="write --column rate_mbit_s=bandwidth, for an attribute `bandwidth` of edges",
            )
    if not is_xml(log, EXPECTED):
        first = next(iter(text_lines(log, EXPECTED)), "").strip()
        raise bad(
            log,
            1,
            f"this is no XML: {first[:QUOTED]!r}",
            EXPECTED,
            "write a GML file as GraphML: networkx.write_graphml(networkx.read_gml(FILE, label='id'), 'net.graphml')",
        )
    graph = _parsed(log)
    nodes = _nodes(log, graph, named)
    links, inner, computed = [], 0, 0
    for edge in graph.edges:
        ends = []
        for end in ("source", "target"):
            if edge.xml.get(end) not in nodes:
                known = f"one of the ids of nodes: {', '.join(list(nodes)[:5])}, …"
                raise bad(log, edge.line, f"<edge> has {end}={edge.xml.get(end)!r}", known, "add the node")
            ends.append(nodes[edge.xml[end]])
        if ends[0] is ends[1]:
            inner += 1
            continue
        bits = _value(log, edge, named, "rate") or _zoo_rate(log, edge)
        nanoseconds = _value(log, edge, named, "delay")
        if nanoseconds is None and ends[0].place and ends[1].place:
            nanoseconds = round(great_circle_m(ends[0].place, ends[1].place) / _FIBRE_M_PER_S * 1e9)
            computed += 1
        if (bits is None and not rate) or (nanoseconds is None and not delay):
            raise _incomplete(log, edge, ends, "rate" if bits is None and not rate else "delay")
        links.append(Link((ends[0].name, ends[1].name), bits, nanoseconds))
    if not links:
        raise BadInput(log, "it has no edge between two nodes", expected=EXPECTED, remedy="name another file")
    notes = [f"{counted(inner, 'edge')} from a node to itself left out"] if inner else []
    if computed:
        notes.append(
            f"{counted(computed, 'delay')} of {counted(len(links), 'edge')} from places: the great circle at "
            f"{number(_FIBRE_M_PER_S / 1e6)} km in a ms"
        )
    return combined(list(nodes.values()), links, (rate, delay), notes, directed=graph.directed)


def _incomplete(log: Path, edge: _Part, ends: list[Node], what: str) -> BadInput:
    known = ", ".join(edge.values) or "none"
    option, example = ("--rate", "'1 Gbit/s'") if what == "rate" else ("--delay", "'1 ms'")
    return bad(
        log,
        edge.line,
        f"the edge between {ends[0].name} and {ends[1].name} has no {what} (attributes: {known})",
        "LinkSpeedRaw, or an attribute that --column names"
        if what == "rate"
        else "places of both nodes, or a delay",
        f"write {option} {example} for all edges without one",
    )


def _parsed(log: Path) -> _Graph:
    graph, part, root, key = _Graph(), None, "", ""
    declared: dict[str, tuple[str, str]] = {}
    defaults: dict[str, str] = {}
    for name, attributes, text, line in elements(log, EXPECTED, ends=True):
        if not root:
            root = name
            if name != "graphml":
                raise bad(log, line, f"the first element is <{name}>", "<graphml>", "name another file")
        elif name == "key":
            key = attributes.get("id", "")
            declared[key] = (attributes.get("attr.name", key), attributes.get("for", "all"))
        elif name == "/default":
            defaults[key] = text
        elif name == "graph":
            if part is not None or graph.nodes:
                raise bad(log, line, "it has a second graph, or a graph in a node", "one graph", "remove it")
            graph.directed = attributes.get("edgedefault") == "directed"
        elif name == "hyperedge":
            raise bad(log, line, "<hyperedge> connects several nodes", "edges between two nodes", "remove it")
        elif name in ("node", "edge"):
            part = _Part(line, attributes)
            (graph.nodes if name == "node" else graph.edges).append(part)
            part.values |= {
                declared[each][0]: value
                for each, value in defaults.items()
                if declared[each][1] in ("all", name)
            }
        elif name in ("/node", "/edge"):
            part = None
        elif name == "data":
            key = attributes.get("key", "")
            if part is not None and key not in declared:
                raise bad(
                    log, line, f"no <key> declares {key!r}", '<key id="…" attr.name="…"/>', "declare it"
                )
        elif name == "/data" and part is not None and text:
            part.values[declared[key][0]] = text
    return graph


def _nodes(log: Path, graph: _Graph, named: Mapping[str, str]) -> dict[str, Node]:
    """The nodes by their ids, with names that a scenario may have."""
    found: dict[str, Node] = {}
    taken: set[str] = set()
    for part in graph.nodes:
        id_ = part.xml.get("id", "")
        if not id_ or id_ in found:
            problem = f"the id {id_!r} is of two nodes" if id_ else "the node has no id"
            raise bad(log, part.line, problem, "an id for each node", "correct it")
        label = part.values.get(named.get("name", "label")) or part.values.get("name") or id_
        name = plain(label) or plain(id_) or "node"
        if name in taken:
            name = f"{name}-{plain(id_)}"
        while name in taken:
            name += "-2"
        taken.add(name)
        found[id_] = Node(name, _place(log, part, named))
    return found


def _place(log: Path, node: _Part, named: Mapping[str, str]) -> tuple[float, float] | None:
    """Latitude and longitude of a node, if it has both."""
    by_small = {name.lower(): name for name in node.values}
    found = []
    for ours, most in (("latitude", 90), ("longitude", 180)):
        theirs = named.get(ours) or by_small.get(ours, "")
        if not node.values.get(theirs):
            return None
        value = decimal(node.values[theirs])
        if value is None or abs(value) > most:
            problem = f"{theirs} is {node.values[theirs][:QUOTED]!r}"
            raise bad(log, node.line, problem, f"degrees from -{most} to {most}", "correct it")
        found.append(float(value))
    return found[0], found[1]


def _value(log: Path, edge: _Part, named: Mapping[str, str], what: str) -> int | None:
    """The rate of an edge in bit/s, or its delay in ns, from an attribute with our name or one that is named."""
    quantity = QUANTITIES[what]
    for ours, power in quantity.columns.items():
        theirs = named.get(ours, ours)
        if text := edge.values.get(theirs, ""):
            value = decimal(text)
            whole = None if value is None else int(value * 10**power) // (2 if ours in quantity.halved else 1)
            if whole is None or not (1 if what == "rate" else 0) <= whole <= quantity.most:
                problem = f"{theirs} is {text[:QUOTED]!r}"
                raise bad(log, edge.line, problem, f"a {what} as a number", "correct it")
            return whole
    return None


def _zoo_rate(log: Path, edge: _Part) -> int | None:
    """The rate of an edge of the Topology Zoo in bit/s: LinkSpeedRaw, or LinkSpeed in LinkSpeedUnits."""
    raw, speed = edge.values.get("LinkSpeedRaw", ""), edge.values.get("LinkSpeed", "")
    power = 0 if raw else _UNITS.get(edge.values.get("LinkSpeedUnits", "").strip().lower()[:1], -1)
    if not raw and (not speed or power <= 0):
        return None
    found = decimal(raw or speed)
    bits = None if found is None else int(found * 10**power)
    if bits is None or not 1 <= bits <= _RATES.most:
        name = "LinkSpeedRaw" if raw else "LinkSpeed"
        problem = f"{name} is {(raw or speed)[:QUOTED]!r}"
        raise bad(log, edge.line, problem, "a rate as a number", "correct it, or remove it and write --rate")
    return bits
