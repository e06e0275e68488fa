"""Copies of a predictor and forks of a bag learn and forget each for itself, while others read what they hold."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from exactcp import FullConformalClassifier
from exactcp.measures import KDE, KNN, LSSVM, Bootstrap, KNNResidual, ModelResidual, RandomForest
from exactcp.measures._algorithm_1 import StandardBag, StandardTargetBag
from interruptions import same
from label_changes import LABEL_CHANGES as CHANGES
from label_changes import PROBE, N, X, Y
from nearest_mean import NearestMean

pytestmark = pytest.mark.filterwarnings("ignore:Bootstrap trains on", "ignore:ModelResidual fits")

MEASURES = {
    "KNN": KNN(3),
    "KDE": KDE(0.8),
    "KDE scott": KDE("scott"),
    "primal": LSSVM(rho=0.5, solver="primal"),
    "dual": LSSVM(kernel="rbf", gamma=0.5, solver="dual"),
    "svd of rows": LSSVM(rho=1e-6, solver="svd"),
    "svd of a kernel": LSSVM(kernel="rbf", rho=1e-3, solver="svd"),
}


@pytest.fixture(params=MEASURES)
def clf(request):
    clf = FullConformalClassifier(MEASURES[request.param], n_jobs=1).fit(X[: N - 1], Y[: N - 1])
    return clf.partial_fit(X[N - 1 : N], Y[N - 1 : N])  # so that there is room, which one of two copies takes


@pytest.mark.parametrize("second", CHANGES)
@pytest.mark.parametrize("first", ["learn one", "learn many", "unlearn one", "a label comes"])
def test_two_copies_change(clf, first, second):
    alone = pickle.loads(pickle.dumps(clf))
    before = clf.predict_p(PROBE)
    copies = [copy.copy(clf), copy.copy(clf)]
    for one, change in zip(copies, (first, second), strict=True):
        CHANGES[change](one)
    assert same(clf.predict_p(PROBE), before)
    for one, change in zip(copies, (first, second), strict=True):
        np.testing.assert_array_equal(one.predict_p(PROBE), CHANGES[change](copy.copy(alone)).predict_p(PROBE))


def test_a_copy_goes_through_a_long_history(clf, rng):
    before, one, kept = clf.predict_p(PROBE), copy.copy(clf), list(range(N))
    for i in range(N, 3 * N):
        one.partial_fit(X[i : i + 1], Y[i : i + 1])
        kept.append(i)
        if i % 3 == 0:
            gone = int(rng.integers(2, len(kept)))  # the two first have their label alone
            one.unlearn(gone)
            del kept[gone]
        assert same(clf.predict_p(PROBE), before)
    fresh = FullConformalClassifier(clf.measure).fit(X[kept], Y[kept])
    np.testing.assert_array_equal(one.predict_p(PROBE), fresh.predict_p(PROBE))


def test_one_thread_learns_while_others_predict(clf):
    expected = {clf.predict_p(PROBE).tobytes()}
    plain = pickle.loads(pickle.dumps(clf))
    for i in range(N, N + 30):
        expected.add(plain.partial_fit(X[i : i + 1], Y[i : i + 1]).predict_p(PROBE).tobytes())
    with ThreadPoolExecutor(2) as pool:
        found = [pool.submit(clf.predict_p, PROBE) for _ in range(20)]
        for i in range(N, N + 30):
            found += [pool.submit(clf.predict_p, PROBE) for _ in range(3)]
            clf.partial_fit(X[i : i + 1], Y[i : i + 1])
    assert {one.result().tobytes() for one in found} <= expected


# bags that replace what they hold, since refits take long

_rng = np.random.default_rng(3)
FEW_Y = np.array([0, 1, 2, 0, 1, 1, 2, 0, 1, 0, 2, 1, 0, 1])
FEW = np.round(_rng.normal(size=(14, 2)) + FEW_Y[:, None], 1)
ASKED = np.round(_rng.normal(size=(3, 2)) + 1.0, 1)

BAGS = {
    "forest, multinomial": lambda X, y: RandomForest(3, 3).bag(X, y, 3),
    "forest, bernoulli": lambda X, y: RandomForest(3, 3, resampling="bernoulli").bag(X, y, 3),
    "bootstrap": lambda X, y: Bootstrap(NearestMean(), 2).bag(X, y, 3),
    "algorithm 1": lambda X, y: StandardBag(KNN(2), X, y, 3),
    "model of regression": lambda X, y: ModelResidual(LinearRegression()).bag(X, y.astype(float)),
    "algorithm 1 of regression": lambda X, y: StandardTargetBag(KNNResidual(2), X, y.astype(float)),
}


def _answers(bag):
    if hasattr(bag, "targets"):
        return np.array(bag.counts(ASKED, np.array([0.0, 1.3, 2.0])))
    return np.array(bag.label_counts(ASKED))


@pytest.mark.parametrize("name", BAGS)
def test_a_fork_changes_alone_and_equals_a_fresh_bag(name):
    make = BAGS[name]
    bag = make(FEW[:10], FEW_Y[:10])
    before = _answers(bag)
    learned, other, forgotten = bag.fork(), bag.fork(), bag.fork()
    learned.learn(FEW[10:], FEW_Y[10:])
    other.learn(FEW[12:], FEW_Y[12:])
    forgotten.unlearn(np.array([8, 9]))
    np.testing.assert_array_equal(_answers(learned), _answers(make(FEW, FEW_Y)))
    without = np.delete(np.arange(14), [10, 11])
    np.testing.assert_array_equal(_answers(other), _answers(make(FEW[without], FEW_Y[without])))
    np.testing.assert_array_equal(_answers(forgotten), _answers(make(FEW[:8], FEW_Y[:8])))
    if hasattr(bag, "relabel"):
        swapped = bag.fork()
        swapped.relabel(np.array([2, 1, 0]), 3)
        np.testing.assert_array_equal(_answers(swapped), _answers(make(FEW[:10], 2 - FEW_Y[:10])))
    np.testing.assert_array_equal(_answers(bag), before)
    assert bag.n == 10


@pytest.mark.parametrize("name", BAGS)
def test_what_becomes_of_the_users_arrays_does_not_matter(name):
    X, y = FEW.copy(), FEW_Y.copy()
    bag = BAGS[name](X, y)
    before = _answers(bag)
    X[:], y[:] = 0.0, 0
    np.testing.assert_array_equal(_answers(bag), before)
