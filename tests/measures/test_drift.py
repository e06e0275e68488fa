"""Tens of thousands of single updates leave no trace: counts are those of a fresh fit, scores but for rounding."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from sklearn.base import clone

from exactcp.measures import KDE, KNN, LSSVM, NN, KNNResidual, RidgeResidual, SimplifiedKNN
from record import record

UPDATES, WINDOW = 20_000, 60
MEASURES = {
    "NN": NN(),
    "KNN": KNN(k=5),
    "SimplifiedKNN": SimplifiedKNN(k=3),
    "KDE": KDE(0.8),
    "LSSVM primal": LSSVM(solver="primal"),
    "LSSVM dual": LSSVM(kernel="rbf", solver="dual"),
}
TARGET_MEASURES = {
    "KNNResidual": KNNResidual(k=5),
    "RidgeResidual": RidgeResidual(rho=0.5),
    "RidgeResidual rbf": RidgeResidual(rho=0.5, kernel="rbf"),
}


def _examples(updates):
    """Return a stream with duplicates and ties, through which outliers of 1e6 pass."""
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(WINDOW + updates // 2, 3)), 1)
    X[rng.choice(len(X) - 2 * WINDOW, len(X) // 500) + WINDOW] *= 1e6
    return X, rng.integers(0, 2, len(X)), np.round(rng.normal(size=(9, 3)), 1)


def _deviation(found, expected):
    """Return the largest difference relative to the size of the numbers."""
    found, expected = np.asarray(found), np.asarray(expected)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(np.isfinite(found), finite)
    return float((np.abs(found - expected)[finite] / np.maximum(np.abs(expected[finite]), 1e-300)).max(initial=0.0))


def _slide(measure, updates, *, labels):
    X, y, probes = _examples(updates)
    y = y if labels else X[:, 0] + y
    more = (2,) if labels else ()
    bag = clone(measure).bag(X[:WINDOW], y[:WINDOW], *more)
    for i in range(WINDOW, len(X)):
        bag.learn(X[i : i + 1], y[i : i + 1])
        bag.unlearn(np.zeros(1, np.int64))
    return bag, clone(measure).bag(X[-WINDOW:], y[-WINDOW:], *more), probes


def _check_labels(name, updates):
    bag, fresh, probes = _slide(MEASURES[name], updates, labels=True)
    found, expected = bag.label_counts(probes), fresh.label_counts(probes)
    for field in found._fields[:4]:
        np.testing.assert_array_equal(getattr(found, field), getattr(expected, field), err_msg=field)
    return _deviation(found.scores, expected.scores)


def _check_targets(name, updates):
    bag, fresh, probes = _slide(TARGET_MEASURES[name], updates, labels=False)
    targets = np.linspace(-1.0, 2.0, len(probes))
    for found, expected in zip(bag.counts(probes, targets), fresh.counts(probes, targets), strict=True):
        np.testing.assert_array_equal(found, expected)
    return _deviation(bag.predict(probes), fresh.predict(probes))


@pytest.mark.parametrize("name", MEASURES)
def test_some_updates(name):
    assert _check_labels(name, 200) < 1e-9  # rounding only; LS-SVM's factorisations amplify it


@pytest.mark.parametrize("name", TARGET_MEASURES)
def test_some_updates_of_regression(name):
    assert _check_targets(name, 200) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", [*MEASURES, *TARGET_MEASURES])
def test_many_updates(name, capsys):
    deviation = (_check_labels if name in MEASURES else _check_targets)(name, UPDATES)
    with capsys.disabled():
        sys.stdout.write(
            f"{name}: {UPDATES:,} updates, counts equal, largest relative deviation of scores {deviation:.1e}\n"
        )
    record("updates without drift", name, UPDATES)
    record("largest relative deviation of scores", name, deviation)
    assert deviation < 1e-9
