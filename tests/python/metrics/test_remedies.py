"""`roamlab why --check`: what it tries, what it calls a remedy, and what of a stall it gives to the timer."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import generated
from conftest import ROOT
from hand_made import FakeResults, manifest, ns
from roamlab.causes.explain import explain, lines
from roamlab.causes.removal import recorded
from roamlab.records import metrics
from roamlab.records.analysis import Stall, wait
from roamlab.running.run import run
from roamlab.scenarios.scenario import Scenario, load

if TYPE_CHECKING:
    from pathlib import Path

COUNT = int(os.environ.get("ROAMLAB_REMEDIES", "24"))
"""Random scenarios; `make deep` takes 200."""
OUTAGE = """
[run]
duration = "80 s"
profile = "linux-6"
[[links]]
between = ["server", "client"]
rate = "2 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", limit = "50 pkt" }
changes = [{ at = "10 s", up = false }, { at = "45 s", up = true }]
[[flows]]
name = "f"
path = ["server", "client"]
transport = { kind = "tcp", segment = "1448 B" }
app = { kind = "ftp", start = "0.1 s" }
"""


def _phone(
    core: str, cells: tuple[str, str], queue: str, visits: list[float], more: dict[str, Any]
) -> Scenario:
    """A phone that goes to and fro between two cells, each behind its own router."""
    names = ["bs1", "bs2"]
    link = {"rate": "100 Mbit/s", "delay": "5 ms"}
    data: dict[str, Any] = {
        "run": {"duration": "25 s"},
        "links": [
            {"between": ["server", "core"], "rate": "100 Mbit/s", "delay": core},
            *({"between": ["core", router], **link} for router in ("r1", "r2")),
        ],
        "cells": {
            name: {
                "router": f"r{name[-1]}",
                "rate": rate,
                "delay": "3 ms",
                "queue": {"kind": "droptail", "limit": queue},
                "backhaul": {"rate": "100 Mbit/s", "delay": "1 ms"},
            }
            for name, rate in zip(names, cells, strict=True)
        },
        "hosts": [
            {
                "name": "phone",
                "home": "core",
                "visits": [{"cell": names[at % 2], "at": f"{time} s"} for at, time in enumerate(visits)],
            }
        ],
        "flows": [
            {
                "name": "download",
                "path": ["server", "phone"],
                "transport": {"kind": "tcp", "variant": "reno"},
                "app": {"kind": "ftp", "start": "0.5 s"},
            }
        ],
        "record": {"packets": True},
    }
    return Scenario.from_dict({**data, **more}, "phone.toml")


HAWAII = _phone(
    "20 ms",
    ("2 Mbit/s", "4 Mbit/s"),
    "10 pkt",
    [0, 4, 11],
    {"radio": {"kind": "hard", "gap": "20 ms"}, "mobility": {"kind": "hawaii", "scheme": "unf"}},
)
"""A queue without limit ends its first stall, and costs 838 kbit/s of its goodput."""


def _goodput(scenario: Scenario, seed: int, flow: str, number: int = 0) -> float:
    return metrics.total(run(scenario, seed, number), flow, "goodput_bps")


def test_a_change_that_ends_the_stall_and_costs_goodput_is_no_remedy() -> None:
    (told,) = [each for each in explain(run(recorded(HAWAII), 1), check=True) if each.stall.start_ns < 2e9]
    assert told.check is not None
    longer = next(trial for trial in told.check.trials if "without limit" in trial.what)
    assert longer.gone
    assert longer.gain.goodput_bps < -500_000
    before, after = (_goodput(each, 1, "download") for each in (HAWAII, longer.scenario))
    assert longer.gain.goodput_bps == pytest.approx(after - before)
    shown = "\n".join(lines([told]))
    assert "no remedy: a queue without limit at bs1/air, because over the whole run" in shown
    assert re.search(r"goodput \d+\.?\d* kbit/s lower", shown)
    assert told.check.remedy is not None
    assert told.check.remedy.trial.what == "an RTO of at least 50 ms"
    assert told.check.remedy.gain.same, "nothing in it depends on the seed"


def test_a_file_that_came_whole_is_judged_by_its_transfer() -> None:
    """Of the whole run its goodput is the same however late it was: 8 bits for each byte until its last one."""
    size = "flows.download.app.size"
    whole = HAWAII.set_all({size: "1 MB", "run.duration": "20 s"})
    before = run(recorded(whole), 1)
    (told,) = [each for each in explain(before, check=True) if each.stall.start_ns < 2e9]
    assert told.check is not None
    trial = next(each for each in told.check.trials if each.what == "an RTO of at least 50 ms")
    totals = before, run(trial.scenario, 1)
    assert len({metrics.total(one, "download", "goodput_bps") for one in totals}) == 1
    then, now = (8e6 / one.metric("flows.download.completion_s") for one in totals)
    assert trial.gain.goodput_bps == pytest.approx(now - then)
    assert now > then + 1000.0


def test_a_remedy_is_judged_over_several_runs() -> None:
    """busy-cell.toml begins its flows at random times."""
    base = load(ROOT / "examples/busy-cell.toml")
    (told,) = explain(run(recorded(base), 1), "download", 1, check=True)
    assert told.check is not None
    remedy = told.check.remedy
    assert remedy is not None
    assert remedy.gain.runs == 5
    gains = [
        _goodput(remedy.trial.scenario, 1, "download", number) - _goodput(base, 1, "download", number)
        for number in range(5)
    ]
    assert remedy.gain.goodput_bps == pytest.approx(sum(gains) / 5)
    assert remedy.gain.goodput_bps >= 0.0
    assert gains[0] == pytest.approx(remedy.trial.gain.goodput_bps)


def test_of_an_outage_the_timer_has_its_part_and_a_smaller_bound_is_tried() -> None:
    """RFC 6298 doubles the RTO: the path is back at 45 s, and the sender does not know."""
    results = run(recorded(Scenario(OUTAGE)), 1)
    told, *_ = explain(results, check=True)
    assert told.wait is not None
    assert told.wait.back_ns == 45_000_000_000
    assert told.wait.is_link
    events = results.columns("tcp")
    times = events["time_ns"][events.where("event", "timeout")]
    waited = times[times > 45_000_000_000].min() - 45_000_000_000
    assert told.wait.length_ns == waited > 20_000_000_000
    arrived = told.stall.end_ns - told.wait.expired_ns
    assert 0 < arrived < 400_000_000, "then data comes within two round trips"
    said = next(each for each in told.sentences if "the timer's" in each)
    assert said.startswith(
        "the link server->client was up again at 45.000 s, and the retransmission timer expired"
    )
    assert told.check is not None
    bound = next(trial for trial in told.check.trials if "at most 1 s" in trial.what)
    assert 35.0 <= bound.left.longest_s <= 36.5, "the outage, and at most a second of waiting"
    assert told.check.remedy is not None
    assert told.check.remedy.trial.what == bound.what
    assert all("at least" not in trial.what.partition(" (")[0] for trial in told.check.trials), (
        "it would be longer"
    )
    data = told.data()
    assert data["timer"]["path_back_s"] == 45.0
    assert data["remedy"]["what"] == bound.what


@pytest.mark.parametrize(("sent_s", "expected"), [(None, 2.0), (2.5, None), (1.5, 2.0)])
def test_a_host_that_is_back_waits_for_its_timer(sent_s: float | None, expected: float | None) -> None:
    """A cell again at 2 s, the timer at 4 s: 2 s are the timer's, unless the sender sent in between."""
    stall = Stall("f", *ns(1.0, 4.1), ns(0.1)[0], cut_off=False)
    sent = ns(*(each for each in (0.9, sent_s, 4.0) if each is not None))
    timers = pl.DataFrame({"flow": ["f"], "event": ["timeout"], "time_ns": ns(4.0), "rto_ns": ns(3.0)})
    phases = {"time_ns": ns(1.0, 2.0), "host": ["mh", "mh"], "phase": ["link-down", "link-up"]}
    results: Any = FakeResults(
        manifest({}, {}),
        flows=pl.DataFrame({"flow": ["f"], "source": ["ch"], "destination": ["mh"]}),
        handovers=pl.DataFrame(phases),
        drops=pl.DataFrame(
            schema={"flow": pl.String, "time_ns": pl.Int64, "reason": pl.String, "place": pl.String}
        ),
        tcp=timers,
        packets=pl.DataFrame({"time_ns": sent, "flow": "f", "event": "send", "kind": "data"}),
    )
    found = wait(results, stall)
    assert (found and found.length_ns / 1e9) == expected
    if found:
        assert (found.where, found.is_link, found.back_ns) == ("mh", False, ns(2.0)[0])


@pytest.mark.parametrize("changes", [{}, {"radio.gap": "400 ms"}])
def test_a_rerun_that_the_check_refuses_is_left_out_with_a_word(changes: dict[str, Any]) -> None:
    """QUIC has no `min_rto`."""
    told = explain(run(recorded(load(ROOT / "examples/quic.toml").set_all(changes)), 1), check=True)
    assert told
    left_out = [each for one in told if one.check for each in one.check.left_out]
    assert left_out
    shown = "\n".join(lines(told))
    assert "  no rerun with an RTO of at least" in shown
    assert "the scenario does not take it, `flows[0].transport.min_rto`: there is no such field" in shown
    assert told[0].data()["left_out"] == [
        {"what": each.what, "refused": each.refused}
        for each in told[0].check.left_out  # type: ignore[union-attr]
    ]


def test_a_table_that_was_not_written_gets_the_defaults_of_its_protocol() -> None:
    """HAWAII's MSF holds at the old base station: a written `buffer` needs `at` too."""
    scheme = {"kind": "hawaii", "scheme": "msf"}
    radio = {"kind": "hard", "gap": "500 ms"}
    scenario = _phone(
        "20 ms",
        ("4 Mbit/s", "4 Mbit/s"),
        "100 pkt",
        [0, 5],
        {"radio": radio, "mobility": scheme},
    )
    told = explain(run(recorded(scenario), 1), check=True)
    checks = [each.check for each in told if each.check]
    assert not any(check.left_out for check in checks)
    assert any(trial.what.startswith("mobility.buffer.limit") for check in checks for trial in check.trials)


def test_steps_are_in_plain_english() -> None:
    told, *_ = explain(run(recorded(load(ROOT / "examples/busy-cell.toml")), 1))
    assert told.sentences[-1] == "because phone left bs1 at 10.000 s"
    assert "because a packet of download was lost at bs1 at 10.000 s: the buffer was full" in told.sentences
    assert "suspected first: buffer too small of phone at bs1, 10.000 s" not in told.sentences


@pytest.mark.parametrize(
    "path", generated.EXAMPLES, ids=lambda path: path.relative_to(ROOT).with_suffix("").as_posix()
)
def test_no_remedy_of_an_example_lowers_the_goodput(path: Path) -> None:
    """Its first seconds; `make deep` takes all of it."""
    scenario = load(path)
    if COUNT < 200 and scenario.outline.duration_ns > generated.LONGEST_S * 1e9:
        scenario = scenario.set("run.duration", f"{generated.LONGEST_S:g} s")
    _remedies_of(scenario)


def _remedies_of(scenario: Scenario) -> int:
    """How many there are; none lowers the goodput of its flow, measured by runs without the code of `why`."""
    told = explain(run(recorded(scenario), 1), check=True)
    assert lines(told)
    found = [(each.stall.flow, each.check.remedy.trial) for each in told if each.check and each.check.remedy]
    for flow, trial in found:
        assert _goodput(trial.scenario, 1, flow) >= _goodput(scenario, 1, flow), trial.what
    return len(found)


@pytest.mark.parametrize("part", range(4))
def test_no_remedy_of_a_random_scenario_lowers_the_goodput(part: int) -> None:
    found = [_remedies_of(generated.troubled(seed)) for seed in range(part, COUNT, 4)]
    assert sum(found) >= COUNT // 40, "some have remedies"
