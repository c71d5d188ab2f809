"""Elements of an XML file, each with its line. No entity is expanded, and no other file is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple
from xml.parsers import expat

from roamlab.base.errors import BadInput
from roamlab.base.inputs import open_file, text_lines
from roamlab.running.runprogress import measured

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

_PIECE = 1_000_000
"""Bytes that are parsed together."""


class Element(NamedTuple):
    """The begin of an element, or its end with its text."""

    name: str
    """Without the prefix of a namespace. An end has a slash in front of it."""
    attributes: Mapping[str, str]
    text: str
    line: int


def is_xml(path: Path, expected: str) -> bool:
    """True if the first line that is not empty begins as one of XML. Raises `BadInput`."""
    first = next((line for line in text_lines(path, expected) if line.strip()), "")
    return first.lstrip().startswith("<")


def elements(
    path: Path,
    expected: str,
    *,
    ends: bool = False,
    kept: Callable[[str, Mapping[str, str]], bool] | None = None,
) -> Iterator[Element]:
    """Each element in the order of the file. `ends`: also the ends of elements, with their texts.

    `kept`: true for an element, by its name and attributes, that is given; None: each is.

    A file with declarations of entities is refused: they can grow a small file to gigabytes. Raises `BadInput` with
    file, line and column.
    """
    found: list[Element] = []
    texts: list[str] = []
    parser = expat.ParserCreate()

    def begin(name: str, attributes: dict[str, str]) -> None:
        texts.clear()
        name = name.rpartition(":")[2]
        if kept is None or kept(name, attributes):
            found.append(Element(name, attributes, "", parser.CurrentLineNumber))

    def end(name: str) -> None:
        name = f"/{name.rpartition(':')[2]}"
        found.append(Element(name, {}, "".join(texts).strip(), parser.CurrentLineNumber))
        texts.clear()

    def refuse(*_: object) -> None:
        raise BadInput(
            f"{path}:{parser.CurrentLineNumber}",
            "the file declares entities or has a document type",
            expected=expected,
            remedy="remove the lines from <!DOCTYPE to its end, and write the texts in place of the entities",
        )

    parser.StartElementHandler = begin
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    if ends:
        parser.EndElementHandler = end
        parser.CharacterDataHandler = texts.append
    with open_file(path, expected) as file, measured("read", path.stat().st_size) as tell:
        while piece := file.read(_PIECE):
            _parse(path, parser, piece, expected, last=False)
            yield from found
            found.clear()
            tell(file.tell(), lambda _: f"{file.tell() / 1e6:.0f} MB")
        _parse(path, parser, b"", expected, last=True)
        yield from found


def _parse(path: Path, parser: expat.XMLParserType, piece: bytes, expected: str, *, last: bool) -> None:
    try:
        parser.Parse(piece, last)
    except expat.ExpatError as error:
        raise BadInput(
            f"{path}:{error.lineno}:{error.offset + 1}",
            f"this is no XML: {expat.ErrorString(error.code)}",
            expected=expected,
            remedy="the file may be cut off, or written by hand: correct this place",
        ) from None
    except (LookupError, ValueError) as error:
        problem, remedy = f"its encoding cannot be read: {error}", "save the file in UTF-8"
        raise BadInput(f"{path}:1", problem, expected=expected, remedy=remedy) from None
