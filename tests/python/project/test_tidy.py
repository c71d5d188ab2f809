"""Texts that no file of the project may have: a machine's paths, a registry's address."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

# Spelt in pieces, so that this file does not contain them.
_FOLDERS = ["wo" + "rk", "ro" + "ot", "ho" + "me", "tm" + "p", "opt/wh" + "eels", "Us" + "ers"]
_HOSTS = [
    "py" + r"pi\.org",
    "python" + r"hosted\.org",
    r"crates\." + r"io(?!-index)",
    "deb" + r"ian\.org",
    "npm" + r"js\.org",
]
_PATHS = re.compile(r"(?<![\w.)])/(?:" + "|".join(_FOLDERS) + r")(?:/|\b)")
_REGISTRIES = re.compile("|".join(_HOSTS))
_BESIDE = re.compile(r"\.\./sha" + "red")


@pytest.fixture(scope="module")
def texts(root: Path) -> dict[str, str]:
    """Every tracked text file."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True)
    found = {}
    for name in filter(None, listed.stdout.split("\0")):
        try:
            found[name] = (root / name).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):  # a link to a folder has no text
            continue
    return found


def test_no_file_names_a_machine_or_a_registry(texts: dict[str, str]) -> None:
    guilty = [
        f"{name}:{number}: {line.strip()}"
        for name, text in texts.items()
        for number, line in enumerate(text.splitlines(), start=1)
        if _PATHS.search(line) or _REGISTRIES.search(line)
    ]
    assert guilty == []


def test_only_ci_knows_a_folder_beside_the_checkout(texts: dict[str, str]) -> None:
    assert [name for name, text in texts.items() if _BESIDE.search(text)] == [".ci/run"]


@pytest.mark.parametrize(
    ("line", "caught"),
    [
        ("see /ho" + "me/someuser/x", True),
        ("--index-url https://py" + "pi.org/simple", True),
        ("a 2 Mbit/s link and tests/python", False),
        ("target/tmp/x", False),
    ],
)
def test_the_patterns_catch_what_they_should(line: str, caught: bool) -> None:
    assert bool(_PATHS.search(line) or _REGISTRIES.search(line)) is caught


def test_the_program_of_whole_runs_has_every_file_of_its_folders(root: Path) -> None:
    """Cargo finds no test there automatically: a file without its `mod` line would never run."""
    tests = root / "crates/world/tests"
    for source in [tests / "main.rs", *tests.glob("*/mod.rs")]:
        folder = source.parent
        there = {
            path.stem for path in folder.iterdir() if path.suffix == ".rs" or (path / "mod.rs").is_file()
        }
        listed = re.findall(r"^(?:pub )?mod (\w+);$", source.read_text(encoding="utf-8"), re.MULTILINE)
        assert there - {source.stem} <= set(listed), folder
