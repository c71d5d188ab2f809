"""Every command in the documentation runs: `sh` blocks are executed, `python` blocks too.

A block `output` behind one of them is what it prints. `python tests/python/project/test_docs.py --write [PAGE ...]`
writes those blocks again; without pages, on all pages.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from conftest import DEEP, ROOT
from roamlab import papers
from roamlab.causes.explain import explain
from roamlab.running.run import run
from roamlab.scenarios.scenario import load

_PAPERS = ROOT / "python/roamlab/papers"
# The site's build makes pages of these folders.
_MADE = ("docs/papers/", "docs/reference/fields/")
_PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(page for page in ROOT.glob("docs/**/*.md") if not str(page.relative_to(ROOT)).startswith(_MADE)),
        *_PAPERS.glob("*/README.md"),
    ]
)
_BLOCK = re.compile(
    r"^```(?P<kind>sh|python)\n(?P<code>.*?)^```$(?:\n+^```output\n(?P<output>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
_MAKE = re.compile(r"make ([a-z-]+)")
_LONG = re.compile(r"roamlab reproduce \w+ --(explore|fit) ")
"""Commands that take a minute: `make deep` runs them. `test_exploring.py` and `test_fit.py` make shorter searches."""
_WHOLE = re.compile(r"roamlab reproduce (\w+)$")
"""A paper with all of its runs: `make deep` makes them. Here mblue has few; the others have their own tests."""
_SETTING = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}


def _blocks(page: Path) -> list[re.Match[str]]:
    return list(_BLOCK.finditer(page.read_text(encoding="utf-8")))


def _run(command: list[str], folder: Path, store: Path | None = None) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    setting = os.environ | {"PATH": path} | _SETTING | ({"ROAMLAB_STORE": str(store)} if store else {})
    done = subprocess.run(command, cwd=folder, env=setting, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _shown(output: str) -> str:
    """Without what differs between builds of the engine: the names of run folders."""
    lines = [line.rstrip() for line in re.sub(r"\b[0-9a-f]{32}\b", "…", output).splitlines()]
    return "\n".join(lines).rstrip() + "\n"


def _outputs(page: Path, folder: Path, store: Path | None = None) -> list[str]:
    """Runs the blocks of a page in order, in an empty folder; the output of each.

    `make` targets only have to exist, and long commands wait for `ROAMLAB_DEEP`. `store`: where runs are kept, instead
    of in the folder.
    """
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    printed = []
    for block in _blocks(page):
        if block["kind"] == "python":
            printed.append(_shown(_run([sys.executable, "-c", block["code"]], folder, store)))
            continue
        output = ""
        for line in block["code"].splitlines():
            if made := _MAKE.match(line):
                assert made[1] in targets
            elif DEEP:
                output += _run(["bash", "-euo", "pipefail", "-c", line], folder, store)
            elif (whole := _WHOLE.match(line)) and whole[1] == "mblue":
                output += _run(["bash", "-euo", "pipefail", "-c", f"{line} --runs 2"], folder, store)
            elif not whole and not _LONG.match(line):
                output += _run(["bash", "-euo", "pipefail", "-c", line], folder, store)
        printed.append(_shown(output))
    return printed


def _with_outputs(page: Path, printed: list[str]) -> str:
    """The page with what its blocks print now."""
    new = iter(printed)

    def block(found: re.Match[str]) -> str:
        output = next(new)
        if found["output"] is None:
            return found[0]
        return f"{found[0][: found.start('output') - found.start()]}{output}```"

    return _BLOCK.sub(block, page.read_text(encoding="utf-8"))


def test_the_readme_has_commands_to_run() -> None:
    commands = "\n".join(block["code"] for block in _blocks(ROOT / "README.md") if block["kind"] == "sh")
    assert commands.count("roamlab ") >= 5


@pytest.mark.parametrize("page", [*filter(_blocks, _PAGES)], ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_run_and_print_what_the_page_shows(page: Path, tmp_path: Path, papers_store: Path) -> None:
    store = papers_store if page.is_relative_to(_PAPERS) or page.stem == "reproduce-a-paper" else None
    again = f"`python tests/python/project/test_docs.py --write {page.relative_to(ROOT)}` writes the outputs again"
    for block, printed in zip(_blocks(page), _outputs(page, tmp_path, store), strict=True):
        assert block["output"] in (None, printed), f"{block['code']}\n{again}"


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "docs/tutorial.md"], ids=lambda page: page.name)
def test_the_first_pages_show_a_stall_its_cause_and_a_remedy(page: Path) -> None:
    shown = "\n".join(block["output"] or "" for block in _blocks(page))
    assert "received nothing new of download" in shown
    assert "the stall is gone: a cause" in shown
    assert "no stall" not in shown
    assert re.search(r"flows\.download\.timeouts.*?│ +-1 │ +-1 … -1 │", shown, re.DOTALL), "one timeout less"


def test_the_example_of_the_first_pages_has_a_story() -> None:
    """A stall that the small buffer makes; a larger buffer is a remedy, for the phone and not for its neighbour."""
    base = load(ROOT / "examples/busy-cell.toml")
    results = run(base, seed=1)
    (stall,) = explain(results, "download", 1, check=True)
    assert stall.named == "buffer too small"
    assert stall.stall.end_ns - stall.stall.start_ns > 500_000_000
    remedy = run(base.set("mobility.buffer.limit", "64 pkt"), seed=1)
    timeouts, before = (each.flows["timeouts"].to_list() for each in (remedy, results))
    assert (before, timeouts) == ([1, 0], [0, 0])
    goodput, before = (each.flows["goodput_bps"].to_list() for each in (remedy, results))
    assert goodput[0] > 1.1 * before[0]


def test_the_tutorial_shows_the_example() -> None:
    shown = re.search(
        r"^```toml\n(.*?)^```$", (ROOT / "docs/tutorial.md").read_text(encoding="utf-8"), re.M | re.S
    )
    assert shown
    assert shown[1] == (ROOT / "examples/busy-cell.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    made = {f"papers/{name}.md" for name in papers.names()} | {
        *("gallery.md", "gallery/busy-cell.svg"),
        *("reference/scenario-fields.md", "reference/python-modules.md"),
    }
    there = [link for link in links if "://" not in link and link not in made]
    assert [link for link in there if not (page.parent / link).exists()] == []


def _write(pages: list[Path]) -> None:
    for page in pages:
        if any(block["output"] is not None for block in _blocks(page)):
            with tempfile.TemporaryDirectory() as folder:
                new = _with_outputs(page, _outputs(page, Path(folder)))
            page.write_text(new, encoding="utf-8")
            print(page)


if __name__ == "__main__":
    if sys.argv[1:2] != ["--write"]:
        sys.exit("write: python tests/python/project/test_docs.py --write [PAGE ...]")
    _write([Path(page).resolve() for page in sys.argv[2:]] or _PAGES)


def test_the_first_screen_says_what_it_is_for_whom_and_what_to_do() -> None:
    """The playground is the first link; the page "who uses what" and a command are on the first screen, too."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"(?<!!)\[[^\]]*\]\(([^)#]+)", readme)
    assert links[0] == "docs/playground.md"
    first = "\n".join(readme.splitlines()[:20])
    for asked in (
        "what is it?",
        "is it for me?",
        "what do I do now?",
        "docs/who-uses-what.md",
        "`make demo`",
    ):
        assert asked in first
    index = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    links = re.findall(r'(?<!!)\[[^\]]*\]\(([^)#]+)|href="([^"]+)"', index)
    assert ["".join(link) for link in links][:2] == ["play.html", "who-uses-what.md"]


def test_four_readers_have_a_place_to_begin() -> None:
    page = (ROOT / "docs/who-uses-what.md").read_text(encoding="utf-8")
    _, *parts = re.split(r"^## ", page, flags=re.MULTILINE)
    readers = [part.splitlines()[0] for part in parts]
    assert readers == ["A teacher", "A protocol engineer", "A radio engineer", "The author of a paper"]
    for part in parts:
        assert re.search(r"^\*.+\?\*$", part, re.MULTILINE), "the reader's question"
        assert len(re.findall(r"\]\(", part)) >= 4
        assert "`roamlab " in part
