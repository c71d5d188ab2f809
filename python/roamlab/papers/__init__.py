"""The papers that can be reproduced: one package each, found by looking into this folder.

A paper's package offers three names:

* `RUNS: int`, how many repetitions its claims are evaluated on;
* `reproduce(session: Session) -> Report`, which simulates, measures and draws;
* `example() -> Scenario`, a run that the report lets one explore.

Its module `space` offers `SPACE`, what the paper leaves open as axes, for `roamlab reproduce PAPER --explore`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from roamlab.papers.runs import Batch
    from roamlab.papers.spaces import Space
    from roamlab.scenarios.scenario import Scenario
    from roamlab.showing.report import Report


@dataclass(frozen=True)
class Part:
    """A part of a reproduction: claims by their IDs, or a figure by its name."""

    claims: Sequence[str] = ()
    figure: str = ""


@dataclass(frozen=True)
class Session:
    """Arguments of a reproduction: where its figures and tables go, where runs are kept, how much to run.

    With a `part` only the experiments are run that it needs.
    """

    figures: Path
    tables: Path
    store: Path
    runs: int
    threads: int
    part: Part | None = None
    setting: Mapping[str, str] = field(default_factory=dict)
    """Choices of the paper's space that are not at their default, each with the label of its value."""

    def interpretation(self, paper: str) -> Any:
        """The paper's interpretation: its default, with the choices of `setting`. Raises `BadInput` for another."""
        return space(paper).chosen(self.setting)

    @property
    def named(self) -> str:
        """The setting, for people."""
        return ", ".join(f"{what}: {label}" for what, label in self.setting.items()) or "default"

    def make(self, batch: Batch) -> None:
        """Make the runs of a batch; those that a part needs are made when it looks at them."""
        if self.part is None:
            batch.make(self.store, self.threads)
        else:
            batch.offer(self.store, self.threads)

    def draws(self, *figures: str) -> bool:
        """True if one of these figures is drawn: all are, but of a figure alone only this one."""
        return self.part is None or any(self.part.figure in (of, of.removeprefix("fig")) for of in figures)


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
