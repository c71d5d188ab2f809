"""Inputs and places that are not what they should be: bounded, refused with a message, and nothing is left behind."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest

import roamlab as rl
from conftest import COMMAND, handover

if TYPE_CHECKING:
    from collections.abc import Sequence

SHORT = handover("1 s")
LOG = "time_s,host,from,to\n{},mh,a,b\n"


def call(
    *arguments: str | Path, folder: Path, limits: Sequence[tuple[int, int]] = ()
) -> tuple[int, str, str]:
    """The exit code of a command, its output and its errors; `limits`: of resources, for its process."""

    def limit() -> None:
        for which, most in limits:
            resource.setrlimit(which, (most, most))

    done = subprocess.run(
        [COMMAND, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=120,
        preexec_fn=limit if limits else None,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert not list(folder.rglob(".roamlab-*"))
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    "time_s",
    ["1e999999", "-1e999999", "9" * 20_000, "1e30", "nan", "-1"],
    ids=["exponent", "negative", "digits", "late", "nan", "early"],
)
def test_a_schedule_refuses_numbers_that_are_no_times(tmp_path: Path, time_s: str) -> None:
    (tmp_path / "log.csv").write_text(LOG.format(time_s))
    code, _, errors = call("schedule", "log.csv", folder=tmp_path)
    assert code == 2
    assert errors.startswith("error: log.csv:2: time_s is ")
    assert len(errors) < 400
    (tmp_path / "good.csv").write_text(LOG.format("1"))
    code, _, errors = call("schedule", "good.csv", f"--begin={time_s}", folder=tmp_path)
    assert (code == 2) == (time_s != "-1"), errors


def test_a_schedule_refuses_names_that_cannot_be_printed(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(r'{"time_s": 1, "host": "\ud800", "from": "a", "to": "b"}')
    code, _, errors = call("schedule", "log.jsonl", folder=tmp_path)
    assert (code, errors.partition("\n")[0]) == (2, r"error: log.jsonl:1: the name '\ud800'")


@pytest.mark.parametrize("path", ["/dev/zero", "/proc/self/status", "fifo", "/dev/full"])
def test_what_is_no_file_on_a_disk_is_not_read(tmp_path: Path, path: str) -> None:
    os.mkfifo(tmp_path / "fifo")
    commands = ("run", "sweep", "schedule")
    for arguments in [*((command, path) for command in commands), ("compare-trace", path, path)]:
        code, _, errors = call(*arguments, folder=tmp_path)
        assert code == 2, errors
        assert errors.startswith(f"error: {path}: ")
    (tmp_path / "lab.toml").write_text(SHORT)
    if path != "/proc/self/status":
        code, _, errors = call("draw", "lab.toml", "-o", path, folder=tmp_path)
        assert (code, "no regular file" in errors) == (2, True), errors
    recorded = SHORT.replace('rate = "', f'rate = {{ trace = "{path}" }} # "', 1)
    (tmp_path / "recorded.toml").write_text(recorded)
    code, _, errors = call("check", "recorded.toml", folder=tmp_path)
    assert (code, f'"{path}" cannot be read' in errors) == (2, True), errors


def test_a_file_of_another_kind_is_not_quoted(tmp_path: Path) -> None:
    """A scenario may name any file that its reader can read: an error shows nothing of it."""
    (tmp_path / "secret").write_text("root:$6$secret:19000:0:99999:7:::\n")
    fields = {
        'rate = "': 'rate = { trace = "secret" } # "',
        "visits = [": 'plan = { kind = "schedule", file = "secret" }\nxvisits = [',
        'app = { kind = "ftp"': 'app = { kind = "recorded", file = "secret" } # { kind = "ftp"',
    }
    for old, new in fields.items():
        assert old in SHORT
        (tmp_path / "lab.toml").write_text(SHORT.replace(old, new, 1))
        code, _, errors = call("check", "lab.toml", folder=tmp_path)
        assert code == 2
        assert "$6$" not in errors, errors
    (tmp_path / "lab.toml").write_text(SHORT.replace(*next(iter(fields.items())), 1))
    _, _, errors = call("check", "lab.toml", folder=tmp_path)
    assert errors.startswith(
        "error: secret:1:1: this is not a time; expected a whole number of milliseconds"
    ), errors


@pytest.mark.parametrize(
    "text",
    ["x = " + "[" * 5_000_000, "x = [" + "1," * 10_000_001 + "]\n", "[a" + ".a" * 100_000 + "]\n"],
    ids=["nested", "flat", "dotted"],
)
def test_a_text_that_would_fill_the_memory_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "lab.toml").write_text(text)
    code, _, errors = call("check", "lab.toml", folder=tmp_path, limits=[(resource.RLIMIT_AS, 3 << 30)])
    assert code == 2, errors[:500]
    assert errors.startswith("error: lab.toml:1:")
    assert len(errors) < 1000


def test_a_path_that_would_nest_tables_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(SHORT)
    path = "a." * 50_000 + "b"
    grid = f'scenario = "lab.toml"\nreplications = 1\n[grid]\n"{path}" = ["1 ms"]\n'
    (tmp_path / "sweep.toml").write_text(grid)
    for arguments in (("sweep", "sweep.toml"), ("check", "lab.toml", "--set", f"{path}=1")):
        code, _, errors = call(*arguments, folder=tmp_path)
        assert (code, "characters is too long" in errors) == (2, True), errors[:500]


@pytest.mark.filterwarnings("ignore")
def test_what_a_library_warns_of_is_printed_without_escape_sequences() -> None:
    program = (
        "import sys, warnings, roamlab.cli as cli\n"
        "cli.cli.main = lambda **_: warnings.warn('Glyph \\x1b[31m')\n"
        "cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr == "warning: Glyph \\u{1b}[31m\n"


def test_a_manifest_with_a_control_character_in_its_scenario_is_refused(tmp_path: Path) -> None:
    """JSON can hold what TOML cannot."""
    (tmp_path / "lab.toml").write_text(SHORT)
    _, out, _ = call("run", "lab.toml", folder=tmp_path)
    made = tmp_path / out.rsplit("result: ", 1)[1].strip()
    name = re.search(r'\[\[flows\]\]\s+name = "(\w+)"', SHORT)
    assert name is not None
    text, _, _ = (made / "manifest.json").read_text().rpartition(',\n "key"')
    (made / "manifest.json").write_text(text.replace(name[1], f"{name[1]}\\u001b") + "}")
    for command in ("report", "why"):
        code, _, errors = call(command, made, folder=tmp_path)
        assert (code, "\\u{1b}" in errors) == (2, True), errors


def test_names_have_a_greatest_length() -> None:
    with pytest.raises(
        rl.ScenarioError, match=r"a name of 101 characters is too long\n(.*\n)*.*help: write at most 100"
    ):
        rl.Scenario(SHORT.replace('name = "mh"', f'name = "{"m" * 101}"')).resolved  # noqa: B018


def test_the_network_counts_in_the_memory_limit() -> None:
    """400,000 hosts with a limit of 100 MB are refused before their network is built."""
    program = (
        "import resource, sys, roamlab as rl\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "made = rl.Scenario(sys.stdin.read(), 'lab')\n"
        "made.resolved\n"
        "try: rl.run(made, memory=100_000_000)\n"
        "except rl.ScenarioError as error: print(error)\n"
        "print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1000, file=sys.stderr)\n"
    )
    many = SHORT.replace('name = "mh"', 'name = "mh"\ncount = 400000').replace('"mh"]', '"mh-0"]')
    done = subprocess.run(
        [sys.executable, "-c", program], input=many, capture_output=True, text=True, check=True
    )
    assert "more than the 100 MB there are for it" in done.stdout
    assert "400000 hosts" in done.stdout
    assert "write fewer hosts" in done.stdout
    assert int(done.stderr) < 1000, "MB"


def test_a_network_larger_than_the_machine_is_refused_before_it_is_generated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("roamlab.scenarios.scenario.memory_per_run", lambda: 100_000_000)
    many = SHORT.replace('name = "mh"', 'name = "mh"\ncount = 400000')
    with pytest.raises(
        rl.ScenarioError, match=r"field `hosts`: the network would take about .* for 400000 hosts"
    ):
        rl.Scenario(many).resolved  # noqa: B018


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "lab.toml").write_text(SHORT)
    assert call("run", "lab.toml", folder=folder)[0] == 0
    (run,) = (folder / "out/runs").iterdir()
    return run


@pytest.mark.parametrize("form", ["parquet", "csv", "arrow"])
def test_a_full_disk_ends_an_export_with_a_message(tmp_path: Path, made: Path, form: str) -> None:
    limits = [(resource.RLIMIT_FSIZE, 2000)]
    code, _, errors = call("export", made, "--format", form, folder=tmp_path, limits=limits)
    assert (code, "error: [Errno 27]" in errors or "os error 27" in errors) == (1, True), errors


def test_a_full_disk_ends_a_run_with_a_message(tmp_path: Path) -> None:
    (tmp_path / "lab.toml").write_text(SHORT)
    code, _, errors = call("run", "lab.toml", folder=tmp_path, limits=[(resource.RLIMIT_FSIZE, 2000)])
    assert (code, "error: [Errno 27]" in errors) == (1, True), errors


def test_standard_output_that_takes_nothing_is_one_message() -> None:
    for errors in (subprocess.PIPE, "/dev/full"):
        with Path("/dev/full").open("wb") as full:
            err = full if isinstance(errors, str) else errors
            done = subprocess.run([COMMAND, "list"], stdout=full, stderr=err, check=False)
        assert done.returncode == 1
        assert done.stderr in (None, b"error: [Errno 28] No space left on device\n")


@pytest.mark.parametrize("address", ["nonsense", "a b://c:1"])
def test_a_cluster_that_is_no_address_is_refused(tmp_path: Path, address: str) -> None:
    (tmp_path / "lab.toml").write_text(SHORT)
    sweep = 'scenario = "lab.toml"\nreplications = 2\n[grid]\n"run.duration" = ["1 s"]\n'
    (tmp_path / "sweep.toml").write_text(sweep)
    code, _, errors = call("sweep", "sweep.toml", "--cluster", address, folder=tmp_path)
    assert code == 2, errors
    assert f"error: the cluster {address}: this is no address of a scheduler" in errors


class _Page(BaseHTTPRequestHandler):
    """A server that is none of Dask's."""

    def do_GET(self) -> None:
        """Send an empty page."""
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@pytest.mark.parametrize("server", ["closed", "web", "silent"])
def test_a_cluster_at_which_no_scheduler_answers_is_refused(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("roamlab.running.executor.CONNECT_S", 1.0)
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        ThreadingHTTPServer(("127.0.0.1", 0), _Page) as web,
    ):
        Thread(target=web.serve_forever, daemon=True).start()
        port = {"web": web.server_port, "silent": silent.getsockname()[1]}.get(server)
        if port is None:
            with socket.create_server(("127.0.0.1", 0)) as closed:
                port = closed.getsockname()[1]
        cluster = rl.DaskCluster(f"tcp://127.0.0.1:{port}")
        with pytest.raises(
            rl.BadInput, match=rf"the cluster tcp://127.0.0.1:{port}: no Dask scheduler answers"
        ):
            cluster.execute([], None, lambda *_: None, tables=False)  # type: ignore[arg-type]
        web.shutdown()


@pytest.mark.parametrize("variables", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONUTF8": "0"}])
def test_an_output_without_unicode_is_readable(variables: dict[str, str], made: Path) -> None:
    environment = os.environ | variables | {"PYTHONCOERCECLOCALE": "0"}
    for arguments in (["list"], ["why", str(made)], ["list", "profile", "rfc"]):
        done = subprocess.run(
            [COMMAND, *arguments], env=environment, capture_output=True, encoding="ascii", check=False
        )
        assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr


@pytest.mark.parametrize("command", ["chart", "draw", "explore"])
def test_what_a_killed_drawing_left_is_deleted_by_the_next(tmp_path: Path, made: Path, command: str) -> None:
    draft = tmp_path / ".roamlab-0123456789abcdef"
    draft.write_text("half")
    source = made if command != "draw" else tmp_path / "lab.toml"
    (tmp_path / "lab.toml").write_text(SHORT)
    out = tmp_path / ("page.html" if command == "explore" else "page.svg")
    assert call(command, source, "--out", out, folder=tmp_path)[0] == 0
    assert not draft.exists()


def test_the_handler_of_interrupts_is_there_before_any_module_is_read() -> None:
    """Imports before this point belong to the interpreter: an interrupt there is its traceback."""
    program = (
        "import sys, _signal\n"
        "before, real, seen = {*sys.modules}, _signal.signal, []\n"
        "def note(*of): seen.append({*sys.modules} - before); return real(*of)\n"
        "_signal.signal = note\n"
        "import roamlab.__main__\n"
        "print(sorted(seen[0]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "['__future__', 'gc', 'roamlab', 'roamlab.__main__']\n", done.stderr


def test_an_interrupt_within_polars_waits_for_its_end() -> None:
    """Its engine calls Python, and prints a panic if that raises. Here a function of such a module is interrupted."""
    program = (
        "import signal, time, roamlab.__main__ as program, roamlab.cli as cli\n"
        "place = {'__name__': 'polars.planted', 'signal': signal}\n"
        "exec('def call():\\n signal.raise_signal(signal.SIGINT)\\n return 7', place)\n"
        "def command():\n"
        "    print(place['call'](), flush=True)\n"
        "    time.sleep(20)\n"
        "cli.main = command\n"
        "program.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=15
    )
    assert (done.returncode, done.stdout) == (130, "7\n"), done.stderr
    assert "Traceback" not in done.stderr


def test_an_interrupt_ends_with_130_at_any_moment(tmp_path: Path) -> None:
    """From the first import on. Before it the interpreter itself is not ready."""
    (tmp_path / "lab.toml").write_text(SHORT)
    for wait in (0.03, 0.06, 0.1, 0.2, 0.3, 0.4, 0.6):
        program = "import roamlab.__main__ as p, sys; print(flush=True); sys.argv[1:] = ['run', 'lab.toml']; p.main()"
        running = subprocess.Popen(
            [sys.executable, "-c", program],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert running.stdout is not None
        running.stdout.readline()
        time.sleep(wait)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
        assert running.returncode in (0, 130), errors
        assert "Traceback" not in errors
        assert "Exception ignored" not in errors
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
