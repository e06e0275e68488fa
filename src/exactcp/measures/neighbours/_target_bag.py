"""The bag of k-NN regression: neighbourhoods that learn and unlearn; only the touched are read (theory NN.9-11)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from exactcp._changes import Change
from exactcp._parallel import ALONE, FREE, Effort
from exactcp._rows import take_rows
from exactcp.counting.categories import Within, groups_of
from exactcp.counting.targets import SAMPLE_TARGETS, origin_of, slack_of, typical_size
from exactcp.measures._affine_bag import AffineBag, Piece, counted_from_zero, regions_of
from exactcp.measures.neighbours import _tuning
from exactcp.measures.neighbours._neighbourhood_bag import NeighbourhoodBag, with_arrays
from exactcp.measures.neighbours.kernels.means import Neighbourhoods, affine_of, write_predictions
from exactcp.measures.neighbours.kernels.ranked import merge_changes
from exactcp.measures.neighbours.kernels.residuals import Untouched, bound_residuals, count_residuals


def residual_sizes(
    residual: np.ndarray, targets: np.ndarray, typical: float, *, in_order: bool, earlier: Untouched | None = None
) -> Untouched:
    """Return the sizes of residuals of examples with these targets, counted from the origin; sorted if asked to be.

    Those `earlier` in order, of which not many may have changed since, are put in order sooner.
    """
    size, slack = np.abs(residual), slack_of(targets)
    size[np.isinf(size)] = -np.inf  # a residual that a test object always changes
    upper, lower = size + slack, size - slack
    if not in_order:
        return Untouched(upper, lower, slack, typical, np.empty(0), np.empty(0))
    if earlier is None:
        return Untouched(upper, lower, slack, typical, np.sort(upper), np.sort(lower))
    ordered = _sorted_again(upper, earlier.upper, earlier.ordered_upper)
    return Untouched(upper, lower, slack, typical, ordered, _sorted_again(lower, earlier.lower, earlier.ordered_lower))


def _sorted_again(values: np.ndarray, before: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Return values in order, given what they were by slot, and that in order."""
    common = min(values.size, before.size)
    changed = np.flatnonzero(values[:common] != before[:common])
    if changed.size * _tuning.KNOBS.many > values.size:
        return np.sort(values)
    gone, come = (np.sort(np.concatenate([own[changed], own[common:]])) for own in (before, values))
    out = np.empty(values.size)
    merge_changes(ordered, gone, come, out)
    return out


def residuals_among(everyone: Untouched, is_member: np.ndarray) -> Untouched:
    """Return the same of these examples only, by slot; all others are smaller than anything."""
    upper, lower = np.where(is_member, everyone.upper, -np.inf), np.where(is_member, everyone.lower, -np.inf)
    some = everyone._replace(upper=upper, lower=lower, ordered_upper=np.empty(0), ordered_lower=np.empty(0))
    if not everyone.ordered_upper.size:
        return some
    return some._replace(ordered_upper=np.sort(upper[is_member]), ordered_lower=np.sort(lower[is_member]))


class ResidualBag(NeighbourhoodBag, AffineBag):
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
    search : str
        By trees, by products, or by what is faster.

    Notes
    -----
    Memory is O(n k) beside the objects. `fit` costs n^2/2 screened pairs, and n distances for an example with many
    others exactly as far as its k-th neighbour; a prediction n screened pairs and O(r log r + log n) for r touched
    examples; `learn` and `unlearn` n distances, and n for each example whose list runs short. One example changes the
    lists in place (`learning`, `unlearning`); several change a fork. When enough has been asked and changed, trees
    follow: what an example costs then depends on the lists that it changes, but for O(n) to have sizes in order again.
    """

    _untouched: Untouched | None = None
    _earlier: Untouched | None = None  # before the examples changed

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_untouched": None, "_earlier": None}

    def _forget(self) -> None:
        """Forget what is derived from the neighbourhoods, but for an order of sizes that the next may be made from."""
        super()._forget()
        self._earlier = self._untouched or self._earlier
        self._untouched = None
        self._has_origin = False  # the sums are counted from where they should be

    def targets(self) -> np.ndarray:
        """Targets of the examples in the order of arrival."""
        return self._targets[self.order]

    def origin(self) -> float:
        """Return what targets are counted from in sums and pieces."""
        return float(self._settled().origin)

    def _some_targets(self) -> np.ndarray:
        """Return targets that tell what is typical, in the order of arrival."""
        return self._targets[self.order[:: max(1, self.n // SAMPLE_TARGETS)]]

    def _best_origin(self) -> float:
        return float(origin_of(self._some_targets()))

    def _settled(self) -> Neighbourhoods:
        """Return the neighbourhoods, with sums that are counted from the best origin of the present targets."""
        if not self._has_origin:
            state, origin = self._state, self._best_origin()
            if origin != state.origin:
                state = with_arrays(state, np.copy)._replace(origin=origin)
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

    def _sizes(self, state: Neighbourhoods, *, in_order: bool) -> Untouched:
        """Return the sizes of the residuals, sorted if they have been or are asked to be."""
        if self._untouched is not None:
            return self._untouched
        typical = float(typical_size(self._some_targets() - state.origin))
        residual, targets = state.residual[: self.n], self._targets[: self.n] - state.origin
        untouched = residual_sizes(residual, targets, typical, in_order=in_order, earlier=self._earlier)
        if in_order:
            self._untouched, self._earlier = untouched, None
        return untouched

    def _residuals_among(self, state: Neighbourhoods, among: np.ndarray | None, *, in_order: bool) -> Untouched:
        """Return the same of these examples only, in the order of arrival; all others are smaller than anything."""
        everyone = self._sizes(state, in_order=in_order)
        if among is None:
            return everyone
        is_member = np.zeros(self.n, bool)
        is_member[self.order[among]] = True
        return residuals_among(everyone, is_member)

    def _visit_among(
        self, among: np.ndarray | None, work: Callable[..., None], X: np.ndarray, *args: Any, effort: Effort
    ) -> None:
        """Let rows meet the examples; with some of these given, nothing touches the others, and trees know of none."""
        if among is None:
            self.visit(work, X, *args, touched=True, effort=effort)
            return
        touch, slots = np.full(self.n, -np.inf), self.order[among]
        touch[slots] = self._touch()[slots]
        self.search.visit(work, X, self._order, touch, *args, effort=effort)

    def predict(self, X: np.ndarray, *, effort: Effort = FREE) -> np.ndarray:
        """Return the point predictions (m,)."""
        origin, out = self._best_origin(), np.empty(X.shape[0])
        self.visit(write_predictions, X, self.k, self._targets, origin, out, touched=False, effort=effort)
        return out + origin

    def affine(self, X: np.ndarray) -> Iterator[list[Piece]]:
        """Yield the one piece of every test object."""
        state, ones, predicted = self._settled(), np.ones(self.n), np.empty(1)
        slack = slack_of(self.targets() - state.origin)
        self._store.check_new(X)
        for row in self._store.by_slot(X, self._order):
            distances = self._store.rows_from(row[None])
            self.search.meet_at(write_predictions, distances, self.k, self._targets, state.origin, predicted)
            center = float(predicted[0])
            a, g = affine_of(distances[0], self.k, self._targets, state).take(self.order, axis=1)  # each contiguous
            yield [Piece(-np.inf, np.inf, center, a - g * center, g, ones, slack)]

    def counts(
        self, X: np.ndarray, y: np.ndarray, *, within: Within | None = None, effort: Effort = FREE
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how many training scores are greater than and equal to the candidate's, and out of how many: (m,)."""
        m, state = X.shape[0], self._settled()
        in_order = self.search.rows_asked + m >= _tuning.KNOBS.few or self.search.route.name == "tree"
        out, y = np.empty((m, 2), np.int64), y - state.origin
        for rows, among in groups_of(within, m):
            untouched = self._residuals_among(state, among, in_order=in_order)
            part = np.empty((rows.size, 2), np.int64)
            args = (y[rows], untouched, self.k, self._targets, state, part)
            self._visit_among(among, count_residuals, X if among is None else take_rows(X, rows), *args, effort=effort)
            out[rows] = part
        return out[:, 0], out[:, 1], np.full(m, self.n) if within is None else within.sizes

    def streaming(self, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, Change] | None:
        """Return the counts of one example of a stream, and prepare to learn it in place; None if a fork should."""
        counts = np.zeros((1, 4), np.int64)
        counts[0, :2] = [count[0] for count in self.counts(X, y, effort=ALONE)[:2]]
        change = self.learning(X, y)  # only now: counting settles the origin of the sums that it changes
        return None if change is None else (counts, change)

    def intervals_at(
        self, X: np.ndarray, thresholds: np.ndarray, *, within: Within | None = None, effort: Effort = FREE
    ) -> np.ndarray:
        """Return the regions (m, 2, levels), each one closed interval; nan where it is empty."""
        state, out = self._settled(), np.empty((*thresholds.shape, 2))
        for rows, among in groups_of(within, X.shape[0]):
            untouched, part = self._residuals_among(state, among, in_order=True), np.empty((rows.size, *out.shape[1:]))
            args = (thresholds[rows], untouched, self.k, self._targets, state, part)
            self._visit_among(among, bound_residuals, X if among is None else take_rows(X, rows), *args, effort=effort)
            out[rows] = part
        return counted_from_zero(out.reshape(-1, 2), state.origin).reshape(out.shape).transpose(0, 2, 1)

    def regions_at(
        self, X: np.ndarray, thresholds: np.ndarray, *, within: Within | None = None, effort: Effort = FREE
    ) -> list[list[np.ndarray]]:
        """Return the regions as arrays (r, 2), r = 1 or 0."""
        return regions_of(self.intervals_at(X, thresholds, within=within, effort=effort))
