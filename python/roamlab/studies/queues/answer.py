"""Answers of the runs of the study of queues, in sentences that are made of their numbers."""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from roamlab.statistics.stats import LEAST, paired, student
from roamlab.studies.queues.cases import (
    CONTROLS,
    EXEMPTION,
    FAIR_MBPS,
    FORWARDING,
    L4S_CONTROL,
    QUEUES,
    Case,
    has_exemption,
)
from roamlab.studies.queues.measures import LATE_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roamlab.statistics.stats import Interval

Found: TypeAlias = "dict[Case, dict[str, list[float]]]"
"""Values of the runs by case and name of the quantity; run n has the same number in all cases."""


LITTLE_MBPS = 0.05 * FAIR_MBPS
"""A difference that is surely smaller is not worth a mechanism: a twentieth of an equal share."""
NEWER = "FQ-CoDel"
"""Disciplines that may make the older ones unnecessary."""
BURST_MS = 100
"""Time for which a queue may last before it is a bad one: CoDel's interval (RFC 8289 §4.3)."""


class Verdict(Enum):
    """Result of the interval of a difference."""

    MORE = "more"
    LESS = "less"
    LITTLE = "little change"
    EQUAL = "the same in every run"
    UNDECIDED = "undecided"


def verdict(difference: Interval, little: float = LITTLE_MBPS) -> Verdict:
    """Undecided where the interval has 0 in it, and with fewer than `LEAST` runs.

    `little`: a decided difference is small if all of its interval is nearer to 0.
    """
    if difference.runs < LEAST:
        return Verdict.UNDECIDED
    if difference.low == difference.high == 0.0:
        return Verdict.EQUAL
    if difference.low <= 0.0 <= difference.high:
        return Verdict.UNDECIDED
    if max(abs(difference.low), abs(difference.high)) < little:
        return Verdict.LITTLE
    return Verdict.MORE if difference.low > 0.0 else Verdict.LESS


class Effect(NamedTuple):
    """Effect of the exemption with a queue: means of paired differences, in Mbit/s."""

    queue: str
    mover: Interval
    residents: Interval


def difference(
    found: Found, after: Sequence[Case], before: Sequence[Case], names: tuple[str, str] | str
) -> Interval:
    """Mean of `after` minus `before`, run by run; each run's value is the mean over the cases.

    `names`: the quantity, or that of `after` and that of `before`.
    """
    first, second = (names, names) if isinstance(names, str) else names
    return paired(_over(found, after, first), _over(found, before, second))


def _over(found: Found, cases: Sequence[Case], name: str) -> list[float]:
    """Of each run the mean over some cases."""
    runs = zip(*(found[case][name] for case in cases), strict=True)
    return [sum(run) / len(run) for run in runs]


def of_controls(queue: str, way: str) -> list[Case]:
    """A queue's cases under Reno, CUBIC and BBR."""
    return [Case(queue, control, way) for control in CONTROLS]


def effect(found: Found, queue: str, controls: Sequence[str] = CONTROLS) -> Effect:
    """Effect of the exemption with this queue, over some congestion controls."""
    exempt, plain = ([Case(queue, control, way) for control in controls] for way in (EXEMPTION, FORWARDING))
    return Effect(
        queue,
        difference(found, exempt, plain, "mover_goodput"),
        difference(found, exempt, plain, "residents_goodput"),
    )


def effects(found: Found) -> list[Effect]:
    """The same of each queue that has it, over the congestion controls that meet every queue."""
    return [effect(found, queue) for queue in QUEUES if has_exemption(queue)]


def exemption(listed: Sequence[Effect]) -> str:
    """Use of the exemption today, by its effect on the mover; and the cost or gain of the residents."""
    words = {
        Verdict.MORE: "yes with",
        Verdict.LITTLE: "little with",
        Verdict.LESS: "no with",
        Verdict.EQUAL: "it changes nothing with",
        Verdict.UNDECIDED: "undecided with",
    }
    of = {which: [_told(each) for each in listed if verdict(each.mover) is which] for which in words}
    said = "; ".join(f"{words[which]} {_and(told)}" for which, told in of.items() if told)
    return f"Is the exemption still worth it? {said[0].upper()}{said[1:]}."


def _told(of: Effect) -> str:
    """A queue with what is decided of it; what is not has the mover's interval, or the difference of one run."""
    if verdict(of.mover) is Verdict.EQUAL:
        return of.queue
    if verdict(of.mover) is Verdict.UNDECIDED:
        bounds = f"{of.mover.low:.2f} … {of.mover.high:.2f}"
        return f"{of.queue} ({bounds if math.isfinite(of.mover.low) else _signed(of.mover)})"
    return f"{of.queue} (mover {_signed(of.mover)}, residents {_signed(of.residents)} Mbit/s)"


def replacement(found: Found) -> dict[str, str]:
    """Answer whether FQ-CoDel without exemption makes MBLUE and M-RED with theirs unnecessary."""
    return {older: _compared(found, NEWER, older) for older in ("MBLUE", "M-RED")}


def _compared(found: Found, newer: str, older: str) -> str:
    new, old = of_controls(newer, FORWARDING), of_controls(older, EXEMPTION)
    gain, paid, silence = (
        difference(found, new, old, name) for name in ("mover_goodput", "residents_goodput", "stall")
    )
    shares = [
        100.0 * student(_over(found, cases, "mover_goodput")).effect / FAIR_MBPS for cases in (new, old)
    ]
    return (
        f"With {newer} and no exemption the mover gets {shares[0]:.0f} % of an equal share, with {older} and its "
        f"exemption {shares[1]:.0f} % ({_signed(gain)} Mbit/s; residents {_signed(paid)}), and its longest silence "
        f"differs by {_signed(silence, '.0f')} ms: {_conclusion(verdict(gain), verdict(silence, 0.0), newer, older)}."
    )


def _conclusion(goodput: Verdict, silence: Verdict, newer: str, older: str) -> str:
    if Verdict.UNDECIDED in (goodput, silence):
        return f"whether {newer} makes {older} unnecessary is undecided"
    worse = (goodput is Verdict.LESS, silence is Verdict.MORE)
    if not any(worse):
        return f"{newer} makes {older} unnecessary here"
    if all(worse):
        return f"{newer} does not replace {older} here"
    if worse[0]:
        return f"{newer} gives the mover less, and {'a shorter' if silence is Verdict.LESS else 'the same'} silence"
    return f"{newer} gives the mover no less, and a longer silence"


def l4s(found: Found, queue: str) -> str:
    """Answer whether the low delay of Prague behind this queue survives the handover.

    It does if it is back within `BURST_MS` of the silence.
    """
    case = [Case(queue, L4S_CONTROL, FORWARDING)]
    late, silence = (student(_over(found, case, name)).effect for name in ("late", "stall"))
    rest = difference(found, case, case, ("late", "stall"))
    classic = difference(found, case, [Case(queue, "CUBIC", FORWARDING)], "late")
    if rest.runs < LEAST or rest.low <= BURST_MS <= rest.high:
        conclusion = "Undecided"
    else:
        conclusion = "It does" if rest.high < BURST_MS else "It does not"
    return (
        f"Does L4S survive a handover behind {queue}? After the move Prague's mover gets packets that have waited over "
        f"{LATE_MS} ms for {late:.0f} ms, its silence of {silence:.0f} ms included ({_signed(classic, '.0f')} ms "
        f"compared with CUBIC's mover). {conclusion}: they come for {_signed(rest, '.0f')} ms beyond the silence, "
        f"and a burst may have {BURST_MS} ms."
    )


def _signed(of: Interval, form: str = ".2f") -> str:
    """A difference with its interval, if there is one: "+0.42, 0.31 … 0.53"."""
    effect = f"{of.effect:+{form}}"
    return f"{effect}, {of.low:{form}} … {of.high:{form}}" if math.isfinite(of.low) else effect


def _and(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
