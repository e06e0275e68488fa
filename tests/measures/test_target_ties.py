"""Ties of residuals: targets far from 0, far from each other, tied, and of any scale."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactcp import FullConformalRegressor, SplitConformalRegressor, textbook
from exactcp.measures import KNNResidual, LassoResidual, ModelResidual, RidgeResidual
from exactcp.pvalues import compare_residuals, origin_of
from target_problems import same_p_everywhere

FAR = 1.7e12  # milliseconds since 1970
SHIFTABLE = {
    "k-NN": KNNResidual(k=3),
    "1-NN": KNNResidual(k=1),
    "studentized": RidgeResidual(rho=0.5, fit_intercept=True),
    "deleted": RidgeResidual(rho=0.5, fit_intercept=True, residual="deleted"),
    "ordinary": RidgeResidual(rho=0.5, fit_intercept=True, residual="ordinary"),
    "kernel": RidgeResidual(rho=0.5, kernel="rbf", gamma=0.3, fit_intercept=True),
    "lasso": LassoResidual(lam=0.5, fit_intercept=True),
}
EVERYONE = {
    **SHIFTABLE,
    "through the origin": RidgeResidual(rho=0.5, fit_intercept=False),
    "lasso through the origin": LassoResidual(lam=0.5, fit_intercept=False),
}


def _problem(seed, *, is_tied=False):
    """Objects, targets with two more on each side that tie if so wanted, test objects and their targets."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(30, 2)), np.rint(4096 * rng.normal(size=30)) / 4096  # exact far from 0 too
    if is_tied:
        X, y = np.rint(X), np.rint(2 * y)
        X[5:8], y[5:8] = X[4], y[4]
    return X[:24], y[:24], X[24:], y[24:]


def _counts(measure, X, y, X_test, y_test):
    greater, equal, _ = measure.bag(X, y).counts(X_test, y_test)
    return greater.tolist(), equal.tolist()


@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize("name", SHIFTABLE)
def test_a_shift_of_all_targets_changes_nothing(name, is_tied):
    X, y, X_test, y_test = _problem(0, is_tied=is_tied)
    measure = SHIFTABLE[name]
    # multiples of 1/4096 up to some units keep all digits beyond 2^40
    for shift in (FAR, -(2.0**40)):
        assert _counts(measure, X, y + shift, X_test, y_test + shift) == _counts(measure, X, y, X_test, y_test)
        np.testing.assert_allclose(
            measure.bag(X, y + shift).intervals(X_test, np.full(6, 5)) - shift,
            measure.bag(X, y).intervals(X_test, np.full(6, 5)),
            atol=2 * np.spacing(abs(shift)),  # ends are targets
        )
        np.testing.assert_allclose(
            measure.bag(X, y + shift).predict(X_test) - shift, measure.bag(X, y).predict(X_test), atol=np.spacing(FAR)
        )


@pytest.mark.parametrize("name", ["k-NN", "1-NN", "studentized", "deleted", "ordinary", "kernel"])
@pytest.mark.parametrize("kind", ["far from 0", "one far target", "tiny", "tied far from 0", "far and tied"])
def test_counts_regions_and_ends_equal_the_textbook(name, kind):
    X, y, X_test, _ = _problem(1, is_tied="tied" in kind)
    y = {"tiny": 1e-9 * y, "far from 0": y + FAR, "tied far from 0": y + FAR}.get(kind, y).copy()
    if kind in ("one far target", "far and tied"):
        y[3] = 1e12
        if name == "1-NN":
            # |A - z| and |z| tie where z is 1e10 times A, and one neighbour's set is a ray that does not go there
            pytest.skip("of two examples that are each other's neighbours, the tie band reaches beyond all targets")
    measure = SHIFTABLE[name]
    residual = measure.twin()
    assert same_p_everywhere(measure, residual, (X[:14], y[:14], X_test[:2]), (1, 4, 14)) > 0


@pytest.mark.parametrize("name", EVERYONE)
def test_a_far_target_ties_with_nothing(name):
    """Of continuous targets none ties, whatever the size of one of them."""
    X, y, X_test, y_test = _problem(2)
    y[7] = 1e12
    _, equal = _counts(EVERYONE[name], X, y, X_test, y_test)
    if name == "k-NN":  # with one neighbour, two examples may be each other's
        assert equal == [0] * 6
    lasso = "lasso" in name  # its textbook is for one pair at a time
    for t in range(2 if lasso else 6):
        if lasso:
            how = {"fit_intercept": EVERYONE[name].fit_intercept}
            slow = textbook.least_squares.lasso_counts(X, y, X_test[t], y_test[t], EVERYONE[name].lam, **how)
        else:
            score = textbook.regression.absolute(EVERYONE[name].twin())
            slow = textbook.target_counts(score, X, y, X_test[t : t + 1], y_test[t : t + 1])
        greater, equal = _counts(EVERYONE[name], X, y, X_test[t : t + 1], y_test[t : t + 1])
        assert (greater[0], equal[0]) == (slow.greater[0], slow.equal[0])


@pytest.mark.parametrize("kind", ["far from 0", "one far target"])
def test_p_values_are_those_of_exact_arithmetic(kind):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(60, 1)), rng.normal(size=60)
    y = y + FAR if kind == "far from 0" else np.where(np.arange(60) == 11, 1e12, y)
    exact, k = [Fraction(v) for v in y.tolist()], 3

    def mean(i, among):
        nearest = sorted(among, key=lambda j: abs(X[i, 0] - X[j, 0]))[:k]
        return sum(exact[j] for j in nearest) / k

    reg = FullConformalRegressor(KNNResidual(k=k)).fit(X[:50], y[:50])
    found = reg.predict_p(X[50:], y[50:])
    for t in range(50, 60):
        bag = [*range(50), t]
        scores = [abs(exact[i] - mean(i, [j for j in bag if j != i])) for i in bag]
        assert found[t - 50] == pytest.approx(sum(score >= scores[-1] for score in scores) / 51, abs=1e-12)


@pytest.mark.parametrize("name", SHIFTABLE)
def test_learning_and_unlearning_move_the_origin(name):
    """Where the targets go, the origin follows: the state is that of a fresh fit."""
    X, y, X_test, y_test = _problem(4)
    far = y + FAR
    bag = SHIFTABLE[name].bag(X, y)
    for i in range(24):
        bag.learn(X[i : i + 1], far[i : i + 1])
        bag.unlearn(np.array([0]))
        if i in (3, 20):
            kept, targets = np.concatenate([X[i + 1 :], X[: i + 1]]), np.concatenate([y[i + 1 :], far[: i + 1]])
            fresh = SHIFTABLE[name].bag(kept, targets)
            for one, other in zip(bag.counts(X_test, y_test + FAR), fresh.counts(X_test, y_test + FAR), strict=True):
                np.testing.assert_array_equal(one, other)
    for one, other in zip(
        bag.counts(X_test, y_test + FAR), SHIFTABLE[name].bag(X, y).counts(X_test, y_test), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", [*SHIFTABLE, "standard"])
def test_categories_see_the_same(name):
    X, y, X_test, y_test = _problem(5)
    y, y_test = y + FAR, y_test + FAR
    measure, how = (KNNResidual(k=3), {"algorithm": "standard"}) if name == "standard" else (SHIFTABLE[name], {})
    plain = FullConformalRegressor(KNNResidual(k=3) if name == "standard" else measure).fit(X, y)
    one = FullConformalRegressor(measure, mondrian=lambda X: np.zeros(len(X)), **how).fit(X, y)
    np.testing.assert_array_equal(one.predict_p(X_test, y_test), plain.predict_p(X_test, y_test))
    ends = plain.predict_interval(X_test, 0.77)
    np.testing.assert_allclose(one.predict_interval(X_test, 0.77), ends, rtol=0, atol=np.spacing(FAR))
    assert (np.array([plain.predict_p(X_test, end) for end in ends.T]) > 0.23).all()


def test_predictive_distributions_tell_targets_apart():
    X, y, X_test, y_test = _problem(6)
    reg = FullConformalRegressor(KNNResidual(k=3))
    expected = reg.fit(X, y).predict_distribution(X_test).cdf(y_test)
    np.testing.assert_array_equal(reg.fit(X, y + FAR).predict_distribution(X_test).cdf(y_test + FAR), expected)
    far = np.append(y, 1e12), np.append(X, [[90.0, 90.0]], axis=0)
    lower, upper = reg.fit(far[1], far[0]).predict_distribution(X_test).cdf_bounds(y_test)
    np.testing.assert_allclose(upper - lower, 1 / 26)  # nothing ties


@given(
    targets=st.lists(st.floats(-1e150, 1e150), min_size=1, max_size=30),
    shift=st.sampled_from([0.0, FAR, -1e9, 1e100]),
)
@settings(max_examples=200)
def test_the_origin_is_near_the_targets_or_zero(targets, shift):
    y = np.array(targets) + shift
    origin, median = origin_of(y), np.median(y)
    spread = np.median(np.abs(y - median))
    assert np.isfinite(origin)
    assert abs(median - origin) <= 1024 * spread + np.spacing(abs(median))
    assert origin == 0.0 or abs(median) > 1024 * spread
    np.testing.assert_array_equal(origin_of(y[::-1].copy()), origin)


def test_the_band_of_a_comparison_is_of_its_own_numbers():
    scores, targets = np.array([1.0, 1.0 + 1e-9, 1.0 - 1e-9]), np.array([2.0, 1e12, 2.0])
    counts = compare_residuals(scores, targets, 1.0, 3.0)
    assert (counts.greater[0], counts.equal[0]) == (0, 2)  # the second is known up to 1 only
    assert compare_residuals(scores, np.full(3, 2.0), 1.0, 3.0).greater[0] == 1
    # sums that cancel leave rounding of what is typical
    assert compare_residuals(np.array([1e-16, 1.0, 1e-9]), np.array([0.0, 2.0, 3.0]), 0.0, 0.0).equal[0] == 1


@pytest.mark.parametrize("measure", [KNNResidual(k=1), RidgeResidual(), LassoResidual()])
def test_targets_whose_squares_overflow(measure):
    X, y, X_test, y_test = _problem(7)
    sentence = r"y has values up to 1e\+151, whose squares overflow: scale y to below 1e\+150"
    large = np.append(y[:-1], 1e151)
    reg = FullConformalRegressor(measure).fit(X, y)
    for failing in (
        lambda: FullConformalRegressor(measure).fit(X, large),
        lambda: SplitConformalRegressor(measure).fit(X, large),
        lambda: reg.partial_fit(X, large),
        lambda: reg.predict_p(X_test, np.append(y_test[:-1], 1e151)),
        lambda: measure.fit(X, large),
    ):
        with pytest.raises(ValueError, match=sentence):
            failing()


def test_a_model_compares_by_the_numbers_of_a_comparison_as_well():
    from sklearn.linear_model import LinearRegression

    X, y, X_test, y_test = _problem(8)
    X, X_test = np.column_stack([X, np.arange(24) == 3]), np.column_stack([X_test, np.zeros(6)])
    y[3] = 1e12  # a column of its own: no other example notices
    with pytest.warns(UserWarning, match="refits"):
        _, equal, _ = ModelResidual(LinearRegression()).bag(X, y).counts(X_test, y_test)
    # the far example itself is known up to 1 only
    assert equal.max() <= 1
