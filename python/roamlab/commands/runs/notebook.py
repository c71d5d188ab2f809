"""`roamlab notebook`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from roamlab.base.screen import say, shown
from roamlab.commands import completion
from roamlab.commands.options import JSON
from roamlab.commands.output import print_json, print_questions

_PROGRAMS = ("jupyterlab", "notebook")
"""Packages that show a notebook, in the environment that has this one: their kernel finds it."""


@click.command("notebook")
@click.argument("name", required=False, shell_complete=completion.notebooks)
@click.option("--open/--no-open", "opens", default=True, show_default=True, help="Open it with Jupyter.")
@JSON
def command(name: str | None, *, opens: bool, as_json: bool) -> None:
    """Copy a notebook of the package into this folder, and open it with Jupyter.

    Without NAME all are listed, each with its question. A copy that is there already is opened unchanged.
    """
    from roamlab.notebooks import shipped

    if name is None:
        _list({each: shipped.question(each) for each in shipped.names()}, as_json)
        return
    path, is_new = shipped.copy(name, Path())
    if as_json:
        print_json({"notebook": shown(path), "copied": is_new})
    else:
        say(f"notebook: {shown(path)}{'' if is_new else ', which was there already'}")
    if opens:
        _open(path)


def _list(questions: dict[str, str], as_json: bool) -> None:
    if as_json:
        print_json([{"name": name, "question": question} for name, question in questions.items()])
        return
    print_questions(questions)
    say(f"next: roamlab notebook {next(iter(questions))}")


def _open(path: Path) -> None:
    """Start Jupyter with a notebook, and wait until it ends. Raises `BadInput` if it is not installed."""
    import subprocess
    from importlib.util import find_spec

    from roamlab.base.errors import BadInput

    program = next((each for each in _PROGRAMS if find_spec(each) is not None), None)
    if program is None:
        raise BadInput(
            shown(path),
            "Jupyter, which would open it, is not installed next to Roamlab",
            expected=f"one of the packages {' and '.join(_PROGRAMS)} in this environment",
            remedy=f"`{shown(sys.executable)} -m pip install jupyterlab`, then the same command again; "
            "with --no-open the notebook is only copied, for another editor",
        )
    sys.exit(subprocess.call([sys.executable, "-m", program, path]))
