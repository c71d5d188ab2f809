"""The measures of a run of the study of schemes: the quality of the application and the cost of the scheme."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from roamlab.papers.records import reads, total
from roamlab.records import experience, metrics
from roamlab.studies.means import Quantity
from roamlab.studies.scenarios import CROSSING, LEAD_S, MOVE_S, NEW, OLD

if TYPE_CHECKING:
    from roamlab.records.results import Results

AFTER_S = 3.0
"""Goodput is taken over so long after the move."""
SIGNALLED_S = 1.5
"""Signalling counts from the trigger's lead to so long after the move."""
VOICE_OFFSET_S = 0.1
"""The play-out buffer of the call; a full queue of the new cell takes as long."""
VIDEO_OFFSET_S = 0.2


FELT: dict[str, tuple[Quantity, ...]] = {
    "download": (
        Quantity("goodput", f"goodput in the {AFTER_S:g} s after the move", "Mbit/s"),
        Quantity("silence", "longest silence at the move", "ms"),
        Quantity("retransmitted", "segments sent again", "pkt"),
        Quantity("timeouts", "timeouts", "1"),
    ),
    "call": (
        Quantity("r", "R factor of the way down", "1", -math.inf),
        Quantity("mos", "MOS of the way down", "1", 1.0, 4.5),
        Quantity("lost", "packets lost, both ways", "pkt"),
        Quantity("late", "packets late for play-out, way down", "pkt"),
    ),
    "video": (
        Quantity("frames", "frames lost", "frames"),
        Quantity("freeze", "picture is frozen", "ms"),
    ),
}
"""Noticeable quantities of each application."""

COST: tuple[Quantity, ...] = (
    Quantity("messages", "signalling messages", "1"),
    Quantity("signalling", "signalling", "B"),
    Quantity("forwarded", "forwarded by the old access router", "kB"),
    Quantity("copies", "copies made at the cross-over", "pkt"),
    Quantity("held", "highest number of packets in a buffer", "pkt"),
)
"""Cost of a scheme, for any application."""

_FLOWS = "flow source destination sent_pkts retransmitted_pkts delivered_pkts delivered_bytes timeouts"
_DELIVERIES = "flow time_ns sent_ns fresh"
_COSTS = {
    "handovers": "host phase time_ns",
    "signalling": "host size_bytes sent_ns",
    "packets": "event flow kind place wire_bytes",
    "releases": "host node time_ns",
    "drops": "flow place reason time_ns",
}


@reads(flows=f"{_FLOWS} completed_ns", deliveries=_DELIVERIES, **_COSTS)
def download(results: Results) -> dict[str, float]:
    """Effect on a download, and its cost."""
    return {
        "goodput": metrics.goodput_bps(results, "download", MOVE_S, MOVE_S + AFTER_S) / 1e6,
        "silence": 1e3 * max(metrics.flow_disruptions_s(results, "download")),
        "retransmitted": total(results, "download", "retransmitted_pkts"),
        "timeouts": total(results, "download", "timeouts"),
        **costs(results, "download"),
    }


@reads(flows=_FLOWS, deliveries=_DELIVERIES, **_COSTS)
def call(results: Results) -> dict[str, float]:
    """Effect on a call, and its cost."""
    heard = experience.voice(results, "call", VOICE_OFFSET_S, adapts=False)
    lost = sum(
        total(results, flow, "sent_pkts") - total(results, flow, "delivered_pkts")
        for flow in ("call", "call-back")
    )
    late = experience.late_pkts(results, "call", VOICE_OFFSET_S)
    return {"r": heard.r, "mos": heard.mos, "lost": lost, "late": late, **costs(results, "call")}


@reads(flows=_FLOWS, units="flow time_ns completed_ns group kind", **_COSTS)
def video(results: Results) -> dict[str, float]:
    """Effect on a video, and its cost."""
    return {
        "frames": float(np.isnan(experience.frame_delays_s(results, "video")).sum()),
        "freeze": 1e3 * float(experience.freezes_of_s(results, "video", VIDEO_OFFSET_S).sum()),
        **costs(results, "video"),
    }


TAKES = {"download": download, "call": call, "video": video}


def costs(results: Results, flow: str) -> dict[str, float]:
    """Cost of the scheme for the host that moves, while `flow` sends to it."""
    sent = results.columns("signalling")
    at = metrics.seconds(sent, "sent_ns")
    meant = sent.where("host", "mh") & (at >= MOVE_S - LEAD_S - 0.01) & (at < MOVE_S + SIGNALLED_S)
    rows = results.columns("packets")
    data = rows.where("event", "enqueue") & rows.where("flow", flow) & rows.where("kind", "data", "datagram")
    back = data & rows.where("place", f"{OLD}->{CROSSING}")
    below = data & rows.where("place", f"{CROSSING}->{OLD}", f"{CROSSING}->{NEW}")
    above = data & rows.where("place", f"gw->{CROSSING}")
    return {
        "messages": int(meant.sum()),
        "signalling": int(sent["size_bytes"][meant].sum()),
        "forwarded": int(rows["wire_bytes"][back].sum()) / 1e3,
        "copies": int(below.sum()) - int(above.sum()) - int(back.sum()),
        "held": held_pkts(results),
    }


def held_pkts(results: Results) -> int:
    """The most packets that left one node's buffer for the host at one instant: buffers are emptied in one burst."""
    rows = results.columns("releases")
    chosen = rows.where("host", "mh")
    if not chosen.any():
        return 0
    pairs = np.stack([rows["node"][chosen].astype(np.int64), rows["time_ns"][chosen]])
    return int(np.unique(pairs, axis=1, return_counts=True)[1].max())
