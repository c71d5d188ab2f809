"""Captures, traces of ns-2 and tables of runs, read back: by a reader here, by our own ns-2 reader, and by tshark."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import polars as pl
import pytest
from click.testing import CliRunner

import roamlab as rl
from conftest import ROOT
from roamlab.base.errors import BadInput
from roamlab.cli import cli
from roamlab.exports import ns2_trace, pcapng
from roamlab.exports.files import Request, export
from roamlab.records.storage.store import Store
from roamlab.traces import open_trace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from roamlab.records.results import Results

HANDOVER = """
[run]
duration = "7 s"
profile = "rfc"
[network]
tunnel_overhead = "{overhead} B"
[[links]]
between = ["ch", "ha"]
rate = "10 Mbit/s"
delay = "10 ms"
[[links]]
between = ["ha", "fa1"]
rate = "10 Mbit/s"
delay = "10 ms"
[[links]]
between = ["ha", "fa2"]
rate = "10 Mbit/s"
delay = "10 ms"
[[links]]
between = ["fa1", "fa2"]
rate = "10 Mbit/s"
delay = "1 ms"
[cells.bs1]
router = "fa1"
rate = "2 Mbit/s"
delay = "3 ms"
queue = {{ kind = "droptail", limit = "120 pkt" }}
backhaul = {{ rate = "10 Mbit/s", delay = "1 ms" }}
[cells.bs2]
router = "fa2"
rate = "2 Mbit/s"
delay = "3 ms"
queue = {{ kind = "red", limit = "60 pkt", min_threshold = "5 pkt", max_threshold = "15 pkt", mark_ecn = true }}
backhaul = {{ rate = "10 Mbit/s", delay = "1 ms" }}
[mobility]
kind = "mobile-ip"
route_optimisation = false
[[hosts]]
name = "mh"
home = "ha"
visits = [{{ cell = "bs1", at = "0 s" }}, {{ cell = "bs2", at = "3 s" }}]
[[flows]]
name = "download"
path = ["ch", "mh"]
transport = {{ kind = "tcp", variant = "sack", window = "64 pkt", segment = "1460 B", timestamps = true, ecn = true }}
app = {{ kind = "ftp", start = "0.1 s", size = "900 kB" }}
[[flows]]
name = "call"
path = ["ch", "mh"]
app = {{ kind = "cbr", rate = "80 kbit/s", packet = "200 B" }}
[record]
packets = true
"""

PLAIN = """
[run]
duration = "3 s"
profile = "rfc"
[[links]]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "10 ms"
[[flows]]
name = "file"
path = ["a", "b"]
transport = { kind = "tcp", variant = "newreno", window = "20 pkt", segment = "1000 B" }
app = { kind = "ftp", size = "300 kB" }
"""


EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("*.toml") if "[run]" in path.read_text())


class Packet(NamedTuple):
    """A packet of a capture file."""

    interface: int
    time_ns: int
    data: bytes
    length: int
    comments: list[str]
    direction: int
    serial: int


def blocks(content: bytes) -> Iterator[tuple[int, bytes]]:
    """The blocks of a file; both of the lengths of each are looked at."""
    at = 0
    while at < len(content):
        kind, length = struct.unpack_from("<II", content, at)
        assert length % 4 == 0
        assert struct.unpack_from("<I", content, at + length - 4) == (length,)
        yield kind, content[at + 8 : at + length - 4]
        at += length


def options(data: bytes) -> list[tuple[int, bytes]]:
    """The options of a block."""
    found, at = [], 0
    while True:
        code, length = struct.unpack_from("<HH", data, at)
        if code == 0:
            assert at + 4 == len(data)
            return found
        found.append((code, data[at + 4 : at + 4 + length]))
        at += 4 + length + -length % 4


def read(content: bytes) -> tuple[list[str], dict[str, str], list[Packet]]:
    """The names of the interfaces, the names of addresses, and the packets."""
    interfaces: list[str] = []
    names: dict[str, str] = {}
    packets = []
    for kind, body in blocks(content):
        if kind == 1:
            assert struct.unpack_from("<H", body) == (101,)
            made = dict(options(body[8:]))
            assert made[9] == b"\x09", "nanoseconds"
            interfaces.append(made[2].decode())
        elif kind == 4:
            at = 0
            while at < len(body) - 4:
                record, length = struct.unpack_from("<HH", body, at)
                value = body[at + 4 : at + 4 + length]
                if record == 1:
                    names[".".join(map(str, value[:4]))] = value[4:-1].decode()
                at += 4 + length + -length % 4
        elif kind == 6:
            interface, high, low, size, length = struct.unpack_from("<IIIII", body)
            made = options(body[20 + size + -size % 4 :])
            comments = [value.decode() for code, value in made if code == 1]
            rest = dict(made)
            direction, serial = struct.unpack("<I", rest[2])[0], struct.unpack("<Q", rest[5])[0]
            data = body[20 : 20 + size]
            packets.append(Packet(interface, high << 32 | low, data, length, comments, direction, serial))
    return interfaces, names, packets


def total(data: bytes) -> int:
    """The sum of RFC 1071: 0xffff over data whose checksum is right."""
    data += bytes(len(data) % 2)
    found = sum(struct.unpack(f">{len(data) // 2}H", data))
    while found > 0xFFFF:
        found = (found & 0xFFFF) + (found >> 16)
    return found


def layers(data: bytes) -> list[str]:
    """The headers of a whole packet, each checked: its length, and its checksum."""
    if data[0] >> 4 == 6:
        (length,) = struct.unpack_from(">H", data, 4)
        assert length == len(data) - 40
        return ["ipv6", *layers(data[40:])]
    length, protocol = struct.unpack_from(">H", data, 2)[0], data[9]
    assert data[0] == 0x45
    assert length == len(data)
    assert total(data[:20]) == 0xFFFF
    inside = data[20:]
    if protocol in {4, 41}:
        return ["ip", *layers(inside)]
    ports = struct.unpack_from(">HH", inside)
    if protocol == 17:
        assert struct.unpack_from(">H", inside, 4)[0] == len(inside)
        if ports == (2152, 2152):
            assert inside[8:10] == b"\x30\xff"
            assert struct.unpack_from(">H", inside, 10)[0] == len(inside) - 16
            return ["gtp", *layers(inside[16:])]
    pseudo = data[12:20] + struct.pack(">BBH", 0, protocol, len(inside))
    assert total(pseudo + inside) == 0xFFFF
    return ["tcp" if protocol == 6 else "udp"]


def is_lost(packet: Packet) -> bool:
    """True if a comment has this text."""
    return any(text.startswith("lost at") for text in packet.comments)


@pytest.fixture(scope="module")
def moved() -> Results:
    """A host that is handed over, with a tunnel, SACK, timestamps, ECN and losses."""
    return rl.run(rl.Scenario(HANDOVER.format(overhead=20), "moved.toml"))


def test_every_header_is_whole(moved: Results) -> None:
    content, count = pcapng.write(moved, ["mh", "ha", "bs1"], [], payload=True)[pcapng.SEEN_FILE]
    interfaces, names, packets = read(content)
    assert len(packets) == count > 2000
    found = Counter(tuple(layers(packet.data)) for packet in packets)
    assert set(found) == {("tcp",), ("udp",), ("ip", "tcp"), ("ip", "udp")}
    assert min(found.values()) > 50
    assert {"ha->fa1", "fa2->ha", "bs1/air", "mh->bs2", "mh"} <= set(interfaces)
    assert {"ch", "mh", "ha", "bs1"} <= set(names.values())
    assert all(one.time_ns <= other.time_ns for one, other in pairwise(packets))


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_can_be_captured(name: str) -> None:
    """Protocols, media and applications of all kinds, on every link."""
    results = rl.run(rl.load(ROOT / "examples" / f"{name}.toml").set("run.duration", "2 s"))
    _, _, packets = read(
        pcapng.write(results, [], results.links["link"].cast(pl.String).to_list(), payload=True)[
            pcapng.SEEN_FILE
        ][0]
    )
    assert len(packets) > 100
    assert all(layers(packet.data)[-1] in {"tcp", "udp"} for packet in packets)
    assert all(packet.length >= len(packet.data) for packet in packets)


@pytest.mark.parametrize(("overhead", "outer"), [(36, "gtp"), (40, "ipv6")])
def test_a_tunnel_has_the_header_of_its_size(overhead: int, outer: str) -> None:
    results = rl.run(rl.Scenario(HANDOVER.format(overhead=overhead), "moved.toml"))
    _, _, packets = read(pcapng.write(results, [], ["ha->fa1"], payload=True)[pcapng.SEEN_FILE][0])
    found = Counter(tuple(layers(packet.data)) for packet in packets)
    assert {(outer, "tcp"), (outer, "udp")} <= set(found)


def test_a_file_without_payload_has_the_true_lengths(moved: Results) -> None:
    whole = read(pcapng.write(moved, [], ["ha->fa1"], payload=True)[pcapng.SEEN_FILE][0])[2]
    short = read(pcapng.write(moved, [], ["ha->fa1"])[pcapng.SEEN_FILE][0])[2]
    assert [packet.length for packet in short] == [packet.length for packet in whole]
    assert all(len(packet.data) <= 200 for packet in short)
    sent = moved.packets.filter(pl.col("kind") == "data")
    sizes = {packet.serial: packet.length for packet in whole}
    serials = [serial for serial in sent["serial"] if serial in sizes]
    assert len(serials) > 100
    # A tunnel is around each: 20 B more than the segment as it was sent.
    size = dict(sent.filter(pl.col("event") == "send").select("serial", "wire_bytes").iter_rows())
    assert all(sizes[serial] == size[serial] + 20 for serial in serials)


def test_segments_follow_each_other_byte_by_byte() -> None:
    _, _, packets = read(
        pcapng.write(rl.run(rl.Scenario(PLAIN, "plain.toml")), [], ["a->b", "b->a"])[pcapng.SEEN_FILE][0]
    )
    ends: dict[bool, int] = {}
    acked = 0
    for packet in packets:
        seq, ack, shape, flags, window = struct.unpack_from(">IIBBH", packet.data, 24)
        size = packet.length - 20 - (shape >> 4) * 4
        way = packet.interface == 0
        assert seq == ends.get(way, 0), "nothing is lost, and nothing comes again"
        ends[way] = seq + size + (flags & 1) + (flags >> 1 & 1)
        assert flags & 0x10 == 0x10 or (flags == 2 and ack == 0)
        assert ack <= ends.get(not way, 0)
        assert window > 0
        acked = max(acked, ack) if not way else acked
    assert acked == 300_001
    assert [packet.data[33] for packet in packets[:2]] == [2, 0x12], "SYN; SYN and ACK"


def option_kinds(data: bytes) -> list[int]:
    """The kinds of the options of a TCP segment without a tunnel, except padding (RFC 9293 §3.1)."""
    rest, kinds = data[40 : 20 + (data[32] >> 4) * 4], []
    while rest:
        if rest[0] != 1:
            kinds.append(rest[0])
        rest = rest[1 if rest[0] == 1 else rest[1] :]
    return kinds


@pytest.mark.parametrize(
    ("scaled", "used", "kinds"),
    [
        (False, "sack_blocks = 4", [2, 4]),
        (True, "sack_blocks = 4", [2, 4, 3]),
        (True, "timestamps = true", [2, 3, 4, 8]),
        (False, "sack_blocks = 0, recovery = 'newreno'", [2]),
    ],
)
def test_a_syn_offers_what_is_used_and_its_window_is_not_scaled(
    scaled: bool, used: str, kinds: list[int]
) -> None:
    """RFC 9293 §3.7.1, RFC 2018 §2, RFC 7323 §2.2 and §3.2: MSS 2, SACK permitted 4, window scale 3, timestamps 8."""
    text = PLAIN.replace(
        'variant = "newreno", window = "20 pkt"', f'variant = "sack", window = "700 pkt", {used}'
    )
    text = text.replace(
        'delay = "10 ms"', 'delay = "10 ms"\nqueue = { kind = "droptail", limit = "1000 pkt" }'
    )
    text = text.replace('segment = "1000 B"', 'segment = "1000 B", initial_window = "200 pkt"')
    text = text.replace('"10 Mbit/s"', '"100 Mbit/s"')
    text = text.replace('profile = "rfc"', 'profile = "own"')
    text += f'\n[tcp_profiles.own]\nbased_on = "rfc"\nwindow_scaling = {str(scaled).lower()}\n'
    text += "dsack = false\n" if kinds == [2] else ""
    results = rl.run(rl.Scenario(text, "syn.toml"))
    packets = read(pcapng.write(results, [], ["a->b", "b->a"])[pcapng.SEEN_FILE][0])[2]
    syns = [packet for packet in packets if packet.data[33] & 2]
    assert [packet.data[33] for packet in syns] == [2, 0x12]
    assert [option_kinds(packet.data) for packet in syns] == [kinds, kinds]
    assert struct.unpack_from(">H", syns[1].data, 34) == (65_000,)
    first_ack = next(packet for packet in packets if packet.interface == 1 and packet not in syns)
    flight = [packet for packet in packets if packet.interface == 0 and packet.time_ns < first_ack.time_ns]
    assert sum(packet.length > 1000 for packet in flight) == 65


def test_sack_blocks_name_what_came_and_marks_are_shown(moved: Results) -> None:
    _, _, packets = read(pcapng.write(moved, ["mh"], [])[pcapng.SEEN_FILE][0])
    begin, marked, blocks_seen = set(), set(), 0
    for packet in packets:
        data = packet.data
        if data[9] != 6:
            continue
        if packet.direction == 1:
            begin.add(struct.unpack_from(">I", data, 24)[0])
            marked |= {packet.serial} if data[1] & 3 == 3 and not is_lost(packet) else set()
        rest = data[40 : 20 + (data[32] >> 4) * 4]
        at = rest.find(b"\x01\x01\x05")
        for place in range(at + 4, at + 2 + rest[at + 3], 8) if at >= 0 else ():
            start, end = struct.unpack_from(">II", rest, place)
            assert start in begin
            assert (end - start) % 1460 == 0
            blocks_seen += 1
    assert blocks_seen > 10
    marks = moved.packets.filter(pl.col("event").cast(pl.String) == "mark")["serial"]
    assert marked == set(marks) - set(moved.drops["serial"]) != set()


def test_comments_say_why_packets_are_lost_and_where_the_handover_is(moved: Results) -> None:
    captures = pcapng.write(moved, ["bs1", "mh"], [])
    interfaces, _, packets = read(captures[pcapng.SEEN_FILE][0])
    assert not any(map(is_lost, packets))
    packets += read(captures[pcapng.LOST_FILE][0])[2]
    comments = [comment for packet in packets for comment in packet.comments]
    lost = {packet.serial: packet for packet in packets if is_lost(packet)}
    drops = moved.drops.with_columns(pl.col("place", "reason").cast(pl.String))
    here = drops.filter(pl.col("place").is_in([*interfaces]))
    assert here.height > 10
    assert set(lost) == set(here["serial"])
    for time, place, reason, serial in here.select("time_ns", "place", "reason", "serial").iter_rows():
        assert lost[serial].time_ns == time
        assert any(text.startswith(f"lost at {place}: {reason}") for text in lost[serial].comments)
    assert any("because of" in text for text in comments)
    phases = [text for text in comments if text.startswith("handover: mh, visit 1, link-up at mh")]
    assert set(phases) == {"handover: mh, visit 1, link-up at mh, 3.000000000 s"}
    assert "signalling: registration-request, about mh" in comments


def test_what_a_host_did_not_hear_is_not_among_what_it_got(moved: Results) -> None:
    _, _, packets = read(pcapng.write(moved, ["mh"], [])[pcapng.SEEN_FILE][0])
    got = Counter(packet.serial for packet in packets if packet.direction == 1 and not is_lost(packet))
    delivered = set(moved.deliveries["serial"])
    lost = set(moved.drops["serial"])
    assert delivered <= set(got)
    assert not lost & set(got)


@pytest.mark.parametrize("payload", [True, False])
def test_tshark_finds_nothing_wrong(moved: Results, tmp_path: Path, *, payload: bool) -> None:
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed: `apt-get install tshark` brings it")
    plain = rl.run(rl.Scenario(PLAIN, "plain.toml"))
    tunnel = rl.run(rl.Scenario(HANDOVER.format(overhead=36), "moved.toml"))
    checks = [f"-o{kind}.check_checksum:TRUE" for kind in ("ip", "tcp", "udp")]
    for results, nodes, links in (
        (plain, [], ["a->b", "b->a"]),
        (moved, ["mh"], []),
        (tunnel, [], ["ha->fa1"]),
    ):
        file = tmp_path / "capture.pcapng"
        content, count = pcapng.write(results, nodes, links, payload=payload)[pcapng.SEEN_FILE]
        file.write_bytes(content)
        fields = [f"-e{name}" for name in ("_ws.expert.severity", "_ws.expert.message", "_ws.malformed")]
        done = subprocess.run(
            ["tshark", "-r", file, *checks, "-Tfields", *fields], capture_output=True, text=True, check=True
        )
        errors = [line for line in done.stderr.splitlines() if "Running as user" not in line]
        assert errors == []
        rows = [line.split("\t") for line in done.stdout.splitlines()]
        assert len(rows) == count
        # Comments have the severity 1048576, chats 2097152. Beyond these only what TCP itself went through.
        allowed = {"1048576", "2097152"}
        bad = {row[1] for row in rows if set(filter(None, row[0].split(","))) - allowed or row[2]}
        assert not any("8388608" in row[0] for row in rows), "errors"
        tcp = ("This frame is a (suspected)", "Duplicate ACK", "Previous segment", "TCP window specified")
        other = {text for text in bad if not any(word in text for word in tcp)}
        assert other == set()
        assert results is not plain or bad == set()


OVERFLOW = """
[run]
duration = "10 s"
profile = "linux-6"
[[links]]
between = ["server", "client"]
rate = "20 Mbit/s"
delay = "20 ms"
queue = { kind = "droptail", limit = "100 pkt" }
[[flows]]
name = "f"
path = ["server", "client"]
transport = { kind = "tcp", variant = "cubic", segment = "1448 B", window = "1000 pkt" }
app = { kind = "ftp", start = "0 s" }
"""


@pytest.mark.parametrize("node", ["server", "client"])
def test_tshark_counts_the_repairs_of_a_full_queue(tmp_path: Path, node: str) -> None:
    """A packet that the queue dropped was never on the wire, so that only its repair is seen, once."""
    if shutil.which("tshark") is None:
        pytest.skip("tshark is not installed: `apt-get install tshark` brings it")
    results = rl.run(rl.Scenario(OVERFLOW, "overflow.toml"))
    drops = results.drops.height
    assert drops > 0
    captures = pcapng.write(results, [node], [])
    file = tmp_path / "capture.pcapng"
    file.write_bytes(captures[pcapng.SEEN_FILE][0])
    verdict = "tcp.analysis.retransmission || tcp.analysis.out_of_order"
    done = subprocess.run(["tshark", "-r", file, "-Y", verdict], capture_output=True, text=True, check=True)
    assert len(done.stdout.splitlines()) == drops, "Linux sends each lost segment again once"
    assert captures[pcapng.LOST_FILE][1] == drops, "the link is at both nodes"


def test_the_ns2_trace_is_read_back_and_equal(moved: Results, tmp_path: Path) -> None:
    store = Store(tmp_path / "runs")
    folder = store.write(moved)
    written = export(folder, Request("ns2", [], [], [], payload=False), tmp_path / "out")
    trace = tmp_path / "out/trace.tr"
    assert written["trace.tr"] == len(trace.read_text().splitlines())
    assert (tmp_path / "out/flows.csv").read_text() == "number,flow\n1,download\n2,call\n"
    nodes = pl.read_csv(tmp_path / "out/nodes.csv")
    assert nodes["node"].to_list() == ["bs1", "bs2", "ch", "fa1", "fa2", "ha", "mh"]
    assert open_trace(trace).format == "ns2"
    call = ["compare-trace", str(folder), str(trace), "--tolerance", "0 s"]
    for flow, events in (("download=1", "S,K,A,D,B"), ("call=2", "S,A,D")):
        done = CliRunner().invoke(cli, [*call, "--flow", flow, "--events", events])
        assert done.exit_code == 0, done.output
        assert "equal: " in done.output
        assert int(done.output.split("equal: ")[1].split()[0]) > 300


def test_a_copy_that_a_host_lets_go_does_not_arrive(tmp_path: Path) -> None:
    wanted = {"run.duration": "3 s", "record.packets": True}
    results = rl.run(rl.load(ROOT / "examples/lte.toml").set_all(wanted))
    assert "duplicate" in results.drops["reason"].cast(pl.String)
    folder = Store(tmp_path / "runs").write(results)
    export(folder, Request("ns2", [], [], [], payload=False), tmp_path / "out")
    call = ["compare-trace", str(folder), str(tmp_path / "out/trace.tr"), "--tolerance", "0 s"]
    done = CliRunner().invoke(cli, [*call, "--flow", "ref=1", "--events", "S,K,A,D,B"])
    assert done.exit_code == 0, done.output


def test_lines_of_the_trace_balance(moved: Results) -> None:
    lines = [line.split() for line in ns2_trace.write(moved)[ns2_trace.TRACE].splitlines()]
    steps = Counter(line[0] for line in lines)
    assert set(steps) == {"+", "-", "r", "d"}
    times = [float(line[1]) for line in lines]
    assert times == sorted(times)
    handed = Counter((line[2], line[3], line[11]) for line in lines if line[0] == "+")
    begun = Counter((line[2], line[3], line[11]) for line in lines if line[0] == "-")
    assert begun <= handed
    assert Counter((line[2], line[3], line[11]) for line in lines if line[0] == "r") <= begun


@pytest.mark.parametrize("form", ["csv", "parquet", "arrow"])
def test_tables_are_read_back(moved: Results, tmp_path: Path, form: str) -> None:
    folder = Store(tmp_path / "runs").write(moved)
    written = export(folder, Request(form, [], [], ["flows", "drops"], payload=False), tmp_path / "out")
    assert set(written) == {f"flows.{form}", f"drops.{form}"}
    readers = {"csv": pl.read_csv, "parquet": pl.read_parquet, "arrow": pl.read_ipc}
    for name in ("flows", "drops"):
        table = moved.table(name)
        text = table.with_columns(pl.col(pl.Enum).cast(pl.String)) if form == "csv" else table
        found = readers[form](tmp_path / f"out/{name}.{form}")
        assert written[f"{name}.{form}"] == found.height == table.height
        assert found.rows() == text.rows()


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (Request("pcapng", [], [], [], payload=False), "neither a node nor a link"),
        (Request("pcapng", ["mhh"], [], [], payload=False), "--node 'mh'"),
        (Request("pcapng", [], ["mh->bs3"], [], payload=False), "--link mh->bs3: the run's network has none"),
        (Request("csv", ["mh"], [], [], payload=False), "leave out --node"),
        (Request("ns2", [], [], ["flows"], payload=False), "leave out --table"),
        (Request("csv", [], [], ["flow"], payload=False), "the run has no such table"),
    ],
)
def test_what_cannot_be_is_refused(moved: Results, tmp_path: Path, request_: Request, said: str) -> None:
    folder = Store(tmp_path / "runs").write(moved)
    with pytest.raises(BadInput) as caught:
        export(folder, request_, tmp_path / "out")
    assert said in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_a_capture_changes_nothing(moved: Results) -> None:
    made = moved.manifest
    again = rl.run(rl.Scenario(made.scenario_text, made.scenario_name), capture=["mh", "bs1/air"])
    for name in moved.loaders:
        if name != "census":  # a trace shows ends of transmissions that are no events otherwise
            assert again.table(name).equals(moved.table(name)), name


def test_the_command_says_what_it_wrote(moved: Results, tmp_path: Path) -> None:
    folder = Store(tmp_path / "runs").write(moved)
    call = [
        "export",
        str(folder),
        "--format",
        "pcapng",
        "--node",
        "mh",
        "--out",
        str(tmp_path / "out"),
        "--json",
    ]
    done = CliRunner().invoke(cli, call)
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    name, _ = said["files"]
    assert len(read((tmp_path / "out" / name).read_bytes())[2]) == said["files"][name] > 0


def test_the_name_of_a_file_is_no_folder_for_the_export(tmp_path: Path) -> None:
    done = CliRunner().invoke(cli, ["export", "--format", "csv", "--out", str(tmp_path / "x.pcap")])
    assert done.exit_code == 2
    assert f"Write --out {tmp_path / 'x'}" in " ".join(done.output.split())
    assert not (tmp_path / "x.pcap").exists()
