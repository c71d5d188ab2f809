"""Which module of the Python package imports which: not a test, but what `test_walls.py` reads."""

from __future__ import annotations

import ast
from functools import cache
from typing import TYPE_CHECKING

import python_modules

if TYPE_CHECKING:
    from pathlib import Path

FACE = "roamlab"
ENGINE = "roamlab._roamlab"


def rooms(root: Path) -> dict[str, list[str]]:
    """The rooms in the order of the table in `docs/architecture.md`, each with its modules."""
    return {
        f"{FACE}.{room}": [path.stem for path in paths]
        for room, paths in python_modules.modules(root).items()
    }


@cache
def modules(root: Path) -> dict[str, ast.Module]:
    """The syntax of each module. A package's `__init__.py` is a module with the package's name."""
    found = {}
    for source in sorted((root / "python").glob(f"{FACE}/**/*.py")):
        parts = source.relative_to(root / "python").with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(source.read_text(encoding="utf-8"))
    return found


def imports(root: Path) -> dict[str, set[str]]:
    """Imports of the package in each module, also within functions and under `TYPE_CHECKING`.

    `from roamlab.sweeps import plan` imports the module `plan`, not its package, whose name does not appear in it.
    """
    known = modules(root)
    found: dict[str, set[str]] = {}
    for name, tree in known.items():
        found[name] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                wanted = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{name}: imports are absolute"
                whole = [f"{node.module}.{alias.name}" for alias in node.names]
                wanted = [each if each in {*known, ENGINE} else str(node.module) for each in whole]
            else:
                continue
            found[name] |= {each for each in wanted if each.split(".")[0] == FACE}
    return found


def by_name(root: Path) -> set[str]:
    """The modules that import a module whose name they compute."""
    return {
        name
        for name, tree in modules(root).items()
        if any(
            isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "import_module"
            for node in ast.walk(tree)
        )
    }
