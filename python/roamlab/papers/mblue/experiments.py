"""The scenarios of the paper: its one model, bent into the experiments of its figures.

A `Interpretation` is one choice of what the paper leaves open. Every experiment takes one, so that a claim can be
evaluated under each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from roamlab.papers.runs import Drawn, number, of_run
from roamlab.scenarios.scenario import Scenario, load

RESIDENTS = ("resident1", "resident2", "resident3")
FLOWS = ("moving", *RESIDENTS)

# Tables II and III. RED: of the open points, `wait` as in ns-2; packets, and not gentle, as in its text.
QUEUES: dict[str, dict[str, Any]] = {
    "droptail": {"kind": "droptail", "limit": "120 pkt"},
    "red": {
        "kind": "red",
        "limit": "120 pkt",
        "min_threshold": "40 pkt",
        "max_threshold": "80 pkt",
        "max_p": 0.02,
        "queue_weight": 0.002,
        "mean_packet": "512 B",
        "wait": True,
        "gentle": False,
    },
    "blue": {"kind": "blue", "limit": "120 pkt", "d1": 1e-4, "d2": 1e-5, "freeze_time": "1 ms"},
    "mblue": {
        "kind": "mblue",
        "limit": "120 pkt",
        "threshold": "80 pkt",
        "d1": 1e-4,
        "d2": 1e-5,
        "freeze_time": "1 ms",
    },
}
THRESHOLD_PKTS = 80
WINDOW_PKTS = 64


@dataclass(frozen=True)
class Interpretation:
    """One choice of the open points: fields are in `axes.toml`, statements of the text in `sentences.toml`."""

    rtt: str = "86/88/90 ms"
    beacon: str = "worst"
    min_rto: str = "200 ms"
    blue_random: bool = False
    forwarded_at_full: str = "reject"
    idle_mode: str = "event-and-arrival"
    freeze_time: str = "1 ms"
    max_p: float = 0.02
    gentle: bool = False
    stay: float | Drawn = Drawn(0.25, 0.75)
    both: bool = False
    red_wait: bool = True
    profile: str = "ns2-2009"
    early: bool = False
    stable: str = "from the first handoff on"

    def __str__(self) -> str:
        blue = "any drop" if self.blue_random else "overflow only"
        return (
            f"residents {self.rtt}; T_B {self.beacon}; RTO floor {self.min_rto}; BLUE updates on {blue}; "
            f"marked packet at a full queue: {self.forwarded_at_full}; empty by {self.idle_mode}; freeze time "
            f"{self.freeze_time}; RED {'' if self.gentle else 'not '}gentle, wait {'on' if self.red_wait else 'off'}, "
            f"P_max {self.max_p:g}; compared queue in {'both cells' if self.both else 'the new cell'}; visits last "
            f"{self.stay:g} of the time between them; TCP of {self.profile}; flows begin in "
            f"{'0.2 to 0.3 s' if self.early else '0.5 to 1.5 s'}; deviation of the queue {self.stable}"
        )


DEFAULT = Interpretation()
FIRST = of_run(DEFAULT, 0)
"""That of run 0."""

HANDOFF_S = 10.0
"""Figs. 11 and 12: the moving host enters the congested cell."""

SPAN_S = 40.0
VISITS_S = tuple(SPAN_S * part / 7 for part in (1, 3, 5))
"""Figs. 13 to 15: three visits in 40 s, as the other paper of the authors spaces them (interpretation A10)."""


def returns(interpretation: Interpretation = FIRST) -> tuple[float, ...]:
    """When the host leaves the congested cell again, in s."""
    return tuple(at + number(interpretation.stay) * 2 * SPAN_S / 7 for at in VISITS_S)


@cache
def model() -> Scenario:
    """The paper's simulation model (fig. 10)."""
    return load(Path(__file__).with_name("scenario.toml"))


def _queue(name: str, interpretation: Interpretation) -> dict[str, Any]:
    queue = dict(QUEUES[name])
    if name in ("blue", "mblue"):
        queue |= {"idle_mode": interpretation.idle_mode, "freeze_time": interpretation.freeze_time}
    if name == "red":
        queue |= {
            "wait": interpretation.red_wait,
            "gentle": interpretation.gentle,
            "max_p": interpretation.max_p,
        }
    if name == "blue":
        queue["update_on_random_drop"] = interpretation.blue_random
    if name == "mblue":
        queue["forwarded_at_full"] = interpretation.forwarded_at_full
    return queue


def _queues(name: str, interpretation: Interpretation) -> dict[str, Any]:
    """The compared queue, in the new cell or in both."""
    cells = ("bs1", "bs2") if interpretation.both else ("bs2",)
    return {f"cells.{cell}.queue": _queue(name, interpretation) for cell in cells}


def _read(scenario: Scenario, interpretation: Interpretation) -> Scenario:
    """The model under an interpretation."""
    changes: dict[str, Any] = {
        "mobility.tb_mode": interpretation.beacon,
        "run.profile": interpretation.profile,
    }
    if interpretation.rtt == "88/90/92 ms":
        # One millisecond more on the link between each resident's correspondent and the agent.
        changes |= {f"links.{at}.delay": f"{delay} ms" for at, delay in ((2, 40), (3, 41), (4, 42))}
    changes |= {f"flows.{flow}.transport.min_rto": interpretation.min_rto for flow in FLOWS}
    if interpretation.early:
        changes |= {f"flows.{flow}.app.start": "0.2 s" for flow in FLOWS}
        changes |= {f"flows.{flow}.app.start_within": "0.1 s" for flow in FLOWS}
    return scenario.set_all(changes)


def _named(scenario: Scenario, name: str) -> Scenario:
    return Scenario(scenario.text, f"mblue/{name}")


@cache
def one_handoff(queue: str, interpretation: Interpretation = DEFAULT) -> Scenario:
    """Figs. 11 and 12: one handoff at 10 s, watched until 14 s."""
    changes = {"run.duration": "14 s", **_queues(queue, interpretation)}
    return _named(_read(model(), interpretation).set_all(changes), f"one handoff, {queue}")


@cache
def wide_buffer(interpretation: Interpretation = DEFAULT) -> Scenario:
    """Fig. 11: the same with a buffer of three windows at the old base station, which does not bound the burst."""
    changes = {"mobility.buffer.limit": f"{3 * WINDOW_PKTS} pkt", "run.duration": "11 s"}
    return _named(one_handoff("mblue", interpretation).set_all(changes), "one handoff, wide buffer")


@cache
def three_handoffs(queue: str, interpretation: Interpretation = FIRST) -> Scenario:
    """Figs. 13 to 15: three handoffs into the congested cell within 40 s. The length of a visit is that of a run."""
    moves = sorted([(at, "bs2") for at in VISITS_S] + [(at, "bs1") for at in (0.0, *returns(interpretation))])
    visits = [{"cell": cell, "at": f"{round(at * 1e9)} ns"} for at, cell in moves]
    changes = {
        "run.duration": f"{SPAN_S:g} s",
        "hosts.mh.visits": visits,
        **_queues(queue, interpretation),
    }
    return _named(_read(model(), interpretation).set_all(changes), f"three handoffs, {queue}")


def _alone(interpretation: Interpretation, **mobility: Any) -> dict[str, Any]:
    """The model with the moving host alone, and other parameters of the mobility protocol."""
    mobility = {"tb_mode": interpretation.beacon} | mobility
    return {
        "run.profile": interpretation.profile,
        "hosts": [
            {
                "name": "mh",
                "home": "ha",
                "visits": [{"cell": "bs1", "at": "0 s"}, {"cell": "bs2", "at": "5 s"}],
            }
        ],
        "cells.bs2.queue": {"kind": "droptail", "limit": "1000 pkt"},
        **{f"mobility.{key}": value for key, value in mobility.items()},
    }


ALONE_S = 5.0
"""When the lone host of the experiments below moves."""

PROBE_INTERVAL_S = 0.001
_PROBES: list[dict[str, Any]] = [
    {
        "name": f"probe-{way}",
        "path": path,
        "app": {"kind": "cbr", "start": "1 s", "rate": "512 kbit/s", "packet": "64 B"},
    }
    for way, path in (("down", ["ch", "mh"]), ("up", ["mh", "ch"]))
]


@cache
def outage(route_optimisation: bool, interpretation: Interpretation = DEFAULT) -> Scenario:
    """Eq. 1: a probe each millisecond, both ways, and no buffer, so that the outage can be seen."""
    changes = _alone(
        interpretation,
        route_optimisation=route_optimisation,
        smooth_handoff=route_optimisation,
        buffer={"at": "none"},
    ) | {"run.duration": "7 s", "flows": _PROBES}
    return _named(
        model().set_all(changes), f"outage, route optimisation {'on' if route_optimisation else 'off'}"
    )


@cache
def detection(local_handoff: bool, interpretation: Interpretation = DEFAULT) -> Scenario:
    """Fig. 3: how soon the new agent knows that the host has moved; the phase of beacons is random."""
    changes = _alone(interpretation, local_handoff=local_handoff, tb_mode="uniform") | {
        "run.duration": "8 s",
        "flows": [],
    }
    return _named(model().set_all(changes), f"detection, local handoff {'on' if local_handoff else 'off'}")


def _floored(flow: dict[str, Any], interpretation: Interpretation) -> dict[str, Any]:
    return {**flow, "transport": {**flow["transport"], "min_rto": interpretation.min_rto}}


def _large(limit: str) -> dict[str, Any]:
    return {"at": "base-station", "limit": limit}


@cache
def transfer(way: str, interpretation: Interpretation = DEFAULT) -> Scenario:
    """Fig. 4: the moving host's transfer alone through large buffers.

    With the "detour", with "no detour", and with the detour and a "wait" of the new base station that keeps direct
    packets behind forwarded ones.
    """
    moving = [
        _floored(flow, interpretation) for flow in model().to_dict()["flows"] if flow["name"] == "moving"
    ]
    buffer = _large("1000 pkt") | {
        "detour": way != "no detour",
        "in_order_wait": "10 ms" if way == "wait" else "0 s",
    }
    changes = _alone(interpretation, buffer=buffer) | {
        "run.duration": "8 s",
        "flows": moving,
        "record.packets": True,
    }
    return _named(model().set_all(changes), f"transfer, {way}")


@cache
def many_flows(buffered: bool, interpretation: Interpretation = DEFAULT) -> Scenario:
    """Section II: one host with two TCP flows and a UDP flow, and one buffer, or none."""
    (moving,) = (
        _floored(flow, interpretation) for flow in model().to_dict()["flows"] if flow["name"] == "moving"
    )
    tcp = [
        {**moving, "name": name, "transport": {**moving["transport"], "window": "30 pkt"}}
        for name in ("tcp1", "tcp2")
    ]
    udp = {**_PROBES[0], "name": "udp", "app": {**_PROBES[0]["app"], "rate": "100 kbit/s", "packet": "200 B"}}
    buffer = _large("200 pkt") if buffered else {"at": "none"}
    changes = _alone(interpretation, buffer=buffer) | {"run.duration": "8 s", "flows": [*tcp, udp]}
    return _named(model().set_all(changes), f"many flows, {'buffered' if buffered else 'not buffered'}")
