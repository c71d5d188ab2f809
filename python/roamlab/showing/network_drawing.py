"""A scenario's network as a drawing: nodes, links and cells, and how hosts move between cells."""

from __future__ import annotations

from collections import Counter
from io import StringIO
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.base import figures
from roamlab.base.calls import called
from roamlab.base.errors import BadInput
from roamlab.base.figures import BLUE, GREEN, ORANGE, PINK, SKY, VERMILION

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from roamlab.scenarios.scenario import Scenario

MOST_NODES = 600
"""Larger networks are refused: they would be unreadable, and the layout takes time with the square of their
size."""

_STEPS = 150
_INCHES = 0.7
"""Length of a link on paper, about."""
_RINGS: dict[str, dict[str, Any]] = {
    role: {"marker": marker, "markersize": 12, "markerfacecolor": "none", "color": colour, "linestyle": ""}
    for role, marker, colour in (
        ("anchor point", "o", PINK),
        ("gateway of the domain", "D", ORANGE),
        ("MME", "h", SKY),
    )
}
"""Around the nodes with a role in the mobility protocol."""


@called()
def drawing(scenario: Scenario, seed: int = 1, run: int = 0) -> str:
    """The network of a scenario as a drawing, in SVG: nodes with their roles, links, cells, hosts and their ways.

    Random plans are those of the run with this seed and number.

    The distance of two nodes is about the number of links between them (stress majorization of the distances
    in hops, from their classical scaling).
    """
    network = scenario.expanded(seed, run)
    cells = network.get("cells", {})
    wires = [tuple(link["between"]) for link in network.get("links", [])]
    backhauls = [(cell["router"], name) for name, cell in cells.items()]
    names = list(dict.fromkeys(name for pair in [*wires, *backhauls] for name in pair))
    if not 0 < len(names) <= MOST_NODES:
        raise BadInput(
            scenario.name,
            f"{len(names)} nodes and base stations cannot be drawn",
            expected=f"a network of 1 to {MOST_NODES}",
            remedy="draw a smaller one of the same kind",
        )
    places = dict(zip(names, _layout(names, [*wires, *backhauls]), strict=True))
    return _drawn(places, wires, backhauls, network)


def _roles(network: Mapping[str, Any]) -> dict[str, list[str]]:
    """Roles that the mobility protocol gives to nodes."""
    given = network.get("mobility", [])
    found: dict[str, list[Any]] = {role: [] for role in _RINGS}
    for mobility in given if isinstance(given, list) else [given]:
        found["anchor point"] += mobility.get("anchors") or []
        found["gateway of the domain"].append(mobility.get("domain", {}).get("gateway"))
        found["MME"].append(mobility.get("mme"))
    return {role: [node for node in nodes if node] for role, nodes in found.items() if any(nodes)}


def _layout(names: Sequence[str], pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
    """A place for each node."""
    distances = _hops(names, pairs)
    count = len(names)
    turns = 2.399963 * np.arange(count)  # the golden angle: no two nodes begin at one place
    places = _scaled(distances) + 0.05 * np.column_stack([np.cos(turns), np.sin(turns)])
    if count < 3:
        return places
    weights = 1.0 / np.maximum(distances, 1.0) ** 2
    np.fill_diagonal(weights, 0.0)
    inverse = np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    for _ in range(_STEPS):
        apart = np.linalg.norm(places[:, None] - places[None], axis=2)
        ratio = weights * distances / np.maximum(apart, 1e-9)
        np.fill_diagonal(ratio, 0.0)
        places = inverse @ ((np.diag(ratio.sum(axis=1)) - ratio) @ places)
    return places


def _hops(names: Sequence[str], pairs: Sequence[tuple[str, str]]) -> NDArray[np.float64]:
    """Distances in links; to what no path reaches one more than the longest."""
    number = {name: at for at, name in enumerate(names)}
    around: list[list[int]] = [[] for _ in names]
    for one, other in pairs:
        around[number[one]].append(number[other])
        around[number[other]].append(number[one])
    distances = np.full((len(names), len(names)), np.inf)
    for source in range(len(names)):
        distances[source, source] = 0.0
        queue = [source]
        for node in queue:
            for near in around[node]:
                if np.isinf(distances[source, near]):
                    distances[source, near] = distances[source, node] + 1.0
                    queue.append(near)
    distances[np.isinf(distances)] = distances[np.isfinite(distances)].max() + 1.0
    return distances


def _scaled(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Places in the plane whose distances come near these (Torgerson's classical scaling)."""
    squares = distances**2
    centred = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-0.5 * centred)
    found = vectors[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    return np.pad(found, ((0, 0), (0, 2 - found.shape[1])))


def _drawn(
    places: Mapping[str, NDArray[np.float64]],
    wires: Sequence[tuple[str, ...]],
    backhauls: Sequence[tuple[str, ...]],
    network: Mapping[str, Any],
) -> str:
    hosts, cells, roles = network.get("hosts", []), network.get("cells", {}), _roles(network)
    everywhere = np.array(list(places.values()))
    size = np.clip(_INCHES * (np.ptp(everywhere, axis=0) + 2.0), 3.0, 24.0)
    with figures.new_figure() as (figure, (axes,)):
        figure.set_size_inches(*size)
        axes.set_axis_off()
        axes.set_aspect("equal")
        for pairs, style in ((wires, "-"), (backhauls, ":")):
            for one, other in pairs:
                (line,) = axes.plot(
                    *zip(places[one], places[other], strict=True), style, color="0.45", zorder=1
                )
                line.set_gid(f"link-{one}-{other}")
        for name, place in places.items():
            is_cell = name in cells
            marker, colour = ("^", GREEN) if is_cell else ("s", BLUE)
            (point,) = axes.plot(*place, marker, color=colour, markersize=5 if is_cell else 7, zorder=3)
            point.set_gid(f"{'cell' if is_cell else 'node'}-{name}")
            axes.annotate(
                name, tuple(place), (0, 5), textcoords="offset points", ha="center", fontsize=6, zorder=4
            )
        for role, nodes in roles.items():
            for node in nodes:
                (ring,) = axes.plot(*places[node], **_RINGS[role], zorder=2)
                ring.set_gid(f"role-{node}")
        _hosts(axes, places, hosts)
        _legend(axes, backhauls, hosts, roles)
        content = StringIO()
        figure.savefig(content, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    return content.getvalue()


def _legend(
    axes: Any,
    backhauls: Sequence[tuple[str, ...]],
    hosts: Sequence[Mapping[str, Any]],
    roles: Mapping[str, Sequence[str]],
) -> None:
    """Meaning of the signs in the drawing."""
    signs = [
        ("node", {"marker": "s", "color": BLUE, "linestyle": ""}),
        ("link", {"color": "0.45", "linestyle": "-"}),
    ]
    if backhauls:
        signs += [
            ("base station", {"marker": "^", "color": GREEN, "linestyle": ""}),
            ("backhaul", {"color": "0.45", "linestyle": ":"}),
        ]
    if hosts:
        signs.append(
            ("hosts, and the ways that they go from cell to cell", {"color": VERMILION, "linestyle": "-"})
        )
    signs += [(role, _RINGS[role]) for role in roles]
    handles = [axes.plot([], [], label=label, **style)[0] for label, style in signs]
    legend = axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncols=3, fontsize=6)
    legend.set_gid("legend")


def _hosts(axes: Any, places: Mapping[str, NDArray[np.float64]], hosts: Sequence[Mapping[str, Any]]) -> None:
    """Where hosts begin, and an arrow for each way from cell to cell that any of them takes."""
    routes = [[visit["cell"] for visit in host.get("visits", [])] for host in hosts]
    begins: dict[str, list[str]] = {}
    for host, route in zip(hosts, routes, strict=True):
        if route:
            begins.setdefault(route[0], []).append(host["name"])
    for cell, there in begins.items():
        text = ", ".join(there) if len(there) <= 2 else f"{there[0]} and {len(there) - 1} others"
        note = axes.annotate(
            text, places[cell], (0, -10), textcoords="offset points", ha="center", fontsize=6, color=VERMILION
        )
        note.set_gid(f"hosts-{cell}")
    ways = Counter((one, other) for route in routes for one, other in pairwise(route))
    for (one, other), _ in sorted(ways.items()):
        bent = {"arrowstyle": "->", "color": VERMILION, "connectionstyle": "arc3,rad=0.25", "lw": 0.9}
        arrow = axes.annotate("", places[other], places[one], arrowprops=bent, zorder=2)
        arrow.arrow_patch.set_gid(f"way-{one}-{other}")
