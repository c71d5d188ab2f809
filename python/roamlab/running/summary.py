"""Metrics by name: what a sweep keeps of each run. `docs/metrics.md` lists the names."""

from __future__ import annotations

import hashlib
import math
import re
import statistics
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from roamlab.base.calls import RESULTS, TEXT, called
from roamlab.base.errors import BadInput, closest
from roamlab.records import analysis, experience, handovers, metrics
from roamlab.records.columns import Columns
from roamlab.records.manifest import describe
from roamlab.records.results import from_engine
from roamlab.records.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from roamlab._roamlab import Tables
    from roamlab.records.results import Results
    from roamlab.running.ensemble import Job
    from roamlab.scenarios.scenario import Scenario

Summary = list[tuple[str, float]]
"""Metrics of one run and their values, in the order asked for."""

TOTALS = tuple(
    column for column in TABLES["flows"].columns if column not in ("flow", "source", "destination", "kind")
)
"""Columns of the table `flows` that are numbers."""


def _largest(values: Sequence[float]) -> float:
    return max((value for value in values if not math.isnan(value)), default=math.nan)


_MADE_OF: dict[str, tuple[str, ...]] = {
    "loss_ratio": ("deliveries", "drops"),
    "reordered_ratio": ("deliveries",),
    "rfc4737_extent_pkts": ("deliveries",),
    "handover_timeouts": ("causes", "handovers", "tcp"),
    "handovers_without_timeout_ratio": ("causes", "handovers", "tcp"),
    "handover_timeouts_by_time": ("handovers", "tcp"),
    "handovers_without_timeout_by_time_ratio": ("handovers", "tcp"),
    "disruption_s": ("deliveries", "drops", "handovers"),
    "completed_ratio": (),
    "late_ratio": ("deliveries",),
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
"""Tables of a metric other than `flows`; totals of flows need none."""


_OF_FLOW: dict[str, tuple[str, Callable[[Results, str], float]]] = {
    "loss_ratio": ("1", metrics.loss_ratio),
    "reordered_ratio": ("1", metrics.reordered_ratio),
    "rfc4737_extent_pkts": ("pkt", metrics.reordering_extent),
    "handover_timeouts": ("1", metrics.handover_timeouts),
    "handovers_without_timeout_ratio": ("1", handovers.without_timeout_ratio),
    "handover_timeouts_by_time": ("1", handovers.all_timeouts_by_time),
    "handovers_without_timeout_by_time_ratio": ("1", handovers.without_timeout_by_time_ratio),
    "disruption_s": ("s", lambda results, flow: _largest(metrics.flow_disruptions_s(results, flow))),
    "completion_s": ("s", experience.completion_s),
    "completed_ratio": ("1", experience.completed_ratio),
    "frame_loss_ratio": ("1", experience.frame_loss_ratio),
    "freeze_s": ("s", experience.freeze_s),
    "jitter_s": ("s", experience.jitter_s),
    "late_ratio": ("1", lambda results, flow: experience.voice(results, flow).late),
    "mos": ("1", lambda results, flow: experience.voice(results, flow).mos),
    "page_load_s": ("s", experience.mean_page_load_s),
    "slow_s": ("s", analysis.slow_s),
    "rebuffering_ratio": ("1", lambda results, flow: experience.player(results, flow).ratio),
}


def _round_trip(results: Results) -> float:
    """Twice the mean one-way delay of data packets, in s."""
    arrived = results.columns("deliveries")
    delays = metrics.seconds(arrived) - metrics.seconds(arrived, "sent_ns")
    return 2 * float(delays.mean()) if delays.size else 0.0


_OF_RUN: dict[str, tuple[str, Callable[[Results], float]]] = {
    "goodput_bps": ("bit/s", metrics.goodput_of_all_bps),
    "jain": ("1", metrics.fairness),
    "synchronisation": (
        "1",
        lambda results: metrics.synchronisation(
            results, metrics.elastic_flows(results), _round_trip(results)
        ),
    ),
    "window_correlation": (
        "1",
        lambda results: metrics.window_correlation(
            results, metrics.elastic_flows(results), 0.0, metrics.duration_s(results)
        ),
    ),
}

_APPLICATIONS: dict[str, tuple[str, ...]] = {
    "completion_s": ("ftp",),
    "completed_ratio": ("ftp",),
    "late_ratio": ("voip",),
    "frame_loss_ratio": ("video", "video-trace", "conference"),
    "freeze_s": ("video", "video-trace", "conference"),
    "mos": ("voip",),
    "page_load_s": ("web",),
    "rebuffering_ratio": ("dash",),
}
"""Applications that a metric is about; the others do not define it."""

_OVER: dict[str, Callable[[Sequence[float]], float]] = {
    "mean": statistics.fmean,
    "min": min,
    "max": max,
    "sum": math.fsum,
}
"""Function that makes one number of the flows that match a pattern."""

_UNITS = {"ns": "ns", "bps": "bit/s", "bytes": "B", "pkts": "pkt", "timeouts": "1", "retransmits": "1"}


def names() -> list[str]:
    """All metrics, with `FLOW` for a flow's name."""
    per_flow = [f"flows.FLOW.{column}" for column in (*TOTALS, *_OF_FLOW)]
    return [*per_flow, *_OF_RUN, "census.NAME"]


class Name(NamedTuple):
    """The parts of a metric's name: `mean(flows.*.mos)`, `flows.moving.mos`, `jain`, `census.created`."""

    over: str
    """Function over several flows: a key of `_OVER`, or empty."""
    family: str
    """`flows`, `census`, or empty for a metric of the run."""
    flow: str
    """The flow's name, or a pattern with `*`."""
    what: str
    """The last part."""

    @classmethod
    def of(cls, metric: str) -> Name:
        """The parts of a name, unchecked."""
        over, inner = "", metric
        if (head := metric.partition("("))[1] and metric.endswith(")"):
            over, inner = head[0], head[2][:-1]
        family, dot, rest = inner.partition(".")
        if not dot:
            return cls(over, "", "", inner)
        flow, _, what = rest.rpartition(".")
        return cls(over, family, flow, what)

    @property
    def known(self) -> bool:
        """True if there is such a metric, whatever flows there are."""
        if self.family == "flows":
            return self.over in ("", *_OVER) and bool(self.flow) and self.what in (*TOTALS, *_OF_FLOW)
        plain = not self.over and not self.flow
        return plain and (
            bool(self.what) if self.family == "census" else not self.family and self.what in _OF_RUN
        )

    def covers(self, other: Name) -> bool:
        """True if a run that keeps this metric keeps the other one, flow by flow."""
        alike = (self.over, self.family, self.what) == ("", "flows", other.what)
        return alike and not other.over and other.family == "flows" and self.matches(other.flow)

    def matches(self, flow: str) -> bool:
        """True if the name matches this flow; `*` is any number of characters."""
        pattern = ".*".join(map(re.escape, self.flow.split("*")))
        return re.fullmatch(pattern, flow, re.DOTALL) is not None


def unit(metric: str) -> str:
    """The unit of a metric; "1" for counts and ratios."""
    name = Name.of(metric)
    if name.family == "census":
        return "pkt"
    if not name.family:
        return _OF_RUN[name.what][0]
    return _OF_FLOW[name.what][0] if name.what in _OF_FLOW else _UNITS[name.what.rpartition("_")[2]]


_SHARES = (
    "loss_ratio",
    "reordered_ratio",
    "frame_loss_ratio",
    "handovers_without_timeout_ratio",
    "handovers_without_timeout_by_time_ratio",
    "completed_ratio",
    "late_ratio",
    "rebuffering_ratio",
    "jain",
    "synchronisation",
)
_BOUNDS = {
    **dict.fromkeys(_SHARES, (0.0, 1.0)),
    "mos": (1.0, 4.5),
    "window_correlation": (-1.0, 1.0),
}

_TIMES = ("start_ns", "finish_ns", "completed_ns")
"""Totals that are -1 in the table for what never happened."""


def bounds(metric: str) -> tuple[float, float]:
    """The smallest and the largest value that a metric can have; most are never negative."""
    name = Name.of(metric)
    least, most = _BOUNDS.get(name.what, (0.0, math.inf))
    if name.over == "sum":
        return (-math.inf if least < 0 else 0.0), math.inf
    return least, most


def check(metric: str, where: str, *, one: bool = False) -> None:
    """Refuse what is no metric; `where` names the field for the report. `one`: there the metric is of one flow."""
    parts = metric.split(",")
    if len(parts) > 1 and all(Name.of(part.strip()).known for part in parts):
        raise BadInput(
            where,
            f"{metric!r} is {len(parts)} metrics",
            expected="one metric",
            remedy="name each for itself: --metric A --metric B at the command line, metrics=[A, B] in Python",
        )
    name = Name.of(metric)
    if name.known:
        return
    meant, (flow, _, what) = "", metric.rpartition(".")
    remedy = 'write for example "flows.moving.goodput_bps", or "flows.*.goodput_bps" for all flows'
    if name.over not in ("", *_OVER):
        remedy = f"write one of {', '.join(f'{over}(flows.*.mos)' for over in _OVER)}"
    elif meant := "" if name.family or name.over else closest(name.what, _OF_RUN):
        remedy = f'did you mean "{meant}"?'
    elif (
        meant := name.what if name.what in (of_flow := (*TOTALS, *_OF_FLOW)) else closest(name.what, of_flow)
    ):
        inner = f"flows.{name.flow or (what == meant and flow) or '*'}.{meant}"
        remedy = f'did you mean "{f"{name.over}({inner})" if name.over else inner}"?'
        if one and not name.over and "*" in inner:
            remedy = f'write "flows.NAME.{meant}" with the name of a flow, or "mean({inner})"'
    expected = "a metric of docs/metrics.md" if meant else f"one of {', '.join(names())}"
    raise BadInput(where, f"there is no metric {metric!r}", expected=expected, remedy=remedy)


def inapplicable(metric: str, flows: Iterable[Mapping[str, Any]]) -> str:
    """Why none of a scenario's flows that a metric names can define it, by its application; empty if one may."""
    name = Name.of(metric)
    wanted = _APPLICATIONS.get(name.what)
    kinds = {flow["name"]: flow.get("app", {}).get("kind", "") for flow in flows}
    meant = {flow: kind for flow, kind in kinds.items() if name.matches(flow)}
    if wanted is None or not meant or any(kind in wanted for kind in meant.values()):
        return ""
    flow, kind = next(iter(meant.items()))
    return f"`{name.what}` is about {' and '.join(f'`{one}`' for one in wanted)}, and the flow {flow} is `{kind}`"


_RECORDED = ("deliveries", "tcp")
"""Tables that a scenario turns on and off, and without which a metric that they contain is not defined."""


def lacking(metric: str, recorded: Container[str]) -> list[str]:
    """The tables that a metric is made of and that a run does not record."""
    what = Name.of(metric).what
    tables = () if what == "loss_ratio" else _MADE_OF.get(what, ())  # losses are in `drops`
    return [table for table in tables if table in _RECORDED and table not in recorded]


def undefined(metric: str, scenario: Scenario) -> str:
    """Why no run of a scenario defines a metric, as far as the scenario shows it; empty if it does not."""
    name = Name.of(metric)
    if reason := inapplicable(metric, scenario.expanded().get("flows", [])):
        return reason
    if tables := lacking(metric, scenario.outline.recorded):
        return not_recorded_words(tables)
    if "handovers" in _MADE_OF.get(name.what, ()):
        if not scenario.outline.moves:
            return "it needs a handover, and no host of the scenario visits a second cell"
        return "it needs a handover while the flow has something to send"
    return _NEEDS.get(name.what, "")


def not_recorded_words(tables: Sequence[str]) -> str:
    """That a metric needs tables which are not recorded, and what to write."""
    return f"it needs the table {' and '.join(tables)}: write " + " and ".join(
        f"`record.{table} = true`" for table in tables
    )


_NEEDS = {
    "loss_ratio": "it needs a flow that sent data",
    "reordered_ratio": "it needs a flow of which data arrived",
    "jitter_s": "it needs two packets of the flow that arrived",
    "completion_s": "it needs a transfer that was complete before the end of the run",
    "page_load_s": "it needs a page that was complete before the end of the run",
    "jain": "it needs flows of which data arrived",
    "synchronisation": "it needs two flows that always have data to send, and losses",
    "window_correlation": "it needs two flows that always have data to send",
}
"""Needs of metrics that the scenario does not show."""


@dataclass(frozen=True)
class Measurement:
    """The metrics that are wanted of each run. A `*` in the place of a flow means all of them."""

    metrics: tuple[str, ...] = tuple(f"flows.*.{column}" for column in TOTALS)

    @cached_property
    def tables(self) -> list[str]:
        """The tables that the metrics are made of. A run records no others, which saves its memory."""
        found = {"flows"}
        for metric in self.metrics:
            name = Name.of(metric)
            found.update(("census",) if name.family == "census" else _MADE_OF.get(name.what, ()))
        return sorted(found)

    @property
    def digest(self) -> str:
        """Hash of what is measured and how."""
        return hashlib.sha256("\n".join([_definitions(), *self.metrics]).encode()).hexdigest()[:16]

    def of(self, job: Job, tables: Tables) -> Summary:
        """The metrics of one run."""
        return self._measure(_Run(tables, job))

    def of_results(self, results: Results) -> Summary:
        """The metrics of a run that was made."""
        return self._measure(_Made(results))

    def _measure(self, run: _Made) -> Summary:
        found: Summary = []
        for metric in self.metrics:
            name = Name.of(metric)
            if name.family == "flows":
                values = {flow: _of_flow(run, flow, name.what) for flow in run.matching(metric, name)}
                if name.over:
                    found.append((metric, _aggregate(run, name, values)))
                else:
                    found += [(f"flows.{flow}.{name.what}", value) for flow, value in values.items()]
            elif name.family == "census":
                found.append((metric, _census(run, name.what)))
            else:
                value = math.nan if lacking(metric, run.recorded) else _OF_RUN[metric][1](run.results)
                found.append((metric, float(value)))
        return found


@called(results=RESULTS, name=TEXT)
def metric(results: Results, name: str) -> float:
    """A metric of one run by its name, such as "flows.moving.mos" or "mean(flows.*.goodput_bps)".

    It has the unit in `docs/metrics.md`, and is NaN if the run does not define it, such as a disruption without a
    handover. Raises `BadInput` if there is no such metric or flow, or if the name matches several flows. It does so too
    if the metric is about another application than the flow's, or the run did not record a table that it needs.
    """
    check(name, "metric")
    found = Measurement((name,)).of_results(results)
    if len(found) > 1:
        raise BadInput(
            f"metric {name!r}",
            f"it matches {len(found)} flows",
            expected="one number",
            remedy=f"name one of {', '.join(each for each, _ in found[:8])}, or write mean({name})",
        )
    ((_, value),) = found
    if math.isnan(value) and (tables := lacking(name, results.manifest.outline.recorded)):
        raise BadInput(
            f"metric {name!r}",
            "the run did not record what it is made of",
            expected=f"a run with the table {' and '.join(tables)}",
            remedy=not_recorded_words(tables) + ", and run it again",
        )
    flows = results.manifest.network.get("flows", []) if math.isnan(value) else []
    if reason := inapplicable(name, flows):
        raise BadInput(
            f"metric {name!r}",
            f"it does not apply: {reason}",
            expected="a metric of the flow's application",
            remedy="see docs/metrics.md for what each needs",
        )
    return value


def _aggregate(run: _Made, name: Name, values: Mapping[str, float]) -> float:
    """One number of several flows; those that do not define it are left out.

    A file that is not complete at the end of the run takes longer than any number shows: only the smallest
    completion time is then known.
    """
    if name.what == "completion_s" and name.over != "min":
        late = [flow for flow, value in values.items() if math.isnan(value)]
        if any(experience.completed_ratio(run.results, flow) == 0.0 for flow in late):
            return math.nan
    defined = [value for value in values.values() if not math.isnan(value)]
    return _OVER[name.over](defined) if defined else math.nan


def _of_flow(run: _Made, flow: str, what: str) -> float:
    if what in TOTALS:
        value = float(run.flows[what][run.places[flow]])
        return math.nan if what in _TIMES and value < 0 else value
    if lacking(f"flows.{flow}.{what}", run.recorded):
        return math.nan
    return float(_OF_FLOW[what][1](run.results, flow))


class _Made:
    """A run whose tables can be read."""

    def __init__(self, results: Results) -> None:
        self._results = results

    @property
    def name(self) -> str:
        """The scenario's."""
        return self._results.manifest.scenario_name

    @property
    def results(self) -> Results:
        """All tables."""
        return self._results

    @property
    def recorded(self) -> Container[str]:
        """Which tables the scenario records, of those that it may leave out."""
        return self._results.manifest.outline.recorded

    @cached_property
    def flows(self) -> Columns:
        """The table of that name."""
        return self.columns("flows")

    @cached_property
    def places(self) -> dict[str, int]:
        """The row of each flow."""
        return {name: at for at, name in enumerate(self.flows.words("flow"))}

    def columns(self, table: str) -> Columns:
        """A table as arrays."""
        return self._results.columns(table)

    def matching(self, metric: str, name: Name) -> list[str]:
        """The flows that a metric names. Raises `BadInput` if there are none."""
        found = [flow for flow in self.places if name.matches(flow)]
        if found or name.flow == "*":
            return found
        raise BadInput(
            f"metric {metric}",
            f"there is no flow {name.flow!r} in {self.name}",
            expected=f"one of {', '.join(self.places)}",
            remedy="name a flow of the scenario, or * for all",
        )


class _Run(_Made):
    """A run that has just ended: its frames are only made if a metric needs them."""

    def __init__(self, tables: Tables, job: Job) -> None:
        self._tables, self._job = tables, job

    @property
    def name(self) -> str:
        """The scenario's."""
        return self._job.scenario.name

    @property
    def recorded(self) -> Container[str]:
        """Which tables the scenario records, of those that it may leave out."""
        return self._job.scenario.outline.recorded

    @cached_property
    def results(self) -> Results:
        """All tables that were recorded."""
        return from_engine(self._tables, describe(self._job.scenario, self._job.seed, self._job.run))

    def columns(self, table: str) -> Columns:
        """A table as arrays."""
        return Columns.from_engine(self._tables, table)


def _census(run: _Made, name: str) -> float:
    rows = run.columns("census")
    values = dict(zip(rows.words("name"), rows["value"], strict=True))
    if name not in values:
        raise BadInput(
            f"metric census.{name}",
            f"the census of {run.name} has no such line",
            expected=f"one of {', '.join(values)}",
            remedy="correct the name",
        )
    return float(values[name])


@cache
def _definitions() -> str:
    """The metrics' code: another definition is another result."""
    folder = Path(metrics.__file__).parent
    paths = (
        Path(__file__),
        *(folder / f"{name}.py" for name in ("metrics", "experience", "handovers", "analysis")),
    )
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)
