"""Reports in a browser: desktop and telephone, light and dark, by axe-core's rules, with no cell too narrow."""

from __future__ import annotations

import re
import shutil
import subprocess
from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from PIL import Image
from playwright.sync_api import expect

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

CUT = """() => [...document.images].filter((image) => image.checkVisibility()
    && !(innerWidth <= 768 && image.closest("figure.wide"))
    && image.getBoundingClientRect().right > image.closest(".scroll").getBoundingClientRect().right + 1)
  .map((image) => image.alt)"""
"""A chart of messages scrolls on a telephone: a separate test has it."""


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report and the explorer of the example of the first pages, side by side."""
    folder = tmp_path_factory.mktemp("story")
    for words in (["run", str(ROOT / "examples/busy-cell.toml")], ["report"]):
        done = subprocess.run([COMMAND, *words], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return folder / "out/report"


def test_a_figure_has_the_ground_of_its_page_and_can_be_enlarged(story: Path) -> None:
    with chromium() as browser:
        for dark, ground in ((False, (255, 255, 255)), (True, (20, 23, 26))):
            with shown(browser, story / "report.html", NARROW, dark=dark) as page:
                box = page.locator("img").first.bounding_box()
                assert box is not None
                assert box["x"] + box["width"] <= NARROW[0]
                content = Image.open(BytesIO(page.screenshot())).convert("RGB")
                corner = content.getpixel((round(box["x"]) + 2, round(box["y"]) + 2))
                assert corner == pytest.approx(ground, abs=2), "no white slab in the dark"
                page.locator(".enlarge").first.click()
                assert page.locator("img").first.bounding_box()["width"] > 1.5 * box["width"]  # type: ignore[index]


def test_a_chart_of_messages_can_be_read_on_a_telephone(story: Path) -> None:
    """It has its own size in a box that scrolls; the page itself is as wide as the screen."""
    with chromium() as browser, shown(browser, story / "report.html", NARROW) as page:
        chart = page.locator("figure.wide img").first
        size = chart.evaluate("(image) => [image.clientWidth, image.naturalWidth]")
        assert size[0] == size[1] > NARROW[0]
        assert page.evaluate("document.documentElement.scrollWidth") <= NARROW[0]
        assert not page.locator("figure.wide .enlarge").first.is_visible()


@pytest.mark.parametrize("name", ["report.html", "explore.html"])
def test_a_script_that_is_put_into_a_page_does_not_run(story: Path, tmp_path: Path, name: str) -> None:
    """As a script and as an attribute: without the policy they do."""
    page = (story / name).read_text(encoding="utf-8")
    wrong = "<script>document.title = 'run'</script><img src='data:,' onerror=\"document.title = 'run'\">"
    bare = re.sub(r"<meta http-equiv=[^>]+>", "", page, count=1)
    for number, (text, runs) in enumerate(((page, False), (bare, True))):
        file = tmp_path / f"{number}.html"
        file.write_text(text.replace("</main>", f"{wrong}</main>").replace("</body>", f"{wrong}</body>", 1))
        with chromium() as browser:
            opened = browser.new_page()
            opened.goto(file.as_uri())
            opened.wait_for_timeout(300)
            assert (opened.title() == "run") == runs


def test_the_report_links_into_the_moment_of_a_stall(story: Path) -> None:
    (address,) = re.findall(
        r'href="(explore.html#t=[^"]+)"', (story / "report.html").read_text(encoding="utf-8")
    )
    with chromium() as browser:
        page = browser.new_page()
        page.goto(story.resolve().as_uri() + "/" + address)
        page.wait_for_selector("html[data-ready=yes]")
        expect(page.locator("#shown")).to_have_text(re.compile(r"^10\.0"))
        begin, end = (
            float(each) for each in page.locator("#shown").inner_text().split(" s of ")[0].split(" to ")
        )
        assert 10.0 < begin < 10.4 < 11.5 < end < 12.0
        page.evaluate("location.hash = '#t=9.8-10.6'")
        expect(page.locator("#shown")).to_have_text(re.compile(r"^9\.800 to 10\.600 s"))
        page.locator("#nearer").click()
        page.wait_for_url(re.compile(r"#t=10\.000000-10\.400000$"))


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
                assert page.evaluate(CUT) == [], "a figure is as wide as its place"
                check_access(page)
