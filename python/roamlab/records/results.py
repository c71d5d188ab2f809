"""The results of a run, as Polars frames. `roamlab.records.tables` describes each column."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

import numpy as np
import polars as pl

import roamlab
from roamlab import _roamlab
from roamlab.base.calls import WRITES, BadCall, Hinted, no_attribute, public
from roamlab.base.errors import BadInput, NoAttribute, closest, did_you_mean
from roamlab.base.screen import escape
from roamlab.records import handovers, live, remarks
from roamlab.records.columns import Columns, not_recorded
from roamlab.records.frame import Frame
from roamlab.records.frames import Frames
from roamlab.records.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from roamlab._roamlab import Column, Tables
    from roamlab.records.manifest import Manifest


_SHOWN = (
    "flow",
    "kind",
    "delivered_pkts",
    "dropped_pkts",
    "retransmitted_pkts",
    "timeouts",
    "goodput_bps",
)
"""Columns of the table of flows that a session in Python or a notebook shows; it folds the others."""

_OF_FRAMES = (
    "head",
    "tail",
    "describe",
    "columns",
    "dataframe",
    "df",
    "frame",
    "groupby",
    "group_by",
    "filter",
    "iloc",
    "loc",
)
"""Names by which people ask a run for a table."""


_OF_MANIFEST = {
    **{
        each: each
        for each in (
            *("seed", "run", "version", "parameters", "scenario_name", "scenario_text", "network"),
            *("schema_hash", "build_hash", "key", "live"),
        )
    },
    "scenario": "scenario_text",
    "name": "scenario_name",
    "run_number": "run",
    "number": "run",
    "config": "parameters",
    "settings": "parameters",
    "params": "parameters",
    "duration": 'parameters["run"]["duration"]',
    "profile": 'parameters["run"]["profile"]',
}
"""Parts of a run's manifest, by the names that people expect."""


@public()
@dataclass(frozen=True, repr=False)
class Results(Frames, metaclass=Hinted):
    """The tables of one run, loaded when they are first asked for, and what determined them."""

    manifest: Manifest
    loaders: Mapping[str, Callable[[str], pl.DataFrame]]
    """Writer or reader of each table, by its name."""
    engine: Tables | None = None
    """The engine's columns, while this process has them."""
    frames: dict[str, pl.DataFrame] = field(default_factory=dict, compare=False)
    """Tables that were asked for."""

    def __getattr__(self, name: str) -> NoReturn:
        meant = closest(name, TABLES["flows"].columns) or "goodput_bps"
        hint = f'a metric is read by .metric("flows.NAME.{meant}"), a table by .table(name)'
        if name.startswith("to_") or name in _OF_FRAMES:
            hint = "a run has several tables, each a Polars frame: write for example .flows, or .flows.to_pandas()"
        if name in ("cwnd", "ssthresh", "srtt", "rtt", "rto", "window"):
            hint = "it is in the table .variables, which [record] asks for: variables = true"
        if name.startswith(("plot", "draw", "chart")):
            hint = (
                "a run is drawn by `roamlab chart` and `roamlab report`, a queue by .plot_queue(name); the table "
                '"variables" has the window of each flow over time'
            )
        if name in _OF_MANIFEST:
            raise NoAttribute(f"Results has no attribute {name!r}: write .manifest.{_OF_MANIFEST[name]}")
        if name == "tables":
            hint = 'a table is read by .table("flows"); `loaders` has the names of all'
        if name in WRITES:
            hint = (
                'a run is kept by roamlab.Store("out/runs").write(results), and read by roamlab.open_run; a table is '
                "written by .table(name).write_parquet(path)"
            )
        raise no_attribute("Results", name, () if name in (*WRITES, "tables") else dir(type(self)), hint)

    def __getitem__(self, name: object) -> NoReturn:
        raise BadCall(
            f"Results[{name!r}]" if isinstance(name, str) else "Results",
            "a run has no items",
            expected="a table or a metric by its name",
            remedy=f"write results.table({name!r}), or results.metric({name!r})"
            if isinstance(name, str)
            else 'write results.table("flows"); `results.loaders` has the names of all tables',
        )

    def __eq__(self, other: object) -> bool:
        """True if both have the same tables with the same rows, from the same scenario, seed and number of the run."""
        if not isinstance(other, Results):
            return NotImplemented
        return (
            self.manifest.key == other.manifest.key
            and self.loaders.keys() == other.loaders.keys()
            and all(self.table(name).equals(other.table(name)) for name in self.loaders)
        )

    def __hash__(self) -> int:
        return hash(self.manifest.key)

    def __repr__(self) -> str:
        made = self.manifest
        return f"Results({made.scenario_name}, seed {made.seed}, run {made.run}: {', '.join(self.loaders)})"

    def __str__(self) -> str:
        made = self.manifest
        head = f"{made.scenario_name}, seed {made.seed}, run {made.run}"
        return f"{head}\n{self.flows.select(_SHOWN)}\ntables: {', '.join(self.loaders)}"

    def _repr_html_(self) -> str:
        made = self.manifest
        title = f"<b>{escape(made.scenario_name)}</b>, seed {made.seed}, run {made.run}"
        shown = self.flows.select(_SHOWN)._repr_html_()
        others = self.flows.select("flow", pl.exclude(_SHOWN))
        with pl.Config(tbl_cols=others.width):
            folded = f"<details><summary>{others.width - 1} further columns</summary>{others._repr_html_()}</details>"
        return f"{title}{shown}{folded}Tables: {', '.join(map(escape, self.loaders))}"

    def __reduce__(self) -> tuple[Callable[..., Results], tuple[Manifest, dict[str, pl.DataFrame]]]:
        return from_frames, (self.manifest, {name: self.table(name) for name in self.loaders})

    def table(self, name: str) -> pl.DataFrame:
        """A table by its name."""
        if name not in self.loaders:
            raise BadInput(
                f"table {name!r}",
                "the run has no such table",
                expected=f"one of {', '.join(sorted(self.loaders))}",
                remedy=did_you_mean(name, self.loaders, "see docs/tables.md"),
            )
        if name not in self.frames:
            self.frames[name] = Frame.signed(self.loaders[name](name))
        return self.frames[name]

    def columns(self, name: str) -> Columns:
        """A table as arrays, for what is measured of many runs."""
        if self.engine is None or name not in self.loaders:
            return Columns.of(self.table(name))
        return Columns.from_engine(self.engine, name)

    @cached_property
    def analysis(self) -> _roamlab.Analysis:
        """The engine's analysis of the record, which keeps the tables that it has read."""
        return _roamlab.Analysis()

    def metric(self, name: str) -> float:
        """A metric by its name, such as "flows.moving.goodput_bps"; see `roamlab.metric`."""
        return roamlab.metric(self, name)

    @property
    def warnings(self) -> list[str]:
        """Warnings about the scenario; packets in real time that were too late; hosts that never changed cells.

        And flows that their windows limited, or whose timeouts after handovers have other causes.
        """
        found = [*self.manifest.warnings, *live.warnings(self.manifest.live)]
        never = any("the run ends at" in warning or ".trajectory." in warning for warning in found)
        moves = self.manifest.outline.moves
        if moves and not never and "link-down" not in set(self.handovers["phase"].cast(pl.String)):
            found.append(remarks.no_handover(self.manifest.parameters))
        unseen = any("no flow sees the handover" in warning for warning in found)
        return [
            *found,
            *self._unmet(),
            *self._unused_links(),
            *self._unmet_outages(),
            *self._late_changes(),
            *self._idle_queue(),
            *self._unreached(),
            *self._lost_first(),
            *([] if unseen else self._complete_before_moves()),
            *self._window_limited(),
            *self._timeouts_of_handovers(),
        ]

    def _idle_queue(self) -> list[str]:
        if "links" not in self.loaders or not 0 < self.manifest.outline.flows <= remarks.MOST_FLOWS:
            return []
        if self.links.height > remarks.MOST_FLOWS or not self.flows["delivered_pkts"].sum():
            return []
        span = self.manifest.outline.duration_ns
        busy = dict(self.links.select(pl.col("link").cast(pl.String), pl.col("busy_ns") / span).rows())
        places = self.table("drops").filter(
            pl.col("reason").cast(pl.String).is_in(["queue-overflow", "early-drop"])
        )
        return remarks.idle_queue(
            self.manifest.parameters, busy, set(places["place"].cast(pl.String).unique().to_list())
        )

    def _lost_first(self) -> list[str]:
        if self.manifest.outline.flows > remarks.MOST_FLOWS or self.table("drops").is_empty():
            return []
        begun = self.flows.select(
            pl.col("flow", "source", "destination", "kind").cast(pl.String), "start_ns", "delivered_pkts"
        ).filter(pl.col("delivered_pkts") > 0)
        lost = self.table("drops").select(pl.col("flow", "place", "reason").cast(pl.String), "sent_ns")
        lost = lost.join(begun.select("flow", sent_ns="start_ns"), on=["flow", "sent_ns"], how="semi")
        if lost.is_empty():
            return []
        phases = self.handovers.select(pl.col("host", "phase").cast(pl.String), "time_ns", "visit")
        known = phases.filter((pl.col("visit") == 0) & pl.col("phase").is_in(remarks.REGISTERED))
        firsts = known.group_by("host", "phase").agg(pl.col("time_ns").min())
        when = firsts.group_by("host").agg(pl.col("time_ns").max()).rows()
        return remarks.lost_first(begun.to_dicts(), lost.rows(), dict(when))

    def _unreached(self) -> list[str]:
        dead = self.flows.filter(pl.col("delivered_pkts") == 0)
        if dead.is_empty() or self.manifest.outline.flows > remarks.MOST_FLOWS:
            return []

        def lost(flow: str) -> tuple[int, str]:
            drops = self.table("drops").select(pl.col("flow", "place", "reason").cast(pl.String))
            counts = drops.filter(pl.col("flow") == flow).group_by("place", "reason").len()
            if counts.is_empty():
                return 0, ""
            most = counts.sort("len", "place", "reason", descending=[True, False, False]).row(0, named=True)
            return int(counts["len"].sum()), f"most at {most['place']} ({most['reason']})"

        rows = dead.select(pl.col("flow").cast(pl.String), "delivered_pkts", "start_ns").to_dicts()
        return remarks.unreached(rows, self.manifest.parameters, lost)

    def _complete_before_moves(self) -> list[str]:
        if not self.manifest.outline.moves or self.manifest.outline.flows > remarks.MOST_FLOWS:
            return []
        left = self.handovers.filter(pl.col("phase").cast(pl.String) == "link-down")
        first = dict(left.group_by(pl.col("host").cast(pl.String)).agg(pl.col("time_ns").min()).rows())
        names = (pl.col(column).cast(pl.String) for column in ("flow", "source", "destination"))
        return remarks.complete_before_moves(self.flows.select(*names, "completed_ns").rows(), first)

    def _unmet(self) -> list[str]:
        if not self.manifest.outline.forces:
            return []
        sent = dict(self.flows.select(pl.col("flow").cast(pl.String), "sent_pkts").rows())
        lost = self.table("drops").select(pl.col("place", "flow", "reason").cast(pl.String))
        messages = self.signalling.select(pl.col("message", "host").cast(pl.String)).rows()
        at = lost.filter(pl.col("reason") == "forced-loss").select("place", "flow").rows()
        return remarks.unmet(self.manifest.parameters, messages, sent, at)

    def _unused_links(self) -> list[str]:
        # Of a large network neither the table nor the scenario is read.
        if "links" not in self.loaders or not 0 < self.manifest.outline.flows <= remarks.MOST_FLOWS:
            return []
        idle = self.links.filter(
            (pl.col("offered_pkts") == 0) & pl.col("link").cast(pl.String).str.contains("->")
        )
        if idle.is_empty() or self.links.height > remarks.MOST_FLOWS:
            return []
        return remarks.unused(self.manifest.parameters, set(idle["link"].cast(pl.String)))

    def _unmet_outages(self) -> list[str]:
        # Of a large scenario without outages the links are not read.
        if not self.manifest.outline.flows or '"up":false' not in self.manifest.parameters_text:
            return []
        drops = self.table("drops").select(pl.col("place", "reason").cast(pl.String), "time_ns")
        lost = drops.filter(pl.col("reason") == "link-down").select("place", "time_ns").rows()
        idle = self._unused_links()
        end_s = self.manifest.outline.duration_ns / 1e9
        found = remarks.unmet_outages(self.manifest.parameters, lost, end_s)
        # A link that no packet used at all has its warning.
        return [line for line in found if not any(line.partition("]")[0] in other for other in idle)]

    def _late_changes(self) -> list[str]:
        # Of a large scenario without changes the links are not read.
        if not 0 < self.manifest.outline.flows <= remarks.MOST_FLOWS:
            return []
        if '"changes":[{' not in self.manifest.parameters_text:
            return []
        completed = self.flows["completed_ns"].to_list()
        return remarks.late_changes(
            self.manifest.parameters, completed, self.manifest.outline.duration_ns / 1e9
        )

    def _timeouts_of_handovers(self) -> list[str]:
        recorded = {"tcp", "causes", "handovers"} <= {*self.loaders}
        return handovers.warnings(self) if recorded and self.manifest.outline.moves else []

    def _window_limited(self) -> list[str]:
        recorded = {"deliveries", "tcp"} <= {*self.loaders} & {*self.manifest.outline.recorded}
        if not recorded or self.flows["delivered_pkts"].sum() > remarks.MOST_ROWS:
            return []
        names, sources, destinations = (
            self.flows[column].cast(pl.String).to_list() for column in ("flow", "source", "destination")
        )
        windows = remarks.greedy_windows(self.manifest.parameters, names)
        if not windows:
            return []
        ends = dict(zip(names, zip(sources, destinations, strict=True), strict=True))
        capped = remarks.capped(self.manifest.parameters, windows)
        return remarks.window_limited(self.columns("deliveries"), self.columns("tcp"), windows, ends, capped)

    @property
    def packets(self) -> pl.DataFrame:
        """Packets that endpoints send, queues are handed and the network loses.

        Raises `BadInput` if it was not recorded.
        """
        return self._recorded("packets")

    @property
    def variables(self) -> pl.DataFrame:
        """Each change of a TCP sender's variables. Raises `BadInput` if it was not recorded."""
        return self._recorded("variables")

    @property
    def trace(self) -> pl.DataFrame:
        """The way of the packet that `roamlab.run` traced, by `trace`. Raises `BadInput` if it traced none."""
        found = self.table("trace")
        if found.is_empty():
            raise BadInput(
                "results, table 'trace'",
                "the run traced no packet",
                expected="a run that traces one",
                remedy='write roamlab.run(scenario, trace=results.drops["serial"][0]), for example',
            )
        return found

    @property
    def tcp_info(self) -> pl.DataFrame:
        """The variables of the kernel's senders. Raises `BadInput` for a run without such a sender."""
        found = self.table("tcp_info")
        if found.is_empty() and not self.flows["kind"].cast(pl.String).str.contains("linux").any():
            raise BadInput(
                "results, table 'tcp_info'",
                "no flow of the run is over a Linux kernel",
                expected='a run with the transport "linux", and `variables = true` under [record]',
                remedy="for our own senders read results.variables",
            )
        return found

    @property
    def deliveries(self) -> pl.DataFrame:
        """Data packets that reached their receivers. Raises `BadInput` if they were not recorded."""
        return self._recorded("deliveries")

    @property
    def tcp(self) -> pl.DataFrame:
        """Events of senders. Raises `BadInput` if they were not recorded."""
        return self._recorded("tcp")

    def _recorded(self, name: str) -> pl.DataFrame:
        found = self.table(name)
        if found.is_empty() and name not in self.manifest.outline.recorded:
            raise not_recorded(name, "results")
        return found

    def queue(self, name: str) -> pl.DataFrame:
        """The samples of one queue."""
        samples = self.table("queue")
        chosen = rows_of(samples, "queue", name)
        if chosen.is_empty():
            known = sorted(samples["queue"].cast(pl.String).unique())
            raise BadInput(
                f"queue {name!r}",
                "the run has no samples of it",
                expected=f"one of {', '.join(known)}" if known else "a queue that packets entered",
                remedy=f'its queue is recorded by .set("record.queues", [{name!r}]): run it again'
                if known and "links" in self.loaders and name in self.table("links")["link"].cast(pl.String)
                else _queue_to_write(name, known),
            )
        return Frame.of(chosen)

    def plot_queue(self, name: str) -> Figure:
        """The packets that wait in one queue over time, as a Matplotlib figure."""
        from roamlab.base import figures

        samples = self.queue(name)
        with figures.new_figure() as (figure, (axes,)):
            axes.step(samples["time_ns"].to_numpy() / 1e9, samples["packets"].to_numpy(), where="post")
            figures.label(axes, ("time", "s"), (f"queue {name}", "pkt"))
            figure.set_layout_engine("constrained")
            return figure


def _queue_to_write(name: str, known: Sequence[str]) -> str:
    """Names to write instead of that of a queue without samples."""
    same = [each for each in known if each.partition("/")[0] == name]
    if known:
        return did_you_mean(name, known, f"write results.queue({(same or known)[0]!r})")
    return "record.queues may leave queues out: without the field all queues that packets enter are recorded"


def rows_of(frame: pl.DataFrame, column: str, *names: str) -> pl.DataFrame:
    """The rows in which a column of names has one of these."""
    chosen = where(frame, column, *names)
    return frame if chosen.all() else frame.filter(pl.Series(chosen, dtype=pl.Boolean))


def where(frame: pl.DataFrame, column: str, *names: str) -> NDArray[np.bool_]:
    """In which rows a column of names has one of these; by their codes, if names have codes.

    Not by a query: for the rows of one run its making takes longer than the search.
    """
    series = frame[column]
    kind = series.dtype
    if not isinstance(kind, pl.Enum):
        return series.is_in(names).to_numpy()
    values = series.to_physical().to_numpy()
    chosen = np.zeros(frame.height, dtype=np.bool_)
    for code, name in enumerate(kind.categories.to_list()):
        if name in names:
            chosen |= values == code
    return chosen


def from_engine(tables: Tables, manifest: Manifest) -> Results:
    """The engine's columns as frames: numbers are not copied, codes become names."""
    names = tables.get("names", {})

    def frame(table: str) -> pl.DataFrame:
        return frame_of(tables[table], kinds_of(table, names))

    return Results(manifest, {table: frame for table in tables if table != "names"}, tables)


def from_frames(manifest: Manifest, frames: Mapping[str, pl.DataFrame]) -> Results:
    """The results whose tables are these."""
    return Results(manifest, dict.fromkeys(frames, frames.__getitem__))


def kinds_of(table: str, names: Mapping[str, Column | list[str]]) -> dict[str, pl.Enum]:
    """The types of a table's columns of names; `names` are those of the engine's tables."""
    begin = f"{table}."
    return {
        full.removeprefix(begin): pl.Enum(pl.Series(listed, dtype=pl.String))
        for full, listed in names.items()
        if full.startswith(begin)
    }


def frame_of(columns: Mapping[str, Column | list[str]], kinds: Mapping[str, pl.Enum]) -> pl.DataFrame:
    """The engine's columns of one table as a frame."""
    series = (pl.Series(name, values) for name, values in columns.items())
    return pl.DataFrame([each.cat.to(kinds[each.name]) if each.name in kinds else each for each in series])
