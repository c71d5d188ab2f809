"""A run in real time: a program between two nodes of a scenario, and the record of it."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from roamlab import _roamlab
from roamlab.base import quantities
from roamlab.base.errors import BadInput, did_you_mean
from roamlab.base.limits import memory_per_run
from roamlab.records.analysis import NEEDED
from roamlab.records.manifest import describe
from roamlab.records.results import from_engine
from roamlab.scenarios.scenario import Scenario
from roamlab.shell.ends import End, hand_over

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from roamlab.records.results import Results

FLOWS = ("program-up", "program-down")
"""The flows of the program's packets: from its node to the peer, and back."""

COMPARABLE_NS = 1_000_000
"""A run in which more than one packet or event of a thousand is later than this is not comparable with others."""

PACKAGES = {
    "iperf3": "iperf3",
    "ping": "iputils-ping",
    "curl": "curl",
    "ip": "iproute2",
    "nc": "netcat-openbsd",
}
"""Programs and the packages of Debian and Ubuntu that have them."""


@dataclass(frozen=True)
class Session:
    """Requested programs: a program at a node, and servers at another one."""

    scenario: Scenario
    node: str
    peer: str = ""
    """Empty: the other end of the first flow of the node."""
    command: tuple[str, ...] = ()
    """Empty: the user's shell."""
    serve: tuple[str, ...] = ()
    seed: int = 1
    run: int = 0
    began: Callable[[str], None] = field(default=lambda _: None)
    """A line with the addresses of the nodes."""


@dataclass(frozen=True)
class Outcome:
    """A run, and the exit status of the program; `None` if the run ended before it."""

    results: Results
    status: int | None


def perform(session: Session) -> Outcome:
    """Run the program until it or the run ends. Raises `BadInput` for what the machine or the scenario lacks."""
    _check_machine()
    command = list(session.command) or [os.environ.get("SHELL") or "/bin/sh"]
    _check_command(command[0])
    peer = session.peer or _peer_of(session.scenario, session.node)
    scenario = with_program(session.scenario, session.node, peer)
    memory = memory_per_run()
    with ExitStack() as stack:
        stack.enter_context(_interrupts_for_the_program())
        here, there = (stack.enter_context(End(name)) for name in (session.node, peer))

        def begin(socket: int, addresses: list[str]) -> None:
            names = dict(zip((session.node, peer), addresses, strict=True))
            cards = [
                end.make_card(own, other, names)
                for end, own, other in zip((here, there), addresses, addresses[::-1], strict=True)
            ]
            there.serve(list(session.serve))
            session.began(f"{session.node} {addresses[0]} to {peer} {addresses[1]}")
            hand_over(socket, [*cards, os.dup(here.fileno())])
            here.run(command)

        started = datetime.now(UTC)
        with _first_in_line() as scheduling:
            tables, late, end_ns, misaddressed, refused, *events = _roamlab.live(
                scenario.text, scenario.name, session.seed, session.run, memory, begin
            )
        status, counted = here.finish()
        _, counted_there = there.finish()
    live = {
        "node": session.node,
        "peer": peer,
        "command": command,
        "serve": list(session.serve),
        "started": started.isoformat(timespec="milliseconds"),
        "system": f"{os.uname().sysname} {os.uname().release}",
        "scheduling": scheduling,
        "status": status,
        "lateness": lateness(late, *events),
        "tcp": {session.node: counted, peer: counted_there},
    }
    lost = {"for other addresses than those of the two nodes": misaddressed, "not taken by a card": refused}
    warnings = [
        f"{quantities.counted(count, 'packet of programs was', 'packets of programs were')} {what}, and lost"
        for what, count in lost.items()
        if count
    ]
    ended = (
        scenario if end_ns >= scenario.outline.duration_ns else scenario.set("run.duration", f"{end_ns} ns")
    )
    manifest = describe(ended, session.seed, session.run)
    manifest = replace(manifest, live=live, warnings=[*scenario.warnings, *warnings])
    return Outcome(from_engine(tables, manifest), status)


def with_program(scenario: Scenario, node: str, peer: str) -> Scenario:
    """The scenario with the flows of a program between two nodes. Raises `BadInput` where it cannot have them."""
    found = scenario.expanded()
    nodes = _nodes(found)
    for option, name in (("--node", node), ("--peer", peer)):
        if name not in nodes:
            raise BadInput(
                f"{option} {name}",
                f"the scenario {scenario.name} has no such host or node",
                expected=f"one of {', '.join(nodes[:20])}{' and others' if len(nodes) > 20 else ''}",
                remedy=did_you_mean(name, nodes, "write the name of one of them"),
            )
    if node == peer:
        raise BadInput(
            f"--peer {peer}",
            "it is the program's own node",
            expected="another node",
            remedy="leave it out: the other end of the node's first flow is taken",
        )
    for number, flow in enumerate(found["flows"]):
        if flow["transport"]["kind"] == "linux" or flow["app"]["kind"] == "program":
            kernel = flow["transport"]["kind"] == "linux"
            raise BadInput(
                f"{scenario.name}, field flows[{number}].{'transport' if kernel else 'app'}.kind",
                "a kernel in simulated time cannot run in real time"
                if kernel
                else "a run in real time adds the flows of its program itself",
                expected="flows that are simulated",
                remedy='write kind = "tcp", with run.profile = "linux-6", or leave the flow out'
                if kernel
                else "leave this flow out",
            )
    data = scenario.to_dict()
    data["record"] = data.get("record", {}) | dict.fromkeys(NEEDED, True)  # it cannot be made again with them
    paths = zip(FLOWS, ([node, peer], [peer, node]), strict=True)
    data["flows"] = [
        *data.get("flows", []),
        *({"name": name, "path": path, "app": {"kind": "program"}} for name, path in paths),
    ]
    return Scenario.from_dict(data, scenario.name, " with the flows of a program")


def _nodes(found: dict[str, Any]) -> list[str]:
    """The names of hosts, cells and nodes, hosts first."""
    ends = [name for link in found.get("links", []) for name in link["between"]]
    cells = found.get("cells", {})
    routers = [cell["router"] for cell in cells.values()]
    return list(dict.fromkeys([*(host["name"] for host in found.get("hosts", [])), *ends, *routers, *cells]))


def _peer_of(scenario: Scenario, node: str) -> str:
    """The other end of a node's first flow."""
    found = scenario.expanded()
    for flow in found["flows"]:
        if node in flow["path"]:
            one, other = flow["path"]
            return str(other if one == node else one)
    nodes = _nodes(found)
    if node not in nodes:
        return node  # which is refused
    hosts = [host["name"] for host in found["hosts"]]
    cells = found.get("cells", {})
    others = [name for name in nodes if name != node and name not in cells]
    if node in cells and hosts:
        raise BadInput(
            "--node",
            f"{node} is a base station",
            expected="the node at which the program is",
            remedy=f"write --node {hosts[0]}, for a program at a host",
        )
    raise BadInput(
        "--peer",
        f"the scenario has no flow of {node}, so its other end is not known",
        expected="the node at which the servers are",
        remedy=f"write --peer {(others or nodes)[-1]}, for example",
    )


def lateness(late: NDArray[np.uint64], events: int = 0, late_events: int = 0) -> dict[str, Any]:
    """How late packets left: the times below which one half, 99 % and 99.9 % of them are, in ns.

    And how many `events` the simulation had, with those that happened more than 1 ms behind their time. A simulation
    that is slower than the clock is late without a packet, too.
    """
    quantiles = (
        [int(np.percentile(late, q, method="inverted_cdf")) for q in (50, 99, 99.9, 100)]
        if late.size
        else [0] * 4
    )
    return {
        "packets": int(late.size),
        **dict(zip(("p50_ns", "p99_ns", "p999_ns", "max_ns"), quantiles, strict=True)),
        "events": events,
        "late_events": late_events,
        "comparable": quantiles[2] <= COMPARABLE_NS and 1000 * late_events <= events,
    }


def _check_machine() -> None:
    if sys.platform != "linux" or not hasattr(_roamlab, "live"):
        raise BadInput(
            "roamlab shell",
            f"this is {sys.platform}"
            if sys.platform != "linux"
            else "this build of the engine has no real time",
            expected="Linux, with a build of the engine for it (feature `linux`)",
            remedy="run it in a virtual machine with Linux, or simulate the flow with `roamlab run`",
        )


def _check_command(program: str) -> None:
    if shutil.which(program):
        return
    package = PACKAGES.get(Path(program).name)
    raise BadInput(
        program,
        "there is no such program",
        expected="a program, behind `--`",
        remedy=f"install it with `sudo apt-get install {package}`"
        if package
        else "install it, or write its path",
    )


@contextmanager
def _first_in_line() -> Iterator[str]:
    """Put this thread before all others, if it may be; how it is scheduled. Its children are as others."""
    before, parameters = os.sched_getscheduler(0), os.sched_getparam(0)
    first = os.sched_param(os.sched_get_priority_min(os.SCHED_FIFO))
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, first)
    except PermissionError:
        yield "normal: SCHED_FIFO is not permitted"
        return
    try:
        yield "SCHED_FIFO"
    finally:
        os.sched_setscheduler(0, before & ~os.SCHED_RESET_ON_FORK, parameters)


@contextmanager
def _interrupts_for_the_program() -> Iterator[None]:
    """Interrupts of the terminal are for the program: when it ends the run does. A shell gives the terminal back."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if os.isatty(0):
            stopped = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            os.tcsetpgrp(0, os.getpgrp())
            signal.signal(signal.SIGTTOU, stopped)
