"""The documentation as a site: it builds without a warning, and its reference is that of the code."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import roamlab as rl
from browser import NARROW, WIDE, chromium
from conftest import ROOT
from roamlab import _roamlab, cli

if TYPE_CHECKING:
    from pathlib import Path

DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, as `make docs` builds it: a link without a target, or a page in no list, is an error."""
    made = tmp_path_factory.mktemp("site")
    call = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-b",
        "html",
        "-d",
        str(made / "trees"),
    ]
    done = subprocess.run([*call, str(DOCS), str(made / "html")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return made / "html"


def _text(page: Path) -> str:
    return re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8"))


def test_the_site_has_every_page_field_command_and_name(site: Path) -> None:
    pages = [page.relative_to(DOCS).with_suffix(".html") for page in DOCS.glob("**/*.md")]
    assert len(pages) > 50
    assert [page for page in pages if not (site / page).exists()] == []
    commands = _text(site / "reference/commands.html")
    for name, command in cli.cli.commands.items():
        assert f"roamlab {name}" in commands
        for parameter in command.params:
            for option in getattr(parameter, "opts", []):
                assert option in commands or not option.startswith("--"), option
    names = set(
        re.findall(
            r"^\.\. auto\w+:: roamlab\.(\w+)$", (DOCS / "reference/python.md").read_text(), re.MULTILINE
        )
    )
    assert names == {name for name in dir(rl) if not name.startswith("_")}
    assert "seed" in _text(site / "reference/python.html")


def test_each_table_of_a_scenario_has_a_heading_with_its_path_on_the_page_of_its_section(site: Path) -> None:
    schema = json.loads(_roamlab.schema())
    index = (site / "reference/scenario-fields.html").read_text(encoding="utf-8")
    pages = {page.stem: _text(page) for page in (site / "reference/fields").glob("*.html")}
    assert pages.keys() > schema["properties"].keys()
    assert [name for name in pages if f'href="fields/{name}.html"' not in index] == []
    everything = "\n".join(pages.values())
    tables = [
        each
        for definition in schema["$defs"].values()
        for each in (definition, *definition.get("oneOf", []))
        if "properties" in each
    ]
    for table in tables:
        for name, value in table["properties"].items():
            assert name in everything
            if name == "kind" and "const" in value:
                assert re.search(rf"with kind {re.escape(value['const'])}\b", everything)
    # No name of one of our types, and no module.
    names = [name for name in schema["$defs"] if re.fullmatch(r"\w+[a-z][A-Z]\w+|\w+\d", name)]
    assert len(names) > 40
    assert [name for name in names if re.search(rf"\b{name}\b", everything)] == []
    # Each way to write a queue is on its page.
    for path in ("links.queue", "cells.queue", "network.uplink_queue", "topology.cells.queue"):
        assert path in pages["queues"]


def test_links_among_the_fields_lead_to_headings(site: Path) -> None:
    """`kind` is the first field of its table, and a field's table is one click away."""
    for page in (site / "reference/fields").glob("*.html"):
        text = page.read_text(encoding="utf-8")
        for target, part in re.findall(r'href="([\w.-]*)#(field-[\w-]+)"', text):
            there = (page.parent / target if target else page).read_text(encoding="utf-8")
            assert f'id="{part}"' in there, (page.name, target, part)
        for body in re.findall(r"<tbody>(.*?)</tbody>", text, re.DOTALL):
            fields = re.findall(r"<tr[^>]*><td>.*?<span class=\"pre\">([^<]+)</span>", body, re.DOTALL)
            assert "kind" not in fields[1:], page.name


def test_the_front_page_has_a_picture_three_doors_and_the_papers(site: Path) -> None:
    page = (site / "index.html").read_text(encoding="utf-8")
    article = page.partition("<article")[2].partition("</article>")[0]
    assert article.count("<img") == 1
    assert len(re.findall(r'class="door ', article)) == 3
    papers = re.findall(r'href="papers/(\w+)\.html"', article)
    assert papers == ["mblue", "ipf", "lte", "ripple", "bcmp"]
    assert all((site / f"papers/{paper}.html").exists() for paper in papers)


def test_each_page_has_the_version(site: Path) -> None:
    pages = [
        page for page in site.rglob("*.html") if page.name != "play.html" and "_static" not in page.parts
    ]
    assert len(pages) > 50
    assert [
        page for page in pages if f"Roamlab {rl.__version__}" not in page.read_text(encoding="utf-8")
    ] == []


def test_installing_is_the_first_that_the_search_finds(site: Path) -> None:
    with chromium() as browser:
        page = browser.new_page()
        page.goto(f"{(site / 'search.html').as_uri()}?q=install")
        page.wait_for_selector("#search-results li a")
        assert (
            page.locator("#search-results li a").first.get_attribute("href").split("?")[0]
            == "installing.html"
        )


def test_the_search_finds_what_is_not_here(site: Path) -> None:
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    documents = json.loads(re.search(r'"docnames":(\[.*?\])', index)[1])  # type: ignore[index]
    scope = documents.index("scope")
    terms = index.partition('"terms":')[2]
    for word in ("quic", "mptcp", "codel", "cubic", "bbr", "pmipv6", "wlan", "jitter"):
        found = re.search(rf'"?\b{word}\b"?:(\[[^\]]*\]|\d+)', terms)
        assert found, word
        assert scope in [int(number) for number in re.findall(r"\d+", found[1])], word


@pytest.mark.parametrize("page", ["models/tcp.html", "models/red.html", "metrics.html"])
def test_names_in_tables_are_not_cut(site: Path, page: str) -> None:
    """A wide table scrolls inside its frame; the page does not, and the names in the first column are whole."""
    lines = """() => [...document.querySelectorAll('article td:first-child code')]
      .filter((name) => name.getClientRects().length > 1).map((name) => name.textContent)"""
    with chromium() as browser:
        for width, height in (WIDE, NARROW):
            shown = browser.new_page(viewport={"width": width, "height": height})
            shown.goto((site / page).as_uri())
            assert shown.evaluate(lines) == [], width
            assert shown.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(
    "page",
    [
        *("reference/scenario-fields.html", "reference/fields/queues.html", "reference/fields/cells.html"),
        *("scope.html", "index.html"),
    ],
)
def test_pages_fit_a_desktop_and_a_telephone(site: Path, page: str) -> None:
    widths = """() => [...document.querySelectorAll('.fields table')].map((table) =>
      [...table.querySelector('tbody tr').children].map((cell) => cell.getBoundingClientRect().width))"""
    cut = """() => [...document.querySelectorAll('article td, article img')]
      .filter((part) => part.checkVisibility() && part.getBoundingClientRect().right > innerWidth + 1).length"""
    with chromium() as browser:
        for width, height in (WIDE, NARROW):
            shown = browser.new_page(viewport={"width": width, "height": height})
            shown.goto((site / page).as_uri())
            assert shown.evaluate(cut) == 0, width
            found = shown.evaluate(widths)
            assert (len(found) > 5) == ("/fields/" in page)
            if width == WIDE[0]:
                assert all(meaning > 1.5 * max(others) for *others, meaning in found)
