"""Columns of tiny or huge numbers, brought near 1 without changing a digit of them."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from exactcp._estimator import Estimator
from exactcp._parameters import check_parameters, one_of


class PowerOfTwoScaler(OneToOneFeatureMixin, TransformerMixin, Estimator):
    """Divide every column by a power of two, which changes exponents and no digits.

    A scaler after it gives the same bits as without it, except where it would square numbers that are so small that
    nothing is left of them, or take a small range for none.

    Parameters
    ----------
    unit : {"largest", "quartiles"}, default="largest"
        What is between 1/2 and 1 afterwards: the largest absolute value of a column, or the range between its
        quartiles.

    Attributes
    ----------
    exponents_ : ndarray of int of shape (p,)
    n_features_in_ : int

    Examples
    --------
    >>> PowerOfTwoScaler().fit_transform([[3 * 2.0**-700, 5.0], [2.0**-700, -6.0]]).tolist()
    [[0.75, 0.625], [0.25, -0.75]]
    """

    allowed_parameters: ClassVar = {"unit": one_of("largest", "quartiles")}

    def __init__(self, unit: str = "largest") -> None:
        self.unit = unit

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Learn the exponents.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : ignored

        Returns
        -------
        self
        """
        check_parameters(self)
        X = validate_data(self, X, dtype=np.float64)
        sizes = np.abs(X).max(axis=0)
        if self.unit == "quartiles":
            sizes = np.subtract(*np.percentile(X, (75, 25), axis=0))
        self.exponents_ = np.frexp(sizes)[1]
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the columns divided by their powers of two.

        Parameters
        ----------
        X : array-like of shape (m, p)

        Returns
        -------
        ndarray of shape (m, p)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(np.ldexp(X, -self.exponents_))
