"""The bag of k-NN regression: neighbourhoods that learn and unlearn; only the touched are read (theory NN.9-11)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from exactcp._changes import Change
from exactcp._parallel import ALONE, FREE, Effort
from exactcp.counting.targets import SAMPLE_TARGETS, origin_of, slack_of, typical_size
from exactcp.measures._affine_bag import AffineBag, Piece, counted_from_zero, hulls
from exactcp.measures._contract import Within
from exactcp.measures.neighbours import _tuning
from exactcp.measures.neighbours._neighbourhood_bag import NeighbourhoodBag, with_arrays
from exactcp.measures.neighbours.kernels.means import Neighbourhoods, affine_of, write_predictions
from exactcp.measures.neighbours.kernels.residuals import Untouched, bound_residuals, count_residuals


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

    Notes
    -----
    Memory is O(n k) beside the objects. `fit` costs n^2/2 screened pairs, and n distances for an example with many
    others exactly as far as its k-th neighbour; a prediction n screened pairs and O(r log r + log n) for r touched
    examples; `learn` and `unlearn` n distances, and n for each example whose list runs short. One example changes the
    lists in place (`learning`, `unlearning`); several change a fork.
    """

    def _forget(self) -> None:
        """Forget what is derived from the neighbourhoods."""
        self._untouched: Untouched | None = None
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
        size, slack = np.abs(state.residual[: self.n]), slack_of(self._targets[: self.n] - state.origin)
        size[np.isinf(size)] = -np.inf  # a residual that a test object always changes
        upper, lower, typical = size + slack, size - slack, float(typical_size(self._some_targets() - state.origin))
        if not in_order:
            return Untouched(upper, lower, slack, typical, np.empty(0), np.empty(0), np.empty(0, np.int64))
        ascending = np.argsort(upper, kind="stable")
        rank = np.empty_like(ascending)
        rank[ascending[::-1]] = np.arange(self.n)
        ordered_lower = np.sort(lower[ascending], kind="stable")  # nearly in order
        untouched = self._untouched = Untouched(upper, lower, slack, typical, upper[ascending], ordered_lower, rank)
        return untouched

    def predict(self, X: np.ndarray, *, effort: Effort = FREE) -> np.ndarray:
        """Return the point predictions (m,)."""
        origin = self._best_origin()
        return self._predict(origin, X, effort=effort) + origin

    def _predict(self, origin: float, X: np.ndarray, **how: Any) -> np.ndarray:
        """Return the point predictions (m,), counted from the origin."""
        out = np.empty(X.shape[0])
        self.search.visit(write_predictions, X, self.order, None, self.k, self._targets, origin, out, **how)
        return out

    def affine(self, X: np.ndarray) -> Iterator[list[Piece]]:
        """Yield the one piece of every test object."""
        state, ones = self._settled(), np.ones(self.n)
        slack, centers = slack_of(self.targets() - state.origin), self._predict(state.origin, X)
        for row, center in zip(self._store.by_slot(X, self.order), centers.tolist(), strict=True):
            distances = self._store.rows_from(row[None])[0]
            a, g = affine_of(distances, self.k, self._targets, state)[:, self.order]
            yield [Piece(-np.inf, np.inf, center, a - g * center, g, ones, slack)]

    def counts(
        self, X: np.ndarray, y: np.ndarray, *, within: Within = None, effort: Effort = FREE
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return how many training scores are greater than and equal to the candidate's, and out of how many: (m,)."""
        if within is not None:
            return super().counts(X, y, within=within)
        m, state = X.shape[0], self._settled()
        untouched, out = self._sizes(state, in_order=m >= _tuning.KNOBS.few), np.empty((m, 2), np.int64)
        args = (y - state.origin, untouched, self.k, self._targets, state, out)
        self.search.visit(count_residuals, X, self.order, self._touch(), *args, effort=effort)
        return out[:, 0], out[:, 1], np.full(m, self.n)

    def streaming(self, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, Change] | None:
        """Return the counts of one example of a stream, and prepare to learn it in place; None if a fork should."""
        counts = np.zeros((1, 4), np.int64)
        counts[0, :2] = [count[0] for count in self.counts(X, y, effort=ALONE)[:2]]
        change = self.learning(X, y)  # only now: counting settles the origin of the sums that it changes
        return None if change is None else (counts, change)

    def intervals(
        self, X: np.ndarray, thresholds: np.ndarray, *, within: Within = None, effort: Effort = FREE
    ) -> np.ndarray:
        """Return the regions (m, 2), each one closed interval; nan where it is empty."""
        if within is not None:
            return hulls(super().regions(X, thresholds, within=within))
        state, out = self._settled(), np.empty((X.shape[0], 2))
        args = (thresholds, self._sizes(state, in_order=True), self.k, self._targets, state, out)
        self.search.visit(bound_residuals, X, self.order, self._touch(), *args, effort=effort)
        return counted_from_zero(out, state.origin)

    def regions(
        self, X: np.ndarray, thresholds: np.ndarray, *, within: Within = None, effort: Effort = FREE
    ) -> list[np.ndarray]:
        """Return the regions as arrays (r, 2), r = 1 or 0."""
        bounds = self.intervals(X, thresholds, within=within, effort=effort)
        return [row[None][~np.isnan(row[:1])] for row in bounds]
