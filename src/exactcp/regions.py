"""From p-values to what a user reads: label sets, the chosen label with its confidence and credibility."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np


@dataclass(frozen=True)
class ConfidencePrediction:
    """One label for each test object, and how far it can be trusted.

    Attributes
    ----------
    label : ndarray of shape (m,)
        The label with the largest p-value.
    confidence : ndarray of shape (m,)
        1 - the second largest p-value: the largest confidence level at which the set has one label at most.
    credibility : ndarray of shape (m,)
        The largest p-value: small when no label fits the object.
    """

    label: np.ndarray
    confidence: np.ndarray
    credibility: np.ndarray

    def __len__(self) -> int:
        return int(self.label.shape[0])

    def to_numpy(self) -> np.ndarray:
        """Return a record array with the fields label, confidence and credibility.

        Returns
        -------
        ndarray of shape (m,)
        """
        fields = [(name, getattr(self, name).dtype) for name in ("label", "confidence", "credibility")]
        records = np.empty(len(self), dtype=fields)
        for name, _ in fields:
            records[name] = getattr(self, name)
        return records


def check_level(confidence_level: float) -> float:
    """Return epsilon = 1 - confidence_level of a level in (0, 1).

    Parameters
    ----------
    confidence_level : float

    Returns
    -------
    float
    """
    if not isinstance(confidence_level, Real) or not 0 < confidence_level < 1:
        msg = f"confidence_level={confidence_level!r} is not a probability: use a number between 0 and 1, such as 0.95."
        raise ValueError(msg)
    return 1 - float(confidence_level)


def label_sets(p: np.ndarray, epsilon: float) -> np.ndarray:
    """Return the prediction sets {label : p > epsilon} as a boolean array of p's shape."""
    return p > epsilon


def best_labels(p: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Return the column with the largest p of each row; ties go to the smaller score, then to the first."""
    return np.asarray([np.lexsort((s, -row))[0] for row, s in zip(p, scores, strict=True)], dtype=np.int64)


def confidence_prediction(p: np.ndarray, scores: np.ndarray, classes: np.ndarray) -> ConfidencePrediction:
    """Return the best label of each row of p with its confidence and credibility."""
    ordered = np.sort(p, axis=1)
    second = ordered[:, -2] if p.shape[1] > 1 else np.zeros(p.shape[0])
    return ConfidencePrediction(classes[best_labels(p, scores)], 1 - second, ordered[:, -1])
