"""The check of prose finds what it should, with file, line and advice, and leaves code, tables and quotations alone."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import prose

if TYPE_CHECKING:
    from pathlib import Path

FITS = " ".join(["Word", *["word"] * (prose.LONGEST - 1)])
LONG = f"{FITS} word"


def _found(tmp_path: Path, text: str, name: str = "page.md") -> list[tuple[int, str]]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return [(fault.line, fault.what) for fault in prose.faults(path)]


@pytest.mark.parametrize(
    ("phrase", "advice"),
    [
        ("The packet stands apart.", '"stands": write is'),
        ("A link beside a node.", '"beside": write next to'),
        ("It bears a mark.", '"bears": write has'),
        ("The agent is told of it.", '"told": write notified'),
        ("As the page says.", '"says": write states'),
        ("A clock of its own.", '"of its own": write its own'),
        ("A path of\nits own for each.", '"of its own": write its own'),
        ("After so many packets.", '"so many": write as many'),
        ("It comes to the host.", '"comes to": write arrives'),
        ("The text says and hardly means it.", '"hardly": write rarely'),
        ("The other reading of a paper.", '"other reading": write interpretation'),
        ("# What few packets meet", '"What few": write what is rare'),
        ("A knob of TCP.", '"knob": write parameter'),
        ("No packet leaves but for this.", '"but for": write except'),
        ("It stays as it is.", '"as it is": write unchanged'),
        ("A flow that goes by marks", '"goes by": write uses'),
    ],
)
def test_a_phrase_is_found_with_advice(tmp_path: Path, phrase: str, advice: str) -> None:
    assert any(advice in what for _, what in _found(tmp_path, phrase))


def test_an_entry_of_the_changelog_may_be_a_list(tmp_path: Path) -> None:
    assert not _found(tmp_path, f"- New: {FITS}; {FITS}.", "CHANGELOG.md")
    assert _found(tmp_path, f"- New: {LONG}; {FITS}.", "CHANGELOG.md")
    assert _found(tmp_path, f"- New: {FITS}; {FITS}.")


@pytest.mark.parametrize(
    "text",
    [
        "A standard bearer of its own cell understands, as far as it is known, examples/beside-ns2.",
        "`stands` and ``it says `so` `` are code.",
        "```sh\nbeside so many\n```",
        "````text\n```\nbeside\n````",
        "| stands | beside |\n| --- | --- |",
        "> The paper says so.",
        "<!-- beside -->",
        "See [the page](beside.md#so-many).",
        f"{FITS}.",
        f"{FITS}. {FITS}?\n{FITS}! `X`. {FITS}",
        f"* {FITS}\n* {FITS}\n1. {FITS}\n\n{FITS}",
        f"## {FITS}\n{FITS}",
    ],
)
def test_what_is_no_fault(tmp_path: Path, text: str) -> None:
    assert _found(tmp_path, text) == []


def test_a_long_sentence_is_found_at_its_line(tmp_path: Path) -> None:
    text = f"# Title\n\nShort. {FITS}.\nA [link\nin lines](page.md). {LONG}.\n\n* An item, e.g. {LONG}\n"
    (line, first), (item, second) = _found(tmp_path, text)
    assert (line, item) == (5, 7)
    words = prose.LONGEST + 1
    assert first == f'"Word word word word word …" has {words} words: write sentences of {words - 1} at most'
    assert second.startswith('"An item, e.g. Word word …" has')


def test_lines_are_counted_behind_code(tmp_path: Path) -> None:
    assert [line for line, _ in _found(tmp_path, "`a\nb` is\nbeside\n\n```\n\n```\nIt says.\n")] == [3, 8]


def test_comments_and_texts_of_rust_are_read(tmp_path: Path) -> None:
    source = """//! It says.
//!
//! ```text
//! beside
//! ```
//! | told |
/// Good,
/// but it says.
fn says() { // beside
    let (quote, text, one) = ('"', "it is \\"told\\" and \\
        it says", "says");
    let (raw, value) = (r#"a "so many" text"#, "found {says} here");
}
"""
    assert sorted(line for line, _ in _found(tmp_path, source, "module.rs")) == [1, 8, 9, 11]


def test_comments_docstrings_and_texts_of_python_are_read(tmp_path: Path) -> None:
    source = '''# It says.
"""Short.

It says.
"""

def f(beside):  # noqa: beside
    """It says."""
    # Good,
    # and told.
    return {"says": 1}, f"it {beside} is" " told"
'''
    assert sorted(line for line, _ in _found(tmp_path, source, "module.py")) == [1, 4, 8, 10, 11]
    assert _found(tmp_path, "import os\n", "module.py") == []


def test_comments_and_texts_of_a_script_and_comments_of_toml_are_read(tmp_path: Path) -> None:
    script = "/** It says. */\nconst says = /\"/.test(x) ? 'it is told' : `${says} here`; // beside\n"
    assert [line for line, _ in _found(tmp_path, script, "page.js")] == [1, 2, 2]
    toml = '# It says.\nname = "it says # told" # beside\n'
    assert [line for line, _ in _found(tmp_path, toml, "file.toml")] == [1, 2]


@pytest.mark.parametrize(
    ("comment", "found"),
    [
        ("Whether it is late.", True),
        ("What it has,\n/// in order.", True),
        ("What is late?", False),
        ("True if it is late. Whether it is, is clear.", False),
    ],
)
def test_a_comment_begins_with_its_subject(tmp_path: Path, comment: str, found: bool) -> None:
    assert bool(_found(tmp_path, f"/// {comment}\nfn f() {{}}\n", "module.rs")) == found


def test_the_command_names_file_and_line_and_fails(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("Good.\nIt says.\n", encoding="utf-8")
    command = [sys.executable, prose.__file__, "page.md"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == f'{tmp_path / "page.md"}:2: "says": write {prose.FORBIDDEN["says?|said|saying"]}\n'
    (tmp_path / "page.md").write_text("Good.\n", encoding="utf-8")
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == 0


def test_all_kinds_of_files_are_read() -> None:
    names = {path.relative_to(prose.ROOT).as_posix() for path in prose.files()}
    assert {"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/glossary.md", "docs/models/tcp.md"} <= names
    assert {
        "crates/transport/src/lib.rs",
        "crates/world/src/lib.rs",
        "python/roamlab/cli.py",
        "python/roamlab/papers/lte/README.md",
        "python/roamlab/papers/lte/model.py",
        "python/roamlab/playground/film.js",
        "examples/handover.toml",
        "tests/python/conftest.py",
    } <= names
    assert "docs/models/assumptions.md" not in names
