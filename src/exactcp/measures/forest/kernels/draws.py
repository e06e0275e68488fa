"""Randomness that depends on a node alone: splitmix64 of (seed, tree, node), never a series of draws (theory FO.3)."""

from __future__ import annotations

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.counting.randomness import mix_one


@compiled
def tree_key(seed, tree):
    """The key of a tree, from which those of its nodes come."""
    return mix_one(mix_one(np.uint64(seed)) ^ np.uint64(tree))


@inner
def _partner(key, heap, j, p):
    """The position that step j of a node's Fisher-Yates shuffle of p features swaps with position j."""
    node = mix_one(key ^ np.uint64(heap))
    return j + np.int64(mix_one(node ^ np.uint64(j)) % np.uint64(p - j))


@inner
def draw_feature(key, heap, j, order):
    """The j-th feature of a node: step j of the shuffle of `order`, which depends on the node alone."""
    other = _partner(key, heap, j, order.shape[0])
    order[j], order[other] = order[other], order[j]
    return order[j]


@inner
def undo_draws(key, heap, drawn, order):
    """Return `order` to what it was before the first `drawn` features of a node were drawn from it."""
    for j in range(drawn - 1, -1, -1):
        other = _partner(key, heap, j, order.shape[0])
        order[j], order[other] = order[other], order[j]
