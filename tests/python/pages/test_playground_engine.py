"""The engine for browsers: its tables are those of the native one, byte for byte, and so are its reports."""

from __future__ import annotations

import hashlib
import json
import subprocess
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from conftest import ROOT, of_today
from playground import node
from roamlab import _roamlab
from roamlab.causes import explain as explaining
from roamlab.explorer import explorer_page as explorer
from roamlab.pages import run_page
from roamlab.playground import page
from roamlab.running.run import run
from roamlab.scenarios.scenario import load
from roamlab.studies import scenarios as studies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Ask = Callable[..., Any]

EXAMPLES = sorted(path for path in (ROOT / "examples").rglob("*.toml") if "[run]" in path.read_text())
PAPERS = sorted(
    path for path in (ROOT / "python/roamlab/papers").rglob("*.toml") if "[run]" in path.read_text()
)
_VALID = ROOT / "crates/scenario/tests/bad_scenarios/valid.toml"
HANDOVER = (ROOT / "examples/handover.toml").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def ask() -> Iterator[Ask]:
    """One process for all tests of this module that a worker runs."""
    with node() as asked:
        yield asked


def _native(text: str, name: str, seed: int) -> dict[str, dict[str, list[Any]]]:
    """Result of `digests` of the other side, for the native engine."""
    kinds = {
        "uint64": "u64",
        "int64": "i64",
        "uint32": "u32",
        "float64": "f64",
        "bool": "bool",
        "uint8": "u8",
    }
    made = _roamlab.run(text, name, seed, 0)
    names = made.pop("names")

    def column(table: str, name: str, values: Any) -> list[Any]:
        words = names.get(f"{table}.{name}")
        content = np.ascontiguousarray(values)
        kind = kinds[values.dtype.name] if words is None else "words"
        return [
            kind,
            values.size,
            _digest(content.tobytes()),
            "" if words is None else _digest("\n".join(words).encode()),
        ]

    return {
        table: {name: column(table, name, values) for name, values in columns.items()}
        for table, columns in made.items()
    }


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _check(ask: Ask, text: str, name: str, files: dict[str, str] | None = None) -> int:
    found = ask("tables", text=text, name=name, files=files or {}, seed=3)
    assert found == _native(text, name, 3)
    return sum(next(iter(columns.values()))[1] for columns in found.values())


@pytest.mark.parametrize(
    "path", [*EXAMPLES, *PAPERS, _VALID], ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_the_tables_are_those_of_the_native_engine(ask: Ask, path: Any) -> None:
    files = page.state(load(path), path)["files"]
    text = path.read_text(encoding="utf-8")
    if path in PAPERS:
        text = load(path).set_all({"run.duration": "14 s"}).text
    assert _check(ask, text, str(path), files) > 100


def test_the_tables_of_all_schemes_are_those_of_the_native_engine(ask: Ask) -> None:
    for scheme in studies.schemes():
        assert _check(ask, studies.scenario(scheme, "call").text, scheme.name) > 100


@pytest.mark.cargo
def test_the_tables_of_the_recorded_runs_of_ns2_are_those_of_the_native_engine(ask: Ask) -> None:
    done = subprocess.run(
        ["make", "--silent", "ns2-scenarios"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    printed = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    assert len(printed) == 332
    # Their native runs are all compared with ns-2; `make deep` compares all of them here too.
    for each in of_today(printed, 12):
        assert _check(ask, each["text"], each["name"]) > 100


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"2 Mbit/s"', '"2 Mbit"'),
        ("[run]", "[rnu]"),
        ('kind = "mobile-ip"', 'kind = "hawai"'),
        ("[run]", "\x00 = ["),
        ('"bs2", at', '"bsé", at'),
    ],
)
def test_an_error_stands_where_the_native_engine_says(ask: Ask, old: str, new: str) -> None:
    text = HANDOVER.replace(old, new)
    with pytest.raises(_roamlab.ScenarioError) as native:
        _roamlab.check(text, "scenario.toml")
    found = ask("tables", text=text, name="scenario.toml", seed=1)
    assert found["message"] == str(native.value)
    assert str(native.value).startswith(f"scenario.toml:{found['line']}:{found['column']}: ")
    assert (found["field"], found["problem"], found["help"]) == (
        native.value.field,
        native.value.problem,
        native.value.help,
    )


def test_who_asked_for_a_run_is_told_of_it_and_may_end_it(ask: Ask) -> None:
    found = ask("ended", text=HANDOVER, name="x", after=3)
    assert len(found["told"]) == 3
    (_, first), (_, second), (now, third) = found["told"]
    assert first < second < third
    assert 0 < now < 40e9
    assert 0 < found["rows"] < ask("tables", text=HANDOVER, name="x", seed=1)["deliveries"]["seq"][1]


def test_a_run_takes_no_more_memory_than_it_may(ask: Ask) -> None:
    text = HANDOVER.replace('"40 s"', '"400000 s"')
    found = ask("tables", text=text, name="x", seed=1)
    assert "memory" in found["message"]
    assert "shorten `run.duration`" in found["message"]


def test_where_nothing_can_compile_it_the_build_says_what_is_missing(tmp_path: Path) -> None:
    """Neither rustup's library nor Debian's packages: `make test` continues without the page."""
    rustc = tmp_path / "rustc"
    rustc.write_text("#!/bin/sh\necho none\n")
    rustc.chmod(0o755)
    call = ["/bin/bash", ROOT / "crates/wasm/build.sh", "out", "playground"]
    done = subprocess.run(
        call, cwd=tmp_path, env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "neither rustup's library nor Debian's packages are here" in done.stderr
    assert "rustup target add wasm32-unknown-unknown" in done.stderr


_EARLY: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"kind": "codel", "interval": "20 ms", "target": "2 ms"}, {}),
    ({"kind": "red", "min_threshold": "2 pkt", "max_threshold": "6 pkt", "queue_weight": 0.2}, {}),
    ({"kind": "dualpi2", "target": "2 ms", "alpha": 2.0, "beta": 30.0}, {"record.queues": ["bs2/air"]}),
    (
        {"kind": "codel", "interval": "10 ms", "target": "1 ms", "mark_ecn": True},
        {f"flows.{flow}.transport.ecn": True for flow in (0, 1)},
    ),
]
"""Queues that drop or mark early, one of them without its record."""
_VARIANTS: list[tuple[str, dict[str, Any]]] = (
    [("handover", {"mobility.buffer.limit": limit}) for limit in ("4 pkt", "8 pkt", "16 pkt", "64 pkt")]
    + [("handover", {"radio": {"kind": "hard", "gap": gap}}) for gap in ("100 ms", "500 ms", "2 s")]
    + [(path.stem, {}) for path in EXAMPLES if path.parent.name == "examples"]
    + [("roaming", {"radio.scan": "passive"})]
    + [
        # A link that is down for a while, in addition to the host's own move: the last wait is the timer's.
        ("handover", {"links.0.changes": [{"at": f"{at} s", "up": at > 12} for at in (12, 19)]}),
    ]
    + [
        (
            "busy-cell",
            {
                "cells.bs1.queue": queue,
                "cells.bs2.queue": queue,
                "mobility.buffer.limit": "64 pkt",
                **changes,
            },
        )
        for queue, changes in _EARLY
    ]
)


@pytest.mark.parametrize(("name", "changes"), _VARIANTS)
def test_the_page_is_told_what_the_command_line_tells(ask: Ask, name: str, changes: dict[str, Any]) -> None:
    """Stalls, slow periods, their sentences, hosts and queues, as `roamlab why` and `roamlab explore` have them."""
    scenario = load(ROOT / f"examples/{name}.toml").set_all({"record.packets": True, **changes})
    results, _ = explaining.with_record(run(scenario, 1))
    told = explaining.explain(results)
    order = explorer._queues(results)
    expected = explorer._run(results, told, "run", order, (0, results.manifest.outline.duration_ns))
    found = ask("facts", text=results.manifest.scenario_text, name=scenario.name, seed=1)
    for field in expected.keys() - {"name", "title", "nodes"}:
        assert found[field] == expected[field], field
    assert sorted(found["nodes"]) == sorted(expected["nodes"]) or len(expected["nodes"]) == explorer.NODES
    said = run_page.headline(results).split("; the picture")[0].rstrip(".").split("; ")
    assert all(part in found["headline"] for part in said)
