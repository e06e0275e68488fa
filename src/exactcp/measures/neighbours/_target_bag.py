"""The bag of k-NN regression: neighbourhoods that learn and unlearn; only the touched are read (theory NN.9-11)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Self

import numpy as np

from exactcp._changes import Change, twin
from exactcp._parallel import FREE, Effort, map_blocks
from exactcp.counting.targets import SAMPLE, origin_of, slack_of, typical_size
from exactcp.geometry.objects import Store, copied_with_room
from exactcp.measures._affine_bag import AffineBag, Piece, counted_from_zero, hulls
from exactcp.measures._contract import Within
from exactcp.measures.neighbours._label_bag import MANY, fill_all
from exactcp.measures.neighbours._search import BLOCK_BYTES, FEW, NeighbourSearch
from exactcp.measures.neighbours.kernels.fill import new_lists
from exactcp.measures.neighbours.kernels.means import Neighbourhoods, affine_of, put_rows, scan, summarise_all
from exactcp.measures.neighbours.kernels.member_blocks import (
    bound_plain,
    bound_screened,
    count_plain,
    count_screened,
    predict_plain,
    predict_screened,
)
from exactcp.measures.neighbours.kernels.neighbourhoods import (
    Examples,
    Revised,
    commit_learning,
    commit_unlearning,
    lists_with,
    lists_without,
    revise_with,
    revise_without,
)
from exactcp.measures.neighbours.kernels.residuals import Untouched

RESERVE = 4  # distances beyond the k-th that are looked for: they tell whether more examples are at the boundary


class ResidualBag(AffineBag):
    """State of full CP with k-NN regression: the sorted distances of each example to its nearest, with their targets.

    Parameters
    ----------
    store : VectorStore or MatrixStore
        The objects.
    targets : ndarray of shape (n,)
        By slot.
    order : ndarray of shape (n,)
        Slot of each example, in the order of arrival.
    k : int

    Notes
    -----
    Memory is O(n k) beside the objects. `fit` costs n^2/2 screened pairs, and n distances for an example with many
    others exactly as far as its k-th neighbour; a prediction n screened pairs and O(r log r + log n) for r touched
    examples; `learn` and `unlearn` n distances, and n for each example whose list runs short. One example changes the
    lists in place (`learning`, `unlearning`); several change a fork.
    """

    _state: Neighbourhoods  # after `fill`

    def __init__(self, store: Store, targets: np.ndarray, order: np.ndarray, *, k: int) -> None:
        self._most = k
        self._order = order
        self._targets = np.array(targets, dtype=np.float64)
        self.search = NeighbourSearch(store, np.zeros(store.n, np.int64), 1)
        self._owns_arrays = True  # nobody else reads them
        # of Venn prediction alone
        self._crowd, self._category, self._crowds = (
            np.empty(0, np.int64),
            np.empty(0, np.int64),
            np.empty((0, 0), np.int64),
        )
        self._forget()

    def _forget(self) -> None:
        """Forget what is derived from the neighbourhoods."""
        self._untouched: Untouched | None = None
        self._has_origin = False  # the sums are counted from where they should be

    @property
    def n(self) -> int:
        """Number of examples."""
        return self.search.store.n

    @property
    def k(self) -> int:
        """Number of neighbours in use."""
        return min(self._most, self.n)

    @property
    def order(self) -> np.ndarray:
        """Slot of each example, in the order of arrival."""
        return self._order[: self.n]

    @property
    def _store(self) -> Store:
        return self.search.store

    def targets(self) -> np.ndarray:
        """Targets of the examples in the order of arrival."""
        return self._targets[self.order]

    def origin(self) -> float:
        """Return what targets are counted from in sums and pieces."""
        return float(self._settled().origin)

    def _some_targets(self) -> np.ndarray:
        """Return targets that tell what is typical, in the order of arrival."""
        return self._targets[self.order[:: max(1, self.n // SAMPLE)]]

    def _best_origin(self) -> float:
        return float(origin_of(self._some_targets()))

    def _settled(self) -> Neighbourhoods:
        """Return the neighbourhoods, with sums that are counted from the best origin of the present targets."""
        if not self._has_origin:
            state, origin = self._state, self._best_origin()
            if origin != state.origin:
                state = _with_arrays(state, np.copy)._replace(origin=origin)
                self._sum_up(state, FREE)
                self._untouched, self._state = None, state
            self._has_origin = True
        return self._state

    def residuals(self) -> np.ndarray:
        """Target minus prediction of every example by the others, in the order of arrival; -inf where n <= k."""
        return self._settled().residual[: self.n][self.order]

    def targets_from_origin(self) -> np.ndarray:
        """Targets by slot, counted from the origin."""
        return self._targets[: self.n] - self.origin()

    def fill(self, *, effort: Effort = FREE) -> Self:
        """Make all neighbourhoods anew from the stored examples."""
        n, k = self.n, self.k
        lists = new_lists(1, n, 2 * k + 6, with_partners=True)
        fill_all(self.search, lists, k + RESERVE, effort=effort)
        used = np.arange(lists.values.shape[2]) < lists.lengths[0][:, None]
        partners = self._targets[np.where(used, lists.partners[0], 0)]
        state = _new_rows(n, lists.values.shape[2], self._best_origin())
        state = state._replace(values=lists.values[0], partners=partners, lengths=lists.lengths[0])
        self._sum_up(state, effort)
        self._forget()
        self._state, self._has_origin = state, True
        return self

    def _sum_up(self, state: Neighbourhoods, effort: Effort) -> None:
        """Make the sums of all lists, and those lists anew that do not suffice."""
        n, k, targets = self.n, self.k, self._targets[: self.n]
        short = summarise_all(n, k, targets, state)
        self._scan(short, short, state, k, targets, effort=effort)

    def _scan(
        self,
        slots: np.ndarray,
        places: np.ndarray,
        rows: Neighbourhoods,
        k: int,
        targets: np.ndarray,
        *,
        gone: int = -1,
        beyond: np.ndarray | None = None,
        effort: Effort = FREE,
    ) -> None:
        """Make the neighbourhoods of some slots anew, from the distances to all but `gone`, in these places of `rows`.

        `beyond` has the distances of all to one more example.
        """
        width = rows.values.shape[1]

        def make(part: np.ndarray, distances: np.ndarray, first: int) -> None:
            made = _new_rows(part.size, width, rows.origin)
            scan(part, targets[part], gone, distances, targets, k, made)
            put_rows(np.arange(part.size), places[first : first + part.size], made, rows)

        self._visit_all(make, slots, beyond, effort)

    def _visit_all(
        self,
        work: Callable[[np.ndarray, np.ndarray, int], Any],
        slots: np.ndarray,
        beyond: np.ndarray | None,
        effort: Effort,
    ) -> list[Any]:
        """Apply `work` to parts of the slots, their distances to all, and the place of the first among the slots.

        `beyond` has the distances of all to one more example, which is in slot n.
        """
        n = self.n
        size = max(1, BLOCK_BYTES // (8 * n))

        def visit(first: int) -> Any:
            part = slots[first : first + size]
            distances = np.empty((part.size, n if beyond is None else n + 1))
            for r, i in enumerate(part.tolist()):
                distances[r, :n] = self._store.rows_within(i, i + 1)[0] if i < n else beyond
            if beyond is not None:
                distances[:, n] = np.append(beyond, 0.0)[part]
            return work(part, distances, first)

        return map_blocks(visit, range(0, slots.size, size), effort=effort)

    def _sizes(self, state: Neighbourhoods, *, in_order: bool) -> Untouched:
        """Return the sizes of the residuals, sorted if they have been or are asked to be."""
        if self._untouched is not None:
            return self._untouched
        size, slack = np.abs(state.residual[: self.n]), slack_of(self._targets[: self.n] - state.origin)
        size[np.isinf(size)] = -np.inf  # a residual that a test object always changes
        upper, lower, typical = size + slack, size - slack, float(typical_size(self._some_targets() - state.origin))
        if not in_order:
            return Untouched(upper, lower, slack, typical, np.empty(0), np.empty(0), np.empty(0, np.int64))
        ascending = np.argsort(upper, kind="stable")
        place = np.empty_like(ascending)
        place[ascending] = np.arange(self.n)
        ordered_lower = np.sort(lower[ascending], kind="stable")  # nearly in order
        untouched = self._untouched = Untouched(upper, lower, slack, typical, upper[ascending], ordered_lower, place)
        return untouched

    def _reach(self, state: Neighbourhoods) -> np.ndarray:
        """Return the distances (n,) closer than which a test object is within a boundary, or at it."""
        return np.nextafter(state.boundary[: self.n], np.inf)

    def predict(self, X: np.ndarray, *, effort: Effort = FREE) -> np.ndarray:
        """Return the point predictions (m,)."""
        origin = self._best_origin()
        return self._predict(origin, X, effort=effort) + origin

    def _predict(self, origin: float, X: np.ndarray, **how: Any) -> np.ndarray:
        """Return the point predictions (m,), counted from the origin."""
        k, targets, out = self.k, self._targets, np.empty(X.shape[0])
        untouched = np.full(self.n, -np.inf)

        def screened(rows: np.ndarray, part: np.ndarray, *prepared: Any) -> None:
            predict_screened(rows, part, *prepared, k, targets, origin, out)

        def plain(rows: np.ndarray, _: np.ndarray, distances: np.ndarray) -> None:
            predict_plain(rows, distances, untouched, k, targets, origin, out)

        self.search.visit(screened, plain, self._store.arrange(X, self.order), untouched, **how)
        return out

    def affine(self, X: np.ndarray) -> Iterator[list[Piece]]:
        """Yield the one piece of every test object."""
        state, ones = self._settled(), np.ones(self.n)
        slack, centers = slack_of(self.targets() - state.origin), self._predict(state.origin, X)
        for row, center in zip(self._store.arrange(X, self.order), centers.tolist(), strict=True):
            distances = self._store.rows_from(row[None])[0]
            a, g = affine_of(distances, self.k, self._targets, state)[:, self.order]
            yield [Piece(-np.inf, np.inf, center, a - g * center, g, ones, slack)]

    def counts(
        self,
        X: np.ndarray,
        y: np.ndarray,
        *,
        within: Within = None,
        effort: Effort = FREE,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how many training scores are greater than and equal to the candidate's, and out of how many: (m,)."""
        if within is not None:
            return super().counts(X, y, within=within)
        m, k, targets, state = X.shape[0], self.k, self._targets, self._settled()
        objects, untouched, touch = self._store.objects, self._sizes(state, in_order=m >= FEW), self._reach(state)
        y, out = y - state.origin, np.empty((m, 2), np.int64)

        def screened(rows: np.ndarray, part: np.ndarray, *prepared: Any) -> None:
            count_screened(rows, part, *prepared, y, untouched, k, targets, state, out)

        def plain(rows: np.ndarray, part: np.ndarray, distances: np.ndarray) -> None:
            count_plain(rows, part, objects, distances, touch, y, untouched, k, targets, state, out)

        X = self._store.arrange(X, self.order)
        self.search.visit(screened, plain, X, touch, effort=effort)
        return out[:, 0], out[:, 1], np.full(m, self.n)

    def intervals(
        self,
        X: np.ndarray,
        thresholds: np.ndarray,
        *,
        within: Within = None,
        effort: Effort = FREE,
    ) -> np.ndarray:
        """Return the regions (m, 2), each one closed interval; nan where it is empty."""
        if within is not None:
            return hulls(super().regions(X, thresholds, within=within))
        k, targets, state, out = self.k, self._targets, self._settled(), np.empty((X.shape[0], 2))
        objects, untouched, touch = self._store.objects, self._sizes(state, in_order=True), self._reach(state)

        def screened(rows: np.ndarray, part: np.ndarray, *prepared: Any) -> None:
            bound_screened(rows, part, *prepared, thresholds, untouched, k, targets, state, out)

        def plain(rows: np.ndarray, part: np.ndarray, distances: np.ndarray) -> None:
            bound_plain(rows, part, objects, distances, touch, thresholds, untouched, k, targets, state, out)

        X = self._store.arrange(X, self.order)
        self.search.visit(screened, plain, X, touch, effort=effort)
        return counted_from_zero(out, state.origin)

    def regions(
        self,
        X: np.ndarray,
        thresholds: np.ndarray,
        *,
        within: Within = None,
        effort: Effort = FREE,
    ) -> list[np.ndarray]:
        """Return the regions as arrays (r, 2), r = 1 or 0."""
        bounds = self.intervals(X, thresholds, within=within, effort=effort)
        return [row[None][~np.isnan(row[:1])] for row in bounds]

    def _examples(self) -> Examples:
        """All that changes with one example."""
        return Examples(self._state, self._targets, self._order, self._store.room, self._crowd, self._category)

    def _successor(self, examples: Examples, n: int, **changed: Any) -> Self:
        """Return a bag of the first n of these examples."""
        state, targets, order, rows, crowd, category = examples
        codes = self.search.codes if self.search.codes.size >= n else np.zeros(2 * n, np.int64)
        arrays = {"_state": state, "_targets": targets, "_order": order, "_crowd": crowd, "_category": category}
        search = self.search.successor(self._store.shell(rows, n), codes, 1)
        bag: Self = twin(self, **arrays, search=search, **changed)
        bag._forget()
        return bag

    def fork(self) -> Self:
        """Return a bag with the same examples that may be changed; it copies its arrays if they will be overwritten."""
        return self._successor(self._examples(), self.n, _owns_arrays=False)

    def _own_arrays(self, needed: int) -> None:
        """Have arrays that nobody else reads, with room for so many examples."""
        room = self._targets.size
        if not self._owns_arrays or needed > room:
            room = room if needed <= room else max(needed, 2 * self.n)
            copied = _copied(self._examples(), room, is_matrix=self._store.is_matrix)
            vars(self).update(vars(self._successor(copied, self.n, _owns_arrays=True)))

    def _can_change(self, needed: int) -> bool:
        """Tell whether there is room for so many examples in arrays that may be overwritten."""
        return self._owns_arrays and needed <= self._targets.size and self._targets.flags.writeable

    def _restart(self, store: Store, targets: np.ndarray, order: np.ndarray, effort: Effort) -> None:
        """Make all neighbourhoods anew, of other examples."""
        self.search = self.search.successor(store, np.zeros(store.n, np.int64), 1)
        self._targets, self._order, self._owns_arrays = targets, order, True
        self.fill(effort=effort)

    def learn(self, X: np.ndarray, y: np.ndarray, *, effort: Effort = FREE) -> None:
        """Add examples; the state is then that of a fresh fit on all of them."""
        n, m = self.n, X.shape[0]
        self._store.check_new(X)
        X = np.ascontiguousarray(self._store.arrange(X, self.order))
        if m * MANY > n or self._most > n:
            order = np.concatenate([self.order, np.arange(n, n + m)])
            self._restart(self._store.extended(X), np.concatenate([self._targets[:n], y]), order, effort)
            return
        self._own_arrays(n + m)
        for i in range(m):
            self._commit(n + i + 1, commit_learning, *self._arrival(X[i : i + 1], float(y[i]), effort))
        self._changed()

    def unlearn(self, positions: np.ndarray, *, effort: Effort = FREE) -> None:
        """Forget the examples with these positions in the order of arrival; the rest keep their order."""
        n = self.n
        if positions.size * MANY > n or self._most > n - positions.size:
            kept = np.delete(self.order, positions)
            self._restart(self._store.kept(kept), self._targets[kept], np.arange(kept.size), effort)
            return
        self._own_arrays(n)
        for i, position in enumerate(np.sort(positions)[::-1].tolist()):
            self._commit(n - i - 1, commit_unlearning, *self._farewell(position, effort))
        self._changed()

    def _commit(self, n: int, commit: Callable[..., None], revised: Revised, *args: Any) -> None:
        """Change the arrays of a fork; n examples are then left."""
        commit(revised, *args, self._examples())
        self._store.n, self._crowds = n, revised.crowds

    def _changed(self) -> None:
        self._forget()
        codes = self.search.codes if self.search.codes.size >= self.n else np.zeros(2 * self.n, np.int64)
        self.search = self.search.successor(self._store, codes, 1)

    def learning(self, X: np.ndarray, y: np.ndarray) -> Change | None:
        """Prepare to learn one example in place; None if a fork should learn them."""
        n = self.n
        if X.shape[0] != 1 or n < MANY or self._most > n or not self._can_change(n + 1):
            return None
        self._store.check_new(X)
        x = np.ascontiguousarray(self._store.arrange(X, self.order))
        return self._change(n + 1, commit_learning, *self._arrival(x, float(y[0]), FREE))

    def unlearning(self, positions: np.ndarray) -> Change | None:
        """Prepare to forget one example in place; None if a fork should forget them."""
        n = self.n
        if positions.size != 1 or n < MANY or self._most > n - 1 or not self._can_change(n):
            return None
        return self._change(n - 1, commit_unlearning, *self._farewell(int(positions[0]), FREE))

    def _change(self, n: int, commit: Callable[..., None], *args: Any) -> Change:
        """Return the change that a compiled function makes to the examples, of which n are then left."""
        examples, is_matrix = self._examples(), self._store.is_matrix
        successor = self._successor(examples, n, _crowds=args[0].crowds)

        def apart() -> ResidualBag:
            copied = _copied(examples, examples.targets.size, is_matrix=is_matrix)
            commit(*args, copied)
            return successor._successor(copied, n)  # noqa: SLF001  (the bag as it is must not be held)

        return Change(successor, partial(commit, *args, examples), apart)

    def _arrival(self, x: np.ndarray, y: float, effort: Effort) -> tuple[Any, ...]:
        """Return what `commit_learning` wants to know of an example: with all neighbourhoods that it changes."""
        n, k, state = self.n, self.k, self._state
        distances, targets = self._store.rows_from(x)[0], np.append(self._targets[:n], y)
        slots = lists_with(distances, state)
        rows = _new_rows(slots.size + 1, state.values.shape[1], state.origin)
        short = revise_with(slots, distances, y, k, targets, state, rows)
        slots, short = np.append(slots, n), np.append(short, slots.size)
        self._scan(slots[short], short, rows, k, targets, beyond=distances, effort=effort)
        revised = self._revise(slots, rows, targets, effort, beyond=distances)
        return revised, n, x[0], y, self._store.is_matrix

    def _farewell(self, position: int, effort: Effort) -> tuple[Any, ...]:
        """Return what `commit_unlearning` wants to know of an example: with all neighbourhoods that it changes."""
        n, k, slot, state = self.n, self.k, int(self._order[position]), self._state
        distances = self._store.rows_within(slot, slot + 1)[0]
        slots = lists_without(distances, slot, state)
        rows = _new_rows(slots.size, state.values.shape[1], state.origin)
        short = revise_without(slots, distances, slot, k, self._targets, state, rows)
        self._scan(slots[short], short, rows, k, self._targets[:n], gone=slot, effort=effort)
        revised = self._revise(slots, rows, self._targets[:n], effort, gone=slot)
        return revised, position, n - 1, self._store.is_matrix

    def _revise(
        self,
        slots: np.ndarray,
        rows: Neighbourhoods,
        targets: np.ndarray,  # noqa: ARG002
        effort: Effort,  # noqa: ARG002
        *,
        gone: int = -1,  # noqa: ARG002
        beyond: np.ndarray | None = None,  # noqa: ARG002
    ) -> Revised:
        """Return revised neighbourhoods with what follows from them; `gone` and `beyond` as in `_scan`."""
        return Revised(slots, rows, self._crowd[:0], self._category[:0], self._crowds)


def _new_rows(size: int, width: int, origin: float) -> Neighbourhoods:
    """Room for some neighbourhoods."""
    values, partners = np.empty((2, size, width))
    lengths, inner_count, at_count = np.zeros((3, size), np.int64)
    boundary, inner_sum, at_sum, residual = np.empty((4, size))
    lists = values, partners, lengths, boundary
    return Neighbourhoods(*lists, inner_count, inner_sum, at_count, at_sum, residual, origin)


def _with_arrays(state: Neighbourhoods, new: Callable[[np.ndarray], np.ndarray]) -> Neighbourhoods:
    """Return neighbourhoods with other arrays, made of these."""
    return Neighbourhoods(*map(new, state[:-1]), state.origin)  # type: ignore[call-arg, arg-type]


def _copied(examples: Examples, room: int, *, is_matrix: bool) -> Examples:
    """Return a copy with room for so many examples."""
    targets, order, rows = (copied_with_room(array, room) for array in examples[1:4])
    return Examples(
        state=_with_arrays(examples.state, lambda array: copied_with_room(array, room)),
        targets=targets,
        order=order,
        rows=copied_with_room(rows, room, axis=1) if is_matrix else rows,
        crowd=copied_with_room(examples.crowd, room if examples.crowd.size else 0),
        category=copied_with_room(examples.category, room if examples.category.size else 0),
    )
