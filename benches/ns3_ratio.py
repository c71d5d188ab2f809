#!/usr/bin/env python3
"""CPU time of Roamlab and ns-3 on the same networks, for each data packet sent.

Each network runs in both simulators in turn, several times, without traces. The time is the user CPU time of
the process, start-up included, divided by the data packets that were sent. ns-3's Reno is Linux's, so the two
send different numbers of packets, which are printed.

Where ns-3 (Debian packages `libns3-dev` and `g++`) is not installed, nothing is measured. Standard library only.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from ns2_ratio import build, summary, timed

SOURCE = Path(__file__).parent / "ns3" / "dumbbell.cc"
HEADER = Path("/usr/include/ns3/core-module.h")
MODULES = ["applications", "internet", "traffic-control", "point-to-point", "network", "core"]
# Network, flows, seconds: those of `ns2_ratio.py` for less time, since ns-3 takes tens of microseconds for a packet.
CASES = [("red", 3, 60), ("gigabit", 10, 2), ("gigabit", 100, 1)]


def compiled(folder: str) -> str:
    """Compiles ns-3's side and returns its path."""
    program = f"{folder}/dumbbell"
    libraries = [f"-lns3-{module}" for module in MODULES]
    subprocess.run(["g++", "-std=c++17", "-O2", str(SOURCE), "-o", program, *libraries], check=True)
    return program


def our_cost(binary: str, arguments: list[str]) -> tuple[float, int]:
    """Microseconds of CPU time for a data packet, and how many were sent."""
    seconds, output, _ = timed([binary, *arguments])
    sent = json.loads(output)["sent"]
    return seconds / sent * 1e6, sent


def their_cost(program: str, arguments: list[str]) -> tuple[float, int]:
    """The same of ns-3."""
    seconds, output, _ = timed([program, *arguments])
    found = re.fullmatch(r"datapkts_sent (\d+)\s*", output)
    if found is None:
        raise SystemExit(f"ns-3 printed no number of packets sent:\n{output}")
    sent = int(found.group(1))
    return seconds / sent * 1e6, sent


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=9, help="runs of each side (default 9)")
    parser.add_argument("--binary", help="measure this build of `dumbbell`")
    arguments = parser.parse_args()
    if not HEADER.exists() or not shutil.which("g++"):
        print("ns-3 is not installed (Debian packages `libns3-dev` and `g++`): no comparison")
        return 0
    binary = arguments.binary or build()
    print(f"median (least-greatest) of {arguments.repetitions} pairs; microseconds of user CPU for a packet")
    print(f"{'beside ns-3':22} {'roamlab':>22} {'ns-3':>24} {'ratio':>22} {'sent':>8} {'ns-3':>8}")
    with tempfile.TemporaryDirectory() as folder:
        program = compiled(folder)
        for network, flows, seconds in CASES:
            words = [network, str(flows), str(seconds)]
            pairs = [
                (our_cost(binary, words), their_cost(program, words)) for _ in range(arguments.repetitions)
            ]
            ours, theirs = ([pair[side][0] for pair in pairs] for side in (0, 1))
            ratios = [our / their for our, their in zip(ours, theirs, strict=True)]
            sent = f"{pairs[0][0][1]:8} {pairs[0][1][1]:8}"
            name = f"{network} {flows} flows {seconds} s"
            print(
                f"{name:22} {summary(ours):>22} {summary(theirs):>24} {summary(ratios):>22} {sent}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
