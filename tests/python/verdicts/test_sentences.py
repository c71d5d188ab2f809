"""Statements of the papers' texts about each choice: the data is complete, equals the code, and is on the pages."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import sentence_rows
from roamlab import papers
from roamlab.base.errors import BadInput
from roamlab.papers import sentences
from roamlab.statistics.axes import Axis, Value

_PAPERS = Path(os.environ.get("ROAMLAB_DATA", ""), "papers")


@dataclass(frozen=True)
class Interpretation:
    """Planted."""

    air: str = "802.11"
    delays_ms: tuple[int, ...] = (50, 100)
    buffer_pkts: int = 50


@dataclass(frozen=True)
class Nothing:
    """No choice."""


TEXT = """
[[sentence]]
quote = "We use detailed 802.11 models"
where = "section IV"
field = "air"
value = "802.11"
text = "excludes"
excludes = ["dedicated"]
rule = "at 11 Mbit/s, the fastest of 802.11b"
[[sentence]]
quote = "delays of 50 and 100 ms"
where = "table 1"
field = "delays_ms"
value = [50, 100]
text = "fixed"
[[sentence]]
field = "buffer_pkts"
value = 50
text = "open"
rule = "ns-2's default"
[[sentence]]
quote = "100 s"
where = "section IV"
setup = "hosts.0.duration"
value = "100 s"
text = "fixed"
"""
SCENARIO = {"hosts": [{"duration": "100 s"}]}


def test_a_complete_table_has_no_problems() -> None:
    assert sentence_rows.problems(sentences.read(TEXT, "planted"), Interpretation(), SCENARIO) == []


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ('field = "buffer_pkts"', 'field = "air"', "buffer_pkts: no sentence"),
        ('value = "802.11"', 'value = "802.16"', "air: ours is '802.11', the table has '802.16'"),
        ("[50, 100]", "[50, 200]", "delays_ms: ours is [50, 100], the table has [50, 200]"),
        ('["dedicated"]', '["802.11"]', "air: the text rules out '802.11'"),
        ("hosts.0.duration", "hosts.1.duration", "hosts.1.duration: there is no such key"),
        ('value = "100 s"', 'value = "50 s"', "hosts.0.duration: ours is '100 s', the table has '50 s'"),
    ],
)
def test_what_does_not_agree_is_found(before: str, after: str, problem: str) -> None:
    assert before in TEXT
    found = sentences.read(TEXT.replace(before, after), "planted")
    assert problem in sentence_rows.problems(found, Interpretation(), SCENARIO)


def test_values_are_those_of_constants_and_of_other_experiments() -> None:
    def found(place: str, value: str) -> list[str]:
        text = f'[[sentence]]\nquote = "so"\nwhere = "section I"\ntext = "fixed"\nvalue = {value}\n{place}'
        return sentence_rows.problems(sentences.read(text, "planted"), Nothing(), {}, "roamlab.papers.lte")

    constant = 'constant = "experiments.TARGETS"'
    assert found(constant, "[2, 3, 4, 5]") == []
    assert found(constant, "[2, 3]") == ["experiments.TARGETS: ours is [2, 3, 4, 5], the table has [2, 3]"]
    assert found('constant = "experiments.TARGET"', "5") == ["experiments.TARGET: there is no such key"]
    red = 'setup = "cells.enb2.backhaul.queue.max_p"\nexperiment = ["active_queue", "standard", "red"]'
    assert found(red, "0.1") == []
    assert found(red, "0.2") == [
        "cells.enb2.backhaul.queue.max_p in active_queue(standard, red): ours is 0.1, the table has 0.2"
    ]


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        ('text = "open"', 'text = "perhaps"', "sentence 3: `text`"),
        ('rule = "ns-2\'s default"', "", "sentence 3: `rule`"),
        ('excludes = ["dedicated"]', "", "sentence 1: `excludes`"),
        ('setup = "hosts', 'field = "air"\nsetup = "hosts', "sentence 4: `field`"),
        ('where = "table 1"', "", "sentence 2: `quote`"),
        ('field = "buffer_pkts"', 'field = "air"\nconstant = "RUNS"', "sentence 3: `field`"),
        ('field = "buffer_pkts"', 'field = "air"\nexperiment = ["peak"]', "sentence 3: `experiment`"),
        ("value = 50\n", "", "sentence 3: `value`"),
        ("value = 50\n", "value = 50\nvalues = 3\n", "sentence 3: `values`"),
    ],
)
def test_a_bad_entry_is_named(before: str, after: str, key: str) -> None:
    assert before in TEXT
    with pytest.raises(BadInput, match="planted: sentence") as found:
        sentences.read(TEXT.replace(before, after), "planted")
    assert key in str(found.value)


def test_an_axis_says_what_the_text_says() -> None:
    of = sentences.read(TEXT, "planted")
    air = Axis("air", "air", (Value("802.11", "802.11"), Value("dedicated", "dedicated")), "")
    delays = Axis("delays_ms", "delays", (Value("both", (50, 100)), Value("one", (50,))), "")
    other = Axis("lead_ms", "lead", (Value("10", 10), Value("20", 20)), "not printed")
    assert [sentences.excluded(of, air, at) for at in (0, 1)] == [False, True]
    assert [sentences.excluded(of, delays, at) for at in (0, 1)] == [False, True]
    assert [sentences.excluded(of, other, at) for at in (0, 1)] == [False, False]
    assert sentences.text_on(of, air) == (
        '"We use detailed 802.11 models" (section IV): excludes: dedicated; at 11 Mbit/s, the fastest of 802.11b'
    )
    assert sentences.text_on(of, other) == "not printed"


def test_papers_without_a_table_are_listed() -> None:
    assert [name for name in papers.names() if not sentences.of_paper(name)] == []


@pytest.mark.parametrize("paper", papers.names())
def test_each_choice_has_its_sentence(paper: str) -> None:
    tables = papers.paper(paper).example().to_dict()
    of, default = sentences.of_paper(paper), papers.space(paper).default
    assert sentence_rows.problems(of, default, tables, f"roamlab.papers.{paper}") == []


@pytest.mark.skipif(
    not os.environ.get("ROAMLAB_DATA"), reason="needs the papers' texts, which are not in the project"
)
@pytest.mark.parametrize("paper", papers.names())
def test_each_quotation_is_in_the_paper(paper: str) -> None:
    """Word for word. "..." and ";" separate parts of a quotation."""

    def letters(text: str) -> str:
        return re.sub(r"[^\w.%=]", "", text.replace("_", "")).lower()

    text = letters((_PAPERS / f"{paper}.txt").read_text(encoding="utf-8"))
    parts = [part for each in sentences.of_paper(paper) for part in re.split(r" \.\.\. |; ", each.quote)]
    assert [part for part in parts if letters(part) not in text] == []


@pytest.mark.parametrize("page", sentence_rows.PAGES, ids=lambda page: page.parent.name)
def test_a_page_has_the_table(page: Path) -> None:
    stands, made = sentence_rows.of_page(page)
    assert stands == made, "write it with `python tests/python/shared/rows/sentence_rows.py`"


def test_rows_are_markdown() -> None:
    lines = sentence_rows.rows(sentences.read(TEXT, "planted")).splitlines()
    assert lines[0] == "| the paper | where | ours | value | the text |"
    assert lines[3] == "| delays of 50 and 100 ms | table 1 | delays_ms | 50, 100 | fixed |"
    assert lines[4] == "| nothing |  | buffer_pkts | 50 | open; ns-2's default |"
