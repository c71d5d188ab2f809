"""Output of `roamlab play`: the playground with a scenario of the user's in it."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from roamlab.base.errors import BadInput
from roamlab.base.output import write_chart
from roamlab.playground.page import SCENARIOS, embedded, state
from roamlab.scenarios.scenario import load

if TYPE_CHECKING:
    from pathlib import Path


def write(scenario: Path | None, out: Path) -> None:
    """Writes the page to `out`. Raises `BadInput` where it has not been built, `ScenarioError` for a bad scenario."""
    built = files("roamlab.playground") / "playground.html"
    if not built.is_file():
        raise BadInput(
            "play",
            "the playground is not part of this installation",
            expected="a package whose page has been built",
            remedy="in a checkout `make playground` builds it",
        )
    page = built.read_text(encoding="utf-8")
    if scenario is not None:
        own = embedded([state(load(scenario), scenario)])
        # The page's own scenarios follow it.
        page = page.replace(f"{SCENARIOS}[", f"{SCENARIOS}{own[:-1]},", 1)
    write_chart(out, page)
