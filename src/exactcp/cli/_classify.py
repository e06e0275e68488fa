"""The classification job: p-values, sets, labels."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from exactcp import CrossConformalClassifier, FullConformalClassifier, SplitConformalClassifier
from exactcp.cli._job import Job, Outcome, compared, timed, told
from exactcp.pvalues import exceeds, significance
from exactcp.report import LabelRun, classification_facts

CLASSIFIERS: dict[str, Any] = {
    "full": FullConformalClassifier,
    "split": SplitConformalClassifier,
    "cross": CrossConformalClassifier,
}


def classify(job: Job, truth: list[str | None] | None) -> Outcome:
    """Predict the labels of the test rows.

    Parameters
    ----------
    job : Job
    truth : list or None
        The test rows' labels as text, None where they are not known.

    Returns
    -------
    Outcome
    """
    run, counted = _run_classifier(job, job.method)
    classes = np.unique(job.y_train).tolist()
    runs = [run]
    if job.compare and job.method != "split":
        runs += compared(lambda: replace(_run_classifier(job, "split")[0], measure=run.measure))
    facts = partial(
        classification_facts,
        runs,
        classes,
        truth,
        confidence_level=job.confidence,
        n_calibration=counted,
        promised_level=job.promised_level(),
    )
    known = facts()
    summary = {
        "measure": run.measure,
        "classes": classes,
        "coverage": known["coverage"],
        "expected_coverage": known["expected_coverage"],
        "verdict": known["verdict"],
        "new_labels": known["new_labels"],
        "accuracy": known["accuracy"],
        "set_size": known["set_size"],
        "mean_fuzziness": known["mean_fuzziness"],
        "fit_seconds": run.fit_seconds,
        "predict_seconds": run.predict_seconds,
    }
    return Outcome(_label_columns(run, classes, job), summary, facts)


def _run_classifier(job: Job, method: str) -> tuple[LabelRun, int]:
    """Return what a predictor says, part by part, and with how many examples its p-values were counted, at least.

    A label that the training rows of a part lack has p-value 0 there: no set can hold it.
    """
    classes, m = np.unique(job.y_train), job.X_test.shape[0]
    p, best = np.zeros((m, classes.size)), np.zeros(m, dtype=np.int64)
    fit_seconds, predict_seconds, measure = 0.0, 0.0, ""
    counted: list[int] = []
    for rows, part in job.parts():
        predictor = CLASSIFIERS[method](job.measure, mondrian=job.mondrian, smoothed=job.smoothed, **job.options())
        _, seconds = timed(predictor.fit, part.X_train, part.y_train)
        fit_seconds += seconds
        found, seconds = timed(predictor.predict_p, part.X_test)
        predict_seconds += seconds
        if not counted:  # says so if there are too few examples for a level
            for level in job.confidences:
                predictor.predict_set(part.X_test[:1], level)
        own = np.searchsorted(classes, predictor.classes_)
        p[np.ix_(rows, own)] = found
        best[rows] = own[_best(predictor, part.X_test, found)]
        counted.append(predictor.calibration_scores_.size if method == "split" else part.y_train.size)
        measure = told(predictor)
    return LabelRun(method, measure, p, fit_seconds, predict_seconds, best), min(counted)


def _best(predictor: Any, X: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the place of the best label; where the largest p-value is not alone, the predictor knows which."""
    best = p.argmax(axis=1)
    tied = np.flatnonzero((p == p.max(axis=1, keepdims=True)).sum(axis=1) > 1)
    if tied.size:
        best[tied] = np.searchsorted(predictor.classes_, predictor.predict(X[tied]))
    return np.asarray(best)


def _label_columns(run: LabelRun, classes: list[Any], job: Job) -> dict[str, Any]:
    ordered = np.sort(run.p, axis=1)
    columns: dict[str, Any] = {f"p_{label}": run.p[:, code] for code, label in enumerate(classes)}
    for level in job.confidences:
        sets = exceeds(run.p, significance(level))
        columns[job.column("set", level)] = [
            "|".join(str(c) for c, inside in zip(classes, row, strict=True) if inside) for row in sets
        ]
    columns["label"] = [classes[code] for code in run.chosen]
    columns["confidence"] = 1 - ordered[:, -2]
    columns["credibility"] = ordered[:, -1]
    return columns
