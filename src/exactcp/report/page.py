"""Facts to HTML."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from exactcp._optional import require
from exactcp._percent import percent
from exactcp._replacing import replacing
from exactcp.report.carrying import written
from exactcp.report.numbers import seconds, written_number


def check_can_render() -> None:
    """Say what to install if a page cannot be made here: before the work, not after it.

    Examples
    --------
    >>> from exactcp.report import check_can_render
    >>> check_can_render()
    """
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
    >>> run = LabelRun("full", "KNN", p, fit_seconds=0.1, predict_seconds=0.1)
    >>> facts = classification_facts([run], classes=["no", "yes"], truth=["no", "yes"])
    >>> page = render(facts)
    >>> page.startswith("<!doctype html>"), 'src="http' in page
    (True, False)
    """
    check_can_render()
    from exactcp.report.figures import figures, picture

    filters: dict[str, Callable[..., str]] = {"picture": picture, "beside": _beside}
    return _rendered(filters, facts=facts, figures=figures(facts), script=_script(facts))


def _rendered(filters: dict[str, Callable[..., str]], **values: Any) -> str:
    """Return a page made of the template, whose values are escaped and none of which may lack."""
    jinja2 = require("jinja2", "report", "a report")
    from exactcp import __version__

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("exactcp.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=percent, number=written_number, seconds=seconds, **filters)
    return str(environment.get_template("page.html.j2").render(**values, version=__version__))


def write_report(facts: dict[str, Any], path: str | Path) -> Path:
    """Write the page to a file; whatever happens, the file is whole: the old one, or the new one.

    Parameters
    ----------
    facts : dict
        From `classification_facts` or `regression_facts`.
    path : str or Path

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from exactcp.report import LabelRun, classification_facts, write_report
    >>> run = LabelRun("full", "KNN", np.array([[0.9, 0.02], [0.4, 0.3]]), 0.1, 0.2)
    >>> facts = classification_facts([run], ["cat", "dog"], ["cat", "dog"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     print(write_report(facts, Path(folder) / "page.html").name)
    page.html
    """
    page = render(facts)
    with replacing(path) as unfinished:
        unfinished.write_text(page, encoding="utf-8")
    return Path(path)


SCRIPTS = ("numbers", "elements", "labels", "targets", "pictures", "rows", "page")


def _script(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the script, the only one that the page allows, by its hash, and the data that it reads."""
    folder = files("exactcp.report") / "scripts"
    parts = [(folder / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    code = '(() => {\n"use strict";\n' + "\n".join(parts) + "})();"
    told = {name: facts[name] for name in ("task", "n_test", "n_known", "calibration", "band")}
    return {
        "code": code,
        "hash": "sha256-" + b64encode(sha256(code.encode()).digest()).decode(),
        "data": written({"facts": told, "script": facts["script"]}),
    }


def _beside(row: dict[str, Any], classes: list[str]) -> str:
    """Return the labels that are beside a true label most often, in the sets of its rows."""
    shares = [
        (-share, name) for name, share in zip(classes, row["holds"], strict=True) if share and name != row["label"]
    ]
    return ", ".join(
        f"{name} {percent(int(0.5 - 100 * share) / 100)}"
        for share, name in sorted(shares, key=lambda pair: pair[0])[:3]
    )
