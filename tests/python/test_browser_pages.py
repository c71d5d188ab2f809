"""Reports in a browser: desktop and telephone, light and dark, by axe-core's rules, with no cell too narrow."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from browser import NARROW, WIDE, check_access, chromium, shown
from conftest import COMMAND, ROOT

if TYPE_CHECKING:
    from pathlib import Path

PAGES = {
    "run": [["run", "examples/lte.toml"], ["report"]],
    "comparison": [
        ["compare", "examples/handover.toml", "examples/small.toml", "--runs", "2", "--out", "out/report"]
    ],
    "sweep": [["sweep", "examples/buffers.toml", "--out", "out/report"]],
    "paper": [["reproduce", "mblue", "--runs", "1", "--out", "out/report"]],
}
"""The commands that write each page to out/report/report.html."""

TOO_NARROW = """() => [...document.querySelectorAll("td, th")]
  .filter((cell) => cell.checkVisibility() && cell.scrollWidth > cell.clientWidth + 1)
  .map((cell) => cell.textContent)"""
OVERLAP = """() => [...document.querySelectorAll("h1, h2, h3, p, summary, figcaption, .verdict")]
  .filter((part) => part.checkVisibility() && part.getBoundingClientRect().right > innerWidth + 1
    && !part.closest(".scroll"))
  .map((part) => part.textContent)"""


@pytest.mark.parametrize("name", list(PAGES))
def test_a_page_can_be_read(name: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    text = (ROOT / "examples/handover.toml").read_text(encoding="utf-8")
    (tmp_path / "examples/small.toml").write_text(
        text.replace('"64 pkt", mark', '"8 pkt", mark'), encoding="utf-8"
    )
    for words in PAGES[name]:
        done = subprocess.run([COMMAND, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    file = tmp_path / "out/report/report.html"
    with chromium() as browser:
        for size, dark in ((WIDE, True), (NARROW, False)):
            with shown(browser, file, size, dark=dark) as page:
                page.evaluate("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
                assert page.evaluate(TOO_NARROW) == []
                assert page.evaluate(OVERLAP) == []
                check_access(page)
