"""The papers that can be reproduced: one package each, found by looking into this folder.

A paper's package offers three names:

* `RUNS: int`, how many repetitions its claims are evaluated on;
* `reproduce(session: Session) -> Report`, which simulates, measures and draws;
* `example() -> Scenario`, a run that the report lets one explore.

Its module `space` offers `SPACE`, what the paper leaves open as axes, for `roamlab reproduce PAPER --explore`. Its file
`paper.toml` has the texts of its report, and the sentences of its claims:

* `title` and `paper`, what the report is about; `main`, the claims of the paper's abstract, which are its headline;
  `lead`, the figure that carries them;
* `parameters` and `assumptions`, lists of rows: what, the value, and its source or the reason;
* `claims`, by their names: `statement`; `kind`, "result" if it has none; `interpretation`, of the points that the
  paper leaves open; `why`, the mechanism behind the outcome; `figures`, the names of those that show it;
* `captions` of figures, by the figures' names, or a name that several share.

An interpretation, a reason and a caption may have fields in braces, which `deciding.claim` and `drawing.saved` fill.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.resources import files
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


TEXTS = "paper.toml"
"""In a paper's package: its texts."""


@dataclass(frozen=True)
class Texts:
    """The texts of a paper's report."""

    title: str
    paper: str
    main: Sequence[str]
    lead: str
    parameters: Sequence[Sequence[str]]
    assumptions: Sequence[Sequence[str]]
    claims: Mapping[str, Mapping[str, Any]]
    captions: Mapping[str, str]

    @property
    def shows(self) -> dict[str, tuple[str, ...]]:
        """The figures of each claim that has any."""
        return {name: tuple(of["figures"]) for name, of in self.claims.items() if "figures" in of}


@cache
def texts(paper: str) -> Texts:
    """The texts of a paper. Raises `TypeError` for keys that they do not have."""
    return Texts(**tomllib.loads((files("roamlab.papers") / paper / TEXTS).read_text(encoding="utf-8")))
