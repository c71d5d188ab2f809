"""Captures of runs with one planted event each, with the truth of each run: what `roamlab why CAPTURE` is measured by.

Each run is a download around one handover. Its kind and number choose path, congestion control and the size of the
trouble. The captures are those that a network card at the server and at the host would have made: `capture.pcapng`
of an export has no packet that never arrived there. Stalls of the truth are those of the run's tables.

`python captured.py 0 8` judges eight runs of each kind, `python captured.py 0 8 hold drop` those of two kinds, and
`python captured.py 0 8 --kernel` runs with the ends of Linux 6.12 (`roamlab kernel build`). `--quinn` judges the qlogs
of quinn at both ends. It needs an engine that writes them: `.venv/bin/maturin develop --profile quick --features qlog`.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roamlab.captures.explain import Answer, explain, explain_qlog
from roamlab.causes.removal import recorded
from roamlab.exports import pcapng
from roamlab.records import analysis
from roamlab.running.run import run
from roamlab.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from roamlab.records.results import Results

_BASE = """
[run]
duration = "12 s"
profile = "linux-6"
[network]
queue = { kind = "droptail", limit = "10000 pkt" }
[[links]]
between = ["server", "edge"]
rate = "1 Gbit/s"
delay = "0.1 ms"
[[links]]
between = ["edge", "core"]
rate = "1 Gbit/s"
delay = "20 ms"
[cells.bs1]
router = "core"
rate = "10 Mbit/s"
delay = "3 ms"
queue = { kind = "droptail", limit = "100 pkt" }
backhaul = { rate = "1 Gbit/s", delay = "1 ms", queue = { kind = "droptail", limit = "10000 pkt" } }
[cells.bs2]
router = "core"
rate = "10 Mbit/s"
delay = "3 ms"
queue = { kind = "droptail", limit = "100 pkt" }
backhaul = { rate = "1 Gbit/s", delay = "1 ms", queue = { kind = "droptail", limit = "10000 pkt" } }
[radio]
kind = "hard"
gap = "0 ms"
[mobility]
kind = "mobile-ip"
beacon_interval = "20 ms"
buffer = { at = "none" }
[[hosts]]
name = "mh"
home = "core"
visits = [{ cell = "bs1", at = "0 s" }, { cell = "bs2", at = "6 s" }]
[[flows]]
name = "d"
path = ["server", "mh"]
transport = { kind = "tcp", variant = "cubic", segment = "1448 B" }
app = { kind = "ftp", start = "0.1 s" }
[record]
deliveries = true
"""
NAMES = {
    "hold": {"path-held"},
    "drop": {"path-lost"},
    "outage": {"path-lost"},
    "step": {"delay-step", "delay-spike"},
    "step with losses": {"delay-step", "delay-spike", "path-lost", "loss-burst"},
    "tail": {"tail-loss"},
    "relost": {"retransmission-lost"},
    "burst": {"loss-burst", "queue-full", "retransmission-lost"},
    "acks": {"acks-lost"},
}
"""Kinds of causes that name a planted one."""
KINDS = (*NAMES, "idle", "window", "quiet")
OF_QUINN = ("hold", "drop", "outage", "step", "step with losses", "burst", "acks", "quiet")
"""Kinds of runs with quinn, which sends files alone, no number twice, and has no window as a parameter."""
_ALL = ("sender", "receiver", "pair")
VIEWS = {"model": _ALL, "kernel": _ALL, "quinn": ("sender", "receiver")}
"""The ends of runs, and where these are captured."""
_RECEIVER = {
    "tail": {"path-lost", "application-idle"},
    "relost": {"queue-full", "path-lost"},
    "burst": {"path-lost"},
}
"""Other kinds that count as named in a capture at the receiver, where these look the same."""
_RECEIVER_OF_QUINN = {"step": {"path-held"}, "step with losses": {"path-held"}}
"""The same in qlogs: their packets have no times of sending."""


@dataclass
class Case:
    """A run with one planted event."""

    kind: str
    setting: dict[str, Any]
    seed: int
    at_s: float
    """When the event is."""
    gap_s: float = 0.0
    base_s: float = 0.0
    rate_bps: float = 0.0
    ends: str = "model"
    """One of `VIEWS`."""
    results: Results | None = field(default=None, repr=False)

    def made(self) -> Results:
        """The run."""
        if self.results is None:
            scenario = recorded(Scenario(_BASE, "captured.toml").set_all(self.setting))
            with warnings.catch_warnings():
                # A cell without a visit, and a buffer without a handover.
                warnings.simplefilter("ignore")
                self.results = run(scenario, self.seed)
        return self.results

    def stalls(self) -> list[tuple[float, float]]:
        """Begin and end of the stalls of the truth."""
        return [(each.start_ns / 1e9, each.end_ns / 1e9) for each in analysis.stalls(self.made(), "d")]

    def planted(self) -> tuple[float, float] | None:
        """The stall of the event, if there is one."""
        near = [
            (start, end)
            for start, end in self.stalls()
            if end > self.at_s - 0.05 and start < self.at_s + self.gap_s + 3.5
        ]
        return max(near, key=lambda each: each[1] - each[0]) if near else None

    def write(self, folder: Path) -> tuple[Path, Path]:
        """The captures at the server and at the host, or the qlogs of these ends."""
        if self.ends == "quinn":
            os.environ["ROAMLAB_QLOG"] = str(folder)
            self.results = None
            self.made()
            return folder / "server.sqlog", folder / "client.sqlog"
        paths = folder / "server.pcapng", folder / "mh.pcapng"
        for node, path in zip(("server", "mh"), paths, strict=True):
            path.write_bytes(pcapng.write(self.made(), [node], [])[pcapng.SEEN_FILE][0])
        return paths


def case(kind: str, number: int, ends: str = "model") -> Case:
    """Run `number` of a kind, with one of the ends in `VIEWS`."""
    draws = random.Random(f"{kind}/{number}")
    rate = draws.choice([3, 5, 8, 12, 20, 30])
    one_way = draws.choice([5, 10, 20, 40, 60])
    base = 2 * (one_way + 4) / 1e3
    bdp = max(10, int(rate * 1e6 * base / 8 / 1500))
    queue = max(20, int(bdp * draws.uniform(0.7, 2.5)))
    at = round(draws.uniform(5.0, 7.0), 3)
    control = draws.choice(["cubic", "cubic", "sack", "bbr"])
    setting: dict[str, Any] = {
        "links.1.delay": f"{one_way} ms",
        "flows.d.transport.variant": control,
        "hosts.mh.visits": [{"cell": "bs1", "at": "0 s"}, {"cell": "bs2", "at": f"{at} s"}],
    }
    for cell in ("bs1", "bs2"):
        setting |= {f"cells.{cell}.rate": f"{rate} Mbit/s", f"cells.{cell}.queue.limit": f"{queue} pkt"}
    made = Case(kind, setting, draws.randrange(2**32), at, base_s=base, rate_bps=rate * 1e6, ends=ends)
    if ends != "model":
        del setting["flows.d.transport.variant"]
    if ends == "quinn":
        own = "new-reno" if control == "sack" else "cubic"
        setting["flows.d.transport"] = {"kind": "quinn", "congestion_control": own}
    if ends == "kernel":
        setting["flows.d.transport"] = {
            "kind": "linux",
            "congestion_control": "reno" if control == "sack" else control,
            "segment": "1448 B",
        }
    _PLANT[kind](made, draws, one_way)
    return made


def _hold(made: Case, draws: random.Random, _one_way: int) -> None:
    made.gap_s = round(draws.uniform(0.25, 1.5), 3)
    buffer = {"at": "base-station", "limit": "3000 pkt", "mark_forwarded": False}
    made.setting |= {
        "radio.gap": f"{made.gap_s * 1e3:.0f} ms",
        "mobility.buffer": buffer,
        "cells.bs2.queue.limit": "3000 pkt",
    }


def _drop(made: Case, draws: random.Random, _one_way: int) -> None:
    made.gap_s = round(draws.uniform(0.15, 1.5), 3)
    made.setting |= {"radio.gap": f"{made.gap_s * 1e3:.0f} ms"}


def _outage(made: Case, draws: random.Random, _one_way: int) -> None:
    made.at_s = round(draws.uniform(3.0, 4.5), 3)
    made.gap_s = round(draws.uniform(0.15, 1.5), 3)
    up = {"at": f"{made.at_s + made.gap_s:.3f} s", "up": True}
    made.setting["links.1.changes"] = [{"at": f"{made.at_s} s", "up": False}, up]


def _step(made: Case, draws: random.Random, one_way: int) -> None:
    """The path becomes longer, for the rest of the run or for a while. Without the handover nothing is lost."""
    step = draws.randint(400, 900)
    made.at_s = round(draws.uniform(3.0, 4.5), 3)
    changes = [{"at": f"{made.at_s} s", "delay": f"{one_way + step // 2} ms"}]
    if draws.random() < 0.5:
        changes.append({"at": f"{made.at_s + draws.uniform(2.5, 3.5):.3f} s", "delay": f"{one_way} ms"})
    made.setting["links.1.changes"] = changes
    made.setting["hosts.mh.visits"] = [{"cell": "bs1", "at": "0 s"}]


def _step_lost(made: Case, draws: random.Random, one_way: int) -> None:
    step = draws.randint(400, 900)
    made.setting["links.1.changes"] = [{"at": f"{made.at_s} s", "delay": f"{one_way + step // 2} ms"}]


def _bursts(made: Case, draws: random.Random) -> tuple[int, float]:
    number, pause = draws.randint(6, 14), draws.uniform(0.6, 0.9)
    rate = f"{int(number * 1448 * 8 / pause)} bit/s"
    made.setting["flows.d.app"] = {
        "kind": "cbr",
        "rate": rate,
        "packet": f"{number * 1448} B",
        "start": "0.1 s",
    }
    return number, pause


def _idle(made: Case, draws: random.Random, _one_way: int) -> None:
    _bursts(made, draws)


def _tail(made: Case, draws: random.Random, _one_way: int) -> None:
    number, pause = _bursts(made, draws)
    burst, lost = draws.randint(4, 6), draws.randint(1, 3)
    first = 2 + number * burst + number - lost
    more = draws.random() < 0.5
    made.at_s = round(0.1 + burst * pause, 3)
    made.setting["links.1.drops"] = [{"flow": "d", "packets": list(range(first, first + lost + more))}]


def _relost(made: Case, draws: random.Random, _one_way: int) -> None:
    """A segment is lost, and twice more when it is sent again, among others that arrive."""
    made.setting["hosts.mh.visits"] = [{"cell": "bs1", "at": "0 s"}]
    lost = [int(made.rate_bps / 8 / 1500 * draws.uniform(3.0, 4.0))]
    for _ in range(2):
        made.setting["links.1.drops"] = [{"flow": "d", "packets": lost}]
        results, made.results = made.made(), None
        sends = results.packets.filter(event="send", place="server", flow="d")
        gone = results.drops.filter(reason="forced-loss")["serial"]
        first = sends["serial"].index_of(gone[0])
        same = (sends["number"] == sends["number"][first]).arg_true()
        lost.append(lost[0] + same[len(lost)] - first)
        made.at_s = sends["time_ns"][first] / 1e9
    made.setting["links.1.drops"] = [{"flow": "d", "packets": lost}]


def _burst(made: Case, draws: random.Random, _one_way: int) -> None:
    """Every other segment of half a window."""
    first = int(made.rate_bps / 8 / 1500 * 3.5)
    count = draws.randint(6, 20)
    made.at_s = 3.5
    made.setting["hosts.mh.visits"] = [{"cell": "bs1", "at": "0 s"}]
    made.setting["links.1.drops"] = [{"flow": "d", "packets": list(range(first, first + 2 * count, 2))}]


def _acks(made: Case, draws: random.Random, one_way: int) -> None:
    """The acknowledgements of a window at most: those behind them are of the timeout."""
    per_s = made.rate_bps / 8 / 1500
    window = per_s * 2 * (one_way + 4) / 1e3
    count = max(4, int(window / 2 * draws.uniform(0.5, 1.2)))
    first = int(per_s / 2 * 3.5)
    made.at_s = 3.6
    made.setting["hosts.mh.visits"] = [{"cell": "bs1", "at": "0 s"}]
    made.setting["links.1.reverse_drops"] = [{"flow": "d", "packets": list(range(first, first + count))}]


def _window(made: Case, draws: random.Random, _one_way: int) -> None:
    window = draws.choice([11, 22, 33])
    if made.ends == "kernel":
        # Linux offers half of its buffer.
        limit = 2 * 1448 * window
        made.setting["flows.d.transport"]["sysctls"] = {"ipv4.tcp_rmem": f"4096 {limit} {limit}"}
    else:
        made.setting["flows.d.transport.window"] = f"{window} pkt"
    made.setting["hosts.mh.visits"] = [{"cell": "bs1", "at": "0 s"}]


def _quiet(made: Case, _draws: random.Random, _one_way: int) -> None:
    made.setting["hosts.mh.visits"] = [{"cell": "bs1", "at": "0 s"}]


_PLANT = {
    "hold": _hold,
    "drop": _drop,
    "outage": _outage,
    "step": _step,
    "step with losses": _step_lost,
    "tail": _tail,
    "relost": _relost,
    "burst": _burst,
    "acks": _acks,
    "idle": _idle,
    "window": _window,
    "quiet": _quiet,
}


def of_view(view: str, server: Path, host: Path) -> list[Path]:
    """The files of a view."""
    return {"sender": [server], "receiver": [host], "pair": [server, host]}[view]


def judged(made: Case, answer: Answer, view: str) -> str:
    """The fault of an answer about the run's capture; empty: none."""
    flow = next(flow for flow in answer.flows if made.ends == "quinn" or flow["flow"].startswith("10."))
    started = answer.start_ns / 1e9
    told = [
        each | {"from": each["start_s"] + started, "to": each["end_s"] + started} for each in flow["stalls"]
    ]
    real, wanted = made.stalls(), made.planted()
    slack = max(made.base_s, 0.1) + 0.1
    for each in told:
        known = any(each["from"] < end + slack and each["to"] > start - slack for start, end in real)
        # A silence at the sender may be a little longer than the one at the receiver.
        if each["of_receiver"] and not known and each["length_s"] > 0.21:
            return f"invented: {each['sentences']}"
    if made.kind == "acks" and view == "sender":
        heard = [each for each in told if each["to"] > made.at_s - 0.5 and not each["of_receiver"]]
        silent = [each for each in told if each["of_receiver"]]
        return "" if wanted or heard or not silent else f"no word of acknowledgements: {told}"
    if wanted is None or made.kind not in NAMES:
        return ""
    start, end = wanted
    # Acknowledgements of a longer path reach the sender later.
    lag = 0.35 if made.kind.startswith("step") else 0.0
    least = 0.4 * (end - start) - 0.1 - lag
    near = [each for each in told if min(each["to"], end) - max(each["from"], start) > least]
    if not near:
        return f"missed {start:.3f} to {end:.3f}"
    best = max(near, key=lambda each: min(each["to"], end) - max(each["from"], start))
    alike = _RECEIVER | (_RECEIVER_OF_QUINN if made.ends == "quinn" else {})
    names = NAMES[made.kind] | (alike.get(made.kind, set()) if view == "receiver" else set())
    kinds = [cause["kind"] for cause in best["causes"]]
    return "" if names & set(kinds) else f"named {kinds}: {best['sentences']}"


def measure(
    numbers: range, kinds: tuple[str, ...] = KINDS, ends: str = "model"
) -> tuple[list[str], dict[str, Counter[str]]]:
    """The faults in the runs of these numbers, and of each view the numbers of right and wrong answers."""
    wrong: list[str] = []
    counts: dict[str, Counter[str]] = {view: Counter() for view in VIEWS[ends]}
    with tempfile.TemporaryDirectory() as folder:
        for kind in kinds:
            for number in numbers:
                made = case(kind, number, ends)
                written = made.write(Path(folder))
                for view in VIEWS[ends]:
                    files = of_view(view, *written)
                    answer = explain_qlog(files[0]) if ends == "quinn" else explain(files)
                    problem = judged(made, answer, view)
                    has_stall = made.kind in NAMES and made.planted() is not None
                    counts[view][
                        f"{'stall' if has_stall else 'quiet'} {'wrong' if problem else 'right'}"
                    ] += 1
                    if problem:
                        wrong.append(f"{kind} {number}, {view}: {problem}")
    return wrong, counts


def main() -> None:
    """Judge runs of every kind; exit code 1 below the aims: 95 % from a pair, 90 % from one end, nothing invented."""
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    ends = next((word[2:] for word in sys.argv[1:] if word.startswith("--")), "model")
    first, last = (int(word) for word in words[:2]) if len(words) > 1 else (0, 8)
    kinds = tuple(words[2:]) or (OF_QUINN if ends == "quinn" else KINDS)
    wrong, counts = measure(range(first, last), kinds, ends)
    print("\n".join(wrong))
    has_failed = False
    aims = {"sender": 0.9, "receiver": 0.9, "pair": 0.95}
    for view, count in counts.items():
        right, quiet = count["stall right"], count["quiet right"]
        stalls, calm = right + count["stall wrong"], quiet + count["quiet wrong"]
        print(
            f"{view}: planted cause named in {right} of {stalls} stalls, nothing invented in {quiet} of {calm} runs"
        )
        has_failed |= right < aims[view] * stalls or quiet < calm
    sys.exit(has_failed)


if __name__ == "__main__":
    main()
