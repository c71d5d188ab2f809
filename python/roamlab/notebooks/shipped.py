"""The notebooks next to this module: their names, their questions, and copies to work in."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING

from roamlab.base.errors import unknown_name
from roamlab.base.output import write_whole

if TYPE_CHECKING:
    from pathlib import Path

ENDING = ".ipynb"

_FIRST = ("first-stall", "size-a-buffer", "your-own-trace", "a-papers-figure")
"""They lead from one to the next; those of papers follow."""


def names() -> list[str]:
    """The notebooks, in the order in which one reads them."""
    found = (path.name for path in files("roamlab.notebooks").iterdir() if path.name.endswith(ENDING))
    others = sorted({name.removesuffix(ENDING) for name in found} - {*_FIRST})
    return [*_FIRST, *others]


def text(name: str) -> str:
    """A notebook as it is written in its file. Raises `BadInput` if there is none of this name."""
    if name not in names():
        otherwise = "`roamlab notebook` lists them with their questions"
        raise unknown_name(f"notebook {name!r}", "there is no such notebook", name, names(), otherwise)
    return files("roamlab.notebooks").joinpath(name + ENDING).read_text(encoding="utf-8")


def question(name: str) -> str:
    """The question that a notebook answers: its first line."""
    first = json.loads(text(name))["cells"][0]["source"][0]
    return str(first).removeprefix("# ").strip()


def copy(name: str, folder: Path) -> tuple[Path, bool]:
    """A notebook's copy in a folder, and whether it is new: one that is there already is the user's, and stays."""
    path = folder / (name.removesuffix(ENDING) + ENDING)
    content = text(name.removesuffix(ENDING))
    if path.exists():
        return path, False
    write_whole(path, content.encode())
    return path, True
