#!/usr/bin/env python3
"""CPU time of Roamlab and ns-2 on the same networks, and the memory of a flow.

Each network runs in both simulators in turn, several times, without traces. The time is the user CPU time of the
process, start-up and reading the scenario included. The data packets sent have to agree, or the comparison is
void: the script reports this when they differ by more than two in a hundred, and ends with exit code 1.

Where ns-2 (Debian package `ns2`) is not installed, only Roamlab's side is measured. Standard library only.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TCL = ROOT / "tests" / "golden" / "ns2" / "tcl"
LARGEST_DIFFERENCE = 0.02
# ns-2 needs more than a minute for a thousand flows: above this size there are at most two runs of each side.
LARGE, LARGE_REPETITIONS = 500, 2
TARGET_RATIO = 0.2


@dataclass
class Case:
    """A network, and what was measured of it."""

    network: str
    script: str
    flows: int
    seconds: int
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    totals: dict[str, int] = field(default_factory=dict)
    their_sent: int = 0
    their_peak_kib: int = 0

    def run_ours(self, binary: str) -> None:
        seconds, output, _ = timed([binary, self.network, str(self.flows), str(self.seconds)])
        self.ours.append(seconds)
        self.totals = json.loads(output)

    def run_theirs(self, ns: str) -> None:
        arguments = [f"n={self.flows}", f"stop={self.seconds}"]
        seconds, output, self.their_peak_kib = timed([ns, str(TCL / self.script), *arguments])
        self.theirs.append(seconds)
        found = re.search(r"datapkts_sent (\d+)", output)
        if found is None:
            raise SystemExit(f"ns-2 printed no number of packets sent:\n{output}")
        self.their_sent = int(found.group(1))

    @property
    def name(self) -> str:
        return f"{self.network} {self.flows} flows {self.seconds} s"

    @property
    def ratios(self) -> list[float]:
        return [ours / theirs for ours, theirs in zip(self.ours, self.theirs, strict=False)]

    @property
    def difference(self) -> float:
        return self.totals["sent"] / self.their_sent - 1


CASES = [
    ("red", "d_red.tcl", 3, 300),
    ("red", "d_red.tcl", 9, 300),
    ("gigabit", "s_dumbbell.tcl", 10, 10),
    ("gigabit", "s_dumbbell.tcl", 100, 10),
    ("gigabit", "s_dumbbell.tcl", 1000, 15),
]


def timed(command: list[str]) -> tuple[float, str, int]:
    """Runs a command: its user CPU seconds, what it printed, and its peak memory in KiB."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with exit code {process.returncode}")
    return usage.ru_utime, output, usage.ru_maxrss


def build() -> str:
    """Builds the benchmark's binary and returns its path."""
    command = [
        "cargo",
        "build",
        "--release",
        "-p",
        "roamlab-benches",
        "--bin",
        "dumbbell",
        "--message-format=json",
    ]
    built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    for line in built.stdout.splitlines():
        executable = json.loads(line).get("executable")
        if executable:
            return executable
    raise SystemExit("cargo built no executable")


def summary(values: list[float]) -> str:
    """Median, and least to greatest."""
    return f"{statistics.median(values):.3f} ({min(values):.3f}-{max(values):.3f})"


def print_cost(cases: list[Case]) -> None:
    print(
        f"\n{'roamlab':24} {'user CPU s':>22} {'packet-hops':>12} {'hops/CPU s':>12} {'ns/hop':>7} {'peak KiB':>9}"
    )
    for case in cases:
        hops, seconds = case.totals["packet_hops"], statistics.median(case.ours)
        per_second, cost = hops / seconds, seconds / hops * 1e9
        peak = case.totals["peak_kib"] or 0
        print(f"{case.name:24} {summary(case.ours):>22} {hops:12} {per_second:12.3g} {cost:7.0f} {peak:9}")
    sizes = {case.flows: case.totals["peak_kib"] for case in cases if case.network == "gigabit"}
    if sizes.get(100) and sizes.get(1000):
        print(f"memory per flow, from 100 to 1,000: {(sizes[1000] - sizes[100]) / 900:.1f} KiB")


def print_comparison(cases: list[Case]) -> bool:
    """Prints the ratios; whether both sides sent the same packets."""
    print(
        f"\n{'beside ns-2':24} {'ns-2 user CPU s':>22} {'ratio of CPU times':>22} {'sent':>9} {'ns-2':>9} {'differ':>8}"
    )
    for case in cases:
        differ = f"{case.difference:+.2%}"
        counts = f"{case.totals['sent']:9} {case.their_sent:9} {differ:>8}"
        print(f"{case.name:24} {summary(case.theirs):>22} {summary(case.ratios):>22} {counts}")
    for case in cases:
        if statistics.median(case.ratios) > TARGET_RATIO:
            print(f"{case.name}: takes more than a fifth of ns-2's time")
    different = [case for case in cases if abs(case.difference) > LARGEST_DIFFERENCE]
    for case in different:
        print(
            f"{case.name}: the packets sent differ by more than {LARGEST_DIFFERENCE:.0%}: not the same work"
        )
    return not different


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=9, help="runs of each side (default 9)")
    parser.add_argument("--flows", type=int, nargs="*", help="only the networks with this number of flows")
    arguments = parser.parse_args()
    cases = [Case(*case) for case in CASES if not arguments.flows or case[2] in arguments.flows]
    ns, binary = shutil.which("ns"), build()
    for case in cases:
        large = case.flows > LARGE
        for _ in range(min(arguments.repetitions, LARGE_REPETITIONS) if large else arguments.repetitions):
            case.run_ours(binary)
            if ns:
                case.run_theirs(ns)
    print(
        f"median (least-greatest) of {arguments.repetitions} runs each, in turn "
        f"({LARGE_REPETITIONS} above {LARGE} flows)"
    )
    print_cost(cases)
    if not ns:
        print("\nns-2 is not installed (Debian package `ns2`): no comparison")
        return 0
    return 0 if print_comparison(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
