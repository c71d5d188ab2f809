"""Metrics in words, for pages, figures and tables."""

from __future__ import annotations

from pathlib import PurePath

WORDS = {
    "goodput_bps": "goodput",
    "loss_ratio": "share of lost packets",
    "dropped_pkts": "number of lost packets",
    "delivered_pkts": "number of delivered packets",
    "retransmitted_pkts": "number of retransmissions",
    "timeouts": "number of timeouts",
    "spurious_timeouts": "number of spurious timeouts",
    "handover_timeouts": "number of timeouts by handovers",
    "reordered_ratio": "share of reordered packets",
    "disruption_s": "longest disruption by a handover",
    "completion_s": "completion time",
    "jitter_s": "jitter",
    "mos": "mean opinion score",
    "frame_loss_ratio": "share of lost frames",
    "freeze_s": "time in which the picture is frozen",
    "page_load_s": "mean load time of the pages",
    "rebuffering_ratio": "share of the play-out time in stalls",
    "jain": "Jain's index of fairness",
}
"""Metrics in words; others are called by their names."""


def called(name: str, *others: str) -> str:
    """A scenario or point in a sentence: a file without folder and extension; "2 Mbit/s" is no file.

    Where one of the `others` would be called the same, the whole name stays.
    """
    short = PurePath(name).stem if name.endswith(".toml") else name
    return name if any(called(other) == short for other in others if other != name) else short


def subject(metric: str) -> str:
    """A metric as the subject of a sentence: "The goodput of download"."""
    words = heading(metric)
    return words if words == metric or words.startswith("Jain") else f"The {words}"


def heading(metric: str) -> str:
    """A metric as the title of a table or an axis: "goodput of download"; without words for it, its name."""
    of, _, name = metric.rpartition(".")
    flow = of.removeprefix("flows.")
    return f"{WORDS[name]}{f' of {flow}' if flow else ''}" if name in WORDS else metric
