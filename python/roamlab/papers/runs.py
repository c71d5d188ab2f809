"""The runs that a paper's claims are decided from."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, TypeVar

from roamlab.ensemble import Job, measure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from roamlab.results import Results
    from roamlab.scenario import Scenario

K = TypeVar("K")
R = TypeVar("R")
T = TypeVar("T")
SEED = 1


class Batch:
    """Runs that experiments ask for one by one and that are made together: no processor waits in between.

    Readings that do not touch a queue leave its scenario as it is: equal scenarios are run once.
    """

    def __init__(self) -> None:
        self._wanted: dict[Job, dict[Callable[[Results], Any], list[list[Any]]]] = defaultdict(
            lambda: defaultdict(list)
        )

    def each(
        self, scenarios: Mapping[K, tuple[Scenario, int]], take: Callable[[Results], T]
    ) -> dict[K, list[T]]:
        """`take` of so many runs of each scenario, in lists that `make` fills.

        Run n draws from the same streams in every scenario.
        """
        found: dict[K, list[T]] = {name: [] for name in scenarios}
        for name, (scenario, runs) in scenarios.items():
            for run in range(runs):
                self._wanted[Job(scenario, SEED, run)][take].append(found[name])
        return found

    def make(self, threads: int) -> None:
        """Make the runs. Each is let go once it is measured."""
        measured = measure(
            list(self._wanted), lambda job, results: [take(results) for take in self._wanted[job]], threads
        )
        for wanted, values in zip(self._wanted.values(), measured, strict=True):
            for lists, value in zip(wanted.values(), values, strict=True):
                for found in lists:
                    found.append(value)


def by_reading(
    readings: Mapping[str, R], numbers: tuple[int, int], gather: Callable[[R, int], T]
) -> dict[str, T]:
    """`gather(reading, runs)` for each reading.

    The first of the `numbers` of runs is for "default", the second for the others and for the default once more, to
    compare with them.
    """
    runs, few = numbers
    found = {name: gather(reading, runs if name == "default" else few) for name, reading in readings.items()}
    return found | {f"default, first {few} runs": gather(readings["default"], few)}
