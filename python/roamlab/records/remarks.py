"""Warnings about a run that its tables give."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab.base.quantities import counted
from roamlab.records.metrics import span_s
from roamlab.scenarios import profiles
from roamlab.scenarios.scenario import is_declared_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence, Set

    from numpy.typing import NDArray

    from roamlab.records.columns import Columns

MOST_ROWS = 100_000
"""Runs with more deliveries are not looked at: the tables would be read whole."""

MOST_FLOWS = 1000
"""Flows of runs with more are not looked at for ones that nothing reaches: the scenario would be read whole."""

_LEAST = 50
"""A flow with fewer deliveries shows too little."""
_NAMED = 3
_ASKED = ("requests", "program", "web", "dash")
_WAITING, _BUSY, _MOST = 0.25, 0.9, 0.5


def window_limited(
    deliveries: Columns,
    tcp: Columns,
    windows: Mapping[str, float],
    ends: Mapping[str, tuple[str, str]],
    capped: Set[str] = frozenset(),
) -> list[str]:
    """One line on the flows whose data was sent at the pace of the window and not of the network; none without such.

    `windows` are the largest windows, in segments, of the flows that always have data to send, `ends` where each flow
    comes from and goes, `capped` those whose window is the `max_cwnd` of their profile. A packet is limited by the
    window if cwnd was at least that large when it was sent, and the packet waited less than a quarter of the smallest
    round trip. That is twice the smallest one-way delay of all flows with the same ends. A flow is limited if more than
    half of its data is, and the narrowest link, judged by the spacing of arrivals, was idle for more than a tenth of
    that time.
    """
    found = {}
    cwnds = dict(_by_flow(tcp))
    delays = deliveries["time_ns"].astype(np.int64) - deliveries["sent_ns"].astype(np.int64)
    arrived = {flow: rows for flow, rows in _by_flow(deliveries) if rows.size}
    least: dict[tuple[str, str], int] = {}
    for flow, rows in arrived.items():
        least[ends[flow]] = min(int(delays[rows].min()), least.get(ends[flow], np.iinfo(np.int64).max))
    for flow, rows in arrived.items():
        if flow in windows and flow in cwnds:
            fresh = rows[deliveries["fresh"][rows]]
            share = _limited(deliveries, fresh, tcp, cwnds[flow], windows[flow], least[ends[flow]])
            if share > _MOST:
                found[flow] = share
    if not found:
        return []
    listed = [f"{flow} ({windows[flow]:g} pkt, {share:.0%} of its data)" for flow, share in found.items()]
    more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    field = "`max_cwnd` in the profile" if set(found) <= capped else "`transport.window`"
    return [
        f"limited by the TCP window and not by the network: {', '.join(listed[:_NAMED])}{more}; a larger "
        f"{field} carries more"
    ]


def _limited(
    deliveries: Columns,
    rows: NDArray[np.integer],
    tcp: Columns,
    events: NDArray[np.integer],
    window: float,
    least_ns: int,
) -> float:
    """The share of a flow's data that its window limited; 0 if the path was busy anyway.

    `least_ns` is the one-way delay of the path without queues.
    """
    if rows.size < _LEAST:
        return 0.0
    arrived, sent = (deliveries[column][rows].astype(np.int64) for column in ("time_ns", "sent_ns"))
    delays = arrived - sent
    at = np.searchsorted(tcp["time_ns"][events].astype(np.int64), sent, side="right")
    cwnd = np.concatenate([[1.0], tcp["cwnd"][events]])[at]
    limited = (cwnd >= window) & (delays - least_ns <= _WAITING * 2 * least_ns)
    gaps = np.diff(arrived)
    among = gaps[limited[1:] & limited[:-1]]
    # Of one packet at a time the spacing of arrivals shows the round trip, and not the narrowest link.
    if window <= 1:
        return float(limited.mean())
    apart = gaps[gaps > 0]
    if among.sum() == 0 or np.percentile(apart, 5) * among.size > _BUSY * among.sum():
        return 0.0
    return float(limited.mean())


def _by_flow(table: Columns) -> Iterator[tuple[str, NDArray[np.integer]]]:
    """The rows of each flow in their order, with one pass over the table."""
    codes = table["flow"]
    order = np.argsort(codes, kind="stable")
    ends = np.flatnonzero(np.diff(codes[order], append=-1)) + 1
    for rows in np.split(order, ends[:-1]) if order.size else ():
        yield table.words("flow", rows[:1])[0], rows


def capped(parameters: Mapping[str, Any], windows: Mapping[str, float]) -> set[str]:
    """Those of these flows whose largest window is the `max_cwnd` of their profile."""
    written = {
        spec["name"]: profiles.of_flow(parameters, spec.get("transport", {})).get("max_cwnd")
        for spec in parameters.get("flows", [])
    }
    most = {flow: written.get(flow, written.get(flow.rpartition("-")[0])) for flow in windows}
    return {flow for flow, cap in most.items() if cap and float(str(cap).split()[0]) == windows[flow]}


def greedy_windows(parameters: Mapping[str, Any], flows: Sequence[str]) -> dict[str, float]:
    """The largest windows, in segments, of the flows that send a file over TCP.

    `parameters` is the scenario with every default; the name of a group represents its members.
    """
    written = {}
    for spec in parameters.get("flows", []):
        transport = spec.get("transport", {})
        if spec.get("app", {}).get("kind") == "ftp" and transport.get("kind") == "tcp":
            profile = profiles.of_flow(parameters, transport)
            window = transport.get("window") or _default_window(profile["based_on"], transport.get("variant"))
            most = float(str(profile.get("max_cwnd") or 0).split()[0])
            written[spec["name"]] = min(float(str(window).split()[0]), most or np.inf)
    members = {flow: flow if flow in written else flow.rpartition("-")[0] for flow in flows}
    return {flow: written[name] for flow, name in members.items() if name in written}


def unreached(
    flows: Sequence[Mapping[str, Any]], parameters: Mapping[str, Any], lost: Callable[[str], tuple[int, str]]
) -> list[str]:
    """A line for each flow of which nothing arrived, the first three; not for flows that ask for data, or of programs.

    `flows` are the rows of the table of this name. `lost` gives the number of packets that a flow lost, and where and
    why most of them.
    """
    apps = {spec.get("name"): spec.get("app", {}) for spec in parameters.get("flows", [])}
    own = {name: app for name, app in apps.items() if name and app.get("kind") not in _ASKED}
    dead = []
    for row in flows:
        name = next((each for each in own if is_declared_by(row["flow"], each)), None)
        is_late = name is not None and own[name].get("start_within", "0 ns") != "0 ns"
        if name is not None and not row["delivered_pkts"] and (row["start_ns"] >= 0 or is_late):
            dead.append(row)
    found = []
    for row in dead[:_NAMED]:
        if row["start_ns"] < 0:
            name = next(each for each in own if is_declared_by(row["flow"], each))
            ended = "its `stop`" if own[name].get("stop") else "the end of the run"
            found.append(f"flow {row['flow']} never started: its random start came after {ended}")
            continue
        count, most = lost(row["flow"])
        lost_words = f"{counted(count, 'packet of it was', 'packets of it were')} lost, {most}"
        why = lost_words if count else "what it sent was still on the way when the run ended"
        found.append(f"flow {row['flow']}: no data arrived; {why}")
    more = [f"no data of {len(dead) - _NAMED} more flows arrived"] if len(dead) > _NAMED else []
    return found + more


def lost_first(
    flows: Sequence[Mapping[str, Any]], lost: Sequence[tuple[str, str, str, int]], known: Mapping[str, int]
) -> list[str]:
    """A line for each flow of TCP or QUIC, the first three, whose first packet was lost before its host was known.

    Such a flow begins after a timeout. `flows` are rows of the table of this name. `lost` has flow, place, reason and
    time of sending of packets lost, `known` the time in ns at which each host was registered first.
    """
    found = []
    firsts = {(flow, sent): (place, reason) for flow, place, reason, sent in lost if reason in _UNKNOWN}
    for row in flows:
        first = firsts.get((row["flow"], row["start_ns"]))
        host = next((each for each in (row["destination"], row["source"]) if each in known), None)
        if first is None or host is None or row["kind"] not in _CONNECTED or known[host] <= row["start_ns"]:
            continue
        place, reason = first
        until = known[host] / 1e9
        found.append(
            f"flow {row['flow']}: its first packet, at {row['start_ns'] / 1e9:g} s, was lost at {place} ({reason}): "
            f"host {host} was registered at {until:.3f} s, and the flow waited for a timeout; write a later `start` in "
            f'its `app`, for example "{math.ceil(10 * until) / 10:g} s"'
        )
    return found[:_NAMED]


REGISTERED = (
    "registered",
    "home-agent-registered",
    "globally-registered",
    "session-known",
    "host-attached",
    "path-set-up",
    "route-switched",
    "anchor-bound",
    "path-joined",
    "attached",
    "service-restored",
)
"""Phases of the protocols by which a host can be found."""

_UNKNOWN = ("no-binding", "no-route", "detached", "link-down")
_CONNECTED = ("tcp", "quic", "quinn", "linux")


def idle_queue(parameters: Mapping[str, Any], busy: Mapping[str, float], dropped: Set[str]) -> list[str]:
    """A line for a queue discipline of `[network]` that had nothing to do, though cells have their own queues.

    `busy` is the share of time in which each one-way link was busy, `dropped` the places where queues lost packets.
    """
    queue = parameters["network"]["queue"]
    if queue["kind"] in _PASSIVE or queue.get("mark_ecn") or not parameters.get("cells"):
        return []
    used = [
        name
        for link in parameters.get("links", [])
        for field, name in zip(("queue", "reverse_queue"), _ways(link), strict=True)
        if not link.get(field)
    ]
    if not used or any(name in dropped or busy.get(name, 0.0) > _LITTLE for name in used):
        return []
    return [
        f"network.queue: its links were busy for at most {max(busy.get(name, 0.0) for name in used):.0%} of the time, "
        f'and "{queue["kind"]}" dropped nothing; the queues of cells are their own: write `queue` in `[cells.NAME]`'
    ]


_PASSIVE = ("droptail", "head-drop", "dualpi2")
_LITTLE = 0.3
"""The queue of a link that is busy for less than this share is empty most of the time."""


def _ways(link: Mapping[str, Any]) -> tuple[str, str]:
    """The names of the two one-way links of a wired link."""
    one, other = link["between"]
    return f"{one}->{other}", f"{other}->{one}"


def complete_before_moves(flows: Sequence[tuple[str, str, str, int]], first: Mapping[str, int]) -> list[str]:
    """A line for each host, of the first three, whose flows were all complete before it left its first cell.

    `flows` are name, source, destination and time of completion in ns, -1 for none; `first` is when each host left
    its first cell, in ns.
    """
    found = []
    for host, left in first.items():
        own = {name: done for name, source, destination, done in flows if host in (source, destination)}
        if own and all(0 <= done < left for done in own.values()):
            name, done = max(own.items(), key=lambda each: each[1])
            found.append(
                f"flow {name} was complete at {done / 1e9:.3f} s, and host {host} left its first cell at "
                f"{left / 1e9:.3f} s: no data went through a handover; write a larger `size`, or an earlier visit"
            )
    return found[:_NAMED]


def no_handover(parameters: Mapping[str, Any]) -> str:
    """A line for a run in which hosts were to change cells, and none did."""
    way = next(
        (number for number, host in enumerate(parameters.get("hosts", [])) if host.get("trajectory")), None
    )
    if way is None:
        return "no host left a cell: the run has no handover, though hosts visit several cells"
    return (
        "no host left a cell: the run has no handover, though hosts move; write points nearer to another cell in "
        f"`hosts[{way}].trajectory.waypoints_m`, a longer `run.duration`, or a smaller hysteresis"
    )


@cache
def _default_window(profile: str, variant: str | None) -> str:
    """The largest window of a flow that leaves it to the profile; "inf" if the profile has none."""
    parameters = {row["parameter"]: row["value"] for row in profiles.profile(profile, variant)}
    return str(parameters.get("window", "inf"))


def unmet(
    parameters: Mapping[str, Any],
    messages: Sequence[tuple[str, str | None]],
    sent: Mapping[str, int],
    lost: Sequence[tuple[str, str]],
) -> list[str]:
    """A line for each fault, and each list of forced drops, that asks for more than the run had.

    `messages` are name and host of each message of the run, `sent` the packets of each flow, `lost` place and flow of
    each forced loss.
    """
    found = []
    for number, fault in enumerate(parameters.get("faults", [])):
        name, host, last = fault["message"], fault.get("host"), max(fault["occurrences"])
        count = sum(1 for message, about in messages if message == name and host in (None, about))
        whose = f" about host {host}" if host else ""
        if count == 0:
            found.append(
                f"faults[{number}]: no `{name}`{whose} was sent in this run, so the fault has no effect; write another "
                "message of the table `signalling`, or leave the fault out"
            )
        elif count < last:
            found.append(
                f"faults[{number}]: message {last} of `{name}`{whose} was never sent: the run had {count}; write a "
                f"number up to {count}"
            )
    for number, link in enumerate(parameters.get("links", [])):
        for field, place in zip(("drops", "reverse_drops"), _ways(link), strict=True):
            for position, drop in enumerate(link.get(field, [])):
                flow, where = drop.get("flow"), f"links[{number}].{field}[{position}]"
                if drop.get("delay") or (flow is not None and flow not in sent):
                    continue
                if flow is None and not any(at == place for at, _ in lost):
                    found.append(
                        f"{where}: no packet was lost: none with these numbers entered {place}; write smaller "
                        "numbers, or another link"
                    )
                if flow is not None and not any(at == place and whose == flow for at, whose in lost):
                    found.append(
                        f"{where}: no packet was lost: flow `{flow}` sent {counted(sent[flow], 'packet')}, and none "
                        f"with these numbers entered {place}; write smaller numbers, or another link of its path"
                    )
    return found


def unused(parameters: Mapping[str, Any], idle: Set[str]) -> list[str]:
    """A line for each wired link that loses packets at random or changes, and that no packet used in the run.

    `idle` are the names of one-way links at whose queue no packet arrived.
    """
    found = []
    for number, link in enumerate(parameters.get("links", [])):
        one, other = link["between"]
        what = next((name for name in ("loss", "reverse_loss", "changes") if link.get(name)), None)
        if what and {*_ways(link)} <= idle:
            found.append(
                f"links[{number}].{what}: no packet used the link between {one} and {other}, so this has no effect; "
                "write it at a link of the path of a flow"
            )
            continue
        for position, change in enumerate(link.get("changes", [])):
            back = [each for each in ("reverse_rate", "reverse_delay") if change.get(each)]
            both = any(change.get(each) is not None for each in ("rate", "delay", "up"))
            if back and not both and _ways(link)[1] in idle:
                found.append(
                    f"links[{number}].changes[{position}].{back[0]}: no packet went from {other} to {one}, so this "
                    f"has no effect; write `{back[0].removeprefix('reverse_')}`, or exchange the nodes of `between`"
                )
    return found


def late_changes(parameters: Mapping[str, Any], completed: Sequence[int], end_s: float) -> list[str]:
    """A line for each change of a link's rate or delay, of the first three, after the last of all flows was complete.

    `completed` are the times of completion of all flows in ns, -1 for none.
    """
    if not completed or min(completed) < 0:
        return []
    last_s = max(completed) / 1e9
    found = [
        f"links[{number}].changes[{position}].at: the last flow was complete at {last_s:.3f} s, before this change at "
        f"{at:g} s: no data meets it; write an earlier time, or a larger `size`"
        for number, link in enumerate(parameters.get("links", []))
        for position, change in enumerate(link.get("changes", []))
        if last_s < (at := span_s(change["at"])) < end_s and change.get("up") is None
    ]
    return found[:_NAMED]


def unmet_outages(parameters: Mapping[str, Any], lost: Sequence[tuple[str, int]], end_s: float) -> list[str]:
    """A line for each outage of a wired link in which no packet arrived at its ends.

    `lost` are place and time in ns of each loss at a link that was down, `end_s` is when the run ends.
    """
    found = []
    for number, link in enumerate(parameters.get("links", [])):
        one, other = link["between"]
        times = [time / 1e9 for place, time in lost if place in _ways(link)]
        turns = [
            (span_s(change["at"]), position, change["up"])
            for position, change in enumerate(link.get("changes", []))
            if change.get("up") is not None
        ]
        turns.sort()
        for at, position, up in turns:
            until = next((later for later, _, again in turns if again and later > at), end_s)
            if not up and at < end_s and not any(at <= time <= until for time in times):
                found.append(
                    f"links[{number}].changes[{position}].up: no packet arrived over the link between {one} and "
                    f"{other} while it was down, from {at:g} s to {until:g} s: the outage has no effect; "
                    "write a time at which data is sent there, or another link"
                )
    return found[:_NAMED]
