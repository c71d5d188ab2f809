"""The playground's page and its engine for browsers, under Chromium and Node."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
import zlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Page

ENGINE = ROOT / ".cache/wasm/engine"
PACKAGE = ROOT / "python/roamlab"
PAGE = PACKAGE / "playground/playground.html"
HANDOVER = (ROOT / "examples/handover.toml").read_text(encoding="utf-8")
SHORT = HANDOVER.replace('"40 s"', '"12 s"')


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
    """Call that makes a job there: `ask("tables", text=..., name=...)`. An error is a dict with `message`."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("node is not installed: `apt-get install nodejs` brings it")
    need_engine()
    command = [program, str(ROOT / "tests/playground/node.js"), str(ENGINE), str(PACKAGE)]
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


def link(state: Any) -> str:
    """The fragment that holds a state."""
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    content = packed.compress(json.dumps(state).encode()) + packed.flush()
    return "s=" + base64.urlsafe_b64encode(content).decode("ascii").rstrip("=")


def settled(page: Page) -> None:
    """Waits until a page shows its first run and its film."""
    page.wait_for_selector("html[data-ready]", timeout=60_000)
    page.wait_for_selector("#film[data-ready=yes]", timeout=60_000)


def until(page: Page, expression: str, arg: Any = None, timeout: float = 60_000) -> None:
    """Waits until an expression, or a function of `arg`, holds. The page's rules forbid what Playwright does for it."""
    end = time.monotonic() + timeout / 1000
    while not page.evaluate(expression, arg):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(20)
