"""The tables of a run and the meaning of their columns, as the engine declares them.

Times are whole nanoseconds (`*_ns`), rates `*_bps`, sizes `*_bytes`, counts `*_pkts`.
`python -m roamlab.records.tables docs/tables.md` writes the documentation page,
`python -m roamlab.records.tables python/roamlab/records/frames.py` the properties of `Results`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import fill
from typing import NamedTuple

from roamlab import _roamlab


class Column(NamedTuple):
    """A column of a table."""

    name: str
    kind: str
    """The type of its values: `u64`, `i64`, `u32`, `f64`, `bool`, or `words` for text."""
    unit: str
    """Empty: none."""
    meaning: str
    words: list[tuple[str, str]]
    """The words that it can hold, with their meaning, if these are few."""


class Table(NamedTuple):
    """A table of a run."""

    name: str
    about: str
    """Meaning of its rows."""
    recorded: str
    """When it is recorded; empty: always."""
    columns: dict[str, Column]


TABLES: dict[str, Table] = {
    name: Table(name, about, recorded, {column[0]: Column(*column) for column in columns})
    for name, about, recorded, columns in _roamlab.tables()
}
"""The tables of a run, by name."""


def markdown() -> str:
    """The tables as a documentation page."""
    parts = [
        "# The tables of a run\n",
        "Written by `python -m roamlab.records.tables docs/tables.md`. The types are those of the files. In Python\n"
        "the tables of `Results` have `i64` for `u32` and `u64`: the difference of two times may be below 0.\n",
    ]
    for table in TABLES.values():
        parts.append(f"## {table.name}\n\n{table.about}")
        if table.recorded:
            parts.append(f"Recorded {table.recorded}.")
        parts.append("| column | type | unit | meaning |\n| --- | --- | --- | --- |")
        rows = [
            f"| `{name}` | {column.kind} | {column.unit} | {column.meaning} |"
            for name, column in table.columns.items()
        ]
        parts[-1] = "\n".join([parts[-1], *rows])
        for name, column in table.columns.items():
            if column.words:
                words = [f"| `{word}` | {meaning} |" for word, meaning in column.words]
                parts.append("\n".join([f"| `{name}` | meaning |", "| --- | --- |", *words]))
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


_PROPERTIES = {"queue": "queues"}
"""Properties of `Results` with another name than their table: `queue` is a method there."""

_HEAD = '''"""The tables of a run as properties. Written by `python -m roamlab.records.tables`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl


class Frames:
    """A run's tables as Polars frames; `table` gives each."""

    def table(self, name: str) -> pl.DataFrame:
        """A table by its name."""
        raise NotImplementedError
'''


def properties() -> str:
    """The module `frames`."""
    parts = [_HEAD]
    for table in TABLES.values():
        first, *rest = table.about.split(". ", 1)
        if table.recorded:
            rest.append(f"Recorded {table.recorded}.")
        text = first.removesuffix(".") + "."
        if rest:
            indent = " " * 8
            lines = fill(" ".join(rest), 110, initial_indent=indent, subsequent_indent=indent)
            text += f"\n\n{lines}\n{indent}"
        parts.append(
            f"    @property\n    def {_PROPERTIES.get(table.name, table.name)}(self) -> pl.DataFrame:\n"
            f'        """{text}"""\n        return self.table("{table.name}")\n'
        )
    return "\n".join(parts)


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(markdown() if path.suffix == ".md" else properties(), encoding="utf-8")
