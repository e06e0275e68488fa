"""The classification job: p-values, sets, labels."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from exactcp.cli._job import Job, Outcome, compared, timed
from exactcp.cli._predictors import counted, last, new_predictor, told
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
    run, frame, n_counted = _run_classifier(job, job.method)
    classes = _classes_of(job)
    runs = [run]
    if job.compare and job.method != "split":
        runs += compared(lambda: replace(_run_classifier(job, "split")[0], measure=run.measure))
    facts = partial(
        classification_facts,
        runs,
        classes,
        truth,
        confidence_level=job.confidence,
        n_calibration=n_counted,
        promised_level=job.promised_level(),
    )
    known = facts()
    summary = {
        "measure": run.measure,
        "classes": classes,
        **{name: known[name] for name in _TOLD},
        "fit_seconds": run.fit_seconds,
        "predict_seconds": run.predict_seconds,
    }
    return Outcome(dict(frame), summary, facts)


_TOLD = ("coverage", "expected_coverage", "verdict", "new_labels", "accuracy", "set_size", "mean_fuzziness")


def _classes_of(job: Job) -> list[Any]:
    known = np.unique(job.y_train) if job.fitted is None else last(job.fitted).classes_
    return list(known.tolist())


def _run_classifier(job: Job, method: str) -> tuple[LabelRun, Any, int]:
    """Return what a predictor says, part by part, also as a frame, and how many examples it counted, at least.

    A label that the training rows of a part lack has p-value 0 there: no set can hold it.
    """
    fit_seconds, predict_seconds, measure = 0.0, 0.0, ""
    frames, counts = [], []
    for rows, part in job.parts():
        predictor = job.fitted
        if predictor is None:
            predictor = new_predictor(job, method)
            _, seconds = timed(predictor.fit, part.X_train, part.y_train)
            fit_seconds += seconds
        frame, seconds = timed(predictor.predict_frame, part.X_test, job.levels)
        predict_seconds += seconds
        frames.append(frame.set_axis(rows))
        counts.append(counted(predictor, part.n_train))
        measure = told(predictor)
    frame = pd.concat(frames).sort_index()
    classes = _classes_of(job)
    names = [f"p_{label}" for label in classes]
    frame = frame[[*(name for name in frame.columns if name not in names), *names]].fillna(dict.fromkeys(names, 0.0))
    best = pd.Index(classes).get_indexer(frame["prediction"])
    run = LabelRun(method, measure, frame[names].to_numpy(), fit_seconds, predict_seconds, best)
    return run, frame, min(counts)
