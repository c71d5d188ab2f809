"""The examples: scenarios and sweeps of the package, each with the question that it answers.

The files are the folder `examples` of a checkout. The link `roamlab/examples` puts them into a wheel.
"""

from __future__ import annotations

import re
from pathlib import Path

from roamlab.base.errors import BadInput, closest
from roamlab.base.inputs import EXAMPLES
from roamlab.base.output import write_whole
from roamlab.base.screen import shown
from roamlab.scenarios import editors

_BEGIN = re.compile(r"#:schema [./]*(?P<of>scenario|sweep)\.schema\.json\n# (?P<question>.*\?)\n")
"""How an example begins: with the schema for editors, and its question."""


def questions() -> dict[str, str]:
    """The question of each example, by its name, in alphabetical order."""
    return {name: begin["question"] for name, (_, begin) in sorted(_found().items())}


def _found() -> dict[str, tuple[Path, re.Match[str]]]:
    """The file of each example, and how it begins."""
    begins = {path: _BEGIN.match(path.read_text(encoding="utf-8")) for path in EXAMPLES.rglob("*.toml")}
    return {path.stem: (path, begin) for path, begin in begins.items() if begin}


def copy(name: str, folder: Path) -> list[Path]:
    """Copy an example with the files that it needs into a folder; the new files, that of the example first.

    Files that are there with the same content stay. Raises `BadInput` for an unknown name, or if a file is there with
    another content: then nothing is written.
    """
    found = _found()
    if name.removesuffix(".toml") not in found:
        meant = closest(Path(name).stem, found)
        raise BadInput(
            "NAME",
            f"there is no example {name!r}",
            expected="the name of an example",
            remedy=f"did you mean {meant!r}?" if meant else "`roamlab new` lists them",
        )
    example, _ = found[name.removesuffix(".toml")]
    wanted = {folder / path: content for path, content in _needed(example).items()}
    for path, content in wanted.items():
        if path.exists() and path.read_bytes() != content:
            raise BadInput(
                path,
                "this file is there already, with another content",
                expected="a folder without it",
                remedy=f"move it away, or write into a new folder: mkdir lab && cd lab && roamlab new {shown(name)}",
            )
    made = [path for path in wanted if not path.exists()]
    for path in made:
        write_whole(path, wanted[path])
    begins = (_BEGIN.match(content.decode()) for path, content in wanted.items() if path.suffix == ".toml")
    for of in sorted({begin["of"] for begin in begins if begin}):
        write_whole(folder / f"{of}.schema.json", editors.text(of).encode())
    return made


def _needed(example: Path) -> dict[str, bytes]:
    """The files of an example by their names in one folder: it, what it names, and what has its name."""
    text = example.read_text(encoding="utf-8")
    found = {example.name: b""}
    for quoted in dict.fromkeys(re.findall(r'"([\w./-]+)"', text)):
        file = example.parent / quoted
        if file.is_file():
            text = text.replace(f'"{quoted}"', f'"{file.name}"')
            found |= _needed(file) if file.suffix == ".toml" else {file.name: file.read_bytes()}
    text = re.sub(r"\A#:schema [./]*", "#:schema ./", text)
    found[example.name] = text.encode()
    others = (path for path in example.parent.glob(f"{example.stem}.*") if path != example)
    return found | {path.name: path.read_bytes() for path in sorted(others)}
