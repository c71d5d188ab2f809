"""The command line: its commands, found in `commands`, and how it ends.

Exit codes: 0 done; 1 a run failed; 2 invalid input; 130 interrupted. Results go to standard output; progress,
notes and errors to standard error. A command imports its heavy modules when it runs, so that `roamlab --help` is quick.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from io import StringIO
from pkgutil import walk_packages
from typing import Any, NoReturn

import click

import roamlab.commands as commands
from roamlab.base.screen import accept_any_text, say
from roamlab.commands import completion, foreign
from roamlab.commands.output import BAD_INPUT, FAILED, INTERRUPTED

_OTHER_WORDS = {
    "simulate": "run",
    "start": "run",
    "exec": "run",
    "show": "report",
    "view": "explore",
    "open": "explore",
    "validate": "check",
    "lint": "check",
    "diff": "compare",
    "pcap": "export",
    "convert": "schedule",
    "models": "list",
    "ls": "list",
    "explain": "why",
    "gui": "play",
    "jupyter": "notebook",
    "lab": "notebook",
    "ipython": "notebook",
    "paper": "reproduce",
    "ping": "shell",
    "iperf": "shell",
    **dict.fromkeys(("optimize", "tune", "best", "tuning"), "optimise"),
    **dict.fromkeys(("init", "create", "copy", "example", "examples", "template", "templates"), "new"),
}
"""Words for commands that are not in their help."""

_SEARCHED = (
    'a search is made in Python: roamlab.load("FILE").smallest("mobility.buffer.limit", '
    'where="flows.FLOW.timeouts == 0", between=("4 pkt", "64 pkt")). See docs/how-to/size-a-buffer.md'
)
_DRAWN = (
    "`roamlab report RUN` and `roamlab chart RUN` draw a run, `roamlab explore RUN` shows it over time, and "
    "`roamlab sweep` writes a page with figures"
)
_ONLY_PYTHON = {
    **dict.fromkeys(("smallest", "largest", "search", "threshold"), _SEARCHED),
    **dict.fromkeys(("plot", "graph", "figure", "figures"), _DRAWN),
}
"""Words for what only the library has."""


class _Commands(click.Group):
    """Commands that are found by other words too: one that is not there is searched in the texts of the others."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that `args` begin with."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            word = args[0].lower()
            if word in ("help", "version"):
                return self._of_option(ctx, word, args[1:])
            if word.endswith(".toml"):
                raise click.UsageError(
                    f"{args[0]!r} is a file, not a command. Write for example: roamlab run {args[0]}", ctx
                ) from None
            if word in _ONLY_PYTHON:
                raise click.UsageError(f"No such command {args[0]!r}: {_ONLY_PYTHON[word]}", ctx) from None
            said = {name: (command.help or "").lower() for name, command in self.commands.items()}
            meant = [_OTHER_WORDS[word]] if word in _OTHER_WORDS else []
            meant = meant or [name for name, text in said.items() if word in text.partition("\n")[0].split()]
            if not meant or (word not in _OTHER_WORDS and "Did you mean" in error.format_message()):
                raise
            raise click.UsageError(
                f"No such command {args[0]!r}. Did you mean {' or '.join(map(repr, meant[:2]))}?", ctx
            ) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an option that only other programs have is answered with what to write."""
        try:
            return super().invoke(ctx)
        except click.NoSuchOption as error:
            if error.ctx is None:
                raise
            told = foreign.advice(error.option_name, error.ctx, self.commands)
            end = "" if told.endswith("?") else "."
            raise click.UsageError(f"No such option {error.option_name!r}: {told}{end}", error.ctx) from None
        except click.MissingParameter as error:
            if error.ctx is not None and (number := _number_in_place(error.ctx.params, error.param)):
                raise click.UsageError(
                    f"{error.format_message().rstrip('.')}: {number}.", error.ctx
                ) from None
            if error.ctx is None or error.param is None or error.param.name != "second":
                raise
            raise click.UsageError(f"Missing argument 'B': {foreign.ONE_SCENARIO}.", error.ctx) from None
        except click.UsageError as error:
            extra = re.fullmatch(r"Got unexpected extra arguments? \((.*)\)", error.message)
            if extra is None or error.ctx is None or not (instead := _for_extra(error.ctx.command, extra[1])):
                raise
            raise click.UsageError(f"{error.message}: {instead}.", error.ctx) from None

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read what is before the command; an option of a command belongs behind it."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            having = foreign.having(error.option_name, self.commands)
            if not having:
                raise
            command_name = "run" if "run" in having else having[0]
            raise click.UsageError(
                f"No such option {error.option_name!r}: it is of a command, and written behind it: "
                f"roamlab {command_name} … {error.option_name}.",
                ctx,
            ) from None

    def _of_option(
        self, ctx: click.Context, word: str, rest: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """`roamlab help [COMMAND]` is `roamlab [COMMAND] --help`, and `roamlab version` is `roamlab --version`."""
        if word == "version":
            self.main(["--version"], prog_name=ctx.info_name, standalone_mode=False)
            ctx.exit()
        if not rest:
            say(ctx.get_help())
            ctx.exit()
        return super().resolve_command(ctx, [rest[0], "--help"])


def _number_in_place(given: dict[str, Any], missing: click.Parameter | None) -> str:
    """Advice if the number of an option that is missing is written where the command has a run."""
    numbers = [str(each) for each in given.values() if str(each).isdecimal()]
    if missing is None or missing.param_type_name != "option" or not numbers:
        return ""
    return f"write {max(missing.opts, key=len)} {numbers[0]}"


def _for_extra(command: click.Command, extra: str) -> str:
    """Advice on arguments that a command does not take; empty if nothing is known."""
    word, _, rest = extra.partition(" ")
    long = next((f"--{word}" for each in command.params if f"--{word}" in each.opts), "")
    if long:
        return f"write {long} {rest or 'and its value'}, without a blank behind the hyphens"
    changes = any("--set" in parameter.opts for parameter in command.params)
    if changes and re.match(r"[\w.]+=", extra):
        return "each change has its own option: write --set before it"
    if extra.endswith(".toml") and not any(each.param_type_name == "argument" for each in command.params):
        return "this command takes no file; `roamlab check FILE` checks a scenario"
    if extra.endswith(".toml"):
        return "this command takes one file; `roamlab compare A B` compares two scenarios"
    return ""


def _print_version(ctx: click.Context, _: click.Parameter, asked: bool) -> None:
    """Print what a result depends on: the version, the engine's behaviour and the built kernels."""
    if not asked or ctx.resilient_parsing:
        return
    from roamlab import _roamlab
    from roamlab.kernel import cache

    kernels = [folder.name for version in cache.VERSIONS if (folder := cache.built(version))]
    of_linux = f"Linux kernel {', '.join(kernels)}" if kernels else "no Linux kernel built"
    say(f"roamlab {_roamlab.version()}, engine behaviour {_roamlab.behaviour()}, {of_linux}")
    ctx.exit()


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version, the number of the engine's behaviour and the built Linux kernels.",
)
def cli() -> None:
    """TCP and UDP under handovers of a host."""


for _module in walk_packages(commands.__path__, f"{commands.__name__}."):
    if _command := getattr(import_module(_module.name), "command", None):
        cli.add_command(_command)


def main() -> None:
    """Run the command line; every expected failure is a message and an exit code, never a traceback."""
    accept_any_text()
    if "_ROAMLAB_COMPLETE" in os.environ:
        completion.register()
    warnings.showwarning = _warned
    try:
        cli.main(prog_name="roamlab", standalone_mode=False)
    except click.ClickException as error:
        _fail(_usage(error), error.exit_code)
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        interrupted()
    except Exception as error:
        from roamlab.base.errors import bad_path

        code = _exit_code(error)
        if code is None:
            raise
        # Who reads no further wants no report of it.
        _fail("" if isinstance(error, BrokenPipeError) else f"error: {bad_path(error) or error}", code)


def _warned(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a library's warning: it may quote names of an input."""
    with suppress(OSError):
        say(f"warning: {message}", err=True)


def interrupted() -> NoReturn:
    """End an interrupted program."""
    _fail("interrupted", INTERRUPTED)


def _usage(error: click.ClickException) -> str:
    """Text of click for a command line that is wrong."""
    text = StringIO()
    error.show(text)
    # Click lists the choices of a missing option on separate lines, behind tabs.
    return text.getvalue().rstrip("\n").replace("\n\t", " ")


def _fail(text: str, code: int) -> NoReturn:
    """Print the fault, and exit. A standard stream that takes nothing more is closed without another error."""
    with suppress(OSError):
        if text:
            say(text, err=True)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)


def _exit_code(error: Exception) -> int | None:
    """The exit code of a failure that is foreseen; None for an internal error."""
    from roamlab import _roamlab
    from roamlab.base.errors import BadInput, RoamlabError, bad_path

    if isinstance(error, BadInput | _roamlab.ScenarioError) or bad_path(error):
        return BAD_INPUT
    if isinstance(error, _roamlab.SimulationError | RoamlabError | OSError):
        return FAILED
    return None
