"""The results that are asked for, the laws of the gap, and scenarios under such a law."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roamlab.scenarios.scenario import Scenario

PRINTED = "as in the paper"
LAWS: dict[str, str | None] = {
    PRINTED: None,
    "signalling": "lte_pcell",
    "user plane": "drive_silence_vzw_2023",
}
"""The measured table that each gap is drawn from: handovers by their signalling, and silences of a driving host."""
DETACH = "detach_time"
"""A protocol that has this field has its gap there."""


@dataclass(frozen=True)
class Results:
    """Main results of a paper."""

    paper: str
    what: str
    claims: tuple[str, ...]


@cache
def results() -> tuple[Results, ...]:
    """All that is asked, in the order of durations.toml."""
    import tomli

    listed = tomli.loads(Path(__file__).with_name("durations.toml").read_text(encoding="utf-8"))
    return tuple(Results(each["paper"], each["what"], tuple(each["claims"])) for each in listed["results"])


def under(scenario: Scenario, table: str) -> Scenario:
    """The scenario with all its gaps drawn from a measured table. A host then has one cell at a time."""
    data = scenario.to_dict()
    law = {"kind": "measured", "table": table}
    if DETACH in data.get("mobility", {}):
        return scenario.set(f"mobility.{DETACH}", law)
    return scenario.set("radio", {"kind": "hard", "gap": law})
