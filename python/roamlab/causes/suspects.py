"""The suspects of a stall in the record, each with the rows of `causes` that name it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from roamlab.records.metrics import MOVES, NO_LOSS
from roamlab.records.slow import FLOOR_NS

if TYPE_CHECKING:
    from roamlab.causes.stalls import Stall
    from roamlab.records.results import Results

SETTLE_NS = 1_000_000_000
"""How long before a stall a message or a timeout may be and still have led to it."""
RANKS = {
    "link change": 0,
    "link outage": 0,
    "message lost": 1,
    "message late": 1,
    "packet lost": 1,
    "random loss": 1,
    "wrong prediction": 2,
    "buffer too small": 3,
    "timer too short": 3,
    "queue full": 3,
    "early drop": 3,
    "spurious timeout": 4,
    "long timeout": 5,
    "handover": 6,
}
"""Order of suspicion: events that the scenario forces, then the place that lost most packets, then timers,
then the move."""
LATE = len(RANKS)
"""The rank of a queue that lost packets only when the stall had lasted for a while: it filled because of the stall."""
GIVEN = (
    "link change",
    "link outage",
    "message lost",
    "message late",
    "packet lost",
    "random loss",
    "handover",
)
"""Kinds that no setting of the network changes: a rerun without them shows a cause, and is no remedy."""
LOSSES = {
    "queue-overflow": "queue full",
    "forwarded-overflow": "queue full",
    "early-drop": "early drop",
    "random-loss": "random loss",
    "buffer-overflow": "buffer too small",
    "buffer-expired": "timer too short",
}
"""The kinds of losses, by their reasons."""
MESSAGES = ("message lost", "message late")
"""Kinds of which the message is named."""
QUEUES = ("queue full", "early drop")
"""Kinds of losses by a queue: it was full, or its discipline dropped before it was."""
Row = dict[str, Any]


@dataclass
class Suspect:
    """Something that may have led to a stall."""

    kind: str
    """One of `RANKS`."""
    name: str
    """The message, phase or reason."""
    place: str
    host: str
    flow: str
    time_ns: int
    """When it was first met."""
    serial: int = 0
    chain: list[Row] = field(default_factory=list)
    """Rows of `causes` with `id`, from what it led to down to the root."""
    count: int = 0
    """How many rows of the record lead to it."""

    @property
    def words(self) -> str:
        """Kind, message, place and host, each if it adds information."""
        is_message = self.kind in MESSAGES
        subject = f"{self.kind}: {self.name}" if is_message and self.name else self.kind
        whose = f" of {self.host}" if self.host and self.kind not in LOSSES.values() else ""
        return f"{subject}{whose}" + (f" at {self.place}" if self.place and self.place != self.host else "")


def suspects(results: Results, stall: Stall) -> list[Suspect]:
    """The suspects of a stall, the likeliest first."""
    return _Search(results, stall).run()


def begin_of_losses(stall: Stall) -> int:
    """From when on losses may have led to a stall: a round trip before it."""
    return stall.start_ns - max(stall.round_trip_ns, FLOOR_NS)


def losses(results: Results, stall: Stall) -> pl.DataFrame:
    """The packets of the flow that were lost in a stall or within a round trip before it."""
    return results.drops.filter(
        (pl.col("flow").cast(pl.String) == stall.flow)
        & pl.col("time_ns").is_between(begin_of_losses(stall), stall.end_ns)
        & ~pl.col("reason").cast(pl.String).is_in(NO_LOSS)
    )


def timeouts(results: Results, stall: Stall) -> pl.DataFrame:
    """The flow's retransmission timeouts in a stall, or shortly before it."""
    return results.tcp.filter(
        (pl.col("flow").cast(pl.String) == stall.flow)
        & (pl.col("event").cast(pl.String) == "timeout")
        & pl.col("time_ns").is_between(stall.start_ns - SETTLE_NS, stall.end_ns)
    )


def hosts(results: Results, flow: str) -> set[str]:
    """The nodes at the ends of a flow."""
    row = results.flows.filter(pl.col("flow").cast(pl.String) == flow)
    return {str(row[end].item()) for end in ("source", "destination")}


class _Search:
    def __init__(self, results: Results, stall: Stall) -> None:
        self.results, self.stall = results, stall
        self.causes: list[Row] = results.causes.with_row_index("id").to_dicts()
        self.hosts = hosts(results, stall.flow)
        sent = results.signalling.select("serial", pl.col("message", "host").cast(pl.String))
        self.messages = {serial: (message, host) for serial, message, host in sent.iter_rows()}
        came = results.deliveries
        self.arrivals = dict(zip(came["serial"].to_list(), came["time_ns"].to_list(), strict=True))
        self.found: dict[tuple[str, ...], Suspect] = {}

    def run(self) -> list[Suspect]:
        stall = self.stall
        early, near = stall.start_ns - SETTLE_NS, stall.start_ns - max(stall.round_trip_ns, FLOOR_NS)
        for cause in losses(self.results, stall)["cause"].to_list():
            self.walk(cause)
        for filled in [each for each in self.found.values() if self.is_late(each)]:
            self.walk_absent(filled, near)
        for row in timeouts(self.results, stall).iter_rows(named=True):
            self.walk(row["cause"])
            late = row["timeout"] == "spurious"
            chain = self.chain(row["cause"])
            self.note("spurious timeout" if late else "long timeout", {**row, "name": "", "place": ""}, chain)
        for row in self.causes:
            host = self.messages.get(row["serial"], ("", row["host"]))[1]
            if early <= row["time_ns"] <= stall.end_ns and host in self.hosts:
                self.forced(row)
                if row["name"] == "link-down" and row["time_ns"] >= near:
                    self.note("handover", row, self.chain(row["id"]))
            elif row["kind"] == "link-outage" and self.meets(row, near):
                self.note("link outage", row, [row])
        return sorted(self.found.values(), key=lambda found: (self.rank(found), -found.count, found.time_ns))

    def rank(self, found: Suspect) -> int:
        return LATE if self.is_late(found) else RANKS[found.kind]

    def is_late(self, found: Suspect) -> bool:
        """A queue that lost nothing of the flow when the stall began."""
        begun = self.stall.start_ns + max(self.stall.round_trip_ns, FLOOR_NS)
        return found.kind in QUEUES and found.time_ns > begun

    def walk_absent(self, filled: Suspect, near: int) -> None:
        """Suspects what took hosts away whose packets were lost at the head of a queue before it was full."""
        for row in self.causes:
            lost = row["name"] == "detached" and row["place"] == filled.place
            if lost and near <= row["time_ns"] <= filled.time_ns:
                self.walk(row["cause"])

    def chain(self, cause: int) -> list[Row]:
        rows: list[Row] = []
        while cause >= 0:
            rows.append(self.causes[cause])
            cause = rows[-1]["cause"]
        return rows

    def walk(self, cause: int) -> None:
        """Suspects everything on the chain of a row."""
        chain = self.chain(cause)
        for depth, row in enumerate(chain):
            rest = chain[depth:]
            if row["kind"] == "loss" and row["name"] in LOSSES:
                self.note(LOSSES[row["name"]], row, rest)
            elif row["kind"] == "loss" and row["name"] == "forced-loss" and row["flow"] == self.stall.flow:
                self.note("packet lost", row, rest)
            elif row["kind"] in ("link-change", "link-outage"):
                self.note(row["kind"].replace("-", " "), row, chain)
            elif row["kind"] in MOVES and (row["kind"] != "prediction" or self.came_true(row)):
                self.note("handover", row, chain)
            else:
                self.forced(row, chain[: depth + 1])

    def forced(self, row: Row, chain: list[Row] | None = None) -> None:
        """Suspects a message that a fault struck, and a prediction."""
        if row["kind"] == "loss" and row["serial"] in self.messages:
            kind = LOSSES.get(row["name"], "message lost" if row["name"] == "forced-loss" else "")
        else:
            late, wrong = (row["kind"] == kind for kind in ("delayed-message", "prediction"))
            kind = "message late" if late else "wrong prediction" if wrong and not self.came_true(row) else ""
        if kind:
            self.note(kind, row, chain or [row])

    def meets(self, outage: Row, near: int) -> bool:
        """An outage of a recorded link on the flow's way is not over before the stall."""
        if outage["time_ns"] > self.stall.end_ns:
            return False
        if outage["flow"] != self.stall.flow and not self.is_near(outage["place"]):
            return False
        return bool(outage["time_ns"] >= near or self.arrivals.get(outage["serial"], 0) > self.stall.start_ns)

    def is_near(self, place: str) -> bool:
        """The place is the air of a cell that a host at the flow's ends visits, or that host's uplink."""
        listed = self.results.manifest.network.get("hosts", [])
        cells = {visit["cell"] for host in listed if host["name"] in self.hosts for visit in host["visits"]}
        return place.partition("/")[0] in cells or place.partition("->")[0] in self.hosts

    def came_true(self, prediction: Row) -> bool:
        """The host left its cell soon after it was predicted to."""
        at = prediction["time_ns"]
        return any(
            row["name"] == "link-down"
            and row["host"] == prediction["host"]
            and at <= row["time_ns"] < at + SETTLE_NS
            for row in self.causes
        )

    def note(self, kind: str, row: Row, chain: list[Row]) -> None:
        single = kind in MESSAGES
        host = str(row.get("host", ""))
        key = (kind, str(row["place"]), host, str(row.get("serial", 0)) if single else "")
        found = self.found.get(key)
        if found is None:
            found = self.found[key] = Suspect(
                kind,
                str(row["name"]),
                str(row["place"]),
                host,
                str(row["flow"]),
                row["time_ns"],
                row.get("serial", 0),
                chain,
            )
        found.count += 1
        if single and found.serial in self.messages:
            found.name, found.host = self.messages[found.serial]
