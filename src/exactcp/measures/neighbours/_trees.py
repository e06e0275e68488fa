"""Growing the trees of a set of examples: near trees from the objects, reverse trees from the lists as well."""

from __future__ import annotations

from functools import cache

import numpy as np

from exactcp.geometry.contraction import coordinates_of, find_contraction
from exactcp.geometry.growing import Asking, grow_grove
from exactcp.geometry.screen import centred, middle_of
from exactcp.geometry.trees import FARTHEST, Grove, TreeUnits, units_of
from exactcp.measures.neighbours import _tuning
from exactcp.measures.neighbours.kernels.cones import write_cones
from exactcp.measures.neighbours.kernels.fill import Lists
from exactcp.measures.neighbours.kernels.tree_search import Balls, NearTrees, ReverseTrees, write_limits


def contraction_of(objects: np.ndarray, *, is_asked_for: bool) -> np.ndarray:
    """Return the basis (p, q) by which trees of these objects should be contracted; q = 0: not at all.

    Unless trees are asked for, few examples are not worth the look.
    """
    (n, p), knobs = objects.shape, _tuning.KNOBS
    if p < knobs.contract_from or not (is_asked_for or n >= knobs.contract_least):
        return np.empty((p, 0))
    return np.asarray(find_contraction(objects, knobs.trees_up_to - 1))


def grow_near(objects: np.ndarray, codes: np.ndarray, n_labels: int, basis: np.ndarray) -> NearTrees:
    """Return a tree over the examples of each label; a basis with columns contracts their objects."""
    centre, scale = middle_of(objects)
    grove, _ = grow_grove(coordinates_of(objects, centre, scale, basis), _parts(codes, n_labels))
    return NearTrees(grove, centre, units_of(scale, objects.shape[1]), basis)


def _parts(codes: np.ndarray, n_labels: int) -> list[np.ndarray]:
    """Slots of each label."""
    by_label = np.argsort(codes, kind="stable")
    return np.split(by_label, np.searchsorted(codes[by_label], np.arange(1, n_labels)))


def grow_reverse(
    near: NearTrees, lists: Lists, sums: np.ndarray, scores: np.ndarray, codes: np.ndarray, *, n_labels: int, k: int
) -> ReverseTrees:
    """Return trees over the examples that ask who changes their scores.

    Parameters
    ----------
    near : NearTrees
        Of the same examples.
    lists : Lists
    sums : ndarray of shape (n_relations, n)
    scores : ndarray of shape (n,)
    codes : ndarray of shape (n,)
        Labels by slot.
    n_labels : int
    k : int

    Returns
    -------
    ReverseTrees
    """
    n_relations, n = sums.shape[0], scores.size
    radius, slope, score = np.empty((3, n_relations, n))
    write_cones(lists, sums, scores, k, near.units.scale, radius, slope, score)
    parts = _parts(codes, n_labels)
    if n_relations == 2:  # the points of the second relation are numbered after those of the first
        parts.append(np.arange(n, 2 * n))
    ranks = [_ranks(*relation) for relation in zip(radius, slope, score, strict=True)]
    asking = Asking(radius.ravel(), slope.ravel(), score.ravel(), *map(np.concatenate, zip(*ranks, strict=True)))
    grove, cones = grow_grove(np.concatenate([_coordinates(near.grove, n)] * n_relations), parts, asking)
    np.subtract(grove.slot, n, out=grove.slot, where=grove.slot >= n)
    return ReverseTrees(grove, cones)


def grow_balls(near: NearTrees, touch: np.ndarray) -> Balls:
    """Return a tree over the examples by how close a row must come to touch them."""
    radius, flat = touch * near.units.scale, np.zeros(touch.size)
    asking = Asking(radius, flat, flat, flat, flat)
    grove, cones = grow_grove(_coordinates(near.grove, touch.size), [np.arange(touch.size)], asking)
    return _balls(grove, cones.radius, near.units)


def _balls(grove: Grove, radius: np.ndarray, units: TreeUnits) -> Balls:
    """Return balls of these radii (leaves, LEAF)."""
    limits, largest = np.empty(grove.slot.shape, np.float32), np.empty(grove.link.shape[0], np.float32)
    write_limits(grove, radius, units, limits, largest)
    return Balls(grove, largest, limits)


@cache
def no_reverse(q: int) -> ReverseTrees:
    """Return trees of q features in which nobody asks."""
    return ReverseTrees(*grow_grove(np.empty((0, q), np.float32), [np.empty(0, np.int64)]))


@cache
def no_balls(q: int) -> Balls:
    """Return trees over no examples of q features."""
    grove, cones = grow_grove(np.empty((0, q), np.float32), [np.empty(0, np.int64)])
    return _balls(grove, cones.radius, units_of(1.0, q))


def leaf_order(near: NearTrees, objects: np.ndarray) -> np.ndarray:
    """Return the objects in the order of the leaves, where neighbours are next to each other; some row for no point."""
    return np.asarray(objects[near.grove.slot.ravel()])


def are_near(X: np.ndarray, near: NearTrees) -> np.ndarray:
    """Tell which rows may be searched for in trees."""
    rows = centred(X, near.centre, near.units.scale)
    return np.asarray(np.einsum("ij,ij->i", rows, rows) < FARTHEST**2)


def _coordinates(grove: Grove, n: int) -> np.ndarray:
    """Return the coordinates of n examples by slot, as their near trees have them."""
    points, slot = grove.points, grove.slot
    rows = np.empty((n, points.shape[1]), np.float32)
    leaf, place = np.nonzero(slot >= 0)
    rows[slot[leaf, place]] = points[leaf, :, place]
    return rows


def _ranks(radius: np.ndarray, slope: np.ndarray, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rank of each score, and the height of its cone in ranks."""
    ordered = np.sort(score)
    height = np.divide(radius, slope, out=np.full(score.size, np.inf), where=slope > 0)
    rank = np.searchsorted(ordered, score)
    return rank.astype(np.float64), (rank - np.searchsorted(ordered, score - height)).astype(np.float64)
