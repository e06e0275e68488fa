"""Does a measure keep the contract? For the measures of this package and for users' own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from exactcp.measures import Measure, RegressionMeasure
from exactcp.measures._algorithm_1 import StandardBag, StandardTargetBag

__all__ = ["check_measure"]

Examples = tuple[np.ndarray, np.ndarray, np.ndarray]
TargetExamples = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def check_measure(measure: Measure | RegressionMeasure, *, random_state: int = 0) -> None:
    """Check that a measure is valid in full CP, and that its bag, if it has one, equals Algorithm 1.

    Parameters
    ----------
    measure : measure
        It has `fit(X, y)` and `score(X, y)` or `score_labels(X, labels)`, and `bag` if it can learn and unlearn. One of
        regression has `predict(X)` as well.
    random_state : int, default=0
        Of the data it is tried on: random and gridded objects with duplicates, ties, classes of one example, one
        feature and several, tiny and huge scales.

    Raises
    ------
    AssertionError
        With a sentence that says what is broken, and on which data.

    Examples
    --------
    >>> from exactcp.checks import check_measure
    >>> from exactcp.measures import KNN, KNNResidual
    >>> check_measure(KNN(k=3))
    >>> check_measure(KNNResidual(k=3))
    """
    if isinstance(measure, RegressionMeasure):
        for name, targeted in _target_problems(random_state):
            _check_target_definition(measure, targeted, name)
            if clone(measure).bag(targeted[0], targeted[1]) is not None:
                _check_target_bag(measure, targeted, name)
        return
    for name, examples in _problems(random_state):
        _check_definition(measure, examples, name)
        if clone(measure).bag(examples[0], examples[1], int(examples[1].max()) + 1) is not None:
            _check_bag(measure, examples, name)


def _problems(random_state: int) -> Iterator[tuple[str, Examples]]:
    """Yield (name, (X, codes, X_test))."""
    rng = np.random.default_rng(random_state)
    for n, p, n_labels in ((12, 2, 2), (17, 3, 3), (9, 1, 4)):
        codes = np.concatenate([np.arange(n_labels), rng.integers(0, n_labels, n - n_labels)])
        grid, test = rng.integers(0, 3, (n, p)).astype(float), rng.integers(0, 3, (3, p)).astype(float)
        yield f"a grid with duplicates and ties, {n_labels} labels", (grid, codes, test)
        X = rng.normal(size=(n, p))
        X_test = np.concatenate([rng.normal(size=(2, p)), X[:1]])
        yield f"random objects, {n_labels} labels", (X, codes, X_test)
        yield "one example of each of two labels", (X[:2], np.array([0, 1]), X_test)
        singleton = np.minimum(codes, 1) * (np.arange(n) != 0) + 2 * (np.arange(n) == 0)
        yield "a label of one example", (X, singleton, X_test)
        yield "a tiny scale", (1e-6 * X, codes, 1e-6 * X_test)
        yield "a huge scale", (1e6 * X, codes, 1e6 * X_test)


def _target_problems(random_state: int) -> Iterator[tuple[str, TargetExamples]]:
    """Yield (name, (X, y, X_test, y_test))."""
    rng = np.random.default_rng(random_state)
    for n, p in ((12, 2), (9, 1)):
        grid, test = rng.integers(0, 3, (n, p)).astype(float), rng.integers(0, 3, (3, p)).astype(float)
        few = rng.integers(0, 4, n).astype(float)
        yield "a grid with duplicates and few targets", (grid, few, test, np.array([0.0, 2.0, 9.0]))
        X = rng.normal(size=(n, p))
        y = X[:, 0] + 0.5 * rng.standard_t(3, n)
        X_test, y_test = np.concatenate([2.0 * rng.normal(size=(2, p)), X[:1]]), np.array([0.3, -2.5, y[0]])
        yield "random examples", (X, y, X_test, y_test)
        yield "two examples", (X[:2], y[:2], X_test, y_test)
        yield "targets of a tiny scale", (X, 1e-6 * y, X_test, 1e-6 * y_test)
        yield "targets of a huge scale", (X, 1e6 * y, X_test, 1e6 * y_test)


def _check_fit(measure: Any, X: np.ndarray, y: np.ndarray, name: str) -> Any:
    """Return a fitted clone that is the object itself and left its input alone."""
    who, fitted, before = type(measure).__name__, clone(measure), (X.copy(), y.copy())
    _require(fitted.fit(X, y) is fitted, f"{who}.fit must return the measure itself")
    unchanged = np.array_equal(X, before[0]) and np.array_equal(y, before[1])
    _require(unchanged, f"{who}.fit changed its input on {name}")
    return fitted


def _check_scores(scores: np.ndarray, alone: np.ndarray, floor: float, who: str, name: str) -> None:
    """Refuse scores that are nan, or another for an example alone."""
    _require(not np.isnan(scores).any(), f"{who} scored nan on {name}: use inf for an example as strange as can be")
    _require(_same(alone, scores, floor), f"{who} scores an object differently alone and among others on {name}")


def _check_order(scores: np.ndarray, shuffled: np.ndarray, floor: float, who: str, name: str) -> None:
    _require(
        _same(shuffled, scores, floor),
        f"{who} depends on the order of the training examples on {name}, so that full CP with it is not valid",
    )


def _check_definition(measure: Measure, examples: Examples, name: str) -> None:
    X, codes, X_test = examples
    who, floor = type(measure).__name__, measure.tie_floor
    fitted = _check_fit(measure, X, codes, name)
    labels = np.unique(codes)
    scores = np.asarray(fitted.score_labels(X_test, labels))
    _require(scores.shape == (len(X_test), labels.size), f"{who}.score_labels returned shape {scores.shape} on {name}")
    alone = np.array([[fitted.score(x[None], np.array([c]))[0] for c in labels] for x in X_test])
    _check_scores(scores, alone, floor, who, name)
    if measure.trainer(labels.size, *X.shape) is not None:
        return  # valid because an example's samples do not depend on it, in whatever order
    shuffled = np.random.default_rng(1).permutation(len(codes))
    again = clone(measure).fit(X[shuffled], codes[shuffled]).score_labels(X_test, labels)
    _check_order(scores, again, floor, who, name)


def _check_target_definition(measure: RegressionMeasure, examples: TargetExamples, name: str) -> None:
    X, y, X_test, y_test = examples
    who, floor = type(measure).__name__, float(np.abs(y).max())
    fitted = _check_fit(measure, X, y, name)
    scores = np.asarray(fitted.score(X_test, y_test))
    for method, found in (("score", scores), ("predict", np.asarray(fitted.predict(X_test)))):
        _require(found.shape == (len(X_test),), f"{who}.{method} returned shape {found.shape} on {name}")
    alone = np.array([fitted.score(X_test[i : i + 1], y_test[i : i + 1])[0] for i in range(len(X_test))])
    _check_scores(scores, alone, floor, who, name)
    shuffled = np.random.default_rng(1).permutation(len(y))
    _check_order(scores, clone(measure).fit(X[shuffled], y[shuffled]).score(X_test, y_test), floor, who, name)


def _check_bag(measure: Measure, examples: Examples, name: str) -> None:
    X, codes, X_test = examples
    who, n_labels = type(measure).__name__, int(codes.max()) + 1
    expected = StandardBag(clone(measure), X, codes, n_labels).label_counts(X_test)

    def require_equal(bag: Any, what: str) -> None:
        found = bag.label_counts(X_test)
        for field in found._fields[:4]:
            _require_counts(getattr(found, field), getattr(expected, field), f"{who}'s bag {what}", field, name)

    bag = clone(measure).bag(X, codes, n_labels)
    require_equal(bag, "after fitting")
    _require(bag.n == codes.size and np.array_equal(bag.codes(), codes), f"{who}'s bag miscounts its examples")
    for (training, candidate), (training_1, candidate_1) in zip(
        bag.scores(X_test), StandardBag(clone(measure), X, codes, n_labels).scores(X_test), strict=True
    ):
        _require(
            _same(training, training_1, measure.tie_floor) and _same(candidate, candidate_1, measure.tie_floor),
            f"{who}'s bag.scores differ from Algorithm 1 on {name}",
        )
    half = max(1, codes.size // 2)
    grown = clone(measure).bag(X[:half], codes[:half], n_labels)
    for i in range(half, codes.size):
        grown.learn(X[i : i + 1], codes[i : i + 1])
    require_equal(grown, "after learning one by one")
    extra = np.concatenate([X_test, X[:2]])
    bag.learn(extra, np.arange(len(extra)) % n_labels)
    bag.unlearn(np.arange(codes.size, codes.size + len(extra)))
    require_equal(bag, "after learning and unlearning")


def _check_target_bag(measure: RegressionMeasure, examples: TargetExamples, name: str) -> None:
    X, y, X_test, y_test = examples
    who = type(measure).__name__
    expected = StandardTargetBag(clone(measure), X, y).counts(X_test, y_test)

    def require_equal(bag: Any, what: str) -> None:
        for field, found, wanted in zip(
            ("greater", "equal", "total"), bag.counts(X_test, y_test), expected, strict=True
        ):
            _require_counts(found, wanted, f"{who}'s bag {what}", field, name)

    bag = clone(measure).bag(X, y)
    require_equal(bag, "after fitting")
    _require(bag.n == y.size and np.array_equal(bag.targets(), y), f"{who}'s bag miscounts its examples")
    half = max(1, y.size // 2)
    grown = clone(measure).bag(X[:half], y[:half])
    for i in range(half, y.size):
        grown.learn(X[i : i + 1], y[i : i + 1])
    require_equal(grown, "after learning one by one")
    bag.learn(np.concatenate([X_test, X[:2]]), np.concatenate([y_test, y[:2]]))
    bag.unlearn(np.arange(y.size, y.size + 5))
    require_equal(bag, "after learning and unlearning")


def _require_counts(found: Any, expected: Any, what: str, field: str, name: str) -> None:
    _require(
        np.array_equal(found, expected),
        f"{what} differs from Algorithm 1 in {field} on {name}:\n{found}\nexpected\n{expected}",
    )


def _same(a: np.ndarray, b: np.ndarray, floor: float) -> bool:
    """Tell whether scores are equal but for rounding, which the tie rule forgives; floor is what it is relative to."""
    with np.errstate(invalid="ignore"):
        close = np.abs(a - b) <= 1e-9 * np.maximum(np.abs(b), floor)
    return bool(np.all((a == b) | close))


def _require(condition: bool, sentence: str) -> None:  # noqa: FBT001
    if not condition:
        raise AssertionError(sentence)
