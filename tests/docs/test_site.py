"""The site: names have an entry in the reference, formulas one in the table of the theory, and links lead somewhere."""

from __future__ import annotations

import ast
import builtins
import doctest
import importlib
import importlib.util
import inspect
import re
import shlex
import tomllib
from operator import attrgetter
from pathlib import Path
from types import ModuleType

import pytest

import exactcp
from exactcp import __version__

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PACKAGE = Path(exactcp.__file__).parent
THEORY = DOCS / "theory"
PAGES = sorted(THEORY.glob("*.md"))
ENTRY = re.compile(r"^   ~(exactcp\.[\w.]+)$", re.MULTILINE)
LINK = re.compile(r'\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"')
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^```(?:sh|bash)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# what is not a name to look up: the version, and the entry points of a program that has a page of its own
NOT_LOOKED_UP = {"exactcp.__version__", "exactcp.cli.app", "exactcp.cli.main"}
# what authors of measures derive from or count with, an enumeration, and what a long experiment returns
WITHOUT_EXAMPLE = {
    *(f"exactcp.measures.{name}" for name in ("LabelBag", "Objects", "TargetBag")),
    "exactcp.pvalues.Counts",
    "exactcp.experiments.Reproduction",
}
ROW = re.compile(r"^\| \[([A-Z]{2}\.\d+)\]\([\w.#-]+\) \| (.+) \| `([\w.]+):([\w.]+)` \|$", re.MULTILINE)
HEADING = re.compile(r"^#+ \(([A-Z]{2}\.\d+)\) ", re.MULTILINE)
ANCHOR = re.compile(r'^<a id="([a-z0-9-]+)"></a>$', re.MULTILINE)
CITED = re.compile(r"\[([A-Z]{2}\.\d+)\]\(([^)#\s]*)#([\w-]+)\)")
INLINE = re.compile(r"\$([^$]+)\$")
CITATION = re.compile(r"\btheory ([A-Z]{2}\b(?:[.\d]|-\d| to |, (?=[A-Z]{2}\b)|[A-Z]{2}\b)*)")

pytestmark = pytest.mark.skipif(not DOCS.exists(), reason="the documentation is not part of this distribution")


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose_of(page: Path) -> str:
    return FENCED.sub("", text_of(page))


def public_modules() -> list[str]:
    """Modules that declare what they offer, and whose name does not say that they are private."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if "._" not in name and re.search(r"^__all__ = ", text_of(path), re.MULTILINE):
            found.append(name)
    return found


def public_names() -> list[str]:
    return [
        f"{module}.{name}"
        for module in public_modules()
        for name in importlib.import_module(module).__all__
        if f"{module}.{name}" not in NOT_LOOKED_UP
    ]


def entries() -> list[str]:
    pages = sorted((DOCS / "reference").glob("*.rst"))
    return [name for page in pages for name in ENTRY.findall(text_of(page))]


def found_by(name: str) -> object:
    """Return what a full name stands for."""
    for parts in range(name.count("."), 0, -1):
        module, rest = ".".join(name.split(".")[:parts]), ".".join(name.split(".")[parts:])
        try:
            return attrgetter(rest)(importlib.import_module(module))
        except (ImportError, AttributeError):
            continue
    raise AttributeError(name)


def test_every_public_name_has_an_entry_in_the_reference() -> None:
    listed = {id(found_by(name)) for name in entries()}
    names = public_names()
    assert len(names) > 100
    missing = [
        name for name in names if not isinstance(found_by(name), ModuleType) and id(found_by(name)) not in listed
    ]
    assert not missing, f"list these in docs/reference: {missing}"


def test_every_entry_is_public_and_is_listed_once() -> None:
    listed = entries()
    assert len(listed) == len(set(listed))
    offered = {id(found_by(name)) for name in public_names()}
    assert not [name for name in listed if id(found_by(name)) not in offered]


def test_every_page_of_the_reference_is_in_its_index() -> None:
    pages = {page.stem for page in (DOCS / "reference").glob("*.rst")} - {"index"}
    assert pages == set(re.findall(r"^   (\w+)$", text_of(DOCS / "reference" / "index.rst"), re.MULTILINE))


def examples_of_the_reference() -> list[tuple[str, list[doctest.Example]]]:
    """Examples in the docstring of every entry, under its name."""
    docs = ((name, getattr(found_by(name), "__doc__", None) or "") for name in entries())
    return [(name, found) for name, doc in docs if (found := doctest.DocTestParser().get_examples(doc))]


def test_every_class_and_function_of_the_reference_has_an_example() -> None:
    with_one = {name for name, _ in examples_of_the_reference()}
    listed = {name for name in entries() if inspect.isclass(found_by(name)) or inspect.isroutine(found_by(name))}
    assert listed - with_one == WITHOUT_EXAMPLE


def test_examples_of_the_reference_import_what_they_use_and_fit_the_page() -> None:
    assert len(examples_of_the_reference()) > 100
    for name, examples in examples_of_the_reference():
        nodes = [node for example in examples for node in ast.walk(ast.parse(example.source))]
        imported = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
        known = {alias.asname or alias.name for node in imported for alias in node.names} | set(dir(builtins))
        known |= {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        known |= {node.name for node in nodes if isinstance(node, ast.ClassDef | ast.FunctionDef)}
        known |= {node.arg for node in nodes if isinstance(node, ast.arg)}
        used = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        assert used <= known, f"{name}: its example does not say where {sorted(used - known)} come from"
        assert all(len(line) <= 88 for one in examples for line in one.source.splitlines()), f"{name}: too wide"


def anchors_of(page: Path) -> set[str]:
    """Return the anchors of a page: those that it sets, and those that GitHub gives its headings."""
    headings = re.findall(r"^#+ (.+)$", prose_of(page), re.MULTILINE)
    slugs = {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}
    return slugs | set(ANCHOR.findall(prose_of(page)))


@pytest.mark.parametrize("name", ["which.svg", "which-list.html"])
def test_the_leaves_of_the_decision_tree_lead_somewhere(name: str) -> None:
    links = re.findall(r'href="([^"]+)"', text_of(DOCS / "_static" / name))
    assert len(links) >= 12
    for link in links:
        page, _, anchor = link.partition("#")
        stem = page.removesuffix(".html")
        if stem.startswith("auto_examples/"):
            assert (ROOT / "examples" / f"{stem.removeprefix('auto_examples/')}.py").exists(), link
        else:
            assert (DOCS / f"{stem}.md").exists(), link
            assert not anchor or anchor in anchors_of(DOCS / f"{stem}.md"), link


def script(path: str) -> ModuleType:
    """Return a module of the documentation, which is no package."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, DOCS / path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_formulas_are_written_as_latex_would() -> None:
    pytest.importorskip("sphinx")
    formulas = script("_ext/offline_math.py")
    assert formulas.parts_of(r"a, \qquad b") == ["a, ", " b"]
    assert len(formulas.parts_of(r"\begin{cases} a \qquad b \end{cases}")) == 1
    index_beside = formulas.to_mathml(r"\hat y_{-i}", block=False)
    assert "<msub>" in index_beside
    assert "munder" not in index_beside
    assert 'form="prefix"' in formulas.to_mathml("k > -37", block=False)
    assert 'form="prefix"' not in formulas.to_mathml("k - 37", block=False)


def test_the_pictures_of_the_decision_tree_are_those_of_their_script() -> None:
    pictures = script("pictures.py")
    assert text_of(DOCS / "_static" / "which.svg") == pictures.draw_tree(pictures.TREE)
    assert text_of(DOCS / "_static" / "which-list.html") == pictures.list_tree(pictures.TREE)


FRONT_PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]


@pytest.mark.parametrize("page", [*FRONT_PAGES, *PAGES], ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    text = prose_of(page)
    for link in (one or other for one, other in LINK.findall(text)):
        target, _, anchor = link.partition("#")
        if not link.startswith("http"):
            linked = page.parent / target if target else page
            assert linked.exists(), link
            assert not anchor or anchor in anchors_of(linked), link
    for one, target, anchor in CITED.findall(text):
        assert anchor == one.lower().replace(".", "-")
        assert one in ids_of(page.parent / target if target else page)


def commands() -> list[tuple[str, str]]:
    """What is to be typed on pages: lines of blocks that begin with the program's name, without their comment."""
    found = []
    for page in [*sorted(DOCS.rglob("*.md")), ROOT / "README.md"]:
        for block in SHELL.findall(text_of(page)):
            found += [(page.name, line.partition("#")[0].split("&&")[-1].strip()) for line in block.splitlines()]
    return [(page, line) for page, line in found if line.startswith("exactcp ")]


def test_what_is_to_be_typed_has_a_command_and_options_that_exist() -> None:
    typer = pytest.importorskip("typer")
    from exactcp.cli import app

    group, typed = typer.main.get_command(app), commands()
    assert len(typed) > 12
    shared = {option for parameter in group.params for option in parameter.opts} | {"--help"}
    for page, line in typed:
        words = shlex.split(line)[1:]
        own = group.commands[words[0]].params if words[0] in group.commands else []
        assert own or words[0] in shared, f"{page}: {line}"
        known = shared | {option for parameter in own for option in (*parameter.opts, *parameter.secondary_opts)}
        unknown = {word.partition("=")[0] for word in words if word.startswith("--")} - known
        assert not unknown, f"{page}: {line}"


def test_the_front_page_shows_the_readmes_first_lines() -> None:
    (readme, *_), (front, *_) = (PYTHON.findall(text_of(path)) for path in (ROOT / "README.md", DOCS / "index.md"))
    assert readme.splitlines()[:9] == front.splitlines()[:9]


@pytest.mark.parametrize(
    ("file", "line"),
    [("CITATION.cff", f"version: {__version__}"), ("recipe/recipe.yaml", f'  version: "{__version__}"')],
)
def test_every_file_names_this_version(file, line):
    assert line in text_of(ROOT / file).splitlines()


@pytest.mark.parametrize("file", ["CITATION.cff", "recipe/recipe.yaml", "pyproject.toml"])
def test_every_file_names_the_same_address(file):
    project = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]
    home = project["urls"]["Source"]
    named = re.findall(r"https://[^\s\"]+", text_of(ROOT / file))
    named = [address for address in named if "exactcp" in address]
    assert named
    assert all(address == home or address.startswith(f"{home}/") for address in named), named


# --- the theory


def formulas() -> list[tuple[str, str, str, str]]:
    return [match.groups() for match in ROW.finditer(text_of(THEORY / "README.md"))]


def ids_of(page: Path) -> list[str]:
    return HEADING.findall(text_of(page))


def test_the_table_has_every_row() -> None:
    lines = text_of(THEORY / "README.md").split("## Where each formula is computed")[1].splitlines()
    rows = [line for line in lines if line.startswith("|")][2:]
    assert len(rows) == len(formulas()) >= 45
    assert len(set(formulas())) == len(rows)


def test_what_the_table_names_is_written_there() -> None:
    for module, name in sorted({row[2:] for row in formulas()}):
        *owner, last = name.split(".")
        home = attrgetter(*owner)(importlib.import_module(module)) if owner else importlib.import_module(module)
        found = vars(home).get(last)  # what a class inherits is written elsewhere
        assert found is not None, (module, name)
        assert getattr(found, "__module__", module) == module, (module, name)


def test_every_section_is_in_the_table_and_every_row_has_a_section() -> None:
    sections = [one for page in PAGES for one in ids_of(page)]
    assert len(sections) == len(set(sections))
    assert {row[0] for row in formulas()} == set(sections)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_sections_are_numbered_in_order_and_have_their_anchors(page: Path) -> None:
    ids = ids_of(page)
    assert [int(one.split(".")[1]) for one in ids] == list(range(1, len(ids) + 1))
    assert len({one.split(".")[0] for one in ids}) <= 1
    assert ANCHOR.findall(text_of(page)) == [one.lower().replace(".", "-") for one in ids]


def test_what_the_sources_cite_is_a_section() -> None:
    sections = {one for page in PAGES for one in ids_of(page)}
    known = sections | {one.split(".")[0] for one in sections}
    for source in sorted((ROOT / "src").rglob("*.py")):
        for cited in CITATION.findall(text_of(source)):
            assert set(re.findall(r"[A-Z]{2}(?:\.\d+)?", cited)) <= known, (source.name, cited)


def test_every_page_of_the_theory_is_listed() -> None:
    targets = {target.partition("#")[0] for target, _ in LINK.findall(text_of(THEORY / "README.md"))}
    assert targets >= {page.name for page in PAGES} - {"README.md"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_modules_are_named_in_the_table_only(page: Path) -> None:
    text = ROW.sub("", text_of(page))
    assert "exactcp." not in text
    assert ".py" not in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_inline_mathematics_means_nothing_else_in_markdown(page: Path) -> None:
    # Markdown would take a backslash before a punctuation mark, a star and some underscores for its own
    text = prose_of(page)
    assert text.count("$") % 2 == 0
    for formula in INLINE.findall(text):
        assert not re.search(r"\\[^a-zA-Z]|[})|\]]_|\*|\n", formula), formula
