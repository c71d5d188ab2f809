"""Makes the folders of pytest's `pythonpath` importable by scripts: benches, and the tests that write pages."""

import site
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"][
    "ini_options"
]
LINES = [f"{ROOT / folder}\n" for folder in SETTINGS["pythonpath"]]
Path(site.getsitepackages()[0], "shared.pth").write_text("".join(LINES), encoding="utf-8")
