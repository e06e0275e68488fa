"""Randomness that depends on a place alone: splitmix64 of (seed, tree, node), never a series of draws (theory FO.3)."""

from __future__ import annotations

import numpy as np

from exactcp._draws import mix_one
from exactcp._jit import compiled, inner


@compiled
def tree_key(seed, tree):
    """The key of a tree, from which those of its nodes come."""
    return mix_one(mix_one(np.uint64(seed)) ^ np.uint64(tree))


@inner
def draw_feature(key, heap, j, order):
    """The j-th feature of a node: step j of the Fisher-Yates shuffle of `order`, drawn from the node's place."""
    p = order.shape[0]
    node = mix_one(key ^ np.uint64(heap))
    other = j + np.int64(mix_one(node ^ np.uint64(j)) % np.uint64(p - j))
    chosen = order[other]
    order[other] = order[j]
    order[j] = chosen
    return chosen


@inner
def undo_draws(key, heap, drawn, order):
    """Return `order` to what it was before the first `drawn` features of a node were drawn from it."""
    p = order.shape[0]
    node = mix_one(key ^ np.uint64(heap))
    for j in range(drawn - 1, -1, -1):
        other = j + np.int64(mix_one(node ^ np.uint64(j)) % np.uint64(p - j))
        chosen = order[j]
        order[j] = order[other]
        order[other] = chosen
