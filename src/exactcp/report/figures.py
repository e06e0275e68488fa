"""The pictures of a page, as data URIs, each with the text that says what it shows."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from io import BytesIO
from typing import Any

import numpy as np

from exactcp.report.numbers import written_number

SIZE = (4.6, 3.3)
BLUE, ORANGE, GREY = "#0b5cad", "#b45309", "#6b7280"
ABOVE: Any = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "ncols": 3, "frameon": False, "borderaxespad": 0.2}
STYLE: Any = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": f"cycler('color', ['{BLUE}', '{ORANGE}', '#15803d', '#7e22ce'])",
    "svg.hashsalt": "exactcp",  # the same facts give the same page
}


def figures(facts: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return the pictures that the facts allow: by name, the `uri` and the `alt` text.

    Parameters
    ----------
    facts : dict
        From `classification_facts` or `regression_facts`.

    Returns
    -------
    dict
    """
    found = {}
    if facts["calibration"]:
        found["calibration"] = _figure(_draw_calibration, facts, _say_calibration(facts))
    if facts["task"] == "classification":
        found["sizes"] = _figure(_draw_set_sizes, facts, _say_set_sizes(facts))
        found["p_values"] = _figure(_draw_label_p, facts, _say_label_p(facts))
        return found
    if any(width is not None for widths in facts["widths"].values() for width in widths):
        found["sizes"] = _figure(_draw_widths, facts, _say_widths(facts))
    if facts["p_true"] is not None:
        found["p_values"] = _figure(_draw_target_p, facts, _say_target_p(facts))
    return found


def picture(image: Any) -> str:
    """Return an image, a row of pixels for each line, as the data URI of a PNG; the darkest pixel is the largest."""
    from matplotlib.image import imsave

    pixels, buffer = np.asarray(image, dtype=np.float64), BytesIO()
    low, high = float(pixels.min()), float(pixels.max())
    if pixels.ndim == 3:
        pixels = (pixels - low) / max(high - low, 1e-300)
    imsave(buffer, pixels, cmap="gray_r", format="png", vmin=low, vmax=max(high, low + 1e-300))
    return _uri(buffer, "image/png")


def _figure(draw: Callable[[Any, dict[str, Any]], None], facts: dict[str, Any], alt: str) -> dict[str, str]:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        figure, buffer = Figure(figsize=SIZE, layout="constrained"), BytesIO()
        draw(figure.add_subplot(), facts)
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None}, facecolor="white")
    return {"uri": _uri(buffer, "image/svg+xml"), "alt": alt}


def _uri(buffer: BytesIO, kind: str) -> str:
    return f"data:{kind};base64,{b64encode(buffer.getvalue()).decode()}"


def _draw_calibration(ax: Any, facts: dict[str, Any]) -> None:
    if facts["band"] is not None:
        low, high = np.array(facts["band"]).T / facts["n_known"]
        ax.fill_between(
            facts["calibration"][0]["levels"], low, high, color="grey", alpha=0.25, linewidth=0, label="95 % by chance"
        )
    ax.plot([0, 1], [0, 1], "--", color="grey", linewidth=1)
    for curve in facts["calibration"]:
        ax.plot(curve["levels"], curve["coverages"], linewidth=1.8, label=f"{curve['predictor']} CP")
    ax.axvline(facts["confidence_level"], color=GREY, linewidth=1, linestyle=":")
    ax.set(xlabel="confidence level", ylabel="coverage", xlim=(0, 1), ylim=(0, 1.02), aspect="equal")
    ax.legend(loc="lower right", frameon=False)


def _say_calibration(facts: dict[str, Any]) -> str:
    curves = []
    for curve in facts["calibration"]:
        gap = np.max(np.asarray(curve["levels"]) - np.asarray(curve["coverages"]))
        curves.append(f"{curve['predictor']} CP falls short of its level by {max(gap, 0):.3f} at most")
    return f"Coverage against the confidence level, near the diagonal: {'; '.join(curves)}."


def _draw_set_sizes(ax: Any, facts: dict[str, Any]) -> None:
    sizes = {int(size): count for size, count in facts["set_sizes"].items()}
    largest = max([1, *(size for size, count in sizes.items() if count)])
    shown = list(range(min(largest + 1, len(sizes))))
    bars = ax.bar(shown, [sizes[size] for size in shown], color=BLUE)
    if len(shown) <= 12:
        ax.set_xticks(shown)
        ax.bar_label(bars, padding=2)
    ax.set(xlabel="labels in the set", ylabel="test rows")
    ax.margins(y=0.12)


def _say_set_sizes(facts: dict[str, Any]) -> str:
    counts = [f"{count} rows with {size}" for size, count in facts["set_sizes"].items() if count]
    more = ", and larger ones" if len(counts) > 6 else ""
    return f"Number of labels in the prediction sets: {', '.join(counts[:6])}{more}."


def _draw_label_p(ax: Any, facts: dict[str, Any]) -> None:
    bins = np.linspace(0, 1, 21)
    if facts["p_true"] is not None:
        _share(ax, facts["p_true"], bins, BLUE, "true label")
        if facts["p_false"]:
            _share(ax, facts["p_false"], bins, ORANGE, "false labels", hatch="///")
        ax.axhline(1 / 20, color=GREY, linewidth=1, linestyle="--", label="uniform")
    else:
        _share(ax, facts["credibility"], bins, BLUE, "largest p-value")
        _share(ax, facts["second_p"], bins, ORANGE, "second largest", hatch="///")
    ax.set(xlabel="p-value", ylabel="share", xlim=(0, 1))
    ax.legend(**ABOVE)


def _say_label_p(facts: dict[str, Any]) -> str:
    if facts["p_true"] is not None:
        true, false = np.median(facts["p_true"]), np.median(facts["p_false"] or [0.0])
        return (
            f"Distribution of p-values: those of true labels have median {true:.3f}, those of false ones {false:.3f}."
        )
    largest, second = np.median(facts["credibility"]), np.median(facts["second_p"])
    return f"Distribution of p-values: the largest has median {largest:.3f}, the second largest {second:.3f}."


def _draw_target_p(ax: Any, facts: dict[str, Any]) -> None:
    _share(ax, facts["p_true"], np.linspace(0, 1, 21), BLUE, "true target")
    ax.axhline(1 / 20, color=GREY, linewidth=1, linestyle="--", label="uniform")
    ax.set(xlabel="p-value", ylabel="share", xlim=(0, 1))
    ax.legend(**ABOVE)


def _say_target_p(facts: dict[str, Any]) -> str:
    return f"Distribution of the p-values of true targets, with median {np.median(facts['p_true']):.3f}."


def _share(ax: Any, values: Any, bins: np.ndarray, color: str, label: str, hatch: str | None = None) -> None:
    weights = np.full(len(values), 1 / len(values))
    style = {"facecolor": "none", "hatch": hatch} if hatch else {"facecolor": color, "alpha": 0.75}
    ax.hist(values, bins=bins, weights=weights, edgecolor=color, linewidth=1, label=label, **style)


def _draw_widths(ax: Any, facts: dict[str, Any]) -> None:
    from exactcp.inspection import IntervalWidthDisplay

    shown = {
        f"{name} CP": [np.inf if width is None else width for width in widths]
        for name, widths in facts["widths"].items()
    }
    IntervalWidthDisplay(shown).plot(ax=ax)


def _say_widths(facts: dict[str, Any]) -> str:
    parts = [
        f"{row['predictor']} CP has median width {written_number(row['median_width'])}"
        for row in facts["comparison"]
        if row["median_width"] is not None
    ]
    return f"Widths of the prediction intervals: {'; '.join(parts)}."
