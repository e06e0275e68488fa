"""Full conformal prediction as the paper writes it: slow, obvious, and what every fast path must equal.

A score function takes (x, y, X, Y), an example and a bag of examples, and returns how strange the one is to the other.
`algorithm_1` and `counts` run full CP with any of them; a measure of `exactcp.measures` names its own by `twin()`. The
textbook knows numpy and the p-value, and none of the fast code.
"""

from exactcp.textbook.algorithm import ScoreFunction, algorithm_1, counts, refitted
from exactcp.textbook.density import kde
from exactcp.textbook.forest import Trainer, bootstrap_votes, tree_trainer
from exactcp.textbook.label_scores import aps_score, margin_score, odds_score, rank_score, raps_score
from exactcp.textbook.lasso import lasso, lasso_counts
from exactcp.textbook.least_squares import lssvm, ridge
from exactcp.textbook.neighbours import DistanceFunction, between, euclidean, knn, nn, simplified_knn
from exactcp.textbook.online import stream_p_values, stream_target_p_values
from exactcp.textbook.regression import (
    ResidualFunction,
    absolute,
    affine_residuals,
    knn_mean,
    knn_residual,
    ridge_residual,
    target_counts,
)
from exactcp.textbook.smoothing import tau_of_object, tau_of_step
from exactcp.textbook.venn import category, isotonic_at, venn_abers, venn_table

__all__ = [
    "DistanceFunction",
    "ResidualFunction",
    "ScoreFunction",
    "Trainer",
    "absolute",
    "affine_residuals",
    "algorithm_1",
    "aps_score",
    "between",
    "bootstrap_votes",
    "category",
    "counts",
    "euclidean",
    "isotonic_at",
    "kde",
    "knn",
    "knn_mean",
    "knn_residual",
    "lasso",
    "lasso_counts",
    "lssvm",
    "margin_score",
    "nn",
    "odds_score",
    "rank_score",
    "raps_score",
    "refitted",
    "ridge",
    "ridge_residual",
    "simplified_knn",
    "stream_p_values",
    "stream_target_p_values",
    "target_counts",
    "tau_of_object",
    "tau_of_step",
    "tree_trainer",
    "venn_abers",
    "venn_table",
]
