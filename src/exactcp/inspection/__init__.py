"""Displays in scikit-learn's style: `from_estimator`, `from_predictions`, `plot`. Drawing needs matplotlib.

`_display` has what they share; `_validity` draws whether promises are kept, `_sizes` what predictors return, `_streams`
streams and clusters.
"""

from exactcp.inspection._sizes import (
    IntervalWidthDisplay,
    PredictionIntervalDisplay,
    PredictiveDistributionDisplay,
    SetSizeDisplay,
)
from exactcp.inspection._streams import ClusterDisplay, MartingaleDisplay, ProgressiveDisplay
from exactcp.inspection._validity import (
    CalibrationCurveDisplay,
    GroupCoverageDisplay,
    UniformityDisplay,
    VennReliabilityDisplay,
)

__all__ = [
    "CalibrationCurveDisplay",
    "ClusterDisplay",
    "GroupCoverageDisplay",
    "IntervalWidthDisplay",
    "MartingaleDisplay",
    "PredictionIntervalDisplay",
    "PredictiveDistributionDisplay",
    "ProgressiveDisplay",
    "SetSizeDisplay",
    "UniformityDisplay",
    "VennReliabilityDisplay",
]
