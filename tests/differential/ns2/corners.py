"""Corners that random scenarios rarely have, laid over the wide ones by weight."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

from case import MILLISECOND, draw_red, draw_wide, losses

if TYPE_CHECKING:
    from collections.abc import Callable

    from case import Case


def _first_lost(rng: random.Random, case: Case) -> Case:
    """The first segments are lost, `bugfix_ss_` is off, and more than two of them go out together."""
    lost = rng.choice([[0], [1], [2], [1, 2], [0, 1]])
    set_otherwise = {"bugfix_ss_": 0, "windowInit_": rng.choice([3, 4, 10])}
    return replace(
        case, late=[], losses=sorted({*lost, *case.losses}), variables={**case.variables, **set_otherwise}
    )


def _overtaken_acks(rng: random.Random, case: Case) -> Case:
    """Later ACKs overtake some that are held back, in recoveries too."""
    held = sorted({rng.randrange(150) for _ in range(rng.choice([2, 5, 10, 20]))})
    lost = case.losses if case.losses or case.late else losses(rng, 100)
    late_acks = [held, [rng.randint(MILLISECOND, rng.choice([30, 150, 400]) * MILLISECOND)]]
    return replace(case, losses=lost, ack_losses=[], late_acks=late_acks)


def _overtaken_acks_in_bursts(rng: random.Random, case: Case) -> Case:
    """The same, and an old ACK may let segments go that `maxburst_` has left."""
    case = _overtaken_acks(rng, case)
    return replace(case, variables={**case.variables, "maxburst_": rng.choice([1, 2, 3])})


def _stops_as_it_starts(rng: random.Random, case: Case) -> Case:
    """An application stops in the instant of its start."""
    at = rng.randrange(len(case.flows))
    flows = [
        replace(flow, packets=None, stop=flow.start) if index == at else flow
        for index, flow in enumerate(case.flows)
    ]
    return replace(case, flows=flows)


def _always_marks(rng: random.Random, case: Case) -> Case:
    """RED marks all that it chooses: `mark_p_` is above every probability."""
    red = replace(case.red or draw_red(rng, case), use_mark_p=True, mark_p=2.0, setbit=True)
    return replace(case, red=red, ecn=True)


_CORNERS: dict[str, tuple[int, Callable[[random.Random, Case], Case]]] = {
    "the first segment lost, bugfix_ss_ off": (2, _first_lost),
    "overtaken ACKs": (3, _overtaken_acks),
    "overtaken ACKs, maxburst_ 1 to 3": (3, _overtaken_acks_in_bursts),
    "stop as start": (1, _stops_as_it_starts),
    "mark_p_ 2": (1, _always_marks),
}


def draw_corner(seed: int, corner: str) -> Case:
    """The wide scenario of a seed with this corner."""
    rng = random.Random(f"corner {seed}")
    return replace(_CORNERS[corner][1](rng, draw_wide(seed)), name=f"wide seed {seed}, {corner}")


def draw(seed: int) -> Case:
    """The wide scenario of a seed; half of them have a corner."""
    rng = random.Random(f"which corner {seed}")
    if rng.random() < 0.5:
        return draw_wide(seed)
    weights = [weight for weight, _ in _CORNERS.values()]
    return draw_corner(seed, rng.choices(list(_CORNERS), weights)[0])
