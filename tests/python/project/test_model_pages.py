"""The pages about models and scenarios agree with the code.

`python tests/python/project/test_model_pages.py` writes docs/models/assumptions.md again from the sources.
"""

from __future__ import annotations

import copy
import re
from typing import TYPE_CHECKING, Any

import pytest

from conftest import ROOT
from roamlab._roamlab import ScenarioError
from roamlab.scenarios.profiles import names, profile
from roamlab.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODELS = ROOT / "docs/models"
# The page of each source that is in no folder or file of a page's name, by the first prefix that fits.
_PAGES = {
    "crates/qdisc/src/": "blue.md",
    "crates/mobility/src/events": "measurement.md",
    "crates/mobility/src/cellular": "lte-x2.md",
    "crates/mobility/src/snoop": "snoop.md",
    "crates/mobility/src/": "mobile-ip.md",
    "crates/quic/src/": "quic.md",
    "crates/engine/src/law": "durations.md",
    "crates/transport/src/path_policy": "path-change.md",
    "crates/tcp/src/state/new_path": "path-change.md",
    "crates/quinn/src/": "quinn.md",
    "crates/outside/src/": "linux.md",
    "crates/tcp/src/linux/": "linux-tcp.md",
    "crates/transport/src/": "tcp.md",
    "crates/congestion/src/": "tcp.md",
    "crates/tcp/src/": "tcp.md",
    "crates/traffic/src/": "applications.md",
    "crates/radio/src/scheduler": "scheduler.md",
    "crates/radio/src/measurement": "measurement.md",
    "crates/radio/src/signal": "measurement.md",
    "crates/radio/src/wifi/dcf": "dcf.md",
    "crates/radio/src/medium": "medium.md",
    "crates/radio/src/loss": "random-loss.md",
    "crates/radio/src/channel": "channel.md",
    "crates/radio/src/outage": "durations.md",
    "crates/radio/src/wifi/": "wifi-roaming.md",
    "crates/radio/src/": "radio.md",
    "crates/scenario/src/schema/path_change": "path-change.md",
    "crates/scenario/src/": "network.md",
    "crates/world/src/layer2/cells": "radio.md",
    "crates/world/src/wifi": "wifi-roaming.md",
    "crates/world/src/run/ns2": "random-numbers.md",
    "crates/world/src/dataplane/buffer": "base-station-buffer.md",
    "crates/world/src/": "network.md",
}
_MARK = re.compile(r"(?<!`)\b(ASSUMPTION|DEVIATION)( \([^)]*\))?:")
_COMMENT = re.compile(r"^\s*(//[!/]?)(?: (.*))?$")
_ITEM = re.compile(r"^\s*(?:pub(?:\(\w+\))? )?(?:(?:const )?fn |const |struct |enum )?(\w+)")
_HEAD = """\
# Assumptions and deviations

Every `ASSUMPTION:` (an interpretation of a point that the source leaves open) and every `DEVIATION:` (a difference from
the source) in the models' code, with its comment. `python tests/python/project/test_model_pages.py` makes this page,
and a test fails if it differs from the sources. Interpretations that are parameters are on the models'
[pages](README.md).
"""


def _paragraphs(source: Path) -> Iterator[tuple[str, str]]:
    """The paragraphs of comments with a mark, each with the item that it documents, if it does."""
    lines: list[str] = []
    kind = ""
    for line in [*source.read_text(encoding="utf-8").splitlines(), ""]:
        comment = _COMMENT.match(line)
        if comment and comment[2] and (not lines or comment[1] == kind):
            kind = comment[1]
            lines.append(comment[2].strip())
            continue
        paragraph = " ".join(lines)
        if _MARK.search(paragraph):
            item = _ITEM.match(line) if kind == "///" else None
            yield (item[1] if item else ""), paragraph
        lines = [comment[2].strip()] if comment and comment[2] else []
        kind = comment[1] if comment else ""


def _page_of(source: str) -> str:
    """The page of a queue discipline, a congestion control, a transport or a mobility protocol has its name."""
    family = re.match(
        r"crates/(?:qdisc|mobility|congestion|transport)/src/(?:(?:aqm|controls|fair|plain)/)?(\w+)", source
    )
    if family and (MODELS / f"{family[1].replace('_', '-')}.md").is_file():
        return f"{family[1].replace('_', '-')}.md"
    return next(page for prefix, page in _PAGES.items() if source.startswith(prefix))


def assumptions() -> str:
    """docs/models/assumptions.md."""
    found: dict[str, list[str]] = {}
    for source in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        name = source.relative_to(ROOT).as_posix()
        for item, paragraph in _paragraphs(source):
            page = _page_of(name)
            where = f"[{name.removeprefix('crates/')}](../../{name})" + (f", `{item}`" if item else "")
            found.setdefault(page, []).append(f"* {where}: {paragraph}\n")
    sections = [
        f"\n## {page.removesuffix('.md')}\n\n[The page]({page})\n\n{''.join(entries)}"
        for page, entries in found.items()
    ]
    return _HEAD + "".join(sections)


def test_assumptions_and_deviations_are_all_on_their_page() -> None:
    assert (MODELS / "assumptions.md").read_text(encoding="utf-8") == assumptions()


def test_marks_are_found(tmp_path: Path) -> None:
    source = tmp_path / "model.rs"
    source.write_text(
        "//! Names `ASSUMPTION:` and has none.\n//!\n//! A point.\n//! DEVIATION: not listed.\n"
        "struct S {\n    /// First. ASSUMPTION (A1): this,\n    /// and that.\n    pub field: u8,\n}\n"
        "// ASSUMPTION: inside.\nlet x = 1;\n"
    )
    assert list(_paragraphs(source)) == [
        ("", "A point. DEVIATION: not listed."),
        ("field", "First. ASSUMPTION (A1): this, and that."),
        ("", "ASSUMPTION: inside."),
    ]


_DISCIPLINES = names("queue disciplines")
_CONTROLS = names("tcp congestion controls")
# UDP has no parameters. Those of TCP are filled in by a profile: two tests below.
_TRANSPORTS = [name for name in names("transports") if name not in ("tcp", "udp")]
_PROTOCOLS = names("mobility protocols")

_LINK = """
[[links]]
between = ["{}", "{}"]
rate = "1 Mbit/s"
delay = "1 ms"
queue = {}
"""
_QUEUES = [*(f'{{ kind = "{kind}" }}' for kind in _DISCIPLINES), '{ kind = "red", rules = "ns2" }']
_SMALLEST = (
    "".join(_LINK.format(f"n{at}", f"n{at + 1}", queue) for at, queue in enumerate(_QUEUES))
    + """
[run]
duration = "1 s"
[[flows]]
name = "file"
path = ["n0", "n1"]
transport = { kind = "tcp" }
app = {kind = "ftp"}
[[flows]]
name = "calls"
path = ["n0", "n1"]
app = {kind = "cbr", rate = "80 kbit/s", packet = "200 B"}
[[hosts]]
name = "NAME"
home = "n0"
visits = [{ cell = "bs", at = "0 s" }]
[cells.bs]
router = "n1"
rate = "1 Mbit/s"
delay = "1 ms"
queue = { kind = "droptail" }
backhaul = { rate = "1 Mbit/s", delay = "1 ms" }
scheduler = { kind = "proportional-fair" }
bearers = { hosts = { NAME = {} } }
"""
)


def _moving(protocol: str) -> dict[str, Any]:
    """Fields that the engine fills in under a mobility protocol; some need hosts that measure."""
    text = f'{_SMALLEST}[mobility]\nkind = "{protocol}"\n'
    try:
        return copy.deepcopy(Scenario(text).parameters)
    except ScenarioError:
        return copy.deepcopy(Scenario(f'{text}[radio]\nkind = "hard"\n[radio.measurement]\n').parameters)


def _parameters(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """The parameters of a table, those of its tables with their path; a `kind` is none."""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict) and "kind" not in value:
            flat |= _parameters(value, f"{prefix}{name}.")
        elif name != "kind":
            flat[prefix + name] = value
    return flat


@pytest.fixture(scope="module")
def defaults() -> dict[str, dict[str, Any]]:
    """Fields that the engine fills in, by page and column."""
    filled = _moving("mobile-ip")
    queues = dict(zip([*_DISCIPLINES, "ns2"], (link["queue"] for link in filled["links"]), strict=True))
    ftp, cbr = (flow["app"] for flow in filled["flows"])
    protocols = {protocol: _moving(protocol) for protocol in _PROTOCOLS}
    cell = filled["cells"]["bs"]
    roaming = Scenario(
        _SMALLEST.replace("[cells.bs]", '[cells.bs]\nmedium = { kind = "dcf" }')
        + '[radio]\nkind = "802.11"\n'
    ).parameters["radio"]
    # Its kind is a parameter of the page, too.
    security = {f"security.{name}": value for name, value in roaming["security"].items()}
    tables = {
        "network.md default": filled["network"],
        "medium.md default": Scenario(
            _SMALLEST.replace("[cells.bs]", '[cells.bs]\nmedium = { kind = "shared" }')
        ).parameters["cells"]["bs"]["medium"],
        "dcf.md default": Scenario(
            _SMALLEST.replace("[cells.bs]", '[cells.bs]\nmedium = { kind = "dcf" }')
        ).parameters["cells"]["bs"]["medium"],
        "radio.md hard": filled["radio"],
        "radio.md soft": Scenario(f'{_SMALLEST}[radio]\nkind = "soft"\n').parameters["radio"],
        "wifi-roaming.md default": {name: roaming[name] for name in roaming if name != "security"} | security,
        "measurement.md default": protocols["lte-x2"]["radio"]["measurement"],
        "scheduler.md default": {
            "scheduler": {"time_constant": cell["scheduler"]["time_constant"]},
            "bearers": cell["bearers"],
        },
        "base-station-buffer.md default": protocols["mobile-ip"]["mobility"].pop("buffer"),
        "path-change.md default": Scenario(
            _SMALLEST.replace(
                'path = ["n0", "n1"]\ntransport',
                'path_change = { policy = "nothing" }\npath = ["n0", "NAME"]\ntransport',
            )
        ).parameters["flows"][0]["path_change"],
        "snoop.md default": Scenario(
            _SMALLEST.partition("scheduler = ")[0].replace(
                'path = ["n0", "n1"]\ntransport',
                'snoop = {}\npath = ["n0", "NAME"]\ntransport',
            )
        ).parameters["flows"][0]["snoop"],
        "applications.md ftp": ftp,
        "applications.md cbr": cbr,
        "red.md floyd-1993": queues["red"],
        "red.md ns2": queues.pop("ns2"),
    }
    # Parameters with the same default as RED's are on RED's page.
    queues["mred"] = dict(queues["mred"].items() - queues.pop("red").items())
    tables |= {f"{kind}.md default": queue for kind, queue in queues.items()}
    tables |= {f"{kind}.md default": filled["mobility"] for kind, filled in protocols.items()}
    tables |= {
        f"{kind}.md default": Scenario(
            _SMALLEST.replace('transport = { kind = "tcp" }', f'transport = {{ kind = "{kind}" }}')
        ).parameters["flows"][0]["transport"]
        for kind in _TRANSPORTS
    }
    return {name: _parameters(table) for name, table in tables.items()}


def _column(page: str, column: str) -> dict[str, str]:
    """Values in a column of the page's tables of parameters, by parameter."""
    cells: dict[str, str] = {}
    index = 0
    for line in (MODELS / page).read_text(encoding="utf-8").splitlines():
        row = [cell.strip().strip("`") for cell in line.strip().split("|")[1:-1]] or [""]
        if row[0] == "parameter":
            index = row.index(column) if column in row else 0
        elif not line.startswith("|"):
            index = 0
        elif index and not row[0].startswith("-"):
            cells[row[0]] = row[index]
    return cells


def _says(cell: str, value: Any) -> bool:
    if isinstance(value, bool):
        return cell == str(value).lower()
    if isinstance(value, float):
        return float(cell) == value
    if isinstance(value, dict):
        return cell == f"{value['kind']}, {value['limit']}"
    return cell == ("absent" if value is None else str(value))


@pytest.mark.parametrize(
    ("page", "column"),
    [
        *((f"{kind}.md", "default") for kind in [*_DISCIPLINES, *_TRANSPORTS, *_PROTOCOLS] if kind != "red"),
        ("red.md", "floyd-1993"),
        ("red.md", "ns2"),
        ("network.md", "default"),
        ("medium.md", "default"),
        ("dcf.md", "default"),
        ("radio.md", "hard"),
        ("radio.md", "soft"),
        ("wifi-roaming.md", "default"),
        ("measurement.md", "default"),
        ("scheduler.md", "default"),
        ("base-station-buffer.md", "default"),
        ("path-change.md", "default"),
        ("snoop.md", "default"),
        ("applications.md", "ftp"),
        ("applications.md", "cbr"),
    ],
)
def test_parameters_and_defaults_are_those_of_the_engine(
    page: str, column: str, defaults: dict[str, dict[str, Any]]
) -> None:
    written, real = _column(page, column), defaults[f"{page} {column}"]
    optional = {name for name, cell in written.items() if cell in ("absent", "required", "-")}
    assert set(written) - optional <= set(real)
    wrong = {
        name: (written.get(name), value)
        for name, value in real.items()
        if written.get(name) != "required" and not _says(written.get(name, "?"), value)
    }
    assert wrong == {}


@pytest.mark.parametrize("name", [*_DISCIPLINES, *_CONTROLS, *_TRANSPORTS, *_PROTOCOLS])
def test_every_row_of_a_family_has_a_page(name: str) -> None:
    page = (MODELS / f"{name}.md").read_text(encoding="utf-8")
    module = name.replace("-", "_")
    assert page.startswith("# ")
    assert re.search(rf"\]\(\.\./\.\./crates/[\w/]+/{module}(\.rs|/mod\.rs)\)", page), "a link to its code"


def _rows(first_heading: str) -> list[dict[str, str]]:
    """The rows of the table on the TCP page whose first column has this heading, by heading."""
    found: list[dict[str, str]] = []
    headings: list[str] = []
    for line in (MODELS / "tcp.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if cells and not headings and cells[0] == first_heading:
            headings = cells
        elif cells and headings and not cells[0].startswith("--"):
            found.append(dict(zip(headings, cells, strict=True)))
        elif not cells:
            headings = []
    return found


def _engine(name: str, variant: str = "reno") -> dict[str, str]:
    return {row["parameter"]: f"{row['value']} {row['unit']}".strip() for row in profile(name, variant)}


def test_every_difference_between_tcp_profiles_is_a_row_of_the_page() -> None:
    engine = {name: _engine(name) for name in names()}
    written = {row["TCP parameter"].strip("`"): row for row in _rows("TCP parameter")}
    differing = {
        parameter for parameter in engine["rfc"] if len({own[parameter] for own in engine.values()}) > 1
    }
    assert len(differing) > 20
    assert differing == {parameter for parameter, row in written.items() if row[""] == "differs"}
    for name, own in engine.items():
        assert own == {parameter: row[name] for parameter, row in written.items()}


def test_every_difference_between_tcp_variants_is_a_row_of_the_page() -> None:
    written = {
        (row["variant"], row["profile"]): row["parameters that differ from Reno's"]
        for row in _rows("variant")
        if "profile" in row
    }
    assert set(written) == {
        (variant, name) for variant in names("tcp variants") if variant != "reno" for name in names()
    }
    for (variant, name), cell in written.items():
        reno, own = _engine(name), _engine(name, variant)
        changed = [
            f"`{parameter}` {own[parameter]}"
            for parameter in sorted(own)
            if own[parameter] != reno[parameter]
        ]
        assert changed
        assert cell == ", ".join(changed)


def test_a_profile_says_what_differs_from_the_rfcs() -> None:
    for name in names():
        for row in profile(name):
            assert row["differs"] == (f"{row['value']} {row['unit']}".strip() != row["rfc"])
            assert row["meaning"].endswith(".")


@pytest.mark.parametrize("protocol", _PROTOCOLS)
def test_the_message_chart_is_that_of_the_code(protocol: str) -> None:
    module = protocol.replace("-", "_")
    source = (ROOT / f"crates/mobility/src/{module}/mod.rs").read_text(encoding="utf-8")
    comment = "\n".join(line[4:] for line in source.splitlines() if line.startswith("//!"))
    chart = comment.split("```text\n")[1].split("```")[0]
    assert chart.count("\n") > 3
    page = (MODELS / f"{protocol}.md").read_text(encoding="utf-8")
    assert [line.strip() for line in chart.splitlines()] == [
        line.strip() for line in page.split("```text\n")[1].split("```")[0].splitlines()
    ]


def _scenarios() -> list[str]:
    page = (ROOT / "docs/scenario.md").read_text(encoding="utf-8")
    return [
        block
        for block in re.findall(r"^```toml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
        if "[run]" in block
    ]


def test_the_scenario_page_shows_scenarios() -> None:
    assert _scenarios()


@pytest.mark.parametrize("text", _scenarios(), ids=lambda text: text.splitlines()[0])
def test_scenarios_on_the_page_are_valid(text: str) -> None:
    assert Scenario(text, "docs/scenario.md").parameters["run"]["duration"]


if __name__ == "__main__":
    (MODELS / "assumptions.md").write_text(assumptions(), encoding="utf-8")
