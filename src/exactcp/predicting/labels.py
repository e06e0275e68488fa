"""What every conformal classifier offers once it can evaluate test objects: p-values, sets, labels."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from exactcp import pvalues, regions
from exactcp._changes import reads
from exactcp._validation import warn_of_low_level
from exactcp.predicting.levels import warn_of_too_few

Size = int | Fraction | None  # of the smallest category, whose p-values are 1/(size + 1) at least; None: any p-value


class Evaluation(NamedTuple):
    """p-values and scores (m, l) of all candidates; the counts that p-values are made of, unless they are smoothed."""

    p: np.ndarray
    scores: np.ndarray
    counts: pvalues.Counts | None = None
    smallest: Size = None

    @classmethod
    def of_counts(cls, counts: pvalues.Counts, scores: np.ndarray, smallest: Size = None) -> Evaluation:
        """Return deterministic p-values."""
        size = int(counts.total.min()) if smallest is None else smallest
        return cls(pvalues.deterministic_p(counts), scores, counts, size)


class LabelPrediction:
    """Mixin for classifiers that define `_evaluate(X) -> Evaluation` and `classes_`."""

    def _evaluate(self, X: Any, categories: Any = None) -> Evaluation:
        raise NotImplementedError

    def _decide(self, X: Any, epsilon: Fraction, categories: Any = None) -> tuple[np.ndarray, Size]:
        """Return the prediction sets (m, l), and the size of the smallest category."""
        evaluation = self._evaluate(X, categories)
        if evaluation.counts is None:
            return pvalues.exceeds(evaluation.p, epsilon), None
        return pvalues.are_inside(evaluation.counts, epsilon), evaluation.smallest

    @reads
    def predict_p(self, X: Any, categories: Any = None) -> np.ndarray:
        """Return the p-value of every label for every object.

        Parameters
        ----------
        X : array-like of shape (m, p), or whatever a model takes
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the examples.

        Returns
        -------
        ndarray of shape (m, l)
            Columns in the order of `classes_`.
        """
        return self._evaluate(X, categories).p

    @reads
    def predict_set(self, X: Any, confidence_level: float = 0.95, categories: Any = None) -> np.ndarray:
        """Return the prediction sets: all labels whose p-value exceeds epsilon = 1 - confidence_level.

        Parameters
        ----------
        X : array-like of shape (m, p)
        confidence_level : float, default=0.95
            The probability, at least, with which a set contains the true label. It is the decimal number that it
            prints as: at 0.9, epsilon is 0.1, and a p-value of 0.1 does not exceed it.
        categories : array-like of shape (m,), default=None
            As in `predict_p`.

        Returns
        -------
        ndarray of bool of shape (m, l)
            Columns in the order of `classes_`.
        """
        epsilon = pvalues.significance(confidence_level)
        sets, n = self._decide(X, epsilon, categories)
        warn_of_low_level(confidence_level)
        if n is not None:
            purpose, result = "to exclude a label", "its labels are in every set"
            warn_of_too_few(self, f"confidence_level={confidence_level}", epsilon, n, purpose=purpose, result=result)
        return sets

    @reads
    def predict(self, X: Any, categories: Any = None) -> np.ndarray:
        """Return the label with the largest p-value of each object; ties go to the less strange one.

        Parameters
        ----------
        X : array-like of shape (m, p), or whatever a model takes
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the examples.

        Returns
        -------
        ndarray of shape (m,)
        """
        evaluation = self._evaluate(X, categories)
        return np.asarray(self.classes_[regions.best_labels(evaluation.p, evaluation.scores)])  # type: ignore[attr-defined]

    @reads
    def predict_confidence(self, X: Any, categories: Any = None) -> regions.ConfidencePrediction:
        """Return the best label of each object with its confidence and credibility.

        Parameters
        ----------
        X : array-like of shape (m, p), or whatever a model takes
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the examples.

        Returns
        -------
        ConfidencePrediction
        """
        evaluation = self._evaluate(X, categories)
        return regions.confidence_prediction(evaluation.p, evaluation.scores, self.classes_)  # type: ignore[attr-defined]
