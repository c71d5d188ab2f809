"""Statements of a paper's text about each choice: the sentence, our value, and whether the text fixes it.

A paper's package has it as data, `sentences.toml`: a list `sentence`, each with

* `quote`, a short quotation of the paper's own words, and `where` it is; both empty if the paper has no
statement;
* one of three places of our value. `field` is a field of the paper's interpretation. `setup` is the path of a key in
  the example's scenario, such as "flows.0.transport.window"; a number in a path counts list entries from 0.
  `constant` is a number of a module of the paper's package, such as "experiments.TARGETS";
* `experiment`, with `setup`: a function of the module `experiments` and its arguments. The path is then in the scenario
  that it makes, not in the example;
* `value`, ours: the default of the field, or the value in the scenario; a range, of which each run draws its own value,
  is `{ drawn = [low, high] }`;
* `text`: "fixed" if the sentence gives the value, "excludes" if it rules out others, "open" if it leaves the choice;
* `excludes`, with "excludes" alone: the values that the sentence rules out;
* `rule`, with "excludes" and "open": how our value was chosen, without regard to what a claim needs.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from roamlab.base.errors import BadInput
from roamlab.papers.runs import Drawn
from roamlab.showing.page import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roamlab.statistics.axes import Axis

DATA = "sentences.toml"
HEADINGS = ("the paper", "where", "ours", "value", "the text")
_KEYS = {"quote", "where", "field", "setup", "experiment", "constant", "value", "text", "excludes", "rule"}


@dataclass(frozen=True)
class Sentence:
    """A sentence of the paper, and our value."""

    quote: str
    where: str
    field: str
    """The field of the interpretation that the sentence is about; empty if it is about the set-up."""
    setup: str
    """The path in the example's scenario, or in that of `experiment`; empty if it is about something else."""
    constant: str
    """The module and the name of a number; empty if it is about something else."""
    experiment: tuple[str, ...]
    """The function that makes the scenario, and its arguments; empty: the example."""
    value: Any
    text: Literal["fixed", "excludes", "open"]
    excludes: tuple[Any, ...]
    rule: str

    @property
    def status(self) -> str:
        """Relation of the text to the value, for people."""
        if self.text == "fixed":
            return "fixed"
        ruled_out = f": {', '.join(map(value_text, self.excludes))}" if self.excludes else ""
        return f"{self.text}{ruled_out}; {self.rule}"

    @property
    def place(self) -> str:
        """Where our value is."""
        within = f" in {self.experiment[0]}({', '.join(self.experiment[1:])})" if self.experiment else ""
        return f"{self.field or self.setup or self.constant}{within}"

    @property
    def source(self) -> str:
        """The quotation with its place."""
        return f'"{self.quote}" ({self.where})' if self.quote else "the paper has no statement"


@cache
def of_paper(paper: str) -> tuple[Sentence, ...]:
    """The sentences of a paper; empty if its package has no such data. Raises `BadInput` if an entry is wrong."""
    data = files("roamlab.papers") / paper / DATA
    known = paper and data.is_file()
    return tuple(read(data.read_text(encoding="utf-8"), f"{paper}/{DATA}")) if known else ()


def read(text: str, name: str) -> list[Sentence]:
    """The entries of such data. Raises `BadInput` with `name`, the entry and the key if one is wrong."""
    entries = tomllib.loads(text).get("sentence", [])
    return [_entry(entry, f"{name}: sentence {at}") for at, entry in enumerate(entries, start=1)]


def _entry(entry: Mapping[str, Any], place: str) -> Sentence:
    def refuse(key: str, expected: str) -> BadInput:
        return BadInput(
            f"{place}: `{key}`",
            f"{entry.get(key)!r} cannot be used",
            expected=expected,
            remedy="see the head of papers/sentences.py",
        )

    if unknown := sorted(entry.keys() - _KEYS):
        raise refuse(unknown[0], f"one of {', '.join(sorted(_KEYS))}")
    if sum(key in entry for key in ("field", "setup", "constant")) != 1:
        raise refuse("field", "one of `field`, `setup` and `constant`")
    if "experiment" in entry and "setup" not in entry:
        raise refuse("experiment", "with it `setup`")
    if "value" not in entry:
        raise refuse("value", "our value")
    text = entry.get("text")
    if text not in ("fixed", "excludes", "open"):
        raise refuse("text", '"fixed", "excludes" or "open"')
    if bool(entry.get("excludes")) != (text == "excludes"):
        raise refuse("excludes", 'values that the text rules out, with text = "excludes" alone')
    if bool(entry.get("rule")) == (text == "fixed"):
        raise refuse("rule", 'how the value was chosen, unless text = "fixed"')
    if bool(entry.get("quote")) != bool(entry.get("where")) or (text != "open" and not entry.get("quote")):
        raise refuse("quote", 'the paper\'s words and `where` they are; both empty only with text = "open"')
    return Sentence(
        entry.get("quote", ""),
        entry.get("where", ""),
        entry.get("field", ""),
        entry.get("setup", ""),
        entry.get("constant", ""),
        tuple(entry.get("experiment", ())),
        entry["value"],
        text,
        tuple(entry.get("excludes", ())),
        entry.get("rule", ""),
    )


def plain(value: Any) -> Any:
    """A value as TOML has it: tuples are lists, and a range is a table."""
    if isinstance(value, Drawn):
        return {"drawn": [value.low, value.high]}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value


def value_text(value: Any) -> str:
    """A value for people."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return str(Drawn(*value["drawn"]))
    return ", ".join(map(value_text, value)) if isinstance(value, list | tuple) else str(value)


def text_on(of: Sequence[Sentence], axis: Axis) -> str:
    """Statement of the paper about an axis; the axis' own source where no sentence is about its field."""
    about = [each for each in of if each.field == axis.field]
    return "; ".join(f"{each.source}: {each.status}" for each in about) or axis.source


def excluded(of: Sequence[Sentence], axis: Axis, at: int) -> bool:
    """The text rules out the value at this position: by name, or because it fixes another."""
    value = plain(axis.values[at].value)
    return any(
        value in [plain(other) for other in each.excludes]
        or (each.text == "fixed" and value != plain(each.value))
        for each in of
        if each.field == axis.field
    )


def table(of: Sequence[Sentence]) -> Table:
    """The sentences with our values."""
    rows = [
        (each.quote or "nothing", each.where, each.place, value_text(each.value), each.status) for each in of
    ]
    return Table("Statements of the text about each choice", HEADINGS, rows)
