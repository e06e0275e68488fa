"""A page of predictors side by side: what `exactcp compare` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from exactcp._replacing import replacing
from exactcp.report.page import fill


def write_ranking(facts: dict[str, Any], path: str | Path) -> Path:
    """Write the page to a file, which is the old one or the new one whatever happens.

    Parameters
    ----------
    facts : dict
        title and lead, texts; asked, a dict of texts; columns, texts; rows, dicts with cells (texts, one for each
        column) and best (bool); notes, name to text; lines, heading to what is typed; guarantee, a text.
    path : str or Path

    Returns
    -------
    Path
    """
    page = fill("ranking.html.j2", {}, facts=facts)
    with replacing(path) as unfinished:
        unfinished.write_text(page, encoding="utf-8")
    return Path(path)
