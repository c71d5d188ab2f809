"""Compared values of a run, over the kernel or over our model, and the class of a difference."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from roamlab.against.cases import Phases
    from roamlab.records.results import Results

STEP_MS = 100
"""The window is compared at such times."""

EVENTS = ("timeout", "fast-retransmit", "tail-loss-probe", "tail-loss")
"""Events that begin a repair, which both record."""

GOODPUT_SHARE = 0.02
"""Goodputs that differ by less are equal."""


@dataclass(frozen=True)
class Measures:
    """A run. Lists have an entry for each flow."""

    goodput_bps: list[float]
    timeouts: list[int]
    recoveries: list[int]
    retransmitted: list[int]
    cwnd: list[list[float]]
    """Congestion window in segments, each `STEP_MS`."""
    events: list[list[tuple[int, str]]]
    """Events that begin a repair, with their times in ms."""
    first_phases: list[int] = field(default_factory=list)
    """Of the kernel's BBR: the random phases with which ProbeBW began. Empty: they are not known."""
    later_phases: list[int] = field(default_factory=list)
    """The same where it began again."""

    @property
    def phases(self) -> list[Phases]:
        """The phases of each flow."""
        return list(zip(self.first_phases, self.later_phases or self.first_phases, strict=True))

    def as_json(self) -> dict[str, Any]:
        """For a file."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any], flows: int, steps: int) -> Measures:
        """From a file: of a number of flows, with windows at a number of times.

        Raises `ValueError`, which names the field, if it is not of this shape.
        """
        phases: dict[str, Any] = {"first_phases": [], "later_phases": []}
        content = phases | content
        if content.keys() != cls.__dataclass_fields__.keys():
            raise ValueError(f"expected the fields {', '.join(cls.__dataclass_fields__)}")
        for name, fits in _FITS.items():
            values = content[name]
            count = len(values) if isinstance(values, list) else -1
            if (count != flows and not (name in phases and count == 0)) or not all(map(fits, values)):
                raise ValueError(f"field `{name}` is no list of {flows} values as they are recorded")
        if any(len(windows) != steps for windows in content["cwnd"]):
            raise ValueError(f"field `cwnd` has not {steps} windows for each flow")
        events = [[(at, what) for at, what in flow] for flow in content["events"]]
        return cls(**{**content, "events": events})


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**53


def _is_amount(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < 2**53


def _are_amounts(values: Any) -> bool:
    return isinstance(values, list) and all(map(_is_amount, values))


def _are_events(values: Any) -> bool:
    return isinstance(values, list) and all(
        isinstance(each, list) and len(each) == 2 and _is_count(each[0]) and each[1] in EVENTS
        for each in values
    )


_FITS: dict[str, Callable[[Any], bool]] = {
    "goodput_bps": _is_amount,
    "timeouts": _is_count,
    "recoveries": _is_count,
    "retransmitted": _is_count,
    "cwnd": _are_amounts,
    "events": _are_events,
    "first_phases": _is_count,
    "later_phases": _is_count,
}
"""True if a flow's value of a field is one that is recorded."""


LAG_US = 9_500
"""The last reading of the kernel's window before a step is so much before it: half a ms after a multiple of 10 ms."""


def measure(run: Results, seconds: float, lag_us: int = 0) -> Measures:
    """The measures of a run that lasts so long; windows are those of `lag_us` before each step."""
    import polars as pl

    flows = run.flows
    cwnd, events = [], []
    for name in flows["flow"]:
        rows = run.tcp.filter(pl.col("flow") == name).select("time_ns", "event", "cwnd")
        cwnd.append(_sampled(rows["time_ns"].to_list(), rows["cwnd"].to_list(), seconds, lag_us))
        begun = rows.filter(pl.col("event").cast(pl.String).is_in(EVENTS))
        events.append(
            [(at // 1_000_000, str(what)) for at, what in zip(begun["time_ns"], begun["event"], strict=True)]
        )
    return Measures(
        goodput_bps=[round(value, 1) for value in flows["goodput_bps"]],
        timeouts=flows["timeouts"].to_list(),
        recoveries=flows["fast_retransmits"].to_list(),
        retransmitted=flows["retransmitted_pkts"].to_list(),
        cwnd=cwnd,
        events=events,
    )


def _sampled(times: list[int], values: list[float], seconds: float, lag_us: int) -> list[float]:
    """The last value at each step; 0 before the first."""
    sampled, place, value = [], 0, 0.0
    for step in range(1, int(seconds * 1000 / STEP_MS)):
        while place < len(times) and times[place] <= (step * STEP_MS * 1000 - lag_us) * 1000:
            value = values[place]
            place += 1
        sampled.append(round(value, 1))
    return sampled


EQUAL, CHAOTIC, UNKNOWN = "equal", "chaotic", "unknown"
"""Classes of runs."""


@dataclass(frozen=True)
class Difference:
    """Our model and the kernel."""

    goodput: float
    """Our goodput of all flows over the kernel's, less 1."""
    timeouts: int
    """Our timeouts less the kernel's."""
    first_ms: int | None
    """When a window first differs by more than a tenth and two segments; None: it never does."""
    cause: str
    """Last event of the kernel or our model before that."""
    spread: float | None = None
    """Of runs that are not equal: how far our goodputs are apart if a flow starts up to a segment's time later."""
    covered: bool = False
    """The kernel's goodput and number of timeouts lie between those of these runs."""

    @property
    def equal(self) -> bool:
        """True if goodput and timeouts are equal."""
        return abs(self.goodput) <= GOODPUT_SHARE and self.timeouts == 0

    @property
    def kind(self) -> str:
        """The class: equal; chaotic, where a start up to a segment's time later moves ours past the kernel; unknown."""
        if self.equal:
            return EQUAL
        return CHAOTIC if self.covered else UNKNOWN


def difference(kernel: Measures, ours: Measures) -> Difference:
    """How our run differs."""
    first, cause = None, "none: the windows are the same"
    for flow in range(len(kernel.cwnd)):
        at = _first(kernel.cwnd[flow], ours.cwnd[flow])
        if at is not None and (first is None or at < first):
            first, cause = at, _cause(kernel.events[flow], ours.events[flow], at)
    return Difference(
        goodput=sum(ours.goodput_bps) / max(1.0, sum(kernel.goodput_bps)) - 1,
        timeouts=sum(ours.timeouts) - sum(kernel.timeouts),
        first_ms=first,
        cause=cause,
    )


def _first(kernel: list[float], ours: list[float]) -> int | None:
    for step, (one, other) in enumerate(zip(kernel, ours, strict=True), start=1):
        if one and other and abs(one - other) > max(2.0, 0.1 * one):
            return step * STEP_MS
    return None


def _cause(kernel: list[tuple[int, str]], ours: list[tuple[int, str]], at: int) -> str:
    """The repairs that had begun until then: where the two lists part, or the last one that both have."""
    before, after = ([what for when, what in events if when <= at] for events in (kernel, ours))
    if not before and not after:
        return "growth before any loss"
    for one, other in zip(before, after, strict=False):
        if one != other:
            return f"{one} in the kernel, {other} here"
    if len(before) > len(after):
        return f"{before[len(after)]} in the kernel alone"
    if len(after) > len(before):
        return f"{after[len(before)]} here alone"
    return f"after a {before[-1]} of both"
