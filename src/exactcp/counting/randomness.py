"""Randomness that depends on what is drawn for alone, an object or a step, never on a sequence of draws: splitmix64."""

from __future__ import annotations

import numpy as np

from exactcp._jit import compiled, inner

STEP, FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)
_MINUS_ZERO, _32, _11 = np.uint64(1 << 63), np.uint64(32), np.uint64(11)
TEST_COLUMN, TAU_OF_OBJECT, TAU_OF_STEP = 2, 3, 4  # what is drawn: numbers for different purposes are independent


def mix(x):
    """splitmix64 of an unsigned 64-bit integer, or of an array of them."""
    x = x + STEP
    x = (x ^ (x >> _30)) * FIRST
    x = (x ^ (x >> _27)) * SECOND
    return x ^ (x >> _31)


mix_one = inner(inline="always")(mix)


@inner
def _start(seed, purpose):
    return mix_one(np.uint64(seed) ^ (np.uint64(purpose) << _32))


@inner
def _row_key(words, key):
    for word in words:
        key = mix_one(key ^ (np.uint64(0) if word == _MINUS_ZERO else word))
    return key


@inner
def _to_unit(key):
    """(key's first 53 bits + 1) / 2^53, in (0, 1]."""
    return (np.float64(key >> _11) + 1.0) * 2.0**-53


@compiled
def row_keys(X, seed):
    """A 64-bit key for each test object, a row of a C-contiguous float64 matrix; -0.0 counts as 0.0."""
    words, start = X.view(np.uint64), _start(seed, TEST_COLUMN)
    keys = np.empty(X.shape[0], np.uint64)
    for i in range(X.shape[0]):
        keys[i] = _row_key(words[i], start)
    return keys


@compiled
def row_taus(X, seed):
    """A number in (0, 1] for each row of a C-contiguous float64 matrix."""
    words, start = X.view(np.uint64), _start(seed, TAU_OF_OBJECT)
    taus = np.empty(X.shape[0])
    for i in range(X.shape[0]):
        taus[i] = _to_unit(_row_key(words[i], start))
    return taus


@compiled
def step_taus(seed, first, m):
    """A number in (0, 1] for each of m steps of a stream, the first of which has number `first`."""
    start = _start(seed, TAU_OF_STEP)
    taus = np.empty(m)
    for i in range(m):
        taus[i] = _to_unit(mix_one(start ^ np.uint64(first + i)))
    return taus
