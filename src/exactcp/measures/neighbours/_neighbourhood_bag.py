"""Bags of neighbourhoods: who is near every example, kept while examples come and go (theory NN.9, NN.10)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple, Self

import numpy as np

from exactcp._changes import Bag, Change, twin
from exactcp._parallel import FREE, Effort, Result, map_blocks
from exactcp.geometry.measured import FunctionStore
from exactcp.geometry.objects import Store, copied_with_room, has_room_for, remembering
from exactcp.measures.neighbours import _tuning
from exactcp.measures.neighbours._filling import fill_all
from exactcp.measures.neighbours._search import NO_TOUCH, NeighbourSearch
from exactcp.measures.neighbours._standing import FollowedTrees, Prepared, copied_trees, follow_from, is_outgrown
from exactcp.measures.neighbours._trees import are_near, no_balls
from exactcp.measures.neighbours.kernels.fill import new_lists
from exactcp.measures.neighbours.kernels.means import Neighbourhoods, put_rows, scan, sum_up_lists
from exactcp.measures.neighbours.kernels.neighbourhood_trees import (
    can_take,
    commit_arrival_into_trees,
    commit_departure_from_trees,
    concerned_by,
    entrances_of,
    scan_by_trees,
)
from exactcp.measures.neighbours.kernels.neighbourhoods import (
    NeighbourhoodArrays,
    Revised,
    commit_arrival,
    commit_departure,
    lists_with,
    lists_without,
    revise,
)
from exactcp.measures.neighbours.kernels.standing import Standing
from exactcp.measures.neighbours.kernels.tree_members import MemberTrees
from exactcp.measures.neighbours.kernels.votes import NO_CATEGORIES, Categories


class Company(NamedTuple):
    """The examples that neighbourhoods are made of, while one of them comes or goes."""

    targets: np.ndarray  # by slot; one more than there are examples if one comes
    distances: np.ndarray  # (n,) of the others to the one that comes or goes: with trees, of those that it concerns
    x: np.ndarray = NO_TOUCH  # the one that comes, where there are trees
    gone: int = -1  # slot of the one that goes
    standing: Standing | None = None  # trees that tell who is near


class NeighbourhoodBag(Bag):
    """The sorted distances of each example to its nearest, with their targets; one example changes them in place.

    A subclass says what targets are counted from, what follows from a neighbourhood, and what is forgotten with a
    change.
    """

    _state: Neighbourhoods  # after `fill`
    _touches: np.ndarray | None = None
    _trees: FollowedTrees | None = None  # which have followed changes
    _forgets = False  # whether an example has been unlearned: lists then have a longer reserve

    def __init__(self, store: Store, targets: np.ndarray, order: np.ndarray, *, k: int, search: str = "auto") -> None:
        self._wanted_k = k
        self._order = order
        self._targets = np.array(targets, dtype=np.float64)
        self.search = NeighbourSearch(store, np.zeros(store.n, np.int64), 1, search)
        self._owns_arrays = True  # nobody else reads them
        self._categories = NO_CATEGORIES
        self._forget()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_trees": None, "_touches": None}  # quickly made anew

    def _forget(self) -> None:
        """Forget what is derived from the neighbourhoods."""
        self._touches = None

    def _best_origin(self) -> float:
        """Return what targets should be counted from in sums."""
        return 0.0

    def _categorised(
        self,
        slots: np.ndarray,  # noqa: ARG002
        rows: Neighbourhoods,  # noqa: ARG002
        company: Company,  # noqa: ARG002
        effort: Effort,  # noqa: ARG002
    ) -> Categories:
        """Return the categories that follow from the neighbourhoods `rows` of some slots."""
        return NO_CATEGORIES

    n = property(attrgetter("search.store.n"), doc="Number of examples.")

    @property
    def k(self) -> int:
        """Number of neighbours in use."""
        return min(self._wanted_k, self.n)

    @property
    def order(self) -> np.ndarray:
        """Slot of each example, in the order of arrival."""
        return self._order[: self.n]

    _store = property(attrgetter("search.store"))

    def fill(self, *, effort: Effort = FREE) -> Self:
        """Make all neighbourhoods anew from the stored examples."""
        with remembering(self._store):
            self._fill(effort)
        return self

    def _fill(self, effort: Effort) -> None:
        n, k = self.n, self.k
        lists = new_lists(1, n, _tuning.KNOBS.width(k, forgets=self._forgets), with_partners=True)
        fill_all(self.search, lists, k + _tuning.KNOBS.reserve, effort=effort)
        partners = self._targets[lists.partners[0]]  # where a list ends they are of slot 0, and nobody looks
        state = new_rows(n, 0, self._best_origin())
        state = state._replace(values=lists.values[0], partners=partners, lengths=lists.lengths[0])
        self._sum_up(state, effort)
        self._forget()
        self._state, self._trees = state, None

    def _sum_up(self, state: Neighbourhoods, effort: Effort) -> None:
        """Make the sums of all lists, and those lists anew that do not suffice."""
        company = Company(self._targets[: self.n], NO_TOUCH)
        short = sum_up_lists(self.n, self.k, company.targets, state)
        self._make_anew(short, np.arange(self.n), state, company, effort)

    def _make_anew(
        self, short: np.ndarray, slots: np.ndarray, rows: Neighbourhoods, company: Company, effort: Effort
    ) -> None:
        """Make the rows `short` of the neighbourhoods `rows` of some slots anew, from the distances to all."""
        targets, width = company.targets, rows.values.shape[1]
        if company.standing is not None:
            made = new_rows(short.size, width, rows.origin)
            objects = self._store.objects
            x = company.x.astype(objects.dtype, copy=False)  # nobody comes if they differ
            args = (slots[short], x, company.gone, company.distances, targets, self.k, objects)
            scan_by_trees(*args, company.standing, made)
            put_rows(made, short, rows)
            return

        def make(part: np.ndarray, distances: np.ndarray, first: int) -> None:
            made = new_rows(part.size, width, rows.origin)
            scan(part, targets[part], company.gone, distances, targets, self.k, made)
            put_rows(made, short[first : first + part.size], rows)

        self._visit_all(make, slots[short], company, effort)

    def _visit_all(
        self,
        work: Callable[[np.ndarray, np.ndarray, int], Any],
        slots: np.ndarray,
        company: Company,
        effort: Effort,
    ) -> list[Any]:
        """Apply `work` to parts of the slots, their distances to all, and which of the slots is the first of a part."""
        n = self.n
        size = max(1, _tuning.KNOBS.block_bytes // (8 * n))

        def visit(first: int) -> Any:
            part = slots[first : first + size]
            distances = np.empty((part.size, company.targets.size))
            for r, i in enumerate(part.tolist()):
                distances[r, :n] = self._store.rows_within(i, i + 1)[0] if i < n else self._distances_to_all(company)
            if company.targets.size > n:
                distances[:, n] = np.append(company.distances, 0.0)[part]
            return work(part, distances, first)

        if isinstance(self._store, FunctionStore):
            effort = effort.alone()  # so that no two threads measure the same pair
        return map_blocks(visit, range(0, slots.size, size), effort=effort)

    def _distances_to_all(self, company: Company) -> np.ndarray:
        """Return the distances of all others to the one that comes."""
        known = company.distances
        return known if company.standing is None else self._store.rows_from(company.x[None])[0]

    def _touch(self) -> np.ndarray:
        """Return the distances (n,) closer than which a test object is within a boundary, or at it.

        It is the same array until something changes.
        """
        touches = self._touches
        if touches is None:
            touches = self._touches = np.nextafter(self._state.boundary[: self.n], np.inf)
        return touches

    def visit(self, work: Callable[..., Result], X: np.ndarray, *args: Any, touched: bool, **how: Any) -> list[Result]:
        """Let blocks of rows of X meet the examples, by trees if the search has chosen them; see its `visit`."""
        treed = self._trees_followed(X, touched=touched)
        touch = NO_TOUCH if treed is not None else self._touch() if touched else None
        if treed is None:
            treed = self.search.treed(X.shape[0], touch)
        return self.search.visit(work, X, self._order, touch, *args, treed=treed, **how)

    def _trees_followed(self, X: np.ndarray, *, touched: bool) -> MemberTrees | None:
        """Return the trees that have followed all changes, if they serve these rows."""
        if self._trees is None or not self.search.serves(X.shape[0]):
            return None
        (near, _, loose, _), following = self._trees
        if not are_near(np.asarray(X), near).all():
            return None
        return MemberTrees(
            near, following.balls if touched else no_balls(near.grove.points.shape[1]), loose, following.limits
        )

    def _followed(self) -> FollowedTrees | None:
        """Return trees that can follow the next change, grown if they pay; None: it is made without any."""
        search, trees = self.search, self._trees
        if search.route.name != "tree" or self.n - 2 <= self._state.values.shape[1]:
            return None
        if trees is not None and not is_outgrown(trees[1]):
            return trees
        if not search.is_worth_trees(1 + search.credit):
            return None
        return follow_from(search.near(), entrances_of(self.n, self._state))

    def _arrays(self) -> NeighbourhoodArrays:
        """All that changes with one example."""
        return NeighbourhoodArrays(self._state, self._targets, self._order, self._store.room, self._categories)

    def _successor(self, arrays: NeighbourhoodArrays, store: Store, **changed: Any) -> Self:
        """Return a bag of as many of these examples as the store has."""
        state, targets, order, rows, categories = arrays
        search = self.search.successor(store.shell(rows), self._one_label(store.n), 1)
        own = {"_state": state, "_targets": targets, "_order": order, "_categories": categories}
        changed = {"_trees": None, **changed, **own}
        bag: Self = twin(self, search=search, **changed)
        bag._forget()
        return bag

    def _one_label(self, n: int) -> np.ndarray:
        """Return label codes for n examples at least, which all have the same."""
        return self.search.codes if self.search.codes.size >= n else np.zeros(2 * n, np.int64)

    def fork(self) -> Self:
        """Return a bag with the same examples that may be changed; it copies its arrays if they will be overwritten."""
        return self._successor(self._arrays(), self._store, _owns_arrays=False, _trees=self._trees)

    def _own_arrays(self, needed: int, X: np.ndarray | None = None) -> None:
        """Have arrays that nobody else reads, with room for so many examples, and for X among them."""
        room, fits = self._targets.size, X is None or has_room_for(self._store, X)
        if not self._owns_arrays or needed > room or not fits:
            room = room if needed <= room else max(needed, 2 * self.n)
            wide = None if fits else np.dtype(np.float64)
            copied = _copied_arrays(self._arrays(), room, is_matrix=self._store.is_matrix, dtype=wide)
            trees = copied_trees(self._trees)
            vars(self).update(vars(self._successor(copied, self._store, _owns_arrays=True, _trees=trees)))

    def _expect_to_forget(self) -> None:
        """Have lists with a longer reserve, from the first example on that is unlearned."""
        self._forgets, state = True, self._state
        width = _tuning.KNOBS.width(self.k, forgets=True)
        if state.values.shape[1] < width:
            values, partners = (copied_with_room(array, width, axis=1) for array in (state.values, state.partners))
            self._state = state._replace(values=values, partners=partners)

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
        X = np.ascontiguousarray(self._store.by_slot(X, self._order))
        if m * _tuning.KNOBS.many > n or self._wanted_k > n:
            order = np.concatenate([self.order, np.arange(n, n + m)])
            self._restart(self._store.extended(X), np.concatenate([self._targets[:n], y]), order, effort)
            return
        self._own_arrays(n + m, X)
        for i in range(m):
            x = X[i : i + 1]
            self._commit(self._store.arrived(x), *self._arrival(x, float(y[i]), effort))
        self._forget()

    def unlearn(self, positions: np.ndarray, *, effort: Effort = FREE) -> None:
        """Forget the examples with these positions in the order of arrival; the rest keep their order."""
        n = self.n
        if positions.size * _tuning.KNOBS.many > n or self._wanted_k > n - positions.size:
            self._forgets = True
            kept = np.delete(self.order, positions)
            self._restart(self._store.kept(kept), self._targets[kept], np.arange(kept.size), effort)
            return
        self._own_arrays(n)
        self._expect_to_forget()
        for position in np.sort(positions)[::-1].tolist():
            departed = self._store.departed(int(self._order[position]))
            self._commit(departed, *self._departure(position, effort))
        self._forget()

    def _commit(self, store: Store, revised: Revised, prepared: Prepared) -> None:
        """Change the arrays of a fork, whose objects are then in this store."""
        arrays = self._arrays()
        prepared.on(arrays, prepared.trees)()
        self._categories, self._trees = _after(revised, arrays).categories, prepared.trees
        self.search = self.search.successor(store, self._one_label(store.n), 1)

    def learning(self, X: np.ndarray, y: np.ndarray) -> Change | None:
        """Prepare to learn one example in place; None if a fork should learn them."""
        n = self.n
        if X.shape[0] != 1 or n < _tuning.KNOBS.many or self._wanted_k > n or not self._can_change(n + 1):
            return None
        self._store.check_new(X)
        x = np.ascontiguousarray(self._store.by_slot(X, self._order))
        if not has_room_for(self._store, x):
            return None
        return self._change(self._store.arrived(x), *self._arrival(x, float(y[0]), FREE))

    def unlearning(self, positions: np.ndarray) -> Change | None:
        """Prepare to forget one example in place; None if a fork should forget them."""
        n = self.n
        if positions.size != 1 or n < _tuning.KNOBS.many or self._wanted_k > n - 1 or not self._can_change(n):
            return None
        if not self._forgets:
            return None
        departed = self._store.departed(int(self._order[positions[0]]))
        return self._change(departed, *self._departure(int(positions[0]), FREE))

    def _change(self, store: Store, revised: Revised, prepared: Prepared) -> Change:
        """Return the change that a compiled function makes to the arrays; the objects are then in this store."""
        arrays, is_matrix = self._arrays(), self._store.is_matrix
        successor = self._successor(_after(revised, arrays), store, _trees=prepared.trees)

        def apart() -> NeighbourhoodBag:  # self must not be held
            copied, trees = _copied_arrays(arrays, arrays.targets.size, is_matrix=is_matrix), prepared.trees_apart()
            prepared.on(copied, trees)()
            return successor._successor(_after(revised, copied), store, _trees=trees)  # noqa: SLF001

        return Change(successor, prepared.on(arrays, prepared.trees), apart)

    def _arrival(self, x: np.ndarray, y: float, effort: Effort) -> tuple[Revised, Prepared]:
        """Return all neighbourhoods that an example changes when it comes, and what puts it and them into arrays."""
        n, state, store, trees = self.n, self._state, self._store, self._followed()
        targets, coordinates = np.append(self._targets[:n], y), _room_for_coordinates(2, trees)
        if trees is not None and can_take(x[0], trees[0], coordinates[0]):
            distances = np.empty(n)
            slots = concerned_by(x[0], -1, store.objects, state, *trees, distances)
            company = Company(targets, distances, x[0], standing=trees[0])
        else:
            trees, distances = None, store.rows_from(x)[0]
            slots, company = lists_with(distances, state), Company(targets, distances)
        rows = new_rows(slots.size + 1, state.values.shape[1], state.origin)
        short = revise(slots, distances, y, 1, self.k, targets, state, rows)
        slots, short = np.append(slots, n), np.append(short, slots.size)
        revised = self._revised(short, slots, rows, company, effort)
        if trees is not None:
            return revised, Prepared(partial(commit_arrival_into_trees, revised, n, x[0], y, *coordinates), trees)
        return revised, Prepared(partial(commit_arrival, revised, n, store.as_rows(x)[0], y, store.is_matrix))

    def _departure(self, position: int, effort: Effort) -> tuple[Revised, Prepared]:
        """Return all neighbourhoods that an example changes when it goes, and what puts them into arrays."""
        n, slot, state, store, trees = self.n, int(self._order[position]), self._state, self._store, self._followed()
        with remembering(store):
            if trees is not None:
                distances = np.empty(n)
                slots = concerned_by(store.objects[slot], slot, store.objects, state, *trees, distances)
                company = Company(self._targets[:n], distances, gone=slot, standing=trees[0])
            else:
                distances = store.rows_within(slot, slot + 1)[0]
                slots, company = lists_without(distances, slot, state), Company(self._targets[:n], distances, gone=slot)
            rows = new_rows(slots.size, state.values.shape[1], state.origin)
            short = revise(slots, distances, self._targets[slot], -1, self.k, self._targets, state, rows)
            revised = self._revised(short, slots, rows, company, effort)
        if trees is not None:
            spare = _room_for_coordinates(1, trees)[0]
            return revised, Prepared(partial(commit_departure_from_trees, revised, position, n - 1, spare), trees)
        return revised, Prepared(partial(commit_departure, revised, position, n - 1, store.is_matrix))

    def _revised(
        self, short: np.ndarray, slots: np.ndarray, rows: Neighbourhoods, company: Company, effort: Effort
    ) -> Revised:
        """Return revised neighbourhoods with what follows from them, when those that run short are made anew."""
        with remembering(self._store):
            self._make_anew(short, slots, rows, company, effort)
            return Revised(slots, rows, self._categorised(slots, rows, company, effort))


def new_rows(size: int, width: int, origin: float) -> Neighbourhoods:
    """Room for some neighbourhoods."""
    values, partners = np.empty((2, size, width))
    lengths, inner_count, at_count = np.zeros((3, size), np.int64)
    boundary, inner_sum, at_sum, residual = np.zeros((4, size))
    lists = values, partners, lengths, boundary
    return Neighbourhoods(*lists, inner_count, inner_sum, at_count, at_sum, residual, origin)


def with_arrays(state: Neighbourhoods, new: Callable[[np.ndarray], np.ndarray]) -> Neighbourhoods:
    """Return neighbourhoods with other arrays, made of these."""
    return Neighbourhoods(*map(new, state[:-1]), state.origin)  # type: ignore[call-arg, arg-type]


def _room_for_coordinates(rows: int, trees: FollowedTrees | None) -> np.ndarray:
    """Return room for the coordinates of rows in trees."""
    return np.empty((rows, 0 if trees is None else trees[0].near.grove.points.shape[1]), np.float32)


def _after(revised: Revised, arrays: NeighbourhoodArrays) -> NeighbourhoodArrays:
    """Return the arrays, with the crowds that the categories revised in them count in."""
    return arrays._replace(categories=arrays.categories._replace(crowds=revised.categories.crowds))


def _copied_arrays(
    arrays: NeighbourhoodArrays, room: int, *, is_matrix: bool, dtype: np.dtype[Any] | None = None
) -> NeighbourhoodArrays:
    """Return a copy with room for so many examples, and the objects in this precision if it is given."""
    targets, order = copied_with_room(arrays.targets, room), copied_with_room(arrays.order, room)
    rows = copied_with_room(arrays.rows, room, dtype=dtype)
    category, crowd, crowds = arrays.categories
    return NeighbourhoodArrays(
        state=with_arrays(arrays.state, lambda array: copied_with_room(array, room)),
        targets=targets,
        order=order,
        rows=copied_with_room(rows, room, axis=1) if is_matrix else rows,
        categories=Categories(
            copied_with_room(category, room if category.size else 0),
            copied_with_room(crowd, room if crowd.size else 0),
            crowds,
        ),
    )
