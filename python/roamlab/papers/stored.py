"""Stored results of measures: values as text, and what determines them."""

from __future__ import annotations

import ast
import base64
import hashlib
import json
from dataclasses import fields
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from roamlab.records.results import Results

_PACKAGE = Path(__file__).parents[1]

_C = TypeVar("_C", bound=type)

_KINDS: dict[str, Any] = {}
"""The dataclasses that values may be made of, by module and name. Nothing else in a store is ever called."""

_NUMBERS = "biuf"
"""Kinds of the elements of arrays: truth values and numbers."""


class Damaged(ValueError):
    """A text that `encode` has not written."""


def storable(kind: _C) -> _C:
    """Mark a dataclass as one that values may be made of: only these are encoded, and only these are decoded."""
    _KINDS[f"{kind.__module__}.{kind.__qualname__}"] = kind
    return kind


def encode(value: Any) -> str:
    """A value as text: numbers, text, truth values, lists, tuples, dictionaries, arrays, `storable` dataclasses."""
    return json.dumps(_tagged(value), separators=(",", ":"))


def decode(text: str) -> Any:
    """The value again, to the last bit; numbers of NumPy are Python's. Raises `Damaged`."""
    try:
        return json.loads(text, object_hook=_untagged)
    except Damaged:
        raise
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise Damaged(f"the value cannot be read ({error})") from None


def name_of(take: Callable[[Results], Any]) -> str:
    """Inputs of a measure of a run: its name, its arguments and its code.

    Raises `TypeError` if it is no function of a module, nor a `functools.partial` of one.
    """
    arguments = []
    while isinstance(take, partial):
        arguments.append([list(take.args), take.keywords])
        take = take.func
    if "<" in take.__qualname__:
        raise TypeError(f"{take.__qualname__} is no function of a module: it cannot be found again")
    return f"{take.__module__}.{take.__qualname__} {json.dumps(arguments)} {code(take.__module__)}"


@cache
def code(module: str) -> str:
    """Hash of a module of this package and of all that it imports."""
    digest = hashlib.sha256()
    for name, content in sorted(sources(module).items()):
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def sources(module: str) -> dict[str, bytes]:
    """The files of a module of this package and of those that it imports, and so on, by the modules' names.

    The axes of a paper and the sentences on them, which its module `space` reads, are among them.
    """
    found: dict[str, bytes] = {}
    wanted = [module]
    while wanted:
        name = wanted.pop()
        path = _PACKAGE.parent.joinpath(*name.split(".")).with_suffix(".py")
        if name in found or not path.is_file():
            continue
        found[name] = path.read_bytes()
        for node in ast.walk(ast.parse(found[name])):
            if isinstance(node, ast.ImportFrom) and node.module:
                wanted += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for data in ("axes", "sentences") if path.stem == "space" else ():
            if (of := path.with_name(f"{data}.toml")).is_file():
                found[f"{name} {data}"] = of.read_bytes()
    return found


def _tagged(value: Any) -> Any:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list):
        return [_tagged(entry) for entry in value]
    if isinstance(value, tuple):
        return {"tuple": [_tagged(entry) for entry in value]}
    if isinstance(value, dict):
        return {"pairs": [[_tagged(key), _tagged(entry)] for key, entry in value.items()]}
    if isinstance(value, np.ndarray):
        content = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"array": content, "dtype": value.dtype.str, "shape": value.shape}
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    if (known := _KINDS.get(kind)) is type(value):
        of = {field.name: _tagged(getattr(value, field.name)) for field in fields(known)}
        return {"kind": kind, "of": list(of.items())}
    raise TypeError(f"a {type(value).__name__} cannot be kept")


def _untagged(found: dict[str, Any]) -> Any:
    if "tuple" in found:
        return tuple(found["tuple"])
    if "pairs" in found:
        return dict(found["pairs"])
    if "array" in found:
        dtype = np.dtype(str(found["dtype"]))
        if dtype.kind not in _NUMBERS:
            raise Damaged(f"{found['dtype']!r} is no type of numbers")
        content = np.frombuffer(base64.b64decode(found["array"]), dtype=dtype)
        return content.reshape(found["shape"]).copy()
    kind = _KINDS.get(str(found.get("kind")))
    if kind is None:
        raise Damaged(f"{str(found.get('kind'))[:80]!r} is no kind of value that papers keep")
    return kind(**dict(found["of"]))
