"""From p-values to the chosen label with its confidence and credibility (theory PV.8)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from exactcp.regions import ConfidencePrediction


def most_credible(p: np.ndarray, scores: np.ndarray) -> ConfidencePrediction:
    """Return the column with the largest p of each row, with its confidence and credibility.

    Ties go to the smaller score, then to the first.
    """
    rows = np.arange(p.shape[0])
    best = np.lexsort((scores, -p), axis=1)[:, 0]
    second = np.partition(p, -2, axis=1)[:, -2] if p.shape[1] > 1 else np.zeros(rows.size)
    return ConfidencePrediction(best, 1.0 - second, p[rows, best])


def confidence_prediction(p: np.ndarray, scores: np.ndarray, classes: np.ndarray) -> ConfidencePrediction:
    """Return the best label of each row of p with its confidence and credibility."""
    return replace(found := most_credible(p, scores), label=classes[found.label])
