"""Regression and Venn prediction change wholly or not at all, wherever the change is interrupted."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from exactcp import FullConformalRegressor, VennPredictor
from exactcp.measures import KNNResidual, LassoResidual, RidgeResidual
from interruptions import times_survived
from slices import sliced

RNG = np.random.default_rng(0)
X, Y = RNG.integers(0, 5, (60, 2)).astype(float), RNG.integers(0, 4, 60).astype(float)
X[20:30] = X[20]  # more at one place than a list holds
PROBES, TARGETS = np.concatenate([2.0 * RNG.normal(size=(5, 2)), X[:1]]), np.linspace(-1.0, 4.0, 6)


def l1(a, b):
    return float(np.abs(a - b).sum())


MEASURES = {
    "k-NN": KNNResidual(k=3),
    "callable": KNNResidual(k=2, metric=l1),
    "ridge": RidgeResidual(rho=0.5),
    "ridge svd": RidgeResidual(rho=0.5, solver="svd", residual="deleted"),
    "ridge rbf": RidgeResidual(rho=0.5, kernel="rbf", gamma=0.3),
    "lasso": LassoResidual(lam=0.5),
}
CHANGES = {
    "fit": lambda e: e.fit(X[10:40], Y[10:40]),
    "learn one": lambda e: e.partial_fit(X[40:41], Y[40:41]),
    "learn three": lambda e: e.partial_fit(X[40:43], Y[40:43]),
    "learn many": lambda e: e.partial_fit(X[40:], Y[40:]),
    "learn far targets": lambda e: e.partial_fit(X[40:41], Y[40:41] + 1.7e12),
    "unlearn one": lambda e: e.unlearn(7),
    "unlearn one of many at a place": lambda e: e.unlearn(21),
    "unlearn three": lambda e: e.unlearn([0, 39, 7]),
    "unlearn many": lambda e: e.unlearn(np.arange(15)),
}
VENN_CHANGES = {
    **{name: change for name, change in CHANGES.items() if "far" not in name},
    "learn a new label": lambda e: e.partial_fit(X[40:42], [0, -7]),
    "unlearn a label": lambda e: e.unlearn(np.flatnonzero(Y[:40] == 1)),
}


def _answers(reg):
    if isinstance(reg, VennPredictor):
        return reg.predict_proba_interval(PROBES), reg.predict(PROBES), reg.classes_, [reg.n_features_in_]
    return reg.predict_p(PROBES, TARGETS), reg.predict_interval(PROBES, 0.6), reg.predict(PROBES), [reg.n_features_in_]


def _fitted(predictor):
    predictor = copy.deepcopy(predictor).fit(X[:40], Y[:40])
    return predictor.partial_fit(X[50:51], Y[50:51]).unlearn(40)  # the lists have room now


def _regressor(name):
    return _fitted(FullConformalRegressor(MEASURES[name], n_jobs=1))


@pytest.mark.parametrize(("name", "change"), sliced(2, MEASURES, CHANGES))
def test_a_regressor(name, change):
    assert times_survived(_regressor(name), CHANGES[change], _answers, most=9) > 10


@pytest.mark.parametrize("change", [lambda e: e.partial_fit(X[:1], Y[:1]), lambda e: e.unlearn(0)])
def test_the_standard_algorithm(change):
    reg = FullConformalRegressor(KNNResidual(k=2), algorithm="standard", n_jobs=1).fit(X[:10], Y[:10])
    assert times_survived(reg, change, _answers, most=9) > 10


@pytest.mark.parametrize("change", VENN_CHANGES)
def test_a_venn_predictor(change):
    assert times_survived(_fitted(VennPredictor(k=3, n_jobs=1)), VENN_CHANGES[change], _answers, most=25) > 15


@pytest.mark.slow
@pytest.mark.parametrize("event", ["call", "line"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", MEASURES)
def test_a_regressor_everywhere(name, change, event):
    assert times_survived(_regressor(name), CHANGES[change], _answers, event=event) > 10


@pytest.mark.slow
@pytest.mark.parametrize("event", ["call", "line"])
@pytest.mark.parametrize("metric", ["euclidean", l1])
@pytest.mark.parametrize("change", VENN_CHANGES)
def test_a_venn_predictor_everywhere(metric, change, event):
    predictor = _fitted(VennPredictor(k=3, metric=metric, n_jobs=1))
    assert times_survived(predictor, VENN_CHANGES[change], _answers, event=event) > 15


@pytest.mark.parametrize("kind", ["k-NN", "Venn"])
@pytest.mark.parametrize(
    "change",
    ["learn one", "learn three", "learn many", "learn a new label", "unlearn one of many at a place", "unlearn many"],
)
def test_an_error_of_the_users_metric(kind, change):
    calls, failing = 0, -1

    def metric(a, b):
        nonlocal calls
        calls += 1
        if calls == failing:
            raise RuntimeError("out of order")
        return l1(a, b)

    how = {"metric": metric, "k": 2}
    make = FullConformalRegressor(KNNResidual(**how)) if kind == "k-NN" else VennPredictor(**how)
    one, other = (make.__class__(**make.get_params(deep=False)).fit(X[:40], Y[:40]) for _ in range(2))
    for predictor in (one, other):
        predictor.partial_fit(X[50:51], Y[50:51]).unlearn(40)
    operation = VENN_CHANGES[change]
    before, calls = _answers(one), 0
    operation(other)
    for place in np.linspace(1, calls, 12).astype(int):
        calls, failing = 0, place
        with pytest.raises(RuntimeError, match="out of order"):
            operation(one)
        failing = -1
        for found, expected in zip(_answers(one), before, strict=True):
            np.testing.assert_array_equal(found, expected)
    operation(one)
    for found, expected in zip(_answers(one), _answers(other), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("kind", ["k-NN", "Venn"])
def test_one_example_changes_the_neighbourhoods_in_place_unless_somebody_reads_them(kind):
    predictor = _fitted(FullConformalRegressor(KNNResidual(k=3)) if kind == "k-NN" else VennPredictor(k=3))
    values = predictor._bag._state.values
    predictor.partial_fit(X[41:42], Y[41:42])
    assert predictor._bag._state.values is values
    predictor.unlearn(0)
    assert predictor._bag._state.values is values
    before, reader = _answers(predictor), copy.copy(predictor)
    predictor.partial_fit(X[42:43], Y[42:43])
    assert predictor._bag._state.values is not values
    for found, expected in zip(_answers(reader), before, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_crowds_that_come_and_go_leave_no_litter():
    """Where many objects are equal, each change counts the labels of all of them anew."""
    objects, labels = np.zeros((60, 1)), np.arange(60) % 3
    predictor = VennPredictor(k=2).fit(objects[:40], labels[:40])
    for i in range(40, 60):
        predictor.partial_fit(objects[i : i + 1], labels[i : i + 1]).unlearn(0)
        assert predictor._bag._categories.crowds.shape[0] <= 64 + 3 * 40
    fresh = VennPredictor(k=2).fit(objects[20:], labels[20:])
    np.testing.assert_array_equal(predictor.predict_proba_interval([[0.0]]), fresh.predict_proba_interval([[0.0]]))


@pytest.mark.parametrize("kind", ["k-NN", "Venn"])
def test_precomputed_distances_change_in_place(kind):
    D = cdist(X, X)
    how = {"metric": "precomputed", "k": 3}
    predictor = FullConformalRegressor(KNNResidual(**how)) if kind == "k-NN" else VennPredictor(**how)
    predictor.fit(D[:30, :30], Y[:30])
    known = np.arange(30)
    for i in range(30, 45):
        predictor.partial_fit(D[np.ix_([i], [*known, i])], Y[[i]])
        known = np.append(known, i)
        predictor.unlearn(i % 7)
        known = np.delete(known, i % 7)
    fresh = predictor.__class__(**predictor.get_params(deep=False)).fit(D[np.ix_(known, known)], Y[known])
    asked = D[45:51][:, known]
    if kind == "k-NN":
        np.testing.assert_array_equal(predictor.predict_p(asked, TARGETS), fresh.predict_p(asked, TARGETS))
    else:
        np.testing.assert_array_equal(predictor.predict_proba_interval(asked), fresh.predict_proba_interval(asked))
