"""Message sequence charts: the rows that are drawn, and the drawing.

`python tests/python/pages/test_chart.py` writes the goldens and the page's picture again.
"""

from __future__ import annotations

import dataclasses
import re
from functools import cache
from itertools import pairwise
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import polars as pl
import pytest

from conftest import ROOT
from roamlab.base.errors import BadInput
from roamlab.papers.mblue import experiments
from roamlab.running.run import run
from roamlab.scenarios.scenario import Scenario, load
from roamlab.showing.chart import Chart, Loss, Message, chart, lifelines
from roamlab.showing.chart_svg import svg

if TYPE_CHECKING:
    from roamlab.records.results import Results

GOLDEN = ROOT / "tests/golden/chart"
PICTURE = ROOT / "docs/img/handover-chart.svg"
_SVG = "{http://www.w3.org/2000/svg}"


@cache
def _results(name: str) -> Results:
    """A run of an example, named as in a command line from the project's folder.

    The Mobile IP one is plain or has messages lost. The LTE one is without other users, and handed over soon enough for
    its chart to begin with the connection.
    """
    if name == "lte":
        scenario = load(ROOT / "examples/lte.toml").set("run.duration", "1 s")
        visits = [{"cell": "enb1", "at": "0 s"}, {"cell": "enb2", "at": "0.4 s"}]
        flows = scenario.to_dict()["flows"][:1]
        hosts = [{"name": "ref", "home": "gw", "visits": visits}]
        return run(Scenario(scenario.set_all({"flows": flows, "hosts": hosts}).text, "examples/lte.toml"))
    scenario = load(ROOT / "examples/handover.toml").set("run.duration", "13 s")
    lost = [
        {"message": "handoff-request", "occurrences": [2]},
        {"message": "binding-update", "host": "mh", "occurrences": [2]},
    ]
    if name == "lost":
        scenario = scenario.set("faults", lost)
    return run(Scenario(scenario.text, "examples/handover.toml"))


def _golden(name: str) -> str:
    return chart(_results(name)).text()


@pytest.mark.parametrize("name", ["plain", "lost", "lte"])
def test_the_rows_are_those_recorded(name: str) -> None:
    assert _golden(name) == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


def test_the_plain_handover_has_the_messages_of_the_model_in_their_order() -> None:
    """expect: the order of docs/models/mobile-ip.md, each hop of a relayed message once."""
    made = chart(_results("plain"))
    assert [message.name for message in made.messages] == [
        "beacon",
        "handoff-request",
        "notification",
        "agent-advertisement",
        "agent-advertisement",
        "registration-request",
        "registration-request",
        "binding-update",
        "forward",
        "binding-acknowledge",
        "binding-warning",
        "binding-update",
        "registration-reply",
        "binding-acknowledge",
        "registration-reply",
    ]
    assert made.nodes == ("mh", "bs2", "fa2", "fa1", "bs1", "ha", "ch")
    data = [note.text.partition(":")[0] for note in made.notes if note.is_data]
    assert data == [
        "first packet forwarded",
        "first forwarded packet arrives",
        "last packet forwarded",
        "first direct packet arrives",
    ]


_STEPS = {
    "measurement-control": 1,
    "measurement-report": 2,
    "handover-request": 4,
    "handover-request-ack": 6,
    "handover-command": 7,
    "sn-status-transfer": 8,
    "random-access-preamble": 9,
    "random-access-response": 10,
    "handover-confirm": 11,
    "path-switch-request": 12,
    "modify-bearer-request": 13,
    "end-marker": 14,
    "modify-bearer-response": 15,
    "path-switch-request-ack": 16,
    "ue-context-release": 17,
}
"""TS 36.300 fig. 10.1.2.1.1-1; 3, 5 and 18 are decisions of one node."""


def test_the_lte_chart_has_the_steps_of_ts_36_300_in_order_and_the_data_between_them() -> None:
    """expect: the figure's order. The end marker has two legs: the second begins while the core's answers travel."""
    made = chart(_results("lte"))
    assert made.nodes == ("ref", "enb1", "enb2", "mme", "gw")
    assert all(message.arrived_ns is not None for message in made.messages)
    names = [message.name for message in made.messages]
    steps = [_STEPS[name] for name in names[names.index("measurement-control") :] if name in _STEPS]
    assert sorted(set(steps)) == sorted(_STEPS.values())
    first_leg = steps.index(14)
    assert steps[:first_leg] + [step for step in steps[first_leg:] if step != 14] == [
        *range(1, 3),
        4,
        *range(6, 14),
        *range(15, 18),
    ]
    assert steps.count(14) == 2
    sent = {message.name: message.sent_ns for message in made.messages}
    arrived = {message.name: message.end_ns for message in made.messages}
    notes = {note.text.partition(":")[0]: note for note in made.notes if note.is_data}
    # Packets in flight are forwarded at the command itself, before the host leaves.
    assert notes["first packet forwarded"].time_ns == sent["handover-command"] < made.zero_ns
    assert notes["last packet forwarded"].time_ns <= sent["end-marker"]
    assert notes["first packet released"].time_ns == arrived["handover-confirm"]
    assert arrived["handover-confirm"] < notes["first forwarded packet arrives"].time_ns
    # Direct packets wait for the end marker.
    assert arrived["end-marker"] < notes["first direct packet arrives"].time_ns


def test_no_copy_passes_for_a_direct_packet() -> None:
    """expect: every packet that the source sent on is known as such, also those sent on before the host left."""
    results = _results("lte")
    forwarded = results.releases.filter(pl.col("to").cast(pl.String) == "enb2")
    assert set(forwarded["node"].cast(pl.String)) == {"enb1"}
    before = chart(results).zero_ns
    assert forwarded.filter(pl.col("time_ns") < before).height > 0
    direct = next(note for note in chart(results).notes if note.text.startswith("first direct"))
    number = int(direct.text.split()[-1])
    assert number > forwarded["seq"].max()


def test_data_events_are_those_of_the_tables() -> None:
    results = _results("plain")
    notes = {note.text.partition(":")[0]: note for note in chart(results).notes if note.is_data}
    released = results.releases.filter(pl.col("time_ns") > 10**10)
    assert notes["first packet forwarded"].time_ns == released["time_ns"].min()
    assert notes["last packet forwarded"].time_ns == released["time_ns"].max()
    assert notes["last packet forwarded"].text.endswith(f", {released.height} in all")
    serials = set(released.filter(pl.col("to").cast(pl.String) != "")["serial"].to_list())
    after = results.deliveries.filter(pl.col("time_ns") > 10_050_000_000)
    direct = next(row for row in after.iter_rows(named=True) if row["serial"] not in serials)
    assert notes["first direct packet arrives"].time_ns == direct["time_ns"]
    # Packets in the old cell's air at the break arrive, and are not taken for direct packets.
    late = results.deliveries.filter(pl.col("time_ns").is_between(10**10, 10_010_000_000))
    assert late.height > 0


def _drawing(made: Chart) -> ElementTree.Element:
    return ElementTree.fromstring(svg(made))


def _groups(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [group for group in root.iter(f"{_SVG}g") if group.get("class") == kind]


@pytest.mark.parametrize("name", ["plain", "lost", "lte"])
def test_the_drawing_has_each_message_once_and_lifelines_in_order(name: str) -> None:
    made = chart(_results(name))
    root = _drawing(made)
    assert sorted(group.get("data-id") or "" for group in _groups(root, "message")) == sorted(
        str(message.id) for message in made.messages
    )
    lines = _groups(root, "lifeline")
    assert [group.get("data-node") for group in lines] == list(made.nodes)
    places = [float((group.find(f"{_SVG}text") or group[-1]).get("x") or "nan") for group in lines]
    assert places == sorted(places)
    assert len(_groups(root, "phase")) + len(_groups(root, "data")) == len(made.notes)
    crosses = [path for group in _groups(root, "message") for path in group if path.get("class") == "cross"]
    assert len(crosses) == sum(message.loss is not None for message in made.messages)
    words = " ".join(root.itertext())
    assert "[ms]" in words
    assert "Not to scale" in words


def test_arrows_go_from_sender_to_receiver_and_down_in_time() -> None:
    made = chart(_results("plain"))
    root = _drawing(made)
    heights: dict[int, float] = {}
    x = {group.get("data-node"): float(group[-1].get("x") or "nan") for group in _groups(root, "lifeline")}
    by_id = {str(message.id): message for message in made.messages}
    for group in _groups(root, "message"):
        message = by_id[group.get("data-id") or ""]
        ends = [float(number) for number in re.findall(r"-?[\d.]+", group[0].get("d") or "")]
        assert ends[0] == pytest.approx(x[message.source], abs=0.1)
        assert ends[2] == pytest.approx(x[message.destination], abs=0.1)
        for time, height in ((message.sent_ns, ends[1]), (message.end_ns, ends[3])):
            assert heights.setdefault(time, height) == height
    in_order = [heights[time] for time in sorted(heights)]
    assert all(later - earlier >= 40 for earlier, later in pairwise(in_order))


def test_the_drawing_needs_nothing_else_and_names_are_escaped() -> None:
    made = dataclasses.replace(chart(_results("plain")), origin='<a> & "b"')
    text = svg(made)
    assert not re.search(r"href|url\(|@import|<script|<image", text)
    assert "<a>" not in text
    assert '<a> & "b"' in " ".join(ElementTree.fromstring(text).itertext())
    assert svg(made) == text


def test_labels_do_not_cover_each_other() -> None:
    """Of the labels' own boxes, as drawn without rotation, none has its middle in another's."""
    root = _drawing(chart(_results("plain")))
    middles = []
    for group in _groups(root, "message"):
        label = next(part for part in group if part.get("transform"))
        found = re.search(r"translate\(([\d.]+) ([\d.]+)\)", label.get("transform") or "")
        assert found
        middles.append((float(found[1]), float(found[2])))
    for at, (x, y) in enumerate(middles):
        assert all(abs(x - u) > 40 or abs(y - v) > 25 for u, v in middles[:at])


def test_the_first_visit_and_another_host_can_be_asked_for() -> None:
    first = chart(_results("plain"), handover=0)
    assert first.title == "mh: first visit, bs1"
    assert first.nodes[:3] == ("mh", "bs1", "fa1")
    assert max(message.sent_ns for message in first.messages) < 10**9
    crowd = run(experiments.one_handoff("droptail").set("run.duration", "10.5 s"))
    assert chart(crowd).host == "mh"
    assert chart(crowd, host="mh2").title == "mh2: first visit, bs2"
    for arguments, said in (
        ({"host": "nohost"}, "--host nohost: no such host was in a cell\n  expected: one of mh"),
        (
            {"handover": 2},
            "--handover 2: host mh has no such handover in this run\n  expected: a number from 0",
        ),
    ):
        with pytest.raises(BadInput) as error:
            chart(crowd, **arguments)  # type: ignore[arg-type]
        assert said in str(error.value)


@pytest.mark.parametrize(
    ("example", "changes", "expected"),
    [
        ("roaming", {}, {"probe-request", "reassociation-request", "attach", "join", "moved"}),
        (
            "handover",
            {"radio": {"kind": "soft", "overlap": "1 ms"}},
            {"registration-request", "registration-reply"},
        ),
    ],
    ids=["802.11", "soft"],
)
def test_a_link_that_goes_down_on_the_next_visit_ends_no_handover(
    example: str, changes: dict[str, object], expected: set[str]
) -> None:
    """It is that to the cell before."""
    results = run(load(ROOT / f"examples/{example}.toml").set_all({"run.duration": "12 s"} | changes), 1)
    host = results.manifest.network["hosts"][0]["name"]
    assert expected <= {message.name for message in chart(results, host).messages}


def test_a_run_without_mobile_hosts_has_no_chart() -> None:
    with pytest.raises(BadInput, match="a run with mobile hosts"):
        chart(run(load(ROOT / "examples/beside-ns2/reno.toml").set("run.duration", "0.5 s")))


def _message(source: str, destination: str) -> Message:
    return Message(0, "m", source, destination, 1, 0, 1, None)


def test_lifelines_follow_the_path_and_keep_arrows_short() -> None:
    parameters: dict[str, Any] = {
        "links": [{"between": pair} for pair in (["gw", "server"], ["mme", "gw"], ["new", "old"])],
        "cells": {"new": {"router": "gw"}, "old": {"router": "gw"}},
    }
    pairs = [("ue", "old"), ("new", "old"), ("new", "mme"), ("mme", "gw"), ("gw", "old")]
    messages = [_message(*pair) for pair in pairs]
    assert lifelines(parameters, "ue", ("old", "new"), messages) == ("ue", "new", "old", "gw", "mme")
    # The old cell begins: the order of the figures of 3GPP.
    messages[1] = _message("old", "new")
    assert lifelines(parameters, "ue", ("old", "new"), messages) == ("ue", "old", "new", "gw", "mme")
    # A node that no link names is at the end.
    assert lifelines(parameters, "ue", ("old", "new"), [_message("ue", "far")]) == ("ue", "far")


def _tables(signalling: list[dict[str, Any]], handovers: list[tuple[int, int, str, str]]) -> Any:
    """Hand-made results of a protocol that is not ours: host u from cell a to cell b, and server s."""
    empty: dict[str, Any] = {"time_ns": pl.UInt64, "flow": pl.String, "seq": pl.UInt32, "serial": pl.UInt64}
    keys = ("id", "message", "host", "source", "destination", "size_bytes", "sent_ns", "arrived_ns", "serial")
    parameters = {
        "links": [{"between": ["s", "r"]}],
        "cells": {"a": {"router": "r"}, "b": {"router": "r"}},
        "hosts": [{"name": "u", "visits": [{"cell": "a"}, {"cell": "b"}]}],
    }
    return SimpleNamespace(
        manifest=SimpleNamespace(
            network=parameters,
            scenario_name="made",
            seed=1,
            run=0,
            outline=SimpleNamespace(duration_ns=10**10),
        ),
        signalling=pl.DataFrame([{key: row.get(key) for key in keys} for row in signalling]),
        handovers=pl.DataFrame(
            [(time, "u", visit, phase, node) for time, visit, phase, node in handovers],
            schema=["time_ns", "host", "visit", "phase", "node"],
            orient="row",
        ),
        drops=pl.DataFrame(
            {"time_ns": [9 * 10**8], "place": ["r->b"], "reason": ["queue-overflow"], "serial": [3]}
        ),
        flows=pl.DataFrame({"flow": ["f"], "destination": ["u"]}),
        releases=pl.DataFrame(schema=empty | {"host": pl.String, "node": pl.String, "to": pl.String}),
        deliveries=pl.DataFrame(schema=empty),
    )


def test_preparation_before_the_break_belongs_to_the_handover() -> None:
    def row(id_: int, ends: str, sent: int, arrived: int, host: str = "u") -> dict[str, Any]:
        return {
            "id": id_,
            "message": f"m{id_}",
            "host": host,
            "source": ends[0],
            "destination": ends[1],
            "size_bytes": 10,
            "sent_ns": sent,
            "arrived_ns": arrived,
            "serial": id_,
        }

    ms = 10**6
    results = _tables(
        [
            row(1, "ua", 100 * ms, 101 * ms),  # long before: of something else
            row(2, "ua", 880 * ms, 881 * ms),
            row(3, "ab", 890 * ms, -1),
            row(4, "ab", 950 * ms, 960 * ms),
            row(5, "b*", 970 * ms, 971 * ms, host=""),
            row(6, "ub", 1_030 * ms, 1_040 * ms),
            row(7, "bs", 1_050 * ms, -1),
            row(8, "ub", 9_000 * ms, 9_001 * ms),  # long after
        ],
        [
            (0, 0, "link-up", "u"),
            (885 * ms, 0, "prepared", "a"),
            (1_000 * ms, 0, "link-down", "u"),
            (1_020 * ms, 1, "link-up", "u"),
            (1_040 * ms, 1, "done", "b"),
        ],
    )
    made = chart(results)
    assert [message.id for message in made.messages] == [2, 3, 4, 6, 7]
    assert made.messages[1].loss == Loss(900 * ms, "r->b", "queue-overflow")
    assert (made.messages[-1].arrived_ns, made.messages[-1].loss) == (None, None)
    assert [note.text for note in made.notes] == ["prepared", "link-down", "link-up", "done"]
    assert (made.zero_ns, len(made.beside)) == (1_000 * ms, 1)
    assert made.nodes == ("u", "a", "b", "s")
    assert "LOST 0.900000000 at r->b: queue-overflow" in made.text()
    assert "under way at the end" in made.text()
    assert "left out: 1 message about no host" in made.text()
    whole = made.text(everything=True)
    assert "left out" not in whole
    assert len(whole.splitlines()) == len(made.text().splitlines())
    words = " ".join(_drawing(made).itertext())
    assert "queue-overflow at r->b" in words


def test_the_page_shows_the_drawing_of_its_command() -> None:
    assert PICTURE.read_text(encoding="utf-8") == svg(chart(_results("plain")))


def _write() -> None:
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for name in ("plain", "lost", "lte"):
        (GOLDEN / f"{name}.txt").write_text(_golden(name), encoding="utf-8")
    PICTURE.write_text(svg(chart(_results("plain"))), encoding="utf-8")


if __name__ == "__main__":
    _write()
