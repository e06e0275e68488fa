"""Sums of kernels in the log domain, and the counts that follow from them (theory DE.2, DE.3).

A sum is kept as (top, total), meaning exp(top) * total: top is a log kernel near the largest one, so that total neither
overflows nor vanishes where every kernel underflows. An empty sum is (-inf, 0).
"""

import math
from typing import NamedTuple

import numpy as np

from exactcp._jit import compiled, inner
from exactcp.counting.ties import TOLERANCE, tie_band
from exactcp.measures.density.kernels.kernel_functions import log_kernels

LOG_FLOOR = 1.0  # s0 of the tie rule for log scores
WINDOW = 60.0  # terms below exp(-60) of the largest add less than 1e-17 even if there are 1e9 of them
EVERYONE = np.empty(0, np.int64)  # categories, where there are none
TOUCH = 37.0  # a term below exp(-37) of a sum is less than half a unit in its last place


class SummedExamples(NamedTuple):
    """The examples of one label and the sums of their kernels with each other, by slot."""

    objects: np.ndarray  # (n, p)
    bandwidth: float
    kernel: int
    top: np.ndarray  # (n,), or nothing where nothing is to be counted
    total: np.ndarray
    log: np.ndarray  # top + log(total)
    size: int  # of the label, of whose examples these may be some
    category: np.ndarray = EVERYONE  # (n,), or nothing where all are counted


class SumsAndCounts(NamedTuple):
    """Of test objects: the kernels summed over the examples of one label, and the counts that follow."""

    top: np.ndarray  # (m,) the sum of kernels
    total: np.ndarray
    at_least: np.ndarray  # (m,) training scores >= the candidate's, given that it has this label
    above: np.ndarray  # (m,) training scores > the candidate's


def empty_sums(m):
    """Return what m test objects have where there is no example."""
    return SumsAndCounts(np.full(m, -np.inf), np.zeros(m), np.zeros(m, np.int64), np.zeros(m, np.int64))


@inner
def sum_logs(logs):
    """(top, total) of exp(logs), added in their order."""
    top = -np.inf
    for k in logs:
        top = max(top, k)
    total = 0.0
    if top > -np.inf:
        for k in logs:
            if k - top > -WINDOW:
                total += math.exp(k - top)
    return top, total


@inner
def add_term(top, total, k):
    """(top, total) with exp(k) added."""
    if k > top:
        return k, 1.0 + total * math.exp(top - k)
    if k == -np.inf:
        return top, total
    return top, total + math.exp(k - top)


@inner
def log_of(top, total):
    """Log of a sum, -inf if it is empty."""
    return top + math.log(total) if total > 0.0 else -np.inf


@inner
def lose_ranks(logs, slots, examples, score, wanted):
    """How many scores fall from >= (from >) the candidate's when each example's sum gets its kernel with the candidate.

    Only those of the wanted category count, if there are categories. A kernel only raises a sum and lowers a score, so
    one that is lower already needs no exp.
    """
    top, total, log, category = examples.top, examples.total, examples.log, examples.category
    everyone = category.shape[0] == 0
    log_size = math.log(examples.size)
    lo, hi = tie_band(score, LOG_FLOOR, TOLERANCE)
    fewer_at_least, fewer_above = 0, 0
    for r in range(logs.shape[0]):
        i, k = slots[r], logs[r]
        old = log_size - log[i]
        if old >= lo and k - log[i] > -TOUCH and (everyone or category[i] == wanted):
            # theory DE.1: density of i = (1/N) (sum_{j != i} K + K(x_i - x)) if the candidate has i's label
            new_top, new_total = add_term(top[i], total[i], k)
            new = log_size - log_of(new_top, new_total)
            fewer_at_least += new < lo
            fewer_above += old > hi and new <= hi
    return fewer_at_least, fewer_above


@compiled
def log_sum(logs):
    """Log of the sum of exp(logs), -inf if it is empty."""
    top, total = sum_logs(logs)
    return log_of(top, total)


@inner
def sum_and_count(t, logs, slots, examples, wanted, scores, sums):
    """Sum the kernels of test object t with some slots, and count; at_least and above get minus the ranks lost.

    wanted[t] is the category it is compared with; there are none (0,) where it is compared with all. scores[t] is its
    score where these examples are not all of the label's; otherwise (0,) it follows from the sum.
    """
    top, total = sum_logs(logs)
    sums.top[t], sums.total[t] = top, total
    if examples.log.shape[0] > 0:
        category = wanted[t] if wanted.shape[0] > 0 else -1
        score = scores[t] if scores.shape[0] > 0 else math.log(examples.size) - log_of(top, total)
        fewer_at_least, fewer_above = lose_ranks(logs, slots, examples, score, category)
        sums.at_least[t], sums.above[t] = -fewer_at_least, -fewer_above


@compiled
def sum_known(logs, examples, sums):
    """Sum and count for one test object, whose log kernels with all examples are known."""
    sum_and_count(0, logs, np.arange(logs.shape[0]), examples, np.empty(0, np.int64), np.empty(0), sums)


@compiled
def sum_all_pairs(X, own, examples, wanted, scores, sums):
    """Sum the kernels with all examples, by direct differences, and count; at_least and above get minus the ranks lost.

    own[t] is the slot of X[t] itself among the examples, which its sum leaves out, or -1.
    """
    objects, bandwidth, kernel = examples.objects, examples.bandwidth, examples.kernel
    n = objects.shape[0]
    logs, slots = np.empty(n), np.arange(n)
    for t in range(X.shape[0]):
        log_kernels(X[t], objects, bandwidth, kernel, logs)
        if own[t] >= 0:
            logs[own[t]] = -np.inf
        sum_and_count(t, logs, slots, examples, wanted, scores, sums)


@compiled
def alternative_sums(logs, examples):
    """Log-sums of the training examples of a label after an object at these log kernels has joined them."""
    n = logs.shape[0]
    out = np.empty(n)
    for i in range(n):
        top, total = add_term(examples.top[i], examples.total[i], logs[i])
        out[i] = log_of(top, total)
    return out
