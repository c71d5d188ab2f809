"""The scenarios of the paper: its one model, with the mobiles, queues and schemes of its figures.

A `Interpretation` is one choice of what the paper leaves open. Every experiment takes one, so that a claim can be
evaluated under each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from roamlab.papers.runs import Drawn, number, of_run
from roamlab.scenarios.scenario import Scenario, load

REF = "ref"
HANDOVER_S = 2.3
"""Figs. 9 and 10: when the other cell becomes the better one."""

WINDOW_PKTS = 44
"""Table II: cwnd_MAX, 64 KB."""

QUEUE_PKTS = 90
"""Tables II and III: the core router's queue to each eNodeB."""

TARGETS = (2, 3, 4, 5)
"""Figs. 8 and 11: mobiles in the target cell."""

DETACH_MS = 30
"""Table I: the detach time, "the interval time of the hard handover"."""

WATCH_S = 1.0
"""With an RTO floor of at most 200 ms, events within this time of the handover command count for the handover."""

SHORT_S = 3.6
"""Duration of a run then: all that is measured happens within 1.3 s of the start of the handover."""

WIRE_MS = 2
"""Table I: one-way delay of a wired link."""

TYPICAL_RTT_S = 0.1
""""The typical RTT (around 100 ms)" of section VI.B.1."""

Scheme = Literal["standard", "fast", "predictive"]
SCHEMES: tuple[Scheme, ...] = ("standard", "fast", "predictive")

Aqm = Literal["droptail", "red", "mark", "mark, RFC 6040"]
AQMS: tuple[Aqm, ...] = ("droptail", "red", "mark", "mark, RFC 6040")
"""The router's queues to the eNodeBs: drop-tail, RED that drops, RED that marks the tunnel header of every packet (the
paper's section V.B), RED that marks what the tunnel ingress has declared ECN-capable (RFC 6040)."""


@dataclass(frozen=True)
class Interpretation:
    """One choice of the open points: fields are in `axes.toml`, statements of the text in `sentences.toml`."""

    min_rto: str = "200 ms"
    source_mbps: float | Drawn | None = Drawn(4, 6)
    cross: int = 1
    radio: str = "24 Mbit/s"
    air_ms: int = 5
    server_ms: int = 2
    detach: str = "in all"
    window_aqm: int = 1000
    window_others: int = WINDOW_PKTS
    queue_weight: float = -1.0
    scheduler: str = "wfq"
    after_prediction: str = "lossless"
    lead_ms: int = 130
    end_markers: int = 1
    fig12_rtt: str = "typical"
    profile: str = "ns2-2009"

    @property
    def watch_s(self) -> float:
        """Events within this time of the handover command count for the handover: at least 2.5 RTO floors."""
        return 2.5 if self.min_rto == "1 s" else WATCH_S

    @property
    def short_s(self) -> float:
        """Duration that covers all that is measured of a handover."""
        return 6.0 if self.min_rto == "1 s" else SHORT_S

    @property
    def ack_s(self) -> float:
        """Propagation delay of an ACK from a mobile to the server, in s; no other traffic goes that way."""
        return (self.air_ms + 2 * WIRE_MS + self.server_ms) / 1e3

    @property
    def count_s(self) -> float | None:
        """How long after attachment fig. 12 counts, in s; `None`: each run's own smoothed round trip."""
        return TYPICAL_RTT_S if self.fig12_rtt == "typical" else None

    @property
    def detach_ms(self) -> int:
        """The protocol's `detach_time`: random access, which follows it, takes three times the air's delay."""
        return max(0, DETACH_MS - 3 * self.air_ms) if self.detach == "in all" else DETACH_MS

    def __str__(self) -> str:
        source = "shared" if self.source_mbps is None else f"{self.source_mbps:g} Mbit/s for each mobile"
        weight = "automatic" if self.queue_weight < 0 else f"{self.queue_weight:g}"
        return (
            f"RTO floor {self.min_rto}; air at the source {source}; {self.cross} flow(s) of cross traffic to the "
            f"source; air link {self.radio}, {self.air_ms} ms; server link {self.server_ms} ms; detach time "
            f"{DETACH_MS} ms {self.detach}; window {self.window_aqm} with AQM, {self.window_others} for others; RED's "
            f"weight {weight}; scheduler {self.scheduler}; forwarding after a prediction: {self.after_prediction}; "
            f"predicted {self.lead_ms} ms ahead; {self.end_markers} end marker(s); round trip of fig. 12: "
            f"{self.fig12_rtt}; TCP of {self.profile}"
        )


DEFAULT = Interpretation()
FIRST = of_run(DEFAULT, 0)
"""That of run 0."""


@cache
def model() -> Scenario:
    """The paper's system model (fig. 1) with `ref` alone."""
    return load(Path(__file__).with_name("scenario.toml"))


def queue(aqm: Aqm, interpretation: Interpretation = FIRST) -> dict[str, Any]:
    """The core router's queue to an eNodeB: tables II and III."""
    if aqm == "droptail":
        return {"kind": "droptail", "limit": f"{QUEUE_PKTS} pkt"}
    return {
        "kind": "red",
        "rules": "ns2",
        "limit": f"{QUEUE_PKTS} pkt",
        "min_threshold": "20 pkt",
        "max_threshold": "65 pkt",
        "max_p": 0.1,
        "queue_weight": interpretation.queue_weight,
        "gentle": True,
        "mean_packet": "1500 B",
        "threshold_unit": "packets",
        "probability_unit": "packets",
        "mark_ecn": aqm != "red",
    }


def cells(sources: int, targets: int, seconds: float, interpretation: Interpretation = FIRST) -> Scenario:
    """`ref` and `sources` - 1 others in the source cell, `targets` in the target cell, for this number of seconds.

    DEVIATION: the source cell's rate is that of one mobile times their number; a mobile alone may get more than its
    rate when others pause.
    """
    tables = model().to_dict()
    (flow,) = tables["flows"]
    flow["transport"]["min_rto"] = interpretation.min_rto
    others = [(f"s{at}", "enb1") for at in range(1, sources)] + [
        (f"t{at}", "enb2") for at in range(1, targets + 1)
    ]
    hosts = [{"name": name, "home": "gw", "visits": [{"cell": cell, "at": "0 s"}]} for name, cell in others]
    transport = {**flow["transport"], "window": f"{interpretation.window_others} pkt"}
    paths = [(name, name) for name, _ in others] + [
        (f"cross{at}", "enb1") for at in range(interpretation.cross)
    ]
    changes: dict[str, Any] = {
        "run.duration": f"{round(seconds * 1e3)} ms",
        "run.profile": interpretation.profile,
        "hosts": [*tables["hosts"], *hosts],
        "flows": [
            flow,
            *({**flow, "name": name, "path": ["server", end], "transport": transport} for name, end in paths),
        ],
        "links": [
            {**link, "delay": f"{interpretation.server_ms} ms"} if "server" in link["between"] else link
            for link in tables["links"]
        ],
        "mobility.detach_time": f"{interpretation.detach_ms} ms",
        "mobility.end_markers": interpretation.end_markers,
        "record.queues": [],
    }
    for cell in ("enb1", "enb2"):
        changes |= {
            f"cells.{cell}.rate": interpretation.radio,
            f"cells.{cell}.delay": f"{interpretation.air_ms} ms",
            f"cells.{cell}.scheduler": {"kind": interpretation.scheduler},
        }
    if interpretation.source_mbps is not None:
        changes["cells.enb1.rate"] = f"{round(number(interpretation.source_mbps) * sources * 1e6)} bit/s"
    return model().set_all(changes)


def _schemed(
    scenario: Scenario, scheme: Scheme, aqm: Aqm, interpretation: Interpretation, ecn: bool
) -> Scenario:
    changes: dict[str, Any] = {"mobility.path_switch": scheme}
    if scheme == "predictive":
        changes["mobility.forwarding"] = interpretation.after_prediction
        changes["mobility.prediction_lead"] = f"{interpretation.lead_ms} ms"
    for cell in ("enb1", "enb2"):
        changes[f"cells.{cell}.backhaul.queue"] = queue(aqm, interpretation)
    if aqm.startswith("mark"):
        changes["network.tunnel_ecn"] = "always-ect" if aqm == "mark" else "normal"
        changes |= {f"flows.{flow['name']}.transport.ecn": ecn for flow in scenario.to_dict()["flows"]}
    changed = scenario.set_all(changes)
    return Scenario(changed.text, f"lte/{scheme}, {aqm}")


@cache
def forwarding(scheme: Scheme, targets: int = 5, interpretation: Interpretation = FIRST) -> Scenario:
    """Table II, figs. 8 to 11: `ref` alone in the source cell, drop-tail.

    DEVIATION: the runs end after `Interpretation.short_s` instead of 5 s, when all that is measured has happened.
    """
    return _schemed(
        cells(1, targets, interpretation.short_s, interpretation),
        scheme,
        "droptail",
        interpretation,
        ecn=False,
    )


@cache
def trajectory(scheme: Scheme, run: int = 0, interpretation: Interpretation = DEFAULT) -> Scenario:
    """Figs. 9 and 10: table II in full length in one run, with the router's queues on record."""
    own = of_run(interpretation, run)
    scenario = _schemed(cells(1, 5, 5.0, own), scheme, "droptail", own, ecn=False)
    return scenario.set("record.queues", ["r->enb1", "r->enb2"])


@cache
def active_queue(
    scheme: Scheme,
    aqm: Aqm,
    interpretation: Interpretation = FIRST,
    *,
    ecn: bool = True,
    seconds: float = 10.0,
) -> Scenario:
    """Tables III and IV, fig. 12: four mobiles in the source cell, `ref` among them, and three in the target cell.

    ASSUMPTION: the handover is at 2.3 s here too; tables III and IV do not specify it.
    """
    scenario = cells(4, 3, seconds, interpretation)
    windows = {
        f"flows.{flow['name']}.transport.window": f"{interpretation.window_aqm} pkt"
        for flow in scenario.to_dict()["flows"]
    }
    return _schemed(scenario.set_all(windows), scheme, aqm, interpretation, ecn=ecn)


@cache
def double_queuing(targets: int, interpretation: Interpretation = FIRST) -> Scenario:
    """Section III.B: the standard procedure with every packet's way through the router on record."""
    scenario = forwarding("standard", targets, interpretation)
    return scenario.set_all(
        {
            "run.duration": "2.8 s",
            "record": {"packets": True, "queues": ["r->enb1", "enb1->r", "r->enb2"]},
        }
    )


@cache
def peak(window: int, moves: bool, interpretation: Interpretation = FIRST) -> Scenario:
    """Fig. 4: another cwnd_MAX, as the advertised window; with the handover and without, the model's ideal case."""
    changes: dict[str, Any] = {"flows.ref.transport.window": f"{window} pkt"}
    if not moves:
        changes["hosts.ref.visits"] = [{"cell": "enb1", "at": "0 s"}]
    return forwarding("standard", interpretation=interpretation).set_all(changes)


CAUSES: dict[str, dict[str, Any]] = {
    "unchanged": {},
    "router's queue to the target 400 packets": {
        "cells.enb2.backhaul.queue": {"kind": "droptail", "limit": "400 pkt"}
    },
    "SACK at the moving mobile": {f"flows.{REF}.transport.variant": "sack"},
}
"""Changes that each take away one suspected cause of a timeout: losses at the target's queue, and Reno's recovery,
which repairs one loss of a window."""


@cache
def without(scheme: Scheme, cause: str, interpretation: Interpretation = FIRST) -> Scenario:
    """A handover into a cell of five mobiles with one of `CAUSES` taken away."""
    return forwarding(scheme, interpretation=interpretation).set_all(CAUSES[cause])


PREDICTIONS: dict[str, float | None] = {
    "none": None,
    "200 ms ahead": 0.2,
    "130 ms ahead": 0.13,
    "60 ms ahead": 0.06,
    "20 ms ahead": 0.02,
}
"""How long before the handover it is predicted; none: the standard procedure."""


@cache
def predicted(
    lead_s: float | None, interpretation: Interpretation = FIRST, *, comes: bool = True
) -> Scenario:
    """Section V.A.2: a handover predicted so long before, or, if it never `comes`, a wrong prediction."""
    scenario = forwarding("standard" if lead_s is None else "predictive", interpretation=interpretation)
    changes: dict[str, Any] = {}
    if lead_s is not None:
        at = f"{round((HANDOVER_S - lead_s) * 1e3)} ms"
        changes["mobility.predictions"] = [{"host": REF, "cell": "enb2", "at": at}]
    if not comes:
        changes["hosts.ref.visits"] = [{"cell": "enb1", "at": "0 s"}]
    return scenario.set_all(changes)
