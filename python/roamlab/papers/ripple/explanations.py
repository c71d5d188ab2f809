"""The paper's surprising results, explained: under which interpretation each occurs, and reruns without its cause.

An effect is what the paper finds surprising as a difference of throughputs, positive where it occurs. A rerun differs
from its interpretation in one thing, the cause; if the cause is the right one, the difference is gone.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from roamlab.papers.ripple import claims, evidence, experiments
from roamlab.papers.ripple.claims import NAMES
from roamlab.papers.ripple.experiments import DEFAULT, HANDOVERS, TCPS, Interpretation
from roamlab.papers.ripple.handover import median_handover
from roamlab.papers.ripple.measures import FLOW
from roamlab.papers.runs import Batch
from roamlab.statistics.stats import student

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from roamlab.papers.ripple.claims import Values
    from roamlab.papers.ripple.evidence import Case, Evidence
    from roamlab.papers.ripple.handover import Handover
    from roamlab.statistics.stats import Interval

Cases: TypeAlias = "tuple[Case, ...]"


@dataclass(frozen=True)
class Panel:
    """A handover to draw: a case under an interpretation of its effect; "" is the one under which it occurs."""

    case: Case
    without: str = ""


@dataclass(frozen=True)
class Effect:
    """A surprising difference, the interpretation under which it occurs, and those without its cause."""

    name: str
    what: str
    of: dict[str, tuple[Cases, Cases]]
    """By what the row is about: the cases that are better, by the paper's surprise, and those that are worse."""
    interpretation: Interpretation
    called: str
    """Name of the interpretation in tables."""
    without: dict[str, Interpretation]
    """By what is taken away."""
    panels: tuple[Panel, ...]
    median_of: str
    """The run that is drawn has the median effect of this row."""
    before_s: float
    after_s: float
    why: str

    @property
    def interpretations(self) -> dict[str, Interpretation]:
        """The interpretation under which it occurs, by "", those without its cause, and the default."""
        found = {"": self.interpretation, **self.without}
        return found if self.interpretation == DEFAULT else found | {"default": DEFAULT}

    @property
    def cases(self) -> list[Case]:
        """All that are run."""
        return sorted({case for pair in self.of.values() for side in pair for case in side})


def _cases(side: Mapping[str, Any], tcp: str) -> Cases:
    return tuple((side.get("tcp", tcp), side["mechanism"], delay) for delay in side["delays_ms"])


def _effect(entry: dict[str, Any]) -> Effect:
    """From an entry of `effects.toml`: `setting` and `without` have changes of the default setting.

    `better` and `worse` are cases of each TCP, or of one.
    """
    sides, setting = (entry.pop("better"), entry.pop("worse")), Interpretation(**entry.pop("setting", {}))
    names = {entry["median_of"]: ""} if "tcp" in sides[0] else {NAMES[tcp]: tcp for tcp in TCPS}
    without = {name: replace(setting, **changes) for name, changes in entry.pop("without").items()}
    panels = tuple(Panel((tcp, way, delay), *taken) for tcp, way, delay, *taken in entry.pop("panels"))
    of = {name: (_cases(sides[0], tcp), _cases(sides[1], tcp)) for name, tcp in names.items()}
    return Effect(**entry, of=of, interpretation=setting, without=without, panels=panels)


_DATA = Path(__file__).with_name("effects.toml")
EFFECTS = tuple(map(_effect, tomllib.loads(_DATA.read_text(encoding="utf-8"))["effect"]))
NAMES_OF_EFFECTS = tuple(effect.name for effect in EFFECTS)

Gathered: TypeAlias = "dict[str, dict[str, Evidence]]"
"""By effect, and by what is taken away ("": nothing)."""


def gather(batch: Batch, runs: int, names: Collection[str] = NAMES_OF_EFFECTS) -> Gathered:
    """Asks for the runs of the effects of these names, with their causes and without."""
    few = evidence.few_runs(runs)
    return {
        effect.name: {
            taken: evidence.of_cases(batch, interpretation, few, effect.cases)
            for taken, interpretation in effect.interpretations.items()
        }
        for effect in EFFECTS
        if effect.name in names
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
    """By the names of its interpretations."""
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
        if (found := gathered.get(effect.name)) is None:
            continue
        effects = values(effect, effect.median_of, found[""])
        run = int(np.argsort(effects, kind="stable")[(effects.size - 1) // 2])
        wanted: dict[int, list[Handover]] = {}
        for number, panel in enumerate(effect.panels):
            interpretation = effect.interpretations[panel.without]
            scenario = experiments.handovers(*panel.case, interpretation, run)
            take = partial(
                median_handover,
                flow=FLOW,
                turns_ns=experiments.turns_ns(interpretation, run),
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
