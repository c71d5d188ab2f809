"""Which table of a scenario has the fields of a link or queue, by the name of its place."""

from __future__ import annotations

from typing import Any, NamedTuple

from roamlab.scenarios.scenario import is_declared_by

Tables = dict[str, Any]


class Found(NamedTuple):
    """The table with the fields of a link, and which of them."""

    table: Tables
    is_forward: bool
    """Its first direction: from the first of `between` to the second, or down to the host."""
    is_uplink: bool = False
    """From a host to its base station: the queue is that of all hosts."""

    def field(self, name: str) -> str:
        """The name of a field in this direction."""
        return name if self.is_forward else f"reverse_{name}"


def fields_of(data: Tables, place: str) -> Found | None:
    """The fields of the link of this name; None: there is none. That of a bearer is its cell's."""
    for link in data.get("links", []):
        if "->".join(link["between"]) == place:
            return Found(link, is_forward=True)
        if "->".join(reversed(link["between"])) == place:
            return Found(link, is_forward=False)
    cells = data.get("cells", {})
    if "/air" in place:
        cell = cells.get(place.partition("/")[0])
        return cell and Found(cell, is_forward=True)
    begin, _, end = place.partition("->")
    if end in cells:
        if any(is_declared_by(begin, host["name"]) for host in data.get("hosts", [])):
            return Found(cells[end], is_forward=False, is_uplink=True)
        return Found(cells[end]["backhaul"], is_forward=True)
    return Found(cells[begin]["backhaul"], is_forward=False) if begin in cells else None
