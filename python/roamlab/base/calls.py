"""Mistakes in calls from Python: arguments that a function does not have, or of another type, are reported as input."""

from __future__ import annotations

import ast
import dis
import inspect
import sys
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import FrozenInstanceError
from functools import lru_cache, wraps
from itertools import islice, pairwise
from numbers import Integral, Real
from pathlib import Path
from types import CodeType, FunctionType, NoneType
from typing import TYPE_CHECKING, NamedTuple, NoReturn, ParamSpec, TypeVar

from roamlab.base.errors import BadInput, NoAttribute, bad_path, did_you_mean, quoted
from roamlab.base.uncaught import install

if TYPE_CHECKING:
    from collections.abc import Callable

install()

P = ParamSpec("P")
R = TypeVar("R")
C = TypeVar("C", bound=type)


class BadCall(BadInput, TypeError):
    """A call that Python itself would refuse, with what to write."""


class Kind(NamedTuple):
    """Type of an argument."""

    types: tuple[type | str, ...]
    """Types, or the names of our classes that the caller's module cannot import."""
    expected: str
    remedy: str
    """An example of the argument; it may be empty."""
    example: str = ""
    values: tuple[object, ...] = ()
    """The only values, if not every one of the types can be used."""
    of: Kind | None = None
    """Type of the elements of a list and of the keys of a dictionary."""

    def has(self, value: object) -> bool:
        """True if the value is of one of the types. A truth value is no number, and a text no list."""
        if isinstance(value, str | bool) and type(value) not in self.types:
            return isinstance(value, str) and value in self.values
        named = {each.__name__ for each in type(value).__mro__}
        known = (each for kind, each in _BY_ATTRIBUTE.items() if kind in self.types)
        if not isinstance(value, type) and any(hasattr(value, each) for each in known):
            return True
        names = named - _BY_ATTRIBUTE.keys()
        fits = any(each in names if isinstance(each, str) else isinstance(value, each) for each in self.types)
        return fits and self._fits_inside(value)

    def _fits_inside(self, value: object) -> bool:
        """True if the first elements, or keys, have their type."""
        if self.of is None or not isinstance(value, list | tuple | Mapping):
            return True
        return all(map(self.of.has, islice(value, _LOOKED_AT)))


_BY_ATTRIBUTE = {"Executor": "execute", "Results": "manifest", "RunTables": "manifest", "Values": "__len__"}
"""Types that a value has by an attribute."""

_LOOKED_AT = 1000
"""Elements of a list whose type is checked at most."""

RESULTS = Kind(
    ("Results",), "the results of a run", "write results = roamlab.run(scenario), or open_run(folder)"
)
SCENARIO = Kind(("Scenario",), "a scenario", 'write roamlab.load("scenario.toml")')
TEXT = Kind((str,), "a text", "write it in quotes")
NUMBER = Kind((Integral,), "a whole number", "write 1, for example")

_OF_NAMES: dict[str, Kind] = {
    "None": Kind((NoneType,), "None", "", "None"),
    "bool": Kind((bool,), "True or False", "", "True"),
    "int": Kind((Integral,), "a whole number", "", "1"),
    "float": Kind((Real,), "a number", "", "0.5"),
    "str": Kind((str,), "a text", "", '"…"'),
    "Path": Kind((Path,), "a path", "", '"…"'),
    "Sequence": Kind((Sequence,), "a list", "", "[…]"),
    "Iterable": Kind((Iterable,), "a list", "", "[…]"),
    "list": Kind((list, tuple), "a list", "", "[…]"),
    "tuple": Kind((tuple, list), "a pair", "", "(…, …)"),
    "Mapping": Kind((Mapping,), "a dictionary", "", '{"run.duration": "20 s"}'),
    "dict": Kind((Mapping,), "a dictionary", "", '{"run.duration": "20 s"}'),
    "Scenario": Kind(("Scenario",), "a scenario", "", 'roamlab.load("scenario.toml")'),
    "Results": Kind(("Results",), "the results of a run", "", "roamlab.run(scenario)"),
    "RunTables": Kind(("RunTables",), "the results of a run", "", "roamlab.run(scenario)"),
    "Manifest": Kind(("Manifest",), "a run's manifest", "", "results.manifest"),
    "Store": Kind(("Store",), "a store", "", 'roamlab.Store("out/runs")'),
    "Job": Kind(("Job",), "a job", "", "roamlab.Job(scenario, 1)"),
    "Values": Kind(("Values",), "numbers in a list or an array", "", 'metrics.arrivals(results, "moving")'),
    "NDArray": Kind(("Values",), "numbers in a list or an array", "", "[1, 2, 4, 3]"),
    "Until": Kind(
        ("Until",), "a roamlab.Until", "", 'roamlab.Until("flows.moving.goodput_bps", half_width=5e3)'
    ),
    "Executor": Kind(("Executor",), "an executor", "", "roamlab.LocalPool(2)"),
}
"""Types by their names in annotations; an argument with any other name is not checked."""

_EXAMPLES = {
    "memory": "4_000_000_000",
    "replications": "30",
    "budget": "256",
    "threads": "2",
    "share": "0.9",
    "metric": '"flows.moving.goodput_bps"',
    "metrics": '["flows.moving.goodput_bps"]',
    "baseline": '"60 pkt"',
    "where": '"flows.moving.timeouts == 0"',
    "table": '"drops"',
    "store": '"out/store"',
    "capture": '["phone"]',
    "address": '"tcp://127.0.0.1:8786"',
}
"""Remedies for arguments of these names, whose type alone is too general."""


def kind_of(annotation: str) -> Kind | None:
    """The type that an annotation, as text, requires; None if it is not checked."""
    found = [_of_name(part) for part in _parts(annotation, "|")]
    kinds = [each for each in found if each is not None]
    if not kinds or len(kinds) < len(found):
        return None
    said = [each.expected for each in kinds if each.expected != "None"] or ["None"]
    if "a text" in said and "a path" in said:
        said = [each for each in said if each not in ("a text", "a path")] + ["a path"]
    return Kind(
        tuple(each for kind in kinds for each in kind.types),
        " or ".join(dict.fromkeys(said)),
        "",
        kinds[0].example,
        tuple(each for kind in kinds for each in kind.values),
        next((kind.of for kind in kinds if kind.of), None),
    )


def _of_name(part: str) -> Kind | None:
    """The type that one alternative of an annotation requires."""
    head, bracket, inner = part.strip().partition("[")
    name = head.rpartition(".")[2]
    if name == "Literal":
        values = ast.literal_eval(f"({inner.removesuffix(']')},)")
        shown = [f'"{each}"' for each in values]
        return Kind((), " or ".join(shown), "", shown[0], values)
    kind = _OF_NAMES.get(name)
    if kind is None or not bracket:
        return kind
    first = _parts(inner.removesuffix("]"), ",")[0]
    of = kind_of(first)
    if of is None or name == "tuple":
        return kind
    if name in ("Mapping", "dict"):
        return kind._replace(of=of)
    return kind._replace(of=of, expected=f"a list, each {of.expected}", example=f"[{of.example}]")


def _parts(text: str, sign: str) -> list[str]:
    """A text in pieces at a sign outside of brackets."""
    parts, depth = [""], 0
    for each in text:
        depth += (each == "[") - (each == "]")
        if each == sign and not depth:
            parts.append("")
        else:
            parts[-1] += each
    return parts


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


_FILES = ("out", "store", "path", "save", "keep", "folder")
_WORKERS = (
    *("threads", "workers", "jobs", "processes", "cores"),
    *("n_jobs", "n_workers", "num_workers", "max_workers", "num_threads", "nproc", "parallel"),
)
_NAMES = ("metric", "metrics")
_LOCAL_POOL = "write executor=roamlab.LocalPool(4)"
_COMPARED = 'write compare("flows.moving.goodput_bps", baseline="60 pkt"), a name after the other'
_ELSEWHERE: dict[str, dict[tuple[str, ...], str]] = {
    "run": {_FILES: 'a run is kept by roamlab.Store("out/runs").write(results), which returns its folder'},
    "sweep": {
        _FILES: "results are returned: write runs.frame.write_csv(path); `store` is where runs are kept",
        _WORKERS: _LOCAL_POOL,
        ("baseline",): 'compare afterwards: runs.compare("flows.moving.goodput_bps", baseline="60 pkt")',
    },
    "smallest": {
        _WORKERS: _LOCAL_POOL,
        ("replications", "runs"): "`budget` is the largest number of runs of a value",
    },
    "means": {_NAMES: 'write means("flows.moving.goodput_bps"), a name after the other'},
    "compare": {_NAMES: _COMPARED},
}
"""Remedies for arguments that another function has, by function and arguments."""

_DESIGNS = (["choices"], ["points"], ["points", "ranges", "seed"])
"""Arguments of the designs, whose axes are keys and no arguments."""

_SEVERAL_RUNS = ("runs", "replications", "repetitions", "repeat", "n", "number")
"""Names of arguments by which several runs are asked for."""

_MAKE_SEVERAL = (
    "one call makes one run, and `run` is its number; several are made by roamlab.sweep(scenario, design, "
    "replications=30), or by roamlab.run_all([roamlab.Job(scenario, 1, run) for run in range(30)], "
    'roamlab.Store("out/runs"))'
)


def called(**kinds: Kind | None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Report calls with wrong arguments as `BadCall`, and errors of the system about a path as `BadInput`.

    The type of an argument is that of its annotation, or in `kinds`; None there: the function itself checks it.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        name = function.__qualname__.removesuffix(".__init__").rpartition("<locals>.")[2]
        known = {
            each.name: kinds[each.name] if each.name in kinds else kind_of(str(each.annotation))
            for each in signature.parameters.values()
        }
        checked = [
            (at, each, kind)
            for at, each in enumerate(signature.parameters.values())
            if (kind := known[each.name]) is not None and each.kind is not each.VAR_KEYWORD
        ]

        @wraps(function)
        def call(*args: P.args, **named: P.kwargs) -> R:
            for at, each, kind in checked:
                given = (
                    args[at:]
                    if each.kind is each.VAR_POSITIONAL
                    else (named[each.name],)
                    if each.name in named
                    else args[at : at + 1]
                    if each.kind is not each.KEYWORD_ONLY
                    else ()
                )
                for value in given:
                    if not kind.has(value):
                        raise _wrong_kind(name, each, kind, value)
            try:
                return function(*args, **named)
            except OSError as error:
                if found := bad_path(error):
                    raise found from None
                raise
            except TypeError as error:
                try:
                    signature.bind(*args, **named)
                except TypeError as wrong:
                    raise _bad_call(name, str(wrong), signature, named) from None
                raise error

        return call

    return decorate


def public(
    changed_by: str = "keep what belongs to it in another variable", **kinds: Kind | None
) -> Callable[[C], C]:
    """A class of which the constructor and the public methods are `called`; `kinds` are those of the constructor.

    `changed_by` is what to write instead of an assignment to an attribute, if the class is frozen.
    """

    def decorate(cls: C) -> C:
        for name, member in list(vars(cls).items()):
            if name.startswith("_") and name != "__init__":
                continue
            if isinstance(member, classmethod) and not hasattr(member.__func__, "__wrapped__"):
                setattr(cls, name, classmethod(called()(member.__func__)))
            elif isinstance(member, FunctionType) and not hasattr(member, "__wrapped__"):
                setattr(cls, name, called(**kinds if name == "__init__" else {})(member))

        def refuse(_self: object, name: str, *_: object) -> None:
            raise FrozenInstanceError(
                f"the attribute {name!r} of a {cls.__name__} cannot be changed: {changed_by}"
            )

        if "__getattr__" not in vars(cls):

            def missing(_self: object, name: str) -> None:
                raise no_attribute(
                    cls.__name__, name, _names(cls), f"it has {', '.join(sorted(_names(cls)))}"
                )

            setattr(cls, "__getattr__", missing)  # noqa: B010  (mypy takes a method for constant)
        if getattr(getattr(cls, "__dataclass_params__", None), "frozen", False):
            setattr(cls, "__setattr__", refuse)  # noqa: B010  (mypy takes a method for constant)
            setattr(cls, "__delattr__", refuse)  # noqa: B010
        return cls

    return decorate


def _names(cls: type) -> set[str]:
    """The public attributes and methods of a class."""
    return {
        *getattr(cls, "__dataclass_fields__", {}),
        *(name for name in dir(cls) if not name.startswith("_")),
    }


def _wrong_kind(name: str, parameter: inspect.Parameter, kind: Kind, value: object) -> BadCall:
    """The error of an argument of another type."""
    argument = parameter.name
    problem = "it is None" if value is None else f"{_short(value)} is {_article(type(value).__name__)}"
    is_list = not isinstance(value, str) and kind.of is not None
    if is_list and isinstance(value, list | tuple | Mapping):
        wrong = next((each for each in value if kind.of and not kind.of.has(each)), value)
        problem = f"{_short(wrong)} in it is {_article(type(wrong).__name__)}"
    elif kind.values and isinstance(value, str):
        problem = f"{_short(value)} cannot be used"
    return BadCall(
        f"{name}, argument {argument}",
        problem,
        expected=kind.expected,
        remedy=kind.remedy or _to_write(parameter, kind, value),
    )


def of_seed(text: str) -> str:
    """The remedy for a text as a seed."""
    if text.strip().isdecimal():
        return f"write seed = {int(text)}, without quotes"
    if text.endswith((".svg", ".png", ".html", ".json", ".csv")):
        return f"this writes no file: pathlib.Path({text!r}).write_text(…) writes a text that is returned"
    return f"write seed = rl.seed({text!r}), which makes a number of a text"


def _to_write(parameter: inspect.Parameter, kind: Kind, value: object) -> str:
    """Text to write instead of a value of another type."""
    name = parameter.name
    number = type(value) in (int, float)
    if parameter.kind is parameter.VAR_POSITIONAL and isinstance(value, list | tuple):
        return f"write {', '.join(map(quoted, value))} without brackets"
    if isinstance(value, str) and name == "seed":
        return of_seed(value)
    if isinstance(value, str) and kind.of is not None and str in kind.of.types and Mapping not in kind.types:
        return f'write {name}=["{value}"]'
    if isinstance(value, set | frozenset) and list in kind.types:
        return f"write {name}={sorted(map(str, value))}"
    if isinstance(value, str) and Integral in kind.types and value.strip().isdecimal():
        return f"write {name} = {int(value)}, without quotes"
    example = did_you_mean(value, map(str, kind.values), "") if isinstance(value, str) and kind.values else ""
    written = kind.example if "Store" in kind.types else _EXAMPLES.get(name, kind.example)
    text = example or (
        f'write it in quotes: "{value}"'
        if number and str in kind.types and name not in _EXAMPLES
        else f"write {name} = {written}, for example"
    )
    return text if example or parameter.default is parameter.empty else f"{text}, or leave it out"


_FIRST_CALLS = {
    "Grid": 'write Grid({"mobility.buffer.limit": ["4 pkt", "64 pkt"]})',
    "Listed": 'write Listed([{"mobility.buffer.limit": "4 pkt"}, {"mobility.buffer.limit": "64 pkt"}])',
    "Random": 'write Random(100, {"cells.bs2.rate": {"low": "1 Mbit/s", "high": "4 Mbit/s"}})',
}
"""Whole calls of what needs a table, which a list of the arguments does not show."""


def _bad_call(name: str, problem: str, signature: inspect.Signature, given: Mapping[str, object]) -> BadCall:
    names = [each for each in signature.parameters if each != "self"]
    named = {each.name for each in signature.parameters.values() if each.kind is not each.VAR_POSITIONAL}
    takes_any = any(each.kind is each.VAR_KEYWORD for each in signature.parameters.values())
    foreign = [each for each in given if each not in named and not takes_any]
    if foreign:
        if foreign[0] in _SEVERAL_RUNS and "run" in names and "replications" not in names:
            remedy = _MAKE_SEVERAL
        elif known := [
            text for words, text in _ELSEWHERE.get(name.rpartition(".")[2], {}).items() if foreign[0] in words
        ]:
            remedy = known[0]
        else:
            meant, otherwise = _OTHER_WORDS.get(foreign[0], ""), "leave it out"
            if names in _DESIGNS:
                axes = {each: value for each, value in given.items() if each not in named}
                shown = ", ".join(f'"{each}": {_short(value)}' for each, value in axes.items())
                before, after = {"Listed": ("[{", "}]"), "Random": ("100, {", "}")}.get(name, ("{", "}"))
                otherwise = f"write {name}({before}{shown}{after})"
            elif names == ["path", "value"]:
                otherwise = 'write set("run.duration", "20 s")'
            elif "changes" in names:
                otherwise = 'write set_all({"run.duration": "20 s"})'
            elif "design" in names:
                otherwise = 'the axes are in `design`: write {"mobility.buffer.limit": ["4 pkt", "64 pkt"]}'
            elif {"scenario", "base"} & {*names} or name == "Scenario.run":
                otherwise += '; a field of the scenario is changed by scenario.set("run.duration", "20 s")'
            remedy = (
                f"did you mean {meant!r}?" if meant in names else did_you_mean(foreign[0], names, otherwise)
            )
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
    if "design" in names and problem.startswith("too many"):
        return BadCall(
            name,
            problem,
            expected="a path and its values in one dictionary, and the other arguments by their names",
            remedy='write sweep({"mobility.buffer.limit": ["4 pkt", "64 pkt"]}, replications=30)',
        )
    return BadCall(
        name,
        problem,
        expected=f"arguments among {', '.join(names)}",
        remedy=_FIRST_CALLS.get(name) or f"write {name.rpartition('.')[2]}({written})",
    )


def warn_if_unused(remedy: Callable[[], str]) -> None:
    """Give a `UserWarning` if the statement that called the calling method of a `public` class drops its result.

    `remedy` gives what to write, and is called for a warning alone: a remedy may contain large values.
    It does if the instruction behind the call is the one that removes an unused value. Another Python than CPython may
    have other instructions: no warning then.
    """
    frame = sys._getframe(1)
    # Between the method and its caller is `called`.
    caller = frame.f_back and frame.f_back.f_back
    if caller is not None and caller.f_lasti in _drops(caller.f_code):
        warnings.warn(
            f"{frame.f_code.co_qualname} returns a new object and changes nothing, and its result is not used: "
            f"write {remedy()}",
            stacklevel=4,
        )


@lru_cache(maxsize=256)
def _drops(code: CodeType) -> frozenset[int]:
    """Offsets, of instructions and their caches, behind which the next instruction removes an unused value."""
    found = pairwise(dis.get_instructions(code))
    spans = (range(one.offset, after.offset) for one, after in found if after.opname == "POP_TOP")
    return frozenset(offset for span in spans for offset in span)


WRITES = (
    "save",
    "write",
    "dump",
    "store",
    "export",
    "keep",
    "to_csv",
    "to_parquet",
    "to_json",
    "to_file",
    "to_toml",
)
"""Names by which people ask for a file."""


_MADE = {
    "Scenario": "write roamlab.load(path), roamlab.Scenario(text) or roamlab.Scenario.from_dict(tables)",
    "Results": "results are returned by roamlab.run(scenario), and read by roamlab.open_run(folder)",
    "Reproduction": 'reproductions are returned by roamlab.reproduce("mblue", figure=12)',
    "Store": 'write roamlab.Store("out/runs")',
    "Runs": "runs are returned by roamlab.sweep(scenario, design)",
}
"""How an object of a class is made."""


class Hinted(type):
    """A class whose error for an attribute that it does not have is how its objects are made."""

    def __getattr__(cls, name: str) -> NoReturn:
        raise no_attribute(f"the class {cls.__name__}", name, (), _MADE.get(cls.__name__, ""))


def no_attribute(owner: str, name: str, known: Iterable[str], otherwise: str) -> AttributeError:
    """The error for an attribute that is not there, with the one that was most likely meant."""
    if name.startswith("_"):
        return NoAttribute(f"{owner} has no attribute {name!r}")
    public = [each for each in known if not each.startswith("_")]
    return NoAttribute(f"{owner} has no attribute {name!r}: {did_you_mean(name, public, otherwise)}")


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


def _article(name: str) -> str:
    return "None" if name == "NoneType" else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
