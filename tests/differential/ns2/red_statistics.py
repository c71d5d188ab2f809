"""RED with our own random streams against ns-2, by statistics: goodput and share of packets dropped.

`.venv/bin/python tests/differential/ns2/red_statistics.py` runs the dumbbell of `tests/golden/ns2/tcl/d_red.tcl` and
compares the means with ns-2's, kept in `red_statistics.json`; exit code 1 if a 95 % interval of a difference is not
within 2 %. `--record` runs ns-2 again and writes the file.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import roamlab as rl
from reference import GOLDEN, installed

if TYPE_CHECKING:
    from collections.abc import Callable

FILE = Path(__file__).with_name("red_statistics.json")
SECONDS = 200
TOLERANCE = 0.02
NORMAL_95 = 1.96

Run = dict[str, float]


class Sample(NamedTuple):
    """A quantity over independent runs."""

    mean: float
    sd: float
    n: int

    @classmethod
    def of(cls, values: list[float]) -> Sample:
        """Measures of these runs."""
        return cls(statistics.fmean(values), statistics.stdev(values), len(values))

    def error(self) -> float:
        """Standard error of the mean."""
        return self.sd / math.sqrt(self.n)


def difference(ours: Sample, theirs: Sample) -> tuple[float, float]:
    """Our value minus that of ns-2 and the half width of its 95 % interval, both relative to ns-2's."""
    width = NORMAL_95 * math.hypot(ours.error(), theirs.error())
    return (ours.mean - theirs.mean) / theirs.mean, width / theirs.mean


def cases() -> dict[str, tuple[int, bool]]:
    """Flows and `gentle` by the name of the case; with three flows the average never reaches the range of `gentle`."""
    return {"3 flows": (3, False), "9 flows": (9, False), "9 flows, gentle": (9, True)}


_MEASURE = """
set monitor [$ns monitor-queue $r1 $r2 ""]
proc sim_end {} {
    global flows monitor
    foreach flow $flows { puts "bytes [[lindex $flow 2] set bytes_]" }
    puts "queue [$monitor set parrivals_] [$monitor set pdrops_]"
    exit 0
}
$ns run
"""


def _run_of(bytes_: list[float], arrivals: float, drops: float) -> Run:
    goodputs = [8 * count / SECONDS for count in bytes_]
    return {
        "goodput, bit/s": sum(goodputs),
        "goodput of the nearest, bit/s": goodputs[0],
        "goodput of the farthest, bit/s": goodputs[-1],
        "dropped": drops / arrivals,
    }


def ns2(n: int, gentle: bool, seed: int) -> Run:
    """A run of ns-2. Its sinks count headers; ours do not."""
    folder = GOLDEN / "tcl"
    text = (folder / "d_red.tcl").read_text(encoding="utf-8")
    text = text.replace("[file dirname [info script]]", str(folder)).replace("$ns run\n", _MEASURE)
    with tempfile.NamedTemporaryFile("w", suffix=".tcl", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        command = ["ns", file.name, f"n={n}", f"gentle={int(gentle)}", f"stop={SECONDS}", f"seed={seed}"]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    words = [line.split() for line in lines]
    sunk = [float(line[1]) * 512 / 552 for line in words if line[0] == "bytes"]
    arrivals, drops = next(line[1:] for line in words if line[0] == "queue")
    return _run_of(sunk, float(arrivals), float(drops))


def scenario(n: int, gentle: bool) -> rl.Scenario:
    """`d_red.tcl` in our format."""
    red = {
        "kind": "red",
        "rules": "ns2",
        "limit": "120 pkt",
        "min_threshold": "40 pkt",
        "max_threshold": "80 pkt",
        "max_p": 0.02,
        "queue_weight": 0.002,
        "gentle": gentle,
        "mean_packet": "552 B",
        "threshold_unit": "packets",
        "probability_unit": "packets",
    }
    links: list[dict[str, Any]] = [
        {"between": ["r1", "r2"], "rate": "2 Mbit/s", "delay": "40 ms", "queue": red}
    ]
    links[0]["reverse_queue"] = {"kind": "droptail", "limit": "100000 pkt"}
    flows = []
    for i in range(n):
        near, far = f"{1 + i % 9} ms", "2 ms"
        links.append({"between": [f"s{i}", "r1"], "rate": "10 Mbit/s", "delay": near})
        links.append({"between": ["r2", f"d{i}"], "rate": "10 Mbit/s", "delay": far})
        tcp = {"variant": "reno", "segment": "512 B", "window": "64 pkt"}
        app = {"kind": "ftp", "start": f"{100 + 100 * i} ms"}
        flows.append(
            {"name": f"f{i}", "path": [f"s{i}", f"d{i}"], "transport": {"kind": "tcp", **tcp}, "app": app}
        )
    tables = {
        "run": {"duration": f"{SECONDS} s", "profile": "ns2-2009", "random_numbers": "chacha"},
        "network": {"queue": {"kind": "droptail", "limit": "10000 pkt"}},
        "links": links,
        "flows": flows,
        "record": {"deliveries": False},
    }
    return rl.Scenario.from_dict(tables, name=f"{n} flows")


def world(n: int, gentle: bool, seed: int) -> Run:
    """One of our runs."""
    results = rl.run(scenario(n, gentle), seed=seed)
    offered = dict(results.links.select("link", "offered_pkts").iter_rows())["r1->r2"]
    sunk = [float(count) for count in results.flows["delivered_bytes"]]
    return _run_of(sunk, offered, results.drops.height)


def sample(one: Callable[[int, bool, int], Run], name: str, seeds: range) -> dict[str, Sample]:
    """Each quantity over the runs of these seeds, with progress."""
    n, gentle = cases()[name]
    runs: list[Run] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for run in pool.map(lambda seed: one(n, gentle, seed), seeds):
            runs.append(run)
            if len(runs) % 50 == 0:
                print(f"{one.__name__}, {name}: {len(runs)} of {len(seeds)}", file=sys.stderr, flush=True)
    return {quantity: Sample.of([run[quantity] for run in runs]) for quantity in runs[0]}


def recorded() -> dict[str, dict[str, Sample]]:
    """Measures of ns-2, by case and quantity."""
    table = json.loads(FILE.read_text(encoding="utf-8"))
    return {
        name: {quantity: Sample(**values) for quantity, values in quantities.items()}
        for name, quantities in table.items()
    }


def record(seeds: int) -> None:
    """Runs ns-2 and keeps what it measured."""
    table = {
        name: {
            quantity: measured._asdict()
            for quantity, measured in sample(ns2, name, range(1, seeds + 1)).items()
        }
        for name in cases()
    }
    FILE.write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="RED against ns-2, by statistics")
    parser.add_argument("--seeds", type=int, default=400, help="runs of each case (default 400)")
    parser.add_argument("--record", action="store_true", help="run ns-2 and keep its numbers first")
    arguments = parser.parse_args()
    if arguments.record:
        if not installed():
            print("ns-2 is not installed: there is no `ns` in the path", file=sys.stderr)
            return 2
        record(arguments.seeds)
    within = True
    for name, quantities in recorded().items():
        measured = sample(world, name, range(1, arguments.seeds + 1))
        for quantity, theirs in quantities.items():
            part, width = difference(measured[quantity], theirs)
            fits = abs(part) + width <= TOLERANCE
            within &= fits
            print(
                f"{name}: {quantity}: ns-2 {theirs.mean:.6g}, ours {measured[quantity].mean:.6g}, "
                f"difference {part:+.2%} +- {width:.2%}{'' if fits else ': NOT WITHIN 2 %'}",
                flush=True,
            )
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
