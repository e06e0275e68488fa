"""An interruption anywhere in a change leaves predictors with trees, samples and refits as they were."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from exactcp import FullConformalClassifier, FullConformalRegressor
from exactcp.measures import KNN, Bootstrap, KNNResidual, ModelResidual, ModelScore, RandomForest
from interruptions import times_survived
from nearest_mean import NearestMean
from slices import sliced

MOST = 8  # calls of each change at which the normal lane interrupts it; the slow lane does at all
pytestmark = pytest.mark.filterwarnings(
    "ignore:.*Algorithm 1", "ignore:Bootstrap trains on", "ignore:ModelResidual fits"
)

_RNG = np.random.default_rng(0)
Y = np.array([0, 1, 2] * 4 + [0, 1] * 8)
X = np.round(_RNG.normal(size=(28, 2)) + Y[:, None], 1)
X_PROBE = np.round(_RNG.normal(size=(2, 2)) + 1.0, 1)
TARGETS = X[:, 0] + 0.5 * X[:, 1] ** 2

SMALL = slice(0, 9)  # refits take longer
CLASSIFIERS = {
    "forest, multinomial": (FullConformalClassifier(RandomForest(3, 3), n_jobs=1), slice(0, 16)),
    "forest, bernoulli": (FullConformalClassifier(RandomForest(3, 3, resampling="bernoulli"), n_jobs=1), slice(0, 16)),
    "bootstrap": (FullConformalClassifier(Bootstrap(NearestMean(), 2), n_jobs=1), SMALL),
    "model": (FullConformalClassifier(ModelScore(NearestMean()), n_jobs=1), SMALL),
    "algorithm 1": (FullConformalClassifier(KNN(2), algorithm="standard", n_jobs=1), SMALL),
    "algorithm 1 of a forest": (
        FullConformalClassifier(RandomForest(1, 2, resampling="bernoulli"), algorithm="standard", n_jobs=1),
        SMALL,
    ),
}
REGRESSORS = {
    "model": FullConformalRegressor(ModelResidual(LinearRegression()), n_jobs=1),
    "algorithm 1": FullConformalRegressor(KNNResidual(2), algorithm="standard", n_jobs=1),
}


def _label_changes(n):
    lost = np.flatnonzero(Y[:n] == 2)
    return {
        "learn one": lambda clf: clf.partial_fit(X[n : n + 1], Y[n : n + 1]),
        "learn few": lambda clf: clf.partial_fit(X[n : n + 3], Y[n : n + 3]),
        "learn many": lambda clf: clf.partial_fit(X[n:], Y[n:]),
        "learn a new label": lambda clf: clf.partial_fit(X[n : n + 2], [1, 7]),
        "unlearn one": lambda clf: clf.unlearn(3),
        "unlearn many": lambda clf: clf.unlearn([0, 1, 4, 6]),
        "unlearn a label": lambda clf: clf.unlearn(lost),
    }


TARGET_CHANGES = {
    "learn one": lambda reg: reg.partial_fit(X[9:10], TARGETS[9:10]),
    "learn many": lambda reg: reg.partial_fit(X[9:], TARGETS[9:]),
    "unlearn one": lambda reg: reg.unlearn(3),
    "unlearn many": lambda reg: reg.unlearn([0, 1, 4, 6]),
}


def _label_answers(clf):
    return clf.predict_p(X_PROBE), clf.classes_


def _target_answers(reg):
    return reg.predict_p(X_PROBE, np.array([0.5, 2.5])), reg.predict(X_PROBE)


@pytest.mark.parametrize(("name", "change"), sliced(4, CLASSIFIERS, _label_changes(0)))
def test_classifiers(name, change):
    clf, rows = CLASSIFIERS[name]
    fitted = copy.deepcopy(clf).fit(X[rows], Y[rows])
    assert times_survived(fitted, _label_changes(rows.stop)[change], _label_answers, most=MOST) > 10


@pytest.mark.parametrize("change", TARGET_CHANGES)
@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(name, change):
    fitted = copy.deepcopy(REGRESSORS[name]).fit(X[:9], TARGETS[:9])
    assert times_survived(fitted, TARGET_CHANGES[change], _target_answers, most=MOST) > 10


@pytest.mark.slow
@pytest.mark.parametrize("event", ["call", "line"])
@pytest.mark.parametrize("change", _label_changes(0))
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_everywhere(name, change, event):
    clf, rows = CLASSIFIERS[name]
    fitted = copy.deepcopy(clf).fit(X[rows], Y[rows])
    assert times_survived(fitted, _label_changes(rows.stop)[change], _label_answers, event=event) > 10


@pytest.mark.slow
@pytest.mark.parametrize("event", ["call", "line"])
@pytest.mark.parametrize("change", TARGET_CHANGES)
@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_everywhere(name, change, event):
    fitted = copy.deepcopy(REGRESSORS[name]).fit(X[:9], TARGETS[:9])
    assert times_survived(fitted, TARGET_CHANGES[change], _target_answers, event=event) > 10
