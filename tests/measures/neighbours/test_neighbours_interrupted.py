"""Nearest neighbours change wholly or not at all, wherever the change is interrupted."""

from __future__ import annotations

import numpy as np
import pytest

from exactcp import ConformalAnomalyDetector, ExchangeabilityTest, FullConformalClassifier
from exactcp.measures import KNN, NN, SimplifiedKNN
from interruptions import times_survived

RNG = np.random.default_rng(0)
X, Y = RNG.integers(0, 5, (60, 2)).astype(float), np.arange(60) % 3
PROBES = RNG.normal(size=(6, 2)) * 2.0
MOST = 10  # calls of each change at which the normal lane interrupts it; the slow lane does at all


def l1(a, b):
    return float(np.abs(a - b).sum())


MEASURES = {"NN": NN(), "KNN": KNN(k=3), "SimplifiedKNN": SimplifiedKNN(k=2), "callable": KNN(k=2, metric=l1)}
CHANGES = {
    "fit": lambda e: e.fit(X[10:40], Y[10:40]),
    "learn one": lambda e: e.partial_fit(X[40:41], Y[40:41]),
    "learn three": lambda e: e.partial_fit(X[40:43], Y[40:43]),
    "learn many": lambda e: e.partial_fit(X[40:], Y[40:]),
    "learn a new label": lambda e: e.partial_fit(X[40:42], [0, 7]),
    "unlearn one": lambda e: e.unlearn(7),
    "unlearn three": lambda e: e.unlearn([0, 39, 7]),
    "unlearn many": lambda e: e.unlearn(np.arange(15)),
    "unlearn a label": lambda e: e.unlearn(np.flatnonzero(Y[:40] == 1)),
}


def _answers(clf):
    return clf.predict_p(PROBES), clf.predict_set(PROBES, 0.6), clf.classes_, [clf.n_features_in_]


def _fitted(measure):
    clf = FullConformalClassifier(measure, n_jobs=1).fit(X[:40], Y[:40])
    return clf.partial_fit(X[50:51], Y[50:51]).unlearn(40)  # the lists have room now


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", MEASURES)
def test_a_classifier(name, change):
    assert times_survived(_fitted(MEASURES[name]), CHANGES[change], _answers, most=MOST) > 10


@pytest.mark.slow
@pytest.mark.parametrize("event", ["call", "line"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", MEASURES)
def test_a_classifier_everywhere(name, change, event):
    assert times_survived(_fitted(MEASURES[name]), CHANGES[change], _answers, event=event) > 15


@pytest.mark.parametrize("change", ["learn one", "learn many", "unlearn one", "unlearn many"])
def test_an_error_of_the_users_metric(change):
    calls, failing = 0, -1

    def metric(a, b):
        nonlocal calls
        calls += 1
        if calls == failing:
            raise RuntimeError("out of order")
        return l1(a, b)

    clf, other = _fitted(KNN(k=2, metric=metric)), _fitted(KNN(k=2, metric=metric))
    before, calls = _answers(clf), 0
    CHANGES[change](other)
    for place in np.linspace(1, calls, 12).astype(int):
        calls, failing = 0, place
        with pytest.raises(RuntimeError, match="out of order"):
            CHANGES[change](clf)
        failing = -1
        for found, expected in zip(_answers(clf), before, strict=True):
            np.testing.assert_array_equal(found, expected)
    CHANGES[change](clf)
    for found, expected in zip(_answers(clf), _answers(other), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("change", ["learn one", "learn many", "unlearn one", "unlearn many"])
def test_an_anomaly_detector(change):
    detector = ConformalAnomalyDetector(SimplifiedKNN(k=2), epsilon=0.1, n_jobs=1).fit(X[:40])
    detector.partial_fit(X[50:51]).unlearn(40)
    assert times_survived(detector, CHANGES[change], lambda e: (e.predict_p(PROBES), e.predict(PROBES)), most=20) > 15


def _record(test):
    return test.p_values_, test.log_martingale_, test.log_statistic_, test.alarms_, test.classes_


STREAMS = {
    "update": lambda e: e.update(X[40], Y[40]),
    "update of a new label": lambda e: e.update(X[40], 9),
    "update_many": lambda e: e.update_many(X[40:], Y[40:]),
    "update_many of new labels": lambda e: e.update_many(X[40:], Y[40:] + 1),
}


@pytest.mark.parametrize("stream", STREAMS)
@pytest.mark.parametrize(
    "options", [{}, {"window": 20}, {"restart": "all", "threshold": 2.0, "alarm": "cusum"}], ids=str
)
@pytest.mark.parametrize("betting", ["composite", "plugin"])
def test_a_stream(stream, options, betting):
    test = ExchangeabilityTest(KNN(k=2), betting=betting, random_state=0, **options)
    test.update_many(X[:39], Y[:39])
    test.update(X[39], Y[39])
    assert times_survived(test, STREAMS[stream], _record, most=20) > 15
