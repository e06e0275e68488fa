"""No line ends between a number and what belongs to it: "10 %", "0.085 ms", and in tables "80 of 80"."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes

UNIT = re.compile(r"(?<=\d) (?=(?:%|[kMG]B|bytes|ms|s|min|h)(?!\w))")
BETWEEN = re.compile(r"(?<=\d) (of|to) (?=\d)")
AS_WRITTEN = (
    nodes.literal,
    nodes.literal_block,
    nodes.math,
    nodes.math_block,
    nodes.raw,
    nodes.comment,
)


def bind_numbers(app: Any, doctree: nodes.document) -> None:  # noqa: ARG001
    """Put spaces that do not break where a number and its unit would be parted."""
    for cell in doctree.findall(nodes.entry):
        _replace(cell, BETWEEN, "\N{NO-BREAK SPACE}\\1\N{NO-BREAK SPACE}")
    _replace(doctree, UNIT, "\N{NO-BREAK SPACE}")


def _replace(above: nodes.Element, pattern: re.Pattern[str], bound: str) -> None:
    for text in list(above.findall(nodes.Text)):
        if not isinstance(text.parent, AS_WRITTEN) and pattern.search(text):
            text.parent.replace(text, nodes.Text(pattern.sub(bound, text)))


def setup(app: Any) -> dict[str, bool]:
    """Look at every page once it is read."""
    app.connect("doctree-read", bind_numbers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
