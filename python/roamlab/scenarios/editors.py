"""The JSON Schemas of scenarios and sweeps for editors: an error marks the field, and not its table.

The engine's schema lists the kinds of a table under `oneOf`, and so a validator reports of a wrong field that the whole
table is none of them. Here `if` and `then` choose the kind, or the alternative by its type, and what is wrong is
reported in it. Editors propose texts from `anyOf`, which here also has `true`: it is never wrong.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from roamlab import _roamlab

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Node = dict[str, Any]

_SCALARS = ("string", "number", "integer", "boolean")


def text(of: str) -> str:
    """The schema of a "scenario" or a "sweep"."""
    if of == "sweep":
        found = SWEEP
    else:
        engine = json.loads(_roamlab.schema())
        found = _Schema(engine.get("$defs", {})).root(engine)
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def _closed(fields: Iterable[str], required: Sequence[str]) -> Node:
    """The rule of a table with these fields.

    A field that it does not have is marked by a schema that nothing satisfies; `false` would mark the table. What is
    missing is marked at the table, but not if it may be misspelt: then the field with the unknown name is marked alone.
    """
    known = sorted(fields)
    found: Node = {
        "additionalProperties": {"not": {"description": f"an unknown field; known are {', '.join(known)}"}}
    }
    if required:
        found |= {"if": {"propertyNames": {"enum": known}}, "then": {"required": [*required]}}
    return found


def _table(description: str, required: tuple[str, ...], **fields: Node) -> Node:
    """A table with fields."""
    return {"description": description, "type": "object", "properties": fields, **_closed(fields, required)}


_TEXT: Node = {"type": "string"}
_COUNT: Node = {"type": "integer", "minimum": 1}
_RANGE = {
    "description": "a list of values, or the ends of a range",
    "type": ["array", "object"],
    "if": {"type": "object"},
    "then": _table("a range", ("low", "high"), low={}, high={}, scale={"enum": ["linear", "log"]}),
    "else": {"minItems": 1},
}
_UNTIL = _table(
    "runs until an interval is narrow enough",
    ("metric", "half_width"),
    metric=_TEXT | {"description": "the metric of the interval"},
    half_width={
        "description": "of the interval, in the metric's unit",
        "type": "number",
        "exclusiveMinimum": 0,
    },
    minimum=_COUNT | {"description": "runs that are always made", "default": 20},
    budget=_COUNT | {"description": "runs that are made at most", "default": 1000},
    rule={"description": "how the number is found", "enum": ["pilot", "sequential"], "default": "pilot"},
    baseline=_TEXT | {"description": "the interval is of the difference from this point"},
)
SWEEP: Node = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Sweep"} | _table(
    "A sweep: a scenario at many points, several times each.",
    ("scenario",),
    scenario=_TEXT | {"description": "the path of a scenario, from the sweep's folder"},
    seed={
        "description": "a whole number from 0 to 2^64 - 1, or a name",
        "type": ["integer", "string"],
        "minimum": 0,
        "default": 1,
    },
    replications={
        "description": "a whole number from 1 on, or a table with metric and half_width",
        "default": 30,
        "anyOf": [_COUNT, _UNTIL, True],
        "if": {"type": "object"},
        "then": _UNTIL,
        "else": _COUNT,
    },
    metrics={"description": "a list of metrics", "type": "array", "items": _TEXT, "minItems": 1},
    keep={"description": '"summary" or "tables"', "enum": ["summary", "tables"], "default": "summary"},
    common_random_numbers={"description": "true or false", "type": "boolean", "default": True},
    baseline=_TEXT | {"description": "the name of a point, or a value on one axis"},
    set={"description": "a table of paths and values", "type": "object"},
    grid={
        "description": "a table of paths and lists of values",
        "type": "object",
        "additionalProperties": {"type": "array", "minItems": 1},
    },
    points={
        "description": "a list of tables",
        "type": "array",
        "items": {"type": "object", "properties": {"name": _TEXT}},
    },
    random={
        "description": "a table of points, and of paths and ranges",
        "type": "object",
        "properties": {"points": _COUNT | {"description": "how many points are drawn"}},
        "required": ["points"],
        "additionalProperties": _RANGE,
    },
)
"""The schema of sweeps. Reports of `roamlab.sweeps.sweepfile` have the descriptions as what is expected."""


class _Schema:
    def __init__(self, defs: dict[str, Node]) -> None:
        self._defs = defs
        self._made: dict[str, Node] = {}

    def root(self, engine: Node) -> Node:
        top = self._node({name: value for name, value in engine.items() if name != "$defs"}, "Scenario")
        for name, node in self._defs.items():
            if self._is_table(node):
                self._made[name] = self._node(node, name)
        return top | {"$defs": dict(sorted(self._made.items()))}

    def _is_table(self, node: Node) -> bool:
        """True for a definition that has fields, or that may be a table with them; all others are written in place."""
        return "object" in self._types(node)

    def _types(self, node: Node) -> set[str]:
        """The types of JSON that a value may have."""
        if "$ref" in node:
            return self._types(self._of_ref(node))
        for several in ("oneOf", "anyOf"):
            if several in node:
                return set().union(*(self._types(each) for each in node[several])) - {"null"}
        if "const" in node or "enum" in node:
            return {"string"}
        kind = node["type"]
        return {kind} if isinstance(kind, str) else {each for each in kind if each != "null"}

    def _of_ref(self, node: Node) -> Node:
        return self._defs[node["$ref"].rpartition("/")[2]]

    def _node(self, node: Node, name: str) -> Node:
        """A schema for editors; `name`: of the definition that it is a part of."""
        if "$ref" in node:
            named = node["$ref"].rpartition("/")[2]
            if self._is_table(self._defs[named]):
                return node
            return self._node(self._defs[named], named) | {
                key: value for key, value in node.items() if key != "$ref"
            }
        about = {key: value for key, value in node.items() if key not in ("oneOf", "anyOf")}
        listed: list[Node] = node.get("oneOf") or node.get("anyOf") or []
        several = [each for each in listed if each.get("type") != "null"]
        if len(several) == 1 and "oneOf" not in node:
            return self._node(several[0] | about, name)
        if several and all("const" in each for each in several):
            return about | {"enum": [each["const"] for each in several], "anyOf": [*several, True]}
        if several and all("properties" in each for each in several):
            return about | self._kinds(several, name)
        if several:
            return about | self._alternatives(several, name)
        return self._plain(node, name)

    def _plain(self, node: Node, name: str) -> Node:
        """A table, a list or a value."""
        found = dict(node)
        if isinstance(node.get("type"), list):
            found["type"] = next(each for each in node["type"] if each != "null")
        if "properties" in node:
            found["properties"] = {key: self._node(each, name) for key, each in node["properties"].items()}
        if "items" in node:
            found["items"] = self._node(node["items"], name)
        if "prefixItems" in node:
            found["prefixItems"] = [self._node(each, name) for each in node["prefixItems"]]
        if node.get("additionalProperties") is False:
            found |= _closed(node.get("properties", {}), found.pop("required", ()))
        elif isinstance(node.get("additionalProperties"), dict):
            found["additionalProperties"] = self._node(node["additionalProperties"], name)
        return found

    def _kinds(self, tables: list[Node], name: str) -> Node:
        """A table of one of several kinds."""
        kinds = [each["properties"]["kind"]["const"] for each in tables]
        refs = []
        for kind, table in zip(kinds, tables, strict=True):
            of_kind = f"{name}-{kind}"
            self._made[of_kind] = self._node(table, name)
            refs.append({"$ref": f"#/$defs/{of_kind}"})
        conditions: list[Node] = [
            {"properties": {"kind": {"const": kind}}, "required": ["kind"]} for kind in kinds
        ]
        fields = {field for table in tables for field in table["properties"]}
        without: Node = {"properties": dict.fromkeys(sorted(fields), True), **_closed(fields, ["kind"])}
        return {
            "type": "object",
            "properties": {"kind": {"enum": kinds}},
            "anyOf": [*refs, True],
            **_chosen([*zip(conditions, refs, strict=True), ({"not": {"required": ["kind"]}}, without)], {}),
        }

    def _alternatives(self, several: list[Node], name: str) -> Node:
        """One of several types of values: tables and lists by their type, else the last one."""
        types = [self._types(each) for each in several]
        nodes = [self._node(each, name) for each in several]
        if sum(map(len, types)) > len(set().union(*types)):
            return {"anyOf": nodes}
        ordered = sorted(zip(types, nodes, strict=True), key=lambda each: bool(each[0] & {*_SCALARS}))
        *first, (_, last) = ordered
        chosen = [({"type": sorted(kinds)}, node) for kinds, node in first]
        return {"anyOf": [*nodes, True], **_chosen(chosen, last)}


def _chosen(cases: list[tuple[Node, Node]], otherwise: Node) -> Node:
    """The first schema whose condition is true."""
    found = otherwise
    for condition, node in reversed(cases):
        found = {"if": condition, "then": node, **({"else": found} if found else {})}
    return found
