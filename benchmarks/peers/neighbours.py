"""Full conformal prediction with nearest neighbours: online-cp, and scikit-learn's, which has no guarantee."""

from __future__ import annotations

from typing import Any

import numpy as np
from online_cp import ConformalNearestNeighboursClassifier, ConformalNearestNeighboursRegressor
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.peers.contest import OURS, PLAIN, Contest, Data, labelled, targets, whole
from benchmarks.peers.least_squares import PEER, ends
from benchmarks.peers.split import NINE_LEVEL
from exactcp import FullConformalClassifier, FullConformalRegressor
from exactcp.measures import KNN, KNNResidual

K, ROWS = 5, 100


class _One:
    """The random number of a p-value without randomness: online-cp always smooths."""

    def uniform(self, _low: float, high: float) -> float:
        return high


def _our_labels(data: Data) -> Any:
    return FullConformalClassifier(KNN(k=K), n_jobs=1).fit(data.X, data.y).predict_p(data.X_test)


def _their_labels(data: Data) -> Any:
    clf = ConformalNearestNeighboursClassifier(k=K, label_space=np.arange(3))
    clf.rnd_gen = _One()
    clf.learn_initial_training_set(data.X, data.y)
    return [clf.predict(x[None], return_p_values=True)[1] for x in data.X_test]


def _plain_labels(data: Data) -> Any:
    return KNeighborsClassifier(K, algorithm="brute", n_jobs=1).fit(data.X, data.y).predict_proba(data.X_test)


def _our_targets(data: Data) -> Any:
    reg = FullConformalRegressor(KNNResidual(k=K), n_jobs=1).fit(data.X, data.y)
    return reg.predict_distribution(data.X_test).interval(data.level)


def _their_targets(data: Data) -> Any:
    reg = ConformalNearestNeighboursRegressor(k=K, epsilon=data.epsilon)
    reg.learn_initial_training_set(data.X, data.y)
    return [reg.predict(x) for x in data.X_test]


def _of_p_values(found: Any, _: Data) -> np.ndarray:
    return np.array([[p[label] for label in range(3)] for p in found])


def _nine(rng: np.random.Generator) -> Data:
    X, y = targets(rng, 10, p=3)
    return Data(X[:9], y[:9], X[:0], y[:0], X[9:], y[9:], level=NINE_LEVEL)


CONTESTS = {
    "knn-p": Contest(
        "Full k-NN classification",
        f"Learn n rows of 20 columns and three labels, p-values of {ROWS} rows; nothing is held out.",
        "p",
        lambda n: whole(labelled, n, ROWS),
        {OURS: _our_labels, PEER: _their_labels, PLAIN: _plain_labels},
        {PEER: _of_p_values},
        {PEER: "its p-values are smoothed by a random number, which is set to 1 here"},
        peak_at=1_000,
    ),
    "knn-intervals": Contest(
        "Full k-NN regression",
        f"Learn n rows of 20 columns, predict {ROWS} intervals (half of ε on each side).",
        "intervals",
        lambda n: whole(targets, n, ROWS),
        {OURS: _our_targets, PEER: _their_targets},
        {PEER: ends},
        nine=_nine,
    ),
}
