"""ns-2's variables and the same parameters here: for scenarios that set them otherwise than the profiles do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random

MILLISECOND = 1_000_000
_SACK = ("sack", "fack")
_ALL = ("tahoe", "reno", "newreno", "sack", "fack", "vegas")
_NOT_VEGAS = _ALL[:-1]


@dataclass(frozen=True)
class Variable:
    """A variable of a class of ns-2, and our parameter."""

    of: str
    ours: str
    values: tuple[int, ...]
    """Integers as ns-2 writes them: 0 and 1 for what is on or off, nanoseconds for times."""
    says: Any = bool
    """From ns-2's value to ours."""
    variants: tuple[str, ...] = _ALL
    is_time: bool = False

    def suits(self, variants: set[str]) -> bool:
        """True if it has a meaning for some of the variants, and the others have no such variable or parameter."""
        return bool(variants & set(self.variants)) and (
            variants <= set(self.variants) or self.of in _HARMLESS
        )


_HARMLESS = ("Agent/TCP/Newreno", "Agent/TCP/Fack")
"""Classes whose variables mean nothing to other variants."""


def _packets(value: int) -> str:
    return f"{value} pkt"


def _time(value: int) -> str:
    return f"{value} ns"


def _not(value: int) -> bool:
    return not value


def _times(*milliseconds: int) -> tuple[int, ...]:
    return tuple(each * MILLISECOND for each in milliseconds)


VARIABLES = {
    "numdupacks_": Variable("Agent/TCP", "dupack_threshold", (2, 3, 4, 6), int),
    "singledup_": Variable("Agent/TCP", "limited_transmit", (0, 1)),
    "bugFix_": Variable("Agent/TCP", "guard_fast_retransmit", (0, 1)),
    "bugfix_ss_": Variable("Agent/TCP", "first_loss_unguarded", (0, 1)),
    "exitFastRetrans_": Variable("Agent/TCP", "inflate_always", (0, 1), _not),
    "maxburst_": Variable("Agent/TCP", "max_burst", (1, 2, 3, 5), _packets),
    "windowInit_": Variable("Agent/TCP", "initial_window", (1, 2, 3, 4, 10), _packets),
    "maxcwnd_": Variable("Agent/TCP", "max_cwnd", (2, 5, 12, 30), _packets),
    "slow_start_restart_": Variable("Agent/TCP", "slow_start_restart", (0, 1)),
    "timestamps_": Variable("Agent/TCP", "timestamps", (0, 1), bool, ("tahoe", "reno", "newreno", "sack")),
    "timerfix_": Variable("Agent/TCP", "stale_rto_on_restart", (0, 1), _not),
    "rfc2988_": Variable("Agent/TCP", "backoff", (0, 1), lambda on: "rfc2988" if on else "bsd"),
    "precisionReduce_": Variable(
        "Agent/TCP", "halving", (0, 1), lambda on: "truncated-ssthresh" if on else "integer"
    ),
    "SetCWRonRetransmit_": Variable("Agent/TCP", "cwr_on_retransmissions", (0, 1)),
    "useHeaders_": Variable("Agent/TCP", "header", (0, 1), lambda on: "40 B" if on else "0 B", _NOT_VEGAS),
    "tcpTick_": Variable("Agent/TCP", "tick", _times(1, 10, 50, 100, 500), _time, _ALL, is_time=True),
    "minrto_": Variable("Agent/TCP", "min_rto", _times(0, 200, 400, 1000), _time, _ALL, is_time=True),
    "maxrto_": Variable("Agent/TCP", "max_rto", _times(6000, 10000, 64000), _time, _ALL, is_time=True),
    "rtxcur_init_": Variable("Agent/TCP", "initial_rto", _times(1000, 3000, 6000), _time, _ALL, is_time=True),
    "newreno_changes1_": Variable("Agent/TCP/Newreno", "impatient", (0, 1), bool, ("newreno",)),
    "partial_window_deflation_": Variable(
        "Agent/TCP/Newreno", "partial_deflation", (0, 1), lambda on: "ns2" if on else "whole", ("newreno",)
    ),
    "exit_recovery_fix_": Variable("Agent/TCP/Newreno", "cap_cwnd_on_exit", (0, 1), bool, ("newreno",)),
    "ss-div4_": Variable("Agent/TCP/Fack", "fack_overdamping", (0, 1), bool, ("fack",)),
    "rampdown_": Variable("Agent/TCP/Fack", "fack_rampdown", (0, 1), bool, ("fack",)),
    "ts_echo_bugfix_": Variable("Agent/TCPSink", "echo_latest", (0, 1), _not),
    "SYN_immediate_ack_": Variable("Agent/TCPSink", "immediate_first_ack", (0, 1)),
    "maxSackBlocks_": Variable("Agent/TCPSink", "sack_blocks", (1, 2, 3), int, _SACK),
    "generateDSacks_": Variable("Agent/TCPSink", "dsack", (0, 1), bool, ("sack",)),
    "interval_": Variable(
        "Agent/TCPSink/DelAck", "delayed_ack", _times(10, 40, 200, 300, 500), _time, _ALL, is_time=True
    ),
}


def tcl(name: str, value: int, unit: float) -> list[str]:
    """The lines that set a variable of ns-2, whose second has 1 / `unit` of our nanoseconds."""
    variable = VARIABLES[name]
    text = repr(value * unit) if variable.is_time else str(value)
    classes = [variable.of]
    if name == "interval_":
        classes.append("Agent/TCPSink/Sack1/DelAck")
    return [f"{each} set {name} {text}" for each in classes]


def transport(variables: dict[str, int], variant: str, *, delayed_ack: bool) -> dict[str, Any]:
    """Their parameters of our connection."""
    said = {}
    for name, value in variables.items():
        variable = VARIABLES[name]
        if variant in variable.variants and (delayed_ack or name != "interval_"):
            said[variable.ours] = variable.says(value)
    return said


def draw(rng: random.Random, variants: set[str], *, without: tuple[str, ...] = ()) -> dict[str, int]:
    """One to five variables that mean something to these variants, set at random."""
    names = [name for name, variable in VARIABLES.items() if variable.suits(variants) and name not in without]
    chosen = rng.sample(names, rng.randint(1, 5))
    return {name: rng.choice(VARIABLES[name].values) for name in sorted(chosen)}
