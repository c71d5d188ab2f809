"""Requirements for every page: complete, self-contained, and with a name for everything shown or reachable."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_VOID = ("meta", "img", "br", "input", "rect", "path", "circle")


class Page(HTMLParser):
    """A page read, with what a browser would load, the ids, the links inside, the words, and the order of parts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.words: list[str] = []
        self.parts: list[str] = []
        """Tags with their classes, in order."""
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []
        assert re.search(r"url\(|@import", text) is None
        assert len(self.ids) == len(set(self.ids)), "an id occurs twice"
        inside = {link[1:] for link in self.links if link.startswith("#")}
        assert inside <= set(self.ids), f"links without a target: {inside - set(self.ids)}"
        assert all(source.startswith("data:") for source in self.loads)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = {name: value or "" for name, value in attrs}
        assert tag not in ("script", "link", "iframe", "object")
        self.loads += [of[name] for name in ("src", "srcset", "data") if name in of]
        self.links += [of["href"]] if "href" in of else []
        self.ids += [of["id"]] if "id" in of else []
        self.parts.append(f"{tag}.{of.get('class', '')}")
        if tag == "img" or of.get("role") in ("img", "group"):
            assert (of.get("alt") or of.get("aria-label", "")).strip(), f"a {tag} without a name"
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in _VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        """All words."""
        return " ".join(" ".join(self.words).split())

    def check_claims(self, names: list[str]) -> None:
        """The headline and its figure come first, then a card for each claim, whose measures are folded."""
        cards = [at for at, part in enumerate(self.parts) if part.startswith("article.card")]
        assert set(names) <= set(self.ids)
        assert len(cards) == len(names)
        assert self.parts.index("p.headline") < self.parts.index("img.") < cards[0]
        ends = [*cards[1:], len(self.parts)]
        for begin, end in zip(cards, ends, strict=True):
            inside = self.parts[begin:end]
            assert inside.index("details.") < inside.index("table.", inside.index("details."))
