"""Traces of senders and receivers, of Roamlab and others, as one kind of event. One file reads one format.

| letter | event | what | value |
| --- | --- | --- | --- |
| `S` | the sender puts a data segment on its first link | its number | 1 if sent again |
| `K` | the receiver emits an ACK | the last segment in order | its bytes on the wire |
| `A` | a data segment arrives at its receiver | its number | |
| `D` | a data packet is lost | its number | |
| `B` | an ACK is lost | its number | |
| `Q` | a data packet arrives at the bottleneck's queue | its number | packets waiting |
| `M` | a packet leaves the bottleneck marked | its number | |
| `V` | a sender's variable changed | its name | its value |
| `R` | a RED queue's variable changed | its name | its value |
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from roamlab.base.errors import BadInput, within
from roamlab.traces.text import is_text, lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Set

    from roamlab.traces.event import Event

FORMATS = {
    "golden": "recorded ns-2 runs: CSV with the header t_us,ev,flow,x,y, perhaps gzipped",
    "ns2": "ns-2's packet trace: 12 columns or more, each line beginning with + - r d",
    "ns2-variables": "ns-2's traced variables: `f -t 0.1 -a _o84 -n cwnd_ -v 2`, or `0.1 0 0 3 0 cwnd_ 2.000`",
    "xgraph": 'pairs of time in s and value, each set under a line "title"',
    "run": "a run folder, or one Parquet table in it",
}
"""The formats, in the order in which they are tried, and what each is."""


class Reader(Protocol):
    """A module that reads one format."""

    def recognises(self, path: Path, head: list[str], /) -> bool:
        """True if the file is of this format; `head` is its first lines, none if it is not text."""

    def offers(self, path: Path, /) -> Set[str]:
        """The kinds of event and the variables that there may be."""

    def events(self, path: Path, /) -> Iterator[Event]:
        """The events, in the order of time."""

    def locate(self, path: Path, event: Event, /) -> str:
        """Place of an event."""


@dataclass(frozen=True)
class Trace:
    """A file or folder and the reader for it."""

    path: Path
    format: str
    reader: Reader

    def events(self) -> Iterator[Event]:
        """The events; refuses one that is earlier than the one before it."""
        before = 0
        with within(self.path):
            for event in self.reader.events(self.path):
                if event.time_ns < before:
                    raise BadInput(
                        self.reader.locate(self.path, event),
                        f"time goes back, from {before / 1e9:.9f} s to {event.time_ns / 1e9:.9f} s",
                        expected="events in the order of time",
                        remedy="sort the file by time",
                    )
                before = event.time_ns
                yield event

    def offers(self) -> Set[str]:
        """The kinds of event and the variables that there may be."""
        with within(self.path):
            return self.reader.offers(self.path)

    def locate(self, event: Event) -> str:
        """Place of an event."""
        return self.reader.locate(self.path, event)


_PROGRAMS = (".tcl", ".cc", ".cpp", ".py", ".ned", ".ini", ".toml", ".sh")
"""Ends of the names of programs and their inputs."""


def open_trace(path: str | Path, form: str | None = None) -> Trace:
    """The trace at `path`, in a format of `FORMATS` or the one that it looks like."""
    path = Path(path)
    if not path.exists():
        raise BadInput(path, "no such file or folder", expected="a trace", remedy="check the path")
    if form is not None:
        if path.is_dir() and form != "run":
            raise BadInput(path, "it is a folder", expected=f"a file: {FORMATS[form]}", remedy="name a file")
        return Trace(path, form, _reader(form))
    head: list[str] = []
    if is_text(path):
        for _, line in lines(path):
            head += [line] if line.strip() else []
            if len(head) == 10:
                break
    for name in FORMATS:
        if _reader(name).recognises(path, head):
            return Trace(path, name, _reader(name))
    raise BadInput(
        f"{path}:1:1" if head else path,
        f"the format is not known: {head[0][:60]!r}" if head else "it is empty, not text, and no run folder",
        expected="one of " + "; ".join(f"{name}: {what}" for name, what in FORMATS.items()),
        remedy="this is a program, not its trace: run it, and name the file that it writes"
        if path.suffix.lower() in _PROGRAMS
        else "force a format with --format to see which line does not fit",
    )


def _reader(form: str) -> Reader:
    return cast("Reader", import_module(f"roamlab.traces.{form.replace('-', '_')}"))
