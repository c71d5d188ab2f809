"""Stalls on records made by hand, and reports of `roamlab why` on runs with planted causes."""

from __future__ import annotations

import json
import math
import re
import subprocess
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import planted
from conftest import COMMAND, ROOT
from hand_made import FakeResults, manifest, ns
from roamlab.base.errors import BadInput
from roamlab.causes.explain import explain, lines
from roamlab.causes.removal import recorded, removals
from roamlab.causes.trials import Reruns, by_gain
from roamlab.causes.trials import check as trying
from roamlab.records.analysis import Stall, Suspect, slow_periods, slow_s, stalls
from roamlab.running.run import run
from roamlab.scenarios.scenario import load

if TYPE_CHECKING:
    from pathlib import Path

    from roamlab.records.results import Results


def _record(
    sent: list[float], arrived: list[float], again: float | None = None, app: str = "web"
) -> FakeResults:
    """A flow of a run of 1 s; one-way delay 50 ms except the last. `again`: when the last is sent again."""
    sends = [*sent, *([] if again is None else [again])]
    return FakeResults(
        manifest({"flows": [{"name": "f", "app": {"kind": app}}]}, duration_ns=1_000_000_000),
        flows=pl.DataFrame({"flow": ["f"], "completed_ns": [-1]}),
        deliveries=pl.DataFrame(
            {
                "time_ns": ns(*arrived),
                "flow": ["f"] * len(arrived),
                "seq": range(1, len(arrived) + 1),
                "sent_ns": ns(*sent[: len(arrived) - 1], again or sent[len(arrived) - 1]),
                "fresh": [True] * len(arrived),
            }
        ),
        packets=pl.DataFrame(
            {
                "time_ns": ns(*sends),
                "event": ["send"] * len(sends),
                "flow": ["f"] * len(sends),
                "kind": ["data"] * len(sends),
                "number": [*range(1, len(sent) + 1), *([] if again is None else [len(sent)])],
                "retransmission": [False] * len(sent) + [True] * (again is not None),
            }
        ),
    )


@pytest.mark.parametrize(
    ("sent", "again", "expected"),
    [
        (0.95, None, None),
        (0.30, None, (0.30, 1.00)),
        (0.22, 0.95, (0.25, 1.00)),
    ],
)
def test_the_examples_of_the_definition(
    sent: float, again: float | None, expected: tuple[float, float] | None
) -> None:
    found = stalls(_record([0.10, 0.20, sent], [0.15, 0.25, 1.00], again), "f")  # type: ignore[arg-type]
    assert found == ([] if expected is None else [Stall("f", *ns(*expected), 100_000_000, cut_off=False)])


def test_a_file_that_waits_for_acknowledgements_is_not_idle() -> None:
    found = stalls(_record([0.10, 0.20, 0.95], [0.15, 0.25, 1.00], app="ftp"), "f")  # type: ignore[arg-type]
    assert [(each.start_ns, each.end_ns) for each in found] == [tuple(ns(0.25, 1.00))]


def test_a_flow_that_hears_nothing_until_the_end_is_cut_off() -> None:
    (found,) = stalls(_record([0.10, 0.20, 0.24], [0.15, 0.25]), "f")  # type: ignore[arg-type]
    assert (found.start_ns, found.end_ns, found.cut_off) == (*ns(0.25, 1.0), True)


def test_a_silence_below_the_limit_is_no_stall() -> None:
    assert stalls(_record([0.50, 0.60, 0.72], [0.55, 0.65, 0.85]), "f") == []  # type: ignore[arg-type]


def test_a_record_without_a_column_is_refused() -> None:
    record = _record([0.10, 0.20, 0.30], [0.15, 0.25, 1.00])
    record.tables["packets"] = record.tables["packets"].drop("number")
    with pytest.raises(
        BadInput, match="the table `packets` has no column `number` of numbers\n  expected: the tables"
    ):
        stalls(record, "f")  # type: ignore[arg-type]


@pytest.mark.parametrize("connections", ["per-object", "persistent"])
def test_a_reader_who_thinks_stalls_nothing_and_a_dead_link_does(connections: str) -> None:
    """Web pages over connections that each number their segments from the beginning; then with a link down."""
    scenario = recorded(load(ROOT / "examples/applications.toml")).set("flows.3.app.connections", connections)
    # Small windows: with larger ones pages fill the queue of the air, and a lost SYN is a stall of 1 s.
    small = {"window": "20 pkt", "initial_window": "3 pkt"}
    flows = [
        {**flow, "transport": {**flow["transport"], **small}}
        if flow.get("transport", {}).get("kind") == "tcp"
        else flow
        for flow in scenario.to_dict()["flows"]
    ]
    scenario = scenario.set("flows", flows)
    assert scenario.to_dict()["flows"][3]["name"] == "pages"
    quiet = run(scenario, 1)
    assert stalls(quiet, "pages") == stalls(quiet, "pages-requests") == []
    down = [{"at": "5 s", "up": False}, {"at": "12 s", "up": True}]
    (found,) = stalls(run(scenario.set("links.0.changes", down), 1), "pages-requests")
    assert ns(5)[0] <= found.start_ns < ns(12)[0] < found.end_ns, (
        "from the first request that could not arrive"
    )


_RECORDED = {"deliveries": True, "packets": True}


def _steps(*rates: tuple[float, float]) -> FakeResults:
    """A file of 12 s: deliveries of 1000 B at this rate a second from each time on; one-way delay 50 ms."""
    times: list[float] = []
    for (start, rate), (end, _) in pairwise([*rates, (12.0, 0.0)]):
        times += [start + (each + 1) / rate for each in range(round((end - start) * rate))]
    parameters = {"flows": [{"name": "f", "app": {"kind": "ftp"}}], "record": _RECORDED}
    return FakeResults(
        manifest(parameters, duration_ns=12_000_000_000),
        flows=pl.DataFrame({"flow": ["f"], "kind": ["tcp"], "start_ns": [0], "completed_ns": [-1]}),
        deliveries=pl.DataFrame(
            {
                "time_ns": ns(*times),
                "flow": ["f"] * len(times),
                "sent_ns": ns(*(time - 0.05 for time in times)),
                "fresh": [True] * len(times),
                "bytes": [1000] * len(times),
            }
        ),
    )


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        ([(0.0, 100.0), (5.0, 20.0), (7.0, 100.0)], [(5.0, 7.0)]),
        ([(0.0, 100.0), (5.0, 60.0), (7.0, 100.0)], []),
        ([(0.0, 100.0), (5.0, 20.0), (7.0, 60.0)], [(5.0, 7.1)]),
        ([(0.0, 100.0), (10.0, 20.0)], [(10.0, 12.0)]),
        ([(0.0, 100.0), (5.0, 20.0), (5.1, 100.0)], []),
        ([(0.0, 2.0), (5.0, 0.5), (7.0, 2.0)], []),
    ],
    ids=[
        "a fifth",
        "more than half",
        "back at 60 %",
        "to the end",
        "shorter than a limit",
        "too few packets",
    ],
)
def test_a_slow_period_is_below_half_of_the_rate_before(
    rates: list[tuple[float, float]], expected: list[tuple[float, float]]
) -> None:
    found = slow_periods(_steps(*rates), "f")  # type: ignore[arg-type]
    times = [time / 1e9 for each in found for time in (each.start_ns, each.end_ns)]
    assert times == pytest.approx([time for each in expected for time in each], abs=0.1)
    assert slow_s(_steps(*rates), "f") == pytest.approx(sum(end - start for start, end in expected), abs=0.15)  # type: ignore[arg-type]
    if expected:
        assert (found[0].before_bps, found[0].rate_bps) == pytest.approx((800_000, 160_000), rel=0.15)
        assert found[-1].cut_off == (expected[-1][1] == 12.0)


def test_datagrams_are_slow_against_what_is_sent() -> None:
    """50 a second, of which every fourth arrives from 5 to 7 s; from 9 to 10 s none is sent, which is not slow."""
    sent = [at / 50 for at in range(600) if not 450 <= at < 500]
    came = [(at, time) for at, time in enumerate(sent) if not 5.0 <= time < 7.0 or at % 4 == 0]
    flow = {"flow": ["f"], "kind": ["udp"], "completed_ns": [-1]}
    found = FakeResults(
        manifest({"flows": [], "record": _RECORDED}, duration_ns=12_000_000_000),
        flows=pl.DataFrame(flow),
        deliveries=pl.DataFrame(
            {
                "time_ns": ns(*(time + 0.05 for _, time in came)),
                "flow": ["f"] * len(came),
                "sent_ns": ns(*(time for _, time in came)),
                "fresh": [True] * len(came),
                "bytes": [200] * len(came),
            }
        ),
        packets=pl.DataFrame(
            {
                "time_ns": ns(*sent),
                "event": ["send"] * len(sent),
                "flow": ["f"] * len(sent),
                "kind": ["datagram"] * len(sent),
                "wire_bytes": [200] * len(sent),
            }
        ),
    )
    (slow,) = slow_periods(found, "f")  # type: ignore[arg-type]
    assert (slow.start_ns / 1e9, slow.end_ns / 1e9) == pytest.approx((5.05, 7.05), abs=0.1)
    assert (slow.before_bps, slow.rate_bps) == pytest.approx((80_000, 20_000), rel=0.1)


def test_other_applications_have_no_slow_periods() -> None:
    """Of web pages and adaptive video the sender is idle at times: their own metrics are the noticeable ones."""
    results = run(recorded(load(ROOT / "examples/applications.toml")).set("run.duration", "6 s"), 1)
    assert all(math.isnan(slow_s(results, flow)) for flow in ("pages", "tv"))
    assert slow_s(results, "call") == 0.0


def test_a_rerun_says_what_it_gains_and_what_a_user_can_change() -> None:
    """A buffer of 4 packets and a gap of 150 ms, which no setting changes: with room for all, the rate is soon back."""
    gap = {"kind": "hard", "gap": "150 ms"}
    changes = {"run.duration": "14 s", "mobility.buffer.limit": "4 pkt", "radio": gap}
    results = run(recorded(load(ROOT / "examples/handover.toml").set_all(changes)), 1)
    told = explain(results, "moving", check=True)
    for each in told:
        assert each.slow is not None
        assert each.slow.length_ns > 1.4e9
        assert each.named == "buffer too small"
        assert each.check is not None
        kinds = [trial.kind for trial in by_gain(each.check.trials)]
        assert kinds[0] == "buffer too small"
        assert "handover" in kinds, "all suspects are tried"
        best = by_gain(each.check.trials)[0]
        assert best.what == "mobility.buffer.limit 62 pkt instead of 4 pkt"
        assert best.gain.slow_s > 1.0
        assert best.gain.goodput_bps > 1e5
        assert best.left.back_s is not None
        assert best.left.back_s < 10.5
        (given,) = (trial for trial in each.check.trials if trial.kind == "handover")
        assert given.given
    shown = "\n".join(lines(told))
    assert "remedy: mobility.buffer.limit 62 pkt instead of 4 pkt" in shown
    assert re.search(r"rate back at 10\.\d+ s; over the whole run .*goodput \d+\.?\d* kbit/s higher", shown)
    assert re.search(r"without a gap: .*no setting changes this", shown)


_WIRED = """
run = { duration = "9 s", profile = "linux-6" }
[[links]]
between = ["a", "r"]
rate = "100 Mbit/s"
delay = "5 ms"
[[links]]
between = ["r", "b"]
rate = "10 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", limit = "100 pkt" }
[[flows]]
name = "file"
path = ["a", "b"]
transport = { kind = "tcp", congestion_control = "cubic" }
app = { kind = "ftp", start = "0 s" }
"""


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Results:
    """A file over a recorded link that sends nothing from 4 to 6 s, and a schedule with a gap of 0.4 s at 8 s."""
    folder = tmp_path_factory.mktemp("drive")
    steady = "".join(f"{time}\n" for time in (*range(1, 4000), *range(6000, 20_000)))
    for name in ("cell.down", "cell.up"):
        (folder / name).write_text(steady, encoding="ascii")
    moves = "time_s,host,from,to,gap_s\n8,car,north,south,0.4\n"
    (folder / "moves.csv").write_text(moves, encoding="ascii")
    text = (ROOT / "examples/imported/drive.toml").read_text(encoding="utf-8")
    (folder / "drive.toml").write_text(text, encoding="utf-8")
    return run(recorded(load(folder / "drive.toml")), 1)


def test_a_recorded_link_and_a_scheduled_gap_are_causes(drive: Results) -> None:
    told = explain(drive, "download", check=True)
    outage, gap = sorted(
        (each for each in told if not each.stall.is_slow), key=lambda each: each.stall.start_ns
    )[:2]
    assert ns(3.9)[0] < outage.stall.start_ns < ns(4.1)[0]
    assert (outage.suspects[0].kind, outage.named) == ("link outage", "link outage")
    assert outage.check is not None
    assert gap.check is not None
    what = [trial.what for trial in outage.check.trials]
    assert "a constant 10799939 bit/s at north/air instead of the recording" in what
    assert ns(8.0)[0] <= gap.stall.start_ns < ns(8.1)[0]
    assert gap.named == "handover"
    assert any(trial.what == "changes of cells without a gap" and trial.gone for trial in gap.check.trials)


def test_a_table_of_rates_without_rate_is_a_cause(tmp_path: Path) -> None:
    """12 Mbit/s, and nothing from 4 to 6 s: 8 of 10 s carry, as the last row lasts as long as that before it."""
    (tmp_path / "rate.csv").write_text("time_s,rate_mbit_s\n0,12\n4,0\n6,12\n8,12\n", encoding="ascii")
    link = 'between = ["r", "b"]\nrate = "10 Mbit/s"'
    text = _WIRED.replace(link, 'between = ["r", "b"]\nrate = { table = "rate.csv" }')
    (tmp_path / "table.toml").write_text(text, encoding="ascii")
    told = explain(run(recorded(load(tmp_path / "table.toml")), 1), "file", check=True)
    outage = next(each for each in told if not each.stall.is_slow)
    assert ns(3.9)[0] < outage.stall.start_ns < ns(4.1)[0]
    assert (outage.suspects[0].kind, outage.named) == ("link outage", "link outage")
    assert outage.check is not None
    what = [trial.what for trial in outage.check.trials]
    assert "a constant 9600000 bit/s at r->b instead of the recording" in what


def test_a_channel_without_rate_is_a_cause(tmp_path: Path) -> None:
    """12 Mbit/s, and nothing for 2 s on average in a third of the time."""
    link = 'between = ["r", "b"]\nrate = "10 Mbit/s"'
    channel = (
        '{ kind = "states", step = "500 ms", states = [{ rate_mbit_s = [0.0] }, { rate_mbit_s = [12.0] }], '
        "next = [[0.75, 0.25], [0.125, 0.875]] }"
    )
    text = _WIRED.replace(link, f'between = ["r", "b"]\nrate = {{ channel = {channel} }}')
    (tmp_path / "channel.toml").write_text(text, encoding="ascii")
    told = explain(run(recorded(load(tmp_path / "channel.toml")), 1), "file", check=True)
    outages = [each for each in told if not each.stall.is_slow and each.named == "link outage"]
    assert outages
    for outage in outages:
        assert outage.check is not None
        # Both directions are in the same state.
        gone = {each.what: each.gone for each in outage.check.trials if "instead of the channel" in each.what}
        assert gone
        assert gone.keys() <= {
            f"a constant 8000000 bit/s at {place} instead of the channel" for place in ("r->b", "b->r")
        }
        assert all(gone.values())


def test_planted_causes_are_named_and_confirmed() -> None:
    """Some here; `make planted` tries 200 and 50."""
    told, right, without = planted.measure(20, 5)
    assert right >= 0.95 * 20, "\n".join(told)
    assert without == 5, "\n".join(told)


def test_a_trouble_that_is_not_the_cause_is_not_called_one() -> None:
    """A fault strikes a message on which nothing depends, shortly before the stall that a dead link makes."""
    down = [{"at": "5.4 s", "up": False}, {"at": "5.9 s", "up": True}]
    fault = [{"message": "binding-warning", "host": "mh", "occurrences": [1, 2]}]
    trouble = {"links.2.changes": down, "faults": fault}
    results = planted.Plant("link change", "Mobile IP, drop-tail", "call", trouble).results()
    (told,) = explain(results, "call", 1, check=True)
    assert {each.kind for each in told.suspects} >= {"link change", "message lost"}
    assert told.named == "link change"
    told.suspects = [each for each in told.suspects if each.kind == "message lost"]
    told.check = trying(Reruns(results, ["call"]), told.stall, told.suspects)
    assert told.check.trials
    assert not told.named
    assert "no rerun took the stall away: no cause is named" in lines([told])[-1]


BURSTS = {"kind": "gilbert-elliott", "good_to_bad": 0.002, "bad_to_good": 0.02}


def test_random_loss_is_named_and_confirmed() -> None:
    base = recorded(load(ROOT / "examples/busy-cell.toml")).set(
        "hosts.phone.visits", [{"cell": "bs1", "at": "0 s"}]
    )
    assert stalls(run(base, 1), "download") == []
    told = explain(run(base.set("cells.bs1.loss", BURSTS), 1), "download", 1, check=True)
    assert told[0].named == "random loss"
    assert told[0].suspects[0].place == "bs1/air"
    assert told[0].check is not None
    gone = [trial.what for trial in told[0].check.trials if trial.gone]
    both = "no random loss at {} and on the way back"
    assert gone == [both.format("bs1/air"), both.format("phone->bs1")], "the acknowledgements were lost too"


@pytest.mark.parametrize(
    ("place", "left"), [("bs1/air", ["droptail", "pie"]), ("bs1/air/phone", ["pie", "droptail"])]
)
def test_early_drops_end_with_a_longer_queue_of_the_cell_or_of_its_host(place: str, left: list[str]) -> None:
    own = {"queue": {"kind": "pie"}}
    scenario = load(ROOT / "examples/busy-cell.toml").set_all(
        {
            "cells.bs1.queue": own["queue"],
            "cells.bs1.scheduler": {"kind": "wfq"},
            "cells.bs1.bearers": {"hosts": {"phone": own}},
        }
    )
    suspect = Suspect("early drop", "early-drop", place, "", "download", 0)
    (removal,) = removals(suspect, Stall("download", 0, 1, 0, cut_off=False), FakeResults(None), scenario)  # type: ignore[arg-type]
    assert removal.scenario is not None
    cell = removal.scenario.to_dict()["cells"]["bs1"]
    kinds = [cell["queue"]["kind"], cell["bearers"]["hosts"]["phone"]["queue"]["kind"]]
    assert kinds == left
    assert removal.what == f"a queue without limit at {place}"


@pytest.mark.parametrize(
    ("place", "field", "expected"),
    [
        ("server->core", "links.0", (0.0, 0.2)),
        ("core->server", "links.0", (0.2, 0.0)),
        ("bs1/air", "cells.bs1", (0.0, 0.2)),
        ("phone->bs1", "cells.bs1", (0.2, 0.0)),
        ("r1->bs1", "cells.bs1.backhaul", (0.0, 0.2)),
        ("bs1->r1", "cells.bs1.backhaul", (0.2, 0.0)),
    ],
)
def test_random_loss_is_taken_from_one_direction(
    place: str, field: str, expected: tuple[float, float]
) -> None:
    scenario = load(ROOT / "examples/busy-cell.toml").set(f"{field}.loss", 0.2)
    suspect = Suspect("random loss", "random-loss", place, "", "download", 0)
    removal, both = removals(suspect, Stall("download", 0, 1, 0, cut_off=False), FakeResults(None), scenario)  # type: ignore[arg-type]
    found = []
    for each in (removal, both):
        assert each.scenario is not None
        table: Any = each.scenario.to_dict()
        for key in field.split("."):
            table = table[int(key) if key.isdigit() else key]
        found.append((table["loss"], table["reverse_loss"]))
    assert found == [expected, (0.0, 0.0)]


@pytest.fixture(scope="module")
def lost_message(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run in which the registration request of a host that moves is lost, without packets recorded."""
    folder = tmp_path_factory.mktemp("why")
    text = (ROOT / "examples/handover.toml").read_text(encoding="utf-8").replace('"40 s"', '"14 s"')
    fault = '[[faults]]\nmessage = "registration-request"\nhost = "mh"\noccurrences = [3]\n'
    (folder / "lossy.toml").write_text(text.replace("[[flows]]", f"{fault}\n[[flows]]"), encoding="utf-8")
    assert _why(folder, "run", "lossy.toml").returncode == 0
    return folder


def _why(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *words], cwd=folder, capture_output=True, text=True, check=False)


def test_the_command_names_the_cause_and_confirms_it(lost_message: Path) -> None:
    done = _why(lost_message, "why", "--flow", "moving", "--stall", "1", "--check", "--json")
    assert done.returncode == 0, done.stderr
    assert "made again with `packets = true` under [record]" in done.stderr
    (stall,) = json.loads(done.stdout)
    assert stall["cause"] == "message lost"
    assert stall["suspects"][0]["name"] == "registration-request"
    assert stall["length_s"] > 0.9
    shown = _why(lost_message, "why", "--stall", "1").stdout
    assert shown.startswith("stall 1: mh received nothing new of moving for ")


@pytest.mark.parametrize(
    ("words", "report"),
    [
        (("--flow", "x"), "--flow x: the run has no such flow\n  expected: one of moving"),
        (("--stall", "99"), "--stall 99: there "),
        (("drops", "x"), "row 'x': this is no number"),
        (("drops", "0", "--check"), "why drops 0: these do not go together"),
    ],
)
def test_bad_input_is_named(lost_message: Path, words: tuple[str, ...], report: str) -> None:
    done = _why(lost_message, "why", *words)
    assert done.returncode == 2
    assert report in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def roaming() -> Results:
    """A host of Wi-Fi that scans for 1.3 s; the queue of its old cell overflows meanwhile."""
    scenario = load(ROOT / "examples/roaming.toml").set_all({"radio.scan": "passive"})
    return run(recorded(scenario), 1)


@pytest.mark.parametrize("flow", ["video", "call"])
def test_a_queue_that_fills_during_a_stall_did_not_begin_it(roaming: Results, flow: str) -> None:
    """The absent host is named, for the host that waits behind its packets as well, and the rerun confirms it."""
    found = [each for each in explain(roaming, flow, check=True) if each.stall.start_ns > 4.9e9]
    (told,) = found
    first, last = told.suspects[0], told.suspects[-1]
    assert (first.kind, first.host, last.kind) == ("handover", "walker", "queue full")
    assert last.time_ns > told.stall.start_ns + 200_000_000
    assert told.check is not None
    without_gap, long_queue = told.check.trials
    assert (without_gap.gone, long_queue.helps) == (True, False)
    assert told.named == "handover"
