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

from importlib import import_module
from typing import Any

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

_MODULES = {  # of the names above
    "_bags": (
        "LabelBag",
        "TargetBag",
    ),
    "_contract": (
        "Measure",
        "Objects",
        "RegressionMeasure",
    ),
    "density._kde": ("KDE",),
    "forest._bootstrap": ("Bootstrap",),
    "forest._random_forest": ("RandomForest",),
    "lasso._lasso": ("LassoResidual",),
    "least_squares._lssvm": ("LSSVM",),
    "least_squares._ridge": ("RidgeResidual",),
    "models._quantile": ("ModelQuantile",),
    "models._residual": ("ModelResidual",),
    "models._score": ("ModelScore",),
    "neighbours._classification": (
        "KNN",
        "NN",
        "SimplifiedKNN",
    ),
    "neighbours._regression": ("KNNResidual",),
}


def __getattr__(name: str) -> Any:
    """Import a family when one of its measures is asked for."""
    for module, names in _MODULES.items():
        if name in names:
            found = globals()[name] = getattr(import_module(f"exactcp.measures.{module}"), name)
            return found
    msg = f"module 'exactcp.measures' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
