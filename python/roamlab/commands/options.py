"""Options and arguments that several commands have."""

from __future__ import annotations

import re
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from roamlab.base.inputs import home
from roamlab.base.screen import shown
from roamlab.commands import completion

if TYPE_CHECKING:
    from collections.abc import Callable

    Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


class _Number(click.IntRange):
    """A whole number from 0, as the engine takes it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            if "valid integer" not in error.message:
                raise
            several = re.fullmatch(r"(\d+)(?:\s*(?:-|\.\.+|:|,|\s)\s*\d+)+", str(value).strip())
            said = (
                f"write one, {several[1]}, and repeat the command for each other"
                if several
                else "write one from 0, for example 7"
            )
            self.fail(f"{value!r} is no whole number: {said}", param, ctx)


class _Real(click.types.FloatParamType):
    """A number without a unit; of a time in seconds the answer converts one that has a unit."""

    def __init__(self, unit: str = "") -> None:
        self._unit = unit

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            found = re.fullmatch(r"([\d.]+)\s*(s|ms|min|h)", str(value).strip())
            if self._unit == "s" and found:
                from roamlab.records.metrics import span_s

                said = f"it is in s: write {span_s(f'{found[1]} {found[2]}'):g}"
            else:
                said = "write it without a unit, for example " + (
                    "9.5" if self._unit else "5e3, in the metric's unit"
                )
            self.fail(f"{value!r} is no number: {said}", param, ctx)


class _Path(click.Path):
    """A path, in which `~` at the begin is the home folder: between quotes no shell replaces it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        named = str(home(Path(value))) if str(value).startswith("~") else value
        return super().convert(named, param, ctx)


def fields_of(_context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """The `NAME=VALUE` of an option that may be repeated, as a dictionary."""
    from roamlab.traces import logs

    return logs.pairs(max(option.opts, key=len), given)


def where(rows: str) -> Decorator:
    """The option that chooses records of a log by values of their fields; `rows`: what the log has."""
    return click.option(
        "--where",
        "only",
        multiple=True,
        metavar="FIELD=VALUE",
        callback=fields_of,
        help=f"Only {rows} with this value.",
    )


SECONDS = _Real("s")
AMOUNT = _Real()
NUMBER = _Number(0, 2**64 - 1)
ANY_PATH = _Path(path_type=Path)
FOLDER = _Path(path_type=Path, file_okay=False)
FILE = _Path(path_type=Path, dir_okay=False)


def _assignments(_context: click.Context, option: click.Parameter, given: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse a value without `=` before click refuses what is behind it: the value as another argument."""
    if any("=" not in each for each in given):
        from roamlab.scenarios.changes import assigned

        assigned(given, max(option.opts, key=len))
    return given


SCENARIO = click.argument("scenario", type=ANY_PATH)
RUN = click.argument(
    "run_folder", metavar="[RUN]", type=ANY_PATH, required=False, shell_complete=completion.runs
)
SET = click.option(
    "--set",
    "changes",
    multiple=True,
    metavar="PATH=VALUE",
    callback=_assignments,
    shell_complete=completion.fields,
    help="Change a field of the scenario, as in --set 'run.duration=14 s'; may be given more than once.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
STORE = click.option(
    "--store",
    type=FOLDER,
    default=Path("out/store"),
    show_default=True,
    envvar="ROAMLAB_STORE",
    show_envvar=True,
    help="Where runs are kept.",
)
THREADS = click.option("--threads", type=click.IntRange(1), help="Runs at a time.  [default: all processors]")
REPETITION = click.option(
    "--run", "repetition", type=NUMBER, default=0, show_default=True, help="Number of the repetition."
)


def given(context: click.Context) -> set[str]:
    """The options that the command line has, by their long names."""
    return {
        max(parameter.opts, key=len)
        for parameter in context.command.params
        if context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
    }


def read_with(option: str, *others: str) -> Decorator:
    """Refuse `option` without one of `others`: nothing else reads it. Placed below the options."""
    names = " or ".join(others)
    told = f"{option} changes nothing without {names}: add {others[0]}, or leave {option} out"
    return _refusing(option, lambda given: given.isdisjoint(others), told)


def unread_with(option: str, *others: str) -> Decorator:
    """Refuse `option` together with one of `others`: what they ask for does not read it. Placed below the options."""
    names = " or ".join(others)
    told = f"{option} changes nothing with {names}: leave one of the two out"
    return _refusing(option, lambda given: not given.isdisjoint(others), told)


def _refusing(option: str, is_idle: Callable[[set[str]], bool], told: str) -> Decorator:
    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def checked(*arguments: Any, **options: Any) -> Any:
            context = click.get_current_context()
            there = given(context)
            if option in there and is_idle(there):
                raise click.UsageError(f"{told}.", context)
            return command(*arguments, **options)

        return checked

    return decorate


def seed(text: str = "Seed of every random stream.") -> Decorator:
    """The option `--seed`."""
    return click.option("--seed", type=NUMBER, default=1, show_default=True, help=text)


def out(default: str, text: str, kind: click.Path = FOLDER, short: tuple[str, ...] = ()) -> Decorator:
    """The option `--out`, by default a folder. A folder with the name of a file that is not there yet is refused."""
    check = no_file if kind is FOLDER else None
    return click.option(
        *short, "--out", type=kind, default=Path(default), show_default=True, help=text, callback=check
    )


_OF_FILES = frozenset(
    (
        ".pcap",
        ".pcapng",
        ".tr",
        ".csv",
        ".parquet",
        ".arrow",
        ".zip",
        ".txt",
        ".json",
        ".html",
        ".pdf",
        ".png",
        ".svg",
    )
)
"""Ends of the names of files."""


def no_file(_context: click.Context, _option: click.Parameter, folder: Path | None) -> Path | None:
    """Refuse a name of a file for a folder of results."""
    if folder is not None and folder.suffix in _OF_FILES and not folder.is_dir():
        raise click.UsageError(
            f"--out {shown(folder)}: this names a file, and the result is a folder of several. Write --out "
            f"{shown(folder.with_suffix(''))}"
        )
    return folder
