"""Events of a run, in a form that both simulators have, and the comparison."""

from __future__ import annotations

from typing import NamedTuple

# S: a sender puts a segment on its link (number, 1 if it was sent before). K: a receiver puts an ACK on its link (last
# segment in order, size). Q: a segment arrives at the bottleneck's queue (number, packets that wait). D: a
# packet is lost (number, "q" by the queue or "l" by force or outage, with "a" if it is an ACK).
KINDS = "SKQD"


class Event(NamedTuple):
    """One event."""

    kind: str
    time: float
    """In microseconds."""
    flow: int
    number: int
    detail: str


Events = list[Event]


def difference(reference: Events, ours: Events, end: float) -> str | None:
    """The earliest difference up to `end` microseconds, in words; `None` if there is none.

    Times may differ by a microsecond, the resolution of ns-2's trace. Events of one kind are compared in their order.
    """
    found: list[tuple[float, str]] = []
    for kind in KINDS:
        theirs, mine = ([event for event in events if event.kind == kind] for events in (reference, ours))
        for their, our in zip(theirs, mine, strict=False):
            if min(their.time, our.time) >= end:
                break
            if their[2:] != our[2:] or abs(their.time - our.time) > 1.0:
                found.append((min(their.time, our.time), f"{kind}: ns-2 {their[1:]}, ours {our[1:]}"))
                break
        else:
            rest = [*theirs[len(mine) :], *mine[len(theirs) :]]
            if rest and rest[0].time < end:
                found.append((rest[0].time, f"{kind}: ns-2 {len(theirs)}, ours {len(mine)}, first {rest[0]}"))
    return min(found)[1] if found else None
