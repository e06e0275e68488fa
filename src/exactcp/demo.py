"""The main job on an embedded data set: full against split conformal prediction on scikit-learn's digits."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from exactcp import metrics
from exactcp.classification import FullConformalClassifier, SplitConformalClassifier
from exactcp.measures import KNN, SimplifiedKNN


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
        `confidence_level`, `n_train`, `n_test`, `first_round_seconds` (compilation included), and `rows`: for each
        predictor its name, measure, coverage, set size, mean fuzziness, and the seconds of fit and prediction.
    """
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=500, random_state=seed)
    predictors = [
        (name, type(measure).__name__, make(measure))
        for measure in (KNN(), SimplifiedKNN())
        for name, make in (("full", FullConformalClassifier), ("split", SplitConformalClassifier))
    ]
    start = time.perf_counter()  # a first round, so that what is timed below has been compiled
    for _, _, predictor in predictors:
        predictor.fit(X_train, y_train).predict_p(X_test)
    first_round_seconds = time.perf_counter() - start

    rows = []
    for name, measure, predictor in predictors:
        fit_seconds = _seconds(predictor.fit, X_train, y_train)
        predict_seconds = _seconds(predictor.predict_p, X_test)
        summary = metrics.efficiency_summary(
            predictor.predict_p(X_test), y_test, classes=predictor.classes_, confidence_level=confidence_level
        )
        rows.append(
            {
                "predictor": name,
                "measure": measure,
                "coverage": summary.coverage,
                "set_size": summary.set_size,
                "mean_fuzziness": summary.mean_fuzziness,
                "fit_seconds": fit_seconds,
                "predict_seconds": predict_seconds,
            }
        )
    return {
        "confidence_level": confidence_level,
        "n_train": len(y_train),
        "n_test": len(y_test),
        "first_round_seconds": first_round_seconds,
        "rows": rows,
    }


def _seconds(work: Callable[..., Any], *arguments: Any) -> float:
    start = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - start
