"""Conformal classifiers: full in `_full`, split in `_split`, cross and aggregated in `_cross`."""

from exactcp.classification._cross import AggregatedConformalClassifier, CrossConformalClassifier
from exactcp.classification._full import FullConformalClassifier
from exactcp.classification._split import SplitConformalClassifier

__all__ = [
    "AggregatedConformalClassifier",
    "CrossConformalClassifier",
    "FullConformalClassifier",
    "SplitConformalClassifier",
]
