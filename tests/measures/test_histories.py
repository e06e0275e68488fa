"""Whatever happens to a predictor, it answers as if it had been fitted on the examples that are left."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB

from exactcp import (
    ConformalAnomalyDetector,
    ExchangeabilityTest,
    FullConformalClassifier,
    FullConformalRegressor,
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
    ModelScore,
    RandomForest,
    RidgeResidual,
    SimplifiedKNN,
)
from interruptions import interrupted
from record import record
from slices import slow_but

PREDICTORS = {
    "NN": FullConformalClassifier(NN()),
    "KNN": FullConformalClassifier(KNN(k=2)),
    "KNN of a function": FullConformalClassifier(KNN(k=2, metric=lambda a, b: float(np.abs(a - b).sum()))),
    "SimplifiedKNN": FullConformalClassifier(SimplifiedKNN(k=3), mondrian="label"),
    "KDE": FullConformalClassifier(KDE(0.7)),
    "KDE scott": FullConformalClassifier(KDE("scott", "epanechnikov"), mondrian=lambda X, y: X[:, 0] > 1),
    "LSSVM primal": FullConformalClassifier(LSSVM(solver="primal")),
    "LSSVM dual": FullConformalClassifier(LSSVM(kernel="rbf", solver="dual")),
    "LSSVM svd": FullConformalClassifier(LSSVM(solver="svd")),
    "forest": FullConformalClassifier(RandomForest(n_estimators=3, resampling="bernoulli", random_state=0)),
    "bootstrap": FullConformalClassifier(Bootstrap(GaussianNB(), n_estimators=3, random_state=0)),
    "refitting": FullConformalClassifier(ModelScore(GaussianNB())),
    "Algorithm 1": FullConformalClassifier(KNN(k=2), algorithm="standard"),
    "Venn": VennPredictor(k=2),
    "anomaly": ConformalAnomalyDetector(SimplifiedKNN(k=2)),
    "KNNResidual": FullConformalRegressor(KNNResidual(k=2)),
    "RidgeResidual": FullConformalRegressor(RidgeResidual(rho=0.5)),
    "RidgeResidual rbf": FullConformalRegressor(RidgeResidual(rho=0.5, kernel="rbf")),
    "LassoResidual": FullConformalRegressor(LassoResidual(0.3)),
    "refitting regression": FullConformalRegressor(Ridge()),
}
BY_ARRIVAL = ("forest", "bootstrap")  # their draws belong to arrivals: the examples that are left had others in a fit
REFITS = ("bootstrap", "refitting", "refitting regression", "Algorithm 1")  # they take longer
PROBES = np.array([[0.5, 1.5], [1.0, 1.0], [2.5, -0.5]])
LABEL = st.integers(0, 2)
ERRORS = (KeyboardInterrupt, MemoryError)


def answers(predictor):
    """Return numbers that do not depend on the last bits of a score."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(predictor, FullConformalRegressor):
            return predictor.predict_p(PROBES, np.array([0.4, 1.3, 2.2]))
        if isinstance(predictor, VennPredictor):
            return predictor.predict_proba_interval(PROBES)
        return predictor.predict_p(PROBES)


class History(RuleBasedStateMachine):
    """Examples come and go, also where something goes wrong."""

    name = "KNN"

    @initialize(seed=st.integers(0, 2**32 - 1))
    def fit(self, seed):
        self.rng = np.random.default_rng(seed)
        self.X, self.y = self._draw(12)
        self.y[:3] = [0, 1, 2]
        self.predictor = self._fresh(self.X, self.y)
        self.twin = copy.deepcopy(self.predictor)  # what happens to it is never disturbed

    def _draw(self, m):
        return self.rng.integers(0, 4, (m, 2)).astype(float), self.rng.integers(0, 3, m)

    def _fresh(self, X, y):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return clone(PREDICTORS[self.name]).set_params(n_jobs=1).fit(X, y)

    def _change(self, name, *args):
        for predictor in (self.predictor, self.twin):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                getattr(predictor, name)(*args)

    @rule(m=st.integers(1, 6))
    @precondition(lambda self: len(self.y) < 40)
    def learn(self, m):
        X, y = self._draw(m)
        self._change("partial_fit", X, y)
        self.X, self.y = np.concatenate([self.X, X]), np.concatenate([self.y, y])

    @rule()
    @precondition(lambda self: 3 not in self.y)
    def learn_a_new_label(self):
        X, _ = self._draw(2)
        self._change("partial_fit", X, np.array([3, 0]))
        self.X, self.y = np.concatenate([self.X, X]), np.concatenate([self.y, [3, 0]])

    def _left(self, positions):
        kept = np.setdiff1d(np.arange(len(self.y)), positions)
        return kept if kept.size > 3 and np.unique(self.y[kept]).size > 1 else None

    @rule(data=st.data())
    def unlearn(self, data):
        positions = data.draw(st.lists(st.integers(0, len(self.y) - 1), min_size=1, max_size=5, unique=True))
        kept = self._left(positions)
        if kept is not None:
            self._change("unlearn", positions)
            self.X, self.y = self.X[kept], self.y[kept]

    @rule(label=LABEL)
    def unlearn_a_label(self, label):
        positions = np.flatnonzero(self.y == label)
        kept = self._left(positions)
        if kept is not None and positions.size:
            self._change("unlearn", positions)
            self.X, self.y = self.X[kept], self.y[kept]

    @rule()
    @precondition(lambda self: "function" not in self.name and "scott" not in self.name)
    def pickle(self):
        self.predictor = pickle.loads(pickle.dumps(self.predictor))

    @rule()
    def copy_and_change_the_other(self):
        other = copy.copy(self.predictor)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            other.partial_fit(*self._draw(1))

    @rule(k=st.integers(0, 120), learns=st.booleans(), error=st.sampled_from(ERRORS))
    def interrupt(self, k, learns, error):
        X, y = self._draw(1 + k % 3)
        position = k % len(self.y)
        if not learns and self._left([position]) is None:
            return
        victim = copy.deepcopy(self.predictor)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            before = answers(victim)
            hit = interrupted(lambda: victim.partial_fit(X, y) if learns else victim.unlearn(position), k, error)
            if hit and np.array_equal(answers(victim), before, equal_nan=True):
                self.predictor = victim  # and go on with it

    @invariant()
    def counts_are_those_of_a_fresh_fit(self):
        record("states of random histories compared with a fresh fit", self.name, 1)
        fresh = self.twin if self.name in BY_ARRIVAL else self._fresh(self.X, self.y)
        np.testing.assert_array_equal(answers(self.predictor), answers(fresh))


def _run(machine, **how):
    machine.TestCase.settings = settings(
        deadline=None, suppress_health_check=list(HealthCheck), derandomize=True, database=None, **how
    )
    machine.TestCase().runTest()


DEAR = {"refitting", "bootstrap"}  # seconds each


@pytest.mark.parametrize("name", slow_but([name for name in PREDICTORS if name not in DEAR], PREDICTORS))
def test_short_histories(name):
    most, steps = (1, 6) if name in REFITS else (2, 8)
    _run(type("ShortHistory", (History,), {"name": name}), max_examples=most, stateful_step_count=steps)


@pytest.mark.slow
@pytest.mark.parametrize("name", PREDICTORS)
def test_long_histories(name):
    _run(type("LongHistory", (History,), {"name": name}), max_examples=40, stateful_step_count=30)


class StreamHistory(RuleBasedStateMachine):
    """A stream that is interrupted, pickled and copied is the stream that was not."""

    options: dict = {}

    @initialize(seed=st.integers(0, 2**32 - 1))
    def begin(self, seed):
        self.rng = np.random.default_rng(seed)
        self.X, self.y = np.empty((0, 2)), np.empty(0, int)
        self.test = ExchangeabilityTest(random_state=0, **self.options)

    def _draw(self, m):
        return self.rng.integers(0, 4, (m, 2)).astype(float), self.rng.integers(0, 3, m)

    def _take(self, X, y):
        self.X, self.y = np.concatenate([self.X, X]), np.concatenate([self.y, y])

    @rule()
    def update(self):
        X, y = self._draw(1)
        self.test.update(X[0], y[0])
        self._take(X, y)

    @rule(m=st.integers(1, 8))
    def update_many(self, m):
        X, y = self._draw(m)
        self.test.update_many(X, y)
        self._take(X, y)

    @rule()
    def pickle(self):
        self.test = pickle.loads(pickle.dumps(self.test))

    @rule()
    def copy_and_go_on_with_the_other(self):
        other = copy.copy(self.test)
        other.update_many(*self._draw(3))

    @rule(k=st.integers(0, 90), m=st.integers(1, 3), error=st.sampled_from(ERRORS))
    def interrupt(self, k, m, error):
        X, y = self._draw(m)
        interrupted(lambda: self.test.update_many(X, y), k, error)
        if len(self.test.p_values_) > len(self.y):
            self._take(X, y)

    @invariant()
    def it_is_the_undisturbed_stream(self):
        record("states of random histories compared with a fresh fit", "ExchangeabilityTest", 1)
        fresh = ExchangeabilityTest(random_state=0, **self.options)
        if len(self.y):
            fresh.update_many(self.X, self.y)
        for name in ("p_values_", "log_martingale_", "log_statistic_", "alarms_", "classes_"):
            np.testing.assert_array_equal(getattr(self.test, name), getattr(fresh, name), err_msg=name)


STREAMS = {
    "KNN": {"measure": KNN(k=2)},
    "KDE": {"measure": KDE(0.8), "betting": "plugin"},
    "LSSVM": {"measure": LSSVM(), "betting": "mixture"},
    "window": {"measure": KNN(k=1), "window": 5},
    "restart": {"measure": SimplifiedKNN(k=1), "restart": "all", "threshold": 1.5, "betting": "jumper"},
}


@pytest.mark.parametrize("name", STREAMS)
def test_short_streams(name):
    _run(type("ShortStream", (StreamHistory,), {"options": STREAMS[name]}), max_examples=3, stateful_step_count=8)


@pytest.mark.slow
@pytest.mark.parametrize("name", STREAMS)
def test_long_streams(name):
    _run(type("LongStream", (StreamHistory,), {"options": STREAMS[name]}), max_examples=40, stateful_step_count=30)
