"""The text that an error suggests is accepted in its place, or leads to another error with a place (mistakes.toml)."""

from __future__ import annotations

import re

from conftest import DEEP, ROOT
from test_mistakes import MISTAKES, MOVES, answer

PLACE = re.compile(r"lab\.toml:(\d+):(\d+):(?: field `([^`]+)`)?")
VALUE = re.compile(
    r"(?:write|did you mean)(?: for example| bits instead of bytes:)? "
    r"(\"[^\"]*\"|\[[^\]`]*\]|[0-9.]+)(?=[,;?. ]|$)(?! in the `)"  # a text for another field
)
NAME = re.compile(r"did you mean `(\w+)`\?")


def written(text: str, said: str) -> tuple[str, str] | None:
    """The text with the first remedy of an answer at the place of the answer, and the field; none if it is in words."""
    place = PLACE.search(said)
    lines = said.splitlines()
    marks = next((line for line in lines if re.search(r"\| +\^+$", line)), None)
    remedy = next((line.split("help: ", 1)[1] for line in lines if "help: " in line), "")
    if not place or marks is None:
        return None
    rows = text.split("\n")
    row, start = int(place[1]) - 1, int(place[2]) - 1
    end = start + marks.count("^")
    row_text, marked = rows[row], rows[row][start:end]
    if (name := NAME.match(remedy)) and re.fullmatch(r"\w+", marked):
        new = name[1]
    elif (value := VALUE.search(remedy)) and not re.fullmatch(r"[A-Za-z_]\w*|\[.*\]|\{.*\}", marked):
        new = value[1]
    else:
        return None
    rows[row] = row_text[:start] + new + row_text[end:]
    return "\n".join(rows), place[3]


def test_a_remedy_is_no_mistake() -> None:
    texts = [(MISTAKES["base"], *row) for row in MISTAKES["wired"]]
    texts += [(MOVES.read_text(encoding="utf-8"), *row) for row in MISTAKES["moves"]]
    for file, *row in MISTAKES["others"]:
        texts.append(((ROOT / "examples" / file).read_text(encoding="utf-8"), *row))
    step = 1 if DEEP else 5
    tried, refused = 0, []
    for base, find, write, _ in texts[::step]:
        text = base.replace(find, write, 1)
        said = answer(text)
        if (remedied := written(text, said)) is None:
            continue
        tried += 1
        now = answer(remedied[0])
        place = PLACE.search(now)
        if now and (place is None or (place[3] == remedied[1] and place[0] in said)):
            refused.append(f"{write!r}: {said}\n-> {now}")
    assert not refused, "\n\n".join(refused)
    assert tried >= 100 // step, tried
