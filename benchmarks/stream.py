"""The exchangeability test against the plain distances that it needs, the textbook, and online-cp."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import njit

from benchmarks.stopwatch import best_seconds
from exactcp import ExchangeabilityTest, textbook
from exactcp.measures import KDE, KNN, LSSVM, SimplifiedKNN

P = 30


@njit(cache=True)
def _plain_distances(X):
    """Sum over t of t distances: nothing else."""
    total = 0.0
    for t in range(X.shape[0]):
        for i in range(t):
            squared = 0.0
            for f in range(X.shape[1]):
                d = X[t, f] - X[i, f]
                squared += d * d
            total += np.sqrt(squared)
    return total


def _generated(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, P)) + 0.5 * y[:, None], y


def _many(measure: Any, X: np.ndarray, y: np.ndarray | None) -> float:
    return best_seconds(lambda: ExchangeabilityTest(measure, random_state=0).update_many(X, y), repeat=3)


def _one_by_one(measure: Any, X: np.ndarray, y: np.ndarray | None) -> float:
    def run() -> None:
        test = ExchangeabilityTest(measure, random_state=0)
        for i in range(len(X)):
            test.update(X[i], None if y is None else y[i])

    return best_seconds(run, repeat=2)


def _against_textbook(measure: Any, n: int = 200) -> float:
    """Algorithm 1 at every 20th step, times 20, over ours for all steps."""
    X, _ = _generated(n)
    score, labels = measure.twin(), np.zeros(n)

    def slow() -> None:
        for t in range(10, n, 20):
            textbook.algorithm_1(score, X[:t], labels[:t], X[t], 0.0)

    return 20 * best_seconds(slow, repeat=1) / _one_by_one(measure, X, None)


def _online_cp(n: int = 2000, steps: int = 20) -> float | str:
    """`predict` and `learn_one` of online-cp's k-NN at n examples, over one update of ours; a dash without it."""
    if importlib.util.find_spec("online_cp") is None:
        return "-"
    from online_cp import ConformalNearestNeighboursClassifier

    X, y = _generated(n + steps)
    theirs = ConformalNearestNeighboursClassifier(k=15, label_space=[0, 1], rnd_state=0)
    theirs.learn_initial_training_set(X[:n], y[:n])
    ours = ExchangeabilityTest(KNN(), random_state=0)
    ours.update_many(X[:n], y[:n])
    seconds = np.empty((2, steps))
    for i in range(steps):
        x, label = X[n + i], y[n + i]
        seconds[0, i] = best_seconds(lambda x=x, label=label: (theirs.predict(x), theirs.learn_one(x, label)), repeat=1)
        seconds[1, i] = best_seconds(lambda x=x, label=label: ours.update(x, label), repeat=1)
    return float(np.divide(*np.median(seconds, axis=1)))


def rows(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield one row of ratios for each measure."""
    n = 1_000 if quick else 10_000
    X, y = _generated(n)
    _plain_distances(X[:10])
    for name, measure, labels in (
        ("SimplifiedKNN(15)", SimplifiedKNN(), None),
        ("KNN(15), labelled", KNN(), y),
        ("KDE(5.0)", KDE(5.0), None),
        ("LSSVM(), labelled", LSSVM(fit_intercept=False), y),
    ):
        is_slow = not isinstance(measure, SimplifiedKNN | KNN)
        size = n // 5 if is_slow else n
        part = None if labels is None else labels[:size]
        _many(measure, X[:50], None if labels is None else labels[:50])  # compiles
        plain = best_seconds(lambda size=size: _plain_distances(X[:size]), repeat=3)
        many = _many(measure, X[:size], part)
        single = "-" if is_slow else _one_by_one(measure, X[:size], part) / plain
        plain = min(plain, best_seconds(lambda size=size: _plain_distances(X[:size]), repeat=3))
        yield {
            "measure": name,
            "n": size,
            "p": P,
            "update_many / plain distances": many / plain,
            "update / plain distances": single,
            "textbook / ours, n=200": _against_textbook(measure) if labels is None else "-",
            "online-cp / ours, n=2,000": _online_cp() if isinstance(measure, KNN) else "-",
        }


def slopes(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the slope of a whole stream's time against its length on a log-log scale, between two lengths."""
    small, large = (500, 2_000) if quick else (2_500, 10_000)
    X, y = _generated(large)
    for name, measure, labels in (("SimplifiedKNN(15)", SimplifiedKNN(), None), ("KNN(15), labelled", KNN(), y)):
        many = [_many(measure, X[:n], None if labels is None else labels[:n]) for n in (small, large)]
        single = [_one_by_one(measure, X[:n], None if labels is None else labels[:n]) for n in (small, large)]
        yield {
            "measure": name,
            "from n": small,
            "to n": large,
            "update_many slope": float(np.log(many[1] / many[0]) / np.log(large / small)),
            "update slope": float(np.log(single[1] / single[0]) / np.log(large / small)),
        }
