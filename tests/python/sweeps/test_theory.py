"""`roamlab theory`: closed forms next to runs, with their domains, and what they see of a wrong record."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import roamlab as rl
from conftest import ROOT
from moves import seen
from roamlab.cli import cli
from roamlab.formulas.compare import FORMULAS, recorded
from roamlab.formulas.rates import cubic_window, mathis, pftk
from roamlab.formulas.silences import Ends, Move, silence
from roamlab.records.results import from_frames

if TYPE_CHECKING:
    from pathlib import Path

    from roamlab.formulas.table import Entry

WIRED = """
[run]
duration = "{duration}"
profile = "rfc"
[[links]]
between = ["a", "b"]
rate = "100 Mbit/s"
delay = "10 ms"
[[links]]
between = ["b", "c"]
rate = "{rate}"
delay = "20 ms"
queue = {{ kind = "droptail", limit = "{limit} pkt" }}
loss = {loss}
[[flows]]
name = "f"
path = ["a", "c"]
transport = {{ kind = "tcp", variant = "{variant}", window = "{window} pkt", segment = "1460 B" }}
app = {{ kind = "ftp", start = "0.1 s" }}
"""
DEFAULT = {
    "duration": "20 s",
    "rate": "5 Mbit/s",
    "limit": 40,
    "loss": 0.0,
    "variant": "sack",
    "window": 10000,
}


def wired(**changes: object) -> rl.Results:
    """A run of one flow over two links, with all tables that formulas read."""
    text = WIRED.format(**DEFAULT | changes).replace("loss = 0.0\n", "")
    return rl.run(recorded(rl.Scenario(text, "wired.toml")), seed=1)


def by_name(results: rl.Results) -> dict[str, Entry]:
    """The comparison of each formula, of several subjects the last."""
    return {each.formula: each for each in rl.theory(results)}


def test_exact_formulas_hold_to_the_last_packet() -> None:
    found = by_name(wired())
    exact = ("delay", "rate of the path", "busy time", "conservation", "goodput", "delivery")
    for name in (*exact, "RTO", "work conservation", "Little"):
        assert found[name].applies, name
        assert found[name].residual == 0, name
    assert found["Little"].expected > 20
    assert not any(each.flagged for each in found.values())


def test_a_run_without_the_tables_is_made_again_with_them() -> None:
    text = WIRED.format(**DEFAULT).replace("loss = 0.0\n", "")
    bare = rl.run(rl.Scenario(text, "wired.toml"), seed=1)
    assert bare.table("variables").is_empty()
    assert rl.theory(bare)[-4].data() == rl.theory(wired())[-4].data()
    assert by_name(bare)["link"].applies


@pytest.mark.parametrize(
    ("formula", "changes"),
    [
        ("link", {}),
        ("window over RTT", {"window": 12}),
        ("sawtooth", {"limit": 60, "duration": "60 s"}),
        ("BBR alone", {"variant": "bbr"}),
        ("slow start", {}),
        ("Mathis", {"loss": 0.004, "rate": "50 Mbit/s", "duration": "60 s"}),
        ("PFTK", {"loss": 0.01, "rate": "50 Mbit/s", "duration": "60 s"}),
        ("CUBIC", {"loss": 0.002, "variant": "cubic", "rate": "50 Mbit/s", "limit": 400, "duration": "60 s"}),
    ],
)
def test_a_formula_is_as_accurate_as_it_says_in_its_domain(formula: str, changes: dict[str, object]) -> None:
    found = by_name(wired(**changes))[formula]
    assert found.applies, found.broken
    assert found.residual <= found.accuracy


@pytest.mark.parametrize(
    ("formula", "changes", "broken"),
    [
        ("link", {"window": 12}, "the bottleneck's queue holds packets in"),
        ("window over RTT", {}, "cwnd has reached the receive window in 0%"),
        ("Mathis", {}, "no random loss on the path"),
        ("CUBIC", {}, "its congestion control is reno"),
        ("BBR alone", {}, "its congestion control is reno"),
        ("sawtooth", {}, "fewer than 3 cuts"),
        ("silence of a move", {}, "no end loses its link"),
    ],
)
def test_a_formula_names_the_assumption_that_the_run_breaks(
    formula: str, changes: dict[str, object], broken: str
) -> None:
    found = by_name(wired(**changes))[formula]
    assert not found.applies
    assert broken in found.broken
    assert math.isnan(found.residual)


@pytest.mark.parametrize(
    ("formula", "table", "wrong"),
    [
        ("delay", "deliveries", pl.col("sent_ns") + 10**6),
        ("rate of the path", "deliveries", pl.col("bytes") * 2),
        ("busy time", "links", pl.col("busy_ns") * 2),
        ("conservation", "flows", pl.col("sent_pkts") - 300),
        ("goodput", "flows", pl.col("goodput_bps") * 1.000001),
        ("delivery", "flows", pl.col("delivered_pkts") + 1),
        ("RTO", "variables", pl.col("rto_ns") - 3 * 10**6),
        ("work conservation", "links", pl.col("busy_ns") - 3 * 10**6),
        ("Little", "queue", pl.col("packets") + (pl.col("time_ns") > 10**10)),
    ],
)
def test_an_exact_formula_sees_a_wrong_record(formula: str, table: str, wrong: pl.Expr) -> None:
    results = wired()
    frames = {name: results.table(name) for name in results.loaders}
    frames[table] = frames[table].with_columns(wrong)
    found = by_name(from_frames(results.manifest, frames))[formula]
    assert found.flagged
    assert formula in found.sentence()


def test_the_formulas_for_loss_have_the_values_of_their_papers() -> None:
    # S/R sqrt(3/2)/sqrt(p) with C = 1.22 for an ACK for each packet (Mathis et al. 1997, table 1)
    assert mathis(1460, 0.1, 0.01, 1) == pytest.approx(8 * 1460 / 0.1 * 1.2247 / 0.1, rel=1e-4)
    assert pftk(1460, 0.1, 1e-6, 2, 1.0) == pytest.approx(mathis(1460, 0.1, 1e-6, 2), rel=0.03)
    # table 1 of RFC 9438: 1200 packets at p = 1e-4 ... a window of 187 at R = 0.1 s
    assert cubic_window(0.1, 1e-4) == pytest.approx(187, rel=0.01)


def told(move: Move, ends: Ends) -> str:
    """The mechanism that ends a silence."""
    return silence(move, ends)[1]


def test_the_first_of_the_ways_ends_a_silence() -> None:
    move = Move(0.1, 0.12, 0.02, 0.05, 0.005, 0.001, forwards=False)
    ends = Ends(0.1, 1.0, probes=False, acks_s=(0.03, 0.045), held_ack_s=math.inf)
    assert told(move, ends) == "expiry 1 of the timer"
    assert silence(move, ends)[0] == pytest.approx(0.045 + 1.0 + 0.051)
    later = Move(1.5, 1.52, 0.02, 0.05, 0.005, 0.001, forwards=False)
    assert told(later, ends) == "expiry 2 of the timer"
    assert silence(later, ends)[0] == pytest.approx(0.045 + 3.0 + 0.051)
    waits = Ends(0.1, 1.0, probes=False, acks_s=(0.03, 0.045), held_ack_s=0.003)
    assert told(move, waits) == "an ACK that waited in the host"
    assert silence(move, waits)[0] == pytest.approx(0.1 + 0.05 + 0.051)
    short = Move(0.01, 0.03, 0.02, 0.05, 0.005, 0.001, forwards=False)
    assert silence(short, ends)[1] == "an ACK under way, behind the switch"
    probing = Ends(0.1, 0.4, probes=True, acks_s=(0.045,), held_ack_s=math.inf)
    assert told(move, probing) == "a tail loss probe"
    assert silence(move, probing)[0] == pytest.approx(0.045 + 0.2 + 0.002 + 0.051)
    keeps = Move(0.1, 0.12, 0.02, 0.05, 0.005, 0.001, forwards=True, access_s=0.015)
    assert told(keeps, ends) == "forwarding"
    assert silence(keeps, ends)[0] == pytest.approx(0.1 + 0.015 + 0.005 + 0.001)


def test_silences_and_goodputs_of_random_moves_are_those_of_the_models() -> None:
    runs = list(seen(range(5001, 5013)))
    errors = np.abs([each.error for each in runs])
    assert (errors <= 0.1).sum() >= 11
    assert np.median(errors) <= 0.01
    volumes = np.abs([each.error_of_volume for each in runs if not each.outside])
    assert volumes.size >= 5
    assert (volumes <= 0.1).sum() >= volumes.size - 1
    assert np.median(volumes) <= 0.03


def test_the_command_prints_the_comparison(tmp_path: Path) -> None:
    named = tmp_path / "wired.toml"
    named.write_text(WIRED.format(**DEFAULT).replace("loss = 0.0\n", ""), encoding="utf-8")
    told = CliRunner().invoke(cli, ["theory", str(named), "--all"], catch_exceptions=False)
    assert told.exit_code == 0
    assert "Theory next to the run" in told.output
    assert "Mathis of f does not apply: no random loss on the path" in told.output
    assert "no flag: " in told.output
    data = CliRunner().invoke(cli, ["theory", str(named), "--json"], catch_exceptions=False)
    rows = json.loads(data.stdout)
    assert {row["formula"] for row in rows} <= {formula.name for formula in FORMULAS}
    (link,) = (row for row in rows if row["formula"] == "link")
    assert link["applies"] is True
    assert link["expected"] == pytest.approx(link["measured"], rel=0.01)


def test_the_page_has_every_formula() -> None:
    page = (ROOT / "docs/theory.md").read_text(encoding="utf-8")
    for formula in FORMULAS:
        assert f"| {formula.name} |" in page, formula.name
