"""`--set PATH=VALUE`, wherever a command reads a scenario."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import roamlab as rl
from conftest import ROOT
from roamlab.cli import cli
from roamlab.scenarios.scenario import assigned

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


def test_a_field_that_is_not_there_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(
        rl.ScenarioError, match=r"with run\.duraton = 3: field `run\.duraton`: there is no such field"
    ):
        CliRunner().invoke(
            cli, ["check", HANDOVER, "--set", "run.duraton=3"], standalone_mode=False, catch_exceptions=False
        )
