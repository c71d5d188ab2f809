"""Failures of mobility by class: on hand-made records, and in runs of the engine."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
import tomli

from hand_made import FakeResults, ns
from roamlab.records import mro
from roamlab.running.run import run
from roamlab.scenarios.scenario import Scenario

EXAMPLE = Path(__file__).parents[3] / "examples" / "lte.toml"
HANDOVER = [(2.0, 0, "handover-commanded", "a"), (2.1, 0, "link-down", "ue"), (2.2, 1, "link-up", "ue")]
EXECUTED = [(2.0, 0, "handover-executed", "ue"), *HANDOVER[1:]]
CONFIRMED = (2.3, 1, "access-granted", "ue")


def _record(*phases: tuple[float, int, str, str]) -> Any:
    """A host that visits the cells a, b and c; source a asked b."""
    found = FakeResults(
        handovers=pl.DataFrame(
            {
                "time_ns": ns(*(row[0] for row in phases)),
                "host": ["ue"] * len(phases),
                "visit": [row[1] for row in phases],
                "phase": [row[2] for row in phases],
                "node": [row[3] for row in phases],
            }
        ),
        signalling=pl.DataFrame(
            {
                "host": ["ue", "ue", "other"],
                "message": ["handover-request"] * 3,
                "source": ["a", "a", "a"],
                "destination": ["c", "b", "c"],
                "sent_ns": ns(0.5, 1.9, 1.95),
            }
        ),
    )
    visits = [{"cell": cell, "at": "0 s"} for cell in "abc"]
    found.manifest = SimpleNamespace(network={"hosts": [{"name": "ue", "visits": visits}]})  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize(
    ("phases", "kind", "cell", "resumed"),
    [
        ([(5.0, 0, "link-failed", "ue"), (5.1, 1, "link-up", "ue")], mro.TOO_LATE, "a", "b"),
        ([(5.0, 0, "link-failed", "ue"), (5.1, 0, "link-up", "ue")], mro.SAME_CELL, "a", "a"),
        ([(5.0, 0, "link-failed", "ue")], mro.LOST, "a", None),
        # The command is lost: the host has not begun a handover.
        ([HANDOVER[0], (2.5, 0, "link-failed", "ue"), (2.6, 1, "link-up", "ue")], mro.TOO_LATE, "a", "b"),
        # Not even in the target's cell.
        ([*HANDOVER[:2], (2.15, 0, "link-failed", "ue"), (2.3, 0, "link-up", "ue")], mro.TOO_EARLY, "a", "a"),
        # In it, without access for seconds.
        ([*HANDOVER, (4.2, 1, "link-failed", "ue"), (4.3, 2, "link-up", "ue")], mro.WRONG_CELL, "b", "c"),
        ([*HANDOVER, (2.4, 1, "link-failed", "ue"), (2.5, 1, "link-up", "ue")], mro.SAME_CELL, "b", "b"),
        # A host with candidates shows by its link which one was the target.
        ([*EXECUTED, (2.4, 1, "link-failed", "ue"), (2.5, 1, "link-up", "ue")], mro.SAME_CELL, "b", "b"),
        ([*EXECUTED[:2], (2.15, 0, "link-failed", "ue"), (2.3, 0, "link-up", "ue")], mro.TOO_EARLY, "a", "a"),
        # Shortly after it, and long after it.
        ([*HANDOVER, CONFIRMED, (3.3, 1, "link-failed", "ue"), (3.4, 0, "link-up", "ue")], mro.TOO_EARLY, "b", "a"),
        ([*HANDOVER, CONFIRMED, (3.4, 1, "link-failed", "ue"), (3.5, 0, "link-up", "ue")], mro.TOO_LATE, "b", "a"),
    ],
)  # fmt: skip
def test_a_failure_has_the_class_of_where_it_ends(
    phases: list[tuple[float, int, str, str]], kind: str, cell: str, resumed: str | None
) -> None:
    (failure,) = mro.failures(_record((0.0, 0, "link-up", "ue"), *phases), "ue")
    assert (failure.kind, failure.cell, failure.resumed) == (kind, cell, resumed)


def test_failures_do_not_colour_the_next_one() -> None:
    found = mro.failures(
        _record(
            (0.0, 0, "link-up", "ue"),
            *HANDOVER[:2],
            (2.15, 0, "link-failed", "ue"),
            (2.15, 0, "link-down", "ue"),
            (2.3, 0, "link-up", "ue"),
            (2.4, 0, "link-failed", "ue"),
            (2.5, 2, "link-up", "ue"),
        ),
        "ue",
    )
    assert [failure.kind for failure in found] == [mro.TOO_EARLY, mro.TOO_LATE]


def test_a_lost_command_makes_a_handover_too_late() -> None:
    base = tomli.loads(EXAMPLE.read_text(encoding="utf-8"))
    base |= {"hosts": base["hosts"][:1], "flows": base["flows"][:1]}
    timers = {"reloc_overall": "5 s", "joining": "5 s"}
    lost = [{"message": "handover-command", "host": "ref", "occurrences": [1]}]
    measurement = base["radio"]["measurement"] | {"t310": "100 ms", "slope_db_per_s": 60.0}
    late = base | {
        "radio": {"kind": "hard", "measurement": measurement},
        "mobility": base["mobility"] | {"timers": timers},
        "faults": lost,
    }
    (failure,) = mro.failures(run(Scenario.from_dict(late, "late")), "ref")
    assert (failure.kind, failure.cell, failure.resumed) == (mro.TOO_LATE, "enb1", "enb2")
    # No time for random access: the host comes back where the handover takes it.
    short = base | {"mobility": base["mobility"] | {"timers": {"t304": "20 ms"}}}
    (failure,) = mro.failures(run(Scenario.from_dict(short, "short")), "ref")
    assert (failure.kind, failure.cell, failure.resumed) == (mro.SAME_CELL, "enb1", "enb2")
    assert mro.failures(run(Scenario.from_dict(base, "undisturbed")), "ref") == []
