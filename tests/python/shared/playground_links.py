"""`make links`: mutated links through the playground, several pages side by side.

Prints how many there were, what became of them, and how long the slowest took.
"""

from __future__ import annotations

import json
import random
import signal
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from browser import chromium
from playground import PAGE, SHORT, link, settled

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PATIENCE_S = 2.0
"""After so long a run is cancelled, except each tenth, which the page has to end itself."""
LIMIT_S = 60.0
"""A page that has not answered after this time, next to others on a busy machine, hangs."""
_STATE = """() => {
  const { runner, opened } = window.playground;
  const status = document.getElementById("status");
  return {
    opened: opened ?? 0,
    idle: document.getElementById("busy").hidden && !runner.current,
    words: status.textContent,
    bad: status.dataset.bad === "yes",
    title: document.title,
    foreign: document.querySelectorAll("img:not(.cm-widgetBuffer), iframe, object, embed").length,
    scripts: document.scripts.length,
  };
}"""


_SCRIPTS = (
    "<script>document.title='broken'</script>",
    "<img src=x onerror=\"document.title='broken'\">",
    "javascript:document.title='broken'",
    "'\"`${document.title='broken'}",
)


def _mutated(rng: random.Random) -> str:
    """A link made of a scenario with changes of letters, tokens, numbers and names, or of no scenario at all."""
    text = SHORT
    # Most of them are changed in numbers only, so that many can run, and for long.
    some = rng.random() < 0.75
    for _ in range(rng.randint(1, 2 if some else 6)):
        at = rng.randrange(len(text))
        how = rng.choice([3, 5, 6] if some else range(7))
        if how == 0:
            text = text[:at] + rng.choice(_SCRIPTS) + text[at:]
        elif how == 1:
            text = (
                text[:at]
                + chr(rng.choice([0, 34, 60, 91, 123, 0x2028, 0x1F600, 0xFFFD]))
                + text[at + rng.randint(0, 3) :]
            )
        elif how == 2:
            text = text.replace(
                rng.choice(['"mh"', '"ch"', "bs1", "moving"]), json.dumps(rng.choice(_SCRIPTS))
            )
        elif how == 3:
            text = text.replace(
                rng.choice(["10", "60", "2 ", "64"]),
                rng.choice(["1e18", "999999999", "0", "-1", "18446744073709551615 "]),
                1,
            )
        elif how == 4:
            lines = text.splitlines()
            rng.shuffle(lines)
            text = "\n".join(lines[: rng.randint(1, len(lines))])
        elif how == 5:
            text = text.replace('"12 s"', f'"{10 ** rng.randint(0, 9)} s"')
        else:
            text = text.replace('name = "moving"', f'name = "moving"\ncount = {10 ** rng.randint(1, 9)}')
    state: Any = {
        "text": text,
        "name": rng.choice(["own.toml", *_SCRIPTS]),
        "seed": 1 if rng.random() < 0.8 else rng.choice([-1, 2**70, "x", None]),
    }
    if rng.random() < 0.1:
        state = rng.choice(
            [None, [], 7, {"text": 7}, {"text": SHORT, "files": {"__proto__": "x"}}, {"text": "a" * 500_000}]
        )
    found = link(state)
    if rng.random() < 0.2:
        at = rng.randrange(2, len(found))
        found = found[:at] + rng.choice("AZaz09-_%<&=") + found[at + 1 :]
    return found


class _Visitor:
    """A page that opens one link after the other."""

    def __init__(self, browser: Browser) -> None:
        self.page: Page = browser.new_page()
        self.troubles: list[str] = []
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("dialog", lambda dialog: self.troubles.append(dialog.message))
        self.page.on("console", lambda told: told.type == "error" and self.troubles.append(told.text))
        self.page.goto(PAGE.resolve().as_uri())
        settled(self.page)
        self.number = -1

    def open(self, number: int, link: str) -> None:
        self.number, self.link, self.begin, self.cancelled = number, link, time.monotonic(), False
        self.before = self.page.evaluate(_STATE)["opened"]
        # The same link twice is no change of the address.
        # The answer is the page's text from now on.
        self.page.evaluate(
            "link => { document.getElementById('status').textContent = ''; location.hash = link; }",
            f"{link}&n={number}",
        )

    def ask(self) -> str:
        """State of the link; empty: none yet."""
        state, waited = self.page.evaluate(_STATE), time.monotonic() - self.begin
        where = (self.number, self.link, state)
        assert self.troubles == [], (where, self.troubles)
        assert (state["title"], state["foreign"], state["scripts"]) == ("Roamlab: playground", 0, 5), where
        assert waited < LIMIT_S, where
        if state["opened"] == self.before or not state["idle"] or not state["words"]:
            if waited > PATIENCE_S and self.number % 10 and not self.cancelled:
                self.cancelled = self.page.evaluate(
                    "() => { const shown = !document.getElementById('busy').hidden;"
                    " if (shown) document.getElementById('cancel').click(); return shown; }"
                )
            return ""
        if self.cancelled:
            return "cancelled"
        words = state["words"]
        if words.startswith("Stopped after") or "took too long" in words:
            return "ended by the page"
        assert state["bad"] or words.startswith("Run in"), where
        return "refused" if state["bad"] else "shown"


class Visitors:
    """`side` pages of a browser, which open mutated links until all have been answered."""

    def __init__(self, browser: Browser, seed: int, side: int) -> None:
        self.rng = random.Random(seed)
        self.pages = [_Visitor(browser) for _ in range(side)]
        self.slowest_s = 0.0

    def visit(self, count: int, *, tell: bool = False) -> Counter[str]:
        """How many links there were of each kind. A page that runs script, hangs or breaks ends it with the link."""
        found: Counter[str] = Counter()
        asked = iter(range(count))
        # A page whose program never ends does not answer Playwright either.
        signal.signal(signal.SIGALRM, lambda *_: self._hang())
        try:
            busy = [page for page in self.pages if self._next(page, asked)]
            while busy:
                for page in list(busy):
                    signal.alarm(int(2 * LIMIT_S))
                    said = page.ask()
                    if not said:
                        continue
                    found[said] += 1
                    self.slowest_s = max(self.slowest_s, time.monotonic() - page.begin)
                    if tell and found.total() % 100 == 0:
                        print(f"{found.total()} links", flush=True)
                    if not self._next(page, asked):
                        busy.remove(page)
                self.pages[0].page.wait_for_timeout(20)
        finally:
            signal.alarm(0)
        return found

    def _hang(self) -> None:
        raise AssertionError(f"a page hangs: {[(each.number, each.link) for each in self.pages]}")

    def _next(self, page: _Visitor, asked: Any) -> bool:
        number = next(asked, None)
        if number is not None:
            page.open(number, _mutated(self.rng))
        return number is not None


def main(count: int) -> None:
    """Opens `count` links; the first that is not answered, or runs script, ends it with its number and text."""
    with chromium() as browser:
        visitors = Visitors(browser, seed=2, side=4)
        begin = time.monotonic()
        found = visitors.visit(count, tell=True)
        took = time.monotonic() - begin
    kinds = ", ".join(f"{number} {kind}" for kind, number in found.most_common())
    print(f"{count} links in {took:.0f} s: {kinds}; the slowest answered in {visitors.slowest_s:.1f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]))
