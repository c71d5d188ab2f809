"""A case as a Roamlab scenario, and the events of our run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import variables
from case import PRESETS
from events import Event
from roamlab import _roamlab
from roamlab.scenarios.scenario import Scenario
from roamlab.traces.run import packets

if TYPE_CHECKING:
    from case import Case, Flow
    from events import Events
    from roamlab.records.results import Results
    from roamlab.traces.event import Event as Recorded


def _time(nanoseconds: int) -> str:
    return f"{nanoseconds} ns"


_SCHEMA = json.loads(_roamlab.schema())["$defs"]
_RULES = set(_SCHEMA["TcpProfile"]["properties"])
"""Fields that a profile sets, and not a flow."""


def _flow(case: Case, index: int, flow: Flow, phase: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A flow, and its profile."""
    tcp: dict[str, Any] = {
        "variant": flow.variant,
        "segment": f"{case.segment} B",
        "window": f"{case.window} pkt",
        "tick_phase": _time(phase),
        "delayed_ack": "100 ms" if case.delayed_ack else "0 s",
        "ecn": case.ecn and flow.variant != "vegas",
    }
    if flow.thresholds:
        thresholds = zip(("alpha", "beta", "gamma"), flow.thresholds, strict=True)
        tcp["congestion_control"] = {"kind": "vegas"} | {name: f"{value} pkt" for name, value in thresholds}
    tcp |= variables.transport(case.variables, flow.variant, delayed_ack=case.delayed_ack)
    app: dict[str, Any] = {"kind": "ftp", "start": _time(flow.start)}
    if flow.packets is not None:
        app["packets"] = f"{flow.packets} pkt"
    if flow.stop is not None:
        app["stop"] = _time(flow.stop)
    rules = {name: value for name, value in tcp.items() if name in _RULES}
    transport = {name: value for name, value in tcp.items() if name not in _RULES}
    written = {
        "name": f"f{index}",
        "path": [f"s{index}", f"d{index}"],
        "transport": {"kind": "tcp", "profile": f"f{index}", **transport},
        "app": app,
    }
    return written, {"based_on": PRESETS[case.preset], **rules}


def _queue(case: Case) -> dict[str, Any]:
    limit = f"{case.queue} pkt"
    if case.red is None:
        return {"kind": "droptail", "limit": limit, "count_in_service": True}
    return {
        "kind": "red",
        "rules": "ns2",
        "limit": limit,
        "min_threshold": f"{case.red.thresh} pkt",
        "max_threshold": f"{case.red.maxthresh} pkt",
        "max_p": 1.0 / case.red.linterm,
        "queue_weight": case.red.q_weight,
        "mean_packet": f"{case.red.mean_packet} B",
        "gentle": case.red.gentle,
        "wait": case.red.wait,
        "threshold_unit": "bytes" if case.red.queue_in_bytes else "packets",
        "probability_unit": "bytes" if case.red.bytes else "packets",
        "use_mark_p": case.red.use_mark_p,
        "mark_p_max": case.red.mark_p,
        "mark_ecn": case.red.setbit,
    }


def _bottleneck(case: Case) -> dict[str, Any]:
    link: dict[str, Any] = {
        "between": ["r1", "r2"],
        "rate": f"{case.rate} bit/s",
        "delay": _time(case.delay),
        "queue": _queue(case),
        "changes": [],
    }
    if case.losses:
        link["drops"] = [{"packets": case.losses}]
    if case.ack_losses:
        link["reverse_drops"] = [{"packets": case.ack_losses}]
    if case.late:
        ordinals, [delay] = case.late
        link["drops"] = [{"packets": ordinals, "delay": _time(delay)}]
    if case.late_acks:
        ordinals, [delay] = case.late_acks
        link["reverse_drops"] = [{"packets": ordinals, "delay": _time(delay)}]
    if case.back:
        rate, delay = case.back
        link |= {"reverse_rate": f"{rate} bit/s", "reverse_delay": _time(delay)}
    if case.outage:
        begin, length = case.outage
        link["changes"] += [{"at": _time(begin), "up": False}, {"at": _time(begin + length), "up": True}]
    if case.change:
        at, rate, delay = case.change
        link["changes"] += [{"at": _time(at), "rate": f"{rate} bit/s", "delay": _time(delay)}]
    return link


def scenario(case: Case, phases: list[int]) -> Scenario:
    """The case in our format; `phases`: nanoseconds into a tick at which the senders' clocks begin."""
    links = [_bottleneck(case)]
    if case.second:
        hop = case.second
        queue = {"kind": "droptail", "limit": f"{hop.queue} pkt", "count_in_service": True}
        ends = {"between": ["r2", "r3"], "rate": f"{hop.rate} bit/s", "delay": _time(hop.delay)}
        links.append({**ends, "queue": queue})
    for index, flow in enumerate(case.flows):
        rate = f"{case.access_rate} bit/s"
        first, last = f"r{flow.enters + 1}", f"r{flow.leaves + 1}"
        links.append({"between": [f"s{index}", first], "rate": rate, "delay": _time(flow.to_r1)})
        links.append({"between": [last, f"d{index}"], "rate": rate, "delay": _time(flow.from_r2)})
    flows = [
        _flow(case, index, flow, phase)
        for index, (flow, phase) in enumerate(zip(case.flows, phases, strict=True))
    ]
    tables = {
        "run": {"duration": _time(case.duration), "random_numbers": "ns2"},
        "tcp_profiles": {flow["name"]: profile for flow, profile in flows},
        "network": {"queue": {"kind": "droptail", "limit": "100000 pkt"}},
        "links": links,
        "flows": [flow for flow, _ in flows],
        "record": {"packets": True, "deliveries": False, "queues": ["r1->r2"]},
    }
    return Scenario.from_dict(tables, name=case.name)


def events(results: Results) -> Events:
    """Events of our run."""
    return [_event(event) for event in packets(results)]


def _event(event: Recorded) -> Event:
    kind, detail = event.kind, event.value
    if kind in "DB":
        cause = "q" if event.note.endswith((" queue-overflow", " early-drop")) else "l"
        kind, detail = "D", cause + ("a" if kind == "B" else "")
    return Event(kind, event.time_ns / 1000, int(event.flow[1:]), int(event.what), detail)
