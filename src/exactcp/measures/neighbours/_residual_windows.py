"""The ends of intervals of k-NN regression in shards: a rank among the sizes of all residuals (theory NN.14).

Some sizes of each shard tell between which two of them the rank lies. Then only what is there is put together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from exactcp.counting.ranks import SomeRanks, bounds_of_ranks
from exactcp.measures._affine_bag import counted_from_zero
from exactcp.measures.neighbours._shard_meetings import Center, groups_of_rows, sizes_of_category, together_by_row
from exactcp.measures.neighbours._target_shard import TargetState
from exactcp.measures.neighbours.kernels.residuals import TouchedExtents, Window, bound_in_window

QUANTILES = 1024  # sizes of a shard that tell where a rank among all of them is


def quantiles_of(state: TargetState, categories: np.ndarray | None, wanted: np.ndarray | None) -> list[SomeRanks]:
    """Return, for each category that is wanted, some sizes that tell how many of a shard are larger than a number."""
    out = []
    for category, _ in groups_of_rows(wanted, 0):
        descending = sizes_of_category(state, categories, category).ordered_upper[::-1]
        n = descending.size
        ranks = np.arange(0, n, max(1, n // QUANTILES))
        if n and ranks[-1] < n - 1:
            ranks = np.append(ranks, n - 1)
        out.append(SomeRanks(descending[ranks], ranks, 0, n))
    return out


def bounds_of_windows(
    quantiles: Sequence[Sequence[SomeRanks]],
    extents: Sequence[TouchedExtents],
    thresholds: np.ndarray,
    wanted: np.ndarray | None,
) -> list[tuple[float, float]]:
    """Return, for each category that is wanted, the least and the largest size that an answer may be."""
    touched = np.sum([np.diff(own.start) for own in extents], axis=0)
    return [
        _answer_bounds([own[g] for own in quantiles], touched[rows], thresholds[rows])
        for g, (_, rows) in enumerate(groups_of_rows(wanted, thresholds.size))
    ]


def _answer_bounds(quantiles: Sequence[SomeRanks], touched: np.ndarray, thresholds: np.ndarray) -> tuple[float, float]:
    """Return the least and the largest size that an answer may be: a touched example moves no rank by more than 1."""
    is_asked = (thresholds > 0) & (thresholds <= sum(own.until for own in quantiles))
    if not is_asked.any():
        return np.inf, -np.inf
    first, last = (thresholds - touched)[is_asked].min(), (thresholds + touched)[is_asked].max()
    return bounds_of_ranks(quantiles, int(first), int(last))


def windows_of(
    state: TargetState,
    categories: np.ndarray | None,
    wanted: np.ndarray | None,
    bounds: Sequence[tuple[float, float]],
) -> list[Window]:
    """Return, for each category that is wanted, the sizes of a shard within the bounds."""
    out = []
    for (category, _), (low, high) in zip(groups_of_rows(wanted, 0), bounds, strict=True):
        ordered = sizes_of_category(state, categories, category).ordered_upper
        first, last = np.searchsorted(ordered, low, side="left"), np.searchsorted(ordered, high, side="right")
        out.append(Window(ordered[first:last].copy(), low, high, ordered.size - int(last), ordered.size))
    return out


def _whole_window(windows: Sequence[Window]) -> Window:
    """Return the window of all shards."""
    ordered = np.sort(np.concatenate([part.ordered for part in windows]))
    above, n = sum(part.above for part in windows), sum(part.n for part in windows)
    return Window(ordered, windows[0].low, windows[0].high, above, n)


def ends_in_windows(
    windows: Sequence[Sequence[Window]],
    extents: Sequence[TouchedExtents],
    center: Center,
    thresholds: np.ndarray,
    wanted: np.ndarray | None,
) -> np.ndarray:
    """Return the intervals (m, 2) that follow from what all shards tell."""
    start, order = together_by_row([part.start for part in extents])
    below, above, size = (np.concatenate(part)[order] for part in list(zip(*extents, strict=True))[1:])
    touched = TouchedExtents(start, below, above, size)
    everyone, out = center.everyone, np.empty((thresholds.size, 2))
    for g, (_, rows) in enumerate(groups_of_rows(wanted, thresholds.size)):
        window = _whole_window([own[g] for own in windows])
        bound_in_window(rows, thresholds, center.predictions, touched, window, everyone.typical, out)
    return counted_from_zero(out, everyone.origin)
