"""Runs with a planted cause of a stall, and runs without a stall: what `roamlab why` is measured by.

Each plants one thing into the network of the study of schemes. Kind and number of a run choose scheme,
application and the size of the trouble, by separate random numbers. Stalls are measured without the code of
`why`, as the largest gap between two fresh deliveries. A draw counts as planted if that is above 200 ms with
the trouble and not without it, and as quiet if it is not above; otherwise the next is taken. As a program
this makes all runs and prints what was missed.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.causes.explain import explain
from roamlab.causes.removal import recorded
from roamlab.running.run import run
from roamlab.studies import scenarios

if TYPE_CHECKING:
    from collections.abc import Callable

    from roamlab.records.results import Results
    from roamlab.scenarios.scenario import Scenario

SCHEMES = {scheme.name: scheme for scheme in scenarios.schemes()}
LIMIT_NS = 200_000_000
"""Of a gap that is a stall: every round trip of the network is shorter."""
_APPS = tuple(scenarios.APPLICATIONS)
_LOST = (
    ("Mobile IP, drop-tail", "registration-request", [3]),
    ("Mobile IP, M-RED", "registration-request", [3]),
    ("X2, standard path switch", "handover-command", [1]),
    ("X2, fast path switch", "handover-command", [1]),
    ("M&M bicast", "attach", [2, 3]),
    ("HAWAII UNF", "registration", [2, 3]),
    ("BCMP unplanned", "handover-attach", [2, 3, 4]),
    ("FMIPv6 reactive", "una", [2, 3, 4]),
)
_HOLDERS = (
    ("Mobile IP, drop-tail", "bs1"),
    ("Mobile IP, M-RED", "bs1"),
    ("HAWAII MSF", "bs1"),
    ("HAWAII SSF", "bs1"),
    ("BCMP planned", "bs2"),
    ("FMIPv6 predictive", "bs2"),
)
"""Schemes with a buffer, and where it is."""
_X2 = ("X2, standard path switch", "X2, fast path switch")
_ALONE = {"flows.other.app.stop": "2.5 s"}


@dataclass(frozen=True)
class Plant:
    """A run with one thing planted."""

    kind: str
    """As in `roamlab.records.analysis.Suspect.kind`; empty: nothing."""
    scheme: str
    app: str
    trouble: dict[str, Any]
    setting: dict[str, Any] = field(default_factory=dict)
    """Other differences from the study's network."""
    where: str = ""
    """The message, or the place, that must be named."""
    seed: int = 0
    discipline: str = ""
    """The name of the queue's discipline that must be named, with its gauges."""

    def base(self) -> Scenario:
        """The scenario without the trouble."""
        return recorded(scenarios.scenario(SCHEMES[self.scheme], self.app).set_all(self.setting))

    def results(self) -> Results:
        """The run."""
        return run(self.base().set_all(self.trouble), self.seed)

    def takes(self) -> bool:
        """The trouble makes the flow stall, and nothing else does."""
        without = run(self.base(), self.seed)
        return largest_gap_ns(without, self.app) <= LIMIT_NS < largest_gap_ns(self.results(), self.app)


def largest_gap_ns(results: Results, flow: str) -> int:
    """The longest time between two segments or datagrams that arrived for the first time."""
    arrived = results.columns("deliveries")
    times = arrived["time_ns"][arrived.where("flow", flow) & arrived["fresh"].astype(bool)]
    return int(np.diff(times).max(initial=0))


def planted(kind: str, number: int) -> Plant:
    """Run `number` of those in which a cause of this kind is planted."""
    draws = random.Random(f"{kind} {number}")
    while not (plant := _MAKERS[kind](draws)).takes():
        pass
    return plant


def quiet(number: int) -> Plant:
    """Run `number` of those in which nothing is planted."""
    name, app = list(SCHEMES)[number % len(SCHEMES)], _APPS[number // len(SCHEMES) % 3]
    seed = 500 + number
    while largest_gap_ns((plant := Plant("", name, app, {}, seed=seed)).results(), app) > LIMIT_NS:
        seed += 1000
    return plant


def _lost(draws: random.Random) -> Plant:
    scheme, message, occurrences = draws.choice(_LOST)
    trouble = {"faults": [{"message": message, "host": "mh", "occurrences": occurrences}]}
    seed = draws.randrange(2**32)
    return Plant("message lost", scheme, draws.choice(_APPS), trouble, where=message, seed=seed)


def _held(draws: random.Random, kind: str, path: str, value: str) -> Plant:
    """A small window, of which the buffer keeps too little for three duplicate acknowledgements."""
    scheme, place = draws.choice(_HOLDERS)
    setting = {
        "radio.gap": f"{draws.randint(30, 70)} ms",
        "flows.download.transport.window": f"{draws.randint(6, 10)} pkt",
    }
    return Plant(kind, scheme, "download", {path: value}, setting, place, draws.randrange(2**32))


def _buffer(draws: random.Random) -> Plant:
    return _held(draws, "buffer too small", "mobility.buffer.limit", f"{draws.randint(1, 3)} pkt")


def _timer(draws: random.Random) -> Plant:
    return _held(draws, "timer too short", "mobility.buffer.longest_wait", f"{draws.randint(2, 10)} ms")


def _queue(draws: random.Random) -> Plant:
    """A short queue where the rate falls: slow start loses several segments of a window, which Reno does not repair."""
    scheme = draws.choice([*(name for name, _ in _HOLDERS), *_X2, "Cellular IP semisoft"])
    queue = {"kind": "droptail", "limit": f"{draws.randint(4, 8)} pkt"}
    setting = {"flows.download.transport.variant": "reno", **_ALONE}
    seed = draws.randrange(2**32)
    if draws.random() < 0.5:
        return Plant("queue full", scheme, "download", {"cells.bs1.queue": queue}, setting, "bs1/air", seed)
    setting["links.3.rate"] = "6 Mbit/s"
    return Plant("queue full", scheme, "download", {"links.3.queue": queue}, setting, "r1->ar1", seed)


_EARLY: dict[str, Callable[[random.Random], dict[str, Any]]] = {
    "CoDel": lambda draws: {
        "kind": "codel",
        "target": f"{draws.randint(1, 5)} ms",
        "interval": f"{draws.randint(10, 100)} ms",
    },
    "FQ-CoDel": lambda draws: {
        "kind": "fq-codel",
        "target": f"{draws.randint(1, 5)} ms",
        "interval": f"{draws.randint(10, 100)} ms",
    },
    "PIE": lambda draws: {
        "kind": "pie",
        "target": f"{draws.randint(1, 15)} ms",
        "alpha": draws.uniform(0.125, 2.0),
        "beta": draws.uniform(1.25, 20.0),
        "max_burst": f"{draws.randint(0, 100)} ms",
    },
    "DualPI2": lambda draws: {
        "kind": "dualpi2",
        "target": f"{draws.randint(1, 15)} ms",
        "alpha": draws.uniform(0.16, 2.0),
        "beta": draws.uniform(3.2, 30.0),
    },
    "RED": lambda draws: {
        "kind": "red",
        "limit": "200 pkt",
        "min_threshold": f"{(least := draws.randint(2, 8))} pkt",
        "max_threshold": f"{least + draws.randint(3, 20)} pkt",
        "queue_weight": draws.uniform(0.01, 0.3),
    },
}
"""Disciplines that drop before their queue is full, by their names, with parameters of different strengths."""


def _early(draws: random.Random) -> Plant:
    """A queue that drops early where the rate falls: of a window of Reno it takes several segments."""
    scheme = draws.choice([*(name for name, _ in _HOLDERS), *_X2, "Cellular IP semisoft"])
    queue = _EARLY[(discipline := draws.choice([*_EARLY]))](draws)
    setting = {"flows.download.transport.variant": "reno", **_ALONE}
    trouble: dict[str, Any] = {"cells.bs1.queue": queue, "record.queues": ["bs1/air"]}
    where, seed = "bs1/air", draws.randrange(2**32)
    if draws.random() < 0.5:
        setting["links.3.rate"] = "6 Mbit/s"
        trouble, where = {"links.3.queue": queue, "record.queues": ["r1->ar1"]}, "r1->ar1"
    return Plant("early drop", scheme, "download", trouble, setting, where, seed, discipline)


def _spurious(draws: random.Random) -> Plant:
    """The way to the new cell is long. A timer too short for it makes the sender begin again with one segment."""
    scheme = draws.choice([*_X2, "HAWAII MSF", "HAWAII SSF"])
    setting = {
        "flows.download.transport.window": f"{draws.randint(7, 20)} pkt",
        "links.4.delay": f"{draws.randint(65, 90)} ms",
        "cells.bs1.rate": f"{draws.randint(4, 8)} Mbit/s",
        "cells.bs2.rate": f"{draws.randint(2, 8)} Mbit/s",
        **_ALONE,
    }
    if scheme not in _X2:
        setting["radio.gap"] = f"{draws.randint(5, 15)} ms"
    trouble = {"flows.download.transport.min_rto": f"{draws.randint(1, 5) * 10} ms"}
    return Plant("spurious timeout", scheme, "download", trouble, setting, "", draws.randrange(2**32))


def _prediction(draws: random.Random) -> Plant:
    """The host is expected in a cell to which it does not go until later."""
    prediction = {"host": "mh", "cell": "bs2", "at": f"{draws.uniform(2.0, 3.5):.3f} s"}
    trouble = {"mobility.predictions": [prediction]}
    setting = {"mobility.prediction_timeout": f"{draws.randint(300, 500)} ms"}
    scheme = draws.choice([*_X2, "X2, predictive path switch"])
    return Plant(
        "wrong prediction", scheme, draws.choice(_APPS), trouble, setting, "", draws.randrange(2**32)
    )


def _down(draws: random.Random) -> Plant:
    at = draws.uniform(2.0, 3.5)
    changes = [
        {"at": f"{at:.3f} s", "up": False},
        {"at": f"{at + draws.uniform(0.25, 0.6):.3f} s", "up": True},
    ]
    link, place = draws.choice(((2, "gw->r1"), (3, "r1->ar1"), (0, "ch->gw")))
    scheme, app, seed = draws.choice(list(SCHEMES)), draws.choice(_APPS), draws.randrange(2**32)
    return Plant("link change", scheme, app, {f"links.{link}.changes": changes}, where=place, seed=seed)


_MAKERS = {
    "message lost": _lost,
    "buffer too small": _buffer,
    "queue full": _queue,
    "early drop": _early,
    "timer too short": _timer,
    "spurious timeout": _spurious,
    "wrong prediction": _prediction,
    "link change": _down,
}
KINDS = tuple(_MAKERS)


def missed(plant: Plant) -> str:
    """Wrong statements of `why` about a run; empty: none. The longest stall of the planted flow is judged."""
    results = plant.results()
    told = [each for each in explain(results, plant.app) if not each.stall.is_slow]
    if not plant.kind:
        return f"{len(told)} stalls" if told else ""
    if not told:
        return "no stall"
    suspected = told[0].suspects
    if not suspected or suspected[0].kind != plant.kind:
        return f"suspects {[(each.kind, each.name, each.place) for each in suspected[:3]]}"
    first = suspected[0]
    other_way = "->".join(reversed(first.place.split("->")))
    if plant.where not in ("", first.name, first.place, other_way):
        return f"names {first.name} at {first.place}, not {plant.where}"
    said = f"{plant.discipline} at {first.place} dropped "
    if plant.discipline and not any(each.startswith(said) for each in told[0].sentences):
        return f"lacks: {said}"
    (checked,) = explain(results, plant.app, 1, check=True)
    if checked.named != plant.kind:
        tried = checked.check.trials if checked.check else []
        return f"not confirmed: {[(trial.what, trial.left.longest_s) for trial in tried]}"
    return ""


def plants(number: int, without: int) -> list[Plant]:
    """Numbers of runs with planted causes, in equal shares, and without."""
    return [planted(KINDS[each % len(KINDS)], each // len(KINDS)) for each in range(number)] + [
        quiet(each) for each in range(without)
    ]


def measure(number: int, without: int) -> tuple[list[str], int, int]:
    """Missed causes, the number of planted causes named and confirmed, and that of runs reported without a stall."""
    told: list[str] = []
    wrong = {True: 0, False: 0}
    for plant in plants(number, without):
        if problem := missed(plant):
            wrong[bool(plant.kind)] += 1
            told.append(
                f"{plant.kind or 'no stall'}: {plant.scheme}, {plant.app}, {plant.trouble}: {problem}"
            )
    return told, number - wrong[True], without - wrong[False]


def main() -> None:
    """Make all runs, or as many as the three arguments; exit code 1 below 95 %, or where a stall is made up."""
    import planted_today

    number, without, today = (int(word) for word in sys.argv[1:4]) if len(sys.argv) > 3 else (200, 50, 60)
    told, right, quiet_runs = measure(number, without)
    print("\n".join(told))
    print(f"planted cause named and confirmed: {right} of {number}")
    print(f"reported without a stall: {quiet_runs} of {without}")
    missed_parts, named = planted_today.measure(today)
    print("\n".join(missed_parts))
    print(f"planted part of today's senders named: {named} of {today}")
    sys.exit(right < 0.95 * number or quiet_runs < without or named < 0.95 * today)


if __name__ == "__main__":
    main()
