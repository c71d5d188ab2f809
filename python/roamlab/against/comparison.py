"""Our model compared with the recorded kernel: shares of equal runs, and the causes of the others."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from roamlab.against.measures import GOODPUT_SHARE, UNKNOWN, Difference, Measures, difference
from roamlab.against.recordings import Recordings, made

if TYPE_CHECKING:
    from roamlab.against.cases import Case

LATER = 8
"""Runs that show how sensitive a scenario is. The last flow starts later in them, by eighths of the time that the
bottleneck takes for a segment: so much does one ACK more or less move what follows."""


@dataclass(frozen=True)
class Summary:
    """The cases of one congestion control."""

    control: str
    cases: int
    held_out: tuple[int, int]
    """How many of the cases that no change of our model was made for are equal, and how many there are."""
    within: int
    """Goodput within 2 %."""
    same_timeouts: int
    equal: int
    """Both."""
    median: float
    """Of the absolute difference of goodput."""
    worst: float
    classes: dict[str, int]
    """Of the runs that are not equal, how many are of which class."""
    causes: dict[str, int]
    """Of those of unknown cause, how many first differ after which repair."""


def compare(recordings: Recordings) -> list[tuple[Case, Difference]]:
    """Run our model in each recorded case, and classify the differences."""
    return [(case, _classified(case, kernel)) for case, kernel in recordings.runs]


def _classified(case: Case, kernel: Measures) -> Difference:
    found = difference(kernel, made(case, kernel.phases))
    if found.equal:
        return found
    segment_us = 12_000 // case.slowest_mbps
    shifts = [step * segment_us // LATER for step in range(1, LATER + 1)]
    later = [difference(kernel, made(case, kernel.phases, later_us)) for later_us in shifts]
    return replace(found, spread=spread_of([found, *later]), covered=is_covered([found, *later]))


def spread_of(runs: list[Difference]) -> float:
    """How far our goodputs are from each other, over the kernel's."""
    return max(one.goodput for one in runs) - min(one.goodput for one in runs)


def is_covered(runs: list[Difference]) -> bool:
    """True if the kernel's goodput and timeouts lie between ours, which differ by more than equal runs may."""
    goodputs, timeouts = [one.goodput for one in runs], [one.timeouts for one in runs]
    varies = max(goodputs) - min(goodputs) > GOODPUT_SHARE or min(timeouts) < max(timeouts)
    return varies and min(goodputs) <= 0 <= max(goodputs) and min(timeouts) <= 0 <= max(timeouts)


def summarise(compared: list[tuple[Case, Difference]]) -> list[Summary]:
    """A summary for each congestion control."""
    return [
        _summary(control, [(case, found) for case, found in compared if case.control == control])
        for control in dict.fromkeys(case.control for case, _ in compared)
    ]


def _summary(control: str, compared: list[tuple[Case, Difference]]) -> Summary:
    found = [one for _, one in compared]
    held_out = [one.equal for case, one in compared if case.is_held_out]
    sizes = sorted(abs(one.goodput) for one in found)
    return Summary(
        control=control,
        cases=len(found),
        held_out=(sum(held_out), len(held_out)),
        within=sum(size <= GOODPUT_SHARE for size in sizes),
        same_timeouts=sum(one.timeouts == 0 for one in found),
        equal=sum(one.equal for one in found),
        median=sizes[len(sizes) // 2] if sizes else 0.0,
        worst=sizes[-1] if sizes else 0.0,
        classes=dict(Counter(one.kind for one in found if not one.equal).most_common()),
        causes=dict(Counter(one.cause for one in found if one.kind == UNKNOWN).most_common()),
    )
