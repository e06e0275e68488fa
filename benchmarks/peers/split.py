"""Split conformal prediction: MAPIE, puncc, crepes, nonconformist."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import numpy as np
from crepes import WrapClassifier, WrapRegressor
from deel.puncc.api.prediction import BasePredictor
from deel.puncc.classification import LAC
from deel.puncc.regression import SplitCP
from mapie.classification import SplitConformalClassifier as MapieClassifier
from mapie.regression import SplitConformalRegressor as MapieRegressor
from nonconformist.base import ClassifierAdapter, RegressorAdapter
from nonconformist.icp import IcpClassifier, IcpRegressor
from nonconformist.nc import AbsErrorErrFunc, ClassifierNc, InverseProbabilityErrFunc, RegressorNc
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB

from benchmarks.peers.contest import OURS, PLAIN, Contest, Data, halves, labelled, targets
from exactcp import SplitConformalClassifier, SplitConformalRegressor

NINE_LEVEL = 0.8  # 9 examples cover 8 / 10 exactly


class _Probabilities(BasePredictor):
    """What puncc wants: a model whose `predict` gives probabilities."""

    def predict(self, X: Any, **kwargs: Any) -> Any:
        return self.model.predict_proba(X, **kwargs)


def cumulated(proba: np.ndarray, level: float) -> np.ndarray:
    """Return the smallest sets of labels whose probabilities, believed, sum to the level: no guarantee."""
    order = np.argsort(-proba, axis=1)
    before = np.cumsum(np.take_along_axis(proba, order, axis=1), axis=1) - np.take_along_axis(proba, order, axis=1)
    sets = np.empty(proba.shape, dtype=bool)
    np.put_along_axis(sets, order, before < level, axis=1)
    return sets


def _our_labels(data: Data) -> Any:
    return SplitConformalClassifier(GaussianNB(), n_jobs=1).fit(*data[:4]).predict_set(data.X_test, data.level)


def _mapie_labels(data: Data) -> Any:
    clf = MapieClassifier(GaussianNB(), confidence_level=data.level, prefit=False).fit(data.X, data.y)
    return clf.conformalize(data.X_calibration, data.y_calibration).predict_set(data.X_test)


def _puncc_labels(data: Data) -> Any:
    clf = LAC(_Probabilities(GaussianNB()))
    clf.fit(X_fit=data.X, y_fit=data.y, X_calib=data.X_calibration, y_calib=data.y_calibration)
    return clf.predict(data.X_test, alpha=data.epsilon)


def _crepes_labels(data: Data) -> Any:
    clf = WrapClassifier(GaussianNB())
    clf.fit(data.X, data.y)
    clf.calibrate(data.X_calibration, data.y_calibration)
    return clf.predict_set(data.X_test, labels=False, confidence=data.level, smoothing=False)


def _icp(model: Any) -> IcpClassifier:
    return IcpClassifier(ClassifierNc(ClassifierAdapter(model), InverseProbabilityErrFunc()), smoothing=False)


def _nonconformist_labels(data: Data) -> Any:
    clf = _icp(GaussianNB())
    clf.fit(data.X, data.y)
    clf.calibrate(data.X_calibration, data.y_calibration)
    return clf.classes, clf.predict(data.X_test, significance=data.epsilon)


def _plain_labels(data: Data) -> Any:
    model = GaussianNB().fit(np.concatenate([data.X, data.X_calibration]), np.concatenate([data.y, data.y_calibration]))
    return cumulated(model.predict_proba(data.X_test), data.level)


def _frozen(data: Data) -> SplitConformalClassifier:
    clf = SplitConformalClassifier(FrozenEstimator(data.model), n_jobs=1)
    return clf.fit(data.X_calibration, data.y_calibration)


def _our_frozen(data: Data) -> Any:
    return _frozen(data).predict_set(data.X_test, data.level)


def _mapie_frozen(data: Data) -> Any:
    clf = MapieClassifier(data.model, confidence_level=data.level, prefit=True)
    return clf.conformalize(data.X_calibration, data.y_calibration).predict_set(data.X_test)


def _puncc_frozen(data: Data) -> Any:
    clf = LAC(_Probabilities(data.model, is_trained=True), train=False)
    clf.fit(X_calib=data.X_calibration, y_calib=data.y_calibration)
    return clf.predict(data.X_test, alpha=data.epsilon)


def _crepes_frozen(data: Data) -> Any:
    clf = WrapClassifier(data.model).calibrate(data.X_calibration, data.y_calibration)
    return clf.predict_set(data.X_test, labels=False, confidence=data.level, smoothing=False)


def _nonconformist_frozen(data: Data) -> Any:
    clf = _icp(data.model)
    clf.calibrate(data.X_calibration, data.y_calibration)
    return clf.classes, clf.predict(data.X_test, significance=data.epsilon)


def _our_p(data: Data) -> Any:
    return _frozen(data).predict_p(data.X_test)


def _crepes_p(data: Data) -> Any:
    clf = WrapClassifier(data.model).calibrate(data.X_calibration, data.y_calibration)
    return clf.predict_p(data.X_test, smoothing=False)


def _nonconformist_p(data: Data) -> Any:
    clf = _icp(data.model)
    clf.calibrate(data.X_calibration, data.y_calibration)
    return clf.classes, clf.predict(data.X_test, significance=None)


def _our_targets(data: Data) -> Any:
    reg = SplitConformalRegressor(LinearRegression(), n_jobs=1)
    return reg.fit(*data[:4]).predict_interval(data.X_test, data.level)


def _mapie_targets(data: Data) -> Any:
    reg = MapieRegressor(LinearRegression(), confidence_level=data.level, prefit=False).fit(data.X, data.y)
    return reg.conformalize(data.X_calibration, data.y_calibration).predict_interval(data.X_test)


def _puncc_targets(data: Data) -> Any:
    reg = SplitCP(BasePredictor(LinearRegression()))
    reg.fit(X_fit=data.X, y_fit=data.y, X_calib=data.X_calibration, y_calib=data.y_calibration)
    return reg.predict(data.X_test, alpha=data.epsilon)


def _crepes_targets(data: Data) -> Any:
    reg = WrapRegressor(LinearRegression())
    reg.fit(data.X, data.y)
    reg.calibrate(data.X_calibration, data.y_calibration)
    return reg.predict_int(data.X_test, confidence=data.level)


def _nonconformist_targets(data: Data) -> Any:
    reg = IcpRegressor(RegressorNc(RegressorAdapter(LinearRegression()), AbsErrorErrFunc()))
    reg.fit(data.X, data.y)
    reg.calibrate(data.X_calibration, data.y_calibration)
    return reg.predict(data.X_test, significance=data.epsilon)


def around(points: np.ndarray, spread: Any, level: float) -> np.ndarray:
    """Return normal intervals around points: no guarantee."""
    z = NormalDist().inv_cdf((1.0 + level) / 2.0)
    return np.column_stack([points - z * spread, points + z * spread])


def _plain_targets(data: Data) -> Any:
    X, y = np.concatenate([data.X, data.X_calibration]), np.concatenate([data.y, data.y_calibration])
    model = LinearRegression().fit(X, y)
    spread = np.sqrt(np.sum((y - model.predict(X)) ** 2) / max(len(y) - X.shape[1] - 1, 1))
    return around(model.predict(data.X_test), spread, data.level)


def _of_mapie(found: Any, _: Data) -> np.ndarray:
    return np.asarray(found[1])[:, :, 0]


def _of_puncc_sets(found: Any, _: Data) -> np.ndarray:
    sets = np.zeros(np.shape(found[0]), dtype=bool)
    for row, labels in enumerate(found[1]):
        sets[row, np.asarray(labels, dtype=int)] = True
    return sets


def _of_nonconformist(found: Any, data: Data) -> np.ndarray:
    classes, values = found
    every = np.zeros((len(values), int(data.y.max()) + 1), dtype=values.dtype)
    every[:, classes] = values
    return every


def _of_puncc_interval(found: Any, _: Data) -> np.ndarray:
    return np.column_stack(found[1:])


READ_SETS = {"MAPIE": _of_mapie, "puncc": _of_puncc_sets, "nonconformist": _of_nonconformist}
READ_INTERVALS = {"MAPIE": _of_mapie, "puncc": _of_puncc_interval}
MISSING = "labels that no calibration example has are in none of its sets; here they are in all"


def _nine(draw: Any, model: Any) -> Any:
    """Return what draws a model of 60 rows, nine that calibrate, one to predict."""

    def data(rng: np.random.Generator) -> Data:
        X, y = draw(rng, 70)
        return Data(X[:60], y[:60], X[60:69], y[60:69], X[69:], y[69:], model and model.fit(X[:60], y[:60]), NINE_LEVEL)

    return data


CONTESTS = {
    "split-sets": Contest(
        "Split classification",
        "Fit naive Bayes to n / 2 rows of 20 columns and three labels, calibrate with the others, predict n / 4 sets.",
        "sets",
        lambda n: halves(labelled, n),
        {
            OURS: _our_labels,
            "MAPIE": _mapie_labels,
            "puncc": _puncc_labels,
            "crepes": _crepes_labels,
            "nonconformist": _nonconformist_labels,
            PLAIN: _plain_labels,
        },
        READ_SETS,
        {
            "crepes": "keeps p ≥ 1 - confidence in binary floating point, where the others keep p > ε",
            "nonconformist": MISSING,
        },
        peak_at=100_000,
        nine=_nine(labelled, None),
    ),
    "split-frozen": Contest(
        "Split classification, the model fitted before",
        "Calibrate naive Bayes with n / 2 rows, predict sets for n / 4.",
        "sets",
        lambda n: halves(labelled, n, GaussianNB()),
        {
            OURS: _our_frozen,
            "MAPIE": _mapie_frozen,
            "puncc": _puncc_frozen,
            "crepes": _crepes_frozen,
            "nonconformist": _nonconformist_frozen,
        },
        READ_SETS,
        {"crepes": "as above"},
    ),
    "split-p": Contest(
        "Split p-values, the model fitted before",
        "Calibrate naive Bayes with n / 2 rows, p-values of three labels for n / 4. MAPIE and puncc have none.",
        "p",
        lambda n: halves(labelled, n, GaussianNB()),
        {OURS: _our_p, "crepes": _crepes_p, "nonconformist": _nonconformist_p},
        {"nonconformist": _of_nonconformist},
        {"nonconformist": "scores tie when they are the same number; here and in crepes, up to rounding"},
    ),
    "split-intervals": Contest(
        "Split regression",
        "Fit a linear regression to n / 2 rows of 20 columns, calibrate with the others, predict intervals for n / 4.",
        "intervals",
        lambda n: halves(targets, n),
        {
            OURS: _our_targets,
            "MAPIE": _mapie_targets,
            "puncc": _puncc_targets,
            "crepes": _crepes_targets,
            "nonconformist": _nonconformist_targets,
            PLAIN: _plain_targets,
        },
        READ_INTERVALS,
        {
            "crepes": "takes the ⌊(1 - c)(n + 1)⌋-th largest residual, rounded down in floating point: one residual "
            "wider where (1 - c)(n + 1) is whole, as at n = 9",
            "nonconformist": "with too few examples it takes the largest residual; here the interval is infinite",
        },
        peak_at=100_000,
        nine=_nine(targets, None),
    ),
}
