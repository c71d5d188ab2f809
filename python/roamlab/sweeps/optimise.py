"""The settings that may be the best ones, with a bound on how far each is behind the best."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import polars as pl

from roamlab.base.calls import called, no_attribute, public
from roamlab.base.errors import BadInput, warn
from roamlab.base.quantities import counted, number, scale, with_unit
from roamlab.base.screen import escape
from roamlab.records.frame import Frame
from roamlab.running.executor import LocalPool
from roamlab.running.progress import Steps
from roamlab.running.summary import check, undefined, unit
from roamlab.scenarios.scenario import check_number, of
from roamlab.statistics import race
from roamlab.statistics.stats import CONFIDENCE, clopper_pearson, student
from roamlab.sweeps.design import Grid, Listed
from roamlab.sweeps.plan import Plan, measurement_of
from roamlab.sweeps.sweep import STORE, execute
from roamlab.sweeps.threshold import Condition, condition_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roamlab.running.executor import Executor
    from roamlab.scenarios.scenario import Scenario
    from roamlab.sweeps.runs import Runs

MOST = 500
"""Settings of a race at most."""
BEST, WORSE, FAILS, OPEN = "may be the best", "worse", "fails the condition", "open"
"""Verdicts on a setting; `OPEN`: too few runs to show whether it meets the condition."""


@public()
@dataclass(frozen=True, repr=False)
class Optimum:
    """Result of a race of settings. `tried` has a row for each: its values, runs, mean with 95 % interval and verdict.

    With 95 % confidence the best setting is among those that "may be the best", and each of these is behind it by at
    most its `behind`, in the metric's unit. `met` is the number of runs that met the condition, if there was one.
    """

    objective: str
    where: str | None
    share: float
    within: float
    tried: pl.DataFrame
    correlation: float
    """Of the runs of two settings, on average: pairing spares this part of the variance of differences."""
    first: Runs = field(compare=False)
    """The runs of the first look, which all settings have."""

    def __getattr__(self, name: str) -> NoReturn:
        hint = ".name is the setting, .best has those that may be the best, .tried all, .sentence the answer"
        raise no_attribute("Optimum", name, dir(type(self)), hint)

    @property
    def best(self) -> pl.DataFrame:
        """The settings that may be the best, in the order in which they were written."""
        return Frame.of(self.tried.filter(pl.col("verdict") == BEST))

    @property
    def sentence(self) -> str:
        """The answer."""
        sense, metric = self.objective.split(" ", 1)
        what = f"the {'largest' if sense == 'max' else 'smallest'} mean of {metric}"
        best, settings = self.best, self.tried.height
        condition = f"{self.where} in {100 * self.share:g} % of runs" if self.where else ""
        left = int((self.tried["verdict"] == OPEN).sum())
        more = f" {counted(left, 'setting is', 'settings are')} open: too few runs." if left else ""
        if best.is_empty():
            return f"No setting was shown to have {condition}.{more}"
        sure = f"With {100 * CONFIDENCE:g} % confidence"
        of = f" with {condition}" if condition else ""
        if best.height == 1:
            said = f"{sure} {what}{of} is that of {self.name}, the best of {settings} settings"
            return f"{said}.{more}"
        behind = max(best["behind"].to_list())
        means = [abs(mean) for mean in best["mean"].to_list()]
        factor, its_unit = scale([*means, behind], unit(metric))
        part = f", {100 * behind / max(means):.1f} % of it" if max(means) else ""
        if behind == 0:
            return (
                f"{sure} {what}{of} is that of one of these {best.height} of {settings} settings, which are equal in "
                f"every run. The first of them, in the order in which they were written, is {self.name}.{more}"
            )
        percent = f"{100 * self.within:g} %"
        chosen = (
            f"The first that is at most {percent} behind, in the order in which they were written, is {self.name}."
            if self._is_near.any()
            else f"None is shown to be at most {percent} behind; the best mean so far is that of {self.name}."
        )
        return (
            f"{sure} {what}{of} is that of one of these {best.height} of {settings} settings, and each of them is at "
            f"most {with_unit(number(behind / factor), its_unit)} behind it{part}. {chosen}{more}"
        )

    @property
    def name(self) -> str | None:
        """The first setting that is within `within` of the best; otherwise that of the best mean, or None."""
        best = self.best
        if best.is_empty():
            return None
        if (near := best.filter(self._is_near)).height:
            return str(near["name"][0])
        means = best["mean"].to_list()
        chosen = max(means) if self.objective.startswith("max ") else min(means)
        return str(best["name"][means.index(chosen)])

    @property
    def _is_near(self) -> pl.Series:
        best = self.best
        return best["behind"] <= self.within * best["mean"].abs().max()  # type: ignore[operator]

    def __repr__(self) -> str:
        return f"Optimum: {self.sentence}"

    def _repr_html_(self) -> str:
        return f"{escape(repr(self))}{self.tried._repr_html_()}"


@called(scenario=None, over=None)
def optimise(
    scenario: Scenario | str | Path,
    over: Mapping[str, Sequence[Any]],
    *,
    objective: str,
    where: str | None = None,
    share: float = 0.95,
    within: float = 0.02,
    budget: int = 256,
    seed: int = 1,
    store: str | Path = STORE,
    executor: Executor | None = None,
) -> Optimum:
    """The settings over which the mean of a metric may be best, from as few runs as show it.

    `over` has the values of each field; all combinations are tried, 500 at most. Write cheap values first. `objective`
    is "max METRIC" or "min METRIC". With `where`, a metric with a comparison and a number, only settings count of which
    at least `share` of the runs meet it.

    Run n has the same random streams in all settings. Each has 8, 16, 32, … runs, `budget` at most. After each look one
    leaves if another one is surely better, or if it surely fails the condition. The race ends when all that are left
    are within `within` of the best, as a part of its mean. All statements are right together with 95 %. The means of
    differences should be nearly normal. `docs/optimise.md` has the rules.

    Raises `BadInput` if an argument cannot be used, or if a run does not define the metric.
    """
    base = of(scenario)
    check_number("seed", seed)
    warn(base.warnings)
    found = re.fullmatch(r"\s*(max|min)\s+(\S+)\s*", objective)
    if found is None:
        raise _refuse(
            "objective", objective, '"max METRIC" or "min METRIC"', 'write "max flows.download.goodput_bps"'
        )
    check(found[2], "objective", one=True)
    if not 0 < share < 1:
        raise _refuse("share", share, "a number between 0 and 1", "write 0.95")
    if not 0 <= within < 1:
        raise _refuse("within", within, "a part of the mean, from 0 to below 1", "write 0.02")
    if type(budget) is not int or budget < race.FIRST_LOOK:
        raise _refuse("budget", budget, f"a whole number from {race.FIRST_LOOK} on", "leave it out: 256")
    grid = Grid(over)
    if not 2 <= len(grid) <= MOST:
        raise _refuse(
            "over",
            f"{len(grid)} settings",
            f"2 to {MOST} settings",
            "write fewer values, and search again around the best",
        )
    condition = condition_of(where) if where else None
    made = _Race(
        base, grid, found[2], found[1] == "max", condition, share, within, budget, int(seed), store, executor
    )
    made.run()
    return Optimum(f"{found[1]} {found[2]}", where, share, within, made.tried(), made.correlation, made.first)


class _Race:
    """The looks, one after the other."""

    def __init__(
        self,
        base: Scenario,
        grid: Grid,
        metric: str,
        is_largest: bool,
        condition: Condition | None,
        share: float,
        within: float,
        budget: int,
        seed: int,
        store: str | Path,
        executor: Executor | None,
    ) -> None:
        self._base, self._grid, self._metric, self._condition = base, grid, metric, condition
        self._sign = 1.0 if is_largest else -1.0
        self._share, self._within, self._seed, self._store, self._executor = (
            share,
            within,
            seed,
            store,
            executor,
        )
        self._looks = race.looks(budget)
        count, error = len(grid), (1 - CONFIDENCE) / (2 if condition else 1)
        self._error = error / (len(self._looks) * (count - 1))
        self._condition_error = error / (len(self._looks) * count)
        self._values: dict[int, list[float]] = {}
        self._met: dict[int, int] = {}
        self._verdicts = dict.fromkeys(range(count), OPEN if condition else BEST)
        self._behind: dict[int, float] = {}
        self.correlation = math.nan
        self._steps = Steps()
        self.first: Runs

    def run(self) -> None:
        """Make the runs of all looks that are needed."""
        alive = list(range(len(self._grid)))
        for runs in self._looks:
            self._measure(alive, runs)
            if runs == self._looks[0]:
                self.correlation = race.correlation(self._values)
            alive = self._judged(alive, runs)
            self._steps.tell(
                f"{counted(len(alive), 'setting')} of {len(self._grid)} left after {counted(runs, 'run')} of each"
            )
            if self._is_over(alive):
                break

    def _judged(self, alive: list[int], runs: int) -> list[int]:
        """The settings that are left after a look."""
        if self._condition is not None:
            for at in alive:
                low, high = clopper_pearson(self._met[at], runs, 2 * self._condition_error)
                self._verdicts[at] = BEST if low >= self._share else FAILS if high < self._share else OPEN
            alive = [at for at in alive if self._verdicts[at] != FAILS]
        rivals = [at for at in alive if self._verdicts[at] == BEST]
        found = race.standing(
            {at: [self._sign * value for value in self._values[at]] for at in alive}, rivals, self._error
        )
        for at in set(alive) - set(found.kept):
            self._verdicts[at] = WORSE
        self._behind = {at: behind for at, behind in found.behind.items() if self._verdicts[at] == BEST}
        return found.kept

    def _is_over(self, alive: list[int]) -> bool:
        """Nothing is open, and all that are left are near enough to the best."""
        if not alive or any(self._verdicts[at] == OPEN for at in alive):
            return not alive
        means = [sum(self._values[at]) / len(self._values[at]) for at in alive]
        best = abs(self._sign * max(self._sign * mean for mean in means))
        return len(alive) == 1 or max(self._behind.values()) <= self._within * best

    def _measure(self, alive: list[int], runs: int) -> None:
        """The values of settings, each with this number of runs."""
        wanted = [self._metric, *([self._condition.metric] if self._condition else [])]
        measurement = measurement_of([*dict.fromkeys(wanted)], runs)
        points = [dict(zip(self._grid.axes, self._grid.values(at), strict=True)) for at in alive]
        plan = Plan(self._base, Listed(points), runs, self._seed, measurement)
        made = execute(plan, Path(self._store), self._executor or LocalPool())
        if runs == self._looks[0]:
            self.first = made
        for place, at in enumerate(alive):
            self._values[at] = self._defined(made, self._metric, place, "objective")
            if self._condition:
                found = self._defined(made, self._condition.metric, place, "where")
                self._met[at] = sum(self._condition.holds(value, self._condition.bound) for value in found)

    def _defined(self, made: Runs, metric: str, place: int, name: str) -> list[float]:
        found = made.values(metric, place)
        lacking = sum(map(math.isnan, found))
        if lacking or not found:
            reason = undefined(metric, self._base)
            raise _refuse(
                name,
                metric,
                f"a metric that every run defines; {lacking} of {len(found)} runs do not at {made.plan.label(place)}"
                + (f": {reason}" if reason else ""),
                "name another, such as the flow's goodput_bps",
            )
        return found

    def tried(self) -> pl.DataFrame:
        """All settings in the order of the grid."""
        rows = []
        for at in range(len(self._grid)):
            found = student(self._values[at])
            verdict = self._verdicts[at]
            rows.append(
                {
                    "name": self._grid.name(at),
                    **dict(zip(self._grid.axes, self._grid.labels(at), strict=True)),
                    "mean": found.effect,
                    "low": found.low,
                    "high": found.high,
                    "runs": found.runs,
                    **({"met": self._met[at]} if self._condition else {}),
                    "verdict": verdict,
                    "behind": self._behind.get(at),
                }
            )
        return Frame.of(pl.DataFrame(rows, schema_overrides={"behind": pl.Float64}))


def _refuse(name: str, value: object, expected: str, remedy: str) -> BadInput:
    return BadInput(f"{name} = {value!r}", "it cannot be used", expected=expected, remedy=remedy)
