"""Installs the package with the engine that the build of the tests made: `maturin develop` would compile it again.

The engine is copied into the package's folder, and a wheel of the package's description and of a path to that folder is
installed.
"""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
ENGINE = ROOT / "target" / "debug" / "lib_roamlab.so"
PACKAGES = ROOT / "python"


def _wheel(folder: Path) -> Path:
    """An editable wheel: it has no files of the package, only the way to them."""
    maturin = Path(sys.executable).with_name("maturin")
    command = ["pep517", "write-dist-info", "--metadata-directory", folder, "--interpreter", sys.executable]
    subprocess.run([maturin, *command], check=True, cwd=ROOT, capture_output=True)
    (information,) = folder.iterdir()
    described = (path for path in information.rglob("*") if path.is_file())
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in described}
    files["roamlab.pth"] = f"{PACKAGES}\n".encode()
    record = f"{information.name}/RECORD"
    files[record] = "".join(f"{name},,\n" for name in [*files, record]).encode()
    tag = files[f"{information.name}/WHEEL"].decode().split("\nTag: ")[1].split()[0]
    made = folder / f"{information.name.removesuffix('.dist-info')}-{tag}.whl"
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return made


def main() -> None:
    """Copy the engine and install the wheel."""
    draft = ENGINE.with_suffix(".copy")
    shutil.copyfile(ENGINE, draft)
    draft.replace(PACKAGES / "roamlab" / "_roamlab.abi3.so")
    with tempfile.TemporaryDirectory() as folder:
        options = ["--quiet", "--no-deps", "--no-index", "--force-reinstall"]
        wheel = _wheel(Path(folder))
        subprocess.run([sys.executable, "-m", "pip", "install", *options, wheel], check=True)


if __name__ == "__main__":
    main()
