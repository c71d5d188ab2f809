"""Output of commands, and the exit codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roamlab.base.screen import console, say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roamlab.scenarios.scenario import Scenario


FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130


def print_json(data: Any) -> None:
    """Data for `--json`."""
    import json

    say(json.dumps(data, indent=1, allow_nan=False).replace("\x7f", "\\u007f"))


def print_questions(questions: Mapping[str, str]) -> None:
    """A table of what can be copied, each with the question that it answers."""
    from rich.table import Table
    from rich.text import Text

    table = Table(show_header=False, box=None)
    for name, question in questions.items():
        table.add_row(Text(name, "bold", no_wrap=True), Text(question))
    console().print(table)


def print_warnings(warnings: Sequence[str]) -> None:
    """One line on standard error for each warning."""
    for warning in warnings:
        say(f"warning: {warning}", err=True)


def print_estimate(scenario: Scenario, *, err: bool) -> None:
    """Estimated size of a run, before it begins; `err`: to standard error."""
    from roamlab.base.limits import beyond_memory

    _, events, memory = scenario.advice
    size = f"{memory / 1e9:.1f} GB" if memory >= 1e9 else f"{max(1, round(memory / 1e6))} MB"
    say(f"estimate: up to about {events:.1e} events, {size} of records", err=err)
    if warning := beyond_memory(memory):
        print_warnings([warning])
