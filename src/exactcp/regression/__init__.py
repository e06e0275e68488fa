"""Conformal regressors: full in `_full`, split in `_split`, CV+ and jackknife+ in `_left_out`; `_distributions`."""

from exactcp.regression._distributions import PredictiveDistribution
from exactcp.regression._full import FullConformalRegressor
from exactcp.regression._left_out import CVPlusRegressor, JackknifePlusRegressor
from exactcp.regression._split import SplitConformalRegressor

__all__ = [
    "CVPlusRegressor",
    "FullConformalRegressor",
    "JackknifePlusRegressor",
    "PredictiveDistribution",
    "SplitConformalRegressor",
]
