"""What users do with a model of theirs: the work of the model alone, and of the predictor around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from exactcp import CVPlusRegressor, SplitConformalClassifier, SplitConformalRegressor

ROWS, COLUMNS, TEXTS = 100_000, 20, 6
FOLDS = 10
LEVEL = 0.9


class Data(NamedTuple):
    """Rows that fit, rows that calibrate, rows to predict, and the model."""

    X: Any
    y: Any
    X_calibration: Any
    y_calibration: Any
    X_test: Any
    model: Any


class Task(NamedTuple):
    """How to make the data, of sizes divided by a number, and what to do with them, by who does it."""

    data: Callable[[int], Data]
    works: dict[str, Callable[[Data], Any]]


def _parts(X: Any, y: np.ndarray, model: Any) -> Data:
    """Return 60 % of the rows to fit, 20 % to calibrate, 20 % to predict."""
    fit, test = len(y) * 3 // 5, len(y) * 4 // 5
    rows = X.iloc if hasattr(X, "iloc") else X
    return Data(rows[:fit], y[:fit], rows[fit:test], y[fit:test], rows[test:], model)


def _labelled(n: int) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(n_samples=n, n_features=COLUMNS, n_informative=8, n_classes=3, random_state=0)


def _matrix(scale: int) -> Data:
    return _parts(*_labelled(ROWS // scale), HistGradientBoostingClassifier(max_iter=30, random_state=0))


def frame_of(X: np.ndarray) -> Any:
    """Return the matrix as a frame whose first columns are words."""
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    words = np.array(["none", "little", "some", "much", "all"])
    for name in frame.columns[:TEXTS]:
        frame[name] = words[np.digitize(frame[name], [-1.0, -0.3, 0.3, 1.0])]
    return frame


def _frame(scale: int) -> Data:
    X, y = _labelled(ROWS // scale)
    text = make_column_selector(pattern=f"^x[0-{TEXTS - 1}]$")
    boosting = make_pipeline(
        make_column_transformer((OrdinalEncoder(), text), remainder="passthrough"),
        HistGradientBoostingClassifier(max_iter=30, random_state=0),
    )
    return _parts(frame_of(X), y, boosting)


def _linear_frame(scale: int) -> Data:
    data = _frame(scale)
    text = make_column_selector(pattern=f"^x[0-{TEXTS - 1}]$")
    encoding = make_column_transformer((OneHotEncoder(), text), remainder=StandardScaler())
    return data._replace(model=make_pipeline(encoding, LogisticRegression(max_iter=200)))


def _naive_bayes(scale: int) -> Data:
    """Return a fitted model, 4,800 rows that calibrate it, and 14,400 to predict."""
    X, y = _labelled(24_000 // scale)
    fit, test = len(y) // 5, len(y) * 2 // 5
    return Data(X[:fit], y[:fit], X[fit:test], y[fit:test], X[test:], GaussianNB().fit(X[:fit], y[:fit]))


def _targets(scale: int) -> Data:
    X, y = make_regression(ROWS // scale, COLUMNS, n_informative=8, noise=10.0, random_state=0)
    return _parts(X, y, LinearRegression())


def _folds(scale: int) -> Data:
    """Return rows that are left out in folds, and a tenth as many to predict."""
    n, m = ROWS // scale, ROWS // 10 // scale
    X, y = make_regression(n + m, COLUMNS, n_informative=8, noise=10.0, random_state=0)
    return Data(X[:n], y[:n], None, None, X[n:], LinearRegression())


def _model_labels(data: Data) -> Any:
    model = clone(data.model).fit(data.X, data.y)
    return model.predict_proba(data.X_calibration), model.predict_proba(data.X_test)


def _model_frozen(data: Data) -> Any:
    return data.model.predict_proba(data.X_calibration), data.model.predict_proba(data.X_test)


def _model_targets(data: Data) -> Any:
    model = clone(data.model).fit(data.X, data.y)
    return model.predict(data.X_calibration), model.predict(data.X_test)


def _model_folds(data: Data) -> Any:
    answers = []
    for fitting, out in KFold(FOLDS).split(data.X):
        model = clone(data.model).fit(data.X[fitting], data.y[fitting])
        answers.append((model.predict(data.X[out]), model.predict(data.X_test)))
    return answers


def _split_labels(data: Data) -> Any:
    return SplitConformalClassifier(data.model).fit(*data[:4]).predict_set(data.X_test, LEVEL)


def _frozen(data: Data) -> SplitConformalClassifier:
    return SplitConformalClassifier(FrozenEstimator(data.model)).fit(data.X_calibration, data.y_calibration)


def _frozen_p(data: Data) -> Any:
    return _frozen(data).predict_p(data.X_test)


def _frozen_sets(data: Data) -> Any:
    return _frozen(data).predict_set(data.X_test, LEVEL)


def _split_targets(data: Data) -> Any:
    return SplitConformalRegressor(data.model).fit(*data[:4]).predict_interval(data.X_test, LEVEL)


def _cv_plus(data: Data) -> Any:
    return CVPlusRegressor(data.model, cv=KFold(FOLDS)).fit(data.X, data.y).predict_interval(data.X_test, LEVEL)


TASKS = {
    "boosting of a matrix": Task(_matrix, {"model": _model_labels, "exactcp": _split_labels}),
    "boosting of a frame": Task(_frame, {"model": _model_labels, "exactcp": _split_labels}),
    "logistic regression of a frame": Task(_linear_frame, {"model": _model_labels, "exactcp": _split_labels}),
    "naive Bayes, frozen: p-values": Task(_naive_bayes, {"model": _model_frozen, "exactcp": _frozen_p}),
    "naive Bayes, frozen: sets": Task(_naive_bayes, {"model": _model_frozen, "exactcp": _frozen_sets}),
    "linear regression": Task(_targets, {"model": _model_targets, "exactcp": _split_targets}),
    f"linear regression, CV+ with {FOLDS} folds": Task(_folds, {"model": _model_folds, "exactcp": _cv_plus}),
}
