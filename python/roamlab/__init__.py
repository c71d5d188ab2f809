"""Roamlab: what the transport layer feels when a host moves.

    import roamlab as rl

    base = rl.load("handover.toml")
    results = rl.run(base, seed=1)
    results.flows            # a Polars frame: one row per flow
    results.queue("bs2/air") # the samples of one queue
    rl.why(results, "drops", 0)  # what led to the first loss, step by step to the root

    runs = rl.sweep(base, {"cells.bs2.queue.limit": ["60 pkt", "120 pkt"]}, replications=30)
    runs.compare("flows.moving.goodput_bps", baseline="60 pkt")  # differences with intervals

Names are imported when they are first used, so that the command line starts quickly.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roamlab._roamlab import ScenarioError, SimulationError
    from roamlab.design import Grid, Listed, Random
    from roamlab.ensemble import Job, run_all
    from roamlab.errors import BadInput, RoamlabError
    from roamlab.executor import DaskCluster, LocalPool
    from roamlab.plan import sweep
    from roamlab.results import Results
    from roamlab.run import run
    from roamlab.runs import Runs
    from roamlab.scenario import Scenario, load
    from roamlab.stopping import Until, seed
    from roamlab.store import Store, open_run
    from roamlab.threshold import Threshold, smallest
    from roamlab.why import why

    __version__: str

__all__ = [
    "BadInput",
    "DaskCluster",
    "Grid",
    "Job",
    "Listed",
    "LocalPool",
    "Random",
    "Results",
    "RoamlabError",
    "Runs",
    "Scenario",
    "ScenarioError",
    "SimulationError",
    "Store",
    "Threshold",
    "Until",
    "load",
    "open_run",
    "run",
    "run_all",
    "seed",
    "smallest",
    "sweep",
    "why",
]

_HOMES = {
    "BadInput": "errors",
    "DaskCluster": "executor",
    "Grid": "design",
    "Job": "ensemble",
    "Listed": "design",
    "LocalPool": "executor",
    "Random": "design",
    "Results": "results",
    "RoamlabError": "errors",
    "Runs": "runs",
    "Scenario": "scenario",
    "ScenarioError": "_roamlab",
    "SimulationError": "_roamlab",
    "Store": "store",
    "Threshold": "threshold",
    "Until": "stopping",
    "load": "scenario",
    "open_run": "store",
    "run": "run",
    "run_all": "ensemble",
    "seed": "stopping",
    "smallest": "threshold",
    "sweep": "plan",
    "why": "why",
}


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from roamlab.manifest import package_version

        return package_version()
    if name not in _HOMES:
        raise AttributeError(f"module 'roamlab' has no attribute {name!r}")
    value = getattr(import_module(f"roamlab.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


class _Package(ModuleType):
    def __setattr__(self, name: str, value: Any) -> None:
        """Importing the module `roamlab.run` must not hide the function `roamlab.run`."""
        if name not in _HOMES or not isinstance(value, ModuleType):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
