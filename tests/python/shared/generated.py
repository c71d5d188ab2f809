"""Scenarios made from those that are shipped: other names, more fields, another order, another way to write them.

python tests/python/shared/generated.py 1000 [SEED]    takes this number through set, run, sweep and compare
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import roamlab as rl
from roamlab.sweeps.compare import compare

ROOT = Path(__file__).parents[3]
SHIPPED = sorted(
    path
    for folder in ("examples", "python/roamlab", "crates/scenario/tests/bad_scenarios")
    for path in (ROOT / folder).rglob("*.toml")
    if re.search(r"^\[run\]", path.read_text(encoding="utf-8"), re.MULTILINE)
)
_LETTERS = ("é", "ß", "セル", "_x", "-7", "Ω")
_QUANTITY = re.compile(r"[0-9.]+ (pkt|B|ns|us|ms|s|[kMG]?bit/s)")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def shipped(path: Path) -> rl.Scenario:
    """A shipped scenario, short enough to be run many times."""
    return rl.load(path).set("run.duration", "150 ms")


def generate(seed: int) -> tuple[rl.Scenario, set[str]]:
    """A scenario, and which of `names` and `fields` were changed in it."""
    rng = random.Random(seed)
    base = shipped(rng.choice(SHIPPED))
    data, done = base.to_dict(), set()
    for what, change in (("names", _renamed), ("fields", _filled)):
        changed = change(data, base, rng)
        if _valid(changed, base.name):
            data, done = changed, {*done, what}
    return rl.Scenario(write(data, rng), base.name), done


EXAMPLES = [path for path in SHIPPED if path.is_relative_to(ROOT / "examples")]
SMALL = [path for path in SHIPPED if "papers" not in path.parts and "queues" not in path.parts]
"""Of which a run of some seconds takes less than a fifth of one."""
LONGEST_S = 8.0


def troubled(seed: int) -> rl.Scenario:
    """A shipped scenario of some seconds with some quantities changed up to sixteenfold: flows stall in many."""
    rng = random.Random(f"troubled {seed}")
    base = rl.load(rng.choice(SMALL))
    if base.outline.duration_ns > LONGEST_S * 1e9:
        base = base.set("run.duration", f"{LONGEST_S:g} s")
    leaves = [(path, value) for path, value in _leaves(base.to_dict(), ()) if _QUANTITY.fullmatch(str(value))]
    for path, value in rng.sample(leaves, min(6, len(leaves))):
        number, _, unit = str(value).partition(" ")
        other = float(number) * 16 ** rng.uniform(-1, 0.7)
        whole = unit in ("pkt", "B", "ns")
        if path[0] == "run":
            continue
        try:
            base = base.set(
                ".".join(path), f"{max(1, round(other)) if whole else float(f'{other:.3g}'):.12g} {unit}"
            )
        except (rl.ScenarioError, rl.BadInput):
            continue
    return base


def write(data: dict[str, Any], rng: random.Random) -> str:
    """Tables as TOML: in any order, under headers, inline or with dotted keys."""
    plain, tables = [], []

    def put(path: tuple[str, ...], table: dict[str, Any], header: str) -> None:
        lines, below = [header] if header else [], []
        for key, value in sorted(table.items(), key=lambda _: rng.random()):
            at = (*path, key)
            listed = isinstance(value, list) and value and all(isinstance(item, dict) for item in value)
            if isinstance(value, dict) and rng.random() < 0.6:
                below += [(at, value, f"[{_dotted(at)}]")]
            elif listed and rng.random() < 0.6:
                below += [(at, item, f"[[{_dotted(at)}]]") for item in value]
            elif isinstance(value, dict) and value and header and rng.random() < 0.5:
                lines += [f"{_dotted((key, inner))} = {_inline(one)}" for inner, one in value.items()]
            else:
                lines.append(f"{_key(key)} = {_inline(value)}")
        (tables if header else plain).append("\n".join(lines))
        for each in below:
            put(*each)

    put((), data, "")
    return "\n\n".join(plain + tables) + "\n"


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_key(key)} = {_inline(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def _dotted(path: tuple[str, ...]) -> str:
    return ".".join(map(_key, path))


def _renamed(data: dict[str, Any], _base: rl.Scenario, rng: random.Random) -> dict[str, Any]:
    """Other names for cells, hosts, flows and nodes, most of which need quotes as keys."""
    names = {end for link in data.get("links", []) for end in link["between"]} | set(data.get("cells", {}))
    names |= {one["name"] for kind in ("hosts", "flows") for one in data.get(kind, [])}
    made = tuple(f"{table['name']}-" for table in data.get("topology", []))
    new = {
        name: name + rng.choice(_LETTERS) for name in sorted(names) if not name.startswith(made or ("\0",))
    }

    def rename(value: Any) -> Any:
        if isinstance(value, dict):
            return {new.get(key, key): rename(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [rename(inner) for inner in value]
        if isinstance(value, str):
            return "".join(new.get(part, part) for part in re.split(r"(->|/)", value))
        return value

    return {key: rename(value) for key, value in data.items()}


def _filled(data: dict[str, Any], base: rl.Scenario, rng: random.Random) -> dict[str, Any]:
    """Some of the fields that were left out, with their defaults."""

    def fill(own: Any, whole: Any) -> Any:
        if isinstance(own, dict) and isinstance(whole, dict):
            added = [key for key, value in whole.items() if key not in own and value is not None]
            chosen = {key: _without_null(whole[key]) for key in added if rng.random() < 0.4}
            return {key: fill(value, whole.get(key)) for key, value in own.items()} | chosen
        if isinstance(own, list) and isinstance(whole, list) and len(own) == len(whole):
            return [fill(*pair) for pair in zip(own, whole, strict=True)]
        return own

    named = rl.Scenario(write(data, rng), base.name)
    return fill(data, named.parameters)


def _without_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_null(inner) for key, inner in value.items() if inner is not None}
    return [_without_null(inner) for inner in value] if isinstance(value, list) else value


def _valid(data: dict[str, Any], name: str) -> bool:
    try:
        rl.Scenario.from_dict(data, name)
    except rl.ScenarioError:
        return False
    return True


def change(scenario: rl.Scenario, rng: random.Random) -> tuple[str, Any]:
    """A field and another value that it takes: a quantity, a number, a truth value, or a whole table unchanged."""
    leaves = list(_leaves(scenario.to_dict(), ()))
    for _ in range(20):
        path, value = rng.choice(leaves)
        if path[-1] in ("name", "seed", "count") or path == ("run", "duration"):
            continue
        other = _other(value)
        try:
            if scenario.set(".".join(path), other).resolved != scenario.resolved:
                return ".".join(path), other
        except (rl.ScenarioError, rl.BadInput):
            continue
    return "run.duration", "160 ms"


def _leaves(value: Any, path: tuple[str, ...]) -> Any:
    """Paths as `set` takes them, and the values there."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from _leaves(each, (*path, str(key)))
    if path and not isinstance(value, dict | list):
        yield path, value


def _other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1 if isinstance(value, int) else value * 0.9
    number, _, unit = str(value).partition(" ")
    return f"{float(number) + 1:g} {unit}" if unit and re.fullmatch(r"[0-9.]+", number) else value


def assign(scenario: rl.Scenario, path: str, value: Any) -> rl.Scenario:
    """The scenario with one field changed, by hand: without `set`, and written as `write` does."""
    data = scenario.to_dict()
    *parents, last = path.split(".")
    table: Any = data
    for step in parents:
        table = table[int(step)] if isinstance(table, list) else table[step]
    table[int(last) if isinstance(table, list) else last] = value
    return rl.Scenario(write(data, random.Random(path)), scenario.name)


def try_all(scenario: rl.Scenario, path: str, value: Any, store: Path) -> None:
    """Assert that the scenario that runs is the one that was set: in `set`, `run`, `sweep` and `compare`."""
    wanted = assign(scenario, path, value)
    changed = scenario.set(path, value)
    assert changed.resolved == wanted.resolved
    totals = wanted.run(seed=3).flows
    assert changed.run(seed=3).flows.equals(totals)
    swept = scenario.sweep({path: [value]}, replications=1, seed=3, metrics=["goodput_bps"], store=store)
    assert swept.plan.scenario(0).resolved == wanted.resolved
    assert swept[0].flows.equals(totals)
    goodput = wanted.run(seed=3).metric("goodput_bps")
    assert swept.values("goodput_bps", 0) == [goodput]
    both = compare(scenario, changed, ["goodput_bps"], 2, 3, store, 1)
    assert both.values("goodput_bps", 1)[0] == goodput
    assert both.values("goodput_bps", 0)[0] == scenario.run(seed=3).metric("goodput_bps")


def main() -> int:
    """Take many through, and count."""
    count, first = int(sys.argv[1]), int((sys.argv[2:] or ["1"])[0])
    seen: Counter[str] = Counter()
    failed = 0
    for seed in range(first, first + count):
        scenario, done = generate(seed)
        path, value = change(scenario, random.Random(seed))
        seen.update({*done, f"field {path.partition('.')[0]}"})
        try:
            with tempfile.TemporaryDirectory() as store:
                try_all(scenario, path, value, Path(store))
        except (AssertionError, rl.RoamlabError, rl.ScenarioError, rl.SimulationError) as error:
            failed += 1
            print(f"seed {seed}: {scenario.name}, {path} = {value}: {error!r}")
    print(f"{count} scenarios, {failed} failed; {dict(seen.most_common())}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
