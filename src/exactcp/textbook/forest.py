"""The bootstrap measure with CART trees: Algorithm 3 of the paper, retraining every tree that holds the test example.

A sample is given as weights, one for each training example and the last for the test example. An example votes with the
first trees whose samples lack it. A tree is a function of its seed, its number and the multiset of its examples.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

_64 = 2**64 - 1
SampleRows = list[tuple[tuple[float, ...], int, int]]  # (object, label, weight)


def splitmix64(x: int) -> int:
    """Return the splitmix64 hash of a 64-bit integer."""
    x = (x + 0x9E3779B97F4A7C15) & _64
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & _64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & _64
    return x ^ (x >> 31)


def feature_order(seed: int, tree: int, node: int, p: int) -> list[int]:
    """Return the features in the order in which a node considers them: a shuffle drawn from the node's place."""
    key = splitmix64(splitmix64(splitmix64(seed) ^ tree) ^ (node & _64))
    order = list(range(p))
    for j in range(p):
        other = j + splitmix64(key ^ j) % (p - j)
        order[j], order[other] = order[other], order[j]
    return order


def _class_weights(rows: SampleRows, n_labels: int) -> list[int]:
    weights = [0] * n_labels
    for _, label, weight in rows:
        weights[label] += weight
    return weights


def _purity(rows: SampleRows, n_labels: int) -> float:
    """Return sum_c C_c^2 / N, from integers."""
    weights = _class_weights(rows, n_labels)
    return float(sum(c * c for c in weights)) / float(sum(weights))


def _cuts(rows: SampleRows, feature: int) -> list[tuple[float, float]]:
    """Return the pairs of neighbouring values between which a cut may lie."""
    values = sorted({x[feature] for x, _, _ in rows})
    return list(pairwise(values))


def _threshold(low: float, high: float) -> float:
    middle = 0.5 * low + 0.5 * high
    return middle if middle < high else low


class Split(NamedTuple):
    """A node that is no leaf; a leaf is its label."""

    feature: int
    threshold: float
    left: Split | int
    right: Split | int


class Tree:
    """A CART tree whose nodes draw their features from their place: root 1, children 2v and 2v + 1."""

    def __init__(
        self, rows: SampleRows, n_labels: int, *, seed: int, tree: int, max_depth: float, n_features: int
    ) -> None:
        self._n_labels = n_labels
        self._seed, self._tree, self._max_depth, self._n_features = seed, tree, max_depth, n_features
        self._root = self._grow(rows, 1, 0)

    def _grow(self, rows: SampleRows, node: int, depth: int) -> Split | int:
        weights = _class_weights(rows, self._n_labels)
        leaf = weights.index(max(weights))
        split = None
        if depth < self._max_depth and sum(w > 0 for w in weights) > 1:
            split = self._best_cut(rows, node)
        if split is None:
            return leaf
        feature, threshold = split
        left = [row for row in rows if row[0][feature] <= threshold]
        right = [row for row in rows if row[0][feature] > threshold]
        left_node, right_node = self._grow(left, 2 * node, depth + 1), self._grow(right, 2 * node + 1, depth + 1)
        return Split(feature, threshold, left_node, right_node)

    def _best_cut(self, rows: SampleRows, node: int) -> tuple[int, float] | None:
        order = feature_order(self._seed, self._tree, node, len(rows[0][0]))
        first = order[: self._n_features]
        if not any(_cuts(rows, feature) for feature in first):
            first = [feature for feature in order if _cuts(rows, feature)][:1]
        best, chosen = -1.0, None
        for feature in first:
            for low, high in _cuts(rows, feature):
                left = [row for row in rows if row[0][feature] <= low]
                right = [row for row in rows if row[0][feature] >= high]
                value = _purity(left, self._n_labels) + _purity(right, self._n_labels)
                if value > best:
                    best, chosen = value, (feature, _threshold(low, high))
        return chosen

    def predict(self, x: tuple[float, ...]) -> int:
        """Return the label of the leaf that x falls into."""
        node = self._root
        while isinstance(node, Split):
            node = node.left if x[node.feature] <= node.threshold else node.right
        return node


Trainer = Callable[[int, np.ndarray, np.ndarray, np.ndarray], Callable[[np.ndarray], int]]


def tree_trainer(n_labels: int, **parameters: Any) -> Trainer:
    """Return a trainer of trees with the seed, max_depth and n_features given.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.textbook.forest import tree_trainer
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> train = tree_trainer(2, seed=0, max_depth=3, n_features=1)
    >>> tree = train(0, X, y, np.ones(4, dtype=int))
    >>> tree(np.array([0.5])), tree(np.array([9.0]))
    (0, 1)
    """

    def train(number: int, X: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> Callable[[np.ndarray], int]:
        objects = [tuple(row) for row in X.tolist()]
        rows = list(zip(objects, labels.tolist(), weights.tolist(), strict=True))
        tree = Tree(rows, n_labels, tree=number, **parameters)
        return lambda x: tree.predict(tuple(x.tolist()))

    return train


def bootstrap_votes(
    train: Trainer, X: np.ndarray, codes: np.ndarray, x: np.ndarray, label: int, samples: np.ndarray, n_estimators: int
) -> tuple[np.ndarray, int]:
    """Return how many of its classifiers are right about each training example, and about the test example.

    Parameters
    ----------
    train : callable
        Takes the number of a sample, its objects, labels and weights; returns a function that tells an object's label.
    X : ndarray of shape (n, p)
    codes : ndarray of shape (n,)
        Labels as 0..n_labels-1.
    x : ndarray of shape (p,)
    label : int
    samples : ndarray of int of shape (samples, n + 1)
        How often each sample holds each example, the test example last.
    n_estimators : int
        Each example votes with this many classifiers: the first whose samples lack it.

    Returns
    -------
    votes : ndarray of shape (n,)
    candidate_votes : int

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.textbook.forest import bootstrap_votes, tree_trainer
    >>> X, y = np.array([[0.0], [1.0], [4.0], [5.0]]), np.array([0, 0, 1, 1])
    >>> train = tree_trainer(2, seed=0, max_depth=3, n_features=1)
    >>> samples = np.random.default_rng(0).multinomial(5, [0.2] * 5, size=30)
    >>> bootstrap_votes(train, X, y, np.array([0.5]), 0, samples, n_estimators=5)
    (array([5, 5, 4, 4]), 5)
    """
    objects = np.concatenate([X, x[None]])
    labels = np.append(codes, label)
    trained: dict[int, Callable[[np.ndarray], int]] = {}
    votes = np.zeros(labels.size, dtype=np.int64)
    for i in range(labels.size):
        for b in np.flatnonzero(samples[:, i] == 0)[:n_estimators].tolist():
            if b not in trained:
                inside = samples[b] > 0
                # without examples, the first label, as a majority of nothing is
                empty = not inside.any()
                trained[b] = _first_label if empty else train(b, objects[inside], labels[inside], samples[b][inside])
            votes[i] += trained[b](objects[i]) == labels[i]
    return votes[:-1], int(votes[-1])


def _first_label(x: np.ndarray) -> int:  # noqa: ARG001
    return 0
