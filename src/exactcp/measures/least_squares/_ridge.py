"""The ridge regression measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from exactcp import textbook
from exactcp._changes import changes
from exactcp._parallel import ALONE, FREE, Effort
from exactcp._parameters import check_parameters, one_of
from exactcp._validation import check_objects, check_regression_examples
from exactcp.measures._contract import RegressionMeasure
from exactcp.measures.least_squares._features import is_transformer
from exactcp.measures.least_squares._kernel_matrix import KernelStore
from exactcp.measures.least_squares._left_out import RidgeLeftOut
from exactcp.measures.least_squares._parameters import RidgeParameters
from exactcp.measures.least_squares._ridge_bag import RESIDUAL_CODES, RidgeBag
from exactcp.measures.least_squares._sharded_ridge import ShardedRidge
from exactcp.textbook.regression import ResidualFunction


class RidgeResidual(RidgeParameters, RegressionMeasure):
    """Ridge regression: the distance of a target from the (kernel) ridge regression of the others.

    Parameters
    ----------
    rho : float, default=1.0
        The regularisation, > 0.
    kernel : {"linear", "rbf", "poly", "sigmoid", "laplacian", "precomputed"} or callable, default="linear"
        As in `LSSVM`.
    gamma : float, default=None
        Of "rbf", "poly", "sigmoid" and "laplacian". None means 1 / n_features. It is never estimated from the objects.
    degree : int, default=3
        Of "poly".
    coef0 : float, default=1
        Of "poly" and "sigmoid".
    feature_map : callable or fitted transformer, default=None
        An explicit feature map for the linear kernel, as in `LSSVM`.
    fit_intercept : bool, default=True
        Add a bias that is not penalised, as scikit-learn does. Without it the regression goes through the origin, which
        is worth it for targets and features that are centred on 0 by other means only.
    residual : {"studentized", "deleted", "ordinary"}, default="studentized"
        What full CP compares. "deleted": each example is predicted without itself. "ordinary": with itself, so that an
        example of high leverage never looks strange. "studentized": the ordinary residual over sqrt(1 - leverage),
        between the two; its region is always one interval, the others' may be unions, rays or the whole line.
    solver : {"auto", "primal", "dual", "svd"}, default="auto"
        As in `LSSVM`.
    memory_limit : float, default=2**32
        Bytes that the n x n matrices of a kernel may take.

    Notes
    -----
    The ridge regression confidence machine [1]_, exact: with a test object in the bag every residual is an affine
    function of its target, so the region follows from the n intervals where examples are at least as strange. `score`
    is the plain `|y - prediction|` for all kinds, as split CP and jackknife+ use it.

    Factorisations are those of `LSSVM`, and no regression is fitted again: with q features a test object costs about
    n q + q^2 operations, with a kernel n^2, as its part of one matrix product for all of them.

    References
    ----------
    .. [1] I. Nouretdinov, T. Melluish, V. Vovk, "Ridge Regression Confidence Machine", ICML 2001.
    .. [2] V. Vovk, A. Gammerman, G. Shafer, "Algorithmic Learning in a Random World", Springer 2005, section 2.3.

    Examples
    --------
    The regression through the origin of (1, 2) and (-1, -2) has slope 4 / (2 + rho):

    >>> from exactcp.measures import RidgeResidual
    >>> measure = RidgeResidual(rho=2.0, fit_intercept=False).fit([[1.0], [-1.0]], [2.0, -2.0])
    >>> measure.predict([[3.0]]), measure.score([[3.0]], [5.0])
    (array([3.]), array([2.]))
    """

    allowed_parameters: ClassVar = {**RidgeParameters.allowed_parameters, "residual": one_of(*RESIDUAL_CODES)}

    def __init__(
        self,
        rho: float = 1.0,
        kernel: str | Callable[[np.ndarray, np.ndarray], float] = "linear",
        gamma: float | None = None,
        degree: int = 3,
        coef0: float = 1,
        feature_map: Any = None,
        fit_intercept: bool = True,  # noqa: FBT001, FBT002  (scikit-learn's name and place)
        residual: str = "studentized",
        solver: str = "auto",
        memory_limit: float = 2**32,
    ) -> None:
        self.rho = rho
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.feature_map = feature_map
        self.fit_intercept = fit_intercept
        self.residual = residual
        self.solver = solver
        self.memory_limit = memory_limit

    def twin(self) -> ResidualFunction | None:
        """Return the textbook's residual function with these parameters, None if it has none."""
        params = self._parameters_of_textbook()
        if params is None:
            return None
        feature_map = params.pop("feature_map")
        return textbook.regression.ridge_residual(
            **params, feature_map=feature_map.transform if is_transformer(feature_map) else feature_map
        )

    @property
    def follows_shifts(self) -> bool:
        """Whether adding a number to all targets adds it to all predictions, and so changes no score."""
        return bool(self.fit_intercept)

    def _bag(self, X: np.ndarray, y: np.ndarray, *, diagonal: bool, effort: Effort = ALONE) -> RidgeBag:
        store = self._stored(X, effort=effort)
        if diagonal and isinstance(store, KernelStore):
            store.require_diagonal()
        return RidgeBag(
            store,
            y,
            residual=self.residual,
            rho=float(self.rho),
            solver=self.solver,
            intercept=bool(self.fit_intercept),
            effort=effort,
        )

    @changes
    def fit(self, X: Any, y: Any) -> Self:
        """Fit the regression; predictions and scores are with respect to these examples.

        Parameters
        ----------
        X : array-like of shape (n, p)
            Objects; with kernel="precomputed", their kernel values with each other.
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        check_parameters(self)
        self._fitted = self._bag(*check_regression_examples(self, X, y, reset=True), diagonal=False)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the regression's value at every object.

        Parameters
        ----------
        X : array-like of shape (m, p)

        Returns
        -------
        ndarray of shape (m,)
        """
        check_is_fitted(self)
        return self._fitted.predict(check_objects(self, X))

    def bag(
        self,
        X: np.ndarray,
        y: np.ndarray,
        *,
        effort: Effort = FREE,
    ) -> RidgeBag:
        """Return the bag of these examples.

        Parameters
        ----------
        X : ndarray of shape (n, p)
        y : ndarray of shape (n,)
        effort : Effort
            Threads, and whether progress is told.

        Returns
        -------
        RidgeBag
        """
        return self._bag(X, y, diagonal=True, effort=effort)

    def leave_one_out(
        self,
        X: np.ndarray,
        y: np.ndarray,
        *,
        effort: Effort = FREE,
    ) -> RidgeLeftOut:
        """Return the n regressions that leave one example out, for jackknife+; none is refitted.

        Parameters
        ----------
        X : ndarray of shape (n, p)
        y : ndarray of shape (n,)
        effort : Effort
            Threads, and whether progress is told.

        Returns
        -------
        RidgeLeftOut
        """
        return RidgeLeftOut(self._bag(X, y, diagonal=False, effort=effort))

    def sharded(self) -> ShardedRidge:
        """Return what the measure does with examples that lie in shards, its parameters checked.

        Returns
        -------
        ShardedRidge
        """
        return ShardedRidge(self._sharded_setting(), self.residual, clone(self).bag)
