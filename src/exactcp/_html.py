"""Small pieces of HTML for notebooks: chips, bars and tables that look right on light and dark pages.

Colours are translucent, so that the page's own shine through; whatever a user named is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

TABLE_ROWS = 20  # of one table
GOLDEN_ANGLE = 137.508  # degrees: neighbouring numbers get colours that differ
_CELL = 'style="text-align:left;padding:2px 8px"'
_CHIP = "display:inline-block;margin:1px 3px 1px 0;padding:0 7px;border-radius:9px"
_TRACK = "display:inline-block;position:relative;vertical-align:middle;width:180px;height:10px"


def chip(text: object, number: int) -> str:
    """Return a label as a chip, whose colour its number chooses."""
    hue = f"{(210 + GOLDEN_ANGLE * number) % 360:.0f} 70% 50%"
    style = f"{_CHIP};border:1px solid hsl({hue} / 0.7);background:hsl({hue} / 0.22)"
    return f'<span style="{style}">{escape(str(text))}</span>'


def bar(intervals: np.ndarray, low: float, high: float) -> str:
    """Return intervals (r, 2) as marks on a track from low to high; those that reach beyond it end at its border."""
    span = high - low if high > low else 1.0
    marks = ['<span style="position:absolute;left:0;right:0;top:4px;height:2px;background:hsl(0 0% 50% / 0.3)"></span>']
    for first, last in np.clip((np.asarray(intervals, dtype=np.float64) - low) / span, 0.0, 1.0) * 100:
        place = f"left:{first:.1f}%;width:max(2px, {last - first:.1f}%)"
        marks.append(
            f'<span style="position:absolute;{place};top:0;height:10px;background:hsl(210 70% 50% / 0.6)"></span>'
        )
    return f'<span style="{_TRACK}" aria-hidden="true">{"".join(marks)}</span>'


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], caption: str, total: int) -> str:
    """Return a table of cells that are HTML already; its caption says how many of all rows it shows."""
    head = "".join(f"<th {_CELL}>{escape(name)}</th>" for name in columns)
    body = "".join(f"<tr>{''.join(f'<td {_CELL}>{cell}</td>' for cell in row)}</tr>" for row in rows)
    left_out = f"; the first {len(rows)} of {total:,} rows" if total > len(rows) else ""
    words = f'<caption style="text-align:left;opacity:0.8;white-space:nowrap">{escape(caption)}{left_out}</caption>'
    return f"<table>{words}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
