"""`--set PATH=VALUE`, wherever a command reads a scenario."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import roamlab as rl
from conftest import ROOT
from roamlab.causes.explain import explain
from roamlab.causes.removal import recorded
from roamlab.cli import cli
from roamlab.records.why import why
from roamlab.running.run import run
from roamlab.scenarios.changes import assigned
from roamlab.sweeps.sweepfile import load_sweep

if TYPE_CHECKING:
    from pathlib import Path

HANDOVER = str(ROOT / "examples/handover.toml")
SHORT = ["--set", "run.duration=1 s"]


def done(*words: str) -> Any:
    result = CliRunner().invoke(cli, list(words), standalone_mode=False)
    assert result.exception is None, result.exception
    return result


def test_a_value_is_one_of_toml_or_text() -> None:
    given = [
        "a=5",
        "b = true",
        "c=[1, 2]",
        'd={ kind = "red" }',
        "e=14 s",
        'f="5"',
        "g=2026-05-01",
        "h=a=b",
        "i=",
    ]
    assert assigned(given) == {
        "a": 5,
        "b": True,
        "c": [1, 2],
        "d": {"kind": "red"},
        "e": "14 s",
        "f": "5",
        "g": "2026-05-01",
        "h": "a=b",
        "i": "",
    }
    assert assigned(["a=1\nb = 2"]) == {"a": "1\nb = 2"}, "one value, not a text of several"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["run.duration"], "--set run.duration: there is no `=`"),
        (["=5"], "--set =5: this is no path and value"),
        (["run..x=5"], "this is no path and value"),
        (["a=1", "a=2"], "--set a=2: the field is set twice"),
    ],
)
def test_what_is_no_assignment_is_refused(given: list[str], said: str) -> None:
    with pytest.raises(rl.BadInput, match=said):
        assigned(given)


def test_check_run_and_draw_take_it(tmp_path: Path) -> None:
    assert json.loads(done("check", HANDOVER, *SHORT).stdout)["run"]["duration"] == "1 s"
    options = ["--out", str(tmp_path / "runs"), "--json", "--set", "flows.moving.transport.window=3 pkt"]
    made = json.loads(done("run", HANDOVER, *SHORT, *options).stdout)
    manifest = rl.open_run(made["result"]).manifest
    assert manifest.parameters["flows"][0]["transport"]["window"] == "3 pkt"
    wanted = (
        rl.load(HANDOVER).set_all({"run.duration": "1 s", "flows.moving.transport.window": "3 pkt"}).run()
    )
    assert made["flows"][0]["goodput_bps"] == wanted.flows["goodput_bps"][0]
    drawn = tmp_path / "network.svg"
    done(
        "draw",
        HANDOVER,
        "-o",
        str(drawn),
        "--set",
        "hosts.mh.name=walker",
        "--set",
        'flows.moving.path=["ch", "walker"]',
    )
    assert "walker" in drawn.read_text()


def test_sweep_and_compare_take_it(tmp_path: Path) -> None:
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(
        f'scenario = "{HANDOVER}"\nreplications = 1\n[grid]\n"mobility.buffer.limit" = ["4 pkt"]\n'
    )
    store = ["--store", str(tmp_path / "store")]
    done("sweep", str(sweep), *SHORT, *store, "--out", str(tmp_path / "swept"))
    assert 'duration = "1 s"' in json.loads((tmp_path / "swept/sweep.json").read_text())["scenario"]
    with pytest.raises(
        rl.BadInput, match=r"--set mobility\.buffer: the sweep varies mobility\.buffer\.limit"
    ):
        CliRunner().invoke(
            cli,
            ["sweep", str(sweep), "--set", "mobility.buffer={}"],
            standalone_mode=False,
            catch_exceptions=False,
        )
    other = tmp_path / "other.toml"
    other.write_text(rl.load(HANDOVER).set("flows.moving.transport.window", "3 pkt").text)
    options = ["--runs", "2", "--metric", "goodput_bps", "--out", str(tmp_path / "compared"), "--json"]
    found = json.loads(done("compare", HANDOVER, str(other), *SHORT, *store, *options).stdout)
    base = rl.load(HANDOVER).set("run.duration", "1 s")
    (row,) = found["differences"]
    assert row["reference"] == base.run().metric("goodput_bps")
    assert found["warnings"], "nothing is left to chance"


def test_why_takes_it_for_a_scenario_and_for_a_run(tmp_path: Path) -> None:
    """A buffer of one packet loses more than one of 64: the explained run is the changed one, from the same seed."""
    changed = rl.load(HANDOVER).set_all({"run.duration": "14 s", "mobility.buffer.limit": "1 pkt"})
    wanted = {seed: [each.data() for each in explain(run(recorded(changed), seed))] for seed in (1, 2)}
    options = ["--set", "mobility.buffer.limit=1 pkt", "--set", "run.duration=14 s", "--json"]
    told = [done("why", HANDOVER, *options), done("why", HANDOVER, "--json")]
    assert json.loads(told[0].stdout) == wanted[1]
    assert wanted[1]
    assert json.loads(told[1].stdout) != wanted[1]
    runs = str(tmp_path / "runs")
    made = json.loads(done("run", HANDOVER, *SHORT, "--seed", "2", "--out", runs, "--json").stdout)["result"]
    again = done("why", made, *options)
    assert json.loads(again.stdout) == wanted[2]
    assert 'note: made again with mobility.buffer.limit = "1 pkt", run.duration = "14 s"' in again.stderr
    (row, *_) = json.loads(done("why", "drops", "0", made, *options).stdout)
    assert row == why(run(changed, 2), "drops", 0).row(0, named=True)
    assert len(list((tmp_path / "runs").iterdir())) == 1, "nothing is kept"


@pytest.mark.parametrize(
    ("words", "error", "said"),
    [
        (("none.toml",), rl.BadInput, "none.toml: No such file"),
        (("none",), rl.BadInput, "none"),
        ((HANDOVER, "--set", "run.duraton=3"), rl.ScenarioError, r"`run\.duraton`: there is no such field"),
        ((HANDOVER, "--set", "run"), rl.BadInput, "--set run: there is no `=`"),
    ],
)
def test_why_names_what_is_wrong(words: tuple[str, ...], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        CliRunner().invoke(cli, ["why", *words], standalone_mode=False, catch_exceptions=False)


def test_an_element_without_a_name_has_a_position() -> None:
    scenario = rl.load(HANDOVER)
    for path in ("links.1.loss", "links[1].loss"):
        links = scenario.set(path, 0.01).to_dict()["links"]
        assert [link.get("loss") for link in links[:3]] == [None, 0.01, None]
    with pytest.raises(rl.BadInput, match=r"a position below 6\n  help: write links\.0, for example"):
        scenario.set("links.loss", 0.01)
    with pytest.raises(
        rl.BadInput, match=r"a position, because these have no names(.|\n)*help: write links\.0"
    ):
        scenario.set("links.ch-ha.loss", 0.01)


def test_a_field_that_is_not_there_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(
        rl.ScenarioError, match=r"with run\.duraton = 3: field `run\.duraton`: there is no such field"
    ):
        CliRunner().invoke(
            cli, ["check", HANDOVER, "--set", "run.duraton=3"], standalone_mode=False, catch_exceptions=False
        )


def test_fields_that_need_each_other_are_set_together_in_a_sweep(tmp_path: Path) -> None:
    lines = [
        f'scenario = "{ROOT / "examples/roaming.toml"}"',
        "replications = 1",
        'metrics = ["flows.video.goodput_bps"]',
        "[set]",
        '"run.duration" = "2 s"',
        '"flows.video.app" = { kind = "ftp", start = "0.5 s" }',
        '"flows.video.transport" = { kind = "tcp" }',
        "[grid]",
        '"cells.ap1.rate" = ["5.5 Mbit/s", "11 Mbit/s"]',
    ]
    path = tmp_path / "sweep.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    plan = load_sweep(path).plan
    assert plan.scenario(1).to_dict()["flows"][0]["transport"] == {"kind": "tcp"}
    path.write_text("\n".join(lines).replace("0.5 s", "5 parsec"), encoding="utf-8")
    with pytest.raises(
        rl.BadInput, match=r'sweep\.toml:6, field `set\."flows.video.app"`: the scenario refuses it'
    ):
        load_sweep(path)
