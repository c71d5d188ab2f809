"""Mutated inputs end with a result or with a report: no traceback, no panic, no message without a place."""

from __future__ import annotations

import json
import subprocess
import sys

from conftest import ROOT

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
