"""The engine for browsers under Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from conftest import ROOT
from roamlab.playground import constants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ENGINE = ROOT / ".cache/wasm/engine"
PACKAGE = ROOT / "python/roamlab"
PAGE = PACKAGE / "playground/playground.html"


def need_engine() -> None:
    """The test is skipped where the engine for browsers has not been made."""
    if not (ENGINE / "roamlab_wasm_bg.wasm").exists():
        pytest.skip("the engine for browsers is not built: `make playground` builds it")


def need_page() -> None:
    """The test is skipped where the page has not been built."""
    if not PAGE.exists():
        pytest.skip("the playground is not built: `make playground` builds it")


@contextmanager
def node() -> Iterator[Callable[..., Any]]:
    """What makes a job there: `ask("tables", text=..., name=...)`. An error is a dict with `message`."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed: `apt-get install nodejs` brings it")
    need_engine()
    command = [program, str(ROOT / "tests/playground/node.js"), str(ENGINE), str(PACKAGE), constants.script()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        lines, answers = process.stdin, process.stdout

        def ask(job: str, **rest: Any) -> Any:
            lines.write(json.dumps({"job": job, **rest}) + "\n")
            lines.flush()
            said = json.loads(answers.readline())
            return said["done"] if "done" in said else said["error"]

        yield ask
        lines.close()
