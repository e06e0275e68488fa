"""Jackknife+-after-bootstrap regression: every example is judged by the models whose sample lacks it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from exactcp._changes import changes
from exactcp._parallel import effort_of
from exactcp._parameters import SEEDED, Allowed, check_parameters, integer, one_of
from exactcp._seeds import draw_seed
from exactcp._warning import warn
from exactcp.measures._choice import held_by
from exactcp.measures._contract import Measure, RegressionMeasure
from exactcp.measures._model import (
    describe_input,
    is_frozen,
    is_precomputed,
    may_be,
    name_of,
    route,
    warn_of_batches,
    why_no,
)
from exactcp.measures.models._residual import ModelResidual
from exactcp.predicting.intervals import IntervalPrediction, ends_at
from exactcp.regression._resampled_models import LackingModels, ResampledModels, draws_samples

USUAL = 30  # resamplings


def _is_allowed(value: Any) -> bool:
    if isinstance(value, ModelResidual):
        return value.difficulty is None and _is_allowed(value.estimator)
    if isinstance(value, Measure | RegressionMeasure) or is_frozen(value):
        return False
    return may_be("regressor", value, "predict")


def _why_not(value: Any) -> str:
    """Say what is wrong with a well-known mistake."""
    if isinstance(value, ModelResidual):
        reason = _why_not(value.estimator)
        difficult = (
            "A difficulty is not estimated here: leave it out, or use CVPlusRegressor or JackknifePlusRegressor."
        )
        return reason if value.difficulty is None else difficult
    if isinstance(value, Measure | RegressionMeasure):
        name = type(value).__name__
        return f"{name} is a measure: give a regressor itself, or use CVPlusRegressor or JackknifePlusRegressor."
    if is_frozen(value) or is_precomputed(value):
        return "A model that is trained already learns nothing from samples: use SplitConformalRegressor around it."
    return why_no("regressor", value)


_ESTIMATOR = Allowed(
    "a regressor to resample", "an instance with fit and predict, such as Ridge()", _is_allowed, _why_not, TypeError
)


class JackknifeAfterBootstrapRegressor(IntervalPrediction):
    """Jackknife+-after-bootstrap: an example's residual comes from the models whose bootstrap sample lacks it.

    Parameters
    ----------
    estimator : scikit-learn regressor
        It is cloned and fitted on every sample; where its random_state is None, each clone has a seed of its own. Of
        `RandomForestRegressor`, `ExtraTreesRegressor(bootstrap=True)` and `BaggingRegressor` one is fitted, and the
        samples are its own.
    n_resamplings : int, default=30
        How many samples would be drawn from n + 1 examples; those that lack the last one, about e**-1 = 37 %, are what
        is drawn from n. The notes say why. An ensemble with samples of its own has a number of models of its own.
    aggregate : {"mean", "median"}, default="mean"
        Of the predictions of several models.
    method : {"plus", "minmax"}, default="plus"
        "minmax" is the smallest left-out prediction minus, to the largest plus, one quantile of the residuals: wider,
        and more careful.
    random_state : int, RandomState or None, default=None
        Of the number of samples, the samples, and the models where their own is None. An integer makes fits repeat.
    n_jobs : int or None, default=None
        Threads; None means all cores.
    verbose : int, default=0
        Above 0, long work shows a progress bar.

    Attributes
    ----------
    estimators_ : list of estimators
        One fitted model for each sample.
    n_resamplings_ : int
        How many samples were drawn.
    residuals_ : ndarray of shape (n,)
        Absolute residuals of the examples, each from the models whose sample lacks it.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had string column names.

    See Also
    --------
    JackknifePlusRegressor : One model for each example instead of samples.
    CVPlusRegressor : One model for each fold.

    Notes
    -----
    With `mu_-i(x)`, the aggregate of what the models say whose sample lacks example i, and `R_i = |y_i - mu_-i(x_i)|`,
    the interval goes from the m-th smallest `mu_-i(x) - R_i` to the m-th largest `mu_-i(x) + R_i`, where m is the
    smallest count with (m + 1) / (n + 1) > epsilon. `predict` is the aggregate of all models.

    **The coverage is at least 1 - 2 epsilon** for "plus", where epsilon = 1 - confidence_level [1]_, and typically near
    1 - epsilon; by the same argument at least 1 - epsilon for "minmax". It takes a random number of samples,
    Binomial(`n_resamplings`, (1 - 1/(n + 1))**n): as many as lack the test object among samples of all n + 1 objects,
    so that the test object is like the others. Hence with 30, about 11 models are fitted. The number of models of a
    forest is drawn in the same way, around its `n_estimators`; that its samples are drawn uniformly, which
    `sample_weight` changes, is then assumed.

    An example that no sample lacks, one in 160 with 11 samples, has no model. What is proven forbids to draw samples
    until there is one, but holds for whatever is said instead, as long as it depends on the other examples alone: here,
    the mean or the median of their targets.

    Cost: one fit for each sample, and O(n) for each test object and sample.

    References
    ----------
    .. [1] B. Kim, C. Xu, R. F. Barber, "Predictive inference is free with the jackknife+-after-bootstrap", NeurIPS
       2020.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from exactcp import JackknifeAfterBootstrapRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = JackknifeAfterBootstrapRegressor(Ridge(alpha=0.1), random_state=0)
    >>> reg.fit(X[:-3], y[:-3]).n_resamplings_
    11
    >>> reg.predict_interval(X[-3:], confidence_level=0.9).round(1)
    array([[ 34.7, 218.4],
           [116.9, 300.4],
           [-42. , 143.5]])
    """

    allowed_parameters: ClassVar = {
        "estimator": _ESTIMATOR,
        "n_resamplings": integer("a number of samples", at_least=1),
        "aggregate": one_of("mean", "median"),
        "method": one_of("plus", "minmax"),
        **SEEDED,
    }

    def __init__(
        self,
        estimator: Any,
        *,
        n_resamplings: int = USUAL,
        aggregate: str = "mean",
        method: str = "plus",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.n_resamplings = n_resamplings
        self.aggregate = aggregate
        self.method = method
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @property
    def measure(self) -> Any:
        """The estimator, by the name that other predictors have for what scores examples."""
        return self.estimator

    def __sklearn_tags__(self) -> Any:
        tags, held = super().__sklearn_tags__(), held_by(self.estimator)
        return tags if held is None else describe_input(tags, held)

    def get_metadata_routing(self) -> Any:
        """Return the metadata routing of scikit-learn: parameters of `fit` that the estimator may request.

        Returns
        -------
        MetadataRouter
        """
        return route(self, "measure", held_by(self.estimator))

    @changes
    def fit(self, X: Any, y: Any, **fit_parameters: Any) -> Self:
        """Fit a model on each of the samples that are drawn.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,)
        **fit_parameters
            For the estimator's `fit`, such as sample_weight; what has a row for each example is taken with the rows.

        Returns
        -------
        self
        """
        check_parameters(self)
        estimator = self.estimator.estimator if isinstance(self.estimator, ModelResidual) else self.estimator
        if draws_samples(estimator) and self.n_resamplings != USUAL:
            msg = (
                f"n_resamplings={self.n_resamplings} would have no effect: {type(estimator).__name__} draws a sample "
                "for each of its models itself. Leave it out, and set n_estimators there."
            )
            raise ValueError(msg)
        seed = draw_seed(self.random_state)
        X, y = self._take_several(X, y)
        models = self._resampled(estimator, X, y, self._route(fit_parameters), seed)
        answers = models.answers(X)
        warn_of_batches(name_of(estimator), models.answers, X, answers)
        self._models, self._targets = models, y
        self._left_out = LackingModels(models.lacks, answers, y, self.aggregate)
        self.estimators_, self.n_resamplings_ = models.models, len(models.models)
        self.residuals_ = self._left_out.residuals
        self._descending = np.sort(self.residuals_)[::-1]
        self._warn_of_few_samples()
        return self

    def _resampled(self, estimator: Any, X: Any, y: np.ndarray, given: Mapping[str, Any], seed: int) -> ResampledModels:
        if draws_samples(estimator):
            return ResampledModels.of_ensemble(estimator, X, y, given, seed=seed)
        number = int(self.n_resamplings)
        return ResampledModels.of_samples(estimator, X, y, given, n_resamplings=number, seed=seed, verbose=self.verbose)

    def _warn_of_few_samples(self) -> None:
        never, n = self._left_out.never.size, self.residuals_.size
        if 2 * never > n:
            name = "n_estimators" if draws_samples(self.estimator) else "n_resamplings"
            msg = (
                f"{never} of {n} examples are in all of the {self.n_resamplings_} sample(s) that were drawn: the "
                f"{self.aggregate} of the other targets stands for their models. Use more {name}."
            )
            warn(msg)

    def __sklearn_is_fitted__(self) -> bool:
        return "_descending" in vars(self)

    def _points(self, X: Any) -> np.ndarray:
        answers = self._models.answers(X)
        aggregated = np.mean if self.aggregate == "mean" else np.median
        if answers.shape[1] == 0:
            return np.full(answers.shape[0], aggregated(self._targets))
        return np.asarray(aggregated(answers, axis=1))

    def _intervals(self, X: Any, epsilons: list[Fraction]) -> tuple[np.ndarray, int]:
        answers, n = self._models.answers(X), self.residuals_.size
        return ends_at(epsilons, n, answers.shape[0], partial(self._ends, answers)), n

    def _ends(self, answers: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return the intervals (m, 2, counts) that so many examples at least as strange make."""
        if self.method == "plus":
            return self._left_out.plus(answers, counts.tolist(), effort=effort_of(self))
        return self._left_out.extremes(answers, self._descending[counts - 1].tolist(), effort=effort_of(self))
