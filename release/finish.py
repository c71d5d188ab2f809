"""Completes a release: `python release/finish.py FOLDER`, behind wheel, source distribution and site (`make release`).

It adds the playground, the lists of parts (SBOM) from the wheel, the licences and the citation. It adds the description
for an archive with a DOI, the pages in front of the sites of all versions, and the sums. `--version` prints the version
alone.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
COPIES = {
    "python/roamlab/playground/playground.html": "playground.html",
    "LICENSE-THIRD-PARTY.txt": "LICENSE-THIRD-PARTY.txt",
    "CITATION.cff": "CITATION.cff",
    ".zenodo.json": ".zenodo.json",
    "CHANGELOG.md": "CHANGELOG.md",
}
"""Files of the project that a release has unchanged."""
SUMS = "SHA256SUMS"


def versions() -> list[str]:
    """The released versions, the newest first: the headings of the changelog."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    return re.findall(r"^## (\d+\.\d+\.\d+)\b", changelog, re.MULTILINE)


def pages() -> dict[str, str]:
    """The two pages in front of the sites of all versions: one leads to the newest site, the other lists all."""
    newest = f"{versions()[0]}/index.html"
    links = "".join(f'<li><a href="{each}/index.html">{each}</a></li>' for each in versions())
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Roamlab: versions</title>'
    return {
        "index.html": f'{head}<meta http-equiv="refresh" content="0; url={newest}">'
        f'<p><a href="{newest}">Documentation of Roamlab</a></p></html>\n',
        "versions.html": f"{head}<h1>Roamlab</h1><p>The documentation of each version:</p><ul>{links}</ul></html>\n",
    }


def finish(folder: Path) -> None:
    """Add all that is made of what is there. Raises `OSError`."""
    for source, name in COPIES.items():
        shutil.copyfile(ROOT / source, folder / name)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as content:
        for name in content.namelist():
            if "/sboms/" in name:
                (folder / Path(name).name).write_bytes(content.read(name))
    for name, text in pages().items():
        (folder / "site" / name).write_text(text, encoding="utf-8")
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != SUMS)
    sums = (
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n"
        for path in files
    )
    (folder / SUMS).write_text("".join(sums), encoding="utf-8")


if __name__ == "__main__":
    (word,) = sys.argv[1:]
    if word == "--version":
        print(versions()[0])
    else:
        finish(Path(word))
