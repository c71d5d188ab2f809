"""A formula, and its comparison with a run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from roamlab.formulas.facts import Facts

Relation = Literal["equal", "at most", "at least"]
FLAGGED_AT = 3.0
"""A residual of more than this many accuracies is flagged."""


class Case(NamedTuple):
    """A formula next to one subject of a run."""

    subject: str
    """Flow, link or host."""
    expected: float = math.nan
    measured: float = math.nan
    slack: float = 0.0
    """Allowance for rounding or the last packet, in the formula's unit."""
    broken: str = ""
    """The assumption that the run breaks; empty: the formula applies."""
    accuracy: float | None = None
    """The accuracy here, in the formula's unit, if it is not a share of the expected value."""


@dataclass(frozen=True)
class Formula:
    """A closed form with its source and what it assumes."""

    name: str
    symbols: str
    """The formula."""
    source: str
    unit: str
    accuracy: float
    """Share of the expected value within which it is expected to hold; 0: exact."""
    judge: Callable[[Facts], Iterable[Case]]
    relation: Relation = "equal"


@dataclass(frozen=True)
class Entry:
    """A formula next to one subject of a run: expected and measured values and the verdict."""

    formula: str
    symbols: str
    source: str
    subject: str
    unit: str
    relation: str
    """`equal`, or the bound that the expected value is for the measured one."""
    broken: str
    """The assumption that the run breaks; empty: the formula applies."""
    expected: float
    measured: float
    residual: float
    """How far the measured value is off, in `unit`; 0 inside a bound."""
    accuracy: float
    """How far it is expected to be off at most, in `unit`."""
    flagged: bool
    """The formula applies, and the residual is more than three times the accuracy; of an exact one, more than 0."""

    @property
    def applies(self) -> bool:
        """The run breaks no assumption of the formula."""
        return not self.broken

    def data(self) -> dict[str, Any]:
        """The same for programs."""
        kept = {name: None if value != value else value for name, value in vars(self).items()}
        return kept | {"applies": self.applies}

    def sentence(self) -> str:
        """A flagged entry in words."""
        relation = {"equal": "", "at most": "at most ", "at least": "at least "}[self.relation]
        unit = "" if self.unit == "1" else f" {self.unit}"
        return (
            f"{self.formula} of {self.subject}: the run has {self.measured:.6g}{unit}, the formula allows "
            f"{relation}{self.expected:.6g}{unit}"
        )


def entry(formula: Formula, case: Case) -> Entry:
    """The comparison of a case, with its verdict."""
    off = case.measured - case.expected
    if formula.relation == "at most":
        off = max(off, 0.0)
    elif formula.relation == "at least":
        off = max(-off, 0.0)
    off = max(abs(off) - case.slack, 0.0)
    accuracy = formula.accuracy * abs(case.expected) if case.accuracy is None else case.accuracy
    return Entry(
        formula.name,
        formula.symbols,
        formula.source,
        case.subject,
        formula.unit,
        formula.relation,
        case.broken,
        case.expected,
        case.measured,
        math.nan if case.broken else off,
        accuracy,
        not case.broken and not off <= FLAGGED_AT * accuracy,
    )
