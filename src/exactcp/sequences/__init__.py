"""Sequences of labels: `_predictor` predicts them, from what `_input` reads, in the order of `_ranking`."""

from exactcp.sequences._predictor import ConformalSequencePredictor

__all__ = ["ConformalSequencePredictor"]
