"""Folders of results: replaced in one step, and with nothing in them lost that is a user's."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conftest import COMMAND, ROOT, handover
from namespaces import need_namespaces
from playground import need_page
from roamlab.base import output
from roamlab.base.errors import BadInput
from roamlab.base.output import LIST, refuse_foreign, sweep_drafts, whole_folder, write_chart, write_whole
from roamlab.cli import cli

if TYPE_CHECKING:
    from collections.abc import Callable

SHORT = ["--runs", "2", "--metric", "flows.*.goodput_bps"]

CAPTURE = ROOT / "examples/captures/captured-download.pcapng.gz"

WRITES: dict[str, tuple[list[str], str, bool]] = {
    "reproduce": (["reproduce", "mblue", "--runs", "1"], "report.html", True),
    "export": (["export", "made", "--format", "csv"], "flows.csv", True),
    "anonymise": (["anonymise", str(CAPTURE)], "captured-download.pcapng", True),
    "twin": (["twin", str(CAPTURE)], "twin.toml", True),
    "sweep": (["sweep", "sweep.toml"], "sweep.json", True),
    "compare": (["compare", "handover.toml", "other.toml", *SHORT], "compare.json", True),
    "optimise": (
        [
            *("optimise", "handover.toml", "--over", 'mobility.buffer.limit=["4 pkt", "64 pkt"]'),
            *("--for", "max flows.moving.goodput_bps", "--budget", "8"),
        ],
        "optimum.json",
        True,
    ),
    "demo": (["demo"], "demo.png", True),
    "run": (["run", "handover.toml"], "manifest.json", False),
    "report": (["report", "made"], "report.html", True),
    "chart": (["chart", "made"], "chart.svg", True),
    "draw": (["draw", "handover.toml"], "network.svg", True),
    "explore": (["explore", "made"], "explore.html", True),
    "play": (["play", "handover.toml", "--no-open"], "play.html", True),
    "shell": (
        ["shell", str(ROOT / "examples/real-time.toml"), "--node=mh", "--", "true"],
        "manifest.json",
        False,
    ),
}
"""Each command that writes: its arguments, a file that it makes in its folder or as its file, and whether a file of
that name which is not its own is refused. Folders of runs take any other file next to the run folders."""

_ONE_FILE = ("chart", "draw", "explore", "play", "twin")
"""Those that make one file, `twin` a figure next to it, and no folder."""

_WITH_STORE = ("reproduce", "sweep", "compare", "optimise", "demo")
"""Those that keep runs in a store."""

SWEEP = """
scenario = "handover.toml"
replications = 2
[set]
"run.duration" = "12 s"
[grid]
"mobility.buffer.limit" = ["4 pkt", "64 pkt"]
"""


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a short scenario, a changed one, a sweep and a run folder `made`."""
    folder = tmp_path_factory.mktemp("work")
    text = handover("12 s")
    (folder / "handover.toml").write_text(text)
    (folder / "other.toml").write_text(text.replace('limit = "64 pkt"', 'limit = "8 pkt"'))
    (folder / "sweep.toml").write_text(SWEEP)
    done = _call(folder, "run", "handover.toml", "--out", "first")
    assert done.returncode == 0, done.stderr
    next((folder / "first").iterdir()).rename(folder / "made")
    return folder


def _call(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
        timeout=300,
    )


def test_every_command_that_writes_is_among_those_tried() -> None:
    writing = {name for name, command in cli.commands.items() if {"out", "store"} & _options(command)}
    assert writing == set(WRITES)


def _options(command: object) -> set[str]:
    return {parameter.name for parameter in command.params}  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", list(WRITES))
def test_a_file_of_the_user_survives(work: Path, tmp_path: Path, name: str) -> None:
    """In a separate folder, next to a result, and as a file with the name of one that the command writes."""
    if name == "play":
        need_page()
    if name == "shell":
        need_namespaces()
    arguments, made, refuses = WRITES[name]
    out = tmp_path / (made if name in _ONE_FILE else "out")
    options = ["--out", str(out)]
    if name in _WITH_STORE:
        options += ["--store", str(tmp_path / "store")]
    call = [arguments[0], *options, *arguments[1:]]
    mine = out if name in _ONE_FILE else out / made
    mine.parent.mkdir(exist_ok=True)
    mine.write_text("[]")
    first = _call(work, *call)
    assert first.returncode == (2 if refuses else 0), first.stderr
    assert mine.read_text() == "[]"
    if refuses:
        assert str(out) in first.stderr
        assert "--out" in first.stderr
        mine.unlink()
        done = _call(work, *call)
        assert done.returncode == 0, done.stderr
        before = _contents(out)
    # Files of a user, next to our result: a file, one in a folder, a changed result.
    if name in _ONE_FILE:
        out.write_text(out.read_text() + "<!-- mine -->")
        assert _call(work, *call).returncode == 2
        assert out.read_text().endswith("<!-- mine -->")
        return
    others = [out / relative for relative in ("notes.txt", "figures/notes.txt", f"{made}.bak")]
    for other in others:
        other.parent.mkdir(exist_ok=True)
        other.write_text("do not lose me")
    again = _call(work, *call)
    assert again.returncode == (2 if refuses else 0), again.stderr
    assert [other.read_text() for other in others] == ["do not lose me"] * 3
    if refuses:
        for other in others:
            other.unlink()
        assert _contents(out) == before
    if refuses:
        (out / made).write_text("changed by hand")
        assert _call(work, *call).returncode == 2
        assert (out / made).read_text() == "changed by hand"


def test_paths_of_any_kind(work: Path, tmp_path: Path) -> None:
    """Bytes that are not UTF-8, what Matplotlib takes for a formula, and rich for a style; blanks."""
    name = os.fsdecode(rb"a $\frac$ [red]\xff")
    for file in ("handover", "other", "sweep"):
        content = (work / f"{file}.toml").read_text().replace('"handover.toml"', '"../handover.toml"')
        (tmp_path / f"{name}-{file}.toml").write_text(content)
    (tmp_path.parent / "handover.toml").write_text((work / "handover.toml").read_text())
    scenario, other = f"{name}-handover.toml", f"{name}-other.toml"
    calls = [
        ["run", scenario, "--out", name],
        ["compare", scenario, other, *SHORT, "--out", f"{name}-2", "--store", f"{name}-store"],
        ["sweep", f"{name}-sweep.toml", "--store", f"{name}-store"],
        ["reproduce", "mblue", "--runs", "1", "--out", f"{name}-3", "--store", f"{name}-store"],
    ]
    for call in calls:
        done = _call(tmp_path, *call)
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    (made,) = (tmp_path / name).iterdir()
    chart = _call(tmp_path, "chart", f"{name}/{made.name}", "--out", f"{name}.svg")
    assert chart.returncode == 0, chart.stderr


def _contents(path: Path) -> dict[str, bytes]:
    if path.is_file():
        return {"": path.read_bytes()}
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def _result(folder: Path, text: str = "new") -> None:
    with whole_folder(folder) as draft:
        (draft / "figures").mkdir()
        (draft / "figures/one.svg").write_text(text)
        (draft / "data.json").write_text(text)


def test_a_result_replaces_a_result(tmp_path: Path) -> None:
    for text in ("first", "second", "third"):
        _result(tmp_path / "out", text)
        assert (tmp_path / "out/data.json").read_text() == text
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_without_an_exchange_by_the_system_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "_exchanged", lambda *_: False)
    test_a_result_replaces_a_result(tmp_path)


def test_a_kill_between_the_two_steps_leaves_the_old_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _result(tmp_path / "out", "old")
    program = f"""
import os, signal, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from roamlab.base import output
from test_output import _result
rename = Path.rename
def once(self, target):
    if self.name == "out":
        rename(self, target)
        os.kill(os.getpid(), signal.SIGKILL)
    return rename(self, target)
output._exchanged = lambda *_: False
Path.rename = once
_result(Path("out"), "new")
"""
    killed = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "out").exists()
    sweep_drafts(tmp_path)
    assert (tmp_path / "out/data.json").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_file_that_comes_at_the_last_moment_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _result(tmp_path / "out", "old")
    real = output._exchange

    def late(draft: Path, place: Path) -> None:
        (place / "thesis.tex").write_text("do not lose me")
        real(draft, place)

    monkeypatch.setattr(output, "_exchange", late)
    _result(tmp_path / "out", "new")
    assert (tmp_path / "out/data.json").read_text() == "new"
    (kept,) = tmp_path.glob("out.*/thesis.tex")
    assert kept.read_text() == "do not lose me"
    assert str(kept.parent) in capsys.readouterr().err
    sweep_drafts(tmp_path)
    assert kept.exists()


def test_a_link_stays_and_the_result_stands_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "disk/results").mkdir(parents=True)
    link = tmp_path / "out"
    link.symlink_to("disk/results")
    for text in ("first", "second"):
        _result(link, text)
        assert link.is_symlink()
        assert (tmp_path / "disk/results/data.json").read_text() == text
    (tmp_path / "dangling").symlink_to("disk/new")
    _result(tmp_path / "dangling")
    assert (tmp_path / "disk/new/data.json").exists()
    assert sorted(path.name for path in (tmp_path / "disk").iterdir()) == ["new", "results"]


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda out: (out / "mine").write_text(""), "it holds mine, which is not ours"),
        (lambda out: (out / "mine").mkdir(), "it holds mine, which is not ours"),
        (lambda out: (out / "figures/mine").symlink_to("/"), "it holds figures/mine, which is not ours"),
        (lambda out: (out / "data.json").write_text("edited"), "data.json in it was changed"),
        (lambda out: (out / LIST).unlink(), "which is not ours"),
        (lambda out: (out / LIST).write_text("{}"), "which is not ours"),
        (lambda out: (out / LIST).write_text("[" * 100_000), "which is not ours"),
        (lambda out: (out / LIST).write_text('{"files": {}, "signature": "made up"}'), "which is not ours"),
    ],
)
def test_what_is_not_as_it_was_written_is_refused(
    tmp_path: Path, make: Callable[[Path], object], said: str
) -> None:
    out = tmp_path / "out"
    _result(out)
    make(out)
    before = sorted(out.rglob("*"))
    for attempt in (lambda: refuse_foreign(out), lambda: _result(out)):
        with pytest.raises(BadInput, match=said) as caught:
            attempt()
        assert str(caught.value).startswith(str(out))
    assert sorted(out.rglob("*")) == before


def test_a_file_of_ours_that_is_gone_is_no_reason_to_refuse(tmp_path: Path) -> None:
    _result(tmp_path / "out")
    (tmp_path / "out/data.json").unlink()
    _result(tmp_path / "out", "again")
    assert (tmp_path / "out/data.json").read_text() == "again"


def test_the_working_directory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="working directory"):
        _result(Path())


def test_a_folder_that_is_to_hold_the_store_is_refused_before_any_run(work: Path) -> None:
    for call in (["sweep", "sweep.toml"], ["reproduce", "mblue"], ["compare", "handover.toml", "other.toml"]):
        done = _call(work, *call, "--out", "new", "--store", "new/store")
        assert (done.returncode, done.stderr.splitlines()[0]) == (
            2,
            "error: new: it holds the store of runs, new/store",
        )
    assert not (work / "new").exists()


def test_drafts_of_the_dead_are_swept_and_those_of_the_living_stay(tmp_path: Path) -> None:
    program = """
import os, signal
from pathlib import Path
from roamlab.base.output import draft_folder
with draft_folder(Path()) as draft:
    (draft / "half").touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=False)
    (dead,) = tmp_path.iterdir()
    mine = tmp_path / ".roamlab-notes"
    mine.mkdir()
    with output.draft_folder(tmp_path) as alive:
        sweep_drafts(tmp_path)
        assert (dead.exists(), alive.exists(), mine.exists()) == (False, True, True)
    assert [path.name for path in tmp_path.iterdir()] == [mine.name]


def test_a_replaced_result_of_which_a_part_was_deleted_is_swept(tmp_path: Path) -> None:
    _result(tmp_path / "out", "old")
    left = tmp_path / ".roamlab-0123456789abcdef"
    (tmp_path / "out").rename(left)
    (left / "figures/one.svg").unlink()
    (left / "figures").rmdir()
    sweep_drafts(tmp_path)
    assert not left.exists()


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    _result(tmp_path / "out", "old")

    def fail() -> None:
        with whole_folder(tmp_path / "out") as draft:
            (draft / "half").touch()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (tmp_path / "out/data.json").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_modes_are_as_the_umask_says(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        _result(tmp_path / "out")
        write_whole(tmp_path / "file", b"")
        write_chart(tmp_path / "chart.svg", "<svg/>")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"out": 0o775, "file": 0o664, "chart.svg": 0o664}


def test_many_writers_to_one_folder_all_end_well(tmp_path: Path) -> None:
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from test_output import _result
for n in range(30):
    _result(Path("out"), f"{{sys.argv[1]}} {{n}}")
    text = {{path.read_text() for path in Path("out").rglob("*.json")}}
"""
    writers = [subprocess.Popen([sys.executable, "-c", program, str(n)], cwd=tmp_path) for n in range(4)]
    assert [writer.wait(timeout=120) for writer in writers] == [0] * 4
    assert (tmp_path / "out/data.json").read_text() == (tmp_path / "out/figures/one.svg").read_text()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


DRAFT = ".roamlab-0123456789abcdef"


def _planted(place: Path, files: dict[str, str]) -> Path:
    """A draft as a killed process leaves it, with a list of these files and the digests of their content."""
    (place / DRAFT).mkdir()
    _sign(place / DRAFT, {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()})
    return place / DRAFT


def _sign(folder: Path, files: object) -> None:
    written = {"program": "roamlab", "files": files}
    signed = written | {"signature": output._signature(written)}
    (folder / LIST).write_text(json.dumps(signed))


@pytest.mark.parametrize("kind", ["folder", "file", "nested", "draft", "aside", "list", "up", "absolute"])
def test_a_draft_from_another_person_deletes_nothing_outside_of_it(tmp_path: Path, kind: str) -> None:
    """The files outside have a content that is known, as those of programs and of licences have."""
    place, outside = tmp_path / "place", tmp_path / "outside"
    place.mkdir()
    (outside / "in").mkdir(parents=True)
    known = {"thesis.tex": "known", "in/data": "known too", LIST: ""}
    for name, text in known.items():
        (outside / name).write_text(text)
    files = {name: known[name] for name in ("thesis.tex", "in/data")}
    if kind == "folder":
        _planted(place, {f"link/{name}": text for name, text in files.items()})
        (place / DRAFT / "link").symlink_to(outside)
    elif kind == "file":
        draft = _planted(place, {"thesis.tex": "known"})
        (draft / "thesis.tex").symlink_to(outside / "thesis.tex")
    elif kind == "nested":
        draft = _planted(place, {"a/b/thesis.tex": "known"})
        (draft / "a").mkdir()
        (draft / "a/b").symlink_to(outside)
    elif kind == "draft":
        _sign(outside, {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()})
        known[LIST] = (outside / LIST).read_text()
        (place / DRAFT).symlink_to(outside)
    elif kind == "aside":
        (place / "out").mkdir()
        (place / f"{DRAFT}-out").symlink_to(outside)
    elif kind == "list":
        (place / DRAFT).mkdir()
        (place / DRAFT / LIST).symlink_to(outside / "thesis.tex")
        (place / DRAFT / "in").symlink_to(outside / "in")
    elif kind == "up":
        _planted(place, {"../../outside/thesis.tex": "known", "x/../../../outside/in/data": "known too"})
    else:
        _planted(place, {str(outside / "thesis.tex"): "known"})
    sweep_drafts(place)
    _result(place / "result")
    assert {name: (outside / name).read_text() for name in known} == known


def test_a_list_with_a_link_to_what_it_names_makes_a_folder_foreign(tmp_path: Path) -> None:
    """The folder of results itself, too: nothing that a link in it leads to is taken for ours."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/thesis.tex").write_text("known")
    out = tmp_path / "out"
    out.mkdir()
    _sign(out, {"link/thesis.tex": hashlib.sha256(b"known").hexdigest()})
    (out / "link").symlink_to(tmp_path / "outside")
    with pytest.raises(BadInput, match="it holds link, which is not ours"):
        _result(out)
    assert (tmp_path / "outside/thesis.tex").read_text() == "known"


@pytest.mark.parametrize(
    "files",
    [
        *([], None, 7, "text", ["a"], {"a": 7}, {"a": None}, {"a": ["b"]}, {"": "x"}, {"a\0b": "x"}),
        *({"\ud800": "x"}, {".": "x"}, {"a//b": "x"}, {"a/" * 100_000 + "b": "x"}, {"a" * 100_000: "x"}),
    ],
    ids=range(15),
)
def test_a_signed_list_of_another_shape_stops_no_command(tmp_path: Path, files: object) -> None:
    _planted(tmp_path, {})
    _sign(tmp_path / DRAFT, files)
    (tmp_path / "out").mkdir()
    _sign(tmp_path / "out", files)
    sweep_drafts(tmp_path)
    with suppress(BadInput):
        _result(tmp_path / "out")
    _result(tmp_path / "other")
    assert (tmp_path / "other/data.json").exists()
    assert not (tmp_path / DRAFT).exists()


def test_a_folder_nested_without_an_end_stops_no_command(tmp_path: Path) -> None:
    here = os.open(tmp_path, os.O_RDONLY)
    for name in [DRAFT, *["a"] * 3000]:
        os.mkdir(name, dir_fd=here)
        inner = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)
    sweep_drafts(tmp_path)
    _result(tmp_path / "out")
    assert (tmp_path / DRAFT).exists()
    subprocess.run(["rm", "-r", tmp_path / DRAFT], check=True)


@pytest.mark.parametrize("name", [DRAFT, f"{DRAFT}-out", f"{DRAFT}/{LIST}", f"out/{LIST}", "out/data.json"])
def test_a_pipe_is_not_waited_for(tmp_path: Path, name: str) -> None:
    _result(tmp_path / "out")
    if name.startswith(f"{DRAFT}/"):
        (tmp_path / DRAFT).mkdir()
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_output import Path, _result
_result(Path("new"))
_result(Path("out"))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert (tmp_path / "new/data.json").exists()
    assert (done.returncode == 1) == name.startswith("out/"), done.stderr
    assert "BadInput" in done.stderr if done.returncode else not done.stderr


def test_a_lock_that_another_process_keeps_ends_in_an_error_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "PATIENCE_S", 0.2)
    held = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    begin = time.monotonic()
    for attempt in (
        lambda: _result(tmp_path / "out"),
        lambda: write_chart(tmp_path / "a.svg", "<svg/>"),
        lambda: sweep_drafts(tmp_path),
    ):
        with pytest.raises(BadInput, match=r"(?s)another process has locked it.*fuser -v .*end it") as caught:
            attempt()
        assert str(caught.value).startswith(f"{tmp_path}: ")
    assert time.monotonic() - begin < 3
    os.close(held)
    _result(tmp_path / "out")


@pytest.mark.parametrize("kind", ["link", "dangling", "pipe"])
def test_nothing_is_written_through_what_stands_in_a_file_s_place(tmp_path: Path, kind: str) -> None:
    """Another user who may write into the folder could plant it between the draft's creation and its content."""
    other, place = tmp_path / "other", tmp_path / "place"
    if kind == "pipe":
        os.mkfifo(place)
    else:
        place.symlink_to(other)
    if kind == "link":
        other.write_bytes(b"theirs")
    with pytest.raises(OSError, match=r"symbolic links|No such device"):
        output.write_durably(place, [b"ours"])
    assert not other.exists() or other.read_bytes() == b"theirs"
