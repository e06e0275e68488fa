"""Venn prediction against k-NN conformal classification, Venn-Abers against LS-SVM, and both against the textbook."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import make_classification

from benchmarks.stopwatch import best_seconds
from exactcp import FullConformalClassifier, VennAbersPredictor, VennPredictor, textbook
from exactcp.measures import KNN, LSSVM

FEW = 100  # training examples for the textbook


def _generated(n: int, m: int, p: int, n_labels: int) -> tuple[np.ndarray, ...]:
    informative = 2 if n_labels == 2 else max(4, p // 4)
    X, y = make_classification(
        n_samples=n + m, n_features=p, n_informative=informative, n_classes=n_labels, random_state=0
    )
    return X[:n], y[:n], X[n:]


def _in_turns(ours: Callable[[], Any], theirs: Callable[[], Any], repeat: int = 5) -> tuple[float, float]:
    """Return the shortest times of both, measured in turns: other load matters less."""
    seconds = np.array([[best_seconds(work, repeat=1) for work in (ours, theirs)] for _ in range(repeat)])
    return float(seconds[:, 0].min()), float(seconds[:, 1].min())


def rows(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield one row of ratios for each predictor and shape; the reference is full CP with the same ingredients."""
    scale = 10 if quick else 1
    for n_labels in (2, 10):
        data = _generated(100_000 // scale, 2048 // scale, 30, n_labels)
        yield _compare("Venn, k=15", VennPredictor(), KNN(), data, _textbook_venn)
    for name, measure in {
        "linear": LSSVM(fit_intercept=False),
        "rbf": LSSVM(kernel="rbf", fit_intercept=False),
    }.items():
        data = _generated(5_000 // scale, 256, 30, 2)
        predictor = VennAbersPredictor(measure)
        yield _compare(f"Venn-Abers, {name}", predictor, measure, data, lambda m=measure: _textbook_venn_abers(m))


def _compare(
    name: str, predictor: Any, measure: Any, data: tuple[np.ndarray, ...], against_textbook: Callable[[], float]
) -> dict[str, Any]:
    X, y, X_test = data
    reference = FullConformalClassifier(measure)
    for clf, predict in ((predictor, "predict_proba_interval"), (reference, "predict_p")):
        getattr(clf.fit(X[:5000], y[:5000]), predict)(X_test)  # compiles
    ours, theirs = _in_turns(lambda: predictor.fit(X, y), lambda: reference.fit(X, y), repeat=2)
    fit = ours / theirs
    ours, theirs = _in_turns(lambda: predictor.predict_proba_interval(X_test), lambda: reference.predict_p(X_test))
    return {
        "predictor": name,
        "n": len(X),
        "p": X.shape[1],
        "labels": len(np.unique(y)),
        "fit / full CP": fit,
        "predict / full CP": ours / theirs,
        "predict, ms an object": 1000 * ours / len(X_test),
        f"textbook / predict, n={FEW}": against_textbook(),
    }


def _ratio(slow: Callable[[], Any], predict: Callable[[], Any], m: int) -> float:
    """Return the textbook's time for one object over ours."""
    predict()
    return best_seconds(slow, repeat=2, at_most=2.0) / (best_seconds(predict) / m)


def _textbook_venn() -> float:
    X, y, X_test = _generated(FEW, 64, 30, 2)
    clf = VennPredictor().fit(X, y)
    return _ratio(
        lambda: textbook.venn.venn_table(X, y, X_test[0], np.unique(y), 15),
        lambda: clf.predict_proba_interval(X_test),
        64,
    )


def _textbook_venn_abers(measure: LSSVM) -> float:
    X, y, X_test = _generated(FEW, 64, 30, 2)
    clf, score = VennAbersPredictor(measure).fit(X, y), measure.twin()
    assert score is not None
    return _ratio(
        lambda: textbook.venn.venn_abers(score, X, y, X_test[0], 1), lambda: clf.predict_proba_interval(X_test), 64
    )


def slopes(*, quick: bool) -> Iterator[dict[str, Any]]:
    """Yield the slope of time against n on a log-log scale, between two sizes."""
    sizes = {
        "Venn, k=15": (VennPredictor(), (5_000, 20_000) if quick else (25_000, 100_000)),
        "Venn-Abers, linear": (
            VennAbersPredictor(LSSVM(fit_intercept=False)),
            (1_000, 4_000) if quick else (10_000, 40_000),
        ),
        "Venn-Abers, rbf": (
            VennAbersPredictor(LSSVM(kernel="rbf", fit_intercept=False)),
            (500, 1_000) if quick else (1_250, 5_000),
        ),
    }
    for name, (clf, (small, large)) in sizes.items():
        seconds = []
        for n in (small, large):
            X, y, X_test = _generated(n, 512, 30, 2)
            fit = best_seconds(lambda X=X, y=y, clf=clf: clf.fit(X, y), repeat=2)
            predict = best_seconds(lambda X_test=X_test, clf=clf: clf.predict_proba_interval(X_test), repeat=3)
            seconds.append((fit, predict))
        fit, predict = (np.log(b / a) / np.log(large / small) for a, b in zip(*seconds, strict=True))
        yield {"predictor": name, "from n": small, "to n": large, "fit slope": fit, "predict slope": predict}
