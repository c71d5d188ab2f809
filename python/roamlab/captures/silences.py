"""The silences in a log without packets."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roamlab.captures.moves import Moves

LEAST_S = 0.2
"""A stall is longer (docs/metrics.md)."""


@dataclass(frozen=True)
class Silence:
    """A time in which nothing came."""

    start_s: float
    """Begin, from the first line of the log."""
    length_s: float
    kind: str
    """As the kinds of causes of a packet capture."""
    sentence: str
    move: dict[str, Any] | None = None
    """The move that it begins at, if a log of moves was given."""


@dataclass
class Log:
    """A log, and the silences in it."""

    what: str
    """One sentence about all of it."""
    facts: list[str] = field(default_factory=list)
    stalls: list[Silence] = field(default_factory=list)
    """Longest first."""
    start_ns: int = 0
    """When it begins, in ns since 1970; 0: unknown."""
    length_s: float = 0.0
    connections: list[dict[str, Any]] = field(default_factory=list)
    """Those that a log of several has, with their limits over time."""
    moves: dict[str, Any] | None = None
    """The moves of the same time, if a log of them was given."""

    def tie(self, moves: Moves) -> None:
        """Ties its stalls to moves."""
        silences = [(stall.start_s, stall.start_s + stall.length_s) for stall in self.stalls]
        ties = [moves.tie(*silence) for silence in silences]
        self.stalls = [
            replace(stall, move=move, sentence=f"{stall.sentence}; {said}" if said else stall.sentence)
            for stall, (move, said) in zip(self.stalls, ties, strict=True)
        ]
        self.moves, said = moves.summary(silences)
        self.facts.append(said)

    def data(self) -> dict[str, Any]:
        """The same for programs."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The same as text."""
        told = ["\n  · ".join([self.what, *self.facts])]
        told += [f"stall {number}: {stall.sentence}" for number, stall in enumerate(self.stalls, start=1)]
        return told if self.stalls else [*told, "no stall"]
