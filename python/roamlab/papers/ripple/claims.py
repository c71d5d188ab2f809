"""The paper's claims, decided from the runs. A verdict is computed; the sentence behind it is about the mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from roamlab.papers.ripple.experiments import HANDOVERS, MECHANISMS, NAMED, TCPS
from roamlab.papers.ripple.why import WHY
from roamlab.statistics.claims import Claim, Measure, at_least, at_most, greater, less, within
from roamlab.statistics.stats import smallest, student

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from roamlab.papers.ripple.evidence import Case, Evidence
    from roamlab.papers.ripple.measures import Run
    from roamlab.statistics.stats import Interval

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
"""Timeouts remain "almost constant" if they change by at most one in ten handovers."""
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
    if found.reading.normalised_by == "no handover":
        return moved / _bps(found.still[tcp])
    of = [tcp] if found.reading.normalised_by == "own maximum" else TCPS
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


def _of_most(values: Iterable[Values], most: int) -> Values:
    """The value that `most` of several cases reach, run by run: positive if so many are positive."""
    return np.asarray(np.sort(list(values), axis=0)[-most])


def lost_at_100(found: Evidence, tcp: str, delay_ms: int) -> Values:
    """Throughput of noBuffer at another delay minus that at 100 ms."""
    return throughput(found, tcp, "noBuffer", delay_ms) - throughput(found, tcp, "noBuffer", -100)


SAME_WINDOW = "in both the window in flight is lost whole and the same timer ends the pause"
"""Why noBuffer and biCast may be alike to the packet."""
NO_LOSS = "no packet is lost in an overlap, so no timer expires"


def _more(what: str, apart: Values, unit: str, tie: str = "") -> Measure:
    """That a difference is positive; `tie` says why the set-up may force it to be 0 in each run."""
    return Measure(what, _of(apart), unit, greater(), "" if apart.any() else tie)


def _high(found: Evidence) -> Claim:
    def gains(first: str, second: str, tie: str = "") -> list[Measure]:
        def apart(tcp: str) -> Values:
            one, other = (_through(found, found.long_ms, [way], [tcp]) for way in (first, second))
            return one - other

        what = f"throughput, {first} minus {second}, mean of 300 to 500 ms"
        return [_more(f"{NAMES[tcp]}: {what}", apart(tcp), "1", tie) for tcp in TCPS]

    return Claim(
        "ripple.fig3.high",
        "Layer-2 delays of 300 ms and more: every TCP has its highest throughput with noBuffer, and Buffer is the "
        "worst of the three.",
        (*gains("noBuffer", "biCast", SAME_WINDOW), *gains("biCast", "Buffer")),
        reading=str(found.reading),
        why=WHY["fig3.high"],
    )


def _flat(found: Evidence) -> Claim:
    longest, *others = found.long_ms
    shortest = found.long_ms[-1]
    every = {way: {delay: _expired(found, [delay], [way]) for delay in found.long_ms} for way in MECHANISMS}
    return Claim(
        "ripple.fig4.flat",
        "Layer-2 delays of 300 ms and more: timeouts with noBuffer stay nearly constant in the delay; with Buffer and "
        "biCast they fall as the delay falls.",
        (
            *(
                Measure(
                    f"noBuffer: timeouts at {-delay} ms minus at {-shortest} ms, mean of the TCPs",
                    _of(every["noBuffer"][delay] - every["noBuffer"][shortest]),
                    "per handover",
                    within(-NEARLY, NEARLY),
                )
                for delay in (longest, *others[:-1])
            ),
            *(
                Measure(
                    f"{way}: timeouts at {-longest} ms minus at {-shortest} ms, mean of the TCPs",
                    _of(every[way][longest] - every[way][shortest]),
                    "per handover",
                    greater(),
                )
                for way in ("Buffer", "biCast")
            ),
        ),
        reading=f'{found.reading}; "almost constant": within {NEARLY:g} per handover',
        why=WHY["fig4.flat"],
    )


def _low_timeouts(found: Evidence) -> Claim:
    def fewer(tcp: str, delay: int) -> Values:
        """By how much Buffer's timeouts are below the substantial share of the lesser of the others."""
        kept, *others = (_expired(found, [delay], [way], [tcp]) for way in ("Buffer", "noBuffer", "biCast"))
        return np.asarray(SUBSTANTIALLY * np.min(others, axis=0) - kept)

    return Claim(
        "ripple.fig4.low",
        "At 0 and 100 ms most TCPs suffer substantially fewer timeouts with Buffer.",
        tuple(
            _more(
                f"{-delay} ms: {SUBSTANTIALLY:g} of the timeouts of noBuffer or biCast, the fewer, minus those of "
                f"Buffer, of the {MOST_TCPS}rd best TCP",
                _of_most([fewer(tcp, delay) for tcp in TCPS], MOST_TCPS),
                "per handover",
                "no timer expires with any mechanism",
            )
            for delay in SHORT_MS
        ),
        reading=f'{found.reading}; "substantially": at most {SUBSTANTIALLY:g} of the others\', '
        f'"most": {MOST_TCPS} of 4',
        why=WHY["fig4.low"],
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
        why=WHY["fig3.low"],
    )


def _dip(found: Evidence) -> Claim:
    def depth(tcp: str) -> Values:
        return np.asarray(np.minimum(lost_at_100(found, tcp, -200), lost_at_100(found, tcp, 0)))

    return Claim(
        "ripple.dip",
        "The throughput of noBuffer dips at 100 ms, because the retransmission timeout adds to the layer-2 delay.",
        (
            Measure(
                f"throughput at 0 or 200 ms, the lower, minus at 100 ms, of the TCP with the {MOST_TCPS}rd deepest dip",
                _of(_of_most([depth(tcp) for tcp in TCPS], MOST_TCPS)),
                "1",
                greater(),
            ),
        ),
        reading=f"{found.reading}; a dip for most TCPs: {MOST_TCPS} of 4",
        why=WHY["dip"],
    )


def _order(found: Evidence) -> Claim:
    peaks = {way: _best(_through(found, [delay], [way]) for delay in found.soft_ms) for way in MECHANISMS}
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
        why=WHY["fig5.order"],
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
        why=WHY["fig5.rise"],
    )


def _reno(found: Evidence) -> Claim:
    def below(way: str) -> Values:
        """By how much Reno is below the worst of the others."""
        others = [_through(found, found.overlaps_ms, [way], [tcp]) for tcp in TCPS if tcp != "reno"]
        return np.asarray(np.min(others, axis=0) - _through(found, found.overlaps_ms, [way], ["reno"]))

    def helped(overlap: int) -> Values:
        without = _best(throughput(found, "reno", way, overlap) for way in ("noBuffer", "biCast"))
        return throughput(found, "reno", "Buffer", overlap) - without

    return Claim(
        "ripple.reno",
        "Reno is below all other TCPs with most mechanisms in soft handovers; Buffer helps Reno at 100 and 200 ms.",
        (
            Measure(
                "throughput of the worst other TCP minus Reno's, overlaps of 100 to 500 ms, with the mechanism where "
                f"that is the {MOST_WAYS}nd largest",
                _of(_of_most([below(way) for way in MECHANISMS], MOST_WAYS)),
                "1",
                greater(),
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
        reading=f'{found.reading}; "most": {MOST_WAYS} of 3 mechanisms',
        why=WHY["reno"],
    )


def _tahoe(found: Evidence) -> Claim:
    def of(tcp: str) -> Values:
        return _through(found, found.overlaps_ms, tcps=[tcp])

    expired = {tcp: _expired(found, found.overlaps_ms, tcps=[tcp]) for tcp in ("tahoe", "sack")}
    return Claim(
        "ripple.tahoe",
        "Soft handover: Tahoe suffers more timeouts than SACK, yet its throughput is about SACK's and above Reno's.",
        (
            _more(
                "timeouts, Tahoe minus SACK, mean of mechanisms and overlaps of 100 to 500 ms",
                expired["tahoe"] - expired["sack"],
                "per handover",
                NO_LOSS,
            ),
            Measure(
                "throughput, Tahoe minus SACK", _of(of("tahoe") - of("sack")), "1", within(-ABOUT, ABOUT)
            ),
            Measure("throughput, Tahoe minus Reno", _of(of("tahoe") - of("reno")), "1", greater()),
        ),
        reading=f'{found.reading}; "about": within {ABOUT:g}',
        why=WHY["tahoe"],
    )


def _fewer(found: Evidence) -> Claim:
    return Claim(
        "ripple.fewer",
        "Every TCP suffers fewer timeouts with soft than with hard handover.",
        tuple(
            Measure(
                f"{NAMES[tcp]}: timeouts, overlaps minus gaps of 100 to 500 ms, mean of the mechanisms",
                _of(
                    _expired(found, found.overlaps_ms, tcps=[tcp])
                    - _expired(found, found.gaps_ms, tcps=[tcp])
                ),
                "per handover",
                less(),
            )
            for tcp in TCPS
        ),
        reading=str(found.reading),
        why=WHY["fewer"],
    )


def _proactive(found: Evidence) -> Claim:
    def gain(way: str, delays_ms: Sequence[int], name: str, tie: str = "") -> Measure:
        apart = _through(found, delays_ms, [way]) - _through(found, delays_ms, ["biCast"])
        return _more(f"throughput at {name}, {way} minus biCast, mean of the TCPs", apart, "1", tie)

    return Claim(
        "ripple.proactive",
        "Hard handover: proactive mechanisms beat the reactive one significantly; noBuffer when the delay is long, "
        "Buffer when it is short.",
        (
            gain("noBuffer", found.long_ms, "300 to 500 ms", SAME_WINDOW),
            gain("Buffer", SHORT_MS, "0 and 100 ms"),
        ),
        reading=f"{found.reading}; at each end the mechanism that the paper's conclusion names",
        why=WHY["proactive"],
    )


def _overlap(found: Evidence) -> Claim:
    brief = [overlap for overlap in found.overlaps_ms if overlap <= LONG_OVERLAP_MS]
    long = [overlap for overlap in found.overlaps_ms if overlap > LONG_OVERLAP_MS]

    def apart(first: str, second: str, overlaps_ms: Sequence[int], name: str) -> Measure:
        return Measure(
            f"throughput, {first} minus {second}, overlaps {name}, mean of the TCPs",
            _of(_through(found, overlaps_ms, [first]) - _through(found, overlaps_ms, [second])),
            "1",
            greater(),
        )

    others = ("noBuffer", "biCast")
    return Claim(
        "ripple.overlap",
        "Soft handover: with a long overlap noBuffer and biCast do better than Buffer; with a short one Buffer is "
        "marginally better than the others.",
        (
            *(apart(way, "Buffer", long, f"above {LONG_OVERLAP_MS} ms") for way in others),
            *(apart("Buffer", way, brief, f"of 100 to {LONG_OVERLAP_MS} ms") for way in others),
        ),
        reading=f'{found.reading}; "long": above {LONG_OVERLAP_MS} ms, as in section III-B.2',
        why=WHY["overlap"],
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


OF_READING = (
    _high,
    _flat,
    _low_timeouts,
    _low_throughput,
    _dip,
    _order,
    _rise,
    _reno,
    _tahoe,
    _fewer,
    _proactive,
    _overlap,
)
"""The claims that depend on a reading."""


def read(found: Evidence) -> list[Claim]:
    """Those that depend on a reading, under one."""
    return [claim(found) for claim in OF_READING]
