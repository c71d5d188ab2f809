"""The pages about models and scenarios say what the code says.

`python tests/python/test_model_pages.py` writes docs/models/assumptions.md anew from the sources.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from conftest import ROOT
from roamlab.scenarios.profiles import names, profile
from roamlab.scenarios.scenario import Scenario

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MODELS = ROOT / "docs/models"
# The page of each source, by the first prefix that fits.
_PAGES = {
    "crates/qdisc/src/red": "red.md",
    "crates/qdisc/src/mblue": "mblue.md",
    "crates/qdisc/src/mred": "mred.md",
    "crates/qdisc/src/": "blue.md",
    "crates/mobility/src/event_a3": "measurement.md",
    "crates/mobility/src/lte_x2": "lte-x2.md",
    "crates/mobility/src/": "mobile-ip.md",
    "crates/transport/src/": "tcp.md",
    "crates/traffic/src/": "applications.md",
    "crates/radio/src/scheduler": "scheduler.md",
    "crates/radio/src/measurement": "measurement.md",
    "crates/radio/src/signal": "measurement.md",
    "crates/radio/src/": "radio.md",
    "crates/world/src/node": "radio.md",
    "crates/world/src/ns2": "random-numbers.md",
    "crates/world/src/buffer": "base-station-buffer.md",
    "crates/world/src/": "network.md",
}
_MARK = re.compile(r"(?<!`)\b(ASSUMPTION|DEVIATION)( \([^)]*\))?:")
_COMMENT = re.compile(r"^\s*(//[!/]?)(?: (.*))?$")
_ITEM = re.compile(r"^\s*(?:pub(?:\(\w+\))? )?(?:(?:const )?fn |const |struct |enum )?(\w+)")
_HEAD = """\
# Assumptions and deviations

Every `ASSUMPTION:` (a reading of a point that the source leaves open) and `DEVIATION:` (a difference from the
source) in the models' code, with the comment it stands in. Made by `python tests/python/test_model_pages.py`; a test
fails when this page is not what the sources say. Readings that are parameters are on the models' [pages](README.md).
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


def assumptions() -> str:
    """docs/models/assumptions.md."""
    found: dict[str, list[str]] = {}
    for source in sorted(ROOT.glob("crates/*/src/**/*.rs")):
        name = source.relative_to(ROOT).as_posix()
        for item, paragraph in _paragraphs(source):
            page = next(page for prefix, page in _PAGES.items() if name.startswith(prefix))
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
        "//! Says `ASSUMPTION:` and means none.\n//!\n//! A point.\n//! DEVIATION: none of ours.\n"
        "struct S {\n    /// First. ASSUMPTION (A1): this,\n    /// and that.\n    pub knob: u8,\n}\n"
        "// ASSUMPTION: inside.\nlet x = 1;\n"
    )
    assert list(_paragraphs(source)) == [
        ("", "A point. DEVIATION: none of ours."),
        ("knob", "First. ASSUMPTION (A1): this, and that."),
        ("", "ASSUMPTION: inside."),
    ]


_SMALLEST = """
run = { duration = "1 s" }
links = [
    { between = ["a", "b"], rate = "1 Mbit/s", delay = "1 ms", queue = {kind = "droptail"} },
    { between = ["b", "c"], rate = "1 Mbit/s", delay = "1 ms", queue = {kind = "red"} },
    { between = ["c", "d"], rate = "1 Mbit/s", delay = "1 ms", queue = {kind = "red", rules = "ns2"} },
    { between = ["d", "e"], rate = "1 Mbit/s", delay = "1 ms", queue = {kind = "blue"} },
    { between = ["e", "f"], rate = "1 Mbit/s", delay = "1 ms", queue = {kind = "mblue"} },
    { between = ["f", "g"], rate = "1 Mbit/s", delay = "1 ms", queue = {kind = "mred"} },
]
flows = [
    { name = "file", path = ["a", "b"], tcp = {}, app = {kind = "ftp"} },
    { name = "calls", path = ["a", "b"], app = {kind = "cbr", rate = "80 kbit/s", packet = "200 B"} },
]
hosts = [{ name = "NAME", home = "a", visits = [{ cell = "bs", at = "0 s" }] }]
[cells.bs]
router = "f"
rate = "1 Mbit/s"
delay = "1 ms"
queue = { kind = "droptail" }
backhaul = { rate = "1 Mbit/s", delay = "1 ms" }
scheduler = { kind = "proportional-fair" }
bearers = { hosts = { NAME = {} } }
[mobility]
kind = "mobile-ip"
"""


def _parameters(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """The parameters of a table, those of its tables with their path; a `kind` is none."""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict) and "kind" not in value:
            flat |= _parameters(value, f"{prefix}{name}.")
        elif name != "kind":
            flat[prefix + name] = value
    return flat


_LTE = _SMALLEST.replace('kind = "mobile-ip"', 'kind = "lte-x2"\n[radio.measurement]')


@pytest.fixture(scope="module")
def defaults() -> dict[str, dict[str, Any]]:
    """What the engine fills in, by page and column."""
    filled = Scenario(_SMALLEST).parameters
    queues, mobility = [link["queue"] for link in filled["links"]], filled["mobility"]
    ftp, cbr = (flow["app"] for flow in filled["flows"])
    buffer = mobility.pop("buffer")
    cell = filled["cells"]["bs"]
    scheduling = {
        "scheduler": {"time_constant": cell["scheduler"]["time_constant"]},
        "bearers": cell["bearers"],
    }
    tables = {
        "network.md default": filled["network"],
        "radio.md default": filled["radio"],
        "measurement.md default": Scenario(_LTE).parameters["radio"]["measurement"],
        "scheduler.md default": scheduling,
        "mobile-ip.md default": mobility,
        "base-station-buffer.md default": buffer,
        "lte-x2.md default": Scenario(_LTE).parameters["mobility"],
        "applications.md ftp": ftp,
        "applications.md cbr": cbr,
        "droptail.md default": queues[0],
        "red.md floyd-1993": queues[1],
        "red.md ns2": queues[2],
        "blue.md default": queues[3],
        "mblue.md default": queues[4],
        # Parameters with the same default as RED's are on RED's page.
        "mred.md default": dict(queues[5].items() - queues[1].items()),
    }
    return {name: _parameters(table) for name, table in tables.items()}


def _column(page: str, column: str) -> dict[str, str]:
    """What stands in a column of the page's tables of parameters, by parameter."""
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
        ("network.md", "default"),
        ("radio.md", "default"),
        ("measurement.md", "default"),
        ("scheduler.md", "default"),
        ("mobile-ip.md", "default"),
        ("base-station-buffer.md", "default"),
        ("lte-x2.md", "default"),
        ("applications.md", "ftp"),
        ("applications.md", "cbr"),
        ("droptail.md", "default"),
        ("red.md", "floyd-1993"),
        ("red.md", "ns2"),
        ("blue.md", "default"),
        ("mblue.md", "default"),
        ("mred.md", "default"),
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
    written = {row["knob"].strip("`"): row for row in _rows("knob")}
    differing = {knob for knob in engine["rfc"] if len({own[knob] for own in engine.values()}) > 1}
    assert len(differing) > 20
    assert differing == {knob for knob, row in written.items() if row[""] == "differs"}
    for name, own in engine.items():
        assert own == {knob: row[name] for knob, row in written.items()}


def test_every_difference_between_tcp_variants_is_a_row_of_the_page() -> None:
    written = {
        (row["variant"], row["profile"]): row["knobs that differ from Reno's"]
        for row in _rows("variant")
        if "profile" in row
    }
    assert set(written) == {
        (variant, name) for variant in names("tcp variants") if variant != "reno" for name in names()
    }
    for (variant, name), cell in written.items():
        reno, own = _engine(name), _engine(name, variant)
        changed = [f"`{knob}` {own[knob]}" for knob in sorted(own) if own[knob] != reno[knob]]
        assert changed
        assert cell == ", ".join(changed)


def test_a_profile_says_what_differs_from_the_rfcs() -> None:
    for name in names():
        for row in profile(name):
            assert row["differs"] == (f"{row['value']} {row['unit']}".strip() != row["rfc"])
            assert row["meaning"].endswith(".")


@pytest.mark.parametrize(("module", "page"), [("mobile_ip", "mobile-ip.md"), ("lte_x2", "lte-x2.md")])
def test_the_message_chart_is_that_of_the_code(module: str, page: str) -> None:
    source = (ROOT / f"crates/mobility/src/{module}/mod.rs").read_text(encoding="utf-8")
    comment = "\n".join(line[4:] for line in source.splitlines() if line.startswith("//!"))
    chart = comment.split("```text\n")[1].split("```")[0]
    assert chart.count("\n") > 10
    assert chart in (MODELS / page).read_text(encoding="utf-8")


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
