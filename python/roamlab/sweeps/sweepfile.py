"""Sweeps as TOML files, which name the scenario that they vary. `docs/sweeps.md` describes the fields."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import tomli

from roamlab import _roamlab
from roamlab.base.errors import BadInput, did_you_mean, one_line, quoted
from roamlab.base.inputs import read_text
from roamlab.base.screen import shown
from roamlab.running.summary import Name, check
from roamlab.scenarios.editors import SWEEP
from roamlab.scenarios.scenario import load, load_with
from roamlab.statistics.stopping import Until, seed
from roamlab.sweeps.design import BadDesign, Design, Grid, Listed, Random, pairs
from roamlab.sweeps.plan import Plan, measurement_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from roamlab.scenarios.scenario import Scenario

_FIELDS = {name: field["description"] for name, field in SWEEP["properties"].items()}
"""Content of each field, as reports describe it."""

_TYPOGRAPHIC = frozenset("\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb")
"""Quotes that a word processor makes of straight ones."""

_ELSEWHERE = {
    "base": "write `scenario`",
    **dict.fromkeys(
        ("runs", "repetitions", "repeat", "repeats", "reps", "iterations", "trials", "n", "num_runs"),
        "how many runs each point has is `replications`: write replications = 30",
    ),
    "duration": 'it is a field of the scenario: write under a header [set] "run.duration" = "14 s"',
    "threads": "how many runs there are at a time is an option: `roamlab sweep SWEEP --threads 4`",
    "out": "where the result goes is an option: `roamlab sweep SWEEP --out FOLDER`",
    "store": "where runs are kept is an option: `roamlab sweep SWEEP --store FOLDER`",
    "zip": "write a table for each point: [[points]]",
}
"""Name that is another field, or no field of a sweep."""

_EXAMPLES = {
    "common_random_numbers": "write true",
    "baseline": 'write the name as a text, "64 pkt"',
    "set": 'write under a header [set], for example "run.duration" = "14 s"',
    "grid": 'write under a header [grid], for example "cells.bs2.queue.limit" = ["60 pkt", "120 pkt"]',
    "points": "write each point under a header [[points]], with double brackets",
    "random": "write under a header [random] points = 100, and a range for each path",
}
"""Text to write instead of a value of another kind."""


@dataclass(frozen=True)
class SweepFile:
    """A sweep from its file."""

    plan: Plan
    baseline: str | None
    text: str


@dataclass(frozen=True)
class _Source:
    """The file, for errors."""

    path: Path
    text: str

    def refuse(self, field: tuple[str | int, ...], problem: str, expected: str, remedy: str) -> BadInput:
        name = _path(field)
        where = f"{self.place(field)}, field `{name}`" if name else self.place(field)
        return BadInput(where, problem, expected=expected, remedy=remedy)

    def place(self, field: tuple[str | int, ...]) -> str:
        """The file, and the line of a field or of the closest table around it."""
        line = _roamlab.line_of(self.text, _path(field))
        return f"{shown(self.path)}:{line}" if line else shown(self.path)


def _path(field: tuple[str | int, ...]) -> str:
    """A field as the engine names it: `grid."cells.bs2.queue"[1]`."""
    path = ""
    for part in field:
        if isinstance(part, int):
            path += f"[{part}]"
        else:
            path += ("." if path else "") + (part if re.fullmatch(r"[\w-]+", part) else json.dumps(part))
    return path


def load_sweep(path: str | Path, changes: Mapping[str, Any] = MappingProxyType({})) -> SweepFile:
    """The sweep in a file, checked, with its scenario; `changes` of it come after those of the file's `set`."""
    path = Path(path)
    text = read_text(path, "a sweep: TOML text in UTF-8")
    try:
        data = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise _no_toml(path, text, error) from None
    except RecursionError:
        raise BadInput(
            path,
            "brackets are nested hundreds deep",
            expected="TOML",
            remedy="close them, or see docs/sweeps.md for an example",
        ) from None
    source = _Source(path, text)
    _check_fields(source, data)
    replications = _replications(source, data.get("replications", 30))
    metrics = _metrics(source, data.get("metrics"))
    baseline = _typed(source, data, "baseline", str, None)
    try:
        base, design = _base(source, data, changes), _design(source, data)
        named: list[tuple[tuple[str | int, ...], str]] = [
            (("metrics", number), metric) for number, metric in enumerate(metrics or [])
        ]
        if isinstance(replications, Until):
            named.append((("replications", "metric"), replications.metric))
        _check_flows(source, base, design, named)
        chosen, keep = _seed(source, data.get("seed", 1)), _choice(source, data)
        common = _typed(source, data, "common_random_numbers", bool, True)
        with _located(source, ("replications", "baseline")):
            plan = Plan(
                base, design, replications, chosen, measurement_of(metrics, replications), keep, common
            )
        if baseline is not None:
            with _located(source, ("baseline",)):
                pairs(design, baseline)
    except BadDesign as error:
        raise source.refuse(error.field, error.problem, error.expected, error.remedy) from None
    return SweepFile(plan, baseline, text)


def _no_toml(path: Path, text: str, error: tomli.TOMLDecodeError) -> BadInput:
    """The error of a text that is not TOML, in the words for scenarios if the engine finds the fault, too."""
    place, problem, remedy = f"{error.lineno}:{error.colno}", error.msg, "see docs/sweeps.md for an example"
    if _TYPOGRAPHIC & {*text.split("\n")[error.lineno - 1]}:
        remedy = 'these quotes are typographic: write straight ones, "…"'
    try:
        _roamlab.check(text, "", 0)
    except _roamlab.ScenarioError as told:
        found = re.match(r":(\d+:\d+): ", str(told))
        if found and told.help and not told.field:
            place, problem, remedy = found[1], told.problem, told.help
    return BadInput(f"{shown(path)}:{place}", problem, expected="TOML", remedy=remedy)


def _check_fields(source: _Source, data: Mapping[str, Any]) -> None:
    of_scenarios = [name for name in ("links", "cells", "flows") if name in data]
    if of_scenarios and "scenario" not in data:
        raise source.refuse(
            (of_scenarios[0],),
            "this is a scenario, not a sweep",
            "a sweep, which names a scenario and the fields to vary",
            f"run it with `roamlab run {shown(source.path)}`",
        )
    for name in data:
        if name not in _FIELDS:
            remedy = _ELSEWHERE.get(name) or did_you_mean(name, _FIELDS, "correct or delete it")
            raise source.refuse((name,), "unknown field", f"one of {', '.join(_FIELDS)}", remedy)
    for table in ("set", "grid", "random"):
        inner = data[table] if isinstance(data.get(table), dict) else {}
        for name in inner.keys() & (_FIELDS.keys() - ({"points"} if table == "random" else set())):
            raise source.refuse(
                (table, name),
                f"`{name}` is a field of the sweep, and under the header [{table}]",
                "paths of fields of the scenario",
                f"write `{name}` above the first header, or under a separate header",
            )
    designs = [name for name in ("grid", "points", "random") if name in data]
    if len(designs) != 1:
        problem = f"{' and '.join(designs)} are both given" if designs else "the sweep varies nothing"
        raise source.refuse(
            (designs[-1],) if designs else (), problem, "one of grid, points and random", "write one of them"
        )


def _typed(source: _Source, data: Mapping[str, Any], name: str, kind: type, default: Any) -> Any:
    value = data.get(name, default)
    if value is not default and type(value) is not kind:
        raise source.refuse((name,), f"{quoted(value)} cannot be used", _FIELDS[name], _EXAMPLES[name])
    return value


def _base(source: _Source, data: Mapping[str, Any], more: Mapping[str, Any]) -> Scenario:
    named = data.get("scenario")
    if not isinstance(named, str):
        problem = "no scenario is named" if named is None else f"{quoted(named)} is not text"
        raise source.refuse(
            ("scenario",), problem, _FIELDS["scenario"], 'write for example scenario = "lab.toml"'
        )
    file = source.path.parent / named
    changes = _typed(source, data, "set", dict, {})
    try:
        base = load(file)
    except BadInput as error:
        raise source.refuse(("scenario",), one_line(error), _FIELDS["scenario"], "correct the path") from None
    except _roamlab.ScenarioError as error:
        if not _is_scenario(file):
            # The sweep may come from another person, and name any file that its reader can read: none of it is shown.
            where = re.match(r"[^\n]*?:(\d+:\d+): ", str(error))
            problem = f"{named} is not a scenario" + (
                f": line {where[1].replace(':', ', column ')}" if where else ""
            )
            remedy = "`roamlab check` of this file reports its faults"
            raise source.refuse(("scenario",), problem, _FIELDS["scenario"], remedy) from None
        base = load_with(file, {**changes, **more})
    for path in changes:
        for axis in _axes(data):
            if _touches(axis, path):
                table = next(name for name in ("grid", "points", "random") if name in data)
                raise source.refuse(
                    ("set", path),
                    f"`{table}` changes {axis} too",
                    "fields that the sweep does not vary",
                    "leave one of the two out, or give each point the whole table under [[points]]",
                )
    if changes:
        try:
            base = base.set_all(changes)
        except (BadInput, _roamlab.ScenarioError) as error:
            wrong = [path for path in changes if _takes(base, changes, without=path)]
            raise source.refuse(
                ("set", *wrong[:1]),
                f"the scenario refuses it: {one_line(error)}",
                "fields and values that it takes together",
                "correct it",
            ) from None
    for path in more:
        if touched := [axis for axis in _axes(data) if _touches(axis, path)]:
            raise BadInput(
                f"--set {path}",
                f"the sweep varies {touched[0]}",
                expected="fields that the sweep does not vary",
                remedy=f"leave it out, or change {shown(source.path)}",
            )
    return base.set_all(more) if more else base


def _takes(base: Scenario, changes: Mapping[str, Any], without: str) -> bool:
    """True if a scenario takes the changes except one."""
    try:
        _ = base.set_all({path: value for path, value in changes.items() if path != without})
    except (BadInput, _roamlab.ScenarioError):
        return False
    return True


def _is_scenario(path: Path) -> bool:
    """True if a file has at least the tables of a scenario."""
    try:
        found = tomli.loads(read_text(path, _FIELDS["scenario"]))
    except (BadInput, tomli.TOMLDecodeError, RecursionError):
        return False
    return isinstance(found.get("run"), dict) and bool({"links", "cells", "topology", "flows"} & found.keys())


def _touches(axis: str, path: str) -> bool:
    """True if one of two paths leads to, or through, the other."""
    return (axis + ".").startswith(path + ".") or (path + ".").startswith(axis + ".")


def _axes(data: Mapping[str, Any]) -> list[str]:
    listed = data.get("points")
    points = [_dict(point) for point in listed] if isinstance(listed, list) else []
    return [
        *_dict(data.get("grid")),
        *(path for point in points for path in point),
        *_dict(data.get("random")),
    ]


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _design(source: _Source, data: Mapping[str, Any]) -> Design:
    if "grid" in data:
        return Grid(_typed(source, data, "grid", dict, {}))
    if "points" in data:
        return Listed(_typed(source, data, "points", list, []))
    random = dict(_typed(source, data, "random", dict, {}))
    if "points" not in random:
        raise source.refuse(
            ("random",), "the number of points is missing", "a field `points`", "write points = 100"
        )
    return Random(random.pop("points"), random, _seed(source, data.get("seed", 1)))


def _replications(source: _Source, value: Any) -> int | Until:
    if type(value) is int and value >= 1:
        return value
    if not isinstance(value, dict):
        raise source.refuse(
            ("replications",), f"{quoted(value)} cannot be used", _FIELDS["replications"], "write 30"
        )
    known = ("metric", "half_width", "minimum", "budget", "rule", "baseline")
    for name in value:
        if name not in known:
            raise source.refuse(
                ("replications", name), "unknown field", f"one of {', '.join(known)}", "correct or delete it"
            )
    for name in ("metric", "half_width"):
        if name not in value:
            raise source.refuse(
                ("replications",), f"{name} is missing", _FIELDS["replications"], f"add {name}"
            )
    with _located(source, ("replications", "metric")):
        check(str(value["metric"]), "field `replications.metric`", one=True)
    with _located(source, ("replications",)):
        return Until(**value)


def _metrics(source: _Source, value: Any) -> list[str] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not value or not all(isinstance(metric, str) for metric in value):
        raise source.refuse(
            ("metrics",), f"{quoted(value)} cannot be used", _FIELDS["metrics"], _for_example(value)
        )
    for number, metric in enumerate(value):
        with _located(source, ("metrics", number)):
            check(metric, f"field `metrics[{number}]`")
    return value


def _for_example(value: Any) -> str:
    """Text to write instead of metrics that are no list."""
    return f"write [{json.dumps(value if isinstance(value, str) else 'flows.*.goodput_bps')}]"


def _check_flows(
    source: _Source,
    base: Scenario,
    design: Design,
    metrics: Iterable[tuple[tuple[str | int, ...], str]],
) -> None:
    """Flows that metrics name exist, unless the sweep varies which there are."""
    if any(axis == "flows" or axis.endswith(".name") for axis in design.axes):
        return
    known = [flow["name"] for flow in base.expanded().get("flows", [])]
    for field, metric in metrics:
        name = Name.of(metric)
        if name.family == "flows" and name.flow != "*" and not any(map(name.matches, known)):
            raise source.refuse(
                field,
                f"there is no flow {name.flow!r} in {base.name}",
                f"one of {', '.join(known)}",
                did_you_mean(name.flow, known, "name a flow of the scenario, or * for all"),
            )


@contextmanager
def _located(source: _Source, field: tuple[str | int, ...]) -> Iterator[None]:
    """A report of bad input gets the file's name and the line of `field`."""
    try:
        yield
    except BadInput as error:
        error.args = (f"{source.place(field)}, {error}",)
        raise


def _seed(source: _Source, value: Any) -> int:
    if isinstance(value, str) and value.strip().isdecimal():
        problem = f"{quoted(value)} is a number in quotes, which would be taken for a name"
        raise source.refuse(("seed",), problem, _FIELDS["seed"], f"write seed = {int(value)}")
    if isinstance(value, str) and value:
        return seed(value)
    if type(value) is int and 0 <= value < 2**64:
        return value
    raise source.refuse(("seed",), f"{quoted(value)} cannot be used", _FIELDS["seed"], "write 1")


def _choice(source: _Source, data: Mapping[str, Any]) -> Literal["summary", "tables"]:
    value = data.get("keep", "summary")
    if value == "tables":
        return "tables"
    if value == "summary":
        return "summary"
    raise source.refuse(("keep",), f"{quoted(value)} cannot be used", _FIELDS["keep"], 'write "summary"')
