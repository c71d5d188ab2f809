"""A fitted law of durations: its report, and its figure."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np

from roamlab.base.errors import BadInput
from roamlab.base.figures import label, new_figure
from roamlab.base.output import write_chart, write_whole
from roamlab.base.quantities import counted
from roamlab.statistics.durations import LEAST_SAMPLE, components, grouping, text

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from roamlab.statistics.durations import Components, Fitted, Values

ENDINGS = (".svg", ".png")
_SIGNED = b"tEXtSoftware\0roamlab fit"
"""Part of each PNG that is ours."""


def lines(what: str, values: Values, series: list[Values], found: Fitted) -> list[str]:
    """The report: the sample, how well each law fits it, and warnings about it."""
    count, half = len(values), len(values) // 2
    told = [
        f"{what}: n = {count}, median {text(float(np.median(values)))}, "
        f"95 % {text(float(np.quantile(values, 0.95)))}, longest {text(float(values.max()))}"
    ]
    if count < LEAST_SAMPLE:
        return [*told, f"undecided: {count} durations are too few for a law, {LEAST_SAMPLE} are needed"]
    for name, distance in found.distances.items():
        chosen = "  <- this law" if name == found.law.name else ""
        told.append(f"  {name:<11} KS distance {distance:.3f}{chosen}")
    told.append(
        f"  bound {found.bound:.3f} = 1.36/sqrt({half}): a law of one half of the sample, judged on the other half"
    )
    if not found.fits:
        told.append("warning: no law is as near as its bound; is each duration independent of the others?")
    told += [_mixed(each) for each in components(values) if each.clear and _is_told(each, found)]
    return told + _grouped(series)


def _is_told(each: Components, found: Fitted) -> bool:
    """Every simple law is rejected that one component could be; two exponential ones halve the distance of one."""
    far = {name: distance for name, distance in found.distances.items() if distance > found.bound}
    if each.what == "exponential":
        return "exponential" in far and found.distances["mixture"] <= far["exponential"] / 2
    return {"uniform", "exponential", "mixture"} <= far.keys()


def _mixed(each: Components) -> str:
    (low, high), (first, second) = each.shares, each.centres_s
    centre = "mean" if each.what == "exponential" else "median"
    return (
        f"warning: perhaps a mixture: two {each.what} components ({100 * low:.0f} % with {centre} {text(first)}, "
        f"{100 * high:.0f} % with {centre} {text(second)}) have a BIC lower by {each.better:.0f} than one; "
        "choose one kind of events with --where"
    )


def _grouped(series: list[Values]) -> list[str]:
    if not series:
        return []
    found = grouping(series)
    if found.verdict == "undecided":
        return ["events over time: undecided, there are too few"]
    seen = (
        f"index of dispersion {found.dispersion:.2f} in {counted(found.windows, 'window')}, "
        f"p = {min(found.p_grouped, found.p_regular):.2g}"
    )
    meant = {
        "grouped": f"events come in groups ({seen}): independent draws of one law do not keep the order of short and "
        "long times",
        "regular": f"events are more regular than random ones ({seen})",
        "as a Poisson process": f"events over time: no groups ({seen})",
    }
    return [meant[found.verdict]]


def check_name(path: Path) -> None:
    """Raise `BadInput` if a figure of this name cannot be written: another format, or a file that is not ours."""
    if path.suffix.lower() not in ENDINGS:
        raise BadInput(
            f"--figure {path}",
            "the name has no ending of a picture",
            expected="a name that ends in .svg or .png",
            remedy=f"write --figure {path.with_suffix('.svg')}",
        )
    is_ours = path.suffix.lower() == ".svg" or (path.is_file() and _SIGNED in path.read_bytes()[:4096])
    if path.exists() and not is_ours:
        raise BadInput(
            path,
            "the file is not ours to replace",
            expected="a new file, or a figure of `roamlab fit`",
            remedy="name another file with --figure",
        )


def write_figure(path: Path, what: str, values: Values, found: Fitted) -> None:
    """Draw the sample and its law as cumulative distributions, in the format that the name has. Raises `BadInput`."""
    from matplotlib.ticker import FuncFormatter

    check_name(path)
    with new_figure() as (figure, (axes,)):
        ordered = np.sort(values)
        count = len(ordered)
        shown = ordered[ordered > 0]
        axes.step(ordered, np.arange(1, count + 1) / count, where="post", label=f"sample, n = {count}")
        if len(shown):
            if shown[-1] > 10 * shown[0]:
                axes.set_xscale("log")
                axes.xaxis.set_major_formatter(FuncFormatter(lambda time, _: f"{time:g}"))
            span = np.geomspace(shown[0] / 1.5, shown[-1] * 1.5, 600)
            axes.plot(span, found.law.below(span), label=f"law: {found.law.name}")
        axes.set_ylim(-0.02, 1.02)
        axes.set_title(f"Distribution of {what}: sample and fitted law", loc="left", fontsize=9)
        label(axes, (what, "s"), ("share of times up to this one", "1"))
        axes.legend(loc="lower right")
        write_content(figure, path)


def write_content(figure: Figure, path: Path) -> None:
    """Write a figure of `roamlab fit`, in the format that the name has."""
    content = _content(figure, path.suffix.lower())
    if path.suffix.lower() == ".svg":
        write_chart(path, content.decode())
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content)


def _content(figure: Figure, ending: str) -> bytes:
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    ConstrainedLayoutEngine().execute(figure)
    drawn = BytesIO()
    own = {"Software": "roamlab fit"} if ending == ".png" else {"Date": None, "Creator": None}
    figure.savefig(drawn, format=ending[1:], metadata=own)
    return drawn.getvalue()
