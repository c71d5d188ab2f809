"""The tables "what the text says" of the papers' pages, written from the packages' `sentences.toml`.

    python tests/python/shared/rows/sentence_rows.py

puts them between the marks on the pages. Needs the package.
"""

from __future__ import annotations

from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import marked
from roamlab import papers
from roamlab.papers import sentences
from roamlab.papers.sentences import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roamlab.papers.sentences import Sentence

MARK = "sentences.toml"
PAGES = sorted(path.parent / "README.md" for path in Path(papers.__path__[0]).glob(f"*/{sentences.DATA}"))


def rows(of: Sequence[Sentence]) -> str:
    """The table as Markdown."""
    lines = [sentences.HEADINGS, ["---"] * len(sentences.HEADINGS), *sentences.table(of).rows]
    return "".join(f"| {' | '.join(str(cell).replace('|', '/') for cell in line)} |\n" for line in lines)


def problems(
    of: Sequence[Sentence], default: Any, tables: dict[str, Any], package: str = "roamlab.papers"
) -> list[str]:
    """Fields of the interpretation without a sentence, and values that are not ours or that the text rules out.

    `package`: the paper's, whose modules have the constants and the experiments.
    """
    ours = {field.name: plain(getattr(default, field.name)) for field in fields(default)}
    found = [f"{name}: no sentence" for name in ours if name not in {each.field for each in of}]
    for each in of:
        name = each.place
        try:
            own = ours[each.field] if each.field else plain(_own(each, tables, package))
        except (KeyError, IndexError, ValueError, AttributeError):
            found.append(f"{name}: there is no such key")
            continue
        if own != plain(each.value):
            found.append(f"{name}: ours is {own!r}, the table has {each.value!r}")
        if own in [plain(value) for value in each.excludes]:
            found.append(f"{name}: the text rules out {own!r}")
    return found


def _own(of: Sentence, tables: dict[str, Any], package: str) -> Any:
    if of.constant:
        module, _, name = of.constant.rpartition(".")
        return getattr(import_module(f"{package}.{module}".rstrip(".")), name)
    if of.experiment:
        make, *arguments = of.experiment
        tables = getattr(import_module(f"{package}.experiments"), make)(*arguments).to_dict()
    return _look_up(tables, of.setup)


def _look_up(tables: Any, path: str) -> Any:
    for part in path.split("."):
        tables = tables[int(part) if isinstance(tables, list) else part]
    return tables


def of_page(page: Path) -> tuple[str, str]:
    """Text between the marks of a page, and the text from its data. Raises `LookupError` without marks."""
    return marked.between(page, MARK), rows(sentences.of_paper(page.parent.name))


if __name__ == "__main__":
    for page in PAGES:
        marked.put(page, MARK, of_page(page)[1])
