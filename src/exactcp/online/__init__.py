"""Predicting streams, one example at a time.

`_progressive` lets a predictor predict each example, be scored, and learn it.
"""

from exactcp.online._progressive import ProgressiveResult, progressive

__all__ = ["ProgressiveResult", "progressive"]
