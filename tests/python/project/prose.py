"""The prose of the project: no sentence is too long, and no phrase is literary, private or ambiguous.

`python tests/python/project/prose.py [FILE ...]` reports each fault with its file, its line and what to write, and
exits with 1 if there is one. Without files it reads Markdown pages, comments of Rust, Python, JavaScript and TOML,
docstrings, and string literals with a space (texts of errors and reports). Code, tables, quotations and generated
pages are exempt.

The list is our own because the linters on PyPI do not serve: the package `vale` downloads its program from GitHub when
it is called first, and neither Vale nor `proselint` reads string literals.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parents[3]
LONGEST = 35
"""Words in a sentence. Some 25 are a good upper limit."""

_PATTERNS = (
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "*.toml",
    "examples/**/*.toml",
    *(
        f"{folder}/**/*.{suffix}"
        for folder in ("benches", "crates", "docs", "fuzz", "python", "release", "tests")
        for suffix in ("rs", "py", "pyi", "js", "toml", "md")
    ),
)
EXEMPT = {
    # Made by `make docs`.
    "docs/models/assumptions.md",
    "docs/gallery.md",
    "docs/reference/python-modules.md",
    "docs/reference/scenario-fields.md",
    "docs/reference/fields",
    "docs/papers",
    # Not ours.
    "python/roamlab/playground/vendor",
    "fuzz/target",
    # The list of phrases, and its test.
    "tests/python/project/prose.py",
    "tests/python/project/test_prose.py",
}
"""Folders and files that are not read."""

_AFTER_OWN = "a|and|as|at|by|for|from|has|have|in|is|of|on|or|so|that|the|to|which|while|with"
FORBIDDEN = {
    r"stands?|stood|standing": "is, is in, is listed, is written",
    r"besides?(?!-ns2)": "next to, in addition to, with",
    r"bears?|bore|borne": "has, carries",
    r"says?|said|saying": "states, gives, shows, reports, specifies",
    r"told|tells? of": "notified, reported, distinguished",
    rf"of (?:its|their|our|his|her|my|your) own(?=\s*(?:[^\w\s]|$)|\s+(?:{_AFTER_OWN})\b)": "its own NOUN, or separate",
    r"so many": "as many, this number of",
    r"(?:comes?|came|coming) to": "arrives at, reaches, amounts to",
    r"(?:comes?|came|coming) by": "passes",
    r"hardly": "rarely, not",
    r"what few": "what is rare",
    r"a group of none": "an empty group",
    r"wears?|wore|worn": "has",
    r"hears? of|heard of": "is notified of, receives",
    r"(?:goes|go|went|going) off": "expires",
    r"(?:goes|go|went|going) on": "continues",
    r"in vain": "without result",
    r"nobody|somebody|whoever": "the component or person by name",
    r"of (?:ours|theirs)": "our, their",
    r"at once": "immediately, or at the same time",
    r"whence|thence|thereof|therein|upon|lest|whilst": "plain English",
    r"readings": "interpretations",
    r"(?:a|the|this|that|each|one|every|which|other|another|default|own|our|paper's) reading": "interpretation",
    r"knows? of": "has, contains",
    r"is no (?:loss|drop|error)": "is not a ...",
    r"by itself": "alone, or automatically",
    r"speaks?|spoken": "describes",
    r"for (?:it|he|they|there|this|these|which) (?:is|are|has|have|would|can)": "because",
    r"knobs?": "parameter",
    r"nowhere|somewhere": "the place, or not in any ...",
    r"(?:anybody|everybody|someone|anyone|everyone)": "the component or person by name",
    r"alike": "the same, equal, in the same way",
    r"no (?:\w+ ){1,3}but|(?:nothing|none|anything) but": "only",
    r"but for": "except",
    r"that which|what it holds": "the one that, its content",
    r"as (?:it is|they are)(?=[.,;:]|$)": "unchanged",
    r"(?:is|be|are|was|were) had": "is available",
    r"(?:sees?|seen) to (?:it|that)": "ensures",
    r"(?:goes?|going|went) by": "uses, follows",
    r"for good|for ever": "permanently, forever",
    r"of today(?!')": "current, today's",
    r"let go|lets go": "releases, permits, leaves out",
    r"becomes? of": "happens to",
    r"dear": "expensive",
    r"shall": "must, is to",
    r"anew|once more": "again",
    r"all the same": "nevertheless, anyway",
    r"seldom": "rarely",
}
"""What must not be written, as regular expressions of whole words, and what to write instead."""

OPENING = re.compile(r"(?:What|Whether)\b(?![^.?!]*\?)")
"""How a comment must not begin: it is to name its subject, as in "Time of the next update", "True if it is late"."""

Lines = list[tuple[int, str]]
_LINE_COMMENT = r"(?P<line>(?P<marker>%s)[^\n]*)"
_QUOTED = r"\"(?P<quoted>(?:[^\"\\]|\\.)*)\""
_RUST = re.compile(
    rf"{_LINE_COMMENT % '///|//!|//'}|\br(?P<hashes>#*)\"(?P<raw>.*?)\"(?P=hashes)|{_QUOTED}|'(?:[^'\\\n]|\\[^\n]+?)'",
    re.DOTALL,
)
_JAVASCRIPT = re.compile(
    rf"{_LINE_COMMENT % '//'}|(?P<block>/\*.*?\*/)|{_QUOTED}|'(?P<single>(?:[^'\\\n]|\\.)*)'"
    r"|`(?P<template>(?:[^`\\]|\\.)*)`|(?<=[(,=:!&|?])\s*/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\]|\\.)*\])+/",
    re.DOTALL,
)
_TOML = re.compile(rf"{_LINE_COMMENT % '#'}|\"\"\".*?\"\"\"|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'", re.DOTALL)
_LITERAL = re.compile(r"[A-Za-z]*(\"\"\"|\'\'\'|\"|\')(.*)\1\Z", re.DOTALL)
_STRINGS = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
_BEFORE_DOCSTRING = {tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING}
_PRAGMA = re.compile(r"#\s*(?:noqa|type:|ruff:|!)")
_VALUE = re.compile(r"\$?\{[^{}]*\}")
_WORD = re.compile(r"[^\W_]")
_ABBREVIATION = "".join(rf"(?<!\b{each})" for each in (r"e\.g", r"i\.e", "al", "[Ff]ig", "No", "vs", "sec"))
_END = re.compile(rf"{_ABBREVIATION}[.?!][)\"”*_]*(?=\s+[^a-z]|$)")
_END_OF_ENTRY = re.compile(rf"{_END.pattern}|[;:](?=\s)")
"""Where a sentence of the changelog ends, whose entries are lists."""
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|\$[^$]+\$", re.DOTALL)
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\](?:\([^)]*\)|\[[^\]]*\])")
_QUOTATION = re.compile(r"\"[^\"]*\"")
_FENCE = re.compile(r"`{3,}|~{3,}")
_ITEM = re.compile(r"(?:[-*+]|\d+\.) +")
_NO_PROSE = re.compile(r"[|>#@]|:{3,}|<!--|<[a-z/]|[-=]{3,}$")
_WORDS = [
    (re.compile(rf"\b(?:{words})(?!\w)".replace(" ", r"\s+"), re.IGNORECASE), instead)
    for words, instead in FORBIDDEN.items()
]


@dataclass(frozen=True)
class Fault:
    """A phrase or a sentence to write again."""

    path: Path
    line: int
    what: str

    def __str__(self) -> str:
        path = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        return f"{path}:{self.line}: {self.what}"


def files() -> list[Path]:
    """All files whose prose is checked."""
    found = {path for pattern in _PATTERNS for path in ROOT.glob(pattern)}
    return sorted(path for path in found if not _is_exempt(path.relative_to(ROOT)))


def _is_exempt(path: Path) -> bool:
    return any(each.as_posix() in EXEMPT for each in (path, *path.parents))


def faults(path: Path) -> Iterator[Fault]:
    """The faults of a file, text by text and paragraph by paragraph."""
    for kind, lines in _texts(path):
        for start, text in _paragraphs(lines):
            yield from _faults_of(path, start, text, kind)
            if kind == "comment" and start == lines[0][0] and (opening := OPENING.match(text)):
                yield Fault(path, start, f'a comment begins with "{opening[0]}": write a noun, or "True if"')


def _texts(path: Path) -> Iterator[tuple[str, Lines]]:
    """The texts of a file with their kind ("page", "comment", "string") and their lines, numbered from 1."""
    text = path.read_text(encoding="utf-8")
    match path.suffix:
        case ".rs":
            yield from _tokens_of(text, _RUST)
        case ".js":
            yield from _tokens_of(text, _JAVASCRIPT)
        case ".toml":
            yield from _tokens_of(text, _TOML)
        case ".py" | ".pyi":
            yield from _texts_of_python(text)
        case _:
            yield "page", list(enumerate(text.splitlines(), start=1))


def _tokens_of(text: str, language: re.Pattern[str]) -> Iterator[tuple[str, Lines]]:
    """Comments, of which consecutive lines are one, and strings."""
    marker, comment = "", Lines()
    for found in language.finditer(text):
        line = text.count("\n", 0, found.start()) + 1
        if found["line"]:
            begins = text.rfind("\n", 0, found.start()) + 1
            alone = not text[begins : found.start()].strip()
            if comment and (not alone or line != comment[-1][0] + 1 or found["marker"] != marker):
                yield "comment", comment
                comment = []
            marker = found["marker"]
            comment.append((line, found["line"].removeprefix(marker)))
        elif found.lastgroup == "block":
            lines = enumerate(found[0].strip("/*").split("\n"), start=line)
            yield "comment", [(number, each.strip(" *")) for number, each in lines]
        elif found.lastgroup and " " in found[found.lastgroup].strip():
            yield "string", _lines_of_string(line, found[found.lastgroup])
    if comment:
        yield "comment", comment


def _texts_of_python(text: str) -> Iterator[tuple[str, Lines]]:
    """Comments and docstrings as comments; strings next to each other are one."""
    comment, string = Lines(), Lines()
    before = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        line = token.start[0]
        if token.type == tokenize.COMMENT:
            alone = not token.line[: token.start[1]].strip()
            if comment and (not alone or line != comment[-1][0] + 1):
                yield "comment", comment
                comment = []
            if not _PRAGMA.match(token.string):
                comment.append((line, token.string[1:]))
        elif token.type in _STRINGS:
            literal = _LITERAL.match(token.string)
            quotes, content = (literal[1], literal[2]) if literal else ("", token.string)
            if quotes == '"""' and before in _BEFORE_DOCSTRING:
                yield "comment", list(enumerate(content.split("\n"), start=line))
            else:
                if string and before not in _STRINGS:
                    yield from _with_space(string)
                    string = []
                lines = _lines_of_string(line, content)
                if string and string[-1][0] == line:
                    lines[0] = (line, string.pop()[1] + lines[0][1])
                string.extend(lines)
        if token.type not in {tokenize.NL, tokenize.COMMENT}:
            before = token.type
    if comment:
        yield "comment", comment
    yield from _with_space(string)


def _with_space(string: Lines) -> Iterator[tuple[str, Lines]]:
    """A string, unless it is empty or a single word, such as the name of a field."""
    if any(" " in line.strip() for _, line in string):
        yield "string", string


def _lines_of_string(line: int, content: str) -> Lines:
    content = content.replace("\\n", " ").replace("\\\n", "\n").replace('\\"', '"')
    while _VALUE.search(content):
        content = _VALUE.sub(lambda value: _in_lines_of(value[0], "X"), content)
    return list(enumerate(content.split("\n"), start=line))


def _paragraphs(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Paragraphs, headings and items of lists, each with the number of its first line."""
    fence, start = "", 0
    kept: list[str] = []
    for number, line in [*lines, (0, "")]:
        bare = line.strip()
        if fence:
            fence = "" if bare == fence else fence
            continue
        marker, item = _FENCE.match(bare), _ITEM.match(bare)
        fence = marker[0] if marker else ""
        ends = not bare or marker or _NO_PROSE.match(bare)
        if kept and (ends or item):
            yield start, "\n".join(kept)
            kept = []
        if bare.startswith("#"):
            yield number, bare.lstrip("# ")
        if not ends:
            start = start if kept else number
            kept.append(bare[item.end() :] if item else bare)


def _faults_of(path: Path, start: int, text: str, kind: str) -> Iterator[Fault]:
    text = _CODE.sub(lambda code: _in_lines_of(code[0], "X"), text)
    text = _LINK.sub(lambda link: _in_lines_of(link[0], f"[{link[1]}"), text)
    if kind != "page":
        text = _QUOTATION.sub(lambda quoted: _in_lines_of(quoted[0], "X"), text)
    for pattern, instead in _WORDS:
        for found in pattern.finditer(text):
            line = start + text.count("\n", 0, found.start())
            yield Fault(path, line, f'"{" ".join(found[0].split())}": write {instead}')
    if kind == "string":
        return
    at = 0
    ends = (_END_OF_ENTRY if path.name == "CHANGELOG.md" else _END).finditer(text)
    for end in [*(found.end() for found in ends), len(text)]:
        sentence = text[at:end]
        words = [word for word in sentence.split() if _WORD.search(word)]
        if len(words) > LONGEST:
            line = start + text.count("\n", 0, end - len(sentence.lstrip()))
            opening = " ".join(words[:5])
            yield Fault(
                path, line, f'"{opening} …" has {len(words)} words: write sentences of {LONGEST} at most'
            )
        at = end


def _in_lines_of(replaced: str, text: str) -> str:
    """`text` with as many line breaks as what it replaces, so that lines keep their numbers."""
    return text + "\n" * (replaced.count("\n") - text.count("\n"))


def main(names: list[str]) -> int:
    """The exit code."""
    found = [fault for path in [Path(name).resolve() for name in names] or files() for fault in faults(path)]
    for fault in found:
        print(fault)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
