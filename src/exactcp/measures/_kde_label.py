"""The examples of one label in a KDE bag: their objects, and the sum of each one's kernels with the others (SPEC B)."""

from __future__ import annotations

import copy
import math

import numpy as np

from exactcp.kernels.kde_dense import Dense, prepare_dense, product_error
from exactcp.kernels.kde_kernels import log_kernels
from exactcp.kernels.kde_sums import FLOOR, Examples, log_of, lose_ranks, meet_all, sum_logs
from exactcp.kernels.kde_update import DIRECT, learn_logs, unlearn_logs
from exactcp.kernels.screen import Screen, prepare_training
from exactcp.kernels.ties import TOLERANCE, tie_bands
from exactcp.measures._store import with_room

NOTHING = np.empty(0)


class LabelExamples:
    """Objects of one label by slot, with room to grow, and their sums; removing moves the last one into the free slot.

    Parameters
    ----------
    objects : ndarray of shape (n, p)
    bandwidth : float
    kernel : int
        A code of `exactcp.kernels.kde_kernels`.

    Notes
    -----
    An example of a label meets the other examples of that label only, so a bag is one of these for each label.
    """

    def __init__(self, objects: np.ndarray, bandwidth: float, kernel: int) -> None:
        self._rows = np.array(objects, dtype=np.float64, order="C")
        self.n = objects.shape[0]
        self.bandwidth = bandwidth
        self.kernel = kernel
        self._top, self._total, self._error = np.full(self.n, -np.inf), np.zeros(self.n), np.zeros(self.n)
        self.changed()

    @property
    def objects(self) -> np.ndarray:
        """The stored objects by slot."""
        return self._rows[: self.n]

    def changed(self) -> None:
        """Forget what was derived from the objects and sums."""
        self._dense: Dense | None = None
        self._screen: Screen | None = None
        self._log: np.ndarray | None = None
        self._ordered: np.ndarray | None = None

    def log_sums(self) -> np.ndarray:
        """Log of each sum, -inf where it is empty."""
        if self._log is None:
            top, total = self._top[: self.n], self._total[: self.n]
            with np.errstate(divide="ignore"):
                self._log = np.where(total > 0, top, 0.0) + np.log(total)
        return self._log

    def examples(self, *, with_sums: bool) -> Examples:
        """Return what compiled code takes."""
        sums = (self._top[: self.n], self._total[: self.n], self.log_sums()) if with_sums else (NOTHING,) * 3
        return Examples(self.objects, self.bandwidth, self.kernel, *sums)

    def dense(self) -> Dense:
        """Return the objects prepared for blocks of kernels."""
        if self._dense is None:
            self._dense = prepare_dense(self.objects, self.bandwidth, self.kernel)
        return self._dense

    def screen(self) -> Screen:
        """Return the objects prepared for screening."""
        if self._screen is None:
            self._screen = prepare_training(self.objects, np.zeros(self.n, np.int64), 1)
        return self._screen

    def order(self) -> np.ndarray:
        """Return the log-sums in descending order, which is ascending in the score, and keep them sorted."""
        if self._ordered is None:
            self._ordered = np.sort(self.log_sums())[::-1]
        return self._ordered

    def rank(self, scores: np.ndarray, nu: int) -> tuple[np.ndarray, np.ndarray]:
        """Count the scores log(nu) - log-sum of the examples that are >= and > each of these scores."""
        lo, hi = tie_bands(scores, FLOOR, TOLERANCE)
        log_nu = math.log(nu) if nu > 0 else 0.0  # a single example has the density 0, whatever nu
        if self._ordered is None:
            own = log_nu - self.log_sums()
            return (own >= lo[:, None]).sum(axis=1), (own > hi[:, None]).sum(axis=1)
        own = log_nu - self._ordered
        return self.n - np.searchsorted(own, lo, side="left"), self.n - np.searchsorted(own, hi, side="right")

    def provisional_scores(self) -> np.ndarray:
        """Return the scores of the examples against each other, by slot: nu = N - 1 (SPEC B)."""
        return np.asarray(math.log(max(self.n - 1, 1)) - self.log_sums())

    def copy(self) -> LabelExamples:
        """Return a copy that can learn without changing this one: what it appends is not among this one's n."""
        other = copy.copy(self)
        vars(other).update({name: vars(self)[name].copy() for name in ("_top", "_total", "_error")})
        return other

    def set_sums(self, top: np.ndarray, total: np.ndarray) -> None:
        """Take sums that were made anew."""
        self._top, self._total = top, total
        self._error = (DIRECT if self._dense is None else max(DIRECT, product_error(self._dense))) * total
        self._log = self._ordered = None

    def append(self, objects: np.ndarray) -> None:
        """Store objects in new slots; their sums, and the others', have yet to be made."""
        needed = self.n + objects.shape[0]
        self._rows = with_room(self._rows, needed)
        self._rows[self.n : needed] = objects
        self.n = needed
        self.changed()

    def keep(self, slots: np.ndarray) -> None:
        """Keep these slots only, in this order; the sums have yet to be made."""
        self._rows = self._rows[slots]
        self.n = slots.size
        self.changed()

    def log_kernels(self, x: np.ndarray) -> np.ndarray:
        """Log kernels of an object with all examples."""
        logs = np.empty(self.n)
        log_kernels(x, self.objects, self.bandwidth, self.kernel, logs)
        return logs

    def count(self, logs: np.ndarray) -> tuple[float, int, int]:
        """Return the score of a candidate with these log kernels, and how many scores are >= and > it then."""
        if self.n == 0:
            return math.inf, 0, 0
        log_size, (top, total) = math.log(self.n), sum_logs(logs)
        score = log_size - top - float(np.log(total)) if total > 0 else math.inf
        at_least, above = self.rank(np.array([score]), self.n)
        lost = lose_ranks(logs, np.arange(self.n), self.examples(with_sums=True), log_size - log_of(top, total))
        return score, int(at_least[0]) - lost[0], int(above[0]) - lost[1]

    def learn(self, x: np.ndarray, logs: np.ndarray | None = None) -> None:
        """Add one example, whose log kernels with the others may be known."""
        logs = self.log_kernels(x) if logs is None else logs
        self._top, self._total, self._error = (
            with_room(array, self.n + 1) for array in (self._top, self._total, self._error)
        )
        learn_logs(logs, self._top, self._total, self._error)
        self.append(x[None])

    def unlearn(self, slot: int) -> None:
        """Forget the example of a slot; the last one moves there."""
        last = self.n - 1
        anew = unlearn_logs(self.log_kernels(self._rows[slot]), slot, self._top, self._total, self._error)
        for array in (self._rows, self._top, self._total, self._error):
            array[slot] = array[last]
        self.n = last
        anew[anew == last] = slot
        if anew.size:
            met = meet_all(self._rows[anew], anew, self.examples(with_sums=False))
            self._top[anew], self._total[anew], self._error[anew] = met.top, met.total, DIRECT * met.total
        self.changed()
