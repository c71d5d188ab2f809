"""Comparing two traces: the first difference, or the largest difference in time.

Events are compared stream by stream: all of one flow and kind, or all values of one variable, in their order.
The traces are read in parallel, never further apart than the tolerance. So a difference found is the first,
and a large file is not held in memory. Values are compared at the end of each instant, and only where they
changed, because simulators differ in how often they write a variable.
"""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING

from roamlab.base.errors import BadInput, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Set

    from roamlab.traces import Trace
    from roamlab.traces.event import Event

AROUND = 5
"""Rows shown before the first difference, and after it."""

_LOOK_AHEAD = 1000
"""Events searched for one that is missing, to tell "late" from "absent"."""


@dataclass(frozen=True)
class Choice:
    """Which events are compared."""

    tokens: Set[str]
    """Letters of events and names of variables."""
    flows: Mapping[str, str] | None = None
    """Flow in the file → what it is called in the comparison; None for all, by their own names."""
    start_ns: int = 0
    end_ns: int | None = None


@dataclass
class Side:
    """One trace, read on demand."""

    name: str
    trace: Trace
    choice: Choice
    flows_seen: set[str] = field(default_factory=set)
    count: int = 0
    recent: deque[Event] = field(default_factory=lambda: deque(maxlen=64))
    waiting: OrderedDict[int, Event] = field(default_factory=OrderedDict)
    """Events that the other side has not shown yet, by their position."""

    def __post_init__(self) -> None:
        """Begin to read."""
        self._ahead: deque[Event] = deque()
        self._events = self._chosen(changes(self._named()))

    def _named(self) -> Iterator[Event]:
        """The events of the chosen kinds and flows, with their flows called as in the comparison."""
        tokens, flows = self.choice.tokens, self.choice.flows
        for event in self.trace.events():
            if event.token not in tokens:
                continue
            self.flows_seen.add(event.flow)
            if flows is None:
                yield event
            elif event.flow in flows:
                yield event._replace(flow=flows[event.flow])

    def _chosen(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            if self.choice.end_ns is not None and event.time_ns > self.choice.end_ns:
                return
            if event.time_ns >= self.choice.start_ns:
                yield event

    def ahead(self, count: int = 1) -> list[Event]:
        """The next events, which stay unread."""
        self._ahead.extend(islice(self._events, max(0, count - len(self._ahead))))
        return list(islice(self._ahead, count))

    def peek(self) -> Event | None:
        """The next event, which stays unread."""
        if not self._ahead:
            self._ahead.extend(islice(self._events, 1))
        return self._ahead[0] if self._ahead else None

    def take(self) -> Event:
        """Read the next event, which `peek` has shown."""
        event = self._ahead.popleft()
        self.recent.append(event)
        self.count += 1
        return event


def changes(events: Iterable[Event]) -> Iterator[Event]:
    """Variables' values at the end of each instant, where they changed; other events unchanged.

    Values at time 0 are settings, of which no change is made.
    """
    last: dict[tuple[str, str, str], str] = {}
    held: dict[tuple[str, str, str], Event] = {}
    now = 0
    for event in events:
        if event.time_ns > now:
            yield from _settle(held, last)
            now = event.time_ns
        if event.kind in "VR":
            held[event.stream] = event
        else:
            yield event
    yield from _settle(held, last)


def _settle(
    held: dict[tuple[str, str, str], Event], last: dict[tuple[str, str, str], str]
) -> Iterator[Event]:
    for stream, event in held.items():
        if last.get(stream) != event.value and event.time_ns > 0:
            yield event
        last[stream] = event.value
    held.clear()


@dataclass(frozen=True)
class Equal:
    """The sequences are the same."""

    events: int
    largest_ns: int
    """The largest difference in time."""
    at: tuple[Event, Event] | None
    """Where it is; None if no event was compared."""


@dataclass(frozen=True)
class Different:
    """The first difference."""

    what: str
    ours: Event | None
    theirs: Event | None
    rows: list[tuple[Event | None, Event | None]]
    """The rows around it, ours and theirs."""
    before: int
    """Position among them of the row that differs."""


def compare(ours: Side, theirs: Side, tolerance_ns: int) -> Equal | Different:
    """Read both traces to the first difference, or to their end."""
    streams: dict[tuple[str, str, str], deque[tuple[Side, int]]] = {}
    largest, at = -1, None
    while True:
        for side, other in ((ours, theirs), (theirs, ours)):
            if (event := _overdue(side, other, tolerance_ns)) is not None:
                return _absent(side, other, event, ours, tolerance_ns)
        side, other = _next(ours, theirs)
        if side.peek() is None:
            return Equal(ours.count, max(largest, 0), at)
        event = side.take()
        queue = streams.setdefault(event.stream, deque())
        if not queue or queue[0][0] is side:
            queue.append((side, side.count))
            side.waiting[side.count] = event
            continue
        match = other.waiting.pop(queue.popleft()[1])
        pair = (event, match) if side is ours else (match, event)
        if event.content != match.content:
            return _report(f"{_words(pair[0])}, {_words(pair[1])}", pair, ours, theirs, tolerance_ns)
        distance = abs(event.time_ns - match.time_ns)
        if distance > largest:
            largest, at = distance, pair


def _next(ours: Side, theirs: Side) -> tuple[Side, Side]:
    """The side whose next event is earlier, and the other."""
    mine, other = ours.peek(), theirs.peek()
    ours_first = mine is not None and (other is None or mine.time_ns <= other.time_ns)
    return (ours, theirs) if ours_first else (theirs, ours)


def _overdue(side: Side, other: Side, tolerance_ns: int) -> Event | None:
    """The earliest event of a side that the other side can no longer show within the tolerance."""
    if not side.waiting:
        return None
    event, upcoming = next(iter(side.waiting.values())), other.peek()
    late = upcoming is None or upcoming.time_ns > event.time_ns + tolerance_ns
    return event if late else None


def _absent(side: Side, other: Side, event: Event, ours: Side, tolerance_ns: int) -> Different:
    """A difference: the other side has no such event in time. Its own value there, if any, is reported."""
    found = next((late for late in other.ahead(_LOOK_AHEAD) if late.stream == event.stream), None)
    pair = (event, found) if side is ours else (found, event)
    if found is None:
        end = "has ended" if other.peek() is None else "has no such event here"
        what = f"{_words(event)} is in {side.name} only; {other.name} {end}"
    elif found.content == event.content:
        distance = abs(found.time_ns - event.time_ns)
        what = f"{_words(event)} is {distance / 1e3:.3f} us apart, more than {tolerance_ns / 1e3:g} us"
    else:
        what = f"{_words(event)} is in {side.name} only; {other.name} continues with {_words(found)}"
        pair = (event, None) if side is ours else (None, event)
    theirs = other if side is ours else side
    return _report(what, pair, ours, theirs, tolerance_ns)


def _words(event: Event) -> str:
    return f"{event.kind} {event.what} {event.value}".strip()


def _report(
    what: str, pair: tuple[Event | None, Event | None], ours: Side, theirs: Side, tolerance_ns: int
) -> Different:
    """The difference with the rows around it."""
    first, second = pair
    if first is not None and second is not None:
        tolerance_ns = max(tolerance_ns, 4 * abs(first.time_ns - second.time_ns))
    mine, others = ([*side.recent, *side.ahead(4 * AROUND)] for side in (ours, theirs))
    rows = _align(mine, others, pair, tolerance_ns)
    at = rows.index(pair)
    begin = max(0, at - AROUND)
    return Different(what, *pair, rows[begin : at + AROUND + 1], at - begin)


def _align(
    ours: list[Event], theirs: list[Event], pair: tuple[Event | None, Event | None], tolerance_ns: int
) -> list[tuple[Event | None, Event | None]]:
    """Events side by side where they are the same within the tolerance, alone where not; in the order of time."""
    rows: list[tuple[Event | None, Event | None]] = [pair]
    rest = [event for event in theirs if event is not pair[1]]
    for event in ours:
        if event is pair[0]:
            continue
        match = next((other for other in rest if _same(event, other, tolerance_ns)), None)
        if match is not None:
            rest.remove(match)
        rows.append((event, match))
    rows += [(None, event) for event in rest]
    return sorted(rows, key=lambda row: min(event.time_ns for event in row if event is not None))


def _same(event: Event, other: Event, tolerance_ns: int) -> bool:
    return (
        event.stream == other.stream
        and event.content == other.content
        and abs(event.time_ns - other.time_ns) <= tolerance_ns
    )


def choose(ours: Trace, theirs: Trace, wanted: str | None) -> frozenset[str]:
    """Compared events: those in `wanted` (letters and variables, by commas), or all that both traces can show."""
    common = ours.offers() & theirs.offers()
    if wanted is None:
        tokens = common
    else:
        listed = {word.strip() for word in wanted.split(",")} - {""}
        red = {"ave", "prob1"}
        expanded = {
            *(listed - {"V", "R"}),
            *(common - red - set("SKADBQM") if "V" in listed else ()),
            *(common & red if "R" in listed else ()),
        }
        if unknown := expanded - common:
            raise BadInput(
                f"--events {wanted}",
                f"not both traces can show {', '.join(sorted(unknown))}",
                expected=f"some of {', '.join(sorted(common)) or 'nothing'}",
                remedy=f"the formats are {ours.format} and {theirs.format}; see docs/compare-trace.md",
            )
        tokens = frozenset(expanded)
    if not tokens:
        raise BadInput(
            f"{ours.path}, {theirs.path}",
            "there is no kind of event that both can show",
            expected=f"{_shows(ours)}; {_shows(theirs)}",
            remedy="compare with another file, or name the columns of an xgraph file like the variables",
        )
    return frozenset(tokens)


def _shows(trace: Trace) -> str:
    return f"{trace.format} shows {', '.join(sorted(trace.offers()))}"


def sides(
    ours: Trace,
    theirs: Trace,
    tokens: Set[str],
    flows: Iterable[str] = (),
    span: tuple[int, int | None] = (0, None),
) -> tuple[Side, Side]:
    """Both traces ready to be compared.

    `flows` names those that are compared, by one name or as OURS=THEIRS; none: all. `span` is in ns.
    """
    pairs = [(name, name) if "=" not in name else _split(name) for name in flows]
    return (
        Side("OURS", ours, Choice(tokens, {mine: mine for mine, _ in pairs} or None, *span)),
        Side("THEIRS", theirs, Choice(tokens, {other: mine for mine, other in pairs} or None, *span)),
    )


def check_flows(ours: Trace, theirs: Trace, flows: Iterable[str]) -> None:
    """Raise `BadInput` if a flow that is to be compared has no event in its trace, of any kind."""
    pairs = [(name, name) if "=" not in name else _split(name) for name in flows]
    for side, trace, at in (("OURS", ours, 0), ("THEIRS", theirs, 1)):
        wanted = {pair[at] for pair in pairs}
        seen: set[str] = set()
        for event in trace.events() if wanted else ():
            seen.add(event.flow)
            if wanted <= seen:
                break
        for missing in sorted(wanted - seen):
            other = next(pair[1 - at] for pair in pairs if pair[at] == missing)
            meant = sorted(seen)[0] if seen else ""
            both = f"{other}={meant}" if at else f"{meant}={other}"
            raise BadInput(
                f"--flow {next(name for name, pair in zip(flows, pairs, strict=True) if pair[at] == missing)}",
                f"{side}, {trace.path}, has no flow {missing!r}",
                expected=f"one of {', '.join(sorted(seen)) or 'none'}; OURS=THEIRS if the names differ",
                remedy=did_you_mean(
                    missing, seen, f"write --flow {both}, for example" if seen else "leave it out"
                ),
            )


def _split(name: str) -> tuple[str, str]:
    ours, _, theirs = name.rpartition("=")
    return ours, theirs


def _check_compared(found: Equal, ours: Side, theirs: Side) -> None:
    """Refuse a comparison of nothing."""
    if found.events:
        return
    seen = "; ".join(
        f"{side.name} has flows {', '.join(sorted(side.flows_seen)) or 'none'}" for side in (ours, theirs)
    )
    raise BadInput(
        f"{ours.trace.path}, {theirs.trace.path}",
        "neither has an event of the chosen kinds, flows and times",
        expected=f"events of {', '.join(sorted(ours.choice.tokens))} ({seen})",
        remedy="choose others with --events, --flow, --from and --until",
    )


_TIME = re.compile(r"(\d+(?:\.\d+)?) ?(ns|us|ms|s)")
_UNIT_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}


def time_ns(option: str, text: str) -> int:
    """A time with its unit, in whole nanoseconds."""
    found = _TIME.fullmatch(text.strip())
    value = Decimal(found[1]) * _UNIT_NS[found[2]] if found else None
    if value is None or value != int(value):
        raise BadInput(
            f"{option} {text!r}",
            "not a whole number of nanoseconds",
            expected="a number with a unit: ns, us, ms or s",
            remedy='write "1 us", for example',
        )
    return int(value)


def columns(found: Different) -> str:
    """The rows around a difference: ours on the left, theirs on the right; `!` marks the first difference."""
    cells = [tuple(_cell(event) for event in row) for row in found.rows]
    width = max(len("OURS"), *(len(left) for left, _ in cells))
    text = [f"  {'OURS':<{width}} | THEIRS"]
    for at, (left, right) in enumerate(cells):
        text.append(f"{'!' if at == found.before else ' '} {left:<{width}} | {right}".rstrip())
    return "\n".join(text)


def _cell(event: Event | None) -> str:
    if event is None:
        return ""
    note = f"({event.note})" if event.note else ""
    parts = (f"{event.time_ns / 1e9:.9f}", event.kind, event.flow, event.what, event.value, note)
    return " ".join(part for part in parts if part)


def report(found: Equal | Different, ours: Side, theirs: Side) -> str:
    """Result, in words. Refuses a comparison of nothing."""
    read = f"{ours.trace.format} and {theirs.trace.format}: {', '.join(sorted(ours.choice.tokens))}"
    if isinstance(found, Different):
        places = (
            f"  {side.name}: {side.trace.locate(event)}"
            for side, event in ((ours, found.ours), (theirs, found.theirs))
            if event is not None
        )
        return "\n".join(
            [read, f"first difference: {found.what}", *places, columns(found), *_hint(ours, theirs)]
        )
    _check_compared(found, ours, theirs)
    where = ""
    if found.at is not None:
        mine, other = found.at
        where = f" at {_cell(mine)} ({ours.trace.locate(mine)}, {theirs.trace.locate(other)})"
    return f"{read}\nequal: {found.events} events; largest difference in time {found.largest_ns / 1e3:.3f} us{where}"


def _hint(ours: Side, theirs: Side) -> list[str]:
    """Text for flows with different names."""
    if ours.choice.flows is not None or ours.flows_seen & theirs.flows_seen:
        return []
    names = (", ".join(sorted(side.flows_seen)) or "none" for side in (ours, theirs))
    mine, others = names
    return [f"flows so far in OURS: {mine}; in THEIRS: {others}. --flow OURS=THEIRS pairs them"]
