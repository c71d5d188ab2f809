"""The walls between crates: who may import whom, and what from outside."""

from __future__ import annotations

import json
import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_RECORDS = {"schemars", "serde"}
_MODELS = {"roamlab-engine", "roamlab-packet", "roamlab-qdisc", "roamlab-transport", "roamlab-traffic"} | {
    "roamlab-mobility",
    "roamlab-radio",
}
ALLOWED: dict[str, set[str]] = {
    "roamlab-engine": {"libm", "rand_chacha", "rand_core", "sha2", "thiserror"} | _RECORDS,
    "roamlab-packet": {"roamlab-engine", "serde"},
    "roamlab-qdisc": {"libm", "roamlab-engine", "roamlab-packet"} | _RECORDS,
    "roamlab-transport": {"libm", "roamlab-engine", "roamlab-packet"} | _RECORDS,
    "roamlab-traffic": {"libm", "roamlab-engine"} | _RECORDS,
    "roamlab-mobility": {"roamlab-engine", "roamlab-packet"} | _RECORDS,
    "roamlab-radio": {"libm", "roamlab-engine"} | _RECORDS,
    "roamlab-world": {"libm", "serde_json", "thiserror", "toml"} | _MODELS | _RECORDS,
    "roamlab-python": {"numpy", "pyo3", "rayon", "roamlab-engine", "roamlab-world"},
}
_FOR_TESTS = {"insta", "proptest", "serde_json", "toml", "flate2"}
# Benchmarks and fuzz targets may look into every crate; nobody imports them.
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
    assert _imports(packages[crate], "dev") <= _FOR_TESTS | ALLOWED[crate]


def test_the_layers_have_an_order() -> None:
    above: set[str] = set()
    for crate, imports in ALLOWED.items():
        assert {name for name in imports if name.startswith("roamlab-")} <= above
        above.add(crate)


@pytest.mark.parametrize("method", ["Instant::now", "SystemTime::now", "env::var", "File::open", "f64::exp"])
def test_models_are_kept_from_the_machine(root: Path, method: str) -> None:
    assert f'{method}"' in (root / "clippy.toml").read_text(encoding="utf-8")


_PROTOCOLS = sorted(page.parent.name for page in (ROOT / "crates/mobility/src").glob("*/mod.rs"))
# A module of tests ends its file.
_TESTS = re.compile(r"^#\[cfg\(test\)\]\nmod \w+ \{.*", re.MULTILINE | re.DOTALL)


def _sources(root: Path) -> Iterator[tuple[Path, str]]:
    """What is no test: the crates' code, and the Python package without its papers."""
    for source in sorted(root.glob("crates/*/src/**/*.rs")):
        if "tests" not in source.parts and source.name != "tests.rs":
            yield source, _TESTS.sub("", source.read_text(encoding="utf-8"))
    for source in sorted(root.glob("python/roamlab/**/*.py")):
        if "papers" not in source.parts:
            yield source, source.read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", _PROTOCOLS)
def test_a_mobility_protocol_is_named_in_its_folder_and_in_one_row(root: Path, folder: str) -> None:
    """The folder, the name in scenarios ("mobile-ip") and the variant (`MobileIp`); beside the row its `mod` line."""
    variant = "".join(part.capitalize() for part in folder.split("_"))
    named = re.compile(rf"\b({folder}|{folder.replace('_', '-')}|{variant})\b")
    places = [
        (source.relative_to(root).as_posix(), line.strip())
        for source, text in _sources(root)
        if folder not in source.parts
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
