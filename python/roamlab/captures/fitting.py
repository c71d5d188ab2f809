"""The twin that is nearest to a capture, and others that the capture allows as well."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from roamlab.captures import likeness, twin
from roamlab.running.progress import Steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from roamlab.captures.likeness import Nearness, Outcome
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
LEAST_SPAN_S = 0.002
"""The end of a gap that is known so well is not searched for."""
LEAST_BEFORE_S = 1.0
"""A shorter time before the first gap does not tell senders apart."""
MOST_ROUNDS = 3
"""Searches over all ranges."""
ALIKE, ALIKE_S = 2.0, 0.03
"""Gaps at another place are nearly as near up to this number of times the score, or this much more."""
DRAWS = 15
"""Twins with all ranges drawn that give the interval of an answer, with those of `ends_of`."""


@dataclass(frozen=True)
class Made:
    """A setting with its run."""

    setting: Setting
    outcome: Outcome
    nearness: Nearness


@dataclass(frozen=True)
class Kind:
    """A setting with its gaps at one place, and its ranges."""

    setting: Setting
    unknowns: list[Unknown]


@dataclass(frozen=True)
class Twin:
    """The nearest twin of a capture."""

    path: FlowPath
    best: Made
    senders: list[Made]
    """The nearest one of each sender, nearest first."""
    kinds: list[Kind]
    """It, and those with gaps at other places that are nearly as near."""
    drawn: list[Made]
    """Others that the capture allows as well."""

    @property
    def unknowns(self) -> list[Unknown]:
        """Quantities that the capture does not tell exactly."""
        return self.kinds[0].unknowns

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
    """The nearest twin of a path: senders first, then what is known as a range, one after the other.

    A search that takes long prints its steps to standard error.
    """
    steps = Steps()
    start = twin.first(path)
    leading = _of_each_sender(make(_trials(start, path, twin.unknowns(path, "cell", rate_at_most)), path))
    steps.tell(f"twin: senders and places of gaps; {_state(leading[0])}")
    refined = []
    for each in leading[:2]:
        refined.append(_refined(each, path, twin.unknowns(path, each.setting.place, rate_at_most)))
        steps.tell(f"twin: ranges of {sender_of(each.setting)}; {_state(refined[-1])}")
    senders = sorted([*refined, *leading[2:]], key=lambda each: each.nearness.score)
    best = senders[0]
    kinds = [
        Kind(each.setting, twin.unknowns(path, each.setting.place, rate_at_most))
        for each in (best, *_of_other_places(best, path, rate_at_most))
    ]
    return Twin(path, best, senders, kinds, draw(kinds, path, draws))


def _state(made: Made) -> str:
    return f"{sender_of(made.setting)} is {made.nearness.mean_s:.3f} s away"


def _of_other_places(best: Made, path: FlowPath, rate_at_most: float | None) -> list[Made]:
    """Those with gaps at other places that are nearly as near: the capture does not tell the places apart."""
    if not path.gaps or best.setting.held:
        return []
    found = []
    for place in twin.PLACES:
        if place != best.setting.place:
            ends = _ends(path, place)
            setting = twin.placed(best.setting, path, place)
            trials = (_with_ends(setting, ends, share, path) for share in (0.1, 0.4, 0.7, 0.95))
            made = _refined(make(trials, path)[0], path, twin.unknowns(path, place, rate_at_most))
            if made.nearness.score < max(ALIKE * best.nearness.score, best.nearness.score + ALIKE_S):
                found.append(made)
    return found


def _trials(start: Setting, path: FlowPath, unknowns: Sequence[Unknown]) -> Iterator[Setting]:
    """Senders with gaps of each kind, and ends spread over their ranges."""
    places = twin.PLACES if path.gaps and not start.held else twin.PLACES[:1]
    for sender in _before_gaps(start, path, unknowns):
        larger = twin.without_full(sender, path)
        for setting in (sender, larger) if larger else (sender,):
            for place in places:
                ends = _ends(path, place)
                for share in (0.1, 0.4, 0.7, 0.95) if ends else (0.5,):
                    yield _with_ends(twin.placed(setting, path, place), ends, share, path)


def _before_gaps(start: Setting, path: FlowPath, unknowns: Sequence[Unknown]) -> list[Setting]:
    """Each sender with the room of the queue and the window that are nearest before the first gap, nearest first.

    What is unknown of gaps has no part in it. Of a flow with a gap in its first second all senders are kept.
    """
    until = path.gaps[0].start_s[0] if path.gaps else path.end_s
    trials = [
        replace(start, variant=variant, profile=profile, gaps=(), queue=queue, window=window)
        for variant, profile in SENDERS
        for queue in _rooms(start, unknowns)
        for window in _windows(path)
    ]
    best: dict[tuple[str, str], tuple[float, Setting]] = {}
    outcomes = likeness.run([replace(trial, length_s=until) for trial in trials], until)
    for trial, outcome in zip(trials, outcomes, strict=True):
        score = likeness.nearness(outcome, path, until if path.gaps else None).score
        sender = trial.variant, trial.profile
        if sender not in best or score < best[sender][0]:
            best[sender] = score, replace(trial, gaps=start.gaps)
    order = sorted(best.values(), key=lambda each: each[0])
    return [setting for _, setting in order[: 3 if until > LEAST_BEFORE_S else None]]


def _windows(path: FlowPath) -> tuple[int | None, ...]:
    """Windows of the receiver that are tried: of some segments and a part of one, a sender uses now less, now more."""
    return (path.window, path.window + 1) if path.window else (None,)


def _rooms(start: Setting, unknowns: Sequence[Unknown]) -> list[int]:
    """Rooms of the queue that are tried with each sender."""
    (room,) = [each for each in unknowns if each.name == twin.ROOM]
    values = np.linspace(room.low, room.high, 3)
    return sorted({start.queue, *(max(2, round(float(value))) for value in values)})


def _ends(path: FlowPath, place: str) -> list[int]:
    """The gaps whose ends are searched for."""
    spans = [gap.ends(place) for gap in path.gaps]
    order = sorted(range(len(spans)), key=lambda at: path.gaps[at].start_s[0] - path.gaps[at].end_s[1])
    return [at for at in order[:MOST_GAPS] if spans[at][1] - spans[at][0] > LEAST_SPAN_S]


def _with_ends(setting: Setting, ends: Sequence[int], share: float, path: FlowPath) -> Setting:
    for at in ends:
        low, high = path.gaps[at].ends(setting.place)
        setting = setting.with_end(at, low + share * (high - low))
    return setting


def _of_each_sender(made: Sequence[Made]) -> list[Made]:
    """The nearest run of each sender, nearest first."""
    best: dict[tuple[str, str], Made] = {}
    for each in made:
        best.setdefault((each.setting.variant, each.setting.profile), each)
    return list(best.values())


def _refined(made: Made, path: FlowPath, unknowns: Sequence[Unknown]) -> Made:
    """The nearest one along each range, one range after the other, until none is nearer."""
    for _ in range(MOST_ROUNDS):
        before = made.nearness.score
        for at in sorted(_ends(path, made.setting.place)):
            made = _with_nearest_end(made, path, at)
        for unknown in unknowns:
            if unknown.name in (twin.RATE, twin.ROOM):
                values = np.linspace(unknown.low, unknown.high, 5 if unknown.is_wide else 3)
                changed = [unknown.change(made.setting, float(value)) for value in values]
                made = make([made.setting, *changed], path)[0]
        if path.gaps:
            earliest, latest = path.gaps[0].starts(made.setting.place)
            slack = (latest - earliest) / 2
            moved = [made.setting.moved(by * slack) for by in (-1.0, -0.5, 0.5, 1.0)]
            made = make([made.setting, *moved], path)[0]
        if made.nearness.score > 0.9 * before:
            break
    return made


def _with_nearest_end(made: Made, path: FlowPath, at: int) -> Made:
    """The nearest one with another end of one gap: over all of its range, then closer."""
    low, high = path.gaps[at].ends(made.setting.place)
    values = np.linspace(low, high, STEPS)
    made = make([made.setting, *(made.setting.with_end(at, float(value)) for value in values)], path)[0]
    near = (high - low) / (STEPS - 1)
    values = np.clip(made.setting.gaps[at][1] + near * np.array([-0.6, -0.3, 0.3, 0.6]), low, high)
    return make([made.setting, *(made.setting.with_end(at, float(value)) for value in values)], path)[0]


def draws_of(kinds: Sequence[Kind], count: int) -> list[tuple[Setting, dict[str, float]]]:
    """Settings with each unknown drawn from its range, spread evenly over it, and the values drawn.

    The kinds take turns. Each has another seed.
    """
    draws = random.Random(f"twin/{count}")
    order = {unknown.name: draws.sample(range(count), count) for unknown in kinds[0].unknowns}
    made = []
    for number in range(count):
        kind = kinds[number % len(kinds)]
        values: dict[str, float] = {}
        changed = replace(kind.setting, seed=number + 1)
        for unknown in kind.unknowns:
            share = (order[unknown.name][number] + draws.random()) / count
            values[unknown.name] = unknown.low + share * (unknown.high - unknown.low)
            changed = unknown.change(changed, values[unknown.name])
        made.append((changed, values))
    return made


def ends_of(kinds: Sequence[Kind]) -> list[Setting]:
    """The nearest settings with one wide range at each of its ends: draws of all ranges together rarely reach these."""
    wide = [(kind.setting, unknown) for kind in kinds for unknown in kind.unknowns if unknown.is_wide]
    return [
        unknown.change(setting, value) for setting, unknown in wide for value in (unknown.low, unknown.high)
    ]


def draw(kinds: Sequence[Kind], path: FlowPath, count: int) -> list[Made]:
    """Runs of settings that the capture allows."""
    if count == 0:
        return []
    return make([*(each for each, _ in draws_of(kinds, count)), *ends_of(kinds)], path)
