"""Any regressor as a nonconformity measure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from exactcp._changes import changes
from exactcp._parameters import NONE, check_parameters, integer, number, one_of
from exactcp._rows import count_rows
from exactcp.measures._model import (
    describe_input,
    fit_model,
    is_frozen,
    is_precomputed,
    refuse_idle,
    require_fitted,
    route,
    routed,
)
from exactcp.measures.models._difficulty import (
    DIFFICULTY,
    FOLDS,
    SHARE_OF_MEAN,
    USUAL_NEIGHBOURS,
    NeighbourDifficulty,
    ask_function,
    fold_count,
    is_function,
    is_learned,
    needs_residuals,
    out_of_fold,
)
from exactcp.measures.models._regressors import (
    PRECOMPUTED,
    REGRESSOR,
    RegressorMeasure,
    ask_regressor,
    given_outputs,
    targets_of,
)


class ModelResidual(RegressorMeasure):
    """The distance of a target from a regressor's prediction, divided by the difficulty of the object if asked for.

    Parameters
    ----------
    estimator : regressor or "precomputed"
        Anything with `fit` and `predict`, which is given X as you give it: a frame, a sparse matrix, a list. It is
        cloned before it is fitted; where its random_state is None, a predictor lends it its own seed. A
        `sklearn.frozen.FrozenEstimator` is never fitted. With "precomputed", X are the predictions of a model from
        elsewhere, of shape (n,) or (n, 1).
    residual : {"ordinary", "deleted"}, default="ordinary"
        In full CP, a candidate (x, y) is judged by the regressor that has learned all examples and the candidate
        ("ordinary", one refit for every target that is tried), or each example by the regressor that has learned all
        but itself ("deleted", n refits). A regressor that reproduces its training targets, such as a deep tree, has
        ordinary residuals of zero and needs "deleted". Split CP, CV+ and jackknife+ are not concerned, and nothing
        that is frozen or precomputed.
    difficulty : regressor, "knn", "knn distance", "knn spread", function or None, default=None
        Scores are `|y - prediction| / difficulty`, so intervals are wider where the regressor is worse. A regressor
        learns the absolute residuals of examples that `estimator` has not seen: out of `cv` folds of the examples of
        `fit`, or all of them if `estimator` is frozen or precomputed. "knn" is the mean of these residuals over the
        nearest examples, "knn distance" the sum of the distances to them, "knn spread" the standard deviation of their
        targets; features are scaled to [0, 1] for them. A function takes X and returns a number above 0 for each
        object, (m,). A frozen regressor is asked as it is; it must not have
        learned the examples that calibrate.
    neighbours : int or None, default=None
        How many nearest examples "knn" and its kin look at; None means 25.
    floor : float or None, default=None
        Added to the difficulty, so that no interval has length 0. None is a tenth of the mean residual ("knn
        distance": distance; "knn spread": of the standard deviation of all targets), and 0 for a function or a frozen
        regressor.
    cv : int or scikit-learn splitter, default=5
        The folds of the residuals that a difficulty learns from. A number sorts examples into folds by a random number
        that each has of its own, so that the order of the examples does not matter, as full CP wants it.
    bisections : int, default=20
        How often full CP halves the bracket of each end of an interval.

    Attributes
    ----------
    estimator_ : regressor
        The fitted clone.
    difficulty_ : regressor or function
        What tells the difficulty, fitted.
    floor_ : float
        What is added to it.

    Notes
    -----
    **In full CP the ends are approximate**: they are found by bracketing p(y) - epsilon outward from the point
    prediction and bisecting, which assumes that the region is one interval. The outer end of the last bracket is
    returned. Each end costs `bisections` refits and one for every doubling of the bracket; a warning says beforehand
    how many that may be. `SplitConformalRegressor` and `CVPlusRegressor` need 1 and `cv` fits in all. A regressor that
    is frozen or precomputed needs none, and its ends are exact.

    A difficulty from residuals costs `cv` more fits of the regressor. Residuals of examples that it has learned would
    say nothing: an interpolating model has none.

    In full CP a regressor gets its rows in an order that depends on the rows alone. So one with an integer
    random_state, or fitted by stochastic gradients, does not treat a candidate by its place: the guarantee holds.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from exactcp.measures import ModelResidual
    >>> measure = ModelResidual(LinearRegression()).fit([[0.0], [1.0], [2.0]], [0.0, 2.0, 4.0])
    >>> measure.score([[3.0], [3.0]], [6.5, 5.0]).round(6)
    array([0.5, 1. ])
    """

    allowed_parameters: ClassVar = {
        "estimator": REGRESSOR | PRECOMPUTED,
        "residual": one_of("ordinary", "deleted"),
        "difficulty": DIFFICULTY,
        "neighbours": integer("a number of neighbours", at_least=1) | NONE,
        "floor": number("a difficulty to add", "a number of at least 0", lambda x: 0 <= x < np.inf) | NONE,
        "cv": FOLDS,
        "bisections": integer("a number of steps", at_least=1),
    }

    def __init__(
        self,
        estimator: Any,
        *,
        residual: str = "ordinary",
        difficulty: Any = None,
        neighbours: int | None = None,
        floor: float | None = None,
        cv: Any = 5,
        bisections: int = 20,
    ) -> None:
        self.estimator = estimator
        self.residual = residual
        self.difficulty = difficulty
        self.neighbours = neighbours
        self.floor = floor
        self.cv = cv
        self.bisections = bisections

    @changes
    def fit(self, X: Any, y: Any, **fit_parameters: Any) -> Self:
        """Fit a clone of the regressor, and learn the difficulty if there is one to learn.

        Parameters
        ----------
        X : objects
            Whatever the regressor takes.
        y : array-like of shape (n,)
        **fit_parameters : dict
            For the regressor's `fit`, such as sample_weight. With scikit-learn's metadata routing, what it requests.

        Returns
        -------
        self
        """
        check_parameters(self)
        targets = targets_of(X, y)
        if self._is_given:
            refuse_idle(self, fit_parameters)
        if is_precomputed(self.estimator):
            given_outputs(X, 1, "predictions")
            self.estimator_ = self.estimator
            passed: Mapping[str, Any] = {}
        else:
            passed = routed(self, fit_parameters)["estimator"]
            self.estimator_ = fit_model(self.estimator, X, y, passed)
        self._learn_difficulty(X, targets, passed)
        return self

    def _learn_difficulty(self, X: Any, y: np.ndarray, passed: Mapping[str, Any]) -> None:
        self._refuse_idle_parameters()
        if self.difficulty is None:
            return
        residuals, typical = None, 0.0
        if needs_residuals(self.difficulty):
            if self._is_given:
                residuals = np.abs(y - self.predict(X))
            else:
                residuals = out_of_fold(self.estimator, X, y, self.cv, passed)
            typical = float(residuals.mean())
        if isinstance(self.difficulty, str):
            self.difficulty_ = NeighbourDifficulty(self.difficulty, self.neighbours or USUAL_NEIGHBOURS).fit(
                self._features(X), residuals, y
            )
            typical = self.difficulty_.typical()
        elif is_function(self.difficulty):
            self.difficulty_ = self.difficulty
        else:
            self.difficulty_ = fit_model(self.difficulty, self._features(X), residuals)
        least = SHARE_OF_MEAN * typical or 1.0
        self.floor_ = float(self.floor if self.floor is not None else least if is_learned(self.difficulty) else 0.0)

    def _refuse_idle_parameters(self) -> None:
        """Refuse what only a difficulty of another kind heeds."""
        if self.neighbours is not None and not isinstance(self.difficulty, str):
            msg = (
                f"neighbours={self.neighbours} is for difficulty='knn' and its kin, and difficulty={self.difficulty!r}."
            )
            raise ValueError(msg)
        if self.floor is not None and self.difficulty is None:
            msg = f"floor={self.floor} is added to a difficulty, and difficulty=None: give one, such as 'knn'."
            raise ValueError(msg)

    def _features(self, X: Any) -> Any:
        """Return what a difficulty is learned from: predictions have a column of their own."""
        return given_outputs(X, 1, "predictions") if is_precomputed(self.estimator) else X

    def predict(self, X: Any) -> np.ndarray:
        """Return the regressor's prediction of every object.

        Parameters
        ----------
        X : objects

        Returns
        -------
        ndarray of shape (m,)
        """
        require_fitted(self, "estimator_")
        if is_precomputed(self.estimator):
            return given_outputs(X, 1, "predictions")[:, 0]
        return ask_regressor(self.estimator_, X)

    @property
    def has_scale(self) -> bool:
        """Whether residuals are divided by a `scale` that depends on the object."""
        return self.difficulty is not None

    @property
    def is_fixed(self) -> bool:
        """Whether nothing is learned from the examples of `fit`."""
        return self._is_given and not is_learned(self.difficulty)

    @property
    def _is_given(self) -> bool:
        """Whether the regressor learns nothing."""
        return is_frozen(self.estimator) or is_precomputed(self.estimator)

    def fits(self, n: int) -> int:
        """Return how often a fit on n examples fits the regressor."""
        if self._is_given:
            return 0
        return 1 + (fold_count(self.cv, n) if needs_residuals(self.difficulty) else 0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        return tags if is_precomputed(self.estimator) else describe_input(tags, self.estimator)

    def get_metadata_routing(self) -> Any:
        """Return the metadata routing of scikit-learn: parameters of `fit` that the regressor may request.

        Returns
        -------
        MetadataRouter
        """
        return (
            super().get_metadata_routing()
            if is_precomputed(self.estimator)
            else route(self, "estimator", self.estimator)
        )

    def scale(self, X: Any) -> np.ndarray:
        """Return what residuals are divided by: the difficulty of every object, 1 if none is estimated.

        Parameters
        ----------
        X : objects

        Returns
        -------
        ndarray of shape (m,)
        """
        require_fitted(self, "estimator_")
        if self.difficulty is None:
            return np.ones(count_rows(X))
        if is_function(self.difficulty):
            estimated = ask_function(self.difficulty_, X)
        elif isinstance(self.difficulty, str):
            estimated = self.difficulty_.predict(self._features(X))
        else:
            estimated = np.maximum(0.0, ask_regressor(self.difficulty_, self._features(X)))
        difficulties = estimated + self.floor_
        if not (difficulties > 0).all():
            row = int((difficulties <= 0).argmax())
            msg = (
                f"object {row} has difficulty 0, and residuals are divided by it: give a floor above 0, such as "
                "floor=0.01, which is added to every difficulty."
            )
            raise ValueError(msg)
        return np.asarray(difficulties)
