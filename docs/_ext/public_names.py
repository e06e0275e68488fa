"""Names of the package in code, wherever a page or a docstring has them, become links to the reference.

`KNN(k=15)` leads to `exactcp.measures.KNN`. A class is known by its bare name, everything by its full one, with or
without "exactcp."; headings, links and the name's own page stay as they are. So do the names of others, in the first
column of the tables that compare them with ours.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes

REFERENCE = Path(__file__).parents[1] / "reference"
LISTED = re.compile(r"^   ~(exactcp[\w.]*)$", re.MULTILINE)
COMPARES = "coming-from"
NAME = re.compile(r"(?:from )?([A-Za-z_][\w.]*)(?:\(.*\))?", re.DOTALL)


def listed_names() -> list[str]:
    """Return the full names of all that the reference lists, in its order."""
    return [name for page in sorted(REFERENCE.glob("*.rst")) for name in LISTED.findall(page.read_text("utf-8"))]


def file_names() -> dict[str, str]:
    """Return files of their own for names that differ in capitals only, as some file systems do not see them."""
    seen: dict[str, str] = {}
    return {name: f"{name}_function" for name in listed_names() if seen.setdefault(name.lower(), name) != name}


def _known_as() -> dict[str, str]:
    """Return the full name behind every way of writing it."""
    known: dict[str, str] = {}
    for name in listed_names():
        short = name.rpartition(".")[2]
        known |= {name: name, name.removeprefix("exactcp."): name} if name.count(".") > 1 else {name: name}
        if short[0].isupper():
            known.setdefault(short, name)
    return known


def link_names(app: Any, doctree: nodes.document) -> None:
    """Turn literals that name something public into links to it."""
    known, page = _known_as(), app.env.docname
    for literal in list(doctree.findall(nodes.literal)):
        match = NAME.fullmatch(literal.astext())
        target = known.get(match[1]) if match else None
        inside = (nodes.title, nodes.reference, addnodes.pending_xref, addnodes.desc_signature, nodes.rubric)
        above = _above(literal)
        is_theirs = page == COMPARES and any(isinstance(one, nodes.entry) and one.parent[0] is one for one in above)
        if target is None or page.endswith("/" + target) or is_theirs or any(isinstance(one, inside) for one in above):
            continue
        link = addnodes.pending_xref(
            "", refdomain="py", reftype="obj", reftarget=target, refexplicit=True, refwarn=True, refdoc=page
        )
        literal.replace_self(link)
        link += literal


def _above(node: nodes.Node) -> list[nodes.Node]:
    found = []
    while node.parent is not None:
        node = node.parent
        found.append(node)
    return found


def setup(app: Any) -> dict[str, bool]:
    """Look at every page once it is read."""
    app.connect("doctree-read", link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
