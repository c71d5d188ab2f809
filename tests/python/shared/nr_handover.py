"""One handover of 5G by a procedure of the study of procedures, in a short run: the host moves at 1.5 s."""

from __future__ import annotations

from typing import Any

from roamlab.scenarios.scenario import Scenario
from roamlab.studies.procedures.cases import BUDGET, Case, scenario

STREAM = {
    "name": "stream",
    "path": ["server", "mover"],
    "app": {"kind": "cbr", "start": "0.5 s", "rate": "4 Mbit/s", "packet": "1000 B"},
}
"""A flow without a window."""
REESTABLISHED = {
    "mobility.measurement": {"offset_db": 15.0, "time_to_trigger": "5120 ms"},
    "radio.measurement.slope_db_per_s": 4000.0,
    "radio.measurement.t310": "200 ms",
}
"""Changes with which the link fails before a handover is prepared."""


def handover(
    procedure: str,
    changes: dict[str, Any] | None = None,
    *,
    flow: dict[str, Any] | None = None,
    duration: str = "2.6 s",
    **tables: Any,
) -> Scenario:
    """The network of the study with a procedure of it; `flow` in the place of a download, and more `tables`."""
    data = scenario(Case(procedure, "CUBIC", BUDGET)).to_dict()
    data["run"]["duration"] = duration
    del data["record"]
    data["hosts"][0]["visits"][1]["at"] = "1.5 s"
    data["flows"][0]["app"] = {"kind": "ftp", "start": "0.2 s"}
    if flow:
        data["flows"] = [flow]
    return Scenario.from_dict(data | tables, procedure).set_all(changes or {})
