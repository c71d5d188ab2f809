"""Open points of a paper, as a space, and how its claims are decided at one point of it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from roamlab.statistics.axes import Axis, Value
from roamlab.statistics.claims import too_few
from roamlab.statistics.stats import LEAST

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.papers.runs import Batch
    from roamlab.statistics.axes import Setting
    from roamlab.statistics.claims import Claim

R = TypeVar("R")

AXES = "axes.toml"
"""In a paper's package: its axes."""


@dataclass(frozen=True)
class Space(Generic[R]):
    """Open points of a paper, and how its claims are decided under one choice of it all."""

    title: str
    default: R
    """The interpretation with the first value on each axis; a dataclass."""
    axes: Sequence[Axis]
    ask: Callable[[Batch, R, range], Callable[[], Sequence[Claim]]]
    """Asks for the runs of these numbers under an interpretation; decides the claims once the batch is made."""
    runs: int
    """Runs of each experiment under each setting."""
    confirm: int
    """Runs, others than those, of each experiment for a closer look; as many again where a verdict turns."""

    beside: Callable[[Batch, R, range], Callable[[], Sequence[Claim]]] | None = None
    """The same for claims that few of the axes touch: they are decided in the settings tried, and do not steer."""
    few: int | None = None
    """Runs of each experiment for these, if not `runs`: some vary little."""
    whole: Callable[[Batch, range], Callable[[], Sequence[Claim]]] | None = None
    """All claims under the default as the reproduction decides them, with all its points, from the runs with these
    numbers. Without it, what `ask` and `beside` decide."""

    def __post_init__(self) -> None:
        if min(self.runs, self.confirm) < LEAST:
            raise ValueError(f"{self.title}: {too_few(min(self.runs, self.confirm))}")

    @property
    def paper(self) -> str:
        """The name of the paper's package."""
        return self.ask.__module__.split(".")[-2] if "." in self.ask.__module__ else ""

    def interpretation(self, setting: Setting) -> R:
        """The interpretation of a setting."""
        chosen = {axis.field: axis.values[at].value for axis, at in zip(self.axes, setting, strict=True)}
        return replace(self.default, **chosen)  # type: ignore[type-var]


@cache
def axes(paper: str) -> tuple[Axis, ...]:
    """The axes of a paper, from `axes.toml` in its package: a list `axis`, each with the fields of an `Axis`.

    A value is `[label, value, weight]`, in which the label may replace the value, and 1 is the weight if
    there is none; or a table of these, which without `value` is `None`. Lists are tuples.
    """
    data = (files("roamlab.papers") / paper / AXES).read_text(encoding="utf-8")
    return tuple(
        Axis(axis["field"], axis["what"], tuple(map(_value, axis["values"])), axis["source"])
        for axis in tomllib.loads(data)["axis"]
    )


def _value(entry: list[Any] | dict[str, Any]) -> Value:
    if isinstance(entry, dict):
        return Value(entry["label"], entry.get("value"), entry.get("weight", 1.0))
    label, value, *weight = entry if len(entry) > 1 else entry * 2
    return Value(label, tuple(value) if isinstance(value, list) else value, *weight)
