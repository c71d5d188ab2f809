#!/usr/bin/env python3
"""CPU time of a packet-hop in a large network that looks ahead, and in the same network that does not.

`star` with 100,000 flows runs for two lengths; the difference in user CPU time divided by the difference in packet-hops
leaves set-up out. Both modes run in turn; the median of the ratios counts. With `--check` a ratio above 0.82 fails.
Results have to be equal. Standard library only.
"""

import argparse
import json
import statistics
import sys

from ns2_ratio import build, timed

MOST = 0.82
SHORT, LONG = "0.03", "0.11"
MODES = ("blind", "ahead")


def run(binary: str, flows: str, seconds: str, mode: str) -> tuple[float, dict[str, int]]:
    """User CPU time in seconds, and the totals."""
    cpu, output, _ = timed([binary, "star", flows, seconds, "totals", mode])
    totals = json.loads(output)
    del totals["peak_kib"]
    return cpu, totals


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help=f"fail if the ratio is above {MOST}")
    parser.add_argument("--flows", default="100000")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--binary", help="measure this build of `dumbbell`")
    arguments = parser.parse_args()
    binary = arguments.binary or build()
    costs: dict[str, list[float]] = {mode: [] for mode in MODES}
    for _ in range(arguments.rounds):
        totals = []
        for mode in MODES:
            less, fewer = run(binary, arguments.flows, SHORT, mode)
            more, further = run(binary, arguments.flows, LONG, mode)
            hops = further["packet_hops"] - fewer["packet_hops"]
            costs[mode].append((more - less) / hops * 1e9)
            totals.append(further)
        if totals[0] != totals[1]:
            raise SystemExit(f"looking ahead changes the results: {totals[0]} without, {totals[1]} with it")
    for mode, values in costs.items():
        print(
            f"{mode:6} {statistics.median(values):6.0f} ns per packet-hop ({min(values):.0f}-{max(values):.0f})"
        )
    ratios = [ahead / blind for blind, ahead in zip(costs["blind"], costs["ahead"], strict=True)]
    ratio = statistics.median(ratios)
    print(f"ratio  {ratio:.3f} ({min(ratios):.3f}-{max(ratios):.3f})")
    if arguments.check and ratio > MOST:
        print(f"above {MOST}: looking ahead no longer hides the wait for memory")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
