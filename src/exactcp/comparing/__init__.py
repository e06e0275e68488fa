"""Which predictor for these data? Several are fitted and asked in every fold, and stand side by side in one frame.

- `_compare` is the entrance, `exactcp.compare`: it checks what it is given, and makes the frame.
- `_candidates` are the predictors that are tried where none are named, and what each needs; `_columns` is how objects
  become vectors, by a rule that sees all objects and no label.
- `_pilot` tells from few rows how long a candidate will take; `_trial` fits and asks it fold by fold, and keeps what it
  said; `_memory` is the peak of memory meanwhile.
- `_lines` are the lines of Python and of the command line that use the best one, and the word about its guarantee.
"""

from exactcp.comparing._compare import compare_predictors

__all__ = ["compare_predictors"]
