"""Additions of a newcomer to four families: files, rows and pages, and nothing else.

The families are queue disciplines, congestion controls, transports and mobility protocols.

`tests/contributing/files` holds what a newcomer writes, `tests/contributing/rows.toml` what is added to files that
exist. Both go into a copy of the project in `target/contributing`, and the copy's own tests must pass: those that go
through the families' tables and those of the pages. Then it makes a run with all four.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest
import tomli

from conftest import ROOT

_OURS = ROOT / "tests/contributing"
_COPY = ROOT / "target/contributing/project"
_TARGET = ROOT / "target/contributing/target"
_FAMILIES = {
    "queue disciplines": "longest-wait",
    "tcp congestion controls": "seven-eighths",
    "transports": "stop-and-wait",
    "mobility protocols": "plain-tunnel",
}
_CRATES = ["qdisc", "congestion", "transport", "mobility", "scenario", "python", "wasm"]
# Asked for by the same crates and targets, all is built once, and crates from outside have the features that they
# have in the project's tests: wasm is here for these.
_BUILT = [
    "--offline",
    "--locked",
    *(f"--package=roamlab-{crate}" for crate in _CRATES),
    "--lib",
    "--test",
    "bad_scenarios",
]
# Tests that go through the families' tables, and the newcomer's.
_FILTERS = ["reports", "contract", "table", "longest_wait", "seven_eighths", "stop_and_wait", "plain_tunnel"]


def _content() -> dict[str, bytes]:
    """The files of the copy: those that git knows, rows added, and the newcomer's."""
    # Of .cargo the project's own is found from within the copy.
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    names = [name for name in listed.stdout.split("\0") if name and not name.startswith(".cargo/")]
    found = {name: (ROOT / name).read_bytes() for name in names if (ROOT / name).is_file()}
    for row in tomli.loads((_OURS / "rows.toml").read_text(encoding="utf-8"))["row"]:
        before, after = found[row["file"]].decode(), row["after"] + "\n"
        assert before.count(after) == 1, row
        found[row["file"]] = before.replace(after, f"{after}{row['add']}\n").encode()
    for path in sorted((_OURS / "files").rglob("*")):
        if path.is_file():
            name = path.relative_to(_OURS / "files").as_posix()
            assert name not in found, f"{name} exists: a newcomer adds rows to it"
            found[name] = path.read_bytes()
    own = [Path(name).parent.name for name in found if fnmatch(name, "crates/*/Cargo.toml")]
    fast = "[profile.dev.package.roamlab-{}]\nopt-level = 0\n"
    found[".cargo/config.toml"] = "".join(fast.format(name) for name in own).encode()
    return found


def _run(*command: str | Path) -> str:
    environment = os.environ | {
        "CARGO_TARGET_DIR": str(_TARGET),
        "CARGO_INCREMENTAL": "0",
        "PYTHONPATH": str(_COPY / "python"),
        "INSTA_UPDATE": "no",
    }
    done = subprocess.run(command, cwd=_COPY, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def _copy() -> None:
    """Make the project with the newcomer's files and rows.

    What is as before keeps its time, so that cargo does not build it again. Crates from outside are taken as
    the project's tests have built them; its own have the same names as the copy's and need a separate folder.
    """
    content = _content()
    for path in [path for path in _COPY.rglob("*") if path.is_file()]:
        if path.relative_to(_COPY).as_posix() not in content:
            path.unlink()
    for name, wanted in content.items():
        path = _COPY / name
        if not path.is_file() or path.read_bytes() != wanted:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(wanted)
    built = ROOT / "target/debug"
    for path in [path for kind in ("deps", "build", ".fingerprint") for path in (built / kind).rglob("*")]:
        inside = path.relative_to(built)
        if path.is_file() and not inside.parts[1].removeprefix("lib").startswith(("roamlab", "_roamlab")):
            linked = _TARGET / "debug" / inside
            linked.parent.mkdir(parents=True, exist_ok=True)
            if not linked.exists():
                # Libraries are large, and rustc replaces them whole; cargo writes into its own files.
                (os.link if inside.parts[0] == "deps" else shutil.copy2)(path, linked)


def _engine() -> None:
    """Take the copy's engine, so that its Python package and its tests run."""
    messages = _run("cargo", "build", *_BUILT, "--message-format=json")
    built = [json.loads(line) for line in messages.splitlines()]
    (library,) = [
        name
        for message in built
        if message["reason"] == "compiler-artifact" and message["target"]["name"] == "_roamlab"
        for name in message["filenames"]
        if name.endswith((".so", ".dylib"))
    ]
    shutil.copy2(library, _COPY / "python/roamlab/_roamlab.abi3.so")


def test_nothing_but_rows_is_added_to_files_that_exist() -> None:
    rows = tomli.loads((_OURS / "rows.toml").read_text(encoding="utf-8"))["row"]
    assert len(rows) == 2 * len(_FAMILIES), "a row in the table and a `mod` line each"
    assert len({row["file"] for row in rows}) == 8


def _test_families() -> None:
    _run("cargo", "fmt", "--all", "--check")
    said = _run("cargo", "test", *_BUILT, "--", *_FILTERS)
    for test in (
        "reports_on_fields",
        "contract::longest_wait",
        "plain::longest_wait::tests::a_short_wait_keeps_the_contract_too",
        "tests::contract::no_sequence_of_events_breaks_the_window",
        "controls::seven_eighths::tests::a_loss_takes_an_eighth",
        "stop_and_wait::tests::a_segment_is_sent_again_until_it_is_acknowledged",
        "plain_tunnel::tests::table::every_state_and_every_input",
    ):
        assert f"test {test} ... ok" in said


def _test_pages_and_places() -> None:
    tests = [
        f"tests/python/project/test_{name}.py" for name in ("model_pages", "transitions", "walls", "docs")
    ]
    said = _run(sys.executable, "-m", "pytest", "-q", "-rA", "-k", "not commands_run", *tests)
    for test in _FAMILIES.values():
        assert f"[{test}" in said or f"[{test.replace('-', '_')}" in said, test


_PROGRAM = """
import json, sys, polars as pl, roamlab as rl
base = rl.load(sys.argv[1])
found = rl.run(base)
reno = rl.run(base.set("flows.moving.transport.congestion_control", "reno"))
early = found.drops.filter(pl.col("reason").cast(pl.String) == "early-drop")
print(json.dumps({
    "delivered": [int(each.flows["delivered_pkts"][0]) for each in (found, reno)],
    "early": sorted(set(early["place"].cast(pl.String))),
    "waiting": found.flows.filter(pl.col("flow").cast(pl.String) == "waiting").select(
        pl.col("kind").cast(pl.String), "delivered_pkts", "timeouts", "completed_ns").row(0),
    "phases": found.handovers["phase"].cast(pl.String).to_list(),
}))
"""


def _test_run() -> None:
    listed = json.loads(_run(sys.executable, "-c", "from roamlab.cli import main; main()", "list", "--json"))
    for family, name in _FAMILIES.items():
        assert name in {row["name"] for row in listed[family]}
    found = json.loads(_run(sys.executable, "-c", _PROGRAM, _OURS / "newcomer.toml"))
    seven_eighths, reno = found["delivered"]
    assert seven_eighths > 500
    assert seven_eighths != reno
    assert found["early"] == ["bs1/air", "bs2/air"]
    assert found["phases"].count("completed") == 2
    kind, delivered, timeouts, completed = found["waiting"]
    assert (kind, delivered) == ("stop-and-wait", 20)
    assert timeouts > 0
    assert completed > 0
    cli = (sys.executable, "-c", "from roamlab.cli import main; main()")
    out = _COPY.parent / "runs"
    assert "waiting" in _run(*cli, "run", "--out", out, _OURS / "newcomer.toml")
    late = "--set=flows.waiting.transport.timeout=20 s"
    # Warnings are on stderr.
    checked = _run("sh", "-c", 'exec "$@" 2>&1', "sh", *cli, "check", late, _OURS / "newcomer.toml")
    assert "a lost segment" in checked
    assert "stop-and-wait" in _run(*cli, "schema")


@pytest.mark.cargo
def test_files_rows_and_pages_are_all_that_changes() -> None:
    """In one test, because two processes cannot share the copy."""
    _copy()
    _test_families()
    _engine()
    _test_pages_and_places()
    _test_run()
