"""Measure by which a queue dropped or marked packets of a flow early, from the table `queue`, in words."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from roamlab.base.quantities import counted
from roamlab.causes.places import queue_of

if TYPE_CHECKING:
    from roamlab.causes.stalls import Stall
    from roamlab.records.results import Results

_RED = [
    "average {average} packets",
    "thresholds {min_threshold} and {max_threshold}",
    "probability {probability}",
]
_DELAY = ["the last packet had waited {sojourn_ns}", "target {target}"]
DISCIPLINES: dict[str, tuple[str, list[str]]] = {
    "codel": ("CoDel", _DELAY),
    "fq-codel": ("FQ-CoDel", _DELAY),
    "cake": ("CAKE", _DELAY),
    "fq": ("fq", [_DELAY[0], "marks above {mark_above}"]),
    "pie": ("PIE", ["probability {probability}", *_DELAY]),
    "dualpi2": (
        "DualPI2",
        ["probability {probability}", "of the low-latency queue {coupled}", *_DELAY],
    ),
    "red": ("RED", _RED),
    "linux-red": ("RED", _RED[:2]),
    "mred": ("M-RED", _RED),
    "blue": ("BLUE", ["probability {probability}"]),
    "mblue": ("MBLUE", ["probability {probability}"]),
    "rlc": (
        "RLC",
        [_DELAY[0], "discard timer {discard_timer}", "5QI {five_qi}", "marks above {mark_above}"],
    ),
}
"""A discipline's name, and the parts of its sentence: gauges and parameters. A part is left out if it has no value."""
WAITING = "{packets} pkt waited with a limit of {limit}"
"""The last part of each sentence."""
_GAUGES = ("packets", "average", "probability", "coupled", "sojourn_ns")
_AUTOMATIC = "0 pkt"
"""A threshold that RED derives from the link."""


def sentences(results: Results, stall: Stall, early_ns: int) -> list[str]:
    """A sentence for each queue that dropped packets of the flow early, or that marked some in a slow period."""
    found = _sentences(results, "dropped", _early_drops(results, stall, early_ns))
    return found + (_sentences(results, "marked", _marks(results, stall, early_ns)) if stall.is_slow else [])


def _early_drops(results: Results, stall: Stall, early_ns: int) -> pl.DataFrame:
    """Times and places of the early drops from a time to the end of the stall."""
    return results.drops.filter(
        (pl.col("flow").cast(pl.String) == stall.flow)
        & (pl.col("reason").cast(pl.String) == "early-drop")
        & pl.col("time_ns").is_between(early_ns, stall.end_ns)
    ).select("time_ns", pl.col("place").cast(pl.String))


def _marks(results: Results, stall: Stall, early_ns: int) -> pl.DataFrame:
    """The same of marks; a packet has its mark from the first recorded queue that it leaves with it."""
    marks = results.table("packets").filter(
        (pl.col("event").cast(pl.String) == "mark") & (pl.col("flow").cast(pl.String) == stall.flow)
    )
    first = marks.unique("serial", keep="first", maintain_order=True)
    return first.filter(pl.col("time_ns").is_between(early_ns, stall.end_ns)).select(
        "time_ns", pl.col("place").cast(pl.String)
    )


def _sentences(results: Results, verb: str, rows: pl.DataFrame) -> list[str]:
    each = rows.group_by("place").agg(pl.len(), first=pl.col("time_ns").min()).sort("place")
    found = []
    for place, count, first in each.iter_rows():
        spec = queue_of(results.manifest.network, place)
        kind = spec.get("kind", "the queue")
        title, parts = DISCIPLINES.get(kind, (kind, []))
        gauges = _gauges(results, place, first)
        why = f'write "{place}" into `record.queues` to see why'
        if gauges is not None:
            why = ", ".join(_filled([*parts, WAITING], spec | gauges))
        found.append(
            f"{title} at {place} {verb} {counted(count, 'packet')} of it early, at {first / 1e9:.3f} s first: {why}"
        )
    return found


def _filled(parts: list[str], values: dict[str, str]) -> list[str]:
    """The parts with their values, without those that lack one."""
    found = []
    for part in parts:
        names = re.findall(r"\{(\w+)\}", part)
        if all(values.get(name, _AUTOMATIC) != _AUTOMATIC for name in names if name != "packets"):
            found.append(part.format_map(values))
    return found


def _gauges(results: Results, queue: str, time_ns: int) -> dict[str, str] | None:
    """The gauges of a queue at a time, with units; None: it is not recorded."""
    rows = results.columns("queue")
    if not rows.height:
        return None
    places = np.flatnonzero(rows.where("queue", queue) & (rows["time_ns"] <= time_ns))
    if not places.size:
        return None
    packets, average, probability, coupled, sojourn = (float(rows[name][places[-1]]) for name in _GAUGES)
    return {
        "packets": f"{packets:.0f}",
        "average": _hundredths(average),
        "probability": f"{_hundredths(100 * probability)} %",
        "coupled": f"{_hundredths(100 * coupled)} %",
        "sojourn_ns": f"{_hundredths(sojourn / 1e6)} ms",
    }


def _hundredths(value: float) -> str:
    """Two decimals, rounded as the browser can too."""
    number = math.floor(100 * value + 0.5)
    return f"{number // 100}.{number % 100:02d}"
