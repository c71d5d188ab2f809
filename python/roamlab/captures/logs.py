"""Logs without packets: `ping -D`, `iperf3 -J` and `ss -ti`. They show silences, as exactly as their interval."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from roamlab.base.errors import BadInput
from roamlab.base.quantities import counted
from roamlab.captures import ss
from roamlab.captures.silences import LEAST_S, Log, Silence
from roamlab.traces.tools import ANSWER, intervals

if TYPE_CHECKING:
    from pathlib import Path

_MOST_BYTES = 200_000_000
"""A larger log is refused before it is read."""
_SEQUENCES = 1 << 16
_HALF = _SEQUENCES // 2


def read(path: Path) -> Log | None:
    """The log in a file; None: it is none."""
    if not path.is_file() or path.stat().st_size > _MOST_BYTES:
        return None
    with path.open("rb") as file:
        head = file.read(4096)
    if b"\0" in head:
        return None
    if ss.is_log(head.decode("utf-8", "replace")):
        return ss.read(path.read_text(encoding="utf-8", errors="replace"), path)
    if head.lstrip().startswith(b"PING ") or ANSWER.search(head.decode("utf-8", "replace")):
        return ping(path.read_text(encoding="utf-8", errors="replace"), path)
    if b'"start"' in head and b"{" in head:
        return iperf3(path.read_text(encoding="utf-8", errors="replace"), path)
    return None


@dataclass(frozen=True)
class _Answer:
    number: int
    sent_s: float
    rtt_s: float


def ping(text: str, path: Path, least_s: float = LEAST_S) -> Log:
    """The log of `ping -D`: lost answers, and answers that waited, for longer than `least_s`."""
    answers: dict[int, _Answer] = {}
    last, lines = 0, ANSWER.findall(text)
    for at, _, low, rtt in lines:
        # The number has 16 bits.
        number = last + (int(low) - last + _HALF) % _SEQUENCES - _HALF if answers else int(low)
        last = max(last, number)
        answers.setdefault(number, _Answer(number, float(at) - float(rtt) / 1e3, float(rtt) / 1e3))
    found = sorted(answers.values(), key=lambda answer: answer.number)
    if len(found) < 2:
        raise BadInput(
            path,
            f"it has {counted(len(found), 'answer', 'answers')} with a time",
            expected="the output of `ping -D`, whose lines begin with the time in brackets",
            remedy="`ping -D -i 0.1 HOST > FILE`",
        )
    pairs = list(pairwise(found))
    interval = median((two.sent_s - one.sent_s) / (two.number - one.number) for one, two in pairs)
    rtts = sorted(answer.rtt_s for answer in found)
    base, start = rtts[0], found[0].sent_s
    sent = found[-1].number - found[0].number + 1
    log = Log(
        f"ping of {lines[0][1]}: {len(found)} answers to {sent} requests, one each {interval:.3f} s",
        [f"round trip {base:.3f} s at least, {median(rtts):.3f} s in the median, {rtts[-1]:.3f} s at most"],
    )
    log.start_ns, log.length_s = round(start * 1e9), found[-1].sent_s - start
    log.stalls = _lost(pairs, interval, start, least_s) + _held(found, interval, start, least_s)
    log.stalls.sort(key=lambda stall: -stall.length_s)
    return log


def _lost(
    pairs: list[tuple[_Answer, _Answer]], interval: float, start: float, least_s: float
) -> list[Silence]:
    """Requests in a row without an answer."""
    found = []
    for before, after in pairs:
        missing = after.number - before.number - 1
        if missing * interval > least_s:
            begin, length = before.sent_s - start, after.sent_s - before.sent_s
            many = counted(missing, "request or its answer was", "requests or their answers were")
            said = (
                f"no answer for {(missing - 1) * interval:.3f} to {length:.3f} s, "
                f"{begin:.3f} to {begin + length:.3f} s: path silent, packets lost (certain): {many} lost"
            )
            found.append(Silence(begin, length, "path-lost", said))
    return found


def _held(found: list[_Answer], interval: float, start: float, least_s: float) -> list[Silence]:
    """Answers that came together: the round trip falls by an interval from one to the next."""
    silences, at = [], 0
    while at < len(found):
        first, end = found[at], at
        while end + 1 < len(found):
            one, two = found[end], found[end + 1]
            fall = one.rtt_s - two.rtt_s
            if two.number != one.number + 1 or abs(fall - (two.sent_s - one.sent_s)) > interval / 2:
                break
            end += 1
        length = first.rtt_s - found[end].rtt_s
        if end > at and length > least_s:
            begin = first.sent_s - start
            said = (
                f"no answer for {length:.3f} s, {begin:.3f} to {begin + length:.3f} s: "
                f"path silent, packets held (certain): "
                f"{end - at + 1} answers came together, the oldest after {first.rtt_s:.3f} s"
            )
            silences.append(Silence(begin, length, "path-held", said))
        at = end + 1
    return silences


def iperf3(text: str, path: Path) -> Log:
    """The log of `iperf3 -J`: intervals without a byte."""
    try:
        log, sums = intervals(text)
        spans = [(float(whole["start"]), float(whole["end"]), int(whole["bytes"])) for whole in sums]
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(
            path,
            f"this is no log of iperf3: {error}",
            expected="the JSON that `iperf3 -J` writes, with its intervals",
            remedy="`iperf3 -J -i 0.1 -R -c HOST > FILE`",
        ) from None
    if not spans:
        raise BadInput(
            path,
            f"it has no interval{': ' + str(log['error']) if 'error' in log else ''}",
            expected="the log of a test that has run",
            remedy="`iperf3 -J -i 0.1 -R -c HOST > FILE`",
        )
    length = spans[-1][1] - spans[0][0]
    rate = sum(size for *_, size in spans) * 8 / max(length, 1e-9)
    is_sender = bool(sums[0].get("sender"))
    told = Log(
        f"iperf3: {length:.1f} s, {rate / 1e6:.3g} Mbit/s, an interval of {spans[0][1] - spans[0][0]:.2f} s"
    )
    told.start_ns, told.length_s = _begin(log), length
    again = sum(int(whole.get("retransmits", 0)) for whole in sums)
    if is_sender:
        told.facts.append(f"{counted(again, 'packet', 'packets')} sent again")
        told.facts.append(
            "note: bytes are those that the sender wrote; its buffer hides the begin of a stall (use -R)"
        )
    told.stalls = _empty(spans, "the sender wrote" if is_sender else "the receiver got")
    return told


def _begin(log: dict[str, Any]) -> int:
    """When a test of iperf3 began, in ns since 1970; 0: the log does not have it."""
    try:
        return int(log["start"]["timestamp"]["timemillisecs"]) * 1_000_000
    except (KeyError, TypeError, ValueError):
        return 0


def _empty(spans: list[tuple[float, float, int]], who: str) -> list[Silence]:
    """Intervals in a row without a byte, longest first."""
    found: list[Silence] = []
    begin, interval = None, spans[0][1] - spans[0][0]
    for start, _, size in [*spans, (spans[-1][1], spans[-1][1], 1)]:
        if size == 0:
            begin = start if begin is None else begin
        elif begin is not None:
            if start - begin > LEAST_S:
                length = start - begin
                said = f"{who} nothing for {length:.2f} s and up to {length + 2 * interval:.2f} s"
                found.append(
                    Silence(begin, start - begin, "silence", f"{said}, {begin:.2f} to {start:.2f} s")
                )
            begin = None
    return sorted(found, key=lambda stall: -stall.length_s)
