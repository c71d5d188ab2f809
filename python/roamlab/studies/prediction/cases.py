"""The cases of the study of prediction: a prediction, the path switch, a queue, and ECN through tunnels."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from roamlab.papers.lte.experiments import HANDOVER_S, QUEUE_PKTS, REF, active_queue
from roamlab.scenarios.scenario import Scenario

SECONDS = 5.0
"""Length of a run."""
LEADS_MS: dict[str, int | None] = {"none": None, "right": 130, "late": 20, "wrong cell": 130}
"""Predictions, and how long before the handover is due each comes: the paper's lead, and less than the preparation and
the path switch take."""
FORWARDING, FAST, PREDICTED = "forwarding", "fast path switch", "predicted path switch"
SWITCHES = {FORWARDING: "standard", FAST: "fast", PREDICTED: "predictive"}
"""Path switches, and their names in scenarios. The predicted one is what a prediction starts."""
WRONG_CELL = "enb3"

_LIMIT = f"{QUEUE_PKTS} pkt"
QUEUES: dict[str, dict[str, Any]] = {
    "drop-tail": {"kind": "droptail", "limit": _LIMIT},
    "RED": {
        "kind": "red",
        "rules": "ns2",
        "limit": _LIMIT,
        "min_threshold": "20 pkt",
        "max_threshold": "65 pkt",
        "max_p": 0.1,
        "gentle": True,
        "mean_packet": "1500 B",
    },
    "CoDel": {"kind": "codel", "limit": _LIMIT},
    "FQ-CoDel": {"kind": "fq-codel", "limit": _LIMIT, "quantum": "1500 B"},
    "MBLUE": {"kind": "mblue", "limit": _LIMIT, "threshold": "60 pkt"},
}
"""The core router's queues to the base stations: tables III and IV of the paper, and today's; MBLUE's threshold is two
thirds of the limit, as in its paper."""
MARKING = ("RED", "CoDel", "FQ-CoDel")
"""Those that can mark."""


class Case(NamedTuple):
    """One combination."""

    prediction: str
    switch: str
    queue: str
    ecn: bool


def applicable(case: Case) -> str:
    """Why a combination has no meaning; empty if it has one."""
    if case.prediction == "none" and case.switch == PREDICTED:
        return "nothing starts the predicted path switch"
    if case.prediction != "none" and case.switch != PREDICTED:
        return "a prediction starts its own path switch"
    if case.ecn and case.queue not in MARKING:
        return f"{case.queue} does not mark"
    return ""


def combinations() -> list[Case]:
    """All combinations, those without a meaning too."""
    return [
        Case(prediction, switch, queue, ecn)
        for queue in QUEUES
        for ecn in (False, True)
        for prediction in LEADS_MS
        for switch in SWITCHES
    ]


def cases() -> list[Case]:
    """The combinations that have a meaning."""
    return [case for case in combinations() if not applicable(case)]


@cache
def scenario(case: Case) -> Scenario:
    """The paper's model with queues (tables III and IV): four mobiles in the source cell, three in the target cell."""
    data = active_queue("standard", "droptail", seconds=SECONDS).to_dict()
    if case.prediction == "wrong cell":
        data["cells"][WRONG_CELL] = data["cells"]["enb2"]
        idle = {"name": "idle", "home": "gw", "visits": [{"cell": WRONG_CELL, "at": "0 s"}]}
        data["hosts"].append(idle)
    table = QUEUES[case.queue]
    for cell in data["cells"].values():
        cell["backhaul"]["queue"] = {**table, "mark_ecn": case.ecn} if case.queue in MARKING else table
    data["record"] = {"queues": []}
    data["mobility"]["path_switch"] = SWITCHES[case.switch]
    lead = LEADS_MS[case.prediction]
    if lead is not None:
        cell = WRONG_CELL if case.prediction == "wrong cell" else "enb2"
        at = f"{round(1e3 * HANDOVER_S) - lead} ms"
        data["mobility"]["predictions"] = [{"host": REF, "cell": cell, "at": at}]
        data["mobility"]["forwarding"] = "lossless"
    if case.ecn:
        data.setdefault("network", {})["tunnel_ecn"] = "normal"
        for flow in data["flows"]:
            flow["transport"]["ecn"] = True
    return Scenario.from_dict(data, f"prediction/{case.prediction}, {case.switch}, {case.queue}")
