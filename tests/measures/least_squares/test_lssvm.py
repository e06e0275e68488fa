"""LS-SVM: equal to the textbook count for count, whatever rho, kernel and solver; learning, unlearning, sentences."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from threadpoolctl import threadpool_limits

from exactcp import FullConformalClassifier, FullConformalRegressor, SplitConformalClassifier, textbook
from exactcp._parallel import ALONE
from exactcp.checks import check_measure
from exactcp.measures import LSSVM, RidgeResidual
from exactcp.measures.least_squares import _lssvm_bag
from exactcp.measures.least_squares._kernel_function import PolynomialMap
from exactcp.measures.least_squares.kernels import leave_one_out as loo_count
from exactcp.pvalues import compare_scores
from interruptions import same
from slices import both_lanes, sliced, slow_but

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
    @pytest.mark.parametrize("n", [7, 40])
    def test_polynomials_with_many_and_few_monomials(self, n, rho):
        _assert_equals_textbook(LSSVM(rho=rho, kernel="poly"), *_problem("random", n, 2 if n > 20 else 9, seed=n))

    @pytest.mark.parametrize("n_labels", [2, 4, 10])
    @pytest.mark.parametrize("kernel", ["linear", "rbf"])
    def test_labels(self, kernel, n_labels):
        _assert_equals_textbook(LSSVM(rho=0.1, kernel=kernel), *_problem("grid", 24, 2, n_labels, seed=n_labels))

    @pytest.mark.parametrize("kernel", ["linear", "rbf"])
    def test_singleton_label(self, kernel):
        X, _, X_test = _problem("random", 12, 2)
        _assert_equals_textbook(LSSVM(kernel=kernel), X, np.array([2] + [0] * 6 + [1] * 5), X_test)

    @pytest.mark.parametrize("fit_intercept", [False, True])
    @pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
    def test_two_examples_and_one_object_many_times(self, kernel, fit_intercept):
        measure = LSSVM(kernel=kernel, fit_intercept=fit_intercept)
        X_test = np.array([[0.0, 0.0], [1.0, 2.0]])
        _assert_equals_textbook(measure, np.array([[0.0, 0.5], [1.0, 2.0]]), np.array([0, 1]), X_test)
        _assert_equals_textbook(measure, np.ones((8, 2)), np.array([0, 1, 0, 1, 0, 0, 1, 1]), X_test)

    @pytest.mark.parametrize("rho", RHOS)
    @pytest.mark.parametrize(
        ("solver", "kernel"), [("primal", "linear"), ("svd", "linear"), ("svd", "laplacian"), ("dual", "laplacian")]
    )
    def test_every_solver_where_the_problem_is_well_conditioned(self, solver, kernel, rho):
        for fit_intercept in (False, True):
            measure = LSSVM(rho=rho, kernel=kernel, solver=solver, fit_intercept=fit_intercept)
            _assert_equals_textbook(measure, *_problem("random", 20, 3, seed=5))

    @pytest.mark.parametrize("rho", RHOS)
    def test_a_kernel_of_finite_rank_by_eigenvalues(self, rho):
        for fit_intercept in (False, True):
            measure = LSSVM(rho=rho, kernel=lambda A, B: A @ B.T, solver="svd", fit_intercept=fit_intercept)
            X, y, X_test = _problem("random", 20, 3, seed=5)
            assert measure.bag(X, y, 3)._factorisation._has_gap  # objects outside the span of the training objects
            _assert_equals_textbook(measure, X, y, X_test)

    @pytest.mark.parametrize("rho", [1.0, 1e3])  # in the dual, more examples than features cost digits for a small rho
    def test_a_linear_kernel_in_the_dual(self, rho):
        _assert_equals_textbook(LSSVM(rho=rho, solver="dual"), *_problem("duplicates", 20, 3, seed=5))

    @pytest.mark.parametrize(("factor", "shift"), [(1e-9, 0.0), (1e9, 0.0), (1e-3, 1e6)])
    @pytest.mark.parametrize("fit_intercept", [False, True])
    def test_scales(self, factor, shift, fit_intercept):
        X, y, X_test = _problem("random", 15, 3, seed=8)
        measure = LSSVM(rho=0.01, fit_intercept=fit_intercept)
        _assert_equals_textbook(measure, factor * X + shift, y, factor * X_test + shift)

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

        _assert_equals_textbook(LSSVM(rho=rho, feature_map=cosines), X, y, X_test)
        maps = [
            RBFSampler(gamma=0.5, n_components=25, random_state=0),
            PolynomialFeatures(2),
            Nystroem(gamma=0.2, n_components=6, random_state=0),
        ]
        for transformer in maps:
            measure = LSSVM(rho=rho, feature_map=transformer.fit(other), fit_intercept=True)
            score = textbook.least_squares.lssvm(rho=rho, feature_map=transformer.transform, fit_intercept=True)
            _assert_equals_textbook(measure, X, y, X_test, score)

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

    @pytest.mark.parametrize(
        "measure",
        [
            LSSVM(rho=1e-3, fit_intercept=True),
            LSSVM(kernel="rbf", gamma=2.0, fit_intercept=True),
            LSSVM(kernel="laplacian", rho=10.0, solver="svd"),
            pytest.param(LSSVM(kernel="poly", degree=2), marks=pytest.mark.slow),
            pytest.param(LSSVM(kernel="sigmoid", gamma=0.1), marks=pytest.mark.slow),
        ],
        ids=str,
    )
    def test_check_measure(self, measure):
        check_measure(measure)


class TestCounting:
    def test_screened_and_exact_counts_agree(self, monkeypatch):
        rng = np.random.default_rng(0)
        X, y = rng.integers(0, 4, (3000, 2)).astype(float), rng.integers(0, 5, 3000)
        X_test = np.concatenate([rng.integers(0, 4, (150, 2)).astype(float), rng.normal(size=(50, 2))])
        bag = LSSVM(rho=0.5).bag(X, y, 5)
        screened = bag.label_counts(X_test)
        assert (screened.equal_same + screened.equal_other).sum() > 10_000  # the grid has ties in every chunk
        bag._forget_solution()
        monkeypatch.setattr(_lssvm_bag, "LABELS_BY_RANK", 0)
        exact = bag.label_counts(X_test)
        for one, other in zip(screened, exact, strict=True):
            np.testing.assert_array_equal(one, other)
        training, candidates = next(bag.scores(X_test[:1]))
        counts = compare_scores(training, candidates, floor=1.0, tolerance=1e-10)
        np.testing.assert_array_equal((screened.greater_same + screened.greater_other)[0], counts.greater)

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

    @pytest.mark.parametrize("smoothed", [False, True])
    @pytest.mark.parametrize("mondrian", [None, "label", lambda X, y: (X[:, 0] > 0) + 2 * (y == 1)])
    @pytest.mark.parametrize("kernel", ["linear", "rbf"])
    def test_standard_and_optimized_predict_the_same(self, kernel, mondrian, smoothed):
        X, y, X_test = _problem("grid", 18, 2, 2, seed=7)
        fast, slow = (
            FullConformalClassifier(
                LSSVM(rho=0.2, kernel=kernel), algorithm=a, mondrian=mondrian, smoothed=smoothed, random_state=3
            ).fit(X, y)
            for a in ("optimized", "standard")
        )
        np.testing.assert_array_equal(fast.predict_p(X_test), slow.predict_p(X_test))

    def test_a_declared_label_without_examples_has_targets_of_minus_one(self):
        X, y, X_test = _problem("random", 15, 2, 2, seed=1)
        found = LSSVM().bag(X, y, 3).label_counts(X_test)
        score = textbook.least_squares.lssvm()
        for t, x in enumerate(X_test):
            training, candidate = textbook.algorithm_1(score, X, y, x, 2)
            assert found.scores[t, 2] == pytest.approx(candidate, rel=1e-12)
            assert found.greater_other[t, 2] == (training > candidate + 1e-10 * max(1, abs(candidate))).sum()
            assert found.greater_same[t, 2] == found.equal_same[t, 2] == 0


@pytest.mark.parametrize("solver", ["primal", "dual", "svd"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_no_digit_depends_on_the_number_of_blas_threads(kernel, solver, rng):
    if kernel == "rbf" and solver == "primal":
        pytest.skip("has no features")
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


MEASURES = {
    "primal": LSSVM(rho=0.5),
    "primal with bias": LSSVM(rho=0.5, fit_intercept=True),
    "small rho": LSSVM(rho=1e-6),
    "dual": LSSVM(kernel="rbf", gamma=0.5),
    "dual with bias": LSSVM(kernel="rbf", gamma=0.5, fit_intercept=True),
    "sigmoid": LSSVM(kernel="sigmoid", gamma=0.1),
    "polynomial": LSSVM(kernel="poly", degree=2),
    "svd of a kernel": LSSVM(kernel="rbf", rho=1e-3, solver="svd"),
}


def _assert_same_counts(bag, fresh, X_test):
    for one, other in zip(bag.label_counts(X_test)[:4], fresh.label_counts(X_test)[:4], strict=True):
        np.testing.assert_array_equal(one, other)


class TestLearning:
    @settings(max_examples=60, deadline=None)
    @given(data=st.data())
    def test_any_history_equals_a_fresh_fit(self, data):
        measure = MEASURES[data.draw(st.sampled_from(sorted(MEASURES)), label="measure")]
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1), label="seed"))
        X, y = rng.integers(0, 3, (12, 2)).astype(float), _labels(rng, 12, 3)
        bag = measure.bag(X, y, 3)
        for _ in range(data.draw(st.integers(1, 6), label="steps")):
            if data.draw(st.booleans(), label="learn"):
                m = data.draw(st.integers(1, 6), label="how many")
                X_new, y_new = rng.integers(0, 3, (m, 2)).astype(float), rng.integers(0, 3, m)
                bag.learn(X_new, y_new)
                X, y = np.concatenate([X, X_new]), np.concatenate([y, y_new])
            elif len(y) > 2:
                gone = rng.choice(len(y), data.draw(st.integers(1, len(y) - 1), label="how many"), replace=False)
                bag.unlearn(gone)
                X, y = np.delete(X, gone, axis=0), np.delete(y, gone)
        np.testing.assert_array_equal(bag.codes(), y)
        _assert_same_counts(bag, measure.bag(X, y, 3), rng.integers(0, 3, (5, 2)).astype(float))

    @pytest.mark.parametrize("name", slow_but(["primal with bias", "dual", "sigmoid", "svd of a kernel"], MEASURES))
    @both_lanes(1000, 5000)
    def test_thousands_of_pairs_leave_the_state_of_a_fresh_fit(self, name, repetitions):
        rng = np.random.default_rng(2)
        X, y = rng.normal(size=(30, 3)), rng.integers(0, 3, 30)
        X_test = np.concatenate([rng.normal(size=(20, 3)), X[:10]])
        bag, fresh = MEASURES[name].bag(X, y, 3), MEASURES[name].bag(X, y, 3)
        new = rng.normal(size=(repetitions, 3)) * 10.0 ** rng.uniform(-2, 2, (repetitions, 1))
        labels = rng.integers(0, 3, repetitions)
        for i in range(repetitions):
            bag.learn(new[i : i + 1], labels[i : i + 1])
            bag.unlearn(np.array([30]))
        _assert_same_counts(bag, fresh, X_test)
        for (training, _), (expected, _) in zip(bag.scores(X_test), fresh.scores(X_test), strict=True):
            np.testing.assert_allclose(training, expected, rtol=1e-10, atol=1e-10)

    @pytest.mark.parametrize("name", ["primal", "primal with bias", "dual"])
    def test_a_sliding_window_equals_a_fresh_fit(self, name):
        rng = np.random.default_rng(3)
        X, y = rng.normal(size=(400, 3)), rng.integers(0, 3, 400)
        bag = MEASURES[name].bag(X[:40], y[:40], 3)
        kept = bag._factorisation
        for i in range(40, 400):
            bag.learn(X[i : i + 1], y[i : i + 1])
            bag.unlearn(np.array([0]))
            if i % 60 == 39:
                _assert_same_counts(bag, MEASURES[name].bag(X[i - 39 : i + 1], y[i - 39 : i + 1], 3), X[:6] + 0.5)
        assert bag._factorisation is kept, "well-conditioned data need no new factorisation"

    def test_equal_objects_need_no_new_factorisation(self):
        rng = np.random.default_rng(5)
        X, y = rng.integers(0, 4, (60, 2)).astype(float), rng.integers(0, 3, 60)
        bag = MEASURES["dual"].bag(X[:40], y[:40], 3)
        kept = bag._factorisation
        for i in range(40, 60):
            bag.learn(X[i : i + 1], y[i : i + 1])
            bag.unlearn(np.array([0]))
        assert bag._factorisation is kept
        _assert_same_counts(bag, MEASURES["dual"].bag(X[20:], y[20:], 3), X[:6] + 0.5)

    def test_new_labels_and_labels_that_leave(self):
        rng = np.random.default_rng(4)
        X, y = rng.normal(size=(12, 2)), np.array(["b", "d"] * 4 + ["a", "c", "d", "e"])
        for measure in (LSSVM(), LSSVM(kernel="rbf")):
            clf = FullConformalClassifier(measure).fit(X[:8], y[:8]).partial_fit(X[8:], y[8:])
            np.testing.assert_array_equal(clf.predict_p(X), FullConformalClassifier(measure).fit(X, y).predict_p(X))
            kept = np.delete(np.arange(12), [8, 11])
            np.testing.assert_array_equal(
                clf.unlearn([8, 11]).predict_p(X), FullConformalClassifier(measure).fit(X[kept], y[kept]).predict_p(X)
            )

    def test_a_failing_kernel_leaves_the_bag_as_it_was(self):
        rng = np.random.default_rng(5)
        X, y = rng.normal(size=(30, 2)), np.arange(30) % 2

        def kernel(a, b):
            return float("nan") if 9.0 in (a[0], b[0]) else float(np.exp(-abs(a - b).sum()))

        clf = FullConformalClassifier(LSSVM(kernel=kernel)).fit(X, y)
        before = clf.predict_p(X[:5])
        with pytest.raises(ValueError, match="not finite for some pair"):
            clf.partial_fit([[1.0, 1.0], [9.0, 0.0]], [0, 1])
        np.testing.assert_array_equal(clf.predict_p(X[:5]), before)
        assert clf.partial_fit([[1.0, 1.0]], [0])._bag.n == 31


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

    @pytest.mark.parametrize("coef0", [0.0, 0.7])
    @pytest.mark.parametrize("degree", [1, 2, 3])
    def test_monomials_are_the_polynomial_kernel(self, degree, coef0):
        X = np.random.default_rng(0).normal(size=(6, 3))
        rows = PolynomialMap(3, 0.4, degree, coef0)(X)
        K = pairwise_kernels(X, X, metric="poly", gamma=0.4, degree=degree, coef0=coef0)
        np.testing.assert_allclose(rows @ rows.T, K, rtol=1e-12)


X0, Y0, X_TEST0 = _problem("random", 12, 3, 2)


class TestSentences:
    @pytest.mark.parametrize(
        ("params", "error", "sentence"),
        [
            ({"rho": 0.0}, ValueError, "rho=0.0 is not a regularisation: use a number > 0"),
            ({"rho": "big"}, ValueError, "rho='big' is not a regularisation"),
            ({"kernel": "cosine"}, ValueError, "kernel='cosine' is not known: use one of linear, rbf"),
            (
                {"kernel": "rbf", "gamma": "scale"},
                ValueError,
                "gamma='scale' is not a scale.*full CP is then not valid",
            ),
            ({"kernel": "rbf", "gamma": -1.0}, ValueError, "gamma=-1.0 is not a scale"),
            ({"kernel": "poly", "degree": 0}, ValueError, "degree=0 is not the degree"),
            ({"kernel": "poly", "coef0": None}, ValueError, "coef0=None is not a number"),
            ({"kernel": "poly", "degree": 2, "coef0": -30.0}, ValueError, "not positive definite on these objects"),
            ({"solver": "cholesky"}, ValueError, "solver='cholesky' is not known: use one of auto, primal, dual, svd"),
            ({"solver": "primal", "kernel": "rbf"}, ValueError, "solver='primal' needs kernel='linear'"),
            ({"solver": "svd", "kernel": "sigmoid"}, ValueError, "solver='svd' needs a positive semidefinite kernel"),
            ({"memory_limit": 0}, ValueError, "memory_limit=0 is not a number of bytes"),
            ({"kernel": "rbf", "memory_limit": 1000}, MemoryError, "12 examples take .* or raise memory_limit"),
            ({"feature_map": "rbf"}, TypeError, "feature_map='rbf' is not a feature map"),
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

    def test_a_pipeline_step_fitted_elsewhere_is_a_feature_map(self):
        scaler = StandardScaler().fit(np.random.default_rng(0).normal(size=(50, 3)))
        p = FullConformalClassifier(LSSVM(feature_map=scaler)).fit(X0, Y0).predict_p(X_TEST0)
        plain = FullConformalClassifier(LSSVM()).fit(scaler.transform(X0), Y0).predict_p(scaler.transform(X_TEST0))
        np.testing.assert_array_equal(p, plain)
