"""Where users stand: one row at a time, few features, other metrics. Processor time, one thread.

Trees against products with all examples, against scikit-learn's KDTree, which finds neighbours and counts nothing, and
against its k-NN classifier.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.neighbors import KDTree, KNeighborsClassifier
from threadpoolctl import threadpool_limits

from benchmarks.stopwatch import best_seconds, median_seconds, side_by_side
from exactcp import ExchangeabilityTest, FullConformalClassifier, FullConformalRegressor
from exactcp.measures import KNN, KNNResidual, SimplifiedKNN

K = 15
METRICS = (("cosine", 30), ("cosine", 100), ("cosine", 384), ("manhattan", 30), ("manhattan", 100), ("chebyshev", 30))


def _data(n: int, p: int, m: int = 300) -> tuple[np.ndarray, ...]:
    """Gaussian objects with two labels that overlap."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + m, p))
    y = (X[:, 0] + rng.normal(size=n + m) > 0).astype(np.int64)
    return X[:n], y[:n], X[n:]


def _fitted(X: np.ndarray, y: np.ndarray, search: str = "auto") -> FullConformalClassifier:
    return FullConformalClassifier(KNN(K, search=search), n_jobs=1).fit(X, y)


def rows(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield fits and predictions by trees and by products."""
    scale = 10 if quick else 1
    with threadpool_limits(1):
        for search in ("tree", "brute", "auto"):  # which compiles them
            clf = _fitted(*_data(6000, 3)[:2], search=search)
            clf.predict_p(_data(6000, 3)[2])
            clf.predict_p(_data(6000, 3)[2][:1])
        for n, p in ((10_000, 5), (100_000 // scale, 2), (100_000 // scale, 5), (100_000 // scale, 8)):
            yield _compare(n, p)


def _compare(n: int, p: int) -> dict[str, Any]:
    X, y, X_test = _data(n, p)
    fit = {
        search: best_seconds(partial(_fitted, X, y, search), repeat=2, clock=time.process_time)
        for search in ("tree", "brute", "auto")
    }
    tree, brute = _fitted(X, y, "tree"), _fitted(X, y, "brute")
    tree.predict_p(X_test)  # grows what predictions need
    batch = {
        name: best_seconds(partial(clf.predict_p, X_test), repeat=3, clock=time.process_time)
        for name, clf in (("tree", tree), ("brute", brute))
    }
    index, neighbours = KDTree(X), KNeighborsClassifier(K, algorithm="kd_tree").fit(X, y)
    one = median_seconds(
        {
            "tree": lambda i: tree.predict_p(X_test[i : i + 1]),
            "brute": lambda i: brute.predict_p(X_test[i : i + 1]),
            "KDTree": lambda i: index.query(X_test[i : i + 1], K),
            "KNeighbors": lambda i: neighbours.predict(X_test[i : i + 1]),
        }
    )
    return {
        "n": n,
        "p": p,
        "fit, brute / tree": fit["brute"] / fit["tree"],
        "fit, auto / best": fit["auto"] / min(fit["tree"], fit["brute"]),
        "batch, brute / tree": batch["brute"] / batch["tree"],
        "one row, brute / tree": one["brute"] / one["tree"],
        "one row, us": 1e6 * one["tree"],
        "one row / KDTree.query": one["tree"] / one["KDTree"],
        "one row / KNeighbors": one["tree"] / one["KNeighbors"],
    }


def slopes(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield how one row's time grows with n, learning in turns, one row of many features, a large fit, a stream."""
    sizes = (10_000, 100_000) if quick else (10_000, 1_000_000)
    with threadpool_limits(1):
        for p in (3, 5):
            yield from _growth(p, sizes)
        yield from _learn_in_turns((10_000, 20_000) if quick else (100_000, 1_000_000))
        yield _many_features(4000 if quick else 40_000)
        yield _large_fit(sizes[1])
        yield _long_stream(10_000 if quick else 100_000)


def metrics(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield fits and batches of other metrics."""
    n = 2000 if quick else 10_000
    with threadpool_limits(1):
        for metric, p in METRICS:
            yield _compare_metrics(metric, n, p)


def _compare_metrics(metric: str, n: int, p: int) -> dict[str, Any]:
    X, y, X_test = _data(n, p, m=512)

    def fitted(metric: str, jobs: int = 1) -> FullConformalClassifier:
        return FullConformalClassifier(KNN(K, metric=metric, search="brute"), n_jobs=jobs).fit(X, y)

    clf, peer = fitted(metric), KNeighborsClassifier(K, metric=metric, algorithm="brute").fit(X, y)
    clf.predict_p(X_test)  # prepares what predictions keep
    batch = side_by_side(
        {"ours": partial(clf.predict_p, X_test), "peer": partial(peer.predict, X_test)}, clock=time.process_time
    )
    fit = side_by_side(
        {"own": partial(fitted, metric), "euclidean": partial(fitted, "euclidean")}, repeat=3, clock=time.process_time
    )
    wall = side_by_side({"one": partial(fitted, metric), "two": partial(fitted, metric, 2)}, repeat=3)
    return {
        "metric": metric,
        "n": n,
        "p": p,
        "batch / KNeighbors": batch["ours"] / batch["peer"],
        "fit / Euclidean fit": fit["own"] / fit["euclidean"],
        "fit, 1 thread / 2, by the clock": wall["one"] / wall["two"],
    }


def _growth(p: int, sizes: tuple[int, int]) -> Iterator[dict[str, Any]]:
    spent = []
    for n in sizes:
        X, y, X_test = _data(n, p)
        clf, reg = (
            _fitted(X, y, "tree"),
            FullConformalRegressor(KNNResidual(K, search="tree"), n_jobs=1).fit(X, X[:, 0]),
        )
        clf.predict_p(X_test)
        reg.predict_interval(X_test)
        works = {
            "labels": partial(_ask, clf.predict_p, X_test),
            "intervals": partial(_ask, reg.predict_interval, X_test),
        }
        spent.append(median_seconds(works))
    for what in ("labels", "intervals"):
        yield {
            "p": p,
            "what": f"one row, {what}: n = {sizes[1]:,} / n = {sizes[0]:,}",
            "ratio": spent[1][what] / spent[0][what],
        }


def _ask(method: Any, X_test: np.ndarray, i: int) -> Any:
    return method(X_test[i : i + 1])


def _many_features(n: int) -> dict[str, Any]:
    X, y, X_test = _data(n, 30)
    clf, neighbours = _fitted(X, y), KNeighborsClassifier(K, algorithm="brute").fit(X, y)
    clf.predict_p(X_test)
    one = median_seconds(
        {"ours": partial(_ask, clf.predict_p, X_test), "KNeighbors": partial(_ask, neighbours.predict, X_test)},
        repeat=50,
    )
    return {"p": 30, "what": f"one row, labels, n = {n:,} / KNeighbors", "ratio": one["ours"] / one["KNeighbors"]}


def _learn_in_turns(sizes: tuple[int, int]) -> Iterator[dict[str, Any]]:
    """Compare learning an example and then asking about a row with the same by products, and for fewer examples."""
    few, many = sizes
    X, y, more = _data(few, 3, 1000)
    labels = (more[:, 0] > 0).astype(np.int64)
    tree, brute = (_fitted(X, y, search) for search in ("tree", "brute"))
    reg, reg_brute = (
        FullConformalRegressor(KNNResidual(K, search=search), n_jobs=1).fit(X, X[:, 0]) for search in ("tree", "brute")
    )
    works = {
        "labels": _learning(tree, tree.predict_p, more, labels, 200),  # with what has to be grown, and room for more
        "labels by products": _learning(brute, brute.predict_p, more, labels, 2),
        "labels asked alone": partial(_ask, tree.predict_p, more),
        "intervals": _learning(reg, reg.predict_interval, more, more[:, 0], 200),
        "intervals by products": _learning(reg_brute, reg_brute.predict_interval, more, more[:, 0], 2),
    }
    large = _fitted(*_data(many, 3, 1000)[:2], "tree")
    works["labels, many"] = _learning(large, large.predict_p, more, labels, 200)
    spent = median_seconds(works, repeat=50)
    for what in ("labels", "intervals"):
        ratio = spent[f"{what} by products"] / spent[what]
        yield {"p": 3, "what": f"learn one, ask about one ({what}), n = {few:,}: products / trees", "ratio": ratio}
    ratio = spent["labels"] / spent["labels asked alone"]
    yield {"p": 3, "what": f"learn one, ask about one, n = {few:,}: by trees / asking alone", "ratio": ratio}
    ratio = spent["labels, many"] / spent["labels"]
    yield {"p": 3, "what": f"learn one, ask about one: n = {many:,} / n = {few:,}", "ratio": ratio}


def _learning(predictor: Any, ask: Any, X: np.ndarray, y: np.ndarray, before: int) -> Any:
    """Return what learns the next example and asks about another, when so many have been learned before."""

    def learn_and_ask(i: int) -> None:
        predictor.partial_fit(X[i : i + 1], y[i : i + 1])
        ask(X[i + 1 : i + 2])

    for i in range(before):
        learn_and_ask(i)
    return lambda i: learn_and_ask(before + i)


def _large_fit(n: int, asked: int = 2000) -> dict[str, Any]:
    """Compare a fit with scikit-learn's KDTree: its building, and what the neighbours of n rows would take, by some."""
    X, y, _ = _data(n, 5)
    start = time.process_time()
    _fitted(X, y)
    built = time.process_time()
    index = KDTree(X)
    queried = time.process_time()
    index.query(X[:: n // asked], K)
    end = time.process_time()
    seconds = queried - built + (end - queried) * n / X[:: n // asked].shape[0]
    what = f"fit, n = {n:,} / KDTree built and queried (by {asked:,} rows)"
    return {"p": 5, "what": what, "ratio": (built - start) / seconds}


def _long_stream(n: int) -> dict[str, Any]:
    """Compare a stream with one product of all its examples with all, 256 rows at a time."""
    X = np.random.default_rng(0).normal(size=(n, 5))
    ExchangeabilityTest(SimplifiedKNN(search="tree"), random_state=0).update_many(X[:2000])  # which compiles it
    start = time.process_time()
    ExchangeabilityTest(SimplifiedKNN(), random_state=0).update_many(X)
    streamed = time.process_time()
    products = np.empty((256, n))
    for first in range(0, n - 255, 256):
        np.matmul(X[first : first + 256], X.T, out=products)
    seconds = time.process_time() - streamed
    what = f"{n:,} examples through ExchangeabilityTest / product n x n"
    return {"p": 5, "what": what, "ratio": (streamed - start) / seconds}
