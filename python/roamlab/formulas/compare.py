"""All formulas next to a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roamlab.base.calls import RESULTS, called
from roamlab.base.errors import BadInput
from roamlab.formulas import bounds, goodputs, rates, silences
from roamlab.formulas.facts import Facts
from roamlab.formulas.table import Entry, Formula, entry
from roamlab.running.run import simulate
from roamlab.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from roamlab.records.results import Results

FORMULAS: tuple[Formula, ...] = (*bounds.FORMULAS, *rates.FORMULAS, *silences.FORMULAS, *goodputs.FORMULAS)
"""Every formula; those that need no assumption are first."""
NEEDED = ("deliveries", "packets", "tcp", "variables")
"""Tables, switched on under `record`, that formulas read."""


def recorded(scenario: Scenario) -> Scenario:
    """The same scenario with the tables that formulas read switched on."""
    data = scenario.to_dict()
    data.setdefault("record", {}).update(dict.fromkeys(NEEDED, True))
    return Scenario.from_dict(data, scenario.name)


@called(results=RESULTS)
def theory(results: Results) -> list[Entry]:
    """Closed forms next to a run: for each formula and each flow, link or host that it is about an `Entry`.

    An entry gives whether the run keeps the formula's assumptions, else which one it breaks. It has the expected and
    the measured value in its unit, and whether it is flagged: an exact formula is violated, or another one is off by
    more than three times its accuracy. A run without the tables `deliveries`, `packets`, `tcp` and `variables` is made
    again with them, from its scenario and seed. A run in real time without them raises `BadInput`. docs/theory.md has
    every formula with its source.
    """
    made = results.manifest
    kept = made.parameters.get("record", {})
    lacking = [table for table in NEEDED if not kept.get(table)]
    if lacking and made.live:
        raise BadInput(
            f"{made.scenario_name}, a run in real time",
            f"it has no {' and no '.join(lacking)}, and cannot be repeated",
            expected="a run with the tables that formulas read",
            remedy=f"run it with {', '.join(f'{table} = true' for table in lacking)} under [record]",
        )
    if lacking:
        results = simulate(recorded(Scenario(made.scenario_text, made.scenario_name)), made.seed, made.run)
    facts = Facts(results)
    return [entry(formula, case) for formula in FORMULAS for case in formula.judge(facts)]
