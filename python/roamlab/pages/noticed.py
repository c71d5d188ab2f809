"""The quality of a run for users, flow by flow, in sentences: freezes of a picture, the quality of a call."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from roamlab.records import experience
from roamlab.records.metrics import application

if TYPE_CHECKING:
    from roamlab.records.metrics import Values
    from roamlab.records.results import Results

VOICE_OFFSET_S, VIDEO_OFFSET_S = 0.06, 0.2
"""Play-out of a call is so much later than its smallest delay, of a video so much later than a frame begins."""
_LISTED = 5
"""Most times of a frozen picture in a list."""


class Noticed(NamedTuple):
    """Observations of a flow."""

    flow: str
    application: str
    sentence: str
    still_s: float
    """How long its picture was frozen; 0 without a picture."""


def noticed(results: Results) -> list[Noticed]:
    """Of each film, video, call and page flow what its user notices."""
    found = []
    for name in map(str, results.flows["flow"]):
        kind = application(results, name).get("kind", "")
        told = _TOLD[kind](results, name) if kind in _TOLD else None
        if told is not None:
            found.append(Noticed(name, kind, *told))
    return found


def _film(results: Results, flow: str) -> tuple[str, float] | None:
    player = experience.player(results, flow)
    if math.isnan(player.mean_rate_bps):
        return None  # the requests of a film
    if math.isnan(player.startup_s):
        return "the film never began", 0.0
    began = f"the film began {player.startup_s:.3g} s after it was asked for"
    rate = f"{player.mean_rate_bps / 1e6:.3g} Mbit/s on average"
    return f"{began}; {_still(player.spans_s)}; {rate}", float(player.stalls_s.sum())


def _video(results: Results, flow: str) -> tuple[str, float] | None:
    lost = experience.frame_loss_ratio(results, flow)
    if math.isnan(lost):
        return None
    spans = experience.freeze_spans_of_s(results, flow, VIDEO_OFFSET_S)
    words = f"{_still(spans)}; {lost:.2%} of the frames never were whole"
    return words, float(experience.lengths_s(spans).sum())


def _call(results: Results, flow: str) -> tuple[str, float] | None:
    heard = experience.voice(results, flow, VOICE_OFFSET_S)
    if math.isnan(heard.r):
        return None
    if math.isnan(heard.delay_s):
        return f"MOS {heard.mos:.2f}; nothing of the call arrived", 0.0
    delay = f"{1e3 * heard.delay_s:.0f} ms from mouth to ear"
    return (
        f"MOS {heard.mos:.2f} (R {heard.r:.0f}); {heard.lost:.2%} lost, {heard.late:.2%} late; {delay}",
        0.0,
    )


def _pages(results: Results, flow: str) -> tuple[str, float] | None:
    loads = experience.page_loads_s(results, flow)
    if not loads.size:
        return None
    return (
        f"{loads.size} pages came whole, in {loads.mean():.3g} s on average, {loads.max():.3g} s at most",
        0.0,
    )


_TOLD = {"dash": _film, "video": _video, "voip": _call, "web": _pages}


def _still(spans: Values) -> str:
    """Number and times of the freezes of the picture."""
    if not len(spans):
        return "the picture never froze"
    lengths = experience.lengths_s(spans)
    times = [f"{begin:.3f} to {end:.3f} s" for begin, end in spans[:_LISTED].tolist()]
    more = f" and {len(spans) - _LISTED} times more" if len(spans) > _LISTED else ""
    often = "once" if len(spans) == 1 else f"{len(spans)} times"
    return f"the picture froze {often}, for {lengths.sum():.3g} s in all: {', '.join(times)}{more}"
