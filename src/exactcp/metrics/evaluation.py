"""One frame that says how a predictor does on test examples, at several levels."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier

from exactcp import pvalues
from exactcp._frame import make_frame
from exactcp._rows import take_rows
from exactcp.metrics._inputs import Floats, hits, sizes
from exactcp.metrics.bands import binomial_band
from exactcp.metrics.intervals import check_intervals, holds, interval_score, mean_width, widths
from exactcp.metrics.labels import fuzziness

USUAL_LEVELS = (0.8, 0.9, 0.95)


def evaluate(
    predictor: Any,
    X: Any,
    y: ArrayLike,
    confidence_level: Any = USUAL_LEVELS,
    *,
    categories: ArrayLike | None = None,
    confidence: float = 0.95,
) -> Any:
    """Judge a fitted conformal classifier or regressor by test examples that it has not learned.

    Parameters
    ----------
    predictor : fitted conformal classifier or regressor, or a pipeline that ends in one
    X : test objects
    y : array of shape (m,), their labels or targets
    confidence_level : float or list of float, default=(0.8, 0.9, 0.95)
        Levels of the sets or intervals, a row of the table for each.
    categories : array of shape (m,), default=None
        The category of each object, if `fit` was given those of the examples.
    confidence : float, default=0.95
        Of the bands of the coverage.

    Returns
    -------
    pandas.DataFrame, with a row for each level
        confidence_level, n (test objects), coverage with its exact band in coverage_lower and coverage_upper; of
        classifiers mean_size, singletons and empty (shares of the sets) and fuzziness, which is the same at all levels;
        of regressors mean_width, median_width, infinite (share of the intervals) and interval_score; and seconds, that
        the predictions at all levels took together.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactcp import FullConformalClassifier
    >>> from exactcp.metrics import evaluate
    >>> iris = load_iris()
    >>> X, y = iris.data, iris.target_names[iris.target]
    >>> clf = FullConformalClassifier().fit(X[::2], y[::2])
    >>> table = evaluate(clf, X[1::2], y[1::2], [0.8, 0.9])
    >>> table[["confidence_level", "coverage", "mean_size", "singletons"]].round(3)
       confidence_level  coverage  mean_size  singletons
    0               0.8     0.867      0.867       0.867
    1               0.9     0.893      0.893       0.893
    """
    levels, _ = pvalues.list_levels(confidence_level)
    epsilons = [pvalues.significance(level) for level in levels]
    beside = {} if categories is None else {"categories": categories}
    if isinstance(predictor, type):
        name = predictor.__name__
        raise TypeError(f"{name} is a class; expected a fitted predictor: pass {name}(...).fit(X, y)")
    start = perf_counter()
    if hasattr(predictor, "predict_interval"):
        intervals = predictor.predict_interval(X, levels, **beside)
        seconds = perf_counter() - start
        covered, rows = _judge_intervals([check_intervals(intervals[..., j]) for j in range(len(levels))], y, levels)
    elif hasattr(predictor, "predict_set") and is_classifier(predictor):
        p = predictor.predict_p(X, **beside)
        seconds = perf_counter() - start
        first = np.zeros(1, np.intp)  # of which predict_set warns if there are too few examples for a level
        predictor.predict_set(take_rows(X, first), levels, **{k: take_rows(v, first) for k, v in beside.items()})
        covered, rows = _judge_sets(p, y, epsilons, predictor.classes_)
    else:
        raise TypeError(
            f"{type(predictor).__name__} has no prediction sets or intervals; expected a fitted conformal classifier "
            "or regressor: judge probabilities with expected_calibration_error, anomalies with select_discoveries"
        )
    found, n = covered.sum(axis=0), covered.shape[0]
    lower, upper = binomial_band(found, n, confidence)
    columns = {"confidence_level": np.array([float(level) for level in levels]), "n": n, "coverage": found / n}
    columns |= {"coverage_lower": lower, "coverage_upper": upper, **rows, "seconds": seconds}
    return make_frame({name: np.broadcast_to(column, len(levels)) for name, column in columns.items()})


def _judge_sets(p: Floats, y: ArrayLike, epsilons: list[Any], classes: ArrayLike) -> tuple[np.ndarray, dict[str, Any]]:
    """Return what is covered (m, levels), and columns about sets."""
    sets = [pvalues.exceeds(p, epsilon) for epsilon in epsilons]
    size = np.column_stack([sizes(one) for one in sets])
    return np.column_stack([hits(one, y, classes) for one in sets]), {
        "mean_size": size.mean(axis=0),
        "singletons": (size == 1).mean(axis=0),
        "empty": (size == 0).mean(axis=0),
        "fuzziness": fuzziness(p),
    }


def _judge_intervals(parts: list[Floats], y: ArrayLike, levels: list[Any]) -> tuple[np.ndarray, dict[str, Any]]:
    """Return what is covered (m, levels), and columns about intervals."""
    wide = np.column_stack([widths(ends) for ends in parts])
    return np.column_stack([holds(ends, y) for ends in parts]), {
        "mean_width": np.array([mean_width(ends) for ends in parts]),
        "median_width": np.median(wide, axis=0),
        "infinite": np.isinf(wide).mean(axis=0),
        "interval_score": np.array([interval_score(ends, y, level) for ends, level in zip(parts, levels, strict=True)]),
    }
