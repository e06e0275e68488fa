"""A test that is saved in mid-stream has the same future, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import exactcp
from exactcp import ExchangeabilityTest
from exactcp.exchangeability import CompositeJumper, SimpleJumper
from exactcp.measures import KDE, KNN, LSSVM, KNNResidual, RidgeResidual

pytest.importorskip("skops.io")
RNG = np.random.default_rng(2)
X = np.round(RNG.normal(size=(60, 2)), 1)
X[40:] += 2
SIDES = np.array(["left", "right"])[(X[:, 0] > 0).astype(int)]
MODEL = FrozenEstimator(LogisticRegression().fit(X, SIDES))
STREAMS = {
    "objects": (ExchangeabilityTest(random_state=0), None),
    "no seed": (ExchangeabilityTest(KDE()), None),
    "labels": (ExchangeabilityTest(KNN(2), random_state=0, mondrian="label"), SIDES),
    "labels that are numbers": (ExchangeabilityTest(KNN(2), random_state=0), (X[:, 0] > 0).astype(int)),
    "true and false": (ExchangeabilityTest(LSSVM(), random_state=0), X[:, 0] > 0),
    "targets": (ExchangeabilityTest(KNNResidual(2), random_state=0), X[:, 1]),
    "targets, ridge": (ExchangeabilityTest(RidgeResidual(), random_state=0), X[:, 1]),
    "frozen": (ExchangeabilityTest(MODEL, random_state=0), SIDES),
    "window": (ExchangeabilityTest(window=9, random_state=0), None),
    "window, emptied": (ExchangeabilityTest(window=9, forget="all", random_state=0), None),
    "restart": (ExchangeabilityTest(restart="all", threshold=5, random_state=0), None),
    "power": (ExchangeabilityTest(betting="power", alarm="cusum", threshold=3, random_state=0), None),
    "mixture": (ExchangeabilityTest(betting="mixture", alarm="shiryaev-roberts", random_state=0), None),
    "jumper": (ExchangeabilityTest(betting=SimpleJumper(0.1), threshold=np.inf, random_state=0), None),
    "composite": (ExchangeabilityTest(betting=CompositeJumper((0.1, 1.0)), random_state=0), None),
    "plugin": (ExchangeabilityTest(betting="plugin", random_state=0), None),
}


@pytest.mark.parametrize("name", STREAMS)
def test_the_same_future(name, tmp_path):
    made, y = STREAMS[name]
    for first in (1, 30):
        test = clone(made)
        test.update_many(X[:first], None if y is None else y[:first])
        exactcp.save(test, tmp_path / "stream.skops")
        again = exactcp.load(tmp_path / "stream.skops")
        for one in (test, again):
            one.update_many(X[first:], None if y is None else y[first:])
        assert again.p_values_.size == 60
        for attribute in ("p_values_", "log_martingale_", "log_statistic_", "alarms_", "classes_"):
            np.testing.assert_array_equal(getattr(again, attribute), getattr(test, attribute))
