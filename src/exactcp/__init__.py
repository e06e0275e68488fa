"""Full conformal prediction, exact and fast.

Prediction sets with a finite-sample guarantee, from all of the training data: scikit-learn estimators whose p-values
equal those of the textbook's algorithm count for count.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from exactcp._version import __version__

if TYPE_CHECKING:
    from exactcp._public import *

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


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is, so that the command line can say what it does at once."""
    if name in __all__:
        public = import_module("exactcp._public")
        globals().update({own: getattr(public, own) for own in public.__all__})
        return globals()[name]
    if not name.startswith("_") and find_spec(f"exactcp.{name}") is not None:
        return import_module(f"exactcp.{name}")
    msg = f"module 'exactcp' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
