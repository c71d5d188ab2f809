"""Mistakes in calls from Python: arguments that a function does not have, or of another type, are reported as input."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, NamedTuple, ParamSpec, TypeVar

from roamlab.base.errors import BadInput, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

P = ParamSpec("P")
R = TypeVar("R")


class BadCall(BadInput, TypeError):
    """A call that Python itself would refuse, with what to write."""


class Kind(NamedTuple):
    """Type of an argument."""

    types: tuple[type | str, ...]
    """Types, or the names of our classes that the caller's module cannot import."""
    expected: str
    remedy: str

    def has(self, value: object) -> bool:
        """True if the value is of one of the types. A truth value is no number."""
        named = {each.__name__ for each in type(value).__mro__}
        return any(
            each in named if isinstance(each, str) else isinstance(value, each) for each in self.types
        ) and not (isinstance(value, bool) and bool not in self.types)


RESULTS = Kind(
    ("Results",), "the results of a run", "write results = roamlab.run(scenario), or open_run(folder)"
)
SCENARIO = Kind(("Scenario",), "a scenario", 'write roamlab.load("scenario.toml")')
TEXT = Kind((str,), "a text", "write it in quotes")
NUMBER = Kind((int,), "a whole number", "write 1, for example")

_OTHER_WORDS = {
    "runs": "replications",
    "repetitions": "replications",
    "n": "replications",
    "axes": "design",
    "grid": "design",
    "values": "design",
    "metric": "metrics",
    "seeds": "seed",
    "base_line": "baseline",
    "reference": "baseline",
    "workers": "threads",
    "jobs": "threads",
    "condition": "where",
    "range": "between",
    "file": "path",
    "filename": "path",
}
"""Names of arguments in other libraries."""


def called(**kinds: Kind) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Report calls with wrong arguments as `BadCall`. `kinds`: what an argument has to be, if it is given."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        at = {name: index for index, name in enumerate(signature.parameters) if name in kinds}

        @wraps(function)
        def call(*args: P.args, **named: P.kwargs) -> R:
            for name, kind in kinds.items():
                if name in named or at[name] < len(args):
                    value = named[name] if name in named else args[at[name]]
                    if not kind.has(value):
                        raise BadCall(
                            f"{function.__name__}, argument {name}",
                            f"{_short(value)} is {_article(type(value).__name__)}",
                            expected=kind.expected,
                            remedy=kind.remedy,
                        )
            try:
                return function(*args, **named)
            except TypeError as error:
                try:
                    signature.bind(*args, **named)
                except TypeError as wrong:
                    raise _bad_call(function.__name__, str(wrong), signature, named) from None
                raise error

        return call

    return decorate


def _bad_call(name: str, problem: str, signature: inspect.Signature, given: Mapping[str, object]) -> BadCall:
    names = [each for each in signature.parameters if each != "self"]
    foreign = [each for each in given if each not in names]
    if foreign:
        meant = _OTHER_WORDS.get(foreign[0], "")
        otherwise = "leave it out"
        if {"scenario", "base"} & {*names}:
            otherwise += '; a field of the scenario is changed by scenario.set("run.duration", "20 s")'
        remedy = f"did you mean {meant!r}?" if meant in names else did_you_mean(foreign[0], names, otherwise)
        return BadCall(
            name,
            f"it has no argument {foreign[0]!r}",
            expected=f"arguments among {', '.join(names)}",
            remedy=remedy,
        )
    needed = [
        each.name
        for each in signature.parameters.values()
        if each.default is each.empty
        and each.name in names
        and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]
    written = ", ".join(
        f"{each}=…" if signature.parameters[each].kind is inspect.Parameter.KEYWORD_ONLY else each
        for each in needed
    )
    return BadCall(
        name, problem, expected=f"arguments among {', '.join(names)}", remedy=f"write {name}({written})"
    )


def no_attribute(owner: str, name: str, known: Iterable[str], otherwise: str) -> AttributeError:
    """The error for an attribute that is not there, with the one that was most likely meant."""
    if name.startswith("_"):
        return AttributeError(f"{owner} has no attribute {name!r}")
    public = [each for each in known if not each.startswith("_")]
    return AttributeError(f"{owner} has no attribute {name!r}: {did_you_mean(name, public, otherwise)}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _article(name: str) -> str:
    return "None" if name == "NoneType" else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
