"""The measures of a run of the study of prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roamlab.papers.lte.experiments import HANDOVER_S, REF
from roamlab.papers.records import reads
from roamlab.records import metrics
from roamlab.studies.means import Quantity, longest_silence_s

if TYPE_CHECKING:
    from roamlab.records.results import Results

TARGETS = ("t1", "t2", "t3")
"""The flows of the mobiles that are in the target cell from the beginning."""
AHEAD_S, AFTER_S = 0.5, 2.0
"""All is taken from so long before the handover is due until so long after: a wrong prediction costs before it."""

_SPAN = f"from {AHEAD_S:g} s before the handover to {AFTER_S:g} s after it"
QUANTITIES = (
    Quantity("goodput", f"mover's goodput {_SPAN}", "Mbit/s"),
    Quantity("targets_goodput", f"goodput of the target cell's three mobiles together {_SPAN}", "Mbit/s"),
    Quantity("stall", f"mover's longest silence {_SPAN}", "ms"),
    Quantity("lost", f"mover's packets lost {_SPAN}", "pkt"),
)
"""Measures of each run."""
BY_NAME = {quantity.name: quantity for quantity in QUANTITIES}


@reads(
    flows="flow kind delivered_pkts delivered_bytes",
    deliveries="flow time_ns sent_ns seq fresh",
    drops="flow reason seq data sent_ns time_ns",
)
def move(results: Results) -> dict[str, float]:
    """Effects of the handover on the mover and on the target cell, by the names of `QUANTITIES`."""
    start, end = HANDOVER_S - AHEAD_S, HANDOVER_S + AFTER_S
    return {
        "goodput": metrics.goodput_bps(results, REF, start, end) / 1e6,
        "targets_goodput": sum(metrics.goodput_bps(results, flow, start, end) / 1e6 for flow in TARGETS),
        "stall": 1e3 * longest_silence_s(results, REF, start, end),
        "lost": float(metrics.count(metrics.losses(results, REF), start, end)),
    }
