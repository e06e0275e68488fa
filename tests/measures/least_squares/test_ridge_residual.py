from __future__ import annotations

import numpy as np
import pytest
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel

from exactcp import FullConformalRegressor, textbook
from exactcp._parallel import ALONE, Effort
from exactcp.measures import RidgeResidual
from exactcp.measures.least_squares import _ridge_bag
from exactcp.measures.least_squares.kernels.extents import ORDINARY, RidgeExamples, count_ridge
from slices import sliced
from target_problems import TARGET_PROBLEMS, same_p_everywhere

RESIDUALS = ("studentized", "deleted", "ordinary")
# objects or targets of a size that ridge regression does not resolve in double precision
UNRESOLVED = ("singleton label", "tiny scale", "huge scale", "far from the origin", "outliers")
SIMPLE = [name for name in TARGET_PROBLEMS if name not in UNRESOLVED]
BROKEN = [
    *((name, residual) for name in ("random", "grid with ties", "ten labels") for residual in RESIDUALS),
    ("constant targets", "ordinary"),
]
PARAMETERS = [
    {"rho": 1.0, "fit_intercept": False},
    {"rho": 1e-2},
    {"rho": 30.0, "kernel": "rbf", "gamma": 0.3, "fit_intercept": False},
    {"rho": 0.5, "kernel": "rbf"},
    {"rho": 0.5, "kernel": "poly", "degree": 2, "coef0": 0.5},
    {"rho": 2.0, "kernel": "laplacian", "gamma": 0.7},
    {"rho": 0.1, "feature_map": np.tanh},
    {"rho": 0.7, "solver": "primal"},
    {"rho": 0.7, "solver": "dual"},
    {"rho": 0.7, "solver": "svd"},
    {"rho": 1.0, "kernel": lambda a, b: float(np.exp(-np.abs(a - b).sum()))},
]


def thresholds(n: int) -> tuple[int, ...]:
    return tuple(sorted({0, 1, n // 4, n // 2, n, n + 1}))


@pytest.mark.parametrize(("name", "residual"), sliced(3, SIMPLE, RESIDUALS, also=BROKEN))
def test_counts_and_regions_equal_the_textbook(name: str, residual: str) -> None:
    X, y, X_test = TARGET_PROBLEMS[name]
    X, y, X_test = X[:16], y[:16], X_test[[0, -2, -1] if len(X_test) > 2 else [0, 1]]
    for parameters in PARAMETERS[:2] if X.shape[1] > 4 else PARAMETERS[:4]:
        measure = RidgeResidual(**parameters, residual=residual)
        twin = textbook.regression.ridge_residual(**parameters, residual=residual)
        assert same_p_everywhere(measure, twin, (X, y, X_test), thresholds(len(y))) > 0


@pytest.mark.parametrize("parameters", PARAMETERS, ids=lambda parameters: "-".join(map(str, parameters)))
@pytest.mark.parametrize("residual", RESIDUALS)
def test_every_parameter_reaches_the_residuals(parameters: dict, residual: str) -> None:
    X, y, X_test = TARGET_PROBLEMS["random"]
    X, y = X[:14], y[:14]
    measure = RidgeResidual(**parameters, residual=residual)
    parameters = {name: value for name, value in parameters.items() if name != "solver"}
    twin = textbook.regression.ridge_residual(**parameters, residual=residual)
    assert same_p_everywhere(measure, twin, (X, y, X_test[:2]), (1, 4, 9)) > 0


@pytest.mark.parametrize("residual", RESIDUALS)
def test_counts_equal_those_recomputed_from_scratch(residual: str) -> None:
    X, y, X_test = TARGET_PROBLEMS["grid with ties"]
    X, y = X[:12], y[:12]
    bag = RidgeResidual(rho=0.5, residual=residual).bag(X, y)
    targets = np.array([-3.0, -1.0, 0.0, 2.0, float(y[0])])
    objects = np.concatenate([np.repeat(X_test[:1], 4, axis=0), X[:1]])
    score = textbook.regression.absolute(textbook.regression.ridge_residual(rho=0.5, residual=residual))
    wanted = textbook.target_counts(score, X, y, objects, targets)
    greater, equal, _ = bag.counts(objects, targets)
    np.testing.assert_array_equal(greater, wanted.greater)
    np.testing.assert_array_equal(equal, wanted.equal)


@pytest.mark.parametrize(("z", "center"), [(1.0, 0.0), (0.0, 100.0)])  # each has a slack of 1e-10
@pytest.mark.parametrize(("off", "counts"), [(0.0, (0, 1)), (9e-11, (0, 1)), (2e-10, (1, 1))])
def test_near_a_tie_the_candidates_slack_decides(z: float, center: float, off: float, counts: tuple) -> None:
    greater, at_least, none = np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1)
    example = RidgeExamples(np.array([z + off]), np.ones(1), none)
    count_ridge(
        ORDINARY,
        np.zeros((1, 1)),
        example,
        np.ones(1),
        np.array([z]),
        np.array([center]),
        greater,
        at_least,
    )
    assert (greater[0], at_least[0]) == counts


def test_regions_are_unions_rays_and_lines() -> None:
    """Far-out objects have leverage: ordinary and deleted residuals then give what no hull would tell."""
    rng = np.random.default_rng(0)
    kinds = set()
    for _ in range(60):
        X, y = rng.normal(size=(9, 1)), rng.normal(size=9)
        x = np.array([[float(rng.choice([1.0, 4.0, 20.0]))]])
        for residual in ("ordinary", "deleted"):
            parameters = {"rho": 1e-3, "residual": residual, "fit_intercept": False}
            measure, twin = RidgeResidual(**parameters), textbook.regression.ridge_residual(**parameters)
            bag = measure.bag(X, y)
            m = int(rng.integers(1, 9))
            same_p_everywhere(measure, twin, (X, y, x), (m,), bag=bag)
            region = bag.regions(x, np.array([m]))[0]
            kinds.add(("several" if len(region) > 1 else "one", bool(np.isinf(region).any())))
    assert {("several", True), ("several", False), ("one", False), ("one", True)} <= kinds


def test_isolated_points_are_kept() -> None:
    """Two equal examples that meet the others' sets in one point."""
    X, y = np.array([[1.0], [1.0], [1.0]]), np.array([0.0, 1.0, 2.0])
    for residual in RESIDUALS:
        measure = RidgeResidual(rho=1.0, residual=residual)
        bag = measure.bag(X, y)
        region = bag.regions(X[:1], np.array([3]))[0]
        center = bag.predict(X[:1])[0]
        assert ((region[:, 0] <= center) & (center <= region[:, 1])).any()
        twin = textbook.regression.ridge_residual(rho=1.0, residual=residual)
        same_p_everywhere(measure, twin, (X, y, X[:1]), (1, 2, 3), bag=bag)


@pytest.mark.parametrize(("sample", "spread"), [(40, 4.0), (70, 4.0), (70, 1.0)])
def test_brackets_decide_only_how_long_it_takes(sample: int, spread: float, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X, y, X_test = rng.normal(size=(300, 4)), rng.standard_t(2, size=300), 2 * rng.normal(size=(40, 4))
    y[50:80] = X[50:80, 0]  # small residuals, in one stretch
    X_test[::2] *= 10.0  # with leverage: what reaches far above is not what reaches far below
    levels = rng.integers(0, 302, 40)
    plain = RidgeResidual(rho=0.5).bag(X, y).intervals(X_test, levels)
    monkeypatch.setattr(_ridge_bag, "BRACKET_SAMPLE", sample)
    monkeypatch.setattr(_ridge_bag, "SPREAD", spread)
    monkeypatch.setattr(_ridge_bag, "RIDGE_COLUMNS", 64)
    monkeypatch.setattr(_ridge_bag, "RIDGE_ROWS", 7)
    bag = RidgeResidual(rho=0.5).bag(X, y)
    found = bag._bracketed(bag._ready(), *bag._evaluated(bag._ready(), bag._store.prepare(X_test))[:2], levels[:, None])
    assert np.isfinite(found).any()
    np.testing.assert_allclose(bag.intervals(X_test, levels), plain, rtol=1e-13)
    several = np.column_stack([levels, levels[::-1], np.full(40, 150)])
    together = bag.intervals_at(X_test, several)
    for j, wanted in enumerate(several.T):
        np.testing.assert_array_equal(together[..., j], bag.intervals(X_test, wanted))
    nothing = np.full((1, 2), np.nan)
    general = [
        np.concatenate([*found, nothing])[0] for found in super(type(bag), bag).regions_at(X_test, levels[:, None])
    ]
    np.testing.assert_allclose(plain, general, rtol=1e-12)


def test_precomputed_kernel_and_transformers() -> None:
    X, y, X_test = TARGET_PROBLEMS["random"]
    levels = np.full(len(X_test), 5)
    rbf = RidgeResidual(kernel="rbf", gamma=0.4).bag(X, y).intervals(X_test, levels)
    K = rbf_kernel(X, X, 0.4)
    own = RidgeResidual(kernel="precomputed").bag((K + K.T) / 2, y)
    np.testing.assert_allclose(own.intervals(rbf_kernel(X_test, X, 0.4), levels), rbf, rtol=1e-9)
    sampler = RBFSampler(n_components=20, random_state=0).fit(X_test)
    mapped = RidgeResidual(feature_map=sampler).bag(X, y).intervals(X_test, levels)
    direct = RidgeResidual().bag(sampler.transform(X), y).intervals(sampler.transform(X_test), levels)
    np.testing.assert_allclose(mapped, direct, rtol=1e-12)


@pytest.mark.parametrize("intercept", [False, True])
def test_predicts_as_scikit_learn_does(intercept: bool) -> None:
    X, y, X_test = TARGET_PROBLEMS["random"]
    expected = Ridge(alpha=0.3, fit_intercept=intercept).fit(X, y).predict(X_test)
    measure = RidgeResidual(rho=0.3, fit_intercept=intercept).fit(X, y)
    np.testing.assert_allclose(measure.predict(X_test), expected, rtol=1e-9)
    np.testing.assert_allclose(measure.score(X_test, np.zeros(len(X_test))), np.abs(expected), rtol=1e-9)
    expected = Ridge().fit(X, y + 9).predict(X_test)
    np.testing.assert_allclose(RidgeResidual().fit(X, y + 9).predict(X_test), expected, rtol=1e-9)


def test_threads_do_not_change_the_result() -> None:
    rng = np.random.default_rng(0)
    X, y, X_test = rng.normal(size=(9000, 5)), rng.normal(size=9000), rng.normal(size=(300, 5))
    bag, levels = RidgeResidual().bag(X, y), np.full(300, 450)
    np.testing.assert_array_equal(
        bag.intervals(X_test, levels, effort=ALONE), bag.intervals(X_test, levels, effort=Effort(2))
    )


def test_refuses_an_indefinite_kernel() -> None:
    X, y, _ = TARGET_PROBLEMS["random"]
    with pytest.raises(ValueError, match="positive semidefinite"):
        RidgeResidual(rho=1e-3, kernel="sigmoid", gamma=3.0, coef0=-2.0).bag(X, y)


def test_an_object_that_a_kernel_cannot_take_changes_no_other_answer() -> None:
    X, nowhere = 3.0 * np.eye(6), np.zeros((1, 6))
    measure = RidgeResidual(kernel="sigmoid", gamma=1.0, coef0=-0.1, rho=0.05, fit_intercept=False)
    reg = FullConformalRegressor(measure, n_jobs=1).fit(X, np.arange(6.0))
    before = reg.predict_interval(X, 0.5)
    with pytest.raises(ValueError, match="not positive semidefinite"):
        reg.predict_interval(nowhere, 0.5)
    np.testing.assert_array_equal(reg.predict_interval(X, 0.5), before)


@pytest.mark.parametrize("solver", ["auto", "primal", "svd"])
def test_a_column_that_does_not_vary_tells_nothing_of_objects_far_away(solver: str) -> None:
    rng = np.random.default_rng(0)
    for n in range(6, 26):  # means of many of them round
        X, y = np.column_stack([1e120 * rng.normal(size=(n, 2)), np.full(n, rng.normal())]), rng.normal(size=n)
        far = X[:3].copy()
        far[:, 2] = 1e120
        measure = RidgeResidual(solver=solver).fit(X, y)
        np.testing.assert_allclose(measure.predict(far), measure.predict(X[:3]), rtol=1e-12)
    X[4, 2] += 0.5  # now it does; singular values that are rounding beside others do not count
    assert (RidgeResidual(solver=solver).fit(X, y).predict(far) != measure.predict(far)).all() == (solver != "svd")
