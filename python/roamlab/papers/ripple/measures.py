"""Measures of each run. Everything comes from the run's tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from roamlab.papers.records import NS, reads, total
from roamlab.papers.stored import storable
from roamlab.records.metrics import seconds

if TYPE_CHECKING:
    from roamlab.records.results import Results

FLOW = "download"
SEGMENT_BITS = 8000
SPAN_S = 100.0
"""The paper's runs last so long."""


@storable
@dataclass(frozen=True)
class Run:
    """A run."""

    throughput_bps: float
    """Payload handed to the host's application, over the whole run."""
    timeouts: int
    duplicates: int
    """Segments that reached the host again."""
    finish_s: float
    """When data came last."""
    fast_retransmits: int


@reads(flows="flow delivered_pkts timeouts duplicate_pkts finish_ns fast_retransmits")
def of_run(results: Results, span_s: float = SPAN_S) -> Run:
    """Measures the download of a run that lasts so long."""
    return Run(
        throughput_bps=total(results, FLOW, "delivered_pkts") * SEGMENT_BITS / span_s,
        timeouts=total(results, FLOW, "timeouts"),
        duplicates=total(results, FLOW, "duplicate_pkts"),
        finish_s=total(results, FLOW, "finish_ns") / NS,
        fast_retransmits=total(results, FLOW, "fast_retransmits"),
    )


@reads(tcp="time_ns flow cwnd")
def mean_window(results: Results, largest: int, span_s: float = SPAN_S) -> float:
    """The window in use of the download in segments, the mean over time from its first change to the end of the run.

    In use is the congestion window, at most `largest`, which the receiver advertises.
    """
    rows = results.columns("tcp")
    own = rows.where("flow", FLOW)
    lasts = np.diff(seconds(rows, chosen=own), append=span_s)
    return float(np.average(np.minimum(rows["cwnd"][own], largest), weights=lasts))
