"""The engine, compiled. Everything here is text and arrays; the package around it gives them meaning."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias, final

import numpy as np

from roamlab.records.analysis import Source

Column: TypeAlias = np.ndarray[tuple[int], np.dtype[Any]]
Tables: TypeAlias = dict[str, dict[str, Column | list[str]]]
"""Table → column → values. A text column is uint32 codes into the list `tables["names"]["table.column"]`."""

class ScenarioError(Exception):
    """The scenario cannot be used: the report has the place, the expected value and what to write."""

    field: str
    """The field: "flows[0].path[1]"; empty if the text is no TOML."""
    problem: str
    """The fault."""
    help: str
    """Text to write instead; may be empty."""

class CaptureError(Exception):
    """A capture that cannot be read."""

    file: int
    """The place of the file among those that were named, from 0."""
    packet: int
    """The packet, from 1; 0: before the first one."""
    byte: int
    """Where its record begins, from 0; of a packed file in its content."""
    problem: str
    """The fault."""
    expected: str
    """The expected content."""
    remedy: str
    """A remedy."""

class SimulationError(Exception):
    """A run violated a law (conservation of packets, order of events): the report. There is no result."""

class MemoryLimitError(SimulationError):
    """A run would have taken more memory than it may: which table has grown, and what to write. There is no result."""

@final
class Analysis:
    """The analysis of one run. `source` is a `roamlab.records.analysis.Source`; tables that were read are kept.

    Answers are JSON. `ValueError` is raised if the record lacks a column. Each question reads the tables that it needs.
    """

    def __init__(self) -> None: ...
    def stalls(self, source: Source, flow: str) -> str: ...
    def slow_periods(self, source: Source, flow: str) -> str: ...
    def troubles(self, source: Source, flow: str | None = None) -> str: ...
    def explain(self, source: Source, flow: str | None = None, place: int | None = None) -> str: ...
    def headline(self, source: Source) -> str: ...
    def wait(self, source: Source, stall: str) -> str: ...
    def timeout_rtos(self, source: Source, stall: str) -> str: ...

def explain_qlog_file(path: Path, tell: Callable[[int], None] | None = None) -> str:
    """Why the connections of a qlog stalled, as JSON; `tell` and errors as those of captures."""

def explain_captures(
    paths: list[Path], tell: Callable[[int], None] | None = None, path_of: str | None = None
) -> str:
    """Why the TCP flows of a capture stalled, or of two of the same flows, as JSON.

    With `path_of` it has the path of the flow with most data among those whose ends have this text. `tell` gets the
    bytes that were read, now and then. Raises `CaptureError`, and `OSError` if a file cannot be opened.
    """

def explore_captures(
    paths: list[Path], tell: Callable[[int], None] | None = None
) -> tuple[str, str, list[tuple[str, list[tuple[str, Column, list[str]]]]]]:
    """The answer of `explain_captures`, and the explorer's input: facts as JSON, and tables of named columns.

    A column has its values and, if these are places in a list of words, the words. Times are in ns from the first
    packet.
    `tell` and errors as those of `explain_captures`.
    """

def mark_packets(path: Path, tell: Callable[[int], None] | None = None) -> str:
    """The marks of each packet of a capture's TCP flows, as JSON: a list for each flow.

    `time_ns`; `is_again`: data below the highest number seen; `is_duplicate`: an acknowledgement that repeats a number;
    `is_closed`: one that offers no room. `tell` and errors as those of `explain_captures`.
    """

def anonymise_captures(
    paths: list[Path], places: list[Path], key: bytes, tell: Callable[[int], None] | None = None
) -> str:
    """Write each capture without addresses and payloads to the place of the same number: what was written, as JSON.

    `key` has 32 bytes, and its halves differ. Raises `CaptureError`, `ValueError` for a key or a number of places, and
    `OSError` for a file.
    """

def check(text: str, name: str, memory: int | None = None) -> str:
    """The scenario with every default filled in, as JSON. `name` is what error reports call the text."""

def line_of(text: str, field: str) -> int | None:
    """The line, from 1, of a field in a TOML text, or the closest table around it."""

def mean_rate(text: str, name: str, place: str) -> int | None:
    """The mean rate in bit/s of a link or a cell, by the name of its place in a run's tables; `None`: there is none."""

def expand(text: str, name: str, seed: int, run: int) -> str: ...
def advise(text: str, name: str) -> tuple[list[ScenarioError], int, int]:
    """Warnings about a scenario; roughly, the events of a run and the bytes of its record."""

def outline(json: str) -> tuple[int, int, bool, bool, bool, list[str]]:
    """Properties of a scenario, from its JSON as `check` gives it.

    Its duration in ns, its flows, whether hosts move, whether it generates anything, and which of the tables
    `deliveries`, `tcp` and `packets` are recorded. Raises `ValueError` if the text is no scenario.
    """

def schema() -> str:
    """The scenario's JSON Schema."""

def catalogue() -> str:
    """Names that a scenario can use, as JSON: family → rows of name and summary."""

def tcp_profile(profile: str, variant: str) -> str | None:
    """The parameters of a TCP profile for one variant, as JSON; None if there is no such profile or variant."""

def usual_variant(profile: str) -> str | None:
    """The variant of a TCP connection that names none, under a profile; None if there is no such profile."""

def tables() -> list[tuple[str, str, str, list[tuple[str, str, str, str, list[tuple[str, str]]]]]]:
    """The schemas of the tables of a run.

    For each its name, what its rows are, when it is recorded (empty: always) and its columns. For a column
    its name, type, unit (empty: none), meaning, and the words that it can hold with their meaning, if these
    are few.
    """

def replay_queue(
    queue: str, seed: int, arrivals: tuple[Any, Any, Any, Any], rates: list[tuple[int, int]]
) -> tuple[Any, Any]:
    """Fate of packets in a queue, given as JSON like `{"kind": "codel"}`, before a link.

    `arrivals` are arrays in order of time: times in ns (uint64), sizes in bytes and flows (uint32), ECN bits (uint8);
    `rates` when the link has which rate in bit/s, the first from 0. Gives when each packet left the queue, in ns, and
    how: 0 served, 1 marked, 2 dropped. Random numbers belong to packets and follow from the seed. Raises `ValueError`.
    """

def constants() -> str:
    """Lists that the package shares with the analyses of a record, as JSON: `roamlab.records.constants` reads them."""

def version() -> str:
    """The version of the package."""

def build_hash() -> str:
    """A hash of the engine's sources."""

def behaviour() -> str:
    """The number of the engine's behaviour: a digest of what the recorded random runs do.

    Builds with equal numbers give equal results wherever these runs reach.
    """

def run(
    text: str,
    name: str,
    seed: int,
    run: int,
    trace: int | None = None,
    memory: int | None = None,
    tell: Callable[[int, int], None] | None = None,
    capture: list[str] | None = None,
) -> Tables:
    """One run. `trace` is the serial number of the packet whose way is recorded.

    `capture` names nodes and links: packets that go by there are in the table `frames`, the bytes of their headers in
    `frame_bytes`.

    Raises `ScenarioError` before the network is generated if that takes more than `memory` bytes, and
    `MemoryLimitError` before the record does. `tell(now_ns, events)` is called some times a second.
    """

def run_many(
    jobs: Iterable[tuple[str, str, int, int]],
    threads: int,
    sink: Callable[[int, Tables], None],
    wanted: Callable[[int], list[str] | None] | None = None,
    memory: int | None = None,
    tell: Callable[[int, int], None] | None = None,
    pieces: Callable[[int, Tables], None] | None = None,
    totals: Callable[[int, dict[str, list[Any]], list[tuple[str, str, int]]], None] | None = None,
) -> None:
    """Runs `(text, name, seed, run)` in parallel with the interpreter's lock released.

    `jobs` is asked for the next as threads fall idle, so it may be as long as one likes. `sink(index, tables)` is
    called as each run ends, in any order. `wanted(index)` is called when a job is handed out. It lists the requested
    tables by their names and columns as "table.column", or is None for all of the record. Other tables are not
    recorded, other columns left out. Stops promptly when any of these raises. `memory` and `tell` are those of
    `run`, for each run and for one under way.

    With `pieces` a long table is delivered during its run: `pieces(index, {table: columns, "names": ...})`
    gets its rows from the first to the last, 2^16 or more at a time, and `sink` does not get that table. Only
    the first piece of a table has names, all of them.

    `totals(index, flows, lost)` is called before `sink`, and before NumPy is loaded: `flows` are the columns of that
    table as lists, `lost` place, reason and number of lost packets, sorted. It takes no table that went to `pieces`.
    """

def live(
    text: str,
    name: str,
    seed: int,
    run: int,
    memory: int,
    hand: Callable[[int, list[str]], None],
) -> tuple[Tables, Column, int, int, int, int, int]:
    """One run in real time of a scenario with two flows of programs, one each way. Builds for Linux alone have it.

    `hand(socket, addresses)` is called once it can begin, with the addresses of the first flow's sender and receiver.
    It sends three files in one message by the socket of this number, which it closes. These are the cards of
    both nodes, whose reads do not block, and a file that can be read once the program has ended.

    Returns the tables; of each packet that a card was handed how late it was, in ns; the end, in ns; how many packets
    were for neither node; how many a card did not take. Raises as `run` does;
    how many events of the simulation there were, and how many happened more than 1 ms late.
    """
