"""The order of training examples in which a few of them decide all counts (see `loo_window`)."""

from typing import NamedTuple

import numpy as np

AT_LEAST_APART = 8  # examples of each label that may be set apart, and one in SHARE_APART of the others
SHARE_APART = 64
# in the time that evaluating one score of a window takes:
SEARCH = 4.0  # finding a window
PRODUCT = 0.1  # multiplying one example of a block of all of them
COMPARISON = 0.01  # comparing it with one candidate


class Layout(NamedTuple):
    """Where examples lie that are ordered by label; within it those set apart come first, then all others by ratio."""

    order: np.ndarray  # (n,)
    starts: np.ndarray  # (l + 1,) where each label begins
    sorted_from: np.ndarray  # (l,) where those of a label begin that are ordered by ratio
    leverage: np.ndarray  # (l,) the largest h_i of these
    cost: float  # what a test object like the training objects takes, in the time of evaluating one score


def by_label(codes, n_labels):
    """Order of the examples by label, and where each label begins."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=n_labels))])
    return np.argsort(codes.astype(np.min_scalar_type(n_labels)), kind="stable"), starts


def cost_of_all(n, n_labels):
    """What counting with all examples takes, in the time of evaluating one score of a window."""
    return n * (PRODUCT + COMPARISON * n_labels)


def by_ratio(codes, ratios, leverage, n_labels):
    """Layout of examples with ratios e_i / (1 - h_i) and leverages h_i; None if counting with all takes less."""
    grouped, starts = by_label(codes, n_labels)
    typical = max(0.0, leverage.mean())  # of a test object as well
    ranks = np.array(ratios)
    sorted_from, largest, cost = starts[:-1].copy(), np.zeros(n_labels), SEARCH * n_labels**2
    for label in range(n_labels):
        members = grouped[starts[label] : starts[label + 1]]
        apart, largest[label], evaluations = _set_apart(leverage[members], typical)
        ranks[members[apart]] = -np.inf
        sorted_from[label] += apart.size
        cost += n_labels * evaluations
    if not cost <= cost_of_all(codes.size, n_labels):
        return None
    order = np.argsort(ranks)
    order = order[by_label(codes[order], n_labels)[0]]
    return Layout(order, starts, sorted_from, largest, cost)


def _set_apart(leverage, typical):
    """(Which examples of a label to set apart, the largest leverage of the others, evaluations for one candidate)."""
    n = leverage.size
    most = min(n, AT_LEAST_APART + n // SHARE_APART)
    highest = np.argpartition(-leverage, most - 1)[:most] if most else np.empty(0, np.int64)
    highest = highest[np.argsort(-leverage[highest])]
    next_one = leverage[highest] if most < n else np.append(leverage[highest], 0.0)
    # scores spread over about two units, and a test object moves them by about sqrt(h_i h) / (1 - h_i)
    with np.errstate(divide="ignore"):
        moved = np.sqrt(np.maximum(0.0, next_one) * typical) / np.maximum(0.0, 1.0 - next_one)
    evaluations = np.arange(next_one.size) + n * moved
    best = int(np.argmin(evaluations))
    return highest[:best], next_one[best], float(evaluations[best])
