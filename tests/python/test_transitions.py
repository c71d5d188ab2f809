"""The transition tables of the mobility protocols' roles say what the code does.

Each role's file begins with its table; the snapshots of every state and input are what the role does. The page of
the protocol ends with the tables: `python tests/python/test_transitions.py` writes them anew.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import pytest

from conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MOBILITY = ROOT / "crates/mobility/src"
_HEADINGS = ["state", "input", "does", "next"]
_FIRST_ROW = re.compile(r"^//! \| state[^|]*\| input \| does \| next \|$", re.MULTILINE)
_ROLES = sorted(
    source.relative_to(_MOBILITY).with_suffix("").as_posix()
    for source in _MOBILITY.glob("*/*.rs")
    if _FIRST_ROW.search(source.read_text(encoding="utf-8"))
)


def _snapshots(role: str) -> list[Path]:
    """The snapshots of a role: their names begin with that of its file."""
    folder, name = role.split("/")
    found = sorted((_MOBILITY / folder / "tests/snapshots").glob("*__table__*.snap"))
    return [path for path in found if f"{path.stem.rpartition('__')[2]}_".startswith(f"{name}_")]


@dataclass(frozen=True)
class Step:
    """A transition of a snapshot."""

    state: str
    next: str
    acts: bool


def _table(role: str) -> list[list[str]]:
    """The rows of a role's table, as cells."""
    rows = []
    for line in (_MOBILITY / f"{role}.rs").read_text(encoding="utf-8").splitlines():
        if line.startswith("//! |") and "| ---" not in line:
            rows.append([cell.strip() for cell in line.removeprefix("//! |").rstrip(" |").split("|")])
        elif rows and not line.startswith("//! |"):
            break
    assert [heading.split(" ")[0] for heading in rows[0]] == _HEADINGS
    return [row + [""] * (4 - len(row)) for row in rows[1:]]


def _steps(role: str) -> Iterator[Step]:
    """What the snapshots of a role show."""
    for snapshot in _snapshots(role):
        state = ""
        for line in snapshot.read_text(encoding="utf-8").split("---\n", 2)[2].splitlines():
            if header := re.fullmatch(r"\S.* = ([\w-]+)", line):
                state = header[1]
            elif step := re.fullmatch(r"  .* -> ([\w-]+)(.*)", line):
                yield Step(state, step[1], bool(step[2].strip()))


def _pairs(rows: list[list[str]], words: set[str]) -> list[set[tuple[str, str]]]:
    """For each row the pairs of states that it leads from and to."""

    def named(cell: str) -> set[str]:
        return {word for word in words if re.search(rf"(?<![\w-]){word}(?![\w-])", cell)}

    found: list[set[tuple[str, str]]] = []
    before: set[str] = set()
    for state, _, _, then in rows:
        states = before if state == "the same" else named(state) or (words if "any" in state else set())
        assert states, state
        before = states
        if then == "same":
            found.append({(word, word) for word in states})
            continue
        assert named(then), then
        found.append(set(product(states, named(then))))
    return found


def test_every_role_with_a_table_is_tied_to_its_snapshots() -> None:
    assert len(_ROLES) > 8
    assert [role for role in _ROLES if not _snapshots(role)] == []
    taken = sorted(path for role in _ROLES for path in _snapshots(role))
    assert taken == sorted(_MOBILITY.glob("*/tests/snapshots/*__table__*"))


@pytest.mark.parametrize("role", _ROLES)
def test_every_change_of_state_stands_in_the_table(role: str) -> None:
    steps = list(_steps(role))
    words = {word for step in steps for word in (step.state, step.next)}
    allowed = set().union(*_pairs(_table(role), words))
    changes = {(step.state, step.next) for step in steps if step.state != step.next}
    assert changes - allowed == set()


@pytest.mark.parametrize("role", _ROLES)
def test_every_row_of_the_table_happens(role: str) -> None:
    steps = list(_steps(role))
    words = {word for step in steps for word in (step.state, step.next)}
    rows = _table(role)
    happened = {(step.state, step.next) for step in steps if step.state != step.next or step.acts}
    stayed = {(step.state, step.next) for step in steps}
    missing = [
        row
        for row, pairs in zip(rows, _pairs(rows, words), strict=True)
        if not pairs & (happened if row[2] or row[3] != "same" else stayed)
        and not any(before == after for before, after in pairs & stayed)
    ]
    assert missing == []


_HEAD = "## Transition tables\n"


def _page(folder: str) -> Path:
    return ROOT / f"docs/models/{folder.replace('_', '-')}.md"


def _section(folder: str) -> str:
    """The end of a protocol's page."""
    text = f"""{_HEAD}
The actions of each role in each state. `python tests/python/test_transitions.py` makes the tables from the heads of the
roles' files. A test compares every row with the snapshots of every state and input.
"""
    for role in _ROLES:
        if role.startswith(f"{folder}/"):
            name = role.partition("/")[2]
            text += f"\n### {name.replace('_', ' ').capitalize()}\n\n"
            text += f"[{name}.rs](../../crates/mobility/src/{role}.rs)\n\n"
            text += "| state | input | does | next |\n| --- | --- | --- | --- |\n"
            text += "".join(f"| {' | '.join(row)} |\n" for row in _table(role))
    return text


_FOLDERS = sorted({role.partition("/")[0] for role in _ROLES})


@pytest.mark.parametrize("folder", _FOLDERS)
def test_the_page_of_a_protocol_shows_the_tables(folder: str) -> None:
    text = _page(folder).read_text(encoding="utf-8")
    assert _HEAD + text.partition(_HEAD)[2] == _section(folder)


if __name__ == "__main__":
    for each in _FOLDERS:
        before = _page(each).read_text(encoding="utf-8").partition(_HEAD)[0].rstrip()
        _page(each).write_text(f"{before}\n\n{_section(each)}", encoding="utf-8")
