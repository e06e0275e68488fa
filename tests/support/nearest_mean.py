"""The quickest classifier there is, since Algorithm 1 trains it for every example, test object and label."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class NearestMean(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        inside = codes == np.arange(self.classes_.size)[:, None]
        self.means_ = inside @ X / inside.sum(axis=1)[:, None]
        return self

    def predict_proba(self, X):
        squares = ((X[:, None] - self.means_) ** 2).sum(axis=2)
        odds = np.exp(squares.min(axis=1, keepdims=True) - squares)
        return odds / odds.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
