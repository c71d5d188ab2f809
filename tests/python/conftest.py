"""Fixtures shared by the Python tests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

import fake_engine
import turns
from pages import Page
from roamlab import _roamlab
from roamlab.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterable

# A shell starts a job in the background with interrupts ignored, and programs inherit that: tests interrupt programs.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_Case = TypeVar("_Case")
ROOT = Path(__file__).parents[2]
COMMAND = str(Path(sys.executable).parent / "roamlab")
DEEP = "ROAMLAB_DEEP" in os.environ
"""Everything is tried, as in `make deep`."""
SMALL = """
[run]
duration = "1 s"
[cells.bs2]
queue = { kind = "red" }
[[flows]]
name = "moving"
start = "0.1 s"
"""


def handover(duration: str) -> str:
    """The text of `examples/handover.toml` with another duration."""
    text, old = (ROOT / "examples/handover.toml").read_text(encoding="utf-8"), 'duration = "40 s"'
    assert old in text
    return text.replace(old, f'duration = "{duration}"')


def of_today(cases: list[_Case], days: int) -> list[_Case]:
    """The part of the cases that a test tries today: each every `days` days, and always with `ROAMLAB_DEEP`."""
    return cases if DEEP else cases[turns.today() % days :: days]


only_deep = pytest.mark.skipif(not DEEP, reason="it takes many minutes and runs in `make deep`")
"""Marks such a test."""
_WHOLE = 3000
"""More tests than this are the whole suite."""
_FEW = 10
"""Up to this number of long tests run on any day: they were asked for by name."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of the long tests those run whose turn is today (`turns.py`).

    The longest come first, so that the workers end together. Those that start cargo come last: they take what
    `make test` compiles meanwhile.
    """
    table = turns.seconds()
    known = [item.nodeid for item in items]
    turns.STALE[:] = turns.unknown(table, known) if len(items) > _WHOLE else []
    long = {turns.unit(name) for name in known} & table.keys()
    if len(long) > _FEW and not turns.all_run():
        others = turns.not_today(table, turns.today())
        config.hook.pytest_deselected(items=[item for item in items if turns.unit(item.nodeid) in others])
        items[:] = [item for item in items if turns.unit(item.nodeid) not in others]

    def place(item: pytest.Item) -> tuple[bool, float]:
        return item.get_closest_marker("cargo") is not None, -table.get(turns.unit(item.nodeid), 0.0)

    items.sort(key=place)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the tests that take long and have no turn (`turns.py`)."""
    table = turns.seconds()
    for report in terminalreporter.stats.get("passed", []):
        if report.duration > 10 * turns.LONG and turns.unit(report.nodeid) not in table:
            terminalreporter.write_line(
                f"no turn: {report.nodeid} took {report.duration:.0f} s; "
                f"write {turns.TABLE.name} again (turns.py)"
            )


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Put the fake in the engine's place for one test; returns the patcher for further changes."""
    for name in (
        "advise",
        "check",
        "outline",
        "schema",
        "catalogue",
        "tcp_profile",
        "usual_variant",
        "build_hash",
        "run",
        "run_many",
        "ScenarioError",
        "SimulationError",
    ):
        monkeypatch.setattr(_roamlab, name, getattr(fake_engine, name))
    return monkeypatch


@pytest.fixture
def scenario(engine: pytest.MonkeyPatch) -> Scenario:
    """A scenario that the fake accepts."""
    return Scenario(SMALL, "small.toml")


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def papers_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where reproductions of papers find each other's runs, those of other workers too."""
    folder = tmp_path_factory.getbasetemp()
    return (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "papers-store"


def reproduced(paper: str, out: Path, store: Path, runs: int = 2) -> dict[str, dict[str, Any]]:
    """The claims of a reproduction with few runs by their names; they, and the report, are as those of any paper."""
    done = subprocess.run(
        [COMMAND, "reproduce", paper, "--runs", str(runs), "--out", str(out), "--store", str(store)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = {claim["id"]: claim for claim in json.loads((out / "claims.json").read_text())}
    for name, claim in found.items():
        assert claim["verdict_default"] in ("holds", "contradicted", "undecided")
        assert claim["verdict"] in (claim["verdict_default"], "depends")
        assert (claim["verdict"] == "depends") is bool(claim["depends_on"]), name
        low, high = claim["interval"]
        assert low is None or low <= claim["effect"]
        assert high is None or claim["effect"] <= high
        assert {"unit", "runs", "interpretation"} <= claim.keys()
        assert claim["why"], name
        assert name in done.stdout
    page = Page((out / "report.html").read_text())
    page.check_claims(list(found))
    assert {link.partition("#")[0] for link in page.links} - {""} == {"explore.html"}, "it must open offline"
    assert (out / "explore.html").exists()
    assert [path.name for path in out.parent.iterdir()] == [out.name]
    return found


def check_figures(out: Path, names: Iterable[str]) -> None:
    """Every figure is there, as a picture that is not empty and as a drawing."""
    for name in names:
        assert (out / "figures" / f"{name}.png").stat().st_size > 5_000
        assert (out / "figures" / f"{name}.svg").exists()
