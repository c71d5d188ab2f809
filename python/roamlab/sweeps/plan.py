"""The plan of a sweep: a scenario, its points, the number of repetitions and the metrics."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, cast

import tomli_w

from roamlab import _roamlab
from roamlab.base.errors import BadInput, one_line
from roamlab.base.quantities import counted
from roamlab.base.screen import shown
from roamlab.records.manifest import hash_text, kernels_of, schema_hash
from roamlab.running.summary import Measurement, Name, check
from roamlab.scenarios.changes import assignments
from roamlab.scenarios.scenario import Scenario
from roamlab.statistics.stopping import Until, seed
from roamlab.sweeps.design import AS_IN_BASE, BadDesign, Design, Grid, Listed, Whole, pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


MAX_RUNS = 100_000_000
"""More runs than this are taken for a mistake."""

_TRIED = 200
"""Values of each axis that are tried before the first run."""


@dataclass(frozen=True)
class Plan:
    """Definition of a sweep: enough to make it again."""

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
                f"{counted(self.replications, 'run')} of {counted(len(self.design), 'point')}",
                f"1 to {MAX_RUNS} runs in all",
                "write 30, for example",
            )
        if isinstance(self.replications, Until):
            check(self.replications.metric, "replications, the metric of roamlab.Until", one=True)
        for metric in self.measurement.metrics:
            check(metric, "field `metrics`")
        # The values first: a baseline names one of them, and the user cannot name one that the scenario refuses.
        self._try_values()
        self.deciding_pairs  # noqa: B018  (the check)

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
        return self.design.name(point)

    def scenario(self, point: int) -> Scenario:
        """The scenario at a point; its name is the base's. Raises `ScenarioError` if the engine refuses it."""
        return self._scenarios(point)

    def _changes(self, point: int) -> dict[str, Any]:
        """The fields that a point changes, and their values."""
        values = zip(self.design.axes, self.design.values(point), strict=True)
        return {axis: value for axis, value in values if value is not AS_IN_BASE}

    @cached_property
    def _scenarios(self) -> Callable[[int], Scenario]:
        def make(point: int) -> Scenario:
            if isinstance(self.design, Whole):
                (scenario,) = self.design.values(point)
                return cast("Scenario", scenario)
            text = self._writer.text(self._changes(point))
            return Scenario(text, self.base.name, changed=True, changes=f" at {self.label(point)}")

        return lru_cache(maxsize=2)(make)

    def point_seed(self, point: int) -> int:
        """Equal for all points with common random numbers: differences are then between like and like."""
        return self.seed if self.common_random_numbers else seed(f"{self.seed}/{self.label(point)}")

    def key(self, point: int, run: int) -> str:
        """Hash of everything that determines the summary of a run."""
        if point not in self._digests:
            resolved = self.scenario(point).resolved
            self._digests[point] = hash_text(resolved, *kernels_of(resolved))
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
                changes = self._changes(point)
                first_axis = tuple(changes)[:1]
                self._try(changes, (point, *first_axis) if isinstance(design, Listed) else first_axis)
            return
        first = self._changes(0)
        for axis, values in design.choices.items():
            for number, value in enumerate(values[:_TRIED]):
                self._try(first | {axis: value}, (axis, number))

    def _try(self, changes: dict[str, Any], place: tuple[str | int, ...]) -> None:
        try:
            Scenario(self._writer.text(changes), self.base.name, changed=True).resolved  # noqa: B018  (the check)
        except (_roamlab.ScenarioError, BadInput) as error:
            said, remedy = one_line(error), ""
            if isinstance(error, _roamlab.ScenarioError) and error.field and error.help:
                said, remedy = f"field `{shown(error.field)}`: {shown(error.problem)}", shown(error.help)
            if not remedy or any(path.endswith("kind") for path in changes):
                remedy += "; w" if remedy else "correct the path or the value; w"
                remedy += "here `kind` changes, give the whole table as the value"
            raise BadDesign(
                (self.design.table, *place),
                f"the scenario cannot be used with {assignments(changes)}: {said}",
                "the path of a field of the scenario, and values that it takes",
                remedy,
            ) from None


class _Writer:
    """Writes variants of a scenario. Sections that do not change are written once."""

    def __init__(self, base: Scenario) -> None:
        self._base, self._tables = base, base.to_dict()
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
        """The text of a section, and whether it begins with a table's header: plain values come before those."""
        text = tomli_w.dumps({name: value})
        return text.startswith("["), text


def measurement_of(metrics: Sequence[str] | None, replications: int | Until) -> Measurement:
    """The metrics named, or the totals of all flows; and the one that a stopping rule looks at."""
    if metrics is not None and not metrics:
        raise BadInput(
            f"metrics = {metrics!r}",
            "nothing would be measured",
            expected="at least one metric",
            remedy='write metrics=["flows.NAME.goodput_bps"], or leave it out for the totals of all flows',
        )
    wanted = Measurement().metrics if metrics is None else tuple(dict.fromkeys(metrics))
    if isinstance(replications, Until):
        metric = replications.metric
        name = Name.of(metric)
        if metric not in wanted and not any(Name.of(other).covers(name) for other in wanted):
            wanted += (metric,)
    return Measurement(wanted)
