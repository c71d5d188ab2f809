"""A twin as files and as text: the scenario with comments, a figure, and how near it is."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roamlab.base import figures
from roamlab.base.errors import BadInput
from roamlab.base.output import PAGE_COMMENT, TOML_COMMENT, refuse_changed, write_chart, write_signed
from roamlab.captures import fitting, likeness
from roamlab.captures.twin_scenario import START_S, scenario

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from roamlab.captures.fitting import Made, Twin
    from roamlab.captures.path import FlowPath


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The least and the largest."""
    return min(values), max(values)


def _all(found: Twin) -> list[Made]:
    return [found.best, *found.drawn]


def data(found: Twin) -> dict[str, Any]:
    """A twin for programs: figures of the capture and of the twin, each with its interval, and what is not known."""
    best, path = found.best, found.path
    made = _all(found)
    return {
        "flow": path.flow,
        "place": path.place,
        "sender": found.sender,
        "senders": [
            {"sender": fitting.sender_of(each.setting), "mean_distance_s": each.nearness.mean_s}
            for each in found.senders
        ],
        "base_s": path.base_s,
        "rate_bps": best.setting.rate_bps,
        "queue_pkts": best.setting.queue,
        "gaps": [
            {"start_s": path.start_s + start, "end_s": path.start_s + end, "held": best.setting.held}
            for start, end in best.setting.gaps
        ],
        "goodput_bps": {
            "capture": path.goodput_bps,
            "twin": best.outcome.goodput_bps,
            "interval": interval([each.outcome.goodput_bps for each in made]),
        },
        "timeouts": {
            "capture": None if path.timeouts_s is None else len(path.timeouts_s),
            "twin": best.outcome.timeouts,
            "interval": interval([each.outcome.timeouts for each in made]),
        },
        "distance_s": {"median": best.nearness.median_s, "largest": best.nearness.largest_s},
        "waits_s": {
            "capture": likeness.quantiles(path.waits[:, 1]),
            "twin": likeness.quantiles(best.outcome.waits),
        },
        "places": [kind.setting.place for kind in found.kinds],
        "unknown": [
            {
                "name": each.name,
                "low": each.low,
                "high": each.high,
                "unit": each.unit,
                "assumed": each.is_open,
            }
            for each in found.unknowns
        ],
    }


def lines(found: Twin) -> list[str]:
    """How near a twin is, as text."""
    best, path = found.best, found.path
    made = _all(found)
    goods = interval([each.outcome.goodput_bps / 1e6 for each in made])
    stalls = interval([each.outcome.stall_s for each in made])
    counts = interval([each.outcome.timeouts for each in made])
    timeouts = "unknown" if path.timeouts_s is None else str(len(path.timeouts_s))
    told = [
        f"flow {path.flow}: twin with the sender {found.sender}",
        *_known(found),
        f"goodput: capture {path.goodput_bps / 1e6:.3g} Mbit/s, twin {best.outcome.goodput_bps / 1e6:.3g} "
        f"({goods[0]:.3g} to {goods[1]:.3g} over {len(made)} twins)",
        f"timeouts: capture {timeouts}, twin {best.outcome.timeouts} ({counts[0]} to {counts[1]})",
        f"longest stall: twin {best.outcome.stall_s:.3f} s ({stalls[0]:.3f} to {stalls[1]:.3f})",
        f"bytes over time: {best.nearness.median_s:.3f} s apart in the median, {best.nearness.largest_s:.3f} s at "
        "most outside of 1 s around timeouts",
        _waits(found),
    ]
    others = [f"{fitting.sender_of(each.setting)} {each.nearness.mean_s:.3f} s" for each in found.senders[1:]]
    told.append(
        f"senders by their mean distance: {found.sender} {best.nearness.mean_s:.3f} s; {', '.join(others)}"
    )
    told += [f"not known: {unknown.words()}" for unknown in found.unknowns]
    if len(found.kinds) > 1:
        told.append(f"not known: where packets were lost in gaps: {_places(found)}")
    return ["\n  · ".join(told)]


def _places(found: Twin) -> str:
    names = {
        "cell": "behind the queue",
        "next": "with the queue, at a move to another cell",
        "wire": "in front of the queue",
    }
    return "; or ".join(names[kind.setting.place] for kind in found.kinds)


def _unfilled(path: FlowPath) -> str:
    """The source of a rate that the flow did not fill."""
    if path.rates:
        return "by short bursts: the flow did not fill the path"
    return "what passed at least: the flow never filled the path"


def _known(found: Twin) -> list[str]:
    """The parts of the path, in a line each."""
    setting, path = found.best.setting, found.path
    told = [f"round trip {path.base_s:.4f} s without queues"]
    how = "measured where a queue was never empty" if path.is_filled else _unfilled(path)
    told.append(f"rate {setting.rate_bps / 1e6:.4g} Mbit/s, {how}")
    if len(path.rates) > 1:
        rates = ", ".join(
            f"{each['bps'] / 1e6:.3g} from {each['from_s'] + path.start_s:.1f} s" for each in path.rates
        )
        told.append(f"the rate changes: {rates} Mbit/s")
    full = f"{len(path.full)} packets lost at it" if path.full else "it was never seen full"
    told.append(f"queue {setting.queue} packets: {full}")
    for (start, end), gap in zip(setting.gaps, path.gaps, strict=False):
        what = "held" if gap.is_held else "lost"
        told.append(f"gap of {end - start:.3f} s from {path.start_s + start:.3f} s on, packets {what}")
    if {gap.is_held for gap in path.gaps} == {True, False}:
        told.append(f"packets are {'held' if setting.held else 'lost'} in all gaps of the twin")
    if path.longer:
        until = "the end" if path.longer["to_s"] is None else f"{path.longer['to_s'] + path.start_s:.3f} s"
        grown = path.longer["ahead_s"] + path.longer["back_s"]
        told.append(
            f"round trip longer by {grown:.3f} s from {path.longer['from_s'] + path.start_s:.3f} s to {until}"
        )
    if path.lost:
        how_lost = "by their numbers" if setting.drops else "at random"
        told.append(f"{len(path.lost)} other packets are lost, {how_lost}")
    if setting.bursts:
        told.append(f"the application sends {setting.bursts[0]} B each {setting.bursts[1]:.3f} s")
    if setting.window:
        told.append(f"the receiver's window is {setting.window} segments")
    return told


def _waits(found: Twin) -> str:
    mine, its = (likeness.quantiles(waits) for waits in (found.path.waits[:, 1], found.best.outcome.waits))
    pairs = zip(likeness.SHARES, mine, its, strict=True)
    return "waits in queues, capture and twin: " + ", ".join(
        f"{share:.0%} {mine:.3f} and {its:.3f} s" for share, mine, its in pairs
    )


def notes(found: Twin) -> dict[str, str]:
    """Comments behind the scenario's fields: where each number is from."""
    path, setting = found.path, found.best.setting
    if path.is_filled:
        rate = path.rates[0]
        low, high = rate["low_bps"] / 1e6, rate["high_bps"] / 1e6
        said = f"{low:.4g} to {high:.4g} Mbit/s while the queue was not empty, {rate['busy_s']:.1f} s"
    else:
        said = _unfilled(path)
    queue = f"the largest wait was {path.wait_s:.3f} s"
    queue += (
        f", {len(path.full)} packets were lost at it"
        if path.full
        else ", never seen full: a lower bound, doubled"
    )
    told = {
        "length": f"{path.length_s:.3f} s of the capture",
        "sender": "the profile whose bytes over time are nearest",
        "delay": f"half of the least round trip, {path.base_s:.4f} s; the split is not known",
        "rate": said,
        "queue": queue,
        "transport": "the variant that is nearest",
        "app": "the first data of the capture",
        "losses": "lost in the capture, neither in a gap nor at a full queue",
    }
    if setting.gaps:
        told["gaps"] = "a silence of the path is a time without a cell"
        told["buffer"] = "packets waited in the gaps" if setting.held else "packets were lost in the gaps"
    return told


def scenario_text(found: Twin) -> str:
    """The twin's scenario, with comments."""
    path, near = found.path, found.best.nearness
    places = {"both ends": "both ends", "middle": "a place between its ends"}
    place = places.get(path.place, f"its {path.place}")
    head = [
        "# A twin of the path of a captured flow, made by `roamlab twin`.",
        f"# {path.flow}, captured at {place}.",
        f"# The first sending of data is at {path.start_s:.3f} s of the capture, and at {START_S:g} s and a round trip",
        f"# here. Goodput is {near.goodput:.3f} times that of the capture, bytes over time are {near.median_s:.3f} s",
        "# apart in the median.",
        "#",
        "# Not known, each a range that the answers were taken over:",
        *(f"#   {unknown.words()}" for unknown in found.unknowns),
        *([f"#   where packets were lost in gaps: {_places(found)}"] if len(found.kinds) > 1 else []),
        "",
    ]
    return "\n".join(head) + "\n" + scenario(found.best.setting, notes(found)).text


def refuse(out: Path) -> None:
    """Raise `BadInput` for a name that is no scenario's, and where a file is that `write` did not write."""
    if out.suffix != ".toml":
        raise BadInput(
            f"--out {out}",
            "the twin is the file of a scenario",
            expected="a name that ends in .toml",
            remedy=f"write --out {out / 'twin.toml' if out.is_dir() or not out.suffix else out.with_suffix('.toml')}",
        )
    refuse_changed(out, TOML_COMMENT)
    refuse_changed(out.with_suffix(".svg"), PAGE_COMMENT)


def write(found: Twin, out: Path) -> None:
    """Write the scenario into the file `out`, and the figure next to it, in .svg; errors as those of `refuse`."""
    refuse(out)
    with tempfile.TemporaryDirectory() as folder:
        picture = draw(found, Path(folder)).read_text(encoding="utf-8")
    write_chart(out.with_suffix(".svg"), picture)
    write_signed(out, scenario_text(found), TOML_COMMENT)


def _megabytes(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values / 1e6


def draw(found: Twin, folder: Path) -> Path:
    """Bytes over time of the capture, of the twin, and of the others that the capture allows; gaps are shaded.

    The figure in SVG.
    """
    path, best = found.path, found.best
    with figures.new_figure() as (figure, (axes,)):
        for at, each in enumerate(found.drawn):
            axes.plot(
                path.start_s + each.outcome.times,
                _megabytes(each.outcome.amounts),
                color="0.75",
                linestyle="-",
                linewidth=0.7,
                zorder=1,
                label="other twins that the capture allows" if at == 0 else None,
            )
        for at, (start, end) in enumerate(best.setting.gaps):
            axes.axvspan(
                path.start_s + start,
                path.start_s + end,
                color=figures.ORANGE,
                alpha=0.25,
                linewidth=0,
                label="gap" if at == 0 else None,
            )
        times, amounts = path.course[:, 0], path.course[:, 1]
        axes.plot(
            path.start_s + times, _megabytes(amounts), color=figures.BLUE, linestyle="-", label="capture"
        )
        axes.plot(
            path.start_s + best.outcome.times,
            _megabytes(best.outcome.amounts),
            color=figures.VERMILION,
            linestyle="--",
            label="twin",
        )
        figures.label(axes, ("time of the capture", "s"), ("data that arrived", "MB"))
        axes.set_xlim(path.start_s, path.start_s + path.end_s)
        axes.set_ylim(bottom=0)
        axes.legend()
        return figures.save(figure, folder, "twin", "Bytes over time of the capture and of its twin.").svg
