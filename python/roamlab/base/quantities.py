"""Numbers with units, for people: `1.768 Mbit/s`, not `1.768e+06 bit/s`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_PREFIXES: dict[str, tuple[tuple[float, str], ...]] = {
    "bit/s": ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")),
    "B": ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")),
    "ns": ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")),
    "s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")),
}

_READ = {
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "bit/s": 1.0,
    "kbit/s": 1e3,
    "Mbit/s": 1e6,
    "Gbit/s": 1e9,
    "B": 1.0,
    "kB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "pkt": 1.0,
}
"""Value of a unit of a manifest in s, bit/s, B or packets."""

_COUNTED = ("buffers", "flows", "packets", "segments", "messages", "handovers", "timeouts", "runs")
"""Units that are plurals."""


def named(quantity: str, unit: str) -> str:
    """A quantity with its unit, as a heading or an axis has it: "goodput [Mbit/s]"; a ratio or a count has none."""
    return quantity if unit == "1" else f"{quantity} [{unit}]"


def with_unit(text: str, unit: str) -> str:
    """A number as text with its unit: a ratio or a count has none, and one of what is counted is singular."""
    if unit == "1":
        return text
    return f"{text} {unit.removesuffix('s') if text == '1' and unit in _COUNTED else unit}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number of things: "1 handover", "3 handovers". `plural`, if it is more than an added s."""
    return f"{count} {noun if count == 1 else plural or f'{noun}s'}"


def scale(values: Iterable[float], unit: str) -> tuple[float, str]:
    """Divisor for values in `unit`, and the unit that they have then; the same for all of a table."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    for factor, name in _PREFIXES.get(unit, ()):
        if largest >= factor:
            return factor, name
    return 1.0, unit


def number(value: float) -> str:
    """Four digits, or all before the point; without a power of ten where that can be."""
    if math.isfinite(value) and 1e4 <= abs(value) < 1e15:
        return f"{value:.0f}"
    return f"{value:.4g}"


def seconds(time_ns: int) -> str:
    """A time in s with all its nanoseconds."""
    whole, rest = divmod(time_ns, 10**9)
    return f"{whole}.{rest:09d}"


def value(text: str) -> float:
    """A quantity of a manifest, such as "20 ms" or "4 Mbit/s", in s, bit/s, B or packets."""
    digits, unit = text.split()
    return float(digits) * _READ[unit]
