"""The main job on an embedded data set: full against split conformal prediction on 100 of scikit-learn's digits."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from exactcp._percent import percent
from exactcp.classification import FullConformalClassifier, SplitConformalClassifier
from exactcp.measures import KNN, SimplifiedKNN
from exactcp.metrics import efficiency_summary
from exactcp.report.numbers import seconds, written_number

N_TRAIN, N_TEST, SPLITS = 100, 1000, 10
UNSEEN_SEEDS = 1000  # seeds from here on had no part in the choice of the case, which was made on seeds 0 to 9
BOTH_WAYS = {"full": FullConformalClassifier, "split": SplitConformalClassifier}


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
        `confidence_level`, `n_train`, `n_test`; `rows`: for each predictor its name, measure, coverage, set size, mean
        fuzziness, and the seconds of fit and prediction; `splits`: the same of full and split CP in other random
        divisions; `remark`, these in words; and `report`, a function that returns the arguments of `write_report` for a
        page, which needs pandas.
    """
    division = _draw_digits(seed)
    predictors = {
        (name, type(measure).__name__): make(measure, random_state=0)
        for measure in (KNN(k=5), SimplifiedKNN(k=5))
        for name, make in BOTH_WAYS.items()
    }
    for _ in range(2):  # the second time, all is compiled
        tried = {names: _try(predictor, division, confidence_level) for names, predictor in predictors.items()}
    rows = [{"predictor": name, "measure": measure, **found} for (name, measure), found in tried.items()]
    splits = [_look(confidence_level, seed + UNSEEN_SEEDS + more) for more in range(SPLITS)]
    remark = f"In {SPLITS} other random divisions, {say_splits(splits)}."

    def page() -> dict[str, Any]:
        _, X_test, _, y_test = division
        names = [name if measure == "KNN" else f"{name}, {measure}" for name, measure in predictors]
        details = {
            "title": f"Which digit is it? {N_TRAIN:,} examples to learn from",
            "Data": "scikit-learn's digits, handwritten, 8 x 8 pixels",
            "Predictor": "full conformal prediction",
            "Measure": "KNN(k=5)",
            "Training rows": f"{N_TRAIN:,}",
            "Other divisions": remark,
            "fit": {name: seconds(row["fit_seconds"]) for name, row in zip(names, rows, strict=True)},
            "predict": {name: seconds(row["predict_seconds"]) for name, row in zip(names, rows, strict=True)},
        }
        return {
            "predictions": {name: p.predict_frame(X_test) for name, p in zip(names, predictors.values(), strict=True)},
            "y": y_test,
            "X": X_test.reshape(-1, 8, 8),
            "confidence_level": confidence_level,
            "n_calibration": N_TRAIN,
            "details": details,
        }

    return {
        "confidence_level": confidence_level,
        "n_train": N_TRAIN,
        "n_test": N_TEST,
        "rows": rows,
        "splits": splits,
        "remark": remark,
        "report": page,
    }


def say_splits(splits: list[dict[str, Any]]) -> str:
    """Return in words what other divisions gave."""
    words = []
    for name in BOTH_WAYS:
        covered, size = (np.mean([split[name][key] for split in splits]) for key in ("coverage", "set_size"))
        words.append(f"{name} CP covers {percent(float(covered))} with {written_number(float(size), 3)} labels")
    smaller = sum(split["full"]["set_size"] < split["split"]["set_size"] for split in splits)
    return f"{', '.join(words)} on average; full CP has the smaller sets in {smaller} of {len(splits)}"


def _look(confidence_level: float, seed: int) -> dict[str, Any]:
    """Return how good the sets of both predictors are in one division."""
    division = _draw_digits(seed)
    predictors = {name: make(KNN(k=5), random_state=0) for name, make in BOTH_WAYS.items()}
    return {"seed": seed} | {name: _try(one, division, confidence_level) for name, one in predictors.items()}


def _try(predictor: Any, division: Any, confidence_level: float) -> dict[str, Any]:
    """Fit and predict; return the seconds, and how good the sets are."""
    X_train, X_test, y_train, y_test = division
    start = time.perf_counter()
    predictor.fit(X_train, y_train)
    fitted = time.perf_counter()
    p = predictor.predict_p(X_test)
    found = {"fit_seconds": fitted - start, "predict_seconds": time.perf_counter() - fitted}
    summary = efficiency_summary(p, y_test, confidence_level=confidence_level, classes=predictor.classes_)
    return found | {name: getattr(summary, name) for name in ("coverage", "set_size", "mean_fuzziness")}


def _draw_digits(seed: int) -> Any:
    X, y = load_digits(return_X_y=True)
    return train_test_split(X, y, train_size=N_TRAIN, test_size=N_TEST, random_state=seed)
