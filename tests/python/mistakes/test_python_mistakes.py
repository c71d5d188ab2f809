"""Mistakes in Python: each is answered with what to write, never by an error of Python's alone or by silence."""

from __future__ import annotations

import copy
import inspect
import json
import math
import operator
import pickle
import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import roamlab as rl
from conftest import ROOT
from roamlab.records import experience, metrics, mro

EXAMPLE = ROOT / "examples/handover.toml"
LIMIT = '"cells.bs2.queue.limit"'


@cache
def _names() -> dict[str, Any]:
    base = rl.load(EXAMPLE).set("run.duration", "4 s")
    return {"rl": rl, "Path": Path, "EXAMPLE": EXAMPLE, "base": base, "res": rl.run(base)}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> rl.Runs:
    axis = {"cells.bs2.queue.limit": ["110 pkt", "120 pkt"]}
    store = tmp_path_factory.mktemp("store")
    return rl.sweep(_names()["base"], axis, replications=2, metrics=["flows.moving.goodput_bps"], store=store)


_MISTAKES = (
    # A name, misspelt or of another program.
    ("rl.simulate(base)", "did you mean 'run'?"),
    ("rl.smalest(base)", "did you mean 'smallest'?"),
    ("rl.explain(res)", "did you mean 'why'?"),
    ("rl.nonexistent", "it has BadInput"),
    ("base.durration", ".set(path, value)"),
    ("base.parameter", "did you mean 'parameters'?"),
    ("res.flow", "did you mean 'flows'?"),
    ("res.goodput", ".metric("),
    ("res['flows']", "results.table('flows')"),
    ("runs.mean()", "did you mean 'means'?"),
    ("runs.goodput", ".means(metric)"),
    # A path.
    ("rl.load('nonexistent.toml')", "check the path"),
    ("rl.load(5)", 'roamlab.load("scenario.toml")'),
    ("rl.load(file='x.toml')", "did you mean 'path'?"),
    ("rl.run('nonexistent.toml')", "check the path"),
    ("rl.open_run('nonexistent')", "`roamlab run` prints the folder"),
    ("rl.Store(5)", 'roamlab.Store("out/runs")'),
    # A scenario of another type, and fields.
    ("rl.run(None)", "roamlab.load reads a file"),
    ("rl.run({'run': {}})", "roamlab.Scenario.from_dict(data)"),
    ("rl.Scenario({'run': {'duration': '4 s'}})", "Scenario.from_dict"),
    ("rl.Scenario(rnu={'duration': '4 s'})", "Scenario.from_dict"),
    ("rl.Scenario.from_dict({'rnu': {}})", "did you mean `run`?"),
    ("rl.run(rl.Scenario('x = 1'))", "write one of `run`"),
    ("rl.drawing('x')", "roamlab.load("),
    ("base.set('run.durration', '4 s')", "did you mean `duration`?"),
    ("base.set('cells.bs9.queue.limit', '9 pkt')", "one of bs1, bs2"),
    ("base.set('flows.nosuch.app.kind', 'ftp')", "one of moving"),
    ("base.set('links.99.rate', '1 Mbit/s')", "write links.0"),
    ("base.set(5, 5)", "write it in quotes"),
    ("base.set('run.duration', None)", "field `run.duration`: it is missing"),
    ("base.set_all(['run.duration'])", '{"run.duration": "20 s"}'),
    ("rl.Scenario('examples/handover.toml')", "write roamlab.load('examples/handover.toml')"),
    ("rl.Scenario.from_dict('[run]')", "roamlab.Scenario(text) for TOML"),
    ("rl.run(base, duration='5 s')", 'scenario.set("run.duration", "20 s")'),
    ("res.goodput_mbps", "flows.NAME.goodput_bps"),
    ("rl.open_run(EXAMPLE)", "this is a scenario, not a run"),
    # Units.
    ("base.set('links.0.rate', '10 mbit')", 'write "10 Mbit/s"'),
    ("base.set('links.0.rate', 10)", '"10 Mbit/s"'),
    ("base.set('run.duration', '10 mbit')", "use one of ns, us"),
    ("base.set('run.duration', 10)", '"10 s"'),
    ("base.set('cells.bs2.queue.limit', '60')", '"60 pkt"'),
    ("base.set('cells.bs2.queue.limit', 60)", '"60 pkt"'),
    # Numbers.
    ("rl.run(base, '1')", "write seed = 1, without quotes"),
    ("rl.run(base, 'baseline')", "rl.seed('baseline')"),
    ("rl.drawing(base, 'net.svg')", "this writes no file"),
    ("rl.metrics", "write `from roamlab.records import metrics`"),
    ("base.run(seed=1, duration='5 s')", 'scenario.set("run.duration", "20 s")'),
    ("rl.sweep(base, {'run.duration': ['1 s']}, n_jobs=-1)", "executor=roamlab.LocalPool(4)"),
    ("rl.run(base, seed=1.5)", "write seed = 1"),
    ("rl.run(base, seed=-1)", "from 0 to 2^64 - 1"),
    ("rl.run(base, seeds=1)", "did you mean 'seed'?"),
    ("rl.LocalPool('many')", "one for each processor"),
    ("rl.LocalPool(-1)", "from 1 on"),
    # Metrics, tables, rows.
    ("res.metric('goodput')", "goodput_bps"),
    ("res.metric('flows.moving.goodput')", "goodput_bps"),
    ("res.metric('flows.nosuch.goodput_bps')", "one of moving"),
    ("res.metric(5)", "write it in quotes"),
    ("rl.metric(base, 'flows.moving.goodput_bps')", "roamlab.run(scenario)"),
    ("res.table('drop')", "did you mean 'drops'?"),
    ("res.queue('nosuch')", "bs1/air"),
    ("rl.why(res, 'drop', 0)", "one of drops, tcp"),
    ("rl.why(res, 'drops', 10**6)", "`results.drops`"),
    ("rl.why(res, 'drops', 'first')", "a whole number"),
    ("rl.why(base, 'drops', 0)", "roamlab.run(scenario)"),
    # Sweeps.
    ("rl.sweep(base, {'cells.bs2.queue.limt': ['9 pkt']})", "did you mean `limit`?"),
    (f"rl.sweep(base, {{{LIMIT}: '110 pkt'}})", 'write ["110 pkt"]'),
    (
        f"rl.sweep(base, {{{LIMIT}: '4..64 pkt'}})",
        'write each value, for example ["4 pkt", "8 pkt", "16 pkt"]',
    ),
    (f"rl.sweep(base, {{{LIMIT}: []}})", "a list of values"),
    (f"rl.sweep(base, {{{LIMIT}: [60]}})", '"60 pkt"'),
    (f"rl.sweep(base, [{LIMIT}])", "a table of paths and values"),
    (f"rl.sweep(base, {{{LIMIT}: ['110 pkt']}}, runs=2)", "did you mean 'replications'?"),
    (f"rl.sweep(base, {{{LIMIT}: ['110 pkt']}}, replications='5')", "write replications = 5"),
    (f"rl.sweep(base, {{{LIMIT}: ['110 pkt']}}, replications=0)", "write 30"),
    (f"rl.sweep(base, {{{LIMIT}: ['110 pkt']}}, metrics='goodput')", 'metrics=["goodput"]'),
    (f"rl.sweep(base, {{{LIMIT}: ['110 pkt']}}, metrics=['goodput'])", "goodput_bps"),
    ("runs.compare('flows.moving.goodput_bps')", "baseline=…"),
    ("runs.compare('flows.moving.goodput_bps', baseline='70 pkt')", "one of 110 pkt, 120 pkt"),
    ("runs.compare('flows.moving.timeouts', baseline='110 pkt')", "name it in `metrics`"),
    ("runs.means('goodput')", "one of flows.moving.goodput_bps"),
    (f"rl.smallest(base, {LIMIT}, 'x > 1', (1, 2))", "where=…, between=…"),
    ("base.set({'run.duration': '5 s'})", ".set_all("),
    (
        f"rl.smallest(base, {LIMIT}, where='goodput_bps > 1', between=('9 pkt', '2 pkt'))",
        "write ('2 pkt', '9 pkt')",
    ),
    (f"rl.smallest(base, {LIMIT}, where='goodput_bps > 1', between=('2 pkt', '1 s'))", "write both in pkt"),
    ("rl.smallest(base, 'run.profile', where='goodput_bps > 1', between=('rfc', 'linux-6'))", "by a sweep"),
    (f"rl.sweep(base, {{{LIMIT}: ['110 pkt']}}, metrics=[])", "the totals of all flows"),
    (f"rl.sweep(base, {{{LIMIT}: ['110 pkt']}}, executor=4)", "roamlab.LocalPool(2)"),
    (f"rl.Grid([{LIMIT}])", "a table of paths and values"),
    ("rl.Listed('110 pkt')", "a list of tables"),
    (f"rl.Random({{{LIMIT}: ('1 pkt', '9 pkt')}}, 5)", "write rl.Random(100, {...})"),
    (f"rl.Random(5, [{LIMIT}])", "a table of paths and values"),
    (f"rl.Random(5, {{{LIMIT}: ['9 pkt']}}, seed='a')", "rl.seed('a')"),
    ("runs.means('flows.moving.goodput_bps', by='seed')", "it has no argument 'by'"),
    ("rl.Job(base, '1')", "write seed = 1, without quotes"),
    ("rl.Job('handover.toml', 1)", 'roamlab.load("scenario.toml")'),
    # Missing parts of the run.
    ("res.packets", '.set("record.packets", True)'),
    ("res.variables", '.set("record.variables", True)'),
    ("rl.run(base, trace=10**9)", "look into the column `serial`"),
    ("res.queue()", "write queue(name)"),
    ("rl.open_run(5)", 'roamlab.open_run("out/runs/NAME")'),
    ("rl.load(EXAMPLE, memory='1 GB')", "4_000_000_000"),
    # Another format.
    ("rl.run(rl.Scenario('{\"run\": {}}'))", "this is JSON"),
    ("rl.run(rl.Scenario('run:\\n  duration: 4 s'))", "this is YAML"),
    ("rl.run(rl.Scenario('a,b,c\\n1,2,3'))", "this is CSV"),
    ("rl.run_all([base])", "roamlab.Job(scenario, 1)"),
    ("rl.run_all(base, rl.Store('x'))", "a list, each a job"),
    ("rl.run_all([], rl.Store('x'), workers=2)", "did you mean 'threads'?"),
    ("rl.run_all([(base, 1)], rl.Store('x'))", "roamlab.Job(scenario, 1)"),
    ("rl.run_all([], rl.Store('x'), threads='2')", "write threads = 2, without quotes"),
    ("rl.run_all([], rl.Store('x'), threads=0)", "from 1 on"),
    # An attribute that cannot be set, and files.
    ("setattr(base, 'duration', '2 s')", 'base.set("run.duration", "2 s")'),
    ("setattr(res, 'flows', None)", "cannot be changed"),
    ("res.save('x')", 'roamlab.Store("out/runs").write(results)'),
    ("res.write('x')", "write_parquet"),
    ("base.save('x.toml')", "write_text(scenario.text)"),
    ("runs.to_csv('x.csv')", ".frame.write_parquet"),
    ("rl.Store(EXAMPLE)", "this is a file, not a folder"),
    ("rl.Store(EXAMPLE / 'runs')", "handover.toml is a file, not a folder"),
    (
        f"rl.sweep(base, {{{LIMIT}: ['110 pkt']}}, replications=2, store=EXAMPLE)",
        "this is a file, not a folder",
    ),
    # Types and values of arguments.
    ("rl.run(base, runs=5)", "roamlab.run_all("),
    ("rl.run(base, capture='mh')", 'capture=["mh"]'),
    ("rl.run(base, capture=['mhh'])", "did you mean 'mh'?"),
    ("rl.run(base, memory=4)", "memory=4_000_000_000 for 4 GB"),
    ("rl.seed(7)", "a number is a seed already"),
    ("runs['110 pkt']", "a number from 0 to 3"),
    ("runs[0:2]", "runs.results(point, run)"),
    ("runs.results(7)", "look into `runs.points`"),
    (f"rl.sweep(base, {{{LIMIT}: ['110 pkt']}}, store=None)", "or leave it out"),
    (f"rl.sweep(base, {{{LIMIT}: ['110 pkt']}}, keep='table')", "did you mean 'tables'?"),
    (f"rl.sweep(base, {{{LIMIT}: ['110 pkt']}}, common_random_numbers='no')", "True or False"),
    (f"rl.sweep(base, {{{LIMIT}: {{'9 pkt', '8 pkt'}}}})", 'write ["8 pkt", "9 pkt"]'),
    (f"rl.sweep(base, {{{LIMIT}: map(str, [1])}})", "write list(…)"),
    ("rl.sweep(base, {})", '{"cells.bs2.queue.limit": ["60 pkt", "120 pkt"]}'),
    (f"rl.Random(3, {{{LIMIT}: ('4 pkt', '64 pkt')}})", '{"low": "4 pkt", "high": "64 pkt"}'),
    (
        f"rl.sweep(base, {{{LIMIT}: ['110 pkt']}}, replications=rl.Until('goodput', half_width=5e3))",
        "replications, the metric of roamlab.Until",
    ),
    ("rl.Until(metrics='goodput_bps', half_width=1)", "did you mean 'metric'?"),
    (
        f"rl.smallest(base, {LIMIT}, where='goodput_bps > 1', between=('2 pkt', '9 pkt'), step='4 pkt')",
        "write step = 4",
    ),
    (
        f"rl.smallest(base, {LIMIT}, where='goodput_bps > 1', between=('2 pkt', '9 pkt'), store=None)",
        "leave it out",
    ),
    ("rl.DaskCluster(8786)", "tcp://127.0.0.1:8786"),
    (
        "rl.run(base.set('record.deliveries', False)).metric('flows.moving.disruption_s')",
        "`record.deliveries = true`",
    ),
)


def test_the_table_has_as_many_as_it_promises() -> None:
    assert len({code for code, _ in _MISTAKES}) == len(_MISTAKES) >= 70


@pytest.mark.parametrize(("code", "words"), _MISTAKES, ids=[code for code, _ in _MISTAKES])
def test_a_mistake_is_answered_with_what_to_write(code: str, words: str, runs: rl.Runs) -> None:
    with pytest.raises((rl.BadInput, rl.ScenarioError, AttributeError)) as caught:
        eval(code, {**_names(), "runs": runs})
    assert words in str(caught.value)
    if isinstance(caught.value, rl.BadInput):
        assert "help: " in str(caught.value)


def test_right_calls_are_as_before(tmp_path: Path) -> None:
    """Checks of a call change nothing where it is right; an internal error keeps its type."""
    base, res = _names()["base"], _names()["res"]
    assert rl.metric(res, "flows.moving.goodput_bps") == res.metric("flows.moving.goodput_bps")
    assert rl.Store(str(tmp_path)) == rl.Store(tmp_path)
    assert rl.run_all([rl.Job(base, 1)], rl.Store(str(tmp_path)))[0].flows.equals(res.flows)
    assert not hasattr(res, "nosuch")
    assert not hasattr(base, "__nosuch__")


def test_a_fault_on_a_message_that_this_run_never_sends_is_a_warning() -> None:
    """The protocol has the message, so the scenario is right; but the host stays, and nothing is handed over."""
    stays = rl.load(EXAMPLE).set_all(
        {"run.duration": "4 s", "hosts.mh.visits": [{"cell": "bs1", "at": "0 s"}]}
    )
    fault = {"message": "forward", "occurrences": [1]}
    run = rl.run(stays.set("faults", [fault]))
    assert "forward" not in set(run.signalling["message"])
    (line,) = [line for line in run.warnings if line.startswith("faults")]
    assert "no `forward` was sent in this run, so the fault has no effect" in line
    (line,) = [
        line
        for line in rl.run(stays.set("faults", [fault | {"host": "mh"}])).warnings
        if line.startswith("faults")
    ]
    assert "no `forward` about host mh was sent" in line


_GIVEN: dict[str, str] = {
    "scenario": "base",
    "base": "base",
    "results": "res",
    "manifest": "res.manifest",
    "paper": "'mblue'",
    "path": "'run.duration'",
    "design": "{'run.duration': ['1 s']}",
    "where": "'goodput_bps > 1'",
    "between": "(1, 2)",
    "jobs": "[]",
    "store": "rl.Store('x')",
    "name": "'moving'",
    "metric": "'flows.moving.goodput_bps'",
    "metrics": "'flows.moving.goodput_bps'",
    "baseline": "'110 pkt'",
    "table": "'drops'",
    "folder": "'x'",
    "address": "'x'",
    "changes": "{}",
    "data": "{}",
    "text": "''",
    "root": "'x'",
    "half_width": "1.0",
    "choices": "{'run.duration': ['1 s']}",
    "ranges": "{'run.duration': ['1 s']}",
    "points": "3",
    "values": "[1.0, 2.0]",
    "counts": "[1]",
}
"""Arguments that can be used, by name; a whole number is given for every other one."""

_OBJECTS = {
    "Scenario": "base",
    "Results": "res",
    "Runs": "runs",
    "Store": "rl.Store('x')",
    "Until": "rl.Until('goodput_bps', half_width=1.0)",
    "Grid": "rl.Grid({'run.duration': ['1 s']})",
    "Listed": "rl.Listed([{'run.duration': '1 s'}])",
    "Random": "rl.Random(3, {'run.duration': ['1 s']})",
    "LocalPool": "rl.LocalPool(1)",
    "Job": "rl.Job(base, 1)",
}
_NOT_CALLED = ("Optimum", "Reproduction", "Results", "Runs", "Threshold")
"""Classes whose objects only we make."""
_OF_OURS = ("Iterable", "Measurement", "Sink", "Shards", "Plan", "Callable", "Any", "object")
"""Arguments that only an executor or our own modules pass, and those that may be anything."""


def _public() -> list[tuple[str, inspect.Signature]]:
    """Every function, constructor and method of the public names, and how it is called."""
    found = []
    for name in rl.__all__:
        value = getattr(rl, name)
        if inspect.isfunction(value):
            found.append((f"rl.{name}", inspect.signature(value)))
        elif inspect.isclass(value) and not issubclass(value, Exception):
            if name not in _NOT_CALLED:
                found.append((f"rl.{name}", inspect.signature(value.__init__)))
            for method, member in vars(value).items():
                plain = member.__func__ if isinstance(member, classmethod) else member
                if method.startswith("_") or not inspect.isfunction(plain) or name not in _OBJECTS:
                    continue
                found.append((f"{_OBJECTS[name]}.{method}", inspect.signature(plain)))
    return found


def _wrong_calls() -> list[tuple[str, str]]:
    """A call for each argument with a type: the others can be used, and it is an object of no type that any has."""
    calls = []
    for name, signature in _public():
        parameters = [
            each
            for each in signature.parameters.values()
            if each.name not in ("self", "cls") and each.kind is not each.VAR_KEYWORD
        ]
        needed = [each for each in parameters if each.default is each.empty]
        for wrong in parameters:
            if any(word in str(wrong.annotation) for word in _OF_OURS) and "Mapping" not in str(
                wrong.annotation
            ):
                continue
            written = []
            for each in dict.fromkeys([*needed, wrong]):
                value = "object()" if each is wrong else _GIVEN.get(each.name, "1")
                is_keyed = each.kind is each.KEYWORD_ONLY or each not in needed
                keyed = f"{each.name}={value}" if is_keyed and each.kind is not each.VAR_POSITIONAL else value
                written.append(keyed)
            calls.append((f"{name}({', '.join(written)})", wrong.name))
    return calls


def test_an_argument_of_a_wrong_type_is_answered_with_what_to_write(
    runs: rl.Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    calls = _wrong_calls()
    assert len(calls) > 70
    wrong = []
    for code, name in calls:
        try:
            eval(code, {**_names(), "runs": runs})
        except rl.BadInput as error:
            if "help: " not in str(error) or "object" not in str(error):
                wrong.append((code, name, str(error)))
        except Exception as error:  # noqa: BLE001 (whatever it is, it is wrong)
            wrong.append((code, name, repr(error)))
        else:
            wrong.append((code, name, "nothing"))
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize(
    "code",
    [
        "base.parameters['run'].__setitem__('duration', '2 s')",
        "base.parameters.update(run={})",
        "base.parameters['links'].append({})",
        "base.parameters['links'][0]['between'].sort()",
        "base.expanded()['run'].pop('duration')",
        "operator.ior(base.parameters, {})",
        "operator.iadd(base.parameters['links'], [])",
        "operator.delitem(base.parameters, 'run')",
        "res.manifest.parameters['run'].__setitem__('duration', '2 s')",
        "res.manifest.network['hosts'][0]['visits'].clear()",
        "res.manifest.warnings.append('mine')",
        "runs.plan.design.choices[LIMIT].append('9 pkt')",
        "rl.Listed([{LIMIT: '9 pkt'}]).points[0].__setitem__(LIMIT, '8 pkt')",
        "rl.Random(2, {LIMIT: ['9 pkt']}).ranges.clear()",
        "res.flows.__setitem__((0, 'sent_pkts'), 5)",
        "res.flows.drop_in_place('sent_pkts')",
        "res.flows.extend(res.flows)",
        "setattr(res.flows, 'columns', [])",
        "runs.frame.insert_column(0, runs.frame['value'])",
        "runs.means().replace_column(0, runs.means()['mean'])",
    ],
)
def test_what_is_handed_out_cannot_be_changed(code: str, runs: rl.Runs) -> None:
    """The change would be lost with a copy, or would reach what others read."""
    names = {**_names(), "runs": runs, "operator": operator, "LIMIT": LIMIT.strip('"')}
    with pytest.raises(rl.BadInput, match="read-only") as caught:
        eval(code, names)
    assert "write" in str(caught.value).partition("help: ")[2]
    base, res = names["base"], names["res"]
    assert base.parameters["run"]["duration"] == "4 s"
    assert res.manifest.parameters == base.parameters


def test_copies_of_what_is_handed_out_are_plain(runs: rl.Runs) -> None:
    base, res = _names()["base"], _names()["res"]
    for given in (base.parameters, res.manifest.parameters):
        own = copy.deepcopy(given)
        own["run"]["duration"] = "2 s"
        own["links"].append({})
        assert pickle.loads(pickle.dumps(given)) == given == json.loads(json.dumps(given))
    data = base.to_dict()
    data["run"]["duration"] = "2 s"
    assert rl.Scenario.from_dict(data).parameters == base.set("run.duration", "2 s").parameters
    cell = base.parameters["cells"]["bs1"]
    assert base.set_all({"cells.bs9": cell, "cells.bs9.rate": "1 Mbit/s"}).parameters["cells"]["bs9"]
    for table in (res.flows, runs.frame, runs.points, runs.means()):
        own = table.clone()
        own[0, own.columns[0]] = own[0, own.columns[0]]
        assert pickle.loads(pickle.dumps(table)).equals(table)
        assert table.equals(table.filter(pl.lit(value=True)))


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("res.flows['moving']", "write table.filter(pl.col(\"flow\") == 'moving')"),
        ("res.flows['goodput']", "did you mean 'goodput_bps'?"),
        ("res.flows[['flow', 'goodput']]", "did you mean 'goodput_bps'?"),
        ("res.table('flows')['moving']", "write table.filter"),
        ("res.deliveries['moving']", "write table.filter(pl.col(\"flow\") == 'moving')"),
        ("res.queue('bs1/air')['bs1/air']", "write table.filter(pl.col(\"queue\") == 'bs1/air')"),
        ("runs.means()['110 pkt']", "write table.filter(pl.col(\"name\") == '110 pkt')"),
        ("runs.points['110 pkt']", "write table.filter(pl.col(\"name\") == '110 pkt')"),
        ("runs.frame['flows.moving.goodput_bps']", 'write table.filter(pl.col("metric")'),
        ("runs.wide['nothing']", "see docs/tables.md"),
    ],
)
def test_a_table_asked_for_a_row_by_its_name_says_what_to_write(code: str, said: str, runs: rl.Runs) -> None:
    with pytest.raises(rl.BadInput, match="the table has no such column") as caught:
        eval(code, {**_names(), "runs": runs})
    assert said in str(caught.value)
    assert isinstance(caught.value, pl.exceptions.ColumnNotFoundError)


def test_an_attribute_of_a_table_says_how_a_column_is_read() -> None:
    with pytest.raises(AttributeError, match=re.escape('write table["goodput_bps"]')):
        _ = _names()["res"].flows.goodput_bps


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            "metrics.goodput_bps(res, 'moving', 1_000_000_000, 3_000_000_000)",
            "times within the run, in seconds",
        ),
        ("metrics.goodput_bps(res, 'moving', 3, 6)", "the run lasts from 0 to 4 s"),
        ("metrics.goodput_bps(quiet, 'moving', 1, 2)", "write `deliveries = true` under [record]"),
        ("metrics.goodput_bps(res.flows, 'moving', 1, 2)", "write results = roamlab.run(scenario)"),
        ("metrics.utilisation(res, '4 Mbit/s', 1, 2, ['moving'])", "expected: a number"),
        ("metrics.utilisation(res, 4e6, 1, 2, 'moving')", 'write flows=["moving"]'),
        ("metrics.handover_times(res, 'moving')", "the run has no mobile host of this name"),
        ("mro.failures(res, 'mhh')", "did you mean 'mh'?"),
        (
            "metrics.window_correlation(res, ['moving', 'beat'], 1, 2)",
            "it has no connection, and so no window",
        ),
        ("experience.voice(res, 'moving', codec='G.711')", "did you mean 'g711'?"),
        ("runs.values('flows.moving.goodput_bps', 7)", "expected: a number from 0 to 1"),
        ("runs.results(0, 5)", "the sweep has 2 runs of this point"),
        ("runs.means(['flows.moving.goodput_bps'])", "write 'flows.moving.goodput_bps' without brackets"),
        ("runs.means(metrics=['flows.moving.goodput_bps'])", "a name after the other"),
        ("base.set_all({'mobility.buffer.limit': '8 pkt', 'mobility': {}})", "it replaces the whole table"),
        ("base.set_all(duration='5 s')", "write set_all({"),
        ("rl.run(base, out='x')", "roamlab.Store("),
        ("rl.run_all([rl.Job(base, 1)], store='out/store')", 'write store = roamlab.Store("out/runs")'),
        ("rl.sweep(base, {('radio.gap', 'run.duration'): [('1 ms', '2 s')]})", "write points: [{"),
        ("rl.sweep(base, {}, threads=4)", "executor=roamlab.LocalPool(4)"),
        ("rl.sweep(base, {}, baseline='4 pkt')", "runs.compare("),
        ("metrics.disruption_s(res, 'moving', 10)", "write times = metrics.arrivals(results"),
        ("metrics.count(res, 0, 5)", "write times = metrics.arrivals(results"),
        ("metrics.reordering_extents(res)", "expected: "),
        ("res.trace", "write roamlab.run(scenario, trace="),
        ("res.tcp_info", "for our own senders read results.variables"),
        ("rl.sweep(base, {'radio.gap': ['1 ms']}, executor=rl.LocalPool)", "roamlab.LocalPool(2)"),
        ("rl.sweep(base, {'radio.gap': ['1 ms']}, executor=ThreadPoolExecutor(2))", "roamlab.LocalPool(2)"),
        ("rl.sweep(base, {}, out='x')", "runs.frame.write_csv(path)"),
        ("runs.compare(metric='flows.moving.goodput_bps', baseline='110 pkt')", "a name after the other"),
        ("runs.means('flows.moving.goodput_mbps')", "did you mean"),
        ("res.metric('flows.moving.goodput_bps,flows.moving.timeouts')", "is 2 metrics"),
        ("res.metric('moving.goodput_bps')", 'did you mean "flows.moving.goodput_bps"?'),
    ],
)
def test_a_measure_of_something_else_is_refused(code: str, said: str, runs: rl.Runs) -> None:
    names = _names()
    beat = {
        "name": "beat",
        "path": ["ch", "mh"],
        "app": {"kind": "cbr", "rate": "8 kbit/s", "packet": "100 B"},
    }
    base = names["base"].set("flows", [*names["base"].to_dict()["flows"], beat])
    names = names | {
        "ThreadPoolExecutor": ThreadPoolExecutor,
        "metrics": metrics,
        "experience": experience,
        "mro": mro,
        "runs": runs,
        "res": rl.run(base),
    }
    names["quiet"] = rl.run(base.set("record.deliveries", False))
    with pytest.raises(rl.BadInput) as caught:
        eval(code, names)
    assert said in str(caught.value)


def test_numbers_of_numpy_are_numbers() -> None:
    base = _names()["base"]
    assert rl.run(base, seed=np.int64(3)).manifest == rl.run(base, seed=3).manifest


def test_what_never_happened_is_undefined() -> None:
    results = _names()["res"]
    assert results.flows["completed_ns"][0] == -1
    assert math.isnan(results.metric("flows.moving.completed_ns"))


def test_a_field_that_is_none_has_its_default() -> None:
    base = _names()["base"]
    assert "buffer" in base.to_dict()["mobility"]
    assert "buffer" not in base.set("mobility.buffer", None).to_dict()["mobility"]
    again = rl.Scenario.from_dict(json.loads(json.dumps(base.to_dict() | {"network": None})))
    assert again.parameters == base.parameters


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("res.flows.loc['moving']", 'write .filter(pl.col("flow") =='),
        ("res.flows.iloc[0]", "write .row(0, named=True)"),
        ("res.flows.to_csv('x')", "write .write_csv(path)"),
        ("res.flows.sort_values('flow')", "write .sort(column)"),
    ],
)
def test_a_name_of_pandas_is_answered_with_that_of_polars(code: str, said: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(said)):
        eval(code, _names())


def test_rows_chosen_as_in_pandas_are_answered_with_a_filter() -> None:
    names = _names()
    with pytest.raises(rl.BadInput, match=r"write table\.filter\("):
        eval("res.flows[res.flows['flow'] == 'moving']", names)


def test_what_a_run_warns_of_is_a_warning_of_python_too() -> None:
    base = rl.load(EXAMPLE).set("run.duration", "12 s")
    late = base.set("flows.moving.app.start", "100 s")
    small = base.set("flows.moving.app.size", "20 kB")
    grid = {"mobility.buffer.limit": ["4 pkt", "64 pkt"]}
    metrics = ["flows.moving.goodput_bps"]
    for code, said in (
        ("rl.run(late)", "the start of this flow at 100 s never comes"),
        ("late.run()", "the start of this flow at 100 s never comes"),
        ("late.sweep(grid, replications=2, metrics=metrics)", "the start of this flow at 100 s never comes"),
        ("rl.run(small)", "no data went through a handover"),
    ):
        with pytest.warns(rl.RunWarning, match=said) as found:
            exec(code, {"rl": rl, "late": late, "small": small, "grid": grid, "metrics": metrics})
        assert {each.filename for each in found} == {"<string>"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not rl.run(base).warnings


def test_a_changed_scenario_that_nobody_keeps_is_a_warning() -> None:
    base = _names()["base"]
    for code in ("base.set('run.duration', '2 s')", "base.set_all({'run.duration': '2 s'})"):
        with pytest.warns(UserWarning, match="its result is not used: write base = base.set") as found:
            exec(code, {"base": base})
        assert len(found) == 1
        assert found[0].filename == "<string>"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for code in (
            "_ = base.set('run.duration', '2 s')",
            "base.set('run.duration', '20 s').run()",
            "[base.set('run.duration', each) for each in ('2 s', '3 s')]",
            "(lambda: base.set('run.duration', '2 s'))()",
            "base.set('run.duration', '2 s') or 1",
        ):
            exec(code, {"base": base})
