"""Predicting streams, one example at a time.

`_progressive` lets a predictor predict each example, be scored, and learn it. Of its parts, `_examples` turns what
comes into rows, `_beginning` collects what is learned before the first prediction, `_judging` compares with the truth.
`_adaptive` moves the level with the errors. `river` has adapters for the library of that name, and needs it.
"""

from exactcp.online._adaptive import AdaptiveLevel
from exactcp.online._progressive import progressive

__all__ = ["AdaptiveLevel", "progressive"]
