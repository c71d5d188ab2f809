"""Share of the sender in a stall or slow period, from the record of its events.

A stall ends with data. If the sender sent that data when one of its events occurred, the event is what it waited
for: the probe of a tail, the mark of RACK, QUIC's probe timeout. TCP's retransmission timeouts are among the suspects.
A slow period may be long because the sender keeps a small window: after persistent congestion, or with a model of the
path in which the round-trip time is that of an earlier path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roamlab import _roamlab
from roamlab.records.slow import FLOOR_NS
from roamlab.scenarios.scenario import is_declared_by

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from roamlab.causes.stalls import Stall
    from roamlab.records.results import Results
    from roamlab.records.slow import SlowPeriod

PROBE, MARK, TIMER = "tail loss probe", "RACK mark", "probe timeout"
_RESUMES = {"tail-loss-probe": PROBE, "rack-mark": MARK, "timeout": TIMER}
"""Events on which a sender sends without an acknowledgement."""
PERSISTENT = "persistent congestion"
STALE = "stale min_rtt"
ENDED, FOUND, SLOW = "ended by", "losses found by", "kept slow by"
_SENTENCES = {
    ENDED: "the sender's {kind} at {at} ended it",
    FOUND: "the sender's {kind} at {at} found its losses",
    SLOW: "the sender's {kind}, from {at} on, kept it slow",
}
_BBR = ("bbr", "bbr3")
_LONGER = 2
"""A path whose delay grows by this factor is longer for BBR: its window of two products bounds the rate."""


@dataclass(frozen=True)
class Part:
    """The sender's part in a stall or slow period."""

    kind: str
    """In words, as above."""
    time_ns: int
    role: str
    """Its action: one of the three below."""

    @property
    def sentence(self) -> str:
        """For the output of `why`."""
        return _SENTENCES[self.role].format(kind=self.kind, at=f"{self.time_ns / 1e9:.3f} s")


def parts(results: Results, stall: Stall, slow: SlowPeriod | None) -> list[Part]:
    """Events that ended a stall, or found its losses, and that kept the flow slow then, in order of time."""
    end = max(stall.end_ns, slow.end_ns if slow else 0)
    found = [_persistent(results, stall, end), _stale(results, stall, slow)]
    if not stall.is_slow:
        ended = _ended_by(results, stall)
        found += [ended] if ended and ended.kind == MARK else [ended, _found_by(results, stall)]
    return sorted((each for each in found if each), key=lambda each: each.time_ns)


def _ended_by(results: Results, stall: Stall) -> Part | None:
    """The event on which the data was sent that ended a stall; None: it was under way, or sent for an ACK."""
    arrived = results.columns("deliveries")
    last = (
        arrived.where("flow", stall.flow)
        & (arrived["time_ns"] == stall.end_ns)
        & arrived["fresh"].astype(bool)
    )
    if not last.any():
        return None
    sent = int(arrived["sent_ns"][last].min())
    events = results.columns("tcp")
    own = events.where("flow", stall.flow) & (events["time_ns"] == sent)
    for event, kind in _RESUMES.items():
        is_told = event == "timeout" and _words(results, "flows", "kind", stall.flow) == "tcp"
        if not is_told and (own & events.where("event", event)).any():
            return Part(kind, sent, ENDED)
    return None


def _found_by(results: Results, stall: Stall) -> Part | None:
    """RACK's first mark in a stall, or by the acknowledgement of its end, of data that was sent before that."""
    events = results.columns("tcp")
    marks = events.where("flow", stall.flow) & events.where("event", "rack-mark")
    times = events["time_ns"][marks]
    near = times[(times >= stall.start_ns) & (times <= stall.end_ns + max(FLOOR_NS, stall.round_trip_ns))]
    return Part(MARK, int(near.min()), FOUND) if near.size else None


def _persistent(results: Results, stall: Stall, end: int) -> Part | None:
    """Persistent congestion found by the acknowledgements of what ended the stall, or in it."""
    events = results.columns("tcp")
    own = events.where("flow", stall.flow) & events.where("event", "persistent-congestion")
    times = events["time_ns"][own]
    near = times[(times >= stall.start_ns) & (times <= end + max(FLOOR_NS, stall.round_trip_ns))]
    return Part(PERSISTENT, int(near.min()), SLOW) if near.size else None


def _stale(results: Results, stall: Stall, slow: SlowPeriod | None) -> Part | None:
    """The model of BBR has a round-trip time from before the path grew, and its window bounds the rate."""
    if slow is None or _control(results, stall.flow) not in _BBR:
        return None
    arrived = results.columns("deliveries")
    rows = arrived.where("flow", stall.flow)
    times, delays = arrived["time_ns"][rows], (arrived["time_ns"] - arrived["sent_ns"])[rows]
    before, after = delays[times < slow.start_ns], delays[(times > stall.start_ns) & (times <= slow.end_ns)]
    if not before.size or not after.size or after.min() < _LONGER * before.min():
        return None
    lost = results.columns("drops")
    drops = (
        lost.where("flow", stall.flow) & (lost["time_ns"] > stall.end_ns) & (lost["time_ns"] <= slow.end_ns)
    )
    return (
        None if not stall.is_slow and drops.any() else Part(STALE, _first_longer(times, delays, before), SLOW)
    )


def _first_longer(times: NDArray[Any], delays: NDArray[Any], before: NDArray[Any]) -> int:
    """When the first data came over a longer path, after the last over the shorter one."""
    short = times[delays < _LONGER * before.min()]
    return int(times[times > short.max()].min()) if (times > short.max()).any() else int(times[-1])


def _words(results: Results, table: str, column: str, flow: str) -> str:
    """The word in the first row of a flow."""
    rows = results.columns(table)
    names = rows.names(column) or []
    return str(names[int(rows[column][rows.where("flow", flow)][0])])


def _control(results: Results, flow: str) -> str:
    """The congestion control of a flow, by its own parameters or those of the profile."""
    parameters = results.manifest.parameters
    profile = parameters.get("run", {}).get("profile", "rfc")
    for spec in parameters.get("flows", []):
        if is_declared_by(flow, spec["name"]):
            transport = spec.get("transport", {})
            usual = _roamlab.usual_variant(profile) if transport.get("kind") == "tcp" else "reno"
            control = transport.get("congestion_control") or transport.get("variant") or usual
            return str(control["kind"] if isinstance(control, dict) else control)
    return ""
