"""The output of `roamlab why CAPTURE`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from roamlab.base.errors import BadInput
from roamlab.base.quantities import counted
from roamlab.base.screen import shown
from roamlab.captures import logs, moves
from roamlab.captures.explain import Answer, explain, explain_qlog, unpacked_name

if TYPE_CHECKING:
    from collections.abc import Sequence

_ENDINGS = (".pcap", ".pcapng", ".cap", ".dmp", ".qlog", ".sqlog")
_QLOG = (b'"qlog_version"', b'"file_schema"', b'"qlog_format"')
_MOST_QUIET = 10
"""Flows without a stall that are printed."""


def captures(words: Sequence[str]) -> list[Path]:
    """The captures that words name; none if they mean something else."""
    paths = [Path(word) for word in words]
    return paths if paths and all(_is_capture(path) for path in paths) else []


def _is_capture(path: Path) -> bool:
    return unpacked_name(path).endswith(_ENDINGS) or (path.is_file() and path.suffix != ".toml")


def refuse_moves() -> None:
    """Refuse a log of moves with a run."""
    raise BadInput(
        "--moves",
        "a run has its own moves",
        expected="a capture or a log with this option",
        remedy="leave out --moves",
    )


def refuse(*, changes: bool) -> None:
    """Refuse changes of a scenario's fields."""
    if changes:
        raise BadInput(
            "--set",
            "a capture is what happened, and has no fields to change",
            expected="a run folder or a scenario with this option",
            remedy="leave out --set, or make a scenario of the capture: `roamlab twin CAPTURE`",
        )


class Chosen(Protocol):
    """An answer that is printed."""

    def data(self) -> dict[str, Any]:
        """For programs."""
        ...

    def lines(self) -> list[str]:
        """As text."""
        ...


@dataclass(frozen=True)
class Flows:
    """The flows that were asked for."""

    found: Answer
    all: Answer
    """The answer about all of them."""
    moves: tuple[dict[str, Any], str] | None = None
    """The moves of the same time, for programs and as a sentence."""

    def data(self) -> dict[str, Any]:
        """The same for programs."""
        return self.found.data() | ({"moves": self.moves[0]} if self.moves else {})

    def lines(self) -> list[str]:
        """The same as text."""
        return [*([self.moves[1]] if self.moves else []), *lines(self.found)]


def answer(paths: Sequence[Path], flow: str | None, stall: int | None, moved: Path | None = None) -> Chosen:
    """The log that is asked for, or the flows, of one capture or of two; `moved`: a log of moves of the same time."""
    if len(paths) == 1 and (log := logs.read(paths[0])):
        if flow is not None or stall is not None:
            raise BadInput(
                "--flow" if flow is not None else "--stall",
                "a log has one flow, and few stalls",
                expected="a packet capture with this option",
                remedy="leave it out",
            )
        if moved is not None:
            log.tie(moves.read(moved, log.start_ns, log.length_s))
        return log
    return flows(paths, flow, stall, moved)


def flows(
    paths: Sequence[Path],
    flow: str | None,
    stall: int | None,
    moved: Path | None = None,
    path_of: str | None = None,
) -> Flows:
    """The flows of one capture or of two that are asked for; `moved`: as for `answer`, `path_of`: as for `explain`."""
    if len(paths) > 2:
        raise BadInput(
            f"why {' '.join(shown(path) for path in paths)}",
            f"these are {len(paths)} captures",
            expected="one capture, or two of the same flows at both ends",
            remedy="explain them one after the other; `mergecap` joins parts of one capture",
        )
    qlogs = [path for path in paths if path.is_file() and is_qlog(path)]
    if qlogs and len(paths) == 2:
        raise BadInput(
            " and ".join(shown(path) for path in paths),
            "a qlog is explained alone",
            expected="one qlog, or two packet captures",
            remedy="name the qlog of the end that sends the data",
        )
    found = explain_qlog(paths[0]) if qlogs else explain(paths, path_of)
    check_flows(paths, found, of_qlog=bool(qlogs))
    if moved is None:
        return Flows(chosen(found, flow, stall), found)
    near = moves.tie(found.flows, moves.read(moved, found.start_ns, found.length_s))
    return Flows(chosen(found, flow, stall), found, near)


def is_qlog(path: Path) -> bool:
    """By its name, or by its first bytes."""
    if unpacked_name(path).endswith((".qlog", ".sqlog")):
        return True
    with path.open("rb") as file:
        head = file.read(4096)
    return any(word in head for word in _QLOG)


def check_flows(paths: Sequence[Path], found: Answer, *, of_qlog: bool) -> None:
    """Refuse captures without a flow that can be explained."""
    if found.flows:
        return
    where = " and ".join(shown(path) for path in paths)
    if found.quic_packets:
        raise BadInput(
            where,
            f"it has {counted(found.quic_packets, 'packet', 'packets')} of QUIC, which is encrypted, and no TCP flow",
            expected="a TCP flow with data",
            remedy="write qlog, or use the TCP flow",
        )
    if len(paths) == 2:
        raise BadInput(
            where,
            "no TCP flow with data is in both",
            expected="captures of the same flows at both ends",
            remedy="explain each of them alone",
        )
    if of_qlog:
        raise BadInput(
            where,
            "it has no connection with packets",
            expected="a qlog with the events packet_sent and packet_received",
            remedy="log all events of transport and recovery",
        )
    raise BadInput(
        where,
        f"of its {counted(found.packets, 'packet', 'packets')} none is TCP with data",
        expected="a TCP flow with data",
        remedy="capture all packets of the flow, with 128 bytes of each: `tcpdump -i any -s 128 -w FILE`",
    )


def chosen(found: Answer, flow: str | None, stall: int | None) -> Answer:
    """The flows whose ends have this text, and of their stalls the one with this number."""
    flows = found.flows
    if flow is not None:
        flows = [each for each in flows if flow in each["flow"]]
        if not flows:
            known = [each["flow"] for each in found.flows[:5]]
            raise BadInput(
                f"--flow {flow}",
                "the capture has no such flow",
                expected=f"an address or a port as in {', '.join(known)}",
                remedy="leave --flow out to see all",
            )
    count = sum(len(each["stalls"]) for each in flows)
    if stall is not None and stall > count:
        raise BadInput(
            f"--stall {stall}",
            f"there {'is' if count == 1 else 'are'} {counted(count, 'stall', 'stalls')}",
            expected=f"a number from 1 to {count}" if count else "a capture with stalls",
            remedy="leave --stall out to see all",
        )
    numbered, kept = 0, []
    for each in flows:
        stalls = [one | {"number": numbered + at} for at, one in enumerate(each["stalls"], start=1)]
        numbered += len(stalls)
        wanted = [one for one in stalls if stall in (None, one["number"])]
        if stall is None or wanted:
            kept.append(each | {"stalls": wanted})
    return replace(found, flows=kept)


def lines(found: Answer) -> list[str]:
    """An answer as text."""
    told = [f"note: {note}" for note in found.notes]
    stalled = [flow for flow in found.flows if flow["stalls"]]
    quiet = [flow for flow in found.flows if not flow["stalls"]]
    for flow in stalled:
        told += _described(flow)
        for stall in flow["stalls"]:
            told.append(f"stall {stall['number']}: " + "\n  · ".join(stall["sentences"]))
        told += _slow(flow)
    for flow in quiet[:_MOST_QUIET]:
        told += [*_described(flow), "no stall", *_slow(flow)]
    if len(quiet) > _MOST_QUIET:
        told.append(f"{len(quiet) - _MOST_QUIET} more flows have no stall")
    return told


def _described(flow: dict[str, Any]) -> list[str]:
    """A flow, and what is known of all of it."""
    spikes = [f"{spike['sentence']}{_near(spike)}" for spike in flow["spikes"]]
    return ["\n  · ".join([*flow["sentences"], *spikes])]


def _slow(flow: dict[str, Any]) -> list[str]:
    return [f"slow period: {each['sentence']}" for each in flow["slow"] if not each["has_stall"]]


def _near(spike: dict[str, Any]) -> str:
    """The move near a spike, if a log of moves has one."""
    if not (move := spike.get("move")):
        return ""
    after = spike["time_s"] - move["time_s"]
    return f", {abs(after):.3f} s {'before' if after < 0 else 'after'} {move['name']}"
