"""Which examples each bootstrap sample holds, and which samples each example votes with (theory FO.1, FO.2)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.stats import nbinom

from exactcp._parameters import integer
from exactcp._seeds import draw_seed
from exactcp.counting.randomness import mix
from exactcp.counting.small import row_keys

SHARE_IN_SAMPLE = 1 - math.exp(-1)  # of the examples that are in a sample
AT_ONCE = 2**18  # elements and samples whose hashes are in memory
_BELOW = np.uint64(int(SHARE_IN_SAMPLE * 2**64))
_LEARNED = np.uint64(1)

N_ESTIMATORS = integer("a number of trees or models", at_least=1)


def seed_of(random_state: Any) -> int:
    """Return the seed that a measure's random_state means: 0 for None, where no predictor has lent its own."""
    return 0 if random_state is None else draw_seed(random_state)


def multinomial_samples(n: int, n_estimators: int, seed: int) -> np.ndarray:
    """Draw bootstrap samples of n elements until each of them is missing from `n_estimators`.

    Parameters
    ----------
    n : int
        With the placeholder of the test example, which is the last one.
    n_estimators : int
    seed : int

    Returns
    -------
    ndarray of int32 of shape (samples, n)
        How often each sample holds each element.
    """
    rng = np.random.default_rng(seed)
    samples, missing = [], np.zeros(n, dtype=np.int64)
    while missing.min() < n_estimators:
        sample = np.bincount(rng.integers(0, n, n), minlength=n).astype(np.int32)
        samples.append(sample)
        missing += sample == 0
    return np.array(samples)


def held_by_bernoulli(keys: np.ndarray, first: int, last: int) -> np.ndarray:
    """Return which of the samples first..last-1 hold the elements with these keys (elements, samples)."""
    numbers = np.arange(first, last, dtype=np.uint64)
    inside = np.empty((keys.size, numbers.size), dtype=bool)
    step = max(1, AT_ONCE // max(1, numbers.size))
    for row in range(0, keys.size, step):
        inside[row : row + step] = mix(keys[row : row + step, None] ^ numbers) < _BELOW
    return inside


def arrival_keys(arrivals: np.ndarray, seed: int) -> np.ndarray:
    """Return the keys of learned examples, which depend on their arrival numbers alone."""
    return mix(mix(np.array([seed], dtype=np.uint64) ^ (_LEARNED << np.uint64(32))) ^ arrivals.astype(np.uint64))


def object_keys(X: np.ndarray, seed: int) -> np.ndarray:
    """Return the keys of test objects, which depend on the object alone: not on the batch it comes in."""
    return np.asarray(row_keys(np.require(X, np.float64, ["C", "W"]), seed))


def bernoulli_samples(keys: np.ndarray, n_estimators: int, at_least: int = 0) -> np.ndarray:
    """Return, for elements with these keys, in which samples they are, until each is missing from `n_estimators`.

    Parameters
    ----------
    keys : ndarray of uint64 of shape (n,)
    n_estimators : int
    at_least : int
        Samples to answer for in any case.

    Returns
    -------
    ndarray of bool of shape (n, samples)
    """
    inside = held_by_bernoulli(keys, 0, max(at_least, 4 * n_estimators))
    while (~inside).sum(axis=1).min(initial=n_estimators) < n_estimators:
        more = held_by_bernoulli(keys, inside.shape[1], inside.shape[1] + 2 * n_estimators)
        inside = np.concatenate([inside, more], axis=1)
    missing = np.cumsum(~inside, axis=1)
    needed = int((missing < n_estimators).sum(axis=1).max(initial=0)) + 1
    return inside[:, : max(needed, at_least)]


def drawn_samples(resampling: str, arrivals: np.ndarray, x: np.ndarray, n_estimators: int, seed: int) -> np.ndarray:
    """Return how often each sample holds each training example and, last, the test object x (samples, n + 1)."""
    if resampling == "multinomial":
        return multinomial_samples(arrivals.size + 1, n_estimators, seed)
    keys = np.concatenate([arrival_keys(arrivals, seed), object_keys(x[None], seed)])
    return bernoulli_samples(keys, n_estimators).T.astype(np.int32)


def voters(samples: np.ndarray, n_estimators: int) -> np.ndarray:
    """Return the first `n_estimators` samples without it, for each element (n, n_estimators).

    Parameters
    ----------
    samples : ndarray of shape (samples, n)
        Not 0 where a sample holds an element.
    n_estimators : int

    Returns
    -------
    ndarray of int64 of shape (n, n_estimators)
    """
    absent = samples == 0
    chosen = absent & (np.cumsum(absent, axis=0, dtype=np.int32) <= n_estimators)
    return np.ascontiguousarray(np.nonzero(chosen.T)[1]).reshape(-1, n_estimators)


def expected_samples(n_estimators: int, n: int) -> float:
    """Return how many bootstrap samples are drawn on average until each element is missing from `n_estimators`.

    Parameters
    ----------
    n_estimators : int
        B of the paper.
    n : int
        Training examples; the test example is one more.

    Returns
    -------
    float
        B' of the paper: the mean of the largest of n + 1 negative binomial waiting times, each for `n_estimators`
        samples without an element, which is missing from a sample with probability (1 - 1/(n + 1))^(n + 1). Waiting
        times are taken as independent, which they nearly are.

    Examples
    --------
    >>> from exactcp.measures.forest._resampling import expected_samples
    >>> round(expected_samples(10, 10_000))
    64
    """
    q = (1 - 1 / (n + 1)) ** (n + 1)
    waiting = nbinom(n_estimators, q)  # samples that hold the element, before the last that does not
    last = int(waiting.isf(1e-15 / (n + 1))) + 1
    held = np.arange(last)
    return float(n_estimators + (1 - waiting.cdf(held) ** (n + 1)).sum())
