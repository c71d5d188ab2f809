"""What `roamlab why` prints."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from roamlab import _roamlab
from roamlab.base.errors import BadInput, within
from roamlab.base.screen import say
from roamlab.causes import explain as explaining
from roamlab.records import why
from roamlab.records.store import open_run
from roamlab.showing import terminal

if TYPE_CHECKING:
    from collections.abc import Sequence


def parse(words: Sequence[str], *, stalls: bool) -> tuple[tuple[str, int] | None, Path | None]:
    """Table and row if they are named, and the run folder if it is. `stalls`: an option asks for stalls."""
    if len(words) <= 1:
        return None, Path(words[0]) if words else None
    if len(words) > 3 or stalls:
        raise BadInput(
            f"why {' '.join(words)}",
            "these do not go together",
            expected="RUN with --flow, --stall and --check, or TABLE ROW RUN without them",
            remedy="`roamlab why RUN --check`, or `roamlab why drops 0 RUN`",
        )
    table, row, *folder = words
    if not (row.isascii() and row.isdigit()):
        raise BadInput(
            f"row {row!r}",
            "this is no number",
            expected="a whole number from 0",
            remedy=f"`roamlab why {table} 0`",
        )
    return (table, int(row)), Path(folder[0]) if folder else None


def explain(
    folder: Path,
    table: tuple[str, int] | None,
    flow: str | None,
    stall: int | None,
    *,
    check: bool,
    as_json: bool,
) -> Any:
    """The lines to print, or the data for JSON: of a row of a table, or of the stalls of the run."""
    with within(folder):
        results = open_run(folder)
        if table is not None:
            return terminal.rows(why.why(results, *table)) if as_json else why.lines(results, *table)
    made = results.manifest
    if made.build_hash != _roamlab.build_hash():
        _note("another build of the engine made this run; reruns are the present one's")
    with within(folder):
        results, said = explaining.with_record(results)
    if said:
        _note(said)
    told = explaining.explain(results, flow, stall, check=check)
    return [each.data() for each in told] if as_json else explaining.lines(told)


def _note(text: str) -> None:
    say(f"note: {text}", err=True)
