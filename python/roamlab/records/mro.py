"""Failures of mobility by the classes of mobility robustness optimisation (TS 36.300 §22.4.2).

The class depends on the cell in which a host returns after the loss of its link, and on a handover shortly
before. A cell has the name of its base station.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import polars as pl

from roamlab.base.calls import called
from roamlab.records.metrics import check_host
from roamlab.records.results import rows_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roamlab.records.results import Results

TOO_LATE = "too-late"
"""Without a handover shortly before; the host comes back in another cell."""
TOO_EARLY = "too-early"
"""In a handover or shortly after it; the host comes back in the source's cell."""
WRONG_CELL = "wrong-cell"
"""In a handover or shortly after it; the host comes back in a third cell."""
SAME_CELL = "same-cell"
"""No class of the standard: the host comes back where it was, or where the handover took it."""
LOST = "lost"
"""The host has not come back by the end of the run."""

SHORTLY_S = 1.0
"""ASSUMPTION: a handover is "shortly before" a failure for 1 s after its confirmation; the standard leaves the time to
the operator (Tstore_UE_cntxt)."""

_NS = 1e9


@dataclass(frozen=True)
class Handover:
    """A handover that the host has begun."""

    source: str
    target: str
    """Empty: it is not known yet. A host with several candidates shows its target when it comes there."""

    confirmed_s: float | None = None
    """When the host had access to the target; None: it has none yet."""

    def was_shortly_before(self, at_s: float, shortly_s: float) -> bool:
        """True if a failure at this time is one of the handover."""
        return self.confirmed_s is None or at_s - self.confirmed_s <= shortly_s


@dataclass(frozen=True)
class Failure:
    """A link that a host lost."""

    at_s: float
    kind: str
    cell: str
    """Where it was lost; in a handover the source's cell until the host is in the target's."""
    resumed: str | None
    """Where the host came back."""


@called()
def failures(results: Results, host: str, shortly_s: float = SHORTLY_S) -> list[Failure]:
    """Every link that `host` lost, in order of time, with its class.

    `shortly_s` is how long after a handover a failure is put down to it.
    """
    check_host(results, host)
    visits = _cells(results, host)
    phases = rows_of(results.handovers, "host", host).with_columns(pl.col("phase", "node").cast(pl.String))
    found: list[Failure] = []
    cell, commanded, handover = "", None, None
    for row in phases.iter_rows(named=True):
        at_s = row["time_ns"] / _NS
        is_away = bool(found) and found[-1].resumed is None
        match row["phase"]:
            case "link-up":
                cell = visits[row["visit"]]
                if handover and not handover.target and not is_away:
                    handover = replace(handover, target=cell)
                if is_away:
                    found[-1] = _resumed(found[-1], cell, handover)
                    commanded, handover = None, None
            case "handover-commanded":
                commanded = Handover(row["node"], _target(results, host, row["node"], row["time_ns"]))
            case "handover-executed":
                commanded = Handover(cell, "")
            case "link-down" if not is_away:
                commanded, handover = None, commanded or handover
            case "access-granted" | "handover-confirmed" if handover and handover.confirmed_s is None:
                handover = replace(handover, confirmed_s=at_s)
            case "link-failed" if not is_away:
                if handover and not handover.was_shortly_before(at_s, shortly_s):
                    handover = None
                found.append(Failure(at_s, LOST, cell, None))
    return found


def _resumed(failure: Failure, cell: str, handover: Handover | None) -> Failure:
    if handover is None:
        kind = SAME_CELL if cell == failure.cell else TOO_LATE
    else:
        kind = {handover.source: TOO_EARLY, handover.target: SAME_CELL}.get(cell, WRONG_CELL)
    return replace(failure, kind=kind, resumed=cell)


def _cells(results: Results, host: str) -> Sequence[str]:
    """The cells of the host's visits, in their order."""
    (spec,) = (spec for spec in results.manifest.network["hosts"] if spec["name"] == host)
    return [visit["cell"] for visit in spec["visits"]]


def _target(results: Results, host: str, source: str, before_ns: int) -> str:
    """The base station that `source` asked last to take the host."""
    asked = rows_of(rows_of(results.signalling, "host", host), "message", "handover-request").filter(
        (pl.col("source").cast(pl.String) == source) & (pl.col("sent_ns") <= before_ns)
    )
    return str(asked["destination"].cast(pl.String)[-1])
