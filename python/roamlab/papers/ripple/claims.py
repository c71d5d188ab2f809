"""The paper's claims, decided from the runs. A verdict is computed; the sentence behind it is about the mechanism."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roamlab.papers.ripple.experiments import HANDOVERS, HARD_MS, MECHANISMS, NAMED, SOFT_MS, TCPS
from roamlab.statistics.claims import Claim, Measure, at_least, at_most, greater, less, within
from roamlab.statistics.stats import smallest, student

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from roamlab.papers.ripple.evidence import Case, Evidence
    from roamlab.papers.ripple.measures import Run
    from roamlab.statistics.stats import Interval

Values: TypeAlias = NDArray[np.float64]
"""One entry per run."""

LONG_MS = (-500, -400, -300)
SHORT_MS = (-100, 0)
OVERLAPS_MS = SOFT_MS[1:]
GAPS_MS = HARD_MS[:-1]

CLOSE = 0.1
"""Throughputs are "close" if they differ by at most a tenth of the throughput without handovers."""
ABOUT = 0.05
"""Tahoe's is "about" SACK's within a twentieth of it."""
NEARLY = 0.1
"""Timeouts are "nearly constant" if they change by at most one in ten handovers."""
SUBSTANTIALLY = 0.75
"""Timeouts are "substantially" fewer if they are at most three quarters."""
MOST = 3
"""Of four TCPs."""

LAST_S = 96.0
"""The twentieth handover is at 95.2 s, and over 0.5 s later."""

NAMES = {"tahoe": "Tahoe", "reno": "Reno", "newreno": "NewReno", "sack": "SACK"}


def throughput(found: Evidence, tcp: str, mechanism: str, delay_ms: int) -> Values:
    """Normalised throughput, run by run."""
    moved = _bps(found.moved[tcp, mechanism, delay_ms])
    if found.reading.normalised_by == "no handover":
        return moved / _bps(found.still[tcp])
    side = HARD_MS if delay_ms <= 0 else SOFT_MS
    means = [
        float(_bps(found.moved[other, way, delay]).mean())
        for other in TCPS
        for way in MECHANISMS
        for delay in side
    ]
    return moved / max(means)


def _bps(runs: Sequence[Run]) -> Values:
    return np.array([run.throughput_bps for run in runs])


def timeouts(found: Evidence, tcp: str, mechanism: str, delay_ms: int) -> Values:
    """Timeouts per handover, run by run."""
    return np.array([run.timeouts / HANDOVERS for run in found.moved[tcp, mechanism, delay_ms]])


def _mean(values: Iterable[Values]) -> Values:
    """The mean of several cases, run by run."""
    return np.asarray(np.mean(list(values), axis=0))


def _best(values: Iterable[Values]) -> Values:
    """The largest of several cases, run by run."""
    return np.asarray(np.max(list(values), axis=0))


def _through(
    found: Evidence,
    delays_ms: Sequence[int],
    mechanisms: Sequence[str] = MECHANISMS,
    tcps: Sequence[str] = TCPS,
) -> Values:
    """Mean throughput over cases."""
    return _mean(
        throughput(found, tcp, way, delay) for tcp in tcps for way in mechanisms for delay in delays_ms
    )


def _expired(
    found: Evidence,
    delays_ms: Sequence[int],
    mechanisms: Sequence[str] = MECHANISMS,
    tcps: Sequence[str] = TCPS,
) -> Values:
    """Mean timeouts per handover over cases."""
    return _mean(
        timeouts(found, tcp, way, delay) for tcp in tcps for way in mechanisms for delay in delays_ms
    )


def _of(values: Values) -> Interval:
    return student(values.tolist())


def gained_long(found: Evidence, tcp: str) -> Values:
    """Throughput with Buffer minus that with noBuffer, mean of 300 to 500 ms."""
    return _through(found, LONG_MS, ["Buffer"], [tcp]) - _through(found, LONG_MS, ["noBuffer"], [tcp])


def lost_at_100(found: Evidence, tcp: str, delay_ms: int) -> Values:
    """Throughput of noBuffer at another delay minus that at 100 ms."""
    return throughput(found, tcp, "noBuffer", delay_ms) - throughput(found, tcp, "noBuffer", -100)


def gained_overlap(found: Evidence, tcp: str) -> Values:
    """Throughput with Buffer minus that with noBuffer, mean of overlaps of 100 to 500 ms."""
    return _through(found, OVERLAPS_MS, ["Buffer"], [tcp]) - _through(found, OVERLAPS_MS, ["noBuffer"], [tcp])


def _high(found: Evidence) -> Claim:
    def gains(first: str, second: str) -> list[Measure]:
        return [
            Measure(
                f"{NAMES[tcp]}: throughput, {first} minus {second}, mean of 300 to 500 ms",
                _of(_through(found, LONG_MS, [first], [tcp]) - _through(found, LONG_MS, [second], [tcp])),
                "1",
                greater(),
            )
            for tcp in TCPS
        ]

    return Claim(
        "ripple.fig3.high",
        "Layer-2 delays of 300 ms and more: every TCP has its highest throughput with noBuffer, and Buffer is the "
        "worst of the three.",
        (*gains("noBuffer", "biCast"), *gains("biCast", "Buffer")),
        reading=str(found.reading),
        why="A timeout of 1 s ends after a gap of 500 ms, so with Buffer the sender is still waiting when the buffer "
        "is emptied: nothing was lost and no timer expires, where the two others lose the window and wait for it. "
        "Only a timer that expires within the gap makes the buffer's packets duplicates of what is sent again.",
    )


def _flat(found: Evidence) -> Claim:
    every = {way: [_expired(found, [delay], [way]) for delay in HARD_MS] for way in MECHANISMS}
    spread = _best(every["noBuffer"]) + _best(-values for values in every["noBuffer"])
    return Claim(
        "ripple.fig4.flat",
        "Timeouts with noBuffer stay nearly constant in the layer-2 delay; with Buffer and biCast they fall as the "
        "delay falls.",
        (
            Measure(
                "noBuffer: most minus fewest timeouts over 0 to 500 ms, mean of the TCPs",
                _of(spread),
                "per handover",
                at_most(NEARLY),
            ),
            *(
                Measure(
                    f"{way}: timeouts at 500 ms minus at 0 ms, mean of the TCPs",
                    _of(every[way][0] - every[way][-1]),
                    "per handover",
                    greater(),
                )
                for way in ("Buffer", "biCast")
            ),
        ),
        reading=f'{found.reading}; "nearly constant": within {NEARLY:g} per handover',
        why="Without a buffer a gap of 100 ms and more costs the whole window, hence one timeout at each handover "
        "however long it is, and at 0 ms hardly a packet, hence none but with Reno. With Buffer nothing is lost and no "
        "timer expires at any delay.",
    )


def _low_timeouts(found: Evidence) -> Claim:
    def fewer(tcp: str) -> Values:
        """1 in the runs in which this TCP has substantially fewer with Buffer than with either of the others."""
        kept, *others = (_expired(found, SHORT_MS, [way], [tcp]) for way in ("Buffer", "noBuffer", "biCast"))
        return np.asarray(
            np.all([(kept <= SUBSTANTIALLY * other) & (kept < other) for other in others], axis=0),
            dtype=float,
        )

    return Claim(
        "ripple.fig4.low",
        "At 0 and 100 ms most TCPs suffer substantially fewer timeouts with Buffer.",
        (
            Measure(
                "TCPs with substantially fewer timeouts with Buffer than with each other mechanism",
                _of(np.asarray(np.sum([fewer(tcp) for tcp in TCPS], axis=0))),
                "of 4",
                at_least(MOST),
            ),
        ),
        reading=f'{found.reading}; "substantially": at most {SUBSTANTIALLY:g} of the others\', "most": {MOST} of 4',
        why="With Buffer nothing is lost; without it a gap of 100 ms takes the whole window, and a timeout with it.",
    )


def _low_throughput(found: Evidence) -> Claim:
    def spread(tcp: str, delay: int) -> Values:
        values = [throughput(found, tcp, way, delay) for way in MECHANISMS]
        return _best(values) + _best(-each for each in values)

    return Claim(
        "ripple.fig3.low",
        "At 0 and 100 ms the throughputs of the three mechanisms are close.",
        tuple(
            Measure(
                f"{NAMES[tcp]}: throughput of the best minus the worst mechanism at {abs(delay)} ms",
                _of(spread(tcp, delay)),
                "1",
                at_most(CLOSE),
            )
            for delay in SHORT_MS
            for tcp in TCPS
        ),
        reading=f'{found.reading}; "close": within {CLOSE:g}',
        why="A timeout costs its floor, 1 s of the 4.8 s between two handovers, and a gap of 100 ms takes the whole "
        "window without a buffer and nothing with one; so the mechanisms differ by the timeout.",
    )


def _dip(found: Evidence) -> Claim:
    def dips(tcp: str) -> Values:
        """1 in the runs in which this TCP has less at 100 ms than at both delays beside it."""
        return np.asarray(
            np.minimum(lost_at_100(found, tcp, -200), lost_at_100(found, tcp, 0)) > 0, dtype=float
        )

    return Claim(
        "ripple.dip",
        "The throughput of noBuffer dips at 100 ms, because the retransmission timeout adds to the layer-2 delay.",
        (
            Measure(
                "TCPs with less throughput at 100 ms than at 0 ms and at 200 ms",
                _of(np.asarray(np.sum([dips(tcp) for tcp in TCPS], axis=0))),
                "of 4",
                at_least(MOST),
            ),
        ),
        reading=f"{found.reading}; a dip for most TCPs: {MOST} of 4",
        why="The acknowledgement of a packet that was in flight at the break waits at the host, comes when the gap is "
        "over, and starts the timer anew: the timeout does add to the delay, but with a floor of 1 s at every gap "
        "alike. A floor of 200 ms ends within the longer gaps, so only at 100 ms it is added.",
    )


def _order(found: Evidence) -> Claim:
    peaks = {way: _best(_through(found, [delay], [way]) for delay in SOFT_MS) for way in MECHANISMS}
    return Claim(
        "ripple.fig5.order",
        "Soft handover: throughput peaks with Buffer, noBuffer and biCast in that order.",
        tuple(
            Measure(
                f"highest throughput over 0 to 500 ms, mean of the TCPs, {first} minus {second}",
                _of(peaks[first] - peaks[second]),
                "1",
                greater(),
            )
            for first, second in (("Buffer", "noBuffer"), ("noBuffer", "biCast"))
        ),
        reading=str(found.reading),
        why="With an overlap nothing is lost, so a buffer has nothing to save: what it holds the host has had, and a "
        "burst of such duplicates looks like a loss. Without it copies come in turn with what is new, never three "
        "duplicate acknowledgements in a row.",
    )


def _rise(found: Evidence) -> Claim:
    return Claim(
        "ripple.fig5.rise",
        "Throughput rises with the overlap from 0 to 300 ms and falls beyond.",
        (
            Measure(
                "throughput at 300 ms minus at 0 ms, mean of TCPs and mechanisms",
                _of(_through(found, [300]) - _through(found, [0])),
                "1",
                greater(),
            ),
            Measure(
                "throughput at 500 ms minus at 300 ms, mean of TCPs and mechanisms",
                _of(_through(found, [500]) - _through(found, [300])),
                "1",
                less(),
            ),
        ),
        reading=str(found.reading),
        why="An overlap that is as long as the change of the way takes saves what would be lost; a longer one brings "
        "more copies, and they come in pairs with the originals, which TCP passes over.",
    )


def _reno(found: Evidence) -> Claim:
    def below(way: str) -> Values:
        others = np.min([_through(found, OVERLAPS_MS, [way], [tcp]) for tcp in TCPS if tcp != "reno"], axis=0)
        return np.asarray(_through(found, OVERLAPS_MS, [way], ["reno"]) < others, dtype=float)

    def helped(overlap: int) -> Values:
        without = _best(throughput(found, "reno", way, overlap) for way in ("noBuffer", "biCast"))
        return throughput(found, "reno", "Buffer", overlap) - without

    return Claim(
        "ripple.reno",
        "Reno is below all other TCPs with most mechanisms in soft handovers; Buffer helps Reno at 100 and 200 ms.",
        (
            Measure(
                "mechanisms with which Reno has less throughput than every other TCP, overlaps of 100 to 500 ms",
                _of(np.asarray(np.sum([below(way) for way in MECHANISMS], axis=0))),
                "of 3",
                at_least(2),
            ),
            *(
                Measure(
                    f"Reno: throughput at {overlap} ms, Buffer minus the better of the others",
                    _of(helped(overlap)),
                    "1",
                    greater(),
                )
                for overlap in (100, 200)
            ),
        ),
        reading=str(found.reading),
        why="Without a buffer no TCP reduces its window in an overlap, so there Reno is as good as the others; with "
        "one the burst of duplicates makes each reduce it once, and Reno, which repairs one loss at a time, has none "
        "to repair.",
    )


def _tahoe(found: Evidence) -> Claim:
    def of(tcp: str) -> Values:
        return _through(found, OVERLAPS_MS, tcps=[tcp])

    expired = {tcp: _expired(found, OVERLAPS_MS, tcps=[tcp]) for tcp in ("tahoe", "sack")}
    return Claim(
        "ripple.tahoe",
        "Soft handover: Tahoe suffers more timeouts than SACK, yet its throughput is about SACK's and above Reno's.",
        (
            Measure(
                "timeouts, Tahoe minus SACK, mean of mechanisms and overlaps of 100 to 500 ms",
                _of(expired["tahoe"] - expired["sack"]),
                "per handover",
                greater(),
            ),
            Measure(
                "throughput, Tahoe minus SACK", _of(of("tahoe") - of("sack")), "1", within(-ABOUT, ABOUT)
            ),
            Measure("throughput, Tahoe minus Reno", _of(of("tahoe") - of("reno")), "1", greater()),
        ),
        reading=f'{found.reading}; "about": within {ABOUT:g}',
        why="No timer of any TCP expires in a soft handover. After the burst of duplicates Tahoe sends a window again "
        "in slow start, where Reno halves its window and goes on.",
    )


def _fewer(found: Evidence) -> Claim:
    return Claim(
        "ripple.fewer",
        "Every TCP suffers fewer timeouts with soft than with hard handover.",
        tuple(
            Measure(
                f"{NAMES[tcp]}: timeouts, overlaps minus gaps of 100 to 500 ms, mean of the mechanisms",
                _of(_expired(found, OVERLAPS_MS, tcps=[tcp]) - _expired(found, GAPS_MS, tcps=[tcp])),
                "per handover",
                less(),
            )
            for tcp in TCPS
        ),
        reading=str(found.reading),
        why="An overlap loses nothing; a gap without a buffer loses a window.",
    )


def _proactive(found: Evidence) -> Claim:
    def gain(way: str, delays_ms: Sequence[int], name: str) -> Measure:
        return Measure(
            f"throughput at {name}, {way} minus biCast, mean of the TCPs",
            _of(_through(found, delays_ms, [way]) - _through(found, delays_ms, ["biCast"])),
            "1",
            greater(),
        )

    return Claim(
        "ripple.proactive",
        "Hard handover: proactive mechanisms beat the reactive one significantly; noBuffer when the delay is long, "
        "Buffer when it is short.",
        (gain("noBuffer", LONG_MS, "300 to 500 ms"), gain("Buffer", SHORT_MS, "0 and 100 ms")),
        reading=f"{found.reading}; at each end the mechanism that the paper's conclusion names",
        why="Buffer beats biCast by the timeout that it spares. noBuffer saves the join to the cross-over, some 10 ms "
        "a gap of 300 and more: the window is lost either way, and its timer decides.",
    )


def blocks(named: dict[Case, list[Run]]) -> Claim:
    """The named protocols run: their hosts get data after the last handover."""
    return Claim(
        "ripple.blocks",
        "Each named protocol variant is a composition of the same blocks (detection, path repair, buffering, bicast, "
        "trigger set), and each runs.",
        tuple(
            Measure(
                f"{protocol}: last data, smallest over TCPs, delays and runs",
                smallest(
                    [run.finish_s for (_, name, _), runs in named.items() if name == protocol for run in runs]
                ),
                "s",
                at_least(LAST_S),
            )
            for protocol in NAMED
        ),
        kind="inventory",
        reading="a variant is a table of a scenario; it runs if data comes after the twentieth handover",
        why="What differs between the variants are values of the same fields; a host that stayed cut off after a "
        "handover would show in the time of its last data.",
    )


OF_READING = {
    "ripple.fig3.high": _high,
    "ripple.fig4.flat": _flat,
    "ripple.fig4.low": _low_timeouts,
    "ripple.fig3.low": _low_throughput,
    "ripple.dip": _dip,
    "ripple.fig5.order": _order,
    "ripple.fig5.rise": _rise,
    "ripple.reno": _reno,
    "ripple.tahoe": _tahoe,
    "ripple.fewer": _fewer,
    "ripple.proactive": _proactive,
}
"""The claims that depend on a reading."""


def read(found: dict[str, Evidence]) -> list[Claim]:
    """Those under the first of these readings, with the others beside each."""
    default, *others = found.values()
    return [
        replace(claim(default), others=tuple(claim(other) for other in others))
        for claim in OF_READING.values()
    ]
