from __future__ import annotations

import importlib
import re
from operator import attrgetter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
THEORY = ROOT / "docs" / "theory"
PAGES = sorted(THEORY.glob("*.md"))
ROW = re.compile(r"^\| \[([A-Z]{2}\.\d+)\]\([\w.#-]+\) \| (.+) \| `([\w.]+):([\w.]+)` \|$", re.MULTILINE)
HEADING = re.compile(r"^#+ \(([A-Z]{2}\.\d+)\) ", re.MULTILINE)
ANCHOR = re.compile(r'^<a id="([a-z0-9-]+)"></a>$', re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]*)(?:#([\w-]+))?\)")
CITED = re.compile(r"\[([A-Z]{2}\.\d+)\]\(([^)#\s]*)#([\w-]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"\$([^$]+)\$")
CITATION = re.compile(r"\btheory ([A-Z]{2}\b(?:[.\d]|-\d| to |, (?=[A-Z]{2}\b)|[A-Z]{2}\b)*)")


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def table() -> list[tuple[str, str, str, str]]:
    return [match.groups() for match in ROW.finditer(text_of(THEORY / "README.md"))]


def ids_of(page: Path) -> list[str]:
    return HEADING.findall(text_of(page))


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors_of(page: Path) -> set[str]:
    text = FENCED.sub("", text_of(page))
    return {*ANCHOR.findall(text), *(slug(title) for title in re.findall(r"^#+ (.+)$", text, re.MULTILINE))}


def test_the_table_has_every_row() -> None:
    lines = text_of(THEORY / "README.md").split("## Where each formula is computed")[1].splitlines()
    rows = [line for line in lines if line.startswith("|")][2:]
    assert len(rows) == len(table()) >= 45
    assert len(set(table())) == len(rows)


def test_what_the_table_names_is_written_there() -> None:
    for module, name in sorted({row[2:] for row in table()}):
        *owner, last = name.split(".")
        home = attrgetter(*owner)(importlib.import_module(module)) if owner else importlib.import_module(module)
        found = vars(home).get(last)  # what a class inherits is written elsewhere
        assert found is not None, (module, name)
        assert getattr(found, "__module__", module) == module, (module, name)


def test_every_section_is_in_the_table_and_every_row_has_a_section() -> None:
    sections = [one for page in PAGES for one in ids_of(page)]
    assert len(sections) == len(set(sections))
    assert {row[0] for row in table()} == set(sections)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_sections_are_numbered_in_order_and_have_their_anchors(page: Path) -> None:
    ids = ids_of(page)
    assert [int(one.split(".")[1]) for one in ids] == list(range(1, len(ids) + 1))
    assert len({one.split(".")[0] for one in ids}) <= 1
    assert ANCHOR.findall(text_of(page)) == [one.lower().replace(".", "-") for one in ids]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_resolve(page: Path) -> None:
    text = FENCED.sub("", text_of(page))
    for target, anchor in LINK.findall(text):
        if not target.startswith("http"):
            linked = page.parent / target if target else page
            assert linked.exists(), target
            assert not anchor or anchor in anchors_of(linked), (target, anchor)
    for one, target, anchor in CITED.findall(text):
        assert anchor == one.lower().replace(".", "-")
        assert one in ids_of(page.parent / target if target else page)


def test_what_the_sources_cite_is_a_section() -> None:
    sections = {one for page in PAGES for one in ids_of(page)}
    known = sections | {one.split(".")[0] for one in sections}
    for source in sorted((ROOT / "src").rglob("*.py")):
        for cited in CITATION.findall(text_of(source)):
            assert set(re.findall(r"[A-Z]{2}(?:\.\d+)?", cited)) <= known, (source.name, cited)


def test_every_page_is_listed() -> None:
    assert {target for target, _ in LINK.findall(text_of(THEORY / "README.md"))} >= {
        page.name for page in PAGES if page.name != "README.md"
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_modules_are_named_in_the_table_only(page: Path) -> None:
    text = ROW.sub("", text_of(page))
    assert "exactcp." not in text
    assert ".py" not in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_inline_mathematics_means_nothing_else_in_markdown(page: Path) -> None:
    # Markdown would take a backslash before a punctuation mark, a star and some underscores for its own
    text = FENCED.sub("", text_of(page))
    assert text.count("$") % 2 == 0
    for formula in INLINE.findall(text):
        assert not re.search(r"\\[^a-zA-Z]|[})|\]]_|\*|\n", formula), formula
