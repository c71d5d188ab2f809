"""A folder of results is written whole or not at all."""

from __future__ import annotations

import glob
import os
import platform
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from roamlab.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator


def refuse_foreign(folder: Path, ours: str) -> None:
    """Raise `BadInput` if `folder` holds anything but what an earlier time wrote, which the file `ours` shows."""
    if folder.exists() and any(folder.iterdir()) and not (folder / ours).exists():
        raise BadInput(
            folder,
            "the folder holds something that is not ours to replace",
            expected=f"a new or an empty folder, or one with a {ours} of an earlier time",
            remedy="name another folder with --out",
        )


@contextmanager
def whole_folder(folder: Path, ours: str) -> Iterator[Path]:
    """A folder to write into, which takes the place of `folder` when the block ends without an error.

    What `folder` held before is replaced if it is one of our own, which the file named `ours` shows; a folder
    with anything else in it is refused.
    """
    refuse_foreign(folder, ours)
    folder.parent.mkdir(parents=True, exist_ok=True)
    mine = f".unfinished-{folder.name}-{platform.node()}-"
    _sweep_up(folder.parent, mine)
    draft = Path(tempfile.mkdtemp(prefix=f"{mine}{os.getpid()}-", dir=folder.parent))
    try:
        yield draft
        draft.chmod(0o755)
        if folder.exists():
            shutil.rmtree(folder)
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _sweep_up(place: Path, prefix: str) -> None:
    """Remove what processes of this machine that were killed have left."""
    for draft in place.glob(f"{glob.escape(prefix)}*"):
        pid = draft.name.removeprefix(prefix).partition("-")[0]
        if pid.isdigit() and not _lives(int(pid)):
            shutil.rmtree(draft, ignore_errors=True)


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
