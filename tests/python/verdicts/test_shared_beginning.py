"""Alternatives made together, whose beginning the engine makes once, give the result of each alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from roamlab import _roamlab, sweep
from roamlab.papers.bcmp import experiments as bcmp
from roamlab.papers.lte import experiments as lte

if TYPE_CHECKING:
    from pathlib import Path

    from roamlab.scenarios.scenario import Scenario

RUNS = 3
RECORD = {"deliveries": True, "tcp": True, "queues": ["*"]}
LTE = {
    "forwarding": [lte.forwarding(scheme) for scheme in lte.SCHEMES],
    "predictions": [lte.predicted(lead) for lead in lte.PREDICTIONS.values()],
    **{
        aqm: [lte.active_queue(scheme, aqm, seconds=3.6) for scheme in ("standard", "predictive")]
        for aqm in lte.AQMS
    },
}


def _tables(scenarios: list[Scenario], order: list[tuple[int, int]]) -> dict[tuple[int, int], dict[str, Any]]:
    """All tables of runs, by place and number, made one behind the other."""
    found: dict[tuple[int, int], dict[str, Any]] = {}
    recorded = [scenario.set("record", RECORD) for scenario in scenarios]
    jobs = [(recorded[place].text, recorded[place].name, 1, run) for place, run in order]
    _roamlab.run_many(iter(jobs), 1, lambda index, tables: found.update({order[index]: tables}))
    return found


def _compare(scenarios: list[Scenario]) -> None:
    places = range(len(scenarios))
    together = _tables(scenarios, [(place, run) for run in range(RUNS) for place in places])
    # Runs of other numbers are between alternatives, so that each is made from its beginning.
    apart = _tables(scenarios, [(place, run) for place in places for run in range(RUNS)])
    assert together.keys() == apart.keys()
    for at, tables in apart.items():
        assert tables.keys() == together[at].keys()
        assert len(tables["deliveries"]["time_ns"]) > 1000
        for name, columns in tables.items():
            if name == "names":
                assert columns == together[at][name]
                continue
            for column, values in columns.items():
                np.testing.assert_array_equal(together[at][name][column], values, f"{at}: {name}.{column}")


@pytest.mark.parametrize("family", LTE)
def test_schemes_of_lte(family: str) -> None:
    _compare(LTE[family])


def test_interpretations_of_bcmp() -> None:
    """Hosts move from the beginning on: almost nothing is common, and nothing may be mixed up."""
    base = bcmp.procedures("tree", "unplanned").set("run.duration", "3 s")
    _compare([base, *(base.set("mobility.anchor_grace", value) for value in ("2 s", "4 s"))])


def test_a_sweep_over_a_protocol_makes_its_points_together(tmp_path: Path) -> None:
    design = {"mobility.path_switch": ["standard", "fast", "predictive"]}
    base = lte.forwarding("standard")
    together = sweep(base, design, replications=4, store=tmp_path / "together")
    for point, scheme in enumerate(design["mobility.path_switch"]):
        alone = sweep(base, {"mobility.path_switch": [scheme]}, replications=4, store=tmp_path / scheme)
        kept = together.kept.filter(together.kept["point"] == point)["value"]
        assert kept.equals(alone.kept["value"], null_equal=True)
