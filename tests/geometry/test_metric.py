"""What a metric means: cosine and correlation without noise, functions whatever their name, and what is refused."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

from exactcp import FullConformalClassifier, FullConformalRegressor
from exactcp.measures import KNN, NN, KNNResidual, SimplifiedKNN
from slices import slow_but


def in_forty_digits(a: np.ndarray, b: np.ndarray) -> float:
    """Return the cosine distance, with 40 digits in between."""
    with localcontext() as context:
        context.prec = 40
        a, b = ([Decimal(float(v)) for v in row] for row in (a, b))
        ab, aa, bb = (sum(u * v for u, v in zip(x, z, strict=True)) for x, z in ((a, b), (a, a), (b, b)))
        d = 1 - ab / (aa * bb).sqrt()
        return 0.0 if abs(d) < Decimal("1e-30") else float(d)


@pytest.fixture
def parallel_rows(rng):
    X = rng.integers(-2, 3, (24, 3)).astype(float)
    X[~X.any(axis=1)] = 1.0
    X[12:] = X[:12] * rng.choice([1.0, 3.0, 0.1, 7e5], (12, 1))  # duplicates and parallel rows
    return X, rng.integers(0, 2, 24)


@pytest.mark.parametrize("measure", [NN(), KNN(k=3), SimplifiedKNN(k=2)], ids=str)
class TestAngles:
    def test_parallel_rows_are_as_far_apart_as_in_forty_digits(self, measure, parallel_rows):
        X, y = parallel_rows
        found = FullConformalClassifier(measure.set_params(metric="cosine")).fit(X, y)
        expected = FullConformalClassifier(measure.set_params(metric=in_forty_digits)).fit(X, y)
        tests = np.concatenate([X[:6], 2.0 * X[6:12], X[12:16] + 0.5])
        np.testing.assert_array_equal(found.predict_p(tests), expected.predict_p(tests))

    # the cosine is in test_other_metrics as well
    @pytest.mark.parametrize("metric", slow_but(["correlation"], ["cosine", "correlation"]))
    def test_counts_are_the_textbooks(self, measure, metric, parallel_rows):
        X, y = parallel_rows
        X = X + (np.arange(3) if metric == "correlation" else 0.0)
        X = X[(X[:, :1] != X).any(axis=1)]
        y = y[: len(X)]
        fast = FullConformalClassifier(measure.set_params(metric=metric)).fit(X, y)
        slow = FullConformalClassifier(measure.set_params(metric=metric), algorithm="standard").fit(X, y)
        tests = np.concatenate([X[:6], 3.0 * X[6:12]])
        np.testing.assert_array_equal(fast.predict_p(tests), slow.predict_p(tests))


@pytest.mark.parametrize(("metric", "row"), [("cosine", [0.0, 0.0, 0.0]), ("correlation", [0.1, 0.1, 0.1])])
def test_objects_without_a_direction_are_refused(metric, row, parallel_rows):
    X, y = parallel_rows
    X = X + 5.0 * np.arange(3)
    clf = FullConformalClassifier(KNN(k=1, metric=metric)).fit(X, y)
    for refused in (
        lambda: clf.predict_p([row]),
        lambda: clf.partial_fit([row], [0]),
        lambda: clf.fit([row, *X], [0, *y]),
    ):
        with pytest.raises(ValueError, match="has no direction: leave it out"):
            refused()


@pytest.mark.parametrize(
    "name", ["dice", "yule", "russellrao", "hamming", "minkowski", "m", "seuclidean", "mahalanobis"]
)
def test_a_function_may_have_any_name(name, rng):
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2

    def distance(a, b):
        return float(np.abs(a - b).sum())

    expected = FullConformalClassifier(KNN(k=2, metric=distance)).fit(X, y).predict_p(X[:5] + 0.1)
    distance.__name__ = name
    np.testing.assert_array_equal(
        FullConformalClassifier(KNN(k=2, metric=distance)).fit(X, y).predict_p(X[:5] + 0.1), expected
    )
    plain = FullConformalClassifier(KNN(k=2, metric="l1")).fit(X, y).predict_p(X[:5] + 0.1)
    np.testing.assert_array_equal(plain, expected)


@pytest.mark.parametrize(
    ("predictor", "measure"), [(FullConformalClassifier, KNN(k=2)), (FullConformalRegressor, KNNResidual(k=2))]
)
def test_a_function_that_is_not_symmetric_is_refused(predictor, measure, rng):
    measure = measure.set_params(metric=lambda a, b: float(np.abs(a).sum()))
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    with pytest.raises(ValueError, match=r"expected a symmetric function\. Use the mean or the larger"):
        predictor(measure).fit(X, y)


def test_a_function_is_asked_in_one_order(rng):
    """Whoever asks: a difference between directions, even in the last bits, cannot make two answers of one question."""
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 2

    def almost_symmetric(a, b):
        return float(np.abs(a - b).sum() * (1.0 + 1e-7 * (a[0] > b[0])))

    clf = FullConformalClassifier(KNN(k=2, metric=almost_symmetric)).fit(X[:20], y[:20])
    for i in range(20, 30):
        clf.partial_fit(X[i : i + 1], y[i : i + 1])
    fresh = FullConformalClassifier(KNN(k=2, metric=almost_symmetric)).fit(X, y)
    standard = FullConformalClassifier(KNN(k=2, metric=almost_symmetric), algorithm="standard").fit(X, y)
    tests = np.concatenate([X[:5], rng.normal(size=(5, 2))])
    np.testing.assert_array_equal(clf.predict_p(tests), fresh.predict_p(tests))
    np.testing.assert_array_equal(clf.predict_p(tests), standard.predict_p(tests))


@pytest.mark.parametrize("measure", [NN(), KNN(k=1), SimplifiedKNN(k=1)], ids=str)
def test_a_measure_by_itself_refuses_objects_of_another_width(measure):
    measure.fit(np.zeros((4, 2)), [0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"X has 5 features, but .* is expecting 2"):
        measure.score_labels(np.ones((2, 5)), [0, 1])
    measure.set_params(metric="precomputed").fit(np.ones((4, 4)) - np.eye(4), [0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4"):
        measure.score_labels(np.ones((2, 3)), [0, 1])


def test_a_regression_measure_by_itself_refuses_objects_of_another_width():
    measure = KNNResidual(k=1).fit(np.zeros((4, 2)), [0.0, 1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"X has 5 features, but .* is expecting 2"):
        measure.predict(np.ones((2, 5)))
