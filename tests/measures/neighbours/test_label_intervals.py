"""Intervals of scores give the counts and the best labels of the plain way, on data that break careless bounds."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import ALWAYS_INTERVALS, ALWAYS_SCREENED, some_basis
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from exactcp import FullConformalClassifier, pvalues
from exactcp.measures import KNN, NN, SimplifiedKNN
from exactcp.measures.neighbours import _label_bag, _search, _tuning
from exactcp.measures.neighbours._tuning import NeighbourTuning
from exactcp.predicting.credibility import most_credible
from hostile import KINDS, hostile

MEASURES = {"NN": NN(), "KNN 4": KNN(4), "KNN 15": KNN(), "SimplifiedKNN 3": SimplifiedKNN(3)}
LABELS = ["many", "of one example", "one large", "absent", "duplicates of many", "ten"]
# kinds that float32 is too coarse for: intervals by products in float64 are compiled in the slow lane
TOO_FINE = {"densities", "finer than float32"}
CASES = [
    pytest.param(kind, labels, marks=[pytest.mark.slow] * (kind in TOO_FINE)) for kind in KINDS for labels in LABELS
]
ROUTES = {
    "plain": NeighbourTuning(few=10**9),
    "screened": NeighbourTuning(**ALWAYS_SCREENED, many_labels=10**9),
    "sketched intervals": NeighbourTuning(**ALWAYS_INTERVALS),
    "intervals": NeighbourTuning(**ALWAYS_INTERVALS),
}


def _labelled(kind, labels, seed, n, p):
    """Return hostile objects with many labels, 0..n_labels-1, and rows to ask about."""
    X, _, asked = hostile(kind, "two", seed, n, p)
    rng = np.random.default_rng(seed)
    n_labels = {"ten": 10, "of one example": n, "duplicates of many": n // 2}.get(labels, max(2, n // 6))
    y = rng.integers(0, n_labels, n)
    if labels == "of one example":
        y = rng.permutation(n)
    elif labels == "one large":
        y[: n // 2] = 0
    elif labels == "absent":
        y = y // 2 * 2
    elif labels == "duplicates of many":  # each object with two labels
        X[n // 2 :] = X[: n - n // 2]
        y = np.arange(n) % n_labels
    return X, y, n_labels, asked


def _bag(measure, X, y, n_labels):
    return clone(measure).set_params(search="brute").bag(X, y, n_labels)


def _count(bag, asked, route, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(_tuning, "KNOBS", ROUTES[route])
        if route == "sketched intervals":
            patch.setattr(_search, "find_basis", some_basis)
        calls = []

        def counted(*args):
            calls.append(args)
            return by_intervals(*args)

        by_intervals = _label_bag.count_by_intervals
        patch.setattr(_label_bag, "count_by_intervals", counted)
        bag.search.forget_screen()
        bag.search._basis = None
        counts = bag.label_counts(asked)
    assert bool(calls) == ("intervals" in route)
    return counts


def _best(counts, sizes):
    """Labels with the largest p-values, ties by score: marginal and by label, deterministic and smoothed."""
    found, tau = [], np.full(counts.scores.shape[0], 0.37)
    for compared in (pvalues.marginal(counts, int(sizes.sum())), pvalues.label_conditional(counts, sizes)):
        for p in (pvalues.deterministic_p(compared), pvalues.smoothed_p(compared, tau)):
            found += [most_credible(p, counts.scores).label]
    return found


def _assert_equal(found, expected, sizes):
    for field in found._fields[:4]:
        np.testing.assert_array_equal(getattr(found, field), getattr(expected, field), err_msg=field)
    np.testing.assert_array_equal(_best(found, sizes), _best(expected, sizes))


def _assert_every_route(measure, X, y, n_labels, asked, monkeypatch, routes=ROUTES):
    bag = _bag(measure, X, y, n_labels)
    expected = _count(bag, asked, "plain", monkeypatch)
    for route in routes:
        _assert_equal(_count(bag, asked, route, monkeypatch), expected, bag.sizes)
    _assert_equal(
        _count(bag, asked[:1], "intervals", monkeypatch), type(expected)(*(f[:1] for f in expected)), bag.sizes
    )


@pytest.mark.parametrize(("kind", "labels"), CASES)
def test_counts_and_best_labels_on_hostile_data(kind, labels, monkeypatch):
    seed = KINDS.index(kind) * 10 + LABELS.index(labels)
    n, p = [60, 240, 400][seed % 3], [2, 3, 5, 9][seed % 4]
    X, y, n_labels, asked = _labelled(kind, labels, seed, n, p)
    asked = np.concatenate([asked, asked[:17] + 1e-7 * np.abs(X).max()])  # two groups of test objects
    for name in list(MEASURES)[seed % 2 :: 2]:
        _assert_every_route(MEASURES[name], X, y, n_labels, asked, monkeypatch)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_data_give_the_counts_of_the_plain_way(data):
    _assert_drawn(data)


@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_some_data_give_the_counts_of_the_plain_way(data):
    _assert_drawn(data)


def _assert_drawn(data):
    kind, labels = data.draw(st.sampled_from(KINDS)), data.draw(st.sampled_from(LABELS))
    n, p, k = data.draw(st.integers(40, 500)), data.draw(st.integers(2, 20)), data.draw(st.sampled_from([1, 2, 7, 60]))
    route, measure = data.draw(st.sampled_from(list(ROUTES))), data.draw(st.sampled_from([KNN(k), SimplifiedKNN(k)]))
    X, y, n_labels, asked = _labelled(kind, labels, data.draw(st.integers(0, 2**32 - 1)), n, p)
    with pytest.MonkeyPatch.context() as patch:
        _assert_every_route(measure, X, y, n_labels, asked, patch, [route])


def _blobs(n, n_labels, p, wrong):
    rng = np.random.default_rng(n)
    y = np.concatenate([np.arange(n_labels), rng.integers(0, n_labels, n - n_labels)])
    X = rng.normal(size=(n_labels, p))[y] + 0.5 * rng.normal(size=(n, p))
    y[rng.random(n) < wrong] = 0
    return X, y, X[rng.integers(0, n, 300)] + 0.5 * rng.normal(size=(300, p))


@pytest.mark.parametrize("mondrian", [None, "label"])
def test_blobs_are_mostly_decided_and_predicted_alike(mondrian, monkeypatch):
    X, y, asked = _blobs(2000, 60, 12, 0.05)
    expected = FullConformalClassifier(KNN(5, search="brute"), mondrian=mondrian).fit(X, y)
    found = FullConformalClassifier(KNN(5, search="brute"), mondrian=mondrian, n_jobs=2).fit(X, y)
    monkeypatch.setattr(_tuning, "KNOBS", ROUTES["screened"])
    p, labels, exact = expected.predict_p(asked), expected.predict(asked), expected._bag.label_counts(asked).scores
    monkeypatch.setattr(_tuning, "KNOBS", NeighbourTuning(**ALWAYS_SCREENED))
    np.testing.assert_array_equal(found.predict_p(asked), p)
    np.testing.assert_array_equal(found.predict(asked), labels)
    assert found._bag._intervals_pay
    rough = found._bag.label_counts(asked).scores
    assert np.mean(exact != rough) > 0.8  # where they are not measured
    np.testing.assert_allclose(rough, exact, rtol=1e-4)


def test_intervals_that_leave_all_open_are_given_up(monkeypatch):
    rng = np.random.default_rng(0)
    X, y, asked = rng.integers(0, 4, (2000, 3)) * 1.0, rng.integers(0, 40, 2000), rng.integers(0, 4, (300, 3)) * 1.0
    bag = _bag(KNN(1), X, y, 40)
    expected = _count(bag, asked, "screened", monkeypatch)
    monkeypatch.setattr(_tuning, "KNOBS", NeighbourTuning(**ALWAYS_SCREENED))
    _assert_equal(bag.label_counts(asked), expected, bag.sizes)
    assert not bag._intervals_pay
    bag.learn(asked[:1], y[:1])
    assert bag._intervals_pay  # another state, another question
