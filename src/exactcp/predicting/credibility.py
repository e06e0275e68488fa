"""From p-values to the chosen label with its confidence and credibility (theory PV.8)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from exactcp.counting.labels import choose_labels
from exactcp.regions import ConfidencePrediction


def most_credible(p: np.ndarray, scores: np.ndarray) -> ConfidencePrediction:
    """Return the column with the largest p of each row, with its confidence and credibility.

    Ties go to the smaller score, then to the first.
    """
    m = p.shape[0]
    best, confidence, credibility = np.empty(m, np.intp), np.empty(m), np.empty(m)
    matrices = (np.ascontiguousarray(one, dtype=np.float64) for one in (p, scores))
    choose_labels(*matrices, best, confidence, credibility)
    return ConfidencePrediction(best, confidence, credibility)


def confidence_prediction(p: np.ndarray, scores: np.ndarray, classes: np.ndarray) -> ConfidencePrediction:
    """Return the best label of each row of p with its confidence and credibility."""
    return replace(found := most_credible(p, scores), label=classes[found.label])
