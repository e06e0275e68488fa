"""Work in blocks: results in order, errors at once, processes only where they pay, BLAS threads as they were."""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
import time
from itertools import product

import numpy as np
import pytest
from joblib import Parallel, cpu_count, delayed, parallel_config
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from threadpoolctl import threadpool_info, threadpool_limits

from exactcp import FullConformalClassifier, FullConformalRegressor, SplitConformalClassifier, _parallel
from exactcp._parallel import ALONE, Effort
from exactcp.measures import KDE, KNN, LSSVM, ModelScore, RidgeResidual
from exactcp.measures.neighbours import _search as _neighbour_search
from exactcp.measures.neighbours import _tuning

USUAL = 3  # BLAS threads in these tests, so that one and two can be told from it


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture
def usual():
    with threadpool_limits(USUAL, user_api="blas"):
        yield
        assert blas_threads() == {USUAL}


@pytest.fixture
def problem(rng):
    return rng.normal(size=(60, 5)), np.arange(60) % 2


def test_results_come_in_the_order_of_the_blocks():
    slow_first = lambda i: time.sleep(0.002 * (8 - i)) or i  # noqa: E731
    assert _parallel.map_blocks(slow_first, range(8), effort=Effort(2)) == list(range(8))
    assert _parallel.map_blocks(slow_first, [], effort=Effort(2)) == []


def test_an_error_stops_what_has_not_begun():
    begun = []

    def work(i):
        begun.append(i)
        time.sleep(0.01)
        if i == 0:
            raise KeyboardInterrupt
        return i

    with pytest.raises(KeyboardInterrupt):
        _parallel.map_blocks(work, range(200), effort=Effort(2))
    assert len(begun) < 200


def test_the_first_of_several_errors_is_raised_when_nothing_runs_any_more():
    running, second_failed = set(), threading.Event()

    def work(i):
        running.add(i)
        try:
            if i == 0:
                second_failed.wait()
            else:
                second_failed.set()
            raise ValueError(f"block {i}")
        finally:
            running.remove(i)

    for _ in range(20):
        with pytest.raises(ValueError, match="block 0"):
            _parallel.map_blocks(work, range(2), effort=Effort(2))
        assert running == set()


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
@pytest.mark.parametrize("interruptions", [1, 2])
def test_one_interruption_waits_for_what_runs_and_another_does_not(interruptions):
    came, release, ended = [], threading.Event(), []

    def handle(*_):
        came.append(1)
        if len(came) <= interruptions:
            raise KeyboardInterrupt
        if interruptions == 1:
            release.set()

    def work(i):
        while not release.wait(0.01):
            os.kill(os.getpid(), signal.SIGINT)
        ended.append(i)

    before = signal.signal(signal.SIGINT, handle)
    try:
        with pytest.raises(KeyboardInterrupt):
            _parallel.map_blocks(work, range(9), effort=Effort(2))
        assert len(ended) == (2 if interruptions == 1 else 0)
    finally:
        release.set()
        while len(ended) < 2:
            time.sleep(0.01)
        signal.signal(signal.SIGINT, before)


def test_a_lock_that_an_interruption_left_behind_keeps_nobody_waiting(monkeypatch):
    monkeypatch.setattr(_parallel, "PATIENCE", 0.01)
    assert _parallel._blas._lock.acquire(timeout=0.01)  # by this thread, which never gives it back
    answers = []
    asking = threading.Thread(target=lambda: answers.append(_parallel.obeying(1, _square, 3)), daemon=True)
    asking.start()
    asking.join(timeout=60)
    assert answers == [9]


def test_threads_are_those_asked_for():
    here = threading.get_ident()
    assert set(_parallel.map_blocks(lambda _: threading.get_ident(), range(5), effort=ALONE)) == {here}
    assert here not in set(_parallel.map_blocks(lambda _: threading.get_ident(), range(5), effort=Effort(2)))


def _square(i):
    return i * i


def test_tasks_in_processes_come_in_order(monkeypatch):
    monkeypatch.setattr(_parallel, "WORTH_PROCESSES", 0.0)
    assert _parallel.map_tasks(_square, list(range(6)), effort=Effort(2)) == [0, 1, 4, 9, 16, 25]


class TestNoNumberOfJobs:
    def test_all_cores(self):
        assert _parallel.thread_count(None) == cpu_count()

    def test_what_joblib_was_told(self):
        with parallel_config(n_jobs=3):
            assert _parallel.thread_count(None) == 3
            assert _parallel.thread_count(2) == 2
        with parallel_config(backend="threading"):
            assert _parallel.thread_count(None) == cpu_count()

    @pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
    def test_one_thread_in_a_worker(self, backend):
        found = Parallel(n_jobs=2, backend=backend)(delayed(_parallel.thread_count)(None) for _ in range(4))
        assert found == [1] * 4


@pytest.mark.usefixtures("usual")
class TestBlasThreads:
    @pytest.mark.parametrize("n_jobs", [1, 2, None])
    @pytest.mark.parametrize("n_blocks", [1, 5])
    def test_a_block_has_one(self, n_jobs, n_blocks):
        assert (
            _parallel.map_blocks(lambda _: blas_threads(), range(n_blocks), effort=Effort(n_jobs)) == [{1}] * n_blocks
        )

    def test_calls_that_overlap_leave_what_was(self):
        allowed = [1, 2, 4]
        entered, leave = ([threading.Event() for _ in allowed] for _ in range(2))

        def call(i):
            _parallel.obeying(allowed[i], lambda: (entered[i].set(), leave[i].wait()))

        threads = [threading.Thread(target=call, args=(i,)) for i in range(3)]
        seen = []
        for i in (2, 1, 0):
            threads[i].start()
            entered[i].wait()
            seen += blas_threads()
        for i in (0, 2, 1):
            leave[i].set()
            threads[i].join()
            seen += blas_threads()
        assert seen == [USUAL, 2, 1, 2, 2, USUAL]

    def test_a_call_inside_another_sets_threads_only_if_it_allows_fewer(self, monkeypatch):
        settled, settle = [], _parallel._settle
        monkeypatch.setattr(_parallel, "_settle", lambda own: (settled.append(own), settle(own)))
        own = bool(_parallel._libraries(shared=False))
        for around, within, times in ((1, 1, 4 if own else 2), (1, 2, 4 if own else 2), (2, 1, 4)):
            settled.clear()
            assert _parallel.obeying(around, _parallel.obeying, within, blas_threads) == {1}
            assert len(settled) == times, (around, within)

    def test_a_call_in_another_thread_does_not_stand_for_this_one(self):
        entered, leave = threading.Event(), threading.Event()
        other = threading.Thread(target=_parallel.obeying, args=(1, lambda: (entered.set(), leave.wait())))

        def outlive():
            leave.set()
            other.join()
            return blas_threads()

        other.start()
        entered.wait()
        assert _parallel.obeying(1, outlive) == {1}

    def test_a_number_that_means_nothing_is_left_to_others(self):
        for n_jobs in (0, "two", 1.5):
            assert _parallel.obeying(n_jobs, blas_threads) == {USUAL}

    def test_four_threads_predict_and_leave_what_was(self, problem):
        X, y = problem
        fitted = FullConformalClassifier(LSSVM(kernel="rbf")).fit(X, y)
        threads = [threading.Thread(target=lambda: [fitted.predict_p(X) for _ in range(30)]) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    @pytest.mark.filterwarnings("ignore:GridSearchCV chose")
    def test_a_search_by_joblib_leaves_what_was(self, problem):
        search = GridSearchCV(FullConformalClassifier(KDE()), {"measure__bandwidth": [0.5, 1.0]}, cv=2, n_jobs=2)
        with parallel_config("threading"):
            search.fit(*problem)
        with parallel_config(n_jobs=2):
            FullConformalClassifier(KDE()).fit(*problem).predict_p(problem[0])

    @pytest.mark.parametrize("n_jobs", [1, 2, None])
    @pytest.mark.parametrize("predictor", [FullConformalClassifier, FullConformalRegressor])
    def test_factorisations_have_one(self, predictor, n_jobs, problem):
        X, y = problem
        seen = []

        def kernel(a, b):
            seen.append(max(blas_threads()))
            return np.exp(-((a - b) ** 2).sum())

        measure = LSSVM(kernel=kernel) if predictor is FullConformalClassifier else RidgeResidual(kernel=kernel)
        fitted = predictor(measure, n_jobs=n_jobs).fit(X[:9], y[:9])
        fitted.partial_fit(X[9:11], y[9:11]).unlearn([0])
        assert set(seen) == {1}  # or their last bits would depend on n_jobs

    @pytest.mark.parametrize("n_jobs", [1, 2, None])
    @pytest.mark.parametrize("wrap", [lambda model: model, ModelScore])
    def test_other_peoples_models_obey(self, wrap, n_jobs, problem):
        seen = []

        class Model(GaussianNB):
            def fit(self, X, y):
                seen.append(max(blas_threads()))
                return super().fit(X, y)

        SplitConformalClassifier(wrap(Model()), n_jobs=n_jobs).fit(*problem)
        assert set(seen) == {min(USUAL, _parallel.thread_count(n_jobs))}

    @pytest.mark.parametrize("n_jobs", [1, 2, None])
    def test_the_search_for_a_sketch_obeys(self, n_jobs, problem, monkeypatch):
        seen = []

        def find_basis(objects):
            seen.append(max(blas_threads()))
            return np.empty((objects.shape[1], 0))

        monkeypatch.setattr(_neighbour_search, "find_basis", find_basis)
        monkeypatch.setattr(_tuning, "KNOBS", _tuning.KNOBS._replace(small=-1))
        bag = KNN(3).bag(*problem, 2, effort=Effort(n_jobs))
        bag.label_counts(problem[0], effort=Effort(n_jobs))
        monkeypatch.setattr(_tuning, "KNOBS", _tuning.KNOBS._replace(screen_from=0))
        KNN(3).bag(*problem, 2, effort=Effort(n_jobs))
        assert seen == [min(USUAL, _parallel.thread_count(n_jobs))] * 2


class Interruption:
    """Raises KeyboardInterrupt at the k-th place where Python looks for signals: functions begin, and calls return."""

    def __init__(self, k):
        self.left = k

    def __call__(self, frame, event, _):
        if event in ("call", "c_return"):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

    def during(self, work):
        try:
            sys.setprofile(self)
            work()
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)


@pytest.mark.usefixtures("usual")
@pytest.mark.parametrize(
    "work",
    [
        lambda: _parallel.obeying(1, len, ()),
        lambda: _parallel.obeying(2, _parallel.obeying, 1, len, ()),
        lambda: _parallel.map_blocks(_square, range(3), effort=ALONE),
        lambda: _parallel.map_blocks(_square, range(3), effort=Effort(2)),
    ],
)
def test_an_interruption_anywhere_leaves_what_was(work):
    work()
    threads = _thread._count()
    for k in range(1, 1000):
        interruption = Interruption(k)
        interruption.during(work)
        if interruption.left > 0:
            break
        assert _parallel._blas.allowed == {}
        assert {library.get() for library in _parallel._libraries(shared=True)} == {USUAL}, k
    assert 20 < k < 999
    while _thread._count() > threads:
        time.sleep(0.01)


class FakeLibrary:
    """A BLAS whose chosen calls are interrupted, before or after they have done something."""

    def __init__(self, interrupted, *, is_shared):
        self.threads, self.calls, self.interrupted, self.is_shared = USUAL, 0, interrupted, is_shared

    def get(self):
        return self.threads

    def set(self, number):
        self.calls += 1
        if 2 * self.calls in self.interrupted:
            raise KeyboardInterrupt
        self.threads = number
        if 2 * self.calls + 1 in self.interrupted:
            raise KeyboardInterrupt


@pytest.mark.parametrize("kinds", [(True, True), (True, False)])
def test_a_limit_that_interruptions_left_heals_at_the_next_use(kinds):
    for first, second in product(range(2, 12), repeat=2):
        with pytest.MonkeyPatch.context() as patch:
            _check_that_a_limit_heals(first, second, kinds, patch)


def _check_that_a_limit_heals(first, second, kinds, monkeypatch):
    libraries = [FakeLibrary({first, second}, is_shared=kinds[0]), FakeLibrary({first + 1}, is_shared=kinds[1])]
    monkeypatch.setattr(_parallel, "_blas", _parallel._BlasThreads())
    chosen = lambda *, shared: [one for one in libraries if one.is_shared == shared]  # noqa: E731
    monkeypatch.setattr(_parallel, "_libraries", chosen)
    threads = lambda: [library.threads for library in libraries if library.is_shared]  # noqa: E731
    while min(library.calls for library in libraries) < 7:
        try:
            _parallel.obeying(1, int)
        except KeyboardInterrupt:
            continue
        assert threads() == [USUAL] * sum(kinds), (first, second)
    assert _parallel.obeying(2, threads) == [2] * sum(kinds), (first, second)
    assert threads() == [USUAL] * sum(kinds), (first, second)


def test_a_library_whose_threads_each_have_their_own_number(monkeypatch):
    local = threading.local()
    library = _parallel._Library(
        lambda: getattr(local, "threads", USUAL), lambda number: setattr(local, "threads", number), is_shared=False
    )
    monkeypatch.setattr(_parallel, "_libraries", lambda *, shared: [] if shared else [library])
    assert _parallel.map_blocks(lambda _: library.get(), range(4), effort=Effort(2)) == [1] * 4
    assert _parallel.obeying(2, lambda: (library.get(), _parallel.obeying(1, library.get), library.get())) == (2, 1, 2)
    assert library.get() == USUAL


def _with_libraries(monkeypatch, *libraries):
    monkeypatch.setattr(_parallel, "_blas", _parallel._BlasThreads())
    monkeypatch.setattr(_parallel, "_libraries", lambda *, shared: list(libraries) if shared else [])


@pytest.mark.parametrize(("threads", "limit", "calls"), [(1, 1, 0), (1, 2, 0), (2, 2, 0), (2, 1, 2)])
def test_what_need_not_be_set_is_not(threads, limit, calls, monkeypatch):
    library = FakeLibrary(set(), is_shared=True)
    library.threads = threads
    _with_libraries(monkeypatch, library)
    assert _parallel.obeying(limit, library.get) == min(threads, limit)
    assert library.calls == calls
    assert library.threads == threads


def test_few_threads_of_another_call_are_not_taken_for_the_usual(monkeypatch):
    library = FakeLibrary(set(), is_shared=True)
    _with_libraries(monkeypatch, library)
    blas, get = _parallel._blas, library.get

    def get_while_another_begins():
        library.get = get
        blas.allowed[0, "another"] = 1
        blas.settle()
        return get()

    library.get = get_while_another_begins
    assert not blas.is_settled(1)
    blas.allowed.clear()
    blas.settle()
    assert library.threads == USUAL
