"""Quality for users: voice, video, pages, adaptive video. The definitions of `docs/metrics.md`, as formulas.

Functions of arrays are first, then the same for a run's tables. Times are in seconds, ratios from 0 to 1. An
undefined value is NaN.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.base.calls import called
from roamlab.base.errors import BadInput
from roamlab.base.quantities import value as quantity
from roamlab.records.metrics import (
    Values,
    application,
    duration_s,
    flow_handovers,
    has_size,
    losses,
    rows_of_flow,
    seconds,
    span_s,
    total,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from roamlab.records.results import Results


@dataclass(frozen=True)
class Codec:
    """Parameters of a codec in the E-model and the fits of Cole and Rosenbluth."""

    ie: float
    """Equipment impairment without loss (ITU-T G.113)."""
    bpl: float
    """Robustness against packet loss (ITU-T G.113)."""
    fit: tuple[float, float, float]
    """Ie of a loss fraction e: a + b ln(1 + c e) (Cole and Rosenbluth, CCR 31(2), 2001)."""
    delay_s: float
    """Look-ahead of the coder."""


CODECS: Mapping[str, Codec] = {
    "g711": Codec(0.0, 4.3, (0.0, 30.0, 15.0), 0.0),
    "g711-plc": Codec(0.0, 25.1, (0.0, 30.0, 15.0), 0.0),
    "g729": Codec(11.0, 19.0, (11.0, 40.0, 10.0), 0.005),
}
"""G.711 without and with concealment of losses, G.729A. G.723.1 has no published fit here."""


def ipdv_s(seq: NDArray[np.integer], sent_s: Values, arrived_s: Values) -> Values:
    """Delay variation of successive packets, (R(i) - R(i-1)) - (S(i) - S(i-1)) (RFC 3393); a loss skips the pair."""
    order = np.argsort(seq, kind="stable")
    follows = np.diff(seq[order]) == 1
    found: Values = (np.diff(arrived_s[order]) - np.diff(sent_s[order]))[follows]
    return found


def rtp_jitter_s(sent_s: Values, arrived_s: Values) -> float:
    """The estimator of RFC 3550 §6.4.1 at the last packet, in order of arrival: J += (|D| - J) / 16."""
    if arrived_s.size < 2:
        return math.nan
    jitter = 0.0
    for difference in np.abs(np.diff(arrived_s) - np.diff(sent_s)).tolist():
        jitter += (difference - jitter) / 16
    return jitter


def late(delays_s: Values, offset_s: float, base_s: float | None = None) -> int:
    """Packets whose delay is above `base_s + offset_s`: they come after their play-out.

    `base_s` is the smallest delay, unless it is given.
    """
    if delays_s.size == 0:
        return 0
    base = float(delays_s.min()) if base_s is None else base_s
    # Times are whole nanoseconds: what is late by less than one is not.
    return int(np.count_nonzero(delays_s - base > offset_s + 0.5e-9))


def delay_impairment(delay_s: float) -> float:
    """Id of a delay from mouth to ear: 0.024 d + 0.11 (d - 177.3) H(d - 177.3), d in ms."""
    delay_ms = 1e3 * delay_s
    return 0.024 * delay_ms + 0.11 * max(0.0, delay_ms - 177.3)


def loss_impairment(loss: float, codec: Codec, burst: float = 1.0) -> float:
    """Ie,eff = Ie + (95 - Ie) Ppl / (Ppl / BurstR + Bpl), Ppl = 100 · `loss` (ITU-T G.107)."""
    percent = 100.0 * loss
    return codec.ie + (95.0 - codec.ie) * percent / (percent / burst + codec.bpl)


def fitted_impairment(loss: float, codec: Codec) -> float:
    """Ie as Cole and Rosenbluth fit it: G.711 30 ln(1 + 15 e), G.729A 11 + 40 ln(1 + 10 e)."""
    least, scale, rate = codec.fit
    return least + scale * math.log(1.0 + rate * loss)


def r_factor(delay_s: float, impairment: float, advantage: float = 0.0) -> float:
    """R = 93.2 - Id - Ie,eff + A."""
    return 93.2 - delay_impairment(delay_s) - impairment + advantage


def mos(r: float) -> float:
    """The mean opinion score of a transmission rating: from 1 for R < 0 to 4.5 for R > 100 (ITU-T G.107, Annex B).

    The polynomial of the standard is below 1 for R from 0 to 6.5. There the score is 1, its smallest value.
    """
    if r < 0.0:
        return 1.0
    if r > 100.0:
        return 4.5
    score = 1.0 + 0.035 * r + 7e-6 * r * (r - 60.0) * (100.0 - r)
    return 1.0 if score < 1.0 else score  # NaN, where R is: no score


def freeze_spans_s(
    offered_s: Values, completed_s: Values, kinds: Sequence[str], offset_s: float, end_s: float
) -> Values:
    """Begin and end of each time in which the picture is frozen: a row from a missing frame to the next shown one.

    A frame is shown if it is whole (`completed_s`; NaN: never) at its time plus `offset_s`, and its
    references were shown. A P- or B-frame needs the last I- or P-frame before it. Frames that are due after
    `end_s` are left out.
    """
    due = offered_s + offset_s
    in_time = completed_s <= due + 0.5e-9
    shown = np.zeros(due.size, dtype=bool)
    reference = False
    for at, kind in enumerate(kinds):
        shown[at] = bool(in_time[at]) and (kind == "I" or reference)
        if kind != "B":
            reference = bool(shown[at])
    within = due <= end_s
    shown, due = shown[within], due[within]
    missing = ~shown
    starts = np.flatnonzero(missing & ~np.concatenate([[False], missing[:-1]]))
    ends = np.flatnonzero(missing & ~np.concatenate([missing[1:], [False]])) + 1
    bounded = np.append(due, end_s)
    return np.stack([due[starts], bounded[ends]], axis=1)


def lengths_s(spans_s: Values) -> Values:
    """How long each of some spans is, which are rows of begin and end."""
    lengths: Values = spans_s[:, 1] - spans_s[:, 0]
    return lengths


def play_out(
    came_s: Values, segment_s: float, startup_s: float, end_s: float, *, whole: bool = False
) -> tuple[float, Values, float]:
    """When a player of segments begins, begin and end of each of its stalls, and when it ends.

    The end is `end_s` at the latest.
    `came_s`: when segments were there, in order. Play-out begins, and continues after a stall, with
    `startup_s` in the buffer. A stall that has not ended lasts to `end_s`; behind the last segment of a film
    (`whole`) there is none.
    """
    needed = max(1, math.ceil(startup_s / segment_s - 1e-9))
    begin, played, clock, at = math.nan, 0, 0.0, 0
    stalls: list[tuple[float, float]] = []
    times = came_s.tolist()
    while at < len(times):
        first = min(played + needed, len(times)) - 1
        resumed = max(times[first], clock)
        if played == 0:
            if len(times) < needed:
                break
            begin = resumed
        else:
            stalls.append((clock, resumed))
        clock = resumed
        at = played
        while at < len(times) and times[at] <= clock + 1e-9:
            clock += segment_s
            at += 1
        played = at
    if not math.isnan(begin) and clock < end_s and not whole:
        stalls.append((clock, end_s))
        clock = end_s
    spans = [(since, until) for since, until in stalls if until - since > 1e-9]
    return begin, np.asarray(spans, dtype=np.float64).reshape(-1, 2), min(clock, end_s)


# Of a run.


@called()
def delays_s(results: Results, flow: str) -> Values:
    """One-way delays of the flow's data packets that arrived for the first time, in order of arrival."""
    rows = results.columns("deliveries")
    chosen = rows_of_flow(rows, flow) & rows["fresh"]
    return seconds(rows, chosen=chosen) - seconds(rows, "sent_ns", chosen)


@called()
def ipdv_of_s(results: Results, flow: str) -> Values:
    """`ipdv_s` of a flow of datagrams."""
    rows = results.columns("deliveries")
    chosen = rows.where("flow", flow) & rows["fresh"]
    return ipdv_s(rows["seq"][chosen], seconds(rows, "sent_ns", chosen), seconds(rows, chosen=chosen))


@called()
def jitter_s(results: Results, flow: str) -> float:
    """`rtp_jitter_s` of a flow."""
    rows = results.columns("deliveries")
    chosen = rows.where("flow", flow) & rows["fresh"]
    return rtp_jitter_s(seconds(rows, "sent_ns", chosen), seconds(rows, chosen=chosen))


@called()
def late_pkts(results: Results, flow: str, offset_s: float) -> int:
    """Packets of a flow that come after their play-out; see `late`."""
    return late(delays_s(results, flow), offset_s)


@dataclass(frozen=True)
class Voice:
    """Quality of one direction of a call."""

    lost: float
    """Packets that did not arrive, over packets sent."""
    late: float
    """Packets that arrived after their play-out, over packets sent."""
    delay_s: float
    """From mouth to ear, the mean over packets: a packet's time, the coder's look-ahead, the play-out delay."""
    r: float
    """R by Ie,eff of G.107."""
    fitted_r: float
    """R by the fit of Cole and Rosenbluth."""

    @property
    def loss(self) -> float:
        """Packets lost or late, over packets sent."""
        return self.lost + self.late

    @property
    def mos(self) -> float:
        """The mean opinion score of `r`."""
        return mos(self.r)


REBUFFERS_S = 0.2
"""When all packets of this time have come late, the play-out follows them."""


def play_out_delays_s(
    arrived_s: Values, delays: Values, offset_s: float, rebuffers_s: float = REBUFFERS_S
) -> tuple[Values, NDArray[np.bool_]]:
    """The play-out delay that each packet meets, in order of arrival, and which packets come too late for it.

    It is the smallest delay so far plus `offset_s`. When all packets of `rebuffers_s` have come late, the path has
    become longer: the smallest delay among them is the new base. A shorter path is followed at its first packet.
    """
    base, met, is_late = math.inf, np.empty(delays.size), np.zeros(delays.size, dtype=bool)
    since, least = math.nan, math.inf
    for at, (now, delay) in enumerate(zip(arrived_s.tolist(), delays.tolist(), strict=True)):
        base = min(base, delay)
        # Times are whole nanoseconds: what is late by less than one is not.
        if delay - base <= offset_s + 0.5e-9:
            since, least = math.nan, math.inf
        else:
            since, least = (now if math.isnan(since) else since), min(least, delay)
            if now - since >= rebuffers_s - 0.5e-9:
                base, since, least = least, math.nan, math.inf
            is_late[at] = delay - base > offset_s + 0.5e-9
        met[at] = base + offset_s
    return met, is_late


@called()
def voice(
    results: Results, flow: str, offset_s: float = 0.06, codec: str | None = None, *, adapts: bool = True
) -> Voice:
    """How a `voip` flow sounds with a play-out buffer of `offset_s` above the smallest delay.

    The buffer follows the path: see `play_out_delays_s`; without `adapts` its base is the smallest delay of the whole
    call. `codec` is one of `CODECS`; absent: the flow's own. What is still on its way at the end of the run counts as
    lost. A call of which nothing arrives has lost everything: its MOS is 1, and its delay NaN. One that sends nothing
    has no score.
    """
    if codec is not None and codec not in CODECS:
        meant = codec.lower().replace(".", "").removesuffix("a")
        raise BadInput(
            f"codec = {codec!r}",
            "its quality has no published numbers here",
            expected=f"one of {', '.join(CODECS)}",
            remedy=f"did you mean {meant!r}?" if meant in CODECS else "leave it out: the flow's own codec",
        )
    spec, undefined = application(results, flow), Voice(*[math.nan] * 5)
    if spec.get("kind") != "voip":
        return undefined
    name = spec["codec"] if codec is None else codec
    sent, found = total(results, flow, "sent_pkts"), delays_s(results, flow)
    if name not in CODECS or not sent:
        return undefined
    known = CODECS[name]
    if not found.size:
        dead = r_factor(0.0, loss_impairment(1.0, known))
        return Voice(1.0, 0.0, math.nan, dead, r_factor(0.0, fitted_impairment(1.0, known)))
    usual = 1 if str(name).startswith("g723") else 2
    length = (0.03 if str(name).startswith("g723") else 0.01) * (spec.get("frames") or usual)
    rows = results.columns("deliveries")
    arrived = seconds(rows, chosen=rows.where("flow", flow) & rows["fresh"])
    met, too_late = play_out_delays_s(arrived, found, offset_s)
    if not adapts:
        met, too_late = found.min() + offset_s, np.arange(found.size) < late(found, offset_s)
    lost, missed = 1.0 - found.size / sent, float(np.count_nonzero(too_late)) / sent
    delay = length + known.delay_s + float(np.mean(met))
    return Voice(
        lost,
        missed,
        delay,
        r_factor(delay, loss_impairment(lost + missed, known)),
        r_factor(delay, fitted_impairment(lost + missed, known)),
    )


_FRAMES = ("I", "P", "B")


def _units(results: Results, flow: str, *units: str) -> tuple[Values, Values, NDArray[Any], list[str]]:
    """When units of these kinds were offered or asked for and were whole (NaN: never), their groups and kinds."""
    rows = results.columns("units")
    chosen = rows.where("flow", flow) & rows.where("kind", *units)
    whole = rows["completed_ns"][chosen]
    completed = np.where(whole < 0, math.nan, whole / 1e9)
    return seconds(rows, chosen=chosen), completed, rows["group"][chosen], rows.words("kind", chosen)


@called()
def frame_delays_s(results: Results, flow: str) -> Values:
    """From the begin of each frame to its last packet; NaN for one that never was whole."""
    offered, completed, _, _ = _units(results, flow, *_FRAMES)
    return completed - offered


@called()
def frame_loss_ratio(results: Results, flow: str) -> float:
    """Frames that never were whole, over all that began."""
    delays = frame_delays_s(results, flow)
    return float(np.isnan(delays).mean()) if delays.size else math.nan


@called()
def freezes_of_s(results: Results, flow: str, offset_s: float = 0.2) -> Values:
    """How long each freeze of a flow is; see `freeze_spans_of_s`."""
    return lengths_s(freeze_spans_of_s(results, flow, offset_s))


@called()
def freeze_spans_of_s(results: Results, flow: str, offset_s: float = 0.2) -> Values:
    """`freeze_spans_s` of a flow's frames: play-out follows the begin of a frame by a fixed offset."""
    offered, completed, _, kinds = _units(results, flow, *_FRAMES)
    return freeze_spans_s(
        offered, completed, kinds, offset_s, span_s(results.manifest.parameters["run"]["duration"])
    )


@called()
def page_loads_s(results: Results, flow: str) -> Values:
    """Of each page of a `web` flow that came whole: from its first request to the last byte of its last object."""
    return _page_times_s(results, flow)[0]


def _page_times_s(results: Results, flow: str) -> tuple[Values, Values]:
    """The load times of the whole pages, and for how long the others had been loading at the end of the run."""
    offered, completed, pages, _ = _units(results, flow, "object")
    objects = application(results, flow).get("objects", 1)
    numbers, place, counts = np.unique(pages, return_inverse=True, return_counts=True)
    first, last = np.full(numbers.size, math.inf), np.full(numbers.size, -math.inf)
    np.minimum.at(first, place, offered)
    np.maximum.at(last, place, np.where(np.isnan(completed), math.inf, completed))
    whole = (counts == objects) & np.isfinite(last)
    return (last - first)[whole], duration_s(results) - first[~whole]


@called()
def freeze_s(results: Results, flow: str) -> float:
    """All freezes together; NaN without frames."""
    return float(freezes_of_s(results, flow).sum()) if frame_delays_s(results, flow).size else math.nan


@called()
def mean_page_load_s(results: Results, flow: str) -> float:
    """The mean load time of a flow's pages, in s.

    A page that is not whole at the end of the run counts with its time until then, if it is longer than the
    mean of the whole ones. So the mean includes pages that never arrive. NaN if no page was asked for.
    """
    loads, open_s = _page_times_s(results, flow)
    mean = float(loads.mean()) if loads.size else -math.inf
    counted = np.concatenate([loads, open_s[open_s > mean]])
    return float(counted.mean()) if counted.size else math.nan


@dataclass(frozen=True)
class Player:
    """Quality of a `dash` flow."""

    startup_s: float
    """From the first request to the first picture."""
    spans_s: Values
    """Begin and end of each stall, a row for each."""
    ratio: float
    """Stalls over the time from the first picture to the last, or to the end of the run; 1 if there is none."""
    mean_rate_bps: float
    """Mean rate of the segments that came."""

    @property
    def stalls_s(self) -> Values:
        """How long each stall is."""
        return lengths_s(self.spans_s)


@called()
def player(results: Results, flow: str) -> Player:
    """The stalls and the quality of a `dash` flow, by the times at which its segments came."""
    spec = application(results, flow)
    asked, came, quality, _ = _units(results, flow, "segment")
    if not asked.size or not spec:
        return Player(math.nan, np.zeros((0, 2)), math.nan, math.nan)
    there = ~np.isnan(came)
    end, length = span_s(results.manifest.parameters["run"]["duration"]), span_s(spec["segment"])
    whole = spec.get("segments") == int(there.sum())
    begin, stalls, end = play_out(came[there], length, span_s(spec["startup"]), end, whole=whole)
    rates = np.asarray([quantity(rate) for rate in spec["rates"]])
    mean = float(rates[quality[there]].mean()) if there.any() else math.nan
    # A film that never begins stalls all the time.
    ratio = float(lengths_s(stalls).sum()) / (end - begin) if end > begin else 1.0
    return Player(begin - float(asked[0]), stalls, ratio, mean)


@called()
def losses_per_handover(results: Results, flow: str, settle_s: float = 1.0) -> NDArray[np.integer]:
    """Data packets of a flow that were lost, no copy having arrived, after each handover of a host at its ends.

    In order of time. A loss belongs to the last `link-down` at or before it, if that is less than `settle_s` ago.
    """
    breaks = np.asarray(flow_handovers(results, flow))
    times = losses(results, flow)
    place = np.searchsorted(breaks, times, side="right") - 1
    explained = place >= 0
    explained[explained] = times[explained] - breaks[place[explained]] < settle_s
    return np.bincount(place[explained], minlength=breaks.size)


@called()
def completion_s(results: Results, flow: str) -> float:
    """From the start of a file to its last byte; NaN if it did not come whole, or never ends."""
    begun, whole = total(results, flow, "start_ns"), total(results, flow, "completed_ns")
    return (whole - begun) / 1e9 if whole >= 0 else math.nan


@called()
def completed_ratio(results: Results, flow: str) -> float:
    """1 for a file that came whole, 0 for one that did not; NaN if it has no end, or never began."""
    if not has_size(results, flow) or total(results, flow, "start_ns") < 0:
        return math.nan
    return float(total(results, flow, "completed_ns") >= 0)
