"""Logs in the forms that programs write: their rates are read, or they are refused with the line of a fault."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

from click.testing import CliRunner

import roamlab as rl
from conftest import DEEP
from roamlab.cli import cli

if TYPE_CHECKING:
    from pathlib import Path

TIMES = ("s", "ms", "us", "ns", "iso", "zone", "bare", "comma")
"""Forms of a time: numbers in a unit, or dates of ISO 8601 in UTC, with a zone, without one, with a decimal comma."""
_PARTS = {"s": 9, "ms": 6, "us": 3, "ns": 0}
_RATES = {"rate_mbit_s": 6, "rate_kbit_s": 3, "rate_bit_s": 0}
FAULTS = ("value", "negative", "time", "short", "again", "bytes", "quote")


@dataclass
class Log:
    """A log: its name, its bytes, and the arguments that name its columns."""

    name: str
    content: bytes
    words: list[str]
    rows: list[tuple[int, int]]
    """Times in ns from the first one, and rates in bit/s, in the order of time."""
    lines: tuple[int, ...] = ()
    """Lines, of which one is at fault."""

    def table(self) -> str:
        """The output of the command for it."""
        lines = [f"{plain(time, 9)},{plain(rate, 6)}" for time, rate in self.rows]
        return "\n".join(["time_s,rate_mbit_s", *lines, ""])


def plain(value: int, power: int) -> str:
    """A whole number divided by a power of ten, as a person writes it."""
    text = f"{value:0{power + 1}d}"
    whole, fraction = (text[:-power], text[-power:]) if power else (text, "")
    return f"{whole}.{fraction}".rstrip("0").rstrip(".") if fraction else whole


def _time(at: int, form: str) -> str:
    if form in _PARTS:
        return plain(at, _PARTS[form])
    zone = timezone(timedelta(hours=2)) if form == "zone" else UTC
    date = datetime.fromtimestamp(at // 10**9, UTC).astimezone(zone)
    fraction = f"{at % 10**9:09d}".rstrip("0")
    fraction = f"{',' if form == 'comma' else '.'}{fraction}" if fraction else ""
    shape = "%Y-%m-%d %H:%M:%S" if form == "bare" else "%Y-%m-%dT%H:%M:%S"
    return date.strftime(shape) + fraction + {"zone": "+02:00", "iso": "Z"}.get(form, "")


def _samples(dice: random.Random) -> list[tuple[int, int]]:
    """Times in ns of a clock, rising, with gaps, and rates in bit/s."""
    at = dice.choice([0, 1_700_000_000]) * 10**9 + dice.randrange(10) * 10**8
    samples = []
    for _ in range(dice.randint(2, 12)):
        samples.append((at, dice.choice([0, dice.randrange(1, 10**9), 1000 * dice.randrange(1, 10**6)])))
        at += dice.choice([1, 10**6, 10**8, 10**9, 90 * 10**9]) * dice.randint(1, 9)
    samples[0] = (samples[0][0], samples[0][1] or 5_000_000)
    return samples


def draw(number: int, *, faulty: bool) -> Log:
    """The log of this number, with a fault in one of its lines or without any."""
    dice = random.Random(f"{number} {faulty}")
    samples = _samples(dice)
    form = dice.choice(TIMES if samples[0][0] > 10**18 else TIMES[:4])
    column = dice.choice(list(_RATES))
    separator = dice.choice(",,;\t|")
    is_lines = dice.random() < 0.2
    names = [dice.choice(["t", "Zeit [s]", "timestamp"]), dice.choice(["dl", "Rate (Mbit/s)", "speed"]), "ue"]
    records = [[_time(at, form), plain(rate, _RATES[column]), "mh"] for at, rate in samples]
    records += [list(record) for record in records if dice.random() < 0.1]
    if dice.random() < 0.4:
        dice.shuffle(records)
    fault = dice.choice(FAULTS[:3] if is_lines else FAULTS) if faulty else ""
    bad = dice.randrange(len(records))
    when = records[bad][0]
    _break(records, bad, fault)
    # Of two values at one time either may be called wrong.
    faults = (
        [place for place, record in enumerate(records) if record[0] == when] if fault == "again" else [bad]
    )
    faults = faults if fault else []
    time = f"time_{form}" if form in _PARTS else "time"
    words = ["--as", "rate", "--column", f"{time}={names[0]}", "--column", f"{column}={names[1]}"]
    begin = samples[0][0]
    rows = [(at - begin, rate) for at, rate in samples]
    if is_lines:
        lines = [json.dumps(dict(zip(names, record, strict=True))) for record in records]
        return Log("log.jsonl", "\n".join(lines).encode(), words, rows, tuple(place + 1 for place in faults))
    before = ["# made by a program", ""] if dice.random() < 0.3 else []
    comma = separator != "," and dice.random() < 0.5
    text = [_row(names, separator), *(_row(_commas(record, comma=comma), separator) for record in records)]
    if fault == "quote":
        text[bad + 1] = '"' + text[bad + 1].replace('"', "")
    end = dice.choice(["\n", "\r\n"])
    content = end.join([*before, *text, ""]).encode()
    if fault == "bytes":
        content = content.replace(b"broken", b"\xff")
    mark = b"\xef\xbb\xbf" if dice.random() < 0.3 else b""
    lines = [len(before) + place + 2 for place in faults]
    # An open quote is noticed at the next quote or at the end of the file.
    if fault == "quote":
        lines = [*range(lines[0], len(before) + len(text) + 2)]
    return Log("log.csv", mark + content, words, rows, tuple(lines))


def _break(records: list[list[str]], bad: int, fault: str) -> None:
    """Put a fault into a record."""
    record = records[bad]
    if fault == "value":
        record[1] = "n/a"
    elif fault == "negative":
        record[1] = "-3"
    elif fault == "time":
        record[0] = "noon"
    elif fault == "short":
        del record[1:]
    elif fault == "bytes":
        record[2] = "broken"
    elif fault == "again":
        # Two values at one time: the later line is at fault.
        records[bad:bad] = [[record[0], "7", "mh"]] if record[1] != "7" else [[record[0], "8", "mh"]]


def _commas(record: list[str], *, comma: bool) -> list[str]:
    """Numbers with a decimal comma."""
    return [each.replace(".", ",") if comma and each.replace(".", "").isdigit() else each for each in record]


def _row(fields: list[str], separator: str) -> str:
    """A row of a table; a field in which the separator is has quotes."""
    return separator.join(f'"{field}"' if separator in field else field for field in fields)


ODD = 1000 if DEEP else 100


def test_odd_logs_give_the_rates_that_they_say(tmp_path: Path) -> None:
    for number in range(ODD):
        odd = draw(number, faulty=False)
        log = tmp_path / odd.name
        log.write_bytes(odd.content)
        done = CliRunner().invoke(cli, ["schedule", str(log), *odd.words], standalone_mode=False)
        assert done.exception is None, (number, done.exception, odd.content)
        assert done.stdout == odd.table(), (number, odd.content)


def test_a_fault_in_an_odd_log_is_refused_with_its_line(tmp_path: Path) -> None:
    for number in range(ODD):
        odd = draw(number, faulty=True)
        log = tmp_path / odd.name
        log.write_bytes(odd.content)
        done = CliRunner().invoke(cli, ["schedule", str(log), *odd.words], standalone_mode=False)
        assert isinstance(done.exception, rl.BadInput), (number, done, odd.content)
        said = str(done.exception)
        assert done.stdout == ""
        assert "expected: " in said
        assert "help: " in said
        assert any(f"{odd.name}:{line}:" in said for line in odd.lines), (number, odd, said)
