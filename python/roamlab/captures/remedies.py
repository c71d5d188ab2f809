"""Remedies for a captured flow: changes of its twin, each with the interval over what the capture allows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.captures import fitting, likeness

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roamlab.captures.fitting import Twin
    from roamlab.captures.likeness import Outcome
    from roamlab.captures.path import FlowPath
    from roamlab.captures.twin import Setting, Unknown

EXPLAINS = 0.5
"""A range that explains this share of the variance is named."""
LEAST_ERROR = 0.02
"""A twin's answers are no better than this share of the goodput, however near it is to its capture (docs/twin.md)."""
NARROW = 0.05
"""An interval that is narrower than this share of its middle needs no warning."""


@dataclass(frozen=True)
class Remedy:
    """A change, and its effect."""

    what: str
    """In words."""
    goodput_bps: tuple[float, float]
    """The interval over what the capture allows, widened by the twin's own error."""
    stall_s: tuple[float, float]
    """That of the longest stall; 0: none."""
    middle_bps: float
    """The median of the nearest twin and those with all ranges drawn."""
    middle_stall_s: float
    """The same of the longest stall."""
    gain: str
    """"more", "less" or "undecided": the goodput against the same twins without the change."""
    warning: str = ""
    """The quantity that the answer depends on, and that the capture cannot tell."""

    def data(self) -> dict[str, Any]:
        """For programs."""
        return dict(vars(self))

    def line(self) -> str:
        """As text."""
        low, high = (value / 1e6 for value in self.goodput_bps)
        return (
            f"{self.what}: {self.middle_bps / 1e6:.3g} Mbit/s ({low:.3g} to {high:.3g}), "
            f"longest stall {self.middle_stall_s:.3f} s ({self.stall_s[0]:.3f} to {self.stall_s[1]:.3f})"
        )


def changes(setting: Setting) -> list[tuple[str, Setting]]:
    """The changes that are tried, by their names."""
    made = [
        (f"{name} instead of {fitting.NAMES[setting.variant]}", replace(setting, variant=variant))
        for variant, name in fitting.NAMES.items()
        if variant != setting.variant
    ]
    made += [(f"least RTO {floor}", replace(setting, min_rto=floor)) for floor in ("50 ms", "1 s")]
    if setting.gaps:
        made += [
            ("no gap", replace(setting, gaps=())),
            ("gaps half as long", _half(setting)),
        ]
        if setting.held:
            made.append(("nothing held in gaps", replace(setting, held=False)))
        else:
            made.append(("a buffer at the base station", replace(setting, held=True, place="cell")))
    made += [
        ("half the queue", replace(setting, queue=max(2, setting.queue // 2))),
        ("twice the queue", replace(setting, queue=2 * setting.queue)),
        ("FQ-CoDel", replace(setting, discipline="fq-codel", queue=max(setting.queue, 1000))),
    ]
    return made


def _half(setting: Setting) -> Setting:
    return replace(setting, gaps=tuple((start, (start + end) / 2) for start, end in setting.gaps))


def remedies(found: Twin, count: int = fitting.DRAWS) -> tuple[Remedy, list[Remedy]]:
    """The unchanged twins, and the effect of each change."""
    drawn = fitting.draws_of(found.kinds, count)
    settings = [found.best.setting, *(setting for setting, _ in drawn), *fitting.ends_of(found.kinds)]
    named = [("as captured", settings)]
    for place, (what, _) in enumerate(changes(found.best.setting)):
        named.append((what, [changes(setting)[place][1] for setting in settings]))
    outcomes = likeness.run([each for _, every in named for each in every], found.path.end_s)
    error = max(abs(found.best.nearness.goodput - 1), LEAST_ERROR)
    rows = []
    base = outcomes[: len(settings)]
    for place, (what, _) in enumerate(named):
        part = outcomes[place * len(settings) : (place + 1) * len(settings)]
        rows.append(row(what, part, base, [values for _, values in drawn], found.unknowns, error))
    return rows[0], rows[1:]


def row(
    what: str,
    made: Sequence[Outcome],
    base: Sequence[Outcome],
    values: Sequence[dict[str, float]],
    unknowns: Sequence[Unknown],
    error: float,
) -> Remedy:
    """The effect of a change: its runs, those of the same twins without it, and the values that these were drawn with.

    The first run of both is that of the nearest twin, which was not drawn; those behind the drawn ones have one range
    at an end. `error`: of the twin's goodput, as a share.
    """
    goodput = np.array([each.goodput_bps for each in made])
    stalls = np.array([each.stall_s for each in made])
    gain = goodput - np.array([each.goodput_bps for each in base])
    low, high = float(goodput.min()) * (1 - error), float(goodput.max()) * (1 + error)
    # Those with a range at an end are bounds alone.
    inner = slice(1 + len(values))
    middle = float(np.median(goodput[inner]))
    # Less than a hundredth is no difference.
    least, most = float(gain.min()), float(gain.max())
    clear = 0.01 * middle
    return Remedy(
        what,
        (low, high),
        (float(stalls.min()), float(stalls.max())),
        middle,
        float(np.median(stalls[inner])),
        "more" if least > clear else "less" if most < -clear else "undecided",
        _depends(goodput[inner][1:], values, unknowns) if high - low > NARROW * middle else "",
    )


def _depends(
    goodput: np.ndarray[Any, np.dtype[np.float64]],
    values: Sequence[dict[str, float]],
    unknowns: Sequence[Unknown],
) -> str:
    """The range that explains most of the differences."""
    if not values or goodput.std() == 0:
        return ""
    share, named = 0.0, ""
    for unknown in unknowns:
        drawn = np.array([each[unknown.name] for each in values])
        if drawn.std() > 0:
            of_it = float(np.corrcoef(drawn, goodput)[0, 1] ** 2)
            share, named = max((share, named), (of_it, unknown.words()))
    if share < EXPLAINS:
        return (
            "depends on the instant of events within a round trip, which no capture of another sender tells"
        )
    return f"depends on the {named}"


_GAIN = {"more": "more goodput in all twins", "less": "less goodput in all twins", "undecided": "undecided"}


@dataclass(frozen=True)
class Check:
    """The remedies for a flow."""

    found: Twin
    base: Remedy
    """The unchanged twins."""
    rows: list[Remedy]

    def data(self) -> dict[str, Any]:
        """For programs."""
        return {
            "flow": self.found.path.flow,
            "sender": self.found.sender,
            "goodput_error": self.found.best.nearness.goodput - 1,
            "as_captured": self.base.data(),
            "changes": [row.data() for row in self.rows],
        }

    def lines(self) -> list[str]:
        """As text."""
        best = self.found.best
        told = [
            f"what would have helped {self.found.path.flow}, on its twin ({self.found.sender}; goodput "
            f"{best.nearness.goodput:.3f} times the capture's, bytes over time {best.nearness.median_s:.3f} s apart)",
            self.base.line(),
            *(f"{row.line()}: {_GAIN[row.gain]}" for row in self.rows),
        ]
        warned = dict.fromkeys(row.warning for row in self.rows if row.warning)
        for warning in warned:
            names = [row.what for row in self.rows if row.warning == warning]
            told.append(f"warning: {warning}: {', '.join(names)}")
        return ["\n  · ".join(told)]


def check(path: FlowPath) -> Check:
    """The remedies for a captured flow."""
    # The changes are run on twins that `remedies` draws, with those without a change.
    found = fitting.fit(path, draws=0)
    base, rows = remedies(found)
    return Check(found, base, rows)
