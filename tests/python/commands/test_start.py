"""A command begins soon: libraries that take longer to load than a short run takes are loaded when they are needed."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from roamlab.scenarios import examples

if TYPE_CHECKING:
    from pathlib import Path

_SLOW = "{'polars', 'numpy', 'scipy', 'matplotlib', 'importlib.metadata'}"
_RUN = f"""
import sys
from roamlab.showing import terminal
shown = terminal.tables

def tables(*given):
    print('loaded:', *sorted({_SLOW} & {{*sys.modules}}))
    return shown(*given)

terminal.tables = tables
sys.argv[1:] = sys.argv[1:] or ['run', 'busy-cell.toml']
from roamlab.__main__ import main
main()
"""


def _python(folder: Path, program: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, *words], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_first_table_needs_no_library_of_tables(tmp_path: Path) -> None:
    """Nor does a run that was kept, which is shown as it was."""
    examples.copy("busy-cell", tmp_path)
    made = _python(tmp_path, _RUN)
    assert "loaded:\n" in made
    assert "buffer-overflow │      43" in made
    assert _python(tmp_path, _RUN + "assert 'polars' not in sys.modules") == made


def test_a_kept_run_is_shown_as_it_is_read(tmp_path: Path) -> None:
    """The totals that the engine gives are those of the tables."""
    examples.copy("fair-queues", tmp_path)
    command = ["run", "fair-queues.toml", "--json"]
    made = _python(tmp_path, _RUN, *command)
    assert _python(tmp_path, _RUN, *command) == made
    (note,) = tmp_path.glob("out/runs/*/totals.json")
    note.unlink()
    assert _python(tmp_path, _RUN, *command) == made


def test_damaged_totals_are_read_again_from_the_tables(tmp_path: Path) -> None:
    def tables() -> str:
        return _python(tmp_path, _RUN).partition("loaded:")[2].partition("\n")[2]

    examples.copy("busy-cell", tmp_path)
    made = tables()
    (note,) = tmp_path.glob("out/runs/*/totals.json")
    right = note.read_text(encoding="utf-8")
    for wrong in (right.replace("43", "44"), right[:-5], ""):
        note.write_text(wrong, encoding="utf-8")
        assert tables() == made
        assert note.read_text(encoding="utf-8") == right
    flows = note.parent / "flows.parquet"
    whole = flows.read_bytes()
    flows.write_bytes(b"damaged")
    assert tables() == made
    assert flows.read_bytes() == whole


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["new"], ["schema"]])
def test_help_loads_none_of_them(words: list[str], tmp_path: Path) -> None:
    program = (
        "import atexit, sys; from roamlab.__main__ import main; "
        f"atexit.register(lambda: print('loaded:', *sorted({_SLOW} & {{*sys.modules}}))); main()"
    )
    assert _python(tmp_path, program, *words).endswith("loaded:\n")
