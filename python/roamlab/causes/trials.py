"""Reruns without one suspect each, and the gain of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from roamlab.causes.removal import recorded, removals
from roamlab.causes.stalls import stalls
from roamlab.causes.suspects import GIVEN
from roamlab.records import metrics
from roamlab.records.slow import slow_periods
from roamlab.running.run import run
from roamlab.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roamlab.causes.stalls import Stall
    from roamlab.causes.suspects import Suspect
    from roamlab.records.results import Results
    from roamlab.records.slow import SlowPeriod

_LAST = ("long timeout", "handover")
"""What else led to a stall explains it better: a timer only ends it, and the move is there in every run."""


@dataclass(frozen=True)
class Trouble:
    """What a flow suffers in a span and what it receives in the whole run."""

    longest_s: float
    """Its longest stall."""
    stall_s: float
    """All of its stalls."""
    slow_s: float
    """All of its slow periods."""
    trouble_s: float
    """Time in a stall, a slow period or both."""
    back_s: float | None
    """When the last of them ends; None: there is none."""
    goodput_bps: float
    """Of the whole run."""


@dataclass(frozen=True)
class Trial:
    """A rerun with one suspect taken away."""

    kind: str
    what: str
    """What was changed."""
    given: bool
    """No setting of the network changes it: the rerun shows a cause and is no remedy."""
    gone: bool
    """The flow has no stall at this time any more; of a slow period alone: it is not slow any more."""
    left: Trouble
    """What is left."""
    gain_stall_s: float
    gain_slow_s: float
    gain_goodput_bps: float
    halves: bool
    """It takes away at least half of the time in stalls and slow periods."""

    @property
    def helps(self) -> bool:
        """It is a cause of all or most of it."""
        return self.gone or self.halves


def trouble(results: Results, flow: str, span: tuple[int, int]) -> Trouble:
    """The stalls and slow periods that have a moment in a span (ns)."""
    silent = [each for each in stalls(results, flow) if _meet(each, span)]
    slow = [each for each in slow_periods(results, flow) if _meet(each, span)]
    lengths = [each.length_ns / 1e9 for each in silent]
    both: list[Stall | SlowPeriod] = [*silent, *slow]
    ends = [each.end_ns / 1e9 for each in both]
    return Trouble(
        longest_s=max(lengths, default=0.0),
        stall_s=sum(lengths),
        slow_s=sum(each.length_ns for each in slow) / 1e9,
        trouble_s=_together(both) / 1e9,
        back_s=max(ends, default=None),
        goodput_bps=metrics.total(results, flow, "goodput_bps"),
    )


def _meet(each: Stall | SlowPeriod, span: tuple[int, int]) -> bool:
    return each.start_ns < span[1] and span[0] < each.end_ns


def _together(spans: Sequence[Stall | SlowPeriod]) -> int:
    """Time in at least one of some spans, in ns."""
    ordered = sorted((each.start_ns, each.end_ns) for each in spans)
    ends = np.maximum.accumulate([0, *(end for _, end in ordered)]).tolist()
    return sum(max(0, end - max(start, before)) for (start, end), before in zip(ordered, ends, strict=False))


def trials(
    results: Results, stall: Stall, suspected: Sequence[Suspect], slow: SlowPeriod | None = None
) -> list[Trial]:
    """Reruns from the same seed with one suspect taken away each, in the order of their rank.

    Of several ways to take one away each is tried until the stall is gone. `slow`: the slow period that the stall is
    part of; what happens in either counts.
    """
    made = results.manifest
    scenario = recorded(Scenario(made.scenario_text, made.scenario_name))
    both: list[Stall | SlowPeriod] = [stall, *([slow] if slow else [])]
    span = min(each.start_ns for each in both), max(each.end_ns for each in both)
    was = trouble(results, stall.flow, span)
    tried: list[Trial] = []
    for suspect in suspected:
        for removal in removals(suspect, stall, results, scenario):
            if any(trial.what == removal.what for trial in tried):
                continue
            again = run(removal.scenario, made.seed, made.run)
            gone = not any(each.overlaps(stall) for each in stalls(again, stall.flow))
            left = trouble(again, stall.flow, span)
            tried.append(
                Trial(
                    suspect.kind,
                    removal.what,
                    given=suspect.kind in GIVEN,
                    gone=left.trouble_s == 0.0 if stall.is_slow else gone,
                    left=left,
                    gain_stall_s=was.stall_s - left.stall_s,
                    gain_slow_s=was.slow_s - left.slow_s,
                    gain_goodput_bps=left.goodput_bps - was.goodput_bps,
                    halves=left.trouble_s <= was.trouble_s / 2,
                )
            )
            if tried[-1].gone:
                break
    return tried


def named(tried: Sequence[Trial]) -> Trial | None:
    """The cause that reruns confirm, of trials in the order of rank; None: none helps.

    First what takes the stall away, then what takes most of the trouble away. A timer and the move come last.
    """
    first = [trial for trial in tried if trial.kind not in _LAST]
    by_gain = sorted(first, key=lambda trial: trial.left.trouble_s)
    order = [
        *(trial for trial in first if trial.gone),
        *by_gain,
        *(trial for trial in tried if trial.kind in _LAST),
    ]
    return next((trial for trial in order if trial.helps), None)


def by_gain(tried: Sequence[Trial]) -> list[Trial]:
    """Trials, those first that gain most time without stall and slow period, then most goodput."""
    return sorted(tried, key=lambda trial: (trial.left.trouble_s, -trial.gain_goodput_bps))
