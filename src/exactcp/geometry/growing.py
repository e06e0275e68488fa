"""Growing trees over examples (theory TR.1, TR.5)."""

from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.geometry.lanes import LEAF
from exactcp.geometry.trees import DEEP, Cones, Grove

NO_CONES = np.empty(0)


class Asking(NamedTuple):
    """Cones of the points of reverse trees, by number; all empty for trees whose points ask nothing."""

    radius: np.ndarray = NO_CONES
    slope: np.ndarray = NO_CONES
    score: np.ndarray = NO_CONES
    rank: np.ndarray = NO_CONES  # of the score
    height: np.ndarray = NO_CONES  # of the cone, in ranks


@inner
def _select_middle(order, key, left, right, middle):
    """Let key[left:right], and `order` with it, have at `middle` what is there when they are sorted (Hoare)."""
    while right - left > 1:
        a, b, c = key[left], key[(left + right) >> 1], key[right - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = left, right - 1
        while i <= j:
            while key[i] < pivot:
                i += 1
            while key[j] > pivot:
                j -= 1
            if i <= j:
                key[i], key[j] = key[j], key[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            right = j + 1
        elif middle >= i:
            left = i
        else:
            return


@inner
def _select_by(values, order, start, stop, middle, key):
    for at in range(start, stop):
        key[at] = values[order[at]]
    _select_middle(order, key, start, stop, middle)


@inner
def _bound_points(order, start, stop, Z, box, node):
    """Make the box of a node; return its widest feature."""
    q = Z.shape[1]
    for f in range(q):
        box[node, 0, f], box[node, 1, f] = np.inf, -np.inf
    for at in range(start, stop):
        for f in range(q):
            v = Z[order[at], f]
            box[node, 0, f], box[node, 1, f] = min(box[node, 0, f], v), max(box[node, 1, f], v)
    widest = 0
    for f in range(1, q):
        if box[node, 1, f] - box[node, 0, f] > box[node, 1, widest] - box[node, 0, widest]:
            widest = f
    return widest


@inner
def _bound_cones(order, start, stop, asking, cones, node):
    """Make the cone around those of a node; return the spread of the ranks of their scores, and their mean height."""
    radius, slope, low, high = -1.0, np.inf, np.inf, -np.inf
    first, last, height = np.inf, -np.inf, 0.0
    for at in range(start, stop):
        i = order[at]
        radius, slope = max(radius, asking.radius[i]), min(slope, asking.slope[i])
        low, high = min(low, asking.score[i]), max(high, asking.score[i])
        first, last = min(first, asking.rank[i]), max(last, asking.rank[i])
        height += asking.height[i]
    cones[node, 0], cones[node, 1], cones[node, 2], cones[node, 3] = radius, slope, low, high
    return last - first, height / (stop - start)


@inner
def _visiting_share(whole, margin):
    """Part of the rows within a margin of something that are within the margin of its half."""
    return (whole / 2 + margin) / (whole + margin) if 0.0 < whole + margin < np.inf else 1.0


@inner
def _share_by_radius(cut, start, stop, key, box, node, largest):
    """Part of the points that a row sees if those after the cut, with the largest radii, are set apart."""
    few, smaller = (cut - start) / (stop - start), 1.0
    for f in range(box.shape[2]):
        side = np.float64(box[node, 1, f] - box[node, 0, f])
        if side + largest > 0.0 and key[cut] < np.inf:
            smaller *= (side + key[cut]) / (side + largest)
    return few * smaller + 1 - few


@inner
def _divide_asking(order, start, stop, asking, key, box, node, widest, cones):
    """Choose how a node of a reverse tree is divided: return 0 by place, 1 by score, 2 by radius, and where."""
    spread, height = _bound_cones(order, start, stop, asking, cones, node)
    leaves, largest = (stop - start + LEAF - 1) // LEAF, cones[node, 0]
    middle, by = start + (leaves // 2) * LEAF, 0
    best, by_score = (
        _visiting_share(np.float64(box[node, 1, widest] - box[node, 0, widest]), largest),
        _visiting_share(spread, height),
    )
    if by_score < best:
        best, by = by_score, 1
    for part in (2, 8):  # the half, or the eighth, with the largest radii
        if leaves >= 2 * part:
            cut = start + (leaves - leaves // part) * LEAF
            _select_by(asking.radius, order, start, stop, cut, key)
            by_radius = _share_by_radius(cut, start, stop, key, box, node, largest)
            if by_radius < best:
                best, by, middle = by_radius, 2, cut
    return by, middle


@inner
def _divide(order, start, stop, Z, asking, key, box, node, cones):
    """Bound the points of a node, and divide them in two if they are too many; return where, and the widest feature."""
    widest = _bound_points(order, start, stop, Z, box, node)
    by, middle = 0, start + ((stop - start + LEAF - 1) // LEAF // 2) * LEAF
    if asking.radius.shape[0] > 0:
        by, middle = _divide_asking(order, start, stop, asking, key, box, node, widest, cones)
    if stop - start > LEAF:
        if by == 0:
            for at in range(start, stop):
                key[at] = Z[order[at], widest]
            _select_middle(order, key, start, stop, middle)
        else:
            _select_by(asking.rank if by == 1 else asking.radius, order, start, stop, middle, key)
    return middle, widest


@inner
def _fill_leaf(order, start, stop, Z, asking, grove, cones, leaf):
    """Put the points of a leaf into it."""
    for j in range(LEAF):
        i = order[start + j] if start + j < stop else -1
        grove.slot[leaf, j] = i
        for f in range(Z.shape[1]):
            grove.points[leaf, f, j] = Z[i, f] if i >= 0 else np.nan
        if asking.radius.shape[0] > 0:
            cones.radius[leaf, j] = asking.radius[i] if i >= 0 else -1.0
            cones.slope[leaf, j] = asking.slope[i] if i >= 0 else 0.0
            cones.score[leaf, j] = asking.score[i] if i >= 0 else 0.0


@inner
def _grow_tree(order, start, stop, Z, asking, grove, cones, tree):
    """Grow one tree over order[start:stop]."""
    node, leaf = grove.roots[tree], grove.first[tree]
    key, waiting = np.empty(order.shape[0]), np.empty((DEEP, 3), np.int64)
    waiting[0, 0], waiting[0, 1], waiting[0, 2] = start, stop, -1
    used = 1 if stop > start else 0
    while used > 0:
        used -= 1
        start, stop, parent = waiting[used, 0], waiting[used, 1], waiting[used, 2]
        if parent >= 0:
            grove.link[parent, 0] = node
        middle, widest = _divide(order, start, stop, Z, asking, key, grove.box, node, cones.node)
        grove.link[node, 0], grove.link[node, 1] = 0, widest
        if stop - start <= LEAF:
            grove.link[node, 1], grove.home[leaf] = leaf, node
            _fill_leaf(order, start, stop, Z, asking, grove, cones, leaf)
            leaf += 1
        else:
            waiting[used, 0], waiting[used, 1], waiting[used, 2] = middle, stop, node
            waiting[used + 1, 0], waiting[used + 1, 1], waiting[used + 1, 2] = start, middle, -1
            used += 2
        node += 1


@compiled(error_model="numpy")
def _grow(order, starts, Z, asking, grove, cones):
    """Grow a tree over each part order[starts[t]:starts[t + 1]]; `order` is then that of the leaves."""
    for tree in range(starts.shape[0] - 1):
        _grow_tree(order, starts[tree], starts[tree + 1], Z, asking, grove, cones, tree)


def grow_grove(Z, parts, asking=Asking()):  # noqa: B008  (a tuple)
    """Return a tree over each part of some points, and their cones where they ask.

    Parameters
    ----------
    Z : ndarray of float32 of shape (n, q)
        Coordinates of all points.
    parts : list of ndarray of int
        The points of each tree, by number.
    asking : Asking

    Returns
    -------
    Grove, Cones
    """
    q, sizes = Z.shape[1], [part.size for part in parts]
    leaves = np.array([-(-size // LEAF) for size in sizes])
    first, roots, starts = (
        np.concatenate([[0], np.cumsum(counts)]) for counts in (leaves, np.maximum(2 * leaves - 1, 0), sizes)
    )
    n_leaves, n_nodes, has_cones = int(first[-1]), int(roots[-1]), int(asking.radius.size > 0)
    grove = Grove(
        box=np.empty((n_nodes, 2, q), np.float32),
        link=np.empty((n_nodes, 2), np.int32),
        points=np.empty((n_leaves, q, LEAF), np.float32),
        slot=np.empty((n_leaves, LEAF), np.int32),
        home=np.empty(n_leaves, np.int32),
        roots=roots,
        first=first,
    )
    radius, slope, score = np.empty((3, n_leaves * has_cones, LEAF))
    cones = Cones(radius, slope, score, np.empty((n_nodes * has_cones, 4)))
    _grow(np.concatenate(parts).astype(np.int64), starts, Z, asking, grove, cones)
    return grove, cones
