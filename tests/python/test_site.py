"""The documentation as a site: it builds without a warning, and its reference is that of the code."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import roamlab as rl
from conftest import ROOT
from roamlab import _roamlab, cli

if TYPE_CHECKING:
    from pathlib import Path

DOCS = ROOT / "docs"


def _site(made: Path) -> Path:
    """The site, as `make docs` builds it: a link that leads nowhere, or a page in no list, is an error."""
    call = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "-q",
        "-b",
        "html",
        "-d",
        str(made / "trees"),
    ]
    done = subprocess.run([*call, str(DOCS), str(made / "html")], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return made / "html"


def _text(page: Path) -> str:
    return re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8"))


def test_the_site_has_every_page_field_command_and_name(tmp_path: Path) -> None:
    site = _site(tmp_path)
    pages = [page.relative_to(DOCS).with_suffix(".html") for page in DOCS.glob("**/*.md")]
    assert len(pages) > 50
    assert [page for page in pages if not (site / page).exists()] == []
    fields = _text(site / "reference/scenario-fields.html")
    schema = json.loads(_roamlab.schema())
    for definition in [schema, *schema["$defs"].values()]:
        for name in definition.get("properties", {}):
            assert name in fields
    commands = _text(site / "reference/commands.html")
    for name, command in cli.cli.commands.items():
        assert f"roamlab {name}" in commands
        for parameter in command.params:
            for option in getattr(parameter, "opts", []):
                assert option in commands or not option.startswith("--"), option
    names = set(
        re.findall(
            r"^\.\. auto\w+:: roamlab\.(\w+)$", (DOCS / "reference/python.md").read_text(), re.MULTILINE
        )
    )
    assert names == {name for name in dir(rl) if not name.startswith("_")}
    assert "seed" in _text(site / "reference/python.html")
