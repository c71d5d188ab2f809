"""The paper's claims, decided from the runs. A verdict is computed; the sentences are in `paper.toml`."""

from __future__ import annotations

import math
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roamlab.papers.deciding import claim, defined, least
from roamlab.papers.ripple.experiments import MECHANISMS, NAMED, TCPS
from roamlab.statistics.claims import Measure, at_least, at_most, greater, less, within
from roamlab.statistics.stats import student

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from roamlab.papers.ripple.evidence import Case, Evidence
    from roamlab.papers.ripple.measures import Run
    from roamlab.statistics.claims import Claim, Claimed

Values: TypeAlias = NDArray[np.float64]
"""One entry per run."""

SHORT_MS = (-100, 0)
"""The paper's "low Layer 2 handover delays"."""
LONG_OVERLAP_MS = 300
"""Overlaps above are the paper's "long duration"."""

CLOSE = 0.1
"""Throughputs are "close" if they differ by at most a tenth of the throughput without handovers."""
ABOUT = 0.05
"""Tahoe's is "about" SACK's within a twentieth of it."""
NEARLY = 0.1
"""Timeouts remain "almost constant", and are "almost the same", if they differ by at most one in ten handovers."""
SUBSTANTIALLY = 0.75
"""Timeouts are "substantially" fewer if they are at most three quarters."""
MOST_TCPS, MOST_WAYS = 3, 2
"""Most: of four TCPs, and of three mechanisms."""

LAST_S = 98.0
"""The twentieth handover is at 96.4 s at the latest, and over 0.5 s later."""

NAMES = {"tahoe": "Tahoe", "reno": "Reno", "newreno": "NewReno", "sack": "SACK"}


def throughput(found: Evidence, tcp: str, mechanism: str, delay_ms: int) -> Values:
    """Normalised throughput, run by run."""
    moved = _bps(found.moved[tcp, mechanism, delay_ms])
    if found.interpretation.normalised_by == "no handover":
        return moved / _bps(found.still[tcp])
    of = [tcp] if found.interpretation.normalised_by == "own maximum" else TCPS
    side = found.hard_ms if delay_ms <= 0 else found.soft_ms
    means = [
        float(_bps(found.moved[other, way, delay]).mean())
        for other in of
        for way in MECHANISMS
        for delay in side
    ]
    return moved / max(means)


def _bps(runs: Sequence[Run]) -> Values:
    return np.array([run.throughput_bps for run in runs])


def timeouts(found: Evidence, tcp: str, mechanism: str, delay_ms: int) -> Values:
    """Timeouts per handover, run by run."""
    return np.array([run.timeouts / found.handovers for run in found.moved[tcp, mechanism, delay_ms]])


def _best(values: Iterable[Values]) -> Values:
    """The largest of several cases, run by run."""
    return np.asarray(np.max(list(values), axis=0))


def _mean(
    of: Callable[[Evidence, str, str, int], Values],
    found: Evidence,
    delays_ms: Sequence[int],
    mechanisms: Sequence[str] = MECHANISMS,
    tcps: Sequence[str] = TCPS,
) -> Values:
    """The mean over cases, run by run."""
    cases = product(tcps, mechanisms, delays_ms)
    return np.asarray(np.mean([of(found, *case) for case in cases], axis=0))


_through = partial(_mean, throughput)
_expired = partial(_mean, timeouts)


def _of_most(values: Iterable[Values], most: int) -> Values:
    """The value that `most` of several cases reach, run by run: positive if that number are positive."""
    return np.asarray(np.sort(list(values), axis=0)[-most])


def lost_at_100(found: Evidence, tcp: str, delay_ms: int) -> Values:
    """Throughput of noBuffer at another delay minus that at 100 ms."""
    return throughput(found, tcp, "noBuffer", delay_ms) - throughput(found, tcp, "noBuffer", -100)


SAME_WINDOW = "in both the window in flight is lost whole and the same timer ends the pause"
"""Why noBuffer and biCast may be equal to the packet."""
NO_LOSS = "no packet is lost in an overlap, so no timer expires"
HANDOVER = "per handover"


def _that(what: str, values: Values, claimed: Claimed, unit: str = "1", tie: str = "") -> Measure:
    """`tie` is the reason for which the set-up may force a difference to be 0 in each run."""
    return Measure(what, student(values.tolist()), unit, claimed, "" if values.any() else tie)


def _high(found: Evidence) -> Claim:
    def gains(first: str, second: str, tie: str = "") -> list[Measure]:
        def apart(tcp: str) -> Values:
            one, other = (_through(found, found.long_ms, [way], [tcp]) for way in (first, second))
            return np.asarray(one - other)

        what = f"throughput, {first} minus {second}, mean of 300 to 500 ms"
        return [_that(f"{NAMES[tcp]}: {what}", apart(tcp), greater(), tie=tie) for tcp in TCPS]

    measures = (*gains("noBuffer", "biCast", SAME_WINDOW), *gains("biCast", "Buffer"))
    return claim("ripple.fig3.high", measures, found.interpretation)


def _flat(found: Evidence) -> Claim:
    longest, *between, shortest = found.long_ms
    every = {way: {delay: _expired(found, [delay], [way]) for delay in found.long_ms} for way in MECHANISMS}

    def change(way: str, delay: int, claimed: Claimed) -> Measure:
        what = f"{way}: timeouts at {-delay} ms minus at {-shortest} ms, mean of the TCPs"
        return _that(what, every[way][delay] - every[way][shortest], claimed, HANDOVER)

    measures = (
        *(change("noBuffer", delay, within(-NEARLY, NEARLY)) for delay in (longest, *between)),
        *(change(way, longest, greater()) for way in ("Buffer", "biCast")),
    )
    return claim("ripple.fig4.flat", measures, found.interpretation, nearly=NEARLY)


def _low_timeouts(found: Evidence) -> Claim:
    def fewer(tcp: str, delay: int) -> Values:
        """By how much Buffer's timeouts are below the substantial share of the lesser of the others."""
        kept, *others = (_expired(found, [delay], [way], [tcp]) for way in ("Buffer", "noBuffer", "biCast"))
        return np.asarray(SUBSTANTIALLY * np.min(others, axis=0) - kept)

    measures = (
        _that(
            f"{-delay} ms: {SUBSTANTIALLY:g} of the timeouts of noBuffer or biCast, the fewer, minus those of "
            f"Buffer, of the {MOST_TCPS}rd best TCP",
            _of_most([fewer(tcp, delay) for tcp in TCPS], MOST_TCPS),
            greater(),
            HANDOVER,
            "no timer expires with any mechanism",
        )
        for delay in SHORT_MS
    )
    return claim(
        "ripple.fig4.low", measures, found.interpretation, substantially=SUBSTANTIALLY, most_tcps=MOST_TCPS
    )


def _low_throughput(found: Evidence) -> Claim:
    def spread(tcp: str, delay: int) -> Values:
        values = [throughput(found, tcp, way, delay) for way in MECHANISMS]
        return _best(values) + _best(-each for each in values)

    what = "throughput of the best minus the worst mechanism at"
    measures = (
        _that(f"{NAMES[tcp]}: {what} {abs(delay)} ms", spread(tcp, delay), at_most(CLOSE))
        for delay, tcp in product(SHORT_MS, TCPS)
    )
    return claim("ripple.fig3.low", measures, found.interpretation, close=CLOSE)


def _low_same(found: Evidence) -> Claim:
    measures = (
        _that(
            f"{NAMES[tcp]}: timeouts at {-delay} ms, noBuffer minus biCast",
            timeouts(found, tcp, "noBuffer", delay) - timeouts(found, tcp, "biCast", delay),
            within(-NEARLY, NEARLY),
            HANDOVER,
        )
        for delay, tcp in product(SHORT_MS, TCPS)
    )
    return claim("ripple.low.same", measures, found.interpretation, nearly=NEARLY)


def depth(found: Evidence, tcp: str, way: str) -> Values:
    """How far throughput at 100 ms is below the lower of those at 0 and at 200 ms, run by run."""
    beside = np.minimum(throughput(found, tcp, way, -200), throughput(found, tcp, way, 0))
    return np.asarray(beside - throughput(found, tcp, way, -100))


def _dip_buffer(found: Evidence) -> Claim:
    what = "Buffer: throughput at 0 or 200 ms, the lower, minus at 100 ms"
    measures = (_that(f"{NAMES[tcp]}, {what}", depth(found, tcp, "Buffer"), at_most(0)) for tcp in TCPS)
    return claim("ripple.dip.buffer", measures, found.interpretation)


def _dip(found: Evidence) -> Claim:
    what = f"throughput at 0 or 200 ms, the lower, minus at 100 ms, of the TCP with the {MOST_TCPS}rd deepest dip"
    dip = _that(what, _of_most([depth(found, tcp, "noBuffer") for tcp in TCPS], MOST_TCPS), greater())
    return claim("ripple.dip", (dip,), found.interpretation, most_tcps=MOST_TCPS)


def _order(found: Evidence) -> Claim:
    peaks = {way: _best(_through(found, [delay], [way]) for delay in found.soft_ms) for way in MECHANISMS}
    what = "highest throughput over 0 to 500 ms, mean of the TCPs"
    measures = (
        _that(f"{what}, {first} minus {second}", peaks[first] - peaks[second], greater())
        for first, second in (("Buffer", "noBuffer"), ("noBuffer", "biCast"))
    )
    return claim("ripple.fig5.order", measures, found.interpretation)


def _rise(found: Evidence) -> Claim:
    def change(after: int, before: int, claimed: Claimed) -> Measure:
        what = f"throughput at {after} ms minus at {before} ms, mean of TCPs and mechanisms"
        return _that(what, _through(found, [after]) - _through(found, [before]), claimed)

    return claim(
        "ripple.fig5.rise", (change(300, 0, greater()), change(500, 300, less())), found.interpretation
    )


def _reno(found: Evidence) -> Claim:
    def below(way: str) -> Values:
        """By how much Reno is below the worst of the others."""
        others = [_through(found, found.overlaps_ms, [way], [tcp]) for tcp in TCPS if tcp != "reno"]
        return np.asarray(np.min(others, axis=0) - _through(found, found.overlaps_ms, [way], ["reno"]))

    def helped(overlap: int) -> Measure:
        without = _best(throughput(found, "reno", way, overlap) for way in ("noBuffer", "biCast"))
        what = f"Reno: throughput at {overlap} ms, Buffer minus the better of the others"
        return _that(what, throughput(found, "reno", "Buffer", overlap) - without, greater())

    last = _that(
        "throughput of the worst other TCP minus Reno's, overlaps of 100 to 500 ms, with the mechanism where "
        f"that is the {MOST_WAYS}nd largest",
        _of_most([below(way) for way in MECHANISMS], MOST_WAYS),
        greater(),
    )
    return claim("ripple.reno", (last, helped(100), helped(200)), found.interpretation, most_ways=MOST_WAYS)


def _tahoe(found: Evidence) -> Claim:
    def apart(of: Callable[..., Values], other: str) -> Values:
        return of(found, found.overlaps_ms, tcps=["tahoe"]) - of(found, found.overlaps_ms, tcps=[other])

    what = "timeouts, Tahoe minus SACK, mean of mechanisms and overlaps of 100 to 500 ms"
    measures = (
        _that(what, apart(_expired, "sack"), greater(), HANDOVER, NO_LOSS),
        _that("throughput, Tahoe minus SACK", apart(_through, "sack"), within(-ABOUT, ABOUT)),
        _that("throughput, Tahoe minus Reno", apart(_through, "reno"), greater()),
    )
    return claim("ripple.tahoe", measures, found.interpretation, about=ABOUT)


def _tahoe_window(found: Evidence) -> Claim:
    points = list(product(MECHANISMS, found.overlaps_ms))

    def apart(of: Callable[[str, str, int], Values]) -> Values:
        """Tahoe minus Reno, one row for each point and one column for each run."""
        return np.array([of("tahoe", *point) - of("reno", *point) for point in points])

    wider = apart(lambda *case: np.array([*found.windows[case]]))
    faster = apart(partial(throughput, found))
    followed = [correlation(*of_run) for of_run in zip(wider.T, faster.T, strict=True)]
    where = "mechanisms and overlaps of 100 to 500 ms"
    measures = (
        _that(f"mean window, Tahoe minus Reno, mean of {where}", np.mean(wider, axis=0), greater(), "pkt"),
        defined(
            f"correlation of the difference of windows and that of throughputs over {where}",
            followed,
            "1",
            greater(),
        ),
    )
    return claim("ripple.tahoe.window", measures, found.interpretation)


def correlation(left: Values, right: Values) -> float:
    """Pearson's r; NaN if one of them does not vary by more than its rounding."""
    if min(np.ptp(left), np.ptp(right)) < 1e-9:
        return math.nan
    return float(np.corrcoef(left, right)[0, 1])


def _fewer(found: Evidence) -> Claim:
    measures = (
        _that(
            f"{NAMES[tcp]}: timeouts, overlaps minus gaps of 100 to 500 ms, mean of the mechanisms",
            _expired(found, found.overlaps_ms, tcps=[tcp]) - _expired(found, found.gaps_ms, tcps=[tcp]),
            less(),
            HANDOVER,
        )
        for tcp in TCPS
    )
    return claim("ripple.fewer", measures, found.interpretation)


def _proactive(found: Evidence) -> Claim:
    def gain(way: str, delays_ms: Sequence[int], name: str, tie: str = "") -> Measure:
        apart = _through(found, delays_ms, [way]) - _through(found, delays_ms, ["biCast"])
        what = f"throughput at {name}, {way} minus biCast, mean of the TCPs"
        return _that(what, apart, greater(), tie=tie)

    measures = (
        gain("noBuffer", found.long_ms, "300 to 500 ms", SAME_WINDOW),
        gain("Buffer", SHORT_MS, "0 and 100 ms"),
    )
    return claim("ripple.proactive", measures, found.interpretation)


def _overlap(found: Evidence) -> Claim:
    brief = [overlap for overlap in found.overlaps_ms if overlap <= LONG_OVERLAP_MS]
    long = [overlap for overlap in found.overlaps_ms if overlap > LONG_OVERLAP_MS]

    def apart(first: str, second: str, overlaps_ms: Sequence[int], name: str) -> Measure:
        what = f"throughput, {first} minus {second}, overlaps {name}, mean of the TCPs"
        return _that(
            what, _through(found, overlaps_ms, [first]) - _through(found, overlaps_ms, [second]), greater()
        )

    others = ("noBuffer", "biCast")
    measures = (
        *(apart(way, "Buffer", long, f"above {LONG_OVERLAP_MS} ms") for way in others),
        *(apart("Buffer", way, brief, f"of 100 to {LONG_OVERLAP_MS} ms") for way in others),
    )
    return claim("ripple.overlap", measures, found.interpretation, long_overlap_ms=LONG_OVERLAP_MS)


def blocks(named: dict[Case, list[Run]]) -> Claim:
    """The named protocols run: their hosts get data after the last handover."""
    measures = (
        least(
            f"{protocol}: last data, smallest over TCPs, delays and runs",
            [run for (_, name, _), runs in named.items() if name == protocol for run in runs],
            "finish_s",
            "s",
            at_least(LAST_S),
        )
        for protocol in NAMED
    )
    return claim("ripple.blocks", measures)


OF_INTERPRETATION = {
    "ripple.fig3.high": _high,
    "ripple.fig4.flat": _flat,
    "ripple.fig4.low": _low_timeouts,
    "ripple.low.same": _low_same,
    "ripple.fig3.low": _low_throughput,
    "ripple.dip": _dip,
    "ripple.dip.buffer": _dip_buffer,
    "ripple.fig5.order": _order,
    "ripple.fig5.rise": _rise,
    "ripple.reno": _reno,
    "ripple.tahoe": _tahoe,
    "ripple.tahoe.window": _tahoe_window,
    "ripple.fewer": _fewer,
    "ripple.proactive": _proactive,
    "ripple.overlap": _overlap,
}
"""The claims that depend on an interpretation."""


def read(found: Evidence) -> list[Claim]:
    """Those that depend on an interpretation, under one."""
    return [decide(found) for decide in OF_INTERPRETATION.values()]
