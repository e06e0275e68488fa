"""Full CP around models and transformers that treat rows by their places: the candidate's place must tell nothing.

With an integer seed, such a model covered 0.67 to 0.75 where 0.9 was promised, while the candidate was always last.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.decomposition import IncrementalPCA
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegressionCV, Ridge, RidgeClassifier, RidgeCV, SGDClassifier, SGDRegressor
from sklearn.model_selection import KFold
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline

from exactcp import ConformalAnomalyDetector, FullConformalClassifier, FullConformalRegressor
from exactcp.measures import KDE, ModelResidual, ModelScore
from exactcp.measures.models import _refit_bag
from slices import both_lanes

EPSILON = 0.1
EARLY = {"n_estimators": 30, "n_iter_no_change": 2, "validation_fraction": 0.3, "random_state": 0}
REGRESSORS = {
    "forest": RandomForestRegressor(5, random_state=7),
    "boosting that stops early": GradientBoostingRegressor(**EARLY),
    "bagging": BaggingRegressor(Ridge(), n_estimators=3, max_samples=0.3, random_state=1),
    "random trees": ExtraTreesRegressor(5, bootstrap=True, random_state=2),
    "features from rows": make_pipeline(Nystroem(n_components=4, gamma=1.0, random_state=0), Ridge(alpha=1e-3)),
    "gradients in order": SGDRegressor(shuffle=False, max_iter=1, tol=None, eta0=0.2, learning_rate="constant"),
    "a network": MLPRegressor(
        hidden_layer_sizes=(8,), solver="sgd", batch_size=2, shuffle=False, max_iter=2, random_state=0
    ),
    "folds in order": RidgeCV(alphas=(1e-3, 1e3), cv=KFold(2)),
}
CLASSIFIERS = {
    "forest": RandomForestClassifier(3, random_state=7),
    "boosting that stops early": GradientBoostingClassifier(**EARLY),
    "bagging": BaggingClassifier(RidgeClassifier(), n_estimators=3, max_samples=0.5, random_state=1),
    "random trees": ExtraTreesClassifier(3, bootstrap=True, random_state=2),
    "gradients in order": SGDClassifier("log_loss", shuffle=False, max_iter=1, tol=None, random_state=0),
    "a network": MLPClassifier(
        hidden_layer_sizes=(8,), solver="sgd", batch_size=2, shuffle=False, max_iter=2, random_state=0
    ),
    "folds in order": LogisticRegressionCV(Cs=(1e-3, 1e3), cv=KFold(2), max_iter=20),
}
pytestmark = pytest.mark.filterwarnings("ignore")  # refits are told, and models of nine rows complain


def _models(found, *quick):
    return [
        pytest.param(model, id=name, marks=[pytest.mark.slow] * (name not in quick)) for name, model in found.items()
    ]


def _require_level(p, alternative="two-sided"):
    """Without ties, p-values of 19 or 9 examples are at most 0.1 with probability 0.1, neither more nor less."""
    errors, n = int((np.array(p) <= EPSILON + 1e-12).sum()), len(p)
    assert binomtest(errors, n, EPSILON, alternative=alternative).pvalue > 1e-4, f"{errors} errors of {n}"


def _target_p(model, repetitions, n=19):
    """p-values of the true targets of test objects, one after n examples, over many repetitions."""
    rng, found = np.random.default_rng(0), []
    reg = FullConformalRegressor(model, random_state=0, n_jobs=1)
    for _ in range(repetitions):
        X = rng.normal(size=(n + 1, 2))
        y = X.sum(axis=1) + rng.normal(size=n + 1)
        found.append(reg.fit(X[:n], y[:n]).predict_p(X[n:], y[n:])[0])
    return found


@both_lanes(200, 600)
@pytest.mark.parametrize("model", _models(REGRESSORS, "forest", "gradients in order"))
def test_regressors(model, repetitions):
    _require_level(_target_p(model, repetitions))


@pytest.mark.slow
@pytest.mark.parametrize("model", _models(REGRESSORS))
def test_deleted_residuals_and_a_difficulty(model):
    _require_level(_target_p(ModelResidual(model, residual="deleted"), 300, n=9))
    _require_level(_target_p(ModelResidual(Ridge(), difficulty=model, cv=KFold(2)), 1000, n=19))


def test_the_check_can_fail(monkeypatch):
    monkeypatch.setattr(_refit_bag, "symmetric_order", lambda X, y: np.arange(len(y)))
    with pytest.raises(AssertionError, match="errors of 200"):
        _require_level(_target_p(REGRESSORS["gradients in order"], 200))


@both_lanes(60, 250)
@pytest.mark.parametrize("model", _models(CLASSIFIERS, "gradients in order"))
def test_classifiers(model, repetitions):
    rng, found, n = np.random.default_rng(0), [], 9
    score = "probability" if hasattr(model, "predict_proba") else "margin"
    clf = FullConformalClassifier(ModelScore(model, score=score), random_state=0, n_jobs=1)
    for _ in range(repetitions):
        y = np.tile([0, 1], n)[: n + 1]
        y = y[rng.permutation(n + 1)]
        X = rng.normal(size=(n + 1, 2)) + y[:, None]
        found.append(clf.fit(X[:n], y[:n]).predict_p(X[n:])[0, y[n]])
    _require_level(found, "greater")  # labels tie


TRANSFORMERS = [
    Nystroem(n_components=3, gamma=0.5, random_state=0),
    pytest.param(IncrementalPCA(2, batch_size=4), marks=pytest.mark.slow),
]


@both_lanes(300, 1000)
@pytest.mark.parametrize("transformer", TRANSFORMERS)
def test_transformers_of_training_and_test_objects(transformer, repetitions):
    rng, found, n = np.random.default_rng(0), [], 19
    detector = ConformalAnomalyDetector(KDE(), preprocess=transformer, random_state=0, n_jobs=1)
    for _ in range(repetitions):
        X = rng.normal(size=(n + 1, 3))
        found.append(detector.fit(X[:n]).predict_p(X[n:])[0])
    _require_level(found)


def test_the_order_of_training_examples_changes_nothing():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(14, 2)), rng.normal(size=14)
    order = rng.permutation(12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for model in (REGRESSORS["gradients in order"], ModelResidual(REGRESSORS["a network"], residual="deleted")):
            reg = FullConformalRegressor(model, random_state=0, n_jobs=1)
            first = reg.fit(X[:12], y[:12]).predict_p(X[12:], y[12:])
            assert (reg.fit(X[order], y[order]).predict_p(X[12:], y[12:]) == first).all()
            intervals = reg.predict_interval(X[12:], 0.8)
            assert (reg.fit(X[:12], y[:12]).predict_interval(X[12:], 0.8) == intervals).all()
