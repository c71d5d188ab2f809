"""The pages of the mobility protocols show the transition tables that run.

A role's table is the macro `transitions!` in its file. The tests of `crates/mobility` compare it with what the role
does. The page of the protocol ends with the tables: `python tests/python/project/test_transitions.py` writes them
again.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from conftest import ROOT

if TYPE_CHECKING:
    from pathlib import Path

_MOBILITY = ROOT / "crates/mobility/src"
_TABLE = re.compile(
    r'^crate::transitions! \{\n    \w+, "(state[^"]*)": (.*?);\n(.*?)^\}$', re.MULTILINE | re.DOTALL
)
_CELL = re.compile(r'"([^"]*)"')
_ROLES = sorted(
    source.relative_to(_MOBILITY).with_suffix("").as_posix()
    for source in _MOBILITY.glob("*/*.rs")
    if _TABLE.search(source.read_text(encoding="utf-8"))
)


def _table(role: str) -> tuple[str, list[list[str]]]:
    """The heading of a role's table and its rows: state, input, condition, actions, next state."""
    found = _TABLE.search((_MOBILITY / f"{role}.rs").read_text(encoding="utf-8"))
    assert found
    return found[1], [_CELL.findall(line) for line in found[3].splitlines()]


def test_every_role_has_a_table() -> None:
    """The enum of a protocol's roles takes only roles with a table; `Core` of LTE is two of them at one node."""
    roles = sum(
        len(re.findall(r"^    \w+,$", listed, re.MULTILINE))
        for source in _MOBILITY.glob("*/mod.rs")
        for listed in re.findall(r"^crate::roles! \{$(.*?)^\}$", source.read_text(), re.MULTILINE | re.DOTALL)
    )
    assert len(_ROLES) == roles - 1
    assert all(len(row) == 5 for role in _ROLES for row in _table(role)[1])


_HEAD = "## Transition tables\n"


def _page(folder: str) -> Path:
    return ROOT / f"docs/models/{folder.replace('_', '-')}.md"


def _section(folder: str) -> str:
    """The end of a protocol's page."""
    text = f"""{_HEAD}
In tests these tables run with the roles: a change of state that no row permits ends the run with a report. A row whose
condition is not met has no effect. `route` and `release` lead to a neighbour or over the air.
`python tests/python/project/test_transitions.py` writes the tables from the roles' files.
"""
    for role in _ROLES:
        if role.startswith(f"{folder}/"):
            name = role.partition("/")[2]
            heading, rows = _table(role)
            text += f"\n### {name.replace('_', ' ').capitalize()}\n\n"
            text += f"[{name}.rs](../../crates/mobility/src/{role}.rs)\n\n"
            text += f"| {heading} | input | condition | actions | next |\n| --- | --- | --- | --- | --- |\n"
            text += "".join(f"| {' | '.join(row)} |\n" for row in rows)
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
