"""Small work is done in NumPy: with the answers of the kernels, bit for bit, and without numba."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
from unittest.mock import Mock

import numpy as np
import pytest
from sklearn.base import clone

import exactcp
from exactcp import (
    ConformalAnomalyDetector,
    CVPlusRegressor,
    ExchangeabilityTest,
    FullConformalClassifier,
    FullConformalRegressor,
    JackknifePlusRegressor,
    SplitConformalClassifier,
    SplitConformalRegressor,
    VennPredictor,
    _compiling,
    _jit,
    _numpy_first,
)
from exactcp.counting import small as counting
from exactcp.measures import KDE, KNN, LSSVM, NN, KNNResidual, Measure, RidgeResidual, SimplifiedKNN
from exactcp.measures._small_bag import PAIRS, NumpyFirst, SmallBag, blocks
from exactcp.measures.neighbours._target_bag import ResidualBag
from slices import slow_but

MEASURES = [
    NN(),
    KNN(3),
    KNN(2, metric="correlation"),
    SimplifiedKNN(4, metric="chebyshev"),
    SimplifiedKNN(2, metric=lambda a, b: float(np.abs(a - b).sum())),
    KDE(),
    KDE(6.0, "cosine"),
    KDE(0.7, "epanechnikov"),
    KDE(3.0, "tophat"),
    KDE(2.0, "linear"),
    KDE("silverman", "exponential"),
    LSSVM(),
    LSSVM(0.01, fit_intercept=True),
    LSSVM(kernel="rbf"),
]
RESIDUALS = [
    KNNResidual(1),
    KNNResidual(6),
    KNNResidual(3, metric="manhattan"),
    RidgeResidual(),
    RidgeResidual(0.1, residual="ordinary", fit_intercept=True),
    RidgeResidual(2.0, residual="deleted", kernel="rbf"),
]
CATEGORIES = [None, "label", lambda X: X[:, 0] > 0]


pytestmark = pytest.mark.filterwarnings("ignore:confidence_level=")


def both(answers):
    """Return what NumPy answers, and what kernels do."""
    found = []
    for numpy in (True, False):
        with _numpy_first.forced(numpy=numpy):
            found.append(answers())
    return found


def assert_same_bits(answers):
    for ours, theirs in zip(*both(answers), strict=True):
        np.testing.assert_array_equal(np.asarray(ours), np.asarray(theirs))


def drawn(seed):
    """Return objects, labels and targets: normal ones, ties, multiples; some targets are far from 0."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(8, 50)), int(rng.integers(2, 24))
    X = [
        rng.normal(size=(n + 12, p)),
        rng.integers(0, 3, size=(n + 12, p)).astype(float) + np.arange(p),
        rng.normal(size=(n + 12, p)).astype(np.float32),
        rng.normal(size=(4, p))[rng.integers(0, 4, n + 12)],
    ][seed % 4]
    y = np.concatenate([np.arange(2), rng.integers(0, 2 + seed % 3, n + 10)])
    t = rng.integers(-2, 3, n + 12).astype(float) if seed % 2 else rng.normal(size=n + 12) + 1e5 * (seed % 3)
    return X, y, t, n


@pytest.mark.parametrize("seed", slow_but([0, 1, 2, 3], range(40)))
@pytest.mark.parametrize("measure", MEASURES)
def test_labels(measure, seed):
    X, y, _, n = drawn(seed)
    old, new = slice(0, n), slice(n, n + 2)

    def answers():
        predictor = FullConformalClassifier(clone(measure), mondrian=CATEGORIES[seed % 3]).fit(X[old], y[old])
        best = predictor.predict_confidence(X[n:])
        found = [predictor.predict_p(X[n:]), best.label, best.confidence, best.credibility]
        predictor.partial_fit(X[new], y[new])
        found += [predictor.predict_p(X[n:]), predictor.predict_set(X[n + 2 :], 0.8)]
        found.append(predictor.unlearn([n // 2, n]).predict_p(X[n:]))
        if seed % 3 == 0:
            found += [part for scores in predictor._bag.scores(X[n:]) for part in scores]
        split = SplitConformalClassifier(clone(measure), random_state=0).fit(X[old], y[old])
        return [*found, split.predict_p(X[n:])]

    assert_same_bits(answers)


@pytest.mark.parametrize("seed", slow_but([0, 1, 2, 3], range(40)))
@pytest.mark.parametrize("measure", RESIDUALS)
def test_targets(measure, seed):
    X, _, t, n = drawn(seed)
    old, new = slice(0, n), slice(n, n + 2)

    def answers():
        predictor = FullConformalRegressor(clone(measure), mondrian=CATEGORIES[seed % 2 * 2]).fit(X[old], t[old])
        found = [predictor.predict(X[n:]), predictor.predict_p(X[n:], t[n:])]
        found += [predictor.predict_interval(X[n:], level) for level in (0.5, 0.8, 0.95)]
        found += [region.to_numpy() for region in predictor.predict_region(X[n:], 0.7)]
        predictor.partial_fit(X[new], t[new])
        found += [predictor.predict_interval(X[n:], 0.8), predictor.predict_p(X[n:], t[n:])]
        predictor.unlearn([1, n])
        found += [predictor.predict_interval(X[n:], 0.8), predictor.predict_p(X[n:], t[n:])]
        split = SplitConformalRegressor(clone(measure), random_state=0).fit(X[old], t[old])
        found += [split.predict(X[n:]), split.predict_interval(X[n:], 0.7)]
        if not isinstance(measure, RidgeResidual) or measure.residual == "studentized":
            found.append(predictor.predict_distribution(X[n:]).quantile(0.5))
        return found

    assert_same_bits(answers)


@pytest.mark.parametrize("seed", slow_but([0, 1, 2, 3], range(40)))
def test_votes_anomalies_streams_folds_and_draws(seed):
    X, y, t, n = drawn(seed)

    def answers():
        votes = VennPredictor(1 + seed % 7).fit(X[:n], y[:n])
        found = [votes.predict_proba_interval(X[n:])]
        found.append(votes.partial_fit(X[n : n + 2], y[n : n + 2]).predict_proba(X[n:]))
        found.append(votes.unlearn([0, 3]).predict_proba(X[n:]))
        found.append(ConformalAnomalyDetector().fit(X[:n]).predict_p(X[n:]) if seed % 4 != 3 else 0)
        stream = ExchangeabilityTest(KNN(2), random_state=seed)
        stream.update_many(X, y)
        found += [stream.p_values_, stream.log_martingale_]
        found.append(
            CVPlusRegressor(RidgeResidual(), cv=3, random_state=0).fit(X[:n], t[:n]).predict_interval(X[n:], 0.8)
        )
        smoothed = FullConformalClassifier(KNN(3), smoothed=True, random_state=seed).fit(X[:n], y[:n])
        return [*found, smoothed.predict_p(X[n:])]

    assert_same_bits(answers)


def test_sets_of_targets_at_the_edges():
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(0, 12))
        A, g = rng.integers(-3, 4, n).astype(float), rng.choice([0, 0.5, 1, -1, 1 + 1e-14, 1 - 1e-12, 1 + 1e-11], n)
        how = np.ones(n), rng.choice([0.0, 1e-12, 0.5], n), rng.uniform(size=n) < 0.8
        size, z = float(rng.uniform()), float(rng.choice([0.0, 1.0, 2.5]))
        ends = both(lambda A=A, g=g, how=how, size=size: counting.sorted_ends(A, g, *how, size))
        np.testing.assert_array_equal(*ends)
        for threshold in range(n + 2):
            np.testing.assert_array_equal(*both(lambda e=ends[0], k=threshold: counting.covered(e, k)))
        counted = []
        for numpy in (True, False):
            counted.append(np.empty(3, np.int64))
            with _numpy_first.forced(numpy=numpy):
                counting.count_affine(A, g, *how, z, size, counted[-1])
        np.testing.assert_array_equal(*counted)


def test_ends_of_folds():
    rng = np.random.default_rng(0)
    starts, ascending = np.array([0, 5, 5, 20]), np.concatenate([np.sort(rng.normal(size=m)) for m in (5, 15)])
    edges, scales = rng.normal(size=(7, 3)).round(1), rng.integers(1, 3, (7, 3)) / 2
    for k in range(1, 21):
        np.testing.assert_array_equal(*both(lambda k=k: counting.kth_largest(ascending, starts, edges, scales, k)))


# --- the rule


@pytest.fixture
def fresh(monkeypatch):
    """A process that has loaded no kernel, as far as the rule is concerned."""
    monkeypatch.setattr(_numpy_first, "_forced", None)
    monkeypatch.setattr(_numpy_first, "_spent", 0.0)
    monkeypatch.setattr(_jit, "_is_loaded", False)
    monkeypatch.setattr(_jit, "load_kernels", lambda: None)  # kernels may have been loaded by other tests


def test_small_work_goes_to_numpy_until_a_kernel_is_loaded_or_time_is_spent(fresh, monkeypatch):
    assert _numpy_first.is_small(1.0)
    assert not _numpy_first.is_small(2 * _numpy_first.LARGEST)
    monkeypatch.setattr(_numpy_first, "_spent", 2 * _numpy_first.PATIENCE)
    assert not _numpy_first.is_small(1.0)
    with _numpy_first.counted():
        assert _numpy_first.is_small(1e12)  # what began in NumPy ends there
    monkeypatch.setattr(_numpy_first, "_spent", 0.0)
    monkeypatch.setattr(_jit, "_is_loaded", True)
    assert not _numpy_first.is_small(1.0)


def test_a_bag_goes_over_to_kernels_and_answers_the_same(fresh, monkeypatch):
    X, y, t, n = drawn(0)
    for predictor, answers in (
        (FullConformalClassifier(KNN(3)), y),
        (FullConformalRegressor(KNNResidual(3)), t),
        (VennPredictor(3), y),
    ):
        ask = "predict_proba" if isinstance(predictor, VennPredictor) else "predict_frame"
        fitted = predictor.fit(X[:n], answers[:n])
        first = getattr(fitted, ask)(X[n:])
        assert isinstance(fitted._bag._own, SmallBag)
        stored = pickle.loads(pickle.dumps(fitted))
        monkeypatch.setattr(_jit, "_is_loaded", True)
        assert (np.asarray(getattr(fitted, ask)(X[n:])) == np.asarray(first)).all()
        assert not isinstance(fitted._bag._own, SmallBag)
        more, others = (one.partial_fit(X[n:], answers[n:]) for one in (fitted, stored))
        assert not isinstance(fitted._bag, NumpyFirst)
        assert (np.asarray(getattr(more, ask)(X[n:])) == np.asarray(getattr(others, ask)(X[n:]))).all()
        monkeypatch.setattr(_jit, "_is_loaded", False)


def test_search_forces_one_or_the_other(fresh):
    X, y, _, n = drawn(0)
    for search, name in (("numpy", "numpy"), ("auto", "numpy"), ("brute", "brute")):
        fitted = FullConformalClassifier(KNN(3, search=search)).fit(X[:n], y[:n])
        assert fitted.measure_.search_.name == name
        assert isinstance(fitted._bag, NumpyFirst) == (name == "numpy")
    with _numpy_first.forced(numpy=False):
        fitted = FullConformalClassifier(KNN(3, search="numpy")).fit(X[:n], y[:n])
        fitted.predict_p(X[n:])
        assert isinstance(fitted._bag._own, SmallBag)


def test_numpy_is_refused_where_it_has_no_way_and_taken_where_it_has(monkeypatch):
    X, _, t, n = drawn(0)
    with pytest.raises(ValueError, match="no way for jackknife"):
        JackknifePlusRegressor(KNNResidual(3, search="numpy")).fit(X, t)
    for measure in (KNN(3, search="numpy"), KNNResidual(3, search="numpy")):
        with pytest.raises(ValueError, match="no way for examples that lie in shards"):
            measure.sharded()
    monkeypatch.setattr(ResidualBag, "predict", Mock(side_effect=AssertionError))
    with _numpy_first.forced(numpy=False):
        split = SplitConformalRegressor(KNNResidual(3, search="numpy"), random_state=0).fit(X[:n], t[:n])
        assert np.isfinite(split.predict(X[n:])).all()
        with pytest.raises(AssertionError):
            split.set_params(measure__search="brute").fit(X[:n], t[:n])
    assert split.measure_.search_.name == "numpy"  # the refused fit changed nothing


def test_readers_in_threads_may_cross_the_border(fresh, monkeypatch):
    X, y, _, n = drawn(0)
    fitted = FullConformalClassifier(KNN(3)).fit(X[:n], y[:n])
    expected, found = fitted.predict_p(X[n:]), []

    def ask():
        found.extend(fitted.predict_p(X[n:]) for _ in range(20))

    readers = [threading.Thread(target=ask) for _ in range(4)]
    for reader in readers:
        reader.start()
    monkeypatch.setattr(_jit, "_is_loaded", True)
    for reader in readers:
        reader.join()
    assert len(found) == 80
    assert all((p == expected).all() for p in found)


@pytest.mark.parametrize(
    ("predictor", "labelled"),
    [
        (FullConformalClassifier(KNN(3)), True),
        (FullConformalRegressor(KNNResidual(3)), False),
        (VennPredictor(3), True),
    ],
)
def test_an_error_or_an_interruption_changes_nothing(predictor, labelled, monkeypatch):
    X, y, t, n = drawn(0)
    answers = y if labelled else t
    with _numpy_first.forced(numpy=True):
        fitted = predictor.fit(X[:n], answers[:n])
        apart, before = copy.copy(fitted), pickle.dumps(fitted._bag)
        small = type(fitted._bag._own)
        learn, forget = (lambda: fitted.partial_fit(X[n:], answers[n:])), (lambda: fitted.unlearn([0]))
        for method, change in (("learn", learn), ("unlearn", forget), ("_set", learn), ("_set", forget)):
            with monkeypatch.context() as patch:
                patch.setattr(small, method, Mock(side_effect=KeyboardInterrupt))
                with pytest.raises(KeyboardInterrupt):
                    change()
        assert pickle.dumps(fitted._bag) == before
        fitted.partial_fit(X[n:], answers[n:])
        assert pickle.dumps(apart._bag) == before


def test_blocks_have_each_row_once():
    assert [some.tolist() for some in blocks(np.arange(7), PAIRS // 3)] == [[0, 1, 2], [3, 4, 5], [6]]
    assert [some.tolist() for some in blocks(np.arange(2), 2 * PAIRS)] == [[0], [1]]


def test_what_overflows_is_refused_in_words():
    X, y, _, n = drawn(0)
    with _numpy_first.forced(numpy=True):
        fitted = FullConformalClassifier(KNN(3)).fit(X[:n], y[:n])
        with pytest.raises(ValueError, match="overflow"):
            fitted.predict_p(X[n:] * 1e200)


# --- without numba


def say(code, **environment):
    """Run code in a process of its own; return what it printed and its messages."""
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return found.stdout.strip(), found.stderr


FIRST_ANSWERS = """
import sys
import numpy as np
from sklearn.datasets import load_diabetes, load_digits
from sklearn.model_selection import train_test_split
from exactcp import *
from exactcp.measures import *
X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=100, random_state=0)
clf = FullConformalClassifier(KNN(k=3)).fit(X_train, y_train)
clf.predict_set(X_test, confidence_level=0.95)
clf.predict_confidence(X_test)
clf.partial_fit(X_test, y_test).unlearn([0, 1])
D, t = load_diabetes(return_X_y=True)
for measure in (None, RidgeResidual(), RidgeResidual(kernel="rbf")):
    FullConformalRegressor(measure).fit(D[:300], t[:300]).predict_interval(D[300:])
for measure in (LSSVM(), KDE(), SimplifiedKNN()):
    FullConformalClassifier(measure, smoothed=True, mondrian="label").fit(D[:300], t[:300] > 150).predict_set(D[300:])
VennPredictor().fit(D[:300], t[:300] > 150).predict_proba(D[300:])
ExchangeabilityTest(random_state=0).update_many(D[:50])
print("numba" in sys.modules)
"""


def test_first_answers_need_no_compiler():
    assert say(f"from exactcp import _numpy_first\n_numpy_first.PATIENCE = 60.0\n{FIRST_ANSWERS}") == ("False", "")


def test_compiling_is_told_in_one_line(tmp_path):
    code = (
        "import numpy as np\nfrom exactcp import *\nfrom exactcp import _compiling\nfrom exactcp.measures import *\n"
        "_compiling.NOTICE_AFTER = 0.1\nX = np.random.default_rng(0).normal(size=(40, 3))\n"
        "print(FullConformalClassifier(KDE()).fit(X, X[:, 0] > 0).predict_p(X).shape)"
    )
    force = "from exactcp import _numpy_first\n_numpy_first._forced = False\n"
    printed, messages = say(force + code, NUMBA_CACHE_DIR=str(tmp_path))
    assert printed == "(40, 2)"
    (line,) = messages.splitlines()
    assert line.startswith("Compiling kernel-density kernels (once; cached in ")
    assert say(force + code, NUMBA_CACHE_DIR=str(tmp_path)) == ("(40, 2)", "")


def test_sources_that_changed_since_the_import_find_no_old_code(monkeypatch):
    from exactcp import _kernel_cache

    assert _kernel_cache.find_folder()[1] == ""
    monkeypatch.setattr(_kernel_cache, "AT_IMPORT", _compiling.AT_IMPORT[1:])
    assert _kernel_cache.find_folder() == (None, "the package's sources have changed since they were imported")


def test_names_come_when_they_are_asked_for():
    assert say("import exactcp, sys\nprint('sklearn' in sys.modules)")[0] == "False"
    for module in (exactcp, exactcp.measures):
        assert all(getattr(module, name) is not None for name in module.__all__)
        assert set(module.__all__) <= set(dir(module))
        with pytest.raises(AttributeError, match="has no attribute"):
            _ = module.nothing
    assert exactcp.measures.Measure is Measure
