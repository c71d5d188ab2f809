"""Our model compared with the recorded kernel: shares of equal runs, and the causes of the others."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from roamlab.against.cases import CONTROLS, HELD_OUT, Case
from roamlab.against.measures import GOODPUT_SHARE, Difference, difference
from roamlab.against.recordings import Recordings, made


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
    causes: dict[str, int]
    """Of the runs that are not equal, how many first differ for which cause."""


def compare(recordings: Recordings) -> list[tuple[Case, Difference]]:
    """Run our model in each recorded case."""
    return [(case, difference(kernel, made(case, kernel=False))) for case, kernel in recordings.runs]


def summarise(compared: list[tuple[Case, Difference]]) -> list[Summary]:
    """A summary for each congestion control."""
    return [
        _summary(control, [(case, found) for case, found in compared if case.control == control])
        for control in CONTROLS
    ]


def _summary(control: str, compared: list[tuple[Case, Difference]]) -> Summary:
    found = [one for _, one in compared]
    held_out = [one.equal for case, one in compared if case.number >= HELD_OUT]
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
        causes=dict(Counter(one.cause for one in found if not one.equal).most_common()),
    )
