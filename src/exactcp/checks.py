"""Does a measure keep the contract? For the measures of this package and for users' own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from exactcp._standard_bag import StandardBag
from exactcp.measures import Measure

Examples = tuple[np.ndarray, np.ndarray, np.ndarray]


def check_measure(measure: Measure, *, random_state: int = 0) -> None:
    """Check that a measure is valid in full CP, and that its bag, if it has one, equals Algorithm 1.

    Parameters
    ----------
    measure : measure
        It has `fit(X, y)` and `score(X, y)` or `score_labels(X, labels)`, and `bag` if it can learn and unlearn.
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
    >>> from exactcp.measures import KNN
    >>> check_measure(KNN(k=3))
    """
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


def _check_definition(measure: Measure, examples: Examples, name: str) -> None:
    X, codes, X_test = examples
    who = type(measure).__name__
    fitted = clone(measure)
    before = X.copy()
    _require(fitted.fit(X, codes) is fitted, f"{who}.fit must return the measure itself")
    _require(np.array_equal(X, before), f"{who}.fit changed its input on {name}")
    labels = np.unique(codes)
    scores = np.asarray(fitted.score_labels(X_test, labels))
    _require(scores.shape == (len(X_test), labels.size), f"{who}.score_labels returned shape {scores.shape} on {name}")
    _require(not np.isnan(scores).any(), f"{who} scored nan on {name}: use inf for an example as strange as can be")
    one_by_one = np.array([[fitted.score(x[None], np.array([c]))[0] for c in labels] for x in X_test])
    _require(_same(one_by_one, scores, fitted), f"{who} scores an object differently alone and among others on {name}")
    if hasattr(measure, "samples"):  # valid because an example's samples do not depend on it, in whatever order
        return
    shuffled = np.random.default_rng(1).permutation(len(codes))
    again = clone(measure).fit(X[shuffled], codes[shuffled]).score_labels(X_test, labels)
    _require(
        _same(again, scores, fitted),
        f"{who} depends on the order of the training examples on {name}, so that full CP with it is not valid",
    )


def _check_bag(measure: Measure, examples: Examples, name: str) -> None:
    X, codes, X_test = examples
    who, n_labels = type(measure).__name__, int(codes.max()) + 1
    expected = StandardBag(clone(measure), X, codes, n_labels).label_counts(X_test)

    def require_equal(bag: Any, what: str) -> None:
        found = bag.label_counts(X_test)
        for field in found._fields[:4]:
            _require(
                np.array_equal(getattr(found, field), getattr(expected, field)),
                f"{who}'s bag {what} differs from Algorithm 1 in {field} on {name}:\n"
                f"{getattr(found, field)}\nexpected\n{getattr(expected, field)}",
            )

    bag = clone(measure).bag(X, codes, n_labels)
    require_equal(bag, "after fitting")
    _require(bag.n == codes.size and np.array_equal(bag.codes(), codes), f"{who}'s bag miscounts its examples")
    for (training, candidate), (training_1, candidate_1) in zip(
        bag.scores(X_test), StandardBag(clone(measure), X, codes, n_labels).scores(X_test), strict=True
    ):
        _require(
            _same(training, training_1, measure) and _same(candidate, candidate_1, measure),
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


def _same(a: np.ndarray, b: np.ndarray, measure: Measure) -> bool:
    """Tell whether scores are equal but for rounding, which the tie rule forgives."""
    with np.errstate(invalid="ignore"):
        close = np.abs(a - b) <= 1e-9 * np.maximum(np.abs(b), measure.tie_floor)
    return bool(np.all((a == b) | close))


def _require(condition: bool, sentence: str) -> None:  # noqa: FBT001
    if not condition:
        raise AssertionError(sentence)
