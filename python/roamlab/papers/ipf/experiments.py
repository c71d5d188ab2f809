"""The scenarios of the paper: its one model, filled with hosts and flows for each of its figures.

A `Interpretation` is one choice of what the paper leaves open. Every experiment takes one, so that a claim can be
evaluated under each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from roamlab.papers.runs import Drawn, number, of_run
from roamlab.scenarios.scenario import Scenario

NEW = "bs2"
AIR = f"{NEW}/air"
"""The new base station's downlink."""

QUEUES = ("red", "mred")
RTTS_MS = (86, 88, 90, 92, 94, 96, 98, 100, 102)
"""Round trips of the residents, section IV-A; fewer residents are the first of the list (interpretation A11)."""

WINDOW_PKTS = 64
LIMIT_PKTS = 300
QUEUE_WEIGHT = 0.002
"""w_q of section IV-B.1, as the scenario has it."""


@dataclass(frozen=True)
class Interpretation:
    """One choice of the open points: fields are in `axes.toml`, statements of the text in `sentences.toml`."""

    residents: int = 7
    residents_fig9: int = 9
    thresholds: tuple[int, int] = (100, 200)
    thresholds_fig9: tuple[int, int] = (80, 160)
    min_rto: str = "1 s"
    gap: str = "together"
    stay: float | Drawn = Drawn(0.25, 0.75)
    old_cell: str = "shared"
    measured: str = "all"
    deviation: str = "cases"
    gentle: bool = False
    wait: bool = True
    max_p: float = 0.02
    profile: str = "ns2-2009"
    average_on_priority: bool = False
    np_idle: str = "queue-empty"
    count_priority: bool = False
    priority_passes_max: bool = True
    forwarded_at_full: str = "reject"

    def __str__(self) -> str:
        mred = ", ".join(
            f"{name} = {str(getattr(self, name)).lower()}"
            for name in MRED
            if getattr(self, name) != Interpretation.__dataclass_fields__[name].default
        )
        return (
            f"{self.residents} residents ({self.residents_fig9} in fig. 9), {self.measured} measured; thresholds "
            f"{self.thresholds[0]}/{self.thresholds[1]} ({self.thresholds_fig9[0]}/{self.thresholds_fig9[1]} in "
            f"fig. 9); RTO floor {self.min_rto}; hosts come {self.gap} and stay for {self.stay:g} of the time between "
            f"visits, old cell {self.old_cell}; RED {'' if self.gentle else 'not '}gentle, "
            f"wait {'on' if self.wait else 'off'}, P_max {self.max_p:g}; TCP of {self.profile}; "
            f"deviation over {self.deviation}; M-RED: {mred or 'its defaults'}"
        )


GAPS: dict[str, float | None] = {"together": 0.0, "1 s apart": 1.0, "evenly apart": None}
"""The time between hosts in s, by its name in an interpretation; None: the time between two visits over the hosts."""

MRED = ("average_on_priority", "np_idle", "count_priority", "priority_passes_max", "forwarded_at_full")
"""M-RED's parameters in an interpretation (R1 to R5)."""

DEFAULT = Interpretation()
FIRST = of_run(DEFAULT, 0)
"""That of run 0."""

VISIT_COUNTS = (3, 4, 5, 6, 7, 8)
"""Fig. 12, with `HOSTS` hosts."""
HOST_COUNTS = (3, 4, 5, 6, 7)
"""Fig. 13, with `VISITS` visits each."""
HOSTS = VISITS = 5
SPAN_S = 200.0

BURST_S = 10.0
"""Fig. 9: what is new begins to arrive at the new base station."""

_ON_THE_WAY_S = 0.042
"""From leaving the old cell to the first forwarded packet at the new base station. It is half a beacon
interval on average, T_N + T_O = 13 ms, 1 ms to the old base station and three wires of 1 ms back."""

PLAN_S = (42.9, 128.6, 214.0)
"""Fig. 15: visits of the first host, as the paper prints them."""
PLAN_RTTS_MS = (88, 90, 92, 94)
PLAN_SPAN_S = 300.0
GAPS_S = (20.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0)
"""Fig. 15: the uniform case, and the bursts."""
UNIFORM_S = GAPS_S[0]


@dataclass(frozen=True)
class Mover:
    """A host that moves, and the round trip of its connection."""

    visits: tuple[tuple[float, float], ...]
    """When it arrives in the new cell, and when it leaves."""
    rtt_ms: int = 88
    start: str | None = None
    """When its connection begins; None: with the others, uniform in 0.5 to 1.5 s (interpretation A12)."""


def visits(
    count: int, hosts: int, span_s: float, gap_s: float | None = 0.0, stay: float = 0.5
) -> list[Mover]:
    """A10: a host visits at span/(2·count + 1) times 1, 3, 5 and so on, as fig. 15's first host does.

    It stays for the share `stay` of the time between two visits, which is open.
    """
    half = span_s / (2 * count + 1)
    apart = 2 * half / hosts if gap_s is None else gap_s
    return [
        Mover(
            tuple(
                (half * (2 * visit + 1) + host * apart, half * (2 * visit + 1 + 2 * stay) + host * apart)
                for visit in range(count)
            )
        )
        for host in range(hosts)
    ]


def planned(gap_s: float, stay: float = 0.5) -> list[Mover]:
    """Fig. 15: four hosts, three visits each, `gap_s` apart."""
    lasts = stay * 2 * PLAN_SPAN_S / 7
    return [
        Mover(tuple((at + host * gap_s, at + host * gap_s + lasts) for at in PLAN_S), rtt)
        for host, rtt in enumerate(PLAN_RTTS_MS)
    ]


@cache
def model() -> Scenario:
    """The paper's simulation model (fig. 8), without hosts."""
    text = Path(__file__).with_name("scenario.toml").read_text(encoding="utf-8")
    return Scenario(text, "ipf/scenario.toml")


def _queue(kind: str, thresholds: tuple[int, int], interpretation: Interpretation) -> dict[str, Any]:
    """The new cell's queue: RED takes all that it shares with M-RED from it (interpretation R10)."""
    low, high = thresholds
    queue: dict[str, Any] = model().to_dict()["cells"]["bs2"]["queue"] | {
        "kind": kind,
        "min_threshold": f"{low} pkt",
        "max_threshold": f"{high} pkt",
        "max_p": interpretation.max_p,
        "wait": interpretation.wait,
        "gentle": interpretation.gentle,
    }
    return queue | ({name: getattr(interpretation, name) for name in MRED} if kind == "mred" else {})


def _link(left: str, right: str, delay_ms: float) -> dict[str, Any]:
    return {"between": [left, right], "rate": "10 Mbit/s", "delay": f"{round(delay_ms * 1000)} us"}


def _flow(
    name: str, path: tuple[str, str], interpretation: Interpretation, start: str | None = None
) -> dict[str, Any]:
    begins = {"start": "0.5 s", "start_within": "1 s"} if start is None else {"start": start}
    return {
        "name": name,
        "path": list(path),
        "transport": {
            "kind": "tcp",
            "variant": "reno",
            "window": f"{WINDOW_PKTS} pkt",
            "segment": "512 B",
            "header": "0 B",
            "min_rto": interpretation.min_rto,
        },
        "app": {"kind": "ftp", **begins},
    }


def _stays(mover: Mover, old: str, end_s: float) -> list[dict[str, str]]:
    """The host's way: the old cell, and the new one while it visits. A visit from 0 on has no old cell before it."""
    moves = [(0.0, old)] if not mover.visits or mover.visits[0][0] > 0.0 else []
    for comes, leaves in mover.visits:
        moves += [(comes, NEW), (leaves, old)]
    return [{"cell": cell, "at": f"{round(at * 1e9)} ns"} for at, cell in moves if at < end_s]


def _scenario(
    name: str,
    movers: list[Mover],
    residents: int,
    queue: dict[str, Any],
    interpretation: Interpretation,
    *,
    span_s: float,
    record: dict[str, Any] | None = None,
    **changes: Any,
) -> Scenario:
    """The model with these hosts, each with one connection."""
    data = model().to_dict()
    hosts, flows = [], []
    for at, rtt in enumerate(RTTS_MS[:residents], start=1):
        data["links"].append(_link(f"ch-r{at}", "fa2", rtt / 2 - 4))
        hosts.append({"name": f"r{at}", "home": "ha", "visits": [{"cell": "bs2", "at": "0 s"}]})
        flows.append(_flow(f"resident{at}", (f"ch-r{at}", f"r{at}"), interpretation))
    for rtt in sorted({mover.rtt_ms for mover in movers} - {88}):
        data["links"] += [_link(f"ch-{rtt}", agent, rtt / 2 - 4) for agent in ("fa1", "fa2")]
        data["links"].append(_link("ha", f"ch-{rtt}", 60))
    for at, mover in enumerate(movers, start=1):
        peer = "ch" if mover.rtt_ms == 88 else f"ch-{mover.rtt_ms}"
        old = "bs1" if interpretation.old_cell == "shared" or at == 1 else f"bs1-{at}"
        data["cells"].setdefault(old, data["cells"]["bs1"])
        hosts.append({"name": f"mh{at}", "home": "ha", "visits": _stays(mover, old, span_s)})
        flows.append(_flow(f"moving{at}", (peer, f"mh{at}"), interpretation, mover.start))
    data |= {"hosts": hosts, "flows": flows}
    data["run"] |= {"duration": f"{round(span_s)} s", "profile": interpretation.profile}
    # Section IV-A prints the beacons' period; the phase in which a host meets them is drawn.
    data["mobility"]["tb_mode"] = "uniform"
    data["cells"][NEW]["queue"] = queue
    data["record"] |= record or {}
    return Scenario.from_dict(data, f"ipf/{name}").set_all(changes)


@cache
def arrival(case: int, queue: str, interpretation: Interpretation = FIRST) -> Scenario:
    """Fig. 9: at 10 s a connection begins in the new cell (case 1), or one is handed off into it (case 2)."""
    leaves = BURST_S - _ON_THE_WAY_S
    mover = Mover(((0.0, 14.0),), start=f"{BURST_S:g} s") if case == 1 else Mover(((leaves, 14.0),))
    return _scenario(
        f"case {case}, {queue}",
        [mover],
        interpretation.residents_fig9,
        _queue(queue, interpretation.thresholds_fig9, interpretation),
        interpretation,
        span_s=14.0,
        record={"queues": [AIR]},
    )


@cache
def handoffs(count: int, hosts: int, queue: str, interpretation: Interpretation = FIRST) -> Scenario:
    """Figs. 10 to 14: `hosts` hosts visit the congested cell `count` times within 200 s.

    Only the paper's standard case is recorded in detail.
    """
    detailed = (count, hosts) == (VISITS, HOSTS)
    return _scenario(
        f"{hosts} hosts, {count} visits, {queue}",
        visits(count, hosts, SPAN_S, GAPS[interpretation.gap], number(interpretation.stay)),
        interpretation.residents,
        _queue(queue, interpretation.thresholds, interpretation),
        interpretation,
        span_s=SPAN_S,
        record={"deliveries": True, "queues": [AIR], "tcp": True} if detailed else None,
    )


@cache
def plan(
    gap_s: float, queue: str, interpretation: Interpretation = FIRST, span_s: float = PLAN_SPAN_S
) -> Scenario:
    """Figs. 15 to 17: four hosts, three visits each within 300 s, `gap_s` apart; the first `span_s` of it."""
    return _scenario(
        f"{gap_s:g} s apart, {queue}",
        planned(gap_s, number(interpretation.stay)),
        interpretation.residents,
        _queue(queue, interpretation.thresholds, interpretation),
        interpretation,
        span_s=span_s,
        record={"deliveries": True},
    )


@cache
def unmarked(queue: str, interpretation: Interpretation = FIRST) -> Scenario:
    """Fig. 6 against fig. 5: the handoffs of fig. 10 with nothing marked, so that no packet has priority."""
    return _scenario(
        f"nothing marked, {queue}",
        visits(VISITS, HOSTS, SPAN_S, GAPS[interpretation.gap], number(interpretation.stay)),
        interpretation.residents,
        _queue(queue, interpretation.thresholds, interpretation),
        interpretation,
        span_s=SPAN_S,
        record={"queues": [AIR]},
        **{"mobility.buffer.mark_forwarded": False},
    )


ALONE_S = 5.0
"""When the lone host of `transfer` moves."""


@cache
def transfer(layer2_ack: bool, interpretation: Interpretation = FIRST) -> Scenario:
    """Section II-A: one transfer alone is handed off, with layer-2 acknowledgement and without."""
    return _scenario(
        f"transfer, layer-2 acknowledgement {'on' if layer2_ack else 'off'}",
        [Mover(((ALONE_S, 20.0),))],
        0,
        {"kind": "droptail", "limit": f"{LIMIT_PKTS} pkt"},
        interpretation,
        span_s=8.0,
        record={"deliveries": True, "tcp": True},
        **{"mobility.buffer.layer2_ack": layer2_ack},
    )


@cache
def spoofed(policy: str, interpretation: Interpretation = FIRST) -> Scenario:
    """The end of section III: a resident's correspondent marks its own packets."""
    scenario = _scenario(
        f"spoofed marks, {policy}",
        [],
        interpretation.residents,
        _queue("mred", interpretation.thresholds, interpretation),
        interpretation,
        span_s=30.0,
    )
    return scenario.set_all({"flows.resident1.dscp": 3, "network.foreign_marks": policy})
