"""The kept runs of ns-2, and ns-2 itself where it is installed, against the world."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pytest

import recorded
import reference
from case import draw
from events import Event, difference
from live import compare

if TYPE_CHECKING:
    from case import Case
    from events import Events

# Vegas differs after several losses in a window (docs/models/tcp.md). At least so many of its kept runs agree.
_VEGAS_AGREES = 8


@cache
def _runs() -> list[tuple[Case, list[int], Events]]:
    return list(recorded.read())


def _has_vegas(case: Case) -> bool:
    return any(flow.variant == "vegas" for flow in case.flows)


@pytest.mark.parametrize(
    "case", [case for case in recorded.cases() if not _has_vegas(case)], ids=lambda case: case.name
)
def test_a_recorded_run_is_repeated_packet_by_packet(case: Case) -> None:
    kept, phases, events = next(run for run in _runs() if run[0].name == case.name)
    assert kept == case, "the generator has changed: record anew"
    assert events
    assert compare(case, phases, events) is None


def test_vegas_agrees_as_often_as_is_said() -> None:
    runs = [run for run in _runs() if _has_vegas(run[0])]
    agree = sum(compare(*run) is None for run in runs)
    assert len(runs) > 15
    assert agree >= _VEGAS_AGREES


@pytest.mark.skipif(not reference.installed(), reason="ns-2 is not installed")
def test_ns2_still_does_what_was_recorded() -> None:
    for case, phases, events in _runs()[::7]:
        now_phases, now_events = reference.run(case)
        assert now_phases == phases, case.name
        assert difference(events, now_events, case.duration / 1000) is None, case.name


@pytest.mark.skipif(not reference.installed(), reason="ns-2 is not installed")
def test_scenarios_that_were_not_recorded_agree_live() -> None:
    cases = [case for case in map(draw, range(1001, 1013)) if not _has_vegas(case)]
    assert len(cases) > 5
    assert [found for case in cases if (found := compare(case, *reference.run(case)))] == []


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
