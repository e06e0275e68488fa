"""Grow a branch again with the test example in it, only as far as the users in question need it (theory FO.12)."""

from __future__ import annotations

import numpy as np

from exactcp._jit import inner
from exactcp.measures.forest.kernels.cuts import find_cut
from exactcp.measures.forest.kernels.grow import fill_weights, is_pure, midpoint, part, value_of

WAITING = np.dtype(
    [(name, np.int64) for name in ("rows", "rows_end", "users", "users_end", "heap", "depth")], align=True
)


@inner
def _value_with(examples, f, code, star):
    """The value of a code of a feature, which may be the test object's own."""
    return star.values[f] if code == star.codes[f] else value_of(examples, f, code)


@inner
def regrow(examples, star, rows, users, plan, workspace):
    """Give each user the label that the branch gives it when grown with the test example in it.

    In `rows`, -1 is the test example; `users` are put in the order of leaves.
    """
    weights = np.empty(workspace.left.shape[0], np.int64)
    spare_rows, spare_users = np.empty_like(rows), np.empty_like(users)
    stack = np.empty(min(plan.max_depth - plan.depth, rows.shape[0]) + 2, WAITING)
    root = stack[0]
    root["rows"], root["rows_end"], root["users"], root["users_end"] = 0, rows.shape[0], 0, users.shape[0]
    root["heap"], root["depth"] = plan.heap, plan.depth
    waiting = 1
    while waiting > 0:
        waiting -= 1
        node = stack[waiting]
        first, last, user, users_end = node["rows"], node["rows_end"], node["users"], node["users_end"]
        heap, depth = node["heap"], node["depth"]
        my_rows, my_users = rows[first:last], users[user:users_end]
        fill_weights(weights, my_rows, examples.labels, star.label)
        f, lo, hi = np.int64(-1), np.int64(0), np.int64(0)
        if depth < plan.max_depth and not is_pure(weights):
            f, lo, hi = plan.first_cut
            if depth > plan.depth or f < 0:
                best = find_cut(examples, star, my_rows, heap, weights, plan, workspace)
                f, lo, hi = best.feature, best.cut.lo, best.cut.hi
        if f < 0:
            label = np.argmax(weights)
            for j in range(my_users.shape[0]):
                my_users[j]["vote"] = label
            continue
        threshold = midpoint(_value_with(examples, f, lo, star), _value_with(examples, f, hi, star))
        cut = first + part(examples, star, f, threshold, my_rows, spare_rows)
        parting = user + part(examples, star, f, threshold, my_users, spare_users)
        for side in range(2):
            users_from = user if side == 0 else parting
            users_to = parting if side == 0 else users_end
            if users_to > users_from:
                child = stack[waiting]
                child["rows"], child["rows_end"] = first if side == 0 else cut, cut if side == 0 else last
                child["users"], child["users_end"] = users_from, users_to
                child["heap"], child["depth"] = 2 * heap + side, depth + 1
                waiting += 1
