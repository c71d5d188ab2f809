"""The part of a page that is written from data: it is between two marks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def marks(data: str) -> tuple[str, str]:
    """The lines before and behind the part that is written from the file `data`."""
    return f"<!-- {data} -->\n", f"<!-- /{data} -->\n"


def between(page: Path, data: str) -> str:
    """Text between the marks of a page. Raises `LookupError` without marks."""
    begin, end = marks(data)
    found = re.search(f"{begin}(.*?){end}", page.read_text(encoding="utf-8"), re.DOTALL)
    if found is None:
        raise LookupError(f"{page}: expected the lines {begin.strip()} and {end.strip()}")
    return found[1]


def put(page: Path, data: str, made: str) -> None:
    """Write the text between the marks of a page. Raises `LookupError` without marks."""
    begin, end = marks(data)
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace(begin + between(page, data) + end, begin + made + end), encoding="utf-8")
