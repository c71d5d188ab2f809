"""The tables "what the text says" of the papers' pages, written from the packages' `sentences.toml`.

    python tests/python/shared/sentence_rows.py

puts them between the marks on the pages. Needs the package.
"""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roamlab import papers
from roamlab.papers import sentences
from roamlab.papers.sentences import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roamlab.papers.sentences import Sentence

BEGIN, END = "<!-- sentences.toml -->\n", "<!-- /sentences.toml -->\n"
PAGES = sorted(path.parent / "README.md" for path in Path(papers.__path__[0]).glob(f"*/{sentences.DATA}"))


def rows(of: Sequence[Sentence]) -> str:
    """The table as Markdown."""
    lines = [sentences.HEADINGS, ["---"] * len(sentences.HEADINGS), *sentences.table(of).rows]
    return "".join(f"| {' | '.join(str(cell).replace('|', '/') for cell in line)} |\n" for line in lines)


def problems(of: Sequence[Sentence], default: Any, tables: dict[str, Any]) -> list[str]:
    """Fields of the interpretation without a sentence, and values that are not ours or that the text rules out."""
    ours = {field.name: plain(getattr(default, field.name)) for field in fields(default)}
    found = [f"{name}: no sentence" for name in ours if name not in {each.field for each in of}]
    for each in of:
        name = each.field or each.setup
        try:
            own = ours[each.field] if each.field else plain(_look_up(tables, each.setup))
        except (KeyError, IndexError, ValueError):
            found.append(f"{name}: there is no such key")
            continue
        if own != plain(each.value):
            found.append(f"{name}: ours is {own!r}, the table has {each.value!r}")
        if own in [plain(value) for value in each.excludes]:
            found.append(f"{name}: the text rules out {own!r}")
    return found


def _look_up(tables: Any, path: str) -> Any:
    for part in path.split("."):
        tables = tables[int(part) if isinstance(tables, list) else part]
    return tables


def of_page(page: Path) -> tuple[str, str]:
    """Text between the marks of a page, and the text from its data. Raises `LookupError` without marks."""
    found = re.search(f"{BEGIN}(.*?){END}", page.read_text(encoding="utf-8"), re.DOTALL)
    if found is None:
        raise LookupError(f"{page}: expected the lines {BEGIN.strip()} and {END.strip()}")
    return found[1], rows(sentences.of_paper(page.parent.name))


if __name__ == "__main__":
    for page in PAGES:
        stands, made = of_page(page)
        text = page.read_text(encoding="utf-8")
        page.write_text(text.replace(f"{BEGIN}{stands}{END}", f"{BEGIN}{made}{END}"), encoding="utf-8")
