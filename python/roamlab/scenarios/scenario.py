"""A scenario is data: TOML text, which only the engine interprets and checks."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import tomli
import tomli_w

import roamlab
from roamlab import _roamlab
from roamlab.base.calls import (
    TEXT,
    WRITES,
    BadCall,
    Hinted,
    Kind,
    called,
    no_attribute,
    of_seed,
    public,
    warn_if_unused,
)
from roamlab.base.errors import BadInput, quoted
from roamlab.base.inputs import home, read_text
from roamlab.base.limits import memory_per_run
from roamlab.base.quantities import counted
from roamlab.base.read_only import entries
from roamlab.base.screen import escape, shown
from roamlab.scenarios.changes import assignments
from roamlab.scenarios.paths import put

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_DRAWN = 100
"""A notebook draws networks of at most this number of links and cells."""

_A_SCENARIO = "a scenario: TOML text in UTF-8"
_PATH = Kind((str, Path), "the path of a scenario", 'write roamlab.load("scenario.toml")')
_FIELD = Kind(
    (str,), TEXT.expected, f"{TEXT.remedy}; several fields are changed by .set_all({{path: value}})"
)
_CHANGES = Kind((Mapping,), "a dictionary of paths and values", 'write {"run.duration": "20 s"}')


_APPENDED = 'the whole list: scenario.set("links", [*scenario.to_dict()["links"], {…}])'
_DRAWING = "its network is drawn by roamlab.drawing(scenario), or by `roamlab draw FILE`"
_OF_OTHERS = (
    (("remove", "delete", "pop", "unset", "drop", "clear", "disable"), ".set(path, None) removes a field"),
    (
        ("copy", "clone", "deepcopy"),
        "it never changes, so no copy is needed: .set(path, value) returns a changed one",
    ),
    (("add", "append", "extend", "insert"), f"to add an entry write {_APPENDED}"),
    (
        ("get", "keys", "items", "values"),
        "its fields are read in .parameters, and without defaults by .to_dict()",
    ),
    (("update", "merge", "override"), ".set_all({path: value}) returns a copy with several fields changed"),
    (("simulate", "execute", "start"), "write .run(seed=1)"),
    (("draw", "show", "graph", "network"), _DRAWING),
    (("plot", "chart", "figure", "topology"), _DRAWING),
)
"""Beginnings and names of methods that other programs' scenarios have, and what to write here."""


@public('write base = base.set("run.duration", "2 s"), for example', text=None)
@dataclass(frozen=True, repr=False)
class Scenario(metaclass=Hinted):
    """A scenario's text and the name that reports call it by."""

    text: str
    name: str = "scenario"
    changed: bool = field(default=False, compare=False)
    """No file has the text, so its lines are not useful."""
    changes: str = field(default="", compare=False)
    """Last changes, for reports."""

    def __new__(cls, *_: object, **given: object) -> Scenario:
        """Python calls this before `__init__`, whose error would not have what to write for a section."""
        if foreign := [name for name in given if name not in cls.__dataclass_fields__]:
            raise BadCall(
                "Scenario",
                f"it has no argument {foreign[0]!r}",
                expected="the text of a scenario, and a name",
                remedy=f'write Scenario.from_dict({{"{foreign[0]}": …}}) for tables, or roamlab.load(path) for a file',
            )
        return super().__new__(cls)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise BadCall(
                "Scenario, argument text",
                f"it is a {type(self.text).__name__}",
                expected="TOML as text",
                remedy="write Scenario.from_dict(…) for dictionaries, or roamlab.load(path) for a file",
            )
        if self.text.endswith(".toml") and "\n" not in self.text and not _is_toml(self.text):
            raise BadCall(
                f"Scenario, text {quoted(self.text)}",
                "this is a path, not the text of a scenario",
                expected="TOML as text",
                remedy=f"write roamlab.load({quoted(self.text)})",
            )

    def __getattr__(self, name: str) -> NoReturn:
        hint = next(
            (text for words, text in _OF_OTHERS if name in words or name.startswith(words[0])),
            "a field is changed by .set(path, value), and read in .parameters",
        )
        if name in WRITES:
            hint = 'its text is written by pathlib.Path("lab.toml").write_text(scenario.text)'
        raise no_attribute("Scenario", name, () if name in WRITES else dir(type(self)), hint)

    def __getitem__(self, key: object) -> NoReturn:
        raise BadCall(
            f"Scenario[{key!r}]" if isinstance(key, str) else "Scenario",
            "a scenario has no items",
            expected="its fields by .parameters, or by .to_dict() without defaults",
            remedy=f"write scenario.parameters[{key!r}]"
            if isinstance(key, str)
            else "write scenario.to_dict()",
        )

    def __setitem__(self, key: object, value: object) -> NoReturn:
        raise BadCall(
            f"Scenario[{key!r}]",
            "a scenario never changes",
            expected="a changed copy",
            remedy=f"write scenario = scenario.set({key!r}, {quoted(value)})",
        )

    def __delitem__(self, key: object) -> NoReturn:
        raise BadCall(
            f"Scenario[{key!r}]",
            "a scenario never changes",
            expected="a changed copy",
            remedy=f"write scenario = scenario.set({key!r}, None), which removes a field",
        )

    @classmethod
    @called(data=None)
    def from_dict(cls, data: dict[str, Any], name: str = "scenario", changes: str = "") -> Scenario:
        """A checked scenario from nested dictionaries and lists, as TOML would hold them.

        `changes` is behind the name in reports. Paths of files are relative to the folder of `name`.
        """
        if not isinstance(data, Mapping):
            raise BadCall(
                "Scenario.from_dict, argument data",
                f"it is a {type(data).__name__}",
                expected="dictionaries and lists, as TOML would hold them",
                remedy="write roamlab.Scenario(text) for TOML, or roamlab.load(path) for a file",
            )
        if "result" in data and "links" not in data and "run" not in data:
            raise BadInput(
                f"{name}{changes}",
                "this is what `roamlab run --json` prints, the results of a run",
                expected="the tables of a scenario",
                remedy='roamlab.open_run(data["result"]) has the run, and its .manifest.scenario_text the scenario',
            )
        try:
            text = tomli_w.dumps(_written(data))
        except (TypeError, ValueError) as error:
            raise BadInput(
                f"{name}{changes}",
                f"cannot be written as TOML ({error})",
                expected="dictionaries, lists, text, numbers and truth values",
                remedy='quantities are text with a unit ("2 Mbit/s"), paths of files are text: str(path)',
            ) from None
        scenario = cls(text, name, changed=True, changes=changes)
        scenario.resolved  # noqa: B018  (the check: raises where the engine refuses it)
        return scenario

    @cached_property
    def resolved(self) -> str:
        """The scenario with every default filled in, as JSON. Raises `ScenarioError` where it is wrong."""
        return self._resolve(memory_per_run())

    def check(self, memory: int) -> None:
        """Check it for a run that may take `memory` bytes, unless it has been checked.

        Raises `ScenarioError` where it is wrong, and before its network is generated if that takes more.
        """
        if "resolved" not in vars(self):
            vars(self)["resolved"] = self._resolve(memory)

    def _resolve(self, memory: int) -> str:
        try:
            return _roamlab.check(self.text, self.name, memory)
        except _roamlab.ScenarioError as error:
            if not self.changed:
                raise
            retold = _roamlab.ScenarioError(self._told(error))
            retold.field, retold.problem, retold.help = error.field, error.problem, error.help
            raise retold from None

    def _told(self, error: _roamlab.ScenarioError) -> str:
        """A report of the engine; of a text that no file holds by its field, not by its line.

        Without a field it is about a line of a file that the scenario names.
        """
        return f"{self.name}{self.changes}: {told(error)}" if self.changed and error.field else str(error)

    @property
    def parameters(self) -> dict[str, Any]:
        """`resolved`, as dictionaries and lists that cannot be changed; a field is changed by `set`."""
        parsed: dict[str, Any] = json.loads(self.resolved, object_hook=entries)
        return parsed

    def expanded(self, seed: int = 1, run: int = 0) -> dict[str, Any]:
        """`parameters` with all that is generated: links, cells, flows, hosts and their visits; read-only, too.

        A random plan's visits are those of the run with this seed and number.
        """
        check_number("seed", seed)
        check_number("run", run)
        if not self.outline.generates:
            return self.parameters
        found: dict[str, Any] = json.loads(
            _roamlab.expand(self.text, self.name, seed, run), object_hook=entries
        )
        return found

    @cached_property
    def advice(self) -> tuple[list[str], int, int]:
        """`warnings`; and what a run may amount to, estimated from rates: events, and bytes of its record."""
        reports, events, memory = _roamlab.advise(self.text, self.name)
        return [self._told(report) for report in reports], events, memory

    @property
    def warnings(self) -> list[str]:
        """Warnings about the scenario, each with file, line and field."""
        return list(self.advice[0])

    @cached_property
    def outline(self) -> Outline:
        """The little that is asked of a scenario of any size."""
        return outline(self.resolved)

    def to_dict(self) -> dict[str, Any]:
        """The text as dictionaries and lists, without defaults: a new copy, to change and give to `from_dict`.

        Raises `ScenarioError` if the text is no TOML: that of a run folder may have any author.
        """
        try:
            return tomli.loads(self.text)
        except tomli.TOMLDecodeError:
            _ = self.resolved  # its error has the place of the fault
            raise

    @called(path=_FIELD)
    def set(self, path: str, value: Any) -> Scenario:
        """A copy with one field changed, checked.

        `path` goes through tables by key, and through lists by position or by the elements' `name`:
        `scenario.set("flows.moving.transport.variant", "newreno")`, `scenario.set("links.0.loss", 0.01)`. A position
        may be written as in error reports, `links[0].loss`. None removes the field: its default counts.

        The scenario itself does not change: a call whose result is not used gives a `UserWarning`.
        """
        found = self.set_all({path: value})
        warn_if_unused(lambda: f"base = base.set({path!r}, {value!r})")
        return found

    @called(changes=_CHANGES)
    def set_all(self, changes: Mapping[str, Any]) -> Scenario:
        """A copy with several fields changed, in order, and checked when all are; see `set`."""
        paths = [re.sub(r"\[(\d+)\]", r".\1", path) for path in changes]
        for at, path in enumerate(paths):
            if lost := next((each for each in paths[:at] if each.startswith(f"{path}.")), None):
                raise BadInput(
                    f"changes, field {path}",
                    f"it replaces the whole table, with the change to {lost} before it",
                    expected="changes of which none takes another one back",
                    remedy=f"write {path} first, or leave one of the two out",
                )
        data = self.to_dict()
        for path, value in changes.items():
            self.put(data, path, value)
        found = Scenario.from_dict(data, self.name, f" with {assignments(changes)}")
        warn_if_unused(lambda: f"base = base.set_all({dict(changes)!r})")
        return found

    def run(self, seed: int = 1, run: int = 0, trace: int | None = None) -> roamlab.Results:
        """Simulate it; see `roamlab.run`."""
        return roamlab.run(self, seed, run, trace)

    def sweep(
        self,
        design: roamlab.Grid
        | roamlab.Listed
        | roamlab.Random
        | Mapping[str, Sequence[Any]]
        | Sequence[Mapping[str, Any]],
        **options: Any,
    ) -> roamlab.Runs:
        """Run it at every point of a design; see `roamlab.sweep`."""
        return roamlab.sweep(self, design, **options)

    def optimise(self, over: Mapping[str, Sequence[Any]], **options: Any) -> roamlab.Optimum:
        """The best of all combinations of values of fields; see `roamlab.optimise`."""
        return roamlab.optimise(self, over, **options)

    def smallest(self, path: str, **options: Any) -> roamlab.Threshold:
        """The smallest value of a field at which a condition holds; see `roamlab.smallest`."""
        return roamlab.smallest(self, path, **options)

    def __repr__(self) -> str:
        return f"Scenario({self.name}: {self._outline})"

    def _repr_html_(self) -> str:
        title = f"<b>{escape(self.name)}</b>: {escape(self._outline)}"
        return f"{title}{self._drawing()}<details><summary>text</summary><pre>{escape(self.text)}</pre></details>"

    def _drawing(self) -> str:
        """Its network as an image, whose ids cannot clash; empty if it cannot be used, or is too large for now."""
        with suppress(_roamlab.ScenarioError, BadInput):
            network = self.expanded()
            if len(network.get("links", [])) + len(network.get("cells", {})) <= _DRAWN:
                data = base64.b64encode(roamlab.drawing(self).encode()).decode("ascii")
                return f'<br><img alt="network" src="data:image/svg+xml;base64,{data}">'
        return ""

    @property
    def _outline(self) -> str:
        """Its summary, in a line."""
        try:
            network = self.expanded()
        except _roamlab.ScenarioError as error:
            return str(error).partition("\n")[0]
        numbers = {noun: len(network.get(f"{noun}s", [])) for noun in ("cell", "host", "flow")}
        counts = ", ".join(counted(number, noun) for noun, number in numbers.items() if number)
        return ", ".join(filter(None, (str(network["run"]["duration"]), counts)))

    def put(self, table: Any, path: str, value: Any) -> None:
        """Change one field in tables of this scenario; see `set` for the path. Nothing else is checked."""
        put(self.name, table, path, value)


@called(path=_PATH)
def load(path: str | Path, memory: int | None = None) -> Scenario:
    """The scenario in a file, checked. What cannot be one is refused without reading it whole.

    A network that takes more than `memory` bytes, as a rule a quarter of what the machine has left, is refused before
    it is generated. Raises `BadInput` for what is no file of text, and `ScenarioError` where the scenario is wrong.
    """
    if isinstance(path, str) and _is_toml(path):
        raise _no_path(path)
    path = home(Path(path))
    text = read_text(path, _A_SCENARIO)
    # A name is text for reports; bytes of a path that are none are shown as such.
    scenario = Scenario(text, shown(path))
    try:
        scenario.check(memory_per_run(given=memory))
    except _roamlab.ScenarioError:
        _refuse_sweep(path, text)
        raise
    return scenario


def load_with(path: Path, changes: Mapping[str, Any]) -> Scenario:
    """The scenario in a file with changes, which may repair a field that is wrong in the file."""
    if not changes:
        return load(path)
    try:
        loaded = load(path)
    except _roamlab.ScenarioError as error:
        try:
            return Scenario(read_text(path, _A_SCENARIO), shown(path)).set_all(changes)
        except _roamlab.ScenarioError as left:
            # The report of what is as wrong as before has the line of the file.
            if (left.field, left.problem) == (error.field, error.problem):
                raise error from None
            raise
    return loaded.set_all(changes)


def of(scenario: Scenario | str | Path, memory: int | None = None) -> Scenario:
    """The scenario, or the one in the file at this path; `memory` as of `load`."""
    if isinstance(scenario, Scenario):
        return scenario
    if isinstance(scenario, Path | str):
        return load(scenario, memory)
    raise _no_path(scenario)


def _is_toml(text: str) -> bool:
    """True if a text in a path's place is the content of a file."""
    with suppress(OSError, ValueError):  # no path can be so long, or have such bytes
        if Path(text).exists():
            return False
    with suppress(tomli.TOMLDecodeError, RecursionError):
        return "\n" in text or ("=" in text and bool(tomli.loads(text)))
    return False


def _no_path(given: object) -> BadInput:
    if isinstance(given, Mapping):
        return BadInput(
            "scenario",
            "a dictionary cannot be run",
            expected="a scenario or the path of one",
            remedy="roamlab.Scenario.from_dict(data) makes a scenario of it",
        )
    return BadInput(
        "scenario",
        "this is text, not a path" if isinstance(given, str) else f"{given!r} cannot be run",
        expected="a scenario or the path of one",
        remedy="roamlab.load reads a file, roamlab.Scenario(text) takes its content",
    )


def _written(value: Any) -> Any:
    """The value without fields that are None, which TOML does not have: their default counts."""
    if isinstance(value, Mapping):
        return {key: _written(each) for key, each in value.items() if each is not None}
    return [_written(each) for each in value] if isinstance(value, list | tuple) else value


def check_number(name: str, value: object) -> None:
    """Refuse what is no whole number from 0 to 2^64 - 1, as a seed and the number of a run are."""
    if isinstance(value, Integral) and not isinstance(value, bool) and 0 <= int(value) < 2**64:
        return
    raise BadInput(
        f"{name} = {value!r}",
        "it is out of range" if type(value) is int else "it is no whole number",
        expected="a whole number from 0 to 2^64 - 1",
        remedy=of_seed(value)
        if name == "seed" and isinstance(value, str)
        else f"write {name} = 1, for example",
    )


class Outline(NamedTuple):
    """Queries to a scenario of any size."""

    duration_ns: int
    """How long a run lasts in simulated time."""
    flows: int
    """Flows, those of groups included."""
    moves: bool
    """A host visits more than one cell."""
    generates: bool
    """It has topologies, groups or plans, which generate links, cells, hosts and flows."""
    forces: bool
    """Its links lose or delay packets that it lists, or its messages have faults."""
    recorded: Collection[str]
    """Which of the tables `deliveries`, `tcp` and `packets` are recorded."""


def outline(resolved: str) -> Outline:
    """The outline of a scenario with every default filled in, as JSON. Raises `ValueError` if the text is none."""
    return Outline(*_roamlab.outline(resolved))


def told(error: _roamlab.ScenarioError) -> str:
    """A refusal by its field: without a line, for a text that no file holds."""
    where = f"field `{shown(error.field)}`: " if error.field else ""
    return f"{where}{shown(error.problem)}" + (f"\n  help: {shown(error.help)}" if error.help else "")


_LONGEST_SWEEP = 1_000_000
_OF_SWEEPS = ("grid", "points", "random", "scenario")


def _refuse_sweep(path: Path, text: str) -> None:
    """Raise `BadInput` for a sweep in a scenario's place; no sweep is long."""
    if len(text) > _LONGEST_SWEEP:
        return
    try:
        data = tomli.loads(text)
    except (tomli.TOMLDecodeError, RecursionError):
        return
    named = [name for name in _OF_SWEEPS if name in data]
    if named and not {"links", "cells", "flows"} & data.keys():
        raise BadInput(
            f"{shown(path)}:{_roamlab.line_of(text, named[0]) or 1}, field `{named[0]}`",
            "this is a sweep, not a scenario",
            expected=_A_SCENARIO,
            remedy=f"run it with `roamlab sweep {shown(path)}`",
        )


def is_declared_by(name: str, declared: str) -> bool:
    """True if a flow or host is the one with this name in the scenario, or a member of the group with it.

    A member of a group has the group's name, a hyphen and its number.
    """
    return name == declared or name.startswith(f"{declared}-")
