"""How `make docs` makes the site: Sphinx with MyST and Furo.

The scenario's fields are read from the schema, the pages of the papers from their packages.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import roamlab
from roamlab import _roamlab
from roamlab.gallery import page as gallery

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "Roamlab"
copyright = "the Roamlab authors"  # noqa: A001  (Sphinx's name)
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_click"]
html_theme = "furo"
release = version = roamlab.__version__
html_title = f"Roamlab {release}"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
html_static_path = ["_static"]
html_css_files = ["site.css"]
templates_path = ["_templates"]
# Those of the theme, and other versions below the name, which has this one.
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "versions.html",
        "sidebar/search.html",
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}

HERE = Path(__file__).parent
PAPERS = HERE.parent / "python/roamlab/papers"

sys.path.insert(0, str(HERE))
import python_modules  # noqa: E402
import scenario_fields  # noqa: E402


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("builder-inited", _write_made)
    app.connect("source-read", _name_what_is_outside)
    app.connect("build-finished", _write_playground)


def _write_made(_: Sphinx) -> None:
    """The pages that are made from the code."""
    for page, text in scenario_fields.pages(json.loads(_roamlab.schema()), HERE / "models").items():
        _write(HERE / page, text)
    _write(HERE / python_modules.PAGE, python_modules.page(HERE.parent))
    gallery.write(HERE.parent / "examples", HERE)
    gallery.front(HERE.parent / "examples", HERE)
    for readme in sorted(PAPERS.glob("*/README.md")):
        _write(HERE / "papers" / f"{readme.parent.name}.md", _moved(readme))


def _write_playground(app: Sphinx, _: Exception | None) -> None:
    """The playground next to the pages, as `play.html`, or what builds it."""
    built = HERE.parent / "python/roamlab/playground/playground.html"
    page = built.read_text(encoding="utf-8") if built.exists() else _NOT_BUILT
    (Path(app.outdir) / "play.html").write_text(page, encoding="utf-8")


_NOT_BUILT = """<!doctype html><html lang="en"><title>Roamlab: playground</title>
<p>This copy of the site was made without the playground: <code>make playground</code> builds it.</p></html>
"""


def _write(page: Path, text: str) -> None:
    """Whole or not at all: two builds may run at the same time."""
    page.parent.mkdir(parents=True, exist_ok=True)
    draft = page.with_name(f".{page.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(page)


def _moved(readme: Path) -> str:
    """The page of a paper with its links as they are from `docs/papers`."""

    def link(found: re.Match[str]) -> str:
        target, mark, part = found[1].partition("#")
        if "://" in target or not target:
            return found[0]
        return f"]({os.path.relpath(readme.parent / target, HERE / 'papers')}{mark}{part})"

    text = re.sub(r"\]\(([^)]+)\)", link, readme.read_text(encoding="utf-8"))
    return re.sub(r'^<a id="([^"]+)"></a>$', r"(\1)=", text, flags=re.MULTILINE)


def _name_what_is_outside(app: Sphinx, page: str, source: list[str]) -> None:
    """Pages and folders outside `docs` have no place in the site: they are named. Other files are copied by MyST.

    The pages of papers have one.
    """
    here = (Path(app.srcdir) / page).parent

    def named(link: re.Match[str]) -> str:
        place = (here / link[2]).resolve()
        if place.name == "README.md" and place.parent.parent == PAPERS:
            page = os.path.relpath(HERE / "papers" / f"{place.parent.name}.md", here)
            return f"[{link[1]}]({page}{link[3]})"
        inside = place.is_relative_to(app.srcdir) or "://" in link[2]
        if inside or not (place.is_dir() or place.suffix == ".md"):
            return link[0]
        return f"{link[1]} (`{place.relative_to(Path(app.srcdir).parent)}`)"

    source[0] = re.sub(r"\[([^\]]+)\]\(([^)#]+)([^)]*)\)", named, source[0])
