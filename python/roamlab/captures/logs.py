"""Logs without packets: `ping -D`, `iperf3 -J` and `ss -ti`. They show silences, as exactly as their interval."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roamlab.base.errors import BadInput
from roamlab.base.quantities import counted
from roamlab.captures import ss
from roamlab.captures.silences import LEAST_S, Log, Silence
from roamlab.traces.tools import ANSWER, intervals

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

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
        with path.open(encoding="utf-8", errors="replace") as lines:
            return ping(lines, path)
    if b'"start"' in head and b"{" in head:
        return iperf3(path.read_text(encoding="utf-8", errors="replace"), path)
    return None


@dataclass(frozen=True)
class _Answers:
    """The answers to requests, by their numbers, which rise."""

    numbers: NDArray[np.int64]
    sent_s: NDArray[np.float64]
    rtt_s: NDArray[np.float64]


def ping(lines: Iterable[str], path: Path, least_s: float = LEAST_S) -> Log:
    """The log of `ping -D`: lost answers, and answers that waited, for longer than `least_s`."""
    import numpy as np

    host, found = _answers(lines)
    if len(found.numbers) < 2:
        raise BadInput(
            path,
            f"it has {counted(len(found.numbers), 'answer', 'answers')} with a time",
            expected="the output of `ping -D`, whose lines begin with the time in brackets",
            remedy="`ping -D -i 0.1 HOST > FILE`",
        )
    interval = float(np.median(np.diff(found.sent_s) / np.diff(found.numbers)))
    base, middle, worst = (float(part(found.rtt_s)) for part in (np.min, np.median, np.max))
    start, end = float(found.sent_s[0]), float(found.sent_s[-1])
    sent = int(found.numbers[-1] - found.numbers[0]) + 1
    log = Log(
        f"ping of {host}: {len(found.numbers)} answers to {sent} requests, one each {interval:.3f} s",
        [f"round trip {base:.3f} s at least, {middle:.3f} s in the median, {worst:.3f} s at most"],
    )
    log.start_ns, log.length_s = round(start * 1e9), end - start
    log.stalls = _lost(found, interval, least_s) + _held(found, interval, least_s)
    log.stalls.sort(key=lambda stall: -stall.length_s)
    return log


def _answers(lines: Iterable[str]) -> tuple[str, _Answers]:
    """The host of the first answer, and the first answer to each request."""
    import numpy as np

    host = ""
    numbers, sent, rtts = array("q"), array("d"), array("d")
    last = 0
    for line in lines:
        for at, name, low, rtt in ANSWER.findall(line):
            # The number has 16 bits.
            number = last + (int(low) - last + _HALF) % _SEQUENCES - _HALF if numbers else int(low)
            host = host or name
            last = max(last, number)
            numbers.append(number)
            sent.append(float(at) - float(rtt) / 1e3)
            rtts.append(float(rtt) / 1e3)
    all_numbers = np.frombuffer(numbers, dtype=np.int64)
    found = _Answers(all_numbers, np.frombuffer(sent), np.frombuffer(rtts))
    if (all_numbers[1:] > all_numbers[:-1]).all():
        return host, found
    _, first = np.unique(all_numbers, return_index=True)
    return host, _Answers(found.numbers[first], found.sent_s[first], found.rtt_s[first])


def _lost(of: _Answers, interval: float, least_s: float) -> list[Silence]:
    """Requests in a row without an answer."""
    import numpy as np

    found = []
    for at in np.flatnonzero((np.diff(of.numbers) - 1) * interval > least_s).tolist():
        missing = int(of.numbers[at + 1] - of.numbers[at]) - 1
        begin, length = float(of.sent_s[at] - of.sent_s[0]), float(of.sent_s[at + 1] - of.sent_s[at])
        many = counted(missing, "request or its answer was", "requests or their answers were")
        said = (
            f"no answer for {(missing - 1) * interval:.3f} to {length:.3f} s, "
            f"{begin:.3f} to {begin + length:.3f} s: path silent, packets lost (certain): {many} lost"
        )
        found.append(Silence(begin, length, "path-lost", said))
    return found


def _held(of: _Answers, interval: float, least_s: float) -> list[Silence]:
    """Answers that came together: the round trip falls by an interval from one to the next."""
    import numpy as np

    follows = np.diff(of.numbers) == 1
    together = follows & (np.abs(-np.diff(of.rtt_s) - np.diff(of.sent_s)) <= interval / 2)
    edges = np.diff(np.concatenate([[False], together, [False]]).astype(np.int8))
    silences = []
    for first, end in zip(
        np.flatnonzero(edges == 1).tolist(), np.flatnonzero(edges == -1).tolist(), strict=True
    ):
        length = float(of.rtt_s[first] - of.rtt_s[end])
        if length > least_s:
            begin = float(of.sent_s[first] - of.sent_s[0])
            said = (
                f"no answer for {length:.3f} s, {begin:.3f} to {begin + length:.3f} s: "
                f"path silent, packets held (certain): "
                f"{end - first + 1} answers came together, the oldest after {float(of.rtt_s[first]):.3f} s"
            )
            silences.append(Silence(begin, length, "path-held", said))
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
