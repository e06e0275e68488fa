"""The ends of CV+ intervals: the k-th largest of sorted lists, one for each fold, that a test object moves and scales.

The ends of fold f are edge_f + R_i scale_f over its residuals R_i, which are sorted once: all n of them need not be
looked at, and not be kept for every test object.
"""

import numpy as np

from exactcp._jit import compiled, inner


@inner
def _bound(ascending, first, last, edge, scale, value, inclusive):
    """Return the first position in [first, last) whose end is greater than a value, or equal to it if inclusive."""
    while first < last:
        middle = (first + last) // 2
        end = edge + ascending[middle] * scale
        if end > value or (inclusive and end == value):
            last = middle
        else:
            first = middle + 1
    return first


@inner
def _kth_largest(ascending, starts, edges, scales, k, first, last, beyond, reaching):
    """Return the k-th largest end: the middle of the longest list that is left cuts all lists in two."""
    folds = edges.shape[0]
    for f in range(folds):
        first[f], last[f] = starts[f], starts[f + 1]
    while True:
        longest = 0
        for f in range(folds):
            if last[f] - first[f] > last[longest] - first[longest]:
                longest = f
        pivot = edges[longest] + ascending[(first[longest] + last[longest]) // 2] * scales[longest]
        greater = at_least = 0
        for f in range(folds):
            beyond[f] = _bound(ascending, first[f], last[f], edges[f], scales[f], pivot, False)
            reaching[f] = _bound(ascending, first[f], beyond[f], edges[f], scales[f], pivot, True)
            greater += last[f] - beyond[f]
            at_least += last[f] - reaching[f]
        if greater < k <= at_least:
            return pivot
        if greater >= k:
            for f in range(folds):
                first[f] = beyond[f]
        else:
            k -= at_least
            for f in range(folds):
                last[f] = reaching[f]


@compiled
def kth_largest(ascending, starts, edges, scales, k):
    """Return the k-th largest of edges[t, f] + ascending[i] * scales[t, f], i in [starts[f], starts[f + 1]), (m,)."""
    m, folds = edges.shape
    out = np.empty(m)
    work = np.empty((4, folds), np.int64)
    for t in range(m):
        out[t] = _kth_largest(ascending, starts, edges[t], scales[t], k, work[0], work[1], work[2], work[3])
    return out
