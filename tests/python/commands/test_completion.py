"""Completion in the shell: fields, metrics, runs and examples."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import roamlab as rl
from roamlab.scenarios import examples

PROGRAM = Path(sys.executable).with_name("roamlab")
_BASH = """
eval "$(_ROAMLAB_COMPLETE=bash_source roamlab)"
compopt() { echo "option: $1 $2"; }
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_roamlab_completion roamlab
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a scenario, a sweep and a run."""
    folder = tmp_path_factory.mktemp("lab")
    for name in ("busy-cell", "senders"):
        examples.copy(name, folder)
    base = rl.load(folder / "busy-cell.toml").set("run.duration", "20 ms")
    rl.Store(folder / "out/runs").write(rl.run(base))
    return folder


def _bash(lab: Path, *words: str) -> list[str]:
    """Texts that bash offers for the last word."""
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", _BASH, "bash", "roamlab", *words],
        cwd=lab,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize(
    ("begun", "offered"),
    [
        ("mob", ["mobility."]),
        ("mobility.bu", ["mobility.buffer."]),
        (
            "mobility.buffer.l",
            ["mobility.buffer.layer2_ack=", "mobility.buffer.limit=", "mobility.buffer.longest_wait="],
        ),
        ("cells.", ["cells.bs1.", "cells.bs2."]),
        (
            "cells.bs2.queue.",
            [
                "cells.bs2.queue.kind=",
                "cells.bs2.queue.count_in_service=",
                "cells.bs2.queue.limit=",
                "cells.bs2.queue.limit_bytes=",
            ],
        ),
        ("flows.download.transport.win", ["flows.download.transport.window="]),
        ("links.0.reverse_r", ["links.0.reverse_rate="]),
        (
            "hosts.phone.visits.1.",
            ["hosts.phone.visits.1.at=", "hosts.phone.visits.1.cell=", "hosts.phone.visits.1.until="],
        ),
        ("nothing.", []),
    ],
)
def test_the_fields_of_the_scenario_are_offered_step_by_step(
    begun: str, offered: list[str], lab: Path
) -> None:
    """With a dot if the path continues, else with `=`, and without a space behind."""
    found = _bash(lab, "run", "busy-cell.toml", "--set", begun)
    assert sorted(found) == sorted([*(["option: -o nospace"] if offered else []), *(offered or [""])])


def test_a_field_that_is_offered_can_be_set(lab: Path) -> None:
    (found,) = _bash(lab, "check", "busy-cell.toml", "--set", "radio.ga")[1:]
    assert (
        rl.load(lab / "busy-cell.toml").set(found.removesuffix("="), "70 ms").parameters["radio"]["gap"]
        == "70 ms"
    )


def test_behind_a_change_another_is_offered(lab: Path) -> None:
    """Bash gives `PATH=VALUE` as three words."""
    words = ["run", "busy-cell.toml", "--set", "run.duration", "=", "'14 s'", "--set", "radio.g"]
    assert _bash(lab, *words)[-1] == "radio.gap="
    assert _bash(lab, "run", "busy-cell.toml", "--set", "run.duration", "=") == [""]


def test_of_a_sweep_the_fields_and_metrics_of_its_scenario_are_offered(lab: Path) -> None:
    assert "flows.download.app.start=" in _bash(lab, "sweep", "senders.toml", "--set", "flows.download.app.")
    assert _bash(lab, "compare", "busy-cell.toml", "x.toml", "--metric", "flows.other.goodp") == [
        "flows.other.goodput_bps"
    ]
    assert "jain" in _bash(lab, "compare", "busy-cell.toml", "x.toml", "--metric", "j")
    assert "flows.*.mos" in _bash(lab, "compare", "--metric", "flows.*.m")


def test_runs_are_offered_with_their_scenario_and_seed(lab: Path) -> None:
    (run,) = (lab / "out/runs").iterdir()
    for command in ("report", "why", "explore", "export", "compare-trace"):
        assert _bash(lab, command, "") == [f"out/runs/{run.name}"], command
    assert _bash(lab, "report", "elsewhere/") == ["option: -o dirnames", ""]
    for shell, begin in (("zsh", "plain\n"), ("fish", "plain,")):
        setting = {
            "_ROAMLAB_COMPLETE": f"{shell}_complete",
            "COMP_WORDS": "roamlab report ",
            "COMP_CWORD": "2" if shell == "zsh" else "",
        }
        done = subprocess.run(
            [PROGRAM], cwd=lab, env=os.environ | setting, capture_output=True, text=True, check=True
        )
        assert done.stdout.startswith(f"{begin}out/runs/{run.name}")
        assert "busy-cell.toml, seed 1, run 0" in done.stdout


def test_examples_papers_and_profiles_are_offered(lab: Path) -> None:
    assert _bash(lab, "new", "bu") == ["buffers", "busy-cell"]
    assert _bash(lab, "reproduce", "mb") == ["mblue"]
    assert _bash(lab, "list", "profile", "linux") == ["linux-6", "linux-6-bbr"]


def test_the_scripts_are_those_of_click_with_our_changes() -> None:
    """A newer click may write them otherwise, and then the changes have no effect."""
    for shell, added in (
        ("bash", "compopt -o nospace"),
        ("zsh", 'compadd -U "${end[@]}" -V'),
        ("fish", "complete"),
    ):
        setting = os.environ | {"_ROAMLAB_COMPLETE": f"{shell}_source"}
        done = subprocess.run([PROGRAM], env=setting, capture_output=True, text=True, check=True)
        assert added in done.stdout
    assert (
        'unsorted completions_with_descriptions -U "${end[@]}"'
        in subprocess.run(
            [PROGRAM],
            env=os.environ | {"_ROAMLAB_COMPLETE": "zsh_source"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )
