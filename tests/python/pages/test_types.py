"""Scripts of users pass type checkers: mypy in strict mode, and pyright where it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_OF_OTHERS = "sweep-on-a-cluster"
"""A page whose script calls a library without types."""
_WRONG = """
import roamlab as rl

base: int = rl.load("lab.toml")
runs: int = rl.load("lab.toml").sweep({"radio.gap": ["20 ms"]})
goodput: str = rl.run("lab.toml").metric("goodput_bps")
found: int = rl.smallest(rl.load("lab.toml"), "radio.gap", where="", between=(0, 1))
rl.run("lab.toml", sead=1)
"""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the scripts of the documentation, and one with wrong types."""
    folder = tmp_path_factory.mktemp("scripts")
    for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        for at, code in enumerate(_BLOCK.findall(page.read_text(encoding="utf-8"))):
            if page.stem != _OF_OTHERS:
                (folder / f"{page.stem.replace('-', '_').lower()}_{at}.py").write_text(code, encoding="utf-8")
    assert len(list(folder.iterdir())) >= 4
    (folder / "wrong.py").write_text(_WRONG, encoding="utf-8")
    return folder


def _faults(command: list[str | Path], folder: Path) -> dict[str, int]:
    """The number of faults of each script."""
    files = sorted(path.name for path in folder.glob("*.py"))
    done = subprocess.run([*command, *files], cwd=folder, capture_output=True, text=True, check=False)
    found = dict.fromkeys(files, 0)
    for name in re.findall(r"^\s*(?:\S*/)?(\w+\.py):\d+.*\berror\b", done.stdout, re.MULTILINE):
        found[name] += 1
    return found


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_scripts_of_users_are_typed(checker: str, scripts: Path) -> None:
    """The wrong one has a fault in each line, so the types of the others are known."""
    if checker == "mypy":
        command: list[str | Path] = [
            *(Path(sys.executable).with_name("mypy"), "--strict", "--no-pretty"),
            *("--python-executable", sys.executable, "--cache-dir", ROOT / ".cache/mypy"),
        ]
    elif program := shutil.which("pyright"):
        command = [program, "--pythonpath", sys.executable]
    else:
        pytest.skip("pyright is not installed")
    found = _faults(command, scripts)
    assert found.pop("wrong.py") == 5
    assert {name: count for name, count in found.items() if count} == {}
