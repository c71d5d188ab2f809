"""`roamlab why CAPTURE`: what it prints, and files that cannot be explained."""

from __future__ import annotations

import gzip
import json
import struct
from typing import TYPE_CHECKING, Any

import pytest

from capture_files import Done, called, pcap, udp
from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLE = ROOT / "examples/captures/captured-download.pcapng.gz"


def why(*words: str | Path) -> Done:
    """`roamlab why`."""
    return called("why", *words)


def refused(*words: str | Path) -> str:
    """The error of a capture that cannot be explained."""
    result = why(*words)
    assert result.code == 2, result
    assert "Traceback" not in result.err
    assert result.out == ""
    return result.err


def test_the_example_is_explained() -> None:
    result = why(EXAMPLE)
    assert result.code == 0
    assert "stall 1: 11.0.0.4:9 received nothing new for 0.460 s" in result.out
    assert "suspected first: path silent, packets lost (likely)" in result.out


def test_json_has_what_is_printed() -> None:
    data = json.loads(why(EXAMPLE, "--json").out)
    (flow,) = data["flows"]
    (stall,) = flow["stalls"]
    assert stall["number"] == 1
    assert stall["causes"][0]["kind"] == "path-lost"
    assert flow["place"] == "sender"
    assert 0.045 < flow["trips"]["base_s"] < 0.055
    assert flow["resends"]["packets"] == 42
    assert json.loads(why(EXAMPLE, "--flow", "11.0.0.4", "--stall", 1, "--json").out)["flows"] == [flow]


def test_files_that_are_no_captures_are_refused_with_their_place(tmp_path: Path) -> None:
    assert "there is no such file" in refused(tmp_path / "none.pcap")
    text = tmp_path / "log.txt"
    text.write_text("a log\n", encoding="utf-8")
    assert "it is text" in refused(text)
    (tmp_path / "empty.pcap").write_bytes(b"")
    assert "it is empty" in refused(tmp_path / "empty.pcap")
    damaged = bytearray(gzip.decompress(EXAMPLE.read_bytes()))
    (second,) = struct.unpack_from("<I", damaged, 4)
    damaged[second + 4 : second + 8] = b"\xfc\xff\xff\x7f"
    (tmp_path / "damaged.pcapng").write_bytes(damaged)
    assert f"packet 1, byte {second}: a record of 2147483644 bytes" in refused(tmp_path / "damaged.pcapng")


def test_quic_without_tcp_asks_for_a_qlog(tmp_path: Path) -> None:
    initial = udp(b"\xc3\x00\x00\x00\x01\x08" + bytes(20))
    said = refused(pcap(tmp_path / "quic.pcap", initial, initial))
    assert "2 packets of QUIC, which is encrypted" in said
    assert "write qlog, or use the TCP flow" in said
    assert "none is TCP with data" in refused(pcap(tmp_path / "dns.pcap", udp(b"x", 53)))


def test_options_of_runs_and_wrong_numbers_are_refused(tmp_path: Path) -> None:
    assert "has no fields to change" in refused(EXAMPLE, "--set", "run.duration=1 s")
    assert "there is 1 stall" in refused(EXAMPLE, "--stall", 2)
    assert "no such flow" in refused(EXAMPLE, "--flow", "192.168")
    assert "3 captures" in refused(EXAMPLE, EXAMPLE, EXAMPLE)
    other = pcap(tmp_path / "dns.pcap", udp(b"x", 53))
    assert "no TCP flow with data is in both" in refused(EXAMPLE, other)


@pytest.mark.parametrize("kept", [0.3, 0.7])
def test_a_cut_capture_is_explained_with_a_note(tmp_path: Path, kept: float) -> None:
    whole = gzip.decompress(EXAMPLE.read_bytes())
    cut = tmp_path / "cut.pcapng"
    cut.write_bytes(whole[: int(len(whole) * kept)])
    result = why(cut)
    assert result.code == 0
    assert "the file ends within a record" in result.out


def _pings(*, held: bool) -> str:
    """Ten requests in a second; those of half a second are lost, or their answers come together."""
    lines = ["PING 10.0.0.2 (10.0.0.2) 56(84) bytes of data."]
    for number in range(1, 101):
        sent, rtt = 1_700_000_000 + number / 10, 0.020
        if 40 <= number < 45:
            if not held:
                continue
            rtt = 0.020 + (45 - number) / 10
        text = f"64 bytes from 10.0.0.2: icmp_seq={number} ttl=64 time={rtt * 1e3:.1f} ms"
        lines.append(f"[{sent + rtt:.6f}] {text}")
    return "\n".join(lines)


def test_the_silence_of_a_ping_was_lost_or_held(tmp_path: Path) -> None:
    log = tmp_path / "ping.txt"
    log.write_text(_pings(held=False), encoding="utf-8")
    said = why(log).out
    assert "95 answers to 100 requests, one each 0.100 s" in said
    assert "stall 1: no answer for 0.400 to 0.600 s, 3.800 to 4.400 s: path silent, packets lost" in said
    log.write_text(_pings(held=True), encoding="utf-8")
    (stall,) = json.loads(why(log, "--json").out)["stalls"]
    assert stall["kind"] == "path-held"
    assert 0.4 < stall["length_s"] < 0.6
    log.write_text("PING 10.0.0.2\n64 bytes from 10.0.0.2: icmp_seq=1 ttl=64 time=1 ms\n", encoding="utf-8")
    assert "`ping -D -i 0.1 HOST > FILE`" in refused(log)


def test_intervals_of_iperf3_without_a_byte_are_a_stall(tmp_path: Path) -> None:
    def interval(at: int) -> dict[str, object]:
        whole = {
            "start": at / 10,
            "end": (at + 1) / 10,
            "bytes": 0 if 20 <= at < 25 else 10_000,
            "sender": False,
        }
        return {"sum": whole, "streams": []}

    log = tmp_path / "iperf.json"
    text = json.dumps({"start": {}, "intervals": [interval(at) for at in range(50)], "end": {}})
    log.write_text("a line before it\n" + text, encoding="utf-8")
    assert "stall 1: the receiver got nothing for 0.50 s and up to 0.70 s, 2.00 to 2.50 s" in why(log).out
    log.write_text('{"start": {}, "intervals": [], "error": "unable to connect"}', encoding="utf-8")
    assert "unable to connect" in refused(log)
    log.write_text('{"start": {}}', encoding="utf-8")
    assert "no log of iperf3" in refused(log)


def _without_ends(data: dict[str, object]) -> dict[str, object]:
    """An answer in which the ends of flows are empty, and the sentences, which name them, are left out."""
    flows = data["flows"]
    assert isinstance(flows, list)
    for flow in flows:
        flow["flow"] = flow["receiver"] = ""
        flow["sentences"] = flow["sentences"][1:]
        for stall in flow["stalls"]:
            stall["flow"], stall["sentences"] = "", []
    return data


def test_an_anonymous_capture_is_explained_as_the_capture_is(tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = called("anonymise", EXAMPLE, "--out", out, "--json")
    assert done.code == 0, done
    written = json.loads(done.out)["files"]
    assert written == {
        "captured-download.pcapng": {"packets": 1944, "left_out": 0, "untimed": 0, "is_cut": False}
    }
    made = out / "captured-download.pcapng"
    before, behind = (json.loads(why(path, "--json").out) for path in (EXAMPLE, made))
    assert behind["flows"][0]["flow"] != before["flows"][0]["flow"]
    assert _without_ends(before) == _without_ends(behind)
    again = called("anonymise", EXAMPLE, "--out", out)
    assert "1944 packets" in again.out
    assert json.loads(why(made, "--json").out)["flows"][0]["flow"] != behind["flows"][0]["flow"]


def test_captures_of_one_call_have_the_same_addresses(tmp_path: Path) -> None:
    one, other = (pcap(tmp_path / name, udp(b"secret")) for name in ("one.pcap", "other.cap"))
    assert called("anonymise", one, other, "--out", tmp_path / "out").code == 0
    contents = [(tmp_path / "out" / name).read_bytes() for name in ("one.pcapng", "other.pcapng")]
    assert contents[0] == contents[1]
    assert b"secret" not in contents[0]


def test_what_is_no_capture_makes_no_file(tmp_path: Path) -> None:
    text = tmp_path / "log.txt"
    text.write_text("no capture")
    (tmp_path / "other").mkdir()
    one, twin = pcap(tmp_path / "one.pcap", udp(b"")), pcap(tmp_path / "other/one.cap", udp(b""))
    for names, told in [
        ([one, text], "it is text"),
        ([tmp_path / "missing.pcap"], "there is no such file"),
        ([tmp_path], "it is no file"),
        ([one, twin], "both would be written as one.pcapng"),
        ([], "CAPTURE"),
    ]:
        done = called("anonymise", *names, "--out", tmp_path / "out")
        assert (done.code, done.out) == (2, ""), done
        assert told in done.err
        assert not (tmp_path / "out").exists()


def _beside(folder: Path, text: str, name: str = "moves.csv") -> Path:
    """A log of moves."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_stall_is_tied_to_the_move_that_it_begins_at(tmp_path: Path) -> None:
    """By the capture's clock, by the time since its first packet, as a series of cells and as events."""
    log = _beside(
        tmp_path, "time_s,host,from,to,gap_s\n0.5,phone,a,bs1,\n3,phone,bs1,bs2,0.4\n90,phone,bs2,c,\n"
    )
    said = why(EXAMPLE, "--moves", log).out
    assert "moves: 2 events in" in said
    assert (
        "by the capture's clock, 1 more outside of the capture; 1 with a stall; 1 of 1 stall near one" in said
    )
    assert "it begins 0.018 s after the move from bs1 to bs2 at 2.900 s (gap 0.400 s)" in said
    assert "at 3.324 s, 0.424 s after the move from bs1 to bs2" in said
    data = json.loads(why(EXAMPLE, "--moves", log, "--json").out)
    assert data["moves"]["outside"] == 1
    (stall,) = data["flows"][0]["stalls"]
    assert stall["move"]["name"] == "the move from bs1 to bs2"
    assert 0.0 < stall["move"]["begins_after_s"] < 0.05
    samples = _beside(tmp_path, "time_ms,cell\n1000,7\n2500,7\n3200,9\n5000,9\n")
    assert "it begins 0.182 s before the move from 7 to 9 at 3.100 s" in why(EXAMPLE, "--moves", samples).out
    events = _beside(tmp_path, '{"time_s": 3.05, "event": "rlf", "cell": "bs1"}\n', "events.jsonl")
    assert "0.032 s before the event rlf (cell bs1) at 2.950 s" in why(EXAMPLE, "--moves", events).out


def test_a_move_far_from_a_stall_is_not_its_cause(tmp_path: Path) -> None:
    for time in (2.4, 3.6):
        log = _beside(tmp_path, f"time_s,from,to\n{time},a,b\n")
        data = json.loads(why(EXAMPLE, "--moves", log, "--json").out)
        assert data["flows"][0]["stalls"][0]["move"] is None
        assert data["moves"]["stalls_near"] == 0


def test_a_log_of_moves_without_a_place_in_the_capture_is_refused(tmp_path: Path) -> None:
    ping = _beside(tmp_path, _pings(held=False), "ping.txt")
    at = "1700000004.1"
    log = _beside(tmp_path, f"time_s,from,to\n{at},a,b\n")
    assert "it begins 0.200 s before the move from a to b at 4.000 s" in why(ping, "--moves", log).out
    relative = _beside(tmp_path, "time_s,from,to\n3.9,a,b\n")
    assert "by the time since the first packet" in why(ping, "--moves", relative).out
    zone = _beside(tmp_path, "time,from,to\n2023-11-15T00:13:24Z,a,b\n")
    assert "its times fit if -2 h are added: write their zone" in refused(ping, "--moves", zone)
    far = _beside(tmp_path, "time_s,from,to\n900000,a,b\n")
    assert "none is within the capture" in refused(EXAMPLE, "--moves", far)
    other = _beside(tmp_path, "when,who\n1,b\n")
    assert "its columns are when, who" in refused(EXAMPLE, "--moves", other)
    large = _beside(tmp_path, "time_s,from,to\n1700000003000,a,b\n")
    assert "time_ms" in refused(EXAMPLE, "--moves", large)
    assert "a run has its own moves" in refused("out/none", "--moves", log)


def _ss(folder: Path, samples: list[str], *, dated: bool = False) -> Path:
    """Samples of `ss` each 0.1 s."""
    told = [
        (f"2023-11-14T22:13:{20 + at / 10:09.6f}+00:00" if dated else f"{1_700_000_000 + at / 10:.3f}")
        + f"\nESTAB 0 0 10.0.0.1:5000 10.0.0.2:443\n\t cubic rto:300 rtt:50/4 mss:1000 cwnd:10 {each}\n"
        for at, each in enumerate(samples)
    ]
    return _beside(folder, "".join(told), "ss.txt")


@pytest.mark.parametrize(
    ("sample", "kind", "least_s", "most_s"),
    [
        ("drop", "path-lost", 1.1, 1.5),
        ("hold", "path-held", 1.1, 1.5),
        ("window", "zero-window", 1.0, 1.4),
    ],
)
def test_samples_of_a_linux_kernel_are_explained(
    sample: str, kind: str, least_s: float, most_s: float
) -> None:
    """Connections of Linux 6 over a path with a gap of 1.21 and 1.30 s, and to a receiver that waits for 1.25 s."""
    data = json.loads(why(ROOT / f"tests/python/captures/samples/ss-{sample}.txt", "--json").out)
    (stall,) = data["stalls"]
    assert stall["kind"] == kind, stall
    assert least_s < stall["length_s"] < most_s
    limits = {each["limit"] for each in data["connections"][0]["limits"]}
    assert ("receiver" in limits) == (sample == "window")


def test_samples_of_ss_show_stalls_and_pauses(tmp_path: Path) -> None:
    """Data that waits and is not acknowledged is a stall; a sender without data, or a handshake, is none."""
    flowing = [f"bytes_acked:{1000 * at} busy:{100 * at}ms unacked:5 lastack:10" for at in range(1, 20)]
    pause = ["bytes_acked:19000 busy:1900ms"] * 10
    assert "no stall" in why(_ss(tmp_path, flowing + pause)).out
    assert "application 36%" in why(_ss(tmp_path, flowing + pause)).out
    lossy = [
        f"bytes_acked:19000 busy:1900ms unacked:5 sacked:3 lost:1 retrans:1/1 lastack:{at}"
        for at in range(10)
    ]
    said = why(_ss(tmp_path, flowing + lossy, dated=True)).out
    assert "stall 1: 10.0.0.1:5000 -> 10.0.0.2:443: nothing was acknowledged for 1.000 to 1.100 s" in said
    assert "loss burst (likely): ACKs came, 1 packets were lost" in said
    opening = "1700000000.0\nSYN-SENT 0 1 10.0.0.1:1 10.0.0.2:2\n\t cubic rto:1000 mss:524 cwnd:1 unacked:1\n"
    log = _beside(tmp_path, "".join(opening.replace("00.0", f"0{at}.0") for at in range(5)), "ss.txt")
    assert "0 connections that send data" in why(log).out


def test_samples_of_ss_without_times_are_refused(tmp_path: Path) -> None:
    line = "ESTAB 0 0 10.0.0.1:5000 10.0.0.2:443\n\t cubic rto:300 rtt:50/4 cwnd:10 bytes_acked:1\n"
    assert "ss.txt:2" in refused(_beside(tmp_path, line, "ss.txt"))
    assert "date +%s.%N" in refused(_beside(tmp_path, line, "ss.txt"))
    back = f"1700000002.5\n{line}1700000001.0\n{line}"
    assert "the clock runs back by 1.500 s" in refused(_beside(tmp_path, back, "ss.txt"))


_SAMPLES = ROOT / "tests/python/captures/samples"
_QUINN: dict[str, Any] = json.loads((_SAMPLES / "quinn.json").read_text(encoding="utf-8"))
_NAMES = {
    "hold": {"path-held"},
    "drop": {"path-lost"},
    "outage": {"path-lost"},
    "step": {"delay-step"},
    "step with losses": {"delay-step", "path-lost"},
}


@pytest.mark.parametrize("name", _QUINN)
def test_qlogs_of_quinn_are_explained(name: str) -> None:
    """Parts of the logs that quinn 0.11 writes in the simulator, around one planted event each."""
    (flow,) = json.loads(why(_SAMPLES / name, "--json").out)["flows"]
    kind, wanted = _QUINN[name]["kind"], _QUINN[name]["stall"]
    assert ("receiver" in flow["place"]) == ("client" in name)
    assert 0.018 < flow["trips"]["base_s"] < 1.0
    if wanted is None:
        assert flow["stalls"] == []
        return
    start, end = (each * 1e9 for each in wanted)
    begin = json.loads(why(_SAMPLES / name, "--json").out)["start_ns"]
    (stall,) = [
        each
        for each in flow["stalls"]
        if begin + each["start_s"] * 1e9 < end and begin + each["end_s"] * 1e9 > start
    ]
    assert {cause["kind"] for cause in stall["causes"]} == _NAMES[kind]
    if not kind.startswith("step"):
        assert abs(stall["length_s"] - (end - start) / 1e9) < 0.15, (stall, wanted)
        assert len(flow["stalls"]) == 1


def test_a_broken_qlog_is_refused_with_its_event(tmp_path: Path) -> None:
    text = gzip.decompress((_SAMPLES / "quinn-hold-3.sqlog.gz").read_bytes())
    third = text.index(b"\x1e", text.index(b"\x1e", 1) + 1)
    log = tmp_path / "broken.sqlog"
    log.write_bytes(text[:third] + b"\x1e{nonsense}\n" + text[third:])
    assert f"event 2, byte {third + 2}: this is no JSON" in refused(log)
    log.write_bytes(text[: len(text) // 2])
    assert "note: the file ends within an event" in why(log).out
    log.write_text('{"qlog_version": "0.3", "traces": []}', encoding="utf-8")
    assert "it has no event" in refused(log)
    assert "a qlog is explained alone" in refused(log, EXAMPLE)


def test_a_qlog_is_tied_to_moves(tmp_path: Path) -> None:
    sample = _SAMPLES / "quinn-hold-3.sqlog.gz"
    log = _beside(tmp_path, "time_s,from,to,gap_s\n5.108,bs1,bs2,1.275\n")
    said = why(sample, "--moves", log).out
    assert "by the capture's clock" in said
    assert "0.064 s after the move from bs1 to bs2" in said
