"""`roamlab twin` and `roamlab why CAPTURE --check`: the truth of runs, what they write, and what they refuse."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import captured
import twinned
from capture_files import called, pcap, udp
from conftest import ROOT, of_today
from roamlab import _roamlab
from roamlab.captures import explored, likeness, path, printed, remedies, twin
from roamlab.captures.likeness import Outcome
from roamlab.captures.twin_scenario import scenario
from roamlab.exports import pcapng
from roamlab.running.run import simulate
from roamlab.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

EXAMPLE = ROOT / "examples/captures/captured-download.pcapng.gz"

CASES = [
    ("drop", 0, "pair"),
    ("hold", 3, "sender"),
    ("outage", 1, "pair"),
    ("step", 1, "sender"),
    ("tail", 1, "sender"),
    ("relost", 2, "receiver"),
    ("acks", 2, "sender"),
    ("window", 2, "receiver"),
    ("idle", 2, "sender"),
]
"""Runs of `captured.py`, of each kind one, with what is captured of it."""


@pytest.mark.parametrize(("kind", "number", "view"), of_today(CASES, 9), ids=str)
def test_a_twin_has_the_goodput_and_the_timeouts_of_its_run(
    kind: str, number: int, view: str, tmp_path: Path
) -> None:
    """One a day; `twinned.py` counts many, and `make deep` runs it."""
    made = captured.case(kind, number)
    result = twinned.judged(made, view, twinned.twin_of(made, view, tmp_path))
    assert result.is_right, result


def test_a_longer_round_trip_is_no_wait_in_the_queue(tmp_path: Path) -> None:
    """The queue has 692 packets. A packet whose report alone took longer has not waited longer than that."""
    found = twinned.path_of(captured.case("step", 61), "sender", tmp_path)
    assert found.full_wait_s == pytest.approx(692 * found.packet_s, rel=0.01)
    assert len(found.full) > 1000
    assert found.lost == []


def test_what_a_move_lost_from_a_queue_is_a_gap(tmp_path: Path) -> None:
    """Packets that are lost again by their numbers are others if the sender is another one."""
    found = twinned.path_of(captured.case("outage", 60), "receiver", tmp_path)
    assert found.lost == []
    assert [gap.packets > 100 for gap in found.gaps] == [False, True]


def test_the_command_writes_a_scenario_that_runs_as_it_says(tmp_path: Path) -> None:
    out = tmp_path / "made/path.toml"
    done = called("twin", EXAMPLE, "-o", out, "--json")
    assert done.code == 0, done
    told = json.loads(done.out)
    assert told["result"] == str(out)
    assert sorted(each.name for each in out.parent.iterdir()) == ["path.svg", "path.toml"]
    assert told["goodput_bps"]["twin"] == pytest.approx(told["goodput_bps"]["capture"], rel=0.02)
    assert told["timeouts"]["capture"] == told["timeouts"]["twin"] == 0
    assert told["distance_s"]["median"] < told["base_s"]
    assert told["rate_bps"] == pytest.approx(2e6, rel=0.01)
    assert 28 <= told["queue_pkts"] <= 32
    text = out.read_text(encoding="utf-8")
    assert "Not known" in text
    assert "while the queue was not empty" in text
    run = likeness.outcome(simulate(Scenario(text, "twin.toml"), 1), 6.851)
    assert run.goodput_bps == pytest.approx(told["goodput_bps"]["twin"], rel=0.001)


def test_what_would_have_helped_is_told_with_intervals() -> None:
    told = json.loads(called("why", EXAMPLE, "--check", "--json").out)["check"]
    rows = {row["what"]: row for row in told["changes"]}
    base = told["as_captured"]
    assert rows["no gap"]["stall_s"] == [0, 0]
    assert rows["no gap"]["gain"] == "more"
    assert rows["no gap"]["middle_bps"] > base["middle_bps"]
    assert rows["a buffer at the base station"]["gain"] == "more"
    for row in rows.values():
        low, high = row["goodput_bps"]
        assert low <= row["middle_bps"] <= high
    printed = called("why", EXAMPLE, "--check").out
    assert "stall 1: 11.0.0.4:9" in printed
    assert "what would have helped 10.0.0.0:49152 -> 11.0.0.4:9, on its twin" in printed


def _tcp(seq: int, length: int, ack: int = 1, *, back: bool = False) -> bytes:
    """A packet of one connection over IPv4."""
    ends = [bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])]
    ports = [5000, 80]
    if back:
        ends.reverse()
        ports.reverse()
    head = struct.pack("!BBHHHBBH", 0x45, 0, 40 + length, 1, 0, 64, 6, 0) + b"".join(ends)
    return head + struct.pack("!HHIIBBHHH", *ports, seq, ack, 0x50, 0x10, 65535, 0, 0) + bytes(length)


def _refused(*words: str | Path, out: Path) -> str:
    """The error of a command that fails and writes nothing."""
    done = called(*words)
    assert (done.code, done.out) == (2, ""), done
    assert "Traceback" not in done.err
    assert not out.exists()
    return done.err


def test_a_name_that_is_no_scenarios_is_refused_and_so_are_changed_files(tmp_path: Path) -> None:
    """Before the capture is read: its twin takes a while."""
    for name, remedy in (("twin", "twin/twin.toml"), ("twin.svg", "twin.toml"), ("", "twin.toml")):
        done = called("twin", EXAMPLE, "--out", tmp_path / name)
        assert (done.code, done.out) == (2, ""), done
        assert f"write --out {tmp_path / remedy}" in done.err, done.err
    picture = tmp_path / "twin.svg"
    picture.write_text("<svg/>", encoding="utf-8")
    done = called("twin", EXAMPLE, "--out", tmp_path / "twin.toml")
    assert done.code == 2, done
    assert "twin.svg" in done.err
    assert "the file is not ours to replace" in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["twin.svg"]


def test_a_capture_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By `why --check` for the answer and the path, by `explore` for the page and its errors."""
    reads: list[str] = []
    for name in ("explain_captures", "explore_captures"):
        real = getattr(_roamlab, name)

        def counted(*words: Any, _name: str = name, _real: Any = real) -> Any:
            reads.append(_name)
            return _real(*words)

        monkeypatch.setattr(_roamlab, name, counted)
    answer = printed.flows([EXAMPLE], "10.0.0.0", 1, path_of="10.0.0.0")
    assert path.chosen_path(answer.all, [EXAMPLE], "10.0.0.0").packets > path.LEAST_PACKETS
    explored.html([EXAMPLE])
    assert reads == ["explain_captures", "explore_captures"]


def test_captures_without_a_path_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    out = tmp_path / "twin.toml"

    def said(capture: Path, *words: str) -> str:
        return _refused("twin", capture, "--out", out, *words, out=out)

    one_way = pcap(tmp_path / "one-way.pcap", *(_tcp(1 + 1000 * at, 1000) for at in range(80)))
    for told in (said(one_way), _refused("why", one_way, "--check", out=out)):
        assert "one direction of the flow alone" in told
        assert "capture both directions" in told
    initial = udp(b"\xc3\x00\x00\x00\x01\x08" + bytes(20))
    assert "write qlog, or use the TCP flow" in said(pcap(tmp_path / "quic.pcap", initial))
    assert "none is TCP with data" in said(pcap(tmp_path / "dns.pcap", udp(b"x", 53)))
    pairs = [
        part
        for at in range(8)
        for part in (_tcp(1 + 1000 * at, 1000), _tcp(1, 0, ack=1001 + 1000 * at, back=True))
    ]
    short = said(pcap(tmp_path / "short.pcap", *pairs))
    assert "it has 8 packets with data" in short
    assert "capture a longer download" in short
    log = tmp_path / "log.qlog"
    log.write_text('{"qlog_version": "0.3", "traces": []}', encoding="utf-8")
    assert "a qlog has no packets of the path" in said(log)
    pings = tmp_path / "ping.log"
    lines = (f"[{at}.0] 64 bytes from h: icmp_seq={at} ttl=64 time=20.0 ms" for at in range(1, 9))
    pings.write_text("\n".join(lines), encoding="utf-8")
    for told in (said(pings), _refused("why", pings, "--check", out=out)):
        assert "a log has no packets of the path" in told
    assert "no such flow" in said(EXAMPLE, "--flow", "192.168")


def _steps(rates: Sequence[tuple[float, str]]) -> Scenario:
    """A download over a link whose rate changes."""
    first, *others = rates
    changes = [{"at": f"{at} s", "rate": rate} for at, rate in others]
    return Scenario.from_dict(
        {
            "run": {"duration": "9 s", "profile": "linux-6"},
            "links": [
                {"between": ["server", "core"], "rate": "1 Gbit/s", "delay": "1 ms"},
                {
                    "between": ["core", "client"],
                    "rate": first[1],
                    "delay": "20 ms",
                    "queue": {"kind": "droptail", "limit": "40 pkt"},
                    "changes": changes,
                },
            ],
            "flows": [
                {
                    "name": "d",
                    "path": ["server", "client"],
                    "transport": {"kind": "tcp", "variant": "cubic", "segment": "1448 B"},
                    "app": {"kind": "ftp", "start": "0.1 s"},
                }
            ],
            "record": {"packets": True, "deliveries": True},
        },
        name="steps",
    )


def test_a_rate_that_changes_is_found_and_written(tmp_path: Path) -> None:
    results = simulate(_steps([(0.0, "8 Mbit/s"), (5.0, "3 Mbit/s")]), 1)
    capture = tmp_path / "server.pcapng"
    capture.write_bytes(pcapng.write(results, ["server"], [])[pcapng.SEEN_FILE][0])
    found = path.read([capture], None)
    assert [round(each["bps"] / 1e6, 1) for each in found.rates] == [8.0, 3.0]
    assert found.rates[1]["from_s"] == pytest.approx(4.9, abs=0.4)
    setting = twin.first(found)
    (outcome,) = likeness.run([setting], found.end_s)
    assert outcome.goodput_bps == pytest.approx(found.goodput_bps, rel=0.05)
    assert 'between = ["edge", "access"]' in scenario(setting).text


def _outcome(times: Sequence[float], goodput: float = 1.0) -> Outcome:
    made = np.asarray(times, dtype=np.float64)
    return Outcome(made, np.arange(1.0, made.size + 1), 0, goodput, 0.0, np.zeros(made.size))


def test_stalls_and_answers_by_hand() -> None:
    """Intervals, gains and warnings of three runs, worked by hand."""
    assert likeness.longest_stall(np.array([0.0, 0.1, 0.25]), None) == 0.0
    assert likeness.longest_stall(np.array([0.0, 0.1, 0.5]), None) == pytest.approx(0.4)
    assert likeness.longest_stall(np.array([0.0, 0.1, 0.5]), 2.0) == pytest.approx(1.5)
    unknown = twin.Unknown("the end", 0.0, 1.0, "s", lambda setting, _: setting)
    base = [_outcome([0.0], 100.0) for _ in range(4)]
    values = [{"the end": value} for value in (0.0, 0.5, 1.0)]
    more = remedies.row(
        "x", [_outcome([0.0], good) for good in (110, 105, 110, 115)], base, values, [unknown], 0.0
    )
    assert (more.gain, more.goodput_bps) == ("more", (105.0, 115.0))
    assert more.warning == "depends on the the end: 0 to 1 s"
    both = remedies.row(
        "x", [_outcome([0.0], good) for good in (110, 90, 110, 90)], base, values, [unknown], 0.1
    )
    assert (both.gain, both.goodput_bps) == ("undecided", (81.0, pytest.approx(121.0)))
    assert "no capture of another sender tells" in both.warning
