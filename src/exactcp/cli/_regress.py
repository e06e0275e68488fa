"""The regression job: predictions, intervals, regions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from exactcp import (
    ConformalAnomalyDetector,
    CVPlusRegressor,
    FullConformalRegressor,
    JackknifePlusRegressor,
    SplitConformalRegressor,
)
from exactcp.cli._job import Job, Outcome, compared, timed, told
from exactcp.measures import SimplifiedKNN
from exactcp.regions import Region
from exactcp.report import TargetRun, regression_facts

REGRESSORS: dict[str, Any] = {
    "full": FullConformalRegressor,
    "split": SplitConformalRegressor,
    "cross": CVPlusRegressor,
    "cv+": CVPlusRegressor,
    "jackknife+": JackknifePlusRegressor,
}


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
    run, regions, counted = _run_regressor(job, job.method, truth)
    runs = [run]
    strangeness = None
    if job.compare:
        if job.method != "split":
            runs += compared(lambda: replace(_run_regressor(job, "split", truth)[0], measure=run.measure))
        k = min(15, job.X_train.shape[0])
        detector = ConformalAnomalyDetector(SimplifiedKNN(k=k)).fit(job.X_train)
        strangeness = detector.predict_p(job.X_test)
    facts = partial(
        regression_facts,
        runs,
        truth,
        confidence_level=job.confidence,
        strangeness=strangeness,
        n_calibration=counted,
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
    return Outcome(_regression_columns(run, regions, job), summary, facts)


def _run_regressor(job: Job, method: str, truth: np.ndarray | None) -> tuple[TargetRun, list[list[Region]], int]:
    """Return what a predictor says, part by part, its regions by level, and how many examples it counted, at least."""
    m = job.X_test.shape[0]
    known = truth is not None and not np.isnan(truth).all()
    targets = np.full(m, np.nan) if truth is None else job.scale.learned(truth)
    prediction, p, covered = np.zeros(m), np.full(m, np.nan), np.zeros(m, dtype=bool)
    regions = [[Region(np.empty((0, 2)))] * m for _ in job.confidences]
    fit_seconds, predict_seconds, measure = 0.0, 0.0, ""
    counted: list[int] = []
    for rows, part in job.parts():
        predictor = _new_regressor(job, method)
        _, seconds = timed(predictor.fit, part.X_train, job.scale.learned(part.y_train))
        fit_seconds += seconds
        said, seconds = timed(predictor.predict, part.X_test)
        predict_seconds += seconds
        prediction[rows] = job.scale.back(said)
        for place, level in enumerate(job.confidences):
            found, seconds = timed(_regions, predictor, part.X_test, level)
            predict_seconds += seconds
            cut = [Region(job.scale.region(region.intervals)) for region in found]
            if place == 0:
                covered[rows] = [y in region for y, region in zip(targets[rows].tolist(), cut, strict=True)]
            for row, region in zip(rows.tolist(), cut, strict=True):
                regions[place][row] = job.scale.back_region(region)
        if method == "full" and known:
            filled = np.where(
                np.isnan(targets), np.nanmedian(targets), targets
            )  # what a place holder gives is not read
            p[rows] = predictor.predict_p(part.X_test, filled[rows])
        counted.append(predictor.calibration_scores_.size if method == "split" else part.y_train.size)
        measure = told(predictor)
    hulls = np.array([region.hull for region in regions[0]]).reshape(-1, 2)
    widths = np.array([region.measure for region in regions[0]])
    judged = (covered if known else None, p if method == "full" and known else None)
    run = TargetRun(method, measure, prediction, hulls, widths, *judged, fit_seconds, predict_seconds)
    return run, regions, min(counted)


def _new_regressor(job: Job, method: str) -> Any:
    smoothed = {"smoothed": job.smoothed} if method == "full" else {}
    return REGRESSORS[method](job.measure, **smoothed, **job.options())


def _regions(predictor: Any, X: np.ndarray, level: float) -> list[Region]:
    """Return a region for each object; only full CP has some that are not one interval."""
    if isinstance(predictor, FullConformalRegressor):
        return predictor.predict_region(X, level)
    return [Region(interval[None]) for interval in predictor.predict_interval(X, level)]


def _regression_columns(run: TargetRun, regions: list[list[Region]], job: Job) -> dict[str, Any]:
    columns: dict[str, Any] = {"prediction": run.prediction}
    for level, own in zip(job.confidences, regions, strict=True):
        hulls = np.array([region.hull for region in own]).reshape(-1, 2)
        columns[job.column("lower", level)] = hulls[:, 0]
        columns[job.column("upper", level)] = hulls[:, 1]
        if any(len(region) != 1 for region in own):
            columns[job.column("region", level)] = [_union(region) for region in own]
    return columns


def _union(region: Region) -> str:
    """Return a region that is not one interval as text; one interval is told by its ends already."""
    if len(region) == 0:
        return "empty"
    return "" if len(region) == 1 else "|".join(f"[{low!r}, {high!r}]" for low, high in region.intervals.tolist())
