"""The results that are asked for, the conditions, and scenarios under them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from roamlab.scenarios.scenario import Scenario

PRINTED = "as in the paper"
DETACH = "detach_time"
"""A protocol that has this field has its gap there."""
KEPT = ("segment", "header", "ecn")
"""Fields that a current sender takes over from that of the paper, if it has them: the sizes of packets, and marks."""


@dataclass(frozen=True)
class Results:
    """Main results of a paper."""

    paper: str
    what: str
    claims: tuple[str, ...]
    of_senders: tuple[str, ...] = ()
    """Those of the claims that compare senders."""


@dataclass(frozen=True)
class Condition:
    """A difference from the paper."""

    name: str
    said: str
    """In a sentence, behind "With"."""
    change: Callable[[Scenario], Scenario]


@dataclass(frozen=True)
class Question:
    """The question of a study: which results keep their verdict under each of these conditions."""

    title: str
    about: str
    axis: str
    """The quantity whose values the conditions are."""
    printed: str
    """The papers' own condition, in a sentence."""
    conditions: tuple[Condition, ...]
    has_senders: bool
    """The conditions are senders: results that compare senders are left out."""

    @property
    def names(self) -> list[str]:
        """The papers' own condition, and the others."""
        return [PRINTED, *(each.name for each in self.conditions)]

    def results(self) -> list[Results]:
        """The results that can be asked for."""
        if not self.has_senders:
            return list(results())
        return [
            replace(of, claims=tuple(name for name in of.claims if name not in of.of_senders))
            for of in results()
        ]


@cache
def results() -> tuple[Results, ...]:
    """All main results, in the order of results.toml."""
    import tomli

    listed = tomli.loads(Path(__file__).with_name("results.toml").read_text(encoding="utf-8"))
    return tuple(
        Results(each["paper"], each["what"], tuple(each["claims"]), tuple(each.get("of_senders", ())))
        for each in listed["results"]
    )


def with_gaps(scenario: Scenario, table: str) -> Scenario:
    """The scenario with all its gaps drawn from a measured table. A host then has one cell at a time."""
    data = scenario.to_dict()
    law = {"kind": "measured", "table": table}
    if DETACH in data.get("mobility", {}):
        return scenario.set(f"mobility.{DETACH}", law)
    return scenario.set("radio", {"kind": "hard", "gap": law})


def with_sender(scenario: Scenario, transport: dict[str, Any]) -> Scenario:
    """The scenario with this transport, by its own defaults, in the place of each TCP: see `KEPT`."""
    changes = {}
    for flow in scenario.to_dict().get("flows", []):
        old = flow.get("transport", {})
        if old.get("kind") == "tcp":
            kept = {field: old[field] for field in KEPT if field in old}
            kept = kept if transport["kind"] == "tcp" else {}
            changes[f"flows.{flow['name']}.transport"] = {**transport, **kept}
    return scenario.set_all(changes)


def _law(name: str, table: str) -> Condition:
    said = {"signalling": "the law of signalling", "user plane": "the law of the user plane"}[name]
    return Condition(name, said, partial(with_gaps, table=table))


def _sender(name: str, **transport: Any) -> Condition:
    return Condition(name, name, partial(with_sender, transport=transport))


SIGNALLING, USER_PLANE = "lte_pcell", "drive_silence_vzw_2023"
"""The measured tables that gaps are drawn from: handovers by their signalling, and silences of a driving host."""

DURATIONS = Question(
    title="Durations",
    about="Main results of the five papers under the gaps that they print, under the durations of handovers that "
    "were measured by signalling, and under the silences that a driving host was measured to have.",
    axis="gap",
    printed="the gaps of the papers",
    conditions=(_law("signalling", SIGNALLING), _law("user plane", USER_PLANE)),
    has_senders=False,
)
SENDERS = Question(
    title="Current senders",
    about="Main results of the five papers with the senders that they print, and with CUBIC and BBR of Linux 6 and "
    "QUIC in the place of each of them.",
    axis="sender",
    printed="the senders of the papers",
    conditions=(
        _sender("CUBIC", kind="tcp", profile="linux-6", variant="cubic"),
        _sender("BBR", kind="tcp", profile="linux-6", variant="bbr"),
        _sender("QUIC", kind="quic"),
    ),
    has_senders=True,
)
