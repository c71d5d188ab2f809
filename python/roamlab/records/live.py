"""Description of a run in real time: its programs, how late its packets were, and the TCP counters of the machine."""

from __future__ import annotations

import shlex
from typing import Any

MEANINGS = {
    "TCPTimeouts": "retransmission timeouts",
    "RetransSegs": "segments sent again",
    "TCPFastRetrans": "of them by a fast retransmit",
    "TCPLossProbes": "tail loss probes",
    "TCPSpuriousRTOs": "timeouts found spurious",
}
"""Counters of Linux (net/ipv4/proc.c), for people."""


def facts(live: dict[str, Any]) -> list[tuple[str, str]]:
    """Reported values of a run in real time: names and values. Empty for every other run."""
    if not live:
        return []
    late = live["lateness"]
    told = [
        (f"program at {live['node']}", shlex.join(live["command"])),
        *((f"server at {live['peer']}", server) for server in live["serve"]),
        ("begun", live["started"]),
        ("machine", f"{live['system']}, scheduling {live['scheduling']}"),
        ("packets that reached a program", f"{late['packets']:,}"),
        (
            "lateness",
            "of no packet"
            if not late["packets"]
            else ", ".join(
                f"{name} {_time(late[key])}"
                for name, key in (
                    ("median", "p50_ns"),
                    ("p99", "p99_ns"),
                    ("p99.9", "p999_ns"),
                    ("most", "max_ns"),
                )
            ),
        ),
        *(
            [("events that were late", f"{late['late_events']:,} of {late['events']:,}")]
            if late.get("late_events")
            else []
        ),
        ("comparable with other runs", "yes" if late["comparable"] else "no"),
    ]
    for node, counted in live["tcp"].items():
        words = [f"{counted[name]} {meaning}" for name, meaning in MEANINGS.items() if counted.get(name)]
        told.append((f"TCP at {node}", ", ".join(words) or "nothing sent again"))
    return told


def warnings(live: dict[str, Any]) -> list[str]:
    """A mark on a run whose packets, or whose simulation, were too late; none on every other run."""
    if not live or live["lateness"]["comparable"]:
        return []
    late = live["lateness"]
    events, late_events = late.get("events", 0), late.get("late_events", 0)
    if 1000 * late_events > events:
        return [
            "not comparable with other runs: the simulation was slower than the clock,"
            f" {late_events:,} of its {events:,} events happened more than 1 ms late;"
            " simulate fewer or slower flows with the program"
        ]
    p999 = _time(late["p999_ns"])
    return [f"not comparable with other runs: the lateness of its packets has a p99.9 of {p999}, above 1 ms"]


def _time(nanos: int) -> str:
    return f"{nanos / 1e6:.2f} ms" if nanos >= 1e6 else f"{nanos / 1e3:.0f} µs"
