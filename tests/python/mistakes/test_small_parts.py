"""Small functions at their borders: the planted bugs of tests/mutants/python.toml are found here, in seconds."""

from __future__ import annotations

import math
from decimal import Decimal
from io import StringIO
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from roamlab.base import quantities, screen
from roamlab.base.errors import BadInput, bad_path
from roamlab.base.inputs import read_text
from roamlab.base.output import draft_folder, sweep_drafts
from roamlab.records import metrics, mro
from roamlab.records.analysis import Stall
from roamlab.statistics import stats
from roamlab.statistics.stopping import Until
from roamlab.sweeps import compare, design, threshold
from roamlab.traces import compare_traces, open_trace, schedule, text
from roamlab.traces.event import Event

SAMPLE = [1.0, 2.0, 4.0, 5.0]
"""Mean 3, standard deviation √(10/3)."""
T3, T4 = 3.182446305284263, 2.7764451051977987
"""Student's t with 3 and with 4 degrees of freedom at 97.5 %."""


def test_a_students_interval_is_that_of_the_tables() -> None:
    found = stats.student(SAMPLE)
    half = T3 * math.sqrt(10 / 3) / 2
    assert (found.effect, found.runs) == (3.0, 4)
    assert (found.low, found.high) == pytest.approx((3 - half, 3 + half))


def test_extremes_are_those_of_the_sample() -> None:
    assert stats.largest(SAMPLE).effect == 5.0
    assert stats.smallest(SAMPLE).effect == 1.0
    assert stats.paired([3.0, 4.0], [1.0, 2.0]).effect == 2.0


def test_holms_values_are_ordered_and_at_most_1() -> None:
    assert stats.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert stats.holm([0.02, 0.021, 0.9]) == pytest.approx([0.06, 0.06, 0.9])
    assert stats.holm([0.6, 0.7]) == [1.0, 1.0]


def test_bad_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one trial"):
        stats.share_interval(0, 0)
    for bad in ([], [math.inf], [1.0, math.nan]):
        with pytest.raises(ValueError, match="at least one finite value"):
            stats.student(bad)


def test_one_run_alone_tests_nothing() -> None:
    assert stats.p_value([3.0]) is None
    assert stats.p_value([3.0, 3.0]) is None


def test_welchs_interval_is_wider_than_that_of_equal_spreads() -> None:
    found = stats.unpaired([1.0, 2.0, 3.0], [10.0, 40.0, 10.0, 40.0, 25.0, 20.0])
    from scipy import stats as scipy_stats

    expected = scipy_stats.ttest_ind(
        [1.0, 2.0, 3.0], [10.0, 40.0, 10.0, 40.0, 25.0, 20.0], equal_var=False
    ).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_the_pilot_alone_fixes_the_number_of_runs() -> None:
    pilot, half = [1.0, 2.0, 3.0, 4.0, 5.0], T4 * math.sqrt(2.5)
    rule = Until("x", half_width=1.0, minimum=5, budget=1000)
    assert rule.wanted([1.0, 2.0]) == 5
    assert rule.wanted(pilot) == math.ceil(half**2)
    assert rule.wanted([*pilot, 1000.0]) == math.ceil(half**2)
    assert Until("x", half_width=1.0, minimum=5, budget=10).wanted(pilot) == 10
    assert rule.interval(pilot).high == pytest.approx(3 + half / math.sqrt(5))
    assert rule.interval([*pilot, 1005.0]).high == pytest.approx(170 + half / math.sqrt(6))


def test_the_sequential_rule_adds_a_fifth() -> None:
    rule = Until("x", half_width=1e-3, minimum=5, budget=1000, rule="sequential")
    assert rule.wanted(list(map(float, range(20)))) == 24
    assert rule.wanted([1.0, 2.0, 3.0, 4.0, 6.0]) == 6


def test_quantities_are_scaled_by_the_largest_size() -> None:
    assert quantities.scale([-2e6, 10.0], "bit/s") == (1e6, "Mbit/s")
    assert quantities.scale([1e6], "bit/s") == (1e6, "Mbit/s")
    assert quantities.scale([], "bit/s") == (1.0, "bit/s")
    assert [quantities.number(value) for value in (1e4, 12345.6, 9999.4, 1e15)] == [
        "10000",
        "12346",
        "9999",
        "1e+15",
    ]


def _event(time_ns: int, what: str = "1", kind: str = "S", value: str = "0") -> Event:
    return Event(time_ns, kind, "f", what, value, "", 1)


@pytest.mark.parametrize("difference", [-11, -10, 0, 10, 11])
def test_events_stand_side_by_side_within_the_tolerance_on_both_sides(difference: int) -> None:
    """One of our events that is later than theirs is no nearer to it than one that is earlier."""
    ours, theirs, pair = _event(100 + difference), _event(100), (_event(500, "9"), _event(500, "8"))
    rows = compare_traces._align([ours, pair[0]], [theirs, pair[1]], pair, 10)
    together = [(ours, theirs), pair]
    alone = sorted([(ours, None), (None, theirs)], key=lambda row: (row[0] or row[1]).time_ns)  # type: ignore[union-attr]
    assert rows == (together if abs(difference) <= 10 else [*alone, pair])


def test_events_of_other_content_stand_alone() -> None:
    pair = (_event(500, "9"), _event(500, "8"))
    rows = compare_traces._align([_event(100, "1")], [_event(100, "2")], pair, 10)
    assert len(rows) == 3


def _side(tmp_path: Path, *rows: str, start: int = 0, end: int | None = None) -> compare_traces.Side:
    path = tmp_path / "trace.csv"
    path.write_text("\n".join(["t_us,ev,flow,x,y", *rows]) + "\n")
    choice = compare_traces.Choice(frozenset({"S", "cwnd"}), None, start, end)
    return compare_traces.Side("OURS", open_trace(path), choice)


def test_both_ends_of_the_span_belong_to_it(tmp_path: Path) -> None:
    side = _side(tmp_path, *(f"{at},S,0,{at},0" for at in (9, 10, 15, 20, 21)), start=10_000, end=20_000)
    assert [event.what for event in side.ahead(9)] == ["10", "15", "20"]


def test_settings_and_values_that_stay_are_no_changes(tmp_path: Path) -> None:
    side = _side(tmp_path, "0,V,0,cwnd,1", "5,V,0,cwnd,2", "6,V,0,cwnd,2", "7,V,0,cwnd,3")
    assert [event.time_ns for event in side.ahead(9)] == [5_000, 7_000]


def test_an_event_within_the_tolerance_is_not_overdue(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir(), other.mkdir()
    found = compare_traces.compare(
        _side(one, "10,S,0,1,0", "20,S,0,2,0", "30,S,0,3,0"),
        _side(other, "10,S,0,1,0", "25,S,0,2,0", "31,S,0,3,0"),
        5_000,
    )
    assert isinstance(found, compare_traces.Equal)
    assert (found.events, found.largest_ns) == (3, 5_000)


def test_numbers_of_traces_are_read_with_their_borders() -> None:
    assert compare_traces.time_ns("--from", "2 us") == 2_000
    assert text.nanoseconds("1.5") == 1_500_000_000
    assert text.nanoseconds(str(text.LATEST_S)) is None
    assert text.real("inf") is None
    assert [text.column("a,,b", field, ",") for field in range(4)] == [1, 3, 4, 5]


def test_a_schedule_begins_at_its_begin_and_is_in_order(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("time_s,host,from,to\n12, mh ,b,c\n11,mh,a,b\n")
    found, count = schedule.convert(log, schedule.Fields.of({}), {"host": "mh"}, Decimal(10))
    assert (found, count) == ("time_s,host,from,to,gap_s\n1,mh,a,b,\n2,mh,b,c,\n", 2)


def test_a_bisection_may_end_at_either_end() -> None:
    for first in range(6):
        assert threshold._first(5, lambda at, first=first: at >= first) == first  # type: ignore[misc]


def test_values_of_a_search_have_both_ends() -> None:
    values = threshold._values(("4 pkt", "8 pkt"), 2)
    assert [values(at) for at in range(len(values))] == ["4 pkt", "6 pkt", "8 pkt"]
    assert threshold.condition_of("flows.f.timeouts <= 1").holds(1.0, 1.0)
    assert stats.clopper_pearson(0, 10, 0.05)[1] == pytest.approx(1 - 0.025 ** (1 / 10))


def test_the_last_axis_of_a_grid_changes_fastest() -> None:
    grid = design.Grid({"a": [1, 2], "b": [3, 4]})
    assert [grid.values(point) for point in range(4)] == [(1, 3), (1, 4), (2, 3), (2, 4)]


def test_draws_differ_from_point_to_point() -> None:
    drawn = design.Random(3, {"a": {"low": 1.0, "high": 2.0}})
    assert len({drawn.values(point) for point in range(3)}) == 3
    with pytest.raises(BadInput, match="is no range"):
        design.Random(3, {"a": {"low": 0.0, "high": 2.0, "scale": "log"}})


def test_a_failure_shortly_after_a_handover_is_its() -> None:
    moved = mro.Handover("a", "b", 2.0)
    assert moved.was_shortly_before(3.0, 1.0)
    assert not moved.was_shortly_before(3.1, 1.0)
    lost = mro.Failure(5.0, mro.LOST, "a", None)
    assert mro._resumed(lost, "a", None).kind == mro.SAME_CELL
    assert mro._resumed(lost, "b", None).kind == mro.TOO_LATE


def test_stalls_that_touch_have_no_moment_in_common() -> None:
    one, other = Stall("f", 0, 10, 0, False), Stall("f", 10, 20, 0, False)
    assert not one.overlaps(other)
    assert not other.overlaps(one)
    assert one.overlaps(Stall("f", 9, 20, 0, False))


def test_measures_of_lists_are_those_of_their_sources() -> None:
    assert metrics.jain([1.0, 1.0, 0.0, 0.0]) == 0.5
    assert metrics.reordering_extents([1, 3, 2, 4]) == [0, 0, 1, 0]
    assert metrics.count(np.array([1.0, 2.0, 3.0]), 1.0, 3.0) == 2


def test_bytes_and_directions_are_escapes() -> None:
    assert screen.shown("a\udcff\u202e") == r"a\xff\u{202e}"
    assert screen.shown("a\u2009b") == "a\u2009b"


def test_a_path_that_is_none_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(OSError, match="Not a directory") as caught:
        (tmp_path / "file" / "below").read_text()
    assert bad_path(caught.value) is not None
    (tmp_path / "empty").touch()
    # Files of `/proc` report 0 bytes.
    for path in (tmp_path / "empty", Path("/proc/self/status")):
        with pytest.raises(BadInput, match="the file is empty\n"):
            read_text(path, "text")


def test_an_open_draft_is_not_swept(tmp_path: Path) -> None:
    with draft_folder(tmp_path) as draft:
        sweep_drafts(tmp_path)
        assert draft.exists()


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("0.02296", "1", "0.02296"),
        ("1", "buffers", "1 buffer"),
        ("2", "buffers", "2 buffers"),
        ("1", "s", "1 s"),
        ("1", "pkt", "1 pkt"),
        ("0.375", "flows", "0.375 flows"),
    ],
)
def test_a_number_has_its_unit_in_words(text: str, unit: str, expected: str) -> None:
    assert quantities.with_unit(text, unit) == expected


@pytest.mark.parametrize(("metrics_", "tables"), [(4, 4), (5, 1)])
def test_many_metrics_of_one_scenario_are_one_table(metrics_: int, tables: int) -> None:
    row = {
        "name": "b.toml",
        "reference": 2e6,
        "difference": 5e5,
        "low": 4e5,
        "high": 6e5,
        "runs": 20,
        "unit": "bit/s",
    }
    names = [f"flows.me{number}.goodput_bps" for number in range(metrics_)]
    frame = pl.DataFrame([row | {"metric": name, "p_holm": 0.01} for name in names])
    shown = list(compare.tables(frame))
    assert len(shown) == tables
    if tables == 1:
        cells = [str(next(iter(column.cells))) for column in shown[0].columns]
        assert cells == ["flows.me0.goodput_bps [Mbit/s]", "2", "+0.5", "0.4 … 0.6", "20", "0.01"]


def test_many_metrics_of_a_flow_fit_a_terminal_of_80_columns() -> None:
    row = {
        "name": "b.toml",
        "reference": 0.374,
        "difference": 0.5219,
        "low": -0.3384,
        "high": 0.08675,
        "runs": 10,
    }
    what = {
        "goodput_bps": "bit/s",
        "loss_ratio": "1",
        "timeouts": "1",
        "reordered_ratio": "1",
        "disruption_s": "s",
    }
    frame = pl.DataFrame(
        [
            row | {"metric": f"flows.{flow}.{name}", "unit": unit, "p_holm": 5.7e-17}
            for flow in ("download", "other")
            for name, unit in what.items()
        ]
    )
    shown = list(compare.tables(frame))
    assert [str(table.title) for table in shown] == ["flows.download", "flows.other"]
    screen = Console(width=80, file=StringIO(), color_system=None)
    screen.print(shown[0])
    lines = screen.file.getvalue().splitlines()  # type: ignore[attr-defined]
    for name in ("goodput_bps", "loss_ratio", "reordered_ratio", "disruption_s"):
        assert sum(name in line and "…" in line for line in lines) == 1, lines
