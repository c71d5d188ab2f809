"""The manifest: everything that determines a run, so that it can be found and repeated."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from roamlab import _roamlab
from roamlab.base.calls import no_attribute
from roamlab.base.errors import BadInput
from roamlab.base.read_only import entries, read_only
from roamlab.kernel.cache import built
from roamlab.scenarios.scenario import Outline, Scenario, outline

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = "manifest.json"
"""Its file in a run folder."""

FORMAT = 1
"""Version of the run folder: another number is another layout."""


@dataclass(frozen=True)
class Manifest:
    """A run's origin."""

    scenario_name: str
    scenario_text: str
    parameters_text: str
    """The scenario with every default filled in, as the engine's JSON, in one line."""
    seed: int
    run: int
    version: str
    schema_hash: str
    build_hash: str
    format: int = FORMAT
    warnings: list[str] = field(default_factory=list)
    """Warnings about the scenario."""
    live: dict[str, Any] = field(default_factory=dict)
    """Of a run in real time what it was, and how late its packets were; empty for every other run."""

    def __getattr__(self, name: str) -> NoReturn:
        raise no_attribute(
            "Manifest", name, self.__dataclass_fields__, f"it has {', '.join(self.__dataclass_fields__)}"
        )

    def __post_init__(self) -> None:
        for name in ("warnings", "live"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    @cached_property
    def key(self) -> str:
        """Hash of everything that determines the run's content. A scenario's comments do not.

        No other run has the key of one in real time, which nothing repeats.
        """
        origin: list[Any] = [self.seed, self.run, self.schema_hash, self.build_hash]
        rest = json.dumps(origin + [self.live] * bool(self.live), ensure_ascii=False)
        return hash_text(f"[{self.format}, ", self.parameters_text, f", {rest[1:]}")

    @cached_property
    def outline(self) -> Outline:
        """The little that is asked of every run."""
        return outline(self.parameters_text)

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The scenario with every default filled in, read-only. To read that of a large one takes seconds."""
        parsed: dict[str, Any] = json.loads(self.parameters_text, object_hook=entries)
        return parsed

    @classmethod
    def from_dict(cls, content: Any, parameters_text: str) -> Manifest:
        """From the content of a manifest file, and the line of its parameters, empty if they have no separate one.

        Raises `ValueError`, which names the field, if it is not one of our manifests.
        """
        if not isinstance(content, dict):
            raise ValueError("not a JSON object")
        if content.get("format") != FORMAT:
            raise ValueError(f"format {content.get('format')!r}, this version reads {FORMAT}")
        content = {"warnings": [], "live": {}} | content  # runs of earlier versions have none
        for name, kind in _KINDS.items():
            if type(content.get(name)) is not kind:
                raise ValueError(f"field {name!r} is missing or not {kind.__name__}")
        _check_shape(content["parameters"], _SHAPE, "parameters")
        if content["live"]:
            _check_shape(content["live"], _LIVE, "live", whole=True)
            _check_shape(content["live"]["lateness"], _LATENESS, "live.lateness", whole=True)
        try:
            json.dumps(content, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise ValueError("a text in it is not Unicode") from None
        kept = {name: content[name] for name in _KINDS if name != "parameters"}
        manifest = cls(
            **kept, parameters_text=parameters_text or json.dumps(content["parameters"], ensure_ascii=False)
        )
        try:
            manifest.outline  # noqa: B018  (the check)
        except ValueError as error:
            raise ValueError(f"field `parameters`: {error}") from None
        return manifest

    def texts(self) -> dict[str, str]:
        """For the manifest file: the JSON of each field."""
        left_out = {"parameters", *([] if self.live else ["live"])}
        kept = {name: getattr(self, name) for name in _KINDS if name not in left_out}
        texts = {name: json.dumps(value, ensure_ascii=False) for name, value in kept.items()}
        return texts | {"parameters": self.parameters_text}

    @cached_property
    def network(self) -> dict[str, Any]:
        """`parameters` with all that topologies, groups and plans generate, as this run saw it."""
        if not self.outline.generates:
            return self.parameters
        found: dict[str, Any] = json.loads(self.network_text, object_hook=entries)
        return found

    @property
    def network_text(self) -> str:
        """`network`, as the engine's JSON."""
        if not self.outline.generates:
            return self.parameters_text
        return _roamlab.expand(self.scenario_text, self.scenario_name, self.seed, self.run)


_KINDS: dict[str, type] = {
    "scenario_name": str,
    "scenario_text": str,
    "parameters": dict,
    "seed": int,
    "run": int,
    "version": str,
    "schema_hash": str,
    "build_hash": str,
    "format": int,
    "warnings": list,
    "live": dict,
}
"""The fields of a manifest file."""

_LIVE: dict[str, Any] = {
    "node": str,
    "peer": str,
    "command": list,
    "serve": list,
    "started": str,
    "system": str,
    "scheduling": str,
    "lateness": dict,
    "tcp": {"*": {"*": int}},
}
_LATENESS: dict[str, Any] = {
    "packets": int,
    "p50_ns": int,
    "p99_ns": int,
    "p999_ns": int,
    "max_ns": int,
    "events?": int,
    "late_events?": int,
    "comparable": bool,
}
"""Data of a run in real time, and of how late its packets were."""

_SHAPE: dict[str, Any] = {
    "hosts": [{"name": str, "visits?": [{"cell": str}], "plan?": {"kind": str}}],
    "flows": [{"name": str}],
    "links": [{"between": (str, str)}],
    "cells": {"*": {"router": str}},
    "record": {"deliveries": bool, "packets": bool, "tcp": bool},
}
"""Parameters that charts and traces read. A field may be missing unless it is in a list and
has no `?`; `*` is any name."""


def _check_shape(value: Any, shape: Any, where: str, *, whole: bool = False) -> None:
    """Raise `ValueError` with the field's path where a value is of another kind; `whole`: nothing may be missing."""
    kind = shape if isinstance(shape, type) else list if isinstance(shape, tuple) else type(shape)
    fits = type(value) is kind
    if not fits:
        raise ValueError(f"field `{where}` is not {kind.__name__}")
    if isinstance(shape, dict):
        for entry in value if "*" in shape else shape:
            name = entry.removesuffix("?")
            if name in value:
                _check_shape(value[name], shape.get("*", shape.get(entry)), f"{where}.{name}")
            elif whole and name == entry:
                raise ValueError(f"field `{where}.{name}` is missing")
    elif isinstance(shape, tuple):
        if len(value) != len(shape):
            raise ValueError(f"field `{where}` has {len(value)} entries, not {len(shape)}")
        for at, (entry, expected) in enumerate(zip(value, shape, strict=True)):
            _check_shape(entry, expected, f"{where}[{at}]")
    elif isinstance(shape, list):
        for at, entry in enumerate(value):
            _check_shape(entry, shape[0], f"{where}[{at}]", whole=True)


def kernels_of(parameters_text: str) -> list[str]:
    """The names of the built kernels that a scenario's flows are over; most scenarios have none."""
    if '"kind":"linux"' not in parameters_text:
        return []
    flows = json.loads(parameters_text)["flows"]
    versions = {flow["transport"]["version"] for flow in flows if flow["transport"]["kind"] == "linux"}
    return [folder.name for name in sorted(versions) if (folder := built(name))]


def build_of(parameters_text: str) -> str:
    """Build of a run: the hash of the engine, and the name of the kernel if flows are over one."""
    return " ".join([_roamlab.build_hash(), *kernels_of(parameters_text)])


def describe(scenario: Scenario, seed: int, run: int) -> Manifest:
    """The manifest of a run that this build would make."""
    return Manifest(
        scenario_name=scenario.name,
        scenario_text=scenario.text,
        parameters_text=scenario.resolved,
        seed=seed,
        run=run,
        version=_roamlab.version(),
        schema_hash=schema_hash(),
        build_hash=build_of(scenario.resolved),
        warnings=scenario.warnings,
    )


@cache
def schema_hash() -> str:
    """Hash of the definition of scenarios."""
    return hash_text(_roamlab.schema())


def hash_text(*parts: str) -> str:
    """The names of what is stored: 128 bits of SHA-256."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part.encode())
    return found.hexdigest()[:32]


def broken(path: Path, problem: str) -> BadInput:
    """The error for a file of a run folder that is not as it was written."""
    return BadInput(
        path,
        problem,
        expected="a run folder as it was written",
        remedy=f"move {path.parent} away and run again: the same scenario and seed give the same run",
    )
