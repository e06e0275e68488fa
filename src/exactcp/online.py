"""Progressive validation: predict, score, learn, one example at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from exactcp import pvalues
from exactcp._parallel import progress
from exactcp._parameters import NONE, integer
from exactcp._rows import count_rows, is_frame, join_rows, take_rows

N_INITIAL = integer("a number of examples", at_least=0) | NONE


@dataclass(frozen=True)
class ProgressiveResult:
    """What a predictor did on a stream, example by example.

    Attributes
    ----------
    p : ndarray of shape (t,)
        p-value of the true label (or target) before it was learned; nan if the label had never been seen, or the
        predictor has no p-values.
    error : ndarray of bool of shape (t,)
        Whether the prediction set missed the truth.
    size : ndarray of shape (t,)
        Number of labels in the set, or length of the interval.
    excess : ndarray of shape (t,)
        Efficiency, smaller is better: for labels the sum of the false labels' p-values (observed fuzziness), for
        intervals their length.
    epsilon : float
        1 - the confidence level of the sets.
    n_initial : int
        Examples that were learned before the first prediction.
    """

    p: np.ndarray
    error: np.ndarray
    size: np.ndarray
    excess: np.ndarray
    epsilon: float
    n_initial: int

    def __len__(self) -> int:
        return int(self.error.shape[0])

    @property
    def cumulative_errors(self) -> np.ndarray:
        """Number of errors up to each example."""
        return np.cumsum(self.error)

    @property
    def running_error(self) -> np.ndarray:
        """Mean error up to each example."""
        return self._running(self.error)

    @property
    def running_size(self) -> np.ndarray:
        """Mean size up to each example."""
        return self._running(self.size)

    @property
    def running_excess(self) -> np.ndarray:
        """Mean excess up to each example."""
        return self._running(self.excess)

    def _running(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(np.cumsum(values) / np.arange(1, len(self) + 1))

    def errors_at(self, epsilon: float) -> np.ndarray:
        """Return whether the set at another epsilon would have missed the truth: p <= epsilon, or never seen.

        Parameters
        ----------
        epsilon : float

        Returns
        -------
        ndarray of bool of shape (t,)
        """
        if epsilon == self.epsilon:
            return self.error
        unknown = np.isnan(self.p)
        if unknown.all() and len(self):
            msg = f"errors at epsilon={epsilon} need p-values, and the predictor gave none: run it at that level."
            raise ValueError(msg)
        return unknown | ~pvalues.exceeds(self.p, epsilon)

    def to_numpy(self) -> np.ndarray:
        """Return a record array with the fields p, error, size and excess.

        Returns
        -------
        ndarray of shape (t,)
        """
        fields = [(name, getattr(self, name).dtype) for name in ("p", "error", "size", "excess")]
        records = np.empty(len(self), dtype=fields)
        for name, _ in fields:
            records[name] = getattr(self, name)
        return records

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, indexed by the position in the stream, with the running means.

        Returns
        -------
        pandas.DataFrame
        """
        import pandas as pd

        running = {name: getattr(self, name) for name in ("running_error", "running_size", "running_excess")}
        index = pd.RangeIndex(self.n_initial, self.n_initial + len(self), name="example")
        return pd.DataFrame(self.to_numpy(), index=index).assign(**running)


def progressive(
    predictor: Any,
    stream: Any,
    *,
    confidence_level: float = 0.95,
    classes: Any = None,
    n_initial: int | None = None,
    verbose: int = 0,
) -> ProgressiveResult:
    """Let a predictor see a stream one example at a time: predict it, score the prediction, learn it.

    Parameters
    ----------
    predictor : conformal classifier or regressor with `partial_fit`
        `FullConformalClassifier` or `FullConformalRegressor`, or anything with their methods. It learns: it knows the
        whole stream afterwards. If it is fitted already, the first example is predicted.
    stream : iterable of pairs (x, y), or the pair (X, y) of arrays
    confidence_level : float, default=0.95
    classes : array-like, default=None
        All labels that will ever come, if the classifier is not fitted yet. Without it, a label never seen is an error
        of the set, and then becomes a class.
    n_initial : int, default=None
        How many examples to learn before the first prediction. None means as few as possible: none if the predictor is
        fitted; else, for a classifier, one, or until there are two labels if `classes` are not given; for a regressor,
        1/epsilon - 1, since every interval is infinite before.
    verbose : int, default=0
        Above 0, a progress bar, if the stream has a length.

    Returns
    -------
    ProgressiveResult

    Notes
    -----
    With `smoothed=True`, errors at different steps are independent, and their frequency is exactly epsilon, if the
    examples are exchangeable and their objects differ (equal objects have the same random number); otherwise errors are
    at most as frequent.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.utils import shuffle
    >>> from exactcp import FullConformalClassifier
    >>> from exactcp.measures import KNN
    >>> from exactcp.online import progressive
    >>> X, y = shuffle(*load_iris(return_X_y=True), random_state=0)
    >>> result = progressive(FullConformalClassifier(KNN(k=3)), (X, y), confidence_level=0.9)
    >>> len(result), result.n_initial, int(result.cumulative_errors[-1])
    (148, 2, 13)
    >>> float(result.running_size[-1].round(2))
    1.04
    """
    epsilon = pvalues.significance(confidence_level)
    if not hasattr(predictor, "partial_fit"):
        msg = f"{type(predictor).__name__} cannot learn one example at a time: use a predictor with partial_fit."
        raise TypeError(msg)
    if not (is_classifier(predictor) or is_regressor(predictor)):
        msg = f"{type(predictor).__name__} is neither a classifier nor a regressor: expected a conformal predictor."
        raise TypeError(msg)
    step = _judge_labels if is_classifier(predictor) else _judge_interval
    pairs, total = _pairs(stream)
    rows: list[tuple[float, bool, float, float]] = []
    shown: Iterable[tuple[np.ndarray, Any]] = pairs if total is None else progress(pairs, total, verbose, "learning")
    arriving = iter(shown)
    learned = _learn_initial(predictor, arriving, classes, n_initial, epsilon)
    for x, y in arriving:
        rows.append(step(predictor, x, y, confidence_level))
        predictor.partial_fit(x, np.asarray([y]))
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    size = np.array(columns[2], dtype=np.int64 if is_classifier(predictor) else np.float64)
    return ProgressiveResult(
        np.array(columns[0], dtype=np.float64),
        np.array(columns[1], dtype=bool),
        size,
        np.array(columns[3], dtype=np.float64),
        float(epsilon),
        learned,
    )


def _pairs(stream: Any) -> tuple[Iterator[tuple[np.ndarray, Any]], int | None]:
    """Return pairs (row (1, p), y), and how many there are if that is known."""
    if isinstance(stream, tuple) and len(stream) == 2 and _is_table(stream[0]):
        X, y = stream[0], np.asarray(stream[1])
        if y.shape != (count_rows(X),):
            msg = (
                f"the stream is a pair of X with {count_rows(X)} rows and y of shape {y.shape}: expected a y for each "
                "row."
            )
            raise ValueError(msg)
        return ((take_rows(X, np.array([i])), y[i]) for i in range(len(y))), len(y)
    total = len(stream) if hasattr(stream, "__len__") else None
    return ((_as_row(x), y) for x, y in stream), total


def _as_row(x: Any) -> Any:
    """Return one object as rows: a text is a list of one, a row of a frame or a sparse matrix is what it is."""
    if isinstance(x, str | dict):
        return [x]
    return x if is_frame(x) or sparse.issparse(x) else np.asarray(x).reshape(1, -1)


def _is_table(X: Any) -> bool:
    """Tell whether something is the objects of a stream, and not its first pair."""
    if isinstance(X, list) and all(isinstance(x, str | dict) for x in X):
        return len(X) > 0
    if isinstance(X, list | tuple):
        try:
            return np.ndim(X) >= 2
        except ValueError:  # a pair of an object and its label
            return False
    return is_frame(X) or sparse.issparse(X) or len(getattr(X, "shape", ())) >= 1


def _is_fitted(predictor: Any) -> bool:
    try:
        check_is_fitted(predictor)
    except NotFittedError:
        return False
    return True


def _learn_initial(
    predictor: Any, arriving: Iterator[tuple[np.ndarray, Any]], classes: Any, wanted: int | None, epsilon: Fraction
) -> int:
    """Learn the first examples without predicting them; return how many they were."""
    N_INITIAL.check("n_initial", wanted, None)
    fitted, by_label = _is_fitted(predictor), is_classifier(predictor)
    fewest = 0 if fitted else 1 if by_label else pvalues.fewest_examples(epsilon)
    needed = fewest if wanted is None else wanted
    X: list[Any] = []
    labels: list[Any] = []
    while len(labels) < needed or (not fitted and (not labels or _lacks_a_class(labels, classes, by_label=by_label))):
        example = next(arriving, None)
        if example is None:
            if needed <= len(labels) or wanted is None:
                msg = (
                    f"the stream ended after {len(labels)} example(s), before {type(predictor).__name__} could predict."
                )
            else:
                msg = f"n_initial={wanted} examples were to be learned first, and the stream has {len(labels)}."
            raise ValueError(msg)
        X.append(example[0])
        labels.append(example[1])
    if labels:
        more = {} if classes is None or not by_label else {"classes": classes}
        predictor.partial_fit(reduce(join_rows, X), np.asarray(labels), **more)
    return len(labels)


def _lacks_a_class(labels: list[Any], classes: Any, *, by_label: bool) -> bool:
    return by_label and classes is None and len(set(np.asarray(labels).tolist())) < 2


def _judge_labels(predictor: Any, x: np.ndarray, y: Any, confidence_level: float) -> tuple[float, bool, float, float]:
    """Return p of the true label, whether it is an error, the size of the set, and the false labels' p-values."""
    p = np.asarray(predictor.predict_p(x)[0])
    inside, true = pvalues.exceeds(p, pvalues.significance(confidence_level)), predictor.classes_ == y
    p_true = float(p[true][0]) if true.any() else float("nan")
    return p_true, not inside[true].any(), int(inside.sum()), float(p[~true].sum())


def _judge_interval(predictor: Any, x: np.ndarray, y: Any, confidence_level: float) -> tuple[float, bool, float, float]:
    """Return p of the target, whether it is an error, and twice the length of the interval."""
    low, high = predictor.predict_interval(x, confidence_level=confidence_level)[0]
    length = float(high - low)
    if not hasattr(predictor, "predict_p"):
        return float("nan"), not low <= y <= high, length, length
    p = np.ravel(predictor.predict_p(x, np.asarray([y])))[0]
    return float(p), not pvalues.exceeds(p, pvalues.significance(confidence_level)), length, length
