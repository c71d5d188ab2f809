"""The points of a sweep: all combinations, a list, or random draws over fields of the scenario."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from roamlab.base.calls import public
from roamlab.base.errors import BadInput, quoted
from roamlab.base.read_only import read_only
from roamlab.scenarios.scenario import check_number

if TYPE_CHECKING:
    from roamlab.scenarios.scenario import Scenario

_LONGEST_VALUE = 200

MAX_POINTS = 1_000_000
"""More points than this are taken for a mistake."""

DECIMALS = {
    "ns": 0,
    "us": 3,
    "µs": 3,
    "ms": 6,
    "s": 9,
    "min": 9,
    "h": 9,
    "bit/s": 0,
    "kbit/s": 3,
    "Mbit/s": 6,
    "Gbit/s": 9,
    "pkt": 0,
    "B": 0,
    "kB": 3,
    "MB": 6,
    "GB": 9,
    "KiB": 0,
    "MiB": 0,
}
"""Decimals of a quantity in each unit that are still whole in the base unit."""


class BadDesign(BadInput):
    """A design that makes no sense: the field (in a list by position), what is wrong, what to write."""

    def __init__(
        self, field: tuple[str | int, ...], problem: str, expected: str, remedy: str, in_python: str = ""
    ) -> None:
        """`remedy` is what to write in a sweep's file, `in_python` in a call; empty if that is the same."""
        axis = ".".join(part for part in field[1:] if isinstance(part, str))
        where = f"sweep, axis `{axis}`" if axis else f"sweep, {field[0]}"
        in_python = in_python or _IN_PYTHON.get(remedy, remedy)
        super().__init__(where, problem, expected=expected, remedy=in_python)
        self.field, self.problem, self.expected, self.remedy = field, problem, expected, remedy


_TABLE = "a table of paths and values"


class Design(Protocol):
    """Points by number. A point gives each axis, which is a path in the scenario, a value."""

    @property
    def table(self) -> str:
        """The table of a sweep file that has it."""

    @property
    def axes(self) -> tuple[str, ...]:
        """The paths."""

    def __len__(self) -> int:
        """How many points."""

    def values(self, point: int) -> tuple[Any, ...]:
        """The value on each axis."""

    def labels(self, point: int) -> tuple[str, ...]:
        """The same for people."""

    def name(self, point: int) -> str:
        """Name of the point: its values, unless it has a name. Different points have different names."""
        return ", ".join(self.labels(point))


def labels_of(values: Sequence[Any]) -> list[str]:
    """Values as short text. A table is called by its `kind` where no other on the axis has the same."""
    kinds = Counter(value.get("kind") for value in values if isinstance(value, dict))

    def label(value: Any) -> str:
        if isinstance(value, str):
            return value
        if isinstance(value, dict) and "kind" in value and kinds[value["kind"]] == 1:
            return str(value["kind"])
        return json.dumps(value, ensure_ascii=False, default=str)

    return [label(value) for value in values]


@public("write another roamlab.Grid(…)", choices=None)
@dataclass(frozen=True)
class Grid(Design):
    """All combinations; the last axis changes fastest. Values are a list, a range or an array."""

    choices: Mapping[str, Sequence[Any]]
    table: ClassVar[str] = "grid"

    def __post_init__(self) -> None:
        if not isinstance(self.choices, Mapping):
            listed = _points_of(self.choices) and "a list of points is a rl.Listed"
            in_python = f"{_IN_PYTHON[_FOR_EXAMPLE]}{listed and f'; {listed}'}"
            raise BadDesign(("grid",), f"{self.choices!r} has no axes", _TABLE, _FOR_EXAMPLE, in_python)
        object.__setattr__(
            self, "choices", read_only({path: _listed(path, each) for path, each in self.choices.items()})
        )
        _check_paths(self.choices)
        for path, values in self.choices.items():
            if len(set(map(_in_base_unit, labels_of(values)))) < len(values):
                raise BadDesign(
                    ("grid", path), "a value is listed twice", "different values", "leave one out"
                )
        if not self.choices:
            raise BadDesign(("grid",), "the grid is empty", "at least one axis", _FOR_EXAMPLE)
        _check_axes("grid", self.axes)
        _check_size(("grid",), len(self), " by ".join(str(len(values)) for values in self.choices.values()))

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The paths."""
        return tuple(self.choices)

    @cached_property
    def _labels(self) -> list[list[str]]:
        return [labels_of(values) for values in self.choices.values()]

    def __len__(self) -> int:
        return min(math.prod(len(values) for values in self.choices.values()), 2**62)

    def _position(self, point: int) -> list[int]:
        position = []
        for values in reversed(list(self.choices.values())):
            point, at = divmod(point, len(values))
            position.append(at)
        return position[::-1]

    def values(self, point: int) -> tuple[Any, ...]:
        """The value on each axis."""
        return tuple(
            values[at] for values, at in zip(self.choices.values(), self._position(point), strict=True)
        )

    def labels(self, point: int) -> tuple[str, ...]:
        """The values as text."""
        return tuple(labels[at] for labels, at in zip(self._labels, self._position(point), strict=True))


def _list_of(values: Any) -> str:
    """Values that are no list, as one writes them."""
    return json.dumps(sorted(values, key=str), ensure_ascii=False, default=str)[:_LONGEST_VALUE]


_OF_RANGES = {"from", "to", "step", "start", "stop", "end", "min", "max", "count", "num", "steps", "values"}
"""Forms of a range in other programs."""


def _leaf(path: str, values: Any) -> str:
    """The whole path of the first value in tables inside each other: the dots of a path without quotes."""
    while isinstance(values, dict) and values:
        name, values = next(iter(values.items()))
        path = f"{path}.{name}"
    return path


def _listed(path: str, values: Any) -> list[Any]:
    """The values of an axis as a list of Python's own types. Raises `BadDesign` if they are none."""
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if not isinstance(values, list | tuple | range):
        kind = "a table" if isinstance(values, dict) else quoted(values)
        remedy = f"write [{json.dumps(values, ensure_ascii=False, default=str)[:_LONGEST_VALUE]}] for this one value"
        if isinstance(values, str) and re.search(r"\d.*(\.\.|[,:;]|-|\bto\b).*\d", values):
            remedy = 'write each value, for example ["4 pkt", "8 pkt", "16 pkt"]'
        if isinstance(values, dict) and "kind" not in values and values:
            remedy = f'write the whole path in quotes: "{_leaf(path, values)}" = [...]'
            if {*values} <= _OF_RANGES:
                remedy = 'write each value, for example ["4 pkt", "8 pkt", "16 pkt"]'
        in_python = remedy
        if isinstance(values, set | frozenset):
            kind, in_python = "a set, which has no order,", f"write {_list_of(values)}"
        elif isinstance(values, dict) and "whole path" in remedy:
            in_python = f'write the whole path: {{"{_leaf(path, values)}": [...]}}'
        elif isinstance(values, Iterable) and not isinstance(values, str | dict):
            in_python = "write list(…) around it"
        raise BadDesign(("grid", path), f"{kind} is no list of values", "a list of values", remedy, in_python)
    if not values:
        raise BadDesign(
            ("grid", path), "an axis without values", "a list of values", 'write for example ["a", "b"]'
        )
    return list(values)


class _AsInBase(Enum):
    VALUE = "as in the base"


def _points_of(value: Any) -> bool:
    """True for a list of tables."""
    return (
        isinstance(value, list | tuple) and bool(value) and all(isinstance(each, Mapping) for each in value)
    )


def _as_points(table: Mapping[str, Any]) -> str:
    """Text to write instead of one table in the place of a list of points."""
    axes = {path: list(values) for path, values in table.items() if isinstance(values, list | tuple | range)}
    if not axes:
        return f"write the points in brackets: [{json.dumps(dict(table), ensure_ascii=False, default=str)}]"
    path, values = next(iter(axes.items()))
    points = ", ".join(
        f'{{"{path}": {json.dumps(each, ensure_ascii=False, default=str)}}}' for each in values[:3]
    )
    return f"write [{points}{', …' if len(values) > 3 else ''}], a table for each point; all combinations are a rl.Grid"


AS_IN_BASE = _AsInBase.VALUE
"""The value of a point on an axis that it does not name: what the base has."""

NAME = "name"
"""The key of a point's name among its fields; no scenario has a field of that path."""


@public("write another roamlab.Listed(…)", points=None)
@dataclass(frozen=True)
class Listed(Design):
    """Points that are written out: fields and values, and a `name` if the point is to have one.

    What a point does not name is as in the base; `{}` is the base itself.
    """

    points: Sequence[Mapping[str, Any]]
    table: ClassVar[str] = "points"

    def __post_init__(self) -> None:
        if isinstance(self.points, str | Mapping) or not isinstance(self.points, Sequence):
            in_python = _as_points(self.points) if isinstance(self.points, Mapping) else ""
            raise BadDesign(
                ("points",), f"{self.points!r} is no list", "a list of tables", _FOR_POINTS, in_python
            )
        if not self.points:
            raise BadDesign(("points",), "there is no point", "a list of tables", _FOR_EXAMPLE)
        for number, point in enumerate(self.points):
            if not isinstance(point, Mapping):
                problem = f"point {number} is {point!r}"
                raise BadDesign(("points", number), problem, "a table of paths and values", _FOR_POINTS)
            if not (isinstance(point.get(NAME, "-"), str) and point.get(NAME, "-")):
                problem = f"the name {point[NAME]!r} of point {number} cannot be used"
                raise BadDesign(("points", number, NAME), problem, "a text", _FOR_NAME)
        object.__setattr__(self, "points", read_only(list(self.points)))
        _check_axes("points", self.axes)
        _check_size(("points",), len(self), str(len(self)))
        twice = Counter(map(self.name, range(len(self)))).most_common(1)[0]
        if twice[1] > 1:
            problem = f"the point {twice[0]!r} is listed twice"
            raise BadDesign(("points",), problem, "different points", "leave one out, or give them names")

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The paths, in the order in which they are named first."""
        return tuple(dict.fromkeys(path for point in self.points for path in point if path != NAME))

    @cached_property
    def _labels(self) -> list[list[str]]:
        def label(column: list[Any]) -> list[str]:
            distinct = list({_exact(value): value for value in column if value is not AS_IN_BASE}.values())
            named = dict(zip(map(_exact, distinct), labels_of(distinct), strict=True))
            return ["" if value is AS_IN_BASE else named[_exact(value)] for value in column]

        return [label([point.get(axis, AS_IN_BASE) for point in self.points]) for axis in self.axes]

    def __len__(self) -> int:
        return len(self.points)

    def values(self, point: int) -> tuple[Any, ...]:
        """The value on each axis; `AS_IN_BASE` where the point does not name it."""
        return tuple(self.points[point].get(axis, AS_IN_BASE) for axis in self.axes)

    def labels(self, point: int) -> tuple[str, ...]:
        """The values as text; empty where the point does not name the axis."""
        return tuple(labels[point] for labels in self._labels)

    def name(self, point: int) -> str:
        """The name that the point was given; else its values, with their axes if it names only some; or "base"."""
        fields = self.points[point]
        if NAME in fields:
            return str(fields[NAME])
        if len(fields) == len(self.axes):
            return super().name(point) or _BASE
        named = zip(self.axes, self.labels(point), strict=True)
        return ", ".join(f"{axis} = {label}" for axis, label in named if axis in fields) or _BASE


_BASE = "base"
"""The name of the point `{}`."""


def _exact(value: Any) -> str:
    return json.dumps(value, default=str)


@public("write another roamlab.Random(…)", points=None, ranges=None)
@dataclass(frozen=True)
class Random(Design):
    """`points` independent draws: from a list, or uniform between two numbers or quantities, also on a log scale.

    Draw n of a seed is the same however many there are.
    """

    points: int
    ranges: Mapping[str, Any]
    seed: int = 1
    table: ClassVar[str] = "random"

    def __post_init__(self) -> None:
        if isinstance(self.points, Mapping):
            raise BadDesign(
                ("random",),
                "expected the number of points, got the ranges",
                "the number of points, then a table of paths and ranges",
                "write rl.Random(100, {...})",
            )
        if type(self.points) is not int or self.points < 1:
            raise BadDesign(
                ("random", "points"), f"{self.points!r} points", "a whole number from 1 on", "write 100"
            )
        if not isinstance(self.ranges, Mapping):
            raise BadDesign(("random",), f"{self.ranges!r} has no axes", _TABLE, _FOR_RANDOM)
        check_number("seed", self.seed)
        object.__setattr__(self, "ranges", read_only(self.ranges))
        if not self.ranges:
            raise BadDesign(("random",), "no axis is drawn", "at least one axis", _FOR_RANDOM)
        _check_axes("random", self.axes)
        _check_size(("random", "points"), self.points, str(self.points))
        for path, range_ in self.ranges.items():
            if not (isinstance(range_, list) and range_) and _bounds(range_) is None:
                pair = isinstance(range_, tuple) and len(range_) == 2
                in_python = (
                    f'write {{"low": {_exact(range_[0])}, "high": {_exact(range_[1])}}}' if pair else ""
                )
                if isinstance(range_, dict) and _bounds({**range_, "scale": "linear"}) is not None:
                    raise BadDesign(
                        ("random", path),
                        f"{range_!r} is no range",
                        'the scale "linear" or "log"; a logarithmic one has no 0 and no negative values',
                        'write low = 1e-4, for example, or scale = "linear"',
                        'write "low": 1e-4, for example, or "scale": "linear"',
                    )
                raise BadDesign(("random", path), f"{range_!r} is no range", _A_RANGE, _FOR_RANDOM, in_python)

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The paths."""
        return tuple(self.ranges)

    def __len__(self) -> int:
        return self.points

    def values(self, point: int) -> tuple[Any, ...]:
        """The value on each axis."""
        rng = np.random.default_rng([self.seed, point])
        return tuple(_draw(self.ranges[axis], float(rng.random())) for axis in self.axes)

    def labels(self, point: int) -> tuple[str, ...]:
        """The number of the draw and its values as text."""
        first, *rest = (labels_of([value])[0] for value in self.values(point))
        return (f"{point}: {first}", *rest)


@dataclass(frozen=True)
class Whole(Design):
    """Whole scenarios, by name."""

    scenarios: Mapping[str, Scenario]
    table: ClassVar[str] = "scenarios"
    axes: ClassVar[tuple[str, ...]] = ("scenario",)

    def __len__(self) -> int:
        return len(self.scenarios)

    def values(self, point: int) -> tuple[Any, ...]:
        """The scenario."""
        return (list(self.scenarios.values())[point],)

    def labels(self, point: int) -> tuple[str, ...]:
        """Its name."""
        return (list(self.scenarios)[point],)


_FOR_EXAMPLE = 'write for example "cells.bs2.queue.limit" = ["60 pkt", "120 pkt"]'
_FOR_POINTS = (
    'write for example { name = "small", "cells.bs2.queue.limit" = "60 pkt" }, or {} for the base itself'
)
_FOR_RANDOM = 'write for example "cells.bs2.rate" = { low = "1 Mbit/s", high = "4 Mbit/s", scale = "log" }'
_FOR_NAME = 'write name = "small"'
_IN_PYTHON = {
    _FOR_EXAMPLE: 'write for example {"cells.bs2.queue.limit": ["60 pkt", "120 pkt"]}',
    _FOR_POINTS: 'write for example {"name": "small", "cells.bs2.queue.limit": "60 pkt"}, or {} for the base itself',
    _FOR_RANDOM: 'write for example {"cells.bs2.rate": {"low": "1 Mbit/s", "high": "4 Mbit/s", "scale": "log"}}',
    _FOR_NAME: 'write "name": "small"',
}
"""Examples of a sweep's file, as a call has them."""
_A_RANGE = "a list of values, or a table of low, high and optionally scale, with low below high in one unit"


def _in_base_unit(label: str) -> str | Decimal:
    """A time, a rate or a size in its smallest unit, as "50 ms" and "0.05 s" are one value; another label unchanged."""
    amount, _, unit = label.partition(" ")
    if unit in ("min", "h"):
        return label
    try:
        return Decimal(amount).scaleb(DECIMALS[unit]).normalize()
    except (ArithmeticError, KeyError):
        return label


def _bounds(range_: Any) -> tuple[float, float, str, int] | None:
    """Lowest, highest, unit ("" for plain numbers) and decimals (-1: as they come); None if it is no range."""
    if not isinstance(range_, dict) or not {"low", "high"} <= set(range_) <= {"low", "high", "scale"}:
        return None
    low, high, scale = range_["low"], range_["high"], range_.get("scale", "linear")
    unit, decimals = "", 0 if type(low) is int and type(high) is int else -1
    if isinstance(low, str) and isinstance(high, str):
        try:
            (low, unit), (high, other) = low.split(), high.split()
            low, high, decimals = float(low), float(high), DECIMALS[unit]
        except (ValueError, KeyError):
            return None
        if other != unit:
            return None
    if not all(type(bound) in (int, float) and math.isfinite(bound) for bound in (low, high)):
        return None
    if not low < high or scale not in ("linear", "log") or (scale == "log" and low <= 0):
        return None
    return float(low), float(high), unit, decimals


def _draw(range_: Any, uniform: float) -> Any:
    """The value of a range at `uniform` in [0, 1)."""
    if isinstance(range_, list):
        return range_[int(uniform * len(range_))]
    bounds = _bounds(range_)
    assert bounds is not None
    low, high, unit, decimals = bounds
    log = range_.get("scale") == "log"
    value = low * (high / low) ** uniform if log else low + (high - low) * uniform
    if unit:
        return f"{round(value, min(decimals, 6)):.{min(decimals, 6)}f} {unit}"
    return round(value) if decimals == 0 else value


def _check_paths(choices: Mapping[Any, Any]) -> None:
    """Raise `BadDesign` unless each key is the path of a field."""
    wrong = next((each for each in choices if not isinstance(each, str)), None)
    if wrong is not None:
        together = 'write points: [{"mobility.buffer.limit": "4 pkt", "radio.gap": "50 ms"}, …]'
        raise BadDesign(
            ("grid",),
            f"{quoted(wrong)} is no path of a field",
            "texts, as the keys",
            together if isinstance(wrong, tuple) else 'write "radio.gap", for example',
        )


def _check_axes(table: str, axes: Sequence[str]) -> None:
    for one in axes:
        for other in axes:
            if one != other and (other + ".").startswith(one + "."):
                raise BadDesign(
                    (table, other),
                    f"it changes what `{one}` sets too",
                    "axes that do not touch each other",
                    f"leave one out, or give `{one}` whole tables as values",
                )


def _check_size(field: tuple[str, ...], points: int, how: str) -> None:
    if points > MAX_POINTS:
        raise BadDesign(
            field,
            f"{how} points are too many",
            f"at most {MAX_POINTS}",
            "leave values out, or draw from the same axes at random with [random]",
        )


def pairs(design: Design, baseline: str) -> list[tuple[int, int]]:
    """The points to compare, each with its reference. Raises `BadInput` if `baseline` names none; see `compare`."""
    labels = [design.labels(point) for point in range(len(design))]
    names = {design.name(point): point for point in range(len(design))}
    if baseline in names:
        return [(point, names[baseline]) for point in range(len(design)) if point != names[baseline]]
    by_labels = {label: point for point, label in enumerate(labels)}
    axes = [axis for axis in range(len(design.axes)) if any(label[axis] == baseline for label in labels)]
    if len(axes) == 1:
        (axis,) = axes
        moved = [(*label[:axis], baseline, *label[axis + 1 :]) for label in labels]
        return [
            (point, by_labels[to])
            for point, to in enumerate(moved)
            if to in by_labels and by_labels[to] != point
        ]
    raise BadInput(
        f"baseline {baseline!r}",
        "more than one axis has this value" if axes else "there is no such point, and no axis has this value",
        expected=f"one of {', '.join(list(names)[:20])}",
        remedy="name a whole point",
    )
