"""The command line for programs and shells: `--json`, the newest run, completion; many flows; pairs.

With the real engine.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from conftest import COMMAND, ROOT
from pages import Page
from roamlab import cli
from roamlab.against.comparison import Summary
from roamlab.base.quantities import number, scale
from roamlab.commands.about.check_against import table
from roamlab.papers import reporting
from roamlab.records.totals import Totals
from roamlab.running.ensemble import Job
from roamlab.running.summary import Measurement
from roamlab.scenarios.scenario import Scenario
from roamlab.showing import terminal
from roamlab.showing.page import Measured, Table
from roamlab.statistics.stats import student
from roamlab.studies import demo

if TYPE_CHECKING:
    from collections.abc import Callable

    Roamlab = Callable[..., SimpleNamespace]

SHORT = (
    (ROOT / "examples/handover.toml")
    .read_text(encoding="utf-8")
    .replace('"40 s"', '"2 s"')
    .replace('at = "10 s"', 'at = "1 s"')
)


@pytest.fixture
def roamlab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Roamlab:
    """Run a command in a folder that holds `a.toml`, `b.toml`, whose flow has another name, and `sweep.toml`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    Path("a.toml").write_text(SHORT, encoding="utf-8")
    Path("b.toml").write_text(SHORT.replace('"moving"', '"other"'), encoding="utf-8")
    Path("sweep.toml").write_text(
        'scenario = "a.toml"\nreplications = 2\nbaseline = "1 Mbit/s"\nmetrics = ["flows.moving.goodput_bps"]\n'
        'grid = { "cells.bs1.rate" = ["1 Mbit/s", "2 Mbit/s"] }\n',
        encoding="utf-8",
    )

    def call(*arguments: str) -> SimpleNamespace:
        monkeypatch.setattr(sys, "argv", ["roamlab", *arguments])
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = int(str(stop.code))
        return SimpleNamespace(code=code, **dict(zip(("out", "err"), capsys.readouterr(), strict=True)))

    return call


def test_json_is_all_that_stands_on_standard_output(roamlab: Roamlab) -> None:
    run = json.loads(roamlab("run", "a.toml", "--json").out)
    assert (run["scenario"], run["seed"], run["run"]) == ("a.toml", 1, 0)
    assert Path(run["result"], "manifest.json").exists()
    assert [flow["flow"] for flow in run["flows"]] == ["moving"]
    assert run["flows"][0]["goodput_bps"] > 1e6
    sweep = json.loads(roamlab("sweep", "sweep.toml", "--json").out)
    assert [row["name"] for row in sweep["means"]] == ["1 Mbit/s", "2 Mbit/s"]
    assert [row["baseline"] for row in sweep["differences"]] == ["1 Mbit/s"]
    other = SHORT.replace('rate = "2 Mbit/s"', 'rate = "1 Mbit/s"', 1)
    Path("c.toml").write_text(other, encoding="utf-8")
    compared = json.loads(roamlab("compare", "a.toml", "c.toml", "--runs", "2", "--json").out)
    assert {row["metric"] for row in compared["differences"]} >= {"flows.moving.goodput_bps"}
    assert compared["result"] == "out/compare"
    assert json.loads(roamlab("check", "a.toml", "--json").out) == json.loads(roamlab("check", "a.toml").out)
    assert "papers" in json.loads(roamlab("list", "--json").out)


def test_the_newest_run_is_taken_and_named(roamlab: Roamlab) -> None:
    missing = roamlab("chart")
    assert (missing.code, "RUN: there is no run in out/runs" in missing.err) == (2, True)
    folders = [json.loads(roamlab("run", "a.toml", "--seed", seed, "--json").out)["result"] for seed in "12"]
    for number_, folder in enumerate(folders):
        os.utime(folder, (number_, number_))
    found = roamlab("chart", "--text")
    assert f"run of a.toml, seed 2: {folders[1]}, the newest of 2 in out/runs" in found.err
    assert found.out == roamlab("chart", folders[1], "--text").out
    # The run requested last is the newest, though it had been made before.
    roamlab("run", "a.toml", "--seed", "1")
    assert f"run of a.toml, seed 1: {folders[0]}," in roamlab("chart", "latest", "--text").err
    assert roamlab("trace", "--packet", "20").out == roamlab("trace", folders[0], "--packet", "20").out
    equal = roamlab("compare-trace", "latest", folders[0])
    assert (equal.code, "equal: " in equal.out) == (0, True), equal


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("roamlab repr", ["reproduce"]),
        ("roamlab reproduce m", ["mblue"]),
        ("roamlab reproduce ", ["all", "bcmp", "ipf", "lte", "mblue", "ripple"]),
        ("roamlab list profile rf", ["rfc"]),
    ],
)
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_shell_completes(shell: str, words: str, offered: list[str]) -> None:
    current = words.rpartition(" ")[2]
    environment = {
        "_ROAMLAB_COMPLETE": f"{shell}_complete",
        "COMP_WORDS": words,
        # To fish the word that is being written is given, to the others its number.
        "COMP_CWORD": current if shell == "fish" else str(words.count(" ")),
    }
    done = subprocess.run(
        [COMMAND], env=os.environ | environment, capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    if shell == "zsh":
        assert set(lines[::3]) == {"plain"}
        found = lines[1::3]
    else:
        found = [line.partition(",")[2].partition("\t")[0] for line in lines]
    assert found == offered, lines


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_line_for_a_start_up_file_is_a_script(shell: str) -> None:
    """Its output names the command; where the shell is installed, it reads the script without an error."""
    source = os.environ | {"_ROAMLAB_COMPLETE": f"{shell}_source"}
    done = subprocess.run([COMMAND], env=source, capture_output=True, text=True, check=True)
    assert f"_ROAMLAB_COMPLETE={shell}_complete" in done.stdout
    if shutil.which(shell) is not None:
        read = subprocess.run([shell, "-n"], input=done.stdout, capture_output=True, text=True, check=False)
        assert (read.returncode, read.stderr) == (0, "")


def test_flows_that_do_not_pair_are_an_error_with_a_place(roamlab: Roamlab) -> None:
    found = roamlab("compare", "a.toml", "b.toml", "--runs", "2")
    assert found.code == 2
    line = SHORT[: SHORT.index('name = "moving"')].count("\n") + 1
    assert found.err.startswith(
        f"error: b.toml:{line}, field `flows`, for the metric flows.*.goodput_bps: no flow pairs"
    )
    assert "a.toml has moving; b.toml has other" in found.err
    assert "--metric goodput_bps" in found.err
    assert not Path("out").exists(), "before any run"
    found = roamlab("compare", "a.toml", "b.toml", "--runs", "2", "--metric", "flows.moving.timeouts")
    assert (found.code, "there is no flow 'moving'" in found.err) == (2, True)
    assert roamlab("compare", "a.toml", "b.toml", "--runs", "2", "--metric", "goodput_bps").code == 0


def test_flows_that_one_scenario_has_alone_are_said_to_be_left_out(roamlab: Roamlab) -> None:
    more = '[[flows]]\nname = "wired"\npath = ["ch", "ha"]\ntransport = { kind = "tcp" }\napp = { kind = "ftp" }\n'
    Path("b.toml").write_text(f"{SHORT}\n{more}", encoding="utf-8")
    found = roamlab("compare", "a.toml", "b.toml", "--runs", "2", "--json")
    note, differ, warning = found.err.splitlines()
    assert (found.code, note) == (0, "note: flows that do not pair are not compared: wired only in b.toml")
    assert differ == "note: they differ in flows"
    assert warning.startswith("warning: all runs of a point are equal")
    assert {row["metric"].split(".")[1] for row in json.loads(found.out)["differences"]} == {"moving"}


def test_a_comparison_lists_the_fields_in_which_the_two_differ(roamlab: Roamlab) -> None:
    text = SHORT.replace('limit = "64 pkt"', 'limit = "8 pkt"')
    Path("b.toml").write_text(text, encoding="utf-8")
    found = roamlab("compare", "a.toml", "b.toml", "--runs", "2")
    assert "note: they differ in mobility.buffer.limit" in found.err
    call = {"path": ["ch", "mh"], "name": "moving", "app": {"kind": "voip"}}
    Path("c.toml").write_text(Scenario(SHORT).set("flows", [call]).text, encoding="utf-8")
    found = roamlab("compare", "a.toml", "c.toml", "--runs", "2")
    assert "; flow moving is ftp over tcp in a.toml and voip over udp in c.toml" in found.err


def test_a_missing_option_lists_its_choices_on_one_line(roamlab: Roamlab) -> None:
    done = roamlab("export")
    assert done.code == 2
    assert "Missing option '--format'. Choose from: pcapng, ns2, csv, parquet, arrow" in done.err


def test_a_table_of_check_against_fits_into_80_columns() -> None:
    out = StringIO()
    summary = Summary("dctcp", 99, (99, 99), 99, 99, 99, 0.0, 0.1, {}, {})
    Console(file=out, width=80).print(table("combinations", [summary]))
    assert "held out" in out.getvalue()
    assert "99 of 99" in out.getvalue()


def test_nothing_to_compare_is_bad_input(roamlab: Roamlab) -> None:
    stays = SHORT.replace(', { cell = "bs2", at = "1 s" }', "")
    Path("a.toml").write_text(stays, encoding="utf-8")
    Path("b.toml").write_text(stays.replace('"2 s"', '"1.5 s"', 1), encoding="utf-8")
    found = roamlab("compare", "a.toml", "b.toml", "--runs", "2", "--metric", "flows.moving.disruption_s")
    assert (found.code, "both define one" in found.err) == (2, True)


def test_a_name_that_is_not_utf_8_can_be_printed(roamlab: Roamlab) -> None:
    name = os.fsdecode(b"caf\xe9.toml")
    found = roamlab("run", name)
    assert (found.code, "caf\\xe9.toml: No such file" in found.err) == (2, True)
    Path(name).write_text(SHORT, encoding="utf-8")
    assert json.loads(roamlab("run", name, "--json").out)["scenario"] == "caf\\xe9.toml"
    out = roamlab("run", "a.toml", "--out", os.fsdecode(b"r\xe9sultats")).out
    assert "result: r\\xe9sultats/" in out


def _many(count: int) -> SimpleNamespace:
    flows = pl.DataFrame(
        {
            "flow": [f"f{at}" for at in range(count)],
            "kind": ["tcp"] * count,
            "delivered_pkts": range(count),
            "dropped_pkts": [0] * count,
            "dropped_ack_pkts": [0] * count,
            "retransmitted_pkts": [0] * count,
            "timeouts": [0] * count,
            "goodput_bps": [1e6 + (at * 7919) % count for at in range(count)],
        }
    )
    drops = pl.DataFrame({"place": ["a", "a", "b"], "reason": ["x", "copy-released", "y"]})
    return SimpleNamespace(flows=flows, drops=drops)


def _shown(results: SimpleNamespace) -> str:
    console = Console(width=120, record=True, file=StringIO())
    for part in terminal.tables(Totals.of(results), Path("out/runs/x")):
        console.print(part)
    return console.export_text()


def test_of_many_flows_the_first_and_the_worst_are_shown() -> None:
    found = _shown(_many(100_000))
    lines = [line.split("│")[1:-1] for line in found.splitlines() if line.startswith("│ f")]
    names = [line[0].strip() for line in lines]
    assert names[:20] == [f"f{at}" for at in range(20)]
    goodput = _many(100_000).flows.slice(20).sort("goodput_bps")
    assert names[20:] == goodput["flow"][:5].to_list()
    assert "100000 flows" in found
    assert "roamlab.open_run('out/runs/x').flows" in found
    assert "goodput [Mbit/s]" in found
    assert "copy-released" not in found
    few = _shown(_many(25))
    assert (few.count("│ f"), "open_run" in few) == (25, False)


def test_dropped_beside_delivered_counts_no_acknowledgements() -> None:
    """Of 28 lost packets 24 are acknowledgements: 4 of data, in addition to 123 that arrived."""
    found = _many(1)
    counts = {"delivered_pkts": 123, "dropped_pkts": 28, "dropped_ack_pkts": 24}
    found.flows = found.flows.with_columns(**{name: pl.lit(value) for name, value in counts.items()})
    (line,) = [line for line in _shown(found).splitlines() if line.startswith("│ f0")]
    heading = next(line for line in _shown(found).splitlines() if "delivered" in line)
    cells = dict(
        zip(
            *(map(str.strip, one.split("┃" if "┃" in one else "│")[1:-1]) for one in (heading, line)),
            strict=True,
        )
    )
    assert (cells["delivered [pkt]"], cells["dropped [pkt]"]) == ("123", "4")


def test_a_summary_of_many_flows_looks_at_each_name_once() -> None:
    """Twice the flows, twice the work: names are compared in proportion, not by pairs."""
    compared = 0

    class Name(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

        def __hash__(self) -> int:
            return str.__hash__(self)

        def __str__(self) -> str:
            return self

    count = 2000
    columns = {"flow": np.arange(count, dtype=np.uint32), "timeouts": np.arange(count)}
    tables = {"flows": columns, "names": {"flows.flow": [Name(f"f{at}") for at in range(count)]}}
    found = Measurement(("flows.*.timeouts",)).of(Job(Scenario(""), 1), tables)  # type: ignore[arg-type]
    assert found == [(f"flows.f{at}.timeouts", float(at)) for at in range(count)]
    assert compared < 10 * count


def test_numbers_have_units_and_no_powers_of_ten() -> None:
    for values, unit, said in (
        ([1.768e6, 1.2e5], "bit/s", "1.768 Mbit/s"),
        ([390.1], "bit/s", "390.1 bit/s"),
        ([-2.5e9], "bit/s", "-2.5 Gbit/s"),
        ([0.07044], "s", "70.44 ms"),
        ([123456.0], "pkt", "123456 pkt"),
        ([0.0], "bit/s", "0 bit/s"),
        ([float("inf"), 2e3], "B", "inf kB"),
    ):
        factor, scaled = scale(values, unit)
        assert f"{number(values[0] / factor)} {scaled}" == said


def test_csv_files_have_intervals_in_columns(tmp_path: Path) -> None:
    rows = [("red", Measured(student([1.0, 2.0, 3.0]))), ("blue", Measured(student([5.0]))), ("none", "-")]
    reporting.write_csv(Table("Losses", ("queue", "lost [pkt]"), rows), tmp_path / "t.csv")
    frame = pl.read_csv(tmp_path / "t.csv", null_values=["", "-"])
    assert frame.columns == ["queue", "lost [pkt] mean", "lost [pkt] low", "lost [pkt] high", "lost [pkt] n"]
    assert frame["lost [pkt] mean"].to_list() == [2.0, 5.0, None]
    assert frame["lost [pkt] low"].to_list() == [pytest.approx(2 - 2.4841, abs=1e-4), None, None]
    assert frame["lost [pkt] n"].to_list() == [3, 1, None]
    assert str(rows[0][1]).startswith("2 (-0.48")


def test_a_first_figure_with_its_scenarios(roamlab: Roamlab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "RUNS", 2)
    done = roamlab("demo")
    assert done.code == 0
    *lines, figure, page, following = done.out.splitlines()
    assert {line.partition(":")[0] for line in lines} == set(demo.SHOWN)
    assert Path(figure.removeprefix("figure: ")).read_bytes().startswith(b"\x89PNG")
    Page(Path(page.removeprefix("report: ")).read_text(encoding="utf-8"))
    first = following.removeprefix("next: roamlab run ").partition(",")[0]
    assert roamlab("run", first).code == 0

    received = {line.partition(":")[0]: float(re.findall(r": (\d+) kB", line)[0]) for line in lines}
    assert received["X2, fast path switch"] > 2 * received["Cellular IP hard"], "nothing is lost"
