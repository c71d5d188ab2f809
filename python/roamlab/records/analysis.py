"""Stalls and slow periods of flows, and their causes by the record; docs/metrics.md defines them.

The engine's crate `analysis` finds them; the playground asks the same crate.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from roamlab.base.errors import BadInput
from roamlab.records.metrics import total

if TYPE_CHECKING:
    from collections.abc import Callable

    from roamlab._roamlab import Column
    from roamlab.records.results import Results

NEEDED = ("deliveries", "tcp", "packets")
"""Tables, switched on under `record`, from which stalls and their causes are found."""


@dataclass(frozen=True)
class Stall:
    """A silence of a flow, in ns from the start of the run."""

    flow: str
    start_ns: int
    end_ns: int
    round_trip_ns: int
    """Twice the smallest one-way delay of the flow's data; 0 if none arrived."""
    cut_off: bool
    """The run ended before data came again."""
    is_slow: bool = False
    """No silence: a slow period in which there is no stall."""

    @property
    def length_ns(self) -> int:
        """How long it was."""
        return self.end_ns - self.start_ns

    def overlaps(self, other: Stall) -> bool:
        """They have a moment in common."""
        return self.start_ns < other.end_ns and other.start_ns < self.end_ns


@dataclass(frozen=True)
class SlowPeriod:
    """A span in which a flow receives less than half of what it did before, in ns from the start of the run."""

    flow: str
    start_ns: int
    end_ns: int
    before_bps: float
    """The rate that it is measured by: that before the period, or the one at which datagrams are sent."""
    rate_bps: float
    """The rate in the period."""
    cut_off: bool
    """It lasts to the end of the run."""

    @property
    def length_ns(self) -> int:
        """How long it is."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True)
class Suspect:
    """Something that may have led to a stall."""

    kind: str
    """In words: "queue full"."""
    name: str
    """The message, phase or reason."""
    place: str
    host: str
    flow: str
    time_ns: int
    """When it was first met."""
    serial: int = 0
    chain: tuple[int, ...] = ()
    """Rows of `causes`, from what it led to down to the root."""
    count: int = 0
    """How many rows of the record lead to it."""
    given: bool = False
    """No setting of the network changes it: a rerun without it shows a cause, and is no remedy."""


@dataclass(frozen=True)
class Part:
    """The sender's part in a stall or slow period."""

    kind: str
    """In words: "tail loss probe"."""
    time_ns: int
    role: str
    """Its action: "ended by", "losses found by" or "kept slow by"."""


@dataclass(frozen=True)
class Wait:
    """A sender that waited for its retransmission timer although its path was there."""

    back_ns: int
    """When the path was back."""
    where: str
    """The part that was back: the link, or the host that had a cell again."""
    is_link: bool
    expired_ns: int
    """Last expiry of the timer in the stall."""

    @property
    def length_ns(self) -> int:
        """How long it waited."""
        return self.expired_ns - self.back_ns


@dataclass
class Found:
    """A stall or slow period with its causes by the record."""

    stall: Stall
    slow: SlowPeriod | None
    """The slow period that the stall is part of, or that is explained."""
    suspects: list[Suspect]
    """The likeliest first."""
    sentences: list[str]
    sender: list[Part]
    """Causes at the sender, in order of time."""
    sender_sentences: list[str]
    wait: Wait | None
    """Part of the stall that was due to the timer, after the path was back."""
    steps_ns: list[int]
    """When what is suspected first was, step by step."""
    suspected: str
    """The first suspect in words; empty: there is none."""

    @classmethod
    def of(cls, told: dict[str, Any], **more: Any) -> Self:
        """From the engine's answer."""
        slow, wait = told["slow"], told["wait"]
        return cls(
            **told
            | more
            | {
                "stall": Stall(**told["stall"]),
                "slow": slow and SlowPeriod(**slow),
                "suspects": [Suspect(**each | {"chain": tuple(each["chain"])}) for each in told["suspects"]],
                "sender": [Part(**each) for each in told["sender"]],
                "wait": wait and Wait(**wait),
            }
        )


def stalls(results: Results, flow: str) -> list[Stall]:
    """The stalls of a flow, longest first. The tables `NEEDED` must have been recorded."""
    return [Stall(**each) for each in _ask(results, results.analysis.stalls, flow)]


def slow_periods(results: Results, flow: str) -> list[SlowPeriod]:
    """The slow periods of a file transfer or of a flow of datagrams, in order of time; of other flows none.

    Table `deliveries` must have been recorded, of datagrams `packets` too.
    """
    return [SlowPeriod(**each) for each in _ask(results, results.analysis.slow_periods, flow) or ()]


def slow_s(results: Results, flow: str) -> float:
    """Time of all slow periods, in s; NaN for a flow that has none by definition, never started, or has no records."""
    begun = total(results, flow, "start_ns") >= 0
    found = _ask(results, results.analysis.slow_periods, flow) if begun else None
    if found is None:
        return math.nan
    return sum(SlowPeriod(**each).length_ns for each in found) / 1e9


def troubles(results: Results, flow: str | None) -> int:
    """How many stalls, and slow periods without one, a flow has, or all have."""
    return len(_ask(results, results.analysis.troubles, flow))


def explained(results: Results, flow: str | None, place: int | None) -> list[dict[str, Any]]:
    """The stalls of a flow, or of all, longest first, then slow periods without a stall, as `Found.of` takes them.

    With `place` only that one, counted from 0.
    """
    found: list[dict[str, Any]] = _ask(results, results.analysis.explain, flow, place)
    return found


def headline(results: Results) -> str:
    """Who moved, the longest stall and the worst slow period in one sentence, without its full stop."""
    found = _ask(results, results.analysis.headline)
    return f"{found['moves']}{found['stalled']}{found['slow']}"


def wait(results: Results, stall: Stall) -> Wait | None:
    """The wait for the timer after the path was back; None: nothing was away, or the sender sent in between."""
    found = _ask(results, results.analysis.wait, json.dumps(asdict(stall)))
    return found and Wait(**found)


def timeout_rtos(results: Results, stall: Stall) -> list[int]:
    """The RTO in ns at each retransmission timeout in a stall, or shortly before it."""
    found: list[int] = _ask(results, results.analysis.timeout_rtos, json.dumps(asdict(stall)))
    return found


class Source:
    """The parts of a run that the engine asks for: its tables, its scenario as JSON, and how long it was."""

    def __init__(self, results: Results) -> None:
        self._results = results

    @property
    def parameters(self) -> str:
        """The scenario with every default filled in."""
        return self._results.manifest.parameters_text

    @property
    def network(self) -> str:
        """The same with all that is generated, as this run saw it."""
        return self._results.manifest.network_text

    @property
    def duration_ns(self) -> int:
        """How long the run was."""
        return self._results.manifest.outline.duration_ns

    def columns(self, table: str) -> list[tuple[str, Column, list[str] | None]]:
        """The columns of a table: name, values and, of names, the names behind the codes."""
        return [
            (name, np.ascontiguousarray(values), None if names is None else list(names))
            for name, values, names in self._results.columns(table).each()
        ]


def _ask(results: Results, question: Callable[..., str], *of: Any) -> Any:
    """The engine's answer. Raises `BadInput` if the record lacks what is asked, or contradicts itself."""
    try:
        return json.loads(question(Source(results), *of))
    except ValueError as error:
        raise BadInput(
            "the record of the run",
            str(error),
            expected="the tables as docs/tables.md has them",
            remedy="make the run again",
        ) from None
