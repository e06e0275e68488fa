"""Filling the sorted lists of all stored examples, in blocks across threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import chain
from threading import Lock

import numpy as np

from exactcp._parallel import FREE, Effort, blas_threads, map_blocks
from exactcp.geometry.measured import FunctionStore
from exactcp.geometry.objects import MatrixStore, VectorStore
from exactcp.measures.neighbours import _tuning
from exactcp.measures.neighbours._choosing import choose_route
from exactcp.measures.neighbours._search import NeighbourSearch
from exactcp.measures.neighbours._trees import leaf_order
from exactcp.measures.neighbours.kernels.fill import Lists, fill_lists, fill_lists_screened, open_thresholds
from exactcp.measures.neighbours.kernels.tree_fill import fill_lists_by_trees


def fill_all(search: NeighbourSearch, lists: Lists, limit: int, *, effort: Effort = FREE) -> None:
    """Let all stored examples meet, and put the `limit` smallest distances of each into the empty lists.

    The search remembers by which route.
    """
    store = search.store
    search.route = choose_route(search, lists, limit)
    if search.route.name == "tree" and store.n > 0:
        _fill_by_trees(search, lists, limit, effort)
    elif isinstance(store, VectorStore) and search.can_screen() and store.n**2 >= _tuning.KNOBS.screen_from:
        _fill_screened(search, store.objects, lists, limit, effort=effort)
    else:
        _fill_plain(search, lists, limit, effort)


def _fill_screened(search: NeighbourSearch, objects: np.ndarray, lists: Lists, limit: int, *, effort: Effort) -> None:
    with blas_threads(effort.n_jobs):
        screen = search.screen()
    thresholds = open_thresholds(screen, lists.values.shape[0])

    def meet(rows: tuple[int, int], columns: tuple[int, int]) -> None:
        fill_lists_screened(rows, columns, limit, objects, screen, thresholds, lists)

    _meet_in_rounds(meet, objects.shape[0], _parts_for(effort), effort)


def _fill_by_trees(search: NeighbourSearch, lists: Lists, limit: int, effort: Effort) -> None:
    near = search.near()
    rows, total = leaf_order(near, search.store.objects), near.grove.slot.shape[0]
    bounds = np.linspace(0, total, min(total, 16 * effort.threads()) + 1).astype(np.int64)

    def meet(i: int) -> None:
        leaves = int(bounds[i]), int(bounds[i + 1])
        fill_lists_by_trees(leaves, limit, rows, near.grove, near.units, lists)

    map_blocks(meet, range(bounds.size - 1), effort=effort, task="fitting")


def _fill_plain(search: NeighbourSearch, lists: Lists, limit: int, effort: Effort) -> None:
    store, n = search.store, search.store.n
    size = max(1, _tuning.KNOBS.block_bytes // (8 * max(1, n)))
    if isinstance(store, FunctionStore) or n <= size:

        def meet(first: int) -> None:
            distances = store.rows_within(first, min(first + size, n), first)
            fill_lists(distances, first, first, limit, search.codes[:n], lists)

        map_blocks(meet, range(0, n, size), effort=effort.alone(), task="fitting")
    else:
        _fill_by_blocks(search, store, lists, limit, effort)


def _fill_by_blocks(
    search: NeighbourSearch, store: VectorStore | MatrixStore, lists: Lists, limit: int, effort: Effort
) -> None:
    """Fill the lists from blocks of distances, which are measured without the GIL."""
    n = store.n
    side = math.isqrt(_tuning.KNOBS.block_bytes // 8)

    def meet(rows: tuple[int, int], columns: tuple[int, int]) -> None:
        fill_lists(store.rows_within(*rows, *columns), rows[0], columns[0], limit, search.codes[:n], lists)

    _meet_in_rounds(meet, n, max(_parts_for(effort), 2 * -(-n // (2 * side))), effort)


def _parts_for(effort: Effort) -> int:
    """Return an even number of parts: so many that threads seldom wait, few enough that lists are soon known."""
    return max(8, 6 * effort.threads())


def _meet_in_rounds(
    meet: Callable[[tuple[int, int], tuple[int, int]], None], n: int, parts: int, effort: Effort
) -> None:
    """Call `meet(rows, columns)` for all pairs of an even number of parts of n examples, across threads.

    Each pair is worked on once, and no part twice at a time: a thread waits for its parts, the lower one first, so that
    none waits for ever. It seldom has to, since the pairs of a round have no part in common.
    """
    bounds, locks = np.linspace(0, n, parts + 1).astype(np.int64), [Lock() for _ in range(parts)]

    def meet_pair(pair: tuple[int, int]) -> None:
        first, second = pair
        with locks[first], nullcontext() if first == second else locks[second]:
            meet(*((int(bounds[i]), int(bounds[i + 1])) for i in pair))

    map_blocks(meet_pair, list(chain.from_iterable(_rounds(parts))), effort=effort, task="fitting")


def _rounds(size: int) -> Iterator[list[tuple[int, int]]]:
    """Yield rounds of pairs (i, j), i <= j < size (even): every pair once, no index twice in a round.

    So the pairs of a round can be worked on at the same time, each changing the lists of its own parts only.
    """
    yield [(i, i) for i in range(size)]
    wheel = list(range(1, size))
    for _ in range(size - 1):
        circle = [0, *wheel]
        yield [tuple(sorted((circle[i], circle[-1 - i]))) for i in range(size // 2)]  # type: ignore[misc]
        wheel = wheel[1:] + wheel[:1]
