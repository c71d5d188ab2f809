"""The playground's page: one HTML file with the engine in it, which needs no server and no network.

`python -m roamlab.playground.page FOLDER OUT` writes it; FOLDER holds the engine as WebAssembly (`make playground`).
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import sys
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roamlab.explorer import explorer_page as explorer
from roamlab.gallery.answers import answer
from roamlab.gallery.questions import questions
from roamlab.scenarios.scenario import load

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from roamlab.gallery.questions import Question
    from roamlab.scenarios.scenario import Scenario

WORKER = ("worker/engine.js", "worker/facts.js", "worker/remedies.js", "film.js", "worker/worker.js")
"""The worker's program, behind the engine's own and the explorer's tables."""
PAGE = (
    "film.js",
    "player.js",
    "runner.js",
    "link.js",
    "captures.js",
    "completion.js",
    "controls.js",
    "figures.js",
    "editor.js",
    "playground.js",
)
"""The page's program, behind CodeMirror and the explorer."""
SCENARIOS = '<script type="application/json" id="scenarios">'
"""Text before the page's scenarios, of which the first is shown."""

_FIRST = "busy-cell"
"""The example that is shown first: in it a flow stalls."""
_CAPTURES = ".pcap,.pcapng,.cap,.dmp,.qlog,.sqlog,.gz,.zst"
_NONCE = "roamlab"
_FILM = """<div id="film" data-ready="no" role="group" aria-label="The run as a film">
<canvas data-film="canvas" role="img" aria-label="Hosts, cells and routers, and the packets between them"></canvas>
<div class="row">
<button type="button" data-film="play">Play</button>
<button type="button" data-film="back" aria-label="One event back">◂</button>
<button type="button" data-film="step" aria-label="One event on">▸</button>
<input type="range" data-film="seek" aria-label="Time of the film" min="0" max="1" value="0">
<output data-film="clock"></output>
<label>speed <select data-film="speed"><option value="0">1/100</option><option value="1">1/33</option>
<option value="2" selected>1/10</option><option value="3">1/3</option><option value="4">1</option></select></label>
</div>
<p class="marks"><span><i></i>data</span><span><i class="ack"></i>acknowledgement</span>
<span><i class="again"></i>sent again</span><span><i class="forwarded"></i>forwarded</span>
<span><i class="signal"></i>signalling</span><span><i class="lost">✕</i>lost</span>
<span>small: waits in a queue or a buffer</span><span data-film="left"></span></p></div>"""


def html(engine: Path, scenarios: Sequence[Mapping[str, object]]) -> str:
    """The page. `engine`: the folder with the engine; `scenarios`: as `state` makes them."""
    style = explorer.style() + _file("playground.css")
    editor = _safe(_file("vendor/codemirror.js"))
    script = _safe('"use strict";\n' + explorer.script() + "".join(map(_file, PAGE)))
    own = [(engine / "roamlab_wasm.js").read_text(encoding="utf-8"), explorer.tables()]
    worker = _safe('"use strict";\n' + "\n".join([*own, *map(_file, WORKER)]))
    module = gzip.compress((engine / "roamlab_wasm_bg.wasm").read_bytes(), 9, mtime=0)
    allowed = " ".join(_digest(each) for each in (editor, script))
    policy = (
        f"default-src 'none'; script-src {allowed} 'wasm-unsafe-eval'; style-src {_digest(style)} 'nonce-{_NONCE}'; "
        "img-src data:; worker-src blob:; base-uri 'none'; form-action 'none'"
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>Roamlab: playground</title><style>{style}</style></head><body data-nonce="{_NONCE}"><main>
<div class="split" id="result">
<section class="top" aria-label="Run">
<div id="told"><h1 id="headline" aria-live="polite">Roamlab: what TCP, UDP and QUIC feel when a host moves</h1>
<p id="figures" aria-live="polite"></p></div>
<div class="row" id="remedies"><button type="button" id="try">Try remedies</button>
<div id="tried" role="status"></div></div>
{_FILM}</section>
<section class="scenario" aria-label="Scenario">
<div class="row"><label class="wide">question or example <select id="examples"></select></label>
<label class="wide">or your own capture, of one end or of both
<input id="capture" type="file" multiple accept="{_CAPTURES}"></label>
<label class="of-run">seed <input id="seed" type="number" min="0" step="1" value="1"></label>
<label class="of-run"><input id="band" type="checkbox"> next seed as a band</label>
<button type="button" id="copy" class="of-run">Copy link</button>
<div id="asked" hidden><p></p><div id="cases" class="row" role="group" aria-label="Cases of the question"></div>
<details><summary>Answer</summary><p></p></details></div></div>
<div id="captured" hidden></div>
<div id="controls" role="group" aria-label="Fields" tabindex="0"></div>
<div id="editor"></div>
<div><p id="status" role="status">The engine is being compiled.</p>
<div id="busy" hidden><progress id="progress" max="1" value="0" aria-label="How much of the run is over"></progress>
<button type="button" id="cancel">Cancel</button></div></div>
</section>
<section class="run" aria-label="Run over time">
<p><span class="of-run">Grey in the lanes: the run before.
<span id="banded" hidden>A band reaches to the line of the next seed.</span></span>
Nothing leaves this page<span class="of-run">; the link in the address holds the scenario</span>.</p>
{explorer.body()}
</section></div>
<noscript><p>This page runs scenarios with JavaScript, which is off.</p></noscript>
</main>
{SCENARIOS}{embedded(scenarios)}</script>
<script type="text/plain" id="engine">{base64.b64encode(module).decode("ascii")}</script>
<script type="text/plain" id="worker">{worker}</script>
<script>{editor}</script>
<script>{script}</script>
</body></html>
"""


def embedded(scenarios: Sequence[Mapping[str, object]]) -> str:
    """Scenarios as written in the page. A `<` could end the element of a script."""
    return json.dumps(scenarios, separators=(",", ":")).replace("<", "\\u003c")


def _safe(script: str) -> str:
    """A script that cannot end its own element: in its texts `</` may be escaped."""
    return script.replace("</script", "<\\/script")


def _digest(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode('ascii')}'"


def _file(name: str) -> str:
    return (files("roamlab.playground") / name).read_text(encoding="utf-8")


def main(engine: str, out: str) -> None:
    """Writes the page with the project's examples and the questions of the gallery."""
    folder = Path(__file__).parents[3] / "examples"
    found = sorted(folder.glob("*.toml"), key=lambda path: path.stem != _FIRST)
    examples = [path for path in found if "[run]" in path.read_text(encoding="utf-8")]
    listed = [state(load(path), path) | {"group": "Examples", "label": path.name} for path in examples]
    page = html(Path(engine), [*listed, *map(_question, questions(folder))])
    Path(out).write_text(page, encoding="utf-8")


def _question(question: Question) -> dict[str, object]:
    """A question of the gallery with its cases, as the page takes it."""
    cases = [{"name": name, "changes": question.edits(name)} for name in question.cases]
    own = {"id": question.name, "group": "Gallery", "label": question.question, "cases": cases}
    own["answer"] = answer(question, repetitions=1).sentence
    return state(question.scenario, question.base) | own


def state(scenario: Scenario, path: Path) -> dict[str, object]:
    """A scenario as the page takes it, with the files that it names."""
    named = {name: path.parent / name for name in sorted(set(_files(scenario.parameters)))}
    texts = {name: file.read_text(encoding="utf-8") for name, file in named.items() if file.is_file()}
    return {"name": path.name, "text": scenario.text, "files": texts}


def _files(part: Any) -> Iterator[str]:
    """The files that a scenario names: each with its digest."""
    if isinstance(part, dict) and part.keys() == {"path", "digest"}:
        yield part["path"]
    elif isinstance(part, dict | list):
        for each in part.values() if isinstance(part, dict) else part:
            yield from _files(each)


if __name__ == "__main__":
    main(*sys.argv[1:])
