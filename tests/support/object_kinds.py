"""Objects that are not vectors, with a function that compares them: integers, so that there are ties everywhere."""

from __future__ import annotations

import numpy as np

N = 60


def levenshtein(a, b):
    """Return how many items must be put in, taken out or changed to make one sequence of another."""
    row = list(range(len(b) + 1))
    for i, one in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (one != other))
    return row[-1]


def different_keys(a, b):
    """Return for how many keys two dicts differ."""
    return sum(a.get(key) != b.get(key) for key in a.keys() | b.keys())


def not_shared(a, b):
    """Return how many elements one of two sets has and the other has not."""
    return len(a ^ b)


class Tree:
    """A graph of one's own, which NumPy would take for a sequence: its nodes."""

    def __init__(self, edges):
        self.edges = edges

    def __len__(self):
        return len(self.edges)

    def __getitem__(self, node):
        return self.edges[node]


def different_edges(a, b):
    """Return how many edges one of two graphs has and the other has not."""
    return len(set(a.edges) ^ set(b.edges))


def _words(rng):
    return ["".join(rng.choice(list("abc"), rng.integers(1, 6))) for _ in range(N)]


def _tuples(rng):
    return [tuple(rng.integers(0, 3, rng.integers(1, 6)).tolist()) for _ in range(N)]


def _dicts(rng):
    return [
        {key: int(rng.integers(2)) for key in rng.choice(list("abcd"), 2, replace=False).tolist()} for _ in range(N)
    ]


def _sets(rng):
    return [set(rng.integers(0, 6, rng.integers(0, 5)).tolist()) for _ in range(N)]


def _trees(rng):
    return [Tree([int(node) for node in rng.integers(0, 4, rng.integers(1, 5))]) for _ in range(N)]


_MAKERS = {
    "strings": (_words, levenshtein),
    "tuples": (_tuples, levenshtein),
    "dicts": (_dicts, different_keys),
    "sets": (_sets, not_shared),
    "graphs": (_trees, different_edges),
}
KINDS = {name: (make(np.random.default_rng(0)), metric) for name, (make, metric) in _MAKERS.items()}


def counted(metric):
    """Return a metric, and the list of pairs that it is asked for."""
    pairs = []

    def measured(a, b):
        pairs.append(frozenset((id(a), id(b))))
        return metric(a, b)

    return measured, pairs
