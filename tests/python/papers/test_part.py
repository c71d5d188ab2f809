"""Papers from Python: a claim or a figure, and another choice of what the paper leaves open."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import polars as pl
import pytest

import roamlab as rl
from roamlab import papers
from roamlab.papers import robustness

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, papers_store: Path) -> rl.Reproduction:
    """Figure 12 of MBLUE, from few runs."""
    out = tmp_path_factory.mktemp("part") / "fig12"
    return rl.reproduce("mblue", figure=12, runs=5, out=out, store=papers_store)


def test_a_figure_has_its_claim_and_its_files(made: rl.Reproduction) -> None:
    (row,) = made.claims.rows(named=True)
    (claim,) = json.loads((made.folder / "claims.json").read_text())
    assert (
        (row["claim"], row["verdict"]) == (claim["id"], claim["verdict"]) == ("mblue.fig12", row["verdict"])
    )
    assert row["in_these_runs"] == claim["verdict_default"]
    assert (row["effect"], [row["low"], row["high"]], row["runs"]) == (claim["effect"], claim["interval"], 5)
    assert made.claims.width == made.measures.width == 8
    assert made.measures["what"].to_list() == [each["what"] for each in claim["measures"]]
    assert made.statements == {claim["id"]: claim["statement"]}
    figure = made.figures["fig12"]
    assert figure.png is not None
    assert figure.png.parent == made.folder / "figures"
    assert figure.png.exists()
    assert figure.svg.exists()
    assert set(made.tables) == {path.stem for path in (made.folder / "tables").glob("*.csv")}
    assert all(isinstance(table, pl.DataFrame) for table in made.tables.values())


def test_it_fits_a_page(made: rl.Reproduction) -> None:
    assert len(repr(made)) < 250
    assert max(map(len, str(made).splitlines()[1:-1])) <= 110
    page = made._repr_html_()
    assert page.count("data:image/png;base64,") == 1
    assert page.count("<th>") <= 8


def test_what_a_verdict_depends_on_is_that_of_the_record(made: rl.Reproduction) -> None:
    known = robustness.known("mblue", made.folder)
    assert known is not None
    said = made.depends()
    assert said.startswith("mblue.fig12: ")
    assert known.lines["mblue.fig12"].partition(" under")[0] in said
    assert "on record" in said or "by this engine" in said
    assert made.depends("fig12") == said
    turning = [name for name, found in known.found.items() if made.turn(name)]
    for name in turning:
        assert made.turn(name) == dict(known.found[name].turn)
        assert robustness.ruled_out("mblue", made.turn(name)) == ()


@pytest.mark.parametrize("paper", papers.names())
def test_each_choice_of_a_paper_changes_its_interpretation(paper: str, tmp_path: Path) -> None:
    table = rl.choices(paper)
    space = papers.space(paper)
    assert table.filter("default")["choice"].to_list() == [axis.what for axis in space.axes]
    assert space.chosen({}) == space.default
    session = papers.Session(tmp_path, tmp_path, tmp_path, 1, 1)
    for choice, value in table.filter(~pl.col("default")).select("choice", "value").iter_rows():
        changed = papers.Session(tmp_path, tmp_path, tmp_path, 1, 1, None, {choice: value})
        assert changed.interpretation(paper) != session.interpretation(paper) == space.default
        assert changed.named == f"{choice}: {value}"
    assert session.named == "default"


def test_a_figure_and_its_claim_follow_the_setting(
    made: rl.Reproduction, papers_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    changed = rl.reproduce("mblue", figure="fig12", setting={"RTO floor": "1 s"}, runs=5, store=papers_store)
    assert changed.folder.name == "mblue-fig12-RTO-floor-1-s"
    assert changed.report.headline.startswith("With RTO floor: 1 s: ")
    assert changed.claims["effect"][0] != made.claims["effect"][0]
    assert changed.claims["verdict"].to_list() == changed.claims["in_these_runs"].to_list()
    one, other = (each.figures["fig12"].svg.read_bytes() for each in (made, changed))
    assert one != other
    assert changed.turn("fig12") == {}
    assert "another setting" in changed.depends()
    assert (
        "interpretation",
        str(papers.space("mblue").chosen({"RTO floor": "1 s"})),
    ) in changed.report.origin


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ('rl.reproduce("mblu")', "did you mean 'mblue'?"),
        ('rl.reproduce("mblue", claim="fig41")', "claim fig41: mblue has no such claim"),
        ('rl.reproduce("mblue", figure=16)', "figure 16: the reproduction of mblue has no such figure"),
        ('rl.reproduce("mblue", figure=12, claim="fig12")', "a part is claims or a figure"),
        ('rl.reproduce("mblue", setting={"RTO": "1 s"})', "MBLUE leaves open no choice 'RTO'"),
        (
            'rl.reproduce("mblue", figure=12, setting={"RTO floor": "2 s"})',
            "MBLUE leaves open no value '2 s'\n  expected: one of: 200 ms, 1 s",
        ),
        ('rl.reproduce("mblue", figure=12, runs=0)', "runs = 0: it cannot be used"),
        ('rl.choices("lta")', "there is no such reproduction"),
    ],
)
def test_a_name_that_a_paper_does_not_have_is_refused(
    call: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(rl.BadInput, match=re.escape(said)):
        eval(call, {"rl": rl})
    assert not list(tmp_path.glob("out/mblue*"))
