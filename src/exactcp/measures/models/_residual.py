"""Any scikit-learn regressor as a nonconformity measure."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from exactcp._changes import changes
from exactcp._parallel import FREE, Effort
from exactcp._parameters import NONE, check_parameters, having, integer, one_of
from exactcp._validation import check_unmasked
from exactcp.measures._contract import Objects, RegressionMeasure
from exactcp.measures.models._refit_bag import ModelBag

_REGRESSOR = having("a regressor", "an instance with fit and predict, such as Ridge()", "fit", "predict")
SHARE_OF_MEAN = 0.1  # of the mean residual, added to every estimated difficulty so that none is zero


class ModelResidual(RegressionMeasure):
    """The distance of a target from a regressor's prediction, divided by the difficulty of the object if asked for.

    Parameters
    ----------
    estimator : scikit-learn regressor
        It is cloned before it is fitted; where its random_state is None, a predictor lends it its own seed.
    residual : {"ordinary", "deleted"}, default="ordinary"
        In full CP, a candidate (x, y) is judged by the regressor that has learned all examples and the candidate
        ("ordinary", one refit for every target that is tried), or each example by the regressor that has learned all
        but itself ("deleted", n refits). A regressor that reproduces its training targets, such as a deep tree, has
        ordinary residuals of zero and needs "deleted". Split CP, CV+ and jackknife+ are not concerned.
    difficulty : scikit-learn regressor, default=None
        Learns the absolute residuals of the fit; scores are then |y - prediction| / difficulty, so that intervals are
        wider where the regressor is worse. A tenth of the mean residual is added to it.
    bisections : int, default=20
        How often full CP halves the bracket of each end of an interval.

    Attributes
    ----------
    estimator_ : regressor
        The fitted clone.

    Notes
    -----
    **In full CP the ends are approximate**: they are found by bracketing p(y) - epsilon outward from the point
    prediction and bisecting, which assumes that the region is one interval. The outer end of the last bracket is
    returned. Each end costs `bisections` refits and one for every doubling of the bracket; a warning says beforehand
    how many that may be. `SplitConformalRegressor` and `CVPlusRegressor` need 1 and `cv` fits in all.

    A regressor that depends on the order of its examples, as one fitted by stochastic gradients does, breaks the
    symmetry on which the guarantee of full CP rests.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from exactcp.measures import ModelResidual
    >>> measure = ModelResidual(LinearRegression()).fit([[0.0], [1.0], [2.0]], [0.0, 2.0, 4.0])
    >>> measure.score([[3.0], [3.0]], [6.5, 5.0]).round(6)
    array([0.5, 1. ])
    """

    allowed_parameters: ClassVar = {
        "estimator": _REGRESSOR,
        "residual": one_of("ordinary", "deleted"),
        "difficulty": _REGRESSOR | NONE,
        "bisections": integer("a number of steps", at_least=1),
    }

    def __init__(
        self, estimator: Any, *, residual: str = "ordinary", difficulty: Any = None, bisections: int = 20
    ) -> None:
        self.estimator = estimator
        self.residual = residual
        self.difficulty = difficulty
        self.bisections = bisections

    @changes
    def fit(self, X: Any, y: Any) -> Self:
        """Fit a clone of the regressor, and of the difficulty's if there is one.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        check_parameters(self)
        check_unmasked(X, "X")
        check_unmasked(y, "y")
        self.estimator_ = clone(self.estimator).fit(X, y)
        if self.difficulty is not None:
            residuals = np.abs(np.asarray(y, dtype=np.float64) - self.predict(X))
            self.difficulty_ = clone(self.difficulty).fit(X, residuals)
            self._least = SHARE_OF_MEAN * float(residuals.mean()) or 1.0
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the regressor's prediction of every object.

        Parameters
        ----------
        X : array-like of shape (m, p)

        Returns
        -------
        ndarray of shape (m,)
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X), dtype=np.float64).reshape(-1)

    @property
    def fits_itself(self) -> bool:
        """Whether an example is judged by a fit that it took part in."""
        return self.residual == "ordinary"

    @property
    def has_scale(self) -> bool:
        """Whether residuals are divided by a `scale` that depends on the object."""
        return self.difficulty is not None

    @property
    def objects(self) -> Objects:
        """What the measure's objects may be."""
        return Objects.ANYTHING

    def scale(self, X: Any) -> np.ndarray:
        """Return what residuals are divided by: the difficulty of every object, 1 if none is estimated.

        Parameters
        ----------
        X : array-like of shape (m, p)

        Returns
        -------
        ndarray of shape (m,)
        """
        check_is_fitted(self)
        if self.difficulty is None:
            return np.ones(np.shape(X)[0])
        estimated = np.asarray(self.difficulty_.predict(X), dtype=np.float64).reshape(-1)
        return np.maximum(0.0, estimated) + self._least

    def score(self, X: Any, y: Any) -> np.ndarray:
        """Return |y - prediction| / difficulty of each example.

        Parameters
        ----------
        X : array-like of shape (m, p)
        y : array-like of shape (m,)

        Returns
        -------
        ndarray of shape (m,)
        """
        return np.abs(np.asarray(y, dtype=np.float64) - self.predict(X)) / self.scale(X)

    def bag(self, X: np.ndarray, y: np.ndarray, *, effort: Effort = FREE) -> ModelBag:  # noqa: ARG002
        """Return the bag of these examples, which refits the regressor for every question.

        Parameters
        ----------
        X : ndarray of shape (n, p)
        y : ndarray of shape (n,)
        effort : Effort
            Not used.

        Returns
        -------
        ModelBag
        """
        check_parameters(self)
        return ModelBag(self, X, y)
