"""Series of rates in a user's file, at equal steps: what `roamlab fit --as channel` fits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from roamlab.base.errors import BadInput
from roamlab.base.inputs import text_lines
from roamlab.traces import series
from roamlab.traces.logs import EXPECTED

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    Rates = NDArray[np.float64]

_OPPORTUNITY_MBIT = 1500 * 8 / 1e6
"""Capacity of a line of a Mahimahi trace."""
_STEP_S = 0.1
"""Of a Mahimahi trace without `--step`."""
_LEAST = 240
"""Steps that a chain of two states needs at least on both sides."""
_MOST = 2_000_000


def read(path: Path, step_s: float | None, only: Mapping[str, str]) -> tuple[Rates, float]:
    """The mean rate of each step in Mbit/s, and the step in s.

    A file of whole numbers is a Mahimahi trace: times in ms at which 1500 B can be delivered. Any other is a log that
    `roamlab schedule --as rate` reads; without `step_s` its usual step counts. Raises `BadInput` with file and line.
    """
    first = next(iter(text_lines(path, EXPECTED)), "").strip()
    if re.fullmatch(r"\d+", first):
        rates, step = _of_opportunities(path, step_s or _STEP_S)
    else:
        found = series.read(path, series.QUANTITIES["rate"], {}, only, None)
        times = found.times / 1e9
        if len(times) < 2:
            raise _short(path, len(times))
        step = step_s or float(np.median(np.diff(times)))
        rates = _resampled(path, times, found.scaled(), step)
    if len(rates) < _LEAST:
        raise _short(path, len(rates))
    if not rates.any():
        raise BadInput(
            path, "every rate is 0", expected="rates above 0", remedy="name another file or column"
        )
    return rates, step


def _short(path: Path, steps: int) -> BadInput:
    return BadInput(
        path,
        f"it has {steps} steps",
        expected=f"{_LEAST} steps or more",
        remedy="record for longer, or write a shorter --step",
    )


def _too_many(path: Path, steps: float) -> BadInput:
    return BadInput(
        path,
        f"it has {steps:.0f} steps",
        expected=f"at most {_MOST}",
        remedy="write a longer --step, for example --step '1 s'",
    )


def _of_opportunities(path: Path, step_s: float) -> tuple[Rates, float]:
    times: list[int] = []
    for line, text in enumerate(text_lines(path, EXPECTED), 1):
        given = text.strip()
        if not re.fullmatch(r"\d{1,13}", given) or (times and int(given) < times[-1]):
            raise BadInput(
                f"{path}:{line}",
                f"this is {given[:40]!r}",
                expected="a whole number of ms on each line, none smaller than the one before, as in Mahimahi's traces",
                remedy="write for example 12, or name a table with time_s,rate_mbit_s",
            )
        times.append(int(given))
    steps = int(times[-1] / 1000 / step_s)
    if steps > _MOST:
        raise _too_many(path, steps)
    edges = np.arange(steps + 1) * step_s * 1000
    counts = np.histogram(np.array(times, dtype=float), edges)[0] if steps else np.zeros(0)
    return counts * _OPPORTUNITY_MBIT / step_s, step_s


def _resampled(path: Path, times: Rates, values: Rates, step: float) -> Rates:
    """The mean of each step; a value holds until the next row, and the last one for as long as the one before it."""
    end = 2 * times[-1] - times[-2]
    steps = int(end / step + 1e-6)
    if steps > _MOST:
        raise _too_many(path, end / step)
    edges = np.concatenate([times, [end]])
    sums = np.concatenate([[0.0], np.cumsum(values * np.diff(edges))])
    return np.asarray(np.diff(np.interp(np.arange(steps + 1) * step, edges, sums)) / step)
