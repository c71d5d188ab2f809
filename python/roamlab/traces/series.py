"""A log of rates, delays or losses of any program, as the table that a link follows (docs/import.md)."""

from __future__ import annotations

import json
import re
from array import array
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.base.errors import BadInput
from roamlab.base.inputs import read_text, text_lines
from roamlab.base.quantities import counted, number
from roamlab.traces import logs
from roamlab.traces.logs import QUOTED, bad, instant, whole
from roamlab.traces.tools import ANSWER, PING, intervals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


@dataclass(frozen=True)
class Quantity:
    """A property of a link that follows a table."""

    name: str
    columns: Mapping[str, int]
    """Names of its columns, each with the power of ten that makes its values whole."""
    column: str
    """The one that is written."""
    unit: str
    most: int
    """The greatest value that the engine takes."""
    halved: tuple[str, ...] = ()
    """Columns of round-trip times: the delay is half of them."""


QUANTITIES = {
    "rate": Quantity(
        "rate",
        {"rate_mbit_s": 6, "rate_kbit_s": 3, "rate_bit_s": 0},
        "rate_mbit_s",
        "Mbit/s",
        10**15,
    ),
    "delay": Quantity(
        "delay",
        {"delay_ms": 6, "delay_s": 9, "rtt_ms": 6, "rtt_s": 9},
        "delay_ms",
        "ms",
        3_600 * 10**9,
        ("rtt_ms", "rtt_s"),
    ),
    "loss": Quantity("loss", {"loss": 12, "loss_percent": 10}, "loss", "1", 10**12),
}
"""By the names that `roamlab schedule --as` has."""

_TIMES = {"time_s": 9, "time_ms": 6, "time_us": 3, "time_ns": 0, "time": 9}
"""Columns of times, each with the power of ten that makes them ns."""
_LATEST_NS = 50 * 366 * 86_400 * 10**9
"""The engine's latest time, 50 years."""
_GAP = 5
"""A step longer than this number of usual ones is a gap."""


@dataclass(frozen=True)
class Series:
    """Values over time."""

    quantity: Quantity
    times: np.ndarray[Any, Any]
    """From the begin of a run, in ns, rising; the first is 0."""
    values: np.ndarray[Any, Any]
    """Whole numbers: a rate in bit/s, a delay in ns, a loss in 10^-12."""
    notes: tuple[str, ...]
    """Differences between the log and the series."""

    def text(self) -> Iterator[str]:
        """The table, in pieces of many lines."""
        yield f"time_s,{self.quantity.column}"
        power = self.quantity.columns[self.quantity.column]
        for first in range(0, len(self.times), _PIECE):
            piece = slice(first, first + _PIECE)
            pairs = zip(self.times[piece].tolist(), self.values[piece].tolist(), strict=True)
            yield "\n".join(f"{_written(time, 9)},{_written(value, power)}" for time, value in pairs)

    def scaled(self) -> np.ndarray[Any, Any]:
        """The values in the unit of the quantity."""
        divisor = float(10 ** self.quantity.columns[self.quantity.column])
        return np.asarray(self.values / divisor)

    def gaps(self) -> tuple[float, np.ndarray[Any, Any]]:
        """The usual step in s, and the places of the rows before gaps."""
        steps = np.diff(self.times)
        if not len(steps):
            return 0.0, np.zeros(0, dtype=np.int64)
        usual = float(np.median(steps))
        return usual / 1e9, np.flatnonzero(steps > _GAP * usual)

    def summary(self) -> list[str]:
        """Sentences about the series: its range, its gaps, its differences from the log."""
        values, name = self.values, self.quantity.name
        divisor = 10 ** self.quantity.columns[self.quantity.column]
        unit = "" if self.quantity.unit == "1" else f" {self.quantity.unit}"
        length = float(self.times[-1]) / 1e9
        low, high = (number(float(each) / divisor) for each in (values.min(), values.max()))
        said = [
            f"{counted(len(values), 'row')} from 0 to {number(length)} s; {name} from {low} to {high}{unit}"
        ]
        usual, gaps = self.gaps()
        if len(gaps):
            steps = self.times[gaps + 1] - self.times[gaps]
            at = int(np.argmax(steps))
            longest = int(gaps[at])
            said.append(
                f"{counted(len(gaps), 'gap')} longer than {_GAP} usual steps of {number(usual)} s, the longest "
                f"{number(float(steps[at]) / 1e9)} s from {number(float(self.times[longest]) / 1e9)} s on: the value "
                "before holds"
            )
        return said + list(self.notes)


_PIECE = 50_000


def _written(value: int, power: int) -> str:
    """A whole number divided by a power of ten, with all its digits."""
    before, fraction = divmod(value, 10**power)
    return f"{before}.{fraction:0{power}d}".rstrip("0") if fraction else str(before)


def read(
    log: Path,
    quantity: Quantity,
    named: Mapping[str, str],
    only: Mapping[str, str],
    begin: str | None,
    same_time: str = "refuse",
) -> Series:
    """The series of a log: a table, JSON lines, the output of `ping -D` or of `iperf3 -J`.

    `named`: our names of columns and those of the log. `only`: fields and the values that a record must have to count.
    `begin`: the log's time at which a run begins; None: its first. `same_time`: one of `SAME_TIME`. Raises `BadInput`
    with file and line.
    """
    first = next(iter(text_lines(log, logs.EXPECTED)), "")
    if PING.match(first):
        _refuse_options(log, "the output of ping", named, only)
        samples, notes = _of_ping(log, quantity)
        return _series(log, quantity, (samples, notes), begin, 9, same_time)
    if logs.of_lines(log) and not _is_object(first):
        _refuse_options(log, "the output of iperf3", named, only)
        samples, notes = _of_iperf3(log, quantity)
        return _series(log, quantity, (samples, notes), begin, 9, same_time)
    time, value = _named(log, quantity, named)
    dated = time == "time"
    power, places = _TIMES[time], quantity.columns[value]
    halved = value in quantity.halved
    fields = [named.get(time, time), named.get(value, value)]
    _refuse_numbers(log, first)

    def samples_of() -> Iterator[tuple[int, int, int]]:
        for line, (when, what) in logs.columns(log, fields, only):
            at = whole(instant(when.strip()) if dated else when, power)
            if at is None or abs(at) > _LARGEST:
                raise _no_time(log, line, fields[0], when, dated=dated)
            found = whole(what, places)
            if found is None or not 0 <= found <= quantity.most:
                raise _no_value(log, line, fields[1], what, quantity)
            yield line, at, (found + 1) // 2 if halved else found

    notes = ["the delay is half of the round-trip time"] if halved else []
    return _series(log, quantity, (samples_of, notes), begin, power, same_time)


_LARGEST = 2**62


def _refuse_options(log: Path, what: str, *given: Mapping[str, str]) -> None:
    if any(given):
        raise BadInput(
            log,
            f"this is {what}, which has no columns",
            expected="no --column and no --where",
            remedy="leave them out",
        )


def _refuse_numbers(log: Path, first: str) -> None:
    """Raise `BadInput` for a file of numbers alone, which a link can follow unchanged."""
    if re.fullmatch(r"[\s\d.,;|]+", first) and first.strip() and not logs.of_lines(log):
        raise bad(
            log,
            1,
            "the first line has numbers, and no names of columns",
            "a line of names, for example time_s,rate_mbit_s",
            "write one; a link follows a file with a number on each line unchanged: `rate = { trace = … }` for the "
            "times of Mahimahi, `delay = { trace = …, step = … }` for delays",
        )


def _named(log: Path, quantity: Quantity, named: Mapping[str, str]) -> tuple[str, str]:
    """Our names of the columns of time and value. What `named` has not is called in the log as here."""
    known = [*_TIMES, *quantity.columns]
    for ours, theirs in named.items():
        if ours not in known:
            raise BadInput(
                f"--column {ours}={theirs}",
                f"a table of a {quantity.name} is not made of such a column",
                expected=f"one of {', '.join(known)}",
                remedy=f"write --column {quantity.column}=speed, for a field `speed`",
            )
    found = []
    for what, all_names in (("the time", list(_TIMES)), (f"the {quantity.name}", list(quantity.columns))):
        own = [name for name in named if name in all_names]
        if not own:
            own = [name for name in all_names if name in logs.names_of(log)]
        if len(own) > 1:
            raise BadInput(
                f"--column {own[1]}={named.get(own[1], own[1])}",
                f"{what} is named twice",
                expected=f"one of {', '.join(own)}",
                remedy="name one field with --column",
            )
        found.append(own[0] if own else all_names[0])
    return found[0], found[1]


def _no_time(log: Path, line: int, field: str, when: str, *, dated: bool) -> BadInput:
    problem = f"{field} is {when.strip()[:QUOTED]!r}"
    if dated:
        remedy = "write 2026-05-01T12:00:00.5Z"
        return bad(log, line, problem, "a date and time in ISO 8601", remedy)
    is_dated = instant(when.strip()) is not None
    remedy = f"write --column time={field}" if is_dated else "correct it, or choose records with --where"
    return bad(log, line, problem, "a number", remedy)


def _no_value(log: Path, line: int, field: str, what: str, quantity: Quantity) -> BadInput:
    most = number(quantity.most / 10 ** quantity.columns[quantity.column])
    unit = "" if quantity.unit == "1" else f" {quantity.unit}"
    return bad(
        log,
        line,
        f"{field} is {what.strip()[:QUOTED]!r}",
        f"a {quantity.name} from 0 to {most}{unit}",
        "correct it, or choose records with --where",
    )


SAME_TIME = ("refuse", "first", "last", "mean")
"""The value of a time that several records have with other values: a fault, or one of them, or their mean."""


def _series(
    log: Path, quantity: Quantity, about: tuple[Any, list[str]], begin: str | None, power: int, same_time: str
) -> Series:
    """The samples in the order of time, from the begin on. `about`: the samples, and notes on them.

    The samples are a function that gives line, time in ns and value of each.
    """
    samples, notes = about
    times, values = array("q"), array("q")
    for _, at, value in samples():
        times.append(at)
        values.append(value)
    if not times:
        raise BadInput(
            log,
            f"no record has a {quantity.name}",
            expected="a record for each sample",
            remedy="look at what --where asks for, or name a log with samples",
        )
    at, found = np.frombuffer(times, dtype=np.int64), np.frombuffer(values, dtype=np.int64)
    order = None
    if (at[1:] < at[:-1]).any():
        order = np.argsort(at, kind="stable")
        at, found = at[order], found[order]
        notes = [*notes, "the records were not in the order of time"]
    again = at[1:] == at[:-1]
    if again.any():
        differing = np.flatnonzero(again & (found[1:] != found[:-1]))
        if len(differing) and same_time == "refuse":
            place = int(differing[0]) + 1
            line = _line(samples, int(order[place]) if order is not None else place)
            raise bad(
                log,
                line,
                "another record has this time and another value",
                "one value at each time",
                "choose records with --where, name a column with finer times, or write --same-time mean",
            )
        kept = np.concatenate(([True], ~again))
        at, found = at[kept], _at_one_time(found, np.flatnonzero(kept), same_time)
        what = "time" if len(differing) else "time and value"
        notes = [*notes, f"{counted(int(again.sum()), 'record')} of the same {what} left out"]
    return _from_begin(log, quantity, (at, found), notes, begin, (power, samples))


def _at_one_time(
    values: np.ndarray[Any, Any], firsts: np.ndarray[Any, Any], rule: str
) -> np.ndarray[Any, Any]:
    """One value for the records of each time, which begin at `firsts`."""
    ends = np.append(firsts[1:], len(values))
    if rule == "mean":
        means = np.add.reduceat(values.astype(np.float64), firsts) / (ends - firsts)
        return np.asarray(np.rint(means).astype(np.int64))
    return np.asarray(values[ends - 1] if rule == "last" else values[firsts])


def _line(samples: Any, place: int) -> int:
    """The line of a sample, by its place."""
    line, *_ = next(islice(samples(), place, None))
    return int(line)


def _from_begin(
    log: Path,
    quantity: Quantity,
    arrays: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]],
    notes: list[str],
    begin: str | None,
    about: tuple[int, Any],
) -> Series:
    times, values = arrays
    power, samples = about
    start = int(times[0])
    if begin is not None:
        given = whole(instant(begin) or begin, 9 if instant(begin) else power)
        if given is None or abs(given) > _LARGEST:
            raise BadInput(
                f"--begin {begin[:QUOTED]}",
                "this is no number, or one that no time in ns can be",
                expected="a number in the unit of the log's times, or a date and time",
                remedy="--begin 1700000000",
            )
        start = given
        if start > times[0]:
            early = next(line for line, at, _ in samples() if at < start)
            problem, expected = (
                "this record is before the begin",
                "a begin that is not behind the first record",
            )
            raise bad(
                log, early, problem, expected, "write an earlier --begin, or choose records with --where"
            )
    times = times - start
    if times[-1] > _LATEST_NS:
        raise BadInput(
            log,
            f"its records span {number(float(times[-1]) / 1e9)} s",
            expected="at most 50 years from the begin on",
            remedy="see the unit of the times, --column time_ms=FIELD, and --begin",
        )
    if times[0] > 0:
        notes = [*notes, f"before its first record, at {number(float(times[0]) / 1e9)} s, its value holds"]
        times, values = np.concatenate(([0], times)), np.concatenate((values[:1], values))
    if quantity.name == "rate" and not values.any():
        raise BadInput(
            log,
            "every rate is 0",
            expected="a rate above 0 in some record",
            remedy="name another column or log",
        )
    return Series(quantity, times, values, tuple(notes))


def _of_ping(log: Path, quantity: Quantity) -> tuple[Any, list[str]]:
    """Each reply in the output of `ping -D` (iputils): the time stamp is that of its arrival, in s since 1970.

    ASSUMPTION: the delay of either direction is half of the round-trip time, and the value holds from the time when the
    request was sent.
    """
    if quantity.name != "delay":
        raise BadInput(
            log,
            "this is the output of ping",
            expected="a log of delays",
            remedy="write --as delay for its delays",
        )

    def samples() -> Iterator[tuple[int, int, int]]:
        for line, text in enumerate(text_lines(log, logs.EXPECTED), start=1):
            if " bytes from " not in text or "icmp_" not in text or "DUP!" in text:
                continue
            found = ANSWER.match(text)
            stamp = whole(found[1], 9) if found else None
            rtt = whole(found[4], 6) if found else None
            if stamp is None or rtt is None:
                raise bad(
                    log,
                    line,
                    "this reply has no time stamp, or no round-trip time",
                    "[1700000000.123456] 64 bytes from …: icmp_seq=1 … time=11.1 ms",
                    "run ping -D",
                )
            if stamp > _LARGEST or rtt > 2 * quantity.most:
                raise bad(log, line, "the time is too long", "a time since 1970 in s", "correct the line")
            yield line, stamp - rtt, (rtt + 1) // 2

    return samples, ["the delay is half of the round-trip time, from the sending of each request on"]


def _is_object(first: str) -> bool:
    """True if the first line is a whole JSON object: it has one on each line."""
    try:
        return isinstance(json.loads(first), dict) and '"intervals"' not in first
    except (ValueError, RecursionError):
        return not first.lstrip().startswith("{")


def _of_iperf3(log: Path, quantity: Quantity) -> tuple[Any, list[str]]:
    """Each interval of the document that `iperf3 -J` prints, without those that `--omit` leaves out."""
    if quantity.name != "rate":
        raise BadInput(
            log, "this is a JSON document, as of iperf3", expected="a log of rates", remedy="write --as rate"
        )
    try:
        _, sums = intervals(read_text(log, logs.EXPECTED), parse_float=str, parse_int=str)
        kept = [each for each in sums if each.get("omitted") is not True]
        rows = [(whole(each["start"], 9), whole(each["bits_per_second"], 0)) for each in kept]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        raise bad(
            log,
            line,
            "this is no JSON document with the intervals of iperf3",
            '"intervals": [{"sum": {"start": 0, "bits_per_second": 1e6, …}}, …]',
            "write what `iperf3 -J` prints into the file; of JSON on each line the first line is a whole object",
        ) from None
    for place, (at, value) in enumerate(rows, start=1):
        if at is None or value is None or not 0 <= at < _LARGEST or not 0 <= value <= quantity.most:
            problem = f"interval {place} has no start or rate that can be one"
            raise bad(log, 1, problem, "a start in s and a rate in bit/s from 0 on", "correct the file")

    def samples() -> Iterator[tuple[int, Any, Any]]:
        yield from ((1, at, value) for at, value in rows)

    wrote = any(each.get("sender") is True for each in kept)
    note = "the rates are those at which the sender wrote; `iperf3 -R` has those of the receiver"
    return samples, [note] if wrote else []
