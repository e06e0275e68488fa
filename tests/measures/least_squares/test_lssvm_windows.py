"""LS-SVM's windows: the few examples that they look at give the counts of looking at all of them."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from exactcp._parallel import ALONE
from exactcp.measures import LSSVM
from exactcp.measures.least_squares import _example_order, _lssvm_bag
from exactcp.measures.least_squares.kernels import leave_one_out as loo_count
from exactcp.measures.least_squares.kernels import windows as loo_window

RHOS = (1e-6, 1e-3, 1.0, 1e3)
KINDS = ("random", "grid", "duplicates", "outliers 1e3", "outliers 1e9", "heavy tails", "rank one", "scales")


def _objects(rng, kind, n, p):
    if kind == "grid":
        return rng.integers(0, 3, (n, p)).astype(float)
    if kind == "heavy tails":
        return rng.standard_t(1.5, (n, p))
    X = rng.normal(size=(n, p))
    if kind == "duplicates":
        return X[rng.integers(0, max(2, n // 5), n)]
    if kind == "rank one":
        return X[:, :1] * rng.normal(size=p)
    if kind == "scales":
        return X * 10.0 ** rng.uniform(-4, 4, p)
    if kind.startswith("outliers"):
        X[rng.integers(0, n, 3)] *= float(kind.split()[1])
    return X


def _problem(kind, n, p, n_labels, seed=0):
    """Examples whose labels follow a feature, and 40 test objects: new ones, training objects, and one far away."""
    rng = np.random.default_rng(seed)
    X = _objects(rng, kind, n + 40, p)
    y = np.argmax(X[:n, :1] * rng.normal(size=n_labels) + 0.5 * rng.normal(size=(n, n_labels)), axis=1)
    y[:n_labels] = np.arange(n_labels)
    X_test = X[n:]
    X_test[::4] = X[:10]
    X_test[1] *= 100.0
    return X[:n], y, X_test


def _exactly(bag, ask):
    """Count with all examples, each category by itself, each example by its divided scores."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_lssvm_bag, "LABELS_BY_RANK", 0)
        bag._forget_solution()
        counts = ask(bag)
        assert bag._ordered is bag._windows is None
    bag._forget_solution()
    return counts


def _exact_within(X, y, X_test, training, wanted):
    bag = LSSVM().bag(X, y, int(y.max()) + 1)
    return _exactly(bag, lambda bag: bag.category_counts(X_test, training, wanted, effort=ALONE))


def _assert_equal(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def _assert_windows_count_exactly(monkeypatch, measure, X, y, X_test, n_labels, *, always=True):
    """Compare with all examples; `always`: windows are used however many examples they hold."""
    bag = measure.bag(X, y, n_labels)
    expected = _exactly(bag, lambda bag: bag.label_counts(X_test, effort=ALONE))
    if always:
        monkeypatch.setattr(_example_order, "PRODUCT", 1e9)
    _assert_equal(bag.label_counts(X_test, effort=ALONE), expected)
    return bag


class TestCounts:
    @pytest.mark.parametrize("rho", RHOS)
    @pytest.mark.parametrize("kind", KINDS)
    def test_every_kind_of_objects(self, monkeypatch, kind, rho):
        for n, p, n_labels in ((25, 3, 2), (300, 1, 3), (300, 40, 2), (1500, 6, 10)):
            for fit_intercept in (False, True):
                data = _problem(kind, n, p, n_labels, seed=n + p)
                measure = LSSVM(rho=rho, fit_intercept=fit_intercept)
                bag = _assert_windows_count_exactly(monkeypatch, measure, *data, n_labels)
                assert bag._ordered.windowed is not None or kind in {"outliers 1e9", "duplicates", "heavy tails"}

    def test_tiny_labels_and_a_label_without_examples(self, monkeypatch):
        X, _, X_test = _problem("random", 500, 5, 2)
        y = np.zeros(500, int)
        y[:4] = 1, 1, 2, 4
        bag = _assert_windows_count_exactly(monkeypatch, LSSVM(), X, y, X_test, 6)
        assert bag._ordered.windowed is not None

    @pytest.mark.parametrize("solver", ["primal", "svd"])
    @pytest.mark.parametrize("n_labels", [2, 5])
    def test_as_it_is_used(self, monkeypatch, n_labels, solver):
        data = _problem("random", 8000, 5, n_labels)
        bag = _assert_windows_count_exactly(monkeypatch, LSSVM(solver=solver), *data, n_labels, always=False)
        assert bag._ordered.windowed is not None
        counts = bag.label_counts(data[2], effort=ALONE)
        bag._ordered = bag._ordered._replace(windowed=None)
        _assert_equal(bag.label_counts(data[2], effort=ALONE), counts)

    @settings(max_examples=60, deadline=None)
    @given(
        kind=st.sampled_from(KINDS),
        n=st.integers(1, 200),
        p=st.integers(1, 40),
        n_labels=st.integers(1, 10),
        log_rho=st.floats(-6, 3),
        solver=st.sampled_from(["auto", "svd"]),
        seed=st.integers(0, 2**32 - 1),
    )
    def test_anything(self, kind, n, p, n_labels, log_rho, solver, seed):
        n_labels = min(n, n_labels)
        data = _problem(kind, n + 10, p, n_labels, seed)
        with pytest.MonkeyPatch.context() as patch:
            measure = LSSVM(rho=10.0**log_rho, solver=solver)
            _assert_windows_count_exactly(patch, measure, *data, n_labels)

    def test_windows_that_are_too_narrow_are_noticed(self, monkeypatch):
        X, y, X_test = _problem("random", 2000, 5, 2)
        bag = _assert_windows_count_exactly(monkeypatch, LSSVM(), X, y, X_test, 2)
        right = bag.label_counts(X_test, effort=ALONE)
        windowed = bag._ordered.windowed
        bag._ordered = bag._ordered._replace(windowed=windowed._replace(leverage=0.1 * windowed.leverage))
        wrong = bag.label_counts(X_test, effort=ALONE)
        assert any((one != other).any() for one, other in zip(right, wrong, strict=True))


class TestCategories:
    """Windows of all categories at once count as each category does by itself, with the divided scores of all."""

    @pytest.mark.parametrize("n_categories", [1, 4, 60])
    @pytest.mark.parametrize("kind", ["random", "grid", "duplicates", "outliers 1e3", "heavy tails"])
    def test_as_each_by_itself(self, monkeypatch, kind, n_categories):
        (X, y, X_test), rng = _problem(kind, 300, 3, 3, seed=n_categories), np.random.default_rng(n_categories)
        bag = LSSVM().bag(X, y, 3)
        monkeypatch.setattr(_example_order, "PRODUCT", 1e9)  # windows are used however many examples they hold
        for training in rng.integers(0, n_categories, (2, 300)):
            training[training == 2] = 1  # nobody has this one
            wanted = rng.integers(-1, n_categories + 2, (40, 3))
            wanted[::2] = wanted[::2, :1]
            for _ in range(2):
                found = bag.category_counts(X_test, training, wanted, effort=ALONE)
            assert bag._windows.windowed is not None or kind == "heavy tails"
            _assert_equal(found, _exact_within(X, y, X_test, training, wanted))

    def test_objects_with_wide_windows_are_counted_separately(self):
        X, y, X_test = _problem("random", 6000, 5, 2)
        X[:, 4], X_test[:, 4] = 0.0, np.arange(40) % 2  # d - 1 is a thousand times larger in a direction of no example
        training, wanted = np.arange(6000) % 2, np.arange(80).reshape(40, 2) // 8 % 3
        bag = LSSVM().bag(X, y, 2)
        found = bag.category_counts(X_test, training, wanted, effort=ALONE)
        assert bag._windows.windowed is not None
        assert bag._by_category  # of those who asked separately
        assert sum(known.asked for known in bag._by_category.values()) < 80
        _assert_equal(found, _exact_within(X, y, X_test, training, wanted))


class TestKernel:
    @pytest.mark.parametrize(("off", "counts"), [(0.0, (1, 0)), (9e-11, (1, 0)), (2e-10, (1, 1)), (-2e-10, (0, 0))])
    @pytest.mark.parametrize("h", [0.0, 0.5])
    def test_near_a_tie_the_divided_score_decides(self, h, off, counts):
        # d = 1, so g = 0 and the score is e / b - 1 = off; the candidate's is 0
        candidates = loo_count.new_candidates(np.ones(1), np.zeros((1, 1)))
        e, b = np.array([(1.0 + off) * (1.0 - h)]), np.array([1.0 - h])
        places, nowhere = (np.array([0, 1]), np.array([0]), np.array([h]), np.ones(1)), np.zeros((1, 1))
        examples = loo_window.Windowed(nowhere, e, b, e / b, *places)
        assert loo_window.count_windows(examples, nowhere, candidates, np.zeros((1, 1), int)).all()
        assert (candidates.tally.at_least[0, 0, 0], candidates.tally.above[0, 0, 0]) == counts

    @pytest.mark.parametrize(("h", "d"), [(1.0, 2.0), (0.5, np.inf)])
    def test_objects_without_a_bound_are_left_to_the_product(self, h, d):
        candidates = loo_count.new_candidates(np.array([d]), np.zeros((1, 1)))
        e, b, first = np.array([0.5]), np.array([1e-12]), np.array([0])
        places, row = (np.array([0, 1]), first, np.array([h]), np.array([np.inf])), np.ones((1, 1))
        examples = loo_window.Windowed(row, e, b, e / b, *places)
        assert not loo_window.count_windows(examples, row, candidates, np.zeros((1, 1), int)).any()

    def test_objects_with_wide_windows_are_left_to_the_product(self, monkeypatch):
        X, y, X_test = _problem("random", 8000, 5, 10)
        X[:, 4], X_test[:, 4] = 0.0, np.arange(40) % 2  # d - 1 is a thousand times larger in a direction of no example
        counted = []

        def count_windows(*args):
            counted.append(loo_window.count_windows(*args))
            return counted[-1]

        monkeypatch.setattr(_example_order, "count_windows", count_windows)
        monkeypatch.setattr(_example_order, "LSSVM_ROWS", 4)  # they are taken in several blocks
        _assert_windows_count_exactly(monkeypatch, LSSVM(), X, y, X_test, 10, always=False)
        assert 0 < np.concatenate(counted).sum() < 40

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("rho", RHOS)
    def test_the_promised_bound_of_g_holds(self, kind, rho):
        for solver in ("auto", "svd"):
            X, y, X_test = _problem(kind, 300, 8, 2)
            bag = LSSVM(rho=rho, solver=solver).bag(X, y, 2)
            made = bag._factorisation
            multipliers, d = made.multipliers(made.coordinates(bag._store.prepare(X_test)))
            across = made.across()
            assert across.is_bounded
            square = np.outer(
                (1 + loo_window.RELATIVE) * (d - 1) + loo_window.ABSOLUTE,
                (1 + loo_window.RELATIVE) * (1 - made.divisors) + loo_window.ABSOLUTE,
            )
            assert (across(multipliers, 0, 300) ** 2 <= square).all()

    def test_no_bound_is_promised_where_digits_are_lost(self):
        X, y, _ = _problem("random", 300, 8, 2)
        X[:, 1] = X[:, 0] + 1e-4 * X[:, 2]
        assert not LSSVM(rho=1e-6, solver="primal").bag(X, y, 2)._factorisation.across().is_bounded


class TestOrder:
    def test_labels_then_those_apart_then_ratios(self):
        rng = np.random.default_rng(0)
        codes, ratios, leverage = rng.integers(0, 3, 3000), rng.normal(size=3000), rng.uniform(0, 2e-3, 3000)
        leverage[:5] = 0.3, 0.9, 0.999, 1.0, 0.4  # each would make the windows of its label a hundred times wider
        layout = _example_order.ratio_layout(codes, ratios, leverage, 3)
        np.testing.assert_array_equal(np.sort(layout.order), np.arange(3000))
        np.testing.assert_array_equal(codes[layout.order], np.sort(codes))
        assert layout.leverage.max() <= 2e-3
        apart = [layout.order[a:b] for a, b in zip(layout.starts[:-1], layout.sorted_from, strict=True)]
        assert set(range(5)) <= set(np.concatenate(apart).tolist())
        for label in range(3):
            others = layout.order[layout.sorted_from[label] : layout.starts[label + 1]]
            assert (np.diff(ratios[others]) >= 0).all()
            assert leverage[others].max() == layout.leverage[label]

    def test_leverage_that_is_high_everywhere_is_refused(self):
        codes, ratios = np.arange(300) % 2, np.arange(300.0)
        for leverage in (0.5, 1.0):
            assert _example_order.ratio_layout(codes, ratios, np.full(300, leverage), 2) is None

    def test_it_waits_for_many_test_objects_and_begins_anew_after_a_change(self):
        X, y, X_test = _problem("random", 3000, 4, 2)
        bag, expected = LSSVM().bag(X, y, 2), LSSVM().bag(X, y, 2).label_counts(X_test, effort=ALONE)
        for asked in range(1, _lssvm_bag.MANY_ASKED + 3):
            i = asked % len(X_test)
            one = bag.label_counts(X_test[i : i + 1], effort=ALONE)
            _assert_equal(one, [field[i : i + 1] for field in expected])
            assert (bag._ordered is not None) == (asked >= _lssvm_bag.FEW_ASKED)
            assert (bag._ordered is not None and bag._ordered.windowed is not None) == (asked >= _lssvm_bag.MANY_ASKED)
        bag.learn(X_test[:1], np.array([0]))
        bag.label_counts(X_test[:1], effort=ALONE)
        assert bag._ordered is None

    def test_a_pickled_bag_counts_the_same(self):
        X, y, X_test = _problem("random", 3000, 4, 2)
        bag = LSSVM().bag(X, y, 2)
        expected = bag.label_counts(X_test, effort=ALONE)
        copy = pickle.loads(pickle.dumps(bag))
        _assert_equal(copy.label_counts(X_test, effort=ALONE), expected)
        assert copy._ordered.windowed is not None
