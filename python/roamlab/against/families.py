"""The families of random scenarios."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from roamlab.against import cases, combinations, handovers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.against.cases import Case


@dataclass(frozen=True)
class Family:
    """Scenarios of one kind."""

    controls: Sequence[str]
    """Congestion controls with which each scenario runs."""
    make: Callable[[int, str, int], Sequence[Case]]
    """This number of scenarios for a congestion control, of a seed."""
    recorded: int
    """Of each control, in the package."""


FAMILIES = {
    "links": Family(cases.CONTROLS, cases.cases, 67),
    "handovers": Family(cases.CONTROLS, handovers.handovers, 24),
    "combinations": Family(combinations.CONTROLS, combinations.combinations, 16),
}
"""All families, by name."""
