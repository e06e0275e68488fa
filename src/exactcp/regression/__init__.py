"""Conformal regressors: full in `_full`, split in `_split`, CV+ and jackknife+ in `_left_out`; `_distributions`.

Jackknife+-after-bootstrap is in `_after_bootstrap`, its models in `_resampled_models`.
"""

from exactcp.regression._after_bootstrap import JackknifeAfterBootstrapRegressor
from exactcp.regression._distributions import PredictiveDistribution
from exactcp.regression._full import FullConformalRegressor
from exactcp.regression._left_out import CVPlusRegressor, JackknifePlusRegressor
from exactcp.regression._split import SplitConformalRegressor

__all__ = [
    "CVPlusRegressor",
    "FullConformalRegressor",
    "JackknifeAfterBootstrapRegressor",
    "JackknifePlusRegressor",
    "PredictiveDistribution",
    "SplitConformalRegressor",
]
