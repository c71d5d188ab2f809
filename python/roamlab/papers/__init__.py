"""The papers that can be reproduced: one package each, found by looking into this folder.

A paper's package offers three names:

* `RUNS: int`, how many repetitions its claims are evaluated on;
* `reproduce(session: Session) -> Report`, which simulates, measures and draws;
* `example() -> Scenario`, a run that the report lets one explore.

Its module `space` offers `SPACE`, what the paper leaves open as axes, for `roamlab reproduce PAPER --explore`.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from pathlib import Path

    from roamlab.papers.spaces import Space
    from roamlab.scenarios.scenario import Scenario
    from roamlab.showing.report import Report


@dataclass(frozen=True)
class Session:
    """Arguments of a reproduction: where its figures and tables go, where runs are kept, how much to run."""

    figures: Path
    tables: Path
    store: Path
    runs: int
    threads: int


class Paper(Protocol):
    """A paper's package."""

    RUNS: int

    def reproduce(self, session: Session) -> Report:
        """Simulate, measure and draw."""

    def example(self) -> Scenario:
        """A run that the report lets one explore."""


def names() -> list[str]:
    """The papers there are."""
    return sorted(module.name for module in iter_modules(__path__) if module.ispkg)


def space(name: str) -> Space[Any]:
    """Open points of a paper, by its name, which is one of `names()`."""
    found: Space[Any] = import_module(f"roamlab.papers.{name}.space").SPACE
    return found


def paper(name: str) -> Paper:
    """A paper by its name, which is one of `names()`."""
    return cast("Paper", import_module(f"roamlab.papers.{name}"))
