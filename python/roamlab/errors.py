"""Errors that a user can act on: they say where, what was expected, what was found and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class RoamlabError(Exception):
    """Something that the user has to know; its text is the whole report."""


class BadInput(RoamlabError):
    """A file, a field or an argument that cannot be used."""

    def __init__(self, where: str | Path, problem: str, *, expected: str, remedy: str) -> None:
        """Report `problem` at `where` (file, file:line, field or argument)."""
        super().__init__(f"{where}: {problem}\n  expected: {expected}\n  help: {remedy}")
