"""Whether two packages answer the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

ROUNDING = 1e-9  # of the largest finite number


@dataclass(frozen=True)
class Agreement:
    """How many rows of two answers are the same, up to rounding, and how far the others are apart.

    Attributes
    ----------
    same, rows : int
    largest : float
        The largest difference of two numbers; of sets, how many labels differ in the row where most do; inf where one
        is infinite and the other is not.
    """

    same: int
    rows: int
    largest: float

    def __add__(self, other: Agreement) -> Agreement:
        """Return the agreement of both together."""
        return Agreement(self.same + other.same, self.rows + other.rows, max(self.largest, other.largest))


def agreement(ours: np.ndarray, theirs: np.ndarray) -> Agreement:
    """Compare two answers row by row.

    Parameters
    ----------
    ours, theirs : ndarray of shape (m, c)
        Booleans, or numbers, which may be infinite.

    Returns
    -------
    Agreement
    """
    a, b = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
    apart = np.abs(np.subtract(a, b, out=np.zeros_like(a), where=a != b))  # inf - inf is nan
    finite = np.abs(a[np.isfinite(a)])
    same = (apart <= ROUNDING * max(1.0, finite.max(initial=0.0))).all(axis=1)
    largest = apart.sum(axis=1) if np.asarray(ours).dtype == bool else apart
    return Agreement(int(same.sum()), len(a), float(largest.max(initial=0.0)))
