"""What a fitted anomaly detector answers: p-values, flags, selections with a false discovery rate, frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import OutlierMixin
from sklearn.utils.validation import check_is_fitted

from exactcp import pvalues
from exactcp._changes import reads
from exactcp._parallel import effort_of
from exactcp._rows import count_rows
from exactcp.metrics.bands import METHOD, RATE, largest_discovery, select_discoveries
from exactcp.predicting.frames import FramePrediction
from exactcp.predicting.learning import Learning
from exactcp.predicting.levels import Levels, warn_of_too_few
from exactcp.predicting.taxonomy import count_within


class AnomalyAnswers(FramePrediction, OutlierMixin, Learning):
    """Base of a detector that has a bag, the categories of its examples, and a level."""

    epsilon: float
    cv: Any
    smoothed: bool
    measure_: Any
    measures_: list[Any]
    offset_: float
    _seed: int

    @reads
    def predict_p(self, X: Any, categories: Any = None) -> np.ndarray:
        """Return the p-value of each object: small when it is strange.

        Parameters
        ----------
        X : array-like of shape (m, p), or whatever a detector takes
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the training objects.

        Returns
        -------
        ndarray of shape (m,)
        """
        objects = self._take_objects(X)
        self._bag.warn_of_cost(count_rows(objects))
        numbers = self._sort_objects(X, objects, categories)
        if self._training_categories is None:
            counts = pvalues.marginal(self._bag.label_counts(objects, effort=effort_of(self)), self._bag.n)
        else:
            training, rule = self._training_categories, self._tie_rule()
            counts, _ = count_within(self._bag, objects, training, numbers[:, None], effort=effort_of(self), **rule)
        if self.smoothed:
            return pvalues.smoothed_p(counts, pvalues.tau_of_objects(self._seed, objects))[:, 0]
        return pvalues.deterministic_p(counts)[:, 0]

    def _tie_rule(self) -> dict[str, float]:
        measure = self.measure_ if self.cv is None else self.measures_[0]
        return {"floor": measure.tie_floor, "tolerance": measure.tie_tolerance}

    @reads
    def score_samples(self, X: Any, categories: Any = None) -> np.ndarray:
        """Return the p-value of each object: the lower, the more abnormal.

        Parameters
        ----------
        X : array-like of shape (m, p)
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the training objects.

        Returns
        -------
        ndarray of shape (m,)
        """
        return self.predict_p(X, categories)

    @reads
    def decision_function(self, X: Any, categories: Any = None) -> np.ndarray:
        """Return `score_samples(X) - offset_`: negative for anomalies.

        Parameters
        ----------
        X : array-like of shape (m, p)
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the training objects.

        Returns
        -------
        ndarray of shape (m,)
        """
        check_is_fitted(self)
        return self.predict_p(X, categories) - self.offset_

    @reads
    def predict(self, X: Any, categories: Any = None) -> np.ndarray:
        """Return -1 for anomalies (p <= epsilon) and +1 for the others.

        Parameters
        ----------
        X : array-like of shape (m, p)
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the training objects.

        Returns
        -------
        ndarray of int of shape (m,)
        """
        flags = np.where(self.decision_function(X, categories) >= 0, 1, -1)
        self._warn_of_silence(f"epsilon={self.epsilon}", self.epsilon)
        return flags

    @reads
    def predict_frame(self, X: Any, confidence_level: Any = None, categories: Any = None) -> Any:
        """Return the p-values and the anomalies as a data frame with the index of X.

        Parameters
        ----------
        X : array-like of shape (m, p)
        confidence_level : float or list of float, default=None
            The probability, at least, with which an object like the training objects is not called an anomaly. None
            means 1 - epsilon.
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the training objects.

        Returns
        -------
        DataFrame of pandas or polars, as X is or `set_output` says
            With the columns p and is_anomaly; with several levels, is_anomaly_0.9, and so on.
        """
        check_is_fitted(self)
        levels = Levels.of(1 - pvalues.as_decimal(self.epsilon) if confidence_level is None else confidence_level)
        p = self.predict_p(X, categories)
        columns = {"p": p}
        for name, level, epsilon in zip(levels.names("is_anomaly"), levels.given, levels.epsilons, strict=True):
            asked = f"epsilon={self.epsilon}" if confidence_level is None else f"confidence_level={level}"
            columns[name] = ~pvalues.exceeds(p, epsilon)
            self._warn_of_silence(asked, epsilon)
        return self._frame(X, columns)

    def _warn_of_silence(self, level: str, epsilon: Any) -> None:
        """Say once that no object can be called an anomaly, whatever it is."""
        if not self.smoothed:
            words = {"purpose": "to call any object an anomaly", "result": "none is", "where": ""}
            numbers = self._training_categories
            smallest = self._bag.n if numbers is None else int(np.unique(numbers, return_counts=True)[1].min())
            warn_of_too_few(self, level, epsilon, smallest, **words)

    @reads
    def select(self, X: Any, fdr: float = 0.1, method: str = "bh", categories: Any = None) -> np.ndarray:
        """Return which objects to call anomalies so that the false ones among them are few.

        Parameters
        ----------
        X : array-like of shape (m, p)
            Judged together: the rate concerns all of them.
        fdr : float, default=0.1
            The expected share of false alarms among the selected.
        method : {"bh", "by"}, default="bh"
            "bh" (Benjamini-Hochberg) selects more. "by" (Benjamini-Yekutieli) is proven for p-values that depend on
            each other in any way, as those from one training set do.
        categories : array-like of shape (m,), default=None
            The category of each object, if `fit` was given those of the training objects.

        Notes
        -----
        No p-value is below 1/(n + 1), unless it is smoothed: of m objects, k can be selected with "bh" only if
        fdr k/m is not below that. Few anomalies among many objects take many training objects.

        Returns
        -------
        ndarray of bool of shape (m,)
        """
        METHOD.check("method", method)
        RATE.check("fdr", fdr)
        p = self.predict_p(X, categories)
        selected = select_discoveries(p, fdr, method)
        self._warn_of_silence(f"fdr={fdr}", largest_discovery(fdr, method, p.size))
        return selected
