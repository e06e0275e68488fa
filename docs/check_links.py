"""Check that every link of the built pages leads to a file, and to a place in it: `python docs/check_links.py`.

Sphinx checks what it writes itself; this looks at the result, with all that templates, pictures and raw HTML add.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import unquote

BUILT = Path(__file__).parent / "_build" / "html"
LINK = re.compile(r'<[a-z]+\b[^<>]*?\s(?:href|src)="([^"]+)"')
ELSEWHERE = re.compile(r"[a-z]+:|//")


@cache
def places_of(page: Path) -> frozenset[str]:
    """Return the ids on a page."""
    return frozenset(re.findall(r'\bid="([^"]+)"', page.read_text(encoding="utf-8")))


def dead_links(page: Path) -> list[str]:
    """Return the links of a page, to this site, that lead nowhere."""
    links = {unescape(link) for link in LINK.findall(page.read_text(encoding="utf-8"))}
    dead = []
    for link in sorted(link for link in links if not ELSEWHERE.match(link)):
        path, _, place = link.partition("#")
        target = (page.parent / unquote(path.partition("?")[0])).resolve() if path else page
        to_page = target.suffix == ".html" and place
        if not target.exists() or (to_page and unquote(place) not in places_of(target)):
            dead.append(link)
    return dead


def main() -> int:
    """Print the dead links, and return whether there are any."""
    pages = [page for page in sorted(BUILT.rglob("*.html")) if "_static" not in page.parts]
    found = [(page.relative_to(BUILT), link) for page in pages for link in dead_links(page)]
    lines = [f"{page}: {link} leads nowhere" for page, link in found] or [
        f"the links of {len(pages)} pages lead somewhere"
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if found or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
