"""The forest's rooms one by one: items in order, the best cut, the certificate of kept cuts, the walk, the tree."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit

from callable_kernels import callable_kernel
from exactcp import textbook
from exactcp.measures.forest._rank_codes import RankCodes
from exactcp.measures.forest._trees import ForestPlan, Sample, gather, grow_tree
from exactcp.measures.forest.kernels import grow
from exactcp.measures.forest.kernels.items import fill_items, make_node_workspace
from exactcp.measures.forest.kernels.layout import ROW, SPLIT, encode_object
from exactcp.measures.forest.kernels.walk import EVENT, IN_FOREST, walk_down

predict_label = callable_kernel(grow.predict_label)

SEED, TREE = 5, 3


@njit
def _fill(examples, z, rows, workspace):
    return fill_items(examples, 0, z, rows, workspace)


@njit
def _encode(examples, x, u):
    encode_object(examples, x, u)


@njit
def _walk(examples, trees, root, u, w, labels):
    return walk_down(examples, trees, (IN_FOREST, 0, root), u, w, labels, (np.empty(1, EVENT), 0))


def _examples(seed, n=24, p=4, n_labels=3, *, gridded):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, p)).astype(float) if gridded else rng.normal(size=(n, p))
    y, weights = rng.integers(0, n_labels, n), rng.integers(1, 3, n)
    return X, y, weights, RankCodes(X).labelled(y)


def _grown(examples, weights, *, n_labels=3, max_depth=4, n_features=2, star=2, whole=True):
    rows = np.flatnonzero(weights)
    sample = Sample(TREE, rows, weights[rows], np.arange(weights.size), star, votes_for_test=whole)
    plan = ForestPlan(1, max_depth, n_features, "multinomial", SEED)
    return gather([grow_tree(examples, sample, plan, n_labels)], n_labels)


def _textbook_tree(X, y, weights, **parameters):
    defaults = {"seed": SEED, "max_depth": 4, "n_features": 2}
    return textbook.forest.tree_trainer(3, **{**defaults, **parameters})(TREE, X, y, weights)


@pytest.mark.parametrize("gridded", [False, True])
@pytest.mark.parametrize("max_depth", [0, 1, 3, 2**31])
@pytest.mark.parametrize("n_features", [1, 2, 4])
def test_trees_predict_like_the_textbooks(gridded, max_depth, n_features):
    for seed in range(4):
        X, y, weights, examples = _examples(seed, gridded=gridded)
        trees, (root,) = _grown(examples, weights, max_depth=max_depth, n_features=n_features)
        expected = _textbook_tree(X, y, weights, max_depth=max_depth, n_features=n_features)
        for x in np.concatenate([X, X + 0.3]):
            assert predict_label(trees, root, x) == expected(x)


@pytest.mark.parametrize("n", [2, 24, 25, 300, 3000])
@pytest.mark.parametrize("distinct", [3, 100_000])
def test_items_are_in_ascending_order_and_lose_nothing(n, distinct):
    rng = np.random.default_rng(n)
    X, y, weights = rng.integers(0, distinct, (n, 1)).astype(float), rng.integers(0, 2, n), rng.integers(1, 4, n)
    ranks = RankCodes(X)
    examples, workspace = ranks.labelled(y), make_node_workspace(n, 1, 2)
    rows = np.empty(n, ROW)
    rows["example"], rows["times"] = np.arange(n), weights
    rows["example"][-1] = -1  # the test example takes the place of the last one
    z = (int(ranks.codes[0, -1]) - 1, 1, int(weights[-1]))
    count = _fill(examples, z, rows, workspace)
    code, label, weight = (workspace.items[name][:count] for name in ("code", "label", "weight"))
    assert (np.diff(code) >= 0).all()
    found, expected = {}, {}
    for c, k, w in zip(code, label, weight, strict=True):
        found[int(c), int(k)] = found.get((int(c), int(k)), 0) + int(w)
    codes, labels = [*ranks.codes[0, :-1], z[0]], [*y[:-1], z[1]]
    for c, k, w in zip(codes, labels, weights, strict=True):
        expected[int(c), int(k)] = expected.get((int(c), int(k)), 0) + int(w)
    assert found == expected
    assert (workspace.cells == 0).all()


@pytest.mark.parametrize("gridded", [False, True])
def test_every_cut_node_keeps_its_own_cut(gridded):
    _, _, weights, examples = _examples(1, gridded=gridded)
    trees, _ = _grown(examples, weights)
    nodes = trees.nodes
    with_users = nodes[(nodes["outcome"] == SPLIT) & (nodes["cuts_end"] > nodes["cuts"])]
    assert with_users.size
    for node in with_users:
        best = trees.cuts[node["best"]]
        assert node["cuts"] <= node["best"] < node["cuts_end"]
        assert best["feature"] == node["feature"]
        first = examples.first[best["feature"]]
        low, high = (examples.values[first + (code - 2) // 2] for code in (best["lo"], best["hi"]))
        assert low <= node["threshold"] < high


@pytest.mark.parametrize("gridded", [False, True])
@pytest.mark.parametrize("w", [1, 3])
def test_where_the_walk_notes_nothing_nothing_changes(gridded, w):
    """The certificate: without an event for a label, the tree grown with the test example votes as before."""
    quiet = 0
    for seed in range(12):
        X, y, weights, examples = _examples(seed, gridded=gridded)
        trees, (root,) = _grown(examples, weights, star=w)
        rng = np.random.default_rng(100 + seed)
        for x in (X[0] + 0.1, rng.normal(size=4), rng.integers(0, 4, 4).astype(float)):
            u = np.empty(4, np.int64)
            _encode(examples, x, u)
            events, used = _walk(examples, trees, root, u, w, np.arange(3))
            for label in set(range(3)) - set(events["star_label"][:used].tolist()):
                quiet += 1
                again = _textbook_tree(np.vstack([X, x]), np.append(y, label), np.append(weights, w))
                assert [again(X[i]) for i in trees.users["example"]] == trees.users["vote"].tolist()
    assert quiet > 4


def test_codes_of_objects():
    _, _, _, examples = _examples(0, n=5, p=1, gridded=True)
    values = examples.values
    u = np.empty(1, np.int64)
    for x, expected in (
        (values[0], 2),
        (values[0] - 1, 1),
        (values[1], 4),
        (values[0] + 0.5, 3),
        (1e9, 2 * values.size + 1),
    ):
        _encode(examples, np.array([x]), u)
        assert u[0] == expected
