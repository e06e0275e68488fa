"""The regression job: predictions, intervals, regions."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from exactcp.anomaly import ConformalAnomalyDetector
from exactcp.cli._job import Job, Outcome, compared, timed
from exactcp.cli._predictors import counted, last, new_predictor, told
from exactcp.measures import SimplifiedKNN
from exactcp.regions import Region
from exactcp.regression import FullConformalRegressor
from exactcp.report import TARGET_LEVELS, TargetLevels, TargetRun, regression_facts

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
    run, regions, n_counted = _run_regressor(job, job.method, truth)
    runs = [run]
    strangeness = None
    if job.compare:
        if job.method != "split":
            runs += compared(lambda: replace(_run_regressor(job, "split", truth)[0], measure=run.measure))
        k = min(15, job.X_train.shape[0])
        detector = ConformalAnomalyDetector(SimplifiedKNN(k=k), preprocess=job.transformer).fit(job.X_train)
        strangeness = detector.predict_p(job.X_test)
    facts = partial(
        regression_facts,
        runs,
        truth,
        confidence_level=job.confidence,
        strangeness=strangeness,
        n_calibration=n_counted,
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
    targets = np.full(m, np.nan) if truth is None else truth
    prediction, p, covered = np.zeros(m), np.full(m, np.nan), np.zeros(m, dtype=bool)
    regions = [[Region(np.empty((0, 2)))] * m for _ in job.confidences]
    at_levels = TargetLevels.blank(_levels_of_a_page(job), m)
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
        _fill_levels(at_levels, rows, predictor, part.X_test, targets[rows])
        if method == "full" and known:
            # what a place holder gives is not read
            filled = np.where(np.isnan(targets), np.nanmedian(targets), targets)
            p[rows] = predictor.predict_p(part.X_test, filled[rows])
        counts.append(counted(predictor, part.n_train))
        measure = told(predictor)
    hulls = np.array([region.hull for region in regions[0]]).reshape(-1, 2)
    widths = np.array([region.measure for region in regions[0]])
    judged = (covered if known else None, p if method == "full" and known else None)
    run = TargetRun(method, measure, prediction, hulls, widths, *judged, fit_seconds, predict_seconds, at_levels)
    return run, regions, min(counts)


def _levels_of_a_page(job: Job) -> tuple[float, ...]:
    """Return the levels to which the reader of a report may go: those asked for, and more where they take seconds."""
    if not job.compare:
        return ()
    pairs = job.n_train * job.X_test.shape[0]
    more = () if job.slow or pairs > PAIRS_AT_LEVELS else TARGET_LEVELS
    return tuple(sorted({*job.confidences, *more}))


def _fill_levels(said: TargetLevels, rows: np.ndarray, predictor: Any, X: np.ndarray, targets: np.ndarray) -> None:
    """Write what a predictor says of some rows at other levels, as a report shows it: without a word about few rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for place, level in enumerate(said.levels):
            found = _regions(predictor, X, level)
            said.intervals[place, rows] = np.array([region.hull for region in found]).reshape(-1, 2)
            said.widths[place, rows] = [region.measure for region in found]
            if said.covered is not None:
                said.covered[place, rows] = [y in region for y, region in zip(targets.tolist(), found, strict=True)]


def _regions(predictor: Any, X: Any, level: float) -> list[Region]:
    """Return a region for each object; only full CP has some that are not one interval."""
    if isinstance(last(predictor), FullConformalRegressor):
        return list(predictor.predict_region(X, level))
    # an interval of nan is empty
    return [Region(ends[None][~np.isnan(ends[:1])]) for ends in predictor.predict_interval(X, level)]


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
