"""Traces of ns-2 and Roamlab, in every format: read, compared, and refused with the place of the mistake."""

from __future__ import annotations

import gzip
import random
import re
from typing import TYPE_CHECKING

import click
import polars as pl
import pytest

from conftest import ROOT
from roamlab import cli
from roamlab.base.errors import BadInput
from roamlab.records.storage.store import Store, open_run
from roamlab.running.run import run
from roamlab.scenarios.scenario import Scenario, load
from roamlab.traces import FORMATS, compare_traces, open_trace

if TYPE_CHECKING:
    from pathlib import Path

    from roamlab.traces.event import Event

GOLDEN = ROOT / "tests/golden/ns2"
BESIDE = ROOT / "examples/beside-ns2"
RENO = GOLDEN / "a/a_ns235_Reno_q20.csv.gz"


def _compare(
    ours: Path | str,
    theirs: Path | str,
    *flows: str,
    events: str | None = None,
    tolerance: str = "1 us",
    until: str | None = None,
) -> tuple[compare_traces.Equal | compare_traces.Different, str]:
    """The finding and its report."""
    mine, other = open_trace(ours), open_trace(theirs)
    span = 0, None if until is None else compare_traces.time_ns("--until", until)
    left, right = compare_traces.sides(mine, other, compare_traces.choose(mine, other, events), flows, span)
    found = compare_traces.compare(left, right, compare_traces.time_ns("--tolerance", tolerance))
    return found, compare_traces.report(found, left, right)


@pytest.fixture(scope="module")
def our_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scenario of reno.tcl, run by us."""
    return Store(tmp_path_factory.mktemp("runs")).write(run(load(BESIDE / "reno.toml")))


@pytest.mark.parametrize(
    ("theirs", "flow", "kinds", "least"),
    [
        ("reno.tr.gz", "file=7", {"A", "D", "S", "K"}, 800),
        ("reno.var", "file=0", {"V"}, 180),
    ],
)
def test_our_run_is_that_of_ns2(our_run: Path, theirs: str, flow: str, kinds: set[str], least: int) -> None:
    found, text = _compare(our_run, BESIDE / theirs, flow)
    assert isinstance(found, compare_traces.Equal), text
    assert found.events >= least
    # ns-2 writes whole microseconds, so the difference is its rounding, and there is one.
    assert 400 < found.largest_ns <= 510
    assert {event.kind for event in open_trace(our_run).events()} >= kinds
    assert f"equal: {found.events} events" in text


def test_another_scenario_differs_where_it_does(our_run: Path, tmp_path: Path) -> None:
    base = load(BESIDE / "reno.toml")
    smaller = Store(tmp_path).write(
        run(base.set("links.1.queue", {"kind": "droptail", "limit": "15 pkt", "count_in_service": True}))
    )
    found, text = _compare(smaller, BESIDE / "reno.tr.gz", "file=7")
    assert isinstance(found, compare_traces.Different)
    first = min(event.time_ns for event in open_trace(smaller).events() if event.kind == "D")
    assert found.ours is not None
    assert (found.ours.kind, found.ours.time_ns) == ("D", first)
    row = pl.read_parquet(smaller / "packets.parquet").row(found.ours.line - 1, named=True)
    assert (row["event"], row["time_ns"]) == ("drop", first)
    assert f"packets.parquet, row {found.ours.line}" in text
    assert text.count("\n!") == 1
    # Five rows before the difference and five after it, ours on the left and theirs on the right.
    assert (len(found.rows), found.before) == (11, 5)
    assert all(mine and other for mine, other in found.rows[:5])


def _recorded(tmp_path: Path, variant: str, queue: int, **record: object) -> Path:
    """The scenario of group a of the recordings, run by us."""
    base = load(BESIDE / "single.toml").set("flows.0.transport.variant", variant)
    scenario = base.set("links.1.queue.limit", f"{queue} pkt")
    for field, value in record.items():
        scenario = scenario.set(f"record.{field}", value)
    return Store(tmp_path).write(run(scenario))


def test_a_run_is_that_of_a_recording_packet_by_packet(tmp_path: Path) -> None:
    """With room for 60 nothing is lost."""
    found, text = _compare(
        _recorded(tmp_path, "reno", 60), GOLDEN / "a/a_ns235_Reno_q60.csv.gz", "file=0", until="14.999 s"
    )
    assert isinstance(found, compare_traces.Equal), text
    assert text.startswith("run and golden: B, D, K, Q, S, cwnd, ssthresh\n")
    assert (found.events, found.largest_ns) == (26_239, 400)
    assert "26,239 events" in (ROOT / "docs/compare-trace.md").read_text()


@pytest.mark.parametrize(
    ("variant", "queue", "name"),
    [("reno", 20, "Reno_q20"), ("tahoe", 8, "Tahoe_q8"), ("vegas", 20, "Vegas_q20")],
)
def test_the_first_difference_from_a_recording_is_a_tie(
    tmp_path: Path, variant: str, queue: int, name: str
) -> None:
    """A packet comes in the instant in which another leaves; its queue length is one more than in ns-2."""
    folder = _recorded(tmp_path, variant, queue)
    found, text = _compare(folder, GOLDEN / f"a/a_ns235_{name}.csv.gz", "file=0", until="14.999 s")
    assert isinstance(found, compare_traces.Different)
    assert found.ours is not None
    assert found.theirs is not None
    assert {found.ours.kind, found.theirs.kind} == {"Q"}, text
    assert int(found.ours.value) == int(found.theirs.value) + 1
    samples = open_run(folder).queue("n1->n2").filter(pl.col("time_ns") == found.ours.time_ns)
    assert samples["packets"].to_list() == [int(found.ours.value) + 1, int(found.ours.value)]


def test_what_a_run_did_not_record_it_does_not_offer(tmp_path: Path) -> None:
    folder = _recorded(tmp_path, "reno", 60, packets=False, deliveries=False)
    assert open_trace(folder).reader.offers(folder) == {"D", "cwnd", "ssthresh"}
    with pytest.raises(BadInput, match=r"run with `record.packets = true`"):
        _compare(folder / "packets.parquet", RENO)
    several = _recorded(tmp_path, "reno", 60, tcp=False, queues=["n0->n1", "n1->n2"])
    assert open_trace(several).reader.offers(several) == set("ASKDB")


def test_one_table_of_a_run_can_be_compared(our_run: Path) -> None:
    found, text = _compare(our_run / "tcp.parquet", BESIDE / "reno.var", "file=0")
    assert isinstance(found, compare_traces.Equal)
    assert text.startswith("run and ns2-variables: cwnd, ssthresh\n")
    with pytest.raises(BadInput, match="the table holds no events"):
        _compare(our_run / "queue.parquet", our_run)


def test_flows_of_other_names_are_explained(our_run: Path) -> None:
    found, text = _compare(our_run, BESIDE / "reno.tr.gz")
    assert isinstance(found, compare_traces.Different)
    assert "flows so far in OURS: file; in THEIRS: 7. --flow OURS=THEIRS pairs them" in text


def test_every_recording_is_read_in_order_and_equals_itself() -> None:
    recordings = sorted(GOLDEN.glob("?/*.csv.gz"))
    assert len(recordings) > 150
    for recording in random.Random(1).sample(recordings, 12):
        found, _ = _compare(recording, recording)
        assert isinstance(found, compare_traces.Equal)
        assert (found.largest_ns, found.events > 100) == (0, True)


def _edited(tmp_path: Path, edit: tuple[int, str | None]) -> Path:
    """A recording with a line replaced, or left out."""
    rows = gzip.decompress(RENO.read_bytes()).decode().splitlines()[:2000]
    number, text = edit
    rows[number - 1 : number] = [] if text is None else [text]
    path = tmp_path / "edited.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def _row(kind: str, after: int) -> tuple[int, list[str]]:
    """A row of the recording and its line: the first of this kind after a line."""
    rows = gzip.decompress(RENO.read_bytes()).decode().splitlines()
    number = next(at for at, row in enumerate(rows, 1) if at > after and row.split(",")[1] == kind)
    return number, rows[number - 1].split(",")


@pytest.mark.parametrize("kind", ["S", "K", "Q", "D", "V"])
def test_each_kind_of_difference_is_found_at_its_line(tmp_path: Path, kind: str) -> None:
    number, row = _row(kind, 300)
    assert int(row[0]) < 800_000
    changed = [*row[:3], *((row[3], "99") if kind == "V" else (str(int(row[3]) + 10_000), row[4]))]
    for replacement in (None, ",".join(changed)):
        found, text = _compare(_edited(tmp_path, (number, replacement)), RENO, until="0.9 s")
        assert isinstance(found, compare_traces.Different)
        assert found.theirs is not None
        assert found.theirs.line == number
        assert f"{RENO}:{number}" in text
        assert text.count("\n!") == 1
    same, _ = _compare(_edited(tmp_path, (number, ",".join(row))), RENO, until="0.9 s")
    assert isinstance(same, compare_traces.Equal)


def _csv(tmp_path: Path, name: str, *rows: str) -> Path:
    path = tmp_path / name
    path.write_text("\n".join(["t_us,ev,flow,x,y", *rows]) + "\n")
    return path


def test_tolerance_and_the_largest_difference(tmp_path: Path) -> None:
    ours = _csv(tmp_path, "ours.csv", "10,S,0,1,0", "20,S,0,2,0", "30,K,0,1,40")
    theirs = _csv(tmp_path, "theirs.csv", "10,S,0,1,0", "25,S,0,2,0", "31,K,0,1,40")
    found, text = _compare(ours, theirs)
    assert isinstance(found, compare_traces.Different)
    assert found.what == "S 2 0 is 5.000 us apart, more than 1 us"
    assert "ours.csv:3" in text
    assert "theirs.csv:3" in text
    found, text = _compare(ours, theirs, tolerance="5 us")
    assert isinstance(found, compare_traces.Equal)
    assert (found.events, found.largest_ns) == (3, 5_000)
    assert "5.000 us at 0.000020000 S 0 2 0" in text
    assert isinstance(_compare(ours, theirs, tolerance="4.999 us")[0], compare_traces.Different)
    assert isinstance(_compare(ours, theirs, events="K")[0], compare_traces.Equal)


def test_kinds_may_change_places_within_an_instant_but_one_kind_may_not(tmp_path: Path) -> None:
    ours = _csv(tmp_path, "ours.csv", "10,S,0,1,0", "10,K,0,1,40", "10,S,0,2,0")
    theirs = _csv(tmp_path, "theirs.csv", "10,K,0,1,40", "10,S,0,1,0", "10,S,0,2,0")
    assert isinstance(_compare(ours, theirs)[0], compare_traces.Equal)
    swapped = _csv(tmp_path, "swapped.csv", "10,K,0,1,40", "10,S,0,2,0", "10,S,0,1,0")
    assert isinstance(_compare(ours, swapped)[0], compare_traces.Different)


def test_the_end_of_a_trace_is_a_difference(tmp_path: Path) -> None:
    ours = _csv(tmp_path, "ours.csv", "10,S,0,1,0", "20,S,0,2,0")
    theirs = _csv(tmp_path, "theirs.csv", "10,S,0,1,0")
    found, _ = _compare(ours, theirs)
    assert isinstance(found, compare_traces.Different)
    assert found.what == "S 2 0 is in OURS only; THEIRS has ended"
    found, _ = _compare(theirs, ours)
    assert isinstance(found, compare_traces.Different)
    assert found.what == "S 2 0 is in THEIRS only; OURS has ended"
    assert isinstance(_compare(ours, theirs, until="15 us")[0], compare_traces.Equal)


def test_values_count_at_the_end_of_an_instant_and_where_they_change(tmp_path: Path) -> None:
    ours = _csv(tmp_path, "ours.csv", "0,V,0,cwnd,1", "9,V,0,cwnd,5", "9,V,0,cwnd,2", "12,V,0,cwnd,2")
    theirs = _csv(tmp_path, "theirs.csv", "0,V,0,cwnd,1", "5,V,0,cwnd,1", "9,V,0,cwnd,2.0000001")
    found, _ = _compare(ours, theirs)
    assert isinstance(found, compare_traces.Equal)
    assert found.events == 1


def test_a_large_shift_is_compared_under_a_large_tolerance(tmp_path: Path) -> None:
    ours = _csv(tmp_path, "ours.csv", *(f"{at},S,0,{at},0" for at in range(20_000)))
    theirs = _csv(tmp_path, "theirs.csv", *(f"{at + 9000},S,0,{at},0" for at in range(20_000)))
    found, _ = _compare(ours, theirs, tolerance="1 s")
    assert isinstance(found, compare_traces.Equal)
    assert (found.events, found.largest_ns) == (20_000, 9_000_000)


@pytest.mark.parametrize(
    ("path", "form", "first"),
    [
        (RENO, "golden", "0.100000000 S 0 0 0"),
        (BESIDE / "reno.tr.gz", "ns2", "0.100000000 S 7 0 0"),
        (BESIDE / "reno.var", "ns2-variables", "0.000000000 V 0 cwnd 1"),
        (BESIDE / "reno.agent", "ns2-variables", "0.000000000 V 0 cwnd 1"),
        (BESIDE / "reno.xg", "xgraph", "0.200000000 V 7 cwnd 2"),
    ],
)
def test_formats_are_found(path: Path, form: str, first: str) -> None:
    trace = open_trace(path)
    assert trace.format == form
    events = trace.events()
    event: Event = next(event for event in events if form != "golden" or event.kind == "S")
    parts = (f"{event.time_ns / 1e9:.9f}", event.kind, event.flow, event.what, event.value)
    assert " ".join(part for part in parts if part) == first
    found, _ = _compare(path, path)
    assert isinstance(found, compare_traces.Equal)


def test_the_packet_trace_counts_what_ns2_counted() -> None:
    text = gzip.decompress((BESIDE / "reno.tr.gz").read_bytes()).decode()
    events = list(open_trace(BESIDE / "reno.tr.gz").events())
    count = {kind: sum(event.kind == kind for event in events) for kind in "SKAD"}
    assert count["D"] == len(re.findall(r"^d ", text, re.MULTILINE)) == 13
    assert count["S"] == len(re.findall(r"^\+ \S+ 0 1 tcp", text, re.MULTILINE))
    assert count["K"] == len(re.findall(r"^\+ \S+ 2 1 ack", text, re.MULTILINE))
    # All arrivals but that of the SYN.
    assert count["A"] == len(re.findall(r"^r \S+ 1 2 tcp", text, re.MULTILINE)) - 1
    sent = [event.what for event in events if event.kind == "S"]
    again = sum(event.value == "1" for event in events if event.kind == "S")
    assert again == len(sent) - len(set(sent)) > 10


def test_xgraph_sets_are_merged_by_time(tmp_path: Path) -> None:
    path = tmp_path / "windows.xg"
    path.write_text('TitleText: two\n"1 cwnd\n0.1 1\n0.3 2\n\n"2 cwnd\nmove 0.2 5\n0.4 6\n')
    events = list(open_trace(path).events())
    assert [(event.flow, event.what, event.value) for event in events] == [
        ("1", "cwnd", "1"),
        ("2", "cwnd", "5"),
        ("1", "cwnd", "2"),
        ("2", "cwnd", "6"),
    ]
    unnamed = tmp_path / "cwnd.tr"
    unnamed.write_text("0.1 1\n0.2 2\n")
    assert [event.what for event in open_trace(unnamed).events()] == ["cwnd", "cwnd"]


_LINE = "+ 0.1 0 1 tcp 40 ------- 7 0.0 2.0 0 0"


@pytest.mark.parametrize(
    ("form", "text", "said"),
    [
        ("golden", "t_us,ev,flow,x,y\n1,S,0,1,0\n2,X,0,1,0\n", ":3:3: found 'X'"),
        ("golden", "t_us,ev,flow,x,y\n1.5,S,0,1,0\n", ":2:1: found '1.5'\n  expected: a time in whole"),
        ("golden", "t_us,ev,flow,x,y\n1,V,0,cwnd,nan\n", ":2:12: found 'nan'"),
        ("golden", "t_us,ev,flow,x,y\n1,S,0,1\n", ":2:8: found nothing"),
        ("golden", "t_us,ev,flow,x,y\n5,S,0,1,0\n4,S,0,2,0\n", ":3: time goes back"),
        ("golden", "time,event\n", ":1:1: 'time,event' is not the header"),
        ("ns2", f"{_LINE}\n{_LINE.replace('0.1', 'soon')}\n", ":2:3: found 'soon'\n  expected: a time in s"),
        ("ns2", f"{_LINE}\n+ 0.1 0 1 tcp\n", "found 5 columns\n  expected: 12 columns"),
        ("ns2", f"{_LINE}\n? what\n", ":2:1: found '?'\n  expected: one of + - r d"),
        ("ns2", f"{_LINE}\n{_LINE.replace('2.0', '3.0')}\n", ":2:26: flow 7 is between 0.0 and 3.0 here"),
        ("ns2-variables", "f t0 a_o1 ncwnd_ v1\nf t0 a_o1\n", ":2:1: found 'f t0 a_o1'"),
        ("ns2-variables", "f t0 a_o1 ncwnd_ v1\nf t0 a_o1 ncwnd_ vmany\n", ":2:19: found 'many'"),
        ("xgraph", "0.1 1\n0.2\n", ":2:"),
        ("xgraph", "0.1 1\n0.2 high\n", ":2:5: found '0.2 high'"),
    ],
)
def test_a_bad_line_is_named_by_place(tmp_path: Path, form: str, text: str, said: str) -> None:
    path = tmp_path / "bad.trace"
    path.write_text(text)
    with pytest.raises(BadInput) as error:
        list(open_trace(path, form).events())
    assert said in str(error.value)
    assert "expected: " in str(error.value)


@pytest.mark.parametrize("form", [form for form in FORMATS if form != "run"])
@pytest.mark.parametrize("seed", range(15))
def test_damaged_files_are_refused_and_never_crash(tmp_path: Path, form: str, seed: int) -> None:
    source = {"golden": RENO, "ns2": BESIDE / "reno.tr.gz"}.get(form, BESIDE / "reno.var")
    source = BESIDE / "reno.xg" if form == "xgraph" else source
    content = source.read_bytes()
    plain = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    damaged = bytearray(plain[:5000])
    dice = random.Random(seed)
    for _ in range(5):
        damaged[dice.randrange(len(damaged))] = dice.randrange(256)
    path = tmp_path / "damaged"
    path.write_bytes(damaged)
    try:
        assert all(event.time_ns >= 0 for event in open_trace(path, form).events())
    except BadInput as error:
        assert str(path) in str(error)  # noqa: PT017  (a file that is still whole is read)


def test_what_cannot_be_a_trace_is_refused(tmp_path: Path) -> None:
    for name, content in {"empty": b"", "prose": b"Call me Ishmael.\n", "noise": bytes(range(256))}.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(BadInput, match=name):
            open_trace(tmp_path / name)
    (tmp_path / "cut.csv.gz").write_bytes(RENO.read_bytes()[:3000])
    with pytest.raises(BadInput, match="the gzip file is damaged"):
        list(open_trace(tmp_path / "cut.csv.gz").events())
    with pytest.raises(BadInput, match="no such file or folder"):
        open_trace(tmp_path / "missing")
    with pytest.raises(BadInput, match="it is a folder"):
        open_trace(tmp_path, "ns2")
    with pytest.raises(BadInput, match="it is empty, not text, and no run folder"):
        open_trace(tmp_path)
    with pytest.raises(BadInput, match="not a run folder"):
        list(open_trace(tmp_path / "prose", "run").events())


def test_what_cannot_be_compared_is_refused(our_run: Path) -> None:
    with pytest.raises(BadInput, match="there is no kind of event that both can show"):
        _compare(BESIDE / "reno.tr.gz", BESIDE / "reno.var")
    with pytest.raises(BadInput, match="not both traces can show Q"):
        _compare(our_run, BESIDE / "reno.tr.gz", events="A,Q")
    with pytest.raises(BadInput, match=r"OURS has flows file; THEIRS has flows 7"):
        _compare(our_run, BESIDE / "reno.tr.gz", "nobody")
    with pytest.raises(BadInput, match="a number with a unit"):
        _compare(RENO, RENO, tolerance="1")


def test_a_silent_flow_is_no_loss_of_memory() -> None:
    """Reading side by side: what waits for its partner stays small."""
    mine, other = open_trace(RENO), open_trace(RENO)
    left, right = compare_traces.sides(mine, other, compare_traces.choose(mine, other, None))
    assert isinstance(compare_traces.compare(left, right, 1000), compare_traces.Equal)
    assert (len(left.waiting), len(right.waiting)) == (0, 0)
    assert len(left.recent) <= 64


def test_the_page_shows_what_is_printed(our_run: Path) -> None:
    page = (ROOT / "docs/compare-trace.md").read_text()
    blocks = re.findall(r"^```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    printed = [
        _compare(our_run, BESIDE / "reno.tr.gz", "file=7")[1],
        _compare(our_run, BESIDE / "reno.agent", "file=0", tolerance="10 us")[1],
    ]
    assert len(blocks) == len(printed)
    for block, text in zip(blocks, printed, strict=True):
        text = text.replace(str(our_run), "runs/…").replace(f"{ROOT}/", "")
        assert text.startswith(block.rstrip("\n"))


def test_the_command_offers_every_format() -> None:
    (option,) = (option for option in cli.cli.commands["compare-trace"].params if option.name == "form")
    assert isinstance(option.type, click.Choice)
    assert list(option.type.choices) == list(FORMATS)
    assert all(f"| `{form}` |" in (ROOT / "docs/compare-trace.md").read_text() for form in FORMATS)


def test_scenario_and_script_say_the_same() -> None:
    script = (BESIDE / "reno.tcl").read_text()
    links = Scenario((BESIDE / "reno.toml").read_text()).parameters["links"]
    for link, (rate, delay) in zip(
        links, re.findall(r"duplex-link \S+ \S+ (\S+)Mb (\S+)ms", script), strict=True
    ):
        assert (link["rate"], link["delay"]) in {
            (f"{rate} Mbit/s", f"{delay} ms"),
            (f"{float(rate) * 1000:.0f} kbit/s", f"{delay} ms"),
        }
