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

`exactcp.checks.check_measure` tells whether a measure keeps this contract.
"""

from exactcp.measures._base import Measure
from exactcp.measures.kde import KDE
from exactcp.measures.knn import KNN
from exactcp.measures.lssvm import LSSVM
from exactcp.measures.model_score import ModelScore
from exactcp.measures.nn import NN
from exactcp.measures.simplified_knn import SimplifiedKNN

__all__ = ["KDE", "KNN", "LSSVM", "NN", "Measure", "ModelScore", "SimplifiedKNN"]
