"""What the runs of the study of queues answer, in sentences that are made of their numbers."""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from roamlab.statistics.stats import LEAST, paired
from roamlab.studies.queues.cells import (
    CONTROLS,
    EXEMPTION,
    FORWARDING,
    L4S_CONTROL,
    QUEUES,
    Cell,
    has_exemption,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roamlab.statistics.stats import Interval

Found: TypeAlias = "dict[Cell, dict[str, list[float]]]"
"""Values of the runs by cell and name of the quantity; run n has the same number in all cells."""


class Verdict(Enum):
    """What the interval of a difference says."""

    MORE = "more"
    LESS = "less"
    UNDECIDED = "undecided"
    EQUAL = "equal in every run"


def verdict(difference: Interval) -> Verdict:
    """Undecided where the interval has 0 in it, and with fewer than `LEAST` runs."""
    if difference.runs < LEAST or not math.isfinite(difference.low):
        return Verdict.UNDECIDED
    if difference.low == difference.high == 0.0:
        return Verdict.EQUAL
    if difference.low > 0.0:
        return Verdict.MORE
    return Verdict.LESS if difference.high < 0.0 else Verdict.UNDECIDED


class Effect(NamedTuple):
    """What the exemption changes with a queue: means of paired differences, in Mbit/s."""

    queue: str
    mover: Interval
    residents: Interval


def difference(
    found: Found, after: Sequence[Cell], before: Sequence[Cell], names: tuple[str, str] | str
) -> Interval:
    """Mean of `after` minus `before`, run by run; each run's value is the mean over the cells.

    `names`: the quantity, or that of `after` and that of `before`.
    """
    first, second = (names, names) if isinstance(names, str) else names
    return paired(_over(found, after, first), _over(found, before, second))


def _over(found: Found, cells: Sequence[Cell], name: str) -> list[float]:
    """Of each run the mean over some cells."""
    runs = zip(*(found[cell][name] for cell in cells), strict=True)
    return [sum(run) / len(run) for run in runs]


def of_controls(queue: str, way: str) -> list[Cell]:
    """A queue's cells under Reno, CUBIC and BBR."""
    return [Cell(queue, control, way) for control in CONTROLS]


def effect(found: Found, queue: str, controls: Sequence[str] = CONTROLS) -> Effect:
    """What the exemption changes with this queue, over some congestion controls."""
    exempt, plain = ([Cell(queue, control, way) for control in controls] for way in (EXEMPTION, FORWARDING))
    return Effect(
        queue,
        difference(found, exempt, plain, "mover_goodput"),
        difference(found, exempt, plain, "residents_goodput"),
    )


def effects(found: Found) -> list[Effect]:
    """The same of each queue that has it, over the congestion controls that meet every queue."""
    return [effect(found, queue) for queue in QUEUES if has_exemption(queue)]


def exemption(listed: Sequence[Effect]) -> str:
    """Is the exemption still worth it?"""
    said = []
    words = {
        Verdict.MORE: "it gives the mover more with",
        Verdict.LESS: "less with",
        Verdict.EQUAL: "exactly the same with",
        Verdict.UNDECIDED: "undecided with",
    }
    for which, begin in words.items():
        of = [each for each in listed if verdict(each.mover) is which]
        if of:
            said.append(f"{begin} {_and([_told(each) for each in of])}")
    return f"Is the exemption still worth it? {_capital('; '.join(said))}."


def _told(of: Effect) -> str:
    return f"{of.queue} ({_signed(of.mover)} Mbit/s; the residents together {_signed(of.residents)})"


def replacement(found: Found) -> list[str]:
    """Does FQ-CoDel make the exemption of MBLUE and of M-RED unnecessary?"""
    return [_compared(found, "FQ-CoDel", older) for older in ("MBLUE", "M-RED")]


def _compared(found: Found, newer: str, older: str) -> str:
    gain = difference(found, of_controls(newer, FORWARDING), of_controls(older, EXEMPTION), "mover_goodput")
    paid = difference(
        found, of_controls(newer, FORWARDING), of_controls(older, EXEMPTION), "residents_goodput"
    )
    conclusion = {
        Verdict.MORE: f"{newer} makes {older} unnecessary here",
        Verdict.EQUAL: f"{newer} does as well as {older} here",
        Verdict.LESS: f"{newer} does not replace {older} here",
        Verdict.UNDECIDED: f"whether {newer} replaces {older} is undecided",
    }[verdict(gain)]
    return (
        f"With {newer} and no exemption the mover gets {_signed(gain)} Mbit/s compared with {older} and its "
        f"exemption, the residents together {_signed(paid)}: {conclusion}."
    )


def l4s(found: Found, queue: str) -> str:
    """Does the low delay of Prague behind this queue survive the handover?"""
    cell = [Cell(queue, L4S_CONTROL, FORWARDING)]
    rise = difference(found, cell, cell, ("mover_delay", "before_delay"))
    before, after = (_mean(_over(found, cell, name)) for name in ("before_delay", "mover_delay"))
    stall = _mean(_over(found, cell, "stall"))
    conclusion = {
        Verdict.MORE: "the low delay does not survive it",
        Verdict.LESS: "the delay falls",
        Verdict.EQUAL: "the delay survives it",
        Verdict.UNDECIDED: "a rise is undecided",
    }[verdict(rise)]
    return (
        f"Does L4S survive a handover? 95 % of the packets of Prague's mover behind {queue} take at most "
        f"{before:.0f} ms before it and {after:.0f} ms after it ({_signed(rise, '.0f')} ms), with a silence of "
        f"{stall:.0f} ms: {conclusion}."
    )


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _signed(of: Interval, form: str = ".2f") -> str:
    """A difference with its interval, if there is one: "+0.42, 0.31 … 0.53"."""
    effect = f"{of.effect:+{form}}"
    return f"{effect}, {of.low:{form}} … {of.high:{form}}" if math.isfinite(of.low) else effect


def _and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
