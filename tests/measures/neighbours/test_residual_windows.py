"""A rank among the sizes of all shards, some of which are touched and now reach farther, or less far."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from exactcp.measures.neighbours import _residual_windows
from exactcp.measures.neighbours._residual_windows import bounds_of_windows, ends_in_windows, quantiles_of, windows_of
from exactcp.measures.neighbours._shard_meetings import Center
from exactcp.measures.neighbours._target_shard import Everyone
from exactcp.measures.neighbours.kernels.residuals import TouchedExtents

N, N_SHARDS, M = 60, 3, 40


def _ends(sizes, touched, extents, thresholds):
    """Return the ends that shards find: sizes (N,), of which those touched by each object have other extents."""
    of_shard = np.arange(N) % N_SHARDS
    states = [
        SimpleNamespace(untouched=SimpleNamespace(ordered_upper=np.sort(sizes[of_shard == i]))) for i in range(N_SHARDS)
    ]
    parts = []
    for i in range(N_SHARDS):
        own = [slots[of_shard[slots] == i] for slots in touched]
        start = np.concatenate([[0], np.cumsum([slots.size for slots in own])])
        reach = np.concatenate([extents[t][of_shard[slots] == i] for t, slots in enumerate(touched)])
        parts.append(TouchedExtents(start, reach, reach, sizes[np.concatenate(own)]))
    quantiles = [quantiles_of(state, None, None) for state in states]
    bounds = bounds_of_windows(quantiles, parts, thresholds, None)
    windows = [windows_of(state, None, None, bounds) for state in states]
    center = Center(Everyone(N, 3, 0.0, 1.0), np.zeros(thresholds.size))
    return ends_in_windows(windows, parts, center, thresholds, None)


def _expected(sizes, touched, extents, thresholds):
    rows = [np.sort(np.append(np.delete(sizes, slots), own))[::-1] for slots, own in zip(touched, extents, strict=True)]
    return np.array([row[wanted - 1] for row, wanted in zip(rows, thresholds, strict=True)])


@pytest.mark.parametrize("moved", ["farther", "less far", "either way"])
@pytest.mark.parametrize("quantiles", [4, 1024])
def test_touched_examples_move_the_rank(moved, quantiles, monkeypatch, rng):
    monkeypatch.setattr(_residual_windows, "QUANTILES", quantiles)
    sizes, low, high = rng.integers(1, 30, N) + 0.0, 0.0, 100.0  # many are equal
    if moved == "less far":
        high = 0.5
    elif moved == "farther":
        low = 50.0
    # one object at a time, so that no other widens its window
    for _ in range(M):
        touched = [rng.permutation(N)[: rng.integers(0, 20)]]
        if moved == "less far":
            touched = [np.argsort(-sizes)[: touched[0].size]]
        extents = [rng.uniform(low, high, slots.size) for slots in touched]
        thresholds = rng.integers(1, N + 1, 1)
        found = _ends(sizes, touched, extents, thresholds)
        expected = _expected(sizes, touched, extents, thresholds)
        np.testing.assert_allclose(found, np.column_stack([-expected, expected]), rtol=1e-9)
