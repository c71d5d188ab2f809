"""Which module of a crate imports which: not a test, but what `test_walls.py` reads.

Read are paths that begin with `crate::`, `super::` or `self::`, in `use` items and in code, and paths through a name
that a `use` item brought in. A name that a module re-exports leads to the module that has it. Tests are not read.

A module that uses a child imports it. A declaration (`mod child;`), a re-export (`pub use child::Name;`), a row of a
family's table (`"red" => red::Red: "..."`) and the list of a protocol's roles, from which macros make an enum, are no
use. What a child takes from its parent counts if the parent itself defines it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Name = tuple[str, ...]
"""A module's path in its crate; the crate's own is empty."""

_COMMENT = re.compile(r"//[^\n]*")
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
# A module of tests ends its file.
_TESTS = re.compile(r"^#\[cfg\(test\)\]\n(?:pub(?:\([^)]*\))? )?mod \w+ \{.*", re.MULTILINE | re.DOTALL)
_TEST_FILE = re.compile(r"#\[cfg\(test\)\]\s*(?:pub(?:\([^)]*\))? )?mod (\w+);")
_USE = re.compile(r"\buse ([^;]+);")
_PATH = re.compile(r"(?<![\w:])((?:crate|super|self)(?:::\w+)+)")
_CHILD = re.compile(r"(?<![\w:])(\w+)(?:::\w+)+")
_ROWS = re.compile(r'"" => [\w:]+|\broles! \{[^}]*\}')
_ITEM = re.compile(r"\b(?:struct|enum|union|trait|type|fn|const|static|macro_rules!) (\w+)")


@dataclass
class _Module:
    name: Name
    code: str = ""
    brings: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Names that `use` items bring in, with their paths."""
    globs: list[tuple[str, ...]] = field(default_factory=list)


def _leaves(tree: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """The paths of a `use` tree, each with the name that it gets."""
    head, brace, rest = tree.strip().partition("{")
    prefix = tuple(filter(None, re.split(r"::|\s", head)))
    if not brace:
        path, _, alias = tree.strip().partition(" as ")
        parts = tuple(part.strip() for part in path.split("::"))
        yield parts, alias.strip() or parts[-1]
        return
    depth, part = 0, ""
    for character in rest[: rest.rindex("}")] + ",":
        if character == "," and depth == 0:
            if part.strip():
                for path, name in _leaves(part):
                    if path == ("self",):
                        yield prefix, prefix[-1] if name == "self" else name
                    else:
                        yield (*prefix, *path), name
            part = ""
            continue
        depth += {"{": 1, "}": -1}.get(character, 0)
        part += character


def _read(source: Path) -> dict[Name, _Module]:
    """The modules of a crate by name, without tests."""
    texts: dict[Name, str] = {}
    tests: set[Name] = set()
    for path in sorted(source.glob("**/*.rs")):
        parts = path.relative_to(source).with_suffix("").parts
        name = parts[:-1] if parts[-1] in ("mod", "lib") else parts
        code = _TESTS.sub("", _TEXT.sub('""', _COMMENT.sub("", path.read_text(encoding="utf-8"))))
        tests |= {(*name, module) for module in _TEST_FILE.findall(code)}
        texts[name] = code
    found = {}
    for name, code in texts.items():
        if any(name[: len(test)] == test for test in tests):
            continue
        module = _Module(name, _USE.sub("", code))
        for tree in _USE.findall(code):
            for path, brought in _leaves(tree):
                if path[-1] == "*":
                    module.globs.append(path[:-1])
                else:
                    module.brings[brought] = path
        found[name] = module
    return found


class Crate:
    """The modules of a crate and what they import."""

    def __init__(self, source: Path) -> None:
        self._modules = _read(source)

    def imports(self) -> dict[str, set[str]]:
        """Imports of the crate in each module."""
        found: dict[str, set[str]] = {}
        for name, module in self._modules.items():
            used = {brought: path for brought, path in module.brings.items() if self._uses(name, brought)}
            paths = [*used.values(), *(path for path in module.globs if self._outside(name, path))]
            paths += [tuple(path.split("::")) for path in _PATH.findall(module.code)]
            paths += [
                (child,)
                for child in _CHILD.findall(_ROWS.sub("", module.code))
                if (*name, child) in self._modules
            ]
            wanted = {target for path in paths if (target := self._home(name, path)) is not None}
            found["::".join(("crate", *name))] = {"::".join(("crate", *target)) for target in wanted - {name}}
        return found

    def _outside(self, at: Name, path: tuple[str, ...]) -> bool:
        """True if a path leads out of a module and its descendants."""
        home = self._home(at, path)
        return home is None or home[: len(at)] != at

    def _uses(self, at: Name, brought: str) -> bool:
        """True if a name that a `use` item brings in is from elsewhere, or from a descendant and used in the code."""
        module = self._modules[at]
        if self._outside(at, module.brings[brought]):
            return True
        return re.search(rf"(?<!:)\b{brought}\b", _ROWS.sub("", module.code)) is not None

    def _home(self, at: Name, path: tuple[str, ...], seen: frozenset[object] = frozenset()) -> Name | None:
        """The module that a path in `at` leads to; None: outside the crate."""
        if (at, path) in seen:
            return None
        seen |= {(at, path)}
        first, *rest = path
        if first == "crate":
            place: Name = ()
        elif first == "self":
            place = at
        elif first == "super":
            place = at[:-1]
        elif (*at, first) in self._modules:
            place, rest = at, list(path)
        elif first in self._modules[at].brings and len(path) > 1:
            return self._home(at, (*self._modules[at].brings[first], *rest), seen)
        else:
            return None
        while rest and rest[0] == "super":
            place, rest = place[:-1], rest[1:]
        for step, word in enumerate(rest):
            if (*place, word) in self._modules:
                place = (*place, word)
                continue
            return self._defines(place, word, tuple(rest[step + 1 :]), seen)
        return place

    def _defines(self, place: Name, word: str, rest: tuple[str, ...], seen: frozenset[object]) -> Name | None:
        """The module where a name of `place` comes from."""
        module = self._modules[place]
        if word in module.brings:
            return self._home(place, (*module.brings[word], *rest), seen)
        if word in _ITEM.findall(module.code):
            return place
        for glob in module.globs:
            home = self._home(place, glob, seen)
            if home is not None and word in _ITEM.findall(self._modules[home].code):
                return home
        return place
