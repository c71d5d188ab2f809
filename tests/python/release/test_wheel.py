"""The wheel in a fresh environment without a compiler and a checkout: it draws the first figure, and the README runs.

`ROAMLAB_RELEASE` names a folder with a wheel (`make release`). Without it one is made of the engine of a checkout.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from conftest import ROOT
from packaged import packaged

BIN = Path(sys.executable).parent
PROGRAM = """
import roamlab as rl
from roamlab import _roamlab

results: rl.Results = rl.run(rl.load("scenario.toml"), seed=1)
text: str = _roamlab.build_hash()
print(results.flows.height, text)
"""


def _wheel(folder: Path) -> Path:
    """The released wheel, or the same content with the engine that is compiled already."""
    if "ROAMLAB_RELEASE" in os.environ:
        (released,) = Path(os.environ["ROAMLAB_RELEASE"]).glob("*.whl")
        return released
    subprocess.run(
        [BIN / "maturin", "build", "--profile", "quick", "--offline", "--quiet", "--out", folder],
        cwd=ROOT,
        env=os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target")},
        check=True,
    )
    (made,) = folder.glob("*.whl")
    return made


def _fresh(wheel: Path, place: Path) -> Path:
    """A new environment with the wheel in it, and the packages of the lock."""
    venv.create(place / "venv", with_pip=True)
    pip = [place / "venv/bin/pip", "install", "--quiet", "--disable-pip-version-check"]
    cache = os.environ | {"PIP_CACHE_DIR": str(ROOT / ".cache/pip")}
    locked = [*pip, "--require-hashes", "-r", ROOT / "requirements.lock"]
    done = subprocess.run(locked, env=cache, capture_output=True, text=True, check=False)
    if "connection" in done.stderr:
        pytest.skip(f"the packages of the lock are not available here: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    subprocess.run([*pip, "--no-deps", "--no-index", wheel], env=cache, check=True)
    # Each call of a compiler here reports that there is none.
    (place / "none").mkdir()
    for tool in ("cargo", "rustc", "cc", "gcc"):
        (place / "none" / tool).write_text("#!/bin/sh\necho no compiler here >&2\nexit 1\n")
        (place / "none" / tool).chmod(0o755)
    return place


def _call(fresh: Path, *words: str | Path, folder: str = "work") -> str:
    """A program of the new environment, away from the checkout."""
    (fresh / folder).mkdir(exist_ok=True)
    path = os.pathsep.join([f"{fresh}/venv/bin", f"{fresh}/none", "/usr/bin", "/bin"])
    clean = {"PATH": path, "HOME": str(fresh), "MPLCONFIGDIR": str(fresh / "mpl")}
    done = subprocess.run(
        words, cwd=fresh / folder, env=clean, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, f"{words[-1]}\n{done.stderr}"
    return done.stdout


def test_without_its_recordings_the_comparison_with_linux_says_where_it_works() -> None:
    hidden = "import sys; sys.modules['roamlab.against'] = None; sys.argv[1:] = ['check-against', 'linux']"
    program = f"{hidden}; from roamlab.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "check-against` in a checkout of Roamlab" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_the_wheel_works_without_a_compiler(tmp_path: Path) -> None:
    """One test, for a wheel and an environment are made once."""
    wheel = _wheel(tmp_path / "dist")
    _check_content(wheel)
    fresh = _fresh(wheel, tmp_path)
    _call(fresh, "roamlab", "new", "busy-cell")
    assert "buffer-overflow" in _call(fresh, "roamlab", "run", "busy-cell.toml")
    _call(fresh, "roamlab", "demo")
    assert (fresh / "work/out/demo/demo.png").read_bytes().startswith(b"\x89PNG")
    _check_program(fresh)
    _check_readme(fresh)


def _check_readme(fresh: Path) -> None:
    """Each command of the README but `make` runs in an empty folder, in four minutes of the processor's time."""
    before, called = _cpu_s(), 0
    blocks = re.findall(
        r"^```(sh|python)\n(.*?)^```$",
        (ROOT / "README.md").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    for kind, code in blocks:
        lines = code.splitlines() if kind == "sh" else [code]
        for line in lines:
            if not line.startswith("make "):
                program = ("bash", "-euo", "pipefail", "-c") if kind == "sh" else ("python", "-c")
                _call(fresh, *program, line, folder="readme")
                called += 1
    assert called > 8
    assert _cpu_s() - before < 240


def _cpu_s() -> float:
    """Time of the processor that finished children have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _check_content(wheel: Path) -> None:
    assert "-cp311-abi3-manylinux_2_" in wheel.name, "one wheel for all later versions of Python"
    with zipfile.ZipFile(wheel) as content:
        names = set(content.namelist())
    kept = {name for name in packaged() if not name.startswith("roamlab/against/")}
    assert {"roamlab/py.typed", "roamlab/_roamlab.pyi", "roamlab/explorer/lanes.js"} <= kept
    assert kept - names == set()
    assert {"roamlab/examples/busy-cell.toml", "roamlab/examples/imported/cell.down"} <= names
    assert not [name for name in names if name.endswith(".schema.json")]
    assert not [name for name in names if name.startswith("roamlab/against/")]
    assert not [name for name in names if name.startswith(("tests/", "crates/"))]


def _check_program(fresh: Path) -> None:
    """A program of a user is typed, and runs."""
    text = (ROOT / "examples/handover.toml").read_text(encoding="utf-8").replace("40 s", "2 s")
    (fresh / "work/scenario.toml").write_text(text, encoding="utf-8")
    program = fresh / "work/program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    flows, _ = _call(fresh, "python", program).split()
    assert flows == "1"
    of = ["--strict", "--python-executable", fresh / "venv/bin/python", "--cache-dir", fresh / "mypy"]
    checked = subprocess.run(
        [BIN / "mypy", *of, program], cwd=fresh / "work", capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout
    wrong = PROGRAM.replace("text: str", "text: int")
    program.write_text(wrong, encoding="utf-8")
    checked = subprocess.run(
        [BIN / "mypy", *of, program], cwd=fresh / "work", capture_output=True, text=True, check=False
    )
    assert "Incompatible types in assignment" in checked.stdout
