"""Facts to HTML."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from exactcp._optional import require
from exactcp._replacing import replacing


def check_can_render() -> None:
    """Say what to install if a page cannot be made here: before the work, not after it."""
    require("jinja2", "report", "a report")
    require("matplotlib", "report", "a report")


def render(facts: dict[str, Any]) -> str:
    """Return one self-contained HTML page.

    Parameters
    ----------
    facts : dict
        From `classification_facts` or `regression_facts`.

    Returns
    -------
    str

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.report import LabelRun, classification_facts, render
    >>> p = np.array([[0.9, 0.01], [0.3, 0.2]])
    >>> facts = classification_facts([LabelRun("full", "KNN", p, 0.1, 0.1)], ["no", "yes"], ["no", "yes"])
    >>> page = render(facts)
    >>> page.startswith("<!doctype html>"), 'src="http' in page
    (True, False)
    """
    check_can_render()
    from exactcp.report.figures import figures, picture

    return fill("page.html.j2", {"picture": picture}, facts=facts, figures=figures(facts))


def fill(template: str, filters: dict[str, Callable[..., str]], **values: Any) -> str:
    """Return a page made of a template, whose values are escaped and none of which may lack."""
    jinja2 = require("jinja2", "report", "a report")
    from exactcp import __version__

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("exactcp.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=_percent, number=_number, seconds=_seconds, **filters)
    return str(environment.get_template(template).render(**values, version=__version__))


def write_report(facts: dict[str, Any], path: str | Path) -> Path:
    """Write the page to a file, which is the old one or the new one whatever happens.

    Parameters
    ----------
    facts : dict
    path : str or Path

    Returns
    -------
    Path
    """
    page = render(facts)
    with replacing(path) as unfinished:
        unfinished.write_text(page, encoding="utf-8")
    return Path(path)


def _percent(value: float | None) -> str:
    """Return a share in per cent, with as many digits as a level such as 0.999 needs."""
    if value is None:
        return "unknown"
    text = f"{100 * value:.1f}" if abs(1000 * value - round(1000 * value)) > 1e-9 else f"{100 * value:.10g}"
    return f"{text}\N{NO-BREAK SPACE}%"


def _number(value: float | None, digits: int = 4) -> str:
    if value is None or math.isnan(value):
        return "unknown"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.{digits}g}"


def _seconds(value: float) -> str:
    return f"{value:.1f} s" if value >= 10 else f"{value:.3f} s"
