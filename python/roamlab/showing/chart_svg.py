"""A message sequence chart as a self-contained SVG file."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple
from xml.sax.saxutils import quoteattr

from roamlab.base.figures import FONT
from roamlab.base.quantities import counted
from roamlab.base.screen import escape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roamlab.showing.chart import Chart, Message, Note

# Distances in px.
_COLUMN = 172
"""Least distance of two lifelines; names of messages between them may need more."""
_LEFT, _TOP = 120, 120
_FOOT = 62
_TALL = 1000.0
"""The nodes of a chart that is taller are named below it too."""
_PER_MS, _LEAST, _MOST = 8.0, 40.0, 80.0
_NOTE_LINE = 17.0
_LETTER, _SMALL_LETTER = 7.6, 6.3
"""Width of a letter of a message's name, and of its details."""

_INK, _GREY, _PHASE, _DATA, _LOST = "#1b1f24", "#69717a", "#0072B2", "#00795a", "#b00020"
_STYLE = f"""
text{{font:13px {FONT};fill:{_INK}}}
.title{{font-size:17px;font-weight:bold}}.small{{font-size:11px;fill:{_GREY}}}
.node{{font-weight:bold;text-anchor:middle}}.time{{font-size:11px;text-anchor:end;fill:{_GREY}}}
.message text{{text-anchor:middle;stroke:#fff;stroke-width:4px;stroke-linejoin:round;paint-order:stroke}}
.message .detail{{font-size:11px;fill:{_GREY}}}.message .lost{{fill:{_LOST}}}
.phase text{{fill:{_PHASE}}}.data text{{fill:{_DATA}}}
""".strip()


class _Box(NamedTuple):
    """A rectangle that text covers."""

    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: _Box) -> float:
        """The common area."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(0.0, width) * max(0.0, height)


class _Arrow(NamedTuple):
    """A line from where a message was sent to where it ended."""

    x1: float
    y1: float
    x2: float
    y2: float

    def at(self, part: float) -> tuple[float, float]:
        """The point at this part of the way."""
        return self.x1 + part * (self.x2 - self.x1), self.y1 + part * (self.y2 - self.y1)

    @property
    def direction(self) -> tuple[float, float]:
        """The unit vector along it."""
        dx, dy = self.x2 - self.x1, self.y2 - self.y1
        length = math.hypot(dx, dy) or 1.0
        return dx / length, dy / length


@dataclass
class _Canvas:
    """Where things are, and what was drawn."""

    x: dict[str, float]
    y: dict[int, float]
    """Height of each instant."""
    parts: list[str] = field(default_factory=list)

    def add(self, text: str) -> None:
        """Draw."""
        self.parts.append(text)


def svg(made: Chart) -> str:
    """The chart as an SVG document. Messages from a node to itself are only counted: they take no time on a link."""
    own = sum(message.source == message.destination for message in made.messages)
    made = replace(made, messages=tuple(each for each in made.messages if each.source != each.destination))
    instants = _instants(made)
    canvas = _Canvas(_columns(made), _heights(made, instants))
    bottom = max(canvas.y.values()) + 34
    bottom += _NOTE_LINE * max(0, sum(note.time_ns == instants[-1] for note in made.notes) - 1)
    right = 30 + _LETTER * max((len(_words(note)) for note in made.notes), default=0)
    margin = max(canvas.x.values()) + _COLUMN / 2
    foot = bottom + (_NOTE_LINE if bottom > _TALL else 0.0)
    width, height = max(margin + right, 900.0), foot + _FOOT
    _head(canvas, made)
    _axis(canvas, made, instants, bottom)
    for node in made.nodes:
        _lifeline(canvas, node, bottom, named_twice=foot > bottom)
    _notes(canvas, made.notes, margin + 10)
    arrows = [_arrow(canvas, message) for message in made.messages]
    parts = _label_parts(canvas, made.messages, arrows)
    for message, arrow, part in zip(made.messages, arrows, parts, strict=True):
        _draw_message(canvas, message, arrow, part)
    _foot(canvas, made, own, foot)
    body = "\n".join(canvas.parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img">\n<title>{escape(made.title)}</title>\n'
        f'<style>{_STYLE}</style>\n<rect width="100%" height="100%" fill="#fff"/>\n{body}\n</svg>\n'
    )


def _columns(made: Chart) -> dict[str, float]:
    """Where each lifeline is. Between neighbours there is room for the names of their messages."""
    place = {node: at for at, node in enumerate(made.nodes)}
    gaps = [float(_COLUMN)] * len(made.nodes)
    for message in made.messages:
        left, right = sorted((place[message.source], place[message.destination]))
        if right == left + 1:
            gaps[left] = max(gaps[left], len(message.name) * _LETTER + 8)
    starts = accumulate(gaps[:-1], initial=_LEFT + _COLUMN / 2)
    return dict(zip(made.nodes, starts, strict=True))


def _instants(made: Chart) -> list[int]:
    """All instants of the chart, in order."""
    found = {note.time_ns for note in made.notes} | {made.zero_ns}
    for message in made.messages:
        found |= {message.sent_ns, message.end_ns}
    return sorted(found)


def _heights(made: Chart, instants: Sequence[int]) -> dict[int, float]:
    """Where each instant is drawn: to scale, but no step too small for its labels nor longer than the eye needs."""
    y = _TOP + 30.0
    heights = {instants[0]: y}
    for earlier, later in pairwise(instants):
        stacked = _NOTE_LINE * sum(note.time_ns == earlier for note in made.notes) + 4
        y += max(min(_PER_MS * (later - earlier) / 1e6, _MOST), _LEAST, stacked)
        heights[later] = y
    return heights


def _text(x: float, y: float, words: str, kind: str = "") -> str:
    name = f' class="{kind}"' if kind else ""
    return f'<text{name} x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, more: str = "") -> str:
    return f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{colour}" fill="none"{more}/>'


def _head(canvas: _Canvas, made: Chart) -> None:
    canvas.add(_text(20, 32, made.title, "title"))
    canvas.add(_text(20, 54, made.origin, "small"))
    # A sample of each mark.
    canvas.add(f'<circle cx="26" cy="72" r="4" fill="{_PHASE}"/>')
    canvas.add(_text(36, 76, "phase of the handover", "small"))
    canvas.add(_diamond(206, 72))
    canvas.add(_text(216, 76, "data packets", "small"))
    canvas.add(_cross(326, 72))
    canvas.add(_text(336, 76, "message lost", "small"))


def _axis(canvas: _Canvas, made: Chart, instants: Sequence[int], bottom: float) -> None:
    x = 96.0
    what = "link lost" if made.cells[0] else "link up"
    canvas.add('<g class="axis">')
    canvas.add(_text(20, _TOP - 8, f"time since {what} [ms]", "small"))
    canvas.add(_line(x, _TOP + 10, x, bottom, _GREY))
    for at in instants:
        y = canvas.y[at]
        canvas.add(_line(x - 4, y, x, y, _GREY))
        canvas.add(_text(x - 8, y + 4, f"{(at - made.zero_ns) / 1e6:.3f}", "time"))
    for earlier, later in pairwise(instants):
        if _PER_MS * (later - earlier) / 1e6 > _MOST:
            y = (canvas.y[earlier] + canvas.y[later]) / 2
            canvas.add(f'<rect x="{x - 3}" y="{y - 3:.1f}" width="6" height="6" fill="#fff"/>')
            for dy in (-3, 3):
                wave = f"M{x - 8:.1f} {y + dy:.1f}q4 -5 8 0t8 0"
                canvas.add(f'<path class="break" d="{wave}" stroke="{_GREY}" fill="none"/>')
    canvas.add("</g>")


def _lifeline(canvas: _Canvas, node: str, bottom: float, *, named_twice: bool) -> None:
    x, wide = canvas.x[node], max(64.0, 9.0 * len(node) + 20)
    canvas.add(f'<g class="lifeline" data-node={quoteattr(node)}>')
    canvas.add(_line(x, _TOP + 10, x, bottom, "#b9c0c8", ' stroke-width="1.5"'))
    if named_twice:
        canvas.add(_text(x, bottom + 12, node, "node"))
    canvas.add(
        f'<rect x="{x - wide / 2:.1f}" y="{_TOP - 22}" width="{wide:.1f}" height="30" rx="4" fill="#eef1f4" '
        f'stroke="{_GREY}"/>'
    )
    canvas.add(_text(x, _TOP - 2, node, "node"))
    canvas.add("</g>")


def _notes(canvas: _Canvas, notes: Sequence[Note], x: float) -> None:
    """At the right; a dotted line leads to the node. Notes of one instant are below each other."""
    stacked: dict[int, int] = {}
    for note in notes:
        at = stacked.get(note.time_ns, 0)
        stacked[note.time_ns] = at + 1
        y, node = canvas.y[note.time_ns], canvas.x[note.node]
        colour, kind = (_DATA, "data") if note.is_data else (_PHASE, "phase")
        canvas.add(f'<g class="{kind}" data-node={quoteattr(note.node)}>')
        dots = ' stroke-dasharray="1 4" opacity="0.7"'
        canvas.add(_line(node, y, x - 4, y, colour, dots) if at == 0 else "")
        canvas.add(
            _diamond(node, y)
            if note.is_data
            else f'<circle cx="{node:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
        )
        canvas.add(_text(x, y + 4 + at * _NOTE_LINE, _words(note)))
        canvas.add("</g>")


def _words(note: Note) -> str:
    return f"{note.node}: {note.text}"


def _diamond(x: float, y: float) -> str:
    return f'<path d="M{x - 5.5:.1f} {y:.1f}l5.5 -5.5 5.5 5.5 -5.5 5.5z" fill="{_DATA}"/>'


def _cross(x: float, y: float) -> str:
    path = f"M{x - 6:.1f} {y - 6:.1f}l12 12m0 -12l-12 12"
    return f'<path class="cross" d="{path}" stroke="{_LOST}" stroke-width="2.5" fill="none"/>'


def _arrow(canvas: _Canvas, message: Message) -> _Arrow:
    """To the receiver if it arrived, to the place of its loss, or half-way."""
    x1, x2 = canvas.x[message.source], canvas.x[message.destination]
    y1, y2 = canvas.y[message.sent_ns], canvas.y[message.end_ns]
    if message.arrived_ns is None:
        place = message.loss.place if message.loss else ""
        x2 = canvas.x[place] if place in canvas.x and place != message.source else (x1 + x2) / 2
        y2 = max(y2, y1 + 28)
    return _Arrow(x1, y1, x2, y2)


def _draw_message(canvas: _Canvas, message: Message, arrow: _Arrow, part: float) -> None:
    """`part`: on which part of the arrow its label is."""
    name, details = message.name, _details(message)
    lost = message.loss is not None
    colour = _LOST if lost else _INK
    dash = ' stroke-dasharray="6 4"' if message.arrived_ns is None else ""
    x, y = arrow.at(part)
    dx, dy = arrow.direction
    angle = math.degrees(math.atan2(dy, dx) if dx >= 0 else math.atan2(-dy, -dx))
    canvas.add(f'<g class="message" data-id="{message.id}" data-name={quoteattr(name)}>')
    canvas.add(_line(*arrow, colour, f' stroke-width="1.4"{dash}'))
    if message.arrived_ns is not None:
        canvas.add(_head_of(arrow))
    canvas.add(f'<g transform="translate({x:.1f} {y:.1f}) rotate({angle:.2f})">')
    canvas.add(_text(0, -4, name))
    canvas.add(_text(0, 12, details, "detail lost" if lost else "detail"))
    canvas.add("</g>")
    if lost:
        canvas.add(_cross(arrow.x2, arrow.y2))
    canvas.add("</g>")


def _details(message: Message) -> str:
    size = f"{message.size_bytes} B"
    if message.arrived_ns is not None:
        return f"{size}, {(message.arrived_ns - message.sent_ns) / 1e6:.3f} ms"
    if message.loss is None:
        return f"{size}, under way at the end"
    return f"{size}, {message.loss.reason} at {message.loss.place}"


def _label_parts(canvas: _Canvas, messages: Sequence[Message], arrows: Sequence[_Arrow]) -> list[float]:
    """On which part of each arrow its label is: where it covers least of other labels and arrows.

    Short arrows come first, because long ones have more places for their label. Then each label is placed again,
    long arrows first and then short ones.
    """
    wide = [max(len(each.name) * _LETTER, len(_details(each)) * _SMALL_LETTER) for each in messages]
    order = sorted(range(len(arrows)), key=lambda at: abs(arrows[at].x2 - arrows[at].x1))
    parts, taken = [0.5] * len(arrows), dict[int, list[_Box]]()
    for at in (*order, *reversed(order), *order):
        taken.pop(at, None)
        boxes = [box for each in taken.values() for box in each]
        others = [arrow for place, arrow in enumerate(arrows) if place != at]
        parts[at] = _label_part(canvas, arrows[at], others, boxes, wide[at])
        taken[at] = _covered(arrows[at], parts[at], wide[at])
    return parts


def _label_part(
    canvas: _Canvas, arrow: _Arrow, others: Sequence[_Arrow], taken: Sequence[_Box], wide: float
) -> float:
    """On which part of the arrow its label covers least of other arrows and labels."""
    low, high = sorted((arrow.x1, arrow.x2))
    borders = [low, *(x for x in canvas.x.values() if low < x < high), high]
    columns = len(borders) - 1
    middles = [((left + right) / 2 - arrow.x1) / (arrow.x2 - arrow.x1) for left, right in pairwise(borders)]
    shifts = (0.0, -0.1 / columns, 0.1 / columns, -0.2 / columns, 0.2 / columns)

    def cost(part: float) -> float:
        boxes = _covered(arrow, part, wide)
        covered = sum(box.overlap(other) for box in boxes for other in taken)
        return covered + sum(60.0 for box in boxes for other in others if _crosses(other, box))

    return min((middle + shift for shift in shifts for middle in middles), key=cost)


def _covered(arrow: _Arrow, part: float, wide: float) -> list[_Box]:
    """Area of a label along the arrow, in five pieces."""
    (x, y), (dx, dy) = arrow.at(part), arrow.direction
    pieces = [(at - 2) / 5 * wide for at in range(5)]
    half = wide / 10
    return [_Box(x + a * dx - half, y + a * dy - 16, x + a * dx + half, y + a * dy + 16) for a in pieces]


def _crosses(arrow: _Arrow, box: _Box) -> bool:
    beside = max(arrow.x1, arrow.x2) < box.left or box.right < min(arrow.x1, arrow.x2)
    if beside or max(arrow.y1, arrow.y2) < box.top or box.bottom < min(arrow.y1, arrow.y2):
        return False
    points = (arrow.at(step / 60) for step in range(61))
    return any(box.left < x < box.right and box.top < y < box.bottom for x, y in points)


def _head_of(arrow: _Arrow) -> str:
    """A triangle at the end of the arrow."""
    ux, uy = arrow.direction
    left = (arrow.x2 - 10 * ux - 4 * uy, arrow.y2 - 10 * uy + 4 * ux)
    right = (arrow.x2 - 10 * ux + 4 * uy, arrow.y2 - 10 * uy - 4 * ux)
    return (
        f'<path d="M{arrow.x2:.1f} {arrow.y2:.1f}L{left[0]:.1f} {left[1]:.1f}L{right[0]:.1f} {right[1]:.1f}z" '
        f'fill="{_INK}"/>'
    )


def _foot(canvas: _Canvas, made: Chart, own: int, bottom: float) -> None:
    """`own`: number of messages from a node to itself."""
    canvas.add(
        _text(
            20,
            bottom + 26,
            f"Not to scale: {_PER_MS:g} px are 1 ms, but a step has at least {_LEAST:g} px and at most {_MOST:g} px; "
            "a gap that is shortened has a break (two waves) on the time axis.",
            "small",
        )
    )
    text = "roamlab chart --text"
    left_out = [
        f"{counted(len(made.beside), 'message')} about no host; `{text} --all` lists them"
        if made.beside
        else "",
        f"{counted(own, 'message')} from a node to itself; `{text}` lists them" if own else "",
        f"{counted(made.regular, 'regular report')}" if made.regular else "",
    ]
    shown = " Not drawn: ".join(["", "; ".join(filter(None, left_out))]) + "." if any(left_out) else ""
    canvas.add(
        _text(20, bottom + 44, f"Under a message: its size and how long it took.{shown or ' '}", "small")
    )
