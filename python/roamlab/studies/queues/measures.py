"""The measures of a run of the study of queues."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roamlab.papers.records import reads
from roamlab.records import metrics
from roamlab.studies.means import Quantity, longest_silence_s
from roamlab.studies.queues.cases import MOVE_S, RESIDENTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roamlab.records.results import Results

MOVER = "mover"
AFTER_S = 3.0
"""All is taken over so long after the move."""
BEFORE_S = 1.0
"""The delay before the move is taken over so long."""
LATE_MS = 15
"""A packet that has waited longer is late: what DualPI2 allows packets that are not of L4S (RFC 9332, appendix A.1)."""
_SHARE = 95

_SPAN = f"in the {AFTER_S:g} s after the move"
QUANTITIES = (
    Quantity("mover_goodput", f"mover's goodput {_SPAN}", "Mbit/s"),
    Quantity("residents_goodput", f"three residents' goodput together {_SPAN}", "Mbit/s"),
    Quantity("stall", f"mover's longest silence {_SPAN}", "ms"),
    Quantity("residents_stall", f"longest silence of a resident {_SPAN}", "ms"),
    Quantity("mover_delay", f"delay that {_SHARE} % of the mover's packets keep {_SPAN}", "ms"),
    Quantity("residents_delay", f"delay that {_SHARE} % of the residents' packets keep {_SPAN}", "ms"),
    Quantity("before_delay", f"delay that {_SHARE} % of the mover's packets keep in the s before it", "ms"),
    Quantity("late", f"time {_SPAN} in which the mover's packets have waited over {LATE_MS} ms", "ms"),
    Quantity("mover_lost", f"mover's packets lost {_SPAN}", "pkt"),
    Quantity("residents_lost", f"residents' packets lost {_SPAN}", "pkt"),
    Quantity("forwarded", "packets that the old base station forwarded", "pkt"),
)
"""Measures of each run."""
BY_NAME = {quantity.name: quantity for quantity in QUANTITIES}


@reads(
    flows="flow kind delivered_pkts delivered_bytes",
    deliveries="flow time_ns sent_ns seq fresh",
    drops="flow reason seq data sent_ns time_ns",
    releases="host node",
)
def move(results: Results) -> dict[str, float]:
    """Effects of the move on the mover and the residents, by the names of `QUANTITIES`."""
    until, released = MOVE_S + AFTER_S, results.columns("releases")
    return {
        "mover_goodput": metrics.goodput_bps(results, MOVER, MOVE_S, until) / 1e6,
        "residents_goodput": sum(
            metrics.goodput_bps(results, flow, MOVE_S, until) / 1e6 for flow in RESIDENTS
        ),
        "stall": 1e3 * longest_silence_s(results, MOVER, MOVE_S, until),
        "residents_stall": 1e3 * max(longest_silence_s(results, flow, MOVE_S, until) for flow in RESIDENTS),
        "mover_delay": _delay_ms(results, (MOVER,), MOVE_S, until),
        "residents_delay": _delay_ms(results, RESIDENTS, MOVE_S, until),
        "before_delay": _delay_ms(results, (MOVER,), MOVE_S - BEFORE_S, MOVE_S),
        "late": _late_ms(results),
        "mover_lost": _lost(results, (MOVER,)),
        "residents_lost": _lost(results, RESIDENTS),
        "forwarded": float(np.count_nonzero(released.where("host", MOVER) & released.where("node", "bs1"))),
    }


def _delay_ms(results: Results, flows: Sequence[str], start: float, end: float) -> float:
    """One-way, of the packets that arrive in the span; if none does, all of the span."""
    rows = results.columns("deliveries")
    at = metrics.seconds(rows)
    chosen = rows.where("flow", *flows) & (at >= start) & (at < end)
    delays = at[chosen] - metrics.seconds(rows, "sent_ns", chosen)
    return 1e3 * (float(np.percentile(delays, _SHARE)) if delays.size else end - start)


def _late_ms(results: Results) -> float:
    """A packet represents the time since the one before it, so that a silence counts where it has made packets late."""
    rows = results.columns("deliveries")
    of_mover = rows.where("flow", MOVER)
    at = metrics.seconds(rows, chosen=of_mover)
    delays = at - metrics.seconds(rows, "sent_ns", of_mover)
    is_late = 1e3 * (delays - delays.min(initial=np.inf)) > LATE_MS
    inside = np.clip(np.concatenate(([0.0], at)), MOVE_S, MOVE_S + AFTER_S)
    return 1e3 * float(np.diff(inside)[is_late].sum())


def _lost(results: Results, flows: Sequence[str]) -> float:
    return float(
        sum(metrics.count(metrics.losses(results, flow), MOVE_S, MOVE_S + AFTER_S) for flow in flows)
    )
