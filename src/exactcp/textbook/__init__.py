"""Full conformal prediction as the paper writes it: slow, obvious, and what every fast path must equal.

A score function takes (x, y, X, Y), an example and a bag of examples, and returns how strange the one is to the other:
`neighbours`, `density`, `least_squares` and `forest` have those of the paper. `algorithm_1`, `counts` and
`target_counts` run full CP with any of them; `refitted` makes one of any measure. A measure of `exactcp.measures` names
its own by `twin()`. `label_scores` and `regression` have the scores of models, `venn` and `online` the other
predictors. The textbook knows numpy and the p-value, and none of the fast code.
"""

from exactcp.textbook import density as density
from exactcp.textbook import forest as forest
from exactcp.textbook import label_scores as label_scores
from exactcp.textbook import least_squares as least_squares
from exactcp.textbook import neighbours as neighbours
from exactcp.textbook import online as online
from exactcp.textbook import venn as venn
from exactcp.textbook.algorithm import algorithm_1, counts, refitted
from exactcp.textbook.regression import target_counts

__all__ = ["algorithm_1", "counts", "refitted", "target_counts"]
