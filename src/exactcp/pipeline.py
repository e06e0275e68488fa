"""scikit-learn's pipeline, with everything that a predictor of this package can be asked.

The transformers of a pipeline are fitted on the training objects alone, which makes a predictor's validity approximate.
`preprocess=` of the full predictors is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from sklearn import pipeline
from sklearn.utils.metaestimators import available_if

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
    The steps are fitted on the training objects alone, so that training and test objects are treated differently, and
    validity is approximate. It is exact where the transformers learn nothing or are frozen, and for split predictors
    that are calibrated with `calibrate` afterwards.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from exactcp import FullConformalClassifier
    >>> from exactcp.measures import KNN
    >>> from exactcp.pipeline import make_pipeline
    >>> X, y = load_wine(return_X_y=True)
    >>> pipe = make_pipeline(StandardScaler(), FullConformalClassifier(KNN(k=5)))
    >>> pipe.fit(X[2:], y[2:]).predict_set(X[:2], confidence_level=0.9)
    array([[ True, False, False],
           [ True, False, False]])
    """

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
