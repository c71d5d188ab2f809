"""All papers in one go, and the study of all schemes."""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from conftest import ROOT
from pages import Page
from roamlab import _roamlab, cli, papers
from roamlab.base.figures import SavedFigure
from roamlab.papers import index, robustness, stored
from roamlab.scenarios.scenario import load
from roamlab.showing.report import Chapter, Report, write_index
from roamlab.statistics import stats
from roamlab.statistics.claims import Claim, Measure, greater
from roamlab.studies import measures, scenarios

if TYPE_CHECKING:
    from collections.abc import Callable

    from roamlab.papers import Session

    Roamlab = Callable[..., SimpleNamespace]


@pytest.fixture
def roamlab(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Roamlab:
    """Run a command in an empty folder; returns exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def call(*arguments: str) -> SimpleNamespace:
        monkeypatch.setattr(sys, "argv", ["roamlab", *arguments])
        code: Any = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code
        return SimpleNamespace(code=code, **dict(zip(("out", "err"), capsys.readouterr(), strict=True)))

    return call


_VALUES = {
    "moby": {"moby.swims": [-1.0, -2.0, -1.5, -1.6, -1.4], "moby.<dives>": [1.0, 2.0, 1.5, 1.6, 1.4]},
    "kon": {"kon.drifts": [-1.0, 1.0, 0.5, -0.5, 0.1]},
}
"""Of two papers, each claim with the values that decide it: they should be above 0."""
_TALLY = "2 results: 1 contradicted, 1 undecided; 1 inventory claim: 1 holds."


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Session]]:
    """Two papers; gives what they were asked for."""
    asked: list[tuple[str, Session]] = []

    def plant(name: str) -> ModuleType:
        def reproduce(session: Session) -> Report:
            asked.append((name, session))
            found = [
                Claim(
                    of,
                    f"{of} & more",
                    (Measure("depth", stats.student(values), "m", greater()),),
                    "",
                    "",
                    kind="inventory" if "dives" in of else "result",
                )
                for of, values in _VALUES[name].items()
            ]
            return Report(f"The {name}", f"By {name}, 1851", "", found, [], [], [], [], [])

        paper = ModuleType(f"roamlab.papers.{name}")
        paper.__dict__.update(
            RUNS=30, reproduce=reproduce, example=lambda: load(ROOT / "examples/roaming.toml")
        )
        return paper

    for name in _VALUES:
        monkeypatch.setitem(sys.modules, f"roamlab.papers.{name}", plant(name))
    monkeypatch.setattr(papers, "names", lambda: sorted(_VALUES))
    return asked


def test_all_papers_have_one_index(roamlab: Roamlab, planted: list[tuple[str, Session]]) -> None:
    searched = {
        "engine": _roamlab.build_hash(),
        "code": stored.code("roamlab.papers.moby.space"),
        "settings": 200,
        "runs": 4,
        "axes": {"queue": ["40", "8"]},
        "map": {"moby.swims": [[0.0, 0.0]]},
        "claims": {
            "moby.swims": {"default": "contradicted", "robustness": "contradicted in all 200 settings"}
        },
    }
    robustness.keep("moby", "explored", searched, Path("out/store"))
    found = roamlab("reproduce", "all", "--threads", "2")
    assert found.code == 0, found.err
    assert [(name, session.runs, session.threads) for name, session in planted] == [
        ("kon", 30, 2),
        ("moby", 30, 2),
    ]
    assert _TALLY in found.out
    assert "report: out/all/index.html" in found.out
    page = Path("out/all/index.html").read_text(encoding="utf-8")
    assert f"2 papers, {_TALLY}" in page
    assert 'href="moby/report.html#moby.swims"' in page
    assert "moby.&lt;dives&gt; &amp; more" in page
    assert page.count("contradicted in all 200 settings") == 1
    assert page.count("not searched under other settings") == 2
    assert page.count("from 200 settings with 4 runs of each experiment, by this engine") == 1
    assert "<code>roamlab study schemes</code>" in page
    Page(page)
    assert "`roamlab study schemes`" in found.out
    assert "schemes/report.html" not in page
    report = Path("out/all/moby/report.html").read_text(encoding="utf-8")
    assert 'id="moby.swims"' in report
    assert report.count("contradicted in all 200 settings") == 1
    data = json.loads(Path("out/all/index.json").read_text(encoding="utf-8"))
    assert data["counts"] == {
        "result": {"claims": 2, "holds": 0, "depends": 0, "contradicted": 1, "undecided": 1},
        "inventory": {"claims": 1, "holds": 1, "depends": 0, "contradicted": 0, "undecided": 0},
    }
    assert [(paper["paper"], paper["counts"]["result"]["claims"]) for paper in data["papers"]] == [
        ("kon", 1),
        ("moby", 1),
    ]
    claims = {claim["id"]: claim for claim in data["claims"]}
    swims = claims["moby.swims"]
    assert (swims["verdict"], swims["robustness"]) == ("contradicted", "contradicted in all 200 settings")
    assert (swims["what"], swims["unit"], swims["effect"]) == ("depth", "m", -1.5)
    assert swims["interval"][0] < -1.5 < swims["interval"][1] < 0.0
    assert claims["kon.drifts"]["robustness"] is None
    own = json.loads(Path("out/all/moby/claims.json").read_text(encoding="utf-8"))
    assert [(claim["id"], claim["robustness"]) for claim in own] == [
        ("moby.swims", "contradicted in all 200 settings"),
        ("moby.<dives>", None),
    ]


@pytest.mark.usefixtures("planted")
def test_the_index_as_json_and_again(roamlab: Roamlab) -> None:
    found = roamlab("reproduce", "all", "--out", "here/index", "--runs", "2", "--json")
    assert found.code == 0, found.err
    data = json.loads(found.out)
    assert data.pop("report") == "here/index/index.html"
    assert data == json.loads(Path("here/index/index.json").read_text(encoding="utf-8"))
    Path("here/schemes").mkdir()
    Path("here/schemes/report.html").write_text("all schemes")
    assert roamlab("reproduce", "all", "--out", "here/index", "--json").code == 0
    assert 'href="../schemes/report.html"' in Path("here/index/index.html").read_text(encoding="utf-8")


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize("options", [("--explore",), ("--settings", "20"), ("--blocks", "3")])
def test_all_papers_are_not_searched_at_once(roamlab: Roamlab, options: tuple[str, ...]) -> None:
    found = roamlab("reproduce", "all", *options)
    assert found.code == 2
    assert "one paper is searched at a time" in found.err
    assert "`roamlab reproduce kon --explore`" in found.err
    assert not Path("out").exists()


@pytest.mark.parametrize("text", ["{", "[]", '{"claims": 1}', '{"claims": {"moby.swims": {}}}', "\udcff"])
def test_a_bad_search_is_named_before_anything_runs(
    roamlab: Roamlab, planted: list[tuple[str, Session]], text: str
) -> None:
    folder = Path("out/store/explored")
    folder.mkdir(parents=True)
    (folder / "moby.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    found = roamlab("reproduce", "all")
    assert found.code == 2
    assert "error: out/store/explored/moby.json: it is not what a search writes" in found.err
    assert planted == []
    assert not Path("out/all").exists()


def test_a_failed_paper_leaves_no_half_index(
    roamlab: Roamlab, planted: list[tuple[str, Session]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Session) -> Report:
        raise _roamlab.SimulationError("packets: created 3, delivered 2")

    with monkeypatch.context() as patch:
        patch.setattr(papers.paper("moby"), "reproduce", broken)
        found = roamlab("reproduce", "all")
    assert (found.code, found.err.splitlines()[-1]) == (1, "error: packets: created 3, delivered 2")
    assert [name for name, _ in planted] == ["kon"]
    assert [path.name for path in Path("out").iterdir()] in ([], ["store"])
    assert roamlab("reproduce", "all").code == 0


@pytest.mark.usefixtures("planted")
def test_a_foreign_folder_is_refused(roamlab: Roamlab) -> None:
    Path("mine").mkdir()
    Path("mine/diary.txt").write_text("no result")
    found = roamlab("reproduce", "all", "--out", "mine")
    assert found.code == 2
    assert "mine" in found.err.splitlines()[0]
    assert Path("mine/diary.txt").read_text() == "no result"


def test_the_study_compares_all_schemes(roamlab: Roamlab) -> None:
    found = roamlab("study", "schemes", "--runs", "2", "--json")
    assert found.code == 0, found.err
    data = json.loads(found.out)
    assert data["report"] == "out/schemes/report.html"
    names = [scheme.name for scheme in scenarios.schemes()]
    of = {(row["scheme"], row["application"], row["quantity"]): row for row in data["means"]}
    assert (
        len(of)
        == len(data["means"])
        == len(names) * sum(len(felt) + len(measures.COST) for felt in measures.FELT.values())
    )
    for row in of.values():
        low, high = row["interval"]
        assert row["runs"] == 2
        assert low <= row["mean"] <= high

    def mean(scheme: str, application: str, quantity: str) -> float:
        return float(of[scheme, application, quantity]["mean"])

    # A protocol that keeps packets for the host loses none of a call; another one loses the gap of 30 ms and
    # the way down.
    for keeps in ("Mobile IP, drop-tail", "X2, standard path switch", "HAWAII SSF", "BCMP planned"):
        assert mean(keeps, "call", "lost") == 0
        assert mean(keeps, "download", "held") > 10
    for loses in ("Cellular IP hard", "HAWAII UNF", "BCMP unplanned", "FMIPv6 reactive"):
        assert 1 <= mean(loses, "call", "lost") <= 4
        assert mean(loses, "call", "held") == 0
        assert mean(loses, "video", "freeze") > 0
    # Only those that fork the way make copies, and only those that tunnel from the old access router forward.
    for name in names:
        copies = name in ("Cellular IP semisoft", "HAWAII MNF") or name.startswith("M&M")
        assert (mean(name, "call", "copies") > 0) == copies, name
        assert mean(name, "call", "messages") >= 4, name
    assert mean("HAWAII MSF", "call", "forwarded") > 0
    assert mean("Cellular IP hard", "download", "forwarded") == 0
    # The fast path switch is there earlier, so less is forwarded; the predictive one leaves nothing to forward.
    assert mean("X2, standard path switch", "download", "forwarded") > mean(
        "X2, fast path switch", "download", "forwarded"
    )
    assert mean("X2, predictive path switch", "download", "forwarded") == 0
    with Path("out/schemes/schemes.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["scheme"] for row in rows] == names
    goodput = "download: goodput in the 3 s after the move [Mbit/s]"
    assert float(rows[0][f"{goodput} mean"]) == mean(names[0], "download", "goodput")
    page = Path("out/schemes/report.html").read_text(encoding="utf-8")
    assert page.count("<figure ") == 5
    assert "Claims" not in page
    assert re.search(r"silent for \d+ ms with .* and for \d+ ms with ", page)
    # A second time, everything is found, and one run is no interval.
    again = roamlab("study", "schemes", "--runs", "1")
    assert again.code == 0, again.err
    assert "runs: 54 of 54 found in the store" in again.err
    assert "FMIPv6 reactive" in again.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("study", "whales"), "No such command 'whales'"),
        (("study", "schemes", "--runs", "0"), "--runs"),
        (("study", "queues", "--runs", "0"), "--runs"),
        (("study", "queues", "--out", "."), "it holds the store of runs, out/store"),
        (("study", "schemes", "--out", "."), "it holds the store of runs, out/store"),
    ],
)
def test_bad_options_of_a_study(roamlab: Roamlab, arguments: tuple[str, ...], said: str) -> None:
    found = roamlab(*arguments)
    assert found.code == 2
    assert said in found.err
    assert "Traceback" not in found.err


def test_the_index_shows_each_lead_figure_and_the_calibration(tmp_path: Path) -> None:
    (tmp_path / "fig1.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>", encoding="utf-8")
    lead = SavedFigure("what carries the headline", None, tmp_path / "fig1.svg")
    claim = Claim(
        "a.b", "It floats", (Measure("depth", stats.student([-1.0, -2.0]), "m", greater()),), "", ""
    )
    chapters = [Chapter(name, f"The {name}", "", "", [claim], {}, "", lead) for name in ("moby", "kon")]
    write_index(chapters, tmp_path / "index.html", ("more", ""), index.CALIBRATION)
    page = Page((tmp_path / "index.html").read_text(encoding="utf-8"))
    assert page.parts.count("img.") == 2
    assert index.CALIBRATION in page.text


def test_the_calibration_is_that_of_the_pages() -> None:
    """The numbers are those of the pages about the comparison with ns-2, whose tests make them."""
    told = re.findall(r"([0-9,]+) of ([0-9,]+)", index.CALIBRATION)
    assert [ours for ours, _ in told] == [all_of for _, all_of in told]
    tcp, tests = (
        (ROOT / page).read_text(encoding="utf-8") for page in ("docs/models/tcp.md", "tests/README.md")
    )
    assert f"{told[0][0]} runs: **{told[0][0]} exact**" in tcp
    assert f"**{told[1][0]} of {told[1][1]}" in tests
