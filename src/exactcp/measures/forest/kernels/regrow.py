"""Grow a branch again with the test example in it, only as far as the users in question need it (theory FO.12)."""

from __future__ import annotations

import numpy as np

from exactcp._jit import inner
from exactcp.measures.forest.kernels.cuts import find_cut
from exactcp.measures.forest.kernels.grow import is_pure, majority, midpoint, part, value_of
from exactcp.measures.forest.kernels.layout import TIMES, VOTED, WHO


@inner
def _value_with(examples, f, code, x, u):
    """The value of a code of a feature, which may be the test object's own."""
    return x[f] if code == u[f] else value_of(examples, f, code)


@inner
def _part_rows(codes_f, u_f, lo, rows, spare):
    """Put the rows whose code is at most lo first, in order, and return how many; row -1 has the code u_f."""
    kept, moved = 0, 0
    for j in range(rows.shape[0]):
        row, times = rows[j, WHO], rows[j, TIMES]
        if (u_f if row < 0 else np.int64(codes_f[row])) <= lo:
            rows[kept, WHO], rows[kept, TIMES] = row, times
            kept += 1
        else:
            spare[moved, WHO], spare[moved, TIMES] = row, times
            moved += 1
    for j in range(moved):
        rows[kept + j, WHO], rows[kept + j, TIMES] = spare[j, WHO], spare[j, TIMES]
    return kept


@inner
def regrow(examples, test, rows, users, forced, plan, desk):
    """Give each user the label that the branch gives it when grown with the test example in it.

    test = (values, codes, label, weight); in `rows`, -1 is the test example; `users` are put in the order of leaves;
    forced = (feature, lo, hi) makes the first cut where feature is not -1; plan = (tree key, heap number, depth,
    max_depth, n_features).
    """
    x, u, z_label, z_weight = test
    key, root_heap, root_depth, max_depth, n_features = plan
    counts = np.empty(desk.left.shape[1], np.int64)
    spare_rows, spare_users = np.empty_like(rows), np.empty_like(users)
    deepest = min(max_depth - root_depth, rows.shape[0])
    stack = np.empty((deepest + 2, 6), np.int64)  # rows from, to, users from, to, heap number, depth
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = 0, rows.shape[0], 0, users.shape[0]
    stack[0, 4], stack[0, 5] = root_heap, root_depth
    waiting = 1
    while waiting > 0:
        waiting -= 1
        first, last, user, users_end = stack[waiting, 0], stack[waiting, 1], stack[waiting, 2], stack[waiting, 3]
        heap, depth = stack[waiting, 4], stack[waiting, 5]
        my_rows, my_users = rows[first:last], users[user:users_end]
        for c in range(counts.shape[0]):
            counts[c] = 0
        for j in range(my_rows.shape[0]):
            counts[z_label if my_rows[j, WHO] < 0 else examples.labels[my_rows[j, WHO]]] += my_rows[j, TIMES]
        f, lo, hi = np.int64(-1), np.int64(0), np.int64(0)
        if depth < max_depth and not is_pure(counts):
            f, lo, hi = forced
            if depth > root_depth or f < 0:
                best = find_cut(examples, u, (z_label, z_weight), my_rows, (key, heap), counts, n_features, desk)
                f, lo, hi = best.feature, best.lo, best.hi
        if f < 0:
            label = majority(counts)
            for j in range(my_users.shape[0]):
                my_users[j, VOTED] = label
            continue
        t = midpoint(_value_with(examples, f, lo, x, u), _value_with(examples, f, hi, x, u))
        cut = first + _part_rows(examples.codes[f], u[f], lo, my_rows, spare_rows)
        parting = user + part(examples, f, t, my_users, spare_users)
        for side in range(2):
            users_from = user if side == 0 else parting
            users_to = parting if side == 0 else users_end
            if users_to > users_from:
                stack[waiting, 0], stack[waiting, 1] = first if side == 0 else cut, cut if side == 0 else last
                stack[waiting, 2], stack[waiting, 3] = users_from, users_to
                stack[waiting, 4], stack[waiting, 5] = 2 * heap + side, depth + 1
                waiting += 1
