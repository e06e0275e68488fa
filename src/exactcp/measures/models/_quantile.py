"""Conformalised quantile regression: two quantiles of any regressors as a nonconformity measure."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.metadata_routing import MethodMapping
from sklearn.utils.validation import check_is_fitted

from exactcp._changes import changes
from exactcp._parallel import FREE, Effort
from exactcp._parameters import NONE, check_parameters, integer, one_of
from exactcp._rows import count_rows, take_rows
from exactcp.measures._model import (
    ask_model,
    describe_input,
    fit_model,
    is_frozen,
    is_precomputed,
    name_of,
    refuse_idle,
    route,
    routed,
)
from exactcp.measures.models._regressors import (
    PRECOMPUTED,
    REGRESSOR,
    RegressorMeasure,
    ask_regressor,
    given_outputs,
    targets_of,
)

LOOKED_AT = 1000  # examples whose quantiles tell whether the two regressors were swapped


class ModelQuantile(RegressorMeasure):
    """How far a target is outside of two predicted quantiles: max(lower - y, y - upper), negative inside.

    Intervals are then those of conformalised quantile regression [1]_: the two quantiles, both moved by one number,
    outwards if they cover too little and inwards if they cover too much. Their width follows that of the quantiles.

    Parameters
    ----------
    lower : quantile regressor or "precomputed"
        Predicts a low quantile, such as `GradientBoostingRegressor(loss="quantile", alpha=0.05)` for intervals at 90
        %; or, where `upper` is None, one estimator whose `predict` returns two columns, lower and upper. X is handed on
        as it is. A `sklearn.frozen.FrozenEstimator` is never fitted. With "precomputed", X are the quantiles, of shape
        (n, 2).
    upper : quantile regressor or None, default=None
        Predicts a high quantile.
    residual : {"ordinary", "deleted"}, default="ordinary"
        In full CP, whether examples are judged by regressors that have learned them, or not; see `ModelResidual`.
    bisections : int, default=20
        How often full CP halves the bracket of each end of an interval.

    Attributes
    ----------
    lower_, upper_ : regressors
        The fitted clones; `upper_` is None where there is one estimator.

    Notes
    -----
    Whatever the quantiles are, split CP is valid at the level itself; quantiles that fit the level make intervals
    short. For CV+ (cross-CQR) and jackknife+ at least 1 - 2 epsilon is proven, less sqrt(2 / n) for CV+: the proof of
    [2]_ holds for all scores whose sets grow with the score [3]_. In full CP regressors are refitted for every target
    that is tried, and the ends are approximate, as those of `ModelResidual` are.

    Quantiles that cross for some objects are taken as they are: the score is well defined, and so is the guarantee, but
    an interval may be empty, with its lower end above the upper. If they cross for most of the examples, `fit` refuses.
    Both ends move by the same number. `SplitConformalRegressor(..., side="each")` moves each by its own, for half of
    the error on each side.

    Cost: the fits of two regressors where `ModelResidual` has one, or of one that predicts both quantiles.

    References
    ----------
    .. [1] Y. Romano, E. Patterson, E. J. Candes, "Conformalized quantile regression", NeurIPS 2019.
    .. [2] R. F. Barber, E. J. Candes, A. Ramdas, R. J. Tibshirani, "Predictive inference with the jackknife+", Annals
       of Statistics 49, 2021.
    .. [3] C. Gupta, A. K. Kuchibhotla, A. Ramdas, "Nested conformal prediction and quantile out-of-bag ensemble
       methods", Pattern Recognition 127, 2022.

    Examples
    --------
    >>> from exactcp.measures import ModelQuantile
    >>> measure = ModelQuantile("precomputed").fit([[0.0, 4.0], [1.0, 3.0]], [5.0, 2.0])
    >>> measure.score([[0.0, 4.0], [1.0, 3.0]], [5.0, 2.0])
    array([ 1., -1.])
    """

    allowed_parameters: ClassVar = {
        "lower": REGRESSOR | PRECOMPUTED,
        "upper": REGRESSOR | NONE,
        "residual": one_of("ordinary", "deleted"),
        "bisections": integer("a number of steps", at_least=1),
    }

    def __init__(self, lower: Any, upper: Any = None, *, residual: str = "ordinary", bisections: int = 20) -> None:
        self.lower = lower
        self.upper = upper
        self.residual = residual
        self.bisections = bisections

    def _held(self) -> dict[str, Any]:
        """Return the regressors by name: none if X are their quantiles."""
        if is_precomputed(self.lower):
            return {}
        return {"lower": self.lower} if self.upper is None else {"lower": self.lower, "upper": self.upper}

    @changes
    def fit(self, X: Any, y: Any, **fit_parameters: Any) -> Self:
        """Fit clones of the regressors.

        Parameters
        ----------
        X : objects
            Whatever the regressors take.
        y : array-like of shape (n,)
        **fit_parameters : dict
            For the `fit` of both, such as sample_weight. With scikit-learn's metadata routing, what each requests.

        Returns
        -------
        self
        """
        check_parameters(self)
        targets_of(X, y)
        if self.is_fixed:
            refuse_idle(self, fit_parameters)
        if is_precomputed(self.lower) and self.upper is not None:
            msg = (
                f"lower='precomputed' says that X are both quantiles, and upper={self.upper!r} predicts one: give one."
            )
            raise ValueError(msg)
        passed = routed(self, fit_parameters, tuple(self._held()))
        fitted = {name: fit_model(model, X, y, passed[name]) for name, model in self._held().items()}
        self.lower_, self.upper_ = fitted.get("lower", self.lower), fitted.get("upper")
        self._check_order(X)
        return self

    def _check_order(self, X: Any) -> None:
        n = count_rows(X)
        some = np.unique(np.linspace(0, n - 1, min(n, LOOKED_AT)).astype(np.int64))
        lower, upper = self.band(take_rows(X, some)).T
        share = float((lower > upper).mean())
        if share > 0.5:
            msg = (
                f"the lower quantile is above the upper one for {100 * share:.3g} % of the examples: expected lower <= "
                "upper. Swap the two, or look at their levels."
            )
            raise ValueError(msg)

    def band(self, X: Any, *, effort: Effort = FREE) -> np.ndarray:  # noqa: ARG002
        """Return the two quantiles of every object.

        Parameters
        ----------
        X : objects
        effort : Effort
            Not used: regressors have threads of their own.

        Returns
        -------
        ndarray of shape (m, 2)
        """
        check_is_fitted(self, "lower_")
        if is_precomputed(self.lower):
            return given_outputs(X, 2, "lower and upper quantiles")
        if self.upper_ is not None:
            return np.column_stack([ask_regressor(self.lower_, X), ask_regressor(self.upper_, X)])
        said = ask_model(self.lower_, "predict", X)
        if said.ndim != 2 or said.shape[1] != 2:
            msg = (
                f"{name_of(self.lower_)}.predict returned shape {said.shape} for {said.shape[0]} objects: expected two "
                "columns, a lower and an upper quantile. Give a second regressor, ModelQuantile(lower, upper), or take "
                "ModelResidual."
            )
            raise ValueError(msg)
        return said

    def predict(self, X: Any) -> np.ndarray:
        """Return the middle of the two quantiles of every object.

        Parameters
        ----------
        X : objects

        Returns
        -------
        ndarray of shape (m,)
        """
        return np.asarray(self.band(X).mean(axis=1))

    @property
    def is_fixed(self) -> bool:
        """Whether nothing is learned from the examples of `fit`."""
        return all(is_frozen(model) for model in self._held().values())

    def fits(self, n: int) -> int:  # noqa: ARG002
        """Return how often a fit on n examples fits a regressor."""
        return sum(not is_frozen(model) for model in self._held().values())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        return describe_input(tags, self.lower) if self._held() else tags

    def get_metadata_routing(self) -> Any:
        """Return the metadata routing of scikit-learn: parameters of `fit` that the regressors may request.

        Returns
        -------
        MetadataRouter
        """
        held = self._held()
        if not held:
            return super().get_metadata_routing()
        router = route(self, "lower", self.lower)
        if "upper" in held:
            router.add(upper=self.upper, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
        return router
