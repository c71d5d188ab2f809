"""Message sequence charts: the signalling of one handover, read from a run's tables.

The chart has no code for a single mobility protocol: messages, phases and packets are those of the record.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any

import polars as pl

from roamlab.base.errors import BadInput
from roamlab.base.quantities import counted, seconds
from roamlab.records.results import rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from roamlab.records.results import Results

QUIET_NS = 500_000_000
"""Messages belong to a handover while no pause between them is longer than this."""

_BROADCAST = "*"
_OFTEN = 8
"""A node that sends a message to another more often than this, each half second or more often, reports regularly."""
_MOST_ORDERS = 7
"""With more nodes than this aside of the path, their order is by distance only."""


@dataclass(frozen=True)
class Loss:
    """Where and why a message was lost."""

    time_ns: int
    place: str
    reason: str


@dataclass(frozen=True)
class Message:
    """A message. It arrived, or was lost, or (neither) was under way when the run ended."""

    id: int
    name: str
    source: str
    destination: str
    size_bytes: int
    sent_ns: int
    arrived_ns: int | None
    loss: Loss | None

    @property
    def end_ns(self) -> int:
        """When it arrived or was lost; if neither, when it was sent."""
        return self.arrived_ns or (self.loss.time_ns if self.loss else self.sent_ns)


@dataclass(frozen=True)
class Note:
    """Something at one node: a phase of the handover, or what happened to data."""

    time_ns: int
    node: str
    text: str
    is_data: bool


@dataclass(frozen=True)
class Chart:
    """One handover of one host."""

    host: str
    visit: int
    cells: tuple[str, str]
    """The cell that the host left ("" at its first visit), and the one that it entered."""
    zero_ns: int
    """When the host lost its link, or got one if it had none."""
    origin: str
    """Origin: scenario, seed and run."""
    nodes: tuple[str, ...]
    """The lifelines, from left to right."""
    messages: tuple[Message, ...]
    notes: tuple[Note, ...]
    beside: tuple[Message, ...]
    """Messages about no host in the same span, which are not drawn; `*` is a broadcast's destination."""
    regular: int
    """Number of regular reports in the same span, which are not drawn: all but the first and the last of a sender."""

    @property
    def title(self) -> str:
        """Who moves, and where."""
        old, new = self.cells
        return f"{self.host}: {f'handover {self.visit}, {old} to {new}' if old else f'first visit, {new}'}"

    def text(self, *, everything: bool = False) -> str:
        """A line for each message and note: time in s, who (from -> to), what.

        `everything`: also the messages about no host.
        """
        rows = [
            (note.time_ns, 0, note.node, f"{'#' if note.is_data else '*'} {note.text}") for note in self.notes
        ]
        for message in (*self.messages, *(self.beside if everything else ())):
            who = f"{message.source} -> {message.destination}"
            rows.append(
                (message.sent_ns, 1, who, f"{message.name}, {message.size_bytes} B, {outcome(message)}")
            )
        rows.sort(key=lambda row: row[:2])
        width = max((len(who) for _, _, who, _ in rows), default=0)
        lines = [f"{seconds(time)}  {who:<{width}}  {what}" for time, _, who, what in rows]
        if not everything:
            lines.append(f"left out: {counted(len(self.beside), 'message')} about no host")
        if self.regular:
            lines.append(f"left out: {counted(self.regular, 'regular report')}")
        return "\n".join([self.title, *lines]) + "\n"


def outcome(message: Message) -> str:
    """How it ended, for people."""
    if message.arrived_ns is not None:
        return f"arrives {seconds(message.arrived_ns)}"
    if message.loss is None:
        return "under way at the end"
    return f"LOST {seconds(message.loss.time_ns)} at {message.loss.place}: {message.loss.reason}"


def chart(results: Results, host: str | None = None, handover: int | None = None) -> Chart:
    """The chart of a host's handover: by default of the only host that moved, and its first move.

    `handover` is the number of the visit that it leads to; 0 is how the host came into its first cell. Raises
    `BadInput` where there is no such host or handover.
    """
    text = (pl.col(name).cast(pl.String) for name in ("host", "phase", "node"))
    phases = results.handovers.select("time_ns", "visit", *text)
    host = _host(phases, host)
    phases = phases.filter(pl.col("host") == host)
    visits = phases["visit"].unique().sort().to_list()
    visit = handover if handover is not None else min(1, visits[-1])
    if visit not in visits:
        raise BadInput(
            f"--handover {visit}",
            f"host {host} has no such handover in this run",
            expected=f"a number from 0 to {visits[-1]}",
            remedy="0 is the first visit, 1 the first move",
        )
    zero = _begin(phases, visit)
    parameters = results.manifest.network
    cells = visited(parameters, host, visit)
    limits = _limits(stays(results, host), visit)
    rows = _signalling(results).filter(pl.col("sent_ns").is_between(*limits))
    own, regular = _regular(rows.filter(pl.col("host") == host))
    reached = phases.filter((pl.col("visit") == visit) & (pl.col("phase") != "link-down"))
    first, last = _span(own, reached, zero)
    notes = [
        *_phases(phases, reached, visit, first, zero),
        *_data(results, host, cells[1], own, (first, zero, limits[1])),
    ]
    heard = _heard(rows, reached, host, cells[1])
    shown = pl.concat([own.filter(pl.col("sent_ns").is_between(first, last)), heard]).sort("sent_ns", "id")
    messages = [_message(row, host) for row in shown.iter_rows(named=True)]
    manifest = results.manifest
    about_none = rows.filter((pl.col("host") == "") & pl.col("sent_ns").is_between(first, last))
    beside = about_none.filter(~pl.col("id").is_in(heard["id"].implode())).sort("sent_ns", "id")
    return Chart(
        host,
        visit,
        cells,
        zero,
        f"{manifest.scenario_name}, seed {manifest.seed}, run {manifest.run}",
        lifelines(parameters, host, cells, messages, {note.node for note in notes}),
        tuple(messages),
        tuple(sorted(notes, key=lambda note: note.time_ns)),
        tuple(_message(row, _BROADCAST) for row in beside.iter_rows(named=True)),
        regular.filter(pl.col("sent_ns").is_between(first, last)).height,
    )


def _host(phases: pl.DataFrame, wanted: str | None) -> str:
    known = phases["host"].unique(maintain_order=True).to_list()
    moved = phases.filter(pl.col("visit") > 0)["host"].unique(maintain_order=True).to_list() or known
    if wanted is None and len(moved) == 1:
        return str(moved[0])
    if wanted in known:
        return str(wanted)
    raise BadInput(
        "--host" if wanted is None else f"--host {wanted}",
        "more than one host moved" if wanted is None and moved else "no such host was in a cell",
        expected=f"one of {', '.join(known)}" if known else "a run with mobile hosts",
        remedy="name one with --host" if known else "give the scenario a [mobility] table and hosts",
    )


def _begin(phases: pl.DataFrame, visit: int) -> int:
    """When the host lost the link of the visit before, or got this one's if there was none."""
    down = phases.filter((pl.col("visit") == visit - 1) & (pl.col("phase") == "link-down"))
    rows = down if down.height else phases.filter(pl.col("visit") == visit)
    return int(rows["time_ns"].to_list()[-1 if down.height else 0])


@dataclass
class Stay:
    """A visit of a host: its cell, and from when until when it was in it."""

    cell: str
    begin_ns: int
    end_ns: int


def stays(results: Results, host: str) -> list[Stay]:
    """The visits of a host in order, each until the link there goes down: of a soft handover during a later visit."""
    end = results.manifest.outline.duration_ns
    found: list[Stay] = []
    inside: list[Stay] = []  # the oldest first, which a host leaves first
    rows = rows_of(results.handovers, "host", host).sort("time_ns", maintain_order=True)
    for row in rows.select("time_ns", "visit", pl.col("phase").cast(pl.String)).iter_rows(named=True):
        for visit in range(len(found), row["visit"] + 1):
            cell = visited(results.manifest.network, host, visit)[1]
            found.append(Stay(cell or f"cell {visit}", end, end))
        stay = found[row["visit"]]
        if row["phase"] == "link-up":
            stay.begin_ns, stay.end_ns = min(stay.begin_ns, row["time_ns"]), end
            for before in [other for other in inside if other.cell == stay.cell]:
                before.end_ns = row["time_ns"]
                inside.remove(before)
            inside.append(stay)
        elif row["phase"] == "link-down" and inside:
            inside.pop(0).end_ns = row["time_ns"]
    return found


def _limits(visits: list[Stay], visit: int) -> tuple[int, int]:
    """Events that cannot belong to this handover: before the visit before, after the end of this one."""
    before = visits[max(visit - 1, 0)]
    has_been = visit > 0 and before.begin_ns < before.end_ns
    return before.begin_ns if has_been else 0, visits[visit].end_ns


def visited(parameters: dict[str, Any], host: str, visit: int) -> tuple[str, str]:
    """The cell that a host leaves for a visit ("" for its first) and the cell of the visit; both "" if unknown."""
    hosts = {row["name"]: row["visits"] for row in parameters.get("hosts", [])}
    cells = [row["cell"] for row in hosts.get(host, [])]
    return (cells[visit - 1] if visit else "", cells[visit]) if visit < len(cells) else ("", "")


def _signalling(results: Results) -> pl.DataFrame:
    """The messages, each with its loss if it has one."""
    text = (pl.col(name).cast(pl.String) for name in ("message", "host", "source", "destination"))
    losses = results.drops.select(
        "serial",
        pl.col("time_ns").alias("lost_ns"),
        pl.col("place").cast(pl.String),
        pl.col("reason").cast(pl.String),
    ).unique("serial", keep="first")
    rows = results.signalling.select("id", *text, "size_bytes", "sent_ns", "arrived_ns", "serial")
    return rows.join(losses, on="serial", how="left", maintain_order="left")


def _regular(own: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The messages of a host without regular reports, and these. Of a sender's reports the first and the last stay."""
    same = ("message", "source", "destination")
    sent = pl.col("sent_ns").cast(pl.Int64)
    first, last, arrived = sent.min().over(same), sent.max().over(same), pl.col("arrived_ns") >= 0
    count = pl.len().over(same).cast(pl.Int64)
    often = (count > _OFTEN) & (last - first <= QUIET_NS * count)
    inside = often & arrived & (sent > first) & (sent < last)
    return own.filter(~inside), own.filter(inside)


def _span(own: pl.DataFrame, reached: pl.DataFrame, zero: int) -> tuple[int, int]:
    """From the first message of the handover to the last one: without long pauses, but to the last phase."""
    first = zero
    for sent in reversed(own.filter(pl.col("sent_ns") < zero)["sent_ns"].to_list()):
        if first - sent > QUIET_NS:
            break
        first = sent
    last = max([zero, *reached["time_ns"].to_list()])
    later = own.filter(pl.col("sent_ns") >= zero).select("sent_ns", "arrived_ns").sort("sent_ns")
    for sent, arrived in later.iter_rows():
        if sent - last > QUIET_NS:
            break
        last = max(last, sent, arrived)
    return first, last


def _phases(phases: pl.DataFrame, reached: pl.DataFrame, visit: int, first: int, zero: int) -> list[Note]:
    """The phases that the visit reached, and those of the one before that prepared it."""
    before = phases.filter((pl.col("visit") == visit - 1) & pl.col("time_ns").is_between(first, zero))
    rows = pl.concat([before, reached]).select("time_ns", "node", "phase")
    return [Note(time, node, phase, is_data=False) for time, node, phase in rows.iter_rows()]


def _data(
    results: Results,
    host: str,
    cell: str,
    own: pl.DataFrame,
    span: tuple[int, int, int],
) -> list[Note]:
    """Events of the host's packets from the handover's first message on; then the host lost its link.

    A packet is direct if no base station sent it on. Nothing reaches a host through a cell before the host
    has sent something there, so earlier arrivals were still in the air of the old cell.
    """
    first, zero, end = span
    flow = pl.col("flow").cast(pl.String)
    released = results.releases.filter(pl.col("host").cast(pl.String) == host).select(
        "time_ns", pl.col("node").cast(pl.String), pl.col("to").cast(pl.String), flow, "seq", "serial"
    )
    forwarded = pl.col("to") != ""
    let_go = (
        ("forwarded", released.filter(forwarded & pl.col("time_ns").is_between(first, end))),
        (
            "released",
            released.filter(~forwarded & (pl.col("node") == cell) & pl.col("time_ns").is_between(zero, end)),
        ),
    )
    notes: list[Note] = []
    by_node = [
        (verb, node, rows)
        for verb, packets in let_go
        for (node,), rows in packets.group_by("node", maintain_order=True)
    ]
    for verb, node, rows in by_node:
        earliest, latest = rows.row(0, named=True), rows.row(-1, named=True)
        notes += [
            Note(earliest["time_ns"], str(node), f"first packet {verb}: {_packet(earliest)}", is_data=True),
            Note(
                latest["time_ns"],
                str(node),
                f"last packet {verb}: {_packet(latest)}, {rows.height} in all",
                is_data=True,
            ),
        ]
    said = own.filter((pl.col("source") == host) & (pl.col("sent_ns") >= zero))["sent_ns"].to_list()
    mine = results.flows.filter(pl.col("destination").cast(pl.String) == host)["flow"].cast(pl.String)
    arrived = results.deliveries.filter(
        pl.col("time_ns").is_between(said[0] if said else zero, end) & flow.is_in(mine.implode())
    ).select("time_ns", flow, "seq", "serial")
    detour = pl.col("serial").is_in(released.filter(forwarded)["serial"].implode())
    for what, rows in (("forwarded", arrived.filter(detour)), ("direct", arrived.filter(~detour))):
        if rows.height:
            row = rows.row(0, named=True)
            notes.append(
                Note(row["time_ns"], host, f"first {what} packet arrives: {_packet(row)}", is_data=True)
            )
    return notes


def _packet(row: dict[str, Any]) -> str:
    return f"{row['flow']} {row['seq']}"


def _heard(rows: pl.DataFrame, reached: pl.DataFrame, host: str, cell: str) -> pl.DataFrame:
    """Broadcasts of the new cell that made a phase at the host: they arrive at its instant."""
    at = reached.filter((pl.col("node") == host) & (pl.col("phase") != "link-up"))["time_ns"].cast(pl.Int64)
    return rows.filter(
        (pl.col("host") == "")
        & (pl.col("destination") == _BROADCAST)
        & (pl.col("source") == cell)
        & pl.col("arrived_ns").is_in(at.implode())
    )


def _message(row: dict[str, Any], host: str) -> Message:
    arrived = row["arrived_ns"] if row["arrived_ns"] >= 0 else None
    lost = arrived is None and row["lost_ns"] is not None
    return Message(
        row["id"],
        row["message"],
        row["source"],
        host if row["destination"] == _BROADCAST else row["destination"],
        row["size_bytes"],
        row["sent_ns"],
        arrived,
        Loss(row["lost_ns"], row["place"], row["reason"]) if lost else None,
    )


def lifelines(
    parameters: dict[str, Any],
    host: str,
    cells: tuple[str, str],
    messages: Sequence[Message],
    others: Iterable[str] = (),
) -> tuple[str, ...]:
    """The nodes that take part, in the order of the path: host, new cell, on to the old cell, then the others.

    If the old cell sends a message to the new one, or sends the first message of the two, as where a network commands
    handovers, it comes before the new one. The others are placed so that arrows are short, and otherwise by their
    distance from the new cell.
    """
    ends = [(message.source, message.destination) for message in messages]
    taking_part = {host, *others, *(node for pair in ends for node in pair)}
    neighbours = _neighbours(parameters)
    old, new = cells
    distances, before = _search(neighbours, new)
    path = [old]
    while path[-1] in before:
        path.append(before[path[-1]])
    chain = [host, *(path[::-1] if path[-1] == new else [new])]
    begins = next((source for source, _ in ends if source in cells), new)
    if begins == old or (old, new) in ends:
        chain = [host, old, new]
    chain = [node for node in dict.fromkeys(chain) if node in taking_part]
    rest = sorted(taking_part - set(chain), key=lambda node: (distances.get(node, len(distances)), node))
    if len(rest) > _MOST_ORDERS:
        return (*chain, *rest)

    def length(order: Sequence[str]) -> int:
        place = {node: at for at, node in enumerate([*chain, *order])}
        return sum(abs(place[source] - place[destination]) for source, destination in ends)

    return (*chain, *min(permutations(rest), key=length))


def _neighbours(parameters: dict[str, Any]) -> dict[str, list[str]]:
    pairs = [tuple(link["between"]) for link in parameters.get("links", [])]
    pairs += [
        (name, cell["router"]) for name, cell in parameters.get("cells", {}).items() if "router" in cell
    ]
    found: dict[str, list[str]] = {}
    for here, there in pairs:
        found.setdefault(here, []).append(there)
        found.setdefault(there, []).append(here)
    return found


def _search(neighbours: dict[str, list[str]], start: str) -> tuple[dict[str, int], dict[str, str]]:
    """Distance of each node from `start` in links, and the node before it on the way."""
    distances, before, queue = {start: 0}, {}, [start]
    for node in queue:
        for other in neighbours.get(node, []):
            if other not in distances:
                distances[other], before[other] = distances[node] + 1, node
                queue.append(other)
    return distances, before
