"""The playground in a browser: its content is that of the engine, a link runs no script, and nothing hangs."""

from __future__ import annotations

import random
import re
import subprocess
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from browser import NARROW, WIDE, check_access, chromium, shown
from conftest import COMMAND, ROOT, of_today
from playground import HANDOVER, PAGE, SHORT, link, need_engine, need_page, settled, until
from playground_links import Visitors
from roamlab.causes import explain as explaining
from roamlab.causes.removal import recorded
from roamlab.gallery.answers import answer
from roamlab.gallery.questions import questions
from roamlab.running.run import run
from roamlab.scenarios.scenario import Scenario, load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One for all tests of this module that a worker runs."""
    need_engine()
    need_page()
    with chromium() as started:
        yield started


@contextmanager
def _opened(browser: Browser, text: str, *size: Any, **more: Any) -> Iterator[Page]:
    """The page with a scenario of its link."""
    with shown(browser, PAGE, *size, **more) as page:
        page.evaluate(
            "link => { location.hash = link; }", link({"text": text, "name": "own.toml", "seed": 1})
        )
        until(page, "window.playground?.explorer?.runs[0].title.startsWith('own.toml')", timeout=60_000)
        settled(page)
        yield page


def _status(page: Page) -> str:
    return page.inner_text("#status")


@pytest.mark.parametrize(("size", "dark"), [(WIDE, False), (WIDE, True), (NARROW, True), (NARROW, False)])
def test_the_page_can_be_read_and_says_who_stalled(
    browser: Browser, size: tuple[int, int], *, dark: bool
) -> None:
    scenario = load(ROOT / "examples/busy-cell.toml")
    results = run(recorded(scenario), 1)
    (told, *_) = explaining.explain(results)
    with shown(browser, PAGE, size, dark=dark, reduced_motion="reduce") as page:
        settled(page)
        said = page.inner_text("#headline")
        assert f"{told.stall.flow} received nothing new for {told.stall.length_ns / 1e9:.3g} s" in said
        assert f"suspected first: {told.suspects[0].kind}" in said
        page.click("#stops button.stall")
        for sentence in told.sentences:
            assert sentence in page.inner_text("#detail")
        assert page.evaluate("playground.film.playing") is False
        assert page.evaluate("document.getAnimations().length") == 0
        check_access(page)


def test_a_slider_changes_one_field_of_the_text_and_the_picture(browser: Browser) -> None:
    with _opened(browser, SHORT) as page:
        before = page.evaluate("playground.editor.text")
        assert before == SHORT
        slider = page.get_by_label("Move: buffer")
        slider.focus()
        for _ in range(3):
            page.keyboard.press("ArrowLeft")
        limit = slider.get_attribute("aria-valuetext")
        until(page, f"playground.echo.mobility.buffer.limit === '{limit}'", timeout=60_000)
        assert page.evaluate("playground.editor.text") == SHORT.replace(
            'limit = "64 pkt"', f'limit = "{limit}"'
        )
        assert page.evaluate("explorer.columns[0].lanes.some((lane) => lane.shadow)")
        page.get_by_label("Move: gap").press("End")
        until(page, "playground.echo.radio.gap === '2 s'", timeout=60_000)
        assert page.evaluate("playground.editor.text").endswith('[radio]\nkind = "hard"\ngap = "2 s"\n')
        until(page, "document.getElementById('headline').textContent.includes('received nothing new')")


@pytest.mark.parametrize(
    ("example", "of_move", "absent"),
    [
        ("lte.toml", ["detach time", "buffer", "path switch", "forwarding"], "Move: gap"),
        ("roaming.toml", [], "ap1: rate"),
        ("handover.toml", ["gap", "buffer"], "Move: detach time"),
        ("asymmetric.toml", [], "Move: gap"),
    ],
)
def test_every_slider_moves_without_an_error(
    browser: Browser, example: str, of_move: list[str], absent: str
) -> None:
    """Of LTE the gap is the detach time; 802.11b sends at four rates only."""
    with shown(browser, PAGE) as page:
        settled(page)
        page.select_option("#examples", label=example)
        until(
            page,
            f"playground.name === '{example}' && playground.explorer.runs[0].title.startsWith('{example}')",
        )
        until(page, "document.documentElement.dataset.ready === String(playground.run)")
        for name in of_move:
            assert page.get_by_label(f"Move: {name}", exact=True).count() == 1
        assert page.get_by_label(absent, exact=True).count() == 0
        sliders = page.locator("#controls input[type=range]")
        for place in range(sliders.count()):
            slider = sliders.nth(place)
            value = slider.get_attribute("aria-valuetext")
            slider.press("ArrowRight")
            if slider.get_attribute("aria-valuetext") == value:
                slider.press("ArrowLeft")
            now = slider.get_attribute("aria-valuetext")
            assert now != value
            until(page, 'value => playground.editor.text.includes(`"${value}"`)', arg=now)
            until(page, "!playground.runner.current && !playground.runner.waiting.length")
            assert page.get_attribute("#status", "data-bad") == "no", page.inner_text("#status")


def test_numbers_show_progress_where_the_sentence_stays(browser: Browser) -> None:
    """Six steps of a slider: goodput and losses of each run, and the change since the slider was taken."""
    scenario = load(ROOT / "examples/busy-cell.toml")
    with shown(browser, PAGE) as page:
        settled(page)
        page.get_by_label("Move: buffer").focus()
        seen = set()
        for _ in range(6):
            before = page.inner_text("#figures")
            page.keyboard.press("ArrowRight")
            until(page, "before => document.getElementById('figures').innerText !== before", arg=before)
            seen.add(page.inner_text("#figures").splitlines()[0])
        assert len(seen) == 6
        limit = page.get_by_label("Move: buffer").get_attribute("aria-valuetext")
        until(page, f"playground.echo.mobility.buffer.limit === '{limit}' && !playground.runner.current")
        results = run(scenario.set("mobility.buffer.limit", limit), 1)
        goodput = results.flows.filter(results.flows["flow"].cast(str) == "download")["goodput_bps"].item()
        assert page.inner_text("#figures").startswith(f"download: goodput {goodput / 1e6:.3f} Mbit/s")
        assert re.search(r"\([+\u2212][\d.]+\)", page.inner_text("#figures"))


def test_a_run_that_is_never_shown_hands_its_comparison_on(browser: Browser) -> None:
    """The first run of a step waits behind another question and is replaced by the second, which keeps the shadow."""
    with shown(browser, PAGE) as page:
        settled(page)
        before = page.inner_text("#figures")
        assert "(" not in before
        page.evaluate("""() => {
            const { editor, runner } = playground;
            editor.set(editor.text.replace('limit = "4 pkt"', 'limit = "8 pkt"'));
            runner.ask({ ask: "fits", text: editor.text, files: [], choices: [] });
            playground.make();
            playground.make({ keep: true });
        }""")
        until(page, "before => document.getElementById('figures').innerText !== before", arg=before)
        assert re.search(r"\([+\u2212][\d.]+\)", page.inner_text("#figures"))


def test_a_control_that_moves_while_the_engine_answers_stays_where_it_is(browser: Browser) -> None:
    """The controls of the run before come when a slider has moved and its value is not yet in the text."""
    with shown(browser, PAGE) as page:
        settled(page)
        kept = page.evaluate("""async () => {
            const slider = document.querySelector('[aria-label="Move: buffer"]');
            const offered = playground.offerControls(playground.run, playground.touched);
            slider.value = String(Number(slider.value) + 1);
            slider.dispatchEvent(new Event('input'));
            const moved = slider.getAttribute('aria-valuetext');
            await offered;
            return [moved, slider.getAttribute('aria-valuetext')];
        }""")
        assert kept[0] == kept[1] != "4 pkt"


def test_remedies_are_tried_and_used(browser: Browser) -> None:
    """The page finds what the command line does: a larger buffer; its text then has it, and the stall is gone."""
    (told,) = explaining.explain(
        run(recorded(load(ROOT / "examples/busy-cell.toml")), 1), "download", 1, check=True
    )
    assert told.check is not None
    assert told.check.remedy is not None
    field, value = told.check.remedy.trial.what.partition(" instead")[0].split(" ", 1)
    with shown(browser, PAGE) as page:
        settled(page)
        page.click("#try")
        page.wait_for_selector("#tried li")
        first = page.locator("#tried li").first
        assert first.inner_text().startswith(f"Remedy: {field} {value}: ")
        assert "kbit/s higher" in first.inner_text()
        first.get_by_role("button").click()
        until(page, f"playground.echo.mobility.buffer.limit === '{value}'")
        assert "never stalled" in page.inner_text("#headline") or "none of the" in page.inner_text(
            "#headline"
        )
        page.click("#try")
        until(page, "document.getElementById('tried').innerText.includes('nothing to remedy')")
        page.select_option("#examples", label="lte.toml")
        until(
            page, "playground.name === 'lte.toml' && playground.explorer.runs[0].title.startsWith('lte.toml')"
        )
        page.click("#try")
        page.wait_for_selector("#tried li")
        assert "a queue without limit at r->enb2: " in page.inner_text("#tried")


def test_the_next_seed_is_a_band(browser: Browser) -> None:
    with shown(browser, PAGE) as page:
        settled(page)
        assert not page.evaluate("explorer.columns[0].lanes.some((lane) => lane.twin)")
        page.check("#band")
        until(page, "explorer.columns[0].lanes.some((lane) => lane.twin)")
        assert "seed 2: " in page.inner_text("#figures")
        assert page.is_visible("#banded")
        lane = "explorer.columns[0].lanes.find((each) => each.name === 'queue bs2/air')"
        page.evaluate(f"{lane}.element.scrollIntoView()")
        differs = f"""(() => {{ const [one, other] = [{lane}, {lane}.twin].map((each) => each.lines[0][3]);
          return one.values.some((value, at) => other.at(one.times[at]) !== value); }})()"""
        assert page.evaluate(differs), "another seed begins the flows at other times"
        page.uncheck("#band")
        until(page, "!explorer.columns[0].lanes.some((lane) => lane.twin)")


def test_every_choice_leads_to_a_scenario_or_says_what_to_write(browser: Browser) -> None:
    with _opened(browser, SHORT) as page:
        for label in ("Move: protocol", "bs1: queue", "moving: TCP"):
            choice = page.get_by_label(label, exact=True)
            for word in choice.evaluate("each => [...each.options].map((option) => option.value)"):
                choice.select_option(word)
                until(
                    page,
                    "word => playground.editor.text.includes(JSON.stringify(word)) && !playground.runner.current",
                    arg=word,
                    timeout=60_000,
                )
                assert f'"{word}"' in page.evaluate("playground.editor.text")
            choice.select_option(choice.evaluate("each => each.options[0].value"))


def test_an_error_is_shown_at_its_line_and_goes(browser: Browser) -> None:
    with _opened(browser, SHORT) as page:
        wrong = SHORT.replace('rate = "2 Mbit/s"', 'rate = "2 Mbit"', 1)
        line = wrong[: wrong.index('"2 Mbit"')].count("\n") + 1
        page.evaluate("text => { playground.editor.set(text); playground.make(); }", wrong)
        page.wait_for_selector(".cm-lint-marker-error", state="attached")
        assert _status(page).startswith(f"Line {line}, cells.bs1.rate: ")
        page.evaluate("text => { playground.editor.set(text); playground.make(); }", SHORT)
        page.wait_for_selector(".cm-lint-marker-error", state="detached")


def test_the_editor_offers_what_may_be_written(browser: Browser) -> None:
    with _opened(browser, SHORT) as page:
        offered = """text => { const at = contextOf(text); return [...(at.key === null
          ? playground.schema.keys(at.path, at.kind) : playground.schema.words([...at.path, at.key])).keys()]; }"""
        assert {"rate", "delay", "queue", "router"} <= set(page.evaluate(offered, "[cells.bs1]\nra"))
        assert page.evaluate(offered, '[[flows]]\ntransport = { kind = "tcp", variant = "')[:3] == [
            "tahoe",
            "reno",
            "newreno",
        ]
        assert {"threshold", "limit"} <= set(
            page.evaluate(offered, '[cells.a]\nqueue = { kind = "mblue", th')
        )
        assert "threshold" not in page.evaluate(offered, '[cells.a]\nqueue = { kind = "droptail", th')
        assert {"mobile-ip", "hawaii"} <= set(page.evaluate(offered, '[mobility]\nkind = "'))
        page.focus(".cm-content")
        page.keyboard.press("Control+End")
        page.keyboard.type('\n[radio]\nkind = "h')
        page.keyboard.press("Control+Space")
        page.wait_for_selector(".cm-tooltip-autocomplete")
        assert "hard" in page.inner_text(".cm-tooltip-autocomplete")


def test_the_film_shows_what_the_tables_say(browser: Browser) -> None:
    """Packets in queues at an instant are as many as the queue's samples show; a loss is a cross at its time."""
    text = SHORT.replace('limit = "64 pkt"', 'limit = "8 pkt"')
    results = run(recorded(Scenario(text)), 1)
    drops = results.columns("drops")["time_ns"]
    with _opened(browser, text) as page:
        film = "playground.film.film"
        lost = page.evaluate(f"{film}.hops.fate.filter((fate) => fate === FATE.lost).length")
        assert lost == drops.size > 10
        queue = results.columns("queue")
        rows = queue.where("queue", "bs1/air")
        times, waiting = queue["time_ns"][rows], queue["packets"][rows]
        for at in (3.0, 5.0, 8.0, 9.5):
            place = int((times <= at * 1e9).sum()) - 1
            count = page.evaluate(
                """time => { const { hops, nodes } = playground.film.film; let count = 0;
                const [from, to] = ["bs1", "mh"].map((name) => nodes.findIndex((node) => node.name === name));
                for (let row = 0; row < hops.count; row++) if (hops.from[row] === from && hops.to[row] === to
                  && hops.begin[row] <= time && time < hops.go[row]) count++;
                return count; }""",
                at * 1e9,
            )
            assert abs(count - int(waiting[place])) <= 1
        page.evaluate(f"playground.explorer.show({int(drops[0]) - 10**9}, {int(drops[0]) + 10**9})")
        page.evaluate(f"playground.film.show({int(drops[0]) + 1000})")
        assert page.evaluate("playground.film.seen.lost") >= 1
        before = page.evaluate("playground.film.time")
        page.click("[data-film=step]")
        assert page.evaluate("playground.film.time") > before
        page.click("[data-film=play]")
        until(page, f"playground.film.time > {before} + 2e7")
        page.click("[data-film=play]")
        assert page.evaluate("playground.film.playing") is False


def test_the_sentence_stays_in_the_window_of_a_telephone(browser: Browser) -> None:
    """Who moves a slider sees there what it changed, and does not have to scroll back."""
    with shown(browser, PAGE, NARROW) as page:
        settled(page)
        page.get_by_label("bs2: queue limit").scroll_into_view_if_needed()
        assert page.evaluate("scrollY") > 0
        assert page.evaluate("document.getElementById('headline').getBoundingClientRect().top") >= 0
        page.get_by_label("bs2: queue limit").focus()
        place = "document.activeElement.getBoundingClientRect().top"
        assert page.evaluate(place) >= page.evaluate(
            "document.getElementById('headline').getBoundingClientRect().bottom"
        )


def test_the_film_has_hosts_that_only_receive(browser: Browser) -> None:
    text = (ROOT / "examples/roaming.toml").read_text(encoding="utf-8")
    with _opened(browser, text) as page:
        nodes = page.evaluate("playground.film.film.nodes.map((node) => node.name)")
        assert {"ch", "gw", "ap1", "ap2", "walker", "desk"} <= set(nodes)
        assert page.inner_text("[data-film=left]") == ""
        page.evaluate("playground.film.show(4e9)")
        assert page.evaluate("playground.film.inside.size") == 2


def test_the_film_of_many_nodes_says_which_it_shows_and_names_near_cells_beside_them(
    browser: Browser,
) -> None:
    text = (ROOT / "examples/access-network.toml").read_text(encoding="utf-8")
    with _opened(browser, text.replace('"10 s"', '"2 s"')) as page:
        assert page.inner_text("[data-film=left]") == "the 40 nodes that most packets pass"
        assert page.evaluate("playground.film.crowded") is True


@pytest.mark.parametrize(("more", "apart"), [(1, 34), (12, 10)])
def test_hosts_of_one_cell_do_not_cover_each_other(browser: Browser, more: int, apart: int) -> None:
    text = (ROOT / "examples/busy-cell.toml").read_text(encoding="utf-8")
    text = text.replace('name = "neighbour"', f'name = "neighbour"\ncount = {more + 1}', 1)
    flow = f'count = {more + 1}\npath = ["server", "neighbour-*"]'
    text = text.replace('path = ["server", "neighbour"]', flow, 1)
    with _opened(browser, text.replace('"20 s"', '"4 s"')) as page:
        down = sorted(
            page.evaluate(
                "playground.film.places().filter((_, at) => playground.film.film.nodes[at].kind === 'host')"
                ".map(([, down]) => down)"
            )
        )
        assert len(down) == more + 2
        assert min(after - before for before, after in pairwise(down)) >= apart
        assert down[-1] - down[0] <= page.evaluate("playground.film.canvas.clientHeight") - 50


def test_a_link_holds_the_whole_scenario(browser: Browser) -> None:
    with _opened(browser, SHORT.replace('"8 pkt"', '"7 pkt"')) as page:
        until(page, "location.hash.includes('&t=')")
        link = page.evaluate("location.href")
        headline = page.inner_text("#headline")
        text = page.evaluate("playground.editor.text")
    other = browser.new_page()
    other.goto(link)
    settled(other)
    assert other.evaluate("playground.editor.text") == text
    assert other.inner_text("#headline") == headline
    other.close()


@pytest.mark.parametrize("fragment", ["#s=AAAA", "#s=%", "#q=nosuch", "#q=%3Cb%3E"])
def test_a_link_that_cannot_be_read_shows_no_example_as_its_result(browser: Browser, fragment: str) -> None:
    page = browser.new_page()
    page.goto(PAGE.resolve().as_uri() + fragment)
    until(page, "document.getElementById('status').textContent.startsWith('The link cannot be read')")
    page.wait_for_timeout(300)
    assert page.evaluate("document.getElementById('examples').value") == ""
    assert page.inner_text("#headline").startswith("Roamlab:")
    page.close()


def test_a_question_has_a_button_for_each_case_and_its_answer(browser: Browser) -> None:
    """The text is the scenario of the case; the run of the case before stays as a shadow; the keyboard is enough."""
    (asked,) = (each for each in questions(ROOT / "examples") if each.name == "reno-newreno")
    page = browser.new_page()
    page.goto(f"{PAGE.resolve().as_uri()}#q={asked.name}")
    settled(page)
    assert page.inner_text("#asked > p") == asked.question
    assert page.evaluate("document.getElementById('examples').selectedOptions[0].text") == asked.question
    assert not page.is_visible("#asked details p")
    page.click("#asked summary")
    assert page.inner_text("#asked details p") == answer(asked, 1).sentence
    for place, (name, still) in enumerate(
        {"Reno": "received nothing new", "NewReno": "never stalled"}.items()
    ):
        page.focus(f"#cases button:nth-child({place + 1})")
        page.keyboard.press("Enter")
        until(page, "still => document.getElementById('headline').textContent.includes(still)", arg=still)
        text = page.evaluate("playground.editor.text")
        assert Scenario(text).parameters == asked.scenario.set_all(asked.cases[name]).parameters
        assert page.evaluate("document.activeElement.textContent") == name
        assert page.get_attribute(f"#cases button:nth-child({place + 1})", "aria-pressed") == "true"
    assert page.evaluate("explorer.columns[0].lanes.some((lane) => lane.shadow)")
    page.select_option("#examples", label="handover.toml")
    until(page, "document.getElementById('asked').hidden")
    page.evaluate("location.hash = 'q=crowd.2'")
    until(page, "playground.editor.text.includes('stagger')")
    page.close()


def test_a_run_can_be_cancelled_and_a_long_one_ends(browser: Browser) -> None:
    with _opened(browser, SHORT) as page:
        page.evaluate(
            "text => { playground.editor.set(text); playground.make(); }",
            HANDOVER.replace('"40 s"', '"4000 s"'),
        )
        page.click("#cancel", timeout=60_000)
        until(page, "document.getElementById('status').textContent === 'cancelled'")
        page.evaluate("text => { playground.editor.set(text); playground.make(); }", SHORT)
        until(page, "document.getElementById('status').textContent.startsWith('Run in')", timeout=60_000)


def test_the_page_is_written_with_the_scenario_of_a_user_and_the_files_that_it_names(
    browser: Browser, tmp_path: Path
) -> None:
    out = tmp_path / "play.html"
    scenario = ROOT / "examples/imported/drive.toml"
    done = subprocess.run(
        [COMMAND, "play", str(scenario), "--no-open", "--out", str(out)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    with shown(browser, out) as page:
        settled(page)
        assert page.evaluate("playground.editor.text") == scenario.read_text(encoding="utf-8")
        assert page.evaluate("playground.name") == "drive.toml"


def test_no_text_ends_the_editor(browser: Browser) -> None:
    """Separators of lines that are none of TOML, quotes without an end, and everything else that stops a reader."""
    pieces = ["\u2028", "\u2029", "\r", "\\", '"', "'", '"' * 3, "'" * 3, *"[]{}#=\x00a1 \n"]
    rng = random.Random(3)
    texts = ["".join(rng.choices(pieces, k=40)) for _ in range(300)] + [
        'a = "\u2028"',
        "a = '\\",
        '[a"\u2028',
    ]
    with _opened(browser, SHORT) as page:
        page.evaluate("texts => { for (const text of texts) playground.editor.set(text); }", texts)
        page.evaluate("text => { playground.editor.set(text); playground.make(); }", SHORT)
        until(page, "document.getElementById('status').textContent.startsWith('Run in')")
        # Comments, names of tables, keys, texts and numbers have their own colours.
        colours = """new Set(Array.from(document.querySelectorAll(".cm-line, .cm-line span"),
          (part) => getComputedStyle(part).color)).size"""
        assert page.evaluate(colours) >= 4


def test_mutated_links_run_no_script_and_hang_nothing(browser: Browser) -> None:
    """Some each day, others tomorrow; `make links` tries 1,000."""
    for seed in of_today([*range(1, 15)], 14):
        assert sum(Visitors(browser, seed=seed, side=2).visit(6).values()) == 6
