"""`reproduce --explore` on a planted paper: a queue overflows under two interpretations together, and only then."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from roamlab import papers
from roamlab.papers import blocks, fitting, robustness
from roamlab.papers.exploring import behaviour, report
from roamlab.papers.records import reads
from roamlab.papers.robustness import Known, keep
from roamlab.papers.runs import Batch, draws
from roamlab.papers.spaces import Space
from roamlab.scenarios.scenario import Scenario
from roamlab.showing.report import write
from roamlab.statistics.axes import Axis, Value
from roamlab.statistics.claims import Claim, Measure, at_most, greater
from roamlab.statistics.stats import exact, largest, student

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab.records.results import Results


@dataclass(frozen=True)
class Interpretation:
    """Open points."""

    limit_pkts: int = 40
    window_pkts: int = 16
    delay_ms: int = 10


def _scenario(interpretation: Interpretation) -> Scenario:
    return Scenario(
        f"""
[run]
duration = "3 s"
[[links]]
between = ["a", "b"]
rate = "1 Mbit/s"
delay = "{interpretation.delay_ms} ms"
queue = {{ kind = "droptail", limit = "{interpretation.limit_pkts} pkt" }}
[[flows]]
name = "f"
path = ["a", "b"]
transport = {{ kind = "tcp", variant = "reno", window = "{interpretation.window_pkts} pkt" }}
app = {{ kind = "ftp", start_within = "1 s" }}
"""
    )


@reads(flows="dropped_pkts")
def lost(results: Results) -> int:
    return int(results.columns("flows")["dropped_pkts"].sum())


def _ask(batch: Batch, interpretation: Interpretation, runs: range) -> Callable[[], Sequence[Claim]]:
    found = batch.each({"only": (_scenario(interpretation), runs)}, lost)
    return partial(_decide, found["only"])


def _decide(losses: list[int]) -> list[Claim]:
    measure = Measure("lost", student([float(each) for each in losses]), "pkt", greater(0.5))
    return [Claim("planted.loss", "Packets are lost.", (measure,), "", "")]


SPACE = Space(
    "Planted",
    Interpretation(),
    (
        Axis("limit_pkts", "queue", (Value("40", 40), Value("8", 8)), "planted"),
        Axis("window_pkts", "window", (Value("16", 16), Value("4", 4)), "planted"),
        Axis("delay_ms", "delay", (Value("10 ms", 10), Value("1 ms", 1), Value("2 ms", 2)), "planted"),
    ),
    _ask,
    runs=5,
    confirm=6,
)


def _session(folder: Path) -> papers.Session:
    return papers.Session(folder / "figures", folder / "tables", folder / "store", 1, 2)


def test_the_change_that_makes_a_claim_hold_is_found_and_looked_at_anew(tmp_path: Path) -> None:
    page, data, _ = report(SPACE, _session(tmp_path), 12)
    claim = data["claims"]["planted.loss"]
    turned = sum(each["claims"]["planted.loss"]["verdict"] == "holds" for each in data["tried"])
    assert turned > 1
    turns = f"holds in {turned} of 12 settings, such as queue 8 (confirmed by 6 further runs)"
    told = f"contradicted under the default; {turns}"
    assert claim["robustness"] == told
    assert claim["measures"] == {"lost": turned}
    assert claim["most_measures"] == 1
    assert claim["fresh_runs"]["verdict"] == "holds"
    assert claim["fresh_runs"]["runs"] == 6
    # It holds under a queue of 8 with a window of 16: in a quarter of the space, the delay whatever it is.
    low, high = claim["shares"]["holds"][1:]
    assert low < 0.25 < high
    tried = {json.dumps(each["setting"]): each["claims"]["planted.loss"]["verdict"] for each in data["tried"]}
    assert len(tried) == 12
    holds = {setting for setting, verdict in tried.items() if verdict == "holds"}
    assert holds == {setting for setting in tried if '"queue"' in setting and '"window"' not in setting}
    assert (tmp_path / "figures" / "map.png").stat().st_size > 0
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {
        "robustness.csv",
        "measures.csv",
        "deciding.csv",
        "axes.csv",
        "fit.csv",
        "fit-claims.csv",
        "nowhere.csv",
        "apart.csv",
    }
    assert data["budget"]["settings"] == 12
    assert data["budget"]["fresh runs of a turn"] == 6
    assert data["behaviour"] == behaviour(SPACE, 1)
    assert data["behaviour"] != behaviour(replace(SPACE, default=Interpretation(limit_pkts=8)), 1)
    # Each single value that turned it has fresh runs.
    assert claim["turns"] == [{"setting": {"queue": "8"}, "fresh_runs": claim["fresh_runs"]}]
    assert data["map"]["planted.loss"][0][0] == 0.0
    assert page.headline.endswith("1 turns: planted.loss.")
    assert told in [row[1] for row in page.tables[0].rows]


def test_a_search_tries_what_turned_in_the_record_that_ships(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn = {"queue": "8", "delay": "2 ms"}
    _, alone, _ = report(SPACE, _session(tmp_path), 5)
    assert turn not in [each["setting"] for each in alone["tried"]]
    monkeypatch.setattr(robustness, "shipped_turns", lambda _: [turn, {"queue": "7"}, turn])
    for space in (SPACE, replace(SPACE, beside=_beside, few=1)):
        _, data, _ = report(space, _session(tmp_path), 5)
        (tried,) = (each for each in data["tried"] if each["setting"] == turn)
        assert tried["claims"]["planted.loss"]["verdict"] == "holds"
        assert ("planted.none" in tried["claims"]) == (space is not SPACE)
        assert tried["drawn"] == 0
        assert data["budget"]["turns of the record that ships"] == 1


def test_a_search_is_kept_and_shows_single_values(tmp_path: Path) -> None:
    _, data, _ = report(SPACE, _session(tmp_path), 12)
    told = data["claims"]["planted.loss"]["robustness"]
    keep("planted", "explored", data, tmp_path)
    kept = json.loads((tmp_path / "explored" / "planted.json").read_text(encoding="utf-8"))
    known = Known.of(kept)
    assert known.lines == {"planted.loss": told}
    table = known.one_changed("planted")
    assert table.headings == ("choice", "value", "loss")
    assert table.rows == [
        ("none", "the default", "contradicted"),
        ("queue", "8", "holds"),
        ("window", "4", "contradicted"),
        ("delay", "1 ms", "contradicted"),
        ("delay", "2 ms", "contradicted"),
    ]
    assert table.title.startswith(
        "The claims when one choice changes. Robustness: from 12 settings with 5 runs"
    )
    measured = {tuple(each["setting"].items()): each["claims"]["planted.loss"] for each in kept["alone"]}
    assert measured[("queue", "8"),]["measured"].startswith("lost: ")
    assert measured[("queue", "8"),] == next(
        each["claims"]["planted.loss"] for each in data["tried"] if each["setting"] == {"queue": "8"}
    )
    assert Known.of({name: of for name, of in kept.items() if name != "alone"}).alone == [], "an older record"


def _beside(batch: Batch, interpretation: Interpretation, runs: range) -> Callable[[], Sequence[Claim]]:
    # A setting of the search, the default, fresh runs at a turn; a closer look and fresh runs at settings of the fit.
    assert list(runs) in ([0], [*range(6)], [*range(11, 17)], [*range(5, 11)], [*range(17, 23)])
    found = batch.each({"only": (_scenario(interpretation), runs)}, lost)

    def decide() -> list[Claim]:
        measure = Measure("lost", largest([float(each) for each in found["only"]]), "pkt", at_most(0))
        return [Claim("planted.none", "Nothing is lost.", (measure,), "", "", kind="inventory")]

    return decide


def test_a_claim_beside_is_decided_where_the_search_went(tmp_path: Path) -> None:
    _, alone, _ = report(SPACE, _session(tmp_path), 12)
    _, data, _ = report(replace(SPACE, beside=_beside, few=1), _session(tmp_path), 12)
    assert [each["setting"] for each in data["tried"]] == [each["setting"] for each in alone["tried"]]
    assert data["claims"]["planted.loss"] == alone["claims"]["planted.loss"]
    for each in data["tried"]:
        opposite = {"holds": "contradicted", "contradicted": "holds"}
        verdicts = {name: claim["verdict"] for name, claim in each["claims"].items()}
        # Of the settings that were neither drawn nor change one value it is not decided.
        assert ("planted.none" in verdicts) == (each["drawn"] > 0 or len(each["setting"]) < 2)
        if "planted.none" in verdicts:
            assert verdicts["planted.none"] == opposite[verdicts["planted.loss"]]
    decided = [each for each in data["tried"] if "planted.none" in each["claims"]]
    assert 5 < len(decided) < 12
    claim = data["claims"]["planted.none"]
    assert claim["robustness"].startswith(
        "holds under the default; contradicted in 2 of 7 settings, such as queue 8 (confirmed"
    )
    assert claim["turned"] == sum(
        each["claims"]["planted.none"]["verdict"] == "contradicted" for each in decided
    )
    assert set(data["map"]) == {"planted.loss", "planted.none"}


def test_an_interrupted_search_goes_on_and_ends_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, whole, _ = report(SPACE, _session(tmp_path / "whole"), 12)
    resumed = _session(tmp_path / "resumed")
    with monkeypatch.context() as cut:
        cut.setattr("roamlab.papers.robustness.Known.draw_map", lambda *_: pytest.fail("interrupted"))
        with pytest.raises(pytest.fail.Exception):
            report(SPACE, resumed, 12)
    with monkeypatch.context() as stop:
        stop.setattr(
            "roamlab.papers.runs.measure", lambda jobs, *_: pytest.fail("made again") if jobs else None
        )
        # It is the engine's as it runs now, and not looked up.
        stop.setattr(Batch, "behaviour", lambda *_: whole["behaviour"])
        _, again, _ = report(SPACE, resumed, 12)
    assert again == whole


def _ask_two(batch: Batch, interpretation: Interpretation, runs: range) -> Callable[[], Sequence[Claim]]:
    losses = batch.each({"only": (_scenario(interpretation), runs)}, lost)["only"]

    def decide() -> list[Claim]:
        values = [float(each) for each in losses]
        return [
            *_decide(losses),
            Claim("planted.many", "", (Measure("lost", student(values), "pkt", greater(1e6)),), "", ""),
        ]

    return decide


def test_a_fit_reports_one_setting_on_fresh_runs(tmp_path: Path) -> None:
    page, _, data = report(replace(SPACE, ask=_ask_two), _session(tmp_path), 12)
    assert (data["holds"], data["results"]) == ({"fit": 1, "default": 0}, 2)
    assert data["claims"]["planted.loss"]["verdict"] == "holds"
    assert data["claims"]["planted.loss"]["default"] == "contradicted"
    chosen = {axis["axis"]: axis["fit"] for axis in data["axes"]}
    assert (chosen["queue"], chosen["window"]) == ("8", "16")
    assert {axis["text"] for axis in data["axes"]} == {"planted"}
    assert data["headline"].startswith("1 of 2 results hold under one setting, queue 8")
    assert data["headline"].endswith("on 6 further runs; under the default 0 of 2.")
    # The other claim never holds, and is nearest where most is lost.
    (name,) = data["nowhere"]
    assert name == "planted.many"
    near = data["nowhere"][name]
    assert near["setting"]["queue"] == "8"
    assert 0.99e6 < near["distance"] < 1e6
    assert near["unit"] == "pkt"
    assert "1000000 pkt" in near["line"]
    told = fitting.summary(data)
    assert f"planted.many: never holds; nearest: {near['line']}" in told
    assert "queue: 8, default 40" in told
    write(page, tmp_path / "report.html")
    assert near["line"] in (tmp_path / "report.html").read_text(encoding="utf-8")


def _ask_opposite(batch: Batch, interpretation: Interpretation, runs: range) -> Callable[[], Sequence[Claim]]:
    """Packets are lost, and none are."""
    losses = batch.each({"only": (_scenario(interpretation), runs)}, lost)["only"]

    def decide() -> list[Claim]:
        none = Measure("lost", student([float(each) for each in losses]), "pkt", at_most(0))
        return [*_decide(losses), Claim("planted.none", "", (none,), "", "")]

    return decide


def test_claims_that_do_not_hold_together_are_named(tmp_path: Path) -> None:
    _, _, data = report(replace(SPACE, ask=_ask_opposite), _session(tmp_path), 12)
    assert data["apart"] == [["planted.loss", "planted.none"]]
    assert (data["holds"], data["nowhere"]) == ({"fit": 1, "default": 1}, {})
    assert "planted.loss and planted.none: hold, but under no setting tried together" in fitting.summary(data)


def test_a_value_that_the_text_rules_out_is_shown_and_fits_nothing(tmp_path: Path) -> None:
    queue, *others = SPACE.axes
    without = replace(queue, values=(queue.values[0], replace(queue.values[1], ruled_out=True)))
    of_space = replace(SPACE, axes=(without, *others))
    _, data, fit = report(of_space, _session(tmp_path), 12)
    assert {"queue": "8"} in [each["setting"] for each in data["alone"]]
    assert not any("queue" in each["setting"] for each in data["tried"])
    assert data["claims"]["planted.loss"]["turns_under"] is None
    assert data["claims"]["planted.loss"]["turns"] == []
    assert next(axis["fit"] for axis in fit["axes"] if axis["axis"] == "queue") == "40"


def test_a_fit_counts_claims_that_did_not_steer_the_search(tmp_path: Path) -> None:
    """They are decided in a part of the settings of the search, and in those of the fit."""

    def beside(batch: Batch, interpretation: Interpretation, runs: range) -> Callable[[], Sequence[Claim]]:
        decide = _ask(batch, interpretation, runs)
        return lambda: [replace(claim, id="planted.again") for claim in decide()]

    _, _, data = report(replace(SPACE, ask=_ask_two, beside=beside), _session(tmp_path), 12)
    assert (data["holds"], data["results"]) == ({"fit": 2, "default": 0}, 3)


def _ask_even(batch: Batch, interpretation: Interpretation, runs: range) -> Callable[[], Sequence[Claim]]:
    """A verdict that is the same in every block, and one of the first run's number alone."""
    losses = batch.each({"only": (_scenario(interpretation), runs)}, lost)["only"]

    def decide() -> list[Claim]:
        turning = exact(1.0 if runs[0] % 10 else -1.0)
        return [
            *_decide(losses),
            Claim("planted.turns", "", (Measure("sign", turning, "1", greater()),), "", ""),
        ]

    return decide


def test_a_verdict_that_turns_with_the_block_is_found(tmp_path: Path) -> None:
    session = replace(_session(tmp_path), runs=5)
    page, data = blocks.report(replace(SPACE, ask=_ask_even), session, 20)
    assert data["claims"]["planted.loss"] == {
        "verdict": "contradicted",
        "same": 20,
        "verdicts": {"contradicted": 20},
    }
    assert data["claims"]["planted.turns"]["verdicts"] == {"contradicted": 10, "holds": 10}
    assert blocks.unsteady(data) == ["planted.turns"]
    assert page.headline == "1 of 2 verdicts are the same in at least 95% of 20 blocks of 5 runs."
    almost = {"blocks": 20, "claims": {"of 19": {"same": 19}, "of 18": {"same": 18}}}
    assert blocks.unsteady(almost) == ["of 18"]


@pytest.mark.parametrize("name", papers.names())
def test_verdicts_do_not_turn_when_other_blocks_of_runs_are_used(name: str) -> None:
    """A paper's record has 20 blocks of its default size. A verdict other than undecided is the same in 19."""
    found = blocks.record(name)
    if found is None:
        pytest.skip(f"no record: make it with `roamlab reproduce {name} --blocks {blocks.BLOCKS}`")
    assert (found["blocks"], found["runs"]) == (blocks.BLOCKS, papers.paper(name).RUNS)
    for claim in blocks.unsteady(found):
        of = found["claims"][claim]
        assert of["verdict"] == "undecided", f"{claim}: the runs do not suffice, it is undecided"
        assert not {"holds", "contradicted"} <= of["verdicts"].keys(), claim
    page = (Path(papers.__path__[0]) / name / "README.md").read_text(encoding="utf-8")
    for claim, of in found["claims"].items():
        row = re.search(
            rf"^\| {re.escape(claim.partition('.')[2])}\b[^|]*\|[^|*]*\*\*(\w+)", page, re.MULTILINE
        )
        assert row is not None
        assert (claim, row[1]) == (claim, of["verdict"]), "the verdict on the page, and that of most blocks"


@pytest.mark.parametrize("name", papers.names())
def test_a_block_is_decided_from_the_runs_of_the_reproduction(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Block 0 asks for no run that the reproduction does not ask for: with all its points, and as many of each."""

    class AskedError(Exception):
        pass

    def ask(self: Batch, *_: object) -> None:
        raise AskedError(frozenset(self._wanted))

    monkeypatch.setattr(Batch, "make", ask)
    with pytest.raises(AskedError) as reproduced:
        papers.paper(name).reproduce(replace(_session(tmp_path), runs=8))
    batch, whole = Batch(), papers.space(name).whole
    assert whole is not None
    whole(batch, range(8))
    assert frozenset(batch._wanted) <= reproduced.value.args[0]
    assert len(batch._wanted) > 8


@pytest.mark.parametrize("name", papers.names())
def test_a_search_decides_the_measures_of_the_reproduction(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same cases of each experiment are measured: no point that decides on the page is left out of the search."""
    asked: set[tuple[str, object]] = set()

    def note(
        _: Batch, scenarios: dict[object, object], take: Callable[..., object]
    ) -> dict[object, list[int]]:
        while isinstance(take, partial):
            take = take.func
        asked.update((take.__qualname__, case) for case in scenarios)
        return {case: [] for case in scenarios}

    monkeypatch.setattr(Batch, "each", note)
    space = papers.space(name)
    assert space.whole is not None
    assert space.beside is not None
    space.whole(Batch(), range(8))
    by_page = frozenset(asked)
    asked.clear()
    space.ask(Batch(), space.default, range(8))
    space.beside(Batch(), space.default, range(8))
    assert asked == by_page
    assert len(by_page) > 8


@pytest.mark.parametrize("name", papers.names())
def test_records_are_of_the_engine_as_it_behaves(name: str) -> None:
    """Any build of it: run 0 of the paper's experiments gives what it gave when the paper was searched."""
    for record in ("explored", "fit"):
        path = Path(papers.__path__[0]) / name / f"{record}.json"
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        if "behaviour" not in found:
            pytest.skip(f"{name}: the record is of a search that did not note the engine's behaviour")
        assert found["behaviour"] == behaviour(papers.space(name), 1), (
            f"another behaviour than on record: `roamlab reproduce {name} --explore --out out/{name}`, then copy "
            f"out/{name}/explored.json (without `tried`: out/store/explored/{name}.json) and fit.json to {path.parent}"
        )


def test_what_a_run_draws_outside_the_engine_is_its_own(tmp_path: Path) -> None:
    """Run n has the scenario that is given for it, and equal draws for an equal name."""
    first = draws("planted", 3).integers(1 << 30, size=4).tolist()
    assert first == draws("planted", 3).integers(1 << 30, size=4).tolist()
    for other in (draws("planted", 4), draws("other", 3)):
        assert first != other.integers(1 << 30, size=4).tolist()
    batch = Batch()
    found = batch.each(
        {
            "drawn": (lambda run: _scenario(Interpretation(limit_pkts=8 if run % 2 else 40)), range(4)),
            "8": (_scenario(Interpretation(limit_pkts=8)), range(4)),
            "40": (_scenario(Interpretation(limit_pkts=40)), range(4)),
        },
        lost,
    )
    batch.make(tmp_path, threads=1)
    assert found["drawn"] == [found["40"][0], found["8"][1], found["40"][2], found["8"][3]]
    assert found["8"] != found["40"]


@pytest.mark.parametrize("changes", [{"runs": 4}, {"confirm": 2}])
def test_a_space_with_too_few_runs_for_a_verdict_is_refused(changes: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"Planted: . runs are too few, a verdict needs 5"):
        replace(SPACE, **changes)


@pytest.mark.parametrize("name", papers.names())
def test_each_paper_has_its_axes(name: str) -> None:
    """Each value is one that the paper's interpretation takes, and the first is the default."""
    space = papers.space(name)
    assert space.interpretation((0,) * len(space.axes)) == space.default
    assert len({axis.field for axis in space.axes}) == len(space.axes)
    for at, axis in enumerate(space.axes):
        for value in range(len(axis.values)):
            setting = tuple(value if one == at else 0 for one in range(len(space.axes)))
            assert getattr(space.interpretation(setting), axis.field) == axis.values[value].value
