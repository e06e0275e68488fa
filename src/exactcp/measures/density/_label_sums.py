"""The examples of one label in a KDE bag: their objects, and each one's sum of kernels with the others (theory DE)."""

from __future__ import annotations

import math

import numpy as np

from exactcp._changes import twin
from exactcp._growing import Rows
from exactcp.counting.ties import TOLERANCE, tie_bands
from exactcp.geometry.screen import Screen, prepare_training
from exactcp.measures.density.kernels.dense import Dense, prepare_dense, product_error
from exactcp.measures.density.kernels.learning import DIRECT, Sums, new_sums
from exactcp.measures.density.kernels.log_sums import (
    EVERYONE,
    LOG_FLOOR,
    SummedExamples,
    empty_sums,
)
from exactcp.measures.density.small import learn_logs, log_kernels, sum_all_pairs, sum_known, unlearn_logs

NOTHING = np.empty(0)
# whose squares still neither overflow nor vanish
MOST_BANDWIDTHS, NARROWEST_BANDWIDTH = 1e150, 1e-150


def check_bandwidth(X: np.ndarray, bandwidth: float) -> None:
    """Refuse objects that are too large or too small to be measured in bandwidths."""
    largest = float(np.abs(X).max()) if X.size else 0.0
    if largest / bandwidth > MOST_BANDWIDTHS:
        msg = (
            f"X has values up to {largest:.3g}, and squares of {largest / bandwidth:.3g} bandwidths overflow: scale X, "
            f"or use a bandwidth above {largest / MOST_BANDWIDTHS:.3g}."
        )
        raise ValueError(msg)
    if bandwidth < NARROWEST_BANDWIDTH:
        msg = (
            f"bandwidth={bandwidth:g} is so small that its square vanishes: scale X, and use one above "
            f"{NARROWEST_BANDWIDTH:g}."
        )
        raise ValueError(msg)


class LabelExamples:
    """Objects of one label by slot, and their sums; removing moves the last one into the free slot.

    Arrays that it holds are never changed but replaced, so that copies share them.

    Parameters
    ----------
    objects : ndarray of shape (n, p)
    bandwidth : float
    kernel : int
        A code of `exactcp.measures.density.kernels.kernel_functions`.

    Notes
    -----
    An example's sum is over the other examples of its label only, so a bag is one of these for each label. Where some
    of the label are elsewhere, in other shards, the sums are over these, too.
    """

    elsewhere: int = 0  # examples of the label

    def __init__(self, objects: np.ndarray, bandwidth: float, kernel: int) -> None:
        check_bandwidth(objects, bandwidth)
        self._rows = Rows(np.array(objects, dtype=np.float64, order="C"))
        self.bandwidth = bandwidth
        self.kernel = kernel
        n = objects.shape[0]
        self._sums = Sums(np.full(n, -np.inf), np.zeros(n), np.zeros(n))
        self.changed()

    def fork(self) -> LabelExamples:
        """Return the same examples, which may be changed while others read these."""
        return twin(self, _rows=self._rows.fork())

    @property
    def n(self) -> int:
        """Number of examples."""
        return self._rows.n

    @property
    def size(self) -> int:
        """Number of examples of the label, here and elsewhere."""
        return self.n + self.elsewhere

    @property
    def objects(self) -> np.ndarray:
        """The stored objects by slot."""
        return self._rows.array

    def changed(self) -> None:
        """Forget what was derived from the objects and sums."""
        self._dense: Dense | None = None
        self._screen: Screen | None = None
        self._log: np.ndarray | None = None
        self._ordered: np.ndarray | None = None

    def log_sums(self) -> np.ndarray:
        """Log of each sum, -inf where it is empty."""
        if self._log is None:
            top, total, _ = self._sums
            with np.errstate(divide="ignore"):
                self._log = np.where(total > 0, top, 0.0) + np.log(total)
        return self._log

    def examples(self, *, with_sums: bool) -> SummedExamples:
        """Return what compiled code takes."""
        top, total, log = (*self._sums[:2], self.log_sums()) if with_sums else (NOTHING,) * 3
        return SummedExamples(self.objects, self.bandwidth, self.kernel, top, total, log, self.size)

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
        lo, hi = tie_bands(scores, LOG_FLOOR, TOLERANCE)
        log_nu = math.log(nu) if nu > 0 else 0.0  # a single example has the density 0, whatever nu
        if self._ordered is None:
            own = log_nu - self.log_sums()
            return (own >= lo[:, None]).sum(axis=1), (own > hi[:, None]).sum(axis=1)
        own = log_nu - self._ordered
        return self.n - np.searchsorted(own, lo, side="left"), self.n - np.searchsorted(own, hi, side="right")

    def provisional_scores(self) -> np.ndarray:
        """Return the scores of the examples against each other, by slot: nu = N - 1 (theory DE.3)."""
        return np.asarray(math.log(max(self.size - 1, 1)) - self.log_sums())

    def set_sums(self, top: np.ndarray, total: np.ndarray) -> None:
        """Take sums that were made anew."""
        error = DIRECT if self._dense is None else max(DIRECT, product_error(self._dense))
        self._sums = Sums(top, total, error * total)
        self._log = self._ordered = None

    def append(self, objects: np.ndarray) -> None:
        """Store objects in new slots; their sums, and the others', have yet to be made."""
        self._rows.append(objects)
        self.changed()

    def keep(self, slots: np.ndarray) -> None:
        """Keep these slots only, in this order; the sums have yet to be made."""
        self._rows.keep(slots)
        self.changed()

    def log_kernels(self, x: np.ndarray) -> np.ndarray:
        """Log kernels of an object with all examples."""

        def between(objects: np.ndarray) -> np.ndarray:
            logs = np.empty(objects.shape[0])
            log_kernels(x, objects, self.bandwidth, self.kernel, logs)
            return logs

        return self._rows.values(between)

    def count(self, logs: np.ndarray) -> tuple[float, int, int]:
        """Return the score of a candidate with these log kernels, and how many scores are >= and > it then."""
        if self.n == 0:
            return math.inf, 0, 0
        sums = empty_sums(1)
        sum_known(logs, self.examples(with_sums=True), sums)
        top, total = sums.top[0], sums.total[0]
        score = math.log(self.n) - top - float(np.log(total)) if total > 0 else math.inf
        at_least, above = self.rank(np.array([score]), self.n)
        return score, int(at_least[0] + sums.at_least[0]), int(above[0] + sums.above[0])

    def learn(self, x: np.ndarray, logs: np.ndarray | None = None) -> None:
        """Add one example, whose log kernels with the others may be known."""
        sums = new_sums(self.n + 1)
        learn_logs(self.log_kernels(x) if logs is None else logs, self._sums, sums)
        self.append(x[None])
        self._sums = sums

    def unlearn(self, slot: int) -> None:
        """Forget the example of a slot; the last one moves there."""
        sums = new_sums(self.n - 1)
        anew = unlearn_logs(self.log_kernels(self._rows.row(slot)), slot, self._sums, sums)
        self._rows.drop_for_last(slot)
        self.changed()
        if anew.size:
            made = empty_sums(anew.size)
            sum_all_pairs(self.objects[anew], anew, self.examples(with_sums=False), EVERYONE, NOTHING, made)
            sums.top[anew], sums.total[anew], sums.error[anew] = made.top, made.total, DIRECT * made.total
        self._sums = sums
