"""The page of the gallery, in Markdown with a picture for each question.

`python -m roamlab.gallery.page EXAMPLES FOLDER` writes `gallery.md` and the folder `gallery` with the pictures;
`make docs` does so for the site.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from roamlab.base.errors import BadInput
from roamlab.gallery.answers import REPETITIONS, answer
from roamlab.gallery.pictures import picture, stall
from roamlab.gallery.questions import SEED, TABLE, questions
from roamlab.running.run import simulate
from roamlab.scenarios.scenario import load

if TYPE_CHECKING:
    from roamlab.base.figures import SavedFigure
    from roamlab.gallery.answers import Answer

PAGE, PICTURES = "gallery.md", "gallery"

_HEAD = """# Gallery

{count} questions, each with the runs that answer it. Numbers and pictures are those of the first run with seed {seed}.
The point of each answer holds in {repetitions} runs; `make docs` makes them and fails if it does not.

The [playground](playground.md) shows the cases of a question as buttons. The run of the case before remains as a grey
line. The table of all questions is `examples/{table}`.
"""


def write(examples: Path, folder: Path) -> list[Answer]:
    """Answer all questions in the folder of examples; write the page and the pictures into another folder.

    Raises `BadInput` if a run contradicts an answer.
    """
    found = [answer(each) for each in questions(examples)]
    for each in found:
        if each.broken:
            raise BadInput(
                f"{examples / TABLE}, question {each.question.name}",
                each.broken[0],
                expected="conditions in `holds` that all runs meet",
                remedy="change the answer and its conditions to what the runs show",
            )
        picture(each, folder / PICTURES)
    folder.mkdir(parents=True, exist_ok=True)
    head = _HEAD.format(count=len(found), seed=SEED, repetitions=REPETITIONS, table=TABLE)
    sections = [_section(each, examples.parent) for each in found]
    thumbnails = "\n\n".join(map(_thumbnail, found))
    # Whole or not at all: the site may be built twice at one time.
    draft = folder / f".{PAGE}.{os.getpid()}"
    draft.write_text(
        "\n".join([head, f"::::{{container}} thumbnails\n{thumbnails}\n::::\n", *sections]), encoding="utf-8"
    )
    draft.replace(folder / PAGE)
    return found


def front(examples: Path, folder: Path) -> SavedFigure:
    """Draw the picture of the front page and of the tutorial, whose run it is."""
    return stall(
        simulate(load(examples / "busy-cell.toml"), SEED), "download", folder / PICTURES, "busy-cell"
    )


def _thumbnail(found: Answer) -> str:
    """The picture, small, and the question: a link to its section."""
    asked = found.question
    to = f"#question-{asked.name}"
    return f""":::{{container}} thumbnail
[![{asked.question}]({PICTURES}/{asked.name}.svg)]({to})

[{asked.question}]({to})
:::"""


def _section(found: Answer, root: Path) -> str:
    asked = found.question
    source = (
        "" if asked.source == "today" else f" After the paper [{asked.source}](papers/{asked.source}.md)."
    )
    table = asked.scenario.parameters.get("mobility") or []
    kinds = [each["kind"] for each in (table if isinstance(table, list) else [table])]
    models = ", ".join(f"[{kind}](models/{kind}.md)" for kind in kinds)
    names = list(asked.cases)
    opens = " · ".join(
        f'<a href="play.html#q={asked.name}.{place}">{name}</a>' for place, name in enumerate(names)
    )
    commands = "\n".join(asked.command(name, root) for name in names)
    return f"""(question-{asked.name})=

## {asked.question}

![{asked.question}]({PICTURES}/{asked.name}.svg)

{found.sentence}{source}{f" The protocol and its messages: {models}." if models else ""}

Open in the playground: {opens}

<details><summary>Commands of these runs</summary>

```text
{commands}
```

</details>
"""


if __name__ == "__main__":
    write(*map(Path, sys.argv[1:]))
