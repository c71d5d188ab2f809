"""Part of a stall due to the timer: the path was back, and the sender still waited for its retransmission timer."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from roamlab.causes.suspects import hosts, losses, timeouts
from roamlab.records.metrics import span_s

if TYPE_CHECKING:
    from roamlab.causes.stalls import Stall
    from roamlab.records.results import Results

SENT = ("data", "syn", "datagram")
"""Kinds of packets that a sender sends without an acknowledgement."""


class Wait(NamedTuple):
    """A sender that waited although its path was there."""

    back_ns: int
    """When the path was back."""
    where: str
    """The part that was back: the link, or the host that had a cell again."""
    is_link: bool
    expired_ns: int
    """Last expiry of the timer in the stall."""

    @property
    def length_ns(self) -> int:
        """How long it waited."""
        return self.expired_ns - self.back_ns

    @property
    def sentence(self) -> str:
        """For the output of `why`."""
        what = f"the link {self.where} was up again" if self.is_link else f"{self.where} was in a cell again"
        return (
            f"{what} at {self.back_ns / 1e9:.3f} s, and the retransmission timer expired "
            f"{self.length_ns / 1e9:.3f} s later: this part of the stall is the timer's"
        )


def wait(results: Results, stall: Stall) -> Wait | None:
    """The wait for the timer after the path was back; None: nothing was away, or the sender sent in between."""
    if stall.is_slow:
        return None
    expired = timeouts(results, stall).filter(pl.col("time_ns") > stall.start_ns)
    last = expired["time_ns"].max() if expired.height else None
    if not isinstance(last, int):
        return None
    back = max([*_links(results, stall, last), *_cells(results, stall, last)], default=None)
    if back is None:
        return None
    packets = results.columns("packets")
    own = packets.where("flow", stall.flow) & packets.where("event", "send") & packets.where("kind", *SENT)
    times = packets["time_ns"][own]
    if ((times >= back[0]) & (times < last)).any():
        return None
    return Wait(*back, last)


def _links(results: Results, stall: Stall, last: int) -> list[tuple[int, str, bool]]:
    """When each link that had lost packets because it was down was up again, before `last`."""
    down = losses(results, stall).filter(pl.col("reason").cast(pl.String) == "link-down")
    lost = down.group_by(pl.col("place").cast(pl.String)).agg(pl.col("time_ns").max())
    found = []
    for place, time in lost.iter_rows():
        for link in results.manifest.network.get("links", []):
            if place in ("->".join(link["between"]), "->".join(reversed(link["between"]))):
                changes = [each for each in link.get("changes", []) if each.get("up")]
                up = [round(span_s(each["at"]) * 1e9) for each in changes]
                found += (
                    [(min(at for at in up if at > time), place, True)] if any(at > time for at in up) else []
                )
    return [each for each in found if each[0] < last]


def _cells(results: Results, stall: Stall, last: int) -> list[tuple[int, str, bool]]:
    """When the hosts at the flow's ends entered cells in the stall, before `last`."""
    phases = results.handovers.select(pl.col("host", "phase").cast(pl.String), "time_ns")
    ends = hosts(results, stall.flow)
    entered = phases.filter(
        (pl.col("phase") == "link-up")
        & pl.col("host").is_in(list(ends))
        & (pl.col("time_ns") > stall.start_ns)
        & (pl.col("time_ns") < last)
    )
    return [(time, host, False) for host, _, time in entered.iter_rows()]
