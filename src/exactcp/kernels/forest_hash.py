"""Randomness that depends on a place alone: splitmix64 of (seed, tree, node), never a sequence of draws (FOREST 1)."""

from __future__ import annotations

import numpy as np

from exactcp._jit import compiled, inner

STEP, FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)


def mix(x):
    """splitmix64 of an unsigned 64-bit integer, or of an array of them."""
    x = x + STEP
    x = (x ^ (x >> _30)) * FIRST
    x = (x ^ (x >> _27)) * SECOND
    return x ^ (x >> _31)


mix_one = compiled(nogil=False, inline="always")(mix)


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
