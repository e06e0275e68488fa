"""The best cut of a node, and the cuts that a test example might make the best one (theory FO.4, FO.6)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactcp._jit import inner
from exactcp.measures.forest.kernels.draws import draw_feature, undo_draws
from exactcp.measures.forest.kernels.items import fill_items, varies
from exactcp.measures.forest.kernels.layout import ABOVE_ALL, BELOW_ALL, enlarged, enlarged_weights

QUICK_MARGIN = 1e-9  # of a quick test that only spares work, relative to the weight of the node


class ScannedCut(NamedTuple):
    """A cut between the codes lo and hi: its worth, the weight on its left, and the sums of squared weights."""

    value: float
    lo: np.int64
    hi: np.int64
    weight: np.int64
    squares_left: np.int64
    squares_right: np.int64


class BestCut(NamedTuple):
    """The best cut of a node: found or not, how many features were drawn, and where it lies."""

    found: bool
    fallback: bool
    candidates: int
    feature: np.int64
    cut: ScannedCut


@inner(inline="always")
def cut_value(squares_left, left, squares_right, right):
    """Phi = SL/L + SR/R, the one expression for the worth of a cut; the integers are exact in float64."""
    return float(squares_left) / float(left) + float(squares_right) / float(right)


@inner
def _total_and_squares(counts):
    """The weight of all labels, and the sum of their squares."""
    total, squares = np.int64(0), np.int64(0)
    for c in range(counts.shape[0]):
        total += counts[c]
        squares += counts[c] * counts[c]
    return total, squares


@inner
def _scan(workspace, n_items, counts, total, squares, best):
    """Return the best cut of the items, or `best` if none beats it, and their highest value."""
    items, left, best_left = workspace.items, workspace.left, workspace.best_left
    n_labels = left.shape[0]
    for c in range(n_labels):
        left[c] = 0
    value, lo, hi, L, SL, SR = best
    weight_left, squares_left, squares_right = np.int64(0), np.int64(0), squares
    highest = -1.0
    for j in range(n_items - 1):
        code, c, m = items[j]["code"], items[j]["label"], items[j]["weight"]
        squares_left += m * (2 * left[c] + m)
        squares_right -= m * (2 * (counts[c] - left[c]) - m)
        left[c] += m
        weight_left += m
        next_code = items[j + 1]["code"]
        if code != next_code:
            here = cut_value(squares_left, weight_left, squares_right, total - weight_left)
            if here > highest:
                highest = here
                if here > value:
                    value, lo, hi = here, code, next_code
                    L, SL, SR = weight_left, squares_left, squares_right
                    for k in range(n_labels):
                        best_left[k] = left[k]
    return ScannedCut(value, lo, hi, L, SL, SR), highest


@inner
def find_cut(examples, star, rows, heap, counts, plan, workspace):
    """Return the best cut of a node's examples: over its candidate features, or else the first one that varies.

    A row of -1 is the test example; heap is the node's number in the tree.
    """
    order, candidates = workspace.order, workspace.candidates
    p = order.shape[0]
    total, squares = _total_and_squares(counts)
    best = ScannedCut(-1.0, np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0))
    feature, drawn, found = np.int64(-1), 0, False
    while drawn < p and (drawn < plan.n_features or not found):
        f = draw_feature(plan.key, heap, drawn, order)
        candidates[drawn]["feature"], candidates[drawn]["highest"] = f, -1.0
        if varies(examples.codes[f], star.codes[f], rows):
            found = True
            n_items = fill_items(examples, f, (star.codes[f], star.label, star.weight), rows, workspace)
            before = best.value
            best, highest = _scan(workspace, n_items, counts, total, squares, best)
            candidates[drawn]["highest"] = highest
            if best.value > before:
                feature = f
        drawn += 1
    undo_draws(plan.key, heap, drawn, order)
    return BestCut(found, found and drawn > plan.n_features, drawn, feature, best)


@inner(inline="always")
def with_left(squares_left, left, own_left, squares_right, right, w):
    """pl: the worth of a cut when the test example, of weight w, joins `own_left` of its label on the left."""
    return cut_value(squares_left + w * (2 * own_left + w), left + w, squares_right, right)


@inner(inline="always")
def with_right(squares_left, left, squares_right, right, own_right, w):
    """pr: the worth of a cut when the test example joins `own_right` of its label on the right."""
    return cut_value(squares_left, left, squares_right + w * (2 * own_right + w), right + w)


@inner
def _least(cut, counts, total, w, workspace):
    """Fill the floor: what the best cut is worth at least with a test example of each label; return the least."""
    SL, L, SR = cut.squares_left, cut.weight, cut.squares_right
    floor = workspace.floor
    least = np.inf
    for y in range(counts.shape[0]):
        own = workspace.best_left[y]
        pl = with_left(SL, L, own, SR, total - L, w)
        pr = with_right(SL, L, SR, total - L, counts[y] - own, w)
        floor[y] = min(pl, pr)
        least = min(least, floor[y])
    return least


@inner
def _can_win(sums, counts, total, w, workspace):
    """Tell whether, for some label of the test example, the cut may be worth what the best one is worth at least."""
    L, SL, SR = sums
    floor = workspace.floor
    for y in range(counts.shape[0]):
        own = workspace.left[y]
        if with_left(SL, L, own, SR, total - L, w) >= floor[y]:
            return True
        if with_right(SL, L, SR, total - L, counts[y] - own, w) >= floor[y]:
            return True
    return False


@inner
def _keep(store, cut, sums, left):
    """Append to the store cut = (feature, lo, hi) with sums = (L, SL, SR) and left by label; return what is used."""
    cuts, left_weights, used = store
    entry = cuts[used]
    entry["feature"], entry["lo"], entry["hi"] = cut
    entry["weight"], entry["squares_left"], entry["squares_right"] = sums
    for c in range(left.shape[0]):
        left_weights[used, c] = left[c]
    return used + 1


@inner
def keep_cuts(examples, rows, counts, best, w, workspace, store):
    """Append to the store = (cuts, left weights, used) every cut that a test example of weight w may make the best one.

    Return the store, and where in it the best cut is. A cut that is left out stays strictly below whatever the best one
    can become (theory FO.6).
    """
    cuts, left_weights, used = store
    total, squares = _total_and_squares(counts)
    least = _least(best.cut, counts, total, w, workspace)
    isolating = float(w) + float(squares) / float(total) >= least
    at_best = used
    unused = (np.int64(0), np.int64(0), np.int64(0))
    zero = np.int64(0)
    items, left = workspace.items, workspace.left
    for k in range(best.candidates):
        f, highest = workspace.candidates[k]["feature"], workspace.candidates[k]["highest"]
        near = highest + w + QUICK_MARGIN * total >= least
        if not (near or isolating):
            continue
        n_items = fill_items(examples, f, unused, rows, workspace)
        needed = used + n_items + 1
        cuts, left_weights = enlarged(cuts, used, needed), enlarged_weights(left_weights, used, needed)
        for c in range(counts.shape[0]):
            left[c] = 0
        if isolating:
            lowest = (f, np.int64(BELOW_ALL), items[0]["code"])
            used = _keep((cuts, left_weights, used), lowest, (zero, zero, squares), left)
        L, SL, SR = zero, zero, squares
        for j in range(n_items - 1 if near else 0):
            lo, c, m = items[j]["code"], items[j]["label"], items[j]["weight"]
            hi = items[j + 1]["code"]
            SL += m * (2 * left[c] + m)
            SR -= m * (2 * (counts[c] - left[c]) - m)
            left[c] += m
            L += m
            if lo == hi or cut_value(SL, L, SR, total - L) + w + QUICK_MARGIN * total < least:
                continue
            if _can_win((L, SL, SR), counts, total, w, workspace):
                if f == best.feature and lo == best.cut.lo:
                    at_best = used
                used = _keep((cuts, left_weights, used), (f, lo, hi), (L, SL, SR), left)
        if isolating:
            highest_cut = (f, items[n_items - 1]["code"], np.int64(ABOVE_ALL))
            used = _keep((cuts, left_weights, used), highest_cut, (total, squares, zero), counts)
    return (cuts, left_weights, used), at_best
