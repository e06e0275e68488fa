"""Counting with only those leave-one-out scores that a test object can move across a threshold (theory LS.10).

`leave_one_out` has the scores. With the ratio r_i = e_i / b_i, which is the score plus 1 without the test object,

    alpha_i(t) + 1 >= theta  <=>  r_i - theta >= g_i (w + theta g_i) / (d b_i),    w = t - F,

and |g_i| <= s = sqrt(h_i (d - 1)) by Cauchy and Schwarz. So an example whose ratio is further from theta than

    s (|w| + |theta| s) / (d b_i),

lies on the side of theta where it was. Examples of a label are ordered by ratio: for each threshold a binary search
finds the window of those that are nearer to its tie band, and only they (and the few of high leverage, set apart) are
multiplied with the test object and scored. So the window decides how long counting takes, never its result. Where
examples have categories, each label has windows in each of them: a group is a label within a category.
"""

import math
from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.counting.labels import count_below
from exactcp.measures.least_squares.kernels.leave_one_out import divided_score

WINDOW_ROUNDING = 2.0**-46  # 128 unit roundoffs: more than a score, its ratio and its threshold lose together
WORTH_BLAS = 512  # numbers in a window's rows from which calling BLAS pays
RELATIVE, ABSOLUTE = 1e-6, 1e-9  # more than what h_i and d - 1 lose in a well-conditioned factorisation


class Windowed(NamedTuple):
    """Training examples by group; within it those set apart come first, then all others by ascending ratio."""

    rows: np.ndarray  # (n, q) g is their product with the test objects' rows
    e: np.ndarray  # (n,)
    b: np.ndarray  # (n,)
    ratios: np.ndarray  # (n,)
    starts: np.ndarray  # (categories l + 1,)
    sorted_from: np.ndarray  # (categories l,)
    leverage: np.ndarray  # (categories l,) the largest 1 - b_i of those ordered by ratio
    most: np.ndarray  # (categories,) evaluated scores up to which windows are worth it


@inner
def _group(category, label, n_labels, examples):
    """Return the group of a label's examples in a category; -1 if no example has this."""
    return category * n_labels + label if 0 <= category < examples.most.shape[0] else -1


@inner
def _same_category(wanted, c):
    """Return where the candidates from c on that have its category end."""
    stop = c + 1
    while stop < wanted.shape[0] and wanted[stop] == wanted[c]:
        stop += 1
    return stop


@inner
def _find(t, label, group, some, examples, candidates, first, last):
    """Write the windows [first, last) of a group's examples for some thresholds; return how many scores they want."""
    d, F, lo, hi = candidates.d[t], candidates.F[t], candidates.bands.lo[t], candidates.bands.hi[t]
    begin, end = examples.sorted_from[group], examples.starts[group + 1]
    h = (1.0 + RELATIVE) * examples.leverage[group] + ABSOLUTE
    s = math.sqrt(h * ((1.0 + RELATIVE) * (d - 1.0) + ABSOLUTE))
    steepness = s / (d * (1.0 - h))
    evaluated = float((begin - examples.starts[group]) * (some[1] - some[0]))
    for c in range(some[0], some[1]):
        theta = 1.0 + max(abs(lo[c]), abs(hi[c]))
        width = steepness * (abs(_gap(label, c, F)) + theta * s) + WINDOW_ROUNDING * theta
        if not 0.0 <= width < math.inf:
            return math.inf
        first[c] = begin + count_below(examples.ratios[begin:end], lo[c] + 1.0 - width, False)
        last[c] = first[c] + count_below(examples.ratios[first[c] : end], hi[c] + 1.0 + width, True)
        evaluated += last[c] - first[c]
    return evaluated


@inner
def _gap(label, c, F):
    """Return t - F in the regression of a label, if the test object has label c."""
    return (1.0 if c == label else -1.0) - F[label]


@inner
def _multiply(rows, u, g):
    """Write the products of rows with u; by itself, since who calls BLAS is not compiled into its caller."""
    np.dot(rows, u, g)


@inner
def _row_product(row, u):
    """phi_i' u."""
    total = 0.0
    for k in range(u.shape[0]):
        total += row[k] * u[k]
    return total


@inner
def _evaluate(rows, e, b, u, d, gap, lo, hi, work):
    """(#{>= threshold}, #{> threshold}) of some examples, by their divided scores."""
    at_least, above = 0, 0
    if rows.size >= WORTH_BLAS:
        _multiply(rows, u, work[: e.shape[0]])
    else:
        for i in range(e.shape[0]):
            work[i] = _row_product(rows[i], u)
    for i in range(e.shape[0]):
        score = divided_score(work[i], e[i], b[i], d, gap)
        at_least += score >= lo
        above += score > hi
    return at_least, above


@inner
def _count_in_windows(t, label, group, some, examples, candidates, first, last, u, work):
    """Count a group's examples, whose windows are known, for some candidates of test object t."""
    d, F, lo, hi = candidates.d[t], candidates.F[t], candidates.bands.lo[t], candidates.bands.hi[t]
    at_least, above = candidates.tally.at_least[t], candidates.tally.above[t]
    rows, e, b = examples.rows, examples.e, examples.b
    start, begin, end = examples.starts[group], examples.sorted_from[group], examples.starts[group + 1]
    for c in range(some[0], some[1]):
        alternative, gap = 0 if c == label else 1, _gap(label, c, F)
        at_least[alternative, c] += end - last[c]
        above[alternative, c] += end - last[c]
        for i, j in ((start, begin), (first[c], last[c])):
            if i < j:
                found = _evaluate(rows[i:j], e[i:j], b[i:j], u, d, gap, lo[c], hi[c], work)
                at_least[alternative, c] += found[0]
                above[alternative, c] += found[1]


@inner
def _most_of(wanted, most):
    """How many scores a test object may want whose candidates are of these categories."""
    total = 0.0
    for k in range(wanted.shape[0]):
        if 0 <= wanted[k] < most.shape[0]:
            total += most[wanted[k]] / wanted.shape[0]
    return total


@compiled
def count_windows(examples, U, candidates, wanted):
    """Count for the test objects whose windows are worth it, d >= 1; tell which these are (m,).

    `wanted` (m, l) has the categories whose examples the candidates are compared with; some may be of no example.
    """
    m, n_labels = candidates.F.shape
    first = np.empty((m, n_labels, n_labels), np.int64)
    last, evaluated = np.empty_like(first), np.zeros(m)
    work, is_counted = np.empty(examples.e.shape[0]), np.empty(m, np.bool_)
    # label by label, whose examples then stay in the cache
    for label in range(n_labels):
        for t in range(m):
            c = 0
            while c < n_labels:
                stop, group = _same_category(wanted[t], c), _group(wanted[t, c], label, n_labels, examples)
                if group >= 0:
                    evaluated[t] += _find(
                        t, label, group, (c, stop), examples, candidates, first[t, label], last[t, label]
                    )
                c = stop
    for t in range(m):
        is_counted[t] = evaluated[t] < math.inf and evaluated[t] <= _most_of(wanted[t], examples.most)
    for label in range(n_labels):
        for t in range(m):
            c = 0
            while is_counted[t] and c < n_labels:
                stop, group = _same_category(wanted[t], c), _group(wanted[t, c], label, n_labels, examples)
                if group >= 0:
                    _count_in_windows(
                        t, label, group, (c, stop), examples, candidates, first[t, label], last[t, label], U[t], work
                    )
                c = stop
    return is_counted
