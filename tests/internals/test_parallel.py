"""Threads: the same bits for every number of them, the first error wins, Ctrl-C ends soon, BLAS stays as it was."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
from joblib import Parallel, delayed, parallel_config
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from threadpoolctl import threadpool_info, threadpool_limits

from exactcp import FullConformalClassifier, FullConformalRegressor, SplitConformalClassifier, _parallel
from exactcp.measures import KDE, KNN, LSSVM, KNNResidual, LassoResidual, ModelScore, RandomForest, RidgeResidual
from interruptions import same

USUAL = 3  # BLAS threads in these tests, so that one and two can be told from it
X = np.random.default_rng(0).normal(size=(300, 5))
LABELS, TARGETS = np.arange(300) % 2, X[:, 0] + np.sin(X[:, 1])
ASKED = np.column_stack([1000.0 + np.arange(30), X[:30, 1:]])  # test objects that tell their number
MEASURES = {
    "KNN": KNN(3),
    "KDE": KDE(),
    "LSSVM": LSSVM(),
    "LSSVM rbf": LSSVM(kernel="rbf"),
    "LSSVM svd": LSSVM(solver="svd"),
    "forest": RandomForest(4, random_state=0),
    "KNNResidual": KNNResidual(3),
    "RidgeResidual": RidgeResidual(),
    "RidgeResidual rbf": RidgeResidual(kernel="rbf", residual="ordinary"),
    "LassoResidual": LassoResidual(0.1),
}


def blas():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture
def usual():
    with threadpool_limits(USUAL, user_api="blas"):
        yield
        assert blas() == {USUAL}


def noting_blas(seen, wait=lambda: None):
    """Return a model that takes note of BLAS's threads when it is fitted, and then waits."""

    class Model(GaussianNB):
        def fit(self, X, y):
            seen.append(max(blas()))
            wait()
            return super().fit(X, y)

    return Model()


class Called(Ridge):
    """It calls a function with the number of the test object that it is fitted with."""

    def __init__(self, function=None):
        super().__init__()
        self.function = function

    def fit(self, X, y):
        if X[:, 0].max() >= 1000:
            self.function(int(X[:, 0].max()) - 1000)
        return super().fit(X, y)


def ask_one_by_one(function):
    """Ask about 30 test objects, in two threads: the model is fitted with each of them."""
    reg = FullConformalRegressor(Called(function), n_jobs=2).fit(X[:9], TARGETS[:9])
    return lambda: reg.predict_p(ASKED, np.arange(30.0))


@pytest.mark.parametrize("name", MEASURES)
def test_any_number_of_threads_gives_the_same_bits(name):
    is_regression, train, test, found = "Residual" in name, slice(0, 150), slice(150, 300), []
    predictor = FullConformalRegressor if is_regression else FullConformalClassifier
    parts = [slice(i, min(i + 37, 300)) for i in range(150, 300, 37)]
    asked = [(X[part], TARGETS[part]) if is_regression else (X[part],) for part in (test, *parts)]
    for n_jobs, of_blas in ((1, USUAL), (2, USUAL), (4, USUAL), (1, 1)):
        with threadpool_limits(of_blas, user_api="blas"):
            fitted = predictor(MEASURES[name], n_jobs=n_jobs).fit(
                X[train], (TARGETS if is_regression else LABELS)[train]
            )
            whole, *p = (fitted.predict_p(*one) for one in asked)
            np.testing.assert_array_equal(np.concatenate(p), whole)
            intervals = [fitted.predict_interval(X[test], [0.8, 0.9]), fitted.predict(X[test])] if is_regression else []
            found.append([whole, *intervals])
    assert all(same(answers, found[0]) for answers in found[1:])


@pytest.mark.filterwarnings("ignore:.*refits")
class TestBlocks:
    def test_the_first_of_several_errors_is_raised_when_nothing_runs_any_more(self):
        running, second_failed, begun = set(), threading.Event(), []

        def fail(number):
            running.add(number)
            begun.append(number)
            try:
                if number == 0:
                    assert second_failed.wait(60)
                second_failed.set()
                raise RuntimeError(f"object {number}")
            finally:
                running.remove(number)

        ask = ask_one_by_one(fail)
        for _ in range(20):
            begun.clear()
            with pytest.raises(RuntimeError, match="object 0"):
                ask()
            assert running == set()
        second_failed.clear()

    @pytest.mark.usefixtures("usual")
    @pytest.mark.skipif(os.name == "nt", reason="needs signals")
    @pytest.mark.parametrize("interruptions", [1, 2])
    def test_one_interruption_waits_for_what_runs_and_another_does_not(self, interruptions):
        came, release, begun, ended = [], threading.Event(), set(), []

        def handle(*_):
            came.append(1)
            if len(came) <= interruptions:
                raise KeyboardInterrupt
            if interruptions == 1:
                release.set()

        def work(number):
            begun.add(number)
            while not release.wait(0.01):
                os.kill(os.getpid(), signal.SIGINT)
            ended.append(number)

        ask, before = ask_one_by_one(work), signal.signal(signal.SIGINT, handle)
        try:
            with pytest.raises(KeyboardInterrupt):
                ask()
            assert len(ended) == (2 if interruptions == 1 else 0)
            assert blas() == {USUAL}
        finally:
            release.set()
            while len(ended) < 2:
                time.sleep(0.01)
            signal.signal(signal.SIGINT, before)
        assert len(begun) == 2

    def test_a_block_has_one_blas_thread(self):
        seen = []
        with threadpool_limits(USUAL, user_api="blas"):
            ask_one_by_one(lambda _: seen.append(max(blas())))()
        assert set(seen) == {1}


@pytest.mark.usefixtures("usual")
class TestBlasThreads:
    def test_four_threads_predict_and_leave_what_was(self):
        fitted = FullConformalClassifier(LSSVM(kernel="rbf")).fit(X, LABELS)
        threads = [threading.Thread(target=lambda: [fitted.predict_p(X[:60]) for _ in range(30)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def test_calls_that_overlap_have_the_fewest_and_leave_what_was(self):
        entered, leave = ([threading.Event() for _ in range(3)] for _ in range(2))

        def call(i):
            model = noting_blas([], lambda: (entered[i].set(), leave[i].wait()))
            SplitConformalClassifier(model, n_jobs=(1, 2, 4)[i]).fit(X, LABELS)

        threads, seen = [threading.Thread(target=call, args=(i,)) for i in range(3)], []
        for i in (2, 1, 0):
            threads[i].start()
            entered[i].wait()
            seen += blas()
        for i in (0, 2, 1):
            leave[i].set()
            threads[i].join()
            seen += blas()
        assert seen == [USUAL, 2, 1, 2, 2, USUAL]

    @pytest.mark.filterwarnings("ignore:GridSearchCV chose")
    def test_a_search_by_joblib_leaves_what_was(self):
        search = GridSearchCV(FullConformalClassifier(KDE()), {"measure__bandwidth": [0.5, 1.0]}, cv=2, n_jobs=2)
        with parallel_config("threading"):
            search.fit(X[:60], LABELS[:60])

    @pytest.mark.parametrize("n_jobs", [1, 2, None])
    @pytest.mark.parametrize("predictor", [FullConformalClassifier, FullConformalRegressor])
    def test_factorisations_have_one(self, predictor, n_jobs):
        seen = []

        def kernel(a, b):
            seen.append(max(blas()))
            return np.exp(-((a - b) ** 2).sum())

        measure = LSSVM(kernel=kernel) if predictor is FullConformalClassifier else RidgeResidual(kernel=kernel)
        fitted = predictor(measure, n_jobs=n_jobs).fit(X[:9], LABELS[:9])
        fitted.partial_fit(X[9:11], LABELS[9:11]).unlearn([0])
        assert set(seen) == {1}  # or their last bits would depend on the machine

    @pytest.mark.parametrize("n_jobs", [1, 2, None])
    @pytest.mark.parametrize("wrap", [lambda model: model, ModelScore])
    def test_models_of_others_obey(self, wrap, n_jobs):
        seen = []
        SplitConformalClassifier(wrap(noting_blas(seen)), n_jobs=n_jobs).fit(X, LABELS)
        assert set(seen) == {min(USUAL, _parallel.thread_count(n_jobs))}

    @pytest.mark.parametrize("threads", [2, 1])
    def test_without_a_number_they_obey_joblib(self, threads):
        seen = []
        fit = lambda: SplitConformalClassifier(noting_blas(seen)).fit(X, LABELS) and None  # noqa: E731
        with parallel_config("threading", n_jobs=threads):
            fit()
        assert seen == [threads]
        Parallel(n_jobs=2, backend="threading")([delayed(fit)(), delayed(fit)()])
        assert seen == [threads, 1, 1]


def assert_usual():
    if blas() != {USUAL}:
        gc.collect()  # the limit of a frame that was cut goes with the frame, which a cycle may hold
    assert blas() == {USUAL}


@pytest.mark.usefixtures("usual")
def test_an_interruption_anywhere_leaves_blas_as_it_was():
    """At each k-th place where Python looks for signals: functions begin, and calls return."""
    clf = FullConformalClassifier(LSSVM(), n_jobs=1).fit(X, LABELS)
    clf.predict_p(X[:200])
    left = 0

    def interrupt(frame, event, _):
        nonlocal left
        left -= event in ("call", "c_return")
        if left == 0:
            left = -1
            raise KeyboardInterrupt

    for k in range(1, 3000):
        left = k
        try:
            sys.setprofile(interrupt)
            clf.predict_p(X[:200])
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)
        if left > 0:
            break
        assert_usual()
    assert 100 < k < 2999


@pytest.mark.usefixtures("usual")
@pytest.mark.skipif(os.name == "nt", reason="needs a timer that sends signals")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # one that hits a finaliser is lost
def test_interruptions_of_threads_leave_no_thread_and_blas_as_it_was(rng):
    clf, threads, came = FullConformalClassifier(LSSVM(), n_jobs=2).fit(X, LABELS), threading.active_count(), 0
    expected = clf.predict_p(X)
    start = time.perf_counter()
    clf.predict_p(X)
    lasts = time.perf_counter() - start
    handlers = signal.SIGINT, signal.SIGALRM
    before = [signal.getsignal(number) for number in handlers]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        for _ in range(100):
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, max(1e-6, rng.uniform(0, lasts)))
                    clf.predict_p(X)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0)
            except KeyboardInterrupt:
                came += 1
            assert_usual()
    finally:
        for number, handler in zip(handlers, before, strict=True):
            signal.signal(number, handler)
    assert came > 10
    assert threading.active_count() == threads
    np.testing.assert_array_equal(clf.predict_p(X), expected)


@pytest.mark.filterwarnings("ignore:.*refits")
def test_a_blas_with_a_number_for_each_thread_is_limited_in_each(monkeypatch):
    class Library:
        local = threading.local()

        def get_num_threads(self):
            return getattr(self.local, "threads", USUAL)

        def set_num_threads(self, number):
            self.local.threads = number

    library, seen = Library(), []
    monkeypatch.setattr(_parallel, "_libraries", lambda *, per_thread: [library] if per_thread else [])
    ask_one_by_one(lambda _: seen.append(library.get_num_threads()))()
    assert set(seen) == {1}
    assert library.get_num_threads() == USUAL
