"""The main job on an embedded data set: full against split conformal prediction on scikit-learn's digits."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from exactcp.classification import FullConformalClassifier, SplitConformalClassifier
from exactcp.measures import KNN, SimplifiedKNN
from exactcp.report import LabelRun, TestRows, classification_facts


def run_demo(confidence_level: float = 0.95, *, seed: int = 0) -> dict[str, Any]:
    """Fit full and split CP on digits, predict the rest, and return what was found.

    Parameters
    ----------
    confidence_level : float, default=0.95
    seed : int, default=0
        Of the split into training and test objects.

    Returns
    -------
    dict
        `confidence_level`, `n_train`, `n_test`, `first_round_seconds` (compilation included), `rows`: for each
        predictor its name, measure, coverage, set size, mean fuzziness, and the seconds of fit and prediction; and
        `report`, the facts of a page about them.
    """
    began = time.perf_counter()
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=500, random_state=seed)
    predictors = [
        (name, type(measure).__name__, make(measure, random_state=0))
        for measure in (KNN(), SimplifiedKNN())
        for name, make in (("full", FullConformalClassifier), ("split", SplitConformalClassifier))
    ]
    start = time.perf_counter()  # a first round, so that what is timed below has been compiled
    for _, _, predictor in predictors:
        predictor.fit(X_train, y_train).predict_p(X_test)
    first_round_seconds = time.perf_counter() - start

    runs = []
    for name, measure, predictor in predictors:
        fit_seconds = _in_seconds(predictor.fit, X_train, y_train)
        predict_seconds = _in_seconds(predictor.predict_p, X_test)
        runs.append(LabelRun(name, measure, predictor.predict_p(X_test), fit_seconds, predict_seconds))
    facts = classification_facts(
        runs,
        np.unique(y_train).tolist(),
        y_test.tolist(),
        confidence_level=confidence_level,
        asked={
            "Data": "scikit-learn's digits, handwritten, 8 x 8 pixels",
            "Predictor": "full conformal prediction",
            "Measure": "KNN(k=15)",
            "Training rows": f"{len(y_train):,}",
        },
        rows=TestRows(images=X_test.reshape(-1, 8, 8)),
        title="Which digit is it?",
    )
    facts["total_seconds"] = time.perf_counter() - began
    return {
        "confidence_level": confidence_level,
        "n_train": len(y_train),
        "n_test": len(y_test),
        "first_round_seconds": first_round_seconds,
        "rows": facts["comparison"],
        "report": facts,
    }


def _in_seconds(work: Callable[..., Any], *arguments: Any) -> float:
    start = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - start
