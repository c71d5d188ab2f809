"""Sweeps: a scenario at many points, each repeated, measured and kept. A killed sweep goes on where it stopped."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import tomli_w

from roamlab import _roamlab
from roamlab.design import BadDesign, Design, Grid, Listed, Whole
from roamlab.ensemble import Job
from roamlab.errors import BadInput
from roamlab.executor import Executor, LocalPool
from roamlab.manifest import describe, hash_text, schema_hash
from roamlab.output import sweep_drafts
from roamlab.progress import progress, weight
from roamlab.results import from_engine
from roamlab.runs import Runs, pairs
from roamlab.scenario import Scenario, assignments, of
from roamlab.shards import Mended, Shards
from roamlab.stopping import Until, seed
from roamlab.store import Store
from roamlab.summary import Measurement, check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from roamlab._roamlab import Tables
    from roamlab.progress import Advance
    from roamlab.summary import Summary

AnyDesign: TypeAlias = Design | Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]]

STORE = Path("out/store")
"""Where summaries are kept if nothing else is said."""

MAX_RUNS = 100_000_000
"""More runs than this are taken for a mistake."""

_TRIED = 200
"""So many values of each axis are tried before the first run."""


@dataclass(frozen=True)
class Plan:
    """What a sweep is: enough to make it again."""

    base: Scenario
    design: Design
    replications: int | Until = 30
    seed: int = 1
    measurement: Measurement = field(default_factory=Measurement)
    keep: Literal["summary", "tables"] = "summary"
    common_random_numbers: bool = True

    def __post_init__(self) -> None:
        if isinstance(self.replications, int) and not 1 <= self.replications * len(self.design) <= MAX_RUNS:
            raise BadDesign(
                ("replications",),
                f"{self.replications} runs of {len(self.design)} points",
                f"1 to {MAX_RUNS} runs in all",
                "write 30, for example",
            )
        for metric in self.measurement.metrics:
            check(metric, "field `metrics`")
        self.deciding_pairs  # noqa: B018  (the check)
        self._try_values()

    @cached_property
    def deciding_pairs(self) -> list[tuple[int, int]] | None:
        """The points, each with its reference, whose differences a stopping rule looks at; None: it looks at means.

        Raises `BadInput` if the rule's baseline names none.
        """
        if isinstance(self.replications, int) or self.replications.baseline is None:
            return None
        return pairs(self.design, self.replications.baseline)

    def label(self, point: int) -> str:
        """The point's name."""
        return ", ".join(self.design.labels(point))

    def scenario(self, point: int) -> Scenario:
        """The scenario at a point. Raises `ScenarioError` if the engine refuses it."""
        return self._scenarios(point)

    @cached_property
    def _scenarios(self) -> Callable[[int], Scenario]:
        def make(point: int) -> Scenario:
            if isinstance(self.design, Whole):
                (scenario,) = self.design.values(point)
                return cast("Scenario", scenario)
            changes = zip(self.design.axes, self.design.values(point), strict=True)
            name = f"{self.base.name} at {self.label(point)}"
            return Scenario(self._writer.text(dict(changes)), name, changed=True)

        return lru_cache(maxsize=2)(make)

    def point_seed(self, point: int) -> int:
        """Equal for all points with common random numbers: differences are then between like and like."""
        return self.seed if self.common_random_numbers else seed(f"{self.seed}/{self.label(point)}")

    def key(self, point: int, run: int) -> str:
        """Hash of everything that determines the summary of a run."""
        if point not in self._digests:
            self._digests[point] = hash_text(self.scenario(point).resolved)
        parts = (self._digests[point], self.point_seed(point), run, self._origin)
        return hash_text("/".join(map(str, parts)))

    @cached_property
    def _digests(self) -> dict[int, str]:
        """Hashes of the scenarios of points; the scenarios themselves would fill the memory."""
        return {}

    @cached_property
    def _origin(self) -> str:
        return f"{schema_hash()}/{_roamlab.build_hash()}/{self.measurement.digest}"

    @cached_property
    def _writer(self) -> _Writer:
        return _Writer(self.base)

    def _try_values(self) -> None:
        """Try each value once, the other axes at those of the first point: a typing error shows before any run."""
        design = self.design
        if isinstance(design, Whole):
            return
        if not isinstance(design, Grid):
            for point in range(min(len(design), _TRIED)):
                place = (point, design.axes[0]) if isinstance(design, Listed) else (design.axes[0],)
                self._try(dict(zip(design.axes, design.values(point), strict=True)), place)
            return
        first = dict(zip(design.axes, design.values(0), strict=True))
        for axis, values in design.choices.items():
            for number, value in enumerate(values[:_TRIED]):
                self._try(first | {axis: value}, (axis, number))

    def _try(self, changes: dict[str, Any], place: tuple[str | int, ...]) -> None:
        try:
            Scenario(self._writer.text(changes), self.base.name, changed=True).resolved  # noqa: B018  (the check)
        except (_roamlab.ScenarioError, BadInput) as error:
            raise BadDesign(
                (self.design.table, *place),
                f"the scenario cannot be used with {assignments(changes)}:\n  {error}",
                "the path of a field of the scenario, and values that it takes",
                "correct the path or the value; `roamlab check` shows all fields of a scenario. Where `kind` changes, "
                "give the whole table as the value",
            ) from None


class _Writer:
    """Writes variants of a scenario. Sections that do not change are written once."""

    def __init__(self, base: Scenario) -> None:
        self._base, self._tables = base, base.tables
        self._written = {name: self._write(name, value) for name, value in self._tables.items()}

    def text(self, changes: Mapping[str, Any]) -> str:
        """The scenario with these fields changed."""
        roots = {path.partition(".")[0] for path in changes}
        data = copy.deepcopy({root: self._tables[root] for root in roots if root in self._tables})
        for path, value in changes.items():
            self._base.put(data, path, value)
        try:
            written = self._written | {name: self._write(name, value) for name, value in data.items()}
        except (TypeError, ValueError) as error:
            raise BadInput(
                self._base.name,
                f"a value cannot be written as TOML ({error})",
                expected="text, numbers, truth values, lists and tables",
                remedy='quantities are text with a unit ("2 Mbit/s")',
            ) from None
        return "".join(text for _, text in sorted(written.values(), key=lambda part: part[0]))

    def _write(self, name: str, value: Any) -> tuple[bool, str]:
        """Plain values stand before tables in TOML."""
        table = isinstance(value, dict) or (isinstance(value, list) and value and isinstance(value[0], dict))
        return bool(table), tomli_w.dumps({name: value})


def measurement_of(metrics: Sequence[str] | None, replications: int | Until) -> Measurement:
    """The metrics named, or the totals of all flows; and the one that a stopping rule looks at."""
    wanted = Measurement().metrics if metrics is None else tuple(dict.fromkeys(metrics))
    if isinstance(replications, Until):
        metric = replications.metric
        family, _, rest = metric.partition(".")
        if metric not in wanted and f"{family}.*.{rest.rpartition('.')[2]}" not in wanted:
            wanted += (metric,)
    return Measurement(wanted)


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
    `keep="tables"`; what is there already is not run again.
    """
    named: Design
    if isinstance(design, Mapping):
        named = Grid(design)
    elif isinstance(design, Sequence):
        named = Listed(design)
    else:
        named = design
    measurement = measurement_of(metrics, replications)
    plan = Plan(of(base), named, replications, seed, measurement, keep, common_random_numbers)
    return execute(plan, Path(store), executor or LocalPool())


def execute(plan: Plan, store: Path, executor: Executor) -> Runs:
    """Make the runs of a plan that the store does not hold, and read all."""
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
        few = list(islice(points, _TRIED + 1))
        try:
            return {point: weight(self._plan.scenario(point)) for point in few if len(few) <= _TRIED}
        except (_roamlab.ScenarioError, BadInput):
            return {}

    def _missing(
        self,
        spans: Sequence[tuple[int, int, int]],
        under_way: Mapping[int, tuple[int, Job, str]],
        advance: Advance,
    ) -> Iterator[tuple[int, Job, str]]:
        """Points, jobs and keys. Points may come to the same scenario: what is under way is not asked for again."""
        for point, first, last in spans:
            for run in range(first, last):
                key = self._plan.key(point, run)
                kept = key in self._shards and (self._plan.keep == "summary" or self._kept(point, run))
                if kept or any(key == other for _, _, other in under_way.values()):
                    advance(point, made=False)
                else:
                    yield point, Job(self._plan.scenario(point), self._plan.point_seed(point), run), key

    def _kept(self, point: int, run: int) -> bool:
        origin = describe(self._plan.scenario(point), self._plan.point_seed(point), run)
        return self._folders.find(origin) is not None


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
