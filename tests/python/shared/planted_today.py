"""Stalls of today's senders with a planted part of the sender, for `roamlab why`: a probe, a mark, a timer, a window.

Each is a download by CUBIC, BBR or QUIC across the one LTE handover of `examples/today/congestion-controls.toml`. The
draws are those of its network: how long the host is detached, how long the path is, how large the window.
Whether the sender's part is the planted one is measured without the code of `why`. The run is repeated with a
sender that lacks it, or has it later, and the silence is longer then, or the rate after it another.
"""

from __future__ import annotations

import random
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from planted import LIMIT_NS
from roamlab.causes.explain import explain
from roamlab.causes.removal import recorded
from roamlab.running.run import run
from roamlab.scenarios.scenario import load

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from roamlab.records.results import Results

MOVE_S, END_S = 5.0, 12.0
_ENTRY_S = 4.26
"""From then on the second cell is better. The report comes when that has lasted, and then the host leaves."""


def _visits(entry_s: float) -> list[dict[str, str]]:
    return [{"cell": "enb1", "at": "0 s"}, {"cell": "enb2", "at": f"{entry_s:.3f} s"}]


_BASE = load(Path(__file__).parents[3] / "examples/today/congestion-controls.toml").set_all(
    {
        "run.duration": f"{END_S} s",
        "run.profile": "own",
        "tcp_profiles": {"own": {"based_on": "linux-6"}},
        "hosts.phone.visits": _visits(_ENTRY_S),
        "mobility.forwarding": "none",
        "mobility.timers.t304": "2 s",
        "mobility.drop_duplicates": False,
        "mobility.status_report": False,
    }
)
_T = "flows.download.transport"
_CLEAR_NS = 20_000_000
"""So much longer a silence is without what ended it."""


@dataclass(frozen=True)
class Planted:
    """A run, what the sender has to do with its longest silence, and the same with other senders."""

    kind: str
    """As in `roamlab.records.analysis.Part.kind`."""
    name: str
    setting: dict[str, Any]
    without: dict[str, Any]
    """The sender lacks the part, or has it later."""
    seed: int

    def results(self, change: dict[str, Any] | None = None) -> Results:
        """The run, with a change."""
        return run(recorded(_BASE.set_all(deepcopy(self.setting) | (change or {}))), self.seed)

    def takes(self) -> bool:
        """The part is the planted one."""
        own = self.results()
        if self.kind == "stale min_rtt":
            other = self.results(self.without)
            return rate(own, 2, 4) < rate(own, -2, 0) / 2 and rate(other, 2, 4) > rate(other, -2, 0) / 2
        times, gaps = silences(own)
        longest = int(gaps.argmax())
        if gaps[longest] <= max(LIMIT_NS, round_trip_ns(own)):
            return False
        other = self.results(self.without)
        if self.kind == "persistent congestion":
            return rate(other, 0, 3) > 1.1 * rate(own, 0, 3)
        # Both runs are the same until then.
        if self.kind == "RACK mark":
            missing = first_missing(own, int(times[longest] + gaps[longest]))
            if missing < 0 or arrival_ns(other, missing) <= arrival_ns(own, missing) + _CLEAR_NS:
                return False
            # The sender without RACK has no probe either: it is the mark only if the probe changes nothing.
            unprobed = self.results({"tcp_profiles.own.tail_loss_probe": False})
            return abs(arrival_ns(unprobed, missing) - arrival_ns(own, missing)) <= _CLEAR_NS
        others, lengths = silences(other)
        return bool((lengths[others == times[longest]] > gaps[longest] + _CLEAR_NS).any())


def silences(results: Results) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """When each segment arrived that had not arrived before, and how long nothing did then."""
    arrived = results.columns("deliveries")
    times = np.sort(arrived["time_ns"][arrived["fresh"].astype(bool)]).astype(np.int64)
    return times[:-1], np.diff(times)


def first_missing(results: Results, at_ns: int) -> int:
    """The first segment that had not arrived when a later one did; -1: none."""
    arrived = results.columns("deliveries")
    there = np.unique(arrived["seq"][arrived["time_ns"] <= at_ns]).astype(np.int64)
    holes = np.flatnonzero(np.diff(there) > 1)
    return int(there[holes[0]] + 1) if holes.size else -1


def arrival_ns(results: Results, segment: int) -> int:
    """When it arrived first; the end of the run if it never did."""
    arrived = results.columns("deliveries")
    times = arrived["time_ns"][arrived["seq"] == segment]
    return int(times.min()) if times.size else round(1e9 * END_S)


def round_trip_ns(results: Results) -> int:
    """Twice the shortest time of a segment to the host."""
    arrived = results.columns("deliveries")
    return 2 * int((arrived["time_ns"] - arrived["sent_ns"]).min())


def rate(results: Results, begin_s: float, end_s: float) -> float:
    """Segments in a second, in a span from the move on."""
    times = results.columns("deliveries")["time_ns"] / 1e9 - MOVE_S
    return float(((times > begin_s) & (times <= end_s)).sum()) / (end_s - begin_s)


def planted(kind: str, number: int) -> Planted:
    """Run `number` of those in which the sender has this part."""
    draws = random.Random(f"today {kind} {number}")
    while not (plant := _MAKERS[kind](draws, number)).takes():
        pass
    return plant


@dataclass(frozen=True)
class _Path:
    """The way to the host. Its queues are short, so that its round-trip time is known."""

    delay_ms: int
    queue_pkts: int

    @staticmethod
    def drawn(draws: random.Random, delay_ms: tuple[int, int]) -> _Path:
        return _Path(draws.randint(*delay_ms), draws.randint(20, 60))

    @property
    def rtt_ms(self) -> float:
        """With a queue that is half full; a packet takes 0.6 ms on the air."""
        return 2 * self.delay_ms + 18 + 0.3 * self.queue_pkts

    def setting(self, away_ms: float) -> dict[str, Any]:
        """The host is away for so long."""
        return {
            "links.0.delay": f"{self.delay_ms} ms",
            "cells.enb1.queue.limit": f"{self.queue_pkts} pkt",
            "mobility.detach_time": f"{away_ms:.0f} ms",
        }


def _probe(draws: random.Random, number: int) -> Planted:
    """The host is away for more than a round trip, so that nothing arrives by which a loss could be found."""
    variant, path = ("cubic", "bbr")[number % 2], _Path.drawn(draws, (40, 120))
    setting = path.setting(draws.uniform(1.1, 2.2) * path.rtt_ms) | {f"{_T}.variant": variant}
    return Planted(
        "tail loss probe",
        variant,
        setting,
        {"tcp_profiles.own.tail_loss_probe": False},
        draws.randrange(2**32),
    )


def _mark(draws: random.Random, number: int) -> Planted:
    """A window of few segments, of which one or two arrive behind those that the handover lost."""
    variant, path = ("cubic", "bbr")[number % 2], _Path.drawn(draws, (80, 200))
    setting = path.setting(draws.uniform(60, 250)) | {
        f"{_T}.variant": variant,
        f"{_T}.window": f"{draws.randint(5, 12)} pkt",
        "cells.enb1.rate": f"{draws.randint(400, 1500)} kbit/s",
        "hosts.phone.visits": _visits(_ENTRY_S + draws.uniform(0.0, 0.5)),
    }
    without = {f"{_T}.recovery": "rfc6675", f"{_T}.spurious_detection": "f-rto"}
    return Planted("RACK mark", variant, setting, without, draws.randrange(2**32))


def _quic(draws: random.Random, path: _Path, away_ms: float) -> dict[str, Any]:
    transport = {"kind": "quic", "congestion_control": draws.choice(("cubic", "reno"))}
    return path.setting(away_ms) | {_T: transport}


def _pto(draws: random.Random, _number: int) -> Planted:
    """The host is away until about the probe timeout, a round trip and 25 ms after the last acknowledgement."""
    path = _Path.drawn(draws, (50, 150))
    setting = _quic(draws, path, draws.uniform(0.9, 1.6) * path.rtt_ms)
    return Planted(
        "probe timeout", "quic", setting, {f"{_T}.max_ack_delay": "225 ms"}, draws.randrange(2**32)
    )


def _persistent(draws: random.Random, _number: int) -> Planted:
    """The way from the server is cut during the handover, for more than three probe timeouts.

    If only the host is away, it acknowledges old data when it is back, and the round trip that is measured by that
    makes the probe timeout as long as the gap.
    """
    path = _Path.drawn(draws, (10, 60))
    setting = _quic(draws, path, 40.0)
    down = MOVE_S + draws.uniform(-0.05, 0.05)
    up = down + draws.uniform(3.5, 9.0) * (path.rtt_ms + 40) / 1e3
    setting["links.0.changes"] = [{"at": f"{down:.3f} s", "up": False}, {"at": f"{up:.3f} s", "up": True}]
    without = {f"{_T}.persistent_congestion_threshold": 1000}
    return Planted("persistent congestion", "quic", setting, without, draws.randrange(2**32))


def _stale(draws: random.Random, number: int) -> Planted:
    """The way to the new cell is several times as long."""
    variant = ("bbr", "bbr3")[number % 2]
    setting = {
        f"{_T}.variant": variant,
        "mobility.forwarding": "lossless",
        "links.0.delay": "5 ms",
        "cells.enb2.backhaul.delay": f"{draws.randint(60, 95)} ms",
        "cells.enb2.queue": {"kind": "droptail", "limit": "2000 pkt"},
    }
    return Planted("stale min_rtt", variant, setting, {f"{_T}.variant": "cubic"}, draws.randrange(2**32))


_MAKERS = {
    "tail loss probe": _probe,
    "RACK mark": _mark,
    "probe timeout": _pto,
    "persistent congestion": _persistent,
    "stale min_rtt": _stale,
}
KINDS = tuple(_MAKERS)


def missed(plant: Planted) -> str:
    """Wrong statements of `why` about a run; empty: none.

    Only its statements about the trouble around the move count.
    """
    told = explain(plant.results(), "download")
    near = [
        each for each in told if each.stall.end_ns > 1e9 * MOVE_S and each.stall.start_ns < 1e9 * (MOVE_S + 2)
    ]
    if not near:
        return "no stall and no slow period"
    kinds = [part.kind for part in near[0].sender]
    return "" if plant.kind in kinds else f"names {kinds}"


def measure(number: int) -> tuple[list[str], int]:
    """Missed parts of the runs in equal shares, and how many parts of senders were named."""
    told = []
    for each in range(number):
        plant = planted(KINDS[each % len(KINDS)], each // len(KINDS))
        if problem := missed(plant):
            told.append(f"{plant.kind}: {plant.name}, {plant.setting}: {problem}")
    return told, number - len(told)
