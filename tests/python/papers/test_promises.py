"""Losses, duplicates and reordering of each named protocol in a handover, and the promises of its design.

`python tests/python/papers/test_promises.py` writes docs/models/promises.md again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import polars as pl
import pytest

from conftest import ROOT
from roamlab.running.run import run
from roamlab.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = ROOT / "docs/models/promises.md"

_WIRES = (
    ("ch", "gw", 20),
    ("gw", "r1", 5),
    ("gw", "r2", 5),
    ("r1", "ar1", 5),
    ("r1", "ar2", 5),
    ("r2", "ar3", 5),
)
_AIR, _DOWN, _GAP, _OVERLAP = 3, 6, 100, 200
_UP = _AIR + _DOWN
"""In ms: the air, from cross-over to base station, layer 2's gap and overlap; from host to cross-over."""
_LATE = _GAP + _UP + _DOWN
"""Datagrams that arrive until the cross-over knows, and those that had passed it."""
_BETWEEN = 2 * _DOWN
"""From base station to base station."""

_GAP_OF = f'kind = "hard"\ngap = "{_GAP} ms"'
_OVERLAP_OF = f'kind = "soft"\noverlap = "{_OVERLAP} ms"'
_SLACK = 3
"""Transmission times, and the datagram at either edge."""
_LEAD, _KEPT, _EQUALISED, _BICAST = 100, 500, 20, 100
"""The trigger's lead in ms; a large buffer in packets; the semisoft delay equaliser, and the bicast time, in ms."""
_BEACON, _NOTIFIED = 50, 12
"""Of Mobile IP in ms: the wait for a beacon, and T_N, from the beacon to the new agent."""
_PREPARED = 2 * _AIR + 3 * _BETWEEN
"""FMIPv6: prrtadv and fbu over the air, hi, hack, and the first packet through the tunnel."""

_SOURCE = 'trigger = { by = "source" }'


@dataclass(frozen=True)
class Bound:
    """Limits of one handover, in datagrams, at one a millisecond."""

    lost: int
    """As many as this, give or take `_SLACK`; 0: none."""
    again: int = 0
    """Come twice at most."""
    overtaken: int = 0
    """One that comes is overtaken by this number at most."""


@dataclass(frozen=True)
class Design:
    """A named protocol, with what its design promises of a gap and of an overlap."""

    name: str
    page: str
    fields: str
    promise: str
    gap: Bound
    overlap: Bound


def _mandm(name: str, fields: str, promise: str, gap: Bound, overlap: Bound) -> Design:
    return Design(f"M&M {name}", "mandm", f'kind = "mandm"\n{fields}', promise, gap, overlap)


_NONE = Bound(0)
_BOTH = Bound(0, again=_OVERLAP)
_NO_BUFFER, _LARGE = 'buffer = { limit = "0 pkt" }', f'limit = "{_KEPT} pkt"'

DESIGNS = (
    Design("Cellular IP hard", "cellular-ip", 'kind = "cellular-ip"', "nothing", Bound(_LATE), _NONE),
    Design(
        "Cellular IP semisoft",
        "cellular-ip",
        f'kind = "cellular-ip"\nhandoff = "semisoft"\n{_SOURCE}',
        "no loss in an overlap; in a gap, what the equaliser of 20 ms holds back",
        Bound(_GAP - _EQUALISED - _AIR),
        _BOTH,
    ),
    Design(
        "HAWAII UNF",
        "hawaii",
        'kind = "hawaii"\nscheme = "unf"',
        "no loss in an overlap",
        Bound(_LATE),
        _NONE,
    ),
    Design(
        "HAWAII MNF",
        "hawaii",
        'kind = "hawaii"\nscheme = "mnf"',
        "no loss in an overlap, copies for the bicast time",
        Bound(_LATE),
        Bound(0, again=_BICAST),
    ),
    Design(
        "HAWAII MSF",
        "hawaii",
        f'kind = "hawaii"\nscheme = "msf"\nbuffer = {{ at = "old", {_LARGE} }}',
        "no loss; several streams, out of order",
        Bound(0, overtaken=_LATE + _BETWEEN),
        Bound(0, overtaken=_BETWEEN),
    ),
    Design(
        "HAWAII SSF",
        "hawaii",
        f'kind = "hawaii"\nscheme = "ssf"\nbuffer = {{ at = "old", {_LARGE} }}',
        "no loss; one stream, in order",
        _NONE,
        _NONE,
    ),
    _mandm("reactive", _NO_BUFFER, "no loss in an overlap", Bound(_LATE), _BOTH),
    _mandm(
        "bicast",
        f'redundancy = {{ bicast = "{_BICAST} ms" }}\n{_NO_BUFFER}',
        "no loss in an overlap, copies for the bicast time and until the prune is there",
        Bound(_LATE),
        Bound(0, again=_BICAST + _BETWEEN),
    ),
    *(
        _mandm(
            f"{by} trigger, no buffer",
            f'trigger = {{ by = "{by}" }}\n{_NO_BUFFER}',
            "loses the gap and the attach",
            Bound(_GAP + _AIR),
            _BOTH,
        )
        for by in ("source", "path", "no-path")
    ),
    *(
        _mandm(
            f"{by} trigger, buffer",
            f'trigger = {{ by = "{by}" }}\nbuffer = {{ drop = "oldest", {_LARGE} }}',
            "no loss; what came before the break comes twice",
            Bound(0, again=before),
            Bound(0, again=before + _OVERLAP),
        )
        for by, before in (("source", _LEAD), ("path", _LEAD), ("no-path", _KEPT))
    ),
    _mandm(
        "source trigger, buffer of 50",
        f'{_SOURCE}\nbuffer = {{ limit = "50 pkt", drop = "oldest" }}',
        "loses what does not fit",
        Bound(_GAP + _AIR - 50, again=50),
        Bound(0, again=50 + _OVERLAP),
    ),
    _mandm(
        "reactive, buffer at the old base station",
        f'buffer = {{ at = "old", {_LARGE} }}',
        "no loss; what is kept is tunnelled and comes late",
        Bound(0, again=_BETWEEN, overtaken=_LATE),
        _BOTH,
    ),
    Design(
        "FMIPv6 predictive",
        "fmipv6",
        f'kind = "fmipv6"\n{_SOURCE}\nbuffer = {{ {_LARGE} }}',
        "no loss; the tunnel is a detour",
        Bound(0, overtaken=_BETWEEN),
        Bound(0, overtaken=_BETWEEN),
    ),
    Design(
        "FMIPv6 predictive, no buffer",
        "fmipv6",
        f'kind = "fmipv6"\n{_SOURCE}\n{_NO_BUFFER}',
        "loses what is tunnelled before the host announces itself, in an overlap too",
        Bound(_LEAD - _PREPARED + _GAP + _AIR, overtaken=_BETWEEN),
        Bound(_LEAD - _PREPARED + _AIR, overtaken=_BETWEEN),
    ),
    Design(
        "FMIPv6 reactive",
        "fmipv6",
        f'kind = "fmipv6"\n{_NO_BUFFER}',
        "no loss in an overlap",
        Bound(_GAP + _AIR + _BETWEEN, overtaken=_BETWEEN),
        Bound(0, overtaken=_BETWEEN),
    ),
    Design(
        "FMIPv6 reactive, buffer at the previous router",
        "fmipv6",
        f'kind = "fmipv6"\nbuffer = {{ at = "old", {_LARGE} }}',
        "no loss",
        Bound(0, overtaken=_BETWEEN),
        Bound(0, overtaken=_BETWEEN),
    ),
    Design(
        "Mobile IP, buffer",
        "mobile-ip",
        f'kind = "mobile-ip"\nbuffer = {{ {_LARGE} }}',
        "no loss; the way over the old agent is a detour",
        Bound(0, overtaken=_BETWEEN),
        Bound(0, overtaken=_BETWEEN),
    ),
    Design(
        "Mobile IP, no buffer",
        "mobile-ip",
        'kind = "mobile-ip"\nbuffer = { at = "none" }',
        "loses what comes until the old agent knows",
        Bound(_GAP + _BEACON + _NOTIFIED + _BETWEEN, overtaken=_BETWEEN),
        Bound(0, overtaken=_BETWEEN),
    ),
    Design(
        "Mobile IP, base protocol",
        "mobile-ip",
        'kind = "mobile-ip"\nroute_optimisation = false\nsmooth_handoff = false\nbuffer = { at = "none" }',
        "loses what comes until the home agent knows",
        # The home agent is at the gateway: 10 ms from the new access router, 11 from the old base station.
        Bound(_GAP + _BEACON + _NOTIFIED + 10 + 11),
        _NONE,
    ),
)


def _scenario(design: Design, radio: str) -> Scenario:
    wires = "".join(
        f'[[links]]\nbetween = ["{upper}", "{lower}"]\nrate = "10 Mbit/s"\ndelay = "{delay} ms"\n'
        for upper, lower, delay in _WIRES
    )
    cells = "".join(
        f'[cells.bs{number}]\nrouter = "ar{number}"\nrate = "2 Mbit/s"\ndelay = "{_AIR} ms"\n'
        'queue = { kind = "droptail", limit = "1000 pkt" }\nbackhaul = { rate = "10 Mbit/s", delay = "1 ms" }\n'
        for number in (1, 2, 3)
    )
    return Scenario(
        f'[run]\nduration = "8 s"\n{wires}{cells}[mobility]\n{design.fields}\n[radio]\n{radio}\n'
        '[[hosts]]\nname = "mh"\nhome = "gw"\n'
        'visits = [{ cell = "bs1", at = "0 s" }, { cell = "bs2", at = "3 s" }]\n'
        '[[flows]]\nname = "probe"\npath = ["ch", "mh"]\n'
        'app = { kind = "cbr", start = "1 s", stop = "7 s", rate = "400 kbit/s", packet = "50 B" }\n'
        "[record]\ndeliveries = true\nqueues = []\n",
        "promises.toml",
    )


@cache
def measured(design: Design, radio: str) -> Bound:
    """Results of one handover: datagrams lost, those that came again, and the most that overtook one."""
    results = run(_scenario(design, radio))
    ((sent, delivered, again),) = results.flows.select(
        "sent_pkts", "delivered_pkts", "duplicate_pkts"
    ).iter_rows()
    order = results.deliveries.filter(pl.col("fresh"))["seq"].to_list()
    overtaken, highest = 0, -1
    for place, seq in enumerate(order):
        if seq < highest:
            overtaken = max(overtaken, sum(earlier > seq for earlier in order[:place]))
        highest = max(highest, seq)
    return Bound(sent - delivered, again, overtaken)


_TOWARDS = 1 + 5 + 5
"""In ms: from the base station to the gateway, where the core network is too."""
_XN = 1 + 5 + 5 + 1
_ACCESS = 10 + 62 + 5 + 1
"""In ms: processing of the command, interruption, random access, first message."""
_REACHED = _ACCESS + _AIR
"""In ms: from the command at the host until the target has its first message."""
_ORDERED = 3 + 10 + 2 + _AIR
"""The same of an order of MAC, without random access."""
_ACCESSED = 3 + 10 + 10 + 5 + 1 + _AIR
"""The same with random access: the wait for its occasion, and for a grant."""


@dataclass(frozen=True)
class Procedure:
    """A procedure of 5G, with what a handover by it costs."""

    name: str
    fields: str
    promise: str
    lost: int
    """Datagrams, give or take `_SLACK`; 0: none."""
    silence: int
    """Longest time between two datagrams in ms, give or take `_SLACK`."""
    one_unit: bool = False
    """Both cells belong to one central unit."""


_CONDITIONAL = 'conditional = { events = [{ kind = "a3", offset_db = 0.0, time_to_trigger = "0 s" }] }'
_NEAR = -10.0
"""The host reports a candidate by this offset, so that it is prepared before it is needed."""

PROCEDURES = (
    Procedure("Xn", "", "no loss", 0, _REACHED + _AIR),
    Procedure(
        "Xn without forwarding",
        'forwarding = "none"',
        "loses what reaches the source behind the command",
        _AIR + _REACHED + 2 * _TOWARDS,
        _REACHED + 2 * _TOWARDS + _AIR,
    ),
    Procedure(
        "N2 without forwarding",
        'procedure = "n2"\nforwarding = "none"',
        "the same",
        _AIR + _REACHED + 2 * _TOWARDS,
        _REACHED + 2 * _TOWARDS + _AIR,
    ),
    Procedure("N2, direct", 'procedure = "n2"\nforwarding = "direct"', "no loss", 0, _REACHED + _AIR),
    Procedure("N2, indirect", 'procedure = "n2"\nforwarding = "indirect"', "no loss", 0, _REACHED + _AIR),
    Procedure(
        "conditional, late forwarding",
        _CONDITIONAL,
        "no loss; the source learns from the target that the host has left",
        0,
        _REACHED + 2 * _XN + _AIR,
    ),
    Procedure(
        "conditional, early forwarding",
        f'{_CONDITIONAL}\ncandidate_forwarding = "early"',
        "no loss; copies for each candidate",
        0,
        _REACHED + _AIR,
    ),
    # The source sends until it learns of the success; the next packet takes the way to the target.
    Procedure("DAPS", "daps = true", "no loss; the only silence is the way to the target", 0, _XN),
    Procedure(
        "LTM",
        "ltm = { event = { offset_db = 0.0 } }",
        "no loss; no path switch",
        0,
        _ORDERED + _AIR,
        one_unit=True,
    ),
    Procedure(
        "LTM without early synchronisation",
        'ltm = { event = { offset_db = 0.0 }, timing_advance = "none" }',
        "the same, with random access",
        0,
        _ACCESSED + _AIR,
        one_unit=True,
    ),
)


def _procedure_scenario(procedure: Procedure) -> Scenario:
    wires = "".join(
        f'[[links]]\nbetween = ["{upper}", "{lower}"]\nrate = "1 Gbit/s"\ndelay = "{delay} ms"\n'
        for upper, lower, delay in _WIRES
    )
    cells = "".join(
        f'[cells.bs{number}]\nrouter = "ar{1 if procedure.one_unit else number}"\n'
        f'rate = "2 Mbit/s"\ndelay = "{_AIR} ms"\n'
        'queue = { kind = "droptail", limit = "1000 pkt" }\nbackhaul = { rate = "1 Gbit/s", delay = "1 ms" }\n'
        for number in (1, 2)
    )
    offset = _NEAR if procedure.one_unit or "conditional" in procedure.fields else 0.0
    units = 'central_units = ["ar1"]\n' if procedure.one_unit else ""
    return Scenario(
        f'[run]\nduration = "8 s"\n{wires}{cells}[mobility]\nkind = "nr"\n{units}{procedure.fields}\n'
        f'measurement = {{ offset_db = {offset}, time_to_trigger = "0 ms", filter_coefficient = 0 }}\n'
        '[radio]\nkind = "hard"\nmeasurement = { period = "10 ms" }\n'
        '[[hosts]]\nname = "mh"\nhome = "gw"\n'
        'visits = [{ cell = "bs1", at = "0 s" }, { cell = "bs2", at = "3 s" }]\n'
        '[[flows]]\nname = "probe"\npath = ["ch", "mh"]\n'
        'app = { kind = "cbr", start = "1 s", stop = "7 s", rate = "400 kbit/s", packet = "50 B" }\n'
        "[record]\ndeliveries = true\nqueues = []\n",
        "promises.toml",
    )


@dataclass(frozen=True)
class Cost:
    """The cost of one handover by a procedure of 5G."""

    lost: int
    again: int
    overtaken: int
    silence: float
    forwarded: int
    """Bytes that base stations sent to each other, without tunnels."""
    signalling: int
    """Bytes of messages."""


@cache
def cost(procedure: Procedure) -> Cost:
    """Runs it."""
    results = run(_procedure_scenario(procedure))
    ((sent, delivered, again, overtaken),) = results.flows.select(
        "sent_pkts", "delivered_pkts", "duplicate_pkts", "reordering_extent_pkts"
    ).iter_rows()
    silence = results.deliveries["time_ns"].diff().max()
    forwarded = results.releases.filter(pl.col("to") != "")["size_bytes"].sum()
    signalling = results.signalling.filter(pl.col("sent_ns") > 1_000_000_000)["size_bytes"].sum()
    return Cost(sent - delivered, again, overtaken, silence / 1e6, forwarded, signalling)


@pytest.mark.parametrize("procedure", PROCEDURES, ids=lambda procedure: procedure.name)
def test_a_procedure_of_5g_costs_what_its_messages_take(procedure: Procedure) -> None:
    found = cost(procedure)
    assert abs(found.lost - procedure.lost) <= (_SLACK if procedure.lost else 0), found
    assert abs(found.silence - procedure.silence) <= _SLACK, found
    assert (found.again, found.overtaken) == (0, 0), found


def _procedures() -> Iterator[str]:
    yield "## 5G: a handover by each procedure\n"
    yield (
        f"The host measures its cells and is commanded ([nr](nr.md)). {_ACCESS} ms pass from the command at the host "
        "until its first\nmessage to the target leaves. The core network is at `gw`. Silence is the longest time "
        "between two datagrams.\nForwarded bytes are without tunnels; messages count from the connection on.\n"
    )
    heads = "procedure | promise | lost: expected | measured | silence in ms: expected | measured"
    yield f"| {heads} | twice | overtaken | forwarded B | messages B |"
    yield "| --- " * 10 + "|"
    for procedure in PROCEDURES:
        found = cost(procedure)
        yield (
            f"| {procedure.name} | {procedure.promise} | {procedure.lost} | {found.lost} | {procedure.silence} "
            f"| {found.silence:.1f} | {found.again} | {found.overtaken} | {found.forwarded} | {found.signalling} |"
        )
    yield ""


_CASES = (("gap", _GAP_OF), ("overlap", _OVERLAP_OF))


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case[0])
@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_a_protocol_keeps_what_its_design_promises(design: Design, case: tuple[str, str]) -> None:
    promised: Bound = getattr(design, case[0])
    found = measured(design, case[1])
    if promised.lost:
        assert abs(found.lost - promised.lost) <= _SLACK, found
    else:
        assert found.lost == 0
    assert found.again <= promised.again, found
    assert found.overtaken <= promised.overtaken, found


_HEAD = f"""\
# What a handover costs

One handover of each named protocol, between two access routers below one crossover node. The host gets a datagram each
millisecond, so a count is a time in ms. `python tests/python/papers/test_promises.py` makes this page. It runs each row
and compares it with the promise of the design; a test fails if the page differs from its output.

```text
  ch -20- gw -5- r1 -5- ar1 -1- bs1
           |      `--5- ar2 -1- bs2
           `--5- r2 -5- ar3 -1- bs3       (one-way delays in ms; air: {_AIR})
```

* **Lost**: none if the design promises none. Otherwise the rate times the time without a route to the host: layer 2's
  gap, the delay of the message to the crossover node ({_UP} ms), and the packets that had passed it ({_DOWN} ms). The
  test has the formula of each row. Transmission times and the datagrams at the edges make up to {_SLACK} more or less.
* **Twice**: datagrams that arrived again, and the permitted number. They are copies while both branches exist and the
  host receives from both, and packets kept before the break.
* **Overtaken**: the largest number that arrived before an earlier one, and the permitted number: the detour over the
  old base station ({_BETWEEN} ms), or the kept packets.

Buffers hold {_KEPT} packets unless the row gives another size; triggers are {_LEAD} ms ahead. Nothing is random here.
The protocols' pages have the effects of lost or late signalling.
"""


def _rows(case: str, radio: str) -> Iterator[str]:
    for design in DESIGNS:
        promised: Bound = getattr(design, case)
        found = measured(design, radio)
        yield (
            f"| [{design.name}]({design.page}.md) | {design.promise} | {promised.lost} | {found.lost} "
            f"| {promised.again} | {found.again} | {promised.overtaken} | {found.overtaken} |"
        )


def page() -> str:
    """docs/models/promises.md as it should be."""
    parts = [_HEAD]
    for (case, radio), title in zip(
        _CASES, (f"A gap of {_GAP} ms", f"An overlap of {_OVERLAP} ms"), strict=True
    ):
        heads = (
            "protocol | promise | lost: expected | measured | twice: at most | measured | overtaken: at most"
        )
        heads += " | measured"
        parts += [f"## {title}\n", f"| {heads} |", "| --- " * 8 + "|", *_rows(case, radio), ""]
    return "\n".join([*parts, *_procedures()])


def test_the_page_is_what_came_out() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
