"""The facts of target predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from exactcp.metrics.bands import coverage_curve
from exactcp.report.carried_targets import TargetLevels, carry_target_rows
from exactcp.report.levels import CURVE_LEVELS, coverage_facts, describe_levels, expected_at, stops
from exactcp.report.numbers import written_number
from exactcp.report.rows import SHOWN_ROWS, TestRows


@dataclass(frozen=True)
class TargetRun:
    """What one predictor said about the test rows, and how long it took.

    Attributes
    ----------
    predictor : str
        Such as "full" or "split".
    measure : str
        Its name, such as "KNNResidual".
    prediction : ndarray of shape (m,)
        Point predictions.
    intervals : ndarray of shape (m, 2)
        Hulls of the regions.
    widths : ndarray of shape (m,)
        Of the regions, which may be narrower than their hulls.
    covered : ndarray of bool of shape (m,), or None
        Whether the region holds the target; of no meaning where that is not known.
    p : ndarray of shape (m,), or None
        p-values of the true targets.
    fit_seconds, predict_seconds : float
        How long both took.
    at_levels : TargetLevels, or None
        What it said at other levels, to which the reader of a page may go.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.report import TargetRun
    >>> y, ends = np.array([2.0, 5.0]), np.array([[1.0, 3.0], [1.5, 3.5]])
    >>> run = TargetRun(
    ...     "full",
    ...     "KNNResidual",
    ...     prediction=ends.mean(axis=1),
    ...     intervals=ends,
    ...     widths=ends[:, 1] - ends[:, 0],
    ...     covered=(ends[:, 0] <= y) & (y <= ends[:, 1]),
    ...     p=None,
    ...     fit_seconds=0.1,
    ...     predict_seconds=0.2,
    ... )
    >>> run.covered
    array([ True, False])
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
    at_levels: TargetLevels | None = None

    def said(self, level: float) -> TargetLevels:
        """Return what it said at all levels, of which one is the run's own."""
        own = TargetLevels(
            (float(level),),
            self.intervals[None],
            self.widths[None],
            None if self.covered is None else self.covered[None],
        )
        more = self.at_levels if self.at_levels is not None and self.at_levels.levels else None
        if more is None or more.place(level) is not None:
            return own if more is None else more
        return TargetLevels(
            own.levels + more.levels,
            np.concatenate([own.intervals, more.intervals]),
            np.concatenate([own.widths, more.widths]),
            None if own.covered is None or more.covered is None else np.concatenate([own.covered, more.covered]),
        )


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
        Of the intervals of the runs.
    asked : mapping, default=None
        Heading to text: what was asked.
    rows : TestRows, default=None
        What test rows look like, if they are to be shown.
    strangeness : array-like of shape (m,), default=None
        p-values of the test objects as anomalies: the strangest rows have the smallest ones.
    n_calibration : int, default=None
        Examples with which the targets' ranks were counted, for what coverage to expect.
    promised_level : float, default=None
        Coverage that is proven; None means the confidence level itself.
    title : str
        Of the page.

    Returns
    -------
    dict

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.report import TargetRun, regression_facts
    >>> y, ends = np.array([2.0, 5.0]), np.array([[1.0, 3.0], [1.5, 3.5]])
    >>> middle, widths = ends.mean(axis=1), ends[:, 1] - ends[:, 0]
    >>> run = TargetRun("full", "KNNResidual", middle, ends, widths, None, None, 0.1, 0.2)
    >>> regression_facts([run], y)["mean_width"]
    2.0
    """
    m = runs[0].prediction.shape[0]
    targets = np.full(m, np.nan) if truth is None else np.asarray(truth, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(targets))
    comparison = [_compare_intervals(run, targets, known) for run in runs]
    describe = _regression_describer(runs[0], targets, strangeness, rows or TestRows())
    p_true = None if runs[0].p is None or known.size == 0 else runs[0].p[known]
    said = [run.said(confidence_level) for run in runs]
    at = stops(said[0].levels, confidence_level)
    widths = np.nan_to_num(runs[0].widths, nan=-1.0)
    # where all intervals are equally wide, no row is harder than another
    hardest = np.argsort(-widths, kind="stable")[:SHOWN_ROWS].tolist() if _differ(widths) else []
    strangest = [] if strangeness is None else np.argsort(np.asarray(strangeness), kind="stable")[:SHOWN_ROWS].tolist()
    promised = float(confidence_level if promised_level is None else promised_level)
    return {
        "title": title,
        "task": "regression",
        "asked": dict(asked or {}),
        "confidence_level": float(confidence_level),
        "n_test": m,
        **coverage_facts(comparison[0]["coverage"], promised, int(known.size), n_calibration),
        "mean_width": comparison[0]["mean_width"],
        "median_width": comparison[0]["median_width"],
        "infinite": comparison[0]["infinite"],
        "ever_infinite": bool(np.isinf(said[0].widths).any()),
        "mean_absolute_error": comparison[0]["mean_absolute_error"],
        "widths": {run.predictor: [float(w) if np.isfinite(w) else None for w in run.widths] for run in runs},
        "p_true": None if p_true is None else p_true.tolist(),
        "calibration": [] if p_true is None else [_curve(runs[0].predictor, p_true)],
        "band": expected_at(list(CURVE_LEVELS), confidence_level, promised, int(known.size), n_calibration),
        "hardest": [describe(row) for row in hardest],
        "strangest": [describe(row) for row in strangest],
        "comparison": comparison,
        "script": {
            **describe_levels(at, confidence_level, promised, int(known.size), n_calibration),
            "runs": [[_at_level(own, level, known) for level in at] for own in said],
            **carry_target_rows(
                said[0],
                at,
                runs[0].prediction,
                targets,
                p=None if p_true is None else runs[0].p,
                strangeness=strangeness,
                rows=rows or TestRows(),
            ),
        },
    }


def _curve(predictor: str, p_true: np.ndarray) -> dict[str, Any]:
    coverages = coverage_curve(p_true, CURVE_LEVELS).tolist()
    return {"predictor": predictor, "levels": list(CURVE_LEVELS), "coverages": coverages}


def _differ(widths: np.ndarray) -> bool:
    """Tell whether widths differ by more than rounding."""
    finite = widths[np.isfinite(widths)]
    if finite.size < widths.size:
        return bool(finite.size > 0)
    return finite.size > 0 and bool(np.ptp(finite) > 1e-9 * np.abs(finite).max())


def _at_level(said: TargetLevels, level: float, known: np.ndarray) -> dict[str, Any] | None:
    place = said.place(level)
    if place is None:
        return None
    return _width_numbers(said.widths[place], None if said.covered is None else said.covered[place], known)


def _width_numbers(widths: np.ndarray, covered: np.ndarray | None, known: np.ndarray) -> dict[str, Any]:
    finite = widths[np.isfinite(widths)]
    return {
        "coverage": float(covered[known].mean()) if covered is not None and known.size else None,
        "mean_width": float(finite.mean()) if finite.size else None,
        "median_width": float(np.median(finite)) if finite.size else None,
        "infinite": int(widths.size - finite.size),
    }


def _compare_intervals(run: TargetRun, targets: np.ndarray, known: np.ndarray) -> dict[str, Any]:
    error = np.abs(run.prediction - targets)[known]
    return {
        "predictor": run.predictor,
        "measure": run.measure,
        **_width_numbers(run.widths, run.covered, known),
        "mean_absolute_error": float(error.mean()) if known.size else None,
        "fit_seconds": run.fit_seconds,
        "predict_seconds": run.predict_seconds,
    }


def _regression_describer(run: TargetRun, targets: np.ndarray, strangeness: Any, rows: TestRows) -> Any:
    def describe(row: int) -> dict[str, Any]:
        known = not np.isnan(targets[row])
        return {
            **rows.describe(row),
            "truth": written_number(targets[row]) if known else None,
            "prediction": written_number(run.prediction[row]),
            "interval": [written_number(end) for end in run.intervals[row]],
            "p": float(run.p[row]) if known and run.p is not None else None,
            "strangeness": None if strangeness is None else float(strangeness[row]),
            "covered": bool(run.covered[row]) if known and run.covered is not None else None,
        }

    return describe
