"""The output of `roamlab why`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from roamlab.base.errors import BadInput, within
from roamlab.base.screen import say, shown
from roamlab.causes import explain as explaining
from roamlab.causes.removal import recorded
from roamlab.records import why
from roamlab.records.manifest import build_of
from roamlab.records.storage.store import open_run
from roamlab.running.run import simulate
from roamlab.scenarios.changes import assignments
from roamlab.scenarios.scenario import Scenario, load_with
from roamlab.showing import terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from roamlab.records.results import Results


def parse(words: Sequence[str], *, stalls: bool) -> tuple[tuple[str, int] | None, Path | None]:
    """Table and row if they are named, and the run folder if it is. `stalls`: an option asks for stalls."""
    if words and words[0] in why.WITH_CAUSES and len(words) == 1 and not Path(words[0]).exists():
        raise BadInput(
            f"why {words[0]}",
            "the row of the table is missing",
            expected="TABLE ROW, with the row's number from 0",
            remedy=f"`roamlab why {words[0]} 0`",
        )
    if len(words) == 1 and not Path(words[0]).exists() and _is_name(words[0]):
        raise BadInput(
            f"why {words[0]}",
            "there is no such folder",
            expected="RUN, a run folder or the file of a scenario",
            remedy=f"`roamlab why --flow {words[0]}` for a flow of the newest run",
        )
    if len(words) <= 1:
        return None, Path(words[0]) if words else None
    if len(words) > 3 or stalls:
        raise BadInput(
            f"why {' '.join(words)}",
            "these do not go together",
            expected="RUN with --flow, --stall and --check, or TABLE ROW RUN without them",
            remedy="`roamlab why RUN --check`, or `roamlab why drops 0 RUN`",
        )
    if words[1] in why.WITH_CAUSES and words[0].isdecimal():
        words = [words[1], words[0], *words[2:]]
        raise BadInput(
            f"why {words[1]} {words[0]}",
            "the table is first",
            expected="TABLE ROW",
            remedy=f"`roamlab why {' '.join(words)}`",
        )
    table, row, *folder = words
    if not (row.isascii() and row.isdigit()):
        raise _without_row(words)
    return (table, int(row)), Path(folder[0]) if folder else None


def _without_row(words: Sequence[str]) -> BadInput:
    """The error for words without the number of a row behind a table."""
    table, row, *_ = words
    runs = [word for word in words if not _is_name(word) or Path(word).exists()]
    named = [word for word in words if word not in runs and word not in why.WITH_CAUSES]
    if table not in why.WITH_CAUSES and len(runs) == len(named) == 1:
        if named[0].isdecimal():
            return BadInput(
                f"why {' '.join(words)}",
                f"{named[0]} is a number without the table that it counts in",
                expected="RUN with --stall N, or TABLE ROW RUN",
                remedy=f"for a stall `roamlab why {runs[0]} --stall {named[0]}`, for a row "
                f"`roamlab why tcp {named[0]} {runs[0]}`",
            )
        return BadInput(
            f"why {' '.join(words)}",
            f"{named[0]!r} is no table whose rows have causes",
            expected="RUN with --flow NAME, or TABLE ROW RUN",
            remedy=f"`roamlab why {runs[0]} --flow {named[0]}`, if it is a flow",
        )
    if table in why.WITH_CAUSES and len(words) == 2 and len(runs) == 1:
        return BadInput(
            f"why {' '.join(words)}",
            "the row of the table is missing",
            expected="TABLE ROW RUN, with the row's number from 0",
            remedy=f"`roamlab why {table} 0 {runs[0]}`",
        )
    return BadInput(
        f"row {row!r}",
        "this is no number",
        expected="a whole number from 0",
        remedy=f"`roamlab why {table} 0`",
    )


def _is_name(word: str) -> bool:
    """True if a word can be the name of a flow: no path, and no file of a scenario."""
    return "/" not in word and word not in (".", "..", "latest") and not word.endswith(".toml")


def explain(
    named: Path,
    changes: Mapping[str, Any],
    table: tuple[str, int] | None,
    flow: str | None,
    stall: int | None,
    *,
    check: bool,
    as_json: bool,
) -> Any:
    """The lines to print, or the data for JSON: of a row of a table, or of the stalls of a run.

    `named` is a run folder, or the file of a scenario, which is simulated with seed 1. With `changes` of the scenario's
    fields a run is made again, from its seed, in memory.
    """
    with within(named):
        results = meant(named, changes, recorded if table is None else lambda scenario: scenario)
        if table is not None:
            if changes and not _has(results, *table):
                raise BadInput(
                    f"why {table[0]} {table[1]}",
                    f"the run with {assignments(changes)} has no such row",
                    expected="a row of the run that is made again with --set",
                    remedy=f"a row of the run as it was is explained without --set: "
                    f"`roamlab why {table[0]} {table[1]} {shown(named)}`",
                )
            return terminal.rows(why.why(results, *table)) if as_json else why.lines(results, *table)
    made = results.manifest
    if made.build_hash != build_of(made.parameters_text):
        _note("another build of the engine made this run; reruns are the present one's")
    with within(named):
        results, said = explaining.with_record(results)
    if said:
        _note(said)
    told = explaining.explain(results, flow, stall, check=check)
    return [each.data() for each in told] if as_json else explaining.lines(told)


def _has(results: Results, table: str, row: int) -> bool:
    """True if a run's table has a row of this number, and for a table that has no causes, which is another fault."""
    return table not in why.WITH_CAUSES or row < results.table(table).height


def meant(named: Path, changes: Mapping[str, Any], prepared: Callable[[Scenario], Scenario]) -> Results:
    """The run that is meant; see `explain`. `prepared` is what is simulated of a scenario."""
    if named.suffix == ".toml" and not named.is_dir():
        return simulate(prepared(load_with(named, changes)))
    results = open_run(named)
    if not changes:
        return results
    made = results.manifest
    changed = Scenario(made.scenario_text, made.scenario_name).set_all(changes)
    _note(f"made again with {assignments(changes)}")
    return simulate(prepared(changed), made.seed, made.run)


def _note(text: str) -> None:
    say(f"note: {text}", err=True)
