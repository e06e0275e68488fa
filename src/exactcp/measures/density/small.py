"""Kernel density for small problems: sums of kernels in the log domain, and counts by them, in NumPy (theory DE).

Each function here does what the kernel of its name does, in the same order of operations, and takes its place while
work is small. Exponentials and logarithms are those of the C library, as in the kernels; NumPy's may differ in the last
bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from exactcp._numpy_first import numpy_first
from exactcp.counting.ties import TOLERANCE, tie_bands
from exactcp.measures.density.kernels import dense, kernel_functions, learning, log_sums
from exactcp.measures.density.kernels.kernel_functions import (
    COSINE,
    EPANECHNIKOV,
    EXPONENTIAL,
    GAUSSIAN,
    LINEAR,
    TOPHAT,
)
from exactcp.measures.density.kernels.learning import DIRECT, LARGEST_ERROR, LAST_PLACE, Sums
from exactcp.measures.density.kernels.log_sums import LOG_FLOOR, TOUCH, WINDOW, SummedExamples, SumsAndCounts


def work_of(m: int, n: int, p: int) -> float:
    """Return about how many elementary operations m test objects take with n examples."""
    return m * n * (3.0 * p + 300.0)


def by_c(function: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    """Apply a function of the C library to each number of an array."""

    def apply(numbers: np.ndarray) -> np.ndarray:
        return np.fromiter(map(function, numbers.ravel().tolist()), np.float64, numbers.size).reshape(numbers.shape)

    return apply


exp, log, cos = by_c(math.exp), by_c(math.log), by_c(math.cos)


def _squared(x: np.ndarray, objects: np.ndarray) -> np.ndarray:
    """Return squared distances, summed in the order of the features."""
    total = np.zeros(objects.shape[0])
    for f in range(objects.shape[1]):
        total += (x[f] - objects[:, f]) ** 2
    return total


@numpy_first(kernel_functions.log_kernels, lambda x, objects, *_: work_of(1, *objects.shape))  # noqa: ARG005
def log_kernels(x: np.ndarray, objects: np.ndarray, bandwidth: float, kernel: int, out: np.ndarray) -> None:
    """Fill out with log K between x and every object."""
    d = np.sqrt(_squared(x, objects))
    u = d / bandwidth
    if kernel == GAUSSIAN:
        out[:] = -0.5 * u * u
    elif kernel == EXPONENTIAL:
        out[:] = -u
    else:
        out[:] = -np.inf
        is_inside = d < bandwidth
        v = u[is_inside]
        if kernel == TOPHAT:
            out[is_inside] = 0.0
        elif kernel == COSINE:
            out[is_inside] = log(cos(0.5 * math.pi * v))
        else:
            out[is_inside] = log(1.0 - (v * v if kernel == EPANECHNIKOV else v))


def _sum_logs(logs: np.ndarray) -> tuple[float, float]:
    """Return (top, total) of exp(logs), added in their order."""
    top = float(logs.max(initial=-np.inf))
    if top == -np.inf:
        return top, 0.0
    return top, float(np.cumsum(exp(logs[logs - top > -WINDOW] - top))[-1])


def _add_terms(top: np.ndarray, total: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (top, total) of sums with exp(k) added."""
    with np.errstate(invalid="ignore"):
        factor = exp(np.where(k == top, 0.0, -np.abs(k - top)))
    is_new = k > top
    grown = np.where(is_new, 1.0 + total * factor, total + factor)
    return np.where(is_new, k, top), np.where(k == -np.inf, total, grown)


def _log_of(top: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Return the log of sums, -inf where they are empty."""
    return np.where(total > 0.0, np.where(total > 0.0, top, 0.0) + log(np.where(total > 0.0, total, 1.0)), -np.inf)


@numpy_first(log_sums.log_sum, lambda logs: 100.0 * logs.size)
def log_sum(logs: np.ndarray) -> float:
    """Return the log of the sum of exp(logs), -inf if it is empty."""
    top, total = _sum_logs(logs)
    return top + math.log(total) if total > 0.0 else -math.inf


@numpy_first(log_sums.alternative_sums, lambda logs, _: 200.0 * logs.size)
def alternative_sums(logs: np.ndarray, examples: SummedExamples) -> np.ndarray:
    """Return log-sums of the training examples of a label after an object at these log kernels has joined them."""
    return _log_of(*_add_terms(examples.top, examples.total, logs))


def _sum_and_count(
    t: int, logs: np.ndarray, examples: SummedExamples, wanted: np.ndarray, scores: np.ndarray, sums: SumsAndCounts
) -> None:
    """Sum the kernels of test object t, and count; at_least and above get minus the ranks lost."""
    sums.top[t], sums.total[t] = top, total = _sum_logs(logs)
    if not examples.log.shape[0]:
        return
    log_size = math.log(examples.size)
    score = scores[t] if scores.size else log_size - (top + math.log(total) if total > 0.0 else -math.inf)
    lo, hi = tie_bands(np.float64(score), LOG_FLOOR, TOLERANCE)
    old = log_size - examples.log
    is_asked = (old >= lo) & (logs - examples.log > -TOUCH)
    if examples.category.size:
        is_asked &= examples.category == (wanted[t] if wanted.size else -1)
    # a kernel only raises a sum and lowers a score
    i = np.flatnonzero(is_asked)
    new = log_size - _log_of(*_add_terms(examples.top[i], examples.total[i], logs[i]))
    sums.at_least[t] = -np.count_nonzero(new < lo)
    sums.above[t] = -np.count_nonzero((old[i] > hi) & (new <= hi))


@numpy_first(log_sums.sum_known, lambda logs, *_: 300.0 * logs.size)
def sum_known(logs: np.ndarray, examples: SummedExamples, sums: SumsAndCounts) -> None:
    """Sum and count for one test object, whose log kernels with all examples are known."""
    with np.errstate(invalid="ignore"):
        _sum_and_count(0, logs, examples, np.empty(0, np.int64), np.empty(0), sums)


@numpy_first(log_sums.sum_all_pairs, lambda X, _, examples, *__: work_of(X.shape[0], *examples.objects.shape))
def sum_all_pairs(
    X: np.ndarray,
    own: np.ndarray,
    examples: SummedExamples,
    wanted: np.ndarray,
    scores: np.ndarray,
    sums: SumsAndCounts,
) -> None:
    """Sum the kernels with all examples, but for the row's own, and count."""
    logs = np.empty(examples.objects.shape[0])
    for t in range(X.shape[0]):
        log_kernels(X[t], examples.objects, examples.bandwidth, examples.kernel, logs)
        if own[t] >= 0:
            logs[own[t]] = -np.inf
        with np.errstate(invalid="ignore"):
            _sum_and_count(t, logs, examples, wanted, scores, sums)


@numpy_first(kernel_functions.squared_block, lambda X, objects, _: 3.0 * X.size * objects.shape[0])
def squared_block(X: np.ndarray, objects: np.ndarray, out: np.ndarray) -> None:
    """Fill out with the squared distances between the rows of X and the objects."""
    for t in range(X.shape[0]):
        out[t] = _squared(X[t], objects)


@numpy_first(dense.count_block, lambda kernels, *_: 5.0 * kernels.size)
def count_block(
    kernels: np.ndarray,
    sums: np.ndarray,
    category: np.ndarray,
    wanted: np.ndarray,
    at_most: np.ndarray,
    below: np.ndarray,
    at_least: np.ndarray,
    above: np.ndarray,
) -> None:
    """Count S_i + K <= at_most and S_i + K < below, of the wanted categories if there are some."""
    values = sums + kernels
    among: Any = category == wanted[:, None] if category.size else True
    at_least[:] = ((values <= at_most[:, None]) & among).sum(axis=1)
    above[:] = ((values < below[:, None]) & among).sum(axis=1)


@numpy_first(learning.learn_logs, lambda logs, *_: 300.0 * logs.size)
def learn_logs(logs: np.ndarray, old: Sums, new: Sums) -> None:
    """Add the example of slot n = len(logs), which has these log kernels with slots 0..n-1."""
    n, is_one = logs.size, logs > -np.inf
    k = logs[is_one]
    top, total, error = old.top[is_one], old.total[is_one], old.error[is_one]
    is_new = k > top
    error[is_new] *= exp(top[is_new] - k[is_new])
    top, total = _add_terms(top, total, k)
    for whole, before in zip(new, old, strict=True):
        whole[:n] = before
    new.top[:n][is_one], new.total[:n][is_one] = top, total
    new.error[:n][is_one] = error + (LAST_PLACE * total + DIRECT * exp(k - top))
    new.top[n], new.total[n] = _sum_logs(logs)
    new.error[n] = DIRECT * new.total[n]


@numpy_first(learning.unlearn_logs, lambda logs, *_: 300.0 * logs.size)
def unlearn_logs(logs: np.ndarray, slot: int, old: Sums, new: Sums) -> np.ndarray:
    """Take the example of a slot out of the others' sums; the last one moves there. Return the sums to make anew."""
    j = np.arange(logs.size - 1)
    j[slot : slot + 1] = logs.size - 1
    top, total, error = old.top[j], old.total[j], old.error[j]
    is_one = logs[j] > -np.inf
    term = np.zeros(j.size)
    term[is_one] = exp(logs[j][is_one] - top[is_one])
    is_taken = term > 0.0
    error = np.where(is_taken, error + (LAST_PLACE * total + DIRECT * term), error)
    rest = total - term
    is_fine = (2.0 * term < total) & (error <= LARGEST_ERROR * rest)
    new.top[:], new.total[:], new.error[:] = top, np.where(is_taken & is_fine, rest, total), error
    return np.flatnonzero(is_taken & ~is_fine)


def kernel_block(X: np.ndarray, objects: np.ndarray, bandwidth: float, kernel: int, out: np.ndarray) -> None:
    """Fill out with K between the rows of X and the objects: the exponential of `log_kernel`, block by block."""
    squared_block(X, objects, out)
    np.sqrt(out, out=out)
    inside = None if kernel in (GAUSSIAN, EXPONENTIAL) else out < bandwidth
    out /= bandwidth
    if kernel == GAUSSIAN:
        out *= out
        out *= -0.5
        np.exp(out, out=out)
    elif kernel == EXPONENTIAL:
        np.negative(out, out=out)
        np.exp(out, out=out)
    elif kernel == TOPHAT:
        out[:] = inside
    elif kernel == EPANECHNIKOV:
        out *= out
        np.subtract(1.0, out, out=out)
    elif kernel == LINEAR:
        np.subtract(1.0, out, out=out)
    else:
        out *= 0.5 * math.pi
        np.cos(out, out=out)
    if inside is not None:
        out *= inside


def sum_block(
    kernels: np.ndarray, sums: np.ndarray, examples: SummedExamples, wanted: np.ndarray, known: np.ndarray
) -> SumsAndCounts:
    """Sum a block (m, n) of kernels over examples of a label, and count for the candidates, given linear sums.

    They are compared with the wanted categories (m,) of the examples' (n,), or with all where there are none. Their
    own sums over all of the label are known (m,), or (0,) those of the block.
    """
    m, category = kernels.shape[0], examples.category
    totals = kernels.sum(axis=1)
    at_least, above = np.zeros(m, np.int64), np.zeros(m, np.int64)
    if sums.shape[0]:
        whole = known if known.shape[0] else totals
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = np.log(examples.size) - np.log(whole)
            lo, hi = tie_bands(scores, LOG_FLOOR, TOLERANCE)
            at_most, below = (whole * np.exp(np.where(whole > 0, scores - edge, 0.0)) for edge in (lo, hi))
        count_block(kernels, sums, category, wanted, at_most, below, at_least, above)
    return SumsAndCounts(np.where(totals > 0, 0.0, -np.inf), totals, at_least, above)
