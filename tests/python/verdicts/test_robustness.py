"""Where claims hold, with the verdicts; the papers' numbers and ours; which claims there are."""

from __future__ import annotations

import importlib
import json
import os
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import space_rows
from conftest import ROOT
from roamlab import _roamlab, papers
from roamlab.base.errors import BadInput
from roamlab.papers import printed, reproducing, robustness, spaces, texts
from roamlab.papers.runs import Drawn
from roamlab.papers.stored import code
from roamlab.showing import report
from roamlab.showing.page import Measured, Table
from roamlab.showing.report import Report
from roamlab.statistics import stats
from roamlab.statistics.claims import Claim, Measure, greater

PAPERS = ("mblue", "ipf", "lte", "ripple", "bcmp")


def _data(paper: str, line: str, **changes: Any) -> dict[str, Any]:
    """Result of a search of a paper by this engine and this code."""
    return {
        "engine": _roamlab.build_hash(),
        "code": code(f"roamlab.papers.{paper}.space"),
        "settings": 200,
        "runs": 4,
        "axes": {"queue": ["40", "8"]},
        "map": {f"{paper}.claim": [[0.25, None]]},
        "claims": {f"{paper}.claim": {"default": "holds", "robustness": line}},
    } | changes


def test_the_store_comes_before_the_record(tmp_path: Path) -> None:
    robustness.keep("mblue", "explored", _data("mblue", "as searched here", tried=[1, 2, 3]), tmp_path)
    known = robustness.known("mblue", tmp_path)
    assert known is not None
    assert known.lines == {"mblue.claim": "as searched here"}
    assert (
        known.source("mblue")
        == "Robustness: from 200 settings with 4 runs of each experiment, by this engine."
    )
    assert "tried" not in json.loads((tmp_path / "explored" / "mblue.json").read_text())


def test_a_verdict_that_fewer_runs_did_not_give_is_told_as_theirs() -> None:
    known = robustness.Known.of(
        _data("mblue", "holds under the default; contradicted in none of 200 settings")
    )
    claim = replace(_CLAIM, id="mblue.claim")
    assert (claim.verdict, replace(claim, measures=(_BAD,)).verdict) == ("undecided", "contradicted")
    assert known.line(replace(claim, measures=(_GOOD,))) == known.lines["mblue.claim"]
    assert known.line(claim) == f"with 4 runs: {known.lines['mblue.claim']}"
    assert known.line(replace(claim, id="mblue.other")) is None


def test_a_contradicted_card_has_the_nearest_setting_and_what_the_paper_says(tmp_path: Path) -> None:
    near = {"line": "queue 8: 2 pkt outside the claimed range", "setting": {"queue": "8"}}
    data = _data(
        "mblue", "contradicted under the default; holds in none", says={"queue": '"a queue" (p. 1): open; 40'}
    )
    data["claims"]["mblue.claim"]["nearest"] = near
    bad, good, other = _decided(data, _BAD), _decided(data, _GOOD), replace(_CLAIM, id="mblue.other")
    known = robustness.Known.of(data)
    assert known.facts("mblue", bad) == {
        "nearest setting": near["line"],
        "the paper on it": 'queue: "a queue" (p. 1): open; 40',
    }
    assert known.facts("mblue", good) == known.facts("mblue", other) == {}
    old = robustness.Known.of(_data("mblue", "contradicted under the default"))
    assert old.facts("mblue", bad) == {"nearest setting": "not on record"}
    page = tmp_path / "report.html"
    report.write(replace(_REPORT, claims=[bad], facts={bad.id: known.facts("mblue", bad)}), page)
    for said in (near["line"], "the paper on it", "&quot;a queue&quot; (p. 1)"):
        assert said in page.read_text(encoding="utf-8")


def _decided(data: dict[str, Any], measure: Measure) -> Claim:
    """The claim of such a search, with this measure."""
    claim = replace(_CLAIM, id="mblue.claim", measures=(measure,))
    (found,) = robustness.Known.of(data).decide("mblue", [claim])
    return found


@pytest.mark.parametrize("paper", papers.names())
def test_each_printed_number_has_a_card(paper: str) -> None:
    source = (ROOT / f"python/roamlab/papers/{paper}").glob("claims*.py")
    claims = " ".join(path.read_text(encoding="utf-8") for path in source)
    assert [number.what for number in printed.numbers(paper) if f'"{number.claim}"' not in claims] == []


@pytest.mark.parametrize("changes", [{"engine": "another"}, {"code": "another"}])
def test_a_search_by_another_engine_or_code_does_not_count(tmp_path: Path, changes: dict[str, str]) -> None:
    robustness.keep("mblue", "explored", _data("mblue", "of old", **changes), tmp_path)
    known = robustness.known("mblue", tmp_path)
    assert known is None or "of old" not in known.lines.values()


def test_a_record_says_whose_it_is() -> None:
    of = robustness.Known.of(_data("mblue", "line", engine="0123456789abcdef"))
    assert "on record from engine build 0123456789ab; `roamlab reproduce mblue --explore`" in of.source(
        "mblue"
    )
    of = robustness.Known.of(_data("mblue", "line", code="another"))
    assert "on record from this engine and other measures or claims" in of.source("mblue")


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"claims": 1}', '{"settings": 200, "claims": {"mblue.eq1": {}}}', "\udcff"]
)
def test_a_bad_search_is_named(tmp_path: Path, text: str) -> None:
    kept = tmp_path / "explored" / "mblue.json"
    kept.parent.mkdir()
    kept.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadInput, match="it is not what a search writes") as found:
        robustness.known("mblue", tmp_path)
    assert str(kept) in str(found.value)


def test_a_map_without_a_tried_setting_is_drawn(tmp_path: Path) -> None:
    figure = robustness.Known.of(_data("mblue", "line")).draw_map(tmp_path)
    assert figure.svg.stat().st_size > 0


_TABLE = Table(
    "Table I", ("queue", "loss [1]", "delay"), [("RED", Measured(stats.student([0.1, 0.2, 0.3])), "12.5")]
)
_GOOD, _BAD = (Measure("depth", stats.exact(depth), "m", greater()) for depth in (1.0, -1.0))
_CLAIM = Claim("moby.swims", "", (Measure("depth", stats.student([6.0, 8.0]), "m", greater()),), "", "")
_REPORT = Report("Moby", "", "", [_CLAIM], [], [_TABLE], [], [], [])
_CELL = {"table": "Table I", "row": ["RED"], "column": "loss [1]", "factor": 100}


def _printed(**changes: Any) -> printed.Printed:
    return printed.Printed.of(
        {"what": "loss", "where": "p. 1", "unit": "%", "value": 10, "of": "moby.swims"} | _CELL | changes
    )


def test_a_number_is_told_with_its_ratio_and_what_would_bring_it_near() -> None:
    near = {"near": "another queue", "under": {"claim": "moby.swims", "measure": "depth"}}
    found = printed.table([_printed(value=25), _printed(**near)], _REPORT)
    assert found.title == "Numbers of the paper and ours: 1 of 2 apart by more than a factor of 1.5"
    first, second = found.rows
    assert list(first) == ["loss [%]", "p. 1", "25", "20 (-4.841 … 44.84)", "0.8", ""]
    assert list(second)[4:] == ["2", "another queue: 700 (-570.6 … 1971)"]


@pytest.mark.parametrize(
    ("value", "ours", "ratio"),
    [(10, 20, 2), ([10, 20], 15, 1), ([10, 20], 40, 2), ([10, 20], 5, 0.5), (0, 0, 1)],
)
def test_a_range_is_met_within_it(value: Any, ours: float, ratio: float) -> None:
    assert _printed(value=value).ratio(ours) == ratio
    assert _printed(value=0).ratio(3.0) == float("inf")


def test_a_number_that_the_report_has_not_is_no_number() -> None:
    for changes in ({"row": ["BLUE"]}, {"table": "Table II"}):
        with pytest.raises(LookupError, match="0 numbers of the report"):
            printed.table([_printed(**changes)], _REPORT)
    with pytest.raises(ValueError, match="a claim's measure, or a cell"):
        _printed(claim="moby.swims")


def test_each_paper_has_its_numbers() -> None:
    for paper in papers.names():
        assert printed.numbers(paper), paper


def test_a_report_has_what_all_papers_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = replace(_CLAIM, id="mblue.claim", measures=(_GOOD,))
    monkeypatch.setattr(
        papers.paper("mblue"), "reproduce", lambda _: replace(_REPORT, claims=[claim], title="MBLUE")
    )
    monkeypatch.setattr(printed, "numbers", lambda _: [_printed()])
    monkeypatch.setattr(robustness, "fitted", lambda *_: None)
    robustness.keep(
        "mblue", "explored", _data("mblue", "holds under the default; never contradicted"), tmp_path
    )
    session = papers.Session(tmp_path / "figures", tmp_path / "tables", tmp_path, 2, 1)
    found = reproducing.reproduce("mblue", session)
    assert found.robustness == {"mblue.claim": "holds under the default; never contradicted"}
    assert found.searched.endswith("by this engine.")
    assert [figure.svg.name for figure in found.figures] == ["map.svg"]
    assert [table.title.partition(":")[0] for table in found.tables[:3]] == [
        "Numbers of the paper and ours",
        "Statements of the text about each choice",
        "All comparisons of random runs, adjusted for their number by Holm's method",
    ]
    others = {"holm.csv", "printed.csv", "sentences.csv"}
    assert {path.name for path in (tmp_path / "tables").iterdir()} == others, "an older record"


def test_a_report_shows_what_one_changed_choice_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    claim = replace(_CLAIM, id="mblue.claim", measures=(_GOOD,))
    monkeypatch.setattr(papers.paper("mblue"), "reproduce", lambda _: replace(_REPORT, claims=[claim]))
    monkeypatch.setattr(printed, "numbers", lambda _: [])
    verdicts = {"holds": {}, "undecided": {"RTO floor": "1 s"}}
    alone = [
        {"setting": setting, "claims": {"mblue.claim": {"verdict": verdict, "measured": "1"}}}
        for verdict, setting in verdicts.items()
    ]
    robustness.keep(
        "mblue", "explored", _data("mblue", "holds under the default") | {"alone": alone}, tmp_path
    )
    session = papers.Session(tmp_path / "figures", tmp_path / "tables", tmp_path, 2, 1)
    matrix = reproducing.reproduce("mblue", session).matrix
    assert matrix is not None
    assert matrix.source.endswith("by this engine.")
    assert matrix.claims == [("mblue.claim", "holds")]
    assert [(row.what, row.excluded, row.verdicts) for row in matrix.rows] == [
        ("the default, on record", False, ["holds"]),
        ("RTO floor: 1 s", False, ["undecided"]),
    ]
    assert (tmp_path / "tables/one-changed.csv").read_text(encoding="utf-8").splitlines() == [
        "choice,value,claim",
        "none,the default,holds",
        "RTO floor,1 s,undecided",
    ]


def test_a_part_has_its_numbers_and_what_the_search_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "mblue.fig14"
    made = replace(
        _REPORT,
        claims=[replace(_CLAIM, id=name, measures=(_BAD,))],
        main=[name],
        tables=[_TABLE],
        partial=True,
    )
    monkeypatch.setattr(papers.paper("mblue"), "reproduce", lambda _: made)
    elsewhere = replace(_printed(of=name), ours={"table": "Table II", "row": ["x"], "column": "y"})
    monkeypatch.setattr(printed, "numbers", lambda _: [_printed(of=name), elsewhere])
    session = papers.Session(tmp_path / "figures", tmp_path / "tables", tmp_path, 2, 1, papers.Part((name,)))
    found = reproducing.reproduce("mblue", session)
    assert found.headline.startswith("The claim mblue.fig14 depends on a choice ")
    assert len(found.numbers[name].rows) == 1, "the other number is in a table of other runs"
    assert [table.title for table in found.tables] == ["Table I"]
    assert found.matrix is not None
    assert found.matrix.claims == [(name, "depends")], "the record of the package"
    report.write(found, tmp_path / "report.html")
    assert "mblue.fig12" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def _claims_of(paper: str) -> list[str]:
    ids: list[str] = importlib.import_module(f"test_{paper}").IDS
    return [name if "." in name else f"{paper}.{name}" for name in ids]


def test_no_claim_of_the_papers_is_missing() -> None:
    """Each paper's own test checks that its reproduction gives just these."""
    found = [claim for paper in PAPERS for claim in _claims_of(paper)]
    assert set(PAPERS) == set(papers.names())
    assert len(found) == len(set(found)) == 65
    assert {paper: len(_claims_of(paper)) for paper in PAPERS} == {
        "mblue": 11,
        "ipf": 14,
        "lte": 13,
        "ripple": 16,
        "bcmp": 11,
    }
    data = os.environ.get("ROAMLAB_DATA")
    if data:
        listed = re.findall(
            r"^\| ((?:mblue|ipf|lte|ripple|bcmp)\.[\w.]+) \|", _listed(Path(data)), re.MULTILINE
        )
        assert sorted(found) == sorted(listed)


def _listed(data: Path) -> str:
    return (data / "papers" / "CLAIMS.md").read_text(encoding="utf-8")


NOT_SEARCHED: dict[str, set[str]] = {
    "mblue": set(),
    "ipf": set(),
    "lte": set(),
    "ripple": set(),
    "bcmp": set(),
}
"""Claims whose measures are newer than their paper's record: reports have "not searched under other settings" for
them."""


def test_records_shipped_are_what_searches_write() -> None:
    """Of as many settings as a search tries, 200 before, with a line and a map for each claim that was searched."""
    for path in Path(papers.__path__[0]).glob(f"*/{robustness.RECORD}"):
        paper = path.parent.name
        record = json.loads(path.read_text(encoding="utf-8"))
        known = robustness.Known.of(record)
        least = 200 if NOT_SEARCHED[paper] else papers.space(paper).settings
        turns = record.get("budget", {}).get("turns of the record that ships", 0)
        assert least <= known.settings <= least + turns
        assert set(known.lines) == set(known.shares)
        assert {len(shares) for shares in known.shares.values()} == {len(known.axes)}
        assert set(known.lines) == set(_claims_of(paper)) - NOT_SEARCHED[paper]
        assert NOT_SEARCHED[paper] <= set(_claims_of(paper))
        page = (path.parent / "README.md").read_text(encoding="utf-8")
        names = [
            f"**{claim.partition('.')[2]}**" for claim in _claims_of(paper) if claim in NOT_SEARCHED[paper]
        ]
        line = f"Not searched so far: {', '.join(names)}."
        assert line in page.replace("\n", " ") if names else "Not searched so far" not in page


@pytest.mark.parametrize("page", space_rows.PAGES, ids=lambda page: page.parent.name)
def test_a_page_has_what_the_record_has(page: Path) -> None:
    stands, found = space_rows.of_page(page)
    assert stands == found, "write it with `python tests/python/shared/rows/space_rows.py`"


@pytest.mark.parametrize("page", space_rows.FIT_PAGES, ids=lambda page: page.parent.name)
def test_a_page_has_the_setting_of_the_record(page: Path) -> None:
    found, expected = space_rows.fit_of_page(page)
    assert found == expected, "write it with `python tests/python/shared/rows/space_rows.py`"


def test_data_files_are_toml() -> None:
    for path in Path(papers.__path__[0]).glob("*/printed.toml"):
        entries = tomllib.loads(path.read_text(encoding="utf-8"))["number"]
        assert len({entry["what"] for entry in entries}) == len(entries), path


@pytest.mark.parametrize("paper", PAPERS)
def test_the_texts_are_those_of_the_claims(paper: str) -> None:
    of = texts(paper)
    assert set(of.claims) == set(_claims_of(paper))
    assert set(of.main) <= set(of.claims)
    assert all(claim.startswith(f"{paper}.") for claim in of.claims)
    keys = {"statement", "kind", "interpretation", "why", "figures"}
    assert all(
        {"statement", "interpretation", "why"} <= of_claim.keys() <= keys for of_claim in of.claims.values()
    )


def test_values_of_axes() -> None:
    """A label may replace the value, a list is a tuple, and a table is a range, or, without `value`, `None`."""
    (axis,) = (axis for axis in spaces.axes("lte") if axis.field == "source_mbps")
    assert axis.values[0].value == Drawn(4, 6)
    assert [(value.label, value.value, value.weight) for value in axis.values][3:] == [
        ("6 Mbit/s a mobile", 6, 1.0),
        ("shared", None, 0.5),
    ]
    by_field = {axis.field: axis.values for axis in spaces.axes("ipf")}
    assert (by_field["thresholds"][0].value, by_field["min_rto"][1].value) == ((100, 200), "200 ms")
