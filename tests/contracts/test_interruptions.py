"""A change that an error or Ctrl-C cuts short, anywhere, leaves the answers of before or of after, in every family.

Ctrl-C while numba compiles or loads a kernel comes when it has finished, and nothing breaks.
"""

from __future__ import annotations

import copy
import os
import re
import signal
import subprocess
import sys
import threading
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba.core import compiler_lock, event
from numba.core.compiler_lock import global_compiler_lock
from sklearn.linear_model import LinearRegression, Ridge

import exactcp
from exactcp import (
    ConformalAnomalyDetector,
    ExchangeabilityTest,
    FullConformalClassifier,
    FullConformalRegressor,
    SplitConformalRegressor,
    VennPredictor,
)
from exactcp.measures import (
    KDE,
    KNN,
    LSSVM,
    NN,
    Bootstrap,
    KNNResidual,
    LassoResidual,
    ModelResidual,
    ModelScore,
    RandomForest,
    RidgeResidual,
    SimplifiedKNN,
)
from exactcp.online import AdaptiveLevel
from families import CHANGES as CALLS
from families import FAMILIES, QUESTIONS, calls_of
from interruptions import assert_all_or_nothing, same, times_survived
from label_changes import CHANGES, LABEL_CHANGES, PROBE, TARGET_CHANGES, TARGETS, N, X, Y
from nearest_mean import NearestMean
from record import record
from slices import sliced

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*Algorithm 1", "ignore:Bootstrap trains on", "ignore:ModelResidual fits"
)


def l1(a, b):
    return float(np.abs(a - b).sum())


class Row(NamedTuple):
    """A predictor, how many examples it has learned, and about how many objects it is asked: refits take long."""

    predictor: Any
    n: int = N
    asked: int = PROBE.shape[0]

    @property
    def y(self):
        return TARGETS if isinstance(self.predictor, FullConformalRegressor | VennPredictor) else Y

    def fitted(self):
        predictor = copy.deepcopy(self.predictor).fit(X[: self.n], self.y[: self.n])
        return predictor.partial_fit(X[-1:], self.y[-1:]).unlearn(self.n)  # there is room for the next one

    def answers(self, predictor):
        objects = PROBE[: self.asked]
        if isinstance(predictor, FullConformalRegressor):
            said = [predictor.predict_p(objects, np.linspace(-1.0, 4.0, self.asked))]
            said += [predictor.predict_interval(objects, 0.6)] if self.n == N else []
        elif isinstance(predictor, VennPredictor):
            said = predictor.predict_proba_interval(objects), predictor.classes_
        else:
            said = predictor.predict_p(objects), getattr(predictor, "classes_", [])
        return [*said, predictor.predict(objects), [predictor.n_features_in_]]


def labels(measure, *how, **parameters):
    return Row(FullConformalClassifier(measure, n_jobs=1, **parameters), *how)


def targets(measure, *how, **parameters):
    return Row(FullConformalRegressor(measure, n_jobs=1, **parameters), *how)


QUICK = {
    "NN": labels(NN()),
    "KNN": labels(KNN(k=3)),
    "SimplifiedKNN": labels(SimplifiedKNN(k=2)),
    "KNN, callable": labels(KNN(k=2, metric=l1)),
    "KDE": labels(KDE(0.8)),
    "KDE, compact": labels(KDE(1.5, "epanechnikov")),
    "KDE, scott": labels(KDE("scott")),
    "LSSVM, primal": labels(LSSVM(rho=0.5, solver="primal")),
    "LSSVM, chosen": labels(LSSVM(fit_intercept=False)),
    "LSSVM, dual": labels(LSSVM(kernel="rbf", gamma=0.5, solver="dual")),
    "LSSVM, svd of rows": labels(LSSVM(rho=1e-6, solver="svd")),
    "LSSVM, svd of a kernel": labels(LSSVM(kernel="rbf", rho=1e-3, solver="svd")),
    "Venn": Row(VennPredictor(k=3, n_jobs=1)),
    "anomalies": Row(ConformalAnomalyDetector(SimplifiedKNN(k=2), epsilon=0.1, n_jobs=1)),
}
REFITS = {
    "Venn, callable": Row(VennPredictor(k=3, metric=l1, n_jobs=1)),
    "forest, multinomial": labels(RandomForest(3, 3, random_state=0), 16, 2),
    "forest, bernoulli": labels(RandomForest(3, 3, resampling="bernoulli", random_state=0), 16, 2),
    "bootstrap": labels(Bootstrap(NearestMean(), 2, random_state=0), 9, 2),
    "model": labels(ModelScore(NearestMean()), 9, 2),
    "algorithm 1": labels(KNN(2), 9, 2, algorithm="standard"),
    "algorithm 1 of a forest": labels(
        RandomForest(1, 2, resampling="bernoulli", random_state=0), 9, 2, algorithm="standard"
    ),
}
REGRESSORS = {
    "KNNResidual": targets(KNNResidual(k=3)),
    "KNNResidual, callable": targets(KNNResidual(k=2, metric=l1)),
    "ridge": targets(RidgeResidual(rho=0.5)),
    "ridge, svd": targets(RidgeResidual(rho=0.5, solver="svd", residual="deleted")),
    "ridge, rbf": targets(RidgeResidual(rho=0.5, kernel="rbf", gamma=0.3)),
    "lasso": targets(LassoResidual(lam=0.5)),
    "ModelResidual": targets(ModelResidual(LinearRegression()), 9, 2),
    "KNNResidual, algorithm 1": targets(KNNResidual(2), 9, 2, algorithm="standard"),
}
ROWS = QUICK | REFITS | REGRESSORS
ALL_CHANGES = LABEL_CHANGES | TARGET_CHANGES


def changes_of(name):
    """Return the names of the changes that a row goes through."""
    return list({"anomalies": CHANGES}.get(name, TARGET_CHANGES if name in REGRESSORS else LABEL_CHANGES))


def survived(name, change, **where):
    row = ROWS[name]
    return times_survived(row.fitted(), lambda e: ALL_CHANGES[change](e, row.y, row.n), row.answers, **where)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        *((name, change) for name in QUICK for change in changes_of(name)),
        *sliced(4, REFITS, LABEL_CHANGES),
        *sliced(2, REGRESSORS, TARGET_CHANGES),
    ],
)
def test_a_change_is_cut_short(name, change):
    assert survived(name, change, most=9) > 10


@pytest.mark.slow
@pytest.mark.parametrize("event", ["call", "line"])
@pytest.mark.parametrize(("name", "change"), [(name, change) for name in ROWS for change in changes_of(name)])
def test_a_change_is_cut_short_everywhere(name, change, event):
    assert survived(name, change, event=event) > 10


@pytest.mark.parametrize(
    ("name", "change"),
    [
        *((name, change) for name in [*QUICK, "KNNResidual", "ridge"] for change in changes_of(name)),
        *sliced(4, REFITS, LABEL_CHANGES),
    ],
)
def test_a_shallow_copy_changes_by_itself(name, change):
    row = ROWS[name]
    predictor = row.fitted()
    other, deep, before = copy.copy(predictor), copy.deepcopy(predictor), row.answers(predictor)
    ALL_CHANGES[change](other, row.y, row.n)
    assert same(row.answers(predictor), before)
    ALL_CHANGES[change](deep, row.y, row.n)
    assert same(row.answers(other), row.answers(deep))
    ALL_CHANGES[change](predictor, row.y, row.n)
    assert same([row.answers(predictor), row.answers(other)], [row.answers(deep)] * 2)


@pytest.mark.parametrize("change", ["learn one", "learn few", "learn many", "unlearn one", "unlearn many"])
@pytest.mark.parametrize("name", ["KNN", "KNNResidual", "Venn"])
def test_an_error_of_the_users_metric(name, change):
    calls, failing = 0, -1

    def metric(a, b):
        nonlocal calls
        calls += 1
        if calls == failing:
            raise RuntimeError("out of order")
        return l1(a, b)

    measures = {"KNN": labels(KNN(2, metric=metric)), "KNNResidual": targets(KNNResidual(2, metric=metric))}
    row = measures.get(name, Row(VennPredictor(2, metric=metric)))
    one, other = row.fitted(), row.fitted()
    before, calls = row.answers(one), 0
    ALL_CHANGES[change](other, row.y)
    for place in np.linspace(1, calls, 12).astype(int):
        calls, failing = 0, place
        with pytest.raises(RuntimeError, match="out of order"):
            ALL_CHANGES[change](one, row.y)
        failing = -1
        assert same(row.answers(one), before)
    ALL_CHANGES[change](one, row.y)
    assert same(row.answers(one), row.answers(other))


STREAMS = {
    "update": lambda e, y: e.update(X[N], y[N]),
    "update of a new label": lambda e, y: e.update(X[N], 9),
    "update_many": lambda e, y: e.update_many(X[N : N + 20], y[N : N + 20]),
    "update_many of new labels": lambda e, y: e.update_many(X[N : N + 20], y[N : N + 20] + 7),
}
OPTIONS = [{}, {"window": 20}, {"restart": "all", "threshold": 2.0, "alarm": "cusum"}]


@pytest.mark.parametrize(
    ("measure", "y", "options", "stream"),
    [
        *((KNNResidual(k=3), TARGETS, {}, stream) for stream in ("update", "update_many")),
        *((RidgeResidual(), TARGETS, {}, stream) for stream in ("update", "update_many")),
        *product([KNN(k=2)], [Y], [{"betting": "composite", **one} for one in OPTIONS], STREAMS),
        *product([KNN(k=2)], [Y], [{"betting": "plugin", **one} for one in OPTIONS], STREAMS),
    ],
    ids=lambda one: "" if isinstance(one, np.ndarray) else str(one),
)
def test_a_stream(measure, y, options, stream):
    test = ExchangeabilityTest(measure, random_state=0, **options)
    test.update_many(X[: N - 1], y[: N - 1])
    test.update(X[N - 1], y[N - 1])
    said = lambda e: [e.p_values_, e.log_martingale_, e.log_statistic_, e.alarms_, [e._bag.n]]  # noqa: E731
    answers = lambda e: [*said(e), getattr(e, "classes_", [])]  # noqa: E731
    assert times_survived(test, lambda e: STREAMS[stream](e, y), answers, most=20) > 15


@pytest.mark.parametrize(
    "predictor", [FullConformalRegressor(KNNResidual(k=3)), SplitConformalRegressor(Ridge(), random_state=0)]
)
def test_an_adaptive_level(predictor):
    adaptive = AdaptiveLevel(predictor).fit(X[:N], TARGETS[:N])
    answers = lambda e: [e.errors_, e.epsilons_, e.predict_interval(PROBE)]  # noqa: E731
    update = lambda e: e.update(X[N], TARGETS[N])  # noqa: E731  (a check of what there is hides other errors)
    assert assert_all_or_nothing(partial(copy.deepcopy, adaptive), update, answers, most=20) > 10


# Ctrl-C in processes of their own: an instruction that cannot be interrupted may end them


def printed_by(*words, **variables):
    """Return the lines of the program that interrupts calls."""
    program = Path(__file__).parents[1] / "support" / "interrupted_calls.py"
    done = subprocess.run(
        [sys.executable, program, *map(str, words)],
        env=os.environ | variables, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stdout}\nexit {done.returncode}\n{done.stderr[-2000:]}"
    return done.stdout.splitlines()


def number_of_calls(family):
    return len(calls_of(FAMILIES[family], CALLS | QUESTIONS))


def ctrl_c(count, seed, *families):
    """Interrupt all public calls of families by a timer; return how many interruptions came."""
    found = [int(re.search(r": (\d+) of", line)[1]) for line in printed_by("timed", count, seed, *families)]
    assert len(found) == sum(map(number_of_calls, families))
    return sum(found)


needs_signals = pytest.mark.skipif(os.name == "nt", reason="needs fork, and timers that send signals")


@needs_signals
def test_ctrl_c_in_three_families():
    assert ctrl_c(2, 0, "KNN", "LSSVM", "stream") > 15


@pytest.mark.slow
@needs_signals
@pytest.mark.parametrize("family", FAMILIES)
def test_ctrl_c_hundreds_of_times(family):
    assert ctrl_c(1 + 300 // number_of_calls(family), 1, family) > 100


FIRST = ["KDE", "KNN", "LSSVM", "RandomForest", "KNNResidual", "RidgeResidual primal", "LassoResidual", "Venn"]


@needs_signals
@pytest.mark.parametrize(
    ("family", "trials", "presses", "how"),
    [
        ("KDE", 2, 2, "registries"),
        *(pytest.param(family, 8, 4, "loading", marks=pytest.mark.slow) for family in [*FIRST, "stream"]),
        *(pytest.param(family, 1, 20, "compiling", marks=pytest.mark.slow) for family in [*FIRST, "stream"]),
    ],
)
def test_a_first_call_is_interrupted(family, trials, presses, how, tmp_path):
    folder = {"NUMBA_CACHE_DIR": str(tmp_path)} if how == "compiling" else {}
    found = printed_by("first", family, trials, presses, how, **folder)
    assert [end.split()[0] for end in found] == ["fine,"] * trials, found
    raised = sum(int(end.split()[1]) for end in found)
    assert raised >= trials  # what comes while one kernel is compiled is raised once
    record("interruptions of first calls", "KeyboardInterrupt", raised)


@needs_signals
def test_without_the_listener_numba_is_broken():
    (end,) = printed_by("first", "KDE", 1, 1, "registries", "unprotected")
    assert end == "RuntimeError: generator raised StopIteration"


@pytest.fixture
def handlers():
    """Put the handler of SIGINT back that the process had."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_signal_at_every_instruction_around_the_lock_is_raised_once(handlers):
    files = {compiler_lock.__file__, event.__file__, f"{Path(exactcp.__file__).parent}/_interrupts.py"}
    passed = k = 0

    def trace(frame, happened, _):
        nonlocal passed
        if frame.f_code.co_filename not in files:
            return None
        frame.f_trace_opcodes = True
        if happened == "opcode":
            passed += 1
            if passed == k:
                signal.raise_signal(signal.SIGINT)
        return trace

    outside, went = sys.gettrace(), []
    while went != ["in", "out"]:  # until it has fewer instructions
        passed, went, k = 0, [], k + 1
        sys.settrace(trace)
        try:
            with global_compiler_lock:
                went.append("in")
                with global_compiler_lock:
                    pass
                went.append("out")
        except KeyboardInterrupt:
            went.append("raised")
        finally:
            sys.settrace(outside)
        assert went in (["raised"], ["in", "out", "raised"]) if passed >= k else went == ["in", "out"]
        assert not global_compiler_lock.is_locked()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert k > 100


def test_a_handler_of_the_user_is_called_once_and_stays(handlers):
    called = []
    handle = lambda number, _: called.append(number)  # noqa: E731
    signal.signal(signal.SIGINT, handle)
    with global_compiler_lock:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
        assert not called
    assert called == [signal.SIGINT]
    assert signal.getsignal(signal.SIGINT) is handle


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_what_python_does_not_handle_is_left_alone(handlers, handler):
    signal.signal(signal.SIGINT, handler)
    with global_compiler_lock:
        assert signal.getsignal(signal.SIGINT) is handler
    assert signal.getsignal(signal.SIGINT) is handler


class Failing(event.Listener):
    """Raises before the lock is taken, as the handler of another signal may."""

    def on_start(self, _):
        raise ZeroDivisionError

    def on_end(self, _):
        raise AssertionError


def test_another_exception_before_the_lock_holds_nothing_back_for_good(handlers):
    with event.install_listener("numba:compiler_lock", Failing()), pytest.raises(ZeroDivisionError):
        global_compiler_lock.acquire()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@needs_signals
def test_waiting_for_another_thread_is_interrupted_at_once(handlers):
    is_taken, is_over = threading.Event(), threading.Event()

    def compile_something():
        with global_compiler_lock:
            is_taken.set()
            is_over.wait(60)

    thread = threading.Thread(target=compile_something)
    thread.start()
    is_taken.wait(60)
    main = threading.main_thread().ident
    timer = threading.Timer(0.1, signal.pthread_kill, [main, signal.SIGINT])
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            global_compiler_lock.acquire()
        assert thread.is_alive()
    finally:
        is_over.set()
        thread.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_call_that_compiles_nothing_does_not_take_the_lock():
    model = exactcp.FullConformalClassifier(exactcp.measures.KDE()).fit([[0.0], [1.0], [2.0]], [0, 1, 0])
    model.predict_p([[0.5]])
    with event.install_recorder("numba:compiler_lock") as recorder:
        model.predict_p([[0.5]])
    assert recorder.buffer == []
