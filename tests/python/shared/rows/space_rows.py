"""Results of searches, on the papers' pages: written from the records that ship with the package.

The table over the whole space is of `explored.json`, the section on one setting for all results of `fit.json`.

    python tests/python/shared/rows/space_rows.py

puts them there again, a new section before "## The paper's sentences". Needs the package.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roamlab import papers
from roamlab.papers.robustness import RECORD, Known, ruled_out
from roamlab.statistics.claims import final

if TYPE_CHECKING:
    from collections.abc import Sequence

PAGES = sorted(path.parent / "README.md" for path in Path(papers.__path__[0]).glob(f"*/{RECORD}"))
_TABLE = re.compile(r"(?<=\n)\| claim \| default \| verdict \| holds in .*?\n(?=\n)", re.DOTALL)
FIT = "fit.json"
FIT_PAGES = [page for page in PAGES if (page.parent / FIT).exists()]
HEADING = "## One setting for all results\n"
_SECTION = re.compile(rf"(?<=\n){HEADING}.*?\n(?=\n## )", re.DOTALL)
NEXT = "## The paper's sentences"
_COLUMNS = (
    "claim",
    "default",
    "verdict",
    "holds in [%]",
    "contradicted in [%]",
    "what decides [% of the margin's variance]",
    "the other verdict",
)
_MOST = 2


def table(paper: str, record: dict[str, Any]) -> str:
    """For each claim its verdict by default and over all settings, its shares of the settings, and where it turns."""
    found = Known.of(record).found
    rows = (
        _row(
            (
                name.partition(".")[2],
                claim["default"],
                final(claim["default"], replace(found[name], excluded=ruled_out(paper, found[name].turn))),
                _share(claim["shares"]["holds"]),
                _share(claim["shares"]["contradicted"]),
                _deciding(claim["deciding"]),
                claim["robustness"].partition("; ")[2],
            )
        )
        for name, claim in record["claims"].items()
    )
    return _row(_COLUMNS) + _row(["---"] * len(_COLUMNS)) + "".join(rows)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |\n"


def _share(share: list[float]) -> str:
    effect, low, high = (round(part * 100) for part in share)
    return f"{effect} ({low} … {high})"


def _deciding(deciding: list[dict[str, Any]]) -> str:
    told = [f"{' with '.join(each['axes'])}: {_share(each['share'])}" for each in deciding[:_MOST]]
    return "; ".join(told) or "nothing"


def section(paper: str, record: dict[str, Any]) -> str:
    """The setting under which most results hold together: how it differs from the default, and what holds under it."""
    headline = record["headline"].partition(", ")[0]
    axes = [
        _row((each["axis"], each["default"], each["fit"], each["text"]))
        for each in record["axes"]
        if each["fit"] != each["default"]
    ]
    nowhere = record["nowhere"]
    claims = [
        _row(
            (
                name.partition(".")[2],
                each["default"],
                each["verdict"],
                each["measured"],
                f"never; closest with {nowhere[name]['line']}" if name in nowhere else "",
            )
        )
        for name, each in record["claims"].items()
        if each["kind"] == "result"
    ]
    return (
        f"{HEADING}\n`roamlab reproduce {paper} --explore` tried {record['settings']} settings that the text permits. "
        f"{headline}; under the "
        f"default {record['holds']['default']} of {record['results']}, on the same {record['fresh_runs']} further "
        "runs. It differs from the default in:\n\n"
        + _row(("choice", "default", "this setting", "statement of the text"))
        + _row(["---"] * 4)
        + "".join(axes)
        + "\n"
        + _row(("result", "default", "this setting", "decided by", "holds under no setting tried"))
        + _row(["---"] * 5)
        + "".join(claims)
        + _apart(record["apart"])
    )


def _apart(pairs: list[list[str]]) -> str:
    """Pairs of results that hold, and never both."""
    if not pairs:
        return ""
    others: dict[str, list[str]] = {}
    for first, second in pairs:
        others.setdefault(first.partition(".")[2], []).append(second.partition(".")[2])
    rows = [_row((first, ", ".join(second))) for first, second in others.items()]
    head = _row(("a result that holds in some setting", "results that hold in another, and in none with it"))
    return "\n" + head + _row(["---"] * 2) + "".join(rows)


def fit_of_page(page: Path) -> tuple[str, str]:
    """The section on the page, and that of the record."""
    text = page.read_text(encoding="utf-8")
    (found,) = _SECTION.findall(text) or [""]
    record = json.loads((page.parent / FIT).read_text(encoding="utf-8"))
    return found, section(page.parent.name, record)


def of_page(page: Path) -> tuple[str, str]:
    """The table on a paper's page, and that of its record."""
    (stands,) = _TABLE.findall(page.read_text(encoding="utf-8"))
    record = json.loads((page.parent / RECORD).read_text(encoding="utf-8"))
    return stands, table(page.parent.name, record)


if __name__ == "__main__":
    for page in FIT_PAGES:
        before, after = fit_of_page(page)
        text = page.read_text(encoding="utf-8")
        text = text.replace(before, after) if before else text.replace(f"\n{NEXT}", f"\n{after}\n{NEXT}")
        page.write_text(text, encoding="utf-8")
    for page in PAGES:
        page.write_text(page.read_text(encoding="utf-8").replace(*of_page(page)), encoding="utf-8")
