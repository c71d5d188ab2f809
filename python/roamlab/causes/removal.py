"""A scenario with one suspect removed: the change, and the changed scenario."""

from __future__ import annotations

from copy import deepcopy
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from roamlab import _roamlab
from roamlab.causes.places import Tables, fields_of
from roamlab.records.analysis import timeout_rtos, wait
from roamlab.records.constants import AMPLE, EXPIRIES
from roamlab.records.metrics import span_s
from roamlab.scenarios.scenario import Scenario, is_declared_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from roamlab.records.analysis import Stall, Suspect
    from roamlab.records.results import Results

LARGEST_RTO_NS = 1_000_000_000
"""A bound of a timer that is doubled, as in interactive systems: above RFC 6298's first RTO no wait gets longer."""
_LONG = "1 min"
_LONGEST_T304 = "10 s"
"""The largest value of TS 38.331."""
_MORE_MARKERS = 2
_LIMITS = ("limit", "buffer_limit")


class Removal(NamedTuple):
    """One change that takes a suspect away."""

    what: str
    """In words: "without the loss of `attach` of mh"."""
    scenario: Scenario | None
    """The changed scenario; None: the check refuses it."""
    refused: str = ""
    """Why it does: the field and what is wrong there."""


def removals(suspect: Suspect, stall: Stall, results: Results, scenario: Scenario) -> Iterator[Removal]:
    """Ways to take a suspect away, the smallest first. None if the scenario has no field for it."""
    makers: dict[str, Callable[..., Iterator[tuple[str, Tables]]]] = {
        "message lost": _without_fault,
        "message late": _without_fault,
        "packet lost": _without_drops,
        "random loss": _without_random_loss,
        "link change": _without_changes,
        "link outage": _without_outage,
        "end marker lost": _more_end_markers,
        "wrong prediction": _without_prediction,
        "wrong candidate": _without_candidates,
        "buffer too small": _larger_buffer,
        "timer too short": _longer_timer,
        "queue full": _longer_queue,
        "early drop": _longer_queue,
        "discard timer": _without_discard,
        "T304 expired": _longer_t304,
        "late path switch": _faster_switch,
        "t-Reordering": _without_reordering,
        "spurious timeout": _other_timer,
        "long timeout": _other_timer,
        "handover": _without_gap,
    }
    for what, data in makers[suspect.kind](suspect, stall, results, scenario):
        try:
            removal = Removal(what, Scenario.from_dict(data, scenario.name, f" ({what})"))
        except _roamlab.ScenarioError as error:
            removal = Removal(what, None, refusal(error))
        yield removal


def refusal(error: Exception) -> str:
    """The fault of a changed scenario, in one line."""
    if isinstance(error, _roamlab.ScenarioError):
        return f"`{error.field}`: {error.problem}" if error.field else error.problem
    return str(error).partition("\n")[0]


def _without_fault(
    suspect: Suspect, _stall: Stall, results: Results, scenario: Scenario
) -> Iterator[tuple[str, Tables]]:
    faults = scenario.to_dict().get("faults", [])
    sent = results.signalling.filter(pl.col("message").cast(pl.String) == suspect.name).sort("id")
    late = suspect.kind == "message late"
    for number, fault in enumerate(faults):
        host = fault.get("host")
        if fault["message"] != suspect.name or host not in (None, suspect.host) or late != ("delay" in fault):
            continue
        counted = sent if host is None else sent.filter(pl.col("host").cast(pl.String) == host)
        serials = counted["serial"].to_list()
        which = serials.index(suspect.serial) + 1 if suspect.serial in serials else 0
        word = "on time" if late else "not lost"
        if which in fault["occurrences"] and len(fault["occurrences"]) > 1:
            data = scenario.to_dict()
            data["faults"][number]["occurrences"].remove(which)
            yield f"`{suspect.name}` number {which} {word}", data
        data = scenario.to_dict()
        del data["faults"][number]
        if not data["faults"]:
            del data["faults"]
        yield f"every `{suspect.name}` {word}", data


def _without_drops(
    suspect: Suspect, _stall: Stall, _results: Results, scenario: Scenario
) -> Iterator[tuple[str, Tables]]:
    data = scenario.to_dict()
    found = fields_of(data, suspect.place)
    if found and found.table.pop(found.field("drops"), None):
        yield f"no packet lost by force at {suspect.place}", data


def _without_random_loss(
    suspect: Suspect, _stall: Stall, _results: Results, scenario: Scenario
) -> Iterator[tuple[str, Tables]]:
    data = scenario.to_dict()
    found = fields_of(data, suspect.place)
    if found is None:
        return
    table, forward = found.table, found.is_forward
    losses = [table.get("loss", 0.0), table.get("reverse_loss", table.get("loss", 0.0))]
    if not losses[0 if forward else 1]:
        return
    kept = [0.0, losses[1]] if forward else [losses[0], 0.0]
    table["loss"], table["reverse_loss"] = kept
    yield f"no random loss at {suspect.place}", data
    if any(kept):
        data = deepcopy(data)
        found = fields_of(data, suspect.place)
        if found is not None:
            found.table.update({"loss": 0.0, "reverse_loss": 0.0})
            yield f"no random loss at {suspect.place} and on the way back", data


def _without_changes(
    suspect: Suspect, _stall: Stall, _results: Results, scenario: Scenario
) -> Iterator[tuple[str, Tables]]:
    data = scenario.to_dict()
    found = fields_of(data, suspect.place)
    if found and found.table.pop("changes", None):
        yield f"the link {suspect.place} as it was at the start", data


def _without_prediction(
    suspect: Suspect, _stall: Stall, _results: Results, scenario: Scenario
) -> Iterator[tuple[str, Tables]]:
    for number, protocol in enumerate(_protocols(scenario.to_dict())):
        listed = protocol.get("predictions", [])
        kept = [
            each
            for each in listed
            if abs(span_s(each["at"]) - suspect.time_ns / 1e9) > 1e-6 or each["host"] != suspect.host
        ]
        if len(kept) < len(listed):
            data = scenario.to_dict()
            _protocols(data)[number]["predictions"] = kept
            yield f"no prediction for {suspect.host} at {suspect.time_ns / 1e9:.3f} s", data
        for share in ("wrong", "false_alarms"):
            if protocol.get("trigger", {}).get(share):
                data = scenario.to_dict()
                _protocols(data)[number]["trigger"][share] = 0.0
                yield f"trigger.{share} = 0", data


def _larger_buffer(
    suspect: Suspect, _stall: Stall, results: Results, scenario: Scenario
) -> Iterator[tuple[str, Tables]]:
    """Room for what the buffer lost; if that is not enough, for all."""
    drops = results.columns("drops")
    lost = int((drops.where("place", suspect.place) & drops.where("reason", "buffer-overflow")).sum())
    yield from _in_mobility(scenario, _LIMITS, ("buffer", "equaliser"), lambda limit: _more(limit, lost))
    yield from _in_mobility(scenario, _LIMITS, ("buffer", "equaliser"), lambda _: AMPLE)


def _more(limit: str, packets: int) -> str:
    """A limit with room for more packets; without limit, if it counts bytes."""
    number, _, unit = limit.partition(" ")
    return f"{int(number) + packets} pkt" if unit == "pkt" else AMPLE


def _longer_timer(
    _suspect: Suspect, _stall: Stall, _results: Results, scenario: Scenario
) -> Iterator[tuple[str, Tables]]:
    yield from _in_mobility(scenario, EXPIRIES, ("buffer", "timers"), lambda _: _LONG)


def _in_mobility(
    scenario: Scenario, names: tuple[str, ...], below: tuple[str, ...], other: Callable[[str], str]
) -> Iterator[tuple[str, Tables]]:
    """One field of a protocol after the other, written or by default, with another value."""
    for number, protocol in enumerate(_protocols(scenario.parameters)):
        for name in names:
            for table in ("", *below):
                holder = protocol.get(table, {}) if table else protocol
                if isinstance(holder, dict) and holder.get(name):
                    data, value = scenario.to_dict(), other(str(holder[name]))
                    own = _protocols(data)[number]
                    # A table that is not written has defaults of its protocol, which one with a single field lacks.
                    (own.setdefault(table, _written(holder)) if table else own)[name] = value
                    path = ".".join(filter(None, ("mobility", table, name)))
                    yield f"{path} {value} instead of {holder[name]}", data


def _with(scenario: Scenario, number: int, name: str, value: object) -> Tables:
    """One field of the protocol of this number with another value."""
    data = scenario.to_dict()
    _protocols(data)[number][name] = value
    return data


def _without_discard(
    _suspect: Suspect, _stall: Stall, _results: Results, scenario: Scenario
) -> Iterator[tuple[str, Tables]]:
    yield from _of_bearer(scenario, "discard_timer", "infinity")


def _without_reordering(
    _suspect: Suspect, _stall: Stall, _results: Results, scenario: Scenario
) -> Iterator[tuple[str, Tables]]:
    yield from _of_bearer(scenario, "t_reordering", "0 ms")


def _of_bearer(scenario: Scenario, name: str, value: str) -> Iterator[tuple[str, Tables]]:
    """One timer of the radio bearers with another value."""
    for number, protocol in enumerate(_protocols(scenario.parameters)):
        if isinstance(protocol.get("bearer"), dict):
            data = scenario.to_dict()
            _protocols(data)[number].setdefault("bearer", {})[name] = value
            yield f"mobility.bearer.{name} {value}", data


def _faster_switch(
    _suspect: Suspect, _stall: Stall, _results: Results, scenario: Scenario
) -> Iterator[tuple[str, Tables]]:
    for number, protocol in enumerate(_protocols(scenario.parameters)):
        # Of other protocols this field names who asks for the path switch.
        if isinstance(protocol.get("bearer"), dict):
            data = scenario.to_dict()
            _protocols(data)[number]["path_switch"] = "0 s"
            yield "mobility.path_switch 0 s", data


def _more_end_markers(
    _suspect: Suspect, _stall: Stall, _results: Results, scenario: Scenario
) -> Iterator[tuple[str, Tables]]:
    """Several end markers, of which one is enough; then no wait for them, or one that is over immediately."""
    for number, protocol in enumerate(_protocols(scenario.parameters)):
        if protocol.get("end_markers"):
            more = protocol["end_markers"] + _MORE_MARKERS
            told = f"mobility.end_markers {more} instead of {protocol['end_markers']}"
            yield told, _with(scenario, number, "end_markers", more)
        if protocol.get("reordering") is True:
            yield "mobility.reordering false", _with(scenario, number, "reordering", value=False)
    yield from _in_mobility(scenario, ("guard",), (), lambda _: "1 ms")


def _without_candidates(
    _suspect: Suspect, _stall: Stall, _results: Results, scenario: Scenario
) -> Iterator[tuple[str, Tables]]:
    """Another candidate where the first fails; then no conditional handover."""
    for number, protocol in enumerate(_protocols(scenario.parameters)):
        if protocol.get("attempt_candidate") is False:
            yield "mobility.attempt_candidate true", _with(scenario, number, "attempt_candidate", value=True)
        data = scenario.to_dict()
        if _protocols(data)[number].pop("conditional", None) is not None:
            yield "no conditional handover", data


def _longer_t304(
    _suspect: Suspect, _stall: Stall, _results: Results, scenario: Scenario
) -> Iterator[tuple[str, Tables]]:
    yield from _in_mobility(scenario, ("t304",), ("timers",), lambda _: _LONGEST_T304)


def _written(table: Tables) -> Tables:
    """A resolved table as a scenario may have it."""
    return {key: value for key, value in deepcopy(table).items() if value is not None}


def _longer_queue(
    suspect: Suspect, _stall: Stall, _results: Results, scenario: Scenario
) -> Iterator[tuple[str, Tables]]:
    data, place = scenario.to_dict(), suspect.place
    found, host = fields_of(data, place), place.partition("/air/")[2]
    if found is None:
        return
    for own in _protocols(data):
        own.pop("carry_marking_state", None)  # Drop-tail has no such state.
    table, name = found.table, found.field("queue")
    if found.is_uplink:
        table, name = data.setdefault("network", {}), "uplink_queue"
    elif host:
        table = table.setdefault("bearers", {}).setdefault("hosts", {}).setdefault(host, {})
    table[name] = {"kind": "droptail", "limit": AMPLE}
    yield f"a queue without limit at {place}", data


def _other_timer(
    suspect: Suspect, stall: Stall, results: Results, scenario: Scenario
) -> Iterator[tuple[str, Tables]]:
    """Another bound of the RTO: the upper one if it was doubled in the stall, then the lower one."""
    expired = timeout_rtos(results, stall)
    longest = max(expired, default=0)
    bounds = []
    if len(expired) > 1 and longest > LARGEST_RTO_NS:
        bounds.append(("max_rto", "1 s", "an RTO of at most 1 s (RFC 6298: at least 60 s)"))
    if suspect.kind == "long timeout":
        bounds.append(("min_rto", "50 ms", "an RTO of at least 50 ms"))
    elif wait(results, stall) is None:
        # Where the timer was late after the path had come back, a later one is no remedy.
        bounds.append(("min_rto", f"{2 * longest} ns", f"an RTO of at least {2 * longest / 1e9:.3g} s"))
    for number, flow in enumerate(scenario.to_dict().get("flows", [])):
        if is_declared_by(stall.flow, flow["name"]):
            for name, value, what in bounds:
                data = scenario.to_dict()
                data["flows"][number].setdefault("transport", {})[name] = value
                yield what, data


def _without_outage(
    suspect: Suspect, _stall: Stall, _results: Results, scenario: Scenario
) -> Iterator[tuple[str, Tables]]:
    """A constant rate in the place of the recording or the channel: its mean."""
    data, place = scenario.to_dict(), suspect.place
    found = fields_of(data, place)
    rate = found.table.get("rate") if found else None
    if not found or not isinstance(rate, dict):
        return
    mean = f"{_roamlab.mean_rate(scenario.text, scenario.name, place)} bit/s"
    found.table["rate"] = mean
    yield (
        f"a constant {mean} at {place} instead of the {'channel' if 'channel' in rate else 'recording'}",
        data,
    )


def _without_gap(
    _suspect: Suspect, _stall: Stall, results: Results, scenario: Scenario
) -> Iterator[tuple[str, Tables]]:
    """Each host enters its next cell when it leaves the last. Visits of a schedule take the place of the file."""
    data = scenario.to_dict()
    made = results.manifest
    changed = bool(data.get("radio", {}).get("gap"))
    if changed:
        data["radio"]["gap"] = "0 ns"
    for own, whole in zip(_protocols(data), _protocols(scenario.parameters), strict=True):
        detach = whole.get("detach_time") or "0 s"
        if isinstance(detach, dict) or span_s(detach) > 0.0:
            # Of LTE the gap is the host's own, a time or a law.
            own["detach_time"], changed = "0 ns", True
    if data.get("radio", {}).get("kind") == "802.11":
        # Here the gap is the time until the host has found its next cell.
        changed = True
        data["radio"] = {"kind": "hard", "gap": "0 ns"}
        for cell in data["cells"].values():
            cell.pop("channel", None)
    planned = {
        host["name"]: host["visits"] for host in scenario.expanded(made.seed, made.run).get("hosts", [])
    }
    for host in data.get("hosts", []):
        is_schedule = host.get("plan", {}).get("kind") == "schedule"
        if "visits" not in host and not is_schedule:
            continue
        visits = deepcopy(planned.get(host["name"], []))
        gaps = [(each, after) for each, after in pairwise(visits) if "until" in each]
        for each, after in gaps:
            after["at"] = each.pop("until")
        if gaps:
            changed = True
            host.pop("plan", None)
            host["visits"] = visits
    if changed:
        yield "changes of cells without a gap", data


def _protocols(data: Tables) -> list[Tables]:
    mobility = data.get("mobility") or []
    return mobility if isinstance(mobility, list) else [mobility]


def recorded(scenario: Scenario) -> Scenario:
    """The same scenario with the tables that the report of stalls needs switched on."""
    data = scenario.to_dict()
    data.setdefault("record", {}).update({"deliveries": True, "tcp": True, "packets": True})
    return Scenario.from_dict(data, scenario.name)
