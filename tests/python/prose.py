"""The prose of the project: no sentence is too long, and no phrase is literary, private or ambiguous.

`python tests/python/prose.py [FILE ...]` reports each fault with its file, its line and what to write, and exits with 1
if there is one. Without files it reads README.md, CONTRIBUTING.md, the documentation, the pages of papers, the headers
(`//!`) of Rust modules and the docstrings of Python modules, except those of papers. Code, tables, quotations and
generated pages are exempt.
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ROOT = Path(__file__).parents[2]
LONGEST = 35
"""Words in a sentence. Some 25 are a good upper limit."""

_PATTERNS = (
    "README.md",
    "CONTRIBUTING.md",
    "docs/**/*.md",
    "python/roamlab/papers/*/README.md",
    "crates/*/src/**/*.rs",
    "python/roamlab/**/*.py",
)
# Collected from comments in the models' code, and made by `make docs`.
_GENERATED = {
    "docs/models/assumptions.md",
    "docs/gallery.md",
    "docs/reference/scenario-fields.md",
    "docs/reference/fields",
    "docs/papers",
}
# Of papers only the pages are checked.
_MODULES_OF_PAPERS = "python/roamlab/papers/**/*.py"

_AFTER_OWN = "a|and|as|at|by|for|from|has|have|in|is|of|on|or|so|that|the|to|which|while|with"
FORBIDDEN = {
    r"stands?|stood|standing": "is, is in, is listed, is written",
    r"besides?": "next to, in addition to, with",
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
}
"""What must not be written, as regular expressions of whole words, and what to write instead."""

_WORD = re.compile(r"[^\W_]")
_ABBREVIATION = "".join(rf"(?<!\b{each})" for each in (r"e\.g", r"i\.e", "al", "[Ff]ig", "No", "vs", "sec"))
_END = re.compile(rf"{_ABBREVIATION}[.?!][)\"”*_]*(?=\s+[^a-z]|$)")
_CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)|\$[^$]+\$", re.DOTALL)
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\](?:\([^)]*\)|\[[^\]]*\])")
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
    found = {path for pattern in _PATTERNS for path in ROOT.glob(pattern)} - {*ROOT.glob(_MODULES_OF_PAPERS)}
    return sorted(path for path in found if not _is_generated(path.relative_to(ROOT)))


def _is_generated(path: Path) -> bool:
    return any(each.as_posix() in _GENERATED for each in (path, *path.parents))


def faults(path: Path) -> Iterator[Fault]:
    """The faults of a file, paragraph by paragraph."""
    for start, text in _paragraphs(_prose(path)):
        yield from _faults_of(path, start, text)


def _prose(path: Path) -> list[tuple[int, str]]:
    """The lines of a file that are Markdown, numbered from 1."""
    text = path.read_text(encoding="utf-8")
    lines = enumerate(text.splitlines(), start=1)
    if path.suffix == ".rs":
        return [(number, line[3:]) for number, line in lines if line.startswith("//!")]
    if path.suffix == ".py":
        module = ast.parse(text)
        if ast.get_docstring(module) is None:
            return []
        docstring = module.body[0]
        quoted = text.splitlines()[docstring.lineno - 1 : docstring.end_lineno]
        return [(docstring.lineno + at, line.replace('"""', "")) for at, line in enumerate(quoted)]
    return list(lines)


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


def _faults_of(path: Path, start: int, text: str) -> Iterator[Fault]:
    text = _CODE.sub(lambda code: _in_lines_of(code[0], "X"), text)
    text = _LINK.sub(lambda link: _in_lines_of(link[0], f"[{link[1]}"), text)
    for pattern, instead in _WORDS:
        for found in pattern.finditer(text):
            line = start + text.count("\n", 0, found.start())
            yield Fault(path, line, f'"{" ".join(found[0].split())}": write {instead}')
    at = 0
    for end in [*(found.end() for found in _END.finditer(text)), len(text)]:
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
