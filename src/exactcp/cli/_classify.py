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
    run, predictor = _run_classifier(job, job.method)
    predictor.predict_set(job.X_test[:1], job.confidence)  # says so if there are too few examples for the level
    best = _best(predictor, job.X_test, run.p)
    classes = predictor.classes_.tolist()
    runs = [replace(run, best=best)]
    if job.compare and job.method != "split":
        runs += compared(lambda: replace(_run_classifier(job, "split")[0], measure=run.measure))
    counted = predictor.calibration_scores_.size if job.method == "split" else job.y_train.size
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
        "fit_seconds": runs[0].fit_seconds,
        "predict_seconds": runs[0].predict_seconds,
    }
    return Outcome(_columns(run.p, best, classes, job.confidence), summary, facts)


def _run_classifier(job: Job, method: str) -> tuple[LabelRun, Any]:
    """Return what a predictor says, and the predictor."""
    predictor = CLASSIFIERS[method](job.measure, mondrian=job.mondrian, smoothed=job.smoothed, **job.options())
    _, fit_seconds = timed(predictor.fit, job.X_train, job.y_train)
    p, predict_seconds = timed(predictor.predict_p, job.X_test)
    return LabelRun(method, told(predictor), p, fit_seconds, predict_seconds), predictor


def _best(predictor: Any, X: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the place of the best label; where the largest p-value is not alone, the predictor knows which."""
    best = p.argmax(axis=1)
    tied = np.flatnonzero((p == p.max(axis=1, keepdims=True)).sum(axis=1) > 1)
    if tied.size:
        best[tied] = np.searchsorted(predictor.classes_, predictor.predict(X[tied]))
    return np.asarray(best)


def _columns(p: np.ndarray, best: np.ndarray, classes: list[Any], confidence: float) -> dict[str, Any]:
    sets = exceeds(p, significance(confidence))
    ordered = np.sort(p, axis=1)
    columns: dict[str, Any] = {f"p_{label}": p[:, code] for code, label in enumerate(classes)}
    columns["set"] = ["|".join(str(c) for c, inside in zip(classes, row, strict=True) if inside) for row in sets]
    columns["label"] = [classes[code] for code in best]
    columns["confidence"] = 1 - ordered[:, -2]
    columns["credibility"] = ordered[:, -1]
    return columns
