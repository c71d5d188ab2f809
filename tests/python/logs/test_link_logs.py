"""Logs of rates, delays and losses become tables that links follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

import roamlab as rl
from conftest import ROOT
from roamlab.cli import cli

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


def converted(log: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["schedule", str(log), *words], standalone_mode=False)


PING = """PING example (192.0.2.1) 56(84) bytes of data.
[1700000000.020000] 64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=20.0 ms
no answer yet for icmp_seq=2
[1700000002.130500] 64 bytes from 192.0.2.1: icmp_seq=3 ttl=57 time=130 ms
[1700000002.130600] 64 bytes from 192.0.2.1: icmp_seq=3 ttl=57 time=131 ms (DUP!)

--- example ping statistics ---
3 packets transmitted, 2 received, 33% packet loss, time 2003ms
"""


def test_the_output_of_ping_becomes_delays(tmp_path: Path) -> None:
    """A reply that comes at 2.1305 s after 130 ms was asked for at 2.0005 s; the way there took 65 ms."""
    log = tmp_path / "ping.txt"
    log.write_text(PING)
    done = converted(log, "--as", "delay")
    assert done.stdout == "time_s,delay_ms\n0,10\n2.0005,65\n"
    assert "2 rows from 0 to 2.001 s; delay from 10 to 65 ms" in done.stderr
    log.write_text(PING.replace("[1700000002.130500] ", ""))
    assert f"{log}:4: this reply has no time stamp" in str(converted(log, "--as", "delay").exception)
    for words, said in (
        (["--as", "rate"], "write --as delay"),
        (["--as", "delay", "--where", "a=b"], "this is the output of ping, which has no columns"),
        ([], "write --as delay for its delays"),
    ):
        assert said in str(converted(log, *words).exception)


IPERF3 = """{
    "start": {"version": "iperf 3.16", "test_start": {"omit": 1}},
    "intervals": [
        {"streams": [], "sum": {"start": 0, "end": 1, "bits_per_second": 9e6, "omitted": true}},
        {"streams": [], "sum": {"start": 0, "end": 1.0001, "bits_per_second": 12345678.9, "omitted": false}},
        {"streams": [], "sum": {"start": 1.0001, "end": 2, "bits_per_second": 0, "omitted": false}},
        {"streams": [], "sum": {"start": 2, "end": 3, "bits_per_second": 4500000.0, "omitted": false}}
    ],
    "end": {}
}
"""


def test_the_document_of_iperf3_becomes_rates(tmp_path: Path) -> None:
    log = tmp_path / "download.json"
    log.write_text(IPERF3)
    done = converted(log, "--as", "rate")
    assert done.stdout == "time_s,rate_mbit_s\n0,12.345679\n1.0001,0\n2,4.5\n"
    assert "write --as rate" in str(converted(log, "--as", "delay").exception)
    for broken in (IPERF3[:-20], IPERF3.replace("intervals", "parts"), IPERF3.replace('"sum"', '"all"')):
        log.write_text(broken)
        assert "no JSON document with the intervals of iperf3" in str(
            converted(log, "--as", "rate").exception
        )
    log.write_text(IPERF3.replace("4500000.0", "-1"))
    assert "interval 3 has no start or rate" in str(converted(log, "--as", "rate").exception)


def test_round_trips_are_halved_and_percentages_are_probabilities(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("time_s,rtt_ms,loss_percent\n5,41,0\n6,90,2.5\n")
    assert converted(log, "--as", "delay").stdout == "time_s,delay_ms\n0,20.5\n1,45\n"
    assert converted(log, "--as", "loss").stdout == "time_s,loss\n0,0\n1,0.025\n"


def test_the_begin_of_a_run_may_be_before_the_first_record(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("time,rate_mbit_s\n2026-05-01T12:00:03Z,7\n2026-05-01T12:00:03.5Z,8\n")
    done = converted(log, "--as", "rate", "--begin", "2026-05-01T14:00:00+02:00")
    assert done.stdout == "time_s,rate_mbit_s\n0,7\n3,7\n3.5,8\n"
    assert "before its first record, at 3 s, its value holds" in done.stderr
    late = converted(log, "--as", "rate", "--begin", "2026-05-01T12:00:03.2Z")
    assert "log.csv:2: this record is before the begin" in str(late.exception)


@pytest.mark.parametrize(
    ("log", "words", "said"),
    [
        ("time_s,rate_mbit_s\n", [], "no record has a rate"),
        ("time_s,rate_mbit_s\n1,0\n2,0\n", [], "every rate is 0"),
        ("1,2\n3,4\n", [], "log.csv:1: the first line has numbers"),
        ("time_s,speed\n1,2\n", [], "log.csv:1: the record has no field 'rate_mbit_s'"),
        ("time_s,time_ms,rate_mbit_s\n1,1,2\n", [], "the time is named twice"),
        ("time_s,rate_mbit_s\n1,2\n", ["--column", "speed=rate"], "is not made of such a column"),
        ("time_s,rate_mbit_s\n1,2\n", ["--where", "cell=a"], "log.csv:1: the record has no field 'cell'"),
        ("time_s,rate_mbit_s\n1,2\n", ["--begin", "noon"], "--begin noon: this is no number"),
        ("time_s,rate_mbit_s\n1,2\n2000000000,3\n", [], "at most 50 years"),
        ("time_s,rate_mbit_s\n1,2\n", ["--host", "mh"], "--host: a rate of a link is of no host"),
        ("time_s,rate_mbit_s\n2026-05-01T12:00:00Z,2\n", [], "write --column time=time_s"),
    ],
)
def test_what_is_no_log_of_a_rate_is_refused(tmp_path: Path, log: str, words: list[str], said: str) -> None:
    (tmp_path / "log.csv").write_text(log)
    done = converted(tmp_path / "log.csv", "--as", "rate", *words)
    assert isinstance(done.exception, rl.BadInput)
    assert said in str(done.exception)
    assert done.stdout == ""


CELLS = ["--column", "time_s=t", "--column", "cell=pci", "--host", "phone"]


def test_a_series_of_serving_cells_is_a_schedule(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("t,pci\n1,301\n3,57\n2,301\n4,57\n5,\n6,301\n")
    done = converted(log, *CELLS)
    assert done.stdout == "time_s,host,from,to,gap_s\n3,phone,301,57,\n5,phone,57,,\n6,phone,,301,\n"
    log.write_text("t,pci\n1,301\n2,301\n")
    assert "the cell never changes" in str(converted(log, *CELLS).exception)
    log.write_text("t,pci\n1,301\n1,57\n")
    assert "log.csv:3: there are two cells at one time" in str(converted(log, *CELLS).exception)
    assert "write --host phone" in str(converted(log, *CELLS[:4]).exception)


def test_the_strongest_cell_serves_behind_a_hysteresis(tmp_path: Path) -> None:
    """At 2 s `b` is stronger by 2 dB, at 3 s by 4 dB; at 4 s `b` is not heard, at 5 s neither cell is new."""
    log = tmp_path / "log.csv"
    samples = [
        "1,a,-90",
        "1,b,-95",
        "2,a,-92",
        "2,b,-90",
        "3,a,-94",
        "3,b,-90",
        "4,a,-99",
        "5,a,-99",
        "5,b,-97",
    ]
    log.write_text("\n".join(["t,pci,rsrp", *samples]))
    words = [*CELLS, "--column", "level_db=rsrp"]
    moves = ["3,phone,a,b,", "4,phone,b,a,"]
    assert converted(log, *words, "--hysteresis-db", "3").stdout.splitlines()[1:] == moves
    moves = ["2,phone,a,b,", "4,phone,b,a,", "5,phone,a,b,"]
    assert converted(log, *words).stdout.splitlines()[1:] == moves
    log.write_text("t,pci,rsrp\n1,a,strong\n")
    assert "log.csv:2: rsrp is 'strong'" in str(converted(log, *words).exception)


def test_a_figure_shows_what_was_understood_and_spares_files_of_the_user(tmp_path: Path) -> None:
    log, figure = tmp_path / "log.csv", tmp_path / "out" / "rate.svg"
    log.write_text("time_s,rate_mbit_s\n0,5\n1,6\n2,7\n30,8\n")
    assert converted(log, "--as", "rate", "--figure", str(figure)).exception is None
    assert converted(log, "--as", "rate", "--figure", str(figure)).exception is None, "ours is replaced"
    figure.write_text("<svg>mine</svg>")
    done = converted(log, "--as", "rate", "--figure", str(figure))
    assert "not ours to replace" in str(done.exception)
    assert (done.stdout, figure.read_text()) == ("", "<svg>mine</svg>")
    moves = tmp_path / "moves.svg"
    done = converted(ROOT / "examples/imported/moves.csv", "--figure", str(moves))
    assert done.exception is None
    assert moves.read_text().startswith("<?xml")


def test_tables_of_the_command_drive_a_run(tmp_path: Path) -> None:
    """A stream of 1000 B each 10 ms: the delay of each packet is that of the log, and none passes in its outage."""
    (tmp_path / "ping.txt").write_text(PING)
    (tmp_path / "delay.csv").write_text(converted(tmp_path / "ping.txt", "--as", "delay").stdout)
    (tmp_path / "download.json").write_text(IPERF3)
    (tmp_path / "rate.csv").write_text(converted(tmp_path / "download.json", "--as", "rate").stdout)
    scenario = tmp_path / "drive.toml"
    scenario.write_text(
        'run = { duration = "2.9 s" }\n[[links]]\nbetween = ["a", "b"]\nrate = { table = "rate.csv" }\n'
        'delay = { trace = "delay.csv", at_end = "hold" }\n[[flows]]\nname = "f"\npath = ["a", "b"]\n'
        'app = { kind = "cbr", rate = "800 kbit/s", packet = "1000 B" }\n'
    )
    times = rl.run(rl.load(scenario)).deliveries["time_ns"].to_list()
    # Sent in 0.648 ms at 12.345679 Mbit/s, and on the way for 10 ms.
    assert times[0] == 10_648_000
    assert not [time for time in times if 1_010_800_000 < time < 2_000_000_000]
    # From 2.0005 s on packets are on the way for 65 ms, and take 1.778 ms at 4.5 Mbit/s.
    assert (times[-1] - 65_000_000 - 1_777_777) % 10_000_000 <= 1
    assert "digest" in rl.load(scenario).resolved
