"""Reports of `roamlab why` on queues that drop or mark before they are full, on tables made by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from hand_made import FakeResults, ns
from roamlab.causes import early
from roamlab.causes.places import queue_of
from roamlab.causes.stalls import Stall

_SPECS: dict[str, dict[str, Any]] = {
    "codel": {"limit": "1000 pkt", "target": "5 ms"},
    "fq-codel": {"limit": "10240 pkt", "target": "5 ms"},
    "fq": {"limit": "10000 pkt", "mark_above": "30 ms"},
    "pie": {"limit": "1000 pkt", "target": "15 ms"},
    "dualpi2": {"limit": "10000 pkt", "target": "15 ms"},
    "red": {"limit": "60 pkt", "min_threshold": "10 pkt", "max_threshold": "30 pkt"},
    "blue": {"limit": "120 pkt"},
    "rlc": {"limit": "16384 pkt", "five_qi": 82},
    "other": {"limit": "9 pkt"},
}
_SAID = {
    "codel": "CoDel at {}: the last packet had waited 23.46 ms, target 5 ms",
    "fq-codel": "FQ-CoDel at {}: the last packet had waited 23.46 ms, target 5 ms",
    "fq": "fq at {}: the last packet had waited 23.46 ms, marks above 30 ms",
    "pie": "PIE at {}: probability 3.13 %, the last packet had waited 23.46 ms, target 15 ms",
    "dualpi2": "DualPI2 at {}: probability 3.13 %, of the low-latency queue 35.36 %, the last packet had waited "
    "23.46 ms, target 15 ms",
    "red": "RED at {}: average 17.30 packets, thresholds 10 pkt and 30 pkt, probability 3.13 %",
    "blue": "BLUE at {}: probability 3.13 %",
    "rlc": "RLC at {}: the last packet had waited 23.46 ms, 5QI 82",
    "other": "other at {}: ",
}


def _results(spec: dict[str, Any], place: str = "bs1/air", queue: str = "bs1/air") -> FakeResults:
    """Two early drops and an overflow at a place, three marks of two packets, and three rows of a queue."""
    network = {
        "network": {"queue": {"kind": "droptail", "limit": "7 pkt"}, "uplink_queue": {"kind": "red"}},
        "links": [{"between": ["a", "b"], "queue": spec}],
        "hosts": [{"name": "host"}],
        "cells": {
            "bs1": {
                "router": "r1",
                "queue": spec,
                "backhaul": {"queue": spec},
                "bearers": {"queue": spec, "hosts": {"other": {"queue": {"kind": "codel"}}}},
            }
        },
    }
    return FakeResults(
        SimpleNamespace(network=network),
        drops=pl.DataFrame(
            {
                "time_ns": ns(0.95, 1.0, 1.1, 3.0),
                "place": [place] * 4,
                "reason": ["early-drop", "early-drop", "queue-overflow", "early-drop"],
                "flow": ["f"] * 4,
            }
        ),
        packets=pl.DataFrame(
            {
                "time_ns": ns(0.91, 0.92, 0.96),
                "place": [place, "b->c", place],
                "event": ["mark"] * 3,
                "flow": ["f"] * 3,
                "serial": [1, 1, 2],
            }
        ),
        queue=pl.DataFrame(
            {
                "time_ns": ns(0.9, 0.95, 0.96),
                "queue": [queue] * 3,
                "packets": [3, 17, 9],
                "average": [0.0, 17.3, 0.0],
                "probability": [0.0, 0.03126, 0.5],
                "coupled": [0.0, 0.35361, 0.0],
                "sojourn_ns": [0, 23_456_789, 0],
            }
        ),
    )


def _said(results: FakeResults, *, slow: bool = False) -> list[str]:
    stall = Stall("f", *ns(1.0, 2.0, 0.1), cut_off=False, is_slow=slow)
    return early.sentences(results, stall, ns(0.9)[0])  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", _SPECS)
def test_the_gauges_at_the_first_early_drop_are_told(kind: str) -> None:
    (said,) = _said(_results({"kind": kind, **_SPECS[kind]}))
    title, _, parts = _SAID[kind].partition(" at {}: ")
    waiting = f"17 pkt waited with a limit of {_SPECS[kind]['limit']}"
    first = f"{title} at bs1/air dropped 2 packets of it early, at 0.950 s first: "
    assert said == first + ", ".join(filter(None, [parts, waiting]))


def test_a_threshold_that_red_derives_is_left_out() -> None:
    (said,) = _said(_results({"kind": "red", "min_threshold": "0 pkt", "max_threshold": "0 pkt"}))
    assert said.endswith("first: average 17.30 packets, probability 3.13 %")


def test_marks_are_told_of_slow_periods_and_belong_to_the_first_queue() -> None:
    dropped, marked = _said(_results({"kind": "codel", **_SPECS["codel"]}), slow=True)
    assert " dropped 2 packets " in dropped
    start = (
        "CoDel at bs1/air marked 2 packets of it early, at 0.910 s first: the last packet had waited 0.00 ms"
    )
    assert marked == f"{start}, target 5 ms, 3 pkt waited with a limit of 1000 pkt"


def test_where_the_queue_is_not_recorded_the_way_to_record_it_is_told() -> None:
    for results in (_results({"kind": "pie"}, queue="bs2/air"), _results({"kind": "pie"})):
        if results.tables["queue"]["queue"][0] == "bs1/air":
            results.tables["queue"] = results.tables["queue"].clear()
        (said,) = _said(results)
        assert said == (
            "PIE at bs1/air dropped 2 packets of it early, at 0.950 s first: "
            'write "bs1/air" into `record.queues` to see why'
        )


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("a->b", "pie"),
        ("b->a", "droptail"),
        ("bs1/air", "pie"),
        ("bs1/air/host", "pie"),
        ("bs1/air/other", "codel"),
        ("r1->bs1", "pie"),
        ("bs1->r1", "droptail"),
        ("host->bs1", "red"),
        ("bs9/air", None),
    ],
)
def test_a_queue_is_found_by_its_place(place: str, kind: str | None) -> None:
    network = _results({"kind": "pie"}).manifest.network
    assert queue_of(network, place).get("kind") == kind
