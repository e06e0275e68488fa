"""Full conformal prediction, exact and fast.

Prediction sets with a finite-sample guarantee, from all of the training data: scikit-learn estimators whose p-values
equal those of the textbook's algorithm count for count.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from exactcp._version import __version__

__all__ = [
    "AggregatedConformalClassifier",
    "CVPlusRegressor",
    "ConformalAnomalyDetector",
    "ConformalClusterer",
    "ConformalSequencePredictor",
    "CrossConformalClassifier",
    "ExchangeabilitySelector",
    "ExchangeabilityTest",
    "FullConformalClassifier",
    "FullConformalRegressor",
    "JackknifeAfterBootstrapRegressor",
    "JackknifePlusRegressor",
    "SplitConformalClassifier",
    "SplitConformalRegressor",
    "ValidityWarning",
    "VennAbersPredictor",
    "VennPredictor",
    "__version__",
    "compare",
    "load",
    "save",
]

_MODULES = {  # of the names above
    "_warning": ("ValidityWarning",),
    "anomaly": ("ConformalAnomalyDetector",),
    "classification": (
        "AggregatedConformalClassifier", "CrossConformalClassifier", "FullConformalClassifier",
        "SplitConformalClassifier",
    ),
    "clustering": ("ConformalClusterer",),
    "comparing": ("compare",),
    "exchangeability": ("ExchangeabilityTest",),
    "exchangeability.selection": ("ExchangeabilitySelector",),
    "regression": (
        "CVPlusRegressor", "FullConformalRegressor", "JackknifeAfterBootstrapRegressor", "JackknifePlusRegressor",
        "SplitConformalRegressor",
    ),
    "saving": ("load", "save"),
    "sequences": ("ConformalSequencePredictor",),
    "venn": ("VennAbersPredictor", "VennPredictor"),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for."""
    for module, names in _MODULES.items():
        if name in names:
            found = globals()[name] = getattr(import_module(f"exactcp.{module}"), name)
            return found
    if not name.startswith("_") and find_spec(f"exactcp.{name}") is not None:
        return import_module(f"exactcp.{name}")
    msg = f"module 'exactcp' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
