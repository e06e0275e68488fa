"""Trees follow examples that come and go: all stays as by brute force and by a fresh fit, after any history."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import always_trees, contracting
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from exactcp import (
    ConformalAnomalyDetector,
    FullConformalClassifier,
    FullConformalRegressor,
    VennPredictor,
    _compiling,
)
from exactcp.measures import KNN, NN, KNNResidual, SimplifiedKNN
from exactcp.measures.neighbours import _filling, _neighbourhood_bag, _tuning
from exactcp.measures.neighbours.kernels.cones import write_cones
from exactcp.measures.neighbours.kernels.neighbourhood_trees import entrances_of
from exactcp.measures.neighbours.kernels.ranked import rank_scores, ranked_anew
from exactcp.measures.neighbours.kernels.residuals import Untouched
from exactcp.measures.neighbours.kernels.standing import BALL, CONES, NEAR, NEWCOMER
from exactcp.measures.neighbours.kernels.stream import all_entrances
from hostile import KINDS, LABELS, hostile
from slices import sliced, slow_but

MEASURES = {"NN": NN(), "KNN 3": KNN(3), "SimplifiedKNN 2": SimplifiedKNN(2), "KNN 15": KNN(15)}
QUICK = [
    ("grid", "a tiny one", "KNN 3"),
    ("normal", "two", "KNN 3"),
    ("outliers", "five", "SimplifiedKNN 2"),
    ("duplicates", "a tiny one", "KNN 15"),
    ("finer than float32", "five", "KNN 3"),
]


@pytest.fixture
def restless(monkeypatch):
    """Trees that are grown anew after a few changes, and scores put in order."""
    knobs = _tuning.KNOBS._replace(follow_least=9, follow_share=40, changed_least=25, changed_most=25, regrow=1)
    monkeypatch.setattr(_tuning, "KNOBS", knobs)


def _held(bag):
    """Return the bytes of all that a change apart must leave as it is."""
    return pickle.dumps(bag._examples() if hasattr(bag, "_examples") else (bag._arrays(), bag._trees))


def _step(bag, what, X, y, gone, rng):
    """Return the bag after a change: in place, or apart from the old one, which stays what it was."""
    if what == "unlearn":
        change = bag.unlearning(gone)
    elif what == "stream":
        prepared = bag.streaming(X, y)
        change = None if prepared is None else prepared[1]
    else:
        change = bag.learning(X, y)
    if change is None:
        after = bag.fork()
        after.unlearn(gone) if what == "unlearn" else after.learn(X, y)
        return after
    if rng.random() < 0.5:
        change.commit()
        return change.bag
    before = _held(bag)
    after = change.apart()
    assert _held(bag) == before
    return after


def _history(bags, X, y, steps, rng, streams=0.0):
    """Let examples come to a bag with trees and to one without, and go; yield both after each step."""
    (tree, brute), following = bags, bags[0].n
    for _ in range(steps):
        what = rng.choice(["learn", "unlearn", "stream"], p=[0.6 - streams, 0.4, streams])
        gone = rng.integers(tree.n - 5 if rng.random() < 0.5 else 0, tree.n, size=1)  # newcomers go, too
        new = slice(following, following + 1)
        following += what != "unlearn"
        tree = _step(tree, what, X[new], y[new], gone, rng)
        brute.unlearn(gone) if what == "unlearn" else brute.learn(X[new], y[new])
        yield tree, brute


def _bag(measure, X, y, search):
    return clone(measure).set_params(search=search).bag(X, y, 5)


def _assert_same(bag, other, asked):
    np.testing.assert_array_equal(bag.codes(), other.codes())
    np.testing.assert_array_equal(bag._scores[bag.order], other._scores[other.order])
    found, expected = bag.label_counts(asked), other.label_counts(asked)
    for field, one, two in zip(found._fields, found, expected, strict=True):
        np.testing.assert_array_equal(one, two, err_msg=field)


def _below(link, node):
    """Return the leaves below a node."""
    if link[node, 0] == 0:
        return [int(link[node, 1])]
    return _below(link, node + 1) + _below(link, int(link[node, 0]))


def _assert_each_is_at_home(bag):
    standing, following, n = bag._standing, bag._following, bag.n
    homes, loose = following.homes[:, :n], standing.loose
    groves = {NEAR: standing.near.grove, BALL: following.balls.grove}
    groves |= {CONES + relation: standing.reverse.grove for relation in range(bag.n_relations)}
    is_new = homes[NEWCOMER] >= 0
    np.testing.assert_array_equal(loose.slot.ravel()[homes[NEWCOMER, is_new]], np.flatnonzero(is_new))
    np.testing.assert_array_equal(loose.label[homes[NEWCOMER, is_new] // 32], bag._codes[:n][is_new])
    assert (loose.slot >= 0).sum() == is_new.sum()
    for row, grove in groves.items():
        np.testing.assert_array_equal(homes[row] < 0, is_new)
        np.testing.assert_array_equal(grove.slot.ravel()[homes[row, ~is_new]], np.flatnonzero(~is_new))
        times = bag.n_relations if grove is standing.reverse.grove else 1
        assert (grove.slot >= 0).sum() == times * (~is_new).sum()
        assert np.isnan(grove.points.transpose(0, 2, 1)[grove.slot < 0]).all()


def _assert_bounds_hold(bag):
    standing, following, n, k = bag._standing, bag._following, bag.n, bag.k
    sums, scores, scale, homes = bag._sums[:, :n], bag._scores[:n], standing.near.units.scale, following.homes[:, :n]
    cones = np.empty((3, bag.n_relations, n))
    write_cones(bag._lists, sums, scores, k, scale, *cones)
    is_new = homes[NEWCOMER] >= 0
    known = standing.reverse.cones
    for relation in range(bag.n_relations):
        for expected, in_tree, in_leaf in zip(cones[:, relation], known[:3], standing.loose[-3:], strict=True):
            np.testing.assert_array_equal(in_tree.ravel()[homes[CONES + relation, ~is_new]], expected[~is_new])
            np.testing.assert_array_equal(in_leaf[relation].ravel()[homes[NEWCOMER, is_new]], expected[is_new])
    grove = standing.reverse.grove
    for node in range(grove.link.shape[0]):
        leaves = _below(grove.link, node)
        there = (grove.slot[leaves] >= 0) & (known.radius[leaves] >= 0)
        radius, slope, score = (part[leaves][there] for part in known[:3])
        largest, least, low, high = known.node[node]
        assert ((radius <= largest) & (slope >= least) & (score >= low) & (score <= high)).all()
    entrances, balls = bag._entrances[:, :n], following.balls
    for node in range(balls.grove.link.shape[0]):
        assert balls.limits[_below(balls.grove.link, node)].max() <= balls.node[node]
    limits = np.where(is_new, following.limits.ravel()[homes[NEWCOMER]], balls.limits.ravel()[homes[BALL]])
    assert (limits >= ((entrances.max(axis=0) * scale) ** 2).astype(np.float32)).all()
    longest = all_entrances(bag._lists, bag._codes, bag.sizes, n)[:, :n]
    last = np.take_along_axis(bag._lists.values[:, :n], bag._lists.lengths[:, :n, None] - 1, axis=2)[..., 0]
    is_full = (entrances == last) & (bag._lists.lengths[:, :n] >= k)  # who enters beyond its end need not be in it
    assert ((entrances == longest) | is_full).all()


def _assert_in_order(bag):
    ranked = bag._standing.ranked
    expected = rank_scores(bag._scores[: bag.n], bag._codes[: bag.n], bag.sizes.size, 0, 0)
    for found, wanted in zip(ranked_anew(ranked, ranked.place.size, ranked.old.size)[:2], expected[:2], strict=True):
        np.testing.assert_array_equal(found, wanted)


def _live(kind, labels, measure, seed, steps, n=80, p=None):
    """Look at everything after each step; return how often trees were grown, and followed."""
    rng = np.random.default_rng(seed)
    X, y, asked = hostile(kind, labels, seed % 97, n + steps, p or [1, 2, 3][seed % 3])
    bags, grown, followed = [_bag(measure, X[:n], y[:n], search) for search in ("tree", "brute")], 0, 0
    for step, (tree, brute) in enumerate(_history(bags, X, y, steps, rng, streams=0.1)):
        _assert_same(tree, brute, asked[step % 3 :: 3])
        if tree._following is not None:
            followed += 1
            grown += tree._following.changes[0] == 1
            _assert_each_is_at_home(tree)
            _assert_bounds_hold(tree)
            _assert_in_order(tree)
    order = tree.order
    fresh = _bag(measure, tree._store.objects[order], tree.codes(), "brute")
    np.testing.assert_array_equal(tree._scores[order], fresh._scores[fresh.order])
    return grown, followed


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize(
    ("kind", "labels", "measure_name"),
    sliced(99, KINDS, LABELS, MEASURES, also=QUICK),
)
def test_any_step_leaves_counts_of_brute_force_and_trees_that_hold(kind, labels, measure_name):
    seed = KINDS.index(kind) * 10 + LABELS.index(labels)
    grown, followed = _live(kind, labels, MEASURES[measure_name], seed, 25)
    assert grown >= 2
    assert followed == 25


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize(("kind", "labels", "measure_name"), sliced(99, KINDS, LABELS, MEASURES, also=QUICK))
def test_contracted_trees_follow_as_well(kind, labels, measure_name, monkeypatch):
    contracting(monkeypatch)
    seed = KINDS.index(kind) * 10 + LABELS.index(labels)
    _, followed = _live(kind, labels, MEASURES[measure_name], seed, 15, p=[2, 5][seed % 2])
    assert followed == 15


@pytest.mark.slow
@pytest.mark.usefixtures("restless")
@settings(max_examples=150, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    labels=st.sampled_from(LABELS),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(45, 400),
    k=st.sampled_from([1, 2, 5, 20, 500]),
    use_ratio=st.booleans(),
)
def test_any_history_of_any_data_is_that_of_brute_force(kind, labels, seed, n, k, use_ratio):
    _live(kind, labels, KNN(k) if use_ratio else SimplifiedKNN(k), seed, 60, n)


# the neighbourhoods of k-NN regression

QUICK_TARGETS = [("grid", 3), ("normal", 1), ("outliers", 8), ("duplicates", 3), ("finer than float32", 3)]
STATE = ("boundary", "inner_count", "inner_sum", "at_count", "at_sum", "residual")


def _problem(kind, seed, size, p):
    """Return hostile objects with targets that have ties, and test objects."""
    X, _, asked = hostile(kind, "one", seed, size, p)
    return X, np.random.default_rng(seed).integers(-3, 4, size) / 4, asked


def _assert_same_targets(bag, brute, asked):
    np.testing.assert_array_equal(bag.targets(), brute.targets())
    for name in STATE:
        one, two = (getattr(own._state, name)[own.order] for own in (bag, brute))
        np.testing.assert_array_equal(one, two, err_msg=name)
    lists = [(own._state.values[own.order], own._state.lengths[own.order]) for own in (bag, brute)]
    for (one, length), (two, other) in zip(zip(*lists[0], strict=True), zip(*lists[1], strict=True), strict=True):
        np.testing.assert_array_equal(one[: min(length, other)], two[: min(length, other)])
    y = np.linspace(-1, 1, len(asked))
    np.testing.assert_array_equal(bag.counts(asked, y)[:2], brute.counts(asked, y)[:2])
    levels = np.full((len(asked), 2), [max(1, bag.n // 10), bag.n // 2])
    np.testing.assert_array_equal(bag.intervals_at(asked, levels), brute.intervals_at(asked, levels))


def _assert_trees_hold(bag):
    (near, _, loose, _), following = bag._trees
    homes, balls, scale = following.homes[:, : bag.n], following.balls, near.units.scale
    is_new = homes[NEWCOMER] >= 0
    np.testing.assert_array_equal(loose.slot.ravel()[homes[NEWCOMER, is_new]], np.flatnonzero(is_new))
    for row, grove in ((NEAR, near.grove), (BALL, balls.grove)):
        np.testing.assert_array_equal(grove.slot.ravel()[homes[row, ~is_new]], np.flatnonzero(~is_new))
        assert (grove.slot >= 0).sum() == (~is_new).sum()
        assert np.isnan(grove.points.transpose(0, 2, 1)[grove.slot < 0]).all()
    limits = np.where(is_new, following.limits.ravel()[homes[NEWCOMER]], balls.limits.ravel()[homes[BALL]])
    assert (limits >= ((entrances_of(bag.n, bag._state) * scale) ** 2).astype(np.float32)).all()
    link, largest = balls.grove.link, balls.node
    for node in range(link.shape[0]):
        below = [largest[node + 1], largest[link[node, 0]]] if link[node, 0] else balls.limits[link[node, 1]]
        assert max(below) <= largest[node]


def _live_targets(kind, k, seed, steps, n=80, p=None):
    """Look at everything after each step; return how often trees followed."""
    rng = np.random.default_rng(seed)
    X, y, asked = _problem(kind, seed % 97, n + steps, p or [1, 2, 3][seed % 3])
    bags, followed = [KNNResidual(k, search=search).bag(X[:n], y[:n]) for search in ("tree", "brute")], 0
    bags[0]._expect_to_forget()
    for step, (tree, brute) in enumerate(_history(bags, X, y, steps, rng)):
        _assert_same_targets(tree, brute, asked[step % 3 :: 3])
        if tree._trees is not None:
            followed += 1
            _assert_trees_hold(tree)
    return followed


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize(("kind", "k"), sliced(99, KINDS, (1, 3, 8, 20), also=QUICK_TARGETS))
def test_any_step_leaves_the_neighbourhoods_of_brute_force(kind, k):
    assert _live_targets(kind, k, KINDS.index(kind) * 10 + k, 25) == 25


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize(("kind", "k"), sliced(99, KINDS, (1, 3, 8, 20), also=QUICK_TARGETS))
def test_contracted_trees_follow_neighbourhoods_as_well(kind, k, monkeypatch):
    contracting(monkeypatch)
    assert _live_targets(kind, k, KINDS.index(kind) * 10 + k, 15, p=[2, 5][k % 2]) == 15


@pytest.mark.slow
@pytest.mark.usefixtures("restless")
@settings(max_examples=150, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(12, 400),
    k=st.sampled_from([1, 2, 5, 20, 150]),
)
def test_any_history_leaves_the_neighbourhoods_of_brute_force(kind, seed, n, k):
    _live_targets(kind, k, seed, 60, n)


def _near_a_plane(dtype):
    """Return objects of so many features that they keep their precision."""
    X, y, asked = _problem("normal", 2, 130, 2)
    plane = np.random.default_rng(0).normal(size=(2, 70))
    return (X @ plane).astype(dtype), y, (asked[:-1] @ plane).astype(dtype)


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize("dtype", slow_but([np.float64], [np.float32, np.float64]))
def test_many_features_near_a_plane_are_followed_in_their_own_precision(dtype):
    X, y, asked = _near_a_plane(dtype)
    bags = [KNNResidual(3, search=search).bag(X[:80], y[:80]) for search in ("tree", "brute")]
    assert bags[0].search.contraction().shape[1] > 0
    for new in range(80, 110):
        for bag in bags:
            bag.learn(X[new : new + 1], y[new : new + 1])
            bag.unlearn(np.array([new % 7]))
        assert bags[0]._trees is not None
        assert bags[0]._store.objects.dtype == dtype
        _assert_same_targets(*bags, asked)


@pytest.mark.usefixtures("restless")
def test_trees_are_asked_in_the_precision_of_what_they_hold(monkeypatch):
    class Asked(Exception):
        """Instead of an answer: to compile it for float32 takes half a minute."""

    def ask(slots, x, gone, distances, targets, k, objects, *_):
        raise Asked(x.dtype, objects.dtype)

    monkeypatch.setattr(_neighbourhood_bag, "can_take", lambda *_: True)
    monkeypatch.setattr(_neighbourhood_bag, "concerned_by", lambda *_: np.empty(0, np.int64))
    monkeypatch.setattr(_neighbourhood_bag, "scan_by_trees", ask)
    X, y, _ = _near_a_plane(np.float32)
    bag = KNNResidual(3, search="tree").bag(X[:80], y[:80])
    for change in (lambda: bag.learn(X[80:81], y[80:81]), lambda: bag.unlearn(np.array([5]))):
        with pytest.raises(Asked) as asked:
            change()
        assert asked.value.args == (np.float32, np.float32)


@pytest.mark.usefixtures("restless")
def test_trees_are_forgotten_when_somebody_too_far_comes():
    X, y, asked = _problem("normal", 6, 140, 2)
    tree, brute = (
        FullConformalRegressor(KNNResidual(3, search=search)).fit(X[:80], y[:80]) for search in ("tree", "brute")
    )
    for one in (tree, brute):
        one.partial_fit(X[80:81], y[80:81]).partial_fit(asked[23:24], y[81:82])
    assert tree._bag._trees is None
    np.testing.assert_array_equal(tree.predict_interval(asked), brute.predict_interval(asked))


def test_sizes_with_ranks_from_files_of_release_0_1_are_read():
    X, y, asked = _problem("normal", 1, 60, 2)
    levels = np.full((len(asked), 1), 20)
    bag = KNNResidual(3).bag(X, y)
    expected = bag.intervals_at(asked, levels)
    stored = pickle.loads(pickle.dumps(bag))
    assert stored._untouched is None
    rank = np.argsort(np.argsort(-bag._untouched.upper))
    old = Untouched(*bag._untouched[:6], rank)
    stored._untouched = pickle.loads(pickle.dumps(old))
    np.testing.assert_array_equal(stored.intervals_at(asked, levels), expected)
    stored.learn(X[:1], y[:1])
    bag.learn(X[:1], y[:1])
    np.testing.assert_array_equal(stored.intervals_at(asked, levels), bag.intervals_at(asked, levels))


@pytest.mark.usefixtures("restless")
def test_sizes_are_merged_into_their_order():
    X, y, asked = _problem("normal", 1, 200, 2)
    bag = KNNResidual(3).bag(X[:150], y[:150])
    bag.intervals_at(asked, np.full((len(asked), 1), 20))
    for new in range(150, 170):
        bag.learn(X[new : new + 1], y[new : new + 1])
        assert bag._earlier is not None
        sizes = bag._sizes(bag._settled(), in_order=True)
        np.testing.assert_array_equal(sizes.ordered_upper, np.sort(sizes.upper))
        np.testing.assert_array_equal(sizes.ordered_lower, np.sort(sizes.lower))


# predictors


@pytest.mark.usefixtures("restless")
def test_predictors_are_those_of_the_textbook_on_who_is_left():
    X, y, asked = hostile("grid", "two", 4, 120, 2)
    targets = np.random.default_rng(4).integers(-3, 4, 120) / 4
    answers = {
        FullConformalClassifier(KNN(2, search="tree")): [y],
        ConformalAnomalyDetector(SimplifiedKNN(3, search="tree")): [],
        FullConformalRegressor(KNNResidual(2, search="tree")): [targets],
        VennPredictor(k=2, search="tree"): [y],
        VennPredictor(k=2, search="brute"): [y],
    }
    clf, anomaly, reg, venn, plain = (one.fit(X[:60], *(own[:60] for own in known)) for one, known in answers.items())
    left = list(range(60))
    for new in range(60, 90):
        for predictor, known in answers.items():
            predictor.partial_fit(X[new : new + 1], *(own[new : new + 1] for own in known)).unlearn([new % 7])
            ask = "predict_interval" if predictor is reg else "predict"
            getattr(predictor, ask)(asked[:1])
        np.testing.assert_array_equal(venn.predict_proba(asked[:2]), plain.predict_proba(asked[:2]))
        left.append(new)
        del left[new % 7]
    assert all(one._bag._following is not None for one in (clf, anomaly))
    assert all(one._bag._trees is not None for one in (reg, venn))
    textbook = FullConformalClassifier(KNN(2), algorithm="standard").fit(X[left], y[left])
    np.testing.assert_array_equal(clf.predict_p(asked), textbook.predict_p(asked))
    alone = ConformalAnomalyDetector(SimplifiedKNN(3, search="brute")).fit(X[left])
    np.testing.assert_array_equal(anomaly.predict_p(asked), alone.predict_p(asked))
    textbook = FullConformalRegressor(KNNResidual(2), algorithm="standard").fit(X[left], targets[left])
    candidates = np.linspace(-1, 1, len(asked))
    np.testing.assert_array_equal(reg.predict_p(asked, candidates), textbook.predict_p(asked, candidates))
    np.testing.assert_allclose(reg.predict_interval(asked, 0.8), textbook.predict_interval(asked, 0.8), rtol=1e-12)


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize(
    ("predictor", "ask", "trees"),
    [
        (FullConformalClassifier(KNN(3, search="tree")), "predict_p", "_standing"),
        (FullConformalRegressor(KNNResidual(3, search="tree")), "predict_interval", "_trees"),
    ],
    ids=["labels", "targets"],
)
def test_copies_and_pickles_see_what_there_was(predictor, ask, trees):
    X, y, asked = hostile("densities", "five", 6, 140, 2)
    predictor.fit(X[:80], y[:80]).partial_fit(X[80:81], y[80:81])
    getattr(predictor, ask)(asked)
    kept = copy.copy(predictor)  # which holds the same bag
    expected, before = getattr(kept, ask)(asked), getattr(kept._bag, trees)
    predictor.partial_fit(X[81:82], y[81:82]).unlearn([3])
    assert getattr(kept._bag, trees) is before is not getattr(predictor._bag, trees)
    np.testing.assert_array_equal(getattr(kept, ask)(asked), expected)
    again = pickle.loads(pickle.dumps(predictor))
    assert getattr(again._bag, trees) is None
    for _ in range(2):
        np.testing.assert_array_equal(getattr(again, ask)(asked), getattr(predictor, ask)(asked))
        for one in (again, predictor):
            one.partial_fit(X[82:83], y[82:83])


@pytest.mark.usefixtures("restless")
def test_threads_see_what_there_was():
    X, y, asked = hostile("densities", "five", 6, 140, 2)
    clf, brute = (FullConformalClassifier(KNN(3, search=search)).fit(X[:82], y[:82]) for search in ("tree", "brute"))
    states = [brute.predict_p(asked)]
    states += [brute.partial_fit(X[t : t + 1], y[t : t + 1]).predict_p(asked) for t in range(82, 100)]
    with ThreadPoolExecutor(3) as pool:
        answers = [pool.submit(lambda: [clf.predict_p(asked) for _ in range(30)]) for _ in range(2)]
        for new in range(82, 100):
            clf.partial_fit(X[new : new + 1], y[new : new + 1])
        found = [p for answer in answers for p in answer.result()]
    assert all(any(np.array_equal(p, state) for state in states) for p in found)
    np.testing.assert_array_equal(clf.predict_p(asked), states[-1])


@pytest.mark.parametrize("search", ["tree", "brute"])
def test_examples_are_found_again_among_many(search, rng):
    """Their slots are looked for in blocks: the last one's example may be anywhere."""
    X, y, _ = hostile("normal", "five", 3, 900, 2)
    bag, left = _bag(KNN(2), X, y, search), np.arange(900)
    for gone in [0, 898, 255, *rng.integers(0, 880, 12)]:
        bag.unlearn(np.array([gone]))
        left = np.delete(left, gone)
        np.testing.assert_array_equal(np.sort(bag.order), np.arange(left.size))
        np.testing.assert_array_equal(bag._store.objects[bag.order], X[left])
        np.testing.assert_array_equal(bag.codes(), y[left])


def test_trees_follow_when_enough_has_been_asked_and_changed(monkeypatch):
    monkeypatch.setattr(_filling, "choose_route", always_trees)
    monkeypatch.setattr(_tuning, "KNOBS", _tuning.KNOBS._replace(regrow=10))
    X, y, asked = hostile("normal", "two", 0, 200, 2)
    clf, brute = (FullConformalClassifier(KNN(3, search=search)).fit(X[:100], y[:100]) for search in ("auto", "brute"))
    for new in range(100, 120):
        for one in (clf, brute):
            one.partial_fit(X[new : new + 1], y[new : new + 1])
        assert (clf._bag._following is None) == (new < 104)  # a fork, a copy, a change and a row count one each
        np.testing.assert_array_equal(clf.predict_p(asked[:1]), brute.predict_p(asked[:1]))
    assert clf._bag._following.changes[0] == 16
    for one in (clf, brute):
        one.partial_fit(asked[23:24], y[:1])  # too far for these trees: they are grown anew
    assert clf._bag._following is None
    np.testing.assert_array_equal(clf.predict_p(asked), brute.predict_p(asked))


def test_changes_are_merged_with_the_scores_in_order(rng):
    scores, codes = rng.integers(0, 9, 60).astype(float), rng.integers(0, 3, 60)
    scores[:4] = np.inf
    ranked = rank_scores(scores, codes, 4, 70, 20)
    ranked.old[:4], ranked.new[:4] = [scores[0], scores[5], np.nan, scores[7]], [2.5, np.inf, 4.0, np.nan]
    ranked.codes[:4], ranked.used[0] = [codes[0], codes[5], 3, codes[7]], 4
    scores[0], scores[5] = 2.5, np.inf
    expected = rank_scores(np.append(np.delete(scores, 7), 4.0), np.append(np.delete(codes, 7), 3), 4, 70, 20)
    found = ranked_anew(ranked, ranked.place.size, ranked.old.size)
    for field in ("ordered", "starts", "place", "used"):
        np.testing.assert_array_equal(getattr(found, field), getattr(expected, field), err_msg=field)


def test_rows_that_cannot_be_written_need_no_kernels_of_their_own():
    rng = np.random.default_rng(0)
    X, asked = rng.normal(size=(60, 3)), rng.normal(size=(7, 3))
    clf = FullConformalClassifier(KNN(3, search="tree")).fit(X, (X[:, 0] > 0).astype(int))
    expected = clf.predict_p(asked)
    fixed = asked.copy()
    fixed.flags.writeable = False
    before = _compiling.STOPWATCH.kernels
    np.testing.assert_array_equal(clf.predict_p(fixed), expected)
    assert _compiling.STOPWATCH.kernels == before
