"""Whom test objects meet in the shards of k-NN regression, and what each shard counts then (theory NN.14)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from exactcp._parallel import ALONE
from exactcp.counting.categories import objects_by_category
from exactcp.measures.neighbours._target_bag import residuals_among
from exactcp.measures.neighbours._target_shard import Everyone, TargetState
from exactcp.measures.neighbours.kernels.meetings import INSIDE, MEETING, NEAREST, list_meetings, write_means
from exactcp.measures.neighbours.kernels.members import Touches
from exactcp.measures.neighbours.kernels.residuals import TouchedExtents, Untouched, count_around, write_extents


class Near(NamedTuple):
    """Who in a shard is near test objects."""

    everyone: Everyone
    start: np.ndarray  # (m + 1,)
    distances: np.ndarray
    targets: np.ndarray


class Center(NamedTuple):
    """Predictions (m,), counted from the origin."""

    everyone: Everyone
    predictions: np.ndarray


def _starts(rows: np.ndarray, m: int) -> np.ndarray:
    """Return where each of m rows begins when these are in order."""
    return np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=m))])


def meet_shard(
    state: TargetState, X: np.ndarray, categories: np.ndarray | None, wanted: np.ndarray | None
) -> tuple[Near, Touches]:
    """Return who in a shard is near test objects, and in whose neighbourhoods they are."""
    search, m = state.search, X.shape[0]
    k, order = min(state.everyone.k, search.store.n), np.arange(search.store.n)
    treed = search.treed(m, state.touch)
    found = search.visit(list_meetings, X, order, state.touch, k, state.rows.boundary, treed=treed, effort=ALONE)
    met = np.concatenate([np.empty(0, MEETING), *found])
    met = met[np.argsort(met["row"], kind="stable")]
    near, touching = met[met["relation"] == NEAREST], met[met["relation"] != NEAREST]
    if categories is not None and wanted is not None:
        touching = touching[_by_slot(state, categories)[touching["slot"]] == wanted[touching["row"]]]
    return (
        Near(state.everyone, _starts(near["row"], m), near["distance"].copy(), state.targets[near["slot"]]),
        Touches(_starts(touching["row"], m), touching["slot"].copy(), touching["relation"] == INSIDE),
    )


def _by_slot(state: TargetState, categories: np.ndarray) -> np.ndarray:
    out = np.empty_like(categories)
    out[state.order] = categories
    return out


def groups_of_rows(wanted: np.ndarray | None, m: int) -> list[tuple[int, np.ndarray]]:
    """Return the categories of m test objects, and which of them are of each; one group if they have none."""
    return [(0, np.arange(m))] if wanted is None else objects_by_category(wanted)


def sizes_of_category(state: TargetState, categories: np.ndarray | None, category: int) -> Untouched:
    """Return the sizes of the residuals of a shard's examples of one category."""
    if categories is None:
        return state.untouched
    return residuals_among(state.untouched, _by_slot(state, categories) == category)


def together_by_row(starts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return where rows start, and the order that brings parts with these starts, one after the other, together."""
    m = starts[0].size - 1
    rows = np.concatenate([np.repeat(np.arange(m), np.diff(start)) for start in starts])
    return _starts(rows, m), np.argsort(rows, kind="stable")


def center_of(near: Sequence[Near]) -> Center:
    """Return the predictions that follow from who is near in all shards."""
    everyone, (start, order) = near[0].everyone, together_by_row([part.start for part in near])
    distances = np.concatenate([part.distances for part in near])[order]
    targets, out = np.concatenate([part.targets for part in near])[order], np.empty(start.size - 1)
    write_means(start, distances, targets, everyone.k, everyone.origin, out)
    return Center(everyone, out)


def predicted(center: Center) -> np.ndarray:
    return np.asarray(center.predictions + center.everyone.origin)


def _of_rows(touches: Touches, rows: np.ndarray) -> Touches:
    """Return the touches of some rows."""
    sizes = np.diff(touches.start)[rows]
    start = np.concatenate([[0], np.cumsum(sizes)])
    kept = np.repeat(touches.start[rows] - start[:-1], sizes) + np.arange(start[-1])
    return Touches(start, touches.slot[kept], touches.is_inside[kept])


def count_shard(
    state: TargetState,
    met: tuple[Near, Touches],
    categories: np.ndarray | None,
    center: Center,
    y: np.ndarray,
    wanted: np.ndarray | None,
) -> np.ndarray:
    """Return how many of a shard are stranger, as strange, and how many they are compared with: (m, 3)."""
    everyone, counts = state.everyone, np.empty((y.size, 3), np.int64)
    y = y - everyone.origin
    for category, rows in groups_of_rows(wanted, y.size):
        untouched, part = sizes_of_category(state, categories, category), np.empty((rows.size, 3), np.int64)
        part[:, 2] = untouched.ordered_upper.size
        args = (y[rows], untouched, everyone.k, state.targets, state.rows, part)
        count_around(np.arange(rows.size), center.predictions[rows], _of_rows(met[1], rows), *args)
        counts[rows] = part
    return counts


def extents_in_shard(state: TargetState, met: tuple[Near, Touches], center: Center) -> TouchedExtents:
    """Return how far the examples of a shard that are touched reach."""
    touches, out = met[1], np.empty((2, met[1].slot.size))
    write_extents(center.predictions, touches, state.untouched, state.everyone.k, state.targets, state.rows, out)
    return TouchedExtents(touches.start, out[0], out[1], state.untouched.upper[touches.slot])
