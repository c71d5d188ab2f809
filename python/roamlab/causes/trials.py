"""Reruns without one suspect each, the gain of each over the whole run, and which of them is a remedy."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from roamlab import _roamlab
from roamlab.base.errors import BadInput
from roamlab.causes.removal import Removal, recorded, refusal, removals
from roamlab.records.analysis import slow_periods, stalls, wait
from roamlab.running.run import simulate
from roamlab.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from roamlab.records.analysis import SlowPeriod, Stall, Suspect
    from roamlab.records.columns import Columns
    from roamlab.records.results import Results

FURTHER = 4
"""A remedy is tried in this number of runs in addition to the explained one."""
_LAST = ("long timeout", "handover")
"""Other causes of a stall explain it better: a timer only ends it, and the move is there in every run."""
_REFUSALS = (_roamlab.ScenarioError, _roamlab.MemoryLimitError, BadInput)
"""A changed scenario may be refused by its check, or by its size."""
_TIMERS = ("long timeout", "spurious timeout")


@dataclass(frozen=True)
class Trouble:
    """Impairment of a flow in a span or in the whole run."""

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
    """Of the whole run; of a file that came whole until then."""
    delay_s: float
    """Mean one-way delay of what arrived for the first time in the whole run; 0 if nothing did."""


@dataclass(frozen=True)
class Gain:
    """Gain of a change for a flow in the whole run; of several runs the mean. Below 0 it costs."""

    stall_s: float
    slow_s: float
    trouble_s: float
    goodput_bps: float
    all_bps: float
    """Goodput of all flows together."""
    delay_s: float
    """By how much its mean one-way delay is shorter."""
    runs: int = 1
    """Number of runs."""
    same: bool = False
    """Nothing in the run depends on chance: further runs would be this one."""

    @property
    def is_loss(self) -> bool:
        """The flow is longer in trouble, or delivers less."""
        return min(self.trouble_s, self.goodput_bps) < 0.0


GAINS = ("stall_s", "slow_s", "trouble_s", "goodput_bps", "all_bps", "delay_s")
"""Gain or loss."""


@dataclass(frozen=True)
class Trial:
    """A rerun with one suspect taken away."""

    kind: str
    what: str
    """The change."""
    given: bool
    """No setting of the network changes it: the rerun shows a cause and is no remedy."""
    gone: bool
    """The flow has no stall at this time any more; of a slow period alone: it is not slow any more."""
    left: Trouble
    """Stall left at this time."""
    gain: Gain
    """In the whole of this run."""
    halves: bool
    """It takes away at least half of the time in stalls and slow periods."""
    ends_wait: bool
    """It takes away at least half of the time for which the sender waited although its path was back."""
    scenario: Scenario = field(repr=False, compare=False)

    @property
    def helps(self) -> bool:
        """It is a cause of all or most of it."""
        return self.gone or self.halves


class Judged(NamedTuple):
    """A setting that takes trouble away, and its gain over several runs: a remedy if it loses nothing."""

    trial: Trial
    gain: Gain


@dataclass
class Check:
    """Results of reruns for a stall."""

    trials: list[Trial]
    """In the order of their suspects."""
    left_out: list[Removal]
    """Changes that the scenario's check refuses."""
    judged: list[Judged]
    """The settings that help, by their gain: the last is the remedy if it loses nothing."""

    @property
    def remedy(self) -> Judged | None:
        """The setting with the largest gain that loses nothing."""
        return self.judged[-1] if self.judged and not self.judged[-1].gain.is_loss else None


class Course:
    """The stalls and slow periods of some flows in a run, and the goodput of all."""

    def __init__(self, results: Results, flows: Collection[str]) -> None:
        """Reads them; nothing else of the run is kept."""
        self._silent = {flow: stalls(results, flow) for flow in flows}
        self._slow = {flow: slow_periods(results, flow) for flow in flows}
        totals = results.columns("flows")
        names = totals.names("flow") or []
        self._delay = {flow: _delay_s(results, flow) for flow in flows}
        self.goodput = dict(
            zip([names[code] for code in totals["flow"].tolist()], _rates(totals), strict=True)
        )

    def silent(self, flow: str) -> list[Stall]:
        """The stalls of one of the flows."""
        return self._silent[flow]

    def trouble(self, flow: str, span: tuple[int, int] | None = None) -> Trouble:
        """The stalls and slow periods that have a moment in a span (ns), or all."""
        silent = [each for each in self._silent[flow] if span is None or _meet(each, span)]
        slow = [each for each in self._slow[flow] if span is None or _meet(each, span)]
        lengths = [each.length_ns / 1e9 for each in silent]
        both: list[Stall | SlowPeriod] = [*silent, *slow]
        return Trouble(
            longest_s=max(lengths, default=0.0),
            stall_s=sum(lengths),
            slow_s=sum(each.length_ns for each in slow) / 1e9,
            trouble_s=_together(both) / 1e9,
            back_s=max((each.end_ns / 1e9 for each in both), default=None),
            goodput_bps=self.goodput[flow],
            delay_s=self._delay[flow],
        )

    def gain(self, flow: str, before: Course) -> Gain:
        """Against the run without the change."""
        now, then = self.trouble(flow), before.trouble(flow)
        return Gain(
            stall_s=then.stall_s - now.stall_s,
            slow_s=then.slow_s - now.slow_s,
            trouble_s=then.trouble_s - now.trouble_s,
            goodput_bps=now.goodput_bps - then.goodput_bps,
            all_bps=sum(self.goodput.values()) - sum(before.goodput.values()),
            delay_s=then.delay_s - now.delay_s,
        )

    def equals(self, other: Course) -> bool:
        """Both runs went the same way."""
        return vars(self) == vars(other)


class Reruns:
    """Runs of a scenario and of changes of it, each made once."""

    def __init__(self, results: Results, flows: Collection[str]) -> None:
        """`flows`: those that are explained."""
        made = results.manifest
        self.results, self.flows = results, flows
        self.seed, self.number = made.seed, made.run
        self.scenario = recorded(Scenario(made.scenario_text, made.scenario_name))
        self.own = Course(results, flows)
        self._made: dict[tuple[str, int], Course] = {}

    def course(self, scenario: Scenario, number: int | None = None) -> Course:
        """A run of a scenario, by default the one with the number of the run that is explained."""
        number = self.number if number is None else number
        key = (scenario.text, number)
        if key not in self._made:
            self._made[key] = Course(simulate(scenario, self.seed, number), self.flows)
        return self._made[key]

    @cached_property
    def further(self) -> list[int]:
        """The numbers of the further runs; none if nothing in the run depends on chance."""
        numbers = [number for number in range(FURTHER + 1) if number != self.number][:FURTHER]
        same = self.course(self.scenario, numbers[0]).equals(self.own)
        return [] if same else numbers

    def judge(self, flow: str, trial: Trial) -> Judged:
        """The gain of a change over several runs; if it loses in the run that is explained, in that one."""
        if trial.gain.is_loss:
            return Judged(trial, trial.gain)
        pairs = [(trial.scenario, number) for number in self.further]
        each = [self.course(*pair).gain(flow, self.course(self.scenario, pair[1])) for pair in pairs]
        each.append(trial.gain)
        mean = {name: float(np.mean([getattr(gain, name) for gain in each])) for name in GAINS}
        return Judged(trial, Gain(**mean, runs=len(each), same=not pairs))


def _rates(flows: Columns) -> list[float]:
    """The goodput of each flow; of a file that came whole that of its transfer: of the run all whole files have one."""
    rates = flows["goodput_bps"].astype(np.float64)
    whole = (flows["completed_ns"] > flows["start_ns"]) & (flows["completed_ns"] >= 0)
    spans = (flows["completed_ns"].astype(np.int64) - flows["start_ns"].astype(np.int64))[whole] / 1e9
    rates[whole] = 8.0 * flows["delivered_bytes"][whole] / spans
    found: list[float] = rates.tolist()
    return found


def _delay_s(results: Results, flow: str) -> float:
    arrived = results.columns("deliveries")
    rows = arrived.where("flow", flow) & arrived["fresh"].astype(bool)
    delays = arrived["time_ns"][rows].astype(np.int64) - arrived["sent_ns"][rows].astype(np.int64)
    return float(delays.mean()) / 1e9 if delays.size else 0.0


def _meet(each: Stall | SlowPeriod, span: tuple[int, int]) -> bool:
    return each.start_ns < span[1] and span[0] < each.end_ns


def _together(spans: Sequence[Stall | SlowPeriod]) -> int:
    """Time in at least one of some spans, in ns."""
    ordered = sorted((each.start_ns, each.end_ns) for each in spans)
    ends = np.maximum.accumulate([0, *(end for _, end in ordered)]).tolist()
    return sum(max(0, end - max(start, before)) for (start, end), before in zip(ordered, ends, strict=False))


def check(
    reruns: Reruns, stall: Stall, suspected: Sequence[Suspect], slow: SlowPeriod | None = None
) -> Check:
    """Reruns from the same seed with one suspect taken away each, in the order of their rank; then the remedy.

    Of several ways to take one away each is tried until the stall is gone without a loss. `slow`: the slow period that
    the stall is part of; what happens in either counts.
    """
    tried, left_out = _trials(reruns, stall, suspected, slow)
    judged: list[Judged] = []
    for trial in by_gain(tried):
        if trial.given or not (trial.helps or trial.ends_wait):
            continue
        try:
            judged.append(reruns.judge(stall.flow, trial))
        except _REFUSALS as error:
            # With other random numbers a network may be another, and too large.
            left_out.append(Removal(f"{trial.what}, in further runs", None, refusal(error)))
            continue
        if not judged[-1].gain.is_loss:
            break
    return Check(tried, left_out, judged)


def _trials(
    reruns: Reruns, stall: Stall, suspected: Sequence[Suspect], slow: SlowPeriod | None
) -> tuple[list[Trial], list[Removal]]:
    both: list[Stall | SlowPeriod] = [stall, *([slow] if slow else [])]
    span = min(each.start_ns for each in both), max(each.end_ns for each in both)
    was = reruns.own.trouble(stall.flow, span)
    waited = wait(reruns.results, stall)
    tried: list[Trial] = []
    left_out: list[Removal] = []
    known: set[str] = set()
    for suspect in suspected:
        for removal in removals(suspect, stall, reruns.results, reruns.scenario):
            if removal.what in known:
                continue
            known.add(removal.what)
            if removal.scenario is None:
                left_out.append(removal)
                continue
            try:
                again = reruns.course(removal.scenario)
            except _REFUSALS as error:
                left_out.append(Removal(removal.what, None, refusal(error)))
                continue
            gone = not any(each.overlaps(stall) for each in again.silent(stall.flow))
            left = again.trouble(stall.flow, span)
            shorter = was.trouble_s - left.trouble_s
            of_wait = waited.length_ns / 1e9 if waited and suspect.kind in _TIMERS else math.inf
            tried.append(
                Trial(
                    suspect.kind,
                    removal.what,
                    given=suspect.given,
                    gone=left.trouble_s == 0.0 if stall.is_slow else gone,
                    left=left,
                    gain=again.gain(stall.flow, reruns.own),
                    halves=left.trouble_s <= was.trouble_s / 2,
                    ends_wait=shorter >= of_wait / 2,
                    scenario=removal.scenario,
                )
            )
            if tried[-1].gone and not tried[-1].gain.is_loss:
                break
    return tried, left_out


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
    """Trials, those first that leave least time in stalls and slow periods, then most goodput."""
    return sorted(tried, key=lambda trial: (trial.left.trouble_s, -trial.gain.goodput_bps))
