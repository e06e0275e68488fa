"""The main job on an embedded data set: full against split conformal prediction on 100 of scikit-learn's digits."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from exactcp import pvalues
from exactcp._percent import percent
from exactcp.classification import FullConformalClassifier, SplitConformalClassifier
from exactcp.measures import KNN, SimplifiedKNN
from exactcp.metrics import coverage, efficiency_summary
from exactcp.report.numbers import seconds, written_number

N_TRAIN, N_TEST, SPLITS = 100, 1000, 10
UNSEEN_SEEDS = 1000  # seeds from here on had no part in the choice of the case, which was made on seeds 0 to 9
BOTH_WAYS = (("full", FullConformalClassifier), ("split", SplitConformalClassifier))


def run_demo(confidence_level: float = 0.95, *, seed: int = 0) -> dict[str, Any]:
    """Fit full and split CP on a hundred digits, predict a thousand others, and return what was found.

    So few examples leave doubts: sets of several digits are common, and half of the examples leave more of them.

    Parameters
    ----------
    confidence_level : float, default=0.95
    seed : int, default=0
        Of the division into training and test objects; later ones are looked at for `splits`.

    Returns
    -------
    dict
        `confidence_level`, `n_train`, `n_test`, `first_round_seconds` (compilation included); `rows`: for each
        predictor its name, measure, coverage, set size, mean fuzziness, and the seconds of fit and prediction;
        `splits`: the coverage and the set size of full and split CP in other random divisions; `remark`, these in
        words; and `report`, a function that returns the arguments of `write_report` for a page, which needs pandas.
    """
    X_train, X_test, y_train, y_test = _draw_digits(seed)
    predictors = [
        (name, type(measure).__name__, make(measure, random_state=0))
        for measure in (KNN(k=5), SimplifiedKNN(k=5))
        for name, make in BOTH_WAYS
    ]
    start = time.perf_counter()  # a first round, so that what is timed below has been compiled
    for _, _, predictor in predictors:
        predictor.fit(X_train, y_train).predict_p(X_test)
    first_round_seconds = time.perf_counter() - start

    rows: list[dict[str, Any]] = []
    for name, measure, predictor in predictors:
        fit_seconds = _in_seconds(predictor.fit, X_train, y_train)
        predict_seconds = _in_seconds(predictor.predict_p, X_test)
        p = predictor.predict_p(X_test)
        sets = pvalues.exceeds(p, pvalues.significance(confidence_level))
        summary = efficiency_summary(p, confidence_level=confidence_level)
        rows.append(
            {
                "predictor": name,
                "measure": measure,
                "coverage": coverage(sets, y_test, classes=predictor.classes_),
                "set_size": summary.set_size,
                "mean_fuzziness": summary.mean_fuzziness,
                "fit_seconds": fit_seconds,
                "predict_seconds": predict_seconds,
            }
        )
    splits = [_look(confidence_level, seed + UNSEEN_SEEDS + more) for more in range(SPLITS)]
    remark = f"In {SPLITS} other random divisions, {say_splits(splits)}."
    names = [name if measure == "KNN" else f"{name}, {measure}" for name, measure, _ in predictors]
    details = {
        "title": f"Which digit is it? {len(y_train):,} examples to learn from",
        "Data": "scikit-learn's digits, handwritten, 8 x 8 pixels",
        "Predictor": "full conformal prediction",
        "Measure": "KNN(k=5)",
        "Training rows": f"{len(y_train):,}",
        "Other divisions": remark,
        **{
            part: {name: seconds(row[f"{part}_seconds"]) for name, row in zip(names, rows, strict=True)}
            for part in ("fit", "predict")
        },
    }

    def page() -> dict[str, Any]:
        frames = [predictor.predict_frame(X_test) for _, _, predictor in predictors]
        return {
            "predictions": dict(zip(names, frames, strict=True)),
            "y": y_test,
            "X": X_test.reshape(-1, 8, 8),
            "confidence_level": confidence_level,
            "n_calibration": len(y_train),
            "details": details,
        }

    return {
        "confidence_level": confidence_level,
        "n_train": len(y_train),
        "n_test": len(y_test),
        "first_round_seconds": first_round_seconds,
        "rows": rows,
        "splits": splits,
        "remark": remark,
        "report": page,
    }


def say_splits(splits: list[dict[str, Any]]) -> str:
    """Return in words what other divisions gave."""
    means = {
        name: {key: float(np.mean([split[name][key] for split in splits])) for key in ("coverage", "set_size")}
        for name, _ in BOTH_WAYS
    }
    smaller = sum(split["full"]["set_size"] < split["split"]["set_size"] for split in splits)
    told = [
        f"{name} CP covers {percent(own['coverage'])} with {written_number(own['set_size'], 3)} labels"
        for name, own in means.items()
    ]
    return f"{', '.join(told)} on average; full CP has the smaller sets in {smaller} of {len(splits)}"


def _look(confidence_level: float, seed: int) -> dict[str, Any]:
    """Return the coverage and the set size of both predictors in one division."""
    X_train, X_test, y_train, y_test = _draw_digits(seed)
    found: dict[str, Any] = {"seed": seed}
    for name, make in BOTH_WAYS:
        predictor = make(KNN(k=5), random_state=0).fit(X_train, y_train)
        p = predictor.predict_p(X_test)
        sets = pvalues.exceeds(p, pvalues.significance(confidence_level))
        covered = coverage(sets, y_test, classes=predictor.classes_)
        found[name] = {"coverage": covered, "set_size": float(sets.sum(axis=1).mean())}
    return found


def _draw_digits(seed: int) -> Any:
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, train_size=N_TRAIN, test_size=N_TEST, random_state=seed)


def _in_seconds(work: Callable[..., Any], *arguments: Any) -> float:
    start = time.perf_counter()
    work(*arguments)
    return time.perf_counter() - start
