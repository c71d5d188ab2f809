"""Sweeps: a scenario at many points, with repeated, measured and stored runs.

A killed sweep continues where it stopped.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from roamlab import _roamlab
from roamlab.base.calls import Kind, called
from roamlab.base.errors import BadInput, warn
from roamlab.base.inputs import home
from roamlab.base.output import sweep_drafts
from roamlab.records.manifest import describe
from roamlab.records.results import from_engine
from roamlab.records.storage.shards import Mended, Shards
from roamlab.records.storage.store import Store
from roamlab.running.ensemble import Job
from roamlab.running.executor import Executor, LocalPool
from roamlab.running.progress import progress, weight
from roamlab.scenarios.scenario import Scenario, check_number, of
from roamlab.statistics.stopping import Until
from roamlab.sweeps.design import Design, Grid, Listed, Random, Whole
from roamlab.sweeps.plan import Plan, measurement_of
from roamlab.sweeps.runs import Runs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from roamlab._roamlab import Tables
    from roamlab.running.progress import Advance
    from roamlab.running.summary import Summary

AnyDesign: TypeAlias = Design | Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]

STORE = Path("out/store")
"""Default place of the summaries."""

_WEIGHED = 200
"""Points of a sweep with more are all taken to have the same weight."""


_DESIGN = Kind(
    (Mapping, Sequence, "Grid", "Listed", "Random", "Whole"),
    "a dictionary of paths and lists of values, a list of points, or a rl.Random",
    'write for example {"cells.bs2.queue.limit": ["60 pkt", "120 pkt"]}, a path with its values',
)


@called(base=None, design=_DESIGN)
def sweep(
    base: Scenario | str | Path,
    design: AnyDesign,
    *,
    replications: int | Until = 30,
    seed: int = 1,
    metrics: Sequence[str] | None = None,
    keep: Literal["summary", "tables"] = "summary",
    common_random_numbers: bool = True,
    store: str | Path = STORE,
    executor: Executor | None = None,
) -> Runs:
    """Run `base`, a scenario or its path, at every point of `design`.

    A dictionary is a grid, a list its points; or see `roamlab.Random`.

    Repetition n draws from the same random streams at every point, unless `common_random_numbers` is false. Each run
    leaves its `metrics` in `store` (the totals of all flows if none are named), and all of its tables with
    `keep="tables"`; what is there already is not run again. Each of the warnings of the runs is a `RunWarning` as well.
    """
    check_number("seed", seed)
    seed = int(seed)
    measurement = measurement_of(metrics, replications)
    plan = Plan(of(base), _design(design), replications, seed, measurement, keep, common_random_numbers)
    runs = execute(plan, Path(store), executor or LocalPool())
    warn(runs.warnings)
    return runs


def _design(given: AnyDesign) -> Design:
    """The design of a dictionary or a list. Raises `BadInput` for what is none."""
    if isinstance(given, Mapping):
        return Grid(given)
    if isinstance(given, Sequence) and not isinstance(given, str):
        return Listed(given)
    if isinstance(given, Grid | Listed | Random | Whole):
        return given
    raise BadInput(
        "design",
        f"{given!r} has no points",
        expected="a dictionary of paths and lists of values, a list of points, or a rl.Random",
        remedy='write for example {"cells.bs2.queue.limit": ["60 pkt", "120 pkt"]}',
    )


def execute(plan: Plan, store: Path, executor: Executor) -> Runs:
    """Make the runs of a plan that the store does not hold, and read all."""
    store = home(store)
    sweep_drafts(store / "runs")
    with Shards(store) as shards:
        while True:
            with suppress(Mended):
                counts = _Driver(plan, store, shards, executor).drive()
                shards.flush()
                return Runs.collect(plan, counts, store, shards)


class _Driver:
    """Makes the runs that are missing."""

    def __init__(self, plan: Plan, root: Path, shards: Shards, executor: Executor) -> None:
        self._plan, self._shards, self._executor = plan, shards, executor
        self._folders = Store(root / "runs")

    def drive(self) -> list[int]:
        """How many runs each point has in the end."""
        plan, rule = self._plan, self._plan.replications
        points = range(len(plan.design))
        counts = [0] * len(points)
        wanted = [rule if isinstance(rule, int) else rule.wanted([]) for _ in points]
        while wanted != counts:
            self._make([(point, counts[point], wanted[point]) for point in points])
            counts = wanted
            if isinstance(rule, Until):
                wanted = self._wanted(rule, [self._values(point, counts[point], rule) for point in points])
        return counts

    def _wanted(self, rule: Until, values: Sequence[Sequence[float]]) -> list[int]:
        """How many runs each point is to have, after these; a reference as many as any that it is compared with."""
        if self._plan.deciding_pairs is None:
            return [rule.wanted(found) for found in values]
        wanted = [len(found) for found in values]
        for point, reference in self._plan.deciding_pairs:
            both = zip(values[point], values[reference], strict=False)
            needed = rule.wanted([after - before for after, before in both])
            wanted[point] = max(wanted[point], needed)
            wanted[reference] = max(wanted[reference], needed)
        return wanted

    def _values(self, point: int, runs: int, rule: Until) -> list[float]:
        """The metric that a stopping rule looks at, run by run."""
        self._shards.flush()
        order = {self._plan.key(point, run): run for run in range(runs)}
        values: dict[int, float] = {}
        for _, rows in self._shards.read(order):
            chosen = rows.filter((rows["metric"] == rule.metric) & ~rows["value"].is_nan())
            values |= {order[key]: value for key, value in zip(chosen["key"], chosen["value"], strict=True)}
        if len(values) < runs:
            raise BadInput(
                "field `replications.metric`",
                f"{rule.metric!r} is not defined in {runs - len(values)} of {runs} runs at {self._plan.label(point)}",
                expected="a metric that every run defines",
                remedy="name another, such as the flow's goodput_bps",
            )
        return [values[run] for run in range(runs)]

    def _make(self, spans: Sequence[tuple[int, int, int]]) -> None:
        """The runs of each point from the first to the last but one, as far as they are missing."""
        under_way: dict[int, tuple[int, Job, str]] = {}
        wanted = {point: last - first for point, first, last in spans if last > first}
        with progress(wanted, self._weights(wanted)) as advance:

            def jobs() -> Iterator[Job]:
                for number, (point, job, key) in enumerate(self._missing(spans, under_way, advance)):
                    under_way[number] = (point, job, key)
                    yield job

            sink = _Sink(under_way, self._plan, self._folders, self._shards, advance)
            self._executor.execute(jobs(), self._plan.measurement, sink, tables=self._plan.keep == "tables")

    def _weights(self, points: Iterable[int]) -> dict[int, float]:
        """How much the runs of each point weigh; of none if there are many, or the engine refuses one."""
        few = list(islice(points, _WEIGHED + 1))
        try:
            return {point: weight(self._plan.scenario(point)) for point in few if len(few) <= _WEIGHED}
        except (_roamlab.ScenarioError, BadInput):
            return {}

    def _missing(
        self,
        spans: Sequence[tuple[int, int, int]],
        under_way: Mapping[int, tuple[int, Job, str]],
        advance: Advance,
    ) -> Iterator[tuple[int, Job, str]]:
        """Points, jobs and keys. Points may have the same scenario: a run under way is not requested again."""
        for point, run in self._ordered(spans):
            key = self._plan.key(point, run)
            kept = key in self._shards and (self._plan.keep == "summary" or self._kept(point, run))
            if kept or any(key == other for _, _, other in under_way.values()):
                advance(point, made=False)
            else:
                yield point, Job(self._plan.scenario(point), self._plan.point_seed(point), run), key

    def _ordered(self, spans: Sequence[tuple[int, int, int]]) -> Iterator[tuple[int, int]]:
        """Points and runs; where points differ in the mobility protocol alone, each run of several together.

        What is common to them the engine makes once.
        """
        together = all(axis.startswith("mobility.") for axis in self._plan.design.axes)
        for at in range(0, len(spans), _TOGETHER if together else 1):
            some = spans[at : at + _TOGETHER] if together else spans[at : at + 1]
            for run in range(max(last for _, _, last in some)):
                yield from ((point, run) for point, first, last in some if first <= run < last)

    def _kept(self, point: int, run: int) -> bool:
        origin = describe(self._plan.scenario(point), self._plan.point_seed(point), run)
        return self._folders.find(origin) is not None


_TOGETHER = 16
"""Points whose runs the engine may make together."""


@dataclass
class _Sink:
    """Takes what runs gave."""

    under_way: dict[int, tuple[int, Job, str]]
    plan: Plan
    folders: Store
    shards: Shards
    advance: Advance

    def __call__(self, index: int, summary: Summary, tables: Tables | None) -> None:
        point, job, key = self.under_way.pop(index)
        if tables is not None:
            self.folders.write(from_engine(tables, describe(job.scenario, job.seed, job.run)))
        self.shards.add(key, summary)
        self.advance(point)
