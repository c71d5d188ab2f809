"""The smallest value of a field at which a condition holds in most runs, with an interval that covers it."""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import polars as pl

from roamlab.base.calls import TEXT, Kind, called, no_attribute, public
from roamlab.base.errors import BadInput, warn
from roamlab.base.screen import escape
from roamlab.records.frame import Frame
from roamlab.running.executor import LocalPool
from roamlab.running.progress import Steps
from roamlab.running.summary import Name, check, undefined
from roamlab.scenarios.scenario import check_number, of
from roamlab.statistics.race import looks
from roamlab.statistics.stats import CONFIDENCE, clopper_pearson
from roamlab.sweeps.design import DECIMALS, BadDesign, Grid
from roamlab.sweeps.plan import Plan, measurement_of
from roamlab.sweeps.runs import NO_CHANCE
from roamlab.sweeps.sweep import STORE, execute

if TYPE_CHECKING:
    from collections.abc import Callable

    from roamlab.running.executor import Executor
    from roamlab.scenarios.scenario import Scenario

Verdict = Literal["meets", "fails", "open"]

FIRST_LOOK = 16
"""Runs of a value before its first verdict; each further look doubles them."""

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


@public()
@dataclass(frozen=True, repr=False)
class Threshold:
    """Result of a search. With 95 % confidence the threshold lies above `above` and is at most `at_most`.

    `above` is the largest value that certainly fails (None: not even the smallest does), `at_most` the smallest that
    certainly meets the condition (None: not even the largest does). `tried` has a row for each value: its runs, how
    many `met`, their share with the bounds `low` and `high` that decided, the verdict, and the metric's `mean`.
    """

    path: str
    where: str
    share: float
    above: Any
    at_most: Any
    tried: pl.DataFrame
    alike: bool = False
    """All runs of each value were equal: nothing that was measured depends on chance."""

    def __getattr__(self, name: str) -> NoReturn:
        hint = (
            ".at_most is the smallest value that certainly meets the condition, .above the largest that certainly "
            "fails, .tried has each value"
        )
        raise no_attribute("Threshold", name, () if name in ("value", "values") else dir(type(self)), hint)

    def __eq__(self, other: object) -> bool:
        """True if both searched for the same and found the same, with the same runs of each value."""
        if not isinstance(other, Threshold):
            return NotImplemented
        return self._found == other._found and self.tried.equals(other.tried)

    def __hash__(self) -> int:
        return hash(self.path)

    @property
    def _found(self) -> tuple[Any, ...]:
        return self.path, self.where, self.share, self.above, self.at_most, self.alike

    def __repr__(self) -> str:
        bounds = [
            f"above {self.above}" if self.above is not None else "",
            f"at most {self.at_most}" if self.at_most is not None else "not found among the values tried",
        ]
        found = (
            f"smallest {self.path} with {self.where} in {100 * self.share:g}% of runs: "
            f"{', '.join(filter(None, bounds))} ({CONFIDENCE:.0%} confidence)"
        )
        return f"{found}; {self.reason}" if self.reason else found

    @property
    def reason(self) -> str:
        """Why an end of the interval is missing, and that the confidence has no meaning; empty if there is no such."""
        said = []
        for missing, row, wanted in ((self.at_most is None, -1, "meets"), (self.above is None, 0, "fails")):
            if not missing or self.tried.is_empty():
                continue
            verdict = self.tried["verdict"][row]
            at = f"at {_end(self.tried, row)} meet the condition"
            if verdict == "open":
                said.append(f"{at}, too few runs to tell: write a larger `budget`")
            elif verdict != wanted and wanted == "meets":
                said.append(f"{at}, {self._beyond_the_largest()}")
            elif verdict != wanted:
                metric, mean = condition_of(self.where).metric, self.tried["mean"]
                said.append(
                    f"{at}, and the mean of {metric} is {mean[row]:.4g} there and {mean[-1]:.4g} at "
                    f"{self.tried['value'][-1]}: write a smaller first value in `between`, or a condition that some "
                    "values fail"
                )
        if self.alike:
            said.append(f"the confidence has no meaning: all runs of a value are equal, {NO_CHANCE}")
        return "; ".join(said)

    def _beyond_the_largest(self) -> str:
        """Measurements at both ends of values that are all too small, and whether larger ones lead on."""
        condition = condition_of(self.where)
        means = self.tried["mean"]
        measured = (
            f"at {_end(self.tried, 0)}, and the mean of {condition.metric} is {means[0]:.4g} at "
            f"{self.tried['value'][0]} and {means[-1]:.4g} at {self.tried['value'][-1]}"
        )
        first, last = (condition.lacks(mean) for mean in (means[0], means[-1]))
        if last < first:
            return f"{measured}: a larger value leads towards it: write a larger last value in `between`"
        if last > first:
            return (
                f"{measured}: a larger value leads away from it, so a larger last value in `between` does not help: "
                "write a smaller first value, if the field has one, or a condition that these values can meet"
            )
        return (
            f"{measured}: the values do not change it, so a larger last value in `between` may not help: write a "
            f"field that the metric depends on instead of {self.path}, or a condition that these values can meet"
        )

    def _repr_html_(self) -> str:
        return f"{escape(repr(self))}{self.tried._repr_html_()}"


def _end(tried: pl.DataFrame, row: int) -> str:
    """A value that was tried, and how many of its runs met the condition."""
    value, met, runs = tried.select("value", "met", "runs").row(row)
    return f"{value} {met} of {runs} runs"


_WHERE = Kind((str,), TEXT.expected, 'write a condition in quotes: where="flows.download.timeouts == 0"')


@called(scenario=None, path=TEXT, where=_WHERE, between=None, step=None)
def smallest(
    scenario: Scenario | str | Path,
    path: str,
    *,
    where: str,
    between: tuple[Any, Any],
    share: float = 0.9,
    step: float = 1.0,
    budget: int = 256,
    seed: int = 1,
    store: str | Path = STORE,
    executor: Executor | None = None,
) -> Threshold:
    """The smallest value of the field `path` at which at least `share` of the runs meet the condition `where`.

    `where` is a metric, a comparison and a number in the metric's unit: "flows.moving.timeouts == 0". `between` are the
    smallest and the largest value to try, numbers or quantities of one unit ("4 pkt", "256 pkt"), `step` apart in that
    unit. A larger value is taken to be no worse: the share that meets may only grow with it.

    The search bisects. A value has 16, 32, 64, … runs, `budget` at most, until the bounds of Clopper and
    Pearson on the share that meets lie on one side of `share`. A value that is still open then is passed on
    both sides, and the interval grows by it. The bounds are so wide that all verdicts of a search are right
    together with 95 %. The chance of error is divided by the number of values that it can try and of looks at
    each. `docs/sweeps.md` has the details.

    Raises `BadInput` if an argument cannot be used, or if the budget is too small for any verdict. It also
    does if the condition holds at the smallest value and fails at the largest, or if a run does not define
    the metric.
    """
    base = of(scenario)
    check_number("seed", seed)
    seed = int(seed)
    warn(base.warnings)
    values = _values(between, step)
    condition = condition_of(where)
    if not 0 < share < 1:
        raise _refuse("share", share, "a number between 0 and 1", "write 0.9")
    if type(budget) is not int or budget < FIRST_LOOK:
        raise _refuse("budget", budget, f"a whole number from {FIRST_LOOK} on", "leave it out: 256")
    search = _Search(base, path, condition, values, share, budget, seed, store, executor)
    search.check_budget()
    search.check_direction()
    fails = _first(len(values), lambda at: search.verdict(at) != "fails") - 1
    meets = _first(len(values), lambda at: search.verdict(at) == "meets")
    above = values(fails) if fails >= 0 else None
    at_most = values(meets) if meets < len(values) else None
    return Threshold(path, where, share, above, at_most, search.tried(), search.alike)


@dataclass(frozen=True)
class Condition:
    """A metric, a comparison and a number in the metric's unit."""

    metric: str
    text: str
    holds: Callable[[float, float], bool]
    bound: float
    opposite: str

    def lacks(self, mean: float) -> float:
        """How far a mean of runs that fail is from meeting it; 0 for `!=`, of which there is no distance."""
        return 0.0 if self.holds is operator.ne else abs(mean - self.bound)


@dataclass(frozen=True)
class _Values:
    """Numbers or quantities at equal distances; the last is `high`, however far from the one before."""

    low: float
    high: float
    step: float
    count: int
    unit: str

    def __len__(self) -> int:
        return self.count

    def __call__(self, at: int) -> Any:
        value = min(self.low + at * self.step, self.high)
        if self.unit:
            return f"{round(value, DECIMALS[self.unit]):.15g} {self.unit}"
        whole = all(each == int(each) for each in (value, self.step, self.high))
        return int(value) if whole else value


class _Search:
    """Verdicts on values, each made once."""

    def __init__(
        self,
        base: Scenario,
        path: str,
        condition: Condition,
        values: _Values,
        share: float,
        budget: int,
        seed: int,
        store: str | Path,
        executor: Executor | None,
    ) -> None:
        self._base, self._path, self._condition, self._values = base, path, condition, values
        self._share, self._seed, self._store, self._executor = share, seed, store, executor
        self._sizes = looks(FIRST_LOOK, budget)
        # Two bisections of the positions 0 to n, which share what they tried, and both ends.
        most_tried = min(len(values), 2 + 2 * math.ceil(math.log2(len(values) + 1)))
        self._error = (1 - CONFIDENCE) / (most_tried * len(self._sizes))
        self._rows: dict[int, tuple[int, int, float, float, float, Verdict, float]] = {}
        self._most_tried, self._steps = most_tried, Steps()
        self.alike = True

    def check_budget(self) -> None:
        """Raise `BadInput` if no result of this number of runs could be a verdict, whatever the values."""
        budget, needed = self._sizes[-1], self._sizes[-1]
        while not self._decides(needed):
            needed += 1
        if needed > budget:
            raise _refuse(
                "budget",
                budget,
                f"{needed} runs a value or more: with fewer even runs that all meet the condition, or all fail, do not "
                f"show whether {100 * self._share:g}% do",
                f"write {needed}, or a `share` that is less extreme",
            )

    def _decides(self, budget: int) -> bool:
        error = (1 - CONFIDENCE) / (self._most_tried * len(looks(FIRST_LOOK, budget)))
        # The bounds of Clopper and Pearson if all runs meet the condition, and if none does.
        least = math.pow(error / 2, 1 / budget)
        return least >= self._share > 1 - least

    def check_direction(self) -> None:
        """Raise `BadInput` if the condition holds at the smallest value and fails at the largest."""
        first, last = 0, len(self._values) - 1
        if self.verdict(first) == "meets" and self.verdict(last) == "fails":
            low, high = self._values(first), self._values(last)
            raise _refuse(
                "where",
                self._condition.text,
                f"a condition that a larger {self._path} does not break: it holds at {low} and fails at {high}, so "
                f"{low} is the smallest value already",
                f"search for the opposite condition, {self._condition.opposite!r}, with share={1 - self._share:.12g}: "
                "below its smallest value this one holds",
            )

    def verdict(self, at: int) -> Verdict:
        """Verdict of the runs of a value."""
        for size in self._sizes:
            if at in self._rows:
                break
            found = self._runs(at, size)
            met = sum(self._condition.holds(value, self._condition.bound) for value in found)
            low, high = clopper_pearson(met, size, self._error)
            verdict: Verdict = "meets" if low >= self._share else "fails" if high < self._share else "open"
            if verdict != "open" or size == self._sizes[-1]:
                self._rows[at] = (size, met, met / size, low, high, verdict, sum(found) / size)
                self._steps.tell(
                    f"{self._path} = {self._values(at)}: {met} of {size} runs meet {self._condition.text}: {verdict} "
                    f"(value {len(self._rows)} of {self._most_tried} at most)"
                )
        return self._rows[at][5]

    def _runs(self, at: int, size: int) -> list[float]:
        metric, value = self._condition.metric, self._values(at)
        try:
            measurement = measurement_of([*dict.fromkeys([metric, _TELLS_OF_CHANCE])], size)
            plan = Plan(self._base, Grid({self._path: [value]}), size, self._seed, measurement)
            runs = execute(plan, Path(self._store), self._executor or LocalPool())
        except BadDesign as error:
            raise BadInput(
                f"path = {self._path!r}, between = ({self._values(0)!r}, {self._values(len(self._values) - 1)!r})",
                error.problem,
                expected=error.expected,
                remedy=error.remedy,
            ) from None
        found = runs.values(metric, 0)
        self.alike = self.alike and runs.equal
        lacking = sum(map(math.isnan, found))
        if lacking:
            reason = undefined(metric, self._base)
            raise _refuse(
                "where",
                self._condition.text,
                f"a metric that every run defines; {lacking} of {size} runs do not at {self._path} = {value}"
                + (f": {reason}" if reason else ""),
                "name another, such as the flow's goodput_bps",
            )
        return found

    def tried(self) -> pl.DataFrame:
        """The values with their verdicts, from the smallest."""
        rows = [(self._values(at), *row) for at, row in sorted(self._rows.items())]
        columns = ("value", "runs", "met", "share", "low", "high", "verdict", "mean")
        return Frame.of(pl.DataFrame(rows, schema=columns, orient="row"))


_TELLS_OF_CHANCE = "goodput_bps"
"""Kept of each run next to the metric of the condition, which may be equal in all runs though they are not."""


def _first(count: int, holds: Callable[[int], bool]) -> int:
    """The first of 0 to `count` - 1 for which `holds` is true, if it stays so from there on; `count` if none is."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


_A_CONDITION = "a metric, a comparison (==, !=, <, <=, > or >=) and a number"


def condition_of(where: str) -> Condition:
    """The condition of a text such as "flows.moving.timeouts == 0". Raises `BadInput`."""
    parts = (
        re.fullmatch(r"\s*(\S+?)\s*(==|!=|<=|>=|<|>)\s*(\S+)\s*", where) if isinstance(where, str) else None
    )
    try:
        if parts is None:
            raise ValueError
        metric, sign, bound = parts[1], parts[2], float(parts[3])
    except ValueError:
        raise _refuse("where", where, _A_CONDITION, _rewritten(where)) from None
    check(metric, "where", one=True)
    if "*" in metric and not Name.of(metric).over:
        raise _refuse("where", where, "one metric", f'name the flow, or write "mean({metric})"')
    opposite = f"{metric} {_OPPOSITES[sign]} {parts[3]}"
    return Condition(metric, where, _COMPARISONS[sign], bound, opposite)


_OPPOSITES = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def _rewritten(where: Any) -> str:
    """Text to write in the place of a condition that cannot be read."""
    text = where if isinstance(where, str) else ""
    if re.search(r"\b(and|or)\b|&|\|", text):
        return "write one condition, and search once for each: the larger of the two values meets both"
    if found := re.fullmatch(
        r"\s*(\S+?)\s*(==|!=|<=|>=|<|>)\s*([\d.]+(?:e[+-]?\d+)?)\s*([^\d\s]\S*)\s*", text
    ):
        return (
            f"write the number in the metric's unit, which docs/metrics.md names, and no unit: \"{found[1]} {found[2]} "
            f'1e6" for 1 Mbit/s, for example'
        )
    if found := re.fullmatch(r"\s*(\S+?)\s*=\s*([\d.]+)\s*", text):
        return f'write two signs: "{found[1]} == {found[2]}"'
    if found := re.fullmatch(r"\s*(\S+)\s*", text):
        return f'the comparison is missing: write "{found[1]} == 0", for example'
    return 'write "flows.moving.timeouts == 0"'


_LIMITS = "the smallest and the largest value, numbers or quantities of one unit"


def _values(between: tuple[Any, Any], step: float) -> _Values:
    try:
        (low, unit), (high, other) = map(_quantity, between)
        if type(step) not in (int, float) or not (step > 0 and math.isfinite(step)):
            raise _refuse("step", step, "a number above 0, in the unit of `between`", _step(step, unit))
    except (TypeError, ValueError):
        remedy = 'write for example ("4 pkt", "256 pkt"); names are compared by a sweep'
        raise _refuse("between", between, _LIMITS, remedy) from None
    if unit != other:
        raise _refuse("between", between, _LIMITS, f"write both in {unit or 'numbers'}")
    if not low < high:
        remedy = f"write ({between[1]!r}, {between[0]!r})" if low > high else "write a larger second value"
        raise _refuse("between", between, _LIMITS, remedy)
    return _Values(low, high, step, math.ceil((high - low) / step - 1e-9) + 1, unit)


def _step(step: Any, unit: str) -> str:
    """Text to write instead of a step that is no number above 0."""
    try:
        number, other = _quantity(step)
    except ValueError:
        return "leave it out: 1"
    if not number > 0:
        return "leave it out: 1"
    return (
        f"write step = {number:g}"
        if other in ("", unit)
        else f"write it as a number of {unit or 'the same kind'}"
    )


def _quantity(value: Any) -> tuple[float, str]:
    """A number and its unit, "" if it has none."""
    if type(value) in (int, float) and math.isfinite(value):
        return float(value), ""
    number, unit = str(value).split()
    if unit not in DECIMALS:
        raise ValueError
    return float(number), unit


def _refuse(name: str, value: object, expected: str, remedy: str) -> BadInput:
    return BadInput(f"{name} = {value!r}", "it cannot be used", expected=expected, remedy=remedy)
