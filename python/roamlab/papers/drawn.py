"""Quantities that a paper leaves open within a range: each run draws its own value of them.

An interpretation may have a range as the value of a field. The runs then cover the range, and an interval over them
contains what the paper did not print. In `axes.toml` and `sentences.toml` a range is `drawn = [low, high]`; with
`quantity` it has the draws of other fields with the same one.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from roamlab.papers.runs import draws

if TYPE_CHECKING:
    from collections.abc import Callable

    from roamlab.scenarios.scenario import Scenario

R = TypeVar("R")


@dataclass(frozen=True)
class Drawn:
    """A range, from which each run draws a value, all equally likely. Raises `ValueError` if it is empty."""

    low: float
    high: float
    quantity: str = ""
    """The name of the draw, if several fields have the same one. Empty: that of the field."""

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"no range: {self.low} to {self.high}")

    def __format__(self, form: str) -> str:
        return f"{self.low:{form}} to {self.high:{form}} (drawn)"

    def __str__(self) -> str:
        return f"{self:g}"

    def of_run(self, place: str, field: str, run: int) -> float:
        """The value of this run for a field of the interpretation of a module, to six decimals."""
        name = f"{place}.{self.quantity or field}"
        return round(float(draws(name, run).uniform(self.low, self.high)), 6)


@cache
def of_run(interpretation: R, run: int) -> R:
    """The interpretation of one run: a value in place of each range. Equal in all cases of the run.

    `interpretation` is a dataclass; the name of a draw is its module's with that of the field or of the quantity.
    """
    place = type(interpretation).__module__
    ranges = {
        field.name: found.of_run(place, field.name, run)
        for field in fields(interpretation)  # type: ignore[arg-type]
        if isinstance(found := getattr(interpretation, field.name), Drawn)
    }
    return replace(interpretation, **ranges) if ranges else interpretation  # type: ignore[type-var]


def each_run(experiment: Callable[[R], Scenario], interpretation: R) -> Scenario | Callable[[int], Scenario]:
    """An experiment for `Batch.each`: one scenario, or, if the interpretation has a range, a scenario for each run."""
    if of_run(interpretation, 0) == interpretation:
        return experiment(interpretation)
    return lambda run: experiment(of_run(interpretation, run))


def number(of: Any) -> float:
    """A quantity of the interpretation of one run. Raises `TypeError` for a range."""
    if isinstance(of, Drawn):
        raise TypeError(f"{of}: each run has its own value, see `of_run`")
    return float(of)
