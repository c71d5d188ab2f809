"""Runs random scenarios through ns-2 and through ours and compares every packet.

`.venv/bin/python tests/differential/ns2/live.py --count 1000 --seed 1` runs the scenarios of the seeds 1 to 1000. It
prints each that differs with its first difference, then the counts; exit code 1 if any differs.
"""

from __future__ import annotations

import argparse
import collections
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import case as cases
import ours
import reference
from events import difference
from roamlab.run import run

if TYPE_CHECKING:
    from case import Case
    from events import Events

MARGIN = 1000.0
"""Microseconds before the end that are not compared: the two end a run at the same time in different ways."""


def compare(case: Case, phases: list[int], theirs: Events) -> str | None:
    """Runs the case through ours; its first difference from what ns-2 did."""
    mine = ours.events(run(ours.scenario(case, phases), seed=1))
    return difference(theirs, mine, case.duration / 1000 - MARGIN)


def _check(case: Case) -> tuple[Case, int, str | None]:
    phases, theirs = reference.run(case)
    return case, len(theirs), compare(case, phases, theirs)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="random scenarios against the installed ns-2")
    parser.add_argument("--count", type=int, default=1000, help="how many (default 1000)")
    parser.add_argument("--seed", type=int, default=1, help="the first one's seed (default 1)")
    parser.add_argument("--classic", action="store_true", help="the classic one- to four-loss cases instead")
    arguments = parser.parse_args()
    if not reference.installed():
        print("ns-2 is not installed: there is no `ns` in the path", file=sys.stderr)
        return 2
    seeds = range(arguments.seed, arguments.seed + arguments.count)
    todo = cases.classic() if arguments.classic else [cases.draw(seed) for seed in seeds]
    agree: collections.Counter[str] = collections.Counter()
    total: collections.Counter[str] = collections.Counter()
    compared = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, (case, events, found) in enumerate(pool.map(_check, todo), start=1):
            variants = "+".join(sorted({flow.variant for flow in case.flows}))
            group = variants if "+" not in variants else "several"
            group = "with vegas" if "vegas" in variants and "+" in variants else group
            total[group] += 1
            agree[group] += found is None
            compared += events
            if found:
                print(f"{case.name} ({variants}, {case.preset}): {found}", flush=True)
            if done % 50 == 0:
                print(f"{done} of {len(todo)}, {sum(agree.values())} agree", flush=True)
    for group in sorted(total):
        print(f"{group}: {agree[group]} of {total[group]} agree")
    print(f"all: {sum(agree.values())} of {len(todo)} agree, {compared} events of ns-2 compared")
    return 0 if sum(agree.values()) == len(todo) else 1


if __name__ == "__main__":
    sys.exit(main())
