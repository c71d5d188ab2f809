"""A paper's claims with their sentences, and measures of values that runs have."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from roamlab.papers import texts
from roamlab.statistics.claims import Claim, Measure
from roamlab.statistics.stats import Interval, largest, paired, smallest, student

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from roamlab.statistics.claims import Claimed

    Pick = str | Callable[[Any], float]
    """A value of a run: a field by its name, or a function of the run."""


def claim(name: str, measures: Iterable[Measure], setting: object = "", **values: object) -> Claim:
    """A claim with the sentences that its paper's `paper.toml` has for it.

    `setting` is what the runs were made under; `values` fill the other fields in braces.
    """
    of = texts(name.partition(".")[0]).claims[name]
    interpretation, why = (of[part].format(setting=setting, **values) for part in ("interpretation", "why"))
    return Claim(name, of["statement"], tuple(measures), interpretation, why, of.get("kind", "result"))


def each(runs: Iterable[Any], pick: Pick) -> list[float]:
    """The value of each run."""
    return [getattr(run, pick) if isinstance(pick, str) else pick(run) for run in runs]


def mean(what: str, runs: Sequence[Any], pick: Pick, unit: str, claimed: Claimed) -> Measure:
    """The mean of a value."""
    return Measure(what, student(each(runs, pick)), unit, claimed)


def defined(what: str, values: Iterable[float], unit: str, claimed: Claimed) -> Measure:
    """The mean of the runs that define a value; the others have NaN. If none defines it, nothing is known of it."""
    known = [value for value in values if math.isfinite(value)]
    mean = student(known) if known else Interval(0.0, -math.inf, math.inf, 0)
    return Measure(what, mean, unit, claimed)


def difference(
    what: str, after: Sequence[Any], before: Sequence[Any], pick: Pick, unit: str, claimed: Claimed
) -> Measure:
    """The mean difference of a value between two sets of runs with the same seeds."""
    return Measure(what, paired(each(after, pick), each(before, pick)), unit, claimed)


def most(what: str, runs: Sequence[Any], pick: Pick, unit: str, claimed: Claimed) -> Measure:
    """The largest value of a run."""
    return Measure(what, largest(each(runs, pick)), unit, claimed)


def least(what: str, runs: Sequence[Any], pick: Pick, unit: str, claimed: Claimed) -> Measure:
    """The smallest value of a run."""
    return Measure(what, smallest(each(runs, pick)), unit, claimed)
