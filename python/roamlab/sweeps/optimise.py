"""The best setting of fields by a race, with a statement that holds with 95 %."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import polars as pl

from roamlab.base.calls import TEXT, Kind, called, no_attribute, public
from roamlab.base.errors import BadInput, warn
from roamlab.base.inputs import home
from roamlab.base.quantities import counted, number, scale, with_unit
from roamlab.base.screen import escape
from roamlab.records.frame import Frame
from roamlab.records.storage.shards import Shards
from roamlab.running.executor import LocalPool
from roamlab.running.progress import Steps
from roamlab.running.summary import Name, check, undefined, unit
from roamlab.scenarios.scenario import check_number, of
from roamlab.statistics.race import FIRST_LOOK, Levels, looks, race
from roamlab.statistics.stats import CONFIDENCE, clopper_pearson, student
from roamlab.statistics.stopping import seed as stream
from roamlab.sweeps.design import BadDesign, Grid, Listed
from roamlab.sweeps.plan import Plan, measurement_of
from roamlab.sweeps.runs import NO_CHANCE, Runs
from roamlab.sweeps.sweep import STORE, execute
from roamlab.sweeps.threshold import Condition, condition_of
from roamlab.sweeps.words import heading

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from roamlab.running.executor import Executor
    from roamlab.scenarios.scenario import Scenario
    from roamlab.statistics.race import Finish

_NAMED = 6
"""Settings that the sentence names at most."""


@public()
@dataclass(frozen=True, repr=False)
class Optimum:
    """Result of `roamlab.optimise`: the settings that can be the best, and how far each can be from it.

    `tried` has a row for each setting in the order of the grid: its number `point` and `name`, and its `runs`. It has
    the `mean` of the metric with its own 95 % interval (`low`, `high`), and how many runs `met` the condition. `state`
    is "best" (not distinguishable from the best), "beaten" (not the best), "fails" (shown to miss the condition) or
    "open" (not shown to meet it). `behind` is the upper bound, in the metric's unit, of the distance of its mean to the
    best one; null for a setting that left. All states and all of `behind` are right together with 95 %.

    `runs` has all runs. `correlation` is that between the runs of two settings after 8 runs, in the mean (NaN: no
    spread): pairing multiplies the variance of a difference by 1 - correlation.
    """

    over: tuple[str, ...]
    objective: str
    where: str | None
    share: float
    tolerance: float
    tried: pl.DataFrame
    runs: Runs
    correlation: float
    combinations: int
    """Combinations of the values in `over`; `tried` has fewer with `coarse`."""

    def __getattr__(self, name: str) -> NoReturn:
        hint = ".best has the names of the settings that can be the best, .cheapest the first of them, .tried each"
        raise no_attribute("Optimum", name, () if name in ("value", "values") else dir(type(self)), hint)

    def __eq__(self, other: object) -> bool:
        """True if both searched for the same, with the same runs."""
        if not isinstance(other, Optimum):
            return NotImplemented
        mine, theirs = ((each.over, each.objective, each.where, each.share) for each in (self, other))
        return mine == theirs and self.tried.equals(other.tried)

    def __hash__(self) -> int:
        return hash((self.over, self.objective))

    @property
    def metric(self) -> str:
        """The metric of the objective."""
        return self.objective.split()[1]

    @cached_property
    def best(self) -> list[str]:
        """The names of the settings that are not distinguishable from the best, in the order of the grid."""
        return self.tried.filter(pl.col("state") == "best")["name"].to_list()

    @property
    def cheapest(self) -> str | None:
        """The first of `best`: values are listed from the cheapest on, and the first field counts most."""
        return self.best[0] if self.best else None

    @property
    def leader(self) -> str | None:
        """The one of `best` with the best mean."""
        rows = self.tried.filter(pl.col("state") == "best")
        ordered = rows.sort("mean", descending=self.objective.startswith("max"), maintain_order=True)
        names: list[str] = ordered["name"].to_list()
        return names[0] if names else None

    @property
    def alike(self) -> bool:
        """All runs of each setting were equal: nothing that was measured depends on chance."""
        return self.runs.equal

    def __repr__(self) -> str:
        return self.sentence

    @property
    def sentence(self) -> str:
        """The answer as a sentence."""
        total = self.tried.height
        tried = f" tried of {self.combinations}" if total < self.combinations else ""
        of = f"{counted(total, 'setting')}{tried} of {', '.join(self.over)}"
        what = f"{_DIRECTIONS[self.objective.split()[0]][0]} {heading(self.metric)}"
        if self.where is not None:
            what += f" with {self.where} in {100 * self.share:g}% of runs"
        said = [self._answer(of, what)]
        count = self.tried.filter(pl.col("state") == "open").height
        if count:
            said.append(
                f"{count} of {total} settings are open: too few runs to tell whether they meet the condition"
            )
        if self.alike:
            said.append(f"the confidence has no meaning: all runs of a setting are equal, {NO_CHANCE}")
        return "; ".join(said)

    def _answer(self, of: str, what: str) -> str:
        if not self.best:
            return f"{what}: none of {of} is shown to meet the condition ({CONFIDENCE:.0%} confidence)"
        if len(self.best) == 1:
            if self.tried.filter(pl.col("state") == "open").height:
                return f"{what}: {self.best[0]} of those of {of} that are shown to meet the condition"
            return f"{what}: {self.best[0]} is the best of {of} ({CONFIDENCE:.0%} confidence)"
        names = self.best if len(self.best) <= _NAMED else [*self.best[: _NAMED - 1], "…", self.best[-1]]
        return (
            f"{what}: the best of {of} is among {counted(len(self.best), 'setting')} ({'; '.join(names)}), and each is "
            f"within {self._within()} of it ({CONFIDENCE:.0%} confidence); {self.leader} has the best mean, and "
            f"{self.cheapest} is the cheapest of them"
        )

    def _within(self) -> str:
        """The largest distance to the best mean: its share of that mean, or the amount if the mean is 0."""
        rows = self.tried.filter(pl.col("state") == "best")
        most = float(rows["behind"].max())  # type: ignore[arg-type]
        mean = _best_mean(rows["mean"].to_list(), self.objective)
        if mean:
            return f"{100 * most / abs(mean):.2g} %"
        factor, name = scale([most], unit(self.metric))
        return with_unit(number(most / factor), name)

    def _repr_html_(self) -> str:
        return f"{escape(repr(self))}{self.tried._repr_html_()}"


_DIRECTIONS = {"max": ("largest", 1.0), "min": ("smallest", -1.0)}
"""First words of an objective: in a sentence, and the sign with which a larger value is better."""


def _best_mean(means: Sequence[float], objective: str) -> float:
    return max(means) if objective.startswith("max") else min(means)


_OBJECTIVE = Kind(
    (str,), TEXT.expected, 'write an objective in quotes: objective="max flows.download.goodput_bps"'
)


@called(scenario=None, over=None, objective=_OBJECTIVE, where=None, tolerance=None, share=None)
def optimise(
    scenario: Scenario | str | Path,
    over: Mapping[str, Sequence[Any]],
    *,
    objective: str,
    where: str | None = None,
    share: float = 0.95,
    tolerance: float = 0.02,
    budget: int = 64,
    coarse: int = 1,
    seed: int = 1,
    store: str | Path = STORE,
    executor: Executor | None = None,
) -> Optimum:
    """The best of all combinations of values of the fields in `over`, by a race.

    `over` is a dictionary of paths and their values, as for a grid of `roamlab.sweep`: numbers, quantities or names,
    listed from the cheapest on. `objective` is "max" or "min" and a metric: "max flows.moving.goodput_bps". `where` is
    a condition, as for `roamlab.smallest`, that at least `share` of the runs are to meet.

    Run n of all settings has the same random streams. After 8, 16, 32, … runs, `budget` at most, a setting leaves that
    another one is shown to beat, or that is shown to fail the condition. The race ends early with one setting, or when
    all that are left are within `tolerance` (a share of the best mean).

    With `coarse` above 1 a pilot chooses the settings that race. It begins with every `coarse`-th value of each field
    and the last, and continues with the neighbours of the best mean at half the distance, down to 1. It has 8 runs of
    each setting with other random streams, so the statement about the race is as certain. It is about the settings
    tried alone.

    Runs in `store` are not made again, so an
    interrupted race continues. `docs/optimise.md` has the rule (successive elimination; multiple comparisons with the
    best after Hsu 1981).

    Raises `BadInput` if an argument cannot be used, if the budget is too small to show that any setting meets the
    condition, or if a run does not define a metric.
    """
    base = of(scenario)
    check_number("seed", seed)
    warn(base.warnings)
    direction, metric = _objective(objective)
    condition = None if where is None else condition_of(where)
    _check_numbers(share, tolerance, budget, coarse)
    grid = _grid(over)
    if condition is not None and coarse == 1:
        _check_budget(budget, len(grid), share)
    ask = _Ask(base, direction, metric, condition, Path(store), executor or LocalPool())
    design: Grid | Listed = grid
    if coarse > 1:
        chosen = _refined(_Course(ask, grid, stream(f"{seed}/pilot")), grid, coarse, share)
        design = Listed([_changes(grid, point) for point in chosen])
        if condition is not None:
            _check_budget(budget, len(design), share)
    course = _Course(ask, design, int(seed))
    needed = None if condition is None else share
    finish = race(len(design), course.measure, budget=budget, tolerance=tolerance, share=needed)
    runs = course.all_runs(finish.runs)
    tried = _tried(runs, metric, finish)
    return Optimum(grid.axes, objective, where, share, tolerance, tried, runs, finish.correlation, len(grid))


def _changes(design: Grid | Listed, point: int) -> dict[str, Any]:
    """The fields of a point and their values."""
    return dict(zip(design.axes, design.values(point), strict=True))


def _refined(pilot: _Course, grid: Grid, coarse: int, share: float) -> list[int]:
    """The settings that a pilot chooses, in the order of the grid; of equal ones it continues around the cheapest.

    ASSUMPTION: with the values in their order the mean of the metric has one top, or the best top is seen at every
    `coarse`-th value.
    """
    sizes = [len(values) for values in grid.choices.values()]
    scores: dict[int, tuple[float, float]] = {}
    step, places = coarse, [sorted({*range(0, size, coarse), size - 1}) for size in sizes]
    while True:
        points = [int(np.ravel_multi_index(place, sizes)) for place in itertools.product(*places)]
        if new := [point for point in points if point not in scores]:
            values, met = pilot.measure(new, FIRST_LOOK)
            for point, row, kept in zip(new, values, met, strict=True):
                scores[point] = (min(share, float(kept.mean())), float(row.mean()))
        if step == 1:
            return sorted(scores)
        step //= 2
        best = np.unravel_index(max(scores, key=lambda point: (scores[point], -point)), sizes)
        places = [
            sorted({max(0, int(at) - step), int(at), min(size - 1, int(at) + step)})
            for at, size in zip(best, sizes, strict=True)
        ]


@dataclass(frozen=True)
class _Ask:
    """The measure, the scenario, and the place of the runs."""

    base: Scenario
    direction: float
    metric: str
    condition: Condition | None
    store: Path
    executor: Executor


class _Course:
    """Makes the runs of a race."""

    def __init__(self, ask: _Ask, design: Grid | Listed, seed: int) -> None:
        self._ask, self._design, self._seed = ask, design, seed
        of_condition = [] if ask.condition is None else [ask.condition.metric]
        self._metrics = [*dict.fromkeys([ask.metric, *of_condition])]
        self._steps = Steps()
        # All values first: a typing error shows before any run.
        self._plan(design, FIRST_LOOK)

    def _plan(self, design: Grid | Listed, runs: int) -> Plan:
        try:
            return Plan(self._ask.base, design, runs, self._seed, measurement_of(self._metrics, runs))
        except BadDesign as error:
            field = ".".join(part for part in error.field[1:] if isinstance(part, str))
            raise BadInput(
                f"over, field {field}" if field else "over",
                error.problem,
                expected=error.expected,
                remedy=error.remedy,
            ) from None

    def measure(self, which: Sequence[int], count: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The first runs of settings: values of which a larger one is better, and whether each meets the condition."""
        self._steps.tell(f"{counted(len(which), 'setting')} of {len(self._design)}, {count} runs of each")
        points = [_changes(self._design, point) for point in which]
        runs = execute(self._plan(Listed(points), count), self._ask.store, self._ask.executor)
        values = np.array(
            [self._defined(runs, self._ask.metric, at, point) for at, point in enumerate(which)]
        )
        met = np.ones(values.shape, dtype=bool)
        if self._ask.condition is not None:
            holds, bound = self._ask.condition.holds, self._ask.condition.bound
            for at, point in enumerate(which):
                found = self._defined(runs, self._ask.condition.metric, at, point)
                met[at] = [holds(value, bound) for value in found]
        return self._ask.direction * values, met

    def _defined(self, runs: Runs, metric: str, at: int, point: int) -> list[float]:
        found = runs.values(metric, at)
        lacking = sum(map(math.isnan, found))
        if lacking:
            reason = undefined(metric, self._ask.base)
            raise BadInput(
                f"metric {metric!r}",
                f"{lacking} of {len(found)} runs do not define it at {self._design.name(point)}"
                + (f": {reason}" if reason else ""),
                expected="a metric that every run defines",
                remedy="name another, such as the flow's goodput_bps",
            )
        return found

    def all_runs(self, counts: Sequence[int]) -> Runs:
        """The runs of all settings, `counts` of each, from the store."""
        store = home(self._ask.store)
        with Shards(store) as shards:
            return Runs.collect(self._plan(self._design, max(counts)), counts, store, shards)


def _tried(runs: Runs, metric: str, finish: Finish) -> pl.DataFrame:
    """A row for each setting, as `Optimum.tried` has it."""
    rows = []
    for point, state in enumerate(finish.states):
        found = student(runs.values(metric, point))
        behind = finish.behind[point]
        rows.append(
            {
                "point": point,
                "name": runs.plan.label(point),
                "runs": finish.runs[point],
                "mean": found.effect,
                "low": found.low,
                "high": found.high,
                "met": finish.met[point],
                "state": state,
                "behind": None if math.isnan(behind) else behind,
            }
        )
    return Frame.of(pl.DataFrame(rows, schema_overrides={"behind": pl.Float64}))


def _objective(text: str) -> tuple[float, str]:
    """The sign of an objective and its metric. Raises `BadInput`."""
    first, _, metric = text.strip().partition(" ")
    metric = metric.strip()
    if first not in _DIRECTIONS or not metric or " " in metric:
        said = text.strip()
        remedy = f'write "max {said}" or "min {said}"' if said and " " not in said else _FOR_EXAMPLE
        raise _refuse("objective", text, '"max" or "min", and a metric', remedy)
    check(metric, "objective", one=True)
    if "*" in metric and not Name.of(metric).over:
        raise _refuse("objective", text, "one metric", f'name the flow, or write "{first} mean({metric})"')
    return _DIRECTIONS[first][1], metric


_FOR_EXAMPLE = 'write "max flows.download.goodput_bps", for example'


def _grid(over: Any) -> Grid:
    """The settings. Raises `BadInput` unless there are two at least."""
    if isinstance(over, Grid):
        grid = over
    else:
        try:
            grid = Grid(over)
        except BadDesign as error:
            raise BadInput(
                "over",
                error.problem,
                expected=error.expected,
                remedy=_OVER if error.field == ("grid",) else error.remedy,
            ) from None
    if len(grid) < 2:
        raise _refuse("over", dict(grid.choices), "two settings or more", "list more values of the field")
    return grid


_OVER = 'write for example {"mobility.buffer.limit": ["4 pkt", "8 pkt", "16 pkt"]}'


def _check_numbers(share: Any, tolerance: Any, budget: Any, coarse: Any) -> None:
    if type(share) is not float or not 0 < share < 1:
        raise _refuse("share", share, "a number between 0 and 1", "write 0.95")
    if type(tolerance) not in (int, float) or not 0 <= tolerance < 1:
        raise _refuse("tolerance", tolerance, "a share of the best mean, from 0 to below 1", "write 0.02")
    if type(budget) is not int or budget < FIRST_LOOK:
        raise _refuse("budget", budget, f"a whole number from {FIRST_LOOK} on", "leave it out: 64")
    if type(coarse) is not int or coarse < 1:
        raise _refuse("coarse", coarse, "a whole number from 1 on", "leave it out: 1, all settings")


def _check_budget(budget: int, settings: int, share: float) -> None:
    """Raise `BadInput` if so few runs could not show that a setting meets the condition, even if all of them do."""

    def shows(runs: int) -> bool:
        level = Levels(settings, len(looks(FIRST_LOOK, runs)), condition=True).share
        return clopper_pearson(runs, runs, level)[0] >= share

    needed = budget
    while not shows(needed):
        needed += 1
    if needed > budget:
        raise _refuse(
            "budget",
            budget,
            f"{needed} runs of a setting or more: with fewer even runs that all meet the condition do not show that "
            f"{100 * share:g}% do, for {counted(settings, 'setting')} together",
            f"write {needed}, or a smaller `share`",
        )


def _refuse(name: str, value: object, expected: str, remedy: str) -> BadInput:
    return BadInput(f"{name} = {value!r}", "it cannot be used", expected=expected, remedy=remedy)
