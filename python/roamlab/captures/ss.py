"""Samples of `ss -ti`: the state of a Linux sender at times, and its stalls as exactly as the samples."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any

from roamlab.base.errors import BadInput
from roamlab.base.quantities import counted
from roamlab.captures.silences import LEAST_S, Log, Silence
from roamlab.traces.logs import instant

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

REMEDY = "`while sleep 0.1; do date +%s.%N; ss -tin dst HOST; done > FILE`"
_TIME = re.compile(r"\d{9,11}(?:[.,]\d+)?")
_ENDS = re.compile(r"^(?:([A-Z][\w-]*) +)?\d+ +\d+ +(\S+:\S+) +(\S+:\S+)(.*)$")
_OPENING = ("SYN-SENT", "SYN-RECV", "LISTEN")
"""States without data: a handshake that waits is no stall."""
_NUMBER = re.compile(r"(?:^|\s)([a-z_]+):(\d+(?:\.\d+)?)(?:ms)?(?:/(\d+(?:\.\d+)?))?")
_RATE = re.compile(r"delivery_rate (\d+(?:\.\d+)?)([KMGT]?)bps")
_FACTORS = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_MOST_LISTED = 10
"""Connections that are described."""


@dataclass(frozen=True)
class Sample:
    """The state of a connection. Counts and times that `ss` leaves out are 0."""

    time_s: float
    values: dict[str, float]
    """By the names of `ss`; `rtt` in ms, the total of `retrans` as `resent`, `delivery_rate` in bit/s."""

    def __getitem__(self, name: str) -> float:
        return self.values.get(name, 0.0)

    @property
    def is_waiting(self) -> bool:
        """True if data is under way, or waits for the receiver's window."""
        return self["unacked"] > 0 or self["notsent"] > 0


@dataclass
class Connection:
    """The samples of a connection."""

    ends: str
    samples: list[Sample] = field(default_factory=list)


def is_log(head: str) -> bool:
    """True for text that begins as the output of `ss -ti`."""
    return "bytes_acked:" in head or (" rto:" in head and " cwnd:" in head)


def read(text: str, path: Path) -> Log:
    """The stalls and limits of the connections that send data."""
    found, times = _connections(text, path)
    if len(times) < 2:
        raise BadInput(
            path,
            f"it has {counted(len(times), 'sample', 'samples')} of ss",
            expected="samples with a time before each",
            remedy=REMEDY,
        )
    start, span = times[0], times[-1] - times[0]
    interval = median(later - earlier for earlier, later in pairwise(times))
    senders = [each for each in found if _progress(each) > 0 or any(s.is_waiting for s in each.samples)]
    senders.sort(key=_progress, reverse=True)
    many = counted(len(senders), "connection that sends", "connections that send")
    log = Log(f"ss: {len(times)} samples in {span:.3f} s, one each {interval:.3f} s; {many} data")
    log.start_ns, log.length_s = round(start * 1e9), span
    for each in senders[:_MOST_LISTED]:
        data, said = _described(each, start)
        log.connections.append(data)
        log.facts.append(said)
    if len(senders) < len(found):
        log.facts.append(
            f"note: {counted(len(found) - len(senders), 'connection sends', 'connections send')} nothing here; "
            "their stalls show at the other end"
        )
    log.stalls = [stall for each in senders for stall in _stalls(each, start)]
    log.stalls.sort(key=lambda stall: -stall.length_s)
    return log


def _connections(text: str, path: Path) -> tuple[list[Connection], list[float]]:
    """The connections in the order of their first samples, and the times of all samples."""
    found: dict[str, Connection] = {}
    times: list[float] = []
    ends = ""
    for line, content in enumerate(text.splitlines(), start=1):
        time = _time(content.strip())
        if time is not None:
            if times and time < times[-1]:
                raise BadInput(
                    f"{path}:{line}",
                    f"the clock runs back by {times[-1] - time:.3f} s",
                    expected="a clock that was not set during the samples",
                    remedy="take the part before it",
                )
            times.append(time)
            ends = ""
            continue
        if named := _ENDS.match(content):
            ends, content = f"{named[2]} -> {named[3]}", named[4]
            if named[1] in _OPENING:
                ends = ""
        if not ends or "rto:" not in content:
            continue
        if not times:
            raise BadInput(
                f"{path}:{line}",
                "this sample of ss has no time",
                expected="a line with the time before each sample",
                remedy=REMEDY,
            )
        found.setdefault(ends, Connection(ends)).samples.append(_sample(times[-1], content))
        ends = ""
    return list(found.values()), times


def _time(text: str) -> float | None:
    if _TIME.fullmatch(text):
        return float(text.replace(",", "."))
    dated = instant(text) if text[:4].isdigit() else None
    return None if dated is None else float(dated)


def _sample(time: float, content: str) -> Sample:
    values = {}
    for name, first, second in _NUMBER.findall(content):
        values[name] = float(first)
        if name == "retrans" and second:
            values["resent"] = float(second)
    if rate := _RATE.search(content):
        values["delivery_rate"] = float(rate[1]) * _FACTORS[rate[2]]
    return Sample(time, values)


def _progress(connection: Connection) -> float:
    first, last = connection.samples[0], connection.samples[-1]
    return last["bytes_acked"] - first["bytes_acked"]


def _described(connection: Connection, start: float) -> tuple[dict[str, Any], str]:
    """A connection for programs, and as a sentence."""
    samples = connection.samples
    span = samples[-1].time_s - samples[0].time_s
    rate = _progress(connection) * 8 / max(span, 1e-9)
    rtts = [sample["rtt"] / 1e3 for sample in samples if sample["rtt"] > 0]
    base = min([*rtts, *(sample["minrtt"] / 1e3 for sample in samples if sample["minrtt"] > 0)], default=0.0)
    windows = [int(sample["cwnd"]) for sample in samples if sample["cwnd"] > 0]
    resent = int(samples[-1]["resent"] - samples[0]["resent"])
    limits = _limits(samples, start)
    shares: dict[str, float] = {}
    for each in limits:
        shares[each["limit"]] = shares.get(each["limit"], 0.0) + (each["end_s"] - each["start_s"]) / max(
            span, 1e-9
        )
    said = [f"{connection.ends}: {rate / 1e6:.3g} Mbit/s"]
    if rtts:
        said.append(
            f"round trip {base:.3f} s at least, {median(rtts):.3f} s in the median, {max(rtts):.3f} s at most"
        )
    if windows:
        said.append(f"cwnd {min(windows)} to {max(windows)} packets")
    said.append(f"{counted(resent, 'packet', 'packets')} sent again")
    if shares:
        named = sorted(shares.items(), key=lambda each: -each[1])
        said.append(f"limited by: {', '.join(f'{name} {share:.0%}' for name, share in named)} of the time")
    data = {
        "connection": connection.ends,
        "samples": len(samples),
        "rate_bps": rate,
        "rtt_s": {"base": base, "median": median(rtts), "largest": max(rtts)} if rtts else None,
        "cwnd": {"least": min(windows), "largest": max(windows)} if windows else None,
        "resent": resent,
        "limits": limits,
    }
    return data, "; ".join(said)


def _limits(samples: Sequence[Sample], start: float) -> list[dict[str, Any]]:
    """The limits of the sender from sample to sample, by the times that Linux counts; neighbours are taken together."""
    limits: list[dict[str, Any]] = []
    if not any("busy" in sample.values for sample in samples):
        return limits
    for one, two in pairwise(samples):
        length = (two.time_s - one.time_s) * 1e3
        parts = {name: two[name] - one[name] for name in ("busy", "rwnd_limited", "sndbuf_limited")}
        if parts["busy"] < length / 2:
            limit = "application"
        elif parts["rwnd_limited"] > parts["busy"] / 2:
            limit = "receiver"
        elif parts["sndbuf_limited"] > parts["busy"] / 2:
            limit = "send buffer"
        else:
            limit = "network"
        if limits and limits[-1]["limit"] == limit:
            limits[-1]["end_s"] = two.time_s - start
        else:
            limits.append({"limit": limit, "start_s": one.time_s - start, "end_s": two.time_s - start})
    return limits


def _standing(samples: Sequence[Sample]) -> Iterator[tuple[int, int]]:
    """First and last sample of each time in which data waited and none of it was acknowledged."""
    first = 0
    for at in range(1, len(samples) + 1):
        goes_on = (
            at < len(samples)
            and samples[at]["bytes_acked"] == samples[first]["bytes_acked"]
            and samples[at].is_waiting
            and samples[first].is_waiting
        )
        if not goes_on:
            if at - 1 > first:
                yield first, at - 1
            first = at


def _stalls(connection: Connection, start: float) -> Iterator[Silence]:
    samples = connection.samples
    for first, last in _standing(samples):
        length = samples[last].time_s - samples[first].time_s
        base = min((s["minrtt"] or s["rtt"] for s in samples[: last + 1] if s["rtt"] > 0), default=0.0) / 1e3
        if length <= max(LEAST_S, base):
            continue
        before, after = samples[max(first - 1, 0)], samples[min(last + 1, len(samples) - 1)]
        begin = samples[first].time_s - start
        kind, said = _cause(samples, first, last)
        sentence = (
            f"{connection.ends}: nothing was acknowledged for {length:.3f} to {after.time_s - before.time_s:.3f} s, "
            f"{begin:.3f} to {begin + length:.3f} s: {said}"
        )
        yield Silence(begin, length, kind, sentence)


def _cause(samples: Sequence[Sample], first: int, last: int) -> tuple[str, str]:
    """Kind and sentence of the cause that the samples show."""
    one, two = samples[first], samples[last]
    span_ms = (two.time_s - one.time_s) * 1e3
    closed = two["rwnd_limited"] - one["rwnd_limited"]
    if closed > span_ms / 2 or (two["unacked"] == 0 and two["notsent"] > 0):
        return (
            "zero-window",
            f"zero window (certain): the receiver's window was the limit for {closed / 1e3:.3f} s",
        )
    outstanding = max(sample["unacked"] for sample in samples[first : last + 1])
    aim = one["bytes_acked"] + outstanding * max(one["mss"], 1)
    end = next(
        (at for at in range(last, len(samples)) if samples[at]["bytes_acked"] >= aim), len(samples) - 1
    )
    resent = samples[end]["resent"] - samples[max(first - 1, 0)]["resent"]
    needless = samples[end]["dsack_dups"] - one["dsack_dups"]
    timers = int(max(sample["backoff"] for sample in samples[first : last + 1]))
    timed = f"; the retransmission timer expired {counted(timers, 'time', 'times')} or more" if timers else ""
    needlessly = f", {int(needless)} needlessly" if needless else ""
    counts = f"{int(resent)} of {int(outstanding)} outstanding packets were sent again{needlessly}{timed}"
    # ss leaves `lastack` out if it is 0.
    if two["lastack"] < span_ms / 2:
        rises = two["sacked"] > 0 or two["lost"] > 0
        if rises and resent > outstanding:
            return "retransmission-lost", f"retransmission lost (likely): ACKs came, and {counts}"
        if rises:
            return (
                "loss-burst",
                f"loss burst (likely): ACKs came, {int(two['lost'])} packets were lost; {counts}",
            )
        return "delay-spike", f"delay spike (possible): ACKs came without new data; {counts}"
    if last == len(samples) - 1:
        return "silence", f"path silent (likely): no ACK came until the last sample; {counts}"
    # A receiver that reports no needless packet: those of the timer may be.
    if resent - (needless or timers) < max(2.0, outstanding / 10):
        return "path-held", f"path silent, packets held (likely): no ACK came, and {counts}"
    return "path-lost", f"path silent, packets lost (likely): no ACK came, and {counts}"
