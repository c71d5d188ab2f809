"""Roamlab: a simulator of transport protocols for hosts that move.

    import roamlab as rl

    base = rl.load("handover.toml")
    results = rl.run(base, seed=1)
    results.flows            # a Polars frame: one row per flow
    results.queue("bs2/air") # the samples of one queue
    rl.why(results, "drops", 0)  # the chain of causes of the first loss, to the root

    runs = rl.sweep(base, {"cells.bs2.queue.limit": ["60 pkt", "120 pkt"]}, replications=30)
    runs.compare("flows.moving.goodput_bps", baseline="60 pkt")  # differences with intervals

Names are imported when they are first used, so that the command line starts quickly.
"""

from __future__ import annotations

# `typing` is not imported for this name: until `__main__` is there, an interrupt is a traceback.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any

    from roamlab._roamlab import ScenarioError, SimulationError
    from roamlab.base.errors import BadInput, RoamlabError, RunWarning
    from roamlab.formulas.compare import theory
    from roamlab.papers.part import Reproduction, choices, reproduce
    from roamlab.records.results import Results
    from roamlab.records.storage.store import Store, open_run
    from roamlab.records.why import why
    from roamlab.running.ensemble import Job, run_all
    from roamlab.running.executor import DaskCluster, LocalPool
    from roamlab.running.run import run
    from roamlab.running.summary import metric
    from roamlab.scenarios.scenario import Scenario, load
    from roamlab.showing.network_drawing import drawing
    from roamlab.statistics.stopping import Until, seed
    from roamlab.sweeps.design import Grid, Listed, Random
    from roamlab.sweeps.optimise import Optimum, optimise
    from roamlab.sweeps.runs import Runs
    from roamlab.sweeps.sweep import sweep
    from roamlab.sweeps.threshold import Threshold, smallest

    __version__: str

__all__ = [
    "BadInput",
    "DaskCluster",
    "Grid",
    "Job",
    "Listed",
    "LocalPool",
    "Optimum",
    "Random",
    "Reproduction",
    "Results",
    "RoamlabError",
    "RunWarning",
    "Runs",
    "Scenario",
    "ScenarioError",
    "SimulationError",
    "Store",
    "Threshold",
    "Until",
    "choices",
    "drawing",
    "load",
    "metric",
    "open_run",
    "optimise",
    "reproduce",
    "run",
    "run_all",
    "seed",
    "smallest",
    "sweep",
    "theory",
    "why",
]

_HOMES = {
    "BadInput": "base.errors",
    "DaskCluster": "running.executor",
    "Grid": "sweeps.design",
    "Job": "running.ensemble",
    "Listed": "sweeps.design",
    "LocalPool": "running.executor",
    "Optimum": "sweeps.optimise",
    "Random": "sweeps.design",
    "Reproduction": "papers.part",
    "Results": "records.results",
    "RoamlabError": "base.errors",
    "RunWarning": "base.errors",
    "Runs": "sweeps.runs",
    "Scenario": "scenarios.scenario",
    "ScenarioError": "_roamlab",
    "SimulationError": "_roamlab",
    "Store": "records.storage.store",
    "Threshold": "sweeps.threshold",
    "Until": "statistics.stopping",
    "choices": "papers.part",
    "drawing": "showing.network_drawing",
    "load": "scenarios.scenario",
    "metric": "running.summary",
    "open_run": "records.storage.store",
    "optimise": "sweeps.optimise",
    "reproduce": "papers.part",
    "run": "running.run",
    "run_all": "running.ensemble",
    "seed": "statistics.stopping",
    "smallest": "sweeps.threshold",
    "sweep": "sweeps.sweep",
    "theory": "formulas.compare",
    "why": "records.why",
}


_MODULES = {"metrics": "roamlab.records", "stats": "roamlab.statistics"}
"""Modules that are imported from the package that has them."""

_OTHER_NAMES = {
    "simulate": "run",
    "simulation": "run",
    "simulator": "run",
    "read": "load",
    "open": "load",
    "load_scenario": "load",
    "compare": "sweep",
    "grid_search": "optimise",
    "optimize": "optimise",
    "minimize": "optimise",
    "plot": "drawing",
    "draw": "drawing",
    "explain": "why",
    "threshold": "smallest",
    "paper": "reproduce",
}
"""Names that users of other programs try."""


def __dir__() -> list[str]:
    return [*__all__, "__version__"]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from roamlab import _roamlab

        return _roamlab.version()
    if name.startswith("_"):
        # Python asks so for a module that it is about to import: ours of errors, too.
        raise AttributeError(f"module 'roamlab' has no attribute {name!r}")
    if name not in _HOMES:
        from roamlab.base.calls import no_attribute
        from roamlab.base.errors import NoAttribute

        if name in _MODULES:
            raise NoAttribute(
                f"'roamlab.{name}' is another module: write `from {_MODULES[name]} import {name}`"
            )
        other = _OTHER_NAMES.get(name.lower())
        hint = f"did you mean {other!r}?" if other else f"it has {', '.join(__all__)}"
        raise no_attribute("module 'roamlab'", name, __all__, hint)
    from importlib import import_module

    value = getattr(import_module(f"roamlab.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
