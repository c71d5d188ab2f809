"""The command line: what it prints, and its exit codes."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING

import click
import pytest
import tomli

from conftest import ROOT, SMALL
from roamlab import _roamlab, cli, papers
from roamlab.papers import reproducing
from roamlab.showing.report import Report
from roamlab.statistics import stats
from roamlab.statistics.claims import Claim, Measure, greater

if TYPE_CHECKING:
    from collections.abc import Callable

    from roamlab.papers import Session

    Roamlab = Callable[..., SimpleNamespace]


@pytest.fixture
def roamlab(engine: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Roamlab:
    """Run a command in an empty folder that holds `small.toml`; returns exit code, output and errors."""
    engine.chdir(tmp_path)
    engine.setenv("COLUMNS", "120")
    Path("small.toml").write_text(SMALL, encoding="utf-8")

    def call(*arguments: str) -> SimpleNamespace:
        engine.setattr(sys, "argv", ["roamlab", *arguments])
        try:
            cli.main()
            code = 0
        except SystemExit as stop:
            code = stop.code
        captured = capsys.readouterr()
        return SimpleNamespace(code=code, out=captured.out, err=captured.err)

    return call


def _result(out: str) -> Path:
    (line,) = (line for line in out.splitlines() if line.startswith("result: "))
    return Path(line.removeprefix("result: "))


def test_run_shows_flows_and_drops_and_keeps_the_result(roamlab: Roamlab) -> None:
    found = roamlab("run", "small.toml", "--seed", "5")
    assert found.code == 0
    assert "goodput [Mbit/s]" in found.out
    assert " 1.5 " in found.out
    assert "[resident]" in found.out
    assert "early-drop" in found.out
    assert "copy-released" not in found.out
    folder = _result(found.out)
    assert folder.parent == Path("out/runs")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert (manifest["seed"], manifest["run"], manifest["build_hash"]) == (5, 0, "fake")
    assert manifest["scenario_text"] == SMALL
    assert roamlab("run", "small.toml", "--seed", "5").out == found.out


def test_trace_prints_the_way_of_a_packet(roamlab: Roamlab, engine: pytest.MonkeyPatch) -> None:
    folder = str(_result(roamlab("run", "small.toml").out))
    found = roamlab("trace", folder, "--packet", "7")
    assert found.out == (
        " 1.000000001 app.offer         ch             7  512 0 seq 1\n"
        " 1.000000002 tcp.poll_transmit ch             7  512 0 seq 1\n"
    )
    assert (found.code, found.err) == (0, "")
    unknown = roamlab("trace", folder, "--packet", "8")
    assert unknown.code == 2
    assert "no packet of the run has this serial number" in unknown.err
    engine.setattr(_roamlab, "build_hash", lambda: "repaired")
    assert "another build" in roamlab("trace", folder, "--packet", "7").err


def test_check_schema_and_list(roamlab: Roamlab) -> None:
    assert json.loads(roamlab("check", "small.toml").out)["run"] == {"duration": "1 s"}
    assert json.loads(roamlab("schema").out)["type"] == "object"
    assert json.loads(roamlab("schema", "--sweep").out)["title"] == "Sweep"
    assert "Random [early] detection" in roamlab("list").out
    assert json.loads(roamlab("list", "--json").out)["tcp variants"] == [{"name": "reno", "summary": ""}]


def test_list_writes_a_profile_out_as_toml_and_as_json(roamlab: Roamlab) -> None:
    found = roamlab("list", "profile", "ns2").out
    assert '# Smallest RTO (rfc: 1 s)\nmin_rto = "200 ms"' in found
    written = {"tcp_profiles": {"own": {"based_on": "ns2"}}, "flows": {"transport": {"kind": "tcp"}}}
    written["flows"]["transport"] |= {"variant": "reno", "min_rto": "200 ms"}
    assert tomli.loads(found) == written
    assert json.loads(roamlab("list", "profile", "ns2", "--json").out)[0]["rfc"] == "1 s"


@pytest.mark.parametrize("command", sorted(cli.cli.commands))
def test_every_command_has_help(roamlab: Roamlab, command: str) -> None:
    found = roamlab(command, "--help")
    assert (found.code, found.err) == (0, "")
    assert f"Usage: roamlab {command} " in found.out
    for parameter in cli.cli.commands[command].params:
        if isinstance(parameter, click.Option):
            assert parameter.opts[-1] in found.out
            assert parameter.help


def test_chart_draws_and_prints(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """With the real engine: the picture of docs/chart.md comes out of its command."""
    monkeypatch.chdir(tmp_path)
    Path("examples").mkdir()
    Path("examples/handover.toml").write_bytes((ROOT / "examples/handover.toml").read_bytes())

    def call(*arguments: str) -> SimpleNamespace:
        monkeypatch.setattr(sys, "argv", ["roamlab", *arguments])
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = int(str(stop.code))
        return SimpleNamespace(code=code, **dict(zip(("out", "err"), capsys.readouterr(), strict=True)))

    folder = str(_result(call("run", "examples/handover.toml").out))
    assert call("chart", folder).out == "chart: chart.svg\n"
    assert Path("chart.svg").read_bytes().startswith((ROOT / "docs/img/handover-chart.svg").read_bytes())
    text = call("chart", folder, "--text").out
    assert text == (ROOT / "tests/golden/chart/plain.txt").read_text()
    assert call("chart", folder, "--handover", "0", "--text").out.startswith("mh: first visit, bs1\n")
    for arguments, said in (
        (("--host", "nohost"), "--host nohost: no such host was in a cell"),
        (("--handover", "7"), "expected: a number from 0 to 1"),
        (("--handover", "-1"), "--handover"),
    ):
        found = call("chart", folder, *arguments)
        assert (found.code, said in found.err) == (2, True)
    assert call("chart", folder, "-o", "new/folder/chart.svg").out == "chart: new/folder/chart.svg\n"
    assert Path("new/folder/chart.svg").exists()
    Path("file").touch()
    found = call("chart", folder, "-o", "file/chart.svg")
    assert (found.code, found.err.startswith(f"error: {Path.cwd() / 'file'}: ")) == (2, True), found.err


def test_compare_trace_has_three_exit_codes(roamlab: Roamlab) -> None:
    Path("ours.csv").write_text("t_us,ev,flow,x,y\n10,S,0,1,0\n20,S,0,2,0\n")
    Path("theirs.csv").write_text("t_us,ev,flow,x,y\n10,S,0,1,0\n22,S,0,2,0\n")
    equal = roamlab("compare-trace", "ours.csv", "theirs.csv", "--tolerance", "2 us")
    assert equal.code == 0
    assert "equal: 2 events; largest difference in time 2.000 us" in equal.out
    differing = roamlab("compare-trace", "ours.csv", "theirs.csv")
    assert differing.code == 1
    assert "first difference: S 2 0 is 2.000 us apart, more than 1 us" in differing.out
    assert "! 0.000020000 S 0 2 0 | 0.000022000 S 0 2 0" in differing.out
    assert roamlab("compare-trace", "ours.csv", "theirs.csv", "--until", "15 us").code == 0
    assert roamlab("compare-trace", "ours.csv", "theirs.csv", "--format", "golden").code == 1
    bad = roamlab("compare-trace", "ours.csv", "theirs.csv", "--format", "ns2")
    assert (bad.code, "ours.csv:1:1: found 't_us,ev,flow,x,y'" in bad.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("compare-trace", "small.toml", "small.toml"), "small.toml:1:1: the format is not known: '[run]'"),
        (("compare-trace", "empty.toml", "gone"), "empty.toml: the file is empty"),
        (("compare-trace", "gone", "gone"), "gone: no such file or folder"),
        (("compare-trace", "small.toml", "small.toml", "--format", "pcap"), "'--format'"),
        (("compare-trace", "small.toml", "small.toml", "--format", "golden"), "is not the header"),
        (("run", "missing.toml"), "missing.toml: No such file"),
        (("run", "."), ".: not a regular file"),
        (("check", "empty.toml"), "empty.toml: the file is empty"),
        (("check", "broken.toml"), "broken.toml:2:"),
        (("run", "small.toml", "--seed", "-1"), "--seed"),
        (("run", "small.toml", "--seed", str(2**64)), "--seed"),
        (("run",), "Missing argument"),
        (("fly",), "No such command"),
        (("trace", "absent", "--packet", "1"), "absent: no such folder"),
        (("trace", "."), "--packet"),
        (("chart", "absent"), "absent: no such folder"),
        (("chart", "."), ".: not a run folder: there is no manifest.json in it"),
        (("trace", ".", "--packet", "1"), ".: not a run folder: there is no manifest.json in it"),
        (
            ("list", "profile", "ns4"),
            "profile ns4: there is no such profile\n  expected: one of: rfc, ns2",
        ),
        (("list", "profile", "ns2", "--variant", "hybla"), "expected: one of: reno"),
        (
            ("compare", "small.toml", "gone.toml", "--half-width", "1"),
            "--half-width: with no --metric it is not clear which interval",
        ),
        (
            ("compare", "small.toml", "gone.toml", "--half-width", "1", "--metric", "flows.*.timeouts"),
            "with flows.*.timeouts it is not",
        ),
        (
            ("compare", "small.toml", "gone.toml", "--half-width", "0", "--metric", "jain"),
            "--half-width: 0\n  expected: a number above 0",
        ),
        (
            ("compare", "small.toml", "gone.toml", "--half-width", "1", "--metric", "jain", "--runs", "4"),
            "--runs: 4 runs show no",
        ),
        (
            ("compare", "small.toml", "gone.toml", "--half-width", "1", "--metric", "jain", "--budget", "9"),
            "--budget: 9\n  expected: at least the 30",
        ),
        (("reproduce", "moby-dick"), "there is no such reproduction"),
        (("reproduce", "../evil"), "there is no such reproduction"),
        (("reproduce", "all", "--claim", "mblue.fig14"), "--claim: a claim is one of a paper"),
        (
            ("reproduce", "mblue", "--claim", "mblue.fig14", "--explore"),
            "--explore: these options do not go together",
        ),
        (
            ("reproduce", "mblue", "--claim", "mblue.fig14", "--claim", "mblue.fig41"),
            "claim mblue.fig41: mblue has no such claim\n  expected: one of: mblue.eq1, ",
        ),
        (("reproduce", "mblue", "--claim", "mblue.fig41"), "did you mean 'mblue.fig"),
    ],
)
def test_bad_input_is_a_message_and_exit_code_2(
    roamlab: Roamlab, arguments: tuple[str, ...], said: str
) -> None:
    Path("empty.toml").touch()
    Path("broken.toml").write_text("[run]\nduration = = 1\n")
    found = roamlab(*arguments)
    assert found.code == 2
    assert said in found.err
    assert "Traceback" not in found.err


def test_a_violated_law_is_a_report_and_exit_code_1(roamlab: Roamlab) -> None:
    Path("small.toml").write_text("[run]\nlaw = 1\n")
    found = roamlab("run", "small.toml")
    assert (found.code, found.err) == (1, "error: packets: created 3, delivered 2, dropped 0, inside 0\n")
    assert not Path("out").exists()


def test_an_interrupt_is_exit_code_130(roamlab: Roamlab, engine: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    engine.setattr(_roamlab, "run_many", interrupted)
    found = roamlab("run", "small.toml")
    assert (found.code, found.err.strip()) == (130, "interrupted")


def test_a_path_that_cannot_be_used_is_bad_input(roamlab: Roamlab) -> None:
    Path("file").touch()
    for option in ("--out", "--store"):
        command = "run" if option == "--out" else "sweep"
        Path("sweep.toml").write_text('scenario = "small.toml"\ngrid = { "flows.moving.start" = ["1 s"] }\n')
        found = roamlab(command, "small.toml" if command == "run" else "sweep.toml", option, "file/below")
        assert found.code == 2
        assert "file/below" in found.err.splitlines()[0]
        assert "file is a file, not a folder" in found.err
        assert "help: " in found.err


def test_a_full_disk_is_no_bad_input(roamlab: Roamlab, engine: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "out")

    engine.setattr(_roamlab, "run_many", full)
    found = roamlab("run", "small.toml")
    assert (found.code, "No space left on device" in found.err) == (1, True)


def test_reproduce_writes_report_and_claims(roamlab: Roamlab, engine: pytest.MonkeyPatch) -> None:
    sessions: list[Session] = []

    def reproduce(session: Session) -> Report:
        sessions.append(session)
        measure = Measure("difference", stats.student([-1.0, -2.0, -1.5, -1.6, -1.4]), "pkt", greater())
        claim = Claim("moby.fig1", "it swims", (measure,), "literal", "it sank")
        return Report("Moby", "Melville, 1851", "It sank.", [claim], [], [], [], [], [])

    paper = ModuleType("roamlab.papers.moby")
    paper.__dict__.update(RUNS=30, reproduce=reproduce)
    engine.setattr(reproducing, "explorer_page", lambda *_: None)  # the fake's tables are no run
    engine.setitem(sys.modules, "roamlab.papers.moby", paper)
    engine.setattr(papers, "names", lambda: ["moby"])
    found = roamlab("reproduce", "moby", "--threads", "3")
    # A contradicted claim is a finding, not a failure.
    assert found.code == 0
    assert "contradicted" in found.out
    assert f"report: {Path('out/moby/report.html')}" in found.out
    assert json.loads(Path("out/moby/claims.json").read_text())[0]["verdict"] == "contradicted"
    assert "It sank." in Path("out/moby/report.html").read_text()
    assert (sessions[0].runs, sessions[0].threads) == (30, 3)
    assert roamlab("reproduce", "moby", "--out", "here", "--runs", "2").code == 0
    assert sessions[1].runs == 2
    assert Path("here/report.html").exists()


def test_help_imports_nothing_heavy() -> None:
    heavy = "{'numpy', 'polars', 'rich', 'scipy', 'matplotlib'}"
    program = f"import sys, roamlab.cli; print(sorted({heavy} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_a_manifest_with_an_impossible_seed_is_bad_input(
    roamlab: Roamlab, engine: pytest.MonkeyPatch
) -> None:
    folder = _result(roamlab("run", "small.toml").out)
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["key"]
    for seed in (-1, 2**64):
        (folder / "manifest.json").write_text(json.dumps(manifest | {"seed": seed}))
        found = roamlab("trace", str(folder), "--packet", "7")
        assert (found.code, "Traceback" in found.err) == (2, False)
        assert f"error: {folder}, seed = {seed}: it is out of range" in found.err


def test_a_scenario_that_a_manifest_holds_is_reported_with_the_run(roamlab: Roamlab) -> None:
    folder = _result(roamlab("run", "small.toml").out)
    manifest = json.loads((folder / "manifest.json").read_text())
    del manifest["key"]
    (folder / "manifest.json").write_text(json.dumps(manifest | {"scenario_text": "flaws = 1"}))
    found = roamlab("trace", str(folder), "--packet", "7")
    assert (found.code, found.err.startswith(f"error: {folder}, small.toml: unknown field flaws")) == (
        2,
        True,
    )


def test_a_run_without_a_table_is_named(roamlab: Roamlab) -> None:
    folder = _result(roamlab("run", "small.toml").out)
    found = roamlab("chart", str(folder))
    assert (found.code, f"error: {folder}, table 'handovers'" in found.err) == (2, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--explore", "--runs", "3"),
        ("--explore", "--blocks", "3"),
        ("--blocks", "3", "--settings", "20"),
        ("--settings", "20"),
    ],
)
def test_options_that_do_not_go_together(roamlab: Roamlab, arguments: tuple[str, ...]) -> None:
    found = roamlab("reproduce", "mblue", *arguments)
    assert found.code == 2
    assert "these options do not go together" in found.err
    assert "--explore --settings 200" in found.err
