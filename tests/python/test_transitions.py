"""The transition tables of the mobility protocols' roles say what the code does.

Each role's file begins with its table; the snapshots of every state and input are what the role does. The page
docs/models/transitions.md shows the tables: `python tests/python/test_transitions.py` writes it anew.
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

_MOBILITY = ROOT / "crates/mobility/src"
_PAGE = ROOT / "docs/models/transitions.md"
_HEADINGS = ["state", "input", "does", "next"]
# The snapshots of each role, by the folder and file of its table.
_SNAPSHOTS = {
    "mobile_ip/mobile_host": ["mobile_host"],
    "mobile_ip/base_station": ["base_station"],
    "mobile_ip/foreign_agent": ["foreign_agent"],
    "mobile_ip/home_agent": ["home_agent"],
    "mobile_ip/correspondent": ["correspondent"],
    "lte_x2/user_equipment": ["user_equipment"],
    "lte_x2/enodeb": [
        "source_base_station",
        "target_base_station",
        "base_stations_with_an_early_path_switch",
        "base_stations_that_forward_nothing_or_out_of_order_or_admit_nobody",
    ],
    "lte_x2/mme": ["mme"],
    "lte_x2/serving_gateway": ["serving_gateway"],
}


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
    folder = _MOBILITY / role.partition("/")[0] / "tests/snapshots"
    for name in _SNAPSHOTS[role]:
        (snapshot,) = folder.glob(f"*__{name}.snap")
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
    with_table = {
        source.relative_to(_MOBILITY).with_suffix("").as_posix()
        for source in _MOBILITY.glob("*/*.rs")
        if re.search(
            r"^//! \| state[^|]*\| input \| does \| next \|$",
            source.read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    }
    assert with_table == set(_SNAPSHOTS)
    taken = sorted(name for names in _SNAPSHOTS.values() for name in names)
    assert taken == sorted(
        path.stem.rpartition("__")[2] for path in _MOBILITY.glob("*/tests/snapshots/*__table__*")
    )


@pytest.mark.parametrize("role", _SNAPSHOTS)
def test_every_change_of_state_stands_in_the_table(role: str) -> None:
    steps = list(_steps(role))
    words = {word for step in steps for word in (step.state, step.next)}
    allowed = set().union(*_pairs(_table(role), words))
    changes = {(step.state, step.next) for step in steps if step.state != step.next}
    assert changes - allowed == set()


@pytest.mark.parametrize("role", _SNAPSHOTS)
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


def page() -> str:
    """docs/models/transitions.md."""
    text = """\
# Transition tables

What each role of the [mobility protocols](README.md) does in each state. Made from the heads of the roles' files by
`python tests/python/test_transitions.py`; a test compares every row with the snapshots of every state and input.
"""
    for role in _SNAPSHOTS:
        folder, name = role.split("/")
        title = f"{folder.replace('_', '-')}: {name.replace('_', ' ')}"
        text += f"\n## {title}\n\n[{name}.rs](../../crates/mobility/src/{role}.rs)\n\n"
        text += "| state | input | does | next |\n| --- | --- | --- | --- |\n"
        text += "".join(f"| {' | '.join(row)} |\n" for row in _table(role))
    return text


def test_the_page_shows_the_tables() -> None:
    assert _PAGE.read_text(encoding="utf-8") == page()


if __name__ == "__main__":
    _PAGE.write_text(page(), encoding="utf-8")
