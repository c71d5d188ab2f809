"""Mutated inputs end with a result or with a report: no traceback, no panic, no message without a place."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from threading import Timer
from typing import TYPE_CHECKING

import mutate
from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


CASES = 200
"""Some ten seconds. `make mutate COUNT=10000` tries more."""


def test_mutated_inputs_are_used_or_refused_with_a_place() -> None:
    program = ROOT / "tests/mutate/mutate.py"
    done = subprocess.run(
        [sys.executable, str(program), str(CASES), "--seed", "7"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert sum(found["cases"].values()) == CASES
    for kind in ("scenario", "sweep", "run", "trace"):
        assert 0 < found["accepted"][kind] < found["cases"][kind], "some are good, some are bad"


def test_a_case_that_gets_no_processor_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A case is cut off for what it computes, not because the machine does something else."""
    worker = mutate.Worker(1, ["scenario"], tmp_path)
    try:
        worker.case(0)
        monkeypatch.setattr(mutate, "LONGEST_S", 1.0)
        process = worker._process
        process.send_signal(signal.SIGSTOP)
        Timer(2.5, process.send_signal, [signal.SIGCONT]).start()
        assert worker.case(1)[0] == "scenario"
        monkeypatch.setattr(mutate, "LONGEST_WAIT_S", 1.0)
        process.send_signal(signal.SIGSTOP)
        assert worker.case(2)[0] == "cut off"
        monkeypatch.setattr(mutate, "LONGEST_WAIT_S", 60.0)
        monkeypatch.setattr(mutate, "LONGEST_S", 0.1)
        assert worker.case(3)[0] == "cut off", "a new worker has more to do before its first answer"
    finally:
        worker.close()
