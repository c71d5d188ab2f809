"""Links of a scenario, from the edges of a graph."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from roamlab.base.quantities import counted
from roamlab.scenarios.changes import inline_toml

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_RATES = ((10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s"), (1, "bit/s"))


@dataclass(frozen=True)
class Node:
    """A node, and its latitude and longitude in degrees if they are known."""

    name: str
    place: tuple[float, float] | None = None


@dataclass(frozen=True)
class Link:
    """A link. Rates are in bit/s and delays in ns; None: those of all links without one."""

    between: tuple[str, str]
    rate: int | None
    delay: int | None
    back: tuple[int | None, int | None] | None = None
    """Rate and delay from the second node to the first, if an edge leads there."""


@dataclass(frozen=True)
class Topology:
    """Nodes and links, with the rate and the delay of links without one, as a scenario has them."""

    nodes: Sequence[Node]
    links: Sequence[Link]
    without: tuple[str, str]
    notes: Sequence[str] = field(default=())

    def toml(self) -> Iterator[str]:
        """The table of each link."""
        for link in self.links:
            rate, delay = self._of(link.rate, link.delay)
            table: dict[str, Any] = {"between": list(link.between), "rate": rate, "delay": delay}
            if link.back is not None:
                back = dict(zip(("reverse_rate", "reverse_delay"), self._of(*link.back), strict=True))
                table |= {
                    key: value for key, value in back.items() if value != table[key.removeprefix("reverse_")]
                }
            fields = (f"{key} = {inline_toml(value)}" for key, value in table.items())
            yield "\n".join(["[[links]]", *fields, ""])

    def _of(self, rate: int | None, delay: int | None) -> tuple[str, str]:
        return (
            self.without[0] if rate is None else _rate(rate),
            self.without[1] if delay is None else f"{delay / 1e6:.6f}".rstrip("0").rstrip(".") + " ms",
        )

    def islands(self) -> list[set[str]]:
        """The sets of nodes that links connect, the largest first."""
        near: dict[str, set[str]] = {node.name: set() for node in self.nodes}
        for link in self.links:
            one, other = link.between
            near[one].add(other)
            near[other].add(one)
        found, seen = [], set[str]()
        for name in near:
            if name in seen:
                continue
            island, rest = {name}, [name]
            while rest:
                new = near[rest.pop()] - island
                island |= new
                rest += new
            seen |= island
            found.append(island)
        return sorted(found, key=len, reverse=True)

    def summary(self) -> list[str]:
        """Sentences about the topology, and about what is not as in the file."""
        said = [f"{counted(len(self.nodes), 'node')}, {counted(len(self.links), 'link')}"]
        for what, values in (
            ("rate", [each.rate for each in self.links]),
            ("delay", [each.delay for each in self.links]),
        ):
            if missing := values.count(None):
                said.append(
                    f"{counted(missing, 'link')} without a {what}: {self._of(None, None)[what == 'delay']}"
                )
        islands = self.islands()
        if len(islands) > 1:
            other = ", ".join(sorted(set().union(*islands[1:]))[:8])
            said.append(f"not all nodes are connected: no link leads from the largest part to {other}")
        return said + list(self.notes)


def _rate(bits: int) -> str:
    factor, unit = next((factor, unit) for factor, unit in _RATES if bits >= factor or factor == 1)
    return f"{bits / factor:.9f}".rstrip("0").rstrip(".") + f" {unit}"


def combined(
    nodes: Sequence[Node],
    edges: Sequence[Link],
    without: tuple[str, str],
    notes: Sequence[str],
    *,
    directed: bool,
) -> Topology:
    """One link for the edges of each two nodes, as a scenario has them.

    In a directed graph an edge in the other direction is the way back of the link. Of several edges in one direction
    the fastest is kept, of equal ones the first.
    """
    found: dict[tuple[str, str], Link] = {}
    left_out = 0
    for edge in edges:
        back = edge.between[::-1]
        if back in found and directed:
            link = found[back]
            left_out += link.back is not None
            if link.back is None or (edge.rate or 0) > (link.back[0] or 0):
                found[back] = replace(link, back=(edge.rate, edge.delay))
            continue
        key = back if back in found else edge.between
        if key in found:
            left_out += 1
            if (edge.rate or 0) > (found[key].rate or 0):
                found[key] = replace(found[key], rate=edge.rate, delay=edge.delay)
            continue
        found[key] = edge
    said = list(notes)
    if left_out:
        said.append(f"{counted(left_out, 'edge')} parallel to a faster or equal one left out")
    one_way = sum(link.back is None for link in found.values()) if directed else 0
    if one_way and one_way < len(found):
        said.append(
            f"{counted(one_way, 'edge')} without one in the other direction: both directions are equal"
        )
    return Topology(nodes, list(found.values()), without, said)
