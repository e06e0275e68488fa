"""The regression job: predictions, intervals, regions."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from exactcp.anomaly import ConformalAnomalyDetector
from exactcp.cli._job import Job, Outcome, compared, timed
from exactcp.cli._predictors import counted, last, new_predictor, told
from exactcp.measures import SimplifiedKNN
from exactcp.metrics.bands import expected_coverage, judge
from exactcp.regions import Region
from exactcp.regression import FullConformalRegressor
from exactcp.report.numbers import seconds as in_seconds

TARGET_LEVELS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.98, 0.99)
PAIRS_AT_LEVELS = 20_000_000  # of a training and a test row: up to so many, ten levels more take seconds


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
    run = _run_regressor(job, job.method, truth)
    frames, runs = {job.method: run.frame}, {job.method: run}
    if job.compare:
        if job.method != "split":
            for other in compared(lambda: _run_regressor(job, "split", truth)):
                frames["split"], runs["split"] = other.frame, other
        k = min(15, job.X_train.shape[0])
        detector = ConformalAnomalyDetector(SimplifiedKNN(k=k), preprocess=job.transformer).fit(job.X_train)
        run.frame["p_object"] = detector.predict_p(job.X_test)
    known = np.flatnonzero([] if truth is None else ~np.isnan(truth))
    expected = expected_coverage(job.promised_level(), known.size, run.n_counted)
    coverage = float(run.covered[known].mean()) if known.size else None
    widths = np.array([region.measure for region in run.regions[0]])
    finite = widths[np.isfinite(widths)]
    error = np.abs(run.frame["prediction"].to_numpy() - (np.nan if truth is None else truth))[known]
    summary = {
        "measure": run.measure,
        "coverage": coverage,
        "expected_coverage": expected,
        "verdict": judge(coverage, expected),
        "mean_absolute_error": float(error.mean()) if known.size else None,
        "mean_width": float(finite.mean()) if finite.size else None,
        "median_width": float(np.median(finite)) if finite.size else None,
        "infinite": int(widths.size - finite.size),
        "fit_seconds": run.fit_seconds,
        "predict_seconds": run.predict_seconds,
    }
    page = {
        "predictions": frames,
        "y": truth,
        "confidence_level": job.confidence,
        "n_calibration": run.n_counted,
        "promised_level": job.promised_level(),
        "details": {
            "fit": {name: in_seconds(own.fit_seconds) for name, own in runs.items()},
            "predict": {name: in_seconds(own.predict_seconds) for name, own in runs.items()},
        },
    }
    return Outcome(_regression_columns(run.frame["prediction"].to_numpy(), run.regions, job), summary, page)


class _Run(NamedTuple):
    """What a predictor returned: a frame for the page, regions by level, whether each holds its target, and costs."""

    frame: Any
    regions: list[list[Region]]
    covered: np.ndarray
    measure: str
    fit_seconds: float
    predict_seconds: float
    n_counted: int


def _run_regressor(job: Job, method: str, truth: np.ndarray | None) -> _Run:
    """Return what a predictor says, part by part."""
    m = job.X_test.shape[0]
    known = truth is not None and not np.isnan(truth).all()
    targets = np.full(m, np.nan) if truth is None else truth
    prediction, p, covered = np.zeros(m), np.full(m, np.nan), np.zeros(m, dtype=bool)
    regions = [[Region(np.empty((0, 2)))] * m for _ in job.confidences]
    levels = _levels_of_a_page(job)
    hulls = np.full((len(levels), m, 2), np.nan)
    fit_seconds, predict_seconds, measure = 0.0, 0.0, ""
    counts: list[int] = []
    for rows, part in job.parts():
        predictor = job.fitted
        if predictor is None:
            predictor = new_predictor(job, method)
            _, seconds = timed(predictor.fit, part.X_train, part.y_train)
            fit_seconds += seconds
        said, seconds = timed(predictor.predict, part.X_test)
        predict_seconds += seconds
        prediction[rows] = said
        for place, level in enumerate(job.confidences):
            found, seconds = timed(_regions, predictor, part.X_test, level)
            predict_seconds += seconds
            if place == 0:
                covered[rows] = [y in region for y, region in zip(targets[rows].tolist(), found, strict=True)]
            for row, region in zip(rows.tolist(), found, strict=True):
                regions[place][row] = region
        with warnings.catch_warnings():  # that rows are few for a level is seen in the page
            warnings.simplefilter("ignore", UserWarning)
            for place, level in enumerate(levels):
                hulls[place, rows] = predictor.predict_interval(part.X_test, level)
        if method == "full" and known:
            # what a place holder gives is not read
            filled = np.where(np.isnan(targets), np.nanmedian(targets), targets)
            p[rows] = predictor.predict_p(part.X_test, filled[rows])
        counts.append(counted(predictor, part.n_train))
        measure = told(predictor)
    frame = pd.DataFrame({"prediction": prediction})
    for level, ends in zip(levels, hulls, strict=True):
        frame[f"lower_{level!r}"], frame[f"upper_{level!r}"] = ends.T
    if method == "full" and known:
        frame["p_true"] = p
    return _Run(frame, regions, covered, measure, fit_seconds, predict_seconds, min(counts))


def _levels_of_a_page(job: Job) -> tuple[float, ...]:
    """Return the levels to which the reader of a report may go: those asked for, and more where they take seconds."""
    if not job.compare:
        return job.confidences
    pairs = job.n_train * job.X_test.shape[0]
    more = () if job.slow or pairs > PAIRS_AT_LEVELS else TARGET_LEVELS
    return tuple(sorted({*job.confidences, *more}))


def _regions(predictor: Any, X: Any, level: float) -> list[Region]:
    """Return a region for each object; only full CP has some that are not one interval."""
    if isinstance(last(predictor), FullConformalRegressor):
        return list(predictor.predict_region(X, level))
    # an interval of nan is empty
    return [Region(ends[None][~np.isnan(ends[:1])]) for ends in predictor.predict_interval(X, level)]


def _regression_columns(prediction: np.ndarray, regions: list[list[Region]], job: Job) -> dict[str, Any]:
    columns: dict[str, Any] = {"prediction": prediction}
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
