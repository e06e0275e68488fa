"""Displays in scikit-learn's style: `from_estimator`, `from_predictions`, `plot`. Drawing needs matplotlib."""

from exactcp.inspection._calibration_curve import CalibrationCurveDisplay
from exactcp.inspection._clusters import ClusterDisplay
from exactcp.inspection._distribution import PredictiveDistributionDisplay
from exactcp.inspection._feature_martingales import FeatureMartingaleDisplay
from exactcp.inspection._group_coverage import GroupCoverageDisplay
from exactcp.inspection._intervals import PredictionIntervalDisplay
from exactcp.inspection._martingale import MartingaleDisplay
from exactcp.inspection._progressive import ProgressiveDisplay
from exactcp.inspection._sequence_lattice import SequenceLatticeDisplay
from exactcp.inspection._set_sizes import SetSizeDisplay
from exactcp.inspection._uniformity import UniformityDisplay
from exactcp.inspection._venn_reliability import VennReliabilityDisplay
from exactcp.inspection._widths import IntervalWidthDisplay

__all__ = [
    "CalibrationCurveDisplay",
    "ClusterDisplay",
    "FeatureMartingaleDisplay",
    "GroupCoverageDisplay",
    "IntervalWidthDisplay",
    "MartingaleDisplay",
    "PredictionIntervalDisplay",
    "PredictiveDistributionDisplay",
    "ProgressiveDisplay",
    "SequenceLatticeDisplay",
    "SetSizeDisplay",
    "UniformityDisplay",
    "VennReliabilityDisplay",
]
