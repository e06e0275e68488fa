"""Conformal predictive distributions of regression (theory RE.9, RE.10)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from exactcp import pvalues
from exactcp._html import TABLE_ROWS, bar, table
from exactcp.metrics.intervals import crps_per_object

DISTRIBUTION_TOLERANCE = (
    1e-12  # a target and a critical target tie if they differ by less than this part of their sizes
)


@dataclass(frozen=True, eq=False)
class PredictiveDistribution:
    """Predictive distributions of test objects, from `predict_distribution` of a full or a split regressor.

    With the critical targets t_1, ..., t_n of a test object, Pi(y, tau) = (#{t_i < y} + tau (#{t_i = y} + 1)) / (n + 1)
    increases from about 0 to about 1 with y. If the examples are exchangeable and tau is uniform on [0, 1], Pi at the
    true target is uniform. So the true target is at most `quantile(q)` with probability at least q if q >= 1/2, less
    than it with probability at most q if q < 1/2, and in `interval(c)` with probability at least c.

    Attributes
    ----------
    points : tuple of m ndarrays
        The critical targets of each test object, ascending.
    y_min, y_max : float
        What targets cannot be less than, or more than; quantiles and intervals end there.

    Notes
    -----
    Critical targets are sorted once: then a probability or a quantile of an object is one search, O(log n). Memory is
    one number for each training (or calibration) example and test object.

    References
    ----------
    .. [1] V. Vovk, J. Shen, V. Manokhin, M. Xie, "Nonparametric predictive distributions based on conformal
       prediction", Machine Learning 108 (2019).

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.regression import PredictiveDistribution
    >>> prediction = PredictiveDistribution((np.array([1.0, 2.0, 4.0]),))
    >>> prediction.cdf(3.0), prediction.quantile(0.5), prediction.interval(0.5)
    (array([0.625]), array([2.]), array([[1., 4.]]))
    >>> lower, upper = prediction.cdf_bounds(3.0)
    >>> lower, upper
    (array([0.5]), array([0.75]))
    """

    points: tuple[np.ndarray, ...]
    y_min: float = -np.inf
    y_max: float = np.inf

    def __repr__(self) -> str:
        sizes = sorted({row.size for row in self.points})
        points = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else f"{sizes[0] if sizes else 0}"
        return f"<PredictiveDistribution of {len(self)} object(s), each with {points} critical targets>"

    def _repr_html_(self) -> str:
        middle, ends = self[:TABLE_ROWS].quantile(0.5), self[:TABLE_ROWS].interval(0.9)
        known = np.concatenate([middle[np.isfinite(middle)], ends[np.isfinite(ends)]])
        low, high = (float(known.min()), float(known.max())) if known.size else (-1.0, 1.0)
        rows = [
            [str(t), f"{half:.5g}", bar(own[None], low, high), f"<code>[{own[0]:.5g}, {own[1]:.5g}]</code>"]
            for t, (half, own) in enumerate(zip(middle, ends, strict=True))
        ]
        return table(["", "median", "90 % in the middle", ""], rows, "predictive distributions", len(self))

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, rows: Any) -> PredictiveDistribution:
        """Return the distributions of one test object, a slice, or those that positions or a mask choose."""
        chosen = np.atleast_1d(np.arange(len(self))[rows])
        return PredictiveDistribution(tuple(self.points[i] for i in chosen), self.y_min, self.y_max)

    def _counts(self, y: Any) -> pvalues.Counts:
        """Count critical targets against targets y, broadcast to (m,) or (m, q)."""
        m, given = len(self), np.asarray(y, dtype=np.float64)
        if given.ndim > 2 or (given.ndim and given.shape[0] not in (1, m)):
            msg = (
                f"y has shape {given.shape} for {m} distributions: expected a number, ({m},), ({m}, q), or (1, q) for "
                "q targets that all of them are asked about."
            )
            raise ValueError(msg)
        targets = np.broadcast_to(given, (m, *given.shape[1:])) if given.ndim else np.full(m, given)
        greater, equal, total = (np.empty(targets.shape, np.int64) for _ in range(3))
        for i, row in enumerate(self.points):
            origin = pvalues.origin_of(row)
            points, asked = row - origin, targets[i] - origin
            slack, own = (
                DISTRIBUTION_TOLERANCE * np.abs(points),
                DISTRIBUTION_TOLERANCE * (np.abs(asked) + pvalues.typical_size(points)),
            )
            greater[i] = row.size - np.searchsorted(points - slack, asked + own, side="right")
            equal[i] = row.size - np.searchsorted(points + slack, asked - own, side="left") - greater[i]
            total[i] = row.size
        return pvalues.Counts(greater, equal, total)

    def cdf(self, y: Any, tau: Any = 0.5) -> np.ndarray:
        """Return Pi(y, tau).

        Parameters
        ----------
        y : float, or array-like of shape (m,), (m, q) or (1, q)
            Targets, one or q for each test object; a number, or one row of q, is taken for all of them.
        tau : float or array-like of shape (m,), default=0.5
            Between 0 and 1; drawn uniformly, it makes the value at the true target exactly uniform.

        Returns
        -------
        ndarray of shape (m,) or (m, q)
        """
        counts = self._counts(y)
        # what is less than y, as Pi counts, is what is greater in the order of p-values
        less = pvalues.Counts(counts.total - counts.greater - counts.equal, counts.equal, counts.total)
        return pvalues.smoothed_p(less, np.broadcast_to(np.asarray(tau, dtype=np.float64), (len(self),)))

    def cdf_bounds(self, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return Pi(y, 0) and Pi(y, 1), which differ by 1 / (n + 1) where no critical target ties with y.

        Parameters
        ----------
        y : float, or array-like of shape (m,) or (m, q)

        Returns
        -------
        lower, upper : ndarray of shape (m,) or (m, q)
        """
        return self.cdf(y, 0.0), self.cdf(y, 1.0)

    def quantile(self, q: Any) -> np.ndarray:
        """Return quantiles, which are critical targets of whole ranks.

        Parameters
        ----------
        q : float or array-like of shape (r,)
            Between 0 and 1; a float is the decimal number that it prints as.

        Returns
        -------
        ndarray of shape (m,) or (m, r)
            From 1/2 on, the ceil(q (n + 1))-th smallest critical target, which the true target exceeds with probability
            at most 1 - q; below, the floor(q (n + 1))-th, which it is less than with probability at most q. Infinite
            where n examples do not tell: below 1 / (n + 1), and above n / (n + 1); or y_min and y_max.
        """
        levels = np.asarray(q, dtype=np.float64)
        if levels.ndim > 1 or not ((levels >= 0) & (levels <= 1)).all():
            msg = f"q={q!r} is not a probability or a list of them: use numbers between 0 and 1."
            raise ValueError(msg)
        decimals = [pvalues.as_decimal(level) for level in levels.reshape(-1).tolist()]
        return self._at(decimals).reshape(len(self), *levels.shape)

    def _at(self, levels: list[Fraction]) -> np.ndarray:
        """Return the critical targets (m, r) of ranks level (n + 1), rounded outwards; the limits beyond them."""
        ranks = {
            n: [(math.floor if level < 0.5 else math.ceil)(level * (n + 1)) for level in levels]
            for n in {row.size for row in self.points}
        }
        found = [np.concatenate([[self.y_min], row, [self.y_max]])[ranks[row.size]] for row in self.points]
        return np.array(found).reshape(len(self), len(levels))

    def interval(self, confidence_level: float = 0.95) -> np.ndarray:
        """Return intervals between two quantiles, which leave at most half of the error on each side.

        Parameters
        ----------
        confidence_level : float, default=0.95
            The probability, at least, with which an interval contains the true target.

        Returns
        -------
        ndarray of shape (m, 2)
            Infinite where there are too few examples for the level.
        """
        half = pvalues.significance(confidence_level) / 2
        return self._at([half, 1 - half])

    def mean(self) -> np.ndarray:
        """Return the mean of every distribution, with the same weight at every critical target.

        Returns
        -------
        ndarray of shape (m,)
            nan where there are no examples to compare with.
        """
        return np.array([row.mean() if row.size else np.nan for row in self.points])

    def sample(self, n: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw targets from every distribution, with the same weight at every critical target.

        Parameters
        ----------
        n : int, default=1
            How many for each test object, independently.
        random_state : int, RandomState or None, default=None

        Returns
        -------
        ndarray of shape (m, n)
        """
        if not all(row.size for row in self.points):
            msg = "a distribution has no critical targets to draw from: its category has no examples."
            raise ValueError(msg)
        generator = check_random_state(random_state)
        drawn = [row[generator.randint(row.size, size=n)] for row in self.points]
        return np.array(drawn).reshape(len(self), n)

    def crps(self, y: Any) -> np.ndarray:
        """Return the continuous ranked probability score at the true targets: small is good.

        Parameters
        ----------
        y : array-like of shape (m,)

        Returns
        -------
        ndarray of shape (m,)
            Of the distribution with the same weight at every critical target; Pi itself has 1 / (n + 1) at infinity.
        """
        return crps_per_object(self.points, y)

    def to_numpy(self) -> np.ndarray:
        """Return the critical targets (m, n), filled up with nan where categories differ in size.

        Returns
        -------
        ndarray of shape (m, n)
        """
        out = np.full((len(self), max((row.size for row in self.points), default=0)), np.nan)
        for i, row in enumerate(self.points):
            out[i, : row.size] = row
        return out
