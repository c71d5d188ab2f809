"""The scenarios of the paper: its one model, with the mobiles, queues and schemes of its figures.

A `Reading` is one choice of what the paper leaves open. Every experiment takes one, so that a claim can be
evaluated under each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

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

WATCH_S = 1.0
"""What happens within this time of the handover command is put down to the handover, with an RTO floor of 200 ms."""

SHORT_S = 3.6
"""Long enough for all that is measured of a handover then: 1.3 s from when it begins."""

AIR_S = 0.005
"""Delay of the air by default."""

Scheme = Literal["standard", "fast", "predictive"]
SCHEMES: tuple[Scheme, ...] = ("standard", "fast", "predictive")

Aqm = Literal["droptail", "red", "mark", "mark, RFC 6040"]
AQMS: tuple[Aqm, ...] = ("droptail", "red", "mark", "mark, RFC 6040")
"""The router's queues to the eNodeBs: drop-tail, RED that drops, RED that marks the tunnel header whatever is in the
tunnel (the paper's section V.B), RED that marks what the tunnel's entry has declared ECN-capable (RFC 6040)."""


@dataclass(frozen=True)
class Reading:
    """One choice of the paper's open points. The defaults are those of the first column of the report."""

    min_rto: str = "200 ms"
    """Floor of TCP's retransmission timeout: 200 ms in ns-2 since 2004, 1 s in RFC 2988."""
    radio: str = "24 Mbit/s"
    """Rate of a cell's air link, shared by its mobiles."""
    red_unit: str = "packets"
    """Unit of table III's thresholds. In bytes, ns-2's default since 2004, they are multiples of 500 B."""
    scheduler: str = "wfq"
    """Table I; others "give basically same performance"."""
    after_prediction: str = "lossless"
    """What a source that had predicted the handover forwards: what is left, or "none", as nothing should be."""
    air_ms: int = 5
    """Delay of the air, which the paper does not print. What it does say needs a short one: its "typical RTT (around
    100 ms) to empty the pipe of the core-network router" is 112 ms then, 90 of them in the full queue; and forwarded
    packets queue twice, which those of `ref`, whose window of 44 is 44 ms of the link, do only if the network without
    queues has a shorter round trip (12 ms, and twice the air)."""
    window_aqm: int = WINDOW_PKTS
    """cwnd_MAX with active queue management: table II prints one, table III none."""
    profile: str = "ns2-2009"
    """TCP of ns-2.35, of ns-2 before 2004, or of the RFCs."""

    @property
    def watch_s(self) -> float:
        """What happens within this time of the handover command is put down to the handover: some RTO and a half."""
        return WATCH_S if self.min_rto == "200 ms" else 2.5

    @property
    def short_s(self) -> float:
        """Long enough for all that is measured of a handover."""
        return SHORT_S if self.min_rto == "200 ms" else 6.0

    def __str__(self) -> str:
        return (
            f"RTO floor {self.min_rto}; air link {self.radio}; RED in {self.red_unit}; "
            f"scheduler {self.scheduler}; forwarding after a prediction: {self.after_prediction}; "
            f"air {self.air_ms} ms; window {self.window_aqm} with AQM; TCP of {self.profile}"
        )


DEFAULT = Reading()
READINGS: dict[str, Reading] = {
    "default": DEFAULT,
    "RTO floor 1 s": Reading(min_rto="1 s"),
    "air link 12 Mbit/s": Reading(radio="12 Mbit/s"),
    "RED in bytes": Reading(red_unit="bytes"),
    "round robin": Reading(scheduler="round-robin"),
    "no forwarding after a prediction": Reading(after_prediction="none"),
    "air 40 ms": Reading(air_ms=40),
    "air 44 ms": Reading(air_ms=44),
    "window 200 with AQM": Reading(window_aqm=200),
}


@cache
def model() -> Scenario:
    """The paper's system model (fig. 1) with `ref` alone."""
    return load(Path(__file__).with_name("scenario.toml"))


def queue(aqm: Aqm, reading: Reading = DEFAULT) -> dict[str, Any]:
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
        "queue_weight": 0.002,
        "gentle": True,
        "mean_packet": "1500 B" if reading.red_unit == "packets" else "500 B",
        "threshold_unit": reading.red_unit,
        "probability_unit": reading.red_unit,
        "mark_ecn": aqm != "red",
    }


def cells(sources: int, targets: int, seconds: float, reading: Reading = DEFAULT) -> Scenario:
    """`ref` and `sources` - 1 others in the source cell, `targets` in the target cell, for so long."""
    tables = model().tables
    (flow,) = tables["flows"]
    flow["transport"]["min_rto"] = reading.min_rto
    others = [(f"s{at}", "enb1") for at in range(1, sources)] + [
        (f"t{at}", "enb2") for at in range(1, targets + 1)
    ]
    hosts = [{"name": name, "home": "gw", "visits": [{"cell": cell, "at": "0 s"}]} for name, cell in others]
    changes: dict[str, Any] = {
        "run.duration": f"{round(seconds * 1e3)} ms",
        "run.profile": reading.profile,
        "hosts": [*tables["hosts"], *hosts],
        "flows": [flow, *({**flow, "name": name, "path": ["server", name]} for name, _ in others)],
        "record.queues": [],
    }
    for cell in ("enb1", "enb2"):
        changes |= {
            f"cells.{cell}.rate": reading.radio,
            f"cells.{cell}.delay": f"{reading.air_ms} ms",
            f"cells.{cell}.scheduler": {"kind": reading.scheduler},
        }
    return model().set_all(changes)


def _schemed(scenario: Scenario, scheme: Scheme, aqm: Aqm, reading: Reading, ecn: bool) -> Scenario:
    changes: dict[str, Any] = {"mobility.path_switch": scheme}
    if scheme == "predictive":
        changes["mobility.forwarding"] = reading.after_prediction
    for cell in ("enb1", "enb2"):
        changes[f"cells.{cell}.backhaul.queue"] = queue(aqm, reading)
    if aqm.startswith("mark"):
        changes["network.tunnel_ecn"] = "always-ect" if aqm == "mark" else "normal"
        changes |= {f"flows.{flow['name']}.transport.ecn": ecn for flow in scenario.tables["flows"]}
    changed = scenario.set_all(changes)
    return Scenario(changed.text, f"lte/{scheme}, {aqm}")


@cache
def forwarding(scheme: Scheme, targets: int = 5, reading: Reading = DEFAULT) -> Scenario:
    """Table II, figs. 8 to 11: `ref` alone in the source cell, drop-tail.

    DEVIATION: the runs end after `Reading.short_s` instead of 5 s, when all that is measured has happened.
    """
    return _schemed(cells(1, targets, reading.short_s, reading), scheme, "droptail", reading, ecn=False)


@cache
def trajectory(scheme: Scheme) -> Scenario:
    """Figs. 9 and 10: table II in full length, with the router's queues on record."""
    scenario = _schemed(cells(1, 5, 5.0), scheme, "droptail", DEFAULT, ecn=False)
    return scenario.set("record.queues", ["r->enb1", "r->enb2"])


@cache
def active_queue(
    scheme: Scheme, aqm: Aqm, reading: Reading = DEFAULT, *, ecn: bool = True, seconds: float = 10.0
) -> Scenario:
    """Tables III and IV, fig. 12: four mobiles in the source cell, `ref` among them, and three in the target cell.

    ASSUMPTION: the handover is at 2.3 s here too; tables III and IV do not say.
    """
    scenario = cells(4, 3, seconds, reading)
    windows = {
        f"flows.{flow['name']}.transport.window": f"{reading.window_aqm} pkt"
        for flow in scenario.tables["flows"]
    }
    return _schemed(scenario.set_all(windows), scheme, aqm, reading, ecn=ecn)


@cache
def double_queuing(targets: int, reading: Reading = DEFAULT) -> Scenario:
    """Section III.B: the standard procedure with every packet's way through the router on record."""
    scenario = forwarding("standard", targets, reading)
    return scenario.set_all(
        {
            "run.duration": "2.8 s",
            "record": {"packets": True, "queues": ["r->enb1", "enb1->r", "r->enb2"]},
        }
    )


@cache
def peak(window: int, moves: bool, reading: Reading = DEFAULT) -> Scenario:
    """Fig. 4: another cwnd_MAX, as the advertised window; with the handover and without, the model's ideal case."""
    changes: dict[str, Any] = {"flows.ref.transport.window": f"{window} pkt"}
    if not moves:
        changes["hosts.ref.visits"] = [{"cell": "enb1", "at": "0 s"}]
    return forwarding("standard", reading=reading).set_all(changes)


PREDICTIONS: dict[str, float | None] = {
    "none": None,
    "200 ms ahead": 0.2,
    "130 ms ahead": 0.13,
    "60 ms ahead": 0.06,
    "20 ms ahead": 0.02,
}
"""How long before the handover it is predicted; none: the standard procedure."""


@cache
def predicted(lead_s: float | None, reading: Reading = DEFAULT, *, comes: bool = True) -> Scenario:
    """Section V.A.2: a handover predicted so long before, or, if it never `comes`, a wrong prediction."""
    scenario = forwarding("standard" if lead_s is None else "predictive", reading=reading)
    changes: dict[str, Any] = {}
    if lead_s is not None:
        at = f"{round((HANDOVER_S - lead_s) * 1e3)} ms"
        changes["mobility.predictions"] = [{"host": REF, "cell": "enb2", "at": at}]
    if not comes:
        changes["hosts.ref.visits"] = [{"cell": "enb1", "at": "0 s"}]
    return scenario.set_all(changes)
