"""The parts of the world: none imports more of another than `docs/architecture.md` permits, and none shows its data."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pytest

from rust_imports import Crate

if TYPE_CHECKING:
    from pathlib import Path

_HEAD = "| part | modules | holds | sees of the others |\n"
# Permitted imports of each part from another: a module that is the other's interface.
_INTERFACES = {
    "Flows": set[str](),
    "Network": {"crate::layer2::cells", "crate::control::agent", "crate::wifi::association"},
    "Cells": set[str](),
    "Agents": {"crate::dataplane::network"},
    "Stations": {"crate::control", "crate::control::messages", "crate::dataplane::network"},
}
# Where the type of a part is.
_FILES = {
    "Flows": "endpoints/flows",
    "Network": "dataplane/network",
    "Cells": "layer2/cells",
    "Agents": "control",
    "Stations": "wifi",
}
# Where parts are put together, or taken apart when a run is over.
_ASSEMBLY = {"crate::run"}


def _parts(root: Path) -> dict[str, set[str]]:
    """The modules of each part, as the page lists them."""
    page = (root / "docs/architecture.md").read_text(encoding="utf-8")
    rows = page.split(_HEAD)[1].split("\n\n")[0].splitlines()[1:]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {row[0].strip("`"): {f"crate::{name}" for name in re.findall(r"`(\w+)`", row[1])} for row in cells}


def _wrong(source: Path, parts: dict[str, set[str]]) -> list[str]:
    """Imports of a part that it may not have."""
    owners = {module: part for part, modules in parts.items() for module in modules}
    assembly = dict.fromkeys(_ASSEMBLY, "the assembly")
    found = []
    for module, imports in Crate(source).imports().items():
        part = owners.get("::".join(module.split("::")[:2]))
        for wanted in imports if part else ():
            other = {**owners, **assembly}.get("::".join(wanted.split("::")[:2]), part)
            if other != part and wanted not in _INTERFACES[part or ""]:
                found.append(f"{module} of {part} imports {wanted} of {other}")
    return found


def test_the_page_lists_the_parts_and_their_modules(root: Path) -> None:
    parts = _parts(root)
    assert parts.keys() == _INTERFACES.keys()
    modules = Crate(root / "crates/world/src").imports().keys()
    assert {module for names in parts.values() for module in names} <= modules


def test_a_part_imports_of_another_only_its_interface(root: Path) -> None:
    assert _wrong(root / "crates/world/src", _parts(root)) == []


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("endpoints/flows/endpoint", "use crate::dataplane::node::Node;"),
        ("endpoints/flows/explain", "use crate::dataplane::network::Network;"),
        ("endpoints/flow", "fn f(links: &crate::dataplane::link::Links) {}"),
        ("dataplane/network/ip", "use crate::endpoints::flow::Flow;"),
        ("dataplane/network/holding", "use crate::control::Agents;"),
        ("layer2/cells/motion", "use crate::dataplane::network::Network;"),
        ("control/motion", "use crate::layer2::cells::Cells;"),
        ("control", "use crate::run::world::{Planes, World};"),
        ("control/motion", "use crate::wifi::Stations;"),
        ("wifi/base_station", "use crate::dataplane::link::Links;"),
    ],
)
def test_an_import_of_another_part_is_found(root: Path, tmp_path: Path, module: str, line: str) -> None:
    source = tmp_path / "src"
    shutil.copytree(root / "crates/world/src", source)
    path = source / f"{module}.rs"
    path.write_text(f"{line}\n{path.read_text(encoding='utf-8')}", encoding="utf-8")
    assert [found.split(" ")[0] for found in _wrong(source, _parts(root))] == [
        "crate::" + module.replace("/", "::")
    ]


@pytest.mark.parametrize("part", _INTERFACES)
def test_the_data_of_a_part_are_its_own(root: Path, part: str) -> None:
    text = (root / f"crates/world/src/{_FILES[part]}.rs").read_text(encoding="utf-8")
    fields = text.split(f"pub struct {part} {{\n")[1].split("\n}\n")[0]
    assert len(re.findall(r"^    \w+: ", fields, re.MULTILINE)) >= 2
    assert not re.search(r"^    pub", fields, re.MULTILINE)


def _sources(root: Path, *patterns: str) -> dict[str, str]:
    """The sources of the world that match, without their tests."""
    folder = root / "crates/world/src"
    paths = (path for pattern in patterns for path in folder.glob(pattern) if path.name != "tests.rs")
    texts = {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    return {name: text.split("#[cfg(test)]\nmod tests {")[0] for name, text in texts.items()}


def _functions(sources: dict[str, str], head: str) -> list[tuple[str, str]]:
    """Functions that begin so: their names and parameters."""
    return [
        found
        for text in sources.values()
        for found in re.findall(rf"{head} (\w+)(?:<[^>]*>)?\(([^)]*)\)", text)
    ]


def test_a_packet_enters_a_link_by_one_function(root: Path) -> None:
    entries = [
        name
        for name, taken in _functions(_sources(root, "dataplane/link.rs", "dataplane/link/*.rs"), "pub fn")
        if "PacketId" in taken
    ]
    # The others resume what the first began: RLC sends the packet again, or the scenario has held it back.
    assert sorted(entries) == ["enqueue", "enter_again", "enter_late"]


def test_a_packet_enters_a_node_by_one_function_and_has_one_next_hop(root: Path) -> None:
    sources = _sources(root, "dataplane/network.rs", "dataplane/network/*.rs")
    names = [name for name, _ in _functions(sources, "fn")]
    for name in ("ip_input", "ip_forward", "ip_output", "next_hop"):
        assert names.count(name) == 1, name
    for call, module in ((".ip_input(", "arrival"), ("LocalDelivery::of(", "ip"), (".lookup(", "ip")):
        assert {name for name, text in sources.items() if call in text} == {
            f"dataplane/network/{module}.rs"
        }, call


def test_drop_tail_is_a_queue_discipline_and_nothing_else(root: Path) -> None:
    sources = _sources(root, "**/*.rs")
    assert [name for name, text in sources.items() if "QueueOverflow" in text] == []
    disciplines = root / "crates/qdisc/src"
    assert [
        path.name
        for path in disciplines.glob("**/*.rs")
        if "struct DropTail" in path.read_text(encoding="utf-8")
    ] == ["droptail.rs"]
