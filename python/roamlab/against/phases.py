"""The random numbers of BBR in a kernel's run, as its packets show them.

ProbeBW begins with one of seven phases of the cycle of gains, which the kernel draws (`bbr_reset_probe_bw_mode`). Our
model runs with each of them. The one whose packets are longest those of the kernel is the kernel's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roamlab.running.run import run
from roamlab.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from roamlab.against.cases import Case
    from roamlab.records.results import Results

PHASES = (0, 2, 3, 4, 5, 6, 7)
"""Phases of the cycle with which ProbeBW may begin: not the one that drains."""

SAME_NS = 200_000
"""Packets are sent at the same time if their times differ by less: the kernel's are some hundred ns later."""


def packets_of(results: Results) -> dict[tuple[str, str], list[tuple[int, int, bool]]]:
    """The packets that the ends of each flow sent, by flow and node: time in ns, number, whether it was sent again."""
    import polars as pl

    rows = results.packets.filter(pl.col("event").cast(pl.String) == "send").select(
        pl.col("flow").cast(pl.String),
        pl.col("place").cast(pl.String),
        "time_ns",
        "number",
        "retransmission",
        "kind",
    )
    found: dict[tuple[str, str], list[tuple[int, int, bool]]] = {}
    for flow, place, time, number, again, kind in rows.iter_rows():
        if str(kind) != "syn":
            found.setdefault((flow, place), []).append((time, number, again))
    return found


def alike_until(
    kernel: dict[tuple[str, str], list[tuple[int, int, bool]]],
    ours: dict[tuple[str, str], list[tuple[int, int, bool]]],
) -> float:
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


def first_phases(case: Case, results: Results) -> list[int]:
    """The first phase of each flow in the kernel's run of a case, with its packets recorded."""
    kernel = packets_of(results)
    phases = [0] * case.flows
    for flow in range(case.flows):
        agreement = {}
        for phase in PHASES:
            phases[flow] = phase
            agreement[phase] = alike_until(kernel, packets_of(run_of(case, phases)))
        phases[flow] = max(PHASES, key=lambda phase: agreement[phase])
    return phases


def run_of(case: Case, phases: list[int]) -> Results:
    """Our run of a case with these phases, and its packets."""
    tables = case.scenario(kernel=False, phases=phases)
    tables["record"]["packets"] = True
    return run(Scenario.from_dict(tables, name=f"case {case.number}"), 1)
