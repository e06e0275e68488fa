"""The fast path equals Algorithm 1 count for count: every measure, every problem, both code paths."""

from __future__ import annotations

import warnings
from functools import cache
from itertools import product

import numpy as np
import pytest
from conftest import PATHS
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.tree import DecisionTreeRegressor

from exactcp import FullConformalClassifier, FullConformalRegressor, textbook
from exactcp.geometry.kinds import KIND_OF
from exactcp.measures import KNN, LassoResidual, ModelResidual, RegressionMeasure, RidgeResidual
from exactcp.pvalues import Counts, compare_scores, deterministic_p
from measure_table import MEASURES
from problems import PROBLEMS
from slices import sliced
from target_problems import at_most_as_promised

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


@cache
def _predictions(algorithm, measure_name, how, smoothed):
    X, y, X_test = PROBLEMS["grid with ties"]
    clf = FullConformalClassifier(
        MEASURES[measure_name], algorithm=algorithm, mondrian=TAXONOMIES[how], smoothed=smoothed, random_state=3
    )
    return clf.fit(X, y).predict_p(X_test), clf.predict(X_test)


TAXONOMIES = {
    "none": None,
    "label": "label",
    "both": lambda X, y: np.where(X[:, 0] > 1.5, -1, (X[:, 1] > 0) + 2 * (y == 1)),  # one is that of few
    "object": lambda X: np.floor(2 * X[:, 0]),
}


def _assert_equal_predictions(*question):
    fast = _predictions.__wrapped__("optimized", *question)
    for found, expected in zip(fast, _predictions("standard", *question), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("measure_name", "how", "smoothed"), sliced(3, ["KNN 3", "SimplifiedKNN 2"], TAXONOMIES, [False, True])
)
def test_standard_and_optimized_predict_the_same_on_every_path(measure_name, how, smoothed, path):
    _assert_equal_predictions(measure_name, how, smoothed)


@pytest.mark.parametrize(
    ("measure_name", "how", "smoothed"),
    sliced(
        3,
        ["KDE 0.3", "KDE tophat 1.5", "KDE exponential silverman", "LSSVM", "LSSVM rbf"],
        TAXONOMIES,
        [False, True],
    ),
)
def test_standard_and_optimized_predict_the_same(measure_name, how, smoothed):
    _assert_equal_predictions(measure_name, how, smoothed)


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
    X, y = rng.integers(1, 5, (20, 4)).astype(float) + 0.1 * np.arange(4), rng.integers(0, 2, 20)
    fast = FullConformalClassifier(KNN(k=3, metric=metric)).fit(X, y)
    slow = FullConformalClassifier(KNN(k=3, metric=metric), algorithm="standard").fit(X, y)
    np.testing.assert_array_equal(fast.predict_p(X[:5]), slow.predict_p(X[:5]))


# regression

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2)) * np.where(np.arange(12) == 0, 4.0, 1.0)[:, None]
Y = X[:, 0] + RNG.standard_t(2, size=12)
X_TEST, Y_TEST = 2.0 * RNG.normal(size=(6, 2)), np.array([0.0, 1.0, 2.0, -1.0, 0.5, -3.0])


class MedianDistance(RegressionMeasure):
    """A user's own measure without a bag: how far the target is from the median."""

    fits = 0

    def fit(self, X, y):
        type(self).fits += 1
        self.median_ = float(np.median(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.median_)


@pytest.mark.filterwarnings("ignore:ModelResidual fits")
@pytest.mark.parametrize(
    "measure",
    [
        LassoResidual(lam=0.5),
        ModelResidual(Ridge()),
        ModelResidual(Ridge(), residual="deleted"),
        ModelResidual(LinearRegression(), difficulty=DecisionTreeRegressor(max_depth=1, random_state=0)),
    ],
)
def test_p_values_are_those_of_the_bag(measure):
    fast, slow = (FullConformalRegressor(measure, algorithm=name).fit(X, Y) for name in ("optimized", "standard"))
    np.testing.assert_array_equal(fast.predict_p(X_TEST, Y_TEST), slow.predict_p(X_TEST, Y_TEST))


@pytest.mark.parametrize(
    "measure",
    [
        LassoResidual(lam=0.5),
        RidgeResidual(rho=1e-3),
        RidgeResidual(residual="deleted"),
        RidgeResidual(rho=1e-3, residual="ordinary"),
        RidgeResidual(kernel="rbf", residual="deleted"),
    ],
    ids=str,
)
def test_p_values_are_valid_without_chance(measure, rng):
    for grid in (True, False):
        X, y = rng.integers(0, 3, (10, 2)).astype(float), rng.integers(0, 3, 10).astype(float)
        X, y = (X, y) if grid else (X + rng.normal(size=(10, 2)), y + rng.normal(size=10))

        def p(others, targets, i, X=X, y=y):
            return deterministic_p(Counts(*measure.bag(others, targets).counts(X[[i]], y[[i]])))[0]

        at_most_as_promised(p, X, y)


class TestWithoutABag:
    def test_the_number_of_refits_is_said_once(self):
        reg = FullConformalRegressor(MedianDistance()).fit(X, Y)
        MedianDistance.fits = 0
        said = r"MedianDistance .* Algorithm 1: 78 refits for 6 test object\(s\). SplitConformalRegressor needs 1"
        with pytest.warns(UserWarning, match=said):
            p = reg.predict_p(X_TEST, Y_TEST)
        assert MedianDistance.fits == 78
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(reg.predict_p(X_TEST, Y_TEST), p)
            reg.partial_fit(X[:1], Y[:1]).predict_p(X_TEST, Y_TEST)

    def test_who_asks_for_algorithm_1_knows(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            FullConformalRegressor(MedianDistance(), algorithm="standard").fit(X, Y).predict_p(X_TEST, Y_TEST)

    def test_regions_are_refused_with_advice_that_helps(self):
        reg = FullConformalRegressor(MedianDistance()).fit(X, Y)
        for method in (reg.predict_interval, reg.predict_region):
            with pytest.raises(
                ValueError, match=r"MedianDistance\(\) has no bag.*predict_p.*SplitConformal"
            ) as refused:
                method(X_TEST, 0.8)
            assert "optimized" not in str(refused.value)
