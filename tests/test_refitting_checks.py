"""scikit-learn's checks for full CP with measures that are trained again and again: minutes, so they are `slow`."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from exactcp import FullConformalClassifier
from exactcp.measures import Bootstrap, ModelScore


class NearestMean(ClassifierMixin, BaseEstimator):
    """The quickest classifier there is, since Algorithm 1 trains it for every example, test object and label."""

    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        inside = codes == np.arange(self.classes_.size)[:, None]
        self.means_ = inside @ X / inside.sum(axis=1)[:, None]
        return self

    def predict_proba(self, X):
        squares = ((X[:, None] - self.means_) ** 2).sum(axis=2)
        odds = np.exp(squares.min(axis=1, keepdims=True) - squares)
        return odds / odds.sum(axis=1, keepdims=True)


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
