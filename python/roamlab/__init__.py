"""Roamlab: what the transport layer feels when a host moves.

    import roamlab as rl

    base = rl.load("handover.toml")
    results = rl.run(base, seed=1)
    results.flows            # a Polars frame: one row per flow
    results.queue("bs2/air") # the samples of one queue

Names are imported when they are first used, so that the command line starts quickly.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roamlab._roamlab import ScenarioError, SimulationError
    from roamlab.ensemble import Job, replicate, run_all
    from roamlab.errors import BadInput, RoamlabError
    from roamlab.results import Results
    from roamlab.run import run
    from roamlab.scenario import Scenario, load
    from roamlab.store import Store, open_run

__all__ = [
    "BadInput",
    "Job",
    "Results",
    "RoamlabError",
    "Scenario",
    "ScenarioError",
    "SimulationError",
    "Store",
    "load",
    "open_run",
    "replicate",
    "run",
    "run_all",
]

_HOMES = {
    "BadInput": "errors",
    "Job": "ensemble",
    "Results": "results",
    "RoamlabError": "errors",
    "Scenario": "scenario",
    "ScenarioError": "_roamlab",
    "SimulationError": "_roamlab",
    "Store": "store",
    "load": "scenario",
    "open_run": "store",
    "replicate": "ensemble",
    "run": "run",
    "run_all": "ensemble",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'roamlab' has no attribute {name!r}")
    value = getattr(import_module(f"roamlab.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
