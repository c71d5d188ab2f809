"""Inputs of commands: run folders, and scenarios with changes."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from roamlab.base.screen import say, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roamlab.scenarios.scenario import Scenario

RUNS = Path("out/runs")
"""Where `roamlab run` writes."""


def find_run(named: Path | None) -> Path:
    """The run folder that is meant: without a path, or by the word `latest`, the newest in out/runs."""
    from roamlab.base.errors import BadInput
    from roamlab.records.storage import store

    if named is not None and (named != Path("latest") or named.exists()):
        return named
    made = [(path.stat().st_mtime_ns, path) for path in RUNS.glob("*/") if (path / "manifest.json").exists()]
    if not made:
        raise BadInput(
            "RUN",
            f"there is no run in {RUNS}",
            expected="a run folder",
            remedy="simulate one with `roamlab run SCENARIO`, or name its folder",
        )
    newest = max(made)[1]
    whose = ""
    with suppress(BadInput):
        manifest = store.manifest_of(newest)
        whose = f" of {shown(Path(manifest.scenario_name).name)}, seed {manifest.seed}"
    say(f"run{whose}: {shown(newest)}, the newest of {len(made)} in {RUNS}", err=True)
    return newest


def load(path: Path, changes: Sequence[str]) -> Scenario:
    """The scenario in a file, with the changes of `--set`."""
    from roamlab.scenarios import changes as written
    from roamlab.scenarios import scenario

    return scenario.load_with(path, written.assigned(changes))
