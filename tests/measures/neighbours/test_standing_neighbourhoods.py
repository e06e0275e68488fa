"""Trees follow the neighbourhoods of k-NN regression and of Venn prediction: all stays as by brute force."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from conftest import contracting
from hypothesis import given, settings
from hypothesis import strategies as st

from exactcp import FullConformalRegressor, VennPredictor
from exactcp.measures import KNNResidual
from exactcp.measures.neighbours import _neighbourhood_bag, _tuning
from exactcp.measures.neighbours.kernels.neighbourhood_trees import entrances_of
from exactcp.measures.neighbours.kernels.residuals import Untouched
from exactcp.measures.neighbours.kernels.standing import BALL, NEAR, NEWCOMER
from hostile import KINDS, hostile
from slices import sliced, slow_but

QUICK = [("grid", 3), ("normal", 1), ("outliers", 8), ("duplicates", 3), ("finer than float32", 3)]
STATE = ("boundary", "inner_count", "inner_sum", "at_count", "at_sum", "residual")


@pytest.fixture
def restless(monkeypatch):
    """Trees that are grown anew after a few changes."""
    monkeypatch.setattr(_tuning, "KNOBS", _tuning.KNOBS._replace(follow_least=9, follow_share=40, regrow=1))


def _problem(kind, seed, size, p):
    """Return hostile objects with targets that have ties, and test objects."""
    X, _, asked = hostile(kind, "one", seed, size, p)
    return X, np.random.default_rng(seed).integers(-3, 4, size) / 4, asked


def _assert_same(bag, brute, asked):
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


def _changed(bag, change, rng):
    """Return the bag after a change: in place, or apart from the old one, which stays what it was."""
    if rng.random() < 0.5:
        change.commit()
        return change.bag
    before = pickle.dumps(bag._arrays()), copy.deepcopy(bag._trees)
    after = change.apart()
    assert pickle.dumps(bag._arrays()) == before[0]
    if bag._trees is not None:
        np.testing.assert_equal(bag._trees, before[1])
    return after


def _live(kind, k, seed, steps, n=80, p=None):
    """Let a history happen, and look at everything after each step; return how often trees followed."""
    rng = np.random.default_rng(seed)
    X, y, asked = _problem(kind, seed % 97, n + steps, p or [1, 2, 3][seed % 3])
    tree, brute = (KNNResidual(k, search=search).bag(X[:n], y[:n]) for search in ("tree", "brute"))
    tree._expect_to_forget()
    following, followed = n, 0
    for step in range(steps):
        gone = rng.integers(tree.n - 5 if rng.random() < 0.5 else 0, tree.n, size=1)  # newcomers go, too
        new = slice(following, following + 1)
        learns = rng.random() < 0.6
        following += learns
        change = tree.learning(X[new], y[new]) if learns else tree.unlearning(gone)
        if change is None:
            tree = tree.fork()
            tree.learn(X[new], y[new]) if learns else tree.unlearn(gone)
        else:
            tree = _changed(tree, change, rng)
        brute.learn(X[new], y[new]) if learns else brute.unlearn(gone)
        _assert_same(tree, brute, asked[step % 3 :: 3])
        if tree._trees is not None:
            followed += 1
            _assert_trees_hold(tree)
    return followed


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize(("kind", "k"), sliced(99, KINDS, (1, 3, 8, 20), also=QUICK))
def test_any_step_leaves_what_brute_force_has(kind, k):
    assert _live(kind, k, KINDS.index(kind) * 10 + k, 25) == 25


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize(("kind", "k"), sliced(99, KINDS, (1, 3, 8, 20), also=QUICK))
def test_contracted_trees_follow_as_well(kind, k, monkeypatch):
    contracting(monkeypatch)
    assert _live(kind, k, KINDS.index(kind) * 10 + k, 15, p=[2, 5][k % 2]) == 15


@pytest.mark.slow
@pytest.mark.usefixtures("restless")
@settings(max_examples=150, deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(12, 400),
    k=st.sampled_from([1, 2, 5, 20, 150]),
)
def test_any_history_is_that_of_brute_force(kind, seed, n, k):
    _live(kind, k, seed, 60, n)


@pytest.mark.usefixtures("restless")
def test_predictors_are_those_of_the_textbook_on_who_is_left():
    X, y, asked = _problem("grid", 4, 120, 2)
    labels = np.where(y > 0, "above", "below")
    reg = FullConformalRegressor(KNNResidual(2, search="tree")).fit(X[:60], y[:60])
    venn, plain = (VennPredictor(k=2, search=search).fit(X[:60], labels[:60]) for search in ("tree", "brute"))
    left = list(range(60))
    for new in range(60, 90):
        for predictor, targets in ((reg, y), (venn, labels), (plain, labels)):
            predictor.partial_fit(X[new : new + 1], targets[new : new + 1]).unlearn([new % 7])
        reg.predict_interval(asked[:1])
        np.testing.assert_array_equal(venn.predict_proba(asked[:2]), plain.predict_proba(asked[:2]))
        left.append(new)
        del left[new % 7]
    assert reg._bag._trees is not None
    assert venn._bag._trees is not None
    textbook = FullConformalRegressor(KNNResidual(2), algorithm="standard").fit(X[left], y[left])
    candidates = np.linspace(-1, 1, len(asked))
    np.testing.assert_array_equal(reg.predict_p(asked, candidates), textbook.predict_p(asked, candidates))
    np.testing.assert_allclose(reg.predict_interval(asked, 0.8), textbook.predict_interval(asked, 0.8), rtol=1e-12)


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
        _assert_same(*bags, asked)


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
def test_copies_and_pickles_see_what_there_was():
    X, y, asked = _problem("densities", 6, 140, 2)
    reg = FullConformalRegressor(KNNResidual(3, search="tree")).fit(X[:80], y[:80])
    reg.partial_fit(X[80:81], y[80:81]).predict_interval(asked)
    kept = copy.copy(reg)  # which holds the same bag
    expected, trees = kept.predict_interval(asked), kept._bag._trees
    reg.partial_fit(X[81:82], y[81:82]).unlearn([3])
    assert kept._bag._trees is trees is not reg._bag._trees
    np.testing.assert_array_equal(kept.predict_interval(asked), expected)
    again = pickle.loads(pickle.dumps(reg))
    assert again._bag._trees is None
    np.testing.assert_array_equal(again.predict_interval(asked), reg.predict_interval(asked))


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
