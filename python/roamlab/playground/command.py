"""What `roamlab play` writes: the playground with a scenario of the user's in it."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from roamlab.base.errors import BadInput
from roamlab.base.output import write_chart
from roamlab.playground.page import SCENARIOS, embedded
from roamlab.scenarios.scenario import load

if TYPE_CHECKING:
    from collections.abc import Iterator
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
        checked = load(scenario)
        named = {path: (scenario.parent / path) for path in sorted(set(_files(checked.parameters)))}
        texts = {path: place.read_text(encoding="utf-8") for path, place in named.items() if place.is_file()}
        own = embedded([{"name": scenario.name, "text": checked.text, "files": texts}])
        # The page's own scenarios follow it.
        page = page.replace(f"{SCENARIOS}[", f"{SCENARIOS}{own[:-1]},", 1)
    write_chart(out, page)


def _files(part: Any) -> Iterator[str]:
    """The files that a scenario names: each with its digest."""
    if isinstance(part, dict) and part.keys() == {"path", "digest"}:
        yield part["path"]
    elif isinstance(part, dict | list):
        for each in part.values() if isinstance(part, dict) else part:
            yield from _files(each)
