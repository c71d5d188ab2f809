"""Every command in the documentation runs: `sh` blocks are executed, `python` blocks too."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

_PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
_BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SAVED = re.compile(r"Save this as `([a-z.]+)`.*?^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MAKE = re.compile(r"make ([a-z-]+)")


def _blocks(page: Path) -> list[tuple[str, str]]:
    return _BLOCK.findall(page.read_text(encoding="utf-8"))


def _run(command: list[str], folder: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout}\n{done.stderr}"


def test_the_readme_has_commands_to_run() -> None:
    commands = "\n".join(block for kind, block in _blocks(ROOT / "README.md") if kind == "sh")
    assert commands.count("roamlab ") >= 5


@pytest.mark.parametrize("page", [page for page in _PAGES if _blocks(page)], ids=lambda page: page.name)
def test_commands_run(page: Path, tmp_path: Path) -> None:
    """In order, in a folder that holds nothing but the examples. `make` targets only have to exist."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for name, text in _SAVED.findall(page.read_text(encoding="utf-8")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for kind, block in _blocks(page):
        if kind == "python":
            _run([sys.executable, "-c", block], tmp_path)
            continue
        for line in block.splitlines():
            if made := _MAKE.match(line):
                assert made[1] in targets
            else:
                _run(["bash", "-euo", "pipefail", "-c", line], tmp_path)


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
    broken = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert broken == []
