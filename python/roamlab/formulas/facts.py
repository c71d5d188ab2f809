"""Facts of a run that formulas need: links, paths, transports, the longest stay of a flow in one cell."""

from __future__ import annotations

import heapq
import tomllib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from roamlab.base.quantities import value
from roamlab.scenarios.profiles import of_flow, profile

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from roamlab.records.columns import Columns
    from roamlab.records.results import Results

    Ints = NDArray[np.int64]


class Hop(NamedTuple):
    """One direction of a link, or the air of a cell."""

    name: str
    source: str
    target: str
    rate_bps: float
    delay_s: float
    queue: dict[str, Any]
    broken: str
    """Why its rate and delay are not constant; empty: they are."""
    scheduled: bool = False
    """Packets of several hosts share it by a scheduler, not in the order of arrival."""

    def time_s(self, size_bytes: float) -> float:
        """Transmission and propagation of a packet."""
        return self.delay_s + 8 * size_bytes / self.rate_bps


class Stay(NamedTuple):
    """The longest time in which a flow's end is in one cell, in ns, behind a settling time."""

    start_ns: int
    end_ns: int
    cell: str
    """Empty: the flow has no mobile end."""

    @property
    def length_s(self) -> float:
        """How long it is."""
        return (self.end_ns - self.start_ns) / 1e9


@dataclass(frozen=True)
class FlowFacts:
    """A flow as the scenario has it."""

    name: str
    source: str
    destination: str
    transport: dict[str, Any]
    """The transport with every parameter of its profile."""
    app: dict[str, Any]

    @property
    def is_tcp(self) -> bool:
        """A flow of TCP."""
        return bool(self.transport["kind"] == "tcp")

    @property
    def segment_bytes(self) -> float:
        """Payload of a full segment."""
        return value(self.transport["segment"])

    @property
    def wire_bytes(self) -> float:
        """A full segment with its header."""
        return self.segment_bytes + value(self.transport["header"])

    @property
    def window_pkts(self) -> float:
        """The receive window."""
        return value(self.transport["window"])

    @property
    def control(self) -> str:
        """Name of the congestion control."""
        found = self.transport["congestion_control"]
        return str(found["kind"] if isinstance(found, dict) else found)

    @property
    def acked_each(self) -> int:
        """Packets of one ACK by which the window grows (b): 2 with delayed ACKs, 1 if the sender counts packets."""
        counts = self.control != "reno" or self.transport["ack_rule"] == "linux"
        return 1 if counts or value(self.transport["delayed_ack"]) == 0 else 2

    @property
    def endless(self) -> bool:
        """Its application always has data."""
        ends = ("size", "packets", "stop")
        return self.app["kind"] == "ftp" and all(self.app.get(each) is None for each in ends)


class Facts:
    """A run, as the formulas ask about it."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.network = results.manifest.network
        self.duration_ns = round(value(self.network["run"]["duration"]) * 1e9)
        self._tables: dict[str, Columns] = {}

    def columns(self, table: str) -> Columns:
        """A table as arrays."""
        if table not in self._tables:
            self._tables[table] = self.results.columns(table)
        return self._tables[table]

    def words(self, table: str, column: str) -> NDArray[Any]:
        """A column of words as an array of text."""
        return np.asarray(self.results.table(table)[column].cast(str).to_numpy())

    def rows(self, table: str, **wanted: str) -> NDArray[np.bool_]:
        """Which rows of a table have these words."""
        frame = self.results.table(table)
        found = np.ones(frame.height, dtype=np.bool_)
        for column, word in wanted.items():
            found &= (frame[column].cast(str) == word).to_numpy()
        return found

    @cached_property
    def hosts(self) -> dict[str, dict[str, Any]]:
        """The mobile hosts."""
        return {each["name"]: each for each in self.network.get("hosts", ())}

    @cached_property
    def flows(self) -> list[FlowFacts]:
        """The flows whose transport has parameters of a profile, and all others with their own."""
        return [self._flow(each) for each in self.network.get("flows", ())]

    def _flow(self, flow: Any) -> FlowFacts:
        given = dict(flow["transport"])
        if given["kind"] == "tcp":
            rules = of_flow(self.network, given)
            base = profile(rules["based_on"], given.get("variant"))
            given = {each["parameter"]: _read(each["toml"]) for each in base} | dict(rules) | given
        path = flow["path"]
        return FlowFacts(flow["name"], path[0], path[-1], given, dict(flow["app"]))

    @cached_property
    def hops(self) -> dict[tuple[str, str], Hop]:
        """All directions of links, by their ends; the air between every cell and every host."""
        default = self.network["network"]
        found: dict[tuple[str, str], Hop] = {}
        for link in self.network.get("links", ()):
            first, second = link["between"]
            queue = link.get("queue", default["queue"])
            _add(found, _hop(first, second, link, "", queue))
            _add(found, _hop(second, first, link, "reverse_", link.get("reverse_queue", queue)))
        for name, cell in self.network.get("cells", {}).items():
            wired = cell["backhaul"]
            queue = wired.get("queue", default["queue"])
            _add(found, _hop(cell["router"], name, wired, "", queue))
            _add(found, _hop(name, cell["router"], wired, "reverse_", wired.get("reverse_queue", queue)))
            for host in self.hosts:
                down = _hop(name, host, cell, "", cell["queue"])
                broken = down.broken or _shared_air(cell)
                scheduled = cell.get("scheduler") is not None
                _add(found, down._replace(name=f"{name}/air", broken=broken, scheduled=scheduled))
                up = _hop(host, name, cell, "", default["uplink_queue"])
                _add(found, up._replace(broken=broken))
        return found

    @cached_property
    def links(self) -> dict[str, Hop]:
        """All directions of links, by the name that tables have."""
        return {hop.name: hop for hop in self.hops.values()}

    def path(self, source: str, target: str, size_bytes: float, cell: str = "") -> list[Hop]:
        """The fastest path for a packet of this size, over this cell alone if one is named; empty: there is none."""
        best: dict[str, float] = {}
        waiting: list[tuple[float, int, str, list[Hop]]] = [(0.0, 0, source, [])]
        count = 0
        while waiting:
            time, _, node, hops = heapq.heappop(waiting)
            if node == target:
                return hops
            if node in best:
                continue
            best[node] = time
            for hop in self._from.get(node, ()):
                air = {hop.source, hop.target} & self.hosts.keys()
                if cell and air and cell not in (hop.source, hop.target):
                    continue
                if hop.target in self.hosts and hop.target != target:
                    continue
                count += 1
                heapq.heappush(waiting, (time + hop.time_s(size_bytes), count, hop.target, [*hops, hop]))
        return []

    def shared(self, flow: FlowFacts, hop: Hop) -> bool:
        """True if another flow's data or ACKs may pass this hop, in any cell that its hosts visit."""
        for other in self.flows:
            ends = (other.source, other.destination)
            cells = {cell for host in ends if host in self.hosts for cell in self.cells_of(host)} or {""}
            paths = (self.path(*way, 1000.0, cell) for cell in cells for way in (ends, ends[::-1]))
            if other is not flow and any(hop.name == each.name for path in paths for each in path):
                return True
        return False

    def cells_of(self, host: str) -> list[str]:
        """The cells that a host is planned to visit; of a host without a plan all."""
        planned = [each["cell"] for each in self.hosts[host].get("visits", ())]
        return planned or list(self.network.get("cells", {}))

    @cached_property
    def _from(self) -> dict[str, list[Hop]]:
        found: dict[str, list[Hop]] = {}
        for hop in self.hops.values():
            found.setdefault(hop.source, []).append(hop)
        return found

    def widest_bps(self, source: str, target: str) -> float:
        """The highest rate that any single path has: the minimum of its links."""
        rates: dict[str, float] = {source: np.inf}
        waiting = [(-np.inf, source)]
        while waiting:
            rate, node = heapq.heappop(waiting)
            for hop in self._from.get(node, ()):
                through = min(-rate, hop.rate_bps)
                if through > rates.get(hop.target, 0.0):
                    rates[hop.target] = through
                    heapq.heappush(waiting, (-through, hop.target))
        return rates.get(target, 0.0)

    def unsteady(self) -> str:
        """The first link whose rate or delay is not constant; empty: there is none."""
        return next((hop.broken for hop in self.hops.values() if hop.broken), "")

    @cached_property
    def gaps(self) -> list[tuple[str, int, int, int]]:
        """Of each host the times without a link: host, from and until in ns, visit behind it."""
        phases, hosts = self.words("handovers", "phase"), self.words("handovers", "host")
        times, visits = self.columns("handovers")["time_ns"], self.columns("handovers")["visit"]
        down: dict[str, int] = {}
        found = []
        for time, host, phase, visit in zip(times.tolist(), hosts, phases, visits.tolist(), strict=True):
            if phase == "link-down":
                down.setdefault(host, time)
            elif phase == "link-up" and host in down:
                found.append((host, down.pop(host), time, visit))
        return found + [(host, time, self.duration_ns, -1) for host, time in down.items()]

    @property
    def breaks_before_it_makes(self) -> bool:
        """A host has one link at a time."""
        return bool(self.network.get("radio", {}).get("kind", "hard") == "hard")

    def stay(self, flow: FlowFacts, settle_s: float = 2.0) -> Stay | None:
        """The longest stay of a flow's mobile ends, without its first seconds; None: no cell is known."""
        row = {name: at for at, name in enumerate(self.words("flows", "flow"))}[flow.name]
        begin = int(self.columns("flows")["start_ns"][row])
        if begin < 0:
            return None
        ends = [each for each in (flow.source, flow.destination) if each in self.hosts]
        if len(ends) > 1:
            return None
        spans = list(self._stays(ends[0])) if ends else [Stay(0, self.duration_ns, "")]
        settle = round(settle_s * 1e9)
        cut = [Stay(max(each.start_ns, begin) + settle, each.end_ns, each.cell) for each in spans]
        return max(cut, key=lambda each: each.end_ns - each.start_ns, default=None)

    def _stays(self, host: str) -> Iterator[Stay]:
        visits = self.hosts[host].get("visits", ())
        at, visit = 0, 0
        for name, down, up, entered in self.gaps:
            if name == host and visit < len(visits):
                yield Stay(at, down, visits[visit]["cell"])
                at, visit = up, entered if entered >= 0 else len(visits)
        if visit < len(visits):
            yield Stay(at, self.duration_ns, visits[visit]["cell"])

    def of_flow(self, table: str, flow: FlowFacts) -> NDArray[np.bool_]:
        """Which rows of a table are of this flow."""
        return self.rows(table, flow=flow.name)


def _add(found: dict[tuple[str, str], Hop], hop: Hop) -> None:
    found[hop.source, hop.target] = hop


def _hop(source: str, target: str, link: Any, prefix: str, queue: Any) -> Hop:
    name = f"{source}->{target}"
    rate = link.get(f"{prefix}rate") or link["rate"]
    delay = link.get(f"{prefix}delay") or link["delay"]
    if not isinstance(rate, str) or not isinstance(delay, str):
        return Hop(name, source, target, np.inf, 0.0, dict(queue), f"rate or delay of {name} is not constant")
    broken = ""
    if link.get("changes"):
        broken = f"the scenario changes {name}"
    elif link.get("outages"):
        broken = f"{name} has outages"
    return Hop(name, source, target, value(rate), value(delay), dict(queue), broken)


def _read(text: str) -> Any:
    return tomllib.loads(f"value = {text}")["value"]


def _shared_air(cell: Any) -> str:
    if cell["medium"]["kind"] != "dedicated":
        return f"the air is shared ({cell['medium']['kind']})"
    return "the cell has bearers" if cell.get("bearers") else ""
