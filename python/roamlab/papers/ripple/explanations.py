"""The paper's surprising results, explained: under which reading each occurs, and reruns without its cause.

An effect is what the paper finds surprising as a difference of throughputs, positive where it occurs. A rerun differs
from its reading in one thing, the cause; if the cause is the right one, the difference is gone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from roamlab.papers.ripple import claims, evidence, experiments
from roamlab.papers.ripple.claims import NAMES
from roamlab.papers.ripple.experiments import DEFAULT, HANDOVERS, HARD_MS, SOFT_MS, TCPS, Reading
from roamlab.papers.ripple.handover import median_handover
from roamlab.papers.ripple.measures import FLOW
from roamlab.papers.runs import Batch
from roamlab.statistics.stats import student

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from roamlab.papers.ripple.claims import Values
    from roamlab.papers.ripple.evidence import Case, Evidence
    from roamlab.papers.ripple.handover import Handover
    from roamlab.statistics.stats import Interval

Cases: TypeAlias = "tuple[Case, ...]"


@dataclass(frozen=True)
class Panel:
    """A handover to be drawn: a case under a reading of its effect; "" is the one under which the effect occurs."""

    case: Case
    without: str = ""


@dataclass(frozen=True)
class Effect:
    """A surprising difference, with the reading under which it occurs and the readings that take its cause away."""

    name: str
    what: str
    of: dict[str, tuple[Cases, Cases]]
    """By what the row is about: the cases that are better, by the paper's surprise, and those that are worse."""
    reading: Reading
    called: str
    """What the reading is called in tables."""
    without: dict[str, Reading]
    """By what is taken away."""
    panels: tuple[Panel, ...]
    median_of: str
    """The run that is drawn has the median effect of this row."""
    before_s: float
    after_s: float
    why: str

    @property
    def readings(self) -> dict[str, Reading]:
        """The reading under which it occurs, by "", those without its cause, and the default."""
        found = {"": self.reading, **self.without}
        return found if self.reading == DEFAULT else found | {"default": DEFAULT}

    @property
    def cases(self) -> list[Case]:
        """All that are run."""
        return sorted({case for pair in self.of.values() for side in pair for case in side})


def _each(
    better: Sequence[tuple[str, int]], worse: Sequence[tuple[str, int]]
) -> dict[str, tuple[Cases, Cases]]:
    """A row for each TCP; cases by mechanism and delay."""
    return {
        NAMES[tcp]: (tuple((tcp, *case) for case in better), tuple((tcp, *case) for case in worse))
        for tcp in TCPS
    }


def _mechanisms(better: str, delays_ms: Sequence[int]) -> dict[str, tuple[Cases, Cases]]:
    """A mechanism that is better than Buffer."""
    return _each([(better, delay) for delay in delays_ms], [("Buffer", delay) for delay in delays_ms])


LONG_MS = [delay for delay in HARD_MS if delay <= -300]
OVERLAPS_MS = SOFT_MS[1:]
LONG_OVERLAPS_MS = [delay for delay in SOFT_MS if delay >= 300]
_NEWEST = Reading(trigger="no-path", drop="newest")

EFFECTS = (
    Effect(
        "dip",
        "noBuffer, throughput with a gap of 200 ms minus that with 100 ms",
        _each([("noBuffer", -200)], [("noBuffer", -100)]),
        DEFAULT,
        "default",
        {
            "the whole window is lost: layer 3 200 ms later": Reading(detection_ms=200, reactive_ms=200),
            "the timer outlasts each gap: RTO floor 1 s": Reading(min_rto_ms=1000),
        },
        (
            Panel(("reno", "noBuffer", -100)),
            Panel(("reno", "noBuffer", -200)),
            Panel(("reno", "noBuffer", -100), "the whole window is lost: layer 3 200 ms later"),
        ),
        "Reno",
        0.2,
        0.9,
        "The outage takes the first part of the window. The rest arrives, and its duplicate acknowledgements start a "
        "fast retransmit, whose acknowledgement starts the timer anew: the timeout that follows comes later and finds "
        "a window that was cut already. A longer outage takes the whole window, and the timer expires within it.",
    ),
    Effect(
        "buffer-gap",
        "throughput with biCast minus that with Buffer, gaps of 300 to 500 ms",
        _mechanisms("biCast", LONG_MS),
        _NEWEST,
        "no-path, drops newest",
        {
            "a full buffer drops the oldest": replace(_NEWEST, drop="oldest"),
            "filled from 100 ms before the break on: source trigger": replace(_NEWEST, trigger="source"),
        },
        (
            Panel(("reno", "Buffer", -300)),
            Panel(("reno", "Buffer", -300), "a full buffer drops the oldest"),
        ),
        "Reno",
        0.2,
        1.8,
        "Buffer is the worst of the three mechanisms only where candidates are filled all the time and drop the "
        "newest: they keep packets that the host has had. It gets them first, each makes it repeat its last "
        "acknowledgement, and what was lost still waits for the timer.",
    ),
    Effect(
        "buffer-overlap",
        "throughput with noBuffer minus that with Buffer, overlaps of 100 to 500 ms",
        _mechanisms("noBuffer", OVERLAPS_MS),
        DEFAULT,
        "default",
        {
            "layer 2 drops second copies": Reading(duplicates="drop"),
            "nothing kept before the host comes: lead 0": Reading(lead_ms=0),
        },
        (Panel(("reno", "Buffer", 200)), Panel(("reno", "Buffer", 200), "layer 2 drops second copies")),
        "Reno",
        0.2,
        0.8,
        "The packets kept before the host came make the new branch late by as long as they take on the air. When the "
        "old branch ends, the new one brings what the host has had: a row of duplicate acknowledgements that looks "
        "like a loss, and the window is cut. SACK hears that nothing is missing. What is left without "
        "second copies has a cause that no rerun isolates.",
    ),
    Effect(
        "tahoe",
        "Buffer, overlaps of 300 to 500 ms: throughput of Tahoe minus that of Reno",
        {
            "Tahoe minus Reno": (
                tuple(("tahoe", "Buffer", delay) for delay in LONG_OVERLAPS_MS),
                tuple(("reno", "Buffer", delay) for delay in LONG_OVERLAPS_MS),
            )
        },
        DEFAULT,
        "default",
        {
            "layer 2 drops second copies": Reading(duplicates="drop"),
            "nothing kept before the host comes: lead 0": Reading(lead_ms=0),
        },
        (
            Panel(("reno", "Buffer", 300)),
            Panel(("tahoe", "Buffer", 300)),
            Panel(("reno", "Buffer", 300), "layer 2 drops second copies"),
        ),
        "Tahoe minus Reno",
        0.2,
        1.3,
        "Second copies that reach TCP start fast retransmits: one a handover with Tahoe, and 3.4 to 5.3 with Reno. If "
        "layer 2 drops them, the two have the same throughput. In overlaps of 100 and 200 ms Reno has about one, and "
        "is above Tahoe. No rerun isolates why Tahoe has no more than one.",
    ),
)

Gathered: TypeAlias = "dict[str, dict[str, Evidence]]"
"""By effect, and by what is taken away ("": nothing)."""


def gather(batch: Batch, runs: int) -> Gathered:
    """Asks for the runs of all effects, with their causes and without."""
    few = evidence.few_runs(runs)
    return {
        effect.name: {
            taken: evidence.of_cases(batch, reading, few, effect.cases)
            for taken, reading in effect.readings.items()
        }
        for effect in EFFECTS
    }


def values(effect: Effect, row: str, found: Evidence) -> Values:
    """The difference of a row, run by run."""
    better, worse = (
        np.mean([claims.throughput(found, *case) for case in side], axis=0) for side in effect.of[row]
    )
    return np.asarray(better - worse)


def counts(effect: Effect, row: str, found: Evidence, field: str) -> Interval:
    """A count of the runs of the cases that are worse, per handover."""
    cases = [found.moved[case] for case in effect.of[row][1]]
    per_run = np.mean([[getattr(run, field) / HANDOVERS for run in runs] for runs in cases], axis=0)
    return student(per_run.tolist())


@dataclass(frozen=True)
class Explained:
    """An effect with its runs."""

    effect: Effect
    found: dict[str, Evidence]
    """By the names of its readings."""
    run: int
    """The one that is drawn."""
    handovers: list[Handover]
    """One for each panel."""


def explain(gathered: Gathered, store: Path, threads: int) -> list[Explained]:
    """Records in detail the runs that are drawn: each effect's median one, once what was gathered is made."""
    batch = Batch()
    record = {"deliveries": True, "packets": True, "tcp": True, "queues": []}
    asked: list[tuple[Effect, dict[str, Evidence], int, dict[int, list[Handover]]]] = []
    for effect in EFFECTS:
        found = gathered[effect.name]
        effects = values(effect, effect.median_of, found[""])
        run = int(np.argsort(effects, kind="stable")[(effects.size - 1) // 2])
        wanted: dict[int, list[Handover]] = {}
        for number, panel in enumerate(effect.panels):
            reading = effect.readings[panel.without]
            scenario = experiments.handovers(*panel.case, reading, run)
            take = partial(
                median_handover,
                flow=FLOW,
                turns_ns=experiments.turns_ns(reading, run),
                before_s=effect.before_s,
                after_s=effect.after_s,
            )
            wanted |= batch.each({number: (scenario.set("record", record), range(run, run + 1))}, take)
        asked.append((effect, found, run, wanted))
    batch.make(store, threads)
    return [
        Explained(effect, found, run, [handover for (handover,) in panels.values()])
        for effect, found, run, panels in asked
    ]
