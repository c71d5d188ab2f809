"""The random numbers of BBR in a kernel's run, as its packets show them.

ProbeBW begins with one of seven phases of the cycle of gains, which the kernel draws (`bbr_reset_probe_bw_mode`). Our
model runs with each of them. The one whose packets are longest those of the kernel is the kernel's. If they differ
before ProbeBW, this shows nothing. Then it is the one that has sent most nearly as much at each time of the two seconds
after that. Where ProbeBW begins again, after the rate of a policer, the phase is found in the same way.
"""

from __future__ import annotations

from bisect import bisect
from typing import TYPE_CHECKING

from roamlab.running.run import simulate
from roamlab.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roamlab.against.cases import Case, Phases
    from roamlab.records.results import Results

PHASES = (0, 2, 3, 4, 5, 6, 7)
"""Phases of the cycle with which ProbeBW may begin: not the one that drains."""

SAME_NS = 200_000
"""Packets are sent at the same time if their times differ by less: the kernel's are some hundred ns later."""

STEP_NS = 10_000_000
STEPS = 200
"""Packets are counted at this number of times, with this distance."""

Packets = dict[tuple[str, str], list[tuple[int, int, bool]]]
"""Packets that the ends of each flow sent, by flow and node: time in ns, number, whether it was sent
again."""


def packets_of(results: Results) -> Packets:
    """The packets of a run."""
    import polars as pl

    rows = results.packets.filter(pl.col("event").cast(pl.String) == "send").select(
        pl.col("flow").cast(pl.String),
        pl.col("place").cast(pl.String),
        "time_ns",
        "number",
        "retransmission",
        "kind",
    )
    found: Packets = {}
    for flow, place, time, number, again, kind in rows.iter_rows():
        if str(kind) != "syn":
            found.setdefault((flow, place), []).append((time, number, again))
    return found


def alike_until(kernel: Packets, ours: Packets) -> float:
    """When the first packets differ, in ns; infinity if none do."""
    first = float("inf")
    for end in kernel.keys() | ours.keys():
        one, other = kernel.get(end, []), ours.get(end, [])
        for before, after in zip(one, other, strict=False):
            if before[1:] != after[1:] or abs(before[0] - after[0]) > SAME_NS:
                first = min(first, before[0], after[0])
                break
        else:
            short = min(len(one), len(other))
            first = min([first, *(row[0] for row in [*one[short : short + 1], *other[short : short + 1]])])
    return first


def unlike(kernel: Packets, ours: Packets, since: float) -> float:
    """How far the two are apart from a time in ns on: segments sent until each step of two seconds, on average."""
    steps = [since + step * STEP_NS for step in range(STEPS)]
    apart = 0
    for end in kernel.keys() | ours.keys():
        one, other = ([row[0] for row in sent.get(end, [])] for sent in (kernel, ours))
        apart += sum(abs(bisect(one, step) - bisect(other, step)) for step in steps)
    return apart / STEPS


def found_phases(case: Case, results: Results) -> list[Phases]:
    """The phases of each flow in the kernel's run of a case, with its packets recorded."""
    kernel = packets_of(results)
    phases: list[Phases] = [(0,)] * case.flows
    for flow in range(case.flows):
        phases[flow] = _closest(case, kernel, phases, flow, [(phase,) for phase in PHASES])
    for flow in range(case.flows):
        first = phases[flow][0]
        other = PHASES[PHASES.index(first) - 1]
        repeated, changed = (_sent(case, phases, flow, (first, later)) for later in (first, other))
        begins_again = alike_until(repeated, changed) < float("inf")
        if begins_again:
            phases[flow] = _closest(case, kernel, phases, flow, [(first, later) for later in PHASES])
    return phases


def _closest(case: Case, kernel: Packets, phases: list[Phases], flow: int, choices: list[Phases]) -> Phases:
    """The choice for a flow whose packets are longest the kernel's, and of several the one least unlike it."""
    sent = {choice: _sent(case, phases, flow, choice) for choice in choices}
    alike = {choice: alike_until(kernel, sent[choice]) for choice in choices}
    longest = max(alike.values())
    best = [choice for choice in choices if alike[choice] == longest]
    if len(best) == 1 or longest == float("inf"):
        return best[0]
    theirs = _of_flow(kernel, flow)
    since = max(longest, min((rows[0][0] for rows in theirs.values()), default=0))
    return min(best, key=lambda choice: unlike(theirs, _of_flow(sent[choice], flow), since))


def _of_flow(packets: Packets, flow: int) -> Packets:
    return {end: rows for end, rows in packets.items() if end[0] == f"f{flow}"}


def _sent(case: Case, phases: list[Phases], flow: int, choice: Phases) -> Packets:
    """The packets of our run with this choice for a flow."""
    return packets_of(run_of(case, [*phases[:flow], choice, *phases[flow + 1 :]]))


def run_of(case: Case, phases: Sequence[Phases]) -> Results:
    """Our run of a case with these phases, and its packets."""
    tables = case.scenario(kernel=False, phases=phases)
    tables["record"]["packets"] = True
    return simulate(Scenario.from_dict(tables, name=f"case {case.number}"), 1)
