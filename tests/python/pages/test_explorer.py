"""The run explorer: what its page holds, digit for digit, and what a browser makes of it."""

from __future__ import annotations

import base64
import io
import json
import random
import re
import subprocess
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from PIL import Image

from browser import NARROW, WIDE, check_access, chromium, shown
from conftest import COMMAND, ROOT
from roamlab import papers
from roamlab.base.errors import BadInput
from roamlab.causes import explain as explaining
from roamlab.causes.removal import recorded
from roamlab.explorer import explorer_page as explorer
from roamlab.explorer import packing
from roamlab.records.constants import EXPLORED
from roamlab.running.run import run
from roamlab.scenarios.scenario import Scenario, load
from roamlab.studies import scenarios

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from roamlab.records.results import Results

GOLDEN = ROOT / "tests/golden/explorer/lanes.png"
WORDS = "document.getElementById('detail').innerText"


def _made(**changes: object) -> Results:
    scenario = load(ROOT / "examples/handover.toml").set_all(
        {"run.duration": "12 s", "record.packets": True} | changes
    )
    return run(scenario, 1)


@pytest.fixture(scope="module")
def stalled() -> Results:
    """A run in which a small buffer lets a flow stall."""
    return _made(**{"mobility.buffer.limit": "8 pkt"})


@pytest.fixture(scope="module")
def file(stalled: Results, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its page."""
    made = tmp_path_factory.mktemp("explorer") / "one.html"
    made.write_text(explorer.html([stalled]), encoding="utf-8")
    return made


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for all tests of this module that a worker runs."""
    with chromium() as started:
        yield started


def _ready(page: Page) -> None:
    page.wait_for_selector("html[data-ready]")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def _specs(text: str) -> tuple[list[dict[str, Any]], bytes]:
    """Content of a page: the runs and the bytes of their columns."""
    found = re.findall(r'<script type="[^"]*" id="(runs|columns)">(.*?)</script>', text, re.DOTALL)
    content = dict(found)
    return json.loads(content["runs"]), zlib.decompress(base64.b64decode(content["columns"]))


def _column(spec: dict[str, Any], rows: int, content: bytes) -> Any:
    kind = {"d4": "<i4", "f4": "<f4", "f8": "<f8"}[spec["kind"]]
    size = np.dtype(kind).itemsize
    planes = np.frombuffer(content, np.uint8, rows * size, spec["at"]).reshape(size, rows)
    values = np.ascontiguousarray(planes.T).view(kind).reshape(rows)
    return values.astype(np.int64).cumsum() if spec["kind"] == "d4" else values


def test_the_page_holds_every_row_of_the_tables(stalled: Results, file: Path) -> None:
    (spec,), content = _specs(file.read_text(encoding="utf-8"))
    for name, columns in EXPLORED.items():
        table = stalled.columns(name)
        packed = spec["tables"][name]
        assert packed["rows"] == table.height
        for column in columns:
            found = _column(packed["columns"][column], table.height, content)
            expected = table[column]
            if expected.dtype.kind == "f":
                expected = expected.astype(np.float32)
            assert np.array_equal(found, expected), f"{name}.{column}"
    assert spec["tables"]["packets"]["rows"] > 5000


def test_times_beyond_32_bits_stay_exact() -> None:
    made = _made(**{"run.duration": "40 s"})
    text = explorer.html([made])
    assert len(text.encode()) <= 3_000_000
    (spec,), content = _specs(text)
    packed = spec["tables"]["signalling"]
    found = _column(packed["columns"]["arrived_ns"], packed["rows"], content)
    assert found.max() > 2**35
    assert np.array_equal(found, made.columns("signalling")["arrived_ns"])


def test_a_part_of_a_run_holds_the_rows_of_its_span(
    stalled: Results, tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = explorer.html([stalled], 9.9, 10.3)
    (spec,), content = _specs(text)
    for name in ("packets", "deliveries", "drops", "tcp"):
        packed, times = spec["tables"][name], stalled.columns(name)["time_ns"].astype(np.int64)
        expected = times[(times >= 9_900_000_000) & (times <= 10_300_000_000)]
        assert np.array_equal(_column(packed["columns"]["time_ns"], packed["rows"], content), expected)
        assert expected.size > 0
        assert expected.size < times.size or name == "drops"
    (tmp_path / "part.html").write_text(text, encoding="utf-8")
    with shown(browser, tmp_path / "part.html") as page:
        _ready(page)
        for key in ("-", "ArrowLeft", "0"):
            page.keyboard.press(key)
            assert page.evaluate("[explorer.view.begin, explorer.view.end]") == [9.9e9, 10.3e9]
    for begin, end in ((-1.0, 5.0), (5.0, 5.0), (20.0, 30.0), (float("nan"), 5.0)):
        with pytest.raises(BadInput, match="this is no part of the run"):
            explorer.html([stalled], begin, end)
    monkeypatch.setattr(packing, "MOST_ROWS", 1000)
    with pytest.raises(BadInput, match="more than a browser can hold"):
        explorer.html([stalled])
    assert len(explorer.html([stalled], 9.99, 10.0)) < len(text)


def test_a_name_cannot_end_the_script(tmp_path: Path, browser: Browser) -> None:
    tables = load(ROOT / "examples/handover.toml").set_all({"run.duration": "2 s"}).to_dict()
    name = "</script><script>document.title='broken'</script>"
    results, _ = explaining.with_record(run(Scenario.from_dict(tables, f"{name}.toml"), 1))
    made = tmp_path / "page.html"
    made.write_text(explorer.html([results]), encoding="utf-8")
    with shown(browser, made) as page:
        _ready(page)
        assert page.title().endswith("explorer")


@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["desktop", "telephone"])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_stall_is_told_and_the_page_can_be_read(
    browser: Browser, stalled: Results, file: Path, size: tuple[int, int], *, dark: bool
) -> None:
    (told,) = explaining.explain(stalled)
    with shown(browser, file, size, dark=dark, reduced_motion="reduce") as page:
        _ready(page)
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == (
            "rgb(20, 23, 26)" if dark else "rgb(255, 255, 255)"
        )
        page.click("#stops button.stall")
        for sentence in told.sentences:
            assert sentence in page.evaluate(WORDS)
        begin, end = page.evaluate("[explorer.view.begin, explorer.view.end]")
        assert begin < told.stall.start_ns < told.stall.end_ns < end
        assert end - begin < 3e9
        assert page.evaluate("document.getAnimations().length") == 0
        check_access(page)


def test_the_wheel_zooms_at_the_pointer_and_a_drag_moves(browser: Browser, file: Path) -> None:
    with shown(browser, file) as page:
        _ready(page)
        box = page.locator("canvas").nth(2).bounding_box()
        assert box is not None
        place = box["x"] + 0.75 * box["width"]
        time = f"explorer.columns[0].x.time({place} - document.querySelector('.stack').getBoundingClientRect().left)"
        page.mouse.move(place, box["y"] + 50)
        before = page.evaluate(time)
        for _ in range(4):
            page.mouse.wheel(0, -200)
        _ready(page)
        begin, end = page.evaluate("[explorer.view.begin, explorer.view.end]")
        assert end - begin < 12e9 / 4
        assert abs(page.evaluate(time) - before) < 0.01 * (end - begin)
        page.mouse.down()
        page.mouse.move(place - 100, box["y"] + 50, steps=5)
        page.mouse.up()
        _ready(page)
        later = page.evaluate("explorer.view.begin")
        assert later - begin == pytest.approx(100 / (box["width"] - 60) * (end - begin), rel=0.02)
        assert page.evaluate("explorer.view.end - explorer.view.begin") == pytest.approx(end - begin)


def test_the_keys_do_what_the_page_says(browser: Browser, file: Path) -> None:
    with shown(browser, file) as page:
        _ready(page)
        span = "explorer.view.end - explorer.view.begin"
        page.keyboard.press("+")
        assert page.evaluate(span) == 6e9
        page.keyboard.press("-")
        assert page.evaluate(span) == 12e9
        page.keyboard.press("n")
        assert "Stall 1 of moving" in page.evaluate(WORDS)
        page.keyboard.press("n")
        assert "mh, visit 1: bs2" in page.evaluate(WORDS)
        page.keyboard.press("p")
        assert "Stall 1 of moving" in page.evaluate(WORDS)
        begin = page.evaluate("explorer.view.begin")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("explorer.view.begin") > begin
        page.keyboard.press("Escape")
        assert page.is_hidden("#detail")
        page.keyboard.press(".")
        _ready(page)
        assert "cwnd" in page.locator("output").all_inner_texts()[3]
        page.keyboard.press("0")
        assert page.evaluate(span) == 12e9
        focused = set()
        for _ in range(12):
            page.keyboard.press("Tab")
            focused.add(page.evaluate("document.activeElement.textContent"))
        assert {"Zoom in", "Next event", "All"} <= focused


def test_a_click_on_a_packet_shows_its_way(browser: Browser, stalled: Results, file: Path) -> None:
    """A packet that a buffer forwarded, and one that it lost."""
    releases, drops = stalled.columns("releases"), stalled.columns("drops")
    lost = int(drops["seq"][drops.where("reason", "buffer-overflow")][3])
    for number, expected in (
        (
            int(releases["seq"][2]),
            ["sent by ch", "leaves the buffer of bs1 and is forwarded to fa1", "arrives,"],
        ),
        (lost, ["sent by ch", "LOST at bs1: buffer-overflow", "sent also as packet"]),
    ):
        with shown(browser, file) as page:
            _ready(page)
            place = page.evaluate(
                """(number) => {
                  const lane = explorer.columns[0].lanes[1];
                  const kinds = lane.marks.filter(([, colour]) => colour === "forwarded" || colour === "lost");
                  for (const [, , series] of kinds) {
                    const at = series.values.indexOf(number);
                    if (at < 0) continue;
                    explorer.show(series.times[at] - 2e6, series.times[at] + 2e6);
                    explorer.draw();
                    const box = lane.canvas.getBoundingClientRect();
                    const x = explorer.columns[0].x.pixel(series.times[at]);
                    return [box.left + x, box.top + lane.y.pixel(number)];
                  }
                }""",
                number,
            )
            page.mouse.click(*place)
            words = page.evaluate(WORDS)
            assert f"moving, segment {number}: packet" in words
            for part in expected:
                assert part in words, words


def test_the_window_is_what_the_sender_may_use(browser: Browser, stalled: Results, file: Path) -> None:
    """Cwnd grows beyond the receiver's 64 segments; the threshold that a sender begins with is none."""
    assert stalled.columns("tcp")["cwnd"].max() > 64
    lane = "explorer.columns[0].lanes[2]"
    with shown(browser, file) as page:
        _ready(page)
        assert page.evaluate(f"{lane}.lines[0][3].extent(0, {lane}.lines[0][3].length)[1]") == 64
        assert "window that the sender may use" in page.evaluate(f"{lane}.name")
    free = _made(**{"flows.moving.transport.variant": "newreno", "run.profile": "rfc", "run.duration": "3 s"})
    made = file.parent / "free.html"
    made.write_text(explorer.html([free]), encoding="utf-8")
    with shown(browser, made) as page:
        _ready(page)
        assert page.evaluate(f"{lane}.at(2e9)").endswith("ssthresh none yet")
        assert page.evaluate(f"{lane}.range(explorer.columns[0].x)[1]") <= 128


@pytest.mark.parametrize(
    ("example", "changes", "expected"),
    [
        ("handover", {}, [("bs1", 0.0, 10.0), ("bs2", 10.0, 12.0)]),
        (
            "handover",
            {"radio": {"kind": "soft", "overlap": "200 ms"}},
            [("bs1", 0.0, 10.2), ("bs2", 10.0, 12.0)],
        ),
        ("roaming", {}, [("ap1", 0.069, 5.334), ("ap2", 5.4, 12.0)]),
    ],
    ids=["hard", "soft", "802.11"],
)
def test_a_host_is_in_a_cell_until_its_link_there_goes_down(
    example: str, changes: dict[str, object], expected: list[tuple[str, float, float]]
) -> None:
    """It may be on its next visit by then."""
    results = run(load(ROOT / f"examples/{example}.toml").set_all({"run.duration": "12 s"} | changes), 1)
    visits = explorer._hosts(results)[0]["visits"]
    in_s = [(each["cell"], *(round(each[end] / 1e9, 3) for end in ("from_ns", "to_ns"))) for each in visits]
    assert in_s == expected


@pytest.mark.parametrize("name", papers.names())
def test_the_run_of_a_paper_opens_where_a_host_moves(name: str) -> None:
    """A run in which none does would open at its beginning."""
    assert explorer.first_move(run(papers.paper(name).example(), 1)).startswith("#t=")


def test_a_copy_that_was_discarded_is_no_loss(browser: Browser, tmp_path: Path) -> None:
    """The layer 2 of X2 discards what the host has got already, which is drawn apart from losses."""
    (scheme,) = (each for each in scenarios.schemes() if each.name == "X2, standard path switch")
    results = run(recorded(scenarios.scenario(scheme, "download")), 1)
    drops = results.columns("drops")
    spare = drops.where("flow", "download") & drops.where("reason", "duplicate")
    made = tmp_path / "copies.html"
    made.write_text(explorer.html([results]), encoding="utf-8")
    with shown(browser, made) as page:
        _ready(page)
        counts = page.evaluate(
            """Object.fromEntries(explorer.columns[0].lanes
               .find((lane) => lane.name.endsWith("time-sequence diagram")).marks
               .filter(([, colour]) => colour === "lost" || colour === "quiet")
               .map(([shape, , series]) => [shape, series.length]))"""
        )
    lost = drops.where("flow", "download") & ~drops.where("reason", "duplicate")
    assert counts == {"cross": int(lost.sum()), "bar": int(spare.sum())}
    assert counts["bar"] > 0


def test_a_click_on_a_message_tells_of_it(browser: Browser, stalled: Results, file: Path) -> None:
    messages = stalled.columns("signalling")
    sent = int(messages["sent_ns"][messages.where("message", "registration-request")][-1])
    with shown(browser, file) as page:
        _ready(page)
        place = page.evaluate(
            """(sent) => {
              const lane = explorer.columns[0].lanes.at(-1);
              explorer.show(sent - 5e6, sent + 5e7);
              explorer.draw();
              const message = lane.messages.find((each) => each.begin === sent);
              const x = explorer.columns[0].x;
              const box = lane.canvas.getBoundingClientRect();
              const middle = (x.pixel(message.begin) + x.pixel(message.end)) / 2;
              scrollTo(0, 1e6);
              const down = (lane.line(message.source) + lane.line(message.destination)) / 2;
              return [box.left + middle, lane.canvas.getBoundingClientRect().top + down];
            }""",
            sent,
        )
        page.mouse.click(*place)
        words = page.evaluate(WORDS)
        assert "registration-request of mh" in words
        assert "arrives" in words


def test_two_runs_stand_side_by_side_over_one_time(
    browser: Browser, stalled: Results, tmp_path: Path
) -> None:
    made = tmp_path / "two.html"
    made.write_text(explorer.html([_made(), stalled]), encoding="utf-8")
    for size, beside in ((WIDE, True), (NARROW, False)):
        with shown(browser, made, size) as page:
            _ready(page)
            check_access(page)
            page.click("#stops button.stall")
            scales = page.evaluate("explorer.columns.map((column) => [column.x.begin, column.x.end])")
            assert scales[0] == scales[1]
            if beside:
                axis = "explorer.columns.map((column) => [column.lanes[2].y.least, column.lanes[2].y.most])"
                windows = page.evaluate(axis)
                assert windows[0] == windows[1], "the windows of both runs have one axis"
            tops = page.evaluate(
                "explorer.columns.map((column) => column.element.getBoundingClientRect().top)"
            )
            assert (tops[0] == tops[1]) == beside


def test_ranges_of_a_stretch_are_those_of_its_points(browser: Browser, file: Path) -> None:
    """The pyramid against a plain search."""
    dice = random.Random(7)
    values = [dice.uniform(-100, 100) for _ in range(5000)]
    stretches = [sorted(dice.sample(range(5001), 2)) for _ in range(400)] + [[0, 5000], [17, 18]]
    with shown(browser, file) as page:
        _ready(page)
        found = page.evaluate(
            """([values, stretches]) => {
              const series = new Series(values, values, values.map((_, row) => row));
              return stretches.map(([begin, end]) => series.extent(begin, end));
            }""",
            [values, stretches],
        )
    assert found == [[min(values[begin:end]), max(values[begin:end])] for begin, end in stretches]


def test_the_lanes_look_as_they_did(browser: Browser, file: Path) -> None:
    """The drawing without its words, which depend on the fonts of a machine, made small; a part of it may differ."""
    with shown(browser, file) as page:
        _ready(page)
        page.evaluate("CanvasRenderingContext2D.prototype.fillText = () => {}")
        page.add_style_tag(content=".bar, .axis { position: static }")
        page.click("#stops button.stall")
        _ready(page)
        page.keyboard.press("Escape")
        shots = [page.locator(".lane canvas").nth(number).screenshot() for number in range(4)]
    images = [Image.open(io.BytesIO(shot)).convert("RGB") for shot in shots]
    whole = Image.new("RGB", (images[0].width, sum(each.height for each in images)))
    down = 0
    for each in images:
        whole.paste(each, (0, down))
        down += each.height
    small = np.asarray(whole.resize((320, 160), Image.Resampling.BOX), dtype=float)
    if not GOLDEN.exists():
        GOLDEN.parent.mkdir(exist_ok=True)
        Image.fromarray(small.astype(np.uint8)).save(GOLDEN)
        pytest.fail("the golden picture was missing and has been written: look at it")
    golden = np.asarray(Image.open(GOLDEN), dtype=float)
    far = np.abs(small - golden).max(axis=2) > 40
    assert far.mean() < 0.003, f"{far.mean():.1%} of the picture differ"
    assert np.abs(small - 255).max(axis=2).mean() > 5, "something is drawn"


def test_the_command_names_what_is_wrong(tmp_path: Path) -> None:
    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMAND, "explore", *words], cwd=tmp_path, capture_output=True, text=True, check=False
        )

    done = call("one", "two", "three")
    assert done.returncode == 2
    assert "these are 3 runs" in done.stderr
    (tmp_path / "empty").mkdir()
    done = call("empty")
    assert done.returncode == 2
    assert "empty" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_what_the_sender_of_quic_acknowledges_is_no_acknowledgement_of_its_data(
    browser: Browser, tmp_path: Path
) -> None:
    """It answers the challenges and probes of the other end, with numbers of a count that begins at 0."""
    results = run(recorded(load(ROOT / "examples/quic.toml").set("run.duration", "7 s")), 1)
    acks = results.packets.filter(
        pl.col("kind").cast(pl.String) == "ack", pl.col("event").cast(pl.String) == "send"
    )
    sent = dict(acks.group_by(pl.col("place").cast(pl.String)).len().rows())
    assert sent["server"] > 0
    made = tmp_path / "quic.html"
    made.write_text(explorer.html([results]), encoding="utf-8")
    with shown(browser, made) as page:
        _ready(page)
        drawn = page.evaluate(
            "explorer.columns[0].lanes[1].marks.filter(([it]) => it === 'dash').map(([, , series]) => series.length)"
        )
    assert drawn == [sent["phone"]]
