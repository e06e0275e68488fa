from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Lasso

from callable_kernels import callable_kernel
from exactcp._parallel import ALONE, Effort
from exactcp.measures import LassoResidual
from exactcp.measures.lasso.kernels import qr as orthogonal_columns
from exactcp.textbook.least_squares import lasso, lasso_counts

insert_column, delete_column = map(
    callable_kernel, (orthogonal_columns.insert_column, orthogonal_columns.delete_column)
)
solve_upper = callable_kernel(orthogonal_columns.solve_upper)


def _normal(seed, n, p, m=2):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)), 2 * rng.normal(size=n), 2 * rng.normal(size=(m, p))


def _grid(seed, n, p, m=2):
    rng = np.random.default_rng(seed)
    draw = lambda *shape: rng.integers(-1, 2, shape).astype(float)  # noqa: E731
    return draw(n, p), rng.integers(-3, 4, n).astype(float), draw(m, p)


def _with_columns(problem, copies):
    X, y, X_test = problem
    return np.column_stack([X, copies(X)]), y, np.column_stack([X_test, copies(X_test)])


PROBLEMS = {
    "long": _normal(0, 14, 3),
    "square": _normal(1, 6, 6),
    "wide": _normal(2, 4, 6, m=1),
    "one feature": _normal(3, 7, 1),
    "one example": _normal(4, 1, 2),
    "two examples, many features": _normal(5, 2, 4, m=1),
    "grid": _grid(6, 9, 3),
    "small grid": _grid(7, 4, 3),
    "wide grid": _grid(8, 4, 5),
    "duplicate objects": (np.ones((6, 2)), np.array([1.0, 1, 2, 5, -1, 0]), np.array([[1.0, 1.0], [2.0, 0.0]])),
    "a column of zeros": _with_columns(_normal(9, 8, 2), lambda X: 0 * X[:, :1]),
    "twin columns": _with_columns(_normal(10, 8, 2), lambda X: np.column_stack([X[:, 0], -X[:, 1]])),
    "twins but for the test object": (
        *_with_columns(_normal(11, 8, 2), lambda X: X[:, :1])[:2],
        np.array([[1, 2, -3.0]]),
    ),
    "a feature that is constant": _with_columns(_normal(12, 8, 2), lambda X: 1 + 0 * X[:, :1]),
    "a far object": (*_normal(13, 10, 3)[:2], np.array([[50.0, -50.0, 3.0]])),
}


def _beside(*columns):
    return np.column_stack(columns)


def _tiny(rng):
    return 10.0 ** -rng.integers(1, 9)


COLUMNS = {
    "nearly collinear": lambda X, rng: _beside(X, X[:, :1] + _tiny(rng) * rng.normal(size=(len(X), 2))),
    "nearly constant": lambda X, rng: 1 + _tiny(rng) * X,
    "dependent": lambda X, rng: _beside(X, X @ rng.normal(size=X.shape[1]), X @ rng.integers(-1, 2, X.shape[1])),
    "one-hot": lambda X, rng: np.eye(3)[rng.integers(0, rng.integers(2, 4), len(X))],
    "one-hot and others": lambda X, rng: _beside(X[:, :2], np.eye(2)[rng.integers(0, 2, len(X))]),
    "duplicated": lambda X, rng: _beside(X, X[:, 0], -X[:, -1]),
    "on a grid": lambda X, rng: np.rint(X),
}


def _hard(kind, seed):
    """Objects with such columns, targets, and test objects: one of the training objects, a sum of two, and another."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 13)), int(rng.integers(1, 4))
    X = COLUMNS[kind](rng.normal(size=(n, p)), rng)
    y = rng.normal(size=n) + rng.integers(0, 2) * X[:, 0]
    y = np.rint(2 * y) if rng.random() < 0.3 else y
    X_test = np.stack([X[rng.integers(n)], X[rng.integers(n)] + X[0], rng.normal(size=X.shape[1])])
    lam = float(10.0 ** rng.uniform(-3, 1) if rng.random() < 0.7 else rng.choice([0.5, 1, 2]))
    return X, y, X_test, lam, rng


def _violation(X, y, lam, b, fit_intercept):
    """How far the optimality conditions of the lasso are from being met, beyond rounding of the columns' products."""
    rows = np.asarray(np.column_stack([np.ones(len(X)), X]) if fit_intercept else X, dtype=np.longdouble)
    penalty = np.full(rows.shape[1], lam)
    penalty[: int(fit_intercept)] = 0
    correlations = rows.T @ (y - rows @ b)
    # a fit is a sum of float64 coefficients times columns, and no better known than its terms
    terms = np.abs(y).max() + (np.abs(b) * np.abs(rows).max(axis=0)).sum()
    rounding = 1e-15 * len(X) * np.abs(rows).max(axis=0) * terms
    outside = np.abs(correlations) - penalty
    at_wall = np.where((b != 0) & (penalty > 0), np.abs(correlations - penalty * np.sign(b)), 0)
    return float((np.maximum(outside, at_wall) - rounding).max())


class TestHardColumns:
    @pytest.mark.parametrize("fit_intercept", [False, True])
    @pytest.mark.parametrize("kind", COLUMNS)
    @given(seed=st.integers(0, 2**32 - 1))
    @settings(max_examples=40)
    def test_optimality_conditions(self, kind, fit_intercept, seed):
        X, y, _, lam, _ = _hard(kind, seed)
        b = LassoResidual(lam, fit_intercept=fit_intercept).bag(X, y).coefficients
        assert _violation(X, y, lam, b, fit_intercept) <= 1e-10 * lam

    @pytest.mark.parametrize("fit_intercept", [False, True])
    @pytest.mark.parametrize("kind", COLUMNS)
    @given(seed=st.integers(0, 2**32 - 1))
    @settings(max_examples=6)
    def test_counts_equal_the_textbook(self, kind, fit_intercept, seed):
        X, y, X_test, lam, rng = _hard(kind, seed)
        bag = LassoResidual(lam, fit_intercept=fit_intercept).bag(X, y)
        x = X_test[rng.integers(3)]
        (pieces,) = bag.affine(x[None])
        inner = [(piece.lower + piece.upper) / 2 for piece in pieces if abs(piece.lower + piece.upper) < 1e3]
        for target in [*y[:1], 2 * rng.normal(), *rng.permutation(inner)[:2]]:
            greater, equal, _ = bag.counts(x[None], np.array([target]), effort=ALONE)
            try:
                slow = lasso_counts(X, y, x, target, lam, fit_intercept=fit_intercept)
            except ArithmeticError:
                reject()  # long double has too few digits for these columns, and the textbook says so
            assert (greater[0], equal[0]) == (slow.greater[0], slow.equal[0]), (x, target)

    def test_one_hot_columns_with_an_intercept(self):
        X, y = np.eye(2)[[1, 0, 1, 0, 1, 0, 0, 1, 0]], np.array([0.5, -0.4, -1.4, -0.7, 0.1, -0.9, -0.2, 1.1, 0.6])
        bag = LassoResidual(0.03737305225712674, fit_intercept=True).bag(X, y)
        assert np.isfinite(bag.intervals(np.eye(2), np.array([2, 2]))).all()

    def test_a_penalty_that_nearly_dependent_columns_drown_is_refused(self):
        refused = 0
        for seed in range(10):  # rounding decides which of them
            rng = np.random.default_rng(seed)
            X, y = rng.normal(size=(8, 2)), 1e5 * rng.normal(size=8)
            X = np.column_stack([X, X[:, [0, 0, 1]] * (1 + 1e-13 * rng.normal(size=(8, 3)))])
            try:
                LassoResidual(lam=1e-12).bag(X, y)
            except ArithmeticError as error:
                assert "not found to working precision on these columns: leave out columns" in str(error)  # noqa: PT017
                refused += 1
        assert refused

    def test_objects_whose_squares_overflow(self):
        X, y, X_test = PROBLEMS["long"]
        with pytest.raises(ValueError, match="squares overflow"):
            LassoResidual().fit(1e151 * X, y)
        bag = LassoResidual().bag(X, y)
        for asked in (lambda: bag.intervals(1e151 * X_test, np.array([2, 2])), lambda: bag.predict(1e151 * X_test)):
            with pytest.raises(ValueError, match="squares overflow"):
                asked()


def _targets(pieces, rng):
    ends = [e for piece in pieces for e in (piece.lower, piece.upper) if np.isfinite(e)]
    inner = [(piece.lower + piece.upper) / 2 for piece in pieces if np.isfinite(piece.upper - piece.lower)]
    return np.concatenate([[0.0, 30.0, -200.0], 4 * rng.normal(size=1), rng.permutation(inner)[:2], ends[:1]])


class TestEqualsTextbook:
    @pytest.mark.parametrize("fit_intercept", [False, True])
    @pytest.mark.parametrize("lam", [0.3, 2.0])
    @pytest.mark.parametrize("name", PROBLEMS)
    def test_counts(self, name, lam, fit_intercept, rng):
        X, y, X_test = PROBLEMS[name]
        bag = LassoResidual(lam, fit_intercept=fit_intercept).bag(X, y)
        for x, pieces in zip(X_test, bag.affine(X_test), strict=True):
            targets = _targets(pieces, rng)
            greater, equal, total = bag.counts(np.tile(x, (targets.size, 1)), targets, effort=ALONE)
            assert (total == len(y)).all()
            for t, target in enumerate(targets):
                slow = lasso_counts(X, y, x, target, lam, fit_intercept=fit_intercept)
                assert (greater[t], equal[t]) == (slow.greater[0], slow.equal[0]), target

    @pytest.mark.parametrize("scale", [1e-6, 1e6])
    def test_scales(self, scale):
        X, y, X_test = PROBLEMS["long"]
        expected = LassoResidual(2.0).bag(X, y).intervals(X_test, np.array([3, 3]))
        scaled = LassoResidual(2.0 * scale).bag(X, scale * y).intervals(X_test, np.array([3, 3]))
        np.testing.assert_allclose(scaled, scale * expected, rtol=1e-9)

    @pytest.mark.parametrize("name", ["long", "square", "wide", "grid", "wide grid", "twin columns"])
    @pytest.mark.parametrize("fit_intercept", [False, True])
    def test_solution(self, name, fit_intercept):
        X, y, _ = PROBLEMS[name]
        measure = LassoResidual(0.7, fit_intercept=fit_intercept).fit(X, y)
        b = lasso(X, y, 0.7, fit_intercept=fit_intercept).astype(float)
        intercept, b = (b[0], b[1:]) if fit_intercept else (0.0, b)
        # where columns depend on each other coefficients are not unique, but the fit and the penalty are
        np.testing.assert_allclose(measure.predict(X), X @ b + intercept, atol=1e-10)
        np.testing.assert_allclose(np.abs(measure.coef_).sum(), np.abs(b).sum(), atol=1e-10)

    def test_pieces_are_continuous_solutions_without_gaps(self):
        X, y, X_test = PROBLEMS["wide"]
        for pieces in LassoResidual(0.3).bag(X, y).affine(X_test):
            assert len(pieces) > 5
            assert pieces[0].lower == -np.inf
            assert pieces[-1].upper == np.inf
            assert all(left.upper == right.lower for left, right in itertools.pairwise(pieces))
            assert all(left.lower < left.upper for left in pieces)


class TestRegions:
    @pytest.mark.parametrize("name", ["long", "square", "wide", "grid", "twins but for the test object"])
    @pytest.mark.parametrize("lam", [0.3, 2.0])
    def test_membership_is_the_count(self, name, lam):
        X, y, X_test = PROBLEMS[name]
        bag = LassoResidual(lam).bag(X, y)
        grid = np.linspace(-15, 15, 401)
        for x in X_test:
            counts = np.add(*bag.counts(np.tile(x, (401, 1)), grid)[:2])
            for m in (1, 2, len(y) // 2, len(y)):
                (region,) = bag.regions(x[None], np.array([m]))
                inside = ((grid[:, None] >= region[:, 0]) & (grid[:, None] <= region[:, 1])).any(axis=1)
                np.testing.assert_array_equal(inside, counts >= m)
                assert (region[1:, 0] > region[:-1, 1]).all()
                hull = bag.intervals(x[None], np.array([m]))[0]
                np.testing.assert_array_equal(hull, [region[0, 0], region[-1, 1]])

    def test_unions_of_intervals_occur(self):
        found = set()
        for seed in range(40):
            X, y, X_test = _normal(seed, 5, 6, m=1)
            bag = LassoResidual(0.3).bag(X, y)
            found |= {len(region) for m in range(1, 6) for region in bag.regions(X_test, np.array([m]))}
        assert max(found) >= 2

    def test_all_and_nothing(self):
        X, y, X_test = PROBLEMS["long"]
        whole, nothing = LassoResidual().bag(X, y).regions(X_test, np.array([0, 15]))
        assert whole.tolist() == [[-np.inf, np.inf]]
        assert nothing.shape == (0, 2)

    def test_the_same_for_every_number_of_jobs_and_room(self, monkeypatch):
        from exactcp.measures.lasso import _bag as _lasso_bag

        X, y, _ = _normal(20, 30, 12)
        X_test = np.random.default_rng(1).normal(size=(20, 12))
        bag, m = LassoResidual(1.0).bag(X, y), np.full(20, 4)
        expected = bag.intervals(X_test, m, effort=ALONE)
        np.testing.assert_array_equal(bag.intervals(X_test, m, effort=Effort(2)), expected)
        monkeypatch.setattr(_lasso_bag, "PIECES", 2)
        np.testing.assert_array_equal(bag.intervals(X_test, m), expected)


def test_is_scikit_learns_lasso():
    X, y = load_diabetes(return_X_y=True)
    for fit_intercept in (False, True):
        measure = LassoResidual(50.0, fit_intercept=fit_intercept).fit(X, y)
        # scikit-learn stops at a duality gap, hence the tolerance
        model = Lasso(alpha=50.0 / len(y), fit_intercept=fit_intercept, tol=1e-12, max_iter=100_000).fit(X, y)
        np.testing.assert_allclose(measure.coef_, model.coef_, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(measure.predict(X), model.predict(X), rtol=1e-7)
        np.testing.assert_allclose(measure.score(X, y), np.abs(y - model.predict(X)), atol=1e-5)
    assert LassoResidual().fit_intercept == Lasso().fit_intercept


class TestOrthogonalColumns:
    def test_nearly_dependent_columns_are_orthogonal(self, rng):
        R = rng.normal(size=(6, 1)) + 1e-9 * rng.normal(size=(6, 4))
        Q, T = np.zeros((5, 6)), np.zeros((5, 5))
        assert all(insert_column(R, j, j, Q, T) for j in range(4))
        np.testing.assert_allclose(Q[:4] @ Q[:4].T, np.eye(4), atol=1e-14)

    def test_columns_enter_and_leave(self, rng):
        R = rng.normal(size=(7, 9))
        Q, T, inside = np.zeros((8, 7)), np.zeros((8, 8)), []
        for step in range(200):
            if len(inside) < 6 and (len(inside) < 2 or step % 3):
                j = rng.choice([c for c in range(9) if c not in inside])
                assert insert_column(R, j, len(inside), Q, T)
                inside.append(j)
            else:
                k = int(rng.integers(len(inside)))
                delete_column(k, len(inside), Q, T)
                inside.pop(k)
            a = len(inside)
            np.testing.assert_allclose(Q[:a].T @ np.triu(T[:a, :a]), R[:, inside], atol=1e-12)
            np.testing.assert_allclose(Q[:a] @ Q[:a].T, np.eye(a), atol=1e-12)

    def test_a_dependent_column_stays_out(self, rng):
        R = rng.normal(size=(5, 3))
        R[:, 2] = R[:, 0] - 2 * R[:, 1]
        Q, T = np.zeros((4, 5)), np.zeros((4, 4))
        assert insert_column(R, 0, 0, Q, T)
        assert insert_column(R, 1, 1, Q, T)
        assert not insert_column(R, 2, 2, Q, T)
        coordinates = T[:2, 2].copy()
        solve_upper(T, 2, coordinates)
        np.testing.assert_allclose(coordinates, [1, -2], atol=1e-12)
