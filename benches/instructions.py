#!/usr/bin/env python3
"""Instructions a packet-hop, counted by callgrind: the same number on every run, whatever else the machine does.

Each network runs for two lengths; the difference in instructions divided by the difference in packet-hops leaves
set-up out. Networks whose ends take most of the instructions are counted by delivered data packet. `instructions.toml`
holds what it was last; with `--check` a count that is more than 1 % above is an error.

Where valgrind (Debian package `valgrind`) is not installed, nothing is counted. Standard library only.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ns2_ratio import build

REFERENCE = Path(__file__).with_suffix(".toml")
MOST_ABOVE = 0.01
# By name: network, flows (of `ipf`: moving hosts), and the two lengths in seconds. A flow begins every 10 or 100 ms.
# BBR is compared after its start, with `gigabit-10-later`.
CASES = {
    "gigabit-10": ("gigabit", 10, 1, 2),
    "gigabit-100": ("gigabit", 100, 2, 3),
    "gigabit-1000": ("gigabit", 1000, 10, 11),
    "gigabit-10-later": ("gigabit", 10, 5, 6),
    "gigabit-cubic-10": ("gigabit-cubic", 10, 1, 2),
    "gigabit-bbr-10-later": ("gigabit-bbr", 10, 5, 6),
    "gigabit-codel-10": ("gigabit-codel", 10, 1, 2),
    "gigabit-fq-codel-100": ("gigabit-fq-codel", 100, 2, 3),
    "red-3": ("red", 3, 30, 60),
    "ipf-5": ("ipf", 5, 40, 80),
    "linux-cubic-5": ("linux-cubic", 5, 3, 4),
    "linux-bbr-5": ("linux-bbr", 5, 3, 4),
    "quic-5": ("quic", 5, 3, 4),
}
# Counted by data packet delivered, all others by packet-hop.
BY_DELIVERED = ("linux-cubic-5", "linux-bbr-5", "quic-5")


def count(binary: str, network: str, flows: int, seconds: int, unit: str) -> tuple[int, int]:
    """Instructions of one run, and how much it has of the unit."""
    with tempfile.TemporaryDirectory() as folder:
        tool = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out"]
        command = [*tool, binary, network, str(flows), str(seconds)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or collected is None:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return int(collected.group(1)), json.loads(done.stdout)[unit]


def of_one(binary: str, case: str) -> float:
    """Instructions of one packet-hop, or of one delivered packet."""
    network, flows, *lengths = CASES[case]
    unit = "delivered" if case in BY_DELIVERED else "packet_hops"
    (less, fewer), (more, further) = (count(binary, network, flows, seconds, unit) for seconds in lengths)
    return (more - less) / (further - fewer)


def written(counts: dict[str, float]) -> str:
    rows = "".join(f"{name} = {value:.1f}\n" for name, value in counts.items())
    return (
        "# Instructions a packet-hop, or of linux-* and quic-* a delivered packet, when "
        "`benches/instructions.py --write` was\n# run last. A count that falls stays low only if it is written down; "
        "one that rises needs a reason in the commit\n# that writes it.\n\n"
        f"[instructions]\n{rows}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="fail if a count is above its reference")
    parser.add_argument("--write", action="store_true", help="make the counts the reference")
    parser.add_argument("--binary", help="count this build of `dumbbell`")
    arguments = parser.parse_args()
    if not shutil.which("valgrind"):
        print("valgrind is not installed (Debian package `valgrind`): no instructions are counted")
        return 1 if arguments.check else 0
    binary = arguments.binary or build()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = list(pool.map(lambda case: of_one(binary, case), CASES))
    counts = dict(zip(CASES, found, strict=True))
    if arguments.write:
        REFERENCE.write_text(written(counts), encoding="utf-8")
    reference = tomllib.loads(REFERENCE.read_text(encoding="utf-8"))["instructions"]
    print(f"{'instructions':28} {'counted':>8} {'reference':>9} {'differ':>8}")
    above, below = [], []
    for name, value in counts.items():
        known = reference.get(name)
        if known is None:
            print(f"{name:28} {value:8.1f}      none")
            continue
        differ = value / known - 1
        print(f"{name:28} {value:8.1f} {known:9.1f} {differ:+8.1%}")
        above += [name] if differ > MOST_ABOVE else []
        below += [name] if differ < -MOST_ABOVE else []
    if below:
        print(
            f"fewer than before: {', '.join(below)}; keep it with `python3 benches/instructions.py --write`"
        )
    if above:
        print(
            f"more than {MOST_ABOVE:.0%} above the reference: {', '.join(above)}. Find what the change costs "
            f"(`callgrind_annotate`). If it is worth it, write the new counts with "
            "`python3 benches/instructions.py --write` and give the reason in the commit."
        )
    return 1 if above and arguments.check else 0


if __name__ == "__main__":
    sys.exit(main())
