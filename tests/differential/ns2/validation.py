"""The families of ns-2's own validation suite, as Roamlab scenarios, compared with fingerprints of ns-2's events.

`python tests/differential/ns2/validation.py` runs the installed ns-2 and writes `tests/golden/ns2/validation.json`: for
each scenario the phases of the senders' clocks, and for each kind of event how many there were and the SHA-256 of them
all. Times in it are whole microseconds as ns-2 rounds them. The networks and settings are written from what is
published of the suite's families, on rates that both sides compute exactly (see `case.py`); no script of ns-2 is read.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import reference
from case import MILLISECOND, SECOND, VARIANTS, Case, Flow, Red, classic
from events import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from events import Events

FILE = Path(__file__).parents[2] / "golden/ns2/validation.json"
MARGIN = MILLISECOND
"""Nanoseconds before the end that are left out: the two end a run at the same time in different ways."""
_NO_VEGAS = VARIANTS[:-1]


def _one(name: str, variant: str, **other: Any) -> Case:
    """One flow over 8 Mbit/s - 0.8 Mbit/s, 100 ms, a queue of 8: Fall and Floyd's network of 1996."""
    flow = Flow(variant, MILLISECOND // 10, MILLISECOND // 10, 0)
    case = Case(
        name=name,
        preset="ns235",
        segment=1000,
        window=28,
        delayed_ack=False,
        flows=[flow],
        access_rate=8_000_000,
        rate=800_000,
        delay=100 * MILLISECOND,
        queue=8,
        duration=6 * SECOND,
        losses=[],
        ack_losses=[],
    )
    return replace(case, **other)


def _two(name: str, variants: Iterable[str], **other: Any) -> Case:
    """Flows that share Floyd and Jacobson's network of 1993: 10 Mbit/s, 2 and 3 ms, to a bottleneck of 20 ms."""
    flows = [
        Flow(variant, (2 + index) * MILLISECOND, (4 + index) * MILLISECOND, index * 300 * MILLISECOND)
        for index, variant in enumerate(variants)
    ]
    network = {"flows": flows, "window": 15, "rate": 1_600_000, "delay": 20 * MILLISECOND, "queue": 25}
    return replace(_one(name, "reno", **{"access_rate": 10_000_000, **network}), **other)


def _red(**other: Any) -> Red:
    red = Red(5, 15, 0.002, 50, 500, gentle=False, wait=True, bytes=False, queue_in_bytes=False, use_mark_p=False,
              mark_p=0.1, setbit=False)  # fmt: skip
    return replace(red, **other)


def _variants() -> Iterator[Case]:
    """`tcpVariants`: one to four losses in a window, many, of a retransmission too, of the first segments."""
    for case in classic():
        if case.preset == "ns235":
            yield replace(case, name=f"tcpVariants: {case.name}")
    for variant in VARIANTS:
        yield _one(f"tcpVariants: many, {variant}", variant, losses=[24, 26, 28, 30, 32, 34])
        yield _one(f"tcpVariants: the retransmission too, {variant}", variant, losses=[14, 22, 24], queue=30)
        yield _one(f"tcpVariants: the first, {variant}", variant, losses=[1], queue=30)
        yield _one(f"tcpVariants: no loss by force, {variant}", variant, window=40, duration=12 * SECOND)


def _newreno() -> Iterator[Case]:
    """`newreno`: bursts of losses, with what newer and older versions do of partial ACKs."""
    for name, variables in {
        "unchanged": {},
        "slow but steady": {"newreno_changes1_": 0},
        "whole deflation": {"partial_window_deflation_": 0},
        "capped exit": {"exit_recovery_fix_": 1},
        "unguarded": {"bugFix_": 0},
        "unguarded at the start": {"bugfix_ss_": 0},
        "guarded at the start": {"bugfix_ss_": 1},
    }.items():
        losses = [1, 2, 3] if "start" in name else [14, 15, 18, 19, 20]
        yield _one(f"newreno: {name}", "newreno", losses=losses, variables=variables, queue=30)
    yield _one("newreno: a delayed ACK for two", "newreno", losses=[14, 15, 18], delayed_ack=True, queue=30)


def _sack() -> Iterator[Case]:
    """`sack`: two connections, few blocks, lost ACKs, long windows."""
    for variant in ("sack", "fack"):
        yield _two(f"sack: two flows, {variant}", [variant, variant], queue=6)
        yield _one(f"sack: lost ACKs, {variant}", variant, losses=[14, 20], ack_losses=[8, 9, 20, 21, 22])
        yield _one(
            f"sack: one block, {variant}", variant, losses=[14, 17, 20, 23], variables={"maxSackBlocks_": 1}
        )
        yield _one(f"sack: delayed ACKs, {variant}", variant, losses=[14, 17], delayed_ack=True)
    yield _one(
        "sack: copies reported", "sack", losses=[14], ack_losses=[20, 21], variables={"generateDSacks_": 1}
    )
    yield _one("sack: a long window", "sack", window=100, queue=60, duration=12 * SECOND)


def _tcp() -> Iterator[Case]:
    """`tcp`: initial windows, timers, options of the receiver, packets held back, a slow way back."""
    for window in (1, 3, 4, 10):
        yield _one(f"tcp: initial window {window}", "sack", variables={"windowInit_": window})
    for variant in ("reno", "newreno", "sack"):
        yield _one(f"tcp: timestamps, {variant}", variant, losses=[14], variables={"timestamps_": 1})
    for name, on in (("immediate", 1), ("delayed", 0)):
        yield _one(f"tcp: first ACK {name}", "reno", delayed_ack=True, variables={"SYN_immediate_ack_": on})
    for variant in _NO_VEGAS:
        held = {"late": [[14, 15], [60 * MILLISECOND]], "queue": 30}
        yield _one(f"tcp: held back, {variant}", variant, **held)
    yield _one("tcp: no limited transmit", "reno", losses=[6], window=4, variables={"singledup_": 0})
    yield _one("tcp: limited transmit", "reno", losses=[6], window=4)
    yield _one("tcp: bursts of 3", "tahoe", ack_losses=[10, 11, 12, 13], variables={"maxburst_": 3})
    yield _one(
        "tcp: no restart when idle", "reno", variables={"slow_start_restart_": 0}, outage=[SECOND, 2 * SECOND]
    )
    yield _one("tcp: deep backoff", "reno", outage=[SECOND, 20 * SECOND], duration=60 * SECOND)
    yield _one("tcp: deep backoff, BSD", "reno", variables={"rfc2988_": 0}, outage=[SECOND, 20 * SECOND],
               duration=60 * SECOND)  # fmt: skip
    for variant in ("reno", "sack"):
        yield _one(
            f"tcp: a slow way back, {variant}", variant, back=[25_600, 10 * MILLISECOND], duration=12 * SECOND
        )
    yield _one("tcp: coarse clock", "reno", losses=[14, 22, 24], variables={"tcpTick_": 500 * MILLISECOND})
    both = [
        Flow("reno", 0, 0, 0),
        Flow("reno", MILLISECOND, MILLISECOND, 50 * MILLISECOND, enters=1, leaves=0),
    ]
    yield _one("tcp: both ways", "reno", flows=both)


def _red_queues() -> Iterator[Case]:
    """`red`: Floyd and Jacobson's thresholds, gentle, in bytes, with marks, both ways."""
    long = {"duration": 10 * SECOND, "window": 30}
    yield _two("red: two flows", ["reno", "reno"], red=_red(), **long)
    yield _two("red: gentle", ["reno", "reno"], red=_red(gentle=True), **long)
    yield _two("red: in bytes", ["sack", "sack"], red=_red(queue_in_bytes=True, bytes=True), **long)
    yield _two("red: no wait", ["newreno", "newreno"], red=_red(wait=False), **long)
    yield _two("red: quick average", ["reno", "sack"], red=_red(q_weight=0.05), **long)
    for variant in ("tahoe", "reno", "newreno", "sack"):
        yield _two(f"red: marks, {variant}", [variant] * 2, red=_red(setbit=True), ecn=True, **long)
    yield _two("red: drops above a probability", ["reno"] * 3, red=_red(setbit=True, use_mark_p=True, linterm=5),
               ecn=True, **long)  # fmt: skip
    case = _two("red: both ways", ["reno", "reno"], red=_red(), **long)
    yield replace(case, flows=[case.flows[0], replace(case.flows[1], enters=1, leaves=0)])


def cases() -> list[Case]:
    """All of them."""
    families = (_variants, _newreno, _sack, _tcp, _red_queues)
    return [case for family in families for case in family()]


def fingerprint(case: Case, events: Events, *, micros: bool) -> dict[str, list[Any]]:
    """For each kind how many there are and their SHA-256; `micros`: times are already those of ns-2's trace."""
    end = _micros(case.duration - MARGIN)
    found = {}
    for kind in KINDS:
        lines = []
        for event in events:
            if event.kind != kind:
                continue
            nanoseconds = event.time * 1000
            at = _rounded(nanoseconds) if micros else _micros(round(nanoseconds))
            if at < end:
                lines.append(f"{at} {event.flow} {event.number} {event.detail}\n")
        found[kind] = [len(lines), hashlib.sha256("".join(lines).encode()).hexdigest()]
    return found


def _micros(nanoseconds: int) -> int:
    """ns-2's microseconds of what is n / 2**30 of its seconds, rounded as it rounds them."""
    return (nanoseconds * 15625 + 2**23) >> 24


def _rounded(nanoseconds: float) -> int:
    """Of a time that ns-2 has rounded already."""
    return round(nanoseconds * 15625 / 2**24)


def record() -> None:
    """Runs ns-2 and keeps the fingerprints."""
    kept = {}
    for case in cases():
        phases, events = reference.run(case)
        kept[case.name] = {"phases": phases, **fingerprint(case, events, micros=True)}
    FILE.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    record()
