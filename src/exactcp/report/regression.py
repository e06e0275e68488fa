"""The facts of target predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactcp.metrics.validity import coverage_curve
from exactcp.report.expectation import expected_coverage, judge
from exactcp.report.rows import SHOWN_ROWS, TestRows


@dataclass(frozen=True)
class TargetRun:
    """What one predictor said about the test rows, and how long it took.

    Attributes
    ----------
    predictor : str
        Such as "full" or "split".
    measure : str
    prediction : ndarray of shape (m,)
    intervals : ndarray of shape (m, 2)
        Hulls of the regions.
    widths : ndarray of shape (m,)
        Of the regions, which may be narrower than their hulls.
    covered : ndarray of bool of shape (m,), or None
        Whether the region holds the target; of no meaning where that is not known.
    p : ndarray of shape (m,), or None
        p-values of the true targets.
    fit_seconds, predict_seconds : float
    """

    predictor: str
    measure: str
    prediction: np.ndarray
    intervals: np.ndarray
    widths: np.ndarray
    covered: np.ndarray | None
    p: np.ndarray | None
    fit_seconds: float
    predict_seconds: float


def regression_facts(
    runs: Sequence[TargetRun],
    truth: Any = None,
    *,
    confidence_level: float = 0.95,
    asked: Mapping[str, Any] | None = None,
    rows: TestRows | None = None,
    strangeness: Any = None,
    n_calibration: int | None = None,
    promised_level: float | None = None,
    title: str = "Conformal prediction intervals",
) -> dict[str, Any]:
    """Return the facts of a page about prediction intervals.

    Parameters
    ----------
    runs : sequence of TargetRun
        The first is the one the page is about.
    truth : array-like of shape (m,), default=None
        True targets; nan where they are not known.
    confidence_level : float, default=0.95
    asked : mapping, default=None
        Heading to text: what was asked.
    rows : TestRows, default=None
    strangeness : array-like of shape (m,), default=None
        p-values of the test objects as anomalies: the strangest rows have the smallest ones.
    n_calibration : int, default=None
        Examples with which the targets' ranks were counted, for what coverage to expect.
    promised_level : float, default=None
        Coverage that is proven; None means the confidence level itself.
    title : str

    Returns
    -------
    dict
    """
    m = runs[0].prediction.shape[0]
    targets = np.full(m, np.nan) if truth is None else np.asarray(truth, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(targets))
    comparison = [_compare_intervals(run, targets, known) for run in runs]
    describe = _regression_describer(runs[0], targets, strangeness, rows or TestRows())
    p_true = None if runs[0].p is None or known.size == 0 else runs[0].p[known]
    hardest = np.argsort(-np.nan_to_num(runs[0].widths, nan=-1.0), kind="stable")[:SHOWN_ROWS].tolist()
    strangest = [] if strangeness is None else np.argsort(np.asarray(strangeness), kind="stable")[:SHOWN_ROWS].tolist()
    levels = np.arange(1, 100) / 100
    promised = float(confidence_level if promised_level is None else promised_level)
    expected = expected_coverage(promised, int(known.size), n_calibration)
    return {
        "title": title,
        "task": "regression",
        "asked": dict(asked or {}),
        "confidence_level": float(confidence_level),
        "n_test": m,
        "n_known": int(known.size),
        "coverage": comparison[0]["coverage"],
        "promised_level": promised,
        "expected_coverage": expected,
        "verdict": judge(comparison[0]["coverage"], expected),
        "mean_width": comparison[0]["mean_width"],
        "median_width": comparison[0]["median_width"],
        "infinite": comparison[0]["infinite"],
        "mean_absolute_error": comparison[0]["mean_absolute_error"],
        "widths": {run.predictor: [float(w) if np.isfinite(w) else None for w in run.widths] for run in runs},
        "p_true": None if p_true is None else p_true.tolist(),
        "calibration": []
        if p_true is None
        else [
            {
                "predictor": runs[0].predictor,
                "levels": levels.tolist(),
                "coverages": coverage_curve(p_true, levels).tolist(),
            }
        ],
        "hardest": [describe(row) for row in hardest],
        "strangest": [describe(row) for row in strangest],
        "comparison": comparison,
    }


def _compare_intervals(run: TargetRun, targets: np.ndarray, known: np.ndarray) -> dict[str, Any]:
    finite = run.widths[np.isfinite(run.widths)]
    error = np.abs(run.prediction - targets)[known]
    return {
        "predictor": run.predictor,
        "measure": run.measure,
        "coverage": float(run.covered[known].mean()) if run.covered is not None and known.size else None,
        "mean_width": float(finite.mean()) if finite.size else None,
        "median_width": float(np.median(finite)) if finite.size else None,
        "infinite": int(run.widths.size - finite.size),
        "mean_absolute_error": float(error.mean()) if known.size else None,
        "fit_seconds": run.fit_seconds,
        "predict_seconds": run.predict_seconds,
    }


def _regression_describer(run: TargetRun, targets: np.ndarray, strangeness: Any, rows: TestRows) -> Any:
    def describe(row: int) -> dict[str, Any]:
        known = not np.isnan(targets[row])
        return {
            **rows.describe(row),
            "truth": f"{targets[row]:.4g}" if known else None,
            "prediction": f"{run.prediction[row]:.4g}",
            "interval": [f"{end:.4g}" for end in run.intervals[row]],
            "p": float(run.p[row]) if known and run.p is not None else None,
            "strangeness": None if strangeness is None else float(strangeness[row]),
            "covered": bool(run.covered[row]) if known and run.covered is not None else None,
        }

    return describe
