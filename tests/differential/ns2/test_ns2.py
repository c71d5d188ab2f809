"""The kept runs of ns-2, and ns-2 itself where it is installed, against the world."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

import ours
import recorded
import reference
import validation
from case import Hop, classic, draw, draw_wide
from events import Event, difference
from live import compare, traits, ungiven
from roamlab.running.run import run

if TYPE_CHECKING:
    from case import Case
    from events import Events


@cache
def _runs() -> list[tuple[Case, list[int], Events]]:
    return list(recorded.read())


@pytest.mark.parametrize("case", recorded.cases(), ids=lambda case: case.name)
def test_a_recorded_run_is_repeated_packet_by_packet(case: Case) -> None:
    kept, phases, events = next(run for run in _runs() if run[0].name == case.name)
    assert kept == case, "the generator has changed: record again"
    assert events
    assert compare(case, phases, events) is None


@cache
def _fingerprints() -> dict[str, Any]:
    kept: dict[str, Any] = json.loads(validation.FILE.read_text(encoding="utf-8"))
    return kept


@pytest.mark.parametrize("case", validation.cases(), ids=lambda case: case.name)
def test_a_scenario_of_ns2s_own_families_leaves_its_fingerprint(case: Case) -> None:
    kept = _fingerprints()[case.name]
    events = ours.events(run(ours.scenario(case, kept["phases"]), seed=1))
    found = validation.fingerprint(case, events, micros=False)
    assert found["S"][0] > 20
    assert {"phases": kept["phases"], **found} == kept


def test_the_families_are_those_that_were_recorded() -> None:
    names = [case.name for case in validation.cases()]
    assert names == list(_fingerprints())
    assert len(names) > 100
    assert all(case.fits() for case in validation.cases())


@pytest.mark.skipif(not reference.installed(), reason="ns-2 is not installed")
def test_the_families_still_leave_these_fingerprints_in_ns2() -> None:
    for case in validation.cases()[::12]:
        phases, events = reference.run(case)
        now = {"phases": phases, **validation.fingerprint(case, events, micros=True)}
        assert now == _fingerprints()[case.name], case.name


@pytest.mark.skipif(not reference.installed(), reason="ns-2 is not installed")
def test_ns2_still_does_what_was_recorded() -> None:
    for case, phases, events in _runs()[::7]:
        now_phases, now_events = reference.run(case)
        assert now_phases == phases, case.name
        assert difference(events, now_events, case.duration / 1000) is None, case.name


@pytest.mark.skipif(not reference.installed(), reason="ns-2 is not installed")
def test_scenarios_that_were_not_recorded_agree_live() -> None:
    cases = [*map(draw, range(1001, 1013)), *map(draw_wide, range(101, 107))]
    assert any(case.red for case in cases)
    assert any(case.ecn for case in cases)
    assert [found for case in cases if (found := compare(case, *reference.run(case)))] == []


def test_what_the_application_has_not_given_is_seen() -> None:
    case = next(case for case in map(draw, range(1, 100)) if case.flows[0].packets)
    flow = case.flows[0]
    assert flow.packets
    last = flow.packets - (case.preset == "ns21b" or flow.variant == "vegas")
    sent = [Event("S", 10.0, 0, last, "0"), Event("S", 20.0, 0, last + 1, "0")]
    assert ungiven(case, sent[:1]) is None
    assert ungiven(case, sent) == sent[1]
    stopped = replace(case, flows=[replace(flow, packets=None, stop=15_000)])
    assert ungiven(stopped, sent) == sent[1]
    assert ungiven(stopped, [sent[0], sent[1]._replace(detail="1")]) is None, "a retransmission"


def test_what_a_case_has_is_counted() -> None:
    case = replace(classic()[0], losses=[], variables={"maxburst_": 3})
    assert traits(case) == ["maxburst_"]
    there = case.flows[0]
    back = replace(there, enters=1, leaves=0, variant="sack")
    found = traits(replace(case, flows=[there, back], losses=[4], delay=0))
    assert set(found) == {
        "a delay of zero",
        "data towards r1",
        "data both ways over one bottleneck",
        "more than one variant",
        "lost packets or ACKs by number",
        "maxburst_",
    }
    apart = [there, replace(there, enters=2, leaves=1)]
    found = traits(replace(case, flows=apart, second=Hop(800_000, 0, 8)))
    assert set(found) == {"a delay of zero", "data towards r1", "a second bottleneck", "maxburst_"}


def test_differences_are_found() -> None:
    events = [Event("S", 10.0, 0, 1, "0"), Event("S", 20.0, 0, 2, "0"), Event("K", 25.0, 0, 1, "40")]
    assert difference(events, events, 100.0) is None
    assert difference(events, [events[0]._replace(time=10.9), *events[1:]], 100.0) is None, (
        "within a microsecond"
    )
    for other in (
        [events[0]._replace(time=11.1), *events[1:]],
        [events[0], events[1]._replace(number=3), events[2]],
        [events[0], events[1]._replace(detail="1"), events[2]],
        events[:2],
        [*events, Event("D", 30.0, 0, 2, "q")],
    ):
        assert difference(events, other, 100.0)
        assert difference(events, other, 5.0) is None, "what comes after the end is not compared"
