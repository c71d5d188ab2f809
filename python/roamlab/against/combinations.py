"""Random scenarios of what people combine: congestion controls with queues that mark, heavy random loss, and gaps."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from roamlab.against.cases import OneLink

CONTROLS = ("reno", "cubic", "bbr", "dctcp", "vegas")
"""Congestion controls that both have."""

KINDS = {
    "reno": ("marks", "loss"),
    "cubic": ("marks", "loss"),
    "bbr": ("loss",),
    "dctcp": ("marks", "two-flows", "drop", "loss"),
    "vegas": ("plain", "drop", "buffer", "loss", "two-flows"),
}
"""Events on the link. With `marks` the queue marks instead of a drop; DCTCP always has such a queue."""


@dataclass(frozen=True)
class Combination(OneLink):
    """A bottleneck of one link whose queue may mark."""

    marks_above_pkts: int | None
    """The queue marks packets that find this number of packets in it; `None`: it only drops."""

    @property
    def ecn(self) -> bool:
        """Flows ask for ECN if the queue marks."""
        return self.marks_above_pkts is not None

    @property
    def is_held_out(self) -> bool:
        """No change of our model followed from these."""
        return True

    def queue(self) -> dict[str, Any]:
        """A queue that marks by its present length is RED without an average."""
        if self.marks_above_pkts is None:
            return super().queue()
        steps = {
            "min_threshold": f"{self.marks_above_pkts} pkt",
            "max_threshold": f"{self.marks_above_pkts + 1} pkt",
        }
        marks = {"mark_ecn": True, "use_mark_p": True, "mark_p_max": 2.0}
        red = {"kind": "red", "limit": f"{self.queue_pkts} pkt", "max_p": 1.0, "queue_weight": 1.0}
        return {**red, **steps, **marks, "gentle": False}


def combinations(count: int, control: str, seed: int = 1) -> list[Combination]:
    """The given number of combinations with a congestion control. Each depends on its number and the seed alone."""
    return [_combination(number, control, seed) for number in range(count)]


def _combination(number: int, control: str, seed: int) -> Combination:
    draw = random.Random(f"combination {seed}/{number}")
    rate, delay = draw.choice([2, 5, 10]), draw.choice([5, 10, 20, 40, 80])
    product = rate * 1e6 * 2 * delay / 1000 / 12_000
    kind = KINDS[control][number % len(KINDS[control])]
    threshold = max(4, int(product * draw.uniform(0.2, 1.0)))
    queue = max(5, int(product * draw.uniform(0.4, 2.0)))
    marks = kind == "marks" or control == "dctcp"
    return Combination(
        number=number,
        control=control,
        kind=kind,
        rate_mbps=rate,
        delay_ms=delay,
        queue_pkts=max(queue, 3 * threshold) if marks else queue,
        gap_ms=draw.choice([50, 100, 150, 200, 300, 500, 800, 1200]),
        loss=draw.choice([0.01, 0.02, 0.05, 0.1]),
        second_start_ms=draw.randrange(100, 3000),
        marks_above_pkts=threshold if marks else None,
    )
