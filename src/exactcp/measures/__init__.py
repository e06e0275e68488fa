"""Nonconformity measures, one folder a family.

A measure's *definition* is `fit(X, y)` and `score(X, y)`: the strangeness of examples with respect to a fixed bag.
Split CP and Algorithm 1 need nothing else. Its *bag* is state that learns and unlearns one example, so that full CP
needs no refit.

- `_contract` says what a measure and a bag are: `Measure` and `RegressionMeasure`, the bags `LabelBag` and
  `TargetBag`, and what a measure declares it can do. `exactcp.checks.check_measure` tells whether yours keeps it.
- `neighbours`, `density`, `least_squares`, `lasso`, `forest` and `models` are the families: measures, bags, kernels.
- `_affine_bag` counts and bounds for every measure whose residuals are affine in the target; `_left_out` are models
  that leave examples out, for CV+ and jackknife+.
- `_algorithm_1` answers for measures without a bag; `_choice` picks the measure and the bag of a predictor.
"""

from exactcp.measures._bags import LabelBag, TargetBag
from exactcp.measures._contract import Measure, Objects, RegressionMeasure
from exactcp.measures.density._kde import KDE
from exactcp.measures.forest._bootstrap import Bootstrap
from exactcp.measures.forest._random_forest import RandomForest
from exactcp.measures.lasso._lasso import LassoResidual
from exactcp.measures.least_squares._lssvm import LSSVM
from exactcp.measures.least_squares._ridge import RidgeResidual
from exactcp.measures.models._quantile import ModelQuantile
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
    "LabelBag",
    "LassoResidual",
    "Measure",
    "ModelQuantile",
    "ModelResidual",
    "ModelScore",
    "Objects",
    "RandomForest",
    "RegressionMeasure",
    "RidgeResidual",
    "SimplifiedKNN",
    "TargetBag",
]
