"""The pictures of pages in the documentation: `python screen.py PAGE OUT [BUTTON]` writes the first screen of a page.

BUTTON is the selector of what is pressed first. It needs Chromium.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

SIZE = {"width": 1280, "height": 940}


def main(page: str, out: str, button: str = "") -> None:
    """Writes the picture `out`."""
    # Chromium's sandbox refuses to work for root.
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=sandbox)
        shown = browser.new_page(viewport=SIZE, reduced_motion="reduce")
        shown.goto(Path(page).resolve().as_uri())
        if button:
            shown.click(button)
        shown.wait_for_timeout(1000)
        shown.screenshot(path=out)
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
