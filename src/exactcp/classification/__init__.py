"""Conformal classifiers: full and split in `_full`, cross and aggregated in `_cross`."""

from exactcp.classification._cross import AggregatedConformalClassifier, CrossConformalClassifier
from exactcp.classification._full import FullConformalClassifier, SplitConformalClassifier

__all__ = [
    "AggregatedConformalClassifier",
    "CrossConformalClassifier",
    "FullConformalClassifier",
    "SplitConformalClassifier",
]
