"""Choosing between trees and products by measuring what both cost (theory TR.6)."""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np

from exactcp._parallel import blas_threads
from exactcp.geometry.objects import VectorStore
from exactcp.geometry.screen import good_order
from exactcp.measures.neighbours import _tuning
from exactcp.measures.neighbours._route import Route, contracted_to
from exactcp.measures.neighbours._search import NeighbourSearch
from exactcp.measures.neighbours._trees import leaf_order
from exactcp.measures.neighbours.kernels.fill import (
    Lists,
    Thresholds,
    fill_lists_screened,
    new_lists,
    open_thresholds,
)
from exactcp.measures.neighbours.kernels.tree_fill import fill_lists_by_trees


class Rate(NamedTuple):
    """What filling lists by products costs, in seconds of one core."""

    pair: float
    entry: float  # an entry of a list

    def seconds(self, n: int, entries: int) -> float:
        """Return the time for n examples, whose full lists have so many entries together."""
        return self.pair * n * n / 2 + self.entry * n * entries * (1 + math.log(max(n / entries, 1.0)))


BATCH_SHARE = 0.15  # of the time of products that trees may take in a fit, to be the faster ones in batches too
PAIRS_OF_LEAVES = 300  # one in so many is filled to see how long it takes
_rates: dict[tuple[int, int, int], Rate] = {}  # by features, relations and k


def choose_route(search: NeighbourSearch, lists: Lists, k: int) -> Route:
    """Return the route for filling these lists, and for what is asked afterwards.

    The search is told whether trees should serve batches as well, in which products are at their best.
    """
    if search.wanted != "auto":
        return search.told()
    n, knobs = search.store.n, _tuning.KNOBS
    if not search.has_trees():
        return Route("brute", "only Euclidean distances have trees")
    p, q = search.contraction().shape
    coordinates = q + 1 if q > 0 else p
    enough = knobs.trees_from * max(1, coordinates // 4)  # with more of them there is less to gain
    if n < enough:
        return Route("brute", f"fewer than {enough:,} examples")
    if coordinates > knobs.trees_up_to:
        return Route("brute", f"more than {knobs.trees_up_to} features")
    trees = _tree_seconds(search, lists, k)
    products = _rate(search, lists.values.shape[0], k).seconds(n, k * lists.values.shape[0])
    name = "tree" if trees < products else "brute"
    search.trees_serve_batches = trees < BATCH_SHARE * products
    how = f" {contracted_to(p, q)}" if q > 0 else ""
    return Route(name, f"measured: filling the lists by trees{how} takes {trees:.2g} s, by products {products:.2g} s")


def _tree_seconds(search: NeighbourSearch, lists: Lists, k: int) -> float:
    """Return the time that trees take, by pairs of leaves here and there; the lists are empty then as before."""
    near = search.near()
    rows, total = leaf_order(near, search.store.objects), near.grove.slot.shape[0]
    few = np.linspace(0, total - 2, max(3, total // PAIRS_OF_LEAVES)).astype(np.int64).tolist()
    fill_lists_by_trees((0, 0), k, rows, near.grove, near.units, lists)  # which compiles it
    lists.values[:] = 0.0  # memory that both ways touch first
    spent = []
    for _ in range(2):  # so that what disturbs the machine once does not decide
        start = time.thread_time()
        for leaf in few:
            fill_lists_by_trees((leaf, leaf + 2), k, rows, near.grove, near.units, lists)
        spent.append(time.thread_time() - start)
        lists.lengths[:] = 0
    return float(min(spent) / (2 * len(few)) * total)


def _rate(search: NeighbourSearch, n_relations: int, k: int) -> Rate:
    """Return what products cost, measured once for data of this shape."""
    p = search.store.objects.shape[1]
    key = (p, n_relations, k)
    if key not in _rates:
        with blas_threads(1):
            _rates[key] = _measure_rate(search, n_relations, k)
    return _rates[key]


def _measure_rate(search: NeighbourSearch, n_relations: int, k: int) -> Rate:
    """Fill the lists of some examples, and let as many meet that nothing enters."""
    store, codes = search.store, search.codes[: search.store.n]
    some = np.arange(0, store.n, max(1, store.n // _tuning.KNOBS.probed))
    some = some[good_order(codes[some])]
    assert isinstance(store, VectorStore)
    objects, size = store.objects[some], some.size
    screen = search.successor(store.kept(some), codes[some], search.n_labels).screen()
    lists, open_to_all = new_lists(n_relations, size, k), open_thresholds(screen, n_relations)
    closed = open_to_all._replace(
        least_product=np.full_like(open_to_all.least_product, np.inf), reach=np.full_like(open_to_all.reach, -np.inf)
    )

    def seconds(thresholds: Thresholds, rows: int) -> float:
        start = time.thread_time()
        fill_lists_screened((0, rows), (0, rows), k, objects, screen, thresholds, lists)
        return time.thread_time() - start

    seconds(closed, 0)
    passing = seconds(closed, size)
    filling = seconds(open_to_all, size)
    entries = k * n_relations
    alone = Rate(0.0, 1.0).seconds(size, entries)
    return Rate(2 * passing / size**2, max(filling - passing, 0.0) / alone)
