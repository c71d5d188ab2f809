"""Fixtures shared by the Python tests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

import fake_engine
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
    """The part of the cases that is tried today: each is tried every `days` days, and always with `ROAMLAB_DEEP`.

    For tests of commands that differ little and take seconds each. The day is that of UTC.
    """
    if "ROAMLAB_DEEP" in os.environ:
        return cases
    return cases[datetime.now(UTC).toordinal() % days :: days]


_WEEK = [
    {"newcomer"},
    {"site"},
    {"ripple", "paths", "stub"},
    {"wheel"},
    {"site", "kills"},
    {"bcmp"},
    {"ipf", "paths", "kills"},
]
"""Tests of some 10 to 130 CPU seconds, by the days on which they run: no day of the week has many of them."""
_ON_NO_DAY = {"source"}
"""Tests of many minutes: they run in `make deep` and at a release."""
_FEW = 10
"""Up to this number of tests that alternate run on any day: they were asked for by name."""
_ONCE_A_WEEK = "it runs once or twice a week, and in `make deep`"


def of_this_day(test: str) -> pytest.MarkDecorator:
    """Marks a long test, which runs on its days of the week, and always with `ROAMLAB_DEEP`."""
    every = set.union(*_WEEK, _ON_NO_DAY)
    (today,) = [every] if "ROAMLAB_DEEP" in os.environ else of_today(_WEEK, len(_WEEK))
    assert test in every, test
    return pytest.mark.skipif(test not in today, reason=_ONCE_A_WEEK)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest tests come first, so that the workers end together. Those that start cargo come last.

    They take what `make test` compiles meanwhile. Of the tests marked `alternates` half run each day, where all are
    asked for.
    """
    alternate = [item for item in items if item.get_closest_marker("alternates")]
    if len(alternate) > _FEW:
        others = {id(item) for item in alternate} - {id(item) for item in of_today(alternate, 2)}
        config.hook.pytest_deselected(items=[item for item in items if id(item) in others])
        items[:] = [item for item in items if id(item) not in others]

    def place(item: pytest.Item) -> int:
        if item.get_closest_marker("cargo"):
            return 2
        return not any(mark.kwargs.get("reason") == _ONCE_A_WEEK for mark in item.iter_markers("skipif"))

    items.sort(key=place)


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
