"""Metrics by name: what a sweep keeps of each run. `docs/metrics.md` lists the names."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from roamlab.base.errors import BadInput
from roamlab.records import experience, metrics, slow
from roamlab.records.manifest import describe
from roamlab.records.results import from_engine
from roamlab.records.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from roamlab._roamlab import Tables
    from roamlab.records.results import Results
    from roamlab.running.ensemble import Job

Summary = list[tuple[str, float]]
"""Metrics of one run and their values, in the order asked for."""

TOTALS = tuple(
    column for column in TABLES["flows"][1] if column not in ("flow", "source", "destination", "kind")
)
"""Columns of the table `flows` that are numbers."""


def _largest(values: Sequence[float]) -> float:
    return max((value for value in values if not math.isnan(value)), default=math.nan)


_MADE_OF: dict[str, tuple[str, ...]] = {
    "loss_ratio": ("deliveries", "drops"),
    "reordered_ratio": ("deliveries",),
    "rfc4737_extent_pkts": ("deliveries",),
    "handover_timeouts": ("causes", "handovers", "tcp"),
    "disruption_s": ("deliveries", "handovers"),
    "completion_s": (),
    "frame_loss_ratio": ("units",),
    "freeze_s": ("units",),
    "jitter_s": ("deliveries",),
    "mos": ("deliveries",),
    "page_load_s": ("units",),
    "rebuffering_ratio": ("units",),
    "slow_s": ("deliveries", "packets"),
    "goodput_bps": (),
    "jain": (),
    "synchronisation": ("deliveries", "tcp"),
    "window_correlation": ("tcp",),
}
"""Tables besides `flows` that a metric is made of; totals of flows need none."""


_OF_FLOW: dict[str, tuple[str, Callable[[Results, str], float]]] = {
    "loss_ratio": ("1", metrics.loss_ratio),
    "reordered_ratio": ("1", metrics.reordered_ratio),
    "rfc4737_extent_pkts": ("pkt", metrics.reordering_extent),
    "handover_timeouts": ("1", metrics.handover_timeouts),
    "disruption_s": ("s", lambda results, flow: _largest(metrics.flow_disruptions_s(results, flow))),
    "completion_s": ("s", experience.completion_s),
    "frame_loss_ratio": ("1", experience.frame_loss_ratio),
    "freeze_s": ("s", experience.freeze_s),
    "jitter_s": ("s", experience.jitter_s),
    "mos": ("1", lambda results, flow: experience.voice(results, flow).mos),
    "page_load_s": ("s", experience.mean_page_load_s),
    "slow_s": ("s", slow.slow_s),
    "rebuffering_ratio": ("1", lambda results, flow: experience.player(results, flow).ratio),
}


def _flows(results: Results) -> list[str]:
    return [str(name) for name in results.flows["flow"]]


def _round_trip(results: Results) -> float:
    """Twice the mean one-way delay of data packets, in s."""
    arrived = results.columns("deliveries")
    delays = metrics.seconds(arrived) - metrics.seconds(arrived, "sent_ns")
    return 2 * float(delays.mean()) if delays.size else 0.0


_OF_RUN: dict[str, tuple[str, Callable[[Results], float]]] = {
    "goodput_bps": ("bit/s", lambda results: float(results.flows["goodput_bps"].sum())),
    "jain": ("1", lambda results: metrics.jain(results.flows["goodput_bps"].to_list())),
    "synchronisation": (
        "1",
        lambda results: metrics.synchronisation(results, _flows(results), _round_trip(results)),
    ),
    "window_correlation": (
        "1",
        lambda results: metrics.window_correlation(
            results, _flows(results), 0.0, metrics.duration_s(results)
        ),
    ),
}

_UNITS = {"ns": "ns", "bps": "bit/s", "bytes": "B", "pkts": "pkt", "timeouts": "1", "retransmits": "1"}


def names() -> list[str]:
    """All metrics, with `FLOW` for a flow's name."""
    per_flow = [f"flows.FLOW.{column}" for column in (*TOTALS, *_OF_FLOW)]
    return [*per_flow, *_OF_RUN, "census.NAME"]


def unit(metric: str) -> str:
    """The unit of a metric; "1" for counts and ratios."""
    last = metric.rpartition(".")[2]
    if metric in _OF_RUN:
        return _OF_RUN[metric][0]
    if last in _OF_FLOW:
        return _OF_FLOW[last][0]
    return "pkt" if metric.startswith("census.") else _UNITS[last.rpartition("_")[2]]


_SHARES = (
    "loss_ratio",
    "reordered_ratio",
    "frame_loss_ratio",
    "rebuffering_ratio",
    "jain",
    "synchronisation",
)
_BOUNDS = {
    **dict.fromkeys(_SHARES, (0.0, 1.0)),
    "mos": (1.0, 4.5),
    "window_correlation": (-1.0, 1.0),
    **dict.fromkeys(("start_ns", "finish_ns", "completed_ns"), (-1.0, math.inf)),
}


def bounds(metric: str) -> tuple[float, float]:
    """The smallest and the largest value that a metric can have; most are never negative."""
    return _BOUNDS.get(metric.rpartition(".")[2], (0.0, math.inf))


def check(metric: str, where: str) -> None:
    """Refuse what is no metric; `where` names the field for the report."""
    parts = metric.split(".")
    known = (
        metric in _OF_RUN
        or (len(parts) == 3 and parts[0] == "flows" and parts[2] in (*TOTALS, *_OF_FLOW))
        or (len(parts) == 2 and parts[0] == "census")
    )
    if not known:
        raise BadInput(
            where,
            f"there is no metric {metric!r}",
            expected=f"one of {', '.join(names())}",
            remedy='write for example "flows.moving.goodput_bps", or "flows.*.goodput_bps" for all flows',
        )


@dataclass(frozen=True)
class Measurement:
    """The metrics that are wanted of each run. A `*` in the place of a flow stands for all of them."""

    metrics: tuple[str, ...] = tuple(f"flows.*.{column}" for column in TOTALS)

    @cached_property
    def tables(self) -> list[str]:
        """The tables that the metrics are made of. A run records no others, which saves its memory."""
        found = {"flows"}
        for metric in self.metrics:
            if metric.startswith("census."):
                found.add("census")
            else:
                found.update(_MADE_OF.get(metric.rpartition(".")[2], ()))
        return sorted(found)

    @property
    def digest(self) -> str:
        """Hash of what is measured and how."""
        return hashlib.sha256("\n".join([_definitions(), *self.metrics]).encode()).hexdigest()[:16]

    def of(self, job: Job, tables: Tables) -> Summary:
        """The metrics of one run."""
        totals = _Totals(tables)
        found: Summary = []
        for metric in self.metrics:
            family, _, rest = metric.partition(".")
            if family == "flows":
                flow, _, what = rest.rpartition(".")
                for name in totals.flows if flow == "*" else [flow]:
                    found.append((f"flows.{name}.{what}", self._of_flow(job, tables, totals, name, what)))
            elif family == "census":
                found.append((metric, _census(tables, rest, job.scenario.name)))
            else:
                found.append((metric, float(_OF_RUN[metric][1](totals.results(job)))))
        return found

    def _of_flow(self, job: Job, tables: Tables, totals: _Totals, flow: str, what: str) -> float:
        at = totals.places.get(flow)
        if at is None:
            raise BadInput(
                f"metric flows.{flow}.{what}",
                f"there is no flow {flow!r} in {job.scenario.name}",
                expected=f"one of {', '.join(totals.flows)}",
                remedy="name a flow of the scenario, or * for all",
            )
        if what in TOTALS:
            return float(tables["flows"][what][at])
        return float(_OF_FLOW[what][1](totals.results(job), flow))


class _Totals:
    """A run's flows by name; its frames only if a metric needs them."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._results: Results | None = None
        listed = tables.get("names", {}).get("flows.flow", [])
        self.flows = [str(listed[int(code)]) for code in tables["flows"]["flow"]]
        self.places = {name: at for at, name in enumerate(self.flows)}

    def results(self, job: Job) -> Results:
        if self._results is None:
            self._results = from_engine(self._tables, describe(job.scenario, job.seed, job.run))
        return self._results


def _census(tables: Tables, name: str, scenario: str) -> float:
    listed = list(tables["names"]["census.name"])
    if name not in listed:
        raise BadInput(
            f"metric census.{name}",
            f"the census of {scenario} has no such line",
            expected=f"one of {', '.join(map(str, listed))}",
            remedy="correct the name",
        )
    codes = tables["census"]["name"]
    return float(next(tables["census"]["value"][at] for at, code in enumerate(codes) if listed[code] == name))


@cache
def _definitions() -> str:
    """The metrics' code: another definition is another result."""
    folder = Path(metrics.__file__).parent
    paths = (Path(__file__), *(folder / f"{name}.py" for name in ("metrics", "experience", "slow")))
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)
