"""Text for people: no control character of an input reaches a terminal or a page.

Names, comments, paths and the content of files may contain escape sequences or characters that reverse the
order of text. `shown` writes them as escapes. Every printer of this package is `say` or a `console`, and
every page uses `escape`.
"""

from __future__ import annotations

import io
import os
import sys
import unicodedata
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment


def shown(text: str | Path) -> str:
    """A text or a path on one line, with each character that cannot be printed as an escape.

    These are control and format characters (Unicode's Cc and Cf), line breaks, and bytes of a path that are no UTF-8.
    """
    text = os.fspath(text)
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(letter: str) -> str:
    if letter.isprintable() or unicodedata.category(letter) == "Zs":
        return letter
    code = ord(letter)
    # A byte of a path that is no UTF-8.
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\u{{{code:x}}}"


def shown_lines(text: str) -> str:
    """A text of several lines, as `shown`."""
    return text if text.isprintable() else "\n".join(map(shown, text.split("\n")))


def escape(text: str) -> str:
    """A text for HTML or SVG; several lines remain."""
    import html

    return html.escape(shown_lines(text.replace("\t", "    ")))


def say(text: str = "", *, err: bool = False) -> None:
    """Print lines to standard output, or to standard error."""
    click.echo(shown_lines(text), err=err)


def console(*, err: bool = False, least_width: int = 0) -> Console:
    """A console of Rich for tables and progress bars; of at least this width in characters."""
    from rich.console import Console
    from rich.segment import Segment

    class Screen(Console):
        """Escapes the text of all that it renders; what Rich adds for colours is not text."""

        def render(
            self, renderable: RenderableType, options: ConsoleOptions | None = None
        ) -> Iterable[Segment]:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else shown_lines(text), style, control)

    screen = Screen(stderr=err)
    if screen.width < least_width:
        screen.width = least_width
    return screen


def accept_any_text() -> None:
    """Let the standard streams print what their encoding lacks as escapes, instead of an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
