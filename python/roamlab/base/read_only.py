"""Dictionaries and lists that cannot be changed: a change of a copy would be lost without a word."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from roamlab.base.calls import BadCall

if TYPE_CHECKING:
    from collections.abc import Callable

_CHANGING = (
    "__setitem__",
    "__delitem__",
    "__ior__",
    "__iadd__",
    "__imul__",
    "append",
    "clear",
    "extend",
    "insert",
    "pop",
    "popitem",
    "remove",
    "reverse",
    "setdefault",
    "sort",
    "update",
)
_CHANGE = (
    'write scenario = scenario.set("run.duration", "20 s") for a field; a copy of a part to change is made by '
    "copy.deepcopy(…), of a whole scenario by scenario.to_dict(), which Scenario.from_dict takes"
)


class ReadOnlyDict(dict[str, Any]):
    """A dictionary that cannot be changed; `copy.deepcopy` makes one that can."""

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return {name: copy.deepcopy(value, memo) for name, value in self.items()}

    def __reduce__(self) -> tuple[Callable[..., ReadOnlyDict], tuple[dict[str, Any]]]:
        return ReadOnlyDict, (dict(self),)


class ReadOnlyList(list[Any]):
    """A list that cannot be changed; `copy.deepcopy` makes one that can."""

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [copy.deepcopy(value, memo) for value in self]

    def __reduce__(self) -> tuple[Callable[..., ReadOnlyList], tuple[list[Any]]]:
        return ReadOnlyList, (list(self),)


def _refuse(kind: type) -> Callable[..., NoReturn]:
    def refuse(_self: Any, *given: Any, **_: Any) -> NoReturn:
        key = f", entry {given[0]!r}" if given and isinstance(given[0], str | int) else ""
        raise BadCall(
            f"a {'list' if issubclass(kind, list) else 'dictionary'} of a scenario{key}",
            "it is read-only: a change would not reach the scenario",
            expected="fields that are read",
            remedy=_CHANGE,
        )

    return refuse


for _kind in (ReadOnlyDict, ReadOnlyList):
    for _name in _CHANGING:
        if hasattr(_kind, _name):
            setattr(_kind, _name, _refuse(_kind))


def read_only(value: Any) -> Any:
    """Dictionaries and lists in a value, all the way down, as such that cannot be changed."""
    if isinstance(value, Mapping):
        return ReadOnlyDict({name: read_only(each) for name, each in value.items()})
    if isinstance(value, list):
        return ReadOnlyList(map(read_only, value))
    return value


def entries(found: dict[str, Any]) -> ReadOnlyDict:
    """`object_hook` for `json.loads` of what is `read_only`."""
    return ReadOnlyDict(
        {name: read_only(each) if type(each) is list else each for name, each in found.items()}
    )
