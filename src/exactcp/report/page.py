"""Predictions to HTML."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from exactcp._optional import require
from exactcp._percent import percent
from exactcp._replacing import replacing
from exactcp.report.facts import PageFacts, facts_of, promise
from exactcp.report.numbers import written_number

SCRIPTS = ("data", "labels", "targets", "rows", "page")


def check_can_render() -> None:
    """Raise an ImportError that names what to install if a page cannot be made here: before the work, not after it."""
    require("jinja2", "report", "a report")
    require("matplotlib", "report", "a report")


def render(
    predictions: Any,
    y: Any = None,
    X: Any = None,
    *,
    confidence_level: float = 0.95,
    promised_level: float | None = None,
    n_calibration: int | None = None,
    details: Mapping[str, Any] | None = None,
) -> str:
    """Return one HTML page about predictions, which needs no network.

    Parameters
    ----------
    predictions : DataFrame, or mapping of str to DataFrame
        What `predict_frame` returned for the test rows, of pandas or polars. With several frames by name, such as
        "full" and "split", the page is about the first one and compares the others with it.

        Of labels, the columns prediction and p_<label> are read. Of targets, prediction, lower and upper, or
        lower_0.8, upper_0.8, and so on: the slider has the levels of the first frame. Two columns may be added: p_true,
        the p-values of the true targets, and p_object, the p-values of the objects as anomalies.
    y : array-like of shape (m,), default=None
        True labels or targets; None or nan where they are not known. A label without a column is never covered.
    X : DataFrame, or array of shape (m, p), (m, height, width) or (m, height, width, channels), default=None
        What the test rows look like: the first six columns, or pictures.
    confidence_level : float, default=0.95
        At which the page opens.
    promised_level : float, default=None
        Coverage that is proven; None means the confidence level itself. With folds it is 1 - 2 epsilon.
    n_calibration : int, default=None
        Examples with which the p-values were computed, for what coverage to expect; None means that test rows are
        independent.
    details : mapping, default=None
        Headings to texts, which the page shows; "title" is the page's own heading. A heading with a mapping from the
        names of predictions to texts is a column of their comparison.

    Returns
    -------
    str

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactcp import FullConformalClassifier
    >>> from exactcp.report import render
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FullConformalClassifier().fit(X[::2], y[::2])
    >>> frame = clf.predict_frame(X[1::2])
    >>> details = {"title": "Irises", "Measure": "KNN"}
    >>> page = render(frame, y[1::2], X[1::2], details=details)
    >>> page.startswith("<!doctype html>"), 'src="http' in page
    (True, False)
    """
    check_can_render()
    from exactcp.report.figures import figures

    facts = facts_of(predictions, y, X, confidence_level)
    promised = promise(facts, promised_level, n_calibration)
    band = promised.pop("band")
    texts = dict(details or {})
    title = texts.pop("title", "Prediction sets" if facts.task == "label" else "Prediction intervals")
    return _filled_in(
        title=title,
        facts=facts,
        **promised,
        n_calibration=n_calibration,
        details={heading: text for heading, text in texts.items() if not isinstance(text, Mapping)},
        columns={heading: text for heading, text in texts.items() if isinstance(text, Mapping)},
        figures=figures(facts, band),
        script=_script(),
        data=written(_data(facts, promised)),
    )


def write_report(path: str | Path, predictions: Any, y: Any = None, X: Any = None, **options: Any) -> Path:
    """Write the page to a file, which is replaced as a whole or not at all.

    Parameters
    ----------
    path : str or Path
    predictions, y, X : as in `render`
    **options : of `render`

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.datasets import load_diabetes
    >>> from exactcp import FullConformalRegressor
    >>> from exactcp.report import write_report
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> reg = FullConformalRegressor().fit(X[:350], y[:350])
    >>> X_test, y_test = X[350:], y[350:]
    >>> frame = reg.predict_frame(X_test, [0.5, 0.8, 0.9, 0.95])
    >>> frame["p_true"] = reg.predict_p(X_test, y_test)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/page.html"
    ...     print(write_report(path, frame, y_test, X_test).name)
    page.html
    """
    page = render(predictions, y, X, **options)
    with replacing(path) as unfinished:
        unfinished.write_text(page, encoding="utf-8")
    return Path(path)


def _filled_in(**values: Any) -> str:
    """Return the template filled in with values, which are escaped and none of which may lack."""
    jinja2 = require("jinja2", "report", "a report")
    from exactcp import __version__

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("exactcp.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=percent, number=written_number)
    return str(environment.get_template("page.html.j2").render(**values, version=__version__))


def _data(facts: PageFacts, promised: dict[str, Any]) -> dict[str, Any]:
    """Return what the script reads."""
    return {
        "task": facts.task,
        "levels": facts.levels,
        "start": facts.start,
        "runs": [run.numbers for run in facts.runs],
        **promised,
        **facts.rows,
    }


def written(data: Any) -> str:
    r"""Return JSON that may stand in an HTML page: no text in it ends or begins an element.

    Examples
    --------
    >>> written({"a": "</script>&"})
    '{"a":"\\u003c/script\\u003e\\u0026"}'
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for character in "<>&":  # outside of texts there are none
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _script() -> dict[str, str]:
    """Return the script and its hash, by which the page allows it and no other."""
    folder = files("exactcp.report") / "scripts"
    parts = [(folder / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    code = '(() => {\n"use strict";\n' + "\n".join(parts) + "})();"
    return {"code": code, "hash": "sha256-" + b64encode(sha256(code.encode()).digest()).decode()}
