"""Changes to a scenario as one writes them: `PATH=VALUE` of the command line, and values in one line of TOML."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import tomli

from roamlab.base.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def assigned(given: Sequence[str], option: str = "--set") -> dict[str, Any]:
    """The changes that each `PATH=VALUE` requests. Raises `BadInput`.

    A value is one of TOML (`5`, `true`, `["a"]`), or else text (`14 s`).
    """
    changes: dict[str, Any] = {}
    for each in given:
        path, equals, value = (part.strip() for part in each.partition("="))
        if not equals or not all(path.split(".")):
            raise BadInput(
                f"{option} {each}",
                "this is no path and value" if equals else "there is no `=`",
                expected="PATH=VALUE",
                remedy=_assignment(option, each),
            )
        if more := re.search(r"[,;]\s*([a-z_]+(?:\.[\w-]+)+)=", value if value[:1] not in "{[\"'" else ""):
            raise BadInput(
                f"{option} {each}",
                f"the change of {more[1]} is a part of the value of {path}",
                expected="one change",
                remedy=f"write {option} for each: {option} '{path}={value[: more.start()]}' "
                f"{option} '{value[more.start() + 1 :].strip()}'",
            )
        if path in changes:
            raise BadInput(
                f"{option} {each}",
                "the field is set twice",
                expected="one value",
                remedy="leave one of them out",
            )
        changes[path] = _toml_value(value)
    return changes


def _assignment(option: str, given: str) -> str:
    """A remedy for what is no `PATH=VALUE`."""
    path, colon, value = (part.strip() for part in given.partition(":"))
    if "=" in given or not path or (colon and not value):
        return f"write {option} 'run.duration=14 s', for example"
    if colon:
        return f"write {option} '{path}={value}'"
    return f"write both in one argument, {option} '{path}=VALUE', as in {option} 'run.duration=14 s'"


def _toml_value(text: str) -> Any:
    """TOML value of a text, if it is a value of a scenario; otherwise the text itself."""
    with suppress(tomli.TOMLDecodeError, RecursionError):
        read = tomli.loads(f"value = {text}")
        if read.keys() == {"value"} and isinstance(read["value"], bool | int | float | str | list | dict):
            return read["value"]
    return text


def inline_toml(value: object) -> str:
    """A value in one line of TOML, as one writes it in a scenario. The field `kind` of a table is first."""
    if isinstance(value, dict):
        fields = sorted(value.items(), key=lambda field: field[0] != "kind")
        inner = ", ".join(f"{key} = {inline_toml(each)}" for key, each in fields)
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list):
        return f"[{', '.join(map(inline_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


def assignments(changes: Mapping[str, Any]) -> str:
    """Changes of a scenario, for people."""
    return ", ".join(
        f"{path} = {json.dumps(value, ensure_ascii=False, default=str)}" for path, value in changes.items()
    )
