"""The measures of a run of the study of procedures."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from roamlab.papers.records import reads
from roamlab.records import experience, metrics
from roamlab.studies.means import Quantity, longest_silence_s
from roamlab.studies.procedures.cases import APPLICATIONS, DOWNLOADS, MOVE_S

if TYPE_CHECKING:
    from collections.abc import Callable

    from roamlab.records.results import Results
    from roamlab.studies.procedures.cases import Case

AFTER_S = 10.0
"""All is taken over so long after the move."""
BEFORE_S = 1.0
"""A silence may begin so long before the move: a conditional handover is prepared ahead of it."""
PLAYOUT_S = 0.1
"""The play-out buffer of the call."""

_STALL = Quantity("stall", "longest silence at the move", "ms")
_FORWARDED = Quantity("forwarded", "forwarded over the backhaul of the old cell", "kB")
_SIGNALLING = Quantity("signalling", "signalling about the host around the move", "kB")
_DOWNLOAD = (
    _STALL,
    Quantity("goodput", f"goodput in the {AFTER_S:g} s after the move", "Mbit/s"),
    Quantity("timeouts", "timeouts", "1"),
    Quantity("lost", "packets lost after the move", "pkt"),
    _FORWARDED,
    _SIGNALLING,
)
QUANTITIES: dict[str, tuple[Quantity, ...]] = {
    **dict.fromkeys(DOWNLOADS, _DOWNLOAD),
    "call": (
        _STALL,
        Quantity("mos", "MOS of the way down", "1", 1.0, 4.5),
        Quantity("late", "packets late for play-out, way down", "pkt"),
        _FORWARDED,
        _SIGNALLING,
    ),
    "pages": (
        _STALL,
        Quantity("load", "time to load the page that is loading at the move", "ms"),
        _FORWARDED,
        _SIGNALLING,
    ),
}
"""Measures of each run, by what the host does."""

Found: TypeAlias = "dict[Case, dict[str, list[float]]]"
"""Values of the runs by case and name of the quantity; run n has the same number in all cases."""

_TABLES = {
    "flows": "flow kind source destination sent_pkts delivered_pkts delivered_bytes retransmitted_pkts timeouts "
    "completed_ns",
    "deliveries": "flow time_ns sent_ns seq fresh",
    "drops": "flow reason seq data sent_ns time_ns",
    "signalling": "host size_bytes sent_ns",
    "packets": "event flow kind place wire_bytes time_ns",
}


def _costs(results: Results, application: str) -> dict[str, float]:
    sent, rows = results.columns("signalling"), results.columns("packets")
    at = metrics.seconds(sent, "sent_ns")
    meant = sent.where("host", "mover") & (at >= MOVE_S - BEFORE_S) & (at < MOVE_S + AFTER_S)
    data = (
        rows.where("event", "enqueue")
        & rows.where("flow", application)
        & rows.where("kind", "data", "datagram")
    )
    back = data & rows.where("place", "gnb1->r")
    return {
        "stall": 1e3 * longest_silence_s(results, application, MOVE_S - BEFORE_S, MOVE_S + AFTER_S),
        "forwarded": int(rows["wire_bytes"][back].sum()) / 1e3,
        "signalling": int(sent["size_bytes"][meant].sum()) / 1e3,
    }


@reads(**_TABLES)
def download(results: Results, application: str) -> dict[str, float]:
    """Effect of the move on a download, by the names of `QUANTITIES`."""
    until = MOVE_S + AFTER_S
    return {
        "goodput": metrics.goodput_bps(results, application, MOVE_S, until) / 1e6,
        "timeouts": metrics.total(results, application, "timeouts"),
        "lost": float(metrics.count(metrics.losses(results, application), MOVE_S - BEFORE_S, until)),
        **_costs(results, application),
    }


@reads(**_TABLES)
def call(results: Results) -> dict[str, float]:
    """Effect of the move on a call."""
    heard = experience.voice(results, "call", PLAYOUT_S, adapts=False)
    late = experience.late_pkts(results, "call", PLAYOUT_S)
    return {"mos": heard.mos, "late": float(late), **_costs(results, "call")}


@reads(units="flow time_ns completed_ns group kind", **_TABLES)
def pages(results: Results) -> dict[str, float]:
    """Effect of the move on the page that is loading then, or that is the next."""
    return {"load": 1e3 * _load_at_move_s(results), **_costs(results, "pages")}


def _load_at_move_s(results: Results) -> float:
    """Of the first page that is whole only after the move: from its first request on, at most to the end of the run."""
    units = results.columns("units")
    chosen = units.where("flow", "pages") & units.where("kind", "object")
    asked, came = (metrics.seconds(units, column, chosen) for column in ("time_ns", "completed_ns"))
    _, place = np.unique(units["group"][chosen], return_inverse=True)
    first, last = np.full(place.max(initial=-1) + 1, math.inf), np.zeros(place.max(initial=-1) + 1)
    np.minimum.at(first, place, asked)
    np.maximum.at(last, place, np.where(came < asked, math.inf, came))
    later = last > MOVE_S
    if not later.any():
        return math.nan
    begin = first[later].min()
    end = last[later & (first == begin)].min()
    return float(min(end, metrics.duration_s(results)) - begin)


TAKES: dict[str, Callable[[Results], dict[str, float]]] = {
    **{name: partial(download, application=name) for name in DOWNLOADS},
    "call": call,
    "pages": pages,
}
assert TAKES.keys() == APPLICATIONS.keys() == QUANTITIES.keys()
