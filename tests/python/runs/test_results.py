"""Columns become frames; the tables are documented."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from conftest import ROOT
from roamlab.base.errors import BadInput
from roamlab.records import tables
from roamlab.records.manifest import describe
from roamlab.records.results import from_engine
from roamlab.running.run import run

if TYPE_CHECKING:
    from pathlib import Path

    from roamlab.scenarios.scenario import Scenario


def test_codes_become_names(scenario: Scenario) -> None:
    flows = run(scenario, seed=5, run=3).flows
    assert flows["flow"].cast(pl.String).to_list() == ["moving", "[resident]"]
    assert flows["delivered_pkts"].to_list() == [105, 203]
    assert flows["goodput_bps"].dtype == pl.Float64


def test_a_queue_is_chosen_by_name(scenario: Scenario) -> None:
    results = run(scenario)
    assert results.queue("bs1/air")["packets"].to_list() == [1, 2]
    with pytest.raises(BadInput, match="one of bs1/air, bs2/air"):
        results.queue("bs3/air")


def test_all_queues_and_the_plot_of_one(scenario: Scenario) -> None:
    results = run(scenario)
    assert results.queues["queue"].cast(pl.String).to_list() == ["bs1/air", "bs2/air", "bs1/air"]
    (axes,) = results.plot_queue("bs1/air").axes
    assert axes.lines[0].get_xydata().tolist() == [[0.0, 1.0], [0.004096, 2.0]]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("time [s]", "queue bs1/air [pkt]")


def test_a_missing_table_is_named(scenario: Scenario) -> None:
    with pytest.raises(BadInput, match="one of causes, drops, flows, queue, trace"):
        run(scenario).table("drop")


def test_number_columns_are_not_copied(scenario: Scenario) -> None:
    column = np.arange(1000, dtype=np.int64)
    shown = (
        from_engine({"tcp": {"time_ns": column}, "names": {}}, describe(scenario, 1, 0))
        .tcp["time_ns"]
        .to_numpy()
    )
    assert np.shares_memory(column, shown)


def test_an_empty_text_column_is_text(scenario: Scenario) -> None:
    raw = {"drops": {"reason": np.array([], dtype=np.uint32)}, "names": {"drops.reason": []}}
    assert from_engine(raw, describe(scenario, 1, 0)).drops["reason"].cast(pl.String).to_list() == []


def test_what_is_written_from_the_tables_is_up_to_date(root: Path) -> None:
    assert (root / "docs/tables.md").read_text(encoding="utf-8") == tables.markdown()
    written = (root / "python/roamlab/records/frames.py").read_text(encoding="utf-8")
    assert written == tables.properties()


def _described(root: Path) -> dict[str, str]:
    """The sources without line breaks and signs of comments, by name; except texts written from the tables."""
    sources = [*root.glob("crates/*/src/**/*.rs"), *root.glob("python/roamlab/**/*.py")]
    names = {source.relative_to(root).as_posix(): source for source in sources}
    del names["python/roamlab/records/frames.py"]
    return {
        name: re.sub(r"\s+(?:///\s+)?", " ", source.read_text(encoding="utf-8"))
        for name, source in names.items()
    }


def test_a_table_and_its_columns_are_described_in_one_place(root: Path) -> None:
    sources = _described(root)
    for table in tables.TABLES.values():
        places = [name for name, text in sources.items() if table.about in text]
        assert len(places) == 1, (table.name, places)
        declared = sources[places[0]].split(table.about, 1)[1]
        for column in table.columns.values():
            assert re.match(rf".*? {re.escape(column.meaning)} {column.name}: ", declared), column
        long = [column.meaning for column in table.columns.values() if len(column.meaning) > 40]
        assert all(name == places[0] for name, text in sources.items() for meaning in long if meaning in text)


def test_whole_numbers_have_a_sign() -> None:
    """A difference of unsigned columns would be 2^64 less a little instead of below 0."""
    results = run(ROOT / "examples/handover.toml")
    ahead = results.deliveries.filter(pl.col("sent_ns") - pl.col("time_ns") < 0)
    assert ahead.height == results.deliveries.height > 0
    for name in results.loaders:
        assert not {pl.UInt32, pl.UInt64} & {*results.table(name).schema.values()}, name
