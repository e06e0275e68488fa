"""The fast path equals Algorithm 1 count for count: every measure, every problem, both code paths."""

from __future__ import annotations

from functools import cache, partial
from itertools import product

import numpy as np
import pytest
from conftest import PATHS
from scipy.spatial.distance import cdist
from sklearn.base import clone

from exactcp import FullConformalClassifier, textbook
from exactcp.geometry.kinds import KIND_OF
from exactcp.pvalues import compare_scores
from measure_table import MEASURES
from problems import PROBLEMS
from slices import sliced

# LS-SVM's textbook refits in long double, which takes minutes on the largest problems: those are left out for it
SLOW_FOR_LSSVM = {"ten labels", "more features than examples"}
SCREENED = [
    name
    for name, measure in MEASURES.items()
    if measure.get_params().get("metric") in KIND_OF and measure.metric_params is None
]
OTHERS = [name for name in MEASURES if name not in SCREENED]  # have no path
QUICK = {  # ties and small labels stay in the normal lane
    *product(("KNN 3", "SimplifiedKNN 2"), ("four labels", "grid with ties", "singleton label")),
    ("KNN 3", "outliers"),
    ("NN", "duplicates only"),
    *product(("KDE tophat 1.5", "LSSVM", "LSSVM rbf"), ["grid with ties"]),
    ("LSSVM 0.01 intercept", "singleton label"),
}
QUICK_ON_PATHS = {
    *((path, *pair) for path in PATHS[:-1] for pair in QUICK),
    *product(["tree"], ("KNN 3", "SimplifiedKNN 2"), ("one of each label", "ten labels")),
}


def _asked(measure_name, problem_name):
    """Return the test objects: three for measures with a slow textbook, whose own tests ask more, if nothing ties."""
    X_test = PROBLEMS[problem_name][2]
    is_brief = measure_name.startswith(("KDE", "LSSVM")) and problem_name not in ("grid with ties", "singleton label")
    return X_test[[0, 1, -1]] if is_brief else X_test


def _textbook_score(measure):
    metric = measure.get_params().get("metric", "euclidean")
    if metric != "euclidean":
        names = {"manhattan": "cityblock"}
        params = measure.metric_params or {}
        measure = clone(measure).set_params(
            metric=lambda a, b: cdist(a[None], b[None], names.get(metric, metric), **params)[0, 0], metric_params=None
        )
    return measure.twin()


@pytest.fixture(scope="module")
def expected():
    """Training and candidate scores of Algorithm 1, computed once for each measure and problem."""
    cache = {}

    def scores(measure_name, problem_name):
        if (measure_name, problem_name) not in cache:
            score = _textbook_score(MEASURES[measure_name])
            assert score is not None
            X, y, _ = PROBLEMS[problem_name]
            cache[measure_name, problem_name] = [
                [textbook.algorithm_1(score, X, y, x, label) for label in np.unique(y)]
                for x in _asked(measure_name, problem_name)
            ]
        return cache[measure_name, problem_name]

    return scores


@pytest.mark.parametrize(
    ("measure_name", "problem_name"),
    [
        pair
        for pair in sliced(3, OTHERS, PROBLEMS, also=QUICK)
        if not (pair.values[0].startswith("LSSVM") and pair.values[1] in SLOW_FOR_LSSVM)
    ],
)
def test_label_counts(measure_name, problem_name, expected):
    _assert_equal_counts(measure_name, problem_name, expected)


@pytest.mark.parametrize(
    ("path", "measure_name", "problem_name"),
    [
        *sliced(7, PATHS[:-1], SCREENED, PROBLEMS, also=QUICK_ON_PATHS),
        *(pytest.param(*one, marks=pytest.mark.slow) for one in product(PATHS[-1:], SCREENED, PROBLEMS)),
    ],
    indirect=["path"],
)
def test_label_counts_on_every_path(measure_name, problem_name, expected, path):
    _assert_equal_counts(measure_name, problem_name, expected, has_scores=path != "intervals")


def _assert_equal_counts(measure_name, problem_name, expected, *, has_scores=True):
    X, y, _ = PROBLEMS[problem_name]
    measure = clone(MEASURES[measure_name])
    rule = {"floor": measure.tie_floor, "tolerance": measure.tie_tolerance}
    found = measure.bag(X, y, int(y.max()) + 1).label_counts(_asked(measure_name, problem_name))
    for t, row in enumerate(expected(measure_name, problem_name)):
        for c, (training, candidate) in enumerate(row):
            same = compare_scores(training[None, y == c], np.array([candidate]), **rule)
            other = compare_scores(training[None, y != c], np.array([candidate]), **rule)
            where = f"test object {t}, label {c}"
            assert found.greater_same[t, c] == same.greater[0], where
            assert found.equal_same[t, c] == same.equal[0], where
            assert found.greater_other[t, c] == other.greater[0], where
            assert found.equal_other[t, c] == other.equal[0], where
            # sums round differently; a regression with outliers is ill-conditioned itself: only its counts are exact
            tolerance = 1e-6 if measure_name.startswith("LSSVM") else 1e-12
            absolute = (
                1e-6 if measure_name.startswith("LSSVM") else 1e-12 * measure.tie_floor
            )  # logarithms round near 0
            if has_scores:
                assert found.scores[t, c] == pytest.approx(candidate, rel=tolerance, abs=absolute), where


def _predictions(algorithm, measure_name, smoothed, mondrian):
    X, y, X_test = PROBLEMS["grid with ties"]
    measure = MEASURES[measure_name]
    clf = FullConformalClassifier(measure, algorithm=algorithm, mondrian=mondrian, smoothed=smoothed, random_state=3)
    return clf.fit(X, y).predict_p(X_test), clf.predict(X_test)


_standard_predictions = cache(partial(_predictions, "standard"))  # which no path concerns


@pytest.mark.parametrize(
    ("measure_name", "smoothed", "mondrian"),
    sliced(
        2,
        ["KNN 3", "SimplifiedKNN 2"],
        [False, True],
        [None, "label", lambda X, y: (X[:, 0] > 0) + 2 * (y == 1)],
    ),
)
def test_standard_and_optimized_predict_the_same(measure_name, smoothed, mondrian, path):
    fast = _predictions("optimized", measure_name, smoothed, mondrian)
    for found, expected in zip(fast, _standard_predictions(measure_name, smoothed, mondrian), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_any_taxonomy_counts_within_the_category_only():
    X, y, X_test = PROBLEMS["four labels"]
    taxonomy = lambda X, y: np.where(y < 2, "low", "high")  # noqa: E731
    clf = FullConformalClassifier(MEASURES["KNN 3"], mondrian=taxonomy).fit(X, y)
    score = textbook.neighbours.knn(3)
    found = clf.predict_p(X_test)
    for t, x in enumerate(X_test):
        for c in range(4):
            training, candidate = textbook.algorithm_1(score, X, y, x, c)
            inside = taxonomy(X, y) == taxonomy(x[None], np.array([c]))[0]
            at_least = (training[inside] >= candidate * (1 - 1e-10)).sum()
            assert found[t, c] == (at_least + 1) / (inside.sum() + 1)


@pytest.mark.parametrize("k", [1, 5])
def test_precomputed_distances_equal_the_metric(k, rng):
    X, y, X_test = PROBLEMS["four labels"]
    from exactcp.measures import KNN

    plain = FullConformalClassifier(KNN(k=k)).fit(X, y)
    named = FullConformalClassifier(KNN(k=k, metric="precomputed")).fit(cdist(X, X), y)
    standard = FullConformalClassifier(KNN(k=k, metric="precomputed"), algorithm="standard").fit(cdist(X, X), y)
    np.testing.assert_array_equal(named.predict_p(cdist(X_test, X)), plain.predict_p(X_test))
    np.testing.assert_array_equal(standard.predict_p(cdist(X_test, X)), plain.predict_p(X_test))

    new, labels = rng.normal(size=(3, 3)), np.array([0, 3, 1])
    together = np.concatenate([X, new])
    plain.partial_fit(new, labels).unlearn([2, 7])
    named.partial_fit(cdist(new, together), labels).unlearn([2, 7])
    kept = np.delete(together, [2, 7], axis=0)
    np.testing.assert_array_equal(named.predict_p(cdist(X_test, kept)), plain.predict_p(X_test))


@pytest.mark.parametrize("metric", ["cosine", "canberra", "hamming", "sqeuclidean", "correlation", "braycurtis", "l1"])
def test_named_metrics_equal_refitting(metric, rng):
    from exactcp.measures import KNN

    X, y = rng.integers(1, 5, (20, 4)).astype(float) + 0.1 * np.arange(4), rng.integers(0, 2, 20)
    fast = FullConformalClassifier(KNN(k=3, metric=metric)).fit(X, y)
    slow = FullConformalClassifier(KNN(k=3, metric=metric), algorithm="standard").fit(X, y)
    np.testing.assert_array_equal(fast.predict_p(X[:5]), slow.predict_p(X[:5]))
