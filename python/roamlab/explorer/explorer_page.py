"""The explorer's page: the data of each run, and the single HTML file."""

from __future__ import annotations

import base64
import json
import math
from importlib.resources import files
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import polars as pl

from roamlab.base.errors import BadInput
from roamlab.base.figures import FONT
from roamlab.base.screen import escape
from roamlab.causes import explain as explaining
from roamlab.explorer.packing import MOST_ROWS, Pack
from roamlab.pages import run_page
from roamlab.records.constants import EXPLORED
from roamlab.records.metrics import table_of
from roamlab.scenarios.profiles import of_flow, profile
from roamlab.showing.chart import chart, stays
from roamlab.showing.page import policy
from roamlab.showing.report import moment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roamlab.causes.explain import Explanation
    from roamlab.records.results import Results

FILE = "explore.html"
"""Its name next to a report."""
SCRIPTS = ("model.js", "drawing.js", "lanes.js", "captured.js", "bearers.js", "signalling.js", "explorer.js")
SHOWN_FLOWS, SHOWN_QUEUES, HOSTS, NODES = 1, 2, 6, 14
"""Most flows and queues with lanes at first; most hosts and nodes with lines."""

_BUTTONS = (
    ("whole", "All", "0"),
    ("nearer", "Zoom in", "+"),
    ("further", "Zoom out", "-"),
    ("earlier", "Earlier", "←"),
    ("later", "Later", "→"),
    ("next", "Next event", "n"),
)


def html(runs: Sequence[Results], begin_s: float = 0.0, end_s: float = math.inf) -> str:
    """A page that needs nothing else, of one run or of two side by side. The runs have the tables for stalls.

    Only what is from `begin_s` to `end_s` is in it. Raises `BadInput` if that is no part of a run, or too much.
    """
    pack = Pack()
    specs, headlines = [], []
    order = list(dict.fromkeys(queue for results in runs for queue in _queues(results)))
    for number, results in enumerate(runs):
        stalls = explaining.explain(results)
        headlines.append(run_page.headline(results))
        name = "AB"[number] if len(runs) > 1 else "run"
        span = _span(results, begin_s, end_s)
        specs.append(_run(results, stalls, name, order, span) | {"tables": pack.tables(results, span)})
    said = [
        f"{spec['name']}: {headline}" if len(runs) > 1 else headline
        for spec, headline in zip(specs, headlines, strict=True)
    ]
    asked = _ASK if any(spec["stalls"] for spec in specs) else "No flow stalled or was slow."
    return page(specs, pack, said, asked)


def page(specs: Sequence[Mapping[str, Any]], pack: Pack, said: Sequence[str], asked: str) -> str:
    """The page of these facts with their tables.

    `said`: its sentences, the first one its title; `asked`: its introduction.
    """
    names = " and ".join(spec["title"] for spec in specs)
    columns = base64.b64encode(pack.deflated()).decode("ascii")
    # A `<` could end the element of a script.
    data = json.dumps(specs, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    program = f'\n"use strict";\n{script()}'
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
{policy(program)}
<title>{escape(names)}: explorer</title><style>{style()}</style></head><body><main>
{"".join(f"<h1>{escape(words)}</h1>" if not at else f"<p><b>{escape(words)}</b></p>" for at, words in enumerate(said))}
<p>{escape(asked)}</p>
{body(two=len(specs) > 1)}
<noscript><p>This page draws with JavaScript, which is off.</p></noscript>
</main>
<script type="application/json" id="runs">{data}</script>
<script type="text/plain" id="columns">{columns}</script>
<script>{program}</script>
</body></html>
"""


_ASK = (
    "A stall: a flow got nothing new although its sender had some. A slow period: it got less than half of what it did "
    "before. Choose one to see what led to it."
)
_KEYS = {"←": "ArrowLeft", "→": "ArrowRight"}


def body(*, two: bool = False) -> str:
    """Elements for the explorer's script: stops, buttons, lanes of one run or of two, and their description."""
    buttons = "".join(
        f'<button type="button" id="{name}" aria-keyshortcuts="{escape(_KEYS.get(key, key))}">{words}</button>'
        for name, words, key in _BUTTONS
    )
    return f"""<ol id="stops" tabindex="0" aria-label="Stalls and handovers"></ol>
<div class="bar" role="toolbar" aria-label="Time">{buttons}<output id="shown"></output></div>
<details><summary>How to use this page</summary>
<p>Drag to move in time, turn the wheel or spread two fingers to zoom, point to read values in all lanes at once.
Click a packet, a message, a phase or a stall to see what is known of it.</p>
<p>Keys: <kbd>+</kbd> <kbd>-</kbd> zoom, <kbd>←</kbd> <kbd>→</kbd> move, <kbd>,</kbd> <kbd>.</kbd> move the cursor,
<kbd>0</kbd> all, <kbd>n</kbd> <kbd>p</kbd> next and previous stall or handover, <kbd>Esc</kbd> close.</p>
<p>Where points lie closer than pixels, each column of pixels shows the range of its points.</p></details>
<div id="lanes"{' class="two"' if two else ""}></div>
<aside id="detail" aria-live="polite" aria-label="What was chosen" tabindex="0" hidden></aside>"""


def style() -> str:
    """The explorer's rules."""
    return f":root{{--font:{FONT}}}\n{_file('explorer.css')}"


def script() -> str:
    """The explorer's program. It begins automatically on a page that holds runs."""
    return "".join(map(_file, SCRIPTS))


def tables() -> str:
    """The part of the program that reads tables, which needs no page."""
    return _file(SCRIPTS[0])


def _file(name: str) -> str:
    return (files("roamlab.explorer") / name).read_text(encoding="utf-8")


def fits(results: Results) -> bool:
    """True if all of a run goes into one page."""
    return sum(results.columns(name).height for name in EXPLORED) <= MOST_ROWS


def _span(results: Results, begin_s: float, end_s: float) -> tuple[int, int]:
    """From when to when, in ns."""
    whole = results.manifest.outline.duration_ns
    if not 0 <= begin_s < min(end_s, whole / 1e9):
        raise BadInput(
            f"--from {begin_s:g}" + ("" if math.isinf(end_s) else f" --to {end_s:g}"),
            "this is no part of the run",
            expected=f"two times from 0 to {whole / 1e9:g} s, the earlier first",
            remedy=f"--from 0 --to {whole / 1e9:g} is all of it",
        )
    return round(begin_s * 1e9), min(whole, round(min(end_s, whole / 1e9) * 1e9))


def _run(
    results: Results, stalls: list[Explanation], name: str, order: Sequence[str], span: tuple[int, int]
) -> dict[str, Any]:
    """Data for the page about a run, in addition to its tables. `order`: of the queues."""
    manifest = results.manifest
    flows = [str(flow) for flow in results.flows["flow"]]
    queues = sorted(_queues(results), key=order.index)
    return {
        "name": name,
        "title": f"{PurePath(manifest.scenario_name).name}, seed {manifest.seed}, run {manifest.run}",
        "begin_ns": span[0],
        "end_ns": span[1],
        "flows": flows,
        "shown_flows": _shown_flows(results, stalls),
        "windows": {flow: window for flow in flows if (window := _window(results, flow)) is not None},
        "queues": queues,
        "shown_queues": queues[:SHOWN_QUEUES],
        "hosts": _hosts(results),
        "nodes": _nodes(results),
        "stalls": [
            {
                "number": each.number,
                "word": each.word,
                "flow": each.stall.flow,
                "start_ns": each.stall.start_ns,
                "end_ns": each.stall.end_ns,
                "since_ns": _since(each),
                "length_s": each.stall.length_ns / 1e9,
                "suspect": each.named,
                "sentences": each.sentences,
            }
            for each in stalls
            if each.stall.start_ns < span[1] and each.stall.end_ns > span[0]
        ],
        "slow": [
            {"flow": slow.flow, "start_ns": slow.start_ns, "end_ns": slow.end_ns}
            for slow in dict.fromkeys(each.slow for each in stalls if each.slow)
        ],
    }


def _window(results: Results, flow: str) -> int | None:
    """The receiver's window of a TCP flow in segments; None: it has none in segments."""
    transport = table_of(results, flow).get("transport", {})
    if transport.get("kind") != "tcp":
        return None
    window = transport.get("window")
    if window is None:
        parameters = profile(
            of_flow(results.manifest.parameters, transport)["based_on"], transport.get("variant")
        )
        window = next(
            f"{parameter['value']} {parameter['unit']}"
            for parameter in parameters
            if parameter["parameter"] == "window"
        )
    number, _, unit = str(window).partition(" ")
    return int(number) if unit == "pkt" and number.isdecimal() else None


def _shown_flows(results: Results, stalls: list[Explanation]) -> list[str]:
    """The flows of hosts that move come first, those that stalled longest before the others."""
    moving = {host for host, _, _ in run_page.entries(results)}
    ends = results.flows.select(pl.col("flow", "source", "destination").cast(pl.String)).rows()
    of_hosts = {flow for flow, *nodes in ends if moving.intersection(nodes)}
    return sorted(run_page.chosen(results, stalls), key=lambda flow: flow not in of_hosts)[:SHOWN_FLOWS]


def first_move(results: Results) -> str:
    """The moment of the first handover, from 1 s before to 3 s after; "" if no host moves."""
    moves = run_page.entries(results)
    return moment(moves[0][2] - 1.0, moves[0][2] + 3.0) if moves else ""


def _since(told: Explanation) -> int:
    """From when on a stall is shown: what led to it first, if that is near."""
    stall = told.stall
    near = stall.start_ns - max(10**9, 3 * stall.length_ns)
    return min([stall.start_ns, *(time for time in told.steps_ns if time >= near)])


def _queues(results: Results) -> list[str]:
    """The recorded queues in which a packet waited, the longest first."""
    longest = results.queues.group_by(pl.col("queue").cast(pl.String)).agg(pl.col("packets").max())
    used = longest.filter(pl.col("packets") > 0).sort("packets", "queue", descending=[True, False])
    return used["queue"].to_list()


def _hosts(results: Results) -> list[dict[str, Any]]:
    """The hosts that visit most cells, with the time of each visit and its phases."""
    rows = results.handovers.with_columns(pl.col("host", "phase", "node").cast(pl.String))
    busiest = rows.group_by("host").agg(pl.col("visit").max()).sort("visit", "host", descending=[True, False])
    found = []
    for host in busiest["host"].to_list()[:HOSTS]:
        own = rows.filter(pl.col("host") == host).sort("time_ns")
        found.append(
            {
                "name": host,
                "visits": [
                    {"cell": stay.cell, "from_ns": stay.begin_ns, "to_ns": stay.end_ns}
                    for stay in stays(results, host)
                ],
                "phases": own.drop("host", "cause").to_dicts(),
            }
        )
    return found


def _nodes(results: Results) -> list[str]:
    """The lines of the signalling: in the order of the first handover's chart, then the nodes that send most."""
    if not results.signalling.height:
        return []
    ends = results.signalling.select(pl.col("source", "destination").cast(pl.String))
    sends = pl.concat([ends["source"], ends["destination"].rename("source")]).value_counts()
    ranked = sends.sort("count", "source", descending=[True, False])
    busy = [node for node in ranked["source"].to_list() if node]
    moved = results.handovers.filter(pl.col("visit") > 0)["host"].cast(pl.String)
    first = chart(results, moved[0], 1).nodes if moved.len() else ()
    return [node for node in dict.fromkeys([*first, *busy]) if node in busy][:NODES]
