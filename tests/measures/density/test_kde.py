"""KDE equals the textbook count for count: every kernel, every route, every scale; and so after any history."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from sklearn.neighbors import KernelDensity

from callable_kernels import callable_kernel
from exactcp import FullConformalClassifier, SplitConformalClassifier, _numpy_first, textbook
from exactcp._parallel import ALONE, Effort
from exactcp.measures import KDE
from exactcp.measures.density import _routes, small
from exactcp.measures.density.kernels import dense as dense_kernels
from exactcp.measures.density.kernels import kernel_functions
from exactcp.measures.density.kernels.kernel_functions import (
    KERNEL_CODES,
    log_kernels,
    squared_block,
)
from exactcp.pvalues import compare_scores
from frozen_answers import route
from problems import PROBLEMS
from slices import sliced

squared_distance_by_feature = callable_kernel(kernel_functions.squared_distance_by_feature)

COMPACT = ("tophat", "epanechnikov", "linear", "cosine")
RULE = {"floor": 1.0, "tolerance": 1e-10}


def _edges() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return a grid of step 0.1 in ten features, where distances of 0.5 and 1 round to either side."""
    rng = np.random.default_rng(20)
    draw = lambda rows: np.where(rng.random((rows, 10)) < 0.15, 0.1 * rng.integers(1, 6, (rows, 10)), 0.3)  # noqa: E731
    return draw(30), np.arange(30) % 3, draw(8)


def _pixels() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return bytes in fifty features: with a bandwidth of 1 every exponential underflows."""
    rng = np.random.default_rng(21)
    return rng.integers(0, 256, (24, 50)).astype(float), np.arange(24) % 4, rng.integers(0, 256, (8, 50)).astype(float)


def _far_halves() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return labels in two places far apart, with ties in each: products round there, differences do not."""
    rng = np.random.default_rng(22)
    draw = lambda rows: 0.1 * rng.integers(0, 3, (rows, 3)) + 3e5 * rng.integers(0, 2, (rows, 1))  # noqa: E731
    return draw(40), np.arange(40) % 2, draw(8)


KDE_PROBLEMS = {**PROBLEMS, "edges": _edges(), "pixels": _pixels(), "far halves": _far_halves()}


def named(measure):
    return f"{measure.kernel}-{measure.bandwidth}"


MEASURES = [
    *(KDE(h, kernel) for kernel in KERNEL_CODES for h in (0.4, 1.0)),
    *(KDE(3.0), KDE(100.0), KDE(0.5, "tophat"), KDE(3.0, "cosine"), KDE("scott"), KDE("scott", "linear")),
    *(KDE("silverman", kernel) for kernel in ("exponential", "epanechnikov")),
]
BY_NAME = {named(measure): measure for measure in MEASURES}
ROUTES = ("plain", "sums dense", "sums direct", "sums screened")


@pytest.fixture(params=ROUTES)
def way(request):
    with route(request.param):
        yield request.param


def same_counts(found, expected):
    np.testing.assert_array_equal(found[:4], expected[:4])


QUICK = (
    ("gaussian-1.0", "grid with ties"),
    ("gaussian-0.4", "far halves"),
    ("exponential-0.4", "four labels"),
    ("epanechnikov-1.0", "edges"),
    ("tophat-1.0", "grid with ties"),
    ("tophat-0.4", "singleton label"),
    ("gaussian-1.0", "pixels"),
    ("gaussian-scott", "singleton label"),
)


@pytest.mark.parametrize(("name", "problem"), sliced(4, BY_NAME, KDE_PROBLEMS, also=QUICK))
def test_every_route_counts_like_the_textbook(name, problem):
    measure = BY_NAME[name]
    X, y, X_test = KDE_PROBLEMS[problem]
    n_labels = int(y.max()) + 1
    X_test = X_test[-6 if n_labels < 10 else -3 :]  # the textbook of ten labels takes as long as all others together
    score = measure.twin()
    pairs = [[textbook.algorithm_1(score, X, y, x, c) for c in range(n_labels)] for x in X_test]
    for way in ROUTES:
        with route(way):
            bag = measure.bag(X, y, n_labels)
            found = bag.label_counts(X_test)
        for t, row in enumerate(pairs):
            for c, (training, candidate) in enumerate(row):
                same = compare_scores(training[None, y == c], np.array([candidate]), **RULE)
                other = compare_scores(training[None, y != c], np.array([candidate]), **RULE)
                counted = [same.greater[0], same.equal[0], other.greater[0], other.equal[0]]
                assert [array[t, c] for array in found[:4]] == counted, (way, t, c)
                # products round by at most TRUST
                assert found.scores[t, c] == pytest.approx(candidate, rel=3e-11, abs=3e-11), (way, t, c)
    for (training, candidates), row in zip(bag.scores(X_test), pairs, strict=True):
        np.testing.assert_allclose(candidates, [s for _, s in row], rtol=3e-11, atol=3e-11)
        np.testing.assert_allclose(training, [s for s, _ in row], rtol=3e-11, atol=3e-11)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("kernel", KERNEL_CODES)
def test_the_contract_holds_at_every_scale(kernel, scale, way):
    X, y, X_test = PROBLEMS["four labels"]
    measure = KDE(0.8 * scale, kernel)
    expected = KDE(0.8, kernel).bag(X, y, 4).label_counts(X_test)
    same_counts(measure.bag(scale * X, y, 4).label_counts(scale * X_test), expected)


@pytest.mark.parametrize("kernel", KERNEL_CODES)
def test_scores_are_those_of_scikit_learn_but_for_a_constant(kernel, rng, way):
    X, X_test = rng.normal(size=(40, 3)), rng.normal(size=(15, 3))
    for bandwidth in (1.7, "scott", "silverman"):
        ours = KDE(bandwidth, kernel).fit(X, np.zeros(40)).score(X_test, np.zeros(15))
        theirs = -KernelDensity(bandwidth=bandwidth, kernel=kernel, rtol=0, atol=0).fit(X).score_samples(X_test)
        finite = np.isfinite(ours)
        # scikit-learn adds in the log domain, node after node of a tree
        np.testing.assert_allclose(np.diff(ours[finite] - theirs[finite]), 0, atol=1e-9)
        assert (theirs[~finite] > 1e3).all()


def test_scores_equal_fifty_digits(rng, way):
    X, X_test = rng.integers(0, 256, (12, 9)).astype(float), rng.integers(0, 256, (4, 9)).astype(float)
    ours = KDE(9.0).fit(X, np.zeros(12)).score(X_test, np.zeros(4))
    with localcontext() as context:
        context.prec = 50
        context.Emin = -(10**9)
        for x, score in zip(X_test.astype(int).tolist(), ours, strict=True):
            squared = [sum((a - b) ** 2 for a, b in zip(x, other, strict=True)) for other in X.astype(int).tolist()]
            density = sum((Decimal(-s) / 162).exp() for s in squared) / 12
            assert score == pytest.approx(float(-density.ln()), rel=1e-12)


@pytest.mark.parametrize("kernel", ["gaussian", "exponential", "linear"])
def test_threads_blocks_and_order_change_nothing(kernel, rng):
    X, y = rng.integers(0, 4, (90, 6)).astype(float), rng.integers(0, 3, 90)
    X_test = np.concatenate([rng.integers(0, 4, (30, 6)).astype(float), np.full((1, 6), 1e7)])
    with route("sums dense"), pytest.MonkeyPatch.context() as patch:
        patch.setattr(_routes, "BLOCK_ROWS", 7)
        patch.setattr(_routes, "SERIAL", 0)
        one = KDE(1.1, kernel).bag(X, y, 3, effort=ALONE)
        expected = one.label_counts(X_test, effort=ALONE)
        two = KDE(1.1, kernel).bag(X, y, 3, effort=Effort(2))
        for a, b in zip(two.label_counts(X_test, effort=Effort(2)), expected, strict=True):
            np.testing.assert_array_equal(a, b)  # scores too, bit for bit
        one_by_one = [one.label_counts(x[None]) for x in X_test]
        for field in range(4):
            np.testing.assert_array_equal(np.concatenate([row[field] for row in one_by_one]), expected[field])
        order = rng.permutation(90)
        same_counts(KDE(1.1, kernel).bag(X[order], y[order], 3).label_counts(X_test), expected)
        patch.setattr(_routes, "BLOCK_ROWS", 11)
        same_counts(KDE(1.1, kernel).bag(X, y, 3).label_counts(X_test), expected)


@pytest.mark.parametrize("kernel", KERNEL_CODES)
@pytest.mark.parametrize("spread", [1.0, 300.0], ids=["dense", "far apart"])
def test_large_data_take_the_large_routes_and_count_as_all_pairs_do(kernel, spread, rng, monkeypatch):
    p = 30
    X, y = np.round(spread * rng.normal(size=(1500, p)), 1), rng.integers(0, 3, 1500)
    X_test = np.concatenate([np.round(spread * rng.normal(size=(60, p)), 1), X[:20], np.full((1, p), 1e9)])
    measure = KDE(7.0 if kernel in COMPACT else 1.0, kernel)
    taken = []
    for name in ("_sum_blocks", "_sum_screened_pairs"):
        method = getattr(_routes.Summation, name)
        monkeypatch.setattr(
            _routes.Summation, name, lambda *args, method=method, name=name: taken.append(name) or method(*args)
        )
    found = measure.bag(X, y, 3).label_counts(X_test)
    assert ("_sum_blocks" if spread == 1.0 else "_sum_screened_pairs") in taken
    monkeypatch.setattr(_routes, "FEW_MULTIPLICATIONS", 10**18)
    same_counts(found, measure.bag(X, y, 3).label_counts(X_test))


@pytest.mark.parametrize("spread", [1.0, 30.0])
def test_products_are_as_exact_as_their_bound_says(spread, rng):
    for p in (1, 7, 64, 300):
        X = spread * rng.normal(size=(50, p)) / np.sqrt(p) + 3.0
        dense = dense_kernels.prepare_dense(X, 1.3, KERNEL_CODES["gaussian"])
        rows, _, _ = dense_kernels.prepare_rows(X, dense, 1.3, KERNEL_CODES["gaussian"])
        products = rows @ np.column_stack([rows[:, :-2], np.ones(50), rows[:, -2]]).T
        exact = np.empty((50, 50))
        for x, out in zip(X, exact, strict=True):
            log_kernels(x, X, 1.3, KERNEL_CODES["gaussian"], out)
        norms = -2 * rows[:, -2]
        bound = dense_kernels.growth(p) * (norms[:, None] + norms)
        assert (np.abs(products - exact) <= bound).all()


@pytest.mark.parametrize("p", [1, 5, 8, 13, 50])
def test_all_distances_have_the_same_bits(p, rng):
    X, Y = rng.normal(size=(9, p)), rng.normal(size=(300, p))
    block, (logs, in_numpy) = np.empty((9, 300)), np.empty((2, 300))
    squared_block(X, Y, block)
    np.testing.assert_array_equal(block, [[squared_distance_by_feature(b, a) for b in Y] for a in X])
    np.testing.assert_array_equal(block, np.cumsum((X[:, None] - Y) ** 2, axis=2)[:, :, -1])
    for kernel in KERNEL_CODES.values():
        small.kernel_block(X, Y, 1.5, kernel, block)
        for x, row in zip(X, block, strict=True):
            log_kernels(x, Y, 1.5, kernel, logs)
            np.testing.assert_allclose(row, np.exp(logs), rtol=1e-13)
            with _numpy_first.forced(numpy=True):
                small.log_kernels(x, Y, 1.5, kernel, in_numpy)
            np.testing.assert_array_equal(in_numpy, logs)


class TestHistory:
    def test_drift_is_noticed(self):
        # kernels 1, 0.6, 0.36, ... at the object 0: none is half of what is left, but rounding stays while sums shrink
        X = np.sqrt(-2 * np.log(0.6) * np.arange(80))[:, None]
        bag = KDE().bag(np.concatenate([[[0.0]], X]), np.zeros(81, np.int64), 1)
        for left in range(79, 1, -1):
            bag.unlearn(np.array([1]))
            fresh = KDE().bag(np.concatenate([[[0.0]], X[80 - left :]]), np.zeros(left + 1, np.int64), 1)
            (found, _), (expected, _) = next(bag.scores(X[:1] + 9.0)), next(fresh.scores(X[:1] + 9.0))
            np.testing.assert_allclose(found, expected, rtol=4e-11, atol=4e-11)

    @pytest.mark.parametrize("measure", [KDE(0.3), KDE(2.0, "cosine"), KDE(0.1, "exponential")], ids=named)
    def test_a_sliding_window_equals_a_fresh_fit(self, measure, rng, way):
        X, y = np.round(rng.normal(size=(400, 2)), 1), rng.integers(0, 2, 400)
        X *= np.where(np.arange(400) < 150, 1e-3, 1.0)[:, None]  # the first are close, and heavy in every sum
        bag = measure.bag(X[:100], y[:100], 2)
        for i in range(100, 400):
            bag.learn(X[i : i + 1], y[i : i + 1])
            bag.unlearn(np.array([0]))
            if i % 60 == 39:
                window = slice(i - 99, i + 1)
                fresh = measure.bag(X[window], y[window], 2)
                same_counts(bag.label_counts(X[::20]), fresh.label_counts(X[::20]))

    @pytest.mark.parametrize("measure", [KDE(0.7), KDE(1.2, "linear")], ids=named)
    def test_what_a_prediction_keeps_is_forgotten_with_the_next_change(self, measure, rng, way):
        X, y = rng.integers(0, 4, (64, 2)).astype(float), np.arange(64) % 2
        X_test, kept = rng.integers(0, 4, (9, 2)) + 0.5, np.arange(60)
        bag = measure.bag(X[:60], y[:60], 2)
        for new, gone in [([60], []), ([], [3]), ([61, 62], []), ([], [0, 1, 60, 61]), ([], [2, 57]), ([63], [5])]:
            bag.label_counts(X_test)
            if new:
                bag.learn(X[new], y[new])
            if gone:
                bag.unlearn(np.array(gone))
            kept = np.delete([*kept, *new], gone).astype(int)
            fresh = measure.bag(X[kept], y[kept], 2)
            same_counts(bag.label_counts(X_test), fresh.label_counts(X_test))
            for (found, _), (expected, _) in zip(bag.scores(X_test[:2]), fresh.scores(X_test[:2]), strict=True):
                np.testing.assert_allclose(found, expected, rtol=4e-11, atol=4e-11)  # a sum's error, at most


@pytest.mark.parametrize("measure", [KDE(0.7), KDE(2.0, "linear"), KDE("silverman", "tophat")], ids=named)
def test_split_equals_a_plain_loop(measure, rng, way):
    X, y = rng.integers(0, 4, (60, 3)).astype(float), rng.integers(0, 3, 60)
    X_test = rng.integers(0, 4, (15, 3)).astype(float)
    clf = SplitConformalClassifier(measure).fit(X[:35], y[:35], X[35:], y[35:])
    score = measure.twin()
    calibration = np.array([score(x, label, X[:35], y[:35]) for x, label in zip(X[35:], y[35:], strict=True)])
    for x, row in zip(X_test, clf.predict_p(X_test), strict=True):
        for label, p in enumerate(row):
            counts = compare_scores(calibration[None], np.array([score(x, label, X[:35], y[:35])]), **RULE)
            assert p == (counts.greater[0] + counts.equal[0] + 1) / 26


@pytest.mark.parametrize(
    ("bandwidth", "scale", "sentence"),
    [
        (1e-8, 1e148, r"squares of .*e\+15\d bandwidths overflow: scale X, or use a bandwidth above"),
        (1.0, 1e152, r"whose squares overflow: scale X to below 1e\+150"),
        (1e-160, 1e-140, r"bandwidth=1e-160 is so small that its square vanishes: scale X, and use one above 1e-150"),
    ],
)
def test_objects_that_cannot_be_measured_in_bandwidths_are_refused(bandwidth, scale, sentence, rng):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    for fitted in (FullConformalClassifier(KDE(bandwidth)), KDE(bandwidth)):
        with pytest.raises(ValueError, match=sentence):
            fitted.fit(scale * X, y)


def test_a_new_object_that_cannot_be_measured_in_bandwidths_is_refused(rng):
    clf = FullConformalClassifier(KDE(1e-8)).fit(1e-8 * rng.normal(size=(20, 2)), np.arange(20) % 2)
    before = clf.predict_p(np.zeros((1, 2)))
    with pytest.raises(ValueError, match="bandwidths overflow"):
        clf.partial_fit([[1e148, 0.0]], [1])
    np.testing.assert_array_equal(clf.predict_p(np.zeros((1, 2))), before)
    clf.partial_fit([[1e-200, 1e-200]], [1])  # near the others: nothing is lost


def test_an_unknown_label_has_no_density():
    measure = KDE().fit([[0.0], [1.0]], ["b", "c"])
    np.testing.assert_array_equal(
        np.isinf(measure.score_labels([[0.0]], ["a", "b", "c", "d"])), [[True, False, False, True]]
    )


def test_memory_order_does_not_matter(rng, way):
    X, y, X_test = rng.normal(size=(40, 5)), np.arange(40) % 2, rng.normal(size=(9, 5))
    bag, turned = KDE().bag(X, y, 2), KDE().bag(np.asfortranarray(X), y, 2)
    turned.learn(np.asfortranarray(X[:3]), y[:3])
    turned.unlearn(np.arange(40, 43))
    same_counts(turned.label_counts(np.asfortranarray(X_test)), bag.label_counts(X_test))
    assert turned.n == 40
