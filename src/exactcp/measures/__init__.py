"""Nonconformity measures, one a file.

A measure's *definition* is `fit(X, y)` and `score(X, y)`: the strangeness of examples with respect to a fixed bag.
Split CP and Algorithm 1 need nothing else. Its *bag*, made by `measure.bag(X, codes, n_labels, n_jobs=, verbose=)`, is
state that learns and unlearns one example, so that full CP needs no refit:

- `bag.label_counts(X, n_jobs=, verbose=)` -> `LabelCounts`: for every test object and label, how many training scores
  are greater than and equal to the candidate's, among the examples with that label and among the others, and its score;
- `bag.scores(X)` yields for each test object the training scores (n_labels, n) themselves, in the order of arrival, and
  the candidates' (n_labels,);
- `bag.learn(X, codes)`, `bag.unlearn(positions)`, `bag.relabel(new_codes, n_labels)` change it; `bag.n`, `bag.sizes`
  and `bag.codes()` tell its size, that of each label, and the labels in the order of arrival.

A bag may have `bag.at_least_counts(X, n_jobs=, verbose=)`, label counts of which only the sums of greater and equal are
right, and `bag.label_sets(X, thresholds, same_only=, n_jobs=, verbose=)`, whether these sums reach the threshold of
each label, over same-label examples only or over all, where less than all counts decides it.
A bag may have `bag.stream(X, codes)`, which counts each example against all before it and then learns it, for streams.
`exactcp.checks.check_measure` tells whether a measure keeps this contract.

A measure of regression, a `RegressionMeasure`, also predicts: `fit(X, y)`, `predict(X)`, `score(X, y)`. Its bag, made
by `measure.bag(X, y, n_jobs=, verbose=)`, has `n`, `targets()`, `learn(X, y)`, `unlearn(positions)`, `predict(X)`, and

- `bag.counts(X, y, within=)` -> (greater, equal, total), each (m,): for every pair of a test object and a target;
- `bag.regions(X, thresholds, within=)` -> the targets for which at least thresholds[t] examples are as strange, as
  disjoint closed intervals (r, 2), and `bag.intervals(X, thresholds, within=)` -> their hulls (m, 2);
- `within` is None, or gives for test object t the mask (n,) of the examples that it is compared with.

A bag whose residuals are affine in the target defines `affine(X)` and inherits these from `_affine_bag.AffineBag`.
"""

from exactcp.measures._contract import Measure, RegressionMeasure
from exactcp.measures.density._kde import KDE
from exactcp.measures.forest._bootstrap import Bootstrap
from exactcp.measures.forest._random_forest import RandomForest
from exactcp.measures.forest._resampling import expected_samples
from exactcp.measures.lasso._lasso import LassoResidual
from exactcp.measures.least_squares._lssvm import LSSVM
from exactcp.measures.least_squares._ridge import RidgeResidual
from exactcp.measures.models._residual import ModelResidual
from exactcp.measures.models._score import ModelScore
from exactcp.measures.neighbours._classification import KNN, NN, SimplifiedKNN
from exactcp.measures.neighbours._regression import KNNResidual

__all__ = [
    "KDE",
    "KNN",
    "LSSVM",
    "NN",
    "Bootstrap",
    "KNNResidual",
    "LassoResidual",
    "Measure",
    "ModelResidual",
    "ModelScore",
    "RandomForest",
    "RegressionMeasure",
    "RidgeResidual",
    "SimplifiedKNN",
    "expected_samples",
]
