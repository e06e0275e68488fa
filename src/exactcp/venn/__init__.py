"""Probabilities as calibrated intervals: Venn predictors in `_venn`, Venn-Abers predictors in `_venn_abers`.

`_label_scores` are the scores that `_isotonic` regression turns into probabilities.
"""

from exactcp.venn._venn import VennPredictor
from exactcp.venn._venn_abers import VennAbersPredictor

__all__ = ["VennAbersPredictor", "VennPredictor"]
