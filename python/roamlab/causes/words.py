"""The rows of `causes` in plain English. The playground has the same words (`playground/constants.py`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from roamlab.records.results import Results

STEPS = {
    "start": "the run began",
    "motion": "{host} moved",
    "measurement": "{host} measured another cell as better",
    "out-of-range": "{host} did not receive from its cell",
    "on-air": "{host} heard its cell, or missed beacons or acknowledgements of it",
    "prediction": "a handover of {host} was predicted",
    "link-change": "the scenario changed the link {place}",
    "link-outage": "the recorded link {place} sent nothing",
    "delayed-message": "a fault delayed the message {name}",
    "underway": "segment {seq} of {flow} or its acknowledgement was in flight for long",
    "delayed-ack": "the receiver of {flow} delayed an acknowledgement",
    "congestion-mark": "a queue marked congestion for {flow}",
    "idle": "the sender of {flow} had been idle for an RTO",
    "false-alarm": "a new path was reported although the path was the same",
    "message": "{place} sent the message {name} for {host}",
    "heard": "{host} heard a broadcast of its cell",
    "timer": "a timer of {place} expired",
    "data": "a data packet arrived at {place}",
    "phase": "the handover of {host} reached {name}",
    "link-down": "{host} left {cell}",
    "link-up": "{host} entered {cell}",
    "path-change": "the sender of {flow} was notified of a new path",
    "buffering": "{place} began to hold the packets for {host}",
    "release": "{place} released the packets for {host}",
    "loss": "{packet} was lost at {place}",
    "timeout": "the retransmission timer of {flow} expired",
    "fast-retransmit": "acknowledgements reported a loss of {flow}",
    "rack-mark": "RACK found segment {seq} of {flow} lost",
    "tail-loss-probe": "the sender of {flow} probed its tail",
    "tail-loss": "a probe of {flow} had repaired a loss",
    "persistent-congestion": "all that {flow} sent was lost for several probe timeouts",
    "safe-retreat": "{flow} left the window of its earlier connection",
}
"""Event of a row of this kind, or phase of a handover."""
REASONS = {
    "queue-overflow": "the queue was full",
    "forwarded-overflow": "the queue had no room for forwarded packets",
    "early-drop": "the queue dropped it before it was full",
    "detached": "its host was not there",
    "link-down": "the link was down",
    "no-route": "there was no route",
    "no-binding": "there was no binding for its host",
    "ttl-expired": "its time to live was over",
    "buffer-overflow": "the buffer was full",
    "buffer-expired": "it had waited in the buffer for too long",
    "bearer-ended": "its bearer had ended",
    "duplicate": "it was there already",
    "copy-released": "its copy was not needed",
    "frame-loss": "the frame was lost on the air",
    "retry-limit": "its last retry on the air failed",
    "forced-loss": "the scenario drops it",
    "policed-mark": "it had more marks than its class may",
    "tunnel-congestion": "the tunnel's outer header was marked",
    "no-endpoint": "there was no endpoint for it",
    "random-loss": "the link lost it at random",
}
"""Why a packet was lost."""
Row = dict[str, Any]


class Steps:
    """Rows of `causes` of a run as sentences."""

    def __init__(self, results: Results) -> None:
        """Reads which cells hosts enter and leave, and which packets are messages."""
        listed = results.manifest.network.get("hosts", [])
        visits = {host["name"]: [visit["cell"] for visit in host.get("visits", [])] for host in listed}
        self.cells: dict[tuple[str, int, str], str] = {}
        moves = results.handovers.select(pl.col("host", "phase").cast(pl.String), "time_ns", "visit")
        for host, phase, time, visit in moves.iter_rows():
            cells = visits.get(host, [])
            self.cells[host, time, phase] = cells[visit] if visit < len(cells) else "its cell"
        sent = results.signalling.select("serial", pl.col("message").cast(pl.String))
        self.messages = dict(sent.iter_rows())

    def told(self, chain: list[Row], until_ns: int) -> list[str]:
        """The rows of a chain up to a time; neighbours with the same sentence are one."""
        each = [f"because {self.step(row)}" for row in chain if row["time_ns"] <= until_ns]
        return [one for at, one in enumerate(each) if at == 0 or each[at - 1] != one]

    def step(self, row: Row) -> str:
        """One row: what happened, when, and of a loss why."""
        kind, host, time = row["kind"], row["host"], row["time_ns"]
        if kind == "phase" and row["name"] in STEPS:
            kind = row["name"]
        elif kind == "motion":
            left = [phase for phase in ("link-down", "link-up") if (host, time, phase) in self.cells]
            kind = left[0] if left else kind
        message = self.messages.get(row["serial"], "")
        packet = (
            f"the message {message}"
            if message
            else f"a packet of {row['flow']}"
            if row["flow"]
            else "a packet"
        )
        cell = self.cells.get((host, time, kind), "its cell")
        template = STEPS[kind] if host else STEPS[kind].replace(" for {host}", "")
        said = template.format_map({**row, "packet": packet, "cell": cell})
        why = f": {REASONS[row['name']]}" if kind == "loss" else ""
        return f"{said} at {time / 1e9:.3f} s{why}"
