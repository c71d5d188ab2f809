"""The twin that is nearest to a capture, and others that the capture allows as well."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from roamlab.captures import likeness, twin
from roamlab.captures.likeness import Nearness, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from roamlab.captures.path import FlowPath
    from roamlab.captures.twin import Setting, Unknown

SENDERS = (
    ("cubic", "linux-6"),
    ("sack", "linux-6"),
    ("bbr", "linux-6"),
    ("cubic", "rfc"),
    ("sack", "rfc"),
)
"""Variants and profiles that are tried; "sack" has Reno's window."""
NAMES = {"cubic": "CUBIC", "sack": "Reno", "bbr": "BBR"}
"""Congestion controls of variants."""
STEPS = 7
"""Values of a range that are tried."""
MOST_GAPS = 6
"""Gaps whose ends are searched for, the longest first."""
DRAWS = 12
"""Twins that give the interval of an answer."""


@dataclass(frozen=True)
class Made:
    """A setting with its run."""

    setting: Setting
    outcome: Outcome
    nearness: Nearness


@dataclass(frozen=True)
class Twin:
    """The nearest twin of a capture."""

    path: FlowPath
    best: Made
    senders: list[Made]
    """The nearest one of each sender, nearest first."""
    unknowns: list[Unknown]
    """What the capture does not tell exactly."""
    drawn: list[Made]
    """Others that the capture allows as well."""

    @property
    def sender(self) -> str:
        """The congestion control and the profile of the sender, in words."""
        return sender_of(self.best.setting)


def sender_of(setting: Setting) -> str:
    """The congestion control and the profile of a setting, in words."""
    return f"{NAMES[setting.variant]}, profile {setting.profile}"


def make(settings: Iterable[Setting], path: FlowPath) -> list[Made]:
    """Runs of settings, each once, nearest first."""
    wanted = list(dict.fromkeys(settings))
    outcomes = likeness.run(wanted, path.end_s)
    made = [
        Made(setting, outcome, likeness.nearness(outcome, path))
        for setting, outcome in zip(wanted, outcomes, strict=True)
    ]
    return sorted(made, key=lambda each: each.nearness.score)


def fit(path: FlowPath, rate_at_most: float | None = None, draws: int = DRAWS) -> Twin:
    """The nearest twin of a path: senders first, then what is known as a range, one after the other."""
    start = twin.first(path)
    unknowns = twin.unknowns(path, rate_at_most)
    ends = _ends(path)
    trials = [
        _with_ends(start, ends, share, path) for share in ((0.1, 0.35, 0.65, 0.95) if ends else (0.5,))
    ]
    made = make(
        (
            replace(trial, variant=variant, profile=profile)
            for variant, profile in SENDERS
            for trial in trials
        ),
        path,
    )
    leading = _of_each_sender(made)[:2]
    refined = [_refined(each, path, unknowns, ends) for each in leading]
    senders = sorted(
        [*refined, *_of_each_sender(made)[2:]], key=lambda each: each.nearness.score
    )
    return Twin(path, senders[0], senders, unknowns, draw(senders[0].setting, unknowns, path, draws))


def _ends(path: FlowPath) -> list[int]:
    """The gaps whose ends are searched for."""
    order = sorted(range(len(path.gaps)), key=lambda at: path.gaps[at].start_s[0] - path.gaps[at].end_s[1])
    return [at for at in order[:MOST_GAPS] if path.gaps[at].end_s[1] - path.gaps[at].end_s[0] > 0.002]


def _with_ends(setting: Setting, ends: Sequence[int], share: float, path: FlowPath) -> Setting:
    for at in ends:
        low, high = path.gaps[at].end_s
        setting = setting.with_end(at, low + share * (high - low))
    return setting


def _of_each_sender(made: Sequence[Made]) -> list[Made]:
    """The nearest run of each sender, nearest first."""
    best: dict[tuple[str, str], Made] = {}
    for each in made:
        best.setdefault((each.setting.variant, each.setting.profile), each)
    return list(best.values())


def _refined(made: Made, path: FlowPath, unknowns: Sequence[Unknown], ends: Sequence[int]) -> Made:
    """The nearest one along each range, one range after the other."""
    for at in sorted(ends):
        low, high = path.gaps[at].end_s
        values = np.linspace(low, high, STEPS)
        made = make([made.setting, *(made.setting.with_end(at, float(value)) for value in values)], path)[0]
        near = (high - low) / (STEPS - 1)
        now = made.setting.gaps[at][1]
        values = np.clip(now + near * np.array([-0.6, -0.3, 0.3, 0.6]), low, high)
        made = make([made.setting, *(made.setting.with_end(at, float(value)) for value in values)], path)[0]
    for unknown in unknowns:
        if unknown.name not in ("rate", "room of the queue"):
            continue
        values = np.linspace(unknown.low, unknown.high, 5 if unknown.is_wide else 3)
        made = make([made.setting, *(unknown.change(made.setting, float(value)) for value in values)], path)[0]
    if path.gaps:
        slack = (path.gaps[0].start_s[1] - path.gaps[0].start_s[0]) / 2
        made = make([made.setting, *(made.setting.moved(by) for by in (-slack, -slack / 2, slack / 2, slack))], path)[0]
    return made


def draws_of(setting: Setting, unknowns: Sequence[Unknown], count: int) -> list[tuple[Setting, dict[str, float]]]:
    """Settings with each unknown drawn from its range, spread evenly over it, and the values drawn."""
    draws = random.Random(f"twin/{count}")
    order = {unknown.name: draws.sample(range(count), count) for unknown in unknowns}
    made = []
    for number in range(count):
        values: dict[str, float] = {}
        changed = setting
        for unknown in unknowns:
            share = (order[unknown.name][number] + draws.random()) / count
            values[unknown.name] = unknown.low + share * (unknown.high - unknown.low)
            changed = unknown.change(changed, values[unknown.name])
        made.append((changed, values))
    return made


def draw(setting: Setting, unknowns: Sequence[Unknown], path: FlowPath, count: int) -> list[Made]:
    """Runs of settings that the capture allows."""
    return make((each for each, _ in draws_of(setting, unknowns, count)), path)
