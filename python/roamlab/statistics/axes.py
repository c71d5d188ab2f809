"""The choices that a paper leaves open as axes, a setting of them, and a claim's outcome under a setting."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from roamlab.base.quantities import with_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from roamlab.statistics.claims import Verdict

Setting: TypeAlias = tuple[int, ...]
"""The position of a value on each axis. Of all zeros: the default."""


@dataclass(frozen=True)
class Value:
    """A value on an axis. `weight` is how plausible it is compared with the others, before anything was run."""

    label: str
    value: Any
    weight: float = 1.0
    ruled_out: bool = False
    """A sentence of the paper excludes it: what happens with it is shown, and counts for no verdict."""


@dataclass(frozen=True)
class Axis:
    """One choice that a paper leaves open; the first value is the default."""

    field: str
    """The field of the paper's interpretation."""
    what: str
    values: tuple[Value, ...]
    source: str
    """Why it is open: the paper's statement, and its place."""

    def __post_init__(self) -> None:
        if len(self.values) < 2 or any(value.weight <= 0 for value in self.values):
            raise ValueError(f"axis {self.field} needs two values or more, each with a weight above 0")
        if self.values[0].ruled_out:
            raise ValueError(f"axis {self.field}: the text rules out the default")

    @property
    def open(self) -> tuple[int, ...]:
        """Positions of the values that the text permits."""
        return tuple(at for at, value in enumerate(self.values) if not value.ruled_out)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Of its values, with the sum 1; 0 of those that the text rules out."""
        found = np.array(
            [0.0 if value.ruled_out else value.weight for value in self.values], dtype=np.float64
        )
        share: NDArray[np.float64] = found / found.sum()
        return share


def permits(axes: Sequence[Axis], setting: Setting) -> bool:
    """The text rules out no value of the setting."""
    return not any(axis.values[at].ruled_out for axis, at in zip(axes, setting, strict=True))


_FARTHEST = -1000.0
"""A margin that is counted for one that has no bound."""


def shortfall(margin: float) -> float:
    """How far a measure with this margin is from holding: log(2 - margin), and 0 from a margin of 1 on."""
    return math.log(2.0 - min(1.0, max(_FARTHEST, margin)))


@dataclass(frozen=True)
class Outcome:
    """Result of one setting for one claim.

    `margin` is the distance of the deciding measure from the border of the claimed range, positive inside, in half
    widths of its interval: from 1 the claim holds, up to -1 it is contradicted.
    """

    verdict: Verdict
    margin: float
    measured: str
    distance: float = 0.0
    """Of the deciding measure from the claimed range, in its unit; 0 within it."""
    unit: str = ""
    measures: tuple[str, ...] = ()
    """All that the claim is decided by."""
    held: tuple[str, ...] = ()
    """Those of them that hold."""
    short: float = 0.0
    """How far all of them together are from holding: the sum of `shortfall`. It tells a change that brings one measure
    nearer, where the deciding one stays as it was."""

    @property
    def far(self) -> str:
        """How far the deciding measure is from the claimed range, for people."""
        if self.distance == 0.0:
            crosses = ", but part of its 95 % interval is outside" if self.margin < 1.0 else ""
            return f"within the claimed range{crosses}"
        far = f"{with_unit(_three_digits(self.distance), self.unit)} outside the claimed range"
        if not math.isfinite(self.margin):
            return far
        return (
            f"{far}, with a 95 % interval of ± {with_unit(f'{self.distance / -self.margin:.2g}', self.unit)}"
        )


def _three_digits(value: float) -> str:
    """Without a power of ten, from 0.0001 on: "0.375", "999000"."""
    text = f"{value:.3g}"
    return f"{float(text):.0f}" if "e+" in text else text


Tried: TypeAlias = dict[Setting, dict[str, Outcome]]
