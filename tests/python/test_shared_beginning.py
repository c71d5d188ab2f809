"""Schemes of handover are one run until the first of them acts: every table, serial numbers and causes included."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from roamlab import run
from roamlab.papers.lte import experiments

if TYPE_CHECKING:
    from roamlab.scenarios.scenario import Scenario

FORWARDING = [(scheme, experiments.forwarding(scheme)) for scheme in experiments.SCHEMES]
ACTIVE = {
    aqm: [(scheme, experiments.active_queue(scheme, aqm)) for scheme in ("standard", "predictive")]
    for aqm in experiments.AQMS
}
"""The prediction comes 130 ms before the handover at 2.3 s: at 2170 ms."""


def _until(scenario: Scenario, ms: int) -> Scenario:
    record = {"packets": True, "deliveries": True, "tcp": True, "queues": ["*"]}
    return scenario.set_all({"run.duration": f"{ms} ms", "record": record})


def _differ(one: Scenario, other: Scenario, ms: int) -> list[str]:
    """Tables that differ when both end at `ms`."""
    first, second = (run(_until(scenario, ms), seed=1, run=3) for scenario in (one, other))
    assert set(first.loaders) == set(second.loaders)
    assert len(first.table("packets")) > 10_000
    return [name for name in first.loaders if not first.table(name).equals(second.table(name))]


@pytest.mark.parametrize("family", [FORWARDING, *ACTIVE.values()], ids=["forwarding", *ACTIVE])
def test_schemes_are_equal_until_the_first_acts(family: list[tuple[str, Scenario]]) -> None:
    (_, standard), *others = family
    for scheme, other in others:
        assert _differ(standard, other, 2169) == [], scheme


def test_a_prediction_is_seen_at_once() -> None:
    standard, _, predictive = (scenario for _, scenario in FORWARDING)
    assert "signalling" in _differ(standard, predictive, 2171)
