"""The space of interpretations: the choices that a paper leaves open, and their search.

Each choice is an axis with plausible values. A setting has one value on each axis. Values that the text rules out are
tried alone, to show what they do, and are part of no other setting. The search tries, in this order:

1. the default, and each other value alone, each with many runs;
2. settings drawn by the values' weights, from which shares of the space are estimated;
3. each other value with all the values that change nothing alone, because such a value may matter with another one;
4. settings until all pairs of values are covered;
5. for each claim whose verdict never turned: single steps from the closest settings near the default. Also what a
   fitted model expects to be closest, among single steps from the closest setting of all and among settings anywhere;
6. for each claim whose verdict turned: the part of the change that is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations, product
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from roamlab.statistics.axes import permits
from roamlab.statistics.claims import turned
from roamlab.statistics.regression import (
    goals_of,
    margins_of,
    matrix_of,
    shares_of,
    terms_of,
    weights_of,
)
from roamlab.statistics.stats import Interval, share_interval

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from roamlab.statistics.axes import Axis, Outcome, Setting, Tried
    from roamlab.statistics.claims import Verdict

BATCH = 12
"""Settings that are tried together, between two looks at what they gave."""
DRAWN = 0.35
"""Part of the settings that are drawn by weight."""
FEW_VALUES = 5_000
"""A space of no more settings is listed whole."""


@dataclass(frozen=True)
class Effect:
    """How much of a margin's variance over the space an axis, or two together, account for; with bootstrap interval."""

    axes: tuple[str, ...]
    share: Interval


@dataclass(frozen=True)
class Robustness:
    """Where a claim holds, in the settings that were tried."""

    claim: str
    default: Verdict
    tried: int
    """The number of settings in which it was decided."""
    shares: Mapping[Verdict, Interval]
    """Of the settings that were drawn by weight."""
    turning: Setting | None
    """The smallest change of the default that makes the claim hold or, where it holds, contradicts it."""
    turned: int
    """In this number of the settings tried."""
    best: Setting
    """The setting with the largest margin."""
    effects: Sequence[Effect]

    nearest: Outcome
    """Result of `best`."""
    measures: Mapping[str, int]
    """Of each measure of the claim, in how many of the settings tried it holds."""
    most_measures: int
    """The largest number of measures that hold in one setting."""

    def line(self, axes: Sequence[Axis], again: tuple[Verdict, int] | None) -> str:
        """In one line; `again`: the verdict of this number of further runs at the turning point."""
        other = turned(self.default)
        begin = f"{self.default} under the default"
        if self.turning is None:
            nearest = "" if self.default == "holds" else f"; closest with {self.nearest_text(axes)}"
            parts = f", in which at most {self.most_measures} of {len(self.measures)} measures hold"
            told = parts if self.default != "holds" and len(self.measures) > 1 else ""
            return f"{begin}; {other} in none of the {self.tried} settings tried{told}{nearest}"
        under, count = changes(axes, self.turning), f"{self.turned} of {self.tried} settings"
        if again is None or again[0] != other:
            checked = (
                f"further runs do not confirm it: {again[0]} in {again[1]}"
                if again
                else "not checked by further runs"
            )
            return f"{begin}; {other} in {count} ({checked}), such as {under}"
        return f"{begin}; {other} in {count}, such as {under} (confirmed by {again[1]} further runs)"

    def nearest_text(self, axes: Sequence[Axis]) -> str:
        """The setting in which the claim comes nearest to holding, and how far it is there."""
        return f"{changes(axes, self.best)}: {self.nearest.far}"


@dataclass(frozen=True)
class Explored:
    """Result of a search."""

    axes: Sequence[Axis]
    tried: Tried
    drawn: Sequence[Setting]
    claims: Mapping[str, Robustness] = field(default_factory=dict)
    ruled_out: Tried = field(default_factory=dict)
    """The values alone that the text rules out: they are not among those tried."""


def changes(axes: Sequence[Axis], setting: Setting) -> str:
    """How a setting differs from the default, for people."""
    found = [
        f"{axis.what} {axis.values[at].label}" for axis, at in zip(axes, setting, strict=True) if at != 0
    ]
    return ", ".join(found) or "the default"


def explore(
    axes: Sequence[Axis],
    evaluate: Callable[[Sequence[Setting], bool], Sequence[Mapping[str, Outcome]]],
    budget: int,
    tell: Callable[[int], None] = lambda _: None,
) -> Explored:
    """Search a space with this number of settings; `evaluate` gives each claim's outcome under each of a few settings.

    Its second argument asks for a closer look, with more runs: at single values, and at settings that lean to a verdict
    and do not reach it. The default comes first and alone. Single values that the text rules out are tried in addition.
    Equal arguments give equal searches. `tell` hears how many settings were tried.
    """
    rng = np.random.default_rng(1)
    drawn = _draws(axes, max(1, round(budget * DRAWN)), rng)
    budget = min(budget, _size(axes))
    tried: Tried = {}
    ruled_out: Tried = {}

    def look(settings: Sequence[Setting], *, closely: bool, into: Tried = tried) -> None:
        for setting, found in zip(settings, evaluate(settings, closely), strict=True):
            into[setting] = dict(found)

    def go(settings: Iterable[Setting], *, closely: bool = False) -> None:
        plan = [each for each in dict.fromkeys(settings) if each not in tried][: budget - len(tried)]
        for at in range(0, len(plan), BATCH):
            look(plan[at : at + BATCH], closely=closely)
            tell(len(tried))

    default, *others = alone(axes)
    go([default], closely=True)
    # A small budget leaves room for what is drawn.
    singles = [each for each in others if permits(axes, each)]
    go(singles[: budget - len({default, *drawn} - {*singles})], closely=True)
    if len(tried) > len(singles):
        for at in range(0, len(excluded := [each for each in others if not permits(axes, each)]), BATCH):
            look(excluded[at : at + BATCH], closely=True, into=ruled_out)
    looked = set(tried)
    go(drawn)
    go(_with_idle(axes, tried))
    go(_cover(axes, list(tried), 2, rng))
    plan: Sequence[Setting] = ()
    while True:
        go(plan)
        closer = _leaning(axes, tried, looked)
        looked.update(closer)
        if closer:
            look(closer, closely=True)
        if len(tried) == budget:
            break
        plan = _next(axes, tried, rng)[:BATCH]
    kept = [setting for setting in drawn if setting in tried]
    return Explored(axes, tried, kept, judge(axes, tried, kept), ruled_out)


def beside(found: Explored, outcomes: Mapping[Setting, Mapping[str, Outcome]]) -> Explored:
    """A search with further claims, which did not steer it, decided in some of the settings that it tried."""
    tried, ruled_out = (
        {setting: {**own, **outcomes.get(setting, {})} for setting, own in of.items()}
        for of in (found.tried, found.ruled_out)
    )
    return replace(found, tried=tried, ruled_out=ruled_out, claims=judge(found.axes, tried, found.drawn))


def _size(axes: Sequence[Axis]) -> int:
    """How many settings the text permits."""
    return prod(len(axis.open) for axis in axes)


def alone(axes: Sequence[Axis]) -> list[Setting]:
    """The default, and each other value alone."""
    default = (0,) * len(axes)
    changed = (
        with_values(default, [(at, value)])
        for at, axis in enumerate(axes)
        for value in range(1, len(axis.values))
    )
    return [default, *changed]


def _with_idle(axes: Sequence[Axis], tried: Tried) -> list[Setting]:
    """Each change that alone does something, together with all those that alone do nothing: one of each axis.

    Which packet a full buffer drops does nothing where no buffer fills, and decides where another change fills it.
    """
    default, *changed = (each for each in alone(axes) if each in tried)
    idle = [each for each in changed if tried[each] == tried[default]]
    together = {at: value for each in reversed(idle) for at, value in enumerate(each) if value}
    if not idle:
        return []
    return [
        with_values(default, [*together.items(), *((at, value) for at, value in enumerate(each) if value)])
        for each in changed
        if each not in idle
    ]


def _draws(axes: Sequence[Axis], count: int, rng: np.random.Generator) -> list[Setting]:
    """Drawn by weight, with repetition: a share of them is a share of the space."""
    columns = [rng.choice(len(axis.values), size=count, p=axis.weights).tolist() for axis in axes]
    return list(zip(*columns, strict=True))


def anywhere(axes: Sequence[Axis], count: int, rng: np.random.Generator) -> list[Setting]:
    """Drawn whatever the weights."""
    columns = [rng.choice(axis.open, size=count).tolist() for axis in axes]
    return list(zip(*columns, strict=True))


class _Combinations:
    """Combinations of values on some number of axes, and which of them no setting has had.

    A combination is a number; they sort by the first axis and its value, then by the second, and so on.
    """

    def __init__(self, axes: Sequence[Axis], strength: int) -> None:
        sizes = [len(axis.values) for axis in axes]
        self._offsets = np.cumsum([0, *sizes[:-1]])
        self._strength, self._values = min(strength, len(axes)), sum(sizes)
        self._groups = np.array(list(combinations(range(len(axes)), self._strength)))
        self.missing = np.zeros(self._values**self._strength, dtype=bool)
        for group in self._groups:
            values = np.meshgrid(
                *(self._offsets[at] + np.array(axes[at].open) for at in group), indexing="ij"
            )
            self.missing[self._number(np.stack(values, axis=-1))] = True

    def _number(self, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers of combinations from those of their values; the last dimension is that of the combination."""
        powers = self._values ** np.arange(self._strength)[::-1]
        numbers: NDArray[np.int64] = values @ powers
        return numbers

    def of(self, settings: Sequence[Setting]) -> NDArray[np.int64]:
        """The combinations of each setting."""
        return self._number((np.array(settings) + self._offsets)[:, self._groups])

    def first_missing(self) -> list[tuple[int, int]]:
        """Axes and values of the first combination that is missing."""
        number, found = int(np.argmax(self.missing)), []
        for _ in range(self._strength):
            number, value = divmod(number, self._values)
            axis = int(np.searchsorted(self._offsets, value, side="right")) - 1
            found.append((axis, value - int(self._offsets[axis])))
        return found[::-1]


def _cover(
    axes: Sequence[Axis],
    settings: Sequence[Setting],
    strength: int,
    rng: np.random.Generator,
    most: int | None = None,
) -> list[Setting]:
    """Settings that, with those given, have every combination of values on `strength` axes, or `most` of them.

    Greedy: of some candidates around a missing combination, the one with most that are missing.
    """
    every = _Combinations(axes, strength)
    every.missing[every.of(settings)] = False
    found: list[Setting] = []
    while every.missing.any() and (most is None or len(found) < most):
        seed = every.first_missing()
        candidates = [with_values(each, seed) for each in _draws(axes, 30, rng)]
        theirs = every.of(candidates)
        best = int(np.argmax(every.missing[theirs].sum(axis=1)))
        found.append(candidates[best])
        every.missing[theirs[best]] = False
    return found


def with_values(setting: Setting, values: Iterable[tuple[int, int]]) -> Setting:
    """The setting with other values at these positions."""
    changed = list(setting)
    for at, value in values:
        changed[at] = value
    return tuple(changed)


def _next(axes: Sequence[Axis], tried: Tried, rng: np.random.Generator) -> list[Setting]:
    """Settings to try now: for each claim in turn what it needs most, and combinations of three values."""
    default = (0,) * len(axes)
    open_, parts = [], []
    for claim in tried[default]:
        other = turned(tried[default][claim].verdict)
        turning = _turning(axes, tried, claim)
        if turning is None:
            lists = [_stepwise(axes, tried, claim, other), *_promising(axes, tried, claim, other, rng)]
            open_.append([each for row in _turns(lists) for each in row])
        else:
            # Necessary part of the change: each part taken back, and each part alone.
            parts.append([each for each in _parts(turning) if each not in tried])
    lists = [*open_, *parts, _cover(axes, list(tried), 3, rng, most=4)]
    turns = [each for row in _turns(lists) for each in row]
    fresh = [each for each in dict.fromkeys(turns) if each not in tried]
    while len(fresh) < BATCH and len(fresh) + len(tried) < _size(axes):
        fresh += [each for each in anywhere(axes, 1, rng) if each not in tried and each not in fresh]
    return fresh


def _leaning(axes: Sequence[Axis], tried: Tried, looked: set[Setting]) -> list[Setting]:
    """Undecided settings that lean to a claim's other verdict and would tell most: the best, or parts of a turn."""
    found = []
    for claim, outcome in tried[(0,) * len(axes)].items():
        other = turned(outcome.verdict)
        sign = 1.0 if other == "holds" else -1.0
        turning = _turning(axes, tried, claim)
        leaning = [
            setting
            for setting in (tried if turning is None else _parts(turning))
            if setting in tried
            and setting not in looked
            and tried[setting][claim].verdict == "undecided"
            and sign * tried[setting][claim].margin > 0
        ]
        leaning.sort(key=lambda setting: -sign * tried[setting][claim].margin)
        found += leaning[: 1 if turning is None else None]
    return list(dict.fromkeys(found))


def _turns(lists: Sequence[Sequence[Setting]]) -> Iterator[list[Setting]]:
    for at in range(max(map(len, lists), default=0)):
        yield [each[at] for each in lists if at < len(each)]


def _turning(axes: Sequence[Axis], tried: Tried, claim: str) -> Setting | None:
    """The smallest change after which the verdict is the other; of equal ones the most plausible."""
    default = tried[(0,) * len(axes)]
    other = turned(default[claim].verdict)
    found = [setting for setting, outcomes in tried.items() if outcomes[claim].verdict == other]

    def order(setting: Setting) -> tuple[int, float, Setting]:
        weight = prod(float(axis.weights[at]) for axis, at in zip(axes, setting, strict=True))
        return sum(at != 0 for at in setting), -weight, setting

    return min(found, key=order, default=None)


def _parts(setting: Setting) -> list[Setting]:
    """With one change less, and each change alone."""
    changed = [at for at, value in enumerate(setting) if value]
    less = [with_values(setting, [(at, 0)]) for at in changed]
    alone = [tuple(value if at == one else 0 for at, value in enumerate(setting)) for one in changed]
    return less + alone


_NEAR = 3
"""A stepwise search begins at settings with fewer changes of the default than that."""
_BASES, _STEPS = 4, 8
"""Threshold for these, and the number of settings then."""


def _stepwise(axes: Sequence[Axis], tried: Tried, claim: str, other: Verdict) -> list[Setting]:
    """One change more than the best settings near the default: first the changes that alone bring most.

    Settings that are drawn differ from the default on most axes, and there the effect of two choices is lost among the
    others.
    """
    goals = dict(zip(tried, -goals_of(tried, claim, other), strict=True))

    def far(setting: Setting) -> float:
        return float(goals[setting])

    changes = sorted((each for each in alone(axes)[1:] if each in tried), key=far)
    near = sorted((each for each in tried if 0 < sum(at != 0 for at in each) < _NEAR), key=far)
    further = [
        [
            step
            for change in changes
            if not any(old and new for old, new in zip(base, change, strict=True))
            and (step := tuple(new or old for old, new in zip(base, change, strict=True))) not in tried
        ]
        for base in near[:_BASES]
    ]
    return list(dict.fromkeys(each for row in _turns(further) for each in row))[:_STEPS]


def _promising(
    axes: Sequence[Axis], tried: Tried, claim: str, other: Verdict, rng: np.random.Generator
) -> list[list[Setting]]:
    """Settings not tried yet that the model expects nearest to the other verdict: around the best, and anywhere.

    Around the best setting one axis changes, so that each step there can be a small one upwards. Anywhere the model has
    to add up more effects than the settings tried can tell apart.
    """
    settings = list(tried)
    goals = goals_of(tried, claim, other)
    weights = weights_of(matrix_of(axes, settings), goals)
    best, *near = (settings[at] for at in np.argsort(-goals, kind="stable")[:4])
    anyone = {step for setting in near for step in steps_from(axes, setting)}
    if _size(axes) <= FEW_VALUES:
        anyone |= set(product(*(axis.open for axis in axes)))
    else:
        anyone |= set(anywhere(axes, 2000, rng))

    def expected(candidates: set[Setting]) -> list[Setting]:
        fresh = sorted(candidates - tried.keys())
        if not fresh:
            return []
        order = np.argsort(-(matrix_of(axes, fresh) @ weights), kind="stable")
        return [fresh[at] for at in order[:4]]

    return [expected(steps_from(axes, best)), expected(anyone)]


def steps_from(axes: Sequence[Axis], setting: Setting) -> set[Setting]:
    """The setting, and those with another value on one axis, of those that the text permits."""
    return {with_values(setting, [(at, value)]) for at, axis in enumerate(axes) for value in axis.open}


_RESAMPLES = 60
_SHOWN = 0.05
"""Shares of variance below this are not reported."""


def _effects(axes: Sequence[Axis], tried: Tried, claim: str) -> list[Effect]:
    """Axes and pairs that decide a claim, largest first."""
    settings, margins = list(tried), margins_of(tried, claim)
    if np.ptp(margins) == 0.0:
        return []
    rng = np.random.default_rng(2)
    terms, matrix = terms_of(axes), matrix_of(axes, settings)
    space = matrix_of(axes, _draws(axes, 500, rng))
    found = shares_of(terms, space, weights_of(matrix, margins))
    resampled = []
    for _ in range(_RESAMPLES):
        chosen = rng.integers(len(settings), size=len(settings))
        resampled.append(shares_of(terms, space, weights_of(matrix[chosen], margins[chosen])))
    effects = []
    for term, share in found.items():
        if share >= _SHOWN:
            low, high = np.quantile([each[term] for each in resampled], [0.025, 0.975])
            interval = Interval(share, min(float(low), share), max(float(high), share), len(settings))
            effects.append(Effect(tuple(axes[at].what for at in term), interval))
    return sorted(effects, key=lambda effect: -effect.share.effect)


_VERDICTS: tuple[Verdict, ...] = ("holds", "undecided", "contradicted")


def judge(axes: Sequence[Axis], every: Tried, drawn: Sequence[Setting]) -> dict[str, Robustness]:
    """Where each claim holds, in the settings in which it was decided; some that were drawn are among them."""
    default = every[(0,) * len(axes)]
    found = {}
    for claim in default:
        tried = {setting: outcomes for setting, outcomes in every.items() if claim in outcomes}
        best = max(tried, key=lambda setting: tried[setting][claim].margin)
        verdicts = [tried[setting][claim].verdict for setting in drawn if setting in tried]
        found[claim] = Robustness(
            claim=claim,
            default=default[claim].verdict,
            tried=len(tried),
            shares={each: share_interval(verdicts.count(each), len(verdicts)) for each in _VERDICTS},
            turning=_turning(axes, tried, claim),
            turned=sum(each[claim].verdict == turned(default[claim].verdict) for each in tried.values()),
            best=best,
            nearest=tried[best][claim],
            measures={
                what: sum(what in each[claim].held for each in tried.values())
                for what in dict.fromkeys(what for each in tried.values() for what in each[claim].measures)
            },
            most_measures=max(len(each[claim].held) for each in tried.values()),
            effects=_effects(axes, tried, claim),
        )
    return found
