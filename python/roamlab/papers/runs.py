"""The runs that a paper's claims are decided from."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, TypeVar

from roamlab.ensemble import Job, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from roamlab.results import Results
    from roamlab.scenario import Scenario

K = TypeVar("K")
T = TypeVar("T")
SEED = 1


def each(
    scenarios: Mapping[K, tuple[Scenario, int]], threads: int, take: Callable[[Results], T]
) -> dict[K, list[T]]:
    """`take` of so many runs of each scenario. Run n draws from the same streams in every scenario.

    Readings that do not touch a queue leave its scenario as it is: equal scenarios are run once.
    """
    most: dict[str, tuple[Scenario, int]] = {}
    for scenario, runs in scenarios.values():
        before = most.get(scenario.text, (scenario, 0))
        most[scenario.text] = (scenario, max(runs, before[1]))
    jobs = [Job(scenario, SEED, run) for scenario, runs in most.values() for run in range(runs)]
    measured = iter(measure(jobs, lambda _, results: take(results), threads))
    by_text = {text: list(islice(measured, runs)) for text, (_, runs) in most.items()}
    return {name: by_text[scenario.text][:runs] for name, (scenario, runs) in scenarios.items()}
