"""What every conformal classifier offers once it can evaluate test objects: p-values, sets, labels."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from exactcp import regions


class Evaluation(NamedTuple):
    """p-values and scores (m, l) of all candidates, and the size of the smallest category (None: no warning)."""

    p: np.ndarray
    scores: np.ndarray
    smallest: int | None


class LabelPrediction:
    """Mixin for classifiers that define `_evaluate(X) -> Evaluation` and `classes_`."""

    def _evaluate(self, X: Any) -> Evaluation:
        raise NotImplementedError

    def _decide(self, X: Any, epsilon: float) -> tuple[np.ndarray, int | None]:
        """Return the prediction sets (m, l), and the size of the smallest category (None: no warning)."""
        evaluation = self._evaluate(X)
        return regions.label_sets(evaluation.p, epsilon), evaluation.smallest

    def predict_p(self, X: Any) -> np.ndarray:
        """Return the p-value of every label for every object.

        Parameters
        ----------
        X : array-like of shape (m, p)

        Returns
        -------
        ndarray of shape (m, l)
            Columns in the order of `classes_`.
        """
        return self._evaluate(X).p

    def predict_set(self, X: Any, confidence_level: float = 0.95) -> np.ndarray:
        """Return the prediction sets: all labels whose p-value exceeds 1 - confidence_level.

        Parameters
        ----------
        X : array-like of shape (m, p)
        confidence_level : float, default=0.95
            The probability, at least, with which a set contains the true label.

        Returns
        -------
        ndarray of bool of shape (m, l)
            Columns in the order of `classes_`.
        """
        epsilon = regions.check_level(confidence_level)
        sets, n = self._decide(X, epsilon)
        warned = self.__dict__.setdefault("_warned_levels", set())
        if n is not None and 1 / (n + 1) > epsilon and confidence_level not in warned:
            warned.add(confidence_level)
            needed = int(np.ceil(1 / epsilon)) - 1
            msg = (
                f"confidence_level={confidence_level} needs at least {needed} examples to exclude a label, and there "
                f"are {n} (in the smallest category, if there are categories): its labels are in every set."
            )
            warnings.warn(msg, UserWarning, stacklevel=2)
        return sets

    def predict(self, X: Any) -> np.ndarray:
        """Return the label with the largest p-value of each object; ties go to the less strange one.

        Parameters
        ----------
        X : array-like of shape (m, p)

        Returns
        -------
        ndarray of shape (m,)
        """
        evaluation = self._evaluate(X)
        return np.asarray(self.classes_[regions.best_labels(evaluation.p, evaluation.scores)])  # type: ignore[attr-defined]

    def predict_confidence(self, X: Any) -> regions.ConfidencePrediction:
        """Return the best label of each object with its confidence and credibility.

        Parameters
        ----------
        X : array-like of shape (m, p)

        Returns
        -------
        ConfidencePrediction
        """
        evaluation = self._evaluate(X)
        return regions.confidence_prediction(evaluation.p, evaluation.scores, self.classes_)  # type: ignore[attr-defined]
