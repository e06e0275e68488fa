"""What every nonconformity measure of regression is."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactcp._estimator import Estimator


class RegressionMeasure(Estimator):
    """A nonconformity measure of regression: `fit(X, y)`, then `predict(X)` and `score(X, y)`, large means strange.

    One that can learn and unlearn an example overrides `bag`; the overview of `exactcp.measures` says what a bag does.
    """

    @property
    def follows_shifts(self) -> bool:
        """Whether adding a number to all targets adds it to all predictions, and so changes no score."""
        return False

    def predict(self, X: Any) -> np.ndarray:
        """Return the point prediction of every object."""
        raise NotImplementedError

    def score(self, X: Any, y: Any) -> np.ndarray:
        """Return the score of each example: how far its target is from the prediction."""
        return np.abs(np.asarray(y, dtype=np.float64) - self.predict(X))

    def bag(self, X: np.ndarray, y: np.ndarray, *, n_jobs: int | None = None, verbose: int = 0) -> Any:  # noqa: ARG002
        """Return the bag of these examples, or None if the measure has none and needs Algorithm 1."""
        return None
