"""The classification job: p-values, sets, labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from exactcp.cli._job import Job, Outcome, compared, timed
from exactcp.cli._predictors import counted, last, new_predictor, told
from exactcp.metrics.bands import expected_coverage, judge
from exactcp.report.facts import facts_of
from exactcp.report.numbers import seconds as in_seconds


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
    frame, measure, seconds, n_counted = _run_classifier(job, job.method)
    frames, spent = {job.method: frame}, {job.method: seconds}
    if job.compare and job.method != "split":
        for other, _, other_seconds, _ in compared(lambda: _run_classifier(job, "split")):
            frames["split"], spent["split"] = other, other_seconds
    facts = facts_of({job.method: frame}, truth, None, job.confidence)
    run = facts.runs[0]
    coverage = run.numbers["coverage"][facts.start]
    expected = expected_coverage(job.promised_level(), facts.n_known, n_counted)
    summary = {
        "measure": measure,
        "classes": _classes_of(job),
        "coverage": coverage,
        "expected_coverage": expected,
        "verdict": judge(coverage, expected),
        "new_labels": facts.new_labels,
        "accuracy": run.constants.get("accuracy"),
        "set_size": run.numbers["set_size"][facts.start],
        "mean_fuzziness": run.constants["mean_fuzziness"],
        "fit_seconds": seconds[0],
        "predict_seconds": seconds[1],
    }
    page = {
        "predictions": frames,
        "y": truth,
        "confidence_level": job.confidence,
        "n_calibration": n_counted,
        "promised_level": job.promised_level(),
        "details": {
            part: {name: in_seconds(own[place]) for name, own in spent.items()}
            for place, part in enumerate(("fit", "predict"))
        },
    }
    return Outcome(dict(frame), summary, page)


def _classes_of(job: Job) -> list[Any]:
    known = np.unique(job.y_train) if job.fitted is None else last(job.fitted).classes_
    return list(known.tolist())


def _run_classifier(job: Job, method: str) -> tuple[Any, str, tuple[float, float], int]:
    """Return a predictor's frame, its measure, its seconds, and how many examples it counted, at least.

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
    return frame, measure, (fit_seconds, predict_seconds), min(counts)
