"""The pictures of a page, drawn by the displays of `exactcp.inspection`, as data URIs with their alternative texts."""

from __future__ import annotations

from base64 import b64encode
from io import BytesIO
from typing import Any

import numpy as np

from exactcp.inspection import CalibrationCurveDisplay, PredictionIntervalDisplay, UniformityDisplay
from exactcp.metrics.bands import coverage_curve
from exactcp.report.facts import CURVE_LEVELS, PageFacts

CURVES = 2  # of calibration; more would hide each other
INTERVALS = 300  # of the picture, the first ones
STYLE: Any = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": "cycler('color', ['#0b5cad', '#b45309'])",
    "svg.hashsalt": "exactcp",  # the same predictions give the same page
}


def figures(facts: PageFacts, band: np.ndarray | None) -> dict[str, dict[str, str]]:
    """Return the pictures that the facts allow: by name, the `uri` and the `alt` text.

    Parameters
    ----------
    facts : PageFacts
    band : ndarray of shape (99, 2), or None
        What coverage to expect at each level of the calibration.

    Returns
    -------
    dict
    """
    from matplotlib import style

    found = {}
    with style.context(["default", STYLE]):  # light, whatever is set: the page turns the colours where it is dark
        if band is not None and any(run.p_true is not None for run in facts.runs):
            found["calibration"] = _calibration(facts, band)
        if facts.runs[0].p_true is not None:
            found["p_values"] = _drawn(UniformityDisplay(facts.runs[0].p_true), (4.6, 3.3))
        if facts.intervals is not None:
            found["intervals"] = _drawn(_intervals(facts), (8, 4))
    return found


def _intervals(facts: PageFacts) -> PredictionIntervalDisplay:
    assert facts.intervals is not None
    prediction, intervals, targets = facts.intervals
    known = np.flatnonzero(~np.isnan(targets) if facts.n_known else ~np.isnan(prediction))[:INTERVALS]
    return PredictionIntervalDisplay(
        prediction[known],
        intervals[known],
        y=targets[known] if facts.n_known else None,
        confidence_level=facts.levels[facts.start],
        name="prediction",
    )


def _calibration(facts: PageFacts, band: np.ndarray) -> dict[str, str]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.6, 3.9), layout="constrained")
    ax = figure.add_subplot()
    ax.fill_between(CURVE_LEVELS, *band.T, color="grey", alpha=0.25, linewidth=0)
    ax.plot([0, 1], [0, 1], "--", color="grey", linewidth=1)
    texts = []
    p_values = {run.name: run.p_true for run in facts.runs if run.p_true is not None}
    for name, p_true in list(p_values.items())[:CURVES]:
        curve = coverage_curve(p_true, CURVE_LEVELS)
        display = CalibrationCurveDisplay(CURVE_LEVELS, curve, facts.n_known, name=name).plot(ax=ax)
        texts.append(f"{name}: {display.alt_text}")
    return {"uri": _uri(figure), "alt": " ".join(texts)}


def _drawn(display: Any, size: tuple[float, float]) -> dict[str, str]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    display.plot(ax=figure.add_subplot())
    return {"uri": _uri(figure), "alt": display.alt_text}


def _uri(figure: Any) -> str:
    buffer = BytesIO()
    figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None}, facecolor="white")
    return f"data:image/svg+xml;base64,{b64encode(buffer.getvalue()).decode()}"
