"""Our model compared with the recorded kernel: shares of equal runs, and the causes of the others."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from roamlab.against.cases import CONTROLS, Case
from roamlab.against.measures import GOODPUT_SHARE, Difference, difference
from roamlab.against.recordings import Recordings, made


@dataclass(frozen=True)
class Summary:
    """The cases of one congestion control."""

    control: str
    cases: int
    within: int
    """Goodput within 2 %."""
    same_timeouts: int
    equal: int
    """Both."""
    median: float
    """Of the absolute difference of goodput."""
    worst: float
    causes: dict[str, int]
    """Of the runs that are not equal, how many first differ for which cause."""


def compare(recordings: Recordings) -> list[tuple[Case, Difference]]:
    """Run our model in each recorded case."""
    return [(case, difference(kernel, made(case, kernel=False))) for case, kernel in recordings.runs]


def summarise(compared: list[tuple[Case, Difference]]) -> list[Summary]:
    """A summary for each congestion control."""
    return [
        _summary(control, [found for case, found in compared if case.control == control])
        for control in CONTROLS
    ]


def _summary(control: str, found: list[Difference]) -> Summary:
    sizes = sorted(abs(one.goodput) for one in found)
    return Summary(
        control=control,
        cases=len(found),
        within=sum(size <= GOODPUT_SHARE for size in sizes),
        same_timeouts=sum(one.timeouts == 0 for one in found),
        equal=sum(one.equal for one in found),
        median=sizes[len(sizes) // 2] if sizes else 0.0,
        worst=sizes[-1] if sizes else 0.0,
        causes=dict(Counter(one.cause for one in found if not one.equal).most_common()),
    )
