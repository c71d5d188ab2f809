"""The walls between crates, between rooms of the Python package and between modules: who may import whom."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

import python_imports
import roamlab as rl
from conftest import ROOT
from python_imports import ENGINE, FACE
from rust_imports import Crate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_RECORDS = {"schemars", "serde"}
_TRANSPORTS = {"roamlab-congestion", "roamlab-tcp", "roamlab-quic", "roamlab-quinn", "roamlab-transport"}
_MODELS = {"roamlab-engine", "roamlab-packet", "roamlab-qdisc", "roamlab-traffic"} | {
    "roamlab-mobility",
    "roamlab-radio",
}
ALLOWED: dict[str, set[str]] = {
    "roamlab-engine": {"libm", "prefetch-index", "rand_chacha", "rand_core", "sha2", "thiserror"} | _RECORDS,
    "roamlab-packet": {"roamlab-engine", "serde"},
    "roamlab-qdisc": {"libm", "roamlab-engine", "roamlab-packet"} | _RECORDS,
    # Congestion control knows no transport, and QUIC knows no TCP.
    "roamlab-congestion": {"libm", "roamlab-engine"} | _RECORDS,
    "roamlab-tcp": {"roamlab-congestion", "roamlab-engine", "roamlab-packet"} | _RECORDS,
    "roamlab-quic": {"roamlab-congestion", "roamlab-engine", "roamlab-packet"} | _RECORDS,
    # A QUIC stack as a library, and the type of its buffers.
    "roamlab-quinn": {
        "bytes",
        "quinn-proto",
        "roamlab-congestion",
        "roamlab-engine",
        "roamlab-packet",
        "roamlab-quic",
    }
    | _RECORDS,
    "roamlab-transport": {
        "roamlab-congestion",
        "roamlab-engine",
        "roamlab-packet",
        "roamlab-quic",
        "roamlab-quinn",
        "roamlab-tcp",
    }
    | _RECORDS,
    "roamlab-traffic": {"libm", "roamlab-engine"} | _RECORDS,
    "roamlab-mobility": {"roamlab-engine", "roamlab-packet"} | _RECORDS,
    "roamlab-radio": {"libm", "roamlab-engine"} | _RECORDS,
    "roamlab-scenario": {"rustc-hash", "serde_json", "thiserror", "toml"}
    | _MODELS
    | {"roamlab-congestion", "roamlab-tcp", "roamlab-transport"}
    | _RECORDS,
    "roamlab-record": {
        "roamlab-congestion",
        "roamlab-engine",
        "roamlab-packet",
        "roamlab-qdisc",
        "roamlab-traffic",
    }
    | {"rustc-hash"},
    # It runs the ends of flows through the interface in `transport`, and knows none of them.
    "roamlab-world": {"roamlab-record", "roamlab-scenario", "rustc-hash", "thiserror"}
    | _MODELS
    | {"roamlab-congestion", "roamlab-transport"},
    # rustix passes files and waits, and vm-memory maps files, without own `unsafe`.
    "roamlab-outside": {
        "roamlab-congestion",
        "roamlab-engine",
        "roamlab-packet",
        "roamlab-transport",
        "roamlab-scenario",
        "roamlab-world",
    }
    | {"rustix", "thiserror", "vm-memory"},
    # The definition of slow periods, for records and captures.
    "roamlab-slow": set(),
    # Answers leave as JSON, for both bindings.
    # Captures are other programs': no crate of the simulator is in it, and of the analyses only that of rates.
    # ipcrypt-rs is the cipher of anonymous captures.
    "roamlab-capture": {"etherparse", "flate2", "ipcrypt-rs", "pcap-parser", "roamlab-slow"}
    | {"rustc-hash", "ruzstd", "serde", "serde_json", "thiserror"},
    "roamlab-analysis": {
        "roamlab-engine",
        "roamlab-packet",
        "roamlab-record",
        "roamlab-scenario",
        "roamlab-slow",
        "rustc-hash",
        "serde",
        "serde_json",
        "thiserror",
    },
    # The binding passes arrivals through a queue, which it reads as JSON.
    "roamlab-python": {
        "numpy",
        "pyo3",
        "rayon",
        "roamlab-analysis",
        "roamlab-capture",
        "roamlab-engine",
        "roamlab-outside",
    }
    | {"roamlab-packet", "roamlab-qdisc", "roamlab-record", "roamlab-scenario", "roamlab-world"}
    | {"serde", "serde_json", "thiserror"},
    # wasm-bindgen needs no own `unsafe`; with toml_edit a slider changes a field and keeps the rest of the
    # text.
    "roamlab-wasm": {
        "roamlab-analysis",
        "roamlab-capture",
        "roamlab-engine",
        "roamlab-scenario",
        "roamlab-world",
    }
    | {"serde_json", "toml_edit", "wasm-bindgen"},
}
_FOR_TESTS = {"insta", "libm", "proptest", "serde_json", "toml", "flate2"} | {"num-rational", "s2n-quic-core"}
# Benchmarks and fuzz targets may look into every crate; no crate imports them.
# The binding's build script hashes the sources.
_OUTSIDE = {"roamlab-benches", "roamlab-fuzz"}
_TO_BUILD = {"roamlab-python": {"sha2"}}


@pytest.fixture(scope="module")
def packages(root: Path) -> dict[str, dict[str, Any]]:
    """The workspace's crates by name."""
    command = ["cargo", "metadata", "--format-version=1", "--no-deps", "--locked", "--offline"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return {package["name"]: package for package in json.loads(done.stdout)["packages"]}


def _imports(package: dict[str, Any], kind: str | None) -> set[str]:
    return {dependency["name"] for dependency in package["dependencies"] if dependency["kind"] == kind}


def test_every_crate_stands_in_the_list(packages: dict[str, dict[str, Any]]) -> None:
    assert set(packages) == {*ALLOWED, *_OUTSIDE}
    assert all(
        not _OUTSIDE & _imports(package, kind) for package in packages.values() for kind in (None, "dev")
    )


@pytest.mark.parametrize("crate", ALLOWED)
def test_a_crate_imports_exactly_what_it_may(packages: dict[str, dict[str, Any]], crate: str) -> None:
    assert _imports(packages[crate], None) == ALLOWED[crate]
    assert _imports(packages[crate], "build") == _TO_BUILD.get(crate, set())
    assert _imports(packages[crate], "dev") <= _FOR_TESTS | ALLOWED[crate] | _TRANSPORTS


def test_the_layers_have_an_order() -> None:
    above: set[str] = set()
    for crate, imports in ALLOWED.items():
        assert {name for name in imports if name.startswith("roamlab-")} <= above
        above.add(crate)


@pytest.mark.parametrize("method", ["Instant::now", "SystemTime::now", "env::var", "File::open", "f64::exp"])
def test_models_are_kept_from_the_machine(root: Path, method: str) -> None:
    assert f'{method}"' in (root / "clippy.toml").read_text(encoding="utf-8")


_PROTOCOLS = sorted(page.parent.name for page in (ROOT / "crates/mobility/src").glob("*/install.rs"))
# Protocols that are composed of another's roles: BCMP's global protocol is Mobile IP, with its home agent and messages.
_COMPOSED = {"mobile_ip": {"bcmp"}}
# A module of tests ends its file.
_TESTS = re.compile(r"^#\[cfg\(test\)\]\nmod \w+ \{.*", re.MULTILINE | re.DOTALL)


def _sources(root: Path) -> Iterator[tuple[Path, str]]:
    """Code that is not tests: the crates' code, and the Python package without its papers."""
    for source in sorted(root.glob("crates/*/src/**/*.rs")):
        if "tests" not in source.parts and source.name not in ("bottleneck.rs", "tests.rs", "walks.rs"):
            yield source, _TESTS.sub("", source.read_text(encoding="utf-8"))
    for source in sorted(root.glob("python/roamlab/**/*.py")):
        if "papers" not in source.parts:
            yield source, source.read_text(encoding="utf-8")


def _is_of_the_dialect(source: Path) -> bool:
    """`params.rs` and `profiles.rs` have the rows of profiles, and the Linux fields of a scenario."""
    return "linux" in source.parts or source.name in ("linux.rs", "params.rs", "profiles.rs")


def test_generic_code_of_transports_names_no_kernel(root: Path) -> None:
    """It asks for a rule. What is left declares the modules, and the transport that runs a kernel."""
    named = [
        f"{source.relative_to(root)}: {line.strip()}"
        for source, code in _sources(root)
        if f"roamlab-{source.relative_to(root).parts[1]}" in _TRANSPORTS and not _is_of_the_dialect(source)
        for line in code.splitlines()
        if re.search("linux|kernel", line, re.IGNORECASE)
    ]
    assert len(named) <= 12, named


@pytest.mark.parametrize(
    ("file", "item", "part", "most"),
    [
        ("events.rs", "pub struct AckEvent {", r"^    pub \w+:", 14),
        ("algorithm.rs", "pub trait Algorithm {", r"^    fn \w+\(", 18),
    ],
)
def test_a_congestion_control_has_few_fields_and_methods(
    root: Path, file: str, item: str, part: str, most: int
) -> None:
    code = (root / "crates/congestion/src" / file).read_text(encoding="utf-8")
    body = code.split(item)[1].split("\n}\n")[0]
    assert 0 < len(re.findall(part, body, re.MULTILINE)) <= most


_WORDS = ("crates/scenario/src/suggest/", "python/roamlab/against/")
"""The words of refusals, a list of names that no code uses, and the scenarios that are drawn for a
comparison."""


@pytest.mark.parametrize("folder", _PROTOCOLS)
def test_a_mobility_protocol_is_named_in_its_folder_and_in_one_row(root: Path, folder: str) -> None:
    """The folder, the name in scenarios ("mobile-ip") and the variant (`MobileIp`); next to the row its `mod` line.

    A protocol that is composed of another's roles may name it.
    """
    folders = {folder} | _COMPOSED.get(folder, set())
    variant = "".join(part.capitalize() for part in folder.split("_"))
    named = re.compile(rf"\b({folder}|{folder.replace('_', '-')}|{variant})\b")
    places = [
        (source.relative_to(root).as_posix(), line.strip())
        for source, text in _sources(root)
        if not folders & set(source.relative_to(root).parts)
        and not source.relative_to(root).as_posix().startswith(_WORDS)
        for line in text.splitlines()
        if named.search(line)
    ]
    assert places == [
        ("crates/mobility/src/lib.rs", f"pub mod {folder};"),
        (
            "crates/mobility/src/spec.rs",
            f'"{folder.replace("_", "-")}" => {folder} as {variant}:',
        ),
    ]


# The crate that runs the ends of a transport outside of the simulation.
_RUN_BY = {"linux": "crates/outside/"}


def test_a_transport_is_named_in_its_module_and_in_one_row(root: Path) -> None:
    """No other code has an arm or a question for one transport."""
    family = root / "crates/transport/src/family.rs"
    rows = re.findall(r'^    "([\w-]+)" => (\w+) as (\w+):', family.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) >= len({"tcp", "quic", "quinn", "linux", "udp"})
    named = [
        f"{place}: {line.strip()}"
        for name, module, variant in rows
        for source, text in _sources(root)
        for place in [source.relative_to(root).as_posix()]
        if source.suffix == ".rs"
        and source != family
        and not place.startswith((f"crates/transport/src/{module}", _RUN_BY.get(name, "no place"), *_WORDS))
        for line in text.splitlines()
        if re.search(
            rf'\b(Transport|TransportSpec|Payload)::{variant}\b|\btransport\.{module}\(\)|(?<!== )"{name}"\s*(=>|\|)',
            line,
        )
    ]
    assert named == []


def _circles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """The largest sets of modules that all import each other, directly or through others."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        found, wanted = set(), [start]
        while wanted:
            new = graph.get(wanted.pop(), set()) - found
            found |= new
            wanted += new
        reached[start] = found
    return {
        frozenset(other for other in found if other in reached and start in reached[other])
        for start, found in reached.items()
        if start in found
    }


def _room(module: str, rooms: dict[str, list[str]]) -> str:
    """The room of a module, which may be the room's own `__init__.py`."""
    return module if module in rooms else module.rpartition(".")[0]


_BESIDE = (f"{FACE}.__main__", f"{FACE}.cli")
"""Modules outside all rooms."""


def test_each_python_module_is_in_a_listed_room(root: Path) -> None:
    rooms = python_imports.rooms(root)
    listed = {*rooms, *(f"{room}.{module}" for room, modules in rooms.items() for module in modules)}
    assert listed == python_imports.modules(root).keys() - {FACE, *_BESIDE}
    assert not {room.removeprefix(f"{FACE}.") for room in rooms} & set(rl.__all__), "a room would hide a name"


def test_a_python_module_imports_only_its_room_and_rooms_above(root: Path) -> None:
    rooms = python_imports.rooms(root)
    order = [*rooms, FACE]
    wrong = [
        f"{module} imports {wanted}"
        for module, imports in python_imports.imports(root).items()
        if module not in (FACE, *_BESIDE)
        for wanted in imports - {ENGINE, FACE}
        if order.index(_room(wanted, rooms)) > order.index(_room(module, rooms))
        or (
            wanted.split(".")[:2] == module.split(".")[:2] == [FACE, "papers"]
            and _room(wanted, rooms) not in (f"{FACE}.papers", _room(module, rooms))
        )
    ]
    assert wrong == []


def test_python_modules_have_no_import_circle(root: Path) -> None:
    """Imports in functions and under `TYPE_CHECKING` count. Three things do not, and who does them is listed here.

    The face, `roamlab/__init__.py`, imports all rooms; two modules ask it for names. A module that computes the name
    of what it imports shows no import. That importing `a.b` runs `a/__init__.py` first is no import of `a`.
    """
    imports = python_imports.imports(root)
    asking = {module for module, wanted in imports.items() if FACE in wanted}
    assert asking == {f"{FACE}.scenarios.scenario", f"{FACE}.records.results"}
    assert python_imports.by_name(root) == {
        FACE,
        f"{FACE}.cli",
        f"{FACE}.papers",
        f"{FACE}.traces",
    }
    assert not _circles({module: wanted - {FACE} for module, wanted in imports.items() if module != FACE})


@pytest.mark.parametrize("crate", sorted(path.name for path in (ROOT / "crates").iterdir()))
def test_rust_modules_have_no_import_circle(root: Path, crate: str) -> None:
    """`rust_imports.py` defines what an import is."""
    assert _circles(Crate(root / "crates" / crate / "src").imports()) == set()


def test_a_circle_is_found() -> None:
    assert _circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"d"}}) == {
        frozenset("bc"),
        frozenset("d"),
    }


@pytest.mark.parametrize(
    ("line", "imported"),
    [
        ("use crate::b::{self, Deep as D};", {"crate::b", "crate::b::deep"}),
        ("use super::{Shown, b::deep::{Deep}};", {"crate::b::deep"}),
        ("use crate::Own;", {"crate"}),
        ("fn f(x: crate::b::deep::Deep) {}", {"crate::b::deep"}),
        ("use crate::b; fn f() { b::deep::g() }", {"crate::b"}),
        ("use crate::a::inner::Inner;", set()),
        ("pub use inner::Inner;", set()),
        ("use inner::Inner; fn f(_: Inner) {}", {"crate::a::inner"}),
        ("fn f() { inner::g() }", {"crate::a::inner"}),
        ('rows! { "inner" => inner::Inner: "A row", }', set()),
        ("use std::fmt; // crate::b", set()),
        ('const TEXT: &str = "crate::b";', set()),
        ("#[cfg(test)]\nmod tests {\n    use crate::b::Deep;\n}", set()),
    ],
)
def test_imports_of_rust_modules_are_read(tmp_path: Path, line: str, imported: set[str]) -> None:
    """A crate with modules `a`, which holds the line, `a::inner`, `b` and `b::deep`, which `b` re-exports in part."""
    for name, code in {
        "lib.rs": "mod a;\nmod b;\npub use b::*;\npub use b::deep::Deep as Shown;\npub struct Own;\n",
        "a.rs": f"pub mod inner;\n{line}\n",
        "a/inner.rs": "pub struct Inner;\n",
        "b/mod.rs": "mod deep;\npub use deep::Deep;\n",
        "b/deep.rs": "pub struct Deep;\npub fn g() {}\n",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(code, encoding="utf-8")
    assert Crate(tmp_path).imports()["crate::a"] == imported
