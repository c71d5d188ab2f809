"""The schemas in an editor: what is wrong is marked at its place by `taplo`, the program behind Even Better TOML."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from roamlab.papers import names
from roamlab.scenarios import editors

TAPLO = Path(sys.executable).with_name("taplo")
_PLACE = re.compile(r"┌─ .*?(\w+)\.toml:(\d+):(\d+)$", re.MULTILINE)

SCENARIO = """\
[run]
duration = "20 s"
profile = "linux-6"

[network]
tunnel_overhead = "20 B"
queue = { kind = "fq-codel", target = "5 ms" }

[tcp_profiles.own]
based_on = "rfc"
max_burst = "4 pkt"

[[links]]
between = ["server", "core"]
rate = "100 Mbit/s"
delay = "20 ms"
loss = { kind = "gilbert-elliott", good_to_bad = 0.01, bad_to_good = 0.5 }
changes = [{ at = "3 s", up = false }]

[[links]]
between = ["core", "r1"]
rate = { trace = "cell.down" }
delay = "5 ms"
loss = 0.01

[[topology]]
kind = "tree"
name = "an"
fan_out = [3, [3, 2, 2]]
link = { rate = "100 Mbit/s", delay = "1 ms" }
[topology.cells]
at = "leaves"
rate = "4 Mbit/s"
delay = "3 ms"
queue = { kind = "pie" }
backhaul = { rate = "10 Mbit/s", delay = "1 ms" }

[cells.bs1]
router = "r1"
rate = "4 Mbit/s"
delay = "3 ms"
queue = { kind = "red", limit = "100 pkt", min_threshold = "20 pkt" }
backhaul = { rate = "10 Mbit/s", delay = "1 ms" }
scheduler = { kind = "round-robin" }

[radio]
kind = "hard"
gap = "50 ms"

[mobility]
kind = "mobile-ip"
buffer = { at = "base-station", limit = "4 pkt" }

[[hosts]]
name = "phone"
home = "core"
visits = [{ cell = "bs1", at = "0 s" }, { cell = "bs2", at = "10 s" }]

[[hosts]]
name = "bus"
count = 5
home = "core"
plan = { kind = "random-neighbour", dwell = "4 s" }

[[flows]]
name = "download"
path = ["server", "phone"]
transport = { kind = "tcp", variant = "cubic", window = "48 pkt" }
app = { kind = "ftp", start = "0.5 s" }
path_change = { policy = "restart", delay = { kind = "uniform", least = "1 ms", most = "4 ms" } }

[[flows]]
name = "call"
path = ["server", "phone"]
dscp = 46
app = { kind = "voip", codec = "g711", talkspurts = { } }

[[flows]]
name = "other"
path = ["server", "phone"]
transport = { kind = "tcp", congestion_control = { kind = "vegas", alpha = "2 pkt" } }
app = { kind = "ftp" }
path_change = { policy = "nothing", delay = { kind = "quantiles", points = [[0.0, "1 ms"], [1.0, "4 ms"]] } }

[[faults]]
message = "registration-request"
occurrences = [1]

[record]
packets = true
queues = ["bs1/air"]
"""

SWEEP = """\
scenario = "handover.toml"
seed = "buffers"
replications = { metric = "flows.moving.goodput_bps", half_width = 1e5, budget = 200 }
metrics = ["flows.moving.goodput_bps"]
keep = "summary"
baseline = "64 pkt"

[set]
"run.duration" = "14 s"

[random]
points = 5
"mobility.buffer.limit" = { low = "4 pkt", high = "64 pkt", scale = "log" }
"""

MISTAKES = [
    # what is there, what is written instead, what is marked
    ('duration = "20 s"', 'duration = "20 seconds"', '"20 seconds"'),
    ('duration = "20 s"', "duration = 20", "20"),
    ('duration = "20 s"', 'duration = "20 s"\nseed = 7', "7"),
    ("profile =", "profil =", '"linux-6"'),
    ("[network]", "[netwrok]", "[netwrok]"),
    ('"20 B"', '"20"', '"20"'),
    ('"fq-codel"', '"fqcodel"', '"fqcodel"'),
    ('target = "5 ms"', 'target = "5 pkt"', '"5 pkt"'),
    ('max_burst = "4 pkt"', "max_burst = 4", "4\n"),
    ('between = ["server", "core"]', 'between = ["server", 5]', "5]"),
    ("good_to_bad = 0.01", "good_to_bad = 1.5", "1.5"),
    ("bad_to_good", "p_bg", "0.5 }"),
    ("up = false", 'up = "no"', '"no"'),
    ('rate = { trace = "cell.down" }', 'rate = { trace = "cell.down", revers = "cell.up" }', '"cell.up"'),
    ("loss = 0.01", 'loss = "1 %"', '"1 %"'),
    ('kind = "tree"', 'kind = "star"', '"star"'),
    ("fan_out = ", "fanout = ", "[3, [3"),
    (
        'backhaul = { rate = "10 Mbit/s", delay',
        'backhaul = { rate = "10 MB", delay',
        '"10 MB"',
    ),
    ('at = "leaves"', 'at = "leafs"', '"leafs"'),
    ('limit = "100 pkt"', 'limitt = "100 pkt"', '"100 pkt"'),
    ('min_threshold = "20 pkt"', 'target = "5 ms"', '"5 ms" }\nbackhaul'),
    ('scheduler = { kind = "round-robin" }', 'scheduler = { kind = "fifo" }', '"fifo"'),
    ('gap = "50 ms"', 'gap = "50 msec"', '"50 msec"'),
    ('kind = "hard"', 'kind = "softer"', '"softer"'),
    ('at = "base-station", limit = "4 pkt"', 'at = "base-station", limit = 4', "4 }"),
    ('at = "base-station"', 'at = "router"', '"router"'),
    ('cell = "bs1", at = "0 s"', 'cell = "bs1", at = 0', "0 }"),
    ("count = 5", "count = -5", "-5"),
    ('least = "1 ms"', "least = 1", "1, most"),
    ('kind = "uniform"', 'kind = "normal"', '"normal"'),
    ('variant = "cubic"', 'variant = "qubic"', '"qubic"'),
    ('window = "48 pkt"', 'windows = "48 pkt"', '"48 pkt"'),
    ("dscp = 46", "dscp = 99", "99"),
    ("talkspurts = { }", 'talkspurts = { on = "x" }', '"x"'),
    ('alpha = "2 pkt"', "alpha = 2", "2 }"),
    ("occurrences = [1]", 'occurrences = ["1"]', '"1"'),
    ('queues = ["bs1/air"]', 'queues = "bs1/air"', '"bs1/air"'),
    ("half_width = 1e5", "half_width = 0", "0, budget"),
    ('keep = "summary"', 'keep = "all"', '"all"'),
    ('scale = "log"', 'scale = "logarithmic"', '"logarithmic"'),
]


def _lint(folder: Path, texts: dict[str, str]) -> dict[str, list[tuple[int, int]]]:
    """The places that are marked in each text, by its name: lines and columns."""
    for of in ("scenario", "sweep"):
        (folder / f"{of}.schema.json").write_text(editors.text(of), encoding="utf-8")
    for name, text in texts.items():
        of = "sweep" if re.search(r"^scenario = ", text, re.MULTILINE) else "scenario"
        (folder / f"{name}.toml").write_text(f"#:schema ./{of}.schema.json\n{text}", encoding="utf-8")
    done = subprocess.run(
        [TAPLO, "lint", "--no-auto-config", "--colors", "never", *(f"{name}.toml" for name in texts)],
        cwd=folder,
        env=os.environ | {"HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[str, list[tuple[int, int]]] = {name: [] for name in texts}
    for name, line, column in _PLACE.findall(done.stderr):
        found[name].append((int(line), int(column)))
    assert (done.returncode == 0) == (not any(found.values())), done.stderr
    return found


def _wrong(number: int) -> str:
    there, instead, _ = MISTAKES[number]
    return (SCENARIO if there in SCENARIO else SWEEP).replace(there, instead, 1)


@pytest.fixture(scope="module")
def marked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[tuple[int, int]]]:
    """The places that are marked for each mistake, by its number."""
    return _lint(tmp_path_factory.mktemp("mistakes"), {f"m{at}": _wrong(at) for at in range(len(MISTAKES))})


def test_there_are_forty_mistakes() -> None:
    assert len(MISTAKES) == 40


def test_what_is_right_is_not_marked(tmp_path: Path) -> None:
    assert _lint(tmp_path, {"scenario": SCENARIO, "sweep": SWEEP}) == {"scenario": [], "sweep": []}


@pytest.mark.parametrize("number", range(len(MISTAKES)), ids=[instead for _, instead, _ in MISTAKES])
def test_a_mistake_is_marked_at_its_field(number: int, marked: dict[str, list[tuple[int, int]]]) -> None:
    """Marked are the field, and of a table what is in it: nothing around it."""
    _, instead, field = MISTAKES[number]
    wrong = _wrong(number)
    at = wrong.index(field, wrong.index(instead))
    line = wrong.count("\n", 0, at) + 2  # behind the line with the schema
    places = marked[f"m{number}"]
    assert places[:1] == [(line, at - wrong.rfind("\n", 0, at))]
    inside = wrong[at:].partition("\n[")[0].count("\n") if field.startswith("[") else 0
    assert {place for place, _ in places} <= {*range(line, line + inside + 1)}


def test_examples_and_scenarios_of_papers_are_not_marked(tmp_path: Path) -> None:
    files = [path for path in (ROOT / "examples").rglob("*.toml") if path.name != "questions.toml"]
    files += [path for name in names() for path in (ROOT / "python/roamlab/papers" / name).glob("*.toml")]
    texts = {f"f{at}": path.read_text(encoding="utf-8") for at, path in enumerate(files)}
    chosen = {name: text for name, text in texts.items() if "\n[run]\n" in text or "\nscenario = " in text}
    assert len(chosen) >= 24
    assert [files[int(name[1:])] for name, places in _lint(tmp_path, chosen).items() if places] == []
