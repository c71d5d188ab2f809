"""The effects of each handover on a flow, by the chains of causes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from roamlab.records import metrics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from roamlab.records.results import Results


def timeouts(results: Results, flow: str) -> NDArray[np.integer]:
    """Timeouts of each handover of a host at the flow's ends, in order of time.

    A timeout belongs to the handover whose chain of causes has the same root: the motion, say, that broke the link. A
    handover begins with the host's `link-down`.
    """
    phases, events = results.columns("handovers"), results.columns("tcp")
    begun = phases.where("phase", "link-down") & phases.where("host", *metrics.ends(results, flow))
    expired = events.where("flow", flow) & events.where("event", "timeout")
    parents = results.columns("causes")["cause"]
    handovers, causes = (
        metrics.roots(parents, rows["cause"][chosen]) for rows, chosen in ((phases, begun), (events, expired))
    )
    return np.asarray([np.count_nonzero(causes == root) for root in handovers], dtype=np.int64)


def without_timeout_ratio(results: Results, flow: str) -> float:
    """The share of the handovers to which no timeout of the flow belongs.

    NaN without a handover, or where the senders' events were not recorded.
    """
    if "tcp" not in results.manifest.outline.recorded:
        return math.nan
    found = timeouts(results, flow)
    return float((found == 0).mean()) if found.size else math.nan
