"""The constants of `analysis.js`, written from the Python modules that define them.

`python -m roamlab.playground.constants` prints them, for programs that run the worker's code without the page.
"""

from __future__ import annotations

import json

from roamlab.base.screen import say
from roamlab.causes.early import DISCIPLINES, WAITING
from roamlab.causes.removal import AMPLE, EXPIRIES
from roamlab.causes.suspects import LATE, LOSSES, MESSAGES, QUEUES, RANKS, SETTLE_NS
from roamlab.causes.words import REASONS, STEPS
from roamlab.records.metrics import MOVES
from roamlab.records.slow import BEFORE, FLOOR_NS, LEAST_PKTS


def script() -> str:
    """A line of JavaScript for each constant."""
    found = {
        "FLOOR_NS": FLOOR_NS,
        "SETTLE_NS": SETTLE_NS,
        "BEFORE": BEFORE,
        "LEAST_PKTS": LEAST_PKTS,
        "RANKS": RANKS,
        "LATE": LATE,
        "LOSSES": LOSSES,
        "QUEUES": QUEUES,
        "MESSAGES": MESSAGES,
        "MOVES": MOVES,
        "AMPLE": AMPLE,
        "EXPIRIES": EXPIRIES,
        "STEPS": STEPS,
        "REASONS": REASONS,
        "DISCIPLINES": DISCIPLINES,
        "WAITING": WAITING,
    }
    return "".join(f"const {name} = {json.dumps(value)};\n" for name, value in found.items())


if __name__ == "__main__":
    say(script().rstrip("\n"))
