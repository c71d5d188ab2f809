"""Errors for users: they name the place, the expected value, the found value and what to do."""

from __future__ import annotations

import difflib
import errno
import os
import sys
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING

from roamlab.base.screen import shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path


class RoamlabError(Exception):
    """Something that the user has to know; its text is the whole report."""


class BadInput(RoamlabError):
    """A file, a field or an argument that cannot be used."""

    def __init__(self, where: str | Path, problem: str, *, expected: str, remedy: str) -> None:
        """Report `problem` at `where` (file, file:line, field or argument). Of a giant text it has begin and end."""
        place, *rest = _brief(os.fspath(where), 400), *map(_brief, (problem, expected, remedy))
        super().__init__("{}: {}\n  expected: {}\n  help: {}".format(place, *rest))


def unknown_name(where: str, problem: str, wanted: str, known: Sequence[str], otherwise: str) -> BadInput:
    """The error for a name that is none of those that are known; the remedy is the nearest one, or `otherwise`."""
    remedy = did_you_mean(wanted, known, otherwise)
    return BadInput(where, problem, expected=f"one of: {', '.join(known)}", remedy=remedy)


class NoAttribute(AttributeError):
    """An attribute that one of our objects does not have, with the one that was most likely meant."""


class RunWarning(UserWarning):
    """Something about a scenario or a run that its user may not have meant: it runs as it is written."""


def warn(texts: Iterable[str]) -> None:
    """Give each text as a `RunWarning` at the line of the user, outside of this package."""
    package = __name__.partition(".")[0]
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame, level = frame.f_back, level + 1
    for text in texts:
        warnings.warn(text, RunWarning, stacklevel=level)


def _brief(text: str, longest: int = 6000) -> str:
    """A part of a report as `shown`, which may list many names; a longer one without its middle."""
    if len(text) > longest:
        half = longest // 2
        text = f"{text[:half]} … ({len(text) - longest} characters left out) … {text[-half:]}"
    return shown(text)


def quoted(value: object) -> str:
    """A value of an input in a report, as Python writes it; of a long one the begin."""
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


_LONGEST_VALUE = 200


@contextmanager
def within(path: Path) -> Iterator[None]:
    """A fault of the content of `path` is reported with it; an option is a separate place."""
    from roamlab import _roamlab

    try:
        yield
    except (BadInput, _roamlab.ScenarioError) as error:
        text = str(error)
        if not text.startswith("--") and shown(path) not in text:
            error.args = (f"{shown(path)}, {text}",)
        raise


def one_line(report: object) -> str:
    """A report of several lines as a part of another report's line."""
    return "; ".join(line.strip() for line in str(report).splitlines() if line.strip(" |^"))


def closest(wanted: str, names: Iterable[str]) -> str:
    """The name that was most likely meant: one that begins with it, or a slip away; empty if none is near."""
    known = list(names)
    begun = [name for name in known if len(wanted) > 2 and name.startswith((f"{wanted}_", f"{wanted}-"))]
    return (begun or difflib.get_close_matches(wanted, known, 1, 0.75) or [""])[0]


def did_you_mean(wanted: str, names: Iterable[str], otherwise: str) -> str:
    """A remedy: the name that was most likely meant, or what else to do."""
    meant = closest(wanted, names)
    return f"did you mean {meant!r}?" if meant else otherwise


_OF_PATHS = {
    errno.EACCES,
    errno.EEXIST,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
}
"""Errors of the system for a path of the wrong kind; a full disk is not one."""


def bad_path(error: Exception) -> BadInput | None:
    """An error of the system about a path, as a report; None for any other error."""
    if not isinstance(error, OSError) or error.errno not in _OF_PATHS or error.filename is None:
        return None
    return BadInput(
        os.fsdecode(error.filename),
        str(error.strerror),
        expected="a path that can be read or written",
        remedy="check the folders on the way to it and their permissions, or name another",
    )
