"""What determined a run: enough to find it again, and to make it again."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from roamlab import _roamlab

if TYPE_CHECKING:
    from roamlab.scenario import Scenario

FORMAT = 1
"""Version of the run folder: another number is another layout."""


@dataclass(frozen=True)
class Manifest:
    """A run's origin. `parameters` is the scenario with every default filled in."""

    scenario_name: str
    scenario_text: str
    parameters: dict[str, Any]
    seed: int
    run: int
    version: str
    schema_hash: str
    build_hash: str
    format: int = FORMAT
    warnings: list[str] = field(default_factory=list)
    """What the scenario says and hardly means."""

    @cached_property
    def key(self) -> str:
        """Hash of everything that determines the run's content. A scenario's comments do not."""
        origin = [self.format, self.parameters, self.seed, self.run, self.schema_hash, self.build_hash]
        return hash_text(json.dumps(origin, ensure_ascii=False))

    def as_dict(self) -> dict[str, Any]:
        """For the manifest file."""
        return asdict(self)


def describe(scenario: Scenario, seed: int, run: int) -> Manifest:
    """The manifest of a run that this build would make."""
    return Manifest(
        scenario_name=scenario.name,
        scenario_text=scenario.text,
        parameters=scenario.parameters,
        seed=seed,
        run=run,
        version=package_version(),
        schema_hash=schema_hash(),
        build_hash=_roamlab.build_hash(),
        warnings=scenario.warnings,
    )


@cache
def package_version() -> str:
    """The version of the installed package."""
    return version("roamlab")


@cache
def schema_hash() -> str:
    """Hash of the definition of scenarios."""
    return hash_text(_roamlab.schema())


def hash_text(text: str) -> str:
    """The names of what is stored: 128 bits of SHA-256."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]
