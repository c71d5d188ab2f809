"""The runs of a sweep: means and paired differences with intervals, as Polars frames."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import polars as pl

from roamlab.base.calls import WRITES, BadCall, Hinted, no_attribute, public
from roamlab.base.errors import BadInput
from roamlab.base.quantities import counted, number, scale, with_unit
from roamlab.base.screen import escape
from roamlab.records.frame import Frame
from roamlab.records.manifest import describe
from roamlab.records.storage.store import Store
from roamlab.running.run import simulate
from roamlab.running.summary import Name, bounds, check, undefined, unit
from roamlab.statistics.stats import clipped, differences, holm, p_value, student
from roamlab.statistics.stopping import Until
from roamlab.sweeps.design import AS_IN_BASE, pairs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from matplotlib.figure import Figure

    from roamlab.records.results import Results
    from roamlab.records.storage.shards import Shards
    from roamlab.statistics.stats import Interval
    from roamlab.sweeps.plan import Plan

_SHOWN = 40
"""Means shown in a notebook."""

_FRAME = {"point": pl.UInt32, "run": pl.UInt32, "metric": pl.String, "value": pl.Float64}


@public()
@dataclass(frozen=True, repr=False)
class Runs(metaclass=Hinted):
    """Measures of a sweep: `kept` has a row per point, run and metric, in that order."""

    plan: Plan
    counts: Sequence[int]
    store: Path
    kept: pl.DataFrame

    @classmethod
    def collect(cls, plan: Plan, counts: Sequence[int], store: Path, shards: Shards) -> Runs:
        """Read the runs of a plan, `counts[point]` of each point, from the store that holds them."""
        order: dict[str, tuple[int, int]] = {}
        twins: list[tuple[int, int, int, int]] = []
        for point, runs in enumerate(counts):
            for run in range(runs):
                first = order.setdefault(plan.key(point, run), (point, run))
                if first != (point, run):
                    twins.append((*first, point, run))
        parts = [pl.DataFrame(schema=_FRAME)]
        for held, rows in shards.read(order):
            where = pl.DataFrame(
                {
                    "key": held,
                    "point": [order[key][0] for key in held],
                    "run": [order[key][1] for key in held],
                },
                schema={"key": pl.String, "point": pl.UInt32, "run": pl.UInt32},
            )
            parts.append(rows.join(where, on="key", maintain_order="left").select(*_FRAME))
        frame = pl.concat(parts)
        if twins:
            frame = _with_twins(frame, twins)
        return cls(plan, tuple(counts), store, Frame.of(frame.sort("point", "run", maintain_order=True)))

    def __len__(self) -> int:
        return sum(self.counts)

    def __getitem__(self, index: int) -> Results:
        """A run by its number, point by point: its tables, from the store or simulated again."""
        if not isinstance(index, int) or isinstance(index, bool):
            raise BadCall(
                f"runs[{index!r}]",
                "this is no number of a run",
                expected=f"a number from 0 to {len(self) - 1}",
                remedy="write runs.results(point, run) for a run of a point; `runs.points` has the points by number",
            )
        if not -len(self) <= index < len(self):
            raise IndexError(f"run {index}: the runs are numbered 0 to {len(self) - 1}")
        index %= len(self)
        for point, runs in enumerate(self.counts):
            if index < runs:
                return self.results(point, index)
            index -= runs
        raise AssertionError

    def results(self, point: int, run: int = 0) -> Results:
        """All tables of a run, from the store or simulated again."""
        self._check_number("point", point, len(self.counts))
        self._check_number("run", run, self.counts[point])
        scenario, seed = self.plan.scenario(point), self.plan.point_seed(point)
        kept = Store(self.store / "runs").find(describe(scenario, seed, run))
        return kept or simulate(scenario, seed, run)

    @cached_property
    def points(self) -> pl.DataFrame:
        """One row per point: its number, name, number of runs and the value on each axis.

        Numbers and truth values keep their type. An axis of tables, or of values of more than one kind, is text. A
        point that does not name an axis has null there, or an empty text.
        """
        design = self.plan.design
        count = len(self.counts)
        columns = [
            pl.Series("point", range(count), dtype=pl.UInt32),
            pl.Series("name", [self.plan.label(point) for point in range(count)], dtype=pl.String),
            pl.Series("runs", self.counts, dtype=pl.UInt32),
        ]
        values = list(zip(*map(_nullable, map(design.values, range(count))), strict=True))
        labels = list(zip(*map(design.labels, range(count)), strict=True))
        for axis, found, shown in zip(design.axes, values, labels, strict=True):
            columns.append(_typed(_column(axis), found, shown))
        return Frame.of(pl.DataFrame(columns))

    @cached_property
    def frame(self) -> pl.DataFrame:
        """Long form: a row per point, run and metric, with the value on each axis as in `points`."""
        rows = self._with_axes(self.kept)
        return Frame.of(rows.select("point", "run", *self._axes, "metric", "value"))

    @cached_property
    def wide(self) -> pl.DataFrame:
        """Wide form: a row per point and run, with the value on each axis, and a column for each metric."""
        spread = self.kept.pivot("metric", index=["point", "run"], values="value", maintain_order=True)
        return Frame.of(self._with_axes(spread).select("point", "run", *self._axes, *self.metrics))

    @property
    def _axes(self) -> list[str]:
        return [_column(axis) for axis in self.plan.design.axes]

    def _with_axes(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.join(self.points.select("point", *self._axes), on="point", maintain_order="left")

    def plot(self, metric: str) -> Figure:
        """The mean of a metric over the first axis with its 95 % intervals, as a Matplotlib figure.

        The other axes make a line each. Quantities ("60 pkt") are drawn as numbers where all have one unit.
        """
        from roamlab.sweeps.drawing import means_over_axis

        return means_over_axis(metric, self.means(metric), self.points, self.kept)

    def __getattr__(self, name: str) -> NoReturn:
        hint = "`.means(metric)` and `.compare(metric, baseline=…)` give tables of all points"
        if name.startswith("to_") or name in (
            "df",
            "dataframe",
            "data",
            "table",
            "groupby",
            "group_by",
            "iloc",
            "loc",
            "head",
        ):
            hint = ".frame has a row for each point, run and metric, .wide a column for each metric: Polars frames"
        if name in WRITES:
            hint = (
                "what was measured is in the store already; a table is written by .frame.write_parquet(path)"
            )
        raise no_attribute("Runs", name, () if name in WRITES else dir(type(self)), hint)

    def __eq__(self, other: object) -> bool:
        """True if both have the same points and the same values of each run, wherever they are kept."""
        if not isinstance(other, Runs):
            return NotImplemented
        return self.points.equals(other.points) and self.kept.equals(other.kept)

    def __hash__(self) -> int:
        return hash((*self.counts, self.kept.height))

    def __repr__(self) -> str:
        axes = ", ".join(self.plan.design.axes)
        size = f"{counted(len(self), 'run')} of {counted(len(self.counts), 'point')}"
        return f"Runs({self.plan.base.name}: {size} over {axes})"

    def _repr_html_(self) -> str:
        return f"{escape(repr(self))}{self.means().head(_SHOWN)._repr_html_()}"

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics that were kept, flow by flow."""
        return self.kept["metric"].unique(maintain_order=True).to_list()

    def values(self, metric: str, point: int) -> list[float]:
        """One value per run of a point; NaN where the run does not define it.

        Raises `BadInput` for a metric that was not kept, and for a point that the sweep does not have.
        """
        self._check_number("point", point, len(self.counts))
        rows = self._by_point(metric).get(point)
        return [] if rows is None else rows

    def _check_number(self, name: str, value: int, count: int) -> None:
        if not 0 <= value < count:
            raise BadInput(
                f"{name} = {value}",
                f"the sweep has {counted(count, name)}{' of this point' * (name == 'run')}",
                expected=f"a number from 0 to {count - 1}",
                remedy="look into `runs.points`",
            )

    def _by_point(self, metric: str) -> dict[int, list[float]]:
        if metric not in self.metrics:
            if "." in metric:
                check(metric, "metric")
            raise BadInput(
                f"metric {metric!r}",
                "the sweep did not keep it",
                expected=f"one of {', '.join(self.metrics)}",
                remedy="name it in `metrics` and sweep again",
            )
        rows = self.kept.filter(pl.col("metric") == metric).group_by("point", maintain_order=True)
        return {int(point): values for point, values in rows.agg(pl.col("value")).iter_rows()}

    def means(self, *metrics: str) -> pl.DataFrame:
        """The mean of each metric (all if none is named) at each point, with its 95 % interval.

        Runs that do not define a metric are left out; `runs` has the number of the others.
        """
        rows = []
        for metric in metrics or self.metrics:
            rule = self.plan.replications
            for point, values in self._by_point(metric).items():
                defined = [value for value in values if not math.isnan(value)]
                if isinstance(rule, Until) and (rule.metric, rule.baseline) == (metric, None):
                    found = rule.interval(defined)
                elif defined:
                    found = student(defined)
                else:
                    continue
                rows.append(
                    (point, self.plan.label(point), metric, unit(metric), *_of(found, *bounds(metric)))
                )
        columns = ("point", "name", "metric", "unit", "mean", "low", "high", "runs")
        return Frame.of(pl.DataFrame(rows, schema=_schema(columns), orient="row"))

    def compare(self, *metrics: str, baseline: str) -> pl.DataFrame:
        """Differences to `baseline`, run by run, with 95 % intervals and p-values corrected after Holm.

        `baseline` is the name of a point, or a value on one axis: then each point is compared with the one that
        differs from it on that axis alone. With common random numbers run n of both had the same streams, which
        makes the intervals narrow; without, they are as valid. A metric
        may have `*` for the flow. Runs that do not define the metric in both are left out. A difference that is the
        same in all runs has no p-value: the column is null.
        """
        rows: list[tuple[Any, ...]] = []
        references = pairs(self.plan.design, baseline)
        rule = self.plan.replications
        for metric in self._matching(metrics):
            values = self._by_point(metric)
            least, most = bounds(metric)
            interval, test = student, p_value
            if isinstance(rule, Until) and (rule.metric, rule.baseline) == (metric, baseline):
                interval, test = rule.interval, rule.p_value
            for point, reference in references:
                both = [
                    (after, before)
                    for after, before in zip(values.get(point, []), values.get(reference, []), strict=False)
                    if not (math.isnan(after) or math.isnan(before))
                ]
                if both:
                    apart = differences([after for after, _ in both], [before for _, before in both])
                    rows.append(
                        (
                            point,
                            self.plan.label(point),
                            self.plan.label(reference),
                            metric,
                            unit(metric),
                            student([before for _, before in both]).effect,
                            *_of(interval(apart), least - most, most - least),
                            test(apart),
                        )
                    )
        columns = (
            "point",
            "name",
            "baseline",
            "metric",
            "unit",
            "reference",
            "difference",
            "low",
            "high",
            "runs",
            "p",
        )
        frame = pl.DataFrame(rows, schema=_schema(columns), orient="row")
        adjusted = iter(holm(frame["p"].drop_nulls().to_list()))
        p_holm = [None if p is None else next(adjusted) for p in frame["p"]]
        # Polars prints the first and the last four of many columns.
        first, last = ("name", "metric", "reference", "difference"), ("low", "high", "runs", "p_holm")
        found = frame.with_columns(pl.Series("p_holm", p_holm, dtype=pl.Float64))
        return Frame.of(found.select(*first, pl.exclude(*first, *last), *last))

    @property
    def warnings(self) -> list[str]:
        """Gaps in the runs' results: metrics that none of them defines, and points whose runs are all equal.

        Before these what the scenarios of the points are warned of.
        """
        found = self._of_scenarios()
        defined = set(self.kept.filter(~pl.col("value").is_nan())["metric"].unique())
        for metric in self.plan.measurement.metrics:
            kept = self._matching([metric])
            if kept and not defined & set(kept):
                reason = undefined(metric, self.plan.scenario(0)) or "see docs/metrics.md for what it needs"
                found.append(f"metric {metric}: no run defines it; {reason}")
        found += self._left_out()
        found += self._missed()
        if self.equal:
            found.append(
                f"all runs of a point are equal, and one shows as much as {max(self.counts)}: {NO_CHANCE}"
            )
        return found + self._without_effect()

    @property
    def equal(self) -> bool:
        """True if each point has several runs, and all of them are equal in all defined metrics."""
        defined = self.kept.filter(pl.col("value").is_not_nan())
        spread = defined.group_by("point", "metric").agg(pl.col("value").n_unique())
        return max(self.counts, default=0) > 1 and spread["value"].max() == 1

    def _missed(self) -> list[str]:
        """That the runs did not reach the goal of a stopping rule, by how much, and how many it would take."""
        rule = self.plan.replications
        if not isinstance(rule, Until):
            return []
        values = self._by_point(rule.metric)
        compared = self.plan.deciding_pairs
        wide: list[tuple[int, float, str, int]] = []
        for point, reference in compared or [(point, -1) for point in values]:
            found = values[point]
            if reference >= 0:
                found = [after - before for after, before in zip(found, values[reference], strict=False)]
            if needed := rule.missed(found):
                interval = rule.interval(found)
                wide.append((needed, (interval.high - interval.low) / 2, self.plan.label(point), len(found)))
        if not wide:
            return []
        needed, width, label, runs = max(wide)
        goal, reached = (_quantity(value, unit(rule.metric)) for value in (rule.half_width, width))
        what = "difference" if compared else "mean"
        many = f"{float(f'{needed:.2g}'):,.0f}"
        return [
            f"metric {rule.metric}: the goal of ± {goal} was missed at {len(wide)} of {len(compared or values)} "
            f"points: after the budget of {runs} runs the {what} at {label} has ± {reached}, and the goal takes "
            f"about {many} runs: write a larger `budget`, or a larger `half_width` (in {unit(rule.metric)})"
        ]

    def _of_scenarios(self) -> list[str]:
        """Warnings of the scenarios of the first points, each once with its first point."""
        found: dict[str, list[str]] = {}
        for point in range(min(len(self.counts), _WARNED)):
            for warning in self.plan.scenario(point).warnings:
                place, _, rest = warning.partition(": ")
                said = f"{place}: {rest}" if place.endswith(".toml") else rest
                found.setdefault(said, []).append(self.plan.label(point))
        shown = min(len(self.counts), _WARNED)
        return [
            said if len(points) == shown else f"{points[0]}{' and others' * (len(points) > 1)}: {said}"
            for said, points in found.items()
        ]

    def _without_effect(self) -> list[str]:
        """Axes along which no metric of any run changes: a field that this scenario does not use, perhaps."""
        text = self.frame.with_columns(pl.col(*self._axes).cast(pl.String)) if self._axes else self.frame
        found = []
        for axis in self._axes:
            others = [other for other in self._axes if other != axis]
            groups = text.group_by(*others, "run", "metric").agg(
                pl.col(axis).n_unique().alias("values"),
                pl.col("value").n_unique(),
                pl.col("value").is_not_nan().any().alias("defined"),
            )
            groups = groups.filter("defined")
            if groups.height and groups.filter((pl.col("values") < 2) | (pl.col("value") > 1)).is_empty():
                found.append(
                    f"axis {axis}: all its values give the same metrics in every run. Either nothing in the scenario "
                    "depends on this field, or every value is on the same side of what matters"
                )
        return found

    def _left_out(self) -> list[str]:
        """Metrics that only some runs of a point define: their means are of these, perhaps the better ones."""
        undefined = pl.col("value").is_nan().sum().alias("undefined")
        counts = self.kept.group_by("point", "metric", maintain_order=True).agg(
            undefined, pl.len().alias("runs")
        )
        some = counts.filter((pl.col("undefined") > 0) & (pl.col("undefined") < pl.col("runs")))
        return [
            f"metric {metric}: {rows['undefined'].sum()} of {rows['runs'].sum()} runs do not define it, and means "
            "leave them out; see docs/metrics.md"
            for (metric,), rows in some.group_by("metric", maintain_order=True)
        ]

    def _matching(self, metrics: Sequence[str]) -> list[str]:
        found: list[str] = []
        for metric in metrics or self.metrics:
            name = Name.of(metric)
            if metric in self.metrics or "*" not in name.flow:
                found.append(metric)
            else:
                found += [other for other in self.metrics if name.covers(Name.of(other))]
        return list(dict.fromkeys(found))


_WARNED = 50
"""Points whose scenarios are asked for warnings."""

NO_CHANCE = (
    "nothing that was measured depends on chance: name another metric, or, where no flow has it, write `start_within` "
    "into a flow's `app` to begin it at a random time"
)


def _quantity(value: float, of: str) -> str:
    """A value with its unit, for people."""
    factor, name = scale([value], of)
    return with_unit(number(value / factor), name)


def _column(axis: str) -> str:
    """A column's name for an axis: the table `run` of a scenario is not the number of a run."""
    return f"[{axis}]" if axis in ("point", "name", "runs", "run", "metric", "value") else axis


def _nullable(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values of a point: null where it is as in the base."""
    return tuple(None if value is AS_IN_BASE else value for value in values)


def _typed(name: str, values: Sequence[Any], labels: Sequence[str]) -> pl.Series:
    """The values of an axis in a column of their type; their labels if they have none in common."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or kinds in ({bool}, {str}):
        kind = pl.Float64 if float in kinds else None
        return pl.Series(name, values, dtype=kind)
    return pl.Series(name, labels, dtype=pl.String)


def _with_twins(frame: pl.DataFrame, twins: Sequence[tuple[int, int, int, int]]) -> pl.DataFrame:
    """Points with the same scenario share their runs: give each its rows."""
    same = {"point": pl.UInt32, "run": pl.UInt32, "to_point": pl.UInt32, "to_run": pl.UInt32}
    copies = frame.join(
        pl.DataFrame(twins, schema=same, orient="row"), on=["point", "run"], maintain_order="left"
    )
    named = copies.select(pl.col("to_point").alias("point"), pl.col("to_run").alias("run"), "metric", "value")
    return pl.concat([frame, named])


def _of(found: Interval, least: float, most: float) -> tuple[float, float, float, int]:
    found = clipped(found, least, most)
    return found.effect, found.low, found.high, found.runs


def _schema(columns: Sequence[str]) -> dict[str, Any]:
    kinds = {"point": pl.UInt32, "runs": pl.UInt32} | dict.fromkeys(
        ("name", "baseline", "metric", "unit"), pl.String
    )
    return {column: kinds.get(column, pl.Float64) for column in columns}
