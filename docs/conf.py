"""How `make docs` makes the site: Sphinx with MyST and Furo.

The scenario's fields are read from the schema, the pages of the papers from their packages.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roamlab import _roamlab
from roamlab.gallery import page as gallery

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "Roamlab"
copyright = "the Roamlab authors"  # noqa: A001  (Sphinx's name)
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx_click"]
html_theme = "furo"
html_title = "Roamlab"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
html_static_path = ["_static"]
html_css_files = ["site.css"]

HERE = Path(__file__).parent
PAPERS = HERE.parent / "python/roamlab/papers"
FIELDS = HERE / "reference/scenario-fields.md"
HEAD = """# Scenario fields

Made from the engine's schema, which `roamlab schema` prints.
[The scenario format](../scenario.md) explains them with an example.
"""


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("builder-inited", _write_made)
    app.connect("source-read", _name_what_is_outside)
    app.connect("build-finished", _write_playground)


def _write_made(_: Sphinx) -> None:
    """The pages that are made from the code."""
    _write(FIELDS, fields())
    gallery.write(HERE.parent / "examples", HERE)
    for readme in sorted(PAPERS.glob("*/README.md")):
        _write(HERE / "papers" / f"{readme.parent.name}.md", _moved(readme))


def _write_playground(app: Sphinx, _: Exception | None) -> None:
    """The playground beside the pages, as `play.html`, or what builds it."""
    built = HERE.parent / "python/roamlab/playground/playground.html"
    page = built.read_text(encoding="utf-8") if built.exists() else _NOT_BUILT
    (Path(app.outdir) / "play.html").write_text(page, encoding="utf-8")


_NOT_BUILT = """<!doctype html><html lang="en"><title>Roamlab: playground</title>
<p>This copy of the site was made without the playground: <code>make playground</code> builds it.</p></html>
"""


def _write(page: Path, text: str) -> None:
    """Whole or not at all: two builds may run at once."""
    page.parent.mkdir(exist_ok=True)
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


def fields() -> str:
    """A page with a table for each kind of table that a scenario has."""
    schema = json.loads(_roamlab.schema())
    parts = [HEAD, _table("The scenario", schema)]
    for name, definition in sorted(schema["$defs"].items()):
        parts += [_table(title, each) for title, each in _kinds(name, definition)]
    return "\n".join(filter(None, parts))


def _kinds(name: str, definition: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """A definition, or each of its kinds if it is one of several."""
    kinds = [each for each in definition.get("oneOf", []) if "properties" in each]
    if not kinds:
        return [(name, definition)]
    constants = [each["properties"].get("kind", {}).get("const", "") for each in kinds]
    return [
        (f"{name}, kind {kind}" if kind else name, each) for kind, each in zip(constants, kinds, strict=True)
    ]


def _table(title: str, definition: dict[str, Any]) -> str:
    properties = definition.get("properties", {})
    if not properties:
        return ""
    needed = set(definition.get("required", []))
    rows = [
        f"| `{name}` | {_type(field)} | {_words(field)} {_default(name, field, needed)} |"
        for name, field in sorted(properties.items(), key=lambda each: each[0] != "kind")
    ]
    about = _words(definition)
    return "\n".join(
        [
            f"## {title}",
            "",
            about,
            "",
            ":::{container} fields",
            "| field | type | meaning and default |",
            "| --- | --- | --- |",
            *rows,
            ":::",
            "",
        ]
    )


def _type(field: dict[str, Any]) -> str:
    if "$ref" in field:
        return field["$ref"].rpartition("/")[2]
    if "const" in field:
        return f'`"{field["const"]}"`'
    if "enum" in field:
        return ", ".join(f"`{json.dumps(each)}`" for each in field["enum"])
    for several in ("anyOf", "oneOf", "allOf"):
        if several in field:
            return " or ".join(
                dict.fromkeys(_type(each) for each in field[several] if each.get("type") != "null")
            )
    if field.get("type") == "array":
        return f"list of {_type(field.get('items', {}))}"
    kind = field.get("type", "any")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _default(name: str, field: dict[str, Any], needed: set[str]) -> str:
    if field.get("default") is not None:
        default = json.dumps(field["default"], ensure_ascii=False).replace("|", "\\|")
        return f"Default: `{default}`."
    return "**Required.**" if name in needed else ""


def _words(field: dict[str, Any]) -> str:
    return " ".join(field.get("description", "").split()).replace("|", "\\|").replace("<", "&lt;")
