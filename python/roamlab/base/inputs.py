"""Files that a user names: bounded, and only files on a disk.

A device, a pipe or a file of `/proc` is refused.
"""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING, BinaryIO

from roamlab.base.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 100_000_000
"""A larger file is refused before it is read."""


def open_file(path: Path, expected: str) -> BinaryIO:
    """A file that is not empty, to be read; `expected` says what it should be. Raises `BadInput`.

    Files of `/proc` say that they have 0 bytes.
    """
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            raise BadInput(path, "not a regular file", expected=expected, remedy="give the path of a file")
        if about.st_size == 0:
            raise BadInput(path, "the file is empty", expected=expected, remedy="name a file with content")
        return path.open("rb")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInput(path, reason, expected=expected, remedy="check the path") from None


def read_text(path: Path, expected: str) -> str:
    """The text of a file in UTF-8 that is neither empty nor larger than `MAX_BYTES`. Raises `BadInput`."""
    try:
        with open_file(path, expected) as file:
            raw = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise BadInput(path, str(error.strerror), expected=expected, remedy="check the path") from None
    if len(raw) > MAX_BYTES:
        raise BadInput(
            path,
            f"the file is larger than {MAX_BYTES} bytes",
            expected=expected,
            remedy="is this a trace or a result? A scenario names such files, it does not hold them",
        )
    text = _decode(raw, path, expected)
    if not text.strip():
        raise BadInput(path, "the file is empty", expected=expected, remedy="name a file with content")
    return text


def _decode(raw: bytes, path: Path, expected: str) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        raise BadInput(
            f"{path}:{line}:{column}",
            f"byte 0x{raw[error.start]:02x} is not UTF-8",
            expected=expected,
            remedy="save the file in UTF-8",
        ) from None
