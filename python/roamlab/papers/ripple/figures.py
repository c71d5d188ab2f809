"""The paper's figures 3 to 6; the same with TCP by the RFCs in addition; the same axis for named protocols.

Every point is a mean over all runs with its 95 % interval.
"""

from __future__ import annotations

from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from roamlab.base.figures import COLOURS, new_figure
from roamlab.papers.drawing import errorbars, panel, saved
from roamlab.papers.ripple import claims
from roamlab.papers.ripple.claims import NAMES
from roamlab.papers.ripple.diagrams import diagram
from roamlab.papers.ripple.evidence import NAMED_MS, NAMED_TCPS
from roamlab.papers.ripple.experiments import DELAYS_MS, HANDOVERS, HARD_MS, MECHANISMS, NAMED, SOFT_MS, TCPS
from roamlab.papers.ripple.explanations import EFFECTS
from roamlab.papers.runs import NotMade
from roamlab.statistics.stats import student

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes

    from roamlab.base.figures import SavedFigure
    from roamlab.papers.ripple.claims import Values
    from roamlab.papers.ripple.evidence import Case, Evidence
    from roamlab.papers.ripple.explanations import Explained
    from roamlab.papers.ripple.measures import Run

Named: TypeAlias = "dict[Case, list[Run]]"

GAP = ("layer-2 handover delay", "ms")
OVERLAP = ("overlap of the cells", "ms")
BOTH = ("gap (-) or overlap (+)", "ms")
THROUGHPUT = ("throughput", "1")
TIMEOUTS = ("timeouts", "per handover")

_ABOUT_NAMED = tuple(
    tuple(name for name in NAMED if name.startswith(families))
    for families in (("Cellular IP", "FMIPv6"), "HAWAII", "M&M")
)


def drawings(
    default: Evidence, rfc: Evidence, named: Named, explained: Sequence[Explained], folder: Path
) -> dict[str, Callable[[], SavedFigure]]:
    """All figures; `named`: the map of named protocols. Those of effects that are not explained raise `NotMade`."""
    return {
        "fig3": partial(_figure, 3, default, claims.throughput, HARD_MS, folder),
        "fig4": partial(_figure, 4, default, claims.timeouts, HARD_MS, folder),
        "fig5": partial(_figure, 5, default, claims.throughput, SOFT_MS, folder),
        "fig6": partial(_figure, 6, default, claims.timeouts, SOFT_MS, folder),
        "rfc-throughput": partial(_profiles, "throughput", default, rfc, claims.throughput, folder),
        "rfc-timeouts": partial(_profiles, "timeouts", default, rfc, claims.timeouts, folder),
        "named-throughput": partial(_map, "throughput", default, named, folder),
        "named-timeouts": partial(_map, "timeouts", default, named, folder),
        **{f"why-{of.name}": partial(_why, explained, of.name, folder) for of in EFFECTS},
    }


def _why(explained: Sequence[Explained], name: str, folder: Path) -> SavedFigure:
    for of in explained:
        if of.effect.name == name:
            return diagram(of, folder)
    raise NotMade(f"the effect {name} was not explained")


def _line(
    axis: Axes, delays: Sequence[int], cases: Sequence[Values], name: str, *, shift: float = 0.0, **style: Any
) -> None:
    means = [student(values.tolist()) for values in cases]
    errorbars(axis, [delay + shift for delay in delays], means, capsize=3, markersize=4, label=name, **style)


def _figure(
    number: int,
    found: Evidence,
    pick: Callable[[Evidence, str, str, int], Values],
    delays: Sequence[int],
    folder: Path,
) -> SavedFigure:
    hard = delays is HARD_MS
    of_throughput = pick is claims.throughput
    with new_figure(rows=len(TCPS), row_inches=1.9) as (figure, axes):
        for axis, tcp in zip(axes, TCPS, strict=True):
            for way, shift, marker in zip(MECHANISMS, (-4.0, 0.0, 4.0), "os^", strict=True):
                cases = [pick(found, tcp, way, delay) for delay in delays]
                _line(axis, delays, cases, way, shift=shift, marker=marker)
            axis.set_ylim((0.5, 1.05) if of_throughput else (-0.1, 1.6))
            axis.set_xticks(delays)
            panel(axis, NAMES[tcp], GAP if hard else OVERLAP, THROUGHPUT if of_throughput else TIMEOUTS)
        axes[0].legend(loc="lower right" if of_throughput else "upper right", ncols=3)
        what = (
            f"throughput over that of the same TCP with {found.interpretation.normalised_by}"
            if of_throughput
            else f"timeouts, over the {HANDOVERS} handovers of a run"
        )
        return saved(
            "ripple",
            figure,
            folder,
            f"fig{number}",
            "figure",
            number=number,
            what=what,
            layer2="gap" if hard else "overlap",
            runs=len(found.still["reno"]),
        )


def _profiles(
    name: str,
    default: Evidence,
    rfc: Evidence,
    pick: Callable[[Evidence, str, str, int], Values],
    folder: Path,
) -> SavedFigure:
    with new_figure(rows=len(TCPS), row_inches=1.9) as (figure, axes):
        for axis, tcp in zip(axes, TCPS, strict=True):
            for found, dashes in ((default, "-"), (rfc, ":")):
                for at, (way, marker) in enumerate(zip(MECHANISMS, "os^", strict=True)):
                    cases = [pick(found, tcp, way, delay) for delay in DELAYS_MS]
                    _line(
                        axis,
                        DELAYS_MS,
                        cases,
                        f"{way}, {found.interpretation.profile}",
                        shift=4.0 * (at - 1),
                        marker=marker,
                        linestyle=dashes,
                        color=COLOURS[at],
                    )
            axis.set_ylim((0.4, 1.05) if name == "throughput" else (-0.1, 2.4))
            axis.set_xticks(DELAYS_MS)
            panel(axis, NAMES[tcp], BOTH, THROUGHPUT if name == "throughput" else TIMEOUTS)
        axes[0].legend(loc="lower right" if name == "throughput" else "upper right", ncols=2, fontsize=7)
        return saved(
            "ripple",
            figure,
            folder,
            f"rfc-{name}",
            "rfc",
            what=name,
            runs=len(default.still["reno"]),
            rfc_runs=len(rfc.still["reno"]),
        )


def _map(what: str, found: Evidence, named: Named, folder: Path) -> SavedFigure:
    of_throughput = what == "throughput"
    pick = named_throughput if of_throughput else named_timeouts
    rows = list(product(_ABOUT_NAMED, NAMED_TCPS))
    with new_figure(rows=len(rows), row_inches=2.1) as (figure, axes):
        for axis, (names, tcp) in zip(axes, rows, strict=True):
            for at, (name, marker) in enumerate(zip(names, "os^Dvx*", strict=False)):
                cases = [pick(found, named, (tcp, name, delay)) for delay in NAMED_MS]
                _line(axis, NAMED_MS, cases, name, shift=3.0 * (at - (len(names) - 1) / 2), marker=marker)
            axis.set_ylim((0.4, 1.05) if of_throughput else (-0.1, 2.1))
            axis.set_xticks(NAMED_MS)
            axis.legend(loc="lower right" if of_throughput else "upper right", ncols=2, fontsize=7)
            panel(axis, NAMES[tcp], BOTH, THROUGHPUT if of_throughput else TIMEOUTS)
        return saved(
            "ripple",
            figure,
            folder,
            f"named-{what}",
            "named",
            what=what,
            runs=len(next(iter(named.values()))),
        )


def named_throughput(found: Evidence, named: Named, case: Case) -> Values:
    """Normalised throughput of a case of the map, run by run."""
    pairs = zip(named[case], found.still[case[0]], strict=False)
    return np.array([run.throughput_bps / still.throughput_bps for run, still in pairs])


def named_timeouts(_: Evidence, named: Named, case: Case) -> Values:
    """Timeouts per handover of a case of the map, run by run."""
    return np.array([run.timeouts / HANDOVERS for run in named[case]])
