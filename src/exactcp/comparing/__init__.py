"""Which predictor for these data? `exactcp.compare` fits several in every fold, and shows them in one frame.

- `_compare` checks what it is given, runs each candidate within its share of the time, and makes the frame.
- `_candidates` has the predictors that are tried where none are named, and the lines of Python that use one.
- `_columns` is how objects become vectors, by a rule that sees all objects and no label.
"""

from exactcp.comparing._compare import compare

__all__ = ["compare"]
