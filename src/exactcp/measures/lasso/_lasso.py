"""The lasso measure of regression."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from exactcp._changes import changes
from exactcp._parallel import FREE, Effort
from exactcp._parameters import BOOLEAN, check_parameters, positive
from exactcp._validation import check_objects, check_regression_examples
from exactcp._values import check_size
from exactcp.measures._contract import RegressionMeasure
from exactcp.measures.lasso._bag import LassoBag


class LassoResidual(RegressionMeasure):
    """Lasso: the absolute residual of a linear regression with an L1 penalty.

    Parameters
    ----------
    lam : float, default=1.0
        Penalty of `|y - X b|^2 / 2 + lam |b|_1`. The squares are a sum, not a mean: scikit-learn's alpha is lam / n.
    fit_intercept : bool, default=True
        Whether to add a constant that is not penalised, as scikit-learn does.

    Attributes
    ----------
    coef_ : ndarray of shape (p,)
        Coefficients of the lasso of the examples of `fit`.
    intercept_ : float
        Its constant; 0 without one.

    Notes
    -----
    In full CP the lasso is solved on the n examples and the candidate (x, y) together, for every target y at once: the
    solution is affine in y between events, where a coefficient reaches zero or a feature enters, and the path is
    followed from the lasso of the n examples in both directions [1]_. Regions are exact. A path costs O(min(n, p) a^2)
    for each event, a the number of active features, and O(n log n) for the region on each piece. `partial_fit` and
    `unlearn` solve the start anew: exactly, and not faster than `fit`.

    The penalty treats all features alike, so put them on one scale first; the user guide tells how that can be done
    without breaking the guarantee.

    References
    ----------
    .. [1] J. Lei, "Fast exact conformalization of the lasso using piecewise linear homotopy", Biometrika 106, 2019.

    Examples
    --------
    >>> from exactcp.measures import LassoResidual
    >>> X, y = [[1.0, 0.0], [1.0, 0.1]], [3.0, 5.0]
    >>> measure = LassoResidual(lam=2.0, fit_intercept=False).fit(X, y)
    >>> measure.coef_.round(6), measure.score([[2.0, 0.0]], [7.0]).round(6)
    (array([3., 0.]), array([1.]))
    """

    is_formula: ClassVar = True
    fits_itself = True  # its residuals are ordinary ones
    allowed_parameters: ClassVar = {"lam": positive("a penalty"), "fit_intercept": BOOLEAN}

    def __init__(self, lam: float = 1.0, *, fit_intercept: bool = True) -> None:
        self.lam = lam
        self.fit_intercept = fit_intercept

    @property
    def follows_shifts(self) -> bool:
        """Whether adding a number to all targets adds it to all predictions, and so changes no score."""
        return bool(self.fit_intercept)

    @changes
    def fit(self, X: Any, y: Any) -> Self:
        """Solve the lasso of the examples.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        check_parameters(self)
        coefficients = self.bag(*check_regression_examples(self, X, y, reset=True)).coefficients
        self.intercept_ = float(coefficients[0]) if self.fit_intercept else 0.0
        self.coef_ = coefficients[int(self.fit_intercept) :]
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the point prediction of every object.

        Parameters
        ----------
        X : array-like of shape (m, p)

        Returns
        -------
        ndarray of shape (m,)
        """
        check_is_fitted(self)
        X = check_objects(self, X)
        check_size(X)
        return np.asarray(X @ self.coef_ + self.intercept_)

    def bag(self, X: np.ndarray, y: np.ndarray, *, effort: Effort = FREE) -> LassoBag:  # noqa: ARG002
        """Return the bag of these examples.

        Parameters
        ----------
        X : ndarray of shape (n, p)
        y : ndarray of shape (n,)
        effort : Effort
            Not used.

        Returns
        -------
        LassoBag
        """
        check_parameters(self)
        return LassoBag(X, y, float(self.lam), intercept=bool(self.fit_intercept))
