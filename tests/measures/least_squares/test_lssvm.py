"""LS-SVM: equal to the textbook count for count, whatever rho, kernel and solver; learning, unlearning, sentences."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import Ridge
from sklearn.preprocessing import PolynomialFeatures
from threadpoolctl import threadpool_limits

from exactcp import FullConformalClassifier, FullConformalRegressor, SplitConformalClassifier, textbook
from exactcp._parallel import ALONE
from exactcp.measures import LSSVM, RidgeResidual
from exactcp.measures.least_squares.kernels import leave_one_out as loo_count
from exactcp.pvalues import compare_scores
from interruptions import same
from slices import sliced

RHOS = (1e-6, 1e-3, 1.0, 1e3)


def _labels(rng, n, n_labels):
    return np.concatenate([np.arange(n_labels), rng.integers(0, n_labels, n - n_labels)])


def _problem(kind, n=20, p=3, n_labels=3, seed=0):
    """Training examples, and two new test objects before one that is a training object."""
    rng = np.random.default_rng(seed)
    draw = {
        "random": lambda: rng.normal(size=(n + 2, p)),
        "grid": lambda: rng.integers(0, 3, (n + 2, p)).astype(float),
        "duplicates": lambda: rng.normal(size=(max(2, n // 2), p))[rng.integers(0, max(2, n // 2), n + 2)],
        "one-hot": lambda: np.eye(4)[rng.integers(0, 4, (n + 2, p))].reshape(n + 2, -1),
    }
    X = draw[kind]()
    return X[:n], _labels(rng, n, n_labels), np.concatenate([X[n:], X[:1]])


@cache  # labels have no part in it
def _inverse(A):
    """Gauss and Jordan, in rational arithmetic."""
    q = len(A)
    M = [[*row, *(Fraction(int(i == j)) for j in range(q))] for i, row in enumerate(A)]
    for c in range(q):
        pivot = next(r for r in range(c, q) if M[r][c] != 0)
        M[c], M[pivot] = M[pivot], M[c]
        M[c] = [v / M[c][c] for v in M[c]]
        M = [row if r == c else [v - row[c] * w for v, w in zip(row, M[c], strict=True)] for r, row in enumerate(M)]
    return np.array([row[q:] for row in M])


def _rational_scores(X, y, rho, *, fit_intercept):
    """Leave-one-out scores of whole numbers, without rounding until the end."""
    Z = np.array([[Fraction(int(v)) for v in [1] * fit_intercept + list(row)] for row in X])
    penalty = [Fraction(0)] * fit_intercept + [Fraction(rho)] * X.shape[1]
    M = _inverse(tuple(map(tuple, Z.T @ Z + np.diag(penalty))))
    scores = []
    for z, label in zip(Z, y, strict=True):
        t = np.where(y == label, 1, -1)
        scores.append(float((1 - z @ M @ (Z.T @ t)) / (1 - z @ M @ z) - 1))
    return np.array(scores)


def _assert_equals_textbook(measure, X, y, X_test, score=None):
    score = score or measure.twin()
    n_labels = int(y.max()) + 1
    bag = measure.bag(X, y, n_labels)
    found = bag.label_counts(X_test, effort=ALONE)
    own = y == np.arange(n_labels)[:, None]
    for t, (x, (training, candidates)) in enumerate(zip(X_test, bag.scores(X_test), strict=True)):
        pairs = [textbook.algorithm_1(score, X, y, x, c) for c in range(n_labels)]
        expected, alone = np.array([scores for scores, _ in pairs]), np.array([s for _, s in pairs])
        for kind, inside in (("same", own), ("other", ~own)):
            counts = compare_scores(np.where(inside, expected, np.nan), alone, floor=1.0, tolerance=1e-10)
            np.testing.assert_array_equal(
                getattr(found, f"greater_{kind}")[t], counts.greater, err_msg=f"test {t} {kind}"
            )
            np.testing.assert_array_equal(getattr(found, f"equal_{kind}")[t], counts.equal, err_msg=f"test {t} {kind}")
        # the scores themselves: a loose bound, since a small rho makes the problem itself ill-conditioned
        np.testing.assert_allclose(training, expected, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(candidates, alone, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(
            found.scores[t], candidates, rtol=1e-9
        )  # a product's last digits depend on the batch


class TestEqualsTheTextbook:
    @pytest.mark.parametrize(
        ("kind", "n", "p", "rho", "fit_intercept"),
        sliced(
            3,
            ["random", "grid", "duplicates", "one-hot"],
            [(25, 3), (12, 12), (9, 20)],
            RHOS,
            [False, True],
            also=[
                ("grid", 25, 3, 1.0, False),
                ("duplicates", 12, 12, 1e-6, False),
                ("duplicates", 12, 12, 1e-3, True),
                ("random", 9, 20, 1e-3, False),
            ],
        ),
    )
    def test_linear(self, kind, n, p, rho, fit_intercept):
        p = min(p, 5) if kind == "one-hot" else p
        measure = LSSVM(rho=rho, fit_intercept=fit_intercept)
        _assert_equals_textbook(measure, *_problem(kind, n, p, seed=n + p))

    @pytest.mark.parametrize(
        ("kind", "kernel", "rho"),
        sliced(
            3,
            ["random", "grid", "duplicates"],
            ["rbf", "poly", "sigmoid", "laplacian"],
            RHOS,
            also=[("grid", "rbf", 1.0)],
        ),
    )
    def test_kernels(self, kind, kernel, rho):
        X, y, X_test = _problem(kind, 14, 3, seed=3)
        for fit_intercept, gamma in ((False, None), (True, 0.3)):
            measure = LSSVM(rho=rho, kernel=kernel, gamma=gamma, degree=2, coef0=0.5, fit_intercept=fit_intercept)
            _assert_equals_textbook(measure, X, y, X_test)

    @pytest.mark.parametrize("rho", RHOS)
    @pytest.mark.parametrize(
        ("how", "n", "p"),
        [
            ({"solver": "primal"}, 20, 3),
            ({"solver": "svd"}, 20, 3),
            ({"solver": "svd", "kernel": "laplacian"}, 20, 3),
            ({"solver": "dual", "kernel": "laplacian"}, 20, 3),
            # by eigenvalues of finite rank: there are objects outside the span of the training objects
            ({"solver": "svd", "kernel": lambda A, B: A @ B.T}, 20, 3),
            # many and few monomials
            ({"kernel": "poly"}, 7, 9),
            ({"kernel": "poly"}, 40, 2),
            ({"kernel": "poly", "degree": 1, "coef0": 0.0}, 20, 3),
        ],
    )
    def test_every_solver_where_the_problem_is_well_conditioned(self, how, n, p, rho):
        for fit_intercept in (False, True):
            measure = LSSVM(rho=rho, fit_intercept=fit_intercept, **how)
            _assert_equals_textbook(measure, *_problem("random", n, p, seed=5))

    @pytest.mark.parametrize("rho", [1.0, 1e3])  # in the dual, more examples than features cost digits for a small rho
    def test_a_linear_kernel_in_the_dual(self, rho):
        _assert_equals_textbook(LSSVM(rho=rho, solver="dual"), *_problem("duplicates", 20, 3, seed=5))

    @pytest.mark.parametrize("kernel", ["linear", "rbf"])
    def test_many_labels_and_one_without_examples(self, kernel):
        X, y, X_test = _problem("grid", 24, 2, 10)
        y[y == 4] = 2
        _assert_equals_textbook(LSSVM(rho=0.1, kernel=kernel), X, y, X_test)

    @pytest.mark.parametrize("rho", [1.0, 1e-6])
    def test_raw_features_of_every_scale(self, rho):
        X, y = load_breast_cancer(return_X_y=True)
        _assert_equals_textbook(LSSVM(rho=rho), X[:40:2], y[:40:2], X[38:41])

    @pytest.mark.parametrize("rho", [1e-3, 1.0])
    def test_feature_maps(self, rho):
        X, y, X_test = _problem("duplicates", 16, 3, seed=4)
        other = np.random.default_rng(9).normal(size=(30, 3))

        def cosines(Z):
            return np.cos(Z @ np.arange(12.0).reshape(3, 4))

        maps = [
            RBFSampler(gamma=0.5, n_components=25, random_state=0),
            PolynomialFeatures(2),
            Nystroem(gamma=0.2, n_components=6, random_state=0),
        ]
        for feature_map, function in [(cosines, cosines), *((one, one.fit(other).transform) for one in maps)]:
            score = textbook.least_squares.lssvm(rho=rho, feature_map=function, fit_intercept=True)
            _assert_equals_textbook(LSSVM(rho=rho, feature_map=feature_map), X, y, X_test, score)

    def test_callable_and_precomputed_kernels_equal_the_named_one(self):
        X, y, X_test = _problem("duplicates", 18, 3, seed=2)

        def kernel(a, b):
            return float(np.exp(-0.7 * ((a - b) ** 2).sum()))

        named = FullConformalClassifier(LSSVM(kernel="rbf", gamma=0.7, rho=0.3)).fit(X, y)
        called = FullConformalClassifier(LSSVM(kernel=kernel, rho=0.3)).fit(X, y)

        def values(A, B):
            return np.array([[kernel(a, b) for b in B] for a in A])

        K = values(X, X)
        given = FullConformalClassifier(LSSVM(kernel="precomputed", rho=0.3)).fit(K, y)
        p = named.predict_p(X_test)
        np.testing.assert_array_equal(called.predict_p(X_test), p)
        np.testing.assert_array_equal(given.predict_p(values(X_test, X)), p)
        new, labels = np.random.default_rng(1).normal(size=(3, 3)), np.array([0, 2, 1])
        together = np.concatenate([X, new])
        named.partial_fit(new, labels).unlearn([2, 7, 19])
        given.partial_fit(values(new, together), labels).unlearn([2, 7, 19])
        kept = np.delete(together, [2, 7, 19], axis=0)
        np.testing.assert_array_equal(given.predict_p(values(X_test, kept)), named.predict_p(X_test))


class TestCounting:
    @pytest.mark.parametrize(("off", "counts"), [(0.0, (1, 0)), (9e-11, (1, 0)), (2e-10, (1, 1)), (-2e-10, (0, 0))])
    def test_the_screen_leaves_what_is_near_a_tie_to_the_divided_score(self, off, counts):
        # e = 1 + off, b = 1, g = 0, d = 1: the score is off, and the candidate's is 0
        F, one = np.zeros((1, 1)), np.ones(1)
        candidates = loo_count.new_candidates(one, F)
        examples = loo_count.ByLabel(one + off, one, np.array([0, 1]), one)
        loo_count.count_without_division(np.zeros((1, 1)), 0, examples, candidates)
        assert (candidates.tally.at_least[0, 0, 0], candidates.tally.above[0, 0, 0]) == counts

    @pytest.mark.parametrize("kernel", ["linear", "rbf"])
    def test_any_batch_and_any_number_of_threads(self, kernel):
        rng = np.random.default_rng(1)
        X, y, X_test = rng.normal(size=(700, 4)), rng.integers(0, 3, 700), rng.normal(size=(300, 4))
        X_test[::3] = X[:100]
        clf = FullConformalClassifier(LSSVM(kernel=kernel), n_jobs=1).fit(X, y)
        p = clf.predict_p(X_test)
        np.testing.assert_array_equal(clone(clf).set_params(n_jobs=2).fit(X, y).predict_p(X_test), p)
        np.testing.assert_array_equal(np.concatenate([clf.predict_p(row[None]) for row in X_test[:40]]), p[:40])
        np.testing.assert_array_equal(np.concatenate([clf.predict_p(X_test[:7]), clf.predict_p(X_test[7:])]), p)
        order = rng.permutation(700)
        np.testing.assert_array_equal(clf.fit(X[order], y[order]).predict_p(X_test), p)


@pytest.mark.parametrize(("kernel", "solver"), [("linear", "primal"), *product(["linear", "rbf"], ["dual", "svd"])])
def test_no_digit_depends_on_the_number_of_blas_threads(kernel, solver, rng):
    X = rng.normal(size=(460, 40))
    y = X[:, 0] + rng.normal(size=460)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"):
            how = {"kernel": kernel, "solver": solver}
            reg = FullConformalRegressor(RidgeResidual(**how)).fit(X[:400], y[:400])
            scores = LSSVM(**how).fit(X[:400], y[:400] > 0).score_labels(X[400:], [False, True])
            answers = [reg.predict_interval(X[400:]), reg.predict(X[400:]), scores]
            reg.partial_fit(X[400:403], y[400:403]).unlearn([0, 5])
            found.append([*answers, reg.predict_interval(X[400:])])
    assert same(*found)


def test_an_intercept_is_the_default_and_labels_may_be_unbalanced(rng):
    """Without one, an object at the origin has the score 0 for every label."""
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 6 == 0
    origin = np.zeros((1, 2))
    assert LSSVM().fit(X, y).score(origin, [False])[0] < -0.5
    assert LSSVM(fit_intercept=False).fit(X, y).score(origin, [False])[0] == 0.0


@pytest.mark.parametrize("gridded", [False, True])
@pytest.mark.parametrize("measure", [LSSVM(rho=0.5), LSSVM(kernel="rbf", gamma=0.5)])
def test_well_conditioned_data_need_no_new_factorisation(measure, gridded, rng):
    X = rng.integers(0, 4, (200, 2)).astype(float) if gridded else rng.normal(size=(200, 3))
    y = rng.integers(0, 3, 200)
    bag = measure.bag(X[:40], y[:40], 3)
    kept = bag._factorisation
    for i in range(40, 200):
        bag.learn(X[i : i + 1], y[i : i + 1])
        bag.unlearn(np.array([0]))
    assert bag._factorisation is kept


class TestDefinition:
    def test_it_is_ridge_regression(self):
        X, y = load_iris(return_X_y=True)
        for fit_intercept in (False, True):
            measure = LSSVM(rho=3.0, fit_intercept=fit_intercept).fit(X, y)
            for label in range(3):
                ridge = Ridge(alpha=3.0, fit_intercept=fit_intercept).fit(X, np.where(y == label, 1.0, -1.0))
                np.testing.assert_allclose(measure.score(X, np.full(150, label)), -ridge.predict(X), atol=1e-12)

    def test_singular_values_that_are_rounding_have_no_say(self, rng):
        X = rng.normal(size=(30, 1)) * [1.0, 0.7, 1 / 3]
        bag = LSSVM(rho=1e-16, solver="svd", fit_intercept=False).bag(X, np.arange(30) % 2, 2)
        found = bag.label_counts(np.array([[0.7, -1.0, 0.0]])).scores  # perpendicular to all objects
        np.testing.assert_allclose(found, 0.0, atol=1e-12)

    @pytest.mark.parametrize(
        ("n", "p", "seed", "rho", "fit_intercept"),
        sliced(3, [(9, 2, 0), (9, 3, 1), (14, 2, 2)], [1e-6, 1e-9, 1e-12, 1e-30], [False, True]),
    )
    def test_a_tiny_rho_costs_no_digits_where_columns_depend_on_each_other(self, n, p, seed, rho, fit_intercept):
        X, y, X_test = _problem("one-hot", n, p, seed=seed)
        measure = LSSVM(rho=rho, solver="svd", fit_intercept=fit_intercept)
        for x, (training, candidates) in zip(X_test, measure.bag(X, y, 3).scores(X_test), strict=True):
            for c in range(3):
                wanted = _rational_scores(np.vstack([X, x]), np.append(y, c), rho, fit_intercept=fit_intercept)
                np.testing.assert_allclose(training[c], wanted[:-1], rtol=1e-12, atol=1e-12)
                np.testing.assert_allclose(candidates[c], wanted[-1], rtol=1e-12, atol=1e-12)

    @pytest.mark.parametrize("solver", ["primal", "dual", "svd"])
    def test_one_label_ties_with_an_object_however_far_away(self, solver):
        # a free bias is the whole regression, which rational arithmetic confirms: all scores are -1
        X, y = _problem("grid", 12, 2, 1)[:2]
        far = np.array([[1.0, 3.0], [1e3, -7e5], [-1e8, 1e9], [3e17, 2e16], [1e150, -1e149]])
        for x in far:
            wanted = _rational_scores(np.vstack([X, x]), np.append(y, 0), 1, fit_intercept=True)
            np.testing.assert_array_equal(wanted, -1.0)
        bag = LSSVM(solver=solver).bag(X, y, 2)
        for changed in (bag, bag.fork()):
            if changed is not bag:
                changed.learn(far[1:2], np.array([0]))
            counts = changed.label_counts(far)
            np.testing.assert_array_equal(counts.equal_same[:, 0], changed.n)
            np.testing.assert_array_equal(counts.scores, [[-1.0, 1.0]] * len(far))

    def test_a_label_that_no_example_has(self):
        X, y, X_test = _problem("random", 12, 2, 2)
        scores = LSSVM().fit(X, y).score_labels(X_test, np.array([1, 7]))
        np.testing.assert_allclose(
            scores[:, 1], [textbook.least_squares.lssvm()(x, 7, X, y) for x in X_test], atol=1e-12
        )
        assert LSSVM(fit_intercept=True).fit(X, y).score(X_test, [7, 7, 7]) == pytest.approx(1.0)

    @pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
    def test_split(self, kernel):
        X, y, _ = _problem("random", 60, 3, 3)
        X = np.abs(X)
        values = X @ X.T if kernel == "precomputed" else X  # split CP needs no constant diagonal
        clf = SplitConformalClassifier(LSSVM(kernel=kernel, gamma=0.5), random_state=0).fit(values, y)
        other = SplitConformalClassifier(
            LSSVM(gamma=0.5, kernel="rbf" if kernel == "rbf" else "linear"), random_state=0
        )
        np.testing.assert_array_equal(clf.predict_p(values[:10]), other.fit(X, y).predict_p(X[:10]))

    def test_a_fitted_feature_map_survives_cloning(self):
        feature_map = RBFSampler(n_components=5, random_state=0).fit(np.zeros((1, 2)))
        measure = LSSVM(rho=2.0, feature_map=feature_map)
        assert clone(measure).feature_map is feature_map
        assert clone(measure).get_params(deep=False) == measure.get_params(deep=False)


X0, Y0, X_TEST0 = _problem("random", 12, 3, 2)


class TestSentences:
    @pytest.mark.parametrize(
        ("params", "error", "sentence"),
        [
            ({"kernel": "poly", "degree": 2, "coef0": -30.0}, ValueError, "not positive definite on these objects"),
            ({"solver": "primal", "kernel": "rbf"}, ValueError, "solver='primal' needs kernel='linear'"),
            ({"solver": "svd", "kernel": "sigmoid"}, ValueError, "solver='svd' needs a positive semidefinite kernel"),
            ({"kernel": "rbf", "memory_limit": 1000}, MemoryError, "12 examples take .* or raise memory_limit"),
            ({"feature_map": RBFSampler()}, ValueError, "is not fitted. Fit it on other data first"),
            ({"feature_map": len}, ValueError, r"feature_map returned shape \(\) for 12 objects"),
            ({"feature_map": lambda X: X / 0.0}, ValueError, "feature_map returned values that are not finite"),
            ({"feature_map": lambda X: X - X.mean(axis=0)}, ValueError, "differently when others are beside it"),
            ({"feature_map": lambda X: X, "kernel": "rbf"}, ValueError, "feature_map goes with kernel='linear'"),
            ({"kernel": "precomputed"}, ValueError, r"got X of shape \(12, 3\): expected the square matrix"),
        ],
    )
    @pytest.mark.filterwarnings("ignore:divide by zero|invalid value:RuntimeWarning")
    def test_parameters(self, params, error, sentence):
        with pytest.raises(error, match=sentence):
            FullConformalClassifier(LSSVM(**params)).fit(X0, Y0)

    def test_precomputed_kernels(self):
        K = np.exp(-np.abs(X0[:, :1] - X0[:, 0]))
        with pytest.raises(ValueError, match=r"diagonal values 1\.0 and 2\.0"):
            FullConformalClassifier(LSSVM(kernel="precomputed")).fit(K + np.diag(np.arange(12) == 3), Y0)
        with pytest.raises(ValueError, match=r"not symmetric: X\[0, 1\]"):
            FullConformalClassifier(LSSVM(kernel="precomputed")).fit(K + np.triu(K, 1), Y0)
        with pytest.raises(ValueError, match="not positive definite on these objects"):
            FullConformalClassifier(LSSVM(kernel="precomputed", rho=0.1)).fit(np.eye(12) - 1.0, Y0)
        clf = FullConformalClassifier(LSSVM(kernel="precomputed", rho=0.1)).fit(K, Y0)
        with pytest.raises(ValueError, match="not positive definite on these objects"):
            clf.predict_p(np.full((1, 12), 5.0))
        new = np.concatenate([K[:1], [[3.0]]], axis=1)
        with pytest.raises(ValueError, match=r"diagonal values 1\.0 and 3\.0"):
            clf.partial_fit(new, [0])

    def test_memory_is_asked_for_before_it_is_taken(self):
        with pytest.raises(MemoryError, match=r"100,000 examples take 298.0 GiB, and memory_limit is 4.0 GiB"):
            LSSVM(kernel="rbf").bag(np.zeros((100_000, 1)), np.zeros(100_000, int), 2)
        clf = FullConformalClassifier(LSSVM(kernel="rbf", memory_limit=32 * 13**2)).fit(X0, Y0).partial_fit(X0[:1], [0])
        with pytest.raises(MemoryError, match="14 examples take"):
            clf.partial_fit(X0[:1] + 1.0, [0])
        assert clf._bag.n == 13

    def test_a_feature_map_that_changes_its_width(self):
        clf = FullConformalClassifier(LSSVM(feature_map=lambda X: X[:, : 2 if len(X) == 3 else 3])).fit(X0, Y0)
        with pytest.raises(ValueError, match="returned 2 features, and 3 when the measure was fitted"):
            clf.predict_p(X_TEST0)
