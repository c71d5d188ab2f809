"""Commands that write, killed: the whole number of kills is made by `make crash`, a few here."""

from __future__ import annotations

import subprocess
import sys

import pytest

from conftest import ROOT, of_today


@pytest.mark.parametrize("command", of_today(["run", "sweep", "compare", "reproduce"], 4))
def test_a_kill_loses_nothing(command: str) -> None:
    program = [sys.executable, str(ROOT / "tests/crash/crash.py"), "--commands", command]
    done = subprocess.run(
        [*program, "--calls", "2", "--moments", "1"],
        capture_output=True,
        text=True,
        check=False,
        timeout=500,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{command}: killed at 2 of " in done.stdout
    assert f"{command}: killed at 1 moments, 0 faults" in done.stdout
