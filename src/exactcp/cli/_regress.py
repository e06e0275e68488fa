"""The regression job: predictions, intervals, regions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from exactcp import ConformalAnomalyDetector, CVPlusRegressor, FullConformalRegressor, SplitConformalRegressor
from exactcp.cli._job import Job, Outcome, compared, timed, told
from exactcp.measures import SimplifiedKNN
from exactcp.regions import Region
from exactcp.report import TargetRun, regression_facts

REGRESSORS: dict[str, Any] = {"split": SplitConformalRegressor, "cross": CVPlusRegressor}


def regress(job: Job, truth: np.ndarray | None) -> Outcome:
    """Predict the targets of the test rows.

    Parameters
    ----------
    job : Job
    truth : ndarray or None
        The test rows' targets, nan where they are not known.

    Returns
    -------
    Outcome
    """
    run, predictor, regions = _full_run(job, truth) if job.method == "full" else _interval_run(job, job.method, truth)
    runs = [run]
    strangeness = None
    if job.compare:
        if job.method != "split":
            runs += compared(lambda: replace(_interval_run(job, "split", truth)[0], measure=run.measure))
        k = min(15, job.X_train.shape[0])
        detector = ConformalAnomalyDetector(SimplifiedKNN(k=k)).fit(job.X_train)
        strangeness = detector.predict_p(job.X_test)
    facts = partial(
        regression_facts,
        runs,
        truth,
        confidence_level=job.confidence,
        strangeness=strangeness,
        n_calibration=predictor.calibration_scores_.size if job.method == "split" else job.y_train.size,
        promised_level=job.promised_level(),
    )
    known = facts()
    summary = {
        "measure": run.measure,
        "coverage": known["coverage"],
        "expected_coverage": known["expected_coverage"],
        "verdict": known["verdict"],
        "mean_absolute_error": known["mean_absolute_error"],
        "mean_width": known["mean_width"],
        "median_width": known["median_width"],
        "infinite": known["infinite"],
        "fit_seconds": runs[0].fit_seconds,
        "predict_seconds": runs[0].predict_seconds,
    }
    return Outcome(_regression_columns(run, regions), summary, facts)


def _full_run(job: Job, truth: np.ndarray | None) -> tuple[TargetRun, Any, list[Region]]:
    full = FullConformalRegressor(job.measure, smoothed=job.smoothed, **job.options())
    _, fit_seconds = timed(full.fit, job.X_train, job.y_train)
    prediction, point_seconds = timed(full.predict, job.X_test)
    regions, region_seconds = timed(full.predict_region, job.X_test, job.confidence)
    hulls = np.array([region.hull for region in regions]).reshape(-1, 2)
    widths = np.array([region.measure for region in regions])
    covered, p = _judge(full, job.X_test, truth, regions)
    seconds = (fit_seconds, point_seconds + region_seconds)
    return TargetRun("full", told(full), prediction, hulls, widths, covered, p, *seconds), full, regions


def _judge(
    full: FullConformalRegressor, X: np.ndarray, truth: np.ndarray | None, regions: list[Region]
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return whether regions hold the targets, and the targets' p-values; nothing where no target is known."""
    if truth is None or np.isnan(truth).all():
        return None, None
    covered = np.array([target in region for target, region in zip(truth.tolist(), regions, strict=True)])
    filled = np.where(np.isnan(truth), np.nanmedian(truth), truth)  # a place holder: what it gives is not read
    return covered, full.predict_p(X, filled)


def _interval_run(job: Job, method: str, truth: np.ndarray | None) -> tuple[TargetRun, Any, list[Region]]:
    """Return what a predictor of intervals says, itself, and no regions, since the intervals tell all."""
    predictor = REGRESSORS[method](job.measure, **job.options())
    _, fit_seconds = timed(predictor.fit, job.X_train, job.y_train)
    prediction, point_seconds = timed(predictor.predict, job.X_test)
    intervals, interval_seconds = timed(predictor.predict_interval, job.X_test, job.confidence)
    covered = None if truth is None else (intervals[:, 0] <= truth) & (truth <= intervals[:, 1])
    widths = np.diff(intervals, axis=1)[:, 0]
    seconds = (fit_seconds, point_seconds + interval_seconds)
    return TargetRun(method, told(predictor), prediction, intervals, widths, covered, None, *seconds), predictor, []


def _regression_columns(run: TargetRun, regions: list[Region]) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "prediction": run.prediction,
        "lower": run.intervals[:, 0],
        "upper": run.intervals[:, 1],
    }
    if any(len(region) != 1 for region in regions):
        columns["region"] = [_union(region) for region in regions]
    return columns


def _union(region: Region) -> str:
    """Return a region that is not one interval as text; one interval is told by its ends already."""
    if len(region) == 0:
        return "empty"
    return "" if len(region) == 1 else "|".join(f"[{low!r}, {high!r}]" for low, high in region.intervals.tolist())
