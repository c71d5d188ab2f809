"""Files that drive a run: read next to their scenario, part of what determines it, and refused with their line."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import polars as pl
import pytest
from click.testing import CliRunner

import roamlab as rl
from conftest import COMMAND, ROOT
from roamlab.cli import cli
from roamlab.exports import pcapng
from roamlab.records.storage.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from click.testing import Result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The example with its files, in another folder."""
    return shutil.copytree(ROOT / "examples/imported", tmp_path / "imported")


def test_the_example_moves_as_its_file_says(folder: Path) -> None:
    results = rl.run(rl.load(folder / "drive.toml"))
    phases = results.handovers.filter(pl.col("phase").cast(pl.String).str.starts_with("link-"))
    found = [(phase, time // 10**6) for phase, time in phases.select(pl.col("phase"), "time_ns").iter_rows()]
    downs_and_ups = [("link-down", 3000), ("link-up", 3050), ("link-down", 6250), ("link-up", 7000)]
    assert found == [("link-up", 0), *downs_and_ups]
    assert results.flows["delivered_bytes"].item() > 500_000


def test_another_file_is_another_run(folder: Path) -> None:
    before = rl.load(folder / "drive.toml").resolved
    moves = folder / "moves.csv"
    moves.write_text(moves.read_text().replace("6.25,", "6.5,"))
    assert rl.load(folder / "drive.toml").resolved != before


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("moves.csv", "3,car", "three,car", "moves.csv:3:1: the time"),
        ("moves.csv", "car,south,,", "car,north,,", "moves.csv:4:1: it leaves north, and was in south"),
        (
            "moves.csv",
            "7,car,,north",
            "7,car,,east",
            'there is no cell "east", which is named in moves.csv:5',
        ),
        ("moves.csv", "time_s,", "", "moves.csv:2:1: the column"),
        ("cell.down", "\n", "\nx\n", "cell.down:2:1: "),
    ],
)
def test_a_bad_file_is_refused_with_its_line(folder: Path, file: str, old: str, new: str, said: str) -> None:
    text = (folder / file).read_text()
    (folder / file).write_text(text.replace(old, new, 1))
    done = CliRunner().invoke(cli, ["check", str(folder / "drive.toml")], standalone_mode=False)
    assert isinstance(done.exception, rl.ScenarioError)
    assert said in str(done.exception)
    assert "help: " in str(done.exception)


def test_the_command_line_ends_with_2(folder: Path) -> None:
    (folder / "moves.csv").write_text("time_s,host\n")
    done = subprocess.run(
        [COMMAND, "run", folder / "drive.toml"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert "moves.csv:1:1" in done.stderr


def test_a_capture_of_a_run_whose_file_has_changed_is_refused(folder: Path) -> None:
    store = Store(folder / "runs")
    results = rl.run(rl.load(folder / "drive.toml"))
    store.write(results)
    moves = folder / "moves.csv"
    moves.write_text(moves.read_text().replace("6.25,", "6.5,"))
    with pytest.raises(rl.BadInput, match="has changed"):
        pcapng.write(results, ["car"], [])


_CALL = ["--column", "time_ms=ts", "--column", "host=ue", "--column", "from=source", "--column", "to=target"]


def _converted(log: Path, *words: str) -> Result:
    return CliRunner().invoke(cli, ["schedule", str(log), *words], standalone_mode=False)


def test_a_log_with_names_of_its_own_becomes_a_schedule_that_drives_a_run(
    folder: Path, tmp_path: Path
) -> None:
    """The example's moves, as an epoch log of JSON lines and as CSV, not in order of time, among other records."""
    lines = [
        '{"ts": 1700000006250.0, "ue": "car", "source": "south", "target": "", "type": "ho", "rsrp": -101}',
        '{"ts": 1700000003000, "ue": "car", "source": "north", "target": "south", "type": "ho", "ms": 50}',
        '{"ts": 1700000003500, "ue": "car", "type": "report"}',
        "",
        '{"ts": "1700000007000.000001", "ue": "car", "source": null, "target": "north", "type": "ho"}',
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(lines))
    table = [
        "type,target,source,ue,ts,ms",
        "ho,,south,car,1700000006250,",
        "ho,south,north,car,1700000003000,50",
        "report,,,car,1700000003500,",
        "ho,north,,car,1700000007000.000001,",
    ]
    (tmp_path / "log.csv").write_text("\n".join(table))
    words = [*_CALL, "--column", "gap_ms=ms", "--where", "type=ho", "--begin", "1700000000000"]
    found = [_converted(tmp_path / name, *words).stdout for name in ("log.jsonl", "log.csv")]
    expected = ["3,car,north,south,0.05", "6.25,car,south,,", "7.000000001,car,,north,"]
    assert found == ["\n".join(["time_s,host,from,to,gap_s", *expected, ""])] * 2
    before = rl.run(rl.load(folder / "drive.toml")).handovers
    (folder / "moves.csv").write_text(found[0])
    after = rl.run(rl.load(folder / "drive.toml")).handovers
    assert after["time_ns"].to_list() != before["time_ns"].to_list(), "one nanosecond later"
    (folder / "moves.csv").write_text(found[0].replace("7.000000001", "7"))
    assert rl.run(rl.load(folder / "drive.toml")).handovers.equals(before)


def test_dates_of_iso_8601_are_times_of_a_log(tmp_path: Path) -> None:
    """With and without zones, with a comma or a point, down to the nanosecond."""
    times = ["2026-05-01T12:00:03Z", "2026-05-01 14:00:06.25+02:00", "2026-05-01T12:00:07,000000001"]
    log = tmp_path / "log.csv"
    rows = [f'"{time}",car,{cells}' for time, cells in zip(times, ("n,s", "s,", ",n"), strict=True)]
    log.write_text("\n".join(["when,host,from,to", *rows]))
    words = ["--column", "time=when", "--begin", "2026-05-01T12:00:00Z"]
    assert _converted(log, *words).stdout.splitlines()[1:] == [
        "3,car,n,s,",
        "6.25,car,s,,",
        "7.000000001,car,,n,",
    ]
    for wrong, said in (
        (["--column", "time=when"], "a run begins at 0\n  expected: the time at which a run begins"),
        (["--column", "time_s=when"], "write --column time=when"),
        ([*words[:2], "--begin", "2026-05-01T12:00:04Z"], "not before the begin"),
    ):
        assert said in str(_converted(log, *wrong).exception), wrong
    log.write_text("when,host,from,to\n2026-02-30T12:00:00Z,car,n,s\n")
    assert "expected: a date and time in ISO 8601" in str(_converted(log, *words).exception)


@pytest.mark.parametrize(
    ("log", "words", "said"),
    [
        ("time_s,host,from,to\n1,mh,a,b\n2,mh,b,b\n", [], "log.csv:3: from 'b' to 'b'"),
        ("time_s,host,from,to\nx,mh,a,b\n", [], "log.csv:2: time_s is 'x'"),
        ("time_s,host,from,to\n1,mh,a,b\n", ["--begin", "2"], "log.csv:2: time_s is '1'"),
        ("time_s,host,from,to\n1,mh,a,b\n", ["--begin", "x"], "--begin x: this is no number"),
        ("time_s,host,from\n1,mh,a\n", [], "log.csv:2: the record has no field 'to'"),
        ("time_s,host,from,to\n1,,a,b\n", [], "log.csv:2: no host"),
        ('time_s,host,from,to\n1,"m,h",a,b\n', [], "log.csv:2: the name 'm,h'"),
        ("time_s,host,from,to\n", [], "there are no records"),
        ("time_s,host,from,to\n1,mh,a,b\n", ["--where", "to=c"], "no record is a handover"),
        ("time_s,host,from,to\n1,mh,a,b\n", ["--where", "to"], "there is no `=`"),
        ("time_s,host,from,to\n1,mh,a,b\n", ["--column", "into=to"], "a schedule has no such column"),
        ("t,host,from,to\n1,mh,a,b\n", ["--column", "time_s=t", "--column", "time_ms=t"], "named twice"),
        ('time_s,host,from,to\n1,"mh,a,b\n', [], "this is no CSV"),
    ],
)
def test_a_log_that_is_wrong_is_refused_with_its_line(
    tmp_path: Path, log: str, words: list[str], said: str
) -> None:
    (tmp_path / "log.csv").write_text(log)
    done = _converted(tmp_path / "log.csv", *words)
    assert isinstance(done.exception, rl.BadInput)
    assert said in str(done.exception)
    assert "help: " in str(done.exception)
    assert done.stdout == ""


def test_a_line_that_is_no_record_is_refused(tmp_path: Path) -> None:
    for content in ("{", "[1]", "[" * 100_000):
        (tmp_path / "log.jsonl").write_text('{"time_s": 1, "host": "mh", "from": "a", "to": "b"}\n' + content)
        done = _converted(tmp_path / "log.jsonl")
        assert isinstance(done.exception, rl.BadInput)
        assert "log.jsonl:2: this is no JSON object" in str(done.exception)
    (tmp_path / "log.jsonl").write_bytes(b"\xff")
    assert "byte 0xff is not UTF-8" in str(_converted(tmp_path / "log.jsonl").exception)
