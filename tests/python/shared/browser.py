"""Pages in a real browser: Debian's Chromium, without a network."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

WIDE, NARROW = (1280, 900), (390, 844)


@contextmanager
def chromium(*arguments: str) -> Iterator[Browser]:
    """A browser; the test is skipped where there is none."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("chromium is not installed: `apt-get install chromium` brings it")
    # Chromium's sandbox refuses to work for root.
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=found, args=[*sandbox, *arguments])
        yield browser
        browser.close()


@contextmanager
def shown(
    browser: Browser, file: Path, size: tuple[int, int] = WIDE, *, dark: bool = False, **more: Any
) -> Iterator[Page]:
    """A page, which loads only its own content, and at whose end the console has no error."""
    width, height = size
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light", **more
    )
    page = context.new_page()
    troubles: list[str] = []
    page.on("console", lambda told: troubles.append(told.text) if told.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.resolve().as_uri())
    yield page
    assert troubles == []
    assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [file.resolve().as_uri()]
    context.close()


def check_access(page: Page) -> None:
    """axe-core's faults against WCAG and good practice: none. Nor is the page wider than the window."""
    found = Axe().run(page).response["violations"]
    assert [(each["id"], [node["html"][:120] for node in each["nodes"]]) for each in found] == []
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0, f"{wide} pixels wider than the window"
