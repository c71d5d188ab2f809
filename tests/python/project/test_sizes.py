"""No function has more than 60 lines, no source file more than 600, and no folder more than 16 source files.

So a reader sees each as a whole.

A function counts from the line that names it to its closing brace or last line. A docstring of Python does not count.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections import Counter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_LINES_OF_A_FUNCTION = 60
MOST_LINES_OF_A_FILE = 600
MOST_FILES_OF_A_FOLDER = 16
WRITTEN = {".rs", ".py", ".pyi", ".js", ".mjs", ".css", ".toml", ".md", ".c", ".h", ".sh"}
"""Files that people write. Recordings, goldens, snapshots, pictures and compressed inputs are data."""

OF_A_FOLDER = {"__init__.py", "mod.rs", "README.md"}
"""Each describes its folder and does not count."""

ROWS = {"docs", "docs/models"}
"""Folders of pages, each of which an index lists: `docs/index.md` and `docs/models/README.md`."""

LANGUAGES = {".rs": "rust", ".py": "python", ".js": "javascript", ".mjs": "javascript"}

_CHARACTER = r"'(?:[^'\\\n]|\\[^\n]+?)'"
_STRING = r"\"(?:[^\"\\]|\\.)*\""
_TEXTS = {
    "rust": re.compile(rf"//[^\n]*|/\*.*?\*/|\br(#*)\".*?\"\1|{_STRING}|{_CHARACTER}", re.DOTALL),
    "javascript": re.compile(
        rf"//[^\n]*|/\*.*?\*/|{_STRING}|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`"
        r"|(?<=[(,=:!&|?])\s*/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\]|\\.)*\])+/",
        re.DOTALL,
    ),
}
"""Comments, strings and regular expressions, in which a brace is none."""

_HEADS = {
    "rust": re.compile(r"\bfn\s+(\w+)"),
    "javascript": re.compile(
        r"\bfunction\b\s*\*?\s*(\w*)|^\s+(?:async |static |get |set )*([#\w]+)(?=\([^()]*\) \{$)|=>(?=\s*\{)",
        re.MULTILINE,
    ),
}
"""How a function begins: one with a name, in JavaScript also a method or an arrow before its braces."""

_STATEMENTS = {"if", "for", "while", "switch", "catch"}


def functions(text: str, language: str) -> Iterator[tuple[str, int, int]]:
    """The functions of a source text: name, number of the first line, and length in lines."""
    if language == "python":
        yield from _functions_of_python(text)
        return
    bare = _TEXTS[language].sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    for head in _HEADS[language].finditer(bare):
        name = next(filter(None, head.groups()), "")
        end = _end_of_body(bare, head.end())
        if end is not None and name not in _STATEMENTS:
            first = head.start() + len(head[0]) - len(head[0].lstrip())
            yield name, bare.count("\n", 0, first) + 1, bare.count("\n", first, end) + 1


def _functions_of_python(text: str) -> Iterator[tuple[str, int, int]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
            docstring = node.body[0] if ast.get_docstring(node) else None
            without = docstring.end_lineno - docstring.lineno + 1 if docstring and docstring.end_lineno else 0
            yield node.name, node.lineno, node.end_lineno - node.lineno + 1 - without


def _end_of_body(bare: str, begin: int) -> int | None:
    """The place of the closing brace of a body whose head is before `begin`. `None`: it has no body."""
    depth = 0
    inside = False
    for at in range(begin, len(bare)):
        letter = bare[at]
        if letter in "([{":
            inside = inside or (letter == "{" and depth == 0)
            depth += 1
        elif letter in ")]}":
            depth -= 1
            if depth == 0 and inside:
                return at
        elif letter == ";" and depth == 0:
            return None
    return None


def _tracked(root: Path) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True)
    return [root / name for name in filter(None, listed.stdout.split("\0"))]


@pytest.fixture(scope="module")
def sources(root: Path) -> dict[str, tuple[str, str]]:
    """Text and language of every tracked source file, by its name."""
    paths = _tracked(root)
    return {
        path.relative_to(root).as_posix(): (path.read_text(encoding="utf-8"), LANGUAGES[path.suffix])
        for path in paths
        if path.suffix in LANGUAGES and path.is_file()
    }


def test_no_function_is_too_long(sources: dict[str, tuple[str, str]]) -> None:
    found = [
        (name, line, length, function)
        for name, (text, language) in sources.items()
        for function, line, length in functions(text, language)
    ]
    assert len(found) > 10_000, "all languages are read"
    assert [
        f"{name}:{line}: {function} has {length} lines"
        for name, line, length, function in found
        if length > MOST_LINES_OF_A_FUNCTION
    ] == []


def test_no_file_is_too_long(sources: dict[str, tuple[str, str]]) -> None:
    lengths = {name: len(text.splitlines()) for name, (text, _) in sources.items()}
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES_OF_A_FILE} == {}


def test_no_folder_is_crowded(root: Path) -> None:
    """The conformance scripts of TCP are one row each and no source files: `conformance.rs` runs all of a folder."""
    folders = Counter(
        path.parent.relative_to(root).as_posix()
        for path in _tracked(root)
        if path.suffix in WRITTEN and path.name not in OF_A_FOLDER and path.is_file()
    )
    crowded = {folder: files for folder, files in folders.items() if files > MOST_FILES_OF_A_FOLDER}
    assert crowded.keys() - ROWS == set()
    assert crowded.keys() >= ROWS, "a folder that is not crowded needs no exception"


@pytest.mark.parametrize(
    ("language", "text", "found"),
    [
        ("rust", "fn a(x: [u8; 3]) -> u8\nwhere\n    X: Y,\n{\n    '{'; \"}\"; // }\n}\n", [("a", 1, 6)]),
        ("rust", 'trait T {\n    fn none(&self);\n    fn one(&self) { r#"}"#; }\n}\n', [("one", 3, 1)]),
        (
            "rust",
            "m! {\n    fn f(x in 0..3) {\n        fn g<'a>() {\n        }\n    }\n}\n",
            [("f", 2, 4), ("g", 3, 2)],
        ),
        ("python", 'async def f():\n    """A\n    b."""\n    x\n', [("f", 1, 2)]),
        ("python", "class A:\n    def m(\n        self\n    ):\n        pass\n", [("m", 2, 4)]),
        ("javascript", "function* f({ a }) {\n  `}`;\n}\n", [("f", 1, 3)]),
        ("javascript", "export const f = (a) => {\n  if (a) {\n  }\n};\n", [("", 1, 4)]),
        ("javascript", "class A {\n  async #m(a) {\n    f(/[}]/);\n  }\n}\n", [("#m", 2, 3)]),
    ],
)
def test_each_form_of_a_function_is_counted(
    language: str, text: str, found: list[tuple[str, int, int]]
) -> None:
    assert list(functions(text, language)) == found
