"""scikit-learn's pipeline, with everything that a predictor of this package can be asked.

The transformers of a pipeline are fitted on the training objects alone, without labels. A predictor's validity is
then approximate: coverage can be far below, 0.43 at 0.9 where columns outnumber rows. `preprocess=` of the full
predictors is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn import pipeline
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from exactcp._changes import twin
from exactcp._estimator import Estimator
from exactcp._rows import count_rows, take_rows
from exactcp.measures._model import task_of, unshared, warn_of_batches
from exactcp.predicting import preprocessing

__all__ = ["Pipeline", "make_pipeline"]


def _if_last_has(name: str) -> Callable[[Any], Any]:
    """Return a decorator of methods that a pipeline has if its last step has one of this name."""

    def has(own: Any) -> bool:
        getattr(own.steps[-1][1], name)  # whose error says who has not
        return True

    return available_if(has)  # type: ignore[no-any-return]


def _asked(name: str, summary: str) -> Any:
    """Return the method of a pipeline that transforms X, and asks the last step."""

    def method(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.steps[-1][1], name)(self._transformed(X), *args, **kwargs)

    method.__name__, method.__qualname__ = name, f"Pipeline.{name}"
    method.__doc__ = f"""{summary}

        Parameters
        ----------
        X : objects
            As the first step takes them.
        *args, **kwargs
            Of the last step's method, such as confidence_level or categories.

        Returns
        -------
        What the last step returns
        """
    return _if_last_has(name)(method)


_SPLIT = {"classifier": "SplitConformalClassifier", "regressor": "SplitConformalRegressor"}
_HOLDING = (pipeline.Pipeline, pipeline.FeatureUnion, ColumnTransformer)  # which learn nothing themselves


def _learning(transformers: list[Any]) -> list[str]:
    """Return the names of those that learn something when they are fitted, also within another one."""
    parts = [part for one in transformers for part in preprocessing.unfrozen(one) if not isinstance(part, _HOLDING)]
    learning = [part for part in parts if not hasattr(part, "__sklearn_tags__") or get_tags(part).requires_fit]
    return list(dict.fromkeys(type(part).__name__ for part in learning))


def _in_model(predictor: Any, names: list[str]) -> str:
    """Return how transformers get into the model of a split predictor; empty where no model predicts."""
    split = _SPLIT.get(task_of(predictor) or "", "")
    name = type(predictor).__name__ if split and hasattr(predictor, "calibrate") else split
    return f"{name}(make_pipeline({', '.join(f'{one}(...)' for one in names)}, model))" if name else ""


def _warn_of(learning: list[str], predictor: Any) -> None:
    """Say what it costs that transformers were fitted on the training objects alone, and what is exact instead."""
    name = type(predictor).__name__
    exact = [
        f"preprocess= of {name}" if hasattr(predictor, "preprocess") else "",
        _in_model(predictor, learning),
        "calibrate() with examples that the steps have not seen" if hasattr(predictor, "calibrate") else "",
        "FrozenEstimator(transformer), fitted on other data",
    ]
    what = f"the pipeline's steps ({', '.join(learning)}) are fitted on the training objects alone, and treat"
    preprocessing.warn_of_training(what, f"Exactly valid are: {'; '.join(filter(None, exact))}.")


class _Labelled:
    """The last step, which has the labels, while scikit-learn's pipeline gives none to the steps before it."""

    def __init__(self, step: Any, y: Any) -> None:
        self._step, self._y = step, y

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._step, name)
        if name not in {"fit", "fit_predict"}:
            return method
        return lambda X, y=None, **params: method(X, self._y, **params)  # noqa: ARG005


class Pipeline(pipeline.Pipeline):
    """Transformers and a predictor: scikit-learn's `Pipeline`, which can be asked what its last step can be asked.

    `predict_p`, `predict_set`, `predict_confidence`, `predict_interval`, `predict_region`, `predict_distribution`,
    `predict_proba_interval`, `predict_frame` and `select` transform X and ask the last step; `partial_fit`, `calibrate`
    and `unlearn` change it. A pipeline has those that its last step has.

    Parameters
    ----------
    steps : list of (str, estimator)
        Transformers, then a predictor.
    transform_input : list of str, default=None
    memory : str or object with the joblib.Memory interface, default=None
    verbose : bool, default=False
        All three as in `sklearn.pipeline.Pipeline`.

    See Also
    --------
    exactcp.FullConformalClassifier : Its `preprocess=` fits a transformer so that validity is exact.

    Notes
    -----
    The steps before a predictor of this package are fitted on the training objects alone, so that training and test
    objects are treated differently. Validity is approximate, and a `ValidityWarning` says so: coverage can be far
    below, 0.43 at 0.9 where columns outnumber rows. It is exact where the transformers learn nothing or are frozen, and
    for split predictors that are calibrated with `calibrate` afterwards.

    These steps get no labels. Those that need labels, such as `SelectKBest`, are refused: labels of training objects
    would choose, and those of test objects not. Inside the model of a split predictor they are exactly valid:
    ``SplitConformalClassifier(make_pipeline(SelectKBest(), model))``. Before other estimators the steps get labels, as
    in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.preprocessing import StandardScaler
    >>> from exactcp import FullConformalClassifier
    >>> from exactcp.measures import KNN
    >>> from exactcp.pipeline import make_pipeline
    >>> X, y = load_wine(return_X_y=True)
    >>> scaler = FrozenEstimator(StandardScaler().fit(X[::2]))  # not used again
    >>> pipe = make_pipeline(scaler, FullConformalClassifier(KNN(k=5)))
    >>> pipe.fit(X[3::2], y[3::2]).predict_set(X[1:2], confidence_level=0.9)
    array([[ True, False, False]])
    """

    steps: list[Any]

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Fit the transformers one after the other, and the last step on what they make of X.

        Parameters
        ----------
        X : objects
            As the first step takes them.
        y : array-like of shape (n,), default=None
            Labels or targets. Steps before a predictor of this package do not get them.
        **params
            Of the steps' fits, as in `sklearn.pipeline.Pipeline`: ``step__parameter``, or those that the steps request.

        Returns
        -------
        self
        """
        self._fit_by("fit", X, y, params)
        return self

    @_if_last_has("fit_predict")
    def fit_predict(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit the steps as `fit` does, and return what the last step's `fit_predict` returns.

        Parameters
        ----------
        X : objects
        y : array-like of shape (n,), default=None
        **params
            All as in `fit`.

        Returns
        -------
        What the last step returns
        """
        return self._fit_by("fit_predict", X, y, params)

    predict_p = _asked("predict_p", "Return the p-values of the last step.")
    predict_set = _asked("predict_set", "Return the prediction sets of the last step.")
    predict_confidence = _asked("predict_confidence", "Return the labels of the last step with their confidence.")
    predict_interval = _asked("predict_interval", "Return the prediction intervals of the last step.")
    predict_region = _asked("predict_region", "Return the prediction regions of the last step.")
    predict_distribution = _asked("predict_distribution", "Return the predictive distributions of the last step.")
    predict_proba_interval = _asked("predict_proba_interval", "Return lower and upper probabilities of the last step.")
    select = _asked("select", "Return which objects the last step selects.")

    @_if_last_has("predict_frame")
    def predict_frame(self, X: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the predictions of the last step as a frame, with the index of X.

        Parameters
        ----------
        X : objects
            As the first step takes them.
        *args, **kwargs
            Of the last step's method, such as confidence_level or categories.

        Returns
        -------
        DataFrame
        """
        frame = self.steps[-1][1].predict_frame(self._transformed(X), *args, **kwargs)
        if hasattr(X, "iloc") and hasattr(frame, "iloc"):  # transformers may lose it
            frame.index = X.index
        return frame

    @_if_last_has("partial_fit")
    def partial_fit(self, X: Any, y: Any = None, **kwargs: Any) -> Self:
        """Let the last step learn more examples; the transformers stay what they are.

        Parameters
        ----------
        X : objects
            As the first step takes them.
        y : array-like of shape (m,), default=None
        **kwargs
            Of the last step's method, such as classes, categories or ids.

        Returns
        -------
        self
        """
        self.steps[-1][1].partial_fit(self._transformed(X), y, **kwargs)
        return self

    @_if_last_has("calibrate")
    def calibrate(self, X: Any, *args: Any, **kwargs: Any) -> Self:
        """Calibrate the last step anew; the transformers stay what they are.

        Parameters
        ----------
        X : objects
            As the first step takes them.
        *args, **kwargs
            Of the last step's method: labels or targets, and categories.

        Returns
        -------
        self
        """
        self.steps[-1][1].calibrate(self._transformed(X), *args, **kwargs)
        return self

    @_if_last_has("unlearn")
    def unlearn(self, indices: Any = None, *, ids: Any = None) -> Self:
        """Let the last step forget examples; the transformers stay what they are, and have seen them.

        Parameters
        ----------
        indices : int, array-like of int, or array-like of bool of shape (n,), default=None
            Positions in the order of learning, or a mask.
        ids : array-like, default=None
            The ids of the examples instead.

        Returns
        -------
        self
        """
        self.steps[-1][1].unlearn(indices, ids=ids)
        return self

    def _fit_by(self, method: str, X: Any, y: Any, params: dict[str, Any]) -> Any:
        """Return what scikit-learn's method returns; steps before a predictor of this package get no labels."""
        name, last = self.steps[-1] if self.steps else ("", None)
        if not (isinstance(last, Estimator) and hasattr(last, "predict")):
            return getattr(super(), method)(X, y, **params)
        before = [step for _, step in self.steps[:-1] if step not in (None, "passthrough")]
        learning = _learning(before)
        where, inside = f"the pipeline before {type(last).__name__}", _in_model(last, learning)
        remedy = f"use {inside}, which is exactly valid" if inside else "use a transformer that needs no y"
        for step in before:
            preprocessing.refuse_supervised(step, where, remedy)
        beside, draft = copy(self), twin(last)
        fresh = [(key, one if one in (None, "passthrough") else unshared(clone(one))) for key, one in self.steps[:-1]]
        beside.steps = [*fresh, (name, _Labelled(draft, y))]
        try:
            made = getattr(super(Pipeline, beside), method)(X, **params)
        except (ValueError, TypeError) as error:
            if y is not None and learning and preprocessing.asks_for_labels(error):  # only now, in a union
                raise ValueError(preprocessing.supervised(" or ".join(learning), where, remedy)) from error
            raise
        if learning:
            _warn_of(learning, last)
        if before:
            two, transform = take_rows(X, np.arange(min(2, count_rows(X)))), beside[:-1].transform
            warn_of_batches(where, transform, two, transform(two))
        self.steps, last.__dict__ = [*beside.steps[:-1], (name, last)], vars(draft)
        return made

    def _transformed(self, X: Any) -> Any:
        """Return what the transformers make of X."""
        return X if len(self.steps) == 1 else self[:-1].transform(X)


def make_pipeline(*steps: Any, memory: Any = None, transform_input: Any = None, verbose: bool = False) -> Pipeline:
    """Return a `Pipeline` whose steps are named after their classes.

    Parameters
    ----------
    *steps : estimators
        Transformers, then a predictor.
    memory : str or object with the joblib.Memory interface, default=None
    transform_input : list of str, default=None
    verbose : bool, default=False
        All three as in `sklearn.pipeline.make_pipeline`.

    Returns
    -------
    Pipeline

    Examples
    --------
    >>> from sklearn.preprocessing import StandardScaler
    >>> from exactcp import FullConformalClassifier
    >>> from exactcp.pipeline import make_pipeline
    >>> list(make_pipeline(StandardScaler(), FullConformalClassifier()).named_steps)
    ['standardscaler', 'fullconformalclassifier']
    """
    named = pipeline.make_pipeline(*steps).steps
    return Pipeline(named, memory=memory, transform_input=transform_input, verbose=verbose)
