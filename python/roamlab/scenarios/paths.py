"""Fields of a scenario by their paths: `cells.bs1.rate`, `flows.0.app.start`."""

import re
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from roamlab.base.errors import BadInput, did_you_mean, quoted

_LONGEST_PATH = 400
"""Characters of a field's path."""


def put(name: str, root: Any, path: str, value: Any) -> None:
    """Change one field in the tables of the scenario of this name; see `Scenario.set` for the path.

    Nothing else is checked. Raises BadInput for a path of which the scenario has no part.
    """
    table = root
    if len(path) > _LONGEST_PATH:
        raise BadInput(
            f"{name}, field {path[:60]}...",
            f"a path of {len(path)} characters is too long",
            expected=f"at most {_LONGEST_PATH} characters",
            remedy="write the field's sections and its name, such as cells.bs2.rate",
        )
    if isinstance(value, dict | list):
        value = deepcopy(value)  # a later change may be inside it, and it may be read-only
    *parents, last = re.sub(r"\[(\d+)\]", r".\1", path).split(".")
    first = (parents or [last])[0]
    dotted = re.sub(r"\[['\"]?([^\]'\"]*)['\"]?\]", r".\1", path).replace("/", ".").strip(".")
    if isinstance(table, dict) and first not in table and dotted != path and {*first} & {*"[]/"}:
        raise BadInput(
            f"{name}, field {path}",
            f"a scenario has no part {first!r}",
            expected="a path whose steps have a dot between them, names of elements too",
            remedy=f"write {dotted}",
        )
    if inside := _parent_of(table, parents):
        raise BadInput(
            f"{name}, field {path}",
            f"there is no part {parents[0]!r}",
            expected="a path that begins with a part of the scenario",
            remedy=f"write {inside}.{path}",
        )
    for depth, step in enumerate(parents):
        if isinstance(table, dict):
            if step not in table and depth == 1 and parents[0] == "cells":
                raise _no_element(name, root, path, step, list(table))
            if step not in table and [*parents[depth + 1 :], last][0].isdecimal():
                whole = ".".join(parents[: depth + 1])
                raise BadInput(
                    f"{name}, field {path}",
                    f"the scenario has no {step!r} written, so none of its elements can be changed",
                    expected="the whole list",
                    remedy=f'write .set("{whole}", […])',
                )
            table = table.setdefault(step, {})
        else:
            table = table[_position(name, root, table, step, ".".join(parents[: depth + 1]))]
    if isinstance(table, dict):
        table[last] = value
    else:
        table[_position(name, root, table, last, path)] = value


def _parent_of(table: Any, parents: Sequence[str]) -> str:
    """The part of the scenario that a path lacks, if it begins with the name of an element; otherwise empty."""
    if not parents or not isinstance(table, dict) or parents[0] in table:
        return ""
    names = {
        part: [each.get("name") if isinstance(each, dict) else each for each in table.get(part, ())]
        for part in ("hosts", "flows", "cells")
    }
    return next((part for part, known in names.items() if parents[0] in known), "")


def _position(name: str, root: Any, elements: Any, step: str, path: str) -> int:
    """Position in a list of the element that `step` names."""
    if not isinstance(elements, list):
        raise BadInput(
            f"{name}, field {path}",
            f"there is nothing below {type(elements).__name__} {quoted(elements)}",
            expected="a path through tables and lists",
            remedy="end the path here, or replace the value by a table",
        )
    names = [element.get("name") if isinstance(element, dict) else None for element in elements]
    if step in names:
        return names.index(step)
    if step.isdecimal() and int(step) < len(elements):
        return int(step)
    known = [str(each) for each in names if each is not None]
    if (place := _between(step, elements)) is not None:
        raise BadInput(
            f"{name}, field {path}",
            f"no element {step!r}",
            expected="a position, because these have no names" if not known else "a name or a position",
            remedy=f"write {path.replace(step, known[place] if known else str(place), 1)}",
        )
    raise _no_element(name, root, path, step, known, len(elements))


def _items(root: Any, path: str) -> str:
    """The indices that lead to a list in `to_dict()`, as Python has them."""
    at = root
    found = ""
    for step in path.split("."):
        index: Any = step
        if isinstance(at, list):
            names = [each.get("name") if isinstance(each, dict) else None for each in at]
            index = names.index(step) if step in names else int(step)
        at = at[index]
        found += f"[{index}]" if isinstance(index, int) else f'["{index}"]'
    return found


def _no_element(
    name: str, root: Any, path: str, step: str, known: Sequence[str], positions: int = 0
) -> BadInput:
    """Neither the name nor the position of an element in the scenario."""
    named = f"one of {', '.join(known)}" if known else ""
    numbered = f"a position below {positions}" if positions else ""
    begin = path.rpartition(".")[0]
    example = f"write {begin}.0, for example" if positions and not known else ""
    if step in ("-1", "last"):
        example = f"write {begin}.{positions - 1} for the last one"
    elif re.fullmatch(r"\d+|-|\+|end|append|new", step) and path.endswith(step):
        example = (
            f"to change one write {begin}.0, for example; to add one write the whole list, in the file or in "
            f'Python: base.set("{begin}", [*base.to_dict(){_items(root, begin)}, {{…}}])'
        )
    return BadInput(
        f"{name}, field {path}",
        f"no element {step!r}",
        expected=" or ".join(filter(None, (numbered, named))) or "an element, of which there are none",
        remedy=did_you_mean(step, known, example or "name an element of the scenario"),
    )


def _between(step: str, elements: Sequence[Any]) -> int | None:
    """The position of the link or flow that a step names by its two ends, or of the only visit of the cell in it.

    The ends have any order and any sign between them.
    """
    cells = [element.get("cell") if isinstance(element, dict) else None for element in elements]
    if cells.count(step) == 1:
        return cells.index(step)
    for place, element in enumerate(elements):
        ends = (element.get("between") or element.get("path")) if isinstance(element, dict) else None
        for one, other in (ends, ends[::-1]) if ends else ():
            if re.fullmatch(rf"\W*{re.escape(one)}[\W_]+{re.escape(other)}\W*", step):
                return place
    return None
