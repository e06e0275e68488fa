"""An interruption anywhere in a change leaves predictors with trees, samples and refits as they were."""

from __future__ import annotations

import contextlib
import copy
import sys
from inspect import CO_GENERATOR
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

import exactcp
from exactcp import FullConformalClassifier, FullConformalRegressor
from exactcp.measures import KNN, Bootstrap, KNNResidual, ModelResidual, ModelScore, RandomForest
from nearest_mean import NearestMean

PACKAGE = str(Path(exactcp.__file__).parent)
ERRORS = (KeyboardInterrupt, MemoryError)
LINES = 6  # of each change at which the normal lane interrupts it; the slow lane does at every call
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


def _run(action, estimator, events, moment=0, error=KeyboardInterrupt):
    """Return how many of the events ("call", "line") in the package an action makes; raise the error at one of them."""
    passed = 0

    def trace(frame, event, _):
        nonlocal passed
        code = frame.f_code
        # a generator that is left half-way is closed by Python, which swallows errors there
        if not code.co_filename.startswith(PACKAGE) or code.co_flags & CO_GENERATOR:
            return None
        if event in events:
            passed += 1
            if passed == moment:
                raise error
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        action(estimator)
    finally:
        sys.settrace(before)
    return passed


def _label_answers(clf):
    return clf.predict_p(X_PROBE), clf.classes_


def _target_answers(reg):
    return reg.predict_p(X_PROBE, np.array([0.5, 2.5])), reg.predict(X_PROBE)


def _equal(found, expected):
    return all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


def _assert_all_or_nothing(fitted, change, answers, *, calls=False):
    """Interrupt a change at many moments, and look at the answers afterwards."""
    before, changed = answers(fitted), copy.deepcopy(fitted)
    events = ("call",) if calls else ("call", "line")
    moments = _run(change, changed, events)
    after = answers(changed)
    assert not _equal(before, after), "the change must be seen in the answers"
    for k in range(1, moments + 1, 1 if calls else max(1, moments // LINES)):
        estimator, error = copy.deepcopy(fitted), ERRORS[k % 2]
        bag = estimator._bag
        with contextlib.suppress(error):  # Python may lose an error at the end of a `with`
            _run(change, estimator, events, k, error)
        found = answers(estimator)
        # nothing but the swap itself may have happened, and that only in the last lines
        assert _equal(found, before) or (k > moments - 4 and _equal(found, after)), f"{error.__name__} at moment {k}"
        if estimator._bag is bag:
            change(estimator)
        assert _equal(answers(estimator), after), f"done again after moment {k}"


@pytest.mark.parametrize("change", _label_changes(0))
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(name, change):
    clf, rows = CLASSIFIERS[name]
    fitted = copy.deepcopy(clf).fit(X[rows], Y[rows])
    _assert_all_or_nothing(fitted, _label_changes(rows.stop)[change], _label_answers)


@pytest.mark.parametrize("change", TARGET_CHANGES)
@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(name, change):
    fitted = copy.deepcopy(REGRESSORS[name]).fit(X[:9], TARGETS[:9])
    _assert_all_or_nothing(fitted, TARGET_CHANGES[change], _target_answers)


@pytest.mark.slow
@pytest.mark.parametrize("change", _label_changes(0))
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_at_every_call(name, change):
    clf, rows = CLASSIFIERS[name]
    fitted = copy.deepcopy(clf).fit(X[rows], Y[rows])
    _assert_all_or_nothing(fitted, _label_changes(rows.stop)[change], _label_answers, calls=True)


@pytest.mark.slow
@pytest.mark.parametrize("change", TARGET_CHANGES)
@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_at_every_call(name, change):
    fitted = copy.deepcopy(REGRESSORS[name]).fit(X[:9], TARGETS[:9])
    _assert_all_or_nothing(fitted, TARGET_CHANGES[change], _target_answers, calls=True)
