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


_MAKERS = {  # one object, drawn from a generator, and what compares two
    "strings": (lambda rng: "".join(rng.choice(list("abc"), rng.integers(1, 6))), levenshtein),
    "tuples": (lambda rng: tuple(rng.integers(0, 3, rng.integers(1, 6)).tolist()), levenshtein),
    "dicts": (
        lambda rng: {key: int(rng.integers(2)) for key in rng.choice(list("abcd"), 2, replace=False).tolist()},
        different_keys,
    ),
    "sets": (lambda rng: set(rng.integers(0, 6, rng.integers(0, 5)).tolist()), not_shared),
    "graphs": (lambda rng: Tree([int(node) for node in rng.integers(0, 4, rng.integers(1, 5))]), different_edges),
}


def _made(make):
    rng = np.random.default_rng(0)
    return [make(rng) for _ in range(N)]


KINDS = {name: (_made(make), metric) for name, (make, metric) in _MAKERS.items()}


def counted(metric):
    """Return a metric, and the list of pairs that it is asked for."""
    pairs = []

    def measured(a, b):
        pairs.append(frozenset((id(a), id(b))))
        return metric(a, b)

    return measured, pairs
