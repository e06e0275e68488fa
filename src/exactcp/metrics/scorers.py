"""Scorers for scikit-learn's searches: what is better is greater, so criteria are negated.

Examples
--------
>>> from sklearn.datasets import load_iris
>>> from sklearn.model_selection import GridSearchCV
>>> from exactcp import FullConformalClassifier
>>> from exactcp.measures import KNN
>>> X, y = load_iris(return_X_y=True)
>>> clf, grid = FullConformalClassifier(KNN()), {"measure__k": [1, 5, 15]}
>>> search = GridSearchCV(clf, grid, scoring=fuzziness_scorer, cv=3, refit=False).fit(X[::2], y[::2])
>>> search.best_params_
{'measure__k': 5}

Fitted on other rows than those of the choice, it keeps its guarantee:

>>> chosen = clf.set_params(**search.best_params_).fit(X[1::2], y[1::2])
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from exactcp import pvalues
from exactcp.metrics.intervals import interval_score
from exactcp.metrics.labels import fuzziness, set_size

__all__ = ["fuzziness_scorer", "interval_score_scorer", "mean_set_size_scorer"]

Scorer = Callable[..., float]


def fuzziness_scorer(estimator: Any, X: Any, y: Any = None) -> float:  # noqa: ARG001
    """Return minus the fuzziness of the p-values, which is the same for all levels and needs no true labels.

    Parameters
    ----------
    estimator : fitted conformal classifier
    X : test objects
    y : ignored

    Returns
    -------
    float

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import GridSearchCV
    >>> from exactcp import FullConformalClassifier
    >>> from exactcp.measures import KNN
    >>> from exactcp.metrics.scorers import fuzziness_scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> clf, grid = FullConformalClassifier(KNN()), {"measure__k": [1, 5, 15]}
    >>> search = GridSearchCV(clf, grid, scoring=fuzziness_scorer, cv=3, refit=False)
    >>> search.fit(X, y).best_params_
    {'measure__k': 5}
    """
    _check_asked(estimator, "predict_set")
    return -fuzziness(estimator.predict_p(X))


def mean_set_size_scorer(confidence_level: float = 0.95) -> Scorer:
    """Return a scorer: minus the mean number of labels in the prediction sets at a level.

    Parameters
    ----------
    confidence_level : float, default=0.95
        Of the sets.

    Returns
    -------
    callable
        Of a fitted conformal classifier and test objects.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from exactcp import FullConformalClassifier
    >>> from exactcp.metrics.scorers import mean_set_size_scorer
    >>> X, y = load_iris(return_X_y=True)
    >>> scorer = mean_set_size_scorer(0.9)
    >>> cross_val_score(FullConformalClassifier(), X, y, scoring=scorer, cv=3).round(2)
    array([-0.96, -0.82, -0.9 ])
    """
    pvalues.significance(confidence_level)  # or a sentence, at once
    return partial(_score_sets, confidence_level)


def interval_score_scorer(confidence_level: float = 0.95) -> Scorer:
    """Return a scorer: minus the mean interval (Winkler) score of the intervals at a level.

    Parameters
    ----------
    confidence_level : float, default=0.95
        Of the intervals.

    Returns
    -------
    callable
        Of a fitted conformal regressor, test objects and their targets.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.model_selection import cross_val_score
    >>> from exactcp import SplitConformalRegressor
    >>> from exactcp.metrics.scorers import interval_score_scorer
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = SplitConformalRegressor(Ridge(), random_state=0)
    >>> cross_val_score(reg, X, y, scoring=interval_score_scorer(0.9), cv=3).round(1)
    array([-250.9, -226.8, -224.3])
    """
    pvalues.significance(confidence_level)
    return partial(_score_intervals, confidence_level)


def _check_asked(estimator: Any, question: str) -> None:
    """Refuse an estimator that a scorer cannot ask."""
    if not hasattr(estimator, question):
        kind = "Classifier" if question == "predict_set" else "Regressor"
        raise TypeError(
            f"{type(estimator).__name__} has no {question}: this scorer is for conformal {kind.lower()}s. Use another "
            f"one, or wrap a model, as in SplitConformal{kind}(model)."
        )


def _score_sets(confidence_level: float, estimator: Any, X: Any, y: Any = None) -> float:  # noqa: ARG001
    _check_asked(estimator, "predict_set")
    return -set_size(estimator.predict_set(X, confidence_level))


def _score_intervals(confidence_level: float, estimator: Any, X: Any, y: Any) -> float:
    _check_asked(estimator, "predict_interval")
    return -interval_score(estimator.predict_interval(X, confidence_level), y, confidence_level)
