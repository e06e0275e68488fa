"""What every nonconformity measure is."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactcp._estimator import Estimator


class Measure(Estimator):
    """A nonconformity measure: `fit(X, y)`, then `score(X, y)` or `score_labels(X, labels)`, large means strange.

    A measure defines one of the two scores and gets the other. One that can learn and unlearn an example overrides
    `bag`; the overview of `exactcp.measures` says what a bag does.
    """

    tie_floor = 0.0  # s0 of the tie rule: 0 for sums and ratios of distances, 1 for signed and log scores
    tie_tolerance = 1e-10  # 0 for integer scores

    def score(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the score of each example: how strange it is to the examples of `fit`."""
        labels, codes = np.unique(np.asarray(y), return_inverse=True)
        return self.score_labels(X, labels)[np.arange(codes.size), codes]

    def score_labels(self, X: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return the scores (m, l) of every row of X with every one of the labels."""
        return np.column_stack([self.score(X, np.full(len(X), label)) for label in labels])

    def bag(self, X: np.ndarray, codes: np.ndarray, n_labels: int, **how: Any) -> Any:  # noqa: ARG002
        """Return the bag of these examples, or None if the measure has none and needs Algorithm 1."""
        return None
