"""Full conformal prediction as the paper writes it: slow, obvious, and what every fast path must equal.

A score function takes (x, y, X, Y), an example and a bag of examples, and returns how strange the one is to the other.
`algorithm_1` and `counts` run full CP with any of them; `twin` finds the one that belongs to a measure. The textbook
knows numpy and the p-value, and none of the fast code.
"""

from exactcp.textbook.algorithm import ScoreFunction, algorithm_1, counts
from exactcp.textbook.density import kde
from exactcp.textbook.least_squares import lssvm
from exactcp.textbook.neighbours import DistanceFunction, euclidean, knn, nn, simplified_knn
from exactcp.textbook.twins import refitted, twin

__all__ = [
    "DistanceFunction",
    "ScoreFunction",
    "algorithm_1",
    "counts",
    "euclidean",
    "kde",
    "knn",
    "lssvm",
    "nn",
    "refitted",
    "simplified_knn",
    "twin",
]
