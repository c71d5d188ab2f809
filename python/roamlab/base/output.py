"""Output is written completely or not at all, and only files of this program are deleted.

All output is first written to a draft in the destination folder: `.roamlab-` and 16 hexadecimal digits. Its
writer holds a lock on it. A draft without a lock was left by a killed process; the next writer there deletes
it.

A folder of results has a list of its files with their digests, `LIST`. It replaces an older one by an
exchange of the two names, which is one step (renameat2 of Linux): at every instant the old or the new result
is there. Then the files that the old list names are deleted. A folder with any other file, or with a changed
file, is refused. Several processes may write to one place: the last one's result remains.

A folder may come from another person, drafts and list included. Nothing is read or deleted through a link in it, and
only folders and regular files are drafts. A lock that another process keeps ends in an error after `PATIENCE_S`.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import hashlib
import json
import os
import re
import secrets
import stat
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roamlab.base.errors import BadInput
from roamlab.base.inputs import open_regular
from roamlab.base.screen import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from io import BufferedWriter

LIST = ".roamlab.json"
"""In a folder of results: the files that this program wrote there, with their SHA-256, and a signature of it all."""

PAGE_COMMENT = "<!-- %s -->"
TOML_COMMENT = "# %s"
"""Comments in which files are signed."""

_FORMATS = {
    ".svg",
    ".html",
    ".htm",
    ".png",
    ".gif",
    ".jpg",
    ".jpeg",
    ".webp",
    ".pdf",
    ".eps",
    ".ps",
    ".csv",
    ".json",
    ".txt",
}
"""Endings of names of files that promise a format."""

PATIENCE_S = 30.0
"""So long a folder may be locked by another process. A writer keeps its lock for milliseconds."""

_DEEPEST = 32
"""Folders within folders that are looked at; a result has three at most."""

_LONGEST_LIST = 64_000_000
"""Bytes of a list that are read; a file has some 100 in it."""

_DRAFT = re.compile(r"\.roamlab-[0-9a-f]{16}")
_ASIDE = re.compile(r"\.roamlab-[0-9a-f]{16}-(?P<of>.+)")


def refuse_foreign(folder: Path, store: Path | None = None) -> None:
    """Raise `BadInput` if `folder` cannot be replaced: if it has files that no earlier command wrote.

    Nor may it be where the `store` of runs is, or is going to be.
    """
    place = Path(os.path.realpath(folder))
    if store is not None and Path(os.path.realpath(store)).is_relative_to(place):
        raise _refusal(folder, f"it holds the store of runs, {store}")
    if not os.path.lexists(place):
        return
    if place == Path.cwd() or place.is_mount():
        raise _refusal(folder, "it is the working directory, or the root of a disk, which cannot be replaced")
    with _locked(place.parent):
        foreign = _foreign(place)
    if foreign:
        raise _refusal(folder, foreign)


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A folder to write into, which takes the place of `folder` when the block ends without an error.

    Where `folder` is a symbolic link, that is the place where the link leads. Raises `BadInput` as `refuse_foreign`.
    """
    refuse_foreign(folder)
    place = Path(os.path.realpath(folder))
    place.parent.mkdir(parents=True, exist_ok=True)
    sweep_drafts(place.parent)
    with draft_folder(place.parent, folder) as draft:
        yield draft
        _write_list(draft)
        with _locked(place.parent):
            _put(draft, place, folder)


def write_chart(path: Path, text: str) -> None:
    """Write a drawing in SVG, or a page, signed in a comment; a folder on its path that is missing is created.

    Raises `BadInput` if another file is there, or if its name promises another format.
    """
    ending = ".svg" if text.lstrip().startswith(("<svg", "<?xml")) else ".html"
    if path.suffix.lower() in _FORMATS - {ending, ".htm" if ending == ".html" else ending}:
        raise BadInput(
            path,
            f"it would hold {ending[1:].upper()}, and not the format in its name",
            expected=f"a name that ends in {ending}",
            remedy=f"write --out {path.with_suffix(ending)}, and convert the file with another program",
        )
    write_signed(path, text, PAGE_COMMENT)


def write_signed(path: Path, text: str, comment: str) -> None:
    """Write a text, signed in a comment of its language, as `refuse_changed` knows it; missing folders are created."""
    refuse_changed(path, comment)
    place = Path(os.path.realpath(path))
    place.parent.mkdir(parents=True, exist_ok=True)
    write_whole(place, _signed(text, comment), path)


def refuse_changed(path: Path, comment: str) -> None:
    """Raise `BadInput` if another file is at `path` than one that this program wrote, or if that was changed since."""
    place = Path(os.path.realpath(path))
    if place.exists() and not place.is_file():
        raise BadInput(
            path,
            "this is no regular file",
            expected="a new file, or what this program wrote there",
            remedy="name another file with --out",
        )
    if place.exists():
        before, _, _ = place.read_text(encoding="utf-8", errors="replace").rpartition(comment.split("%s")[0])
        if place.read_bytes() != _signed(before, comment):
            raise BadInput(
                path,
                "the file is not ours to replace, or was changed since it was written",
                expected="a new file, or what this program wrote there",
                remedy="name another file with --out",
            )


def write_whole(path: Path, content: bytes, named: Path | None = None) -> None:
    """Write a file so that it is there whole or not at all. Files that killed processes left next to it are deleted.

    An error of the system names the file, by the name that the user wrote if that is another.
    """
    sweep_drafts(path.parent)
    with _draft(path.parent, Path.touch, named or path) as draft:
        write_durably(draft, [content])
        draft.replace(path)
    sync(path.parent)


def write_durably(path: Path, pieces: Iterable[bytes]) -> None:
    """Write a file piece by piece, and wait until the disk has it. A link in its place is an `OSError`."""
    with open_new(path) as file:
        file.writelines(pieces)
        file.flush()
        os.fsync(file.fileno())


def open_new(path: Path) -> BufferedWriter:
    """A file to write into, empty. A link or a pipe in its place is an `OSError`."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
    return os.fdopen(os.open(path, flags, 0o666), "wb")


@contextmanager
def disk_errors() -> Iterator[None]:
    """Raise errors of the system, such as a full disk, that Polars reports as its own, as `OSError`."""
    import polars as pl

    try:
        yield
    except pl.exceptions.PolarsError as error:
        number = re.search(r"\(os error (\d+)\)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from None


def sync(path: Path) -> None:
    """Wait until the disk has the names in a folder, or the content of a file."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def draft_folder(place: Path, named: Path | None = None) -> Iterator[Path]:
    """A new folder in `place`, which is deleted afterwards unless it was moved away.

    An error of the system about it names `named`, what the user wrote; without it `place`.
    """
    with _draft(place, Path.mkdir, named or place) as draft:
        yield draft


def sweep_drafts(place: Path) -> None:
    """Delete what killed processes left in `place`. A link, a pipe or a device of such a name stays: it is no draft."""
    if not place.is_dir():
        return
    with _locked(place):
        for path in sorted(place.iterdir()):
            if (aside := _ASIDE.fullmatch(path.name)) and _kind(path) == stat.S_IFDIR:
                # Killed between the two steps of an exchange: either the old one is in place, or the new one.
                if os.path.lexists(place / aside["of"]):
                    _discard(path)
                else:
                    path.rename(place / aside["of"])
            elif _DRAFT.fullmatch(path.name) and not _in_use(path):
                _discard(path)


@contextmanager
def _draft(place: Path, make: Any, named: Path) -> Iterator[Path]:
    """A new file or folder, locked; its mode is as the umask requires. Errors about it are about `named`."""
    draft = place / f".roamlab-{secrets.token_hex(8)}"
    try:
        with _locked(place):
            make(draft, exist_ok=False)
            descriptor = os.open(draft, os.O_RDONLY | os.O_NOFOLLOW)
            _lock(descriptor, draft, PATIENCE_S)
        try:
            yield draft
        finally:
            _discard(draft)
            os.close(descriptor)
    except OSError as error:
        at = error.filename
        if error.errno in _OF_DISKS if at is None else Path(os.fsdecode(at)).is_relative_to(draft):
            error.filename = str(named)
        raise


_OF_DISKS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS}
"""Errors of writing."""


def _in_use(draft: Path) -> bool:
    """True if another process writes it, if this cannot be known, or if it is no draft."""
    if _kind(draft) not in (stat.S_IFDIR, stat.S_IFREG):
        return True
    try:
        descriptor = os.open(draft, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return True
    try:
        return not _lock(descriptor, draft, 0.0)
    except BadInput:
        return True
    finally:
        os.close(descriptor)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """One process at a time, as far as the file system has locks. Raises `BadInput` if another keeps the lock."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _lock(descriptor, folder, PATIENCE_S)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, named: Path, patience_s: float) -> bool:
    """Take a lock; whether the file system has locks. Raises `BadInput` if another process keeps it."""
    limit = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= limit:
                raise BadInput(
                    named,
                    f"another process has locked it for {patience_s:.0f} s",
                    expected="a folder that no process locks for longer than it writes there",
                    remedy=f"`fuser -v {named}` shows the process: end it, or write to another folder",
                ) from None
            time.sleep(0.005)
        except OSError:
            return False
        else:
            return True


def _put(draft: Path, place: Path, named: Path) -> None:
    """Move `draft` to `place`, and delete the old one; the caller has locked the folder of both."""
    try:
        draft.rename(place)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    else:
        sync(place.parent)
        return
    if foreign := _foreign(place):
        raise _refusal(named, foreign)
    _exchange(draft, place)
    sync(place.parent)
    _discard(draft)
    if draft.exists():
        # A user's file came between the last look and the exchange.
        kept = place.with_name(f"{place.name}{draft.name}")
        draft.rename(kept)
        say(f"note: {kept} holds files of the former {place} that are not ours", err=True)


def _exchange(draft: Path, place: Path) -> None:
    """Give each the other's name, in one step.

    Where the system cannot do that, in two: who is killed in between leaves nothing at `place`, and the old folder
    under a name by which the next writer puts it back.
    """
    if _exchanged(draft, place):
        return
    aside = draft.with_name(f"{draft.name}-{place.name}")
    place.rename(aside)
    draft.rename(place)
    aside.rename(draft)


def _exchanged(one: Path, other: Path) -> bool:
    """True if the system has exchanged the names."""
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if call is None:
        return False
    if call(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0:
        return True
    if (number := ctypes.get_errno()) not in (errno.ENOSYS, errno.EINVAL):
        raise OSError(number, os.strerror(number), str(other))
    return False


def _discard(path: Path) -> None:
    """Delete a draft. Of one with a list, a result that was replaced, only what the list names.

    No link is followed, so nothing outside of the draft is deleted. What cannot be deleted stays.
    """
    with suppress(OSError):
        if _kind(path) == stat.S_IFREG:
            path.unlink()
            return
        with _opened(path) as folder:
            listed = _listed(folder)
            _clear(folder, listed, _folders_of(listed))
            if [entry.name for entry in path.iterdir()] == [LIST]:
                os.unlink(LIST, dir_fd=folder)
        path.rmdir()


def _clear(folder: int, listed: dict[str, str] | None, folders: set[str], at: str = "") -> None:
    """Delete what is in an open folder, which is called `at`: all, or the files of a list and their `folders`."""
    for entry in os.listdir(folder) if at.count("/") < _DEEPEST else ():
        name = f"{at}{entry}"
        with suppress(OSError):
            if _kind(entry, folder) == stat.S_IFDIR:
                if listed is None or name in folders:
                    with _opened(entry, folder) as inner:
                        _clear(inner, listed, folders, f"{name}/")
                    os.rmdir(entry, dir_fd=folder)
            elif listed is None or (name in listed and _unchanged(entry, folder, listed[name])):
                os.unlink(entry, dir_fd=folder)


@contextmanager
def _opened(path: Path | str, within: int | None = None) -> Iterator[int]:
    """A folder, for calls with `dir_fd`: what is in it stays the same folder's. A link is an `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _kind(path: Path | str, within: int | None = None) -> int:
    """The kind of a file, of a link that of the link; 0 if there is none."""
    try:
        return stat.S_IFMT(os.stat(path, dir_fd=within, follow_symlinks=False).st_mode)
    except OSError:
        return 0


def _write_list(folder: Path) -> None:
    """List the files of a folder, all of which are ours, once the disk has them."""
    files = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        sync(path)
        files[path.relative_to(folder).as_posix()] = hashlib.sha256(path.read_bytes()).hexdigest()
    written = {"program": "roamlab", "files": files}
    content = json.dumps(written | {"signature": _signature(written)}, indent=1)
    write_durably(folder / LIST, [content.encode(), b"\n"])


def _listed(folder: int) -> dict[str, str] | None:
    """The files that an open folder's list names, with their digests; None if it has no list that we signed."""
    try:
        with open_regular(LIST, folder) as file:
            content = json.loads(file.read(_LONGEST_LIST))
        signature = content.pop("signature")
        files = content["files"]
        if signature != _signature(content) or not all(_is_inside(name) for name in files):
            return None
    except (OSError, ValueError, RecursionError, AttributeError, KeyError, TypeError):
        return None
    return (
        files if isinstance(files, dict) and all(isinstance(each, str) for each in files.values()) else None
    )


def _is_inside(name: str) -> bool:
    """True if it is the name of a file within a folder."""
    parts = name.split("/")
    return len(parts) <= _DEEPEST and not {"", ".", ".."} & set(parts) and b"\0" not in os.fsencode(name)


def _folders_of(files: Iterable[str] | None) -> set[str]:
    """The folders that files are in."""
    return {folder.as_posix() for name in files or () for folder in Path(name).parents}


def _signature(written: dict[str, Any]) -> str:
    return hashlib.sha256(("roamlab wrote " + json.dumps(written, sort_keys=True)).encode()).hexdigest()


def _signed(text: str, comment: str) -> bytes:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return f"{text}{comment % f'written by roamlab, {digest}'}\n".encode()


def _foreign(folder: Path) -> str | None:
    """A difference of the folder from what we wrote, in words; None if there is none."""
    try:
        with _opened(folder) as opened:
            listed = _listed(opened)
            return _foreign_in(opened, listed, _folders_of(listed))
    except NotADirectoryError:
        return "it is not a folder"


def _foreign_in(folder: int, listed: dict[str, str] | None, folders: set[str], at: str = "") -> str | None:
    """The same of an open folder that is called `at`."""
    ours = listed or {}
    for entry in sorted(os.listdir(folder)):
        name = f"{at}{entry}"
        if _kind(entry, folder) == stat.S_IFDIR and name in folders:
            try:
                with _opened(entry, folder) as inner:
                    found = _foreign_in(inner, listed, folders, f"{name}/")
            except OSError as error:
                return f"{name} in it cannot be read ({error.strerror})"
            if found:
                return found
        elif name not in ours and not (name == LIST and listed is not None):
            return f"it holds {name}, which is not ours to replace"
        elif name in ours and not _unchanged(entry, folder, ours[name]):
            return f"{name} in it was changed since it was written"
    return None


def _unchanged(entry: str, folder: int, digest: str) -> bool:
    try:
        with open_regular(entry, folder) as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == digest
    except OSError:
        return False


def _refusal(folder: Path, problem: str) -> BadInput:
    return BadInput(
        folder,
        problem,
        expected="a new or an empty folder, or one with nothing in it but what this program wrote",
        remedy="name another folder with --out, or move away what is yours",
    )
