"""Formulas as MathML, which browsers draw by themselves: no script, no font and no network is needed.

docutils translates LaTeX; the commands that it does not know are written as ones that it does.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)
KNOWN_BY = (
    (re.compile(r"\\dots(?![a-zA-Z])"), r"\\ldots"),
    (re.compile(r"\\iff(?![a-zA-Z])"), r"\\;\\Longleftrightarrow\\;"),
    (re.compile(r"\\tfrac\s*(\w)\s*(\w)"), r"\\tfrac{\1}{\2}"),
    (re.compile(r"\\setminus(?![a-zA-Z])"), r"\\backslash "),  # few fonts have the other stroke
    (re.compile(r"\\textstyle(?![a-zA-Z])"), ""),
    (re.compile(r"\\substack\{(.*?)\\\\(.*?)\}\}"), r"{\1,\\ \2}}"),
    (re.compile(r"\\[lr]vert(?![a-zA-Z])"), "|"),
)
SPACE = '<mspace width="0.17em"></mspace>'
SPACED_LIKE_LATEX = (
    (re.compile(r"<mo>([{}])</mo>"), r'<mo stretchy="false">\1</mo>'),  # braces grow when they are told to
    (re.compile(r'<mo stretchy="false">([|/])</mo>'), r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>'),
    (re.compile(r"<mo>&ApplyFunction;</mo>(?!\s*<mo[^>]*>\()"), SPACE),  # log n
    (re.compile(r"(</m(?:i|n|sub|sup|subsup)>\s*)(?=<mi>(?:log|exp|cos)</mi>)"), rf"\1{SPACE}"),  # n log n
    (re.compile(r"<mo>(min|max)</mo>(?=\s*<mo[^>]*>\()"), r'<mo lspace="0.17em" rspace="0">\1</mo>'),
    (
        re.compile(r"(<mo[^>]*>(?:[=≥≤∈,{(\[]|&[lg]t;)</mo>\s*)<mo>([\u2212±∓])</mo>"),
        r'\1<mo form="prefix">\2</mo>',
    ),  # > -1
    # the index of a letter with an accent stands beside it, not below
    (
        re.compile(r"<munderover>(\s*<mi>\w+</mi>)(.*?)(\s*<mo[^>]*>[ˆˉ~]</mo>\s*)</munderover>", re.DOTALL),
        r'<msub><mover accent="true">\1\3</mover>\2</msub>',
    ),
)
OPENING, CLOSING = re.compile(r"[(“]+$"), re.compile(r"^(?:-th|-NN)?[)”.,;:]*")


def to_mathml(latex: str, *, block: bool) -> str:
    """Return LaTeX as an element of MathML."""
    for unknown, known in KNOWN_BY:
        latex = unknown.sub(known, latex)
    written = str(tex2mathml(latex, as_block=block))
    for wide, as_in_latex in SPACED_LIKE_LATEX:
        written = wide.sub(as_in_latex, written)
    return written


def parts_of(latex: str) -> list[str]:
    """Return what wide spaces separate, which may stand below each other where the screen is narrow."""
    parts: list[str] = []
    for piece in latex.split(r"\qquad"):
        if parts and any(parts[-1].count(a) != parts[-1].count(b) for a, b in (("{", "}"), (r"\begin", r"\end"))):
            parts[-1] += r"\qquad" + piece
        else:
            parts.append(piece)
    return parts


def _written(translator: Any, node: nodes.Element, *, block: bool) -> str:
    try:
        parts = parts_of(node.astext()) if block else [node.astext()]
        return "".join(to_mathml(part, block=block) for part in parts)
    except MathError as error:
        LOGGER.warning("%s: %s", error, node.astext(), location=node)
        return f"<code>{translator.encode(node.astext())}</code>"


def visit_inline(translator: Any, node: nodes.math) -> None:
    """Write a formula in a line."""
    translator.body.append(_written(translator, node, block=False))
    raise nodes.SkipNode


def visit_block(translator: Any, node: nodes.math_block) -> None:
    """Write a formula of its own line, which scrolls where the screen is narrow."""
    translator.body.append(f'<div class="formula">{_written(translator, node, block=True)}</div>\n')
    raise nodes.SkipNode


def keep_together(app: Any, doctree: nodes.document) -> None:  # noqa: ARG001
    """Let no line end between a formula and the brackets, full stop or "-th" that belong to it."""
    for formula in list(doctree.findall(nodes.math)):
        parent, place = formula.parent, formula.parent.index(formula)
        before, after = (parent[i] if 0 <= i < len(parent) else None for i in (place - 1, place + 1))
        opening = OPENING.search(before) if isinstance(before, nodes.Text) else None
        closing = CLOSING.match(after) if isinstance(after, nodes.Text) else None
        if not (opening or (closing and closing[0])):
            continue
        together = nodes.inline(classes=["unbroken"])
        formula.replace_self(together)
        together += [nodes.Text(opening[0])] if opening else []
        together += formula
        together += [nodes.Text(closing[0])] if closing and closing[0] else []
        if closing:
            parent[place + 1] = nodes.Text(after[closing.end() :])
        if opening:
            parent[place - 1] = nodes.Text(before[: opening.start()])


def setup(app: Any) -> dict[str, bool]:
    """Register the way of writing formulas."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    app.connect("doctree-read", keep_together)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
