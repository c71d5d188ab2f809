"""A fake of the compiled engine: small hand-made tables, to test the package alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import tomli

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class ScenarioError(Exception):
    """As the engine's."""

    def __init__(self, report: str, field: str = "", problem: str = "", help_: str = "") -> None:
        super().__init__(report)
        self.field, self.problem, self.help = field, problem, help_


class SimulationError(Exception):
    """As the engine's."""


def check(text: str, name: str, _memory: int | None = None) -> str:
    try:
        data = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise ScenarioError(f"{name}:{error.lineno}:{error.colno}: {error.msg}") from None
    if unknown := set(data) - {"run", "cells", "flows", "title"}:
        problem = f"unknown field {sorted(unknown)[0]}"
        raise ScenarioError(f"{name}: {problem}", problem=problem)
    run = {"duration": "10 s"} | data.get("run", {})
    return json.dumps(data | {"run": run}, default=str)


def outline(resolved: str) -> tuple[int, int, bool, bool, bool, list[str]]:
    """As the engine's, of what `check` gives."""
    data = json.loads(resolved)
    if "run" not in data:
        raise ValueError("missing field `run`")
    number, unit = data["run"]["duration"].split()
    record = {"deliveries": True, "tcp": True, "packets": False} | data.get("record", {})
    recorded = [table for table in ("deliveries", "tcp", "packets") if record[table]]
    duration_ns = int(float(number) * {"h": 3.6e12, "s": 1e9, "ms": 1e6, "ns": 1}[unit])
    return duration_ns, len(data.get("flows", [])), False, False, False, recorded


def schema() -> str:
    return '{"type": "object"}'


def build_hash() -> str:
    return "fake"


def catalogue() -> str:
    def rows(**summaries: str) -> list[dict[str, str]]:
        return [{"name": name, "summary": summary} for name, summary in summaries.items()]

    return json.dumps(
        {
            "queue disciplines": rows(red="Random [early] detection"),
            "tcp profiles": rows(rfc="", ns2=""),
            "tcp variants": rows(reno=""),
        }
    )


def tcp_profile(profile: str, variant: str) -> str | None:
    row = {
        "parameter": "min_rto",
        "value": "200",
        "unit": "ms",
        "meaning": "Smallest RTO",
        "rfc": "1 s",
        "toml": '"200 ms"',
    }
    return (
        json.dumps([row | {"differs": True, "rule": False}])
        if (profile, variant) == ("ns2", "reno")
        else None
    )


def usual_variant(profile: str) -> str | None:
    return "reno" if profile in ("rfc", "ns2") else None


def advise(text: str, name: str) -> tuple[list[ScenarioError], int, int]:
    found = [ScenarioError(f"{name}: a title has no effect")] if "title" in tomli.loads(text) else []
    return found, 1000, 2_000_000


def run(
    text: str, name: str, seed: int, run: int, trace: int | None, *_limits: object
) -> dict[str, dict[str, Any]]:
    if "law" in json.loads(check(text, name))["run"]:
        raise SimulationError("packets: created 3, delivered 2, dropped 0, inside 0")
    stops = ["app.offer", "tcp.poll_transmit"] if trace == 7 else []
    return _as_declared(_flows_and_queue(seed, run) | _drops_and_causes() | _trace(stops) | _names(stops))


def _flows_and_queue(seed: int, run: int) -> dict[str, dict[str, Any]]:
    return {
        "flows": {
            "flow": np.array([0, 1], dtype=np.uint32),
            "kind": np.array([0, 0], dtype=np.uint32),
            "delivered_pkts": np.array([100 + seed, 200 + run], dtype=np.uint64),
            "dropped_pkts": np.array([2, 0], dtype=np.uint64),
            "dropped_ack_pkts": np.array([0, 0], dtype=np.uint64),
            "retransmitted_pkts": np.array([2, 0], dtype=np.uint64),
            "timeouts": np.array([1, 0], dtype=np.uint64),
            "goodput_bps": np.array([1.5e6, 2.5e5]),
        },
        "queue": {
            "time_ns": np.array([0, 2_048_000, 4_096_000], dtype=np.int64),
            "queue": np.array([0, 1, 0], dtype=np.uint32),
            "packets": np.array([1, 5, 2], dtype=np.uint64),
        },
    }


def _drops_and_causes() -> dict[str, dict[str, Any]]:
    return {
        "drops": {
            "time_ns": np.array([5, 6, 7], dtype=np.int64),
            "place": np.array([0, 0, 0], dtype=np.uint32),
            "reason": np.array([0, 0, 1], dtype=np.uint32),
            "forwarded": np.array([True, False, False]),
            "cause": np.array([3, 0, -1], dtype=np.int64),
        },
        "causes": {
            "time_ns": np.array([0, 2, 3, 5], dtype=np.int64),
            "kind": np.array([0, 1, 2, 3], dtype=np.uint32),
            "name": np.array([0, 0, 1, 2], dtype=np.uint32),
            "place": np.array([1, 1, 1, 0], dtype=np.uint32),
            "host": np.array([1, 0, 0, 1], dtype=np.uint32),
            "flow": np.array([1, 1, 1, 0], dtype=np.uint32),
            "seq": np.array([0, 0, 0, 7], dtype=np.uint32),
            "serial": np.array([0, 0, 0, 12], dtype=np.uint64),
            "cause": np.array([-1, -1, 1, 2], dtype=np.int64),
        },
    }


def _trace(stops: list[str]) -> dict[str, dict[str, Any]]:
    return {
        "trace": {
            "time_ns": np.arange(len(stops), dtype=np.int64) + 1_000_000_001,
            "stop": np.arange(len(stops), dtype=np.uint32),
            "place": np.zeros(len(stops), dtype=np.uint32),
            "serial": np.full(len(stops), 7, dtype=np.uint64),
            "wire_bytes": np.full(len(stops), 512, dtype=np.uint32),
            "tunnels": np.zeros(len(stops), dtype=np.uint32),
            "detail": np.zeros(len(stops), dtype=np.uint32),
        },
    }


def _names(stops: list[str]) -> dict[str, dict[str, Any]]:
    return {
        "names": {
            "flows.flow": ["moving", "[resident]"],
            "flows.kind": ["ftp"],
            "queue.queue": ["bs1/air", "bs2/air"],
            "drops.place": ["bs2/air"],
            "drops.reason": ["early-drop", "copy-released"],
            "causes.kind": ["start", "motion", "phase", "loss"],
            "causes.name": ["", "link-down", "detached"],
            "causes.place": ["bs2/air", ""],
            "causes.host": ["mh", ""],
            "causes.flow": ["moving", ""],
            "trace.stop": stops,
            "trace.place": ["ch"],
            "trace.detail": ["seq 1"],
        },
    }


_TYPES = {
    "u64": np.uint64,
    "i64": np.int64,
    "u32": np.uint32,
    "f64": np.float64,
    "bool": np.bool_,
    "words": np.uint32,
}


def _as_declared(tables: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The tables with the types of the engine's, and with the columns that are not given, which are 0 or empty."""
    from roamlab.records.tables import TABLES

    for table in tables.keys() - {"names"}:
        given = tables[table]
        rows = len(next(iter(given.values())))
        for name, column in TABLES[table].columns.items():
            if name not in given and column.kind == "words":
                tables["names"][f"{table}.{name}"] = [column.words[0][0] if column.words else ""]
            values = given.pop(name, np.zeros(rows))
            given[name] = np.asarray(values).astype(_TYPES[column.kind])
    return tables


def run_many(
    jobs: Iterable[tuple[str, str, int, int]],
    threads: int,
    sink: Callable[[int, dict[str, Any]], None],
    wanted: Callable[[int], list[str] | None] | None = None,
    *_limits: object,
) -> None:
    assert threads >= 1
    for index, job in reversed(list(enumerate(jobs))):
        tables = run(*job, None)
        named = wanted(index) if wanted else None
        sink(index, {name: tables[name] for name in tables if named is None or name in (*named, "names")})
