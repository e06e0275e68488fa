"""Labels in the order of their scores, few and many, and searches by buckets."""

from __future__ import annotations

import numpy as np
import pytest

from exactcp._jit import compiled
from exactcp.counting.buckets import buckets_of, count_below_by
from exactcp.counting.labels import make_bands
from exactcp.counting.ties import tie_bands


@pytest.mark.parametrize("n_labels", [1, 2, 23, 24, 25, 48, 49, 100, 1000])
def test_bands_are_sorted_by_score(n_labels, rng):
    scores = rng.integers(0, n_labels, (3, n_labels)) / 7.0
    scores[0, 0] = np.inf
    bands = make_bands(scores, 0.0)
    np.testing.assert_array_equal(np.sort(bands.order, axis=1), np.tile(np.arange(n_labels), (3, 1)))
    np.testing.assert_array_equal(np.take_along_axis(scores, bands.order, axis=1), np.sort(scores, axis=1))
    lo, hi = tie_bands(scores.ravel(), 0.0, 1e-10).reshape(2, 3, n_labels)
    np.testing.assert_array_equal(bands.lo, lo)
    np.testing.assert_array_equal(bands.lo_sorted, np.take_along_axis(lo, bands.order, axis=1))
    np.testing.assert_array_equal(bands.hi_sorted, np.take_along_axis(hi, bands.order, axis=1))


@compiled
def _search_each(ascending, values):
    buckets, out = buckets_of(ascending), np.empty(values.shape[0], np.int64)
    for i in range(values.shape[0]):
        out[i] = count_below_by(buckets, ascending, values[i])
    return out


@pytest.mark.parametrize("scale", [1e-320, 1e-150, 1.0, 1e300])
@pytest.mark.parametrize("kind", ["uniform", "ties", "outliers", "infinite", "one value", "none", "all infinite"])
def test_buckets_find_what_a_search_finds(kind, scale, rng):
    entries = rng.random(3000)
    if kind == "ties":
        entries = np.round(entries, 2)
    elif kind == "outliers":
        entries[:40] *= 1e7
    elif kind == "infinite":
        entries[:700] = np.inf
    elif kind == "one value":
        entries[:] = 0.3
    elif kind == "none":
        entries = entries[:0]
    elif kind == "all infinite":
        entries[:] = np.inf
    ascending = np.sort(entries * scale)
    asked = np.concatenate([ascending[::7], ascending[::11] * (1 + 1e-15), rng.random(500) * scale, [0.0, np.inf]])
    np.testing.assert_array_equal(_search_each(ascending, asked), np.searchsorted(ascending, asked))
