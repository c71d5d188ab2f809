"""The effects of each handover on a flow, by the chains of causes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from roamlab.base.calls import called
from roamlab.base.quantities import counted
from roamlab.records import metrics

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from roamlab.records.columns import RunTables


@called()
def timeouts(results: RunTables, flow: str) -> NDArray[np.integer]:
    """Timeouts of each handover of a host at the flow's ends, in order of time.

    A timeout belongs to the handover whose chain of causes has the same root: for example the motion that
    broke the link. If the root is a later motion or the like of that host, as its entry into the next cell,
    the timeout belongs to the host's last handover before it. A handover begins with the host's `link-down`.
    """
    phases, events, causes = (results.columns(name) for name in ("handovers", "tcp", "causes"))
    down = phases.where("phase", "link-down")
    begun = np.flatnonzero(down & phases.where("host", *metrics.ends(results, flow)))
    expired = events.where("flow", flow) & events.where("event", "timeout")
    of_handovers = metrics.roots(causes["cause"], phases["cause"][begun])
    of_timeouts = metrics.roots(causes["cause"], events["cause"][expired])
    found = np.asarray([np.count_nonzero(of_timeouts == root) for root in of_handovers], dtype=np.int64)
    others = of_timeouts[metrics.of_handovers(results, flow, causes)[of_timeouts]]
    others = others[~np.isin(others, of_handovers)]
    for host in metrics.ends(results, flow) if others.size else ():
        ours = begun[phases.where("host", host)[begun]]
        caused = others[causes.where("host", host)[others]]
        last = np.searchsorted(phases["time_ns"][ours], causes["time_ns"][caused], side="right") - 1
        np.add.at(found, np.searchsorted(begun, ours[last[last >= 0]]), 1)
    return found


SHORTLY_S = 2.0
"""A timeout that is counted by time follows its handover within this: 1 s for the loss, 1 s for the timer."""
MOST_FLOWS = 100
"""Runs with more flows are not examined for a warning."""


@called()
def timeouts_by_time(results: RunTables, flow: str) -> NDArray[np.integer]:
    """Timeouts less than 2 s after each handover, whatever caused them; each belongs to the last handover before it."""
    begun = np.asarray(metrics.flow_handovers(results, flow))
    events = results.columns("tcp")
    at = metrics.seconds(events, chosen=events.where("flow", flow) & events.where("event", "timeout"))
    last = np.searchsorted(begun, at, side="right") - 1
    near = last >= 0
    near[near] = at[near] - begun[last[near]] < SHORTLY_S
    return np.bincount(last[near], minlength=begun.size)


@called()
def all_timeouts_by_time(results: RunTables, flow: str) -> float:
    """The sum of `timeouts_by_time`; NaN without a handover, or where the senders' events were not recorded."""
    if "tcp" not in results.manifest.outline.recorded:
        return math.nan
    found = timeouts_by_time(results, flow)
    return float(found.sum()) if found.size else math.nan


@called()
def without_timeout_ratio(results: RunTables, flow: str) -> float:
    """The share of the handovers to which no timeout of the flow belongs.

    NaN without a handover, or where the senders' events were not recorded.
    """
    return _none_ratio(results, flow, timeouts)


@called()
def without_timeout_by_time_ratio(results: RunTables, flow: str) -> float:
    """The share of the handovers that no timeout of the flow follows within 2 s; NaN as for the other."""
    return _none_ratio(results, flow, timeouts_by_time)


def _none_ratio(
    results: RunTables, flow: str, count: Callable[[RunTables, str], NDArray[np.integer]]
) -> float:
    if "tcp" not in results.manifest.outline.recorded:
        return math.nan
    found = count(results, flow)
    return float((found == 0).mean()) if found.size else math.nan


@called()
def warnings(results: RunTables) -> list[str]:
    """Flows whose handovers with a timeout are not the same by cause and by time."""
    if "tcp" not in results.manifest.outline.recorded:
        return []
    flows = results.columns("flows")
    names = flows.words("flow", flows["timeouts"] > 0)
    if len(names) > MOST_FLOWS:
        return []
    found = []
    for flow in names:
        by_cause, by_time = (count(results, flow) > 0 for count in (timeouts, timeouts_by_time))
        if by_cause.sum() != by_time.sum():
            found.append(
                f"flow {flow}: of {counted(by_cause.size, 'handover')}, {by_cause.sum() or 'none'} caused a timeout, "
                f"and a timeout came within {SHORTLY_S:g} s of {by_time.sum() or 'none'}; `roamlab why` shows the "
                "causes of each timeout"
            )
    return found
