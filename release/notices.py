"""Writes LICENSE-THIRD-PARTY.txt: the licences of what the wheel has from others.

`python release/notices.py [OUT]`. The wheel has Rust crates and Rust's standard library, compiled into the engine and
into the playground's WebAssembly, and the JavaScript of the playground's editor. Cargo names the crates and their
folders, npm's lock the packages of JavaScript; the texts are those of the packages. There are no fonts.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
VENDOR = ROOT / "python/roamlab/playground/vendor"
BUILDS = (("roamlab-python", "x86_64-unknown-linux-gnu"), ("roamlab-wasm", "wasm32-unknown-unknown"))
"""The two compiled packages, each with the target whose crates are in it."""
_TEXTS = re.compile(r"(licen[sc]e|copying|copyright|notice|unlicense)", re.IGNORECASE)

_ALTERNATIVES = re.compile(r"apache|bsd|unlicense|zlib", re.IGNORECASE)


class Part(NamedTuple):
    """A package of others: `texts` are its licence files, none if it has no such file."""

    name: str
    version: str
    licence: str
    authors: str
    texts: tuple[str, ...]


def crates() -> list[Part]:
    """The crates that are compiled into the engine and the playground, by name. Raises `CalledProcessError`."""
    described = {
        (package["name"], package["version"]): package
        for package in json.loads(_output("cargo", "metadata", "--locked", "--format-version", "1"))[
            "packages"
        ]
    }
    names = {name for package, target in BUILDS for name in linked(package, target)}
    packages = [described[name] for name in sorted(names)]
    return [
        Part(
            package["name"],
            package["version"],
            package["license"],
            ", ".join(package["authors"]),
            tuple(_texts(Path(package["manifest_path"]).parent)),
        )
        for package in packages
        if package["source"]
    ]


def editor() -> list[Part]:
    """The packages of JavaScript in the editor's bundle, by name."""
    locked = json.loads((VENDOR / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    return [
        Part(path.removeprefix("node_modules/"), package["version"], package["license"], "", ())
        for path, package in sorted(locked.items())
        if path and not package.get("dev")
    ]


def linked(package: str, target: str) -> Iterator[tuple[str, str]]:
    """Name and version of each crate that is linked: none of macros, builds and tests."""
    call = ("cargo", "tree", "--locked", "--package", package, "--target", target)
    for line in _output(*call, "--edges", "normal,no-proc-macro", "--prefix", "none").splitlines():
        name, version, *_ = line.split()
        yield name, version.removeprefix("v")


def _output(*call: str) -> str:
    return subprocess.run(call, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def _texts(folder: Path) -> Iterator[str]:
    """The licence files of a package. Of alternatives MIT is taken, which most have."""
    files = [path for path in sorted(folder.iterdir()) if path.is_file() and _TEXTS.match(path.name)]
    mit = any("mit" in path.name.lower() for path in files)
    for path in files:
        if not (mit and _ALTERNATIVES.search(path.name)):
            yield path.read_text(encoding="utf-8", errors="replace").strip()


def _standard_library() -> str:
    """The notices of Rust's standard library, as its distribution has them for the libraries alone."""
    page = Path(_output("rustc", "--print", "sysroot").strip()) / "share/doc/rust/COPYRIGHT-library.html"
    if not page.is_file():
        return "Rust's standard library is licensed under MIT OR Apache-2.0, © The Rust Project contributors."
    text = re.sub(r"<(style|script).*?</\1>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return re.sub(r"\n\s*\n\s*\n+", "\n\n", unescape(re.sub(r"<[^>]+>", "", text))).strip()


def _without_file(part: Part) -> str:
    """The terms of a package that has no file of its licence, which is MIT or may be: MIT's are in our own file."""
    terms = (ROOT / "LICENSE-MIT").read_text(encoding="utf-8")
    assert "MIT" in part.licence.split(" OR "), (
        f"{part.name} has no licence file: add the terms of {part.licence}"
    )
    return re.sub(
        r"^Copyright.*$", f"Copyright (c) {part.authors}", terms, count=1, flags=re.MULTILINE
    ).strip()


def notices() -> str:
    """The whole text. Equal licences are printed once, below the packages that have them."""
    packages = crates()
    having: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for part in packages:
        for text in part.texts or (_without_file(part),):
            words = " ".join(text.split())
            texts.setdefault(words, text)
            having.setdefault(words, []).append(f"{part.name} {part.version}")
    parts = "\n".join(f"{part.name} {part.version}: {part.licence}" for part in (*packages, *editor()))
    line = "-" * 100
    licences = f"\n\n{line}\n".join(f"{', '.join(having[words])}\n\n{text}" for words, text in texts.items())
    javascript = (VENDOR / "LICENSE").read_text(encoding="utf-8").strip()
    return (
        f"Parts of Roamlab's wheel that others have written, and their licences.\n\n{parts}\n"
        f"Rust's standard library: MIT OR Apache-2.0\n\n{line}\n{licences}\n\n{line}\n"
        f"The playground's editor\n\n{javascript}\n\n{line}\nRust's standard library\n\n{_standard_library()}\n"
    )


if __name__ == "__main__":
    (out,) = sys.argv[1:] or [str(ROOT / "LICENSE-THIRD-PARTY.txt")]
    Path(out).write_text(notices(), encoding="utf-8")
