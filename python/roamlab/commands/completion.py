"""Completion in the shell: fields for `--set`, metrics, runs and examples, with their meaning if the shell shows it."""

from __future__ import annotations

import json
from contextlib import suppress
from functools import reduce
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roamlab.commands.inputs import RUNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import click
    from click.shell_completion import CompletionItem

    from roamlab.scenarios.scenario import Scenario

_MOST = 50
"""Runs that are offered: the newest."""

_BASH = ("    return 0\n", "    [[ ${COMPREPLY-} == *[.=] ]] && compopt -o nospace\n\n    return 0\n")
_ZSH = (
    (
        "    if [ -n",
        "    [[ ${completions_with_descriptions[1]%%%%:*}${completions[1]} == *[.=] ]] && end=(-S '')\n    if [ -n",
    ),
    ("local -a response", "local -a response end"),
    ("_descriptions -U", '_descriptions -U "${end[@]}"'),
    ("compadd -U", 'compadd -U "${end[@]}"'),
)
"""Changes of click's scripts: no space follows a part of a path, and `PATH=`. Fish does so without a change."""


def register() -> None:
    """Let bash and zsh write no space behind a part of a path. Bash splits `PATH=VALUE`: make one word of it."""
    from click.shell_completion import BashComplete, ZshComplete, add_completion_class

    class Bash(BashComplete):
        source_template = BashComplete.source_template.replace(*_BASH)

        def get_completion_args(self) -> tuple[list[str], str]:
            args, incomplete = super().get_completion_args()
            words: list[str] = []
            for word in [*args, incomplete]:
                if words and (word == "=" or words[-1].endswith("=")):
                    words[-1] += word
                else:
                    words.append(word)
            return words[:-1], words[-1]

    class Zsh(ZshComplete):
        source_template = reduce(
            lambda text, change: text.replace(*change, 1), _ZSH, ZshComplete.source_template
        )

    add_completion_class(Bash)
    add_completion_class(Zsh)


def _items(found: Iterable[tuple[str, str]], begun: str) -> list[CompletionItem]:
    """Texts with their meanings, of those that begin so."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(text, help=about) for text, about in found if text.startswith(begun)]


def examples(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of examples with their questions."""
    from roamlab.scenarios import examples

    return _items(examples.questions().items(), begun)


def notebooks(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of notebooks."""
    from roamlab.notebooks import shipped

    return _items(((name, "") for name in shipped.names()), begun)


def papers(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of papers, and the word for all."""
    from roamlab import papers

    return _items(((name, "") for name in ("all", *papers.names())), begun)


def profiles(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of TCP profiles."""
    from roamlab.scenarios import profiles

    return _items(((name, "") for name in profiles.names()), begun)


def runs(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The runs in `out/runs`, the newest first, each with its scenario and seed; without one that fits, folders."""
    from click.shell_completion import CompletionItem

    from roamlab.base.errors import BadInput
    from roamlab.records.storage.store import manifest_of

    found = []
    with suppress(OSError):
        made = sorted(RUNS.glob("*/manifest.json"), key=lambda path: -path.parent.stat().st_mtime_ns)
        for path in islice(made, _MOST):
            with suppress(BadInput):
                manifest = manifest_of(path.parent)
                name = Path(manifest.scenario_name).name
                found.append((str(path.parent), f"{name}, seed {manifest.seed}, run {manifest.run}"))
    return _items(found, begun) or [CompletionItem(begun, type="dir")]


def metrics(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Names of metrics: of all flows, and of each flow of the scenario."""
    from roamlab.running import summary

    scenario = _scenario(context)
    flows = [flow["name"] for flow in scenario.parameters.get("flows", [])] if scenario else []
    named = (
        name.replace("FLOW", flow)
        for name in summary.names()
        for flow in (("*", *flows) if "FLOW" in name else ("",))
    )
    return _items(((name, "") for name in named), begun)


def fields(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """The next step of the path of a field in the scenario: with `.` if it continues, else with `=`."""
    scenario = _scenario(context)
    if scenario is None or "=" in begun:
        return []
    from roamlab import _roamlab

    schema = json.loads(_roamlab.schema())
    nodes: list[dict[str, Any]] = [schema]
    value: Any = scenario.parameters
    *steps, _ = begun.split(".")
    for step in steps:
        nodes = [inner for node in nodes for inner in _inside(schema, node, value, step)]
        value = _parts(value).get(step)
    parts = _parts(value)
    tables = [table for node in nodes for table in _tables(schema, node, value)]
    known = {
        name: field.get("description", "") for table in tables for name, field in table["properties"].items()
    }
    before = "".join(f"{step}." for step in steps)
    return _items(
        (
            (f"{before}{name}{'.' if _parts(parts.get(name)) else '='}", known.get(name, ""))
            for name in known or parts
        ),
        begun,
    )


def _parts(value: Any) -> dict[str, Any]:
    """The parts of a table by their names, and of a list of tables by their names or positions."""
    if isinstance(value, list):
        return {str(each.get("name", at)): each for at, each in enumerate(value) if isinstance(each, dict)}
    return value if isinstance(value, dict) else {}


def _resolved(schema: dict[str, Any], node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A schema, or each of those that it refers to."""
    if "$ref" in node:
        yield from _resolved(schema, schema["$defs"][node["$ref"].rpartition("/")[2]])
        return
    several = node.get("oneOf") or node.get("anyOf")
    for each in several or ():
        yield from _resolved(schema, each)
    if not several:
        yield node


def _tables(schema: dict[str, Any], node: dict[str, Any], value: Any) -> Iterator[dict[str, Any]]:
    """The schemas of tables that fit a value, by its kind."""
    for each in _resolved(schema, node) if isinstance(value, dict) else ():
        kind = each.get("properties", {}).get("kind", {})
        if "properties" in each and kind.get("const", value.get("kind")) == value.get("kind"):
            yield each


def _inside(schema: dict[str, Any], node: dict[str, Any], value: Any, step: str) -> Iterator[dict[str, Any]]:
    """The schemas of a part of a value."""
    for each in _resolved(schema, node):
        if isinstance(value, list) and "items" in each:
            yield each["items"]
        elif isinstance(each.get("additionalProperties"), dict):
            yield each["additionalProperties"]
    for table in _tables(schema, node, value):
        if step in table["properties"]:
            yield table["properties"][step]


def _scenario(context: click.Context) -> Scenario | None:
    """The scenario that a command line names so far, as such or in a sweep.

    Click leaves arguments in `args` if an option behind them has no value yet.
    """
    import tomli

    from roamlab._roamlab import ScenarioError
    from roamlab.base.errors import BadInput
    from roamlab.scenarios import scenario

    named = [context.params.get(name) for name in ("scenario", "first", "sweep_file")]
    files = [Path(each) for each in [*named, *context.args] if each and str(each).endswith(".toml")]
    with suppress(BadInput, ScenarioError, OSError, ValueError, IndexError):
        of_sweep = tomli.loads(files[0].read_text(encoding="utf-8")).get("scenario")
        return scenario.load(files[0].parent / of_sweep if of_sweep else files[0])
    return None
