"""Levels that follow the errors of a stream."""

from __future__ import annotations

import copy
from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from exactcp import pvalues
from exactcp._changes import changes, reads
from exactcp._estimator import Estimator
from exactcp._parameters import Allowed, check_parameters, positive, share
from exactcp._rows import count_rows, row_of, take_rows
from exactcp._warning import quiet
from exactcp.online._beginning import is_fitted, learn_first

PREDICTOR = Allowed(
    "a conformal predictor",
    "an instance of a classifier or regressor, such as FullConformalRegressor()",
    lambda value: (
        not isinstance(value, type)
        and hasattr(value, "fit")
        and (hasattr(value, "predict_p") or hasattr(value, "predict_interval"))
    ),
    error=TypeError,
)


def _has_p_values(self: Any) -> bool:
    return hasattr(self.predictor, "predict_p")


class AdaptiveLevel(Estimator):
    """Adaptive conformal inference: a confidence level that rises after each error and falls after each success.

    However the stream drifts, the share of errors in the long run is 1 - confidence_level.

    Parameters
    ----------
    predictor : conformal classifier or regressor
        One that is fitted already is used as it is, and stays as it is: a copy of it learns.
    gamma : float, default=0.005
        How far one error moves the level: large ones follow changes fast, and swing.
    confidence_level : float, default=0.9
        1 minus the share of errors to be had in the long run.

    Attributes
    ----------
    predictor_ : conformal predictor
        The one in use.
    epsilon_ : Fraction
        The significance level of the next prediction, exactly: 1 minus the level that the predictor is asked at. It may
        be below 0 or above 1.
    epsilons_ : ndarray of shape (t + 1,)
        The significance level of each prediction so far, and of the next.
    errors_ : ndarray of bool of shape (t,)
        Whether the sets or intervals missed the truth.

    Notes
    -----
    With e_1 = epsilon = 1 - confidence_level, and err_t = 1 if the set at the level e_t missed the truth and 0 if not,
    e_{t+1} = e_t + gamma (epsilon - err_t) [1]_. Where e_t <= 0 the set has everything, and cannot miss; where
    e_t >= 1 it has nothing (an interval of nan), and must. Where labels come d examples late, d more steps are made
    before either is seen. So e_t stays within [-(d + 1) gamma, 1 + (d + 1) gamma], and

        `|mean of err_1, ..., err_T - epsilon| <= (max(epsilon, 1 - epsilon) (1 + d gamma) + gamma) / (gamma T)`,

    whatever the examples are; d = 0 is the bound of [1]_. This is all that holds without exchangeability: nothing is
    promised about any one step. Levels are exact fractions of the decimal numbers that gamma and confidence_level print
    as, so that no rounding adds up.

    Cost: that of the predictor, for one prediction and one example learned a step.

    References
    ----------
    .. [1] I. Gibbs, E. Candes, "Adaptive Conformal Inference Under Distribution Shift", NeurIPS 2021.

    Examples
    --------
    The noise of a signal doubles, and doubles again:

    >>> import numpy as np
    >>> from exactcp import FullConformalRegressor
    >>> from exactcp.online import AdaptiveLevel, progressive
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 1))
    >>> y = X[:, 0] + 2.0 ** (np.arange(600) // 200) * rng.normal(size=600)
    >>> fixed = progressive(FullConformalRegressor(), (X, y), confidence_level=0.9)
    >>> adaptive = progressive(AdaptiveLevel(FullConformalRegressor(), gamma=0.02), (X, y))
    >>> float(fixed.error.mean().round(3)), float(adaptive.error.mean().round(3))
    (0.228, 0.107)
    """

    allowed_parameters: ClassVar = {
        "predictor": PREDICTOR,
        "gamma": positive("the size of a step"),
        "confidence_level": share("a probability"),
    }

    def __init__(self, predictor: Any, gamma: float = 0.005, confidence_level: float = 0.9) -> None:
        self.predictor = predictor
        self.gamma = gamma
        self.confidence_level = confidence_level

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.predictor)
        for name in ("estimator_type", "target_tags", "classifier_tags", "regressor_tags", "input_tags"):
            setattr(tags, name, getattr(inner, name))
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "predictor_" in vars(self) or is_fitted(self.predictor)

    @changes
    def fit(self, X: Any, y: Any, **fit_parameters: Any) -> Self:
        """Fit a clone of the predictor; the level is that of the start.

        Parameters
        ----------
        X : objects
        y : array-like of shape (n,)
        **fit_parameters
            For the predictor's `fit`.

        Returns
        -------
        self
        """
        check_parameters(self)
        self.predictor_ = clone(self.predictor).fit(X, y, **fit_parameters)
        self._missed = b""
        return self

    @changes
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Update with examples one after another; where nothing has been learned, learn them all as a start.

        Parameters
        ----------
        X : objects
        y : array-like of shape (m,)
        classes : array-like, default=None
            All labels that will ever come, for classifiers.

        Returns
        -------
        self
        """
        if self.__sklearn_is_fitted__():
            for i in range(count_rows(X)):
                self.update(take_rows(X, np.array([i])), np.asarray(y)[i])
            return self
        check_parameters(self)
        fresh = clone(self.predictor)
        learn_first(fresh, X, np.asarray(y), classes)
        self.predictor_, self._missed = fresh, b""
        return self

    @changes
    def update(self, x: Any, y: Any, *, error: bool | None = None) -> bool:
        """Move the level by whether the truth was missed, and then learn the example, if the predictor can.

        Parameters
        ----------
        x : object
            A flat array, or a row of what the predictor takes.
        y : label or target
        error : bool, default=None
            Whether the set or interval that was given out for x missed y. None asks for it now.

        Returns
        -------
        bool
            Whether it did.
        """
        row, truth = row_of(x), np.asarray([y])
        missed = self._misses(row, y) if error is None else bool(error)
        learner = self._start()
        if hasattr(learner, "partial_fit"):
            learner = copy.copy(learner) if isinstance(learner, Estimator) else copy.deepcopy(learner)
            learner.partial_fit(row, truth)
        self.predictor_, self._missed = learner, self._missed + bytes([missed])
        return missed

    def _start(self) -> Any:
        """Return the predictor in use; the first time, take note of it."""
        if "predictor_" not in vars(self):
            check_parameters(self)
            if not is_fitted(self.predictor):
                msg = f"AdaptiveLevel has learned nothing, and neither has its {type(self.predictor).__name__}: fit it."
                raise NotFittedError(msg)
            self.predictor_, self._missed = self.predictor, b""
        return self.predictor_

    def _misses(self, row: Any, y: Any) -> bool:
        """Tell whether the present set or interval of an object lacks its label or target."""
        if is_classifier(self.predictor):
            inside = self.predict_set(row)[0]
            return not inside[self.classes_ == y].any()
        lower, upper = self.predict_interval(row)[0]
        return not lower <= y <= upper

    @property
    def classes_(self) -> np.ndarray:
        """Labels, of a classifier."""
        return np.asarray(vars(self).get("predictor_", self.predictor).classes_)

    @property
    def epsilon_(self) -> Fraction:
        """Significance level of the next prediction."""
        missed = vars(self).get("_missed", b"")
        epsilon: Fraction = pvalues.significance(self.confidence_level)
        moved: Fraction = pvalues.as_decimal(self.gamma) * (len(missed) * epsilon - missed.count(1))
        return epsilon + moved

    @property
    def epsilons_(self) -> np.ndarray:
        """Significance level of each prediction so far, and of the next."""
        errors = np.concatenate([[0], np.cumsum(self.errors_)])
        epsilon = float(pvalues.significance(self.confidence_level))
        return np.asarray(epsilon + float(self.gamma) * (np.arange(errors.size) * epsilon - errors))

    @property
    def errors_(self) -> np.ndarray:
        """Whether each set or interval missed the truth."""
        return np.frombuffer(vars(self).get("_missed", b""), dtype=bool)

    @reads
    def predict(self, X: Any) -> np.ndarray:
        """Return the predictor's point predictions.

        Parameters
        ----------
        X : objects

        Returns
        -------
        ndarray of shape (m,)
        """
        return np.asarray(self._start().predict(X))

    @available_if(_has_p_values)  # type: ignore[untyped-decorator]
    @reads
    def predict_p(self, X: Any, *y: Any) -> np.ndarray:
        """Return the predictor's p-values, which no level changes.

        Parameters
        ----------
        X : objects
        *y : array-like of shape (m,)
            Targets, of a regressor.

        Returns
        -------
        ndarray of shape (m, l) or (m,)
        """
        return np.asarray(self._start().predict_p(X, *y))

    @available_if(lambda self: is_classifier(self.predictor))  # type: ignore[untyped-decorator]
    @reads
    def predict_set(self, X: Any) -> np.ndarray:
        """Return the prediction sets at the present level.

        Parameters
        ----------
        X : objects

        Returns
        -------
        ndarray of bool of shape (m, l)
        """
        return pvalues.exceeds(np.asarray(self._start().predict_p(X)), self.epsilon_)

    @available_if(lambda self: is_regressor(self.predictor))  # type: ignore[untyped-decorator]
    @reads
    def predict_interval(self, X: Any) -> np.ndarray:
        """Return the prediction intervals at the present level.

        Parameters
        ----------
        X : objects

        Returns
        -------
        ndarray of shape (m, 2)
            Infinite where the level is 1 or above, nan where it is 0 or below.
        """
        predictor, level = self._start(), float(1 - self.epsilon_)
        if not 0 < level < 1:
            end = np.inf if level > 0 else np.nan
            return np.tile([-end, end], (count_rows(X), 1))
        with quiet("confidence_level="):  # levels that few examples cannot have, and low ones, come and go here
            return np.asarray(predictor.predict_interval(X, confidence_level=level))
