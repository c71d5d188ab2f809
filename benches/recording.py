#!/usr/bin/env python3
"""Cost of recording: CPU time of runs that record, and of the same runs with totals only.

Runs in turn; the median of the ratios counts. User and system time together: part of the cost is memory that is
touched for the first time. "in pieces": long tables leave during the run, and are not written. "whole": they
stay in memory. Standard library only.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys

from ns2_ratio import build

# Network, flows, seconds.
CASES = [("gigabit", "10", "30"), ("red", "3", "3000")]
MODES = {
    "totals": ["totals"],
    "flows, in pieces": ["flows"],
    "flows, whole": ["flows", "whole"],
    "packets, in pieces": ["packets"],
    "packets, whole": ["packets", "whole"],
}


def run(command: list[str]) -> tuple[float, int]:
    """CPU time in seconds and the peak of memory in KiB."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, json.loads(done.stdout)["peak_kib"] or 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--binary", help="measure this build of `dumbbell`")
    arguments = parser.parse_args()
    binary = arguments.binary or build()
    for case in CASES:
        found: dict[str, list[tuple[float, int]]] = {mode: [] for mode in MODES}
        for _ in range(arguments.rounds):
            for mode, words in MODES.items():
                found[mode].append(run([binary, *case, *words]))
        print(f"{' '.join(case):24} {'CPU s':>7} {'ratio':>6} {'least':>6} {'most':>6} {'peak MB':>8}")
        for mode, runs in found.items():
            ratios = [one / other for (one, _), (other, _) in zip(runs, found["totals"], strict=True)]
            seconds = statistics.median(seconds for seconds, _ in runs)
            peak = max(peak for _, peak in runs) / 1024
            numbers = " ".join(
                f"{ratio:6.2f}" for ratio in (statistics.median(ratios), min(ratios), max(ratios))
            )
            print(f"  {mode:22} {seconds:7.3f} {numbers} {peak:8.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
