"""The classification job: p-values, sets, labels."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from exactcp import FullConformalClassifier, SplitConformalClassifier
from exactcp.cli._job import Job, Outcome, compared, timed, told
from exactcp.regions import check_level, label_sets
from exactcp.report import LabelRun, classification_facts


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
    own: dict[str, Any] = {"mondrian": job.mondrian, "smoothed": job.smoothed}
    full = FullConformalClassifier(job.measure, **own, **job.options())
    _, fit_seconds = timed(full.fit, job.X_train, job.y_train)
    p, predict_seconds = timed(full.predict_p, job.X_test)
    full.predict_set(job.X_test[:1], job.confidence)  # says so if there are too few examples for the level
    best = _best(full, job.X_test, p)
    classes = full.classes_.tolist()
    measure = told(full.measure_)
    runs = [LabelRun("full", measure, p, fit_seconds, predict_seconds, best)]
    if job.compare:
        runs += compared(lambda: _split_run(job, own, measure))
    facts = partial(classification_facts, runs, classes, truth, confidence_level=job.confidence)
    known = facts()
    summary = {
        "measure": measure,
        "classes": classes,
        "coverage": known["coverage"],
        "accuracy": known["accuracy"],
        "set_size": known["set_size"],
        "mean_fuzziness": known["mean_fuzziness"],
        "fit_seconds": runs[0].fit_seconds,
        "predict_seconds": runs[0].predict_seconds,
    }
    return Outcome(_columns(p, best, classes, job.confidence), summary, facts)


def _split_run(job: Job, own: dict[str, Any], measure: str) -> LabelRun:
    split = SplitConformalClassifier(job.measure, **own, **{**job.options(), "random_state": job.seed or 0})
    _, fit_seconds = timed(split.fit, job.X_train, job.y_train)
    p, predict_seconds = timed(split.predict_p, job.X_test)
    return LabelRun("split", measure, p, fit_seconds, predict_seconds)


def _best(full: FullConformalClassifier, X: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Return the place of the best label; where the largest p-value is not alone, the predictor knows which."""
    best = p.argmax(axis=1)
    tied = np.flatnonzero((p == p.max(axis=1, keepdims=True)).sum(axis=1) > 1)
    if tied.size:
        # smoothing draws a number for each row of a call, so that only a call with all rows draws the same
        labels = full.predict(X)[tied] if full.smoothed else full.predict(X[tied])
        best[tied] = np.searchsorted(full.classes_, labels)
    return np.asarray(best)


def _columns(p: np.ndarray, best: np.ndarray, classes: list[Any], confidence: float) -> dict[str, Any]:
    sets = label_sets(p, check_level(confidence))
    ordered = np.sort(p, axis=1)
    columns: dict[str, Any] = {f"p_{label}": p[:, code] for code, label in enumerate(classes)}
    columns["set"] = ["|".join(str(c) for c, inside in zip(classes, row, strict=True) if inside) for row in sets]
    columns["label"] = [classes[code] for code in best]
    columns["confidence"] = 1 - ordered[:, -2]
    columns["credibility"] = ordered[:, -1]
    return columns
