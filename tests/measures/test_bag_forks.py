"""Copies of a predictor learn and forget each for itself, while others read what they hold."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from exactcp import FullConformalClassifier, FullConformalRegressor
from exactcp.measures import KDE, KNN, LSSVM, RidgeResidual
from interruptions import same
from label_changes import LABEL_CHANGES as CHANGES
from label_changes import PROBE, N, X, Y

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


def test_threads_that_predict_give_the_bits_of_one(clf):
    questions = np.tile(PROBE, (6, 1))
    alone = pickle.loads(pickle.dumps(clf)).predict_p(questions)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(clf.predict_p, [questions] * 16):
            assert same(found, alone)
    assert same(np.concatenate([clf.predict_p(q[None]) for q in questions]), alone)


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


def test_an_object_that_a_kernel_cannot_take_changes_no_other_answer():
    X, nowhere = 3.0 * np.eye(6), np.zeros((1, 6))
    measure = RidgeResidual(kernel="sigmoid", gamma=1.0, coef0=-0.1, rho=0.05, fit_intercept=False)
    reg = FullConformalRegressor(measure, n_jobs=1).fit(X, np.arange(6.0))
    before = reg.predict_interval(X, 0.5)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        reg.predict_interval(nowhere, 0.5)
    assert same(reg.predict_interval(X, 0.5), before)
