"""The k-th largest end over all folds is that of one long list."""

from __future__ import annotations

import numpy as np
import pytest

from exactcp.counting.folds import kth_largest


@pytest.mark.parametrize("sizes", [(1,), (4, 4), (7, 1, 3), (1, 1, 1, 12)])
@pytest.mark.parametrize("ties", [False, True])
def test_every_rank(sizes, ties):
    rng = np.random.default_rng(sum(sizes))
    draw = (
        (lambda *shape: rng.integers(-2, 3, shape).astype(float)) if ties else (lambda *shape: rng.normal(size=shape))
    )
    starts, folds = np.concatenate([[0], np.cumsum(sizes)]), len(sizes)
    residuals = np.concatenate([np.sort(draw(size)) for size in sizes])
    edges, scales = draw(6, folds), np.abs(draw(6, folds)) + 1.0
    fold = np.repeat(np.arange(folds), sizes)
    ends = np.sort(edges[:, fold] + residuals * scales[:, fold], axis=1)[:, ::-1]
    for k in range(1, residuals.size + 1):
        np.testing.assert_array_equal(kth_largest(residuals, starts, edges, scales, k), ends[:, k - 1])
