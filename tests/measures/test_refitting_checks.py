"""scikit-learn's checks for full CP with measures that are trained again and again: minutes, so they are `slow`."""

from __future__ import annotations

import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from exactcp import FullConformalClassifier
from exactcp.measures import Bootstrap, ModelScore
from nearest_mean import NearestMean


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning", "ignore:.*Algorithm 1", "ignore:Bootstrap")
@parametrize_with_checks(
    [
        FullConformalClassifier(ModelScore(NearestMean())),
        FullConformalClassifier(Bootstrap(GaussianNB(), n_estimators=1)),
    ]
)
def test_sklearn_checks(estimator, check):
    check(estimator)
