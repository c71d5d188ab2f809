"""Runs random scenarios through ns-2 and through ours and compares every packet.

`.venv/bin/python tests/differential/ns2/live.py --count 1000 --seed 1` runs the scenarios of the seeds from 1 on,
until it has compared 1000. It prints each that differs with its first difference, then the counts, by variant and by
what the compared scenarios had; exit code 1 if any differs. A scenario in which ns-2 sends what the application has not
given is counted apart: there is nothing to agree with.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

import case as cases
import corners
import ours
import reference
from case import Case
from events import Event, difference
from roamlab.running.run import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from events import Events

BATCH = 50
"""Cases checked before it is seen how many more are wanted."""
MARGIN = 1000.0
"""Microseconds before the end that are not compared: the two end a run at the same time in different ways."""


def ungiven(case: Case, theirs: Events) -> Event | None:
    """The first segment that ns-2 sent though the application had not given it.

    That is one beyond the file's end, or a new one behind the application's `stop`: its FTP gives what has been sent by
    then, and no more.
    """
    for event in theirs:
        flow = case.flows[event.flow]
        if event.kind != "S" or event.detail != "0":
            continue
        syn = int(case.preset == "ns235" and flow.variant != "vegas")
        if flow.packets is not None and event.number >= flow.packets + syn:
            return event
        if flow.stop is not None and event.time > flow.stop / 1000 + 1.0:
            return event
    return None


def compare(case: Case, phases: list[int], theirs: Events) -> str | None:
    """Runs the case through ours; its first difference from what ns-2 did."""
    mine = ours.events(run(ours.scenario(case, phases), seed=1))
    return difference(theirs, mine, case.duration / 1000 - MARGIN)


def traits(case: Case) -> list[str]:
    """Fields of the case that not every case has."""
    delays = [case.delay, *(flow.to_r1 for flow in case.flows), *(flow.from_r2 for flow in case.flows)]
    delays += [case.second.delay] if case.second else []
    delays += [case.back[1]] if case.back else []
    crossed = {
        (hop, flow.enters < flow.leaves)
        for flow in case.flows
        for hop in range(min(flow.enters, flow.leaves), max(flow.enters, flow.leaves))
    }
    has = {
        "a delay of zero": 0 in delays,
        "data towards r1": any(flow.enters > flow.leaves for flow in case.flows),
        "data both ways over one bottleneck": any((hop, not on) in crossed for hop, on in crossed),
        "a second bottleneck": case.second is not None,
        "more than one variant": len({flow.variant for flow in case.flows}) > 1,
        "another rate and delay back": case.back is not None,
        "packets held back": bool(case.late),
        "ACKs held back": bool(case.late_acks),
        "an application that stops as it starts": any(flow.stop == flow.start for flow in case.flows),
        "mark_p_ above 1": case.red is not None and case.red.mark_p > 1.0,
        "RED": case.red is not None,
        "RED and ECN": case.red is not None and case.ecn,
        "lost packets or ACKs by number": bool(case.losses or case.ack_losses),
        "an outage or a change of the rate": bool(case.outage or case.change),
    }
    return [name for name, holds in has.items() if holds] + list(case.variables)


class _Checked(NamedTuple):
    case: Case
    events: int
    ungiven: Event | None
    difference: str | None


def _check(case: Case) -> _Checked:
    phases, theirs = reference.run(case)
    fault = ungiven(case, theirs)
    return _Checked(case, len(theirs), fault, None if fault else compare(case, phases, theirs))


def _checked(todo: Iterator[Case], count: int) -> Iterator[_Checked]:
    """Checks cases until this number was compared, or there are no more."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        while batch := list(itertools.islice(todo, min(count, BATCH))):
            done = list(pool.map(_check, batch))
            count -= sum(checked.ungiven is None for checked in done)
            yield from done


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="random scenarios against the installed ns-2")
    parser.add_argument("--count", type=int, default=1000, help="how many (default 1000)")
    parser.add_argument("--seed", type=int, default=1, help="the first one's seed (default 1)")
    parser.add_argument("--wide", action="store_true", help="with all that ns-2 can set, and other networks")
    parser.add_argument("--classic", action="store_true", help="the classic one- to four-loss cases instead")
    arguments = parser.parse_args()
    if not reference.installed():
        print("ns-2 is not installed: there is no `ns` in the path", file=sys.stderr)
        return 2
    classic = cases.classic()
    draw = corners.draw if arguments.wide else cases.draw
    drawn = (draw(seed) for seed in itertools.count(arguments.seed))
    todo, count = (iter(classic), len(classic)) if arguments.classic else (drawn, arguments.count)
    agree: collections.Counter[str] = collections.Counter()
    total: collections.Counter[str] = collections.Counter()
    having: collections.Counter[str] = collections.Counter()
    compared, faults = 0, 0
    for case, events, fault, found in _checked(todo, count):
        variants = "+".join(sorted({flow.variant for flow in case.flows}))
        if fault:
            print(
                f"{case.name} ({variants}, {case.preset}): ns-2 sent data that no application had given: {fault}",
                flush=True,
            )
            faults += 1
            continue
        group = variants if "+" not in variants else "several"
        group = "with vegas" if "vegas" in variants and "+" in variants else group
        group += ", RED with ECN" if case.ecn and variants != "vegas" else ", RED" if case.red else ""
        total[group] += 1
        agree[group] += found is None
        compared += events
        having.update(traits(case))
        if found:
            print(f"{case.name} ({variants}, {case.preset}): {found}", flush=True)
        if total.total() % 50 == 0:
            print(f"{total.total()} of {count}, {agree.total()} agree", flush=True)
    for group in sorted(total):
        print(f"{group}: {agree[group]} of {total[group]} agree")
    for trait, number in having.most_common():
        print(f"with {trait}: {number}")
    print(f"all: {agree.total()} of {total.total()} agree, {compared} events of ns-2 compared")
    print(f"ns-2 sent what the application had not given: {faults} more")
    return 0 if agree == total else 1


if __name__ == "__main__":
    sys.exit(main())
