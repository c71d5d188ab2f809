"""Files that a user names: bounded, and only files on a disk.

A device, a pipe or a file of `/proc` is refused.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
import stat
import zlib
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from roamlab.base.errors import BadInput, closest
from roamlab.base.screen import shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader


def home(path: Path) -> Path:
    """The path with the home folder in place of a `~` at its begin: between quotes no shell replaces it."""
    return path.expanduser() if path.parts[:1] == ("~",) else path


EXAMPLES = Path(__file__).parents[1] / "examples"
"""The examples: in a checkout a link to its folder `examples`, in a wheel a folder of the package."""

MAX_BYTES = 100_000_000
"""A larger file is refused before it is read."""


def open_regular(path: Path | str, within: int | None = None) -> BufferedReader:
    """A regular file, to be read; any other kind is an `OSError` immediately, so that no pipe is waited for.

    `within`: an open folder, in which `path` is a name; then a link is an error too.
    """
    about = os.stat(path, dir_fd=within, follow_symlinks=within is None)
    if stat.S_ISREG(about.st_mode):
        flags = os.O_RDONLY | os.O_NONBLOCK | (0 if within is None else os.O_NOFOLLOW)
        file = os.fdopen(os.open(path, flags, dir_fd=within), "rb")
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return file
        file.close()
    raise OSError(errno.EPERM, "not a regular file", os.fspath(path))


def refuse_file(folder: Path, remedy: str) -> None:
    """Raise `BadInput` if the place of a folder, present or future, has something that is no folder."""
    for place in (folder, *folder.parents):
        if place.is_dir():
            return
        if os.path.lexists(place) and not place.is_symlink():
            what = "this" if place == folder else shown(place)
            raise BadInput(folder, f"{what} is a file, not a folder", expected="a folder", remedy=remedy)


def open_file(path: Path, expected: str) -> BinaryIO:
    """A file that is not empty, to be read; `expected` describes it. Raises `BadInput`.

    Files of `/proc` report 0 bytes.
    """
    try:
        about = path.stat()
        if not stat.S_ISREG(about.st_mode):
            if stat.S_ISDIR(about.st_mode) and (path / "manifest.json").is_file():
                remedy = "give the path of a file; `roamlab report` and `roamlab why` take a run folder"
                raise BadInput(path, "this is a run folder, not a file", expected=expected, remedy=remedy)
            raise BadInput(path, "not a regular file", expected=expected, remedy="give the path of a file")
        if about.st_size == 0:
            raise BadInput(path, "the file is empty", expected=expected, remedy="name a file with content")
        return open_regular(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BadInput(path, reason, expected=expected, remedy=_near(path)) from None


_MOST_NAMES = 1000
"""Names of a folder that are looked at for one that is almost the one that was written."""


def _near(path: Path) -> str:
    """Text to write instead of a path that does not exist: a file of this folder with almost its name."""
    if any(sign in path.name for sign in "*?["):
        return (
            f"name one file: several are [roamlab.load(path) for path in "
            f"pathlib.Path({str(path.parent)!r}).glob({path.name!r})]"
        )
    if path.parts[:1] in (("http:",), ("https:",)):
        return "fetch it first: this is no path of this machine"
    if str(path) == "-":
        return "for standard input write /dev/stdin, with a file that is redirected to it: < FILE"
    try:
        with os.scandir(path.parent) as entries:
            files = {entry.name for entry in islice(entries, _MOST_NAMES) if entry.is_file()}
    except (OSError, ValueError):
        files = set()
    name = path.name.removesuffix(".toml")
    meant = f"{name}.toml" if f"{name}.toml" in files else closest(path.name, files)
    if meant != f"{name}.toml" and any(EXAMPLES.rglob(f"{name}.toml")):
        return f"copy the example of this name: roamlab new {name}"
    return f"check the path; did you mean {shown(path.with_name(meant))}?" if meant else "check the path"


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


_OTHERS = (
    (b"\x1f\x8b", "this file is compressed: unpack it with gunzip, or name another"),
    (b"\x28\xb5\x2f\xfd", "this file is compressed: unpack it with zstd -d, or name another"),
    (b"PK\x03\x04", "this is a zip archive: unpack it, or name another file"),
    (b"\x0a\x0d\x0d\x0a", "this is a capture: name a text file"),
    (b"PAR1", "this is a table of a run: name a text file"),
    (b"\xff\xfe", "this file is in UTF-16: save it in UTF-8"),
    (b"\xfe\xff", "this file is in UTF-16: save it in UTF-8"),
)
"""How files of other kinds begin, and what to do."""


def text_lines(path: Path, expected: str) -> Iterator[str]:
    """The lines of a file in UTF-8 of any size, with their ends and without a byte order mark. Raises `BadInput`.

    It is read in pieces of whole lines.
    """
    with open_file(path, expected) as file:
        before, rest = 0, b""
        while piece := file.read(_PIECE):
            end = piece.rfind(b"\n") + 1
            if end == 0 and len(piece) == _PIECE:
                where, problem = f"{path}:{before + 1}", f"the line is longer than {_PIECE} bytes"
                raise BadInput(where, problem, expected=expected, remedy="name a text file with lines")
            whole, rest = rest + piece[:end], piece[end:] if end else rest + piece
            text = _decode(whole, path, expected, before)
            yield from _lines(text if before else text.removeprefix("\ufeff"))
            before += whole.count(b"\n")
        if rest:
            last = _decode(rest, path, expected, before)
            yield last if before else last.removeprefix("\ufeff")


def _lines(text: str) -> list[str]:
    """The lines of a text that ends with a line, with their ends."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]]


_PIECE = 1_000_000
"""Bytes that are read together, and of the longest line of a log."""


def _decode(raw: bytes, path: Path, expected: str, before: int = 0) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = before + raw.count(b"\n", 0, error.start) + 1
        column = error.start - raw.rfind(b"\n", 0, error.start)
        remedy = next((what for begin, what in _OTHERS if raw.startswith(begin)), "save the file in UTF-8")
        problem = f"byte 0x{raw[error.start]:02x} is not UTF-8"
        raise BadInput(f"{path}:{line}:{column}", problem, expected=expected, remedy=remedy) from None


@contextmanager
def read_as(path: Path, expected: str, remedy: str) -> Iterator[None]:
    """Every failure to parse a file reports that it is not what is `expected`. Raises `BadInput`."""
    try:
        yield
    except BadInput:
        raise
    except Exception as error:  # noqa: BLE001 (a file may hold anything)
        raise BadInput(path, unread(error), expected=expected, remedy=remedy) from None


def unread(error: Exception) -> str:
    """Why a file cannot be parsed, without the names of Python's classes, which a user does not know."""
    if isinstance(error, KeyError):
        return f"it has no {error.args[0] if error.args else 'such field'!r}"
    if isinstance(error, EOFError | zlib.error):
        return "it ends too early, or is damaged"
    if isinstance(error, UnicodeDecodeError):
        return f"byte 0x{error.object[error.start]:02x} is no text in UTF-8"
    if isinstance(error, json.JSONDecodeError):
        return f"it is no JSON: {error.msg} at line {error.lineno}, column {error.colno}"
    if isinstance(error, RecursionError):
        return "brackets are nested too deep"
    if isinstance(error, gzip.BadGzipFile):
        return "it is not compressed with gzip"
    if isinstance(error, OSError | ValueError) and str(error):
        return f"it cannot be read: {getattr(error, 'strerror', None) or str(error)[:200]}"
    return "its content has another form"
