"""`make links`: mutated links through the playground. Prints how many there were, and how long the slowest took."""

from __future__ import annotations

import sys

from browser import chromium
from test_playground import check_links


def main(count: int) -> None:
    """Opens `count` links; the first that is not answered, or runs script, ends it with its number and text."""
    with chromium() as browser:
        slowest = check_links(browser, count, seed=2)
    print(f"{count} links, the slowest answered in {slowest:.1f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]))
