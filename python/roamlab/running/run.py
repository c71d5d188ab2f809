"""One run, in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from roamlab import _roamlab
from roamlab.base.calls import called
from roamlab.base.errors import BadInput, did_you_mean, warn
from roamlab.base.limits import memory_per_run
from roamlab.records.manifest import describe
from roamlab.records.results import from_engine
from roamlab.running.runprogress import simulated_time
from roamlab.scenarios.scenario import check_number, of

if TYPE_CHECKING:
    from collections.abc import Sequence
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
    """As `simulate`, for users: each of the warnings of the results is a `RunWarning` as well."""
    results = simulate(scenario, seed, run, trace, memory, capture)
    warn(results.warnings)
    return results


@called(scenario=None)
def simulate(
    scenario: Scenario | str | Path,
    seed: int = 1,
    run: int = 0,
    trace: int | None = None,
    memory: int | None = None,
    capture: list[str] | None = None,
) -> Results:
    """Simulate `scenario`, or the one in the file at this path. Equal arguments give equal results, on every machine.

    `run` numbers independent repetitions under one seed; `trace` is the serial number of a packet whose way
    is to be recorded. `capture` names nodes and links whose packets are to be in the tables `frames` and
    `frame_bytes`. `memory` is how many bytes network and record may take, as a rule a
    quarter of what the machine has left. Raises `ScenarioError` before the network is generated if that takes more, and
    `MemoryLimitError` before the record does, and `BadInput` if no node or link has a name in `capture`. A run that
    takes long shows its progress.
    """
    limit = memory_per_run(given=memory)
    scenario = of(scenario, limit)
    for name, value in (("seed", seed), ("run", run), ("trace", trace)):
        if value is not None:
            check_number(name, value)
    seed, run, trace = int(seed), int(run), None if trace is None else int(trace)
    scenario.check(limit)
    with simulated_time(scenario.outline.duration_ns) as tell:
        tables = _roamlab.run(scenario.text, scenario.name, seed, run, trace, limit, tell, capture)
    results = from_engine(tables, describe(scenario, seed, run))
    if capture:
        _check_places(results, capture)
    if trace is not None and results.table("trace").is_empty():
        raise BadInput(
            f"packet {trace}",
            "no packet of the run has this serial number",
            expected="a serial number from the run's deliveries, drops or signalling",
            remedy="look into the column `serial` of these tables",
        )
    return results


def _check_places(results: Results, names: Sequence[str]) -> None:
    """Raise `BadInput` for what is neither a node, nor a link, nor a host's queue of a downlink."""
    network = results.manifest.network
    wired = {end for link in network.get("links", []) for end in link["between"]}
    hosts = {host["name"] for host in network.get("hosts", [])}
    nodes = wired | set(network.get("cells", {})) | hosts
    links = set(results.links["link"].cast(pl.String))
    for name in names:
        link, slash, host = name.rpartition("/")
        if name in nodes or name in links or (slash and link in links and host in hosts):
            continue
        raise BadInput(
            f"capture = {name!r}",
            "the network has no node and no link of this name",
            expected=f"names among {', '.join(sorted(nodes)[:20])}; {', '.join(sorted(links)[:20])}",
            remedy=did_you_mean(name, nodes | links, "`results.links` has the names of the links"),
        )
