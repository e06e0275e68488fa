"""Searching a set of stored examples for the neighbours of test objects, in blocks across threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from exactcp._numpy_first import is_small
from exactcp._parallel import FREE, Effort, Result, blas_threads, map_blocks
from exactcp._validation import check_square
from exactcp.geometry.kinds import EUCLIDEAN, OTHER, has_products
from exactcp.geometry.lanes import LEAF
from exactcp.geometry.metric import Distance
from exactcp.geometry.objects import Store, store_of
from exactcp.geometry.screen import ROWS, Screen, column_reaches, good_order, prepare_tests, prepare_training
from exactcp.geometry.sketch import find_basis
from exactcp.measures.neighbours import _tuning
from exactcp.measures.neighbours._route import ASKED_FOR, NOT_ASKED, Route, contracted_to
from exactcp.measures.neighbours._standing import no_newcomers
from exactcp.measures.neighbours._trees import are_near, contraction_of, grow_balls, grow_near, no_balls
from exactcp.measures.neighbours.kernels.scores import write_scores
from exactcp.measures.neighbours.kernels.search import Screened, Stored, TestBlock
from exactcp.measures.neighbours.kernels.tree_counts import write_scores_by_trees
from exactcp.measures.neighbours.kernels.tree_members import MemberTrees
from exactcp.measures.neighbours.kernels.tree_search import Balls, NearTrees

NONE_KNOWN = np.empty((0, 0))  # distances, or objects where distances are known
NO_DISTANCES = np.empty(0)  # with the screen
NO_TOUCH = np.empty(0)  # where it is not asked, nor looked at
NO_ORDER = np.empty(0, np.int64)  # of vectors
NO_LIMITS = np.empty((0, LEAF), np.float32)  # of newcomers


def own_store(X: np.ndarray, distance: Distance) -> Store:
    """Put objects into a store in the order of arrival."""
    if distance.is_precomputed:
        check_square(X)
    return store_of(X, distance)


def stored(X: np.ndarray, codes: np.ndarray, distance: Distance) -> tuple[Store, np.ndarray, np.ndarray]:
    """Put objects into a store; return it, the example in each slot, and the slot of each example."""
    if distance.is_precomputed:
        return own_store(X, distance), np.arange(X.shape[0]), np.arange(X.shape[0])
    examples = good_order(codes)
    order = np.empty_like(examples)
    order[examples] = np.arange(examples.size)
    return store_of(X[examples], distance), examples, order


def at_distances(examples: Stored) -> Stored:
    """Return examples to which distances are known: the code for these is the same, whatever the objects are."""
    return examples._replace(objects=NONE_KNOWN)


def _grown_now(near: NearTrees, balls: Balls) -> MemberTrees:
    """Return trees since which nobody has come."""
    return MemberTrees(near, balls, no_newcomers(1, 0, near.grove.points.shape[1]), NO_LIMITS)


class NeighbourSearch:
    """Finds the k nearest of each label, and the examples touched, for test objects.

    The screen is built when a batch first pays for it, and again after `forget_screen`; so are the trees.
    """

    wanted: str = "auto"  # route
    route: Route = NOT_ASKED
    trees_serve_batches = True
    _contraction: tuple[np.ndarray, int] | None = None  # and of how many examples it was found
    _near: NearTrees | None = None
    _balls: tuple[np.ndarray | None, Balls] | None = None  # and the touch that they are of
    _reach: tuple[np.ndarray | None, np.ndarray] | None = None  # of the screen's rows, and the touch that it is of
    rows_asked = 0  # since the stored examples changed
    credit = 0  # and before, with the changes

    def __init__(self, store: Store, codes: np.ndarray, n_labels: int, wanted: str = "auto") -> None:
        self.store = store
        self.codes = codes
        self.n_labels = n_labels
        self.wanted = wanted
        if wanted != "auto":
            self.route = Route(wanted, ASKED_FOR)
        self._screen: Screen | None = None
        # the basis of its sketch, and from how many examples: any is right, so that it outlives changes of the
        # examples until they are twice as many
        self._basis: tuple[np.ndarray, int] | None = None

    def successor(self, store: Store, codes: np.ndarray, n_labels: int) -> Self:
        """Return a search of other examples, which keeps what outlives changes."""
        search = type(self)(store, codes, n_labels, self.wanted)
        vars(search).update(_basis=self._basis, route=self.route, trees_serve_batches=self.trees_serve_batches)
        vars(search).update(_contraction=self._contraction)
        search.credit = self.credit + self.rows_asked + 1
        return search

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_near": None, "_balls": None, "_reach": None}  # quickly made anew

    def forget_screen(self) -> None:
        """Say that the stored examples have changed."""
        self._screen = self._near = self._balls = self._reach = None
        self.credit, self.rows_asked = self.credit + self.rows_asked + 1, 0

    def screen(self) -> Screen:
        """Return the screen of the stored examples."""
        screen = self._screen
        if screen is None:
            objects, basis, kind = self.store.objects, self._basis, self.store.kind
            if basis is None or objects.shape[0] > 2 * basis[1]:
                found = find_basis(objects) if has_products(kind) else np.empty((objects.shape[1], 0))
                basis = self._basis = found, objects.shape[0]
            screen = prepare_training(objects, self.codes[: objects.shape[0]], self.n_labels, basis[0], kind)
            self._screen = screen
        return screen

    def can_screen(self) -> bool:
        """Tell whether the metric has a screen."""
        return self.store.kind != OTHER

    def has_trees(self) -> bool:
        """Tell whether the metric has trees."""
        return self.store.kind == EUCLIDEAN

    def near(self) -> NearTrees:
        """Return trees over the stored examples of each label; only Euclidean distances have them."""
        near = self._near
        if near is None:
            n = self.store.n
            near = self._near = grow_near(self.store.objects, self.codes[:n], self.n_labels, self.contraction())
        return near

    def contraction(self) -> np.ndarray:
        """Return the basis (p, q) of the trees' contraction, found once for data of this size; q = 0: there is none."""
        known, objects, n = self._contraction, self.store.objects, self.store.n
        if known is None or n > 2 * known[1]:
            found = contraction_of(objects, is_asked_for=self.wanted == "tree")
            known = self._contraction = found, n
        return known[0]

    def told(self) -> Route:
        """Return the route, with the contraction of trees that were asked for."""
        if self.wanted != "tree" or self.contraction().shape[1] == 0:
            return self.route
        return Route("tree", f"{ASKED_FOR}, {contracted_to(*self.contraction().shape)}")

    def serves(self, m: int) -> bool:
        """Tell whether trees are the way for m rows."""
        return self.route.name == "tree" and self.store.n > 0 and (m < _tuning.KNOBS.few or self.trees_serve_batches)

    def is_worth_trees(self, m: int) -> bool:
        """Tell whether rows and changes so far, with m more, would have paid for growing trees."""
        return self.wanted == "tree" or m + self.rows_asked >= _tuning.KNOBS.regrow

    def trees_for(self, m: int, credit: int = 0) -> NearTrees | None:
        """Return the trees if m rows should be searched for in them: grown anew when enough have been asked.

        Who has trees that follow changes may add the `credit` of what was before the last.
        """
        if not self.serves(m) or (self._near is None and not self.is_worth_trees(m + credit)):
            return None
        return self.near()

    def treed(self, m: int, touch: np.ndarray | None) -> MemberTrees | None:
        """Return the trees in which m rows should be searched for, of examples of one label; None: by products."""
        near = self.trees_for(m)
        if near is None:
            return None
        if touch is None:
            return _grown_now(near, no_balls(near.grove.points.shape[1]))
        balls = self._balls
        if balls is None or balls[0] is not touch:
            balls = self._balls = touch, grow_balls(near, touch)
        return _grown_now(near, balls[1])

    def _pays(self, m: int, p: int) -> bool:
        """Tell whether m rows are worth a screen: one that is there, or that many rows so far would have paid."""
        knobs, work = _tuning.KNOBS, self.store.n * p
        if not self.can_screen() or (m < knobs.few and m * work < knobs.plain_up_to):
            return False
        rows = self.rows_asked + m
        return self._screen is not None or (rows >= knobs.few and rows * work > knobs.small)

    def _reach_of(self, touch: np.ndarray | None, screen: Screen) -> np.ndarray:
        """Return the screen's reach of the examples by how close a row touches them, kept for the next rows."""
        kept = self._reach
        if kept is None or kept[0] is not touch:
            size = screen.slots.size
            reaches = column_reaches(np.full(size, -np.inf) if touch is None else touch, screen.units)
            kept = self._reach = touch, reaches[screen.slots].astype(screen.rows.dtype)
        return kept[1]

    def is_small(self, m: int) -> bool:
        """Tell whether m rows are compared with the stored examples in NumPy."""
        work = m * self.store.n * (3.0 * self.store.objects.shape[1] + 30.0)
        return self.wanted == "numpy" or (self.wanted == "auto" and is_small(work))

    def candidate_scores(
        self, X: np.ndarray, order: np.ndarray, k: int, *, use_ratio: bool, effort: Effort = FREE
    ) -> np.ndarray:
        """Return the scores (m, n_labels) of the rows of X with every label, against the stored examples."""
        out, near = np.empty((X.shape[0], self.n_labels)), self.trees_for(X.shape[0])
        if near is None:
            self.visit(write_scores, X, order, None, k, use_ratio, out, effort=effort)
            return out
        nobody = no_newcomers(self.n_labels, 1, near.grove.points.shape[1])
        args = (k, use_ratio, self.stored(NO_TOUCH), near, nobody, out)
        far = self.visit_trees(write_scores_by_trees, X, *args, effort=effort)
        if far.size:
            rest = np.empty((far.size, self.n_labels))
            self.visit(write_scores, X[far], order, None, k, use_ratio, rest, effort=effort)
            out[far] = rest
        return out

    def meet_at(self, work: Callable[..., Result], distances: np.ndarray, *args: Any) -> Result:
        """Return what `work(block, *args)` returns for test objects at known distances (m, n) by slot; none touches."""
        rows = np.arange(distances.shape[0])
        return work(TestBlock(rows, NONE_KNOWN, at_distances(self.stored()), None, distances), *args)

    def stored(self, touch: np.ndarray | None = None) -> Stored:
        """Return the examples that test objects meet."""
        n = self.store.n
        touch = np.full(n, -np.inf) if touch is None else touch
        return Stored(self.store.objects, self.codes[:n], self.n_labels, touch, self.store.kind)

    def visit_trees(
        self, work: Callable[..., np.ndarray], X: np.ndarray, *args: Any, effort: Effort = FREE
    ) -> np.ndarray:
        """Let blocks of rows of X go through trees, `work(rows, X[rows], *args)`; return which rows are too far."""
        self.store.check_new(X)
        X = np.ascontiguousarray(self.store.by_slot(X, NO_ORDER))
        if not X.flags.writeable:  # as a frame's values may be: kernels would be compiled once more
            X = X.copy()
        m, size = X.shape[0], _tuning.KNOBS.rows_together
        self.rows_asked += m
        if m <= size:  # without the threads' ceremonies
            return work(np.arange(m), X, *args).nonzero()[0]
        far = map_blocks(
            lambda first: work(np.arange(first, min(first + size, m)), X[first : first + size], *args),
            range(0, m, size),
            effort=effort,
            task="predicting",
        )
        return np.flatnonzero(np.concatenate(far))

    def visit(
        self,
        work: Callable[..., Result],
        X: np.ndarray,
        order: np.ndarray,
        touch: np.ndarray | None,
        *args: Any,
        treed: MemberTrees | None = None,
        effort: Effort = FREE,
    ) -> list[Result]:
        """Let blocks of rows of X meet the stored examples; return what `work(block, *args)` returns for each.

        Parameters
        ----------
        work : callable
            Of a `TestBlock`, with the screen, with its distances to all stored examples, or with trees.
        X : ndarray of shape (m, p)
        order : ndarray of shape (n, ...)
            It begins with the slot of each example, in the order of arrival.
        touch : ndarray of shape (n,) or None
            An example i is touched by a row closer than touch[i]; None if that is not asked.
        *args
        treed : MemberTrees or None
            Trees to search in.
        effort : Effort

        Returns
        -------
        list
        """
        examples = self.stored(NO_TOUCH if touch is None and treed is not None else touch)
        X = self.store.by_slot(X, order)
        self.store.check_new(X)
        far = np.arange(X.shape[0])
        is_screened = treed is None and self._pays(*X.shape)
        self.rows_asked += X.shape[0]
        blocks: list[tuple[np.ndarray, str]] = []
        if treed is not None:
            near = are_near(X, treed.near)
            rows, far, together = np.flatnonzero(near), np.flatnonzero(~near), _tuning.KNOBS.rows_together
            blocks += [(rows[i : i + together], "tree") for i in range(0, rows.size, together)]
            examples = self.stored(touch) if far.size else examples
        if is_screened:
            with blas_threads(effort.n_jobs):
                screen = self.screen()
                tests, near = prepare_tests(screen, X)
            reach = self._reach_of(touch, screen)
            rows = np.flatnonzero(near)
            blocks += [(rows[i : i + ROWS], "screen") for i in range(0, rows.size, ROWS)]
            far = np.flatnonzero(~near)
        size = max(1, _tuning.KNOBS.block_bytes // (8 * max(1, self.store.n)))
        blocks += [(far[i : i + size], "plain") for i in range(0, far.size, size)]

        def meet(block: tuple[np.ndarray, str]) -> Result:
            rows, route = block
            part = np.ascontiguousarray(X[rows])
            if route == "tree":
                return work(TestBlock(rows, part, examples, None, NONE_KNOWN, treed), *args)
            if route == "screen":
                return work(
                    TestBlock(rows, part, examples, Screened(tests.take(rows), screen, reach), NO_DISTANCES), *args
                )
            return work(TestBlock(rows, NONE_KNOWN, at_distances(examples), None, self.store.rows_from(part)), *args)

        if len(blocks) == 1 and not is_screened and effort.verbose <= 0:
            return [meet(blocks[0])]  # without products, and the threads' ceremonies
        return map_blocks(meet, blocks, effort=effort, task="predicting")
