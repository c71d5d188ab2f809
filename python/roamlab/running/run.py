"""One run, in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roamlab import _roamlab
from roamlab.base.calls import called
from roamlab.base.errors import BadInput
from roamlab.base.limits import memory_per_run
from roamlab.records.manifest import describe
from roamlab.records.results import from_engine
from roamlab.running.runprogress import simulated_time
from roamlab.scenarios.scenario import check_number, of

if TYPE_CHECKING:
    from pathlib import Path

    from roamlab.records.results import Results
    from roamlab.scenarios.scenario import Scenario


@called(scenario=None)
def run(
    scenario: Scenario | str | Path,
    seed: int = 1,
    run: int = 0,
    trace: int | None = None,
    memory: int | None = None,
    capture: list[str] | None = None,
) -> Results:
    """Simulate `scenario`, or the one in the file at this path. Equal arguments give equal results, on every machine.

    `run` numbers independent repetitions under one seed; `trace` is the serial number of a packet whose way
    is to be recorded; `capture` names nodes and links whose packets are to stand in the tables `frames` and
    `frame_bytes`, names of others are passed over. `memory` is how many bytes network and record may take, as a rule a
    quarter of what the machine has left. Raises `ScenarioError` before the network is generated if that takes more, and
    `MemoryLimitError` before the record does. A run that takes long shows its progress.
    """
    limit = memory_per_run(given=memory)
    scenario = of(scenario, limit)
    for name, value in (("seed", seed), ("run", run), ("trace", trace)):
        if value is not None:
            check_number(name, value)
    scenario.check(limit)
    with simulated_time(scenario.outline.duration_ns) as tell:
        tables = _roamlab.run(scenario.text, scenario.name, seed, run, trace, limit, tell, capture)
    results = from_engine(tables, describe(scenario, seed, run))
    if trace is not None and results.trace.is_empty():
        raise BadInput(
            f"packet {trace}",
            "no packet of the run has this serial number",
            expected="a serial number from the run's deliveries, drops or signalling",
            remedy="look into the column `serial` of these tables",
        )
    return results
