"""Metrics besides the Euclidean one: by every route the textbook's counts, what they mean, and what is refused."""

from __future__ import annotations

import pickle
import time
from decimal import Decimal, localcontext
from itertools import combinations_with_replacement, pairwise

import numpy as np
import pytest
from conftest import some_basis
from sklearn.base import clone

from exactcp import ExchangeabilityTest, FullConformalClassifier, FullConformalRegressor, VennPredictor, textbook
from exactcp._parallel import Effort
from exactcp.geometry.metric import Distance
from exactcp.geometry.objects import VectorStore
from exactcp.measures import KNN, NN, KNNResidual, SimplifiedKNN
from exactcp.measures.neighbours import _filling, _search, _tuning
from exactcp.pvalues import compare_scores
from hostile import ROWS, hostile_rows
from slices import sliced

METRICS = ["cosine", "correlation", "manhattan", "chebyshev"]
MEASURES = {"KNN": KNN(k=3), "SimplifiedKNN": SimplifiedKNN(k=2), "NN": NN()}
# of the normal lane: what needs no kernels that nothing else needs, and those of k-NN with differences in float32
COUNTED = {
    *(("cosine", kind, "KNN") for kind in ("parallel", "all scales", "nearly parallel", "noise apart", "clusters")),
    *(("cosine", kind, "SimplifiedKNN") for kind in ("antiparallel", "grid", "tiny components")),
    *(("correlation", kind, "NN") for kind in ("offset",)),
    *((metric, kind, "KNN") for metric in ("manhattan", "chebyshev") for kind in ("normal", "grid", "sparse")),
}
SAME_BITS = {
    *(("cosine", kind, "KNN", p) for kind, p in (("normal", 70), ("noise apart", 2), ("nearly parallel", 19))),
    *(("correlation", kind, "SimplifiedKNN", p) for kind, p in (("all scales", 19), ("clusters", 2), ("offset", 70))),
    *((metric, kind, "KNN", 70) for metric in ("manhattan", "chebyshev") for kind in ("normal", "parallel")),
}
ALL = 10**6  # of so many combinations one is in the normal lane


def _measure(name, metric):
    return clone(MEASURES[name]).set_params(metric=metric)


@pytest.fixture
def forced(monkeypatch):
    """Return what forces a route: plain, screened, or sketched."""

    def force(route):
        knobs = _tuning.NeighbourTuning()
        if route == "plain":
            monkeypatch.setattr(_tuning, "KNOBS", knobs._replace(few=10**9, plain_up_to=10**18, screen_from=10**18))
        else:
            monkeypatch.setattr(_tuning, "KNOBS", knobs._replace(few=0, small=-1, screen_from=0, plain_up_to=-1))
        if route == "sketched":
            monkeypatch.setattr(_search, "find_basis", some_basis)

    return force


@pytest.mark.parametrize(("metric", "kind", "name"), sliced(ALL, METRICS, ROWS, MEASURES, also=COUNTED))
def test_counts_are_the_textbooks(metric, kind, name, forced):
    X, y, asked = hostile_rows(kind, 1, 24, 4)
    score = _measure(name, metric).twin()
    expected = [[textbook.algorithm_1(score, X, y, x, label) for label in range(3)] for x in asked]
    for route in ("plain", "screened", "sketched"):
        forced(route)
        bag = _measure(name, metric).bag(X, y, 3)
        _assert_counts(bag.label_counts(asked), y, expected)
        assert (bag.search._screen is None) == (route == "plain")


def _assert_all_same(found):
    for others in found[1:]:
        for some, more in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(some, more)


def _assert_counts(found, y, expected):
    for t, row in enumerate(expected):
        for c, (training, candidate) in enumerate(row):
            same = compare_scores(training[None, y == c], np.array([candidate]), floor=0.0, tolerance=1e-10)
            other = compare_scores(training[None, y != c], np.array([candidate]), floor=0.0, tolerance=1e-10)
            counts = [part[t, c] for part in found[:4]]
            assert counts == [same.greater[0], same.equal[0], other.greater[0], other.equal[0]], (t, c)


@pytest.mark.parametrize(
    ("metric", "kind", "name", "p"), sliced(ALL, METRICS, ROWS, MEASURES, [2, 19, 70], also=SAME_BITS)
)
def test_routes_give_the_same_bits(metric, kind, name, p, forced):
    X, y, asked = hostile_rows(kind, p, 150, p)
    found = []
    for route in ("plain", "screened", "sketched"):
        forced(route)
        bag = _measure(name, metric).bag(X, y, 3)
        found.append([bag._lists.values[:, :, : bag.k], *bag.label_counts(asked)])
    _assert_all_same(found)


@pytest.mark.slow  # kernels of votes and of ends are compiled for what metrics alone give them
@pytest.mark.parametrize("kind", ROWS)
@pytest.mark.parametrize("metric", METRICS)
def test_regression_and_votes_do_not_depend_on_the_route(metric, kind, forced):
    X, y, asked = hostile_rows(kind, 3, 90, 3)
    targets, found = y + 0.5 * np.arange(90), []
    for route in ("plain", "screened", "sketched"):
        forced(route)
        bag = KNNResidual(k=4, metric=metric).bag(X, targets)
        thresholds = np.full((len(asked), 1), 30)
        venn = VennPredictor(k=4, metric=metric).fit(X, y)
        counts = bag.counts(asked, np.full(len(asked), 20.0))
        found.append([*counts, bag.intervals_at(asked, thresholds), bag.residuals(), *venn.predict_proba(asked)])
    _assert_all_same(found)


@pytest.mark.parametrize(
    ("metric", "kind"),
    sliced(
        ALL,
        METRICS,
        ["normal", "grid", "parallel", "antiparallel"],
        also={("cosine", "grid"), ("correlation", "antiparallel")},
    ),
)
def test_counts_of_targets_are_the_textbooks(metric, kind, forced):
    X, y, asked = hostile_rows(kind, 5, 24, 3)
    targets, candidates = 2.0 * y + np.arange(24) % 5, np.arange(12) % 4 + 0.0
    forced("screened")
    measure = KNNResidual(k=3, metric=metric)
    bag = measure.bag(X, targets)
    greater, equal, _ = bag.counts(asked, candidates)
    score = textbook.regression.absolute(measure.twin())
    expected = textbook.target_counts(score, X, targets, asked, candidates, origin=bag.origin())
    np.testing.assert_array_equal(greater, expected.greater)
    np.testing.assert_array_equal(equal, expected.equal)


@pytest.mark.parametrize(
    ("metric", "name"), sliced(ALL, METRICS, MEASURES, also={("correlation", "SimplifiedKNN"), ("manhattan", "KNN")})
)
def test_learning_unlearning_and_streams_equal_a_fresh_fit(metric, name, forced):
    X, y, asked = hostile_rows("parallel", 7, 80, 3)
    forced("screened")
    measure = _measure(name, metric)
    bag, streamed = measure.bag(X[:50], y[:50], 3), measure.bag(X[:50], y[:50], 3)
    for i in range(50, 80):
        counts = bag.label_counts(X[i : i + 1])
        expected = [part[0, y[i]] for part in counts[:4]]
        one = (streamed.fork() if i == 60 else streamed).stream(X[i : i + 1], y[i : i + 1])
        assert one[0].tolist() == expected
        if i == 60:
            streamed.learn(X[i : i + 1], y[i : i + 1])
        bag.learn(X[i : i + 1], y[i : i + 1])
    bag.unlearn(np.array([0, 13, 79]))
    streamed.unlearn(np.array([0, 13, 79]))
    kept = np.delete(np.arange(80), [0, 13, 79])
    fresh = measure.bag(X[kept], y[kept], 3).label_counts(asked)
    for some, more, expected in zip(bag.label_counts(asked), streamed.label_counts(asked), fresh, strict=True):
        np.testing.assert_array_equal(some, expected)
        np.testing.assert_array_equal(more, expected)


@pytest.mark.parametrize("metric", METRICS)
def test_a_stream_has_the_p_values_of_the_textbook(metric):
    X, y, _ = hostile_rows("parallel", 9, 25, 3)
    test = ExchangeabilityTest(KNN(k=2, metric=metric), random_state=0)
    test.update_many(X[:20], y[:20])
    for x, label in zip(X[20:], y[20:], strict=True):
        test.update(x, label)
    again = ExchangeabilityTest(KNN(k=2, metric=textbook.neighbours.between(metric)), random_state=0)
    again.update_many(X, y)
    np.testing.assert_array_equal(test.p_values_, again.p_values_)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("p", [2, 16, 31, 100])
def test_distances_are_those_of_the_textbook_bit_for_bit(metric, p):
    X = np.concatenate([hostile_rows(kind, 2, 12, p)[0] for kind in ROWS])
    distance, expected = Distance(metric), textbook.neighbours.between(metric)
    rows = distance.prepared(X)
    found = distance.between(rows[::3], rows)
    assert found.tolist() == [[expected(a, b) for b in X] for a in X[::3]]


def test_nothing_is_farther_than_2_from_a_direction(rng):
    rows = Distance("cosine").prepared(rng.normal(size=(200, 3)))
    opposite = [Distance("cosine").between(row[None], -row[None])[0, 0] for row in rows]
    assert max(1.0 + textbook.neighbours.sum_in_order(row * row) for row in rows) > 2.0  # for some
    assert max(opposite) == 2.0


@pytest.fixture
def jobs(monkeypatch):
    """Return the numbers of threads that blocks of distances are given to, as they come."""
    given, map_blocks = [], _filling.map_blocks

    def mapped(*args, effort, **how):
        given.append(effort.n_jobs)
        return map_blocks(*args, effort=effort, **how)

    monkeypatch.setattr(_filling, "map_blocks", mapped)
    return given


@pytest.mark.parametrize("metric", [*METRICS, "canberra", "precomputed"])
def test_lists_do_not_depend_on_threads_or_blocks(metric, monkeypatch, jobs):
    X, y, _ = hostile_rows("grid", 4, 200, 4)
    if metric == "precomputed":
        X = Distance("canberra").between(X, X)
    found = []
    for block_bytes, n_jobs in ((2**24, 1), (2**12, 1), (2**12, 2), (2**15, 3)):
        monkeypatch.setattr(_tuning, "KNOBS", _tuning.NeighbourTuning(block_bytes=block_bytes))
        found.append(KNN(k=5, metric=metric).bag(X, y, 3, effort=Effort(n_jobs))._lists.values[:, :, :5])
        assert jobs[-1] == n_jobs
    _assert_all_same(found)


def test_a_function_is_asked_by_one_thread(monkeypatch, jobs):
    monkeypatch.setattr(_tuning, "KNOBS", _tuning.NeighbourTuning(block_bytes=2**10))
    X, y, _ = hostile_rows("grid", 4, 60, 3)
    KNN(k=2, metric=lambda a, b: float(np.abs(a - b).sum())).bag(X, y, 3, effort=Effort(2))
    assert set(jobs) == {1}


def test_each_pair_of_parts_meets_once_and_no_part_is_worked_on_twice_at_a_time():
    working, met, clashes = set(), [], []

    def meet(rows, columns):
        clashes.extend({rows, columns} & working)
        working.update({rows, columns})
        time.sleep(0.0002 * (rows[0] % 5))
        working.difference_update({rows, columns})
        met.append((rows, columns))

    _filling._meet_in_rounds(meet, 97, 12, Effort(4))
    bounds = np.linspace(0, 97, 13).astype(int).tolist()
    parts = list(pairwise(bounds))
    assert sorted(met) == list(combinations_with_replacement(parts, 2))
    assert not clashes


def test_rows_kept_as_they_came_become_directions():
    """So they were in files of 0.1.0."""
    X, _, _ = hostile_rows("all scales", 0, 20, 3)
    store = VectorStore(X, Distance("cosine"))
    state = {name: value for name, value in store.__getstate__().items() if name != "is_prepared"}
    old = object.__new__(VectorStore)
    old.__setstate__({**state, "_rows": np.concatenate([X, np.zeros((2, 3))])})
    np.testing.assert_array_equal(old.objects, store.objects)
    again = pickle.loads(pickle.dumps(old))
    np.testing.assert_array_equal(again.objects, store.objects)


@pytest.mark.parametrize("predictor", [FullConformalClassifier(KNN(k=2)), FullConformalRegressor(KNNResidual(k=2))])
def test_what_is_learned_has_a_direction(predictor):
    X, y, _ = hostile_rows("normal", 0, 40, 3)
    predictor = clone(predictor).set_params(measure__metric="cosine").fit(X, y)
    expected = predictor.predict(X)
    with pytest.raises(ValueError, match=r"got an object of zeros only \(row 1 of 2\), which has no direction: leave"):
        predictor.partial_fit([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]], [0, 1])
    np.testing.assert_array_equal(predictor.predict(X), expected)


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


@pytest.mark.parametrize("measure", MEASURES.values(), ids=str)
def test_parallel_rows_are_as_far_apart_as_in_forty_digits(measure, parallel_rows):
    X, y = parallel_rows
    tests = np.concatenate([X[:6], 2.0 * X[6:12], X[12:16] + 0.5])
    found, expected = (
        FullConformalClassifier(clone(measure).set_params(metric=metric)).fit(X, y).predict_p(tests)
        for metric in ("cosine", in_forty_digits)
    )
    np.testing.assert_array_equal(found, expected)


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
