"""`roamlab check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roamlab.commands.inputs import load
from roamlab.commands.options import SCENARIO, SET
from roamlab.commands.output import print_estimate, print_json, print_warnings

if TYPE_CHECKING:
    from pathlib import Path

    from roamlab.scenarios.scenario import Scenario


@click.command("check")
@SCENARIO
@SET
@click.option("--json", "as_json", is_flag=True, help="Print JSON, which `check` always does.")
def command(scenario: Path, changes: tuple[str, ...], *, as_json: bool) -> None:  # noqa: ARG001  (the same either way)
    """Print a scenario with every default filled in, as JSON; what in it has no effect, and what a run takes."""
    loaded = load(scenario, changes)
    print_json(loaded.parameters)
    print_warnings([*loaded.warnings, *_of_programs(loaded)])
    print_estimate(loaded, err=True)


def _of_programs(scenario: Scenario) -> list[str]:
    """A warning of each flow that no run has: `roamlab shell` alone makes such flows, and it is no fault there."""
    return [
        f"{scenario.name}: field `flows[{number}].app.kind`: its packets come from a program in real time, and "
        "`roamlab run` refuses it\n  = help: leave the flow out, and run the rest by `roamlab shell`, which adds it"
        for number, flow in enumerate(scenario.parameters.get("flows", []))
        if flow.get("app", {}).get("kind") == "program"
    ]
