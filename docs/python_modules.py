"""The page on the modules of the Python package: each subpackage in the order of its imports, each module in a line."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PAGE = "reference/python-modules.md"

_HEAD = """# Modules of the Python package

This page is made from the sources: the first sentence of each module. A module imports only modules of its own
subpackage and of subpackages above it. [Architecture](../architecture.md#the-python-package) has the reasons.
"""


def order(root: Path) -> list[str]:
    """The subpackages in the order of the table in `docs/architecture.md`: each may import those above it."""
    page = (root / "docs/architecture.md").read_text(encoding="utf-8")
    section = page.split("## The Python package\n")[1].split("\n## ")[0]
    names = re.findall(r"^\| ([^|]*) \|", section, re.MULTILINE)
    return [name for cell in names for name in re.findall(r"`([\w.]+)`", cell)]


def modules(root: Path) -> dict[str, list[Path]]:
    """The modules of each subpackage, by its name; `__init__.py` is not among them."""
    package = root / "python/roamlab"
    return {
        name: sorted(
            path for path in (package / name.replace(".", "/")).glob("*.py") if path.stem != "__init__"
        )
        for name in order(root)
    }


def page(root: Path) -> str:
    """The page, in Markdown."""
    lines = [_HEAD]
    for name, paths in modules(root).items():
        about = _first_line(root / "python/roamlab" / name.replace(".", "/") / "__init__.py")
        lines += [f"## `{name}`", "", about, ""]
        if paths:
            lines += ["| module | what it is |", "| --- | --- |"]
            lines += [f"| `{path.stem}` | {_first_line(path).replace('|', '&#124;')} |" for path in paths]
            lines.append("")
    return "\n".join(lines)


def _first_line(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())
