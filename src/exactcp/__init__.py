"""Full conformal prediction, exact and fast.

Prediction sets with a finite-sample guarantee, from all of the training data: scikit-learn estimators whose p-values
equal those of the textbook's algorithm count for count.
"""

from exactcp import _starting  # noqa: F401  (first, since an interruption may come while the rest is imported)
from exactcp._version import __version__
from exactcp.anomaly import ConformalAnomalyDetector
from exactcp.classification import (
    AggregatedConformalClassifier,
    CrossConformalClassifier,
    FullConformalClassifier,
    SplitConformalClassifier,
)
from exactcp.clustering import ConformalClusterer
from exactcp.comparing import compare_predictors as compare
from exactcp.exchangeability import ExchangeabilityTest
from exactcp.exchangeability.selection import ExchangeabilitySelector
from exactcp.regression import (
    CVPlusRegressor,
    FullConformalRegressor,
    JackknifeAfterBootstrapRegressor,
    JackknifePlusRegressor,
    SplitConformalRegressor,
)
from exactcp.saving import load, save
from exactcp.sequences import ConformalSequencePredictor
from exactcp.venn import VennAbersPredictor, VennPredictor

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
    "VennAbersPredictor",
    "VennPredictor",
    "__version__",
    "compare",
    "load",
    "save",
]
