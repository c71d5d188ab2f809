"""Fixtures shared by the Python tests."""

from __future__ import annotations

from pathlib import Path

import pytest

import fake_engine
from roamlab import _roamlab
from roamlab.scenario import Scenario

ROOT = Path(__file__).parents[2]
SMALL = """
[run]
duration = "1 s"
[cells.bs2]
queue = { kind = "red" }
[[flows]]
name = "moving"
start = "0.1 s"
"""


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Put the stand-in in the engine's place for one test; returns the patcher for further changes."""
    for name in (
        "check",
        "schema",
        "catalogue",
        "tcp_profile",
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
    """A scenario that the stand-in accepts."""
    return Scenario(SMALL, "small.toml")


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT
