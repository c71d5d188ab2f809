"""Which satellite serves when, and what a scenario is given of it."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from roamlab.base.quantities import counted, number
from roamlab.traces.series import QUANTITIES, Series

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from roamlab.imports.orbits import Pass
    from roamlab.imports.places import Numbers

RULES = ("highest", "longest")


@dataclass(frozen=True)
class Visit:
    """A satellite serves from a step on, until the step before `until`."""

    one: Pass
    at: int
    until: int


def served(found: Sequence[Pass], steps: int, rule: str, every: int) -> list[Visit]:
    """The satellite that serves at each step.

    A satellite serves until its exit. `highest`: every `every` steps the one with the highest elevation takes over.
    `longest`: at an exit the one with the longest time until its exit follows.
    """
    visits: list[Visit] = []
    now: Pass | None = None
    since, behind, waiting = 0, 0, []
    for step in range(steps):
        while behind < len(found) and found[behind].first <= step:
            waiting.append(found[behind])
            behind += 1
        chosen = now if now is not None and now.serves(step) else None
        if chosen is None or (rule == "highest" and step % every == 0):
            waiting = [each for each in waiting if each.last >= step]
            chosen = max(waiting, key=lambda each: _worth(each, step, rule), default=None)
        if chosen is not now:
            visits += [Visit(now, since, step)] if now is not None else []
            now, since = chosen, step
    return visits + ([Visit(now, since, steps)] if now is not None else [])


def _worth(one: Pass, step: int, rule: str) -> float:
    return float(one.elevation[step - one.first]) if rule == "highest" else one.exit_s


def moves(visits: Sequence[Visit], times_s: Numbers, host: str) -> str:
    """The schedule of a host: time, and the cells that it leaves and enters. It leaves coverage at an exit."""
    rows: list[tuple[float, str, str]] = []
    for number_, visit in enumerate(visits):
        before = visits[number_ - 1] if number_ else None
        meets = before is not None and before.until == visit.at
        at = float(times_s[visit.at])
        if before is not None and meets:
            # A satellite that sets between two steps is left when it sets.
            rows.append((min(at, before.one.exit_s), before.one.name, visit.one.name))
            continue
        if before is not None:
            rows.append((min(before.one.exit_s, at), before.one.name, ""))
        rows.append((min(max(visit.one.rise_s, 0.0), at), "", visit.one.name))
    if visits and visits[-1].until < len(times_s):
        rows.append((visits[-1].one.exit_s, visits[-1].one.name, ""))
    table = ((_time(at), host, old, new, "") for at, old, new in rows)
    return _csv(("time_s", "host", "from", "to", "gap_s"), table)


def delays(visits: Sequence[Visit], times_s: Numbers) -> Series:
    """The one-way delay to the satellite that serves, at each step; without one the delay before holds."""
    found = np.full(len(times_s), np.nan)
    for visit in visits:
        found[visit.at : visit.until] = visit.one.delay_s[
            visit.at - visit.one.first : visit.until - visit.one.first
        ]
    there = np.flatnonzero(~np.isnan(found))
    notes = []
    if len(there) < len(found):
        notes.append(
            f"no satellite serves at {counted(len(found) - len(there), 'step')} of {len(found)}: the delay before holds"
        )
    held = found[there[np.maximum(np.searchsorted(there, np.arange(len(found)), side="right") - 1, 0)]]
    return Series(
        QUANTITIES["delay"],
        np.round(times_s * 1e9).astype(np.int64),
        np.round(held * 1e9).astype(np.int64),
        tuple(notes),
    )


def passes_table(found: Sequence[Pass]) -> str:
    """All passes: rise, exit, highest elevation and least one-way delay."""
    return _csv(
        ("cell", "rise_s", "exit_s", "highest_elevation_deg", "least_delay_ms"),
        (
            (
                each.name,
                _time(each.rise_s),
                _time(each.exit_s),
                f"{each.elevation.max():.2f}",
                f"{each.delay_s.min() * 1e3:.4f}",
            )
            for each in found
        ),
    )


def exits_table(visits: Sequence[Visit], times_s: Numbers) -> str:
    """Each satellite that serves: from when on, its time to exit then, its elevation and its one-way delay."""
    rows = []
    for visit in visits:
        at, one, place = float(times_s[visit.at]), visit.one, visit.at - visit.one.first
        elevation, delay = f"{one.elevation[place]:.2f}", f"{one.delay_s[place] * 1e3:.4f}"
        rows.append((_time(at), one.name, _time(one.exit_s - at), elevation, delay))
    return _csv(("time_s", "cell", "time_to_exit_s", "elevation_deg", "delay_ms"), rows)


def summary(found: Sequence[Pass], visits: Sequence[Visit], times_s: Numbers) -> list[str]:
    """Sentences about the passes and the satellites that serve."""
    steps = len(times_s)
    covered = sum(visit.until - visit.at for visit in visits)
    cells = {visit.one.name for visit in visits}
    said = (
        f"{counted(len(found), 'pass', 'passes')} of {counted(len({each.name for each in found}), 'satellite')} in "
        f"{number(float(times_s[-1]))} s; {counted(len(cells), 'satellite')} in {counted(len(visits), 'visit')}"
    )
    return [f"{said}, {number(100 * covered / steps)} % of the time"]


def _time(seconds: float) -> str:
    return f"{max(seconds, 0.0):.6f}".rstrip("0").rstrip(".")


def _csv(names: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return written.getvalue()
