"""The best cut of a node, and the cuts that a test example might make the best one (theory FO.4, FO.6)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.measures.forest.kernels.draws import draw_feature, undo_draws
from exactcp.measures.forest.kernels.items import CODE, OF_LABEL, OF_WEIGHT, fill_items, varies
from exactcp.measures.forest.kernels.layout import (
    ABOVE_ALL,
    BELOW_ALL,
    CUT,
    HI,
    LO,
    OWN,
    SQUARES_LEFT,
    SQUARES_RIGHT,
    WEIGHT,
    with_room,
)

HERE, AT_BEST = 0, 1  # rows of the desk's `left`
SLACK = 1e-9  # of a quick test that only spares work, relative to the weight of the node


class Best(NamedTuple):
    """The best cut of a node: found or not, how many features were drawn, and where it lies."""

    found: bool
    fallback: bool
    candidates: int
    feature: np.int64
    lo: np.int64
    hi: np.int64
    weight: np.int64
    squares_left: np.int64
    squares_right: np.int64


@compiled(nogil=False, inline="always", error_model="numpy")
def cut_value(squares_left, left, squares_right, right):
    """Phi = SL/L + SR/R, the one expression for the worth of a cut; the integers are exact in float64."""
    return float(squares_left) / float(left) + float(squares_right) / float(right)


@inner
def _scan(desk, items, counts, total, squares, best):
    """Return the best cut of the items as (value, lo, hi, L, SL, SR) if it beats `best`, and their highest value."""
    code, label, weight = desk.items[CODE], desk.items[OF_LABEL], desk.items[OF_WEIGHT]
    left, best_left = desk.left[HERE], desk.left[AT_BEST]
    n_labels = left.shape[0]
    for c in range(n_labels):
        left[c] = 0
    value, lo, hi, L, SL, SR = best
    weight_left, squares_left, squares_right = np.int64(0), np.int64(0), squares
    highest = -1.0
    for j in range(items - 1):
        c, m = label[j], weight[j]
        squares_left += m * (2 * left[c] + m)
        squares_right -= m * (2 * (counts[c] - left[c]) - m)
        left[c] += m
        weight_left += m
        if code[j] != code[j + 1]:
            here = cut_value(squares_left, weight_left, squares_right, total - weight_left)
            if here > highest:
                highest = here
                if here > value:
                    value, lo, hi = here, code[j], code[j + 1]
                    L, SL, SR = weight_left, squares_left, squares_right
                    for k in range(n_labels):
                        best_left[k] = left[k]
    return (value, lo, hi, L, SL, SR), highest


@inner
def find_cut(examples, z_codes, z, rows, place, counts, n_features, desk):
    """Return the best cut of a node's examples: over its candidate features, or else the first one that varies.

    z_codes, z = (label, weight) are the test example's, where a row is -1; place = (tree key, heap number).
    """
    key, heap = place
    order, candidates = desk.features[0], desk.features[1]
    p = order.shape[0]
    total, squares = np.int64(0), np.int64(0)
    for c in range(counts.shape[0]):
        total += counts[c]
        squares += counts[c] * counts[c]
    best = (-1.0, np.int64(0), np.int64(0), np.int64(0), np.int64(0), np.int64(0))
    feature, drawn, found = np.int64(-1), 0, False
    while drawn < p and (drawn < n_features or not found):
        f = draw_feature(key, heap, drawn, order)
        candidates[drawn] = f
        desk.highest[drawn] = -1.0
        if varies(examples.codes[f], z_codes[f], rows):
            found = True
            items = fill_items(examples, f, (z_codes[f], z[0], z[1]), rows, desk)
            before = best[0]
            best, highest = _scan(desk, items, counts, total, squares, best)
            desk.highest[drawn] = highest
            if best[0] > before:
                feature = f
        drawn += 1
    undo_draws(key, heap, drawn, order)
    _, lo, hi, L, SL, SR = best
    return Best(found, found and drawn > n_features, drawn, feature, lo, hi, L, SL, SR)


@compiled(nogil=False, inline="always", error_model="numpy")
def with_left(squares_left, left, own_left, squares_right, right, w):
    """pl: the worth of a cut when the test example, of weight w, joins `own_left` of its label on the left."""
    return cut_value(squares_left + w * (2 * own_left + w), left + w, squares_right, right)


@compiled(nogil=False, inline="always", error_model="numpy")
def with_right(squares_left, left, squares_right, right, own_right, w):
    """pr: the worth of a cut when the test example joins `own_right` of its label on the right."""
    return cut_value(squares_left, left, squares_right + w * (2 * own_right + w), right + w)


@inner
def _least(best, counts, total, w, desk):
    """Fill the floor: what the best cut is worth at least with a test example of each label; return the least."""
    SL, L, SR = best.squares_left, best.weight, best.squares_right
    least = np.inf
    for y in range(counts.shape[0]):
        own = desk.left[AT_BEST, y]
        pl = with_left(SL, L, own, SR, total - L, w)
        pr = with_right(SL, L, SR, total - L, counts[y] - own, w)
        desk.floor[y] = min(pl, pr)
        least = min(least, desk.floor[y])
    return least


@inner
def _can_win(sums, counts, total, w, desk):
    """Tell whether, for some label of the test example, the cut may reach what the best one is worth at least."""
    L, SL, SR = sums
    for y in range(counts.shape[0]):
        own = desk.left[HERE, y]
        if with_left(SL, L, own, SR, total - L, w) >= desk.floor[y]:
            return True
        if with_right(SL, L, SR, total - L, counts[y] - own, w) >= desk.floor[y]:
            return True
    return False


@inner
def _keep(kept, used, cut, sums, left):
    """Write one entry, cut = (feature, lo, hi), sums = (L, SL, SR), left by label, and return the next free place."""
    kept[used, CUT], kept[used, LO], kept[used, HI] = cut
    kept[used, WEIGHT], kept[used, SQUARES_LEFT], kept[used, SQUARES_RIGHT] = sums
    for c in range(left.shape[0]):
        kept[used, OWN + c] = left[c]
    return used + 1


@inner
def keep_cuts(examples, rows, counts, best, w, desk, store):
    """Append to the store = (kept, used) every cut that a test example of weight w may make the best one.

    Return kept, used and the place of the best cut. A cut that is left out stays strictly below whatever the best one
    can become (theory FO.6).
    """
    kept, used = store
    total, squares = np.int64(0), np.int64(0)
    for c in range(counts.shape[0]):
        total += counts[c]
        squares += counts[c] * counts[c]
    least = _least(best, counts, total, w, desk)
    isolating = float(w) + float(squares) / float(total) >= least
    at_best = used
    unused = (np.int64(0), np.int64(0), np.int64(0))
    zero = np.int64(0)
    code, label, weight, left = desk.items[CODE], desk.items[OF_LABEL], desk.items[OF_WEIGHT], desk.left[HERE]
    for candidate in range(best.candidates):
        f = desk.features[1, candidate]
        near = desk.highest[candidate] + w + SLACK * total >= least
        if not (near or isolating):
            continue
        items = fill_items(examples, f, unused, rows, desk)
        kept = with_room(kept, used, used + items + 1)
        for c in range(counts.shape[0]):
            left[c] = 0
        if isolating:
            used = _keep(kept, used, (f, np.int64(BELOW_ALL), code[0]), (zero, zero, squares), left)
        L, SL, SR = zero, zero, squares
        for j in range(items - 1 if near else 0):
            c, m = label[j], weight[j]
            SL += m * (2 * left[c] + m)
            SR -= m * (2 * (counts[c] - left[c]) - m)
            left[c] += m
            L += m
            if code[j] == code[j + 1] or cut_value(SL, L, SR, total - L) + w + SLACK * total < least:
                continue
            if _can_win((L, SL, SR), counts, total, w, desk):
                if f == best.feature and code[j] == best.lo:
                    at_best = used
                used = _keep(kept, used, (f, code[j], code[j + 1]), (L, SL, SR), left)
        if isolating:
            used = _keep(kept, used, (f, code[items - 1], np.int64(ABOVE_ALL)), (total, squares, zero), counts)
    return kept, used, at_best
