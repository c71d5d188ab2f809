"""The table of questions, `examples/gallery/questions.toml`: the scenario of each, its cases, and its answer."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import tomli

from roamlab.scenarios.changes import inline_toml
from roamlab.scenarios.scenario import Scenario, load

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

TABLE = "gallery/questions.toml"
"""The table, in the folder of examples."""
SEED = 1
"""Of every run of the gallery."""

_NUMBER = re.compile(r"(?P<case>[^:]+): (?P<metric>\S+)(?: (?P<sign>[*/]) (?P<factor>[\d.e]+))?")
_TERM = r"(?:(?P<{0}times>[\d.]+) \* )?(?P<{0}>[a-z]\w*|[\d.]+)"
_CONDITION = re.compile(f"{_TERM.format('left')} (?P<sign><|>|==) {_TERM.format('right')}")


@dataclass(frozen=True)
class Number:
    """A number of the answer: a metric of one case, times a factor."""

    case: str
    metric: str
    """A named metric, `handovers`, or `drawn.max`, `drawn.mean`, `drawn.last`, `drawn.gap` of the case's curve."""
    factor: float

    @classmethod
    def of(cls, text: str) -> Number:
        """The number that a text such as "Reno: flows.download.goodput_bps / 1e6" describes."""
        found = _NUMBER.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is not CASE: METRIC, with a factor or without")
        factor = float(found["factor"] or 1)
        return cls(found["case"], found["metric"], 1 / factor if found["sign"] == "/" else factor)


@dataclass(frozen=True)
class Drawing:
    """The picture: a curve of each case, from `begin_s` to `end_s`."""

    what: str
    """`received`, `delay` or `window` of a flow, or `queue`."""
    of: str
    begin_s: float
    end_s: float


@dataclass(frozen=True)
class Question:
    """A question and what is needed to answer it."""

    name: str
    question: str
    source: str
    """The paper whose result it is, or "today"."""
    base: Path
    """The file of its scenario."""
    cases: Mapping[str, Mapping[str, Any]]
    """By name: the fields of the scenario that the case changes. The first one shows what the question asks about."""
    draw: Drawing
    answer: str
    """A sentence with places for numbers."""
    numbers: Mapping[str, Number]
    holds: tuple[str, ...]
    """Conditions on the numbers, without which the answer is wrong."""

    @cached_property
    def scenario(self) -> Scenario:
        """The scenario before the changes of a case."""
        return load(self.base)

    def case(self, name: str) -> Scenario:
        """The scenario of a case, with the record that picture and metrics need."""
        record: dict[str, Any] = {f"record.{table}": True for table in ("deliveries", "tcp", "packets")}
        if self.draw.what == "queue":
            record["record.queues"] = [self.draw.of]
        return self.scenario.set_all({**self.cases[name], **record})

    def command(self, name: str, root: Path) -> str:
        """The command that runs a case, from the folder `root`."""
        sets = (
            f" --set '{path}={value if isinstance(value, str) else inline_toml(value)}'"
            for path, value in self.cases[name].items()
        )
        return f"roamlab run {os.path.relpath(self.base, root)}{''.join(sets)}"

    def edits(self, name: str) -> list[dict[str, Any]]:
        """The changes of a case as the engine makes them in a text: places in lists as numbers, values in TOML."""
        found = []
        for path, value in self.cases[name].items():
            table: Any = self.scenario.to_dict()
            keys = []
            for key in path.split("."):
                listed = isinstance(table, list)
                place = (
                    next((n for n, each in enumerate(table) if each.get("name") == key), key)
                    if listed
                    else key
                )
                keys.append(str(place))
                table = table[int(place)] if listed else table.get(key, {}) if isinstance(table, dict) else {}
            found.append({"path": keys, "value": inline_toml(value)})
        return found

    def met(self, values: Mapping[str, float]) -> list[str]:
        """The conditions that these numbers do not meet."""
        return [each for each in self.holds if not _holds(each, values)]


def questions(examples: Path) -> list[Question]:
    """All questions of the table in the folder of examples."""
    table = examples / TABLE
    listed = tomli.loads(table.read_text(encoding="utf-8"))["questions"]
    return [_question(each, table.parent) for each in listed]


def _question(table: dict[str, Any], folder: Path) -> Question:
    what, of = table["draw"].split(" ")
    return Question(
        name=table["name"],
        question=table["question"],
        source=table["source"],
        base=(folder / table["scenario"]).resolve(),
        cases=table["cases"],
        draw=Drawing(what, of, *table["span_s"]),
        answer=table["answer"],
        numbers={name: Number.of(text) for name, text in table["numbers"].items()},
        holds=tuple(table["holds"]),
    )


def _holds(condition: str, values: Mapping[str, float]) -> bool:
    """True if a condition such as "reno > 2 * newreno" holds."""
    found = _CONDITION.fullmatch(condition)
    if found is None:
        raise ValueError(f"{condition!r} is not a comparison of two numbers")

    def term(side: str) -> float:
        text = found[side]
        return float(found[f"{side}times"] or 1) * (values[text] if text[0].isalpha() else float(text))

    left, right = term("left"), term("right")
    return {"<": left < right, ">": left > right, "==": left == right}[found["sign"]]
