"""`roamlab shell`: programs in separate namespaces on this machine, in real time."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import roamlab as rl
from conftest import COMMAND, ROOT
from namespaces import need_namespaces
from roamlab.base.errors import BadInput
from roamlab.causes.explain import explain
from roamlab.pages import run_page
from roamlab.records import live
from roamlab.records.storage.store import Store, open_run
from roamlab.shell import ends, session
from roamlab.shell.session import Session, lateness, perform, with_program

EXAMPLE = ROOT / "examples/real-time.toml"
ECHO = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 7))
while True:
    s.sendto(*s.recvfrom(2000))
"""
PROBES = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(0.02)
cards = [name for _, name in socket.if_nameindex()]
sent, back, begin = 0, 0, time.monotonic()

def take():
    begun = float(s.recv(100))
    return time.monotonic() - begun >= 0.032

while time.monotonic() < begin + 1.4:
    s.sendto(b"%f" % time.monotonic(), ("server", 7))
    sent += 1
    try:
        until = time.monotonic() + 0.02
        while time.monotonic() < until:
            back += take()
    except TimeoutError:
        pass
s.settimeout(0.5)
try:
    while True:
        back += take()
except TimeoutError:
    pass
print(cards, sent, back)
"""


@pytest.fixture(scope="module")
def _namespaces() -> None:
    need_namespaces()


def _short() -> rl.Scenario:
    moves = [{"cell": "bs1", "at": "0 s"}, {"cell": "bs2", "at": "700 ms"}]
    return rl.load(EXAMPLE).set_all(
        {"run.duration": "8 s", "hosts.mh.visits": moves, "flows.call.app.start": "100 ms"}
    )


@pytest.mark.usefixtures("_namespaces")
def test_a_program_s_packets_go_through_the_scenario_and_its_record(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = socket.if_nameindex()
    server, program = tmp_path / "echo.py", tmp_path / "probes.py"
    server.write_text(ECHO, encoding="utf-8")
    program.write_text(PROBES, encoding="utf-8")
    made = perform(
        Session(
            _short(),
            "mh",
            command=(sys.executable, str(program)),
            serve=(f"{sys.executable} {server}",),
        )
    )
    assert made.status == 0
    assert socket.if_nameindex() == before
    found = re.search(r"\['lo', 'roamlab0'\] (\d+) (\d+)", capfd.readouterr().out)
    assert found is not None
    sent, back = map(int, found.groups())
    results = made.results
    up, down = (results.flows.row(by_predicate=_flow(name), named=True) for name in session.FLOWS)
    assert up["sent_pkts"] == sent
    assert up["delivered_pkts"] == down["sent_pkts"]
    # The program counts those that took as long as the links require.
    assert down["delivered_pkts"] == back > 10
    assert up["kind"] == "program"
    arrived = results.columns("deliveries")
    silence = np.diff(arrived["time_ns"][arrived.where("flow", "program-down")])
    assert silence.max() > 300e6, "the handover's gap"
    assert results.flows.row(by_predicate=_flow("call"), named=True)["delivered_pkts"] > 10
    # It ended with the program, and is a run like any other.
    assert 1.3e9 < results.manifest.outline.duration_ns < 8e9
    late = results.manifest.live["lateness"]
    assert late["packets"] == up["delivered_pkts"] + down["delivered_pkts"]
    assert late["p50_ns"] > 0
    folder = Store(tmp_path / "runs").write(results)
    kept = open_run(folder)
    assert kept.manifest == results.manifest
    assert kept.manifest.key == folder.name
    assert any("program" in each.stall.flow for each in explain(kept))
    page, note = run_page.make(kept, tmp_path)
    assert note == ""
    assert "Real time" in [table.title for table in page.tables]
    with pytest.raises(rl.ScenarioError, match=r"app\.kind.*real time alone.*\n(.|\n)*roamlab shell"):
        rl.run(rl.Scenario(kept.manifest.scenario_text))


def _flow(name: str) -> pl.Expr:
    """The row of a flow."""
    return pl.col("flow").cast(pl.String) == name


@pytest.mark.usefixtures("_namespaces")
def test_the_run_ends_the_program_at_its_duration_and_its_exit_code_is_passed_on(tmp_path: Path) -> None:
    def shell(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [
                *(COMMAND, "shell", str(EXAMPLE), "--node", "mh", "--set", "run.duration=500 ms"),
                *("--out", str(tmp_path), "--", *command),
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )

    endless = shell("/bin/sh", "-c", "trap '' TERM; sleep 100 & wait; sleep 100")
    assert endless.returncode == 0, endless.stderr
    assert "lengthen `run.duration`" in endless.stderr
    assert "mh 11.0.0." in endless.stderr
    assert "program at mh" in endless.stdout
    failed = shell("/bin/sh", "-c", "exit 7")
    assert failed.returncode == 7, failed.stderr
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.usefixtures("_namespaces")
def test_kills_leave_nothing_behind() -> None:
    """Five here, 200 with `make deep`."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/crash/shell.py"), "5"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "killed at 5 moments, 0 faults" in done.stdout


def test_a_run_whose_packets_are_late_is_marked() -> None:
    late = np.full(10_000, 20_000, dtype=np.uint64)
    late[:9] = 5_000_000
    good = lateness(late)
    assert good == {
        "packets": 10_000,
        "p50_ns": 20_000,
        "p99_ns": 20_000,
        "p999_ns": 20_000,
        "max_ns": 5_000_000,
        "events": 0,
        "late_events": 0,
        "comparable": True,
    }
    late[:11] = 5_000_000
    bad = lateness(late)
    assert (bad["p999_ns"], bad["comparable"]) == (5_000_000, False)
    told = {"lateness": bad}
    assert live.warnings(told) == [
        "not comparable with other runs: the lateness of its packets has a p99.9 of 5.00 ms, above 1 ms"
    ]
    assert live.warnings({"lateness": good}) == live.warnings({}) == []
    assert lateness(late[:0])["comparable"]
    # A simulation that is late without a packet of the program.
    assert lateness(late[:0], 1000, 1)["comparable"]
    slow = lateness(late[:0], 1000, 2)
    assert not slow["comparable"]
    assert "slower than the clock, 2 of its 1,000 events" in live.warnings({"lateness": slow})[0]


@pytest.mark.parametrize(
    ("node", "peer", "problem"),
    [
        ("mhh", "server", r"--node mhh.*no such host(.|\n)*did you mean 'mh'"),
        ("mh", "sever", r"--peer sever(.|\n)*did you mean 'server'"),
        ("mh", "mh", r"--peer mh: it is the program's own node"),
    ],
)
def test_nodes_that_are_none_are_refused(node: str, peer: str, problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        with_program(rl.load(EXAMPLE), node, peer)


def test_what_cannot_be_in_real_time_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = rl.load(EXAMPLE)
    with pytest.raises(BadInput, match=r"(?s)fields? flows\[1\]\.app\.kind.*leave this flow out"):
        with_program(with_program(scenario, "mh", "server"), "mh", "server")
    kernel = scenario.to_dict()
    kernel["flows"][0] |= {"transport": {"kind": "linux"}, "app": {"kind": "ftp"}}
    with pytest.raises(BadInput, match=r"(?s)flows\[0\]\.transport\.kind.*kernel in simulated time.*linux-6"):
        with_program(rl.Scenario.from_dict(kernel), "mh", "server")
    with pytest.raises(BadInput, match=r"--node: bs2 is a base station(.|\n)*write --node mh"):
        perform(Session(scenario, "bs2", command=("true",)))
    with pytest.raises(BadInput, match=r"--peer: the scenario has no flow of gw(.|\n)*write --peer "):
        perform(Session(scenario, "gw", command=("true",)))
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(BadInput, match=r"iperf3: there is no such program(.|\n)*apt-get install iperf3"):
        perform(Session(scenario, "mh", command=("iperf3",)))
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(BadInput, match=r"this is darwin(.|\n)*expected: Linux"):
        perform(Session(scenario, "mh"))


def test_what_the_machine_does_not_permit_is_told_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The process inside reports it; here one that may not open the card."""
    refusing = tmp_path / "inside.py"
    text = Path(ends.inside.__file__).read_text(encoding="utf-8")
    assert text.count('"/dev/net/tun"') == 1
    refusing.write_text(text.replace('"/dev/net/tun"', '"/dev/net/none"'), encoding="utf-8")
    monkeypatch.setattr(ends.inside, "__file__", str(refusing))
    with ends.End("mh") as end, pytest.raises(BadInput, match=r"(?s)roamlab shell: .*help: (load it|permit)"):
        end.make_card("11.0.0.1", "10.0.0.1", {})


STEALS = """
import ctypes, glob, json, os, socket, sys
found = []
for name in os.listdir("/proc/self/fd"):
    try:
        link = os.readlink(f"/proc/self/fd/{name}")
    except OSError:
        continue
    if link.startswith("socket:"):
        found.append(link)
        socket.socket(fileno=int(name)).send(json.dumps({"status": 42, "counted": {"RetransSegs": 10**6}}).encode())
libc = ctypes.CDLL(None, use_errno=True)
for process in (1, os.getppid()):
    file = libc.syscall(434, process, 0)
    for number in range(3, 20):
        if file >= 0 and libc.syscall(438, file, number, 0) >= 0:
            found.append((process, number))
    if libc.ptrace(16, process, 0, 0) == 0:
        found.append(("traced", process))
print("found", found)
sys.exit(5)
"""
"""Looks for the socket to `roamlab shell`: among its files, and in those of its parent (pidfd_getfd(2), ptrace(2))."""

WRITES = """
import ctypes, os
libc = ctypes.CDLL(None)
for place in (b"/proc/sys", b"/proc/sysrq-trigger", b"/sys"):
    libc.mount(None, place, None, ctypes.c_ulong(32 | 4096), None)
    libc.umount2(place, 2)
libc.mount(b"proc", b"/mnt", b"proc", ctypes.c_ulong(0), None)
written = []
of_proc = ("sys/kernel/hostname", "sys/vm/swappiness", "sys/fs/file-max", "sysrq-trigger")
for path in (f"{root}/{name}" for root in ("/proc", "/mnt") for name in of_proc):
    try:
        os.close(os.open(path, os.O_WRONLY))
        written.append(path)
    except OSError:
        pass
for folder, _, files in os.walk("/sys/kernel"):
    for name in files:
        try:
            os.close(os.open(f"{folder}/{name}", os.O_WRONLY))
            written.append(f"{folder}/{name}")
        except OSError:
            pass
with open("/proc/sys/net/ipv4/tcp_sack", "w") as file:
    file.write("0")
print("opened", written, open("/proc/sys/net/ipv4/tcp_sack").read().strip())
"""
"""Tries to mount what is the machine's so that it can be written (MS_REMOUNT 32, MS_BIND 4096), to unmount what
protects it, and to mount another /proc. Then it opens what is the machine's for writing, and writes nothing; what is
the network's it changes."""


@pytest.mark.usefixtures("_namespaces")
def test_a_program_cannot_say_how_it_ended(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "steals.py").write_text(STEALS, encoding="utf-8")
    made = perform(Session(_short(), "mh", command=(sys.executable, str(tmp_path / "steals.py"))))
    assert "found []" in capfd.readouterr().out
    assert made.status == 5
    assert made.results.manifest.live["tcp"]["mh"].get("RetransSegs", 0) < 1000


@pytest.mark.usefixtures("_namespaces")
def test_a_program_changes_settings_of_its_network_alone(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = Path("/proc/sys/net/ipv4/tcp_sack").read_text("utf-8")
    (tmp_path / "writes.py").write_text(WRITES, encoding="utf-8")
    made = perform(Session(_short(), "mh", command=(sys.executable, str(tmp_path / "writes.py"))))
    assert (made.status, "opened [] 0" in (said := capfd.readouterr().out)) == (0, True), said
    assert Path("/proc/sys/net/ipv4/tcp_sack").read_text("utf-8") == before
