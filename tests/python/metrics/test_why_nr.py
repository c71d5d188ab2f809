"""`roamlab why` on handovers of 5G: causes that the procedures and the radio bearer make, each confirmed by a rerun."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from conftest import ROOT
from nr_handover import REESTABLISHED, STREAM, handover
from roamlab.causes.explain import Explanation, explain
from roamlab.causes.removal import recorded
from roamlab.running.run import simulate
from roamlab.scenarios.scenario import load

if TYPE_CHECKING:
    from roamlab.scenarios.scenario import Scenario

_NO_NEWS = [{"message": "rrc-conditional-reconfiguration", "occurrences": list(range(2, 12))}]
"""The host does not learn that its candidate is cancelled."""
_NO_MARKER = [{"message": "gtpu-end-marker", "occurrences": [1]}]
_GAP = {"discard_timer": "300 ms", "t_reordering": "1000 ms", "sn_bits": 12}
"""The old base station drops packets that have numbers, and the host waits for them in its new cell."""

CAUSES: dict[str, tuple[str, dict[str, Any], dict[str, Any], set[str]]] = {
    "end marker lost": ("Xn", {"mobility.guard": "1 s"}, {"faults": _NO_MARKER}, {"message lost"}),
    "wrong candidate": (
        "CHO, late",
        {"mobility.timers": {"candidate": "100 ms", "t304": "500 ms"}},
        {"faults": _NO_NEWS},
        {"message lost"},
    ),
    "T304 expired": (
        "Xn",
        {"mobility.timers": {"t304": "50 ms"}, "mobility.times": {"cell_search": "500 ms"}},
        {},
        set(),
    ),
    "late path switch": ("N2, no forwarding", {"mobility.path_switch": "1 s"}, {}, set()),
    "discard timer": (
        "Xn",
        {"mobility.bearer": {"discard_timer": "100 ms"}},
        {"flow": None},
        {"t-Reordering"},
    ),
    "t-Reordering": ("Xn", {**REESTABLISHED, "mobility.bearer": _GAP}, {}, set()),
}
"""The procedure, changes and tables with which a cause makes the longest stall, and other causes of the same stall."""


def _longest(scenario: Scenario, *, check: bool) -> Explanation:
    return explain(simulate(recorded(scenario), 1), number=1, check=check)[0]


@pytest.mark.parametrize("cause", CAUSES)
def test_a_cause_is_suspected_and_a_rerun_without_it_confirms_it(cause: str) -> None:
    procedure, changes, tables, others = CAUSES[cause]
    told = _longest(handover(procedure, changes, **{"flow": STREAM, "duration": "4 s", **tables}), check=True)
    assert told.check
    assert told.named == cause
    assert {cause, *others} <= {trial.kind for trial in told.check.trials if trial.helps}


@pytest.mark.parametrize("cause", CAUSES)
def test_a_handover_without_the_cause_does_not_have_it(cause: str) -> None:
    """The same procedure as it is by default."""
    found = explain(simulate(recorded(handover(CAUSES[cause][0], flow=STREAM, duration="4 s")), 1))
    assert cause not in {suspect.kind for told in found for suspect in told.suspects}


def test_the_example_is_short_and_its_stall_has_a_cause() -> None:
    """5G in 35 lines: a handover with CUBIC, and why it stalled."""
    text = (ROOT / "examples/nr.toml").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert len(lines) <= 35
    assert 'mobility = { kind = "nr" }' in lines
    told = _longest(load(ROOT / "examples/nr.toml"), check=False)
    assert told.suspects
    assert told.sentences[0].startswith("phone received nothing new of download for")
