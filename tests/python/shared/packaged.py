"""The files of the package, as a release has to have them."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).parents[3] / "python/roamlab"


def packaged() -> set[str]:
    """Paths below `python`, links to folders followed: none of what is made by a build, or is compiled."""
    found = (
        Path(folder) / name
        for folder, _, names in os.walk(PACKAGE, followlinks=True)
        for name in names
        if not folder.endswith("__pycache__")
    )
    made = (".so", ".schema.json", "playground.html")
    return {path.relative_to(PACKAGE.parent).as_posix() for path in found if not path.name.endswith(made)}
