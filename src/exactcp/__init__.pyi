from exactcp._version import __version__ as __version__
from exactcp._warning import ValidityWarning
from exactcp.anomaly import ConformalAnomalyDetector
from exactcp.classification import (
    AggregatedConformalClassifier,
    CrossConformalClassifier,
    FullConformalClassifier,
    SplitConformalClassifier,
)
from exactcp.clustering import ConformalClusterer
from exactcp.comparing import compare
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
    "ValidityWarning",
    "VennAbersPredictor",
    "VennPredictor",
    "__version__",
    "compare",
    "load",
    "save",
]
