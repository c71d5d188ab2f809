"""Measures of each run. Everything comes from the run's tables."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from roamlab.papers.bcmp.experiments import DOWNLOAD, STREAMS
from roamlab.papers.records import reads, total
from roamlab.papers.stored import storable
from roamlab.records.experience import (
    frame_loss_ratio,
    freezes_of_s,
    ipdv_of_s,
    losses_per_handover,
    voice,
)
from roamlab.records.metrics import handover_times, seconds

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from roamlab.records.results import Results

STEPS_MS = (0.0, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 4.5, 5.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0)
"""Of the distributions of delay variance and of jitter."""
VOICE_OFFSET_S = 0.06
VIDEO_OFFSET_S = 0.2


@storable
@dataclass(frozen=True)
class Download:
    """A run of figs. 6 and 7."""

    throughput_bps: float
    """Data delivered for the first time, from the flow's start to the end of the run."""
    timeouts: int
    fast_retransmits: int


@storable
@dataclass(frozen=True)
class Streams:
    """A run of figs. 4 and 5."""

    lost: list[int]
    """Packets of call, film and conference that each handover loses."""
    left: list[int]
    """The access router that each handover leaves; 0 where none was asked to release the host."""
    forwarding_s: float
    """Mean over the stays of the host of the smallest delay of the call's packets."""
    variance: list[float]
    """Share of the call's packets whose delay is above the smallest of their stay by more than each of `STEPS_MS`."""
    jitter: list[float]
    """Share of the call's packets that come later than the one before, for their sending times, by more than each."""
    largest_variance_s: float
    """Of the call's packets, the largest delay above the smallest of the stay."""
    mos: float
    """Mean opinion score of the call to the host, play-out `VOICE_OFFSET_S` after the smallest delay."""
    incomplete: float
    """Share of the film's frames that lack a packet."""
    frozen: float
    """Share of the film's time in which the picture is frozen, play-out `VIDEO_OFFSET_S` after a frame's
    begin."""


@reads(flows="flow goodput_bps timeouts fast_retransmits")
def of_download(results: Results) -> Download:
    """Measures the download."""
    flows = results.columns("flows")
    return Download(
        throughput_bps=float(flows["goodput_bps"][flows.where("flow", DOWNLOAD)][0]),
        timeouts=total(results, DOWNLOAD, "timeouts"),
        fast_retransmits=total(results, DOWNLOAD, "fast_retransmits"),
    )


@reads(
    flows="flow kind source destination sent_pkts",
    handovers="time_ns host phase visit node",
    drops="time_ns flow reason seq sent_ns",
    deliveries="time_ns flow seq fresh sent_ns",
    units="flow time_ns group kind completed_ns",
)
def of_streams(results: Results) -> Streams:
    """Measures the host that moves: losses of all it gets, delay and jitter of its call."""
    rows = results.columns("deliveries")
    chosen = rows.where("flow", "call") & rows["fresh"]
    came, sent = seconds(rows, chosen=chosen), seconds(rows, "sent_ns", chosen)
    waited, bases = above_their_stay(came, came - sent, np.asarray(handover_times(results, "walker-0")))
    lost = sum(losses_per_handover(results, flow) for flow in STREAMS)
    film = results.columns("units")
    begins = seconds(film, chosen=film.where("flow", "film"))
    return Streams(
        lost=np.asarray(lost).tolist(),
        left=_left(results, "walker-0"),
        forwarding_s=float(bases.mean()),
        variance=_above(waited),
        jitter=_above(ipdv_of_s(results, "call")),
        largest_variance_s=float(waited.max()),
        mos=voice(results, "call", VOICE_OFFSET_S).mos,
        incomplete=frame_loss_ratio(results, "film"),
        frozen=float(freezes_of_s(results, "film", VIDEO_OFFSET_S).sum() / np.ptp(begins)),
    )


@reads(handovers="phase")
def of_procedures(results: Results) -> dict[str, int]:
    """How often each step of the protocol was done."""
    rows = results.columns("handovers")
    return dict(Counter(rows.words("phase", np.ones(len(rows["phase"]), dtype=bool))))


def above_their_stay(
    came_s: NDArray[np.float64], delays_s: NDArray[np.float64], handovers_s: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each delay less the smallest of the packets that came in the same stay, and these smallest delays."""
    stay = np.searchsorted(handovers_s, came_s, side="right")
    smallest = np.full(handovers_s.size + 1, np.inf)
    np.minimum.at(smallest, stay, delays_s)
    return delays_s - smallest[stay], smallest[np.isfinite(smallest)]


def _left(results: Results, host: str) -> list[int]:
    """The access router that each handover leaves: with air of each host a cell is named after router and host."""
    rows = results.columns("handovers")
    own = rows.where("host", host)
    ended = rows["visit"][own & rows.where("phase", "link-down")].tolist()
    left = [0] * len(ended)
    released = own & rows.where("phase", "old-router-released")
    for visit, cell in zip(rows["visit"][released].tolist(), rows.words("node", released), strict=True):
        # A host may be late for a visit and leave it out.
        left[bisect_left(ended, visit) - 1] = int(cell.partition("-")[0])
    return left


def _above(values_s: NDArray[np.float64]) -> list[float]:
    # Times are whole nanoseconds: half of one is no difference.
    return [float(np.mean(values_s > step / 1e3 + 0.5e-9)) for step in STEPS_MS]
