"""Ready-made taxonomies: functions of X for `mondrian=`, which tell the category of each object."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from exactcp._rows import count_rows, is_frame

__all__ = ["bins"]


@dataclass(frozen=True, eq=False)
class Bins:
    """The number of the bin in which a value of each object lies; from `bins`.

    Attributes
    ----------
    what : str, int, estimator or callable
        A column, a fitted model whose prediction is binned, or a function of X.
    edges : ndarray of shape (b - 1,)
        Ascending; an object whose value is an edge lies above it.

    See Also
    --------
    bins : Makes one, with edges of one's own or from data.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.taxonomies import Bins
    >>> Bins(0, np.array([30, 60]))(np.array([[25.0], [30.0], [71.0]]))
    array([0, 1, 2])
    """

    what: Any
    edges: np.ndarray

    def __call__(self, X: Any) -> np.ndarray:
        """Return the number of each object's bin, 0 for the lowest; b for a missing value.

        Parameters
        ----------
        X : objects

        Returns
        -------
        ndarray of int of shape (m,)
        """
        values = _values(self.what, X)
        return np.where(np.isnan(values), self.edges.size + 1, np.searchsorted(self.edges, values, side="right"))


def bins(what: Any, edges: Any = None, *, n_bins: int | None = None, X: Any = None) -> Bins:
    """Return a taxonomy of objects by the bins of a column, or of a model's prediction.

    Parameters
    ----------
    what : str, int, estimator or callable
        The name or number of a column; a fitted model, whose `predict` is asked (it must not have learned the examples
        of the predictor that uses the bins); or a function of X that returns a number for each object.
    edges : array-like of shape (b - 1,), default=None
        Where bins meet, ascending.
    n_bins : int, default=None
        Instead of edges: as many bins with as many objects of X in each.
    X : objects, default=None
        With n_bins: objects other than the predictor's, from which edges are taken. The predictor's own would make the
        categories depend on them, and the guarantee approximate.

    Returns
    -------
    Bins
        A function of X, for `mondrian=`.

    Examples
    --------
    Coverage that holds for the young and for the old:

    >>> import pandas as pd
    >>> from exactcp.taxonomies import bins
    >>> by_age = bins("age", edges=[30, 60])
    >>> by_age(pd.DataFrame({"age": [25, 30, 71]}))
    array([0, 1, 2])
    """
    if (edges is None) == (n_bins is None):
        msg = f"bins got edges={edges!r} and n_bins={n_bins!r}: give one of them."
        raise ValueError(msg)
    if n_bins is not None:
        return Bins(what, _quantiles(what, n_bins, X))
    ascending = np.asarray(edges, dtype=np.float64)
    if ascending.ndim != 1 or ascending.size == 0 or not (np.diff(ascending) > 0).all() or np.isnan(ascending).any():
        msg = f"edges={edges!r} are no places where bins meet: expected numbers that ascend, such as [30, 60]."
        raise ValueError(msg)
    return Bins(what, ascending)


def _quantiles(what: Any, n_bins: Any, X: Any) -> np.ndarray:
    if X is None:
        msg = f"n_bins={n_bins} needs objects to take edges from: give X=, other ones than the predictor's."
        raise ValueError(msg)
    if not isinstance(n_bins, Integral) or isinstance(n_bins, bool) or n_bins < 2:
        msg = f"n_bins={n_bins!r} is not a number of bins: use an integer of at least 2."
        raise ValueError(msg)
    values = _values(what, X)
    return np.unique(np.quantile(values[~np.isnan(values)], np.arange(1, int(n_bins)) / int(n_bins)))


def _values(what: Any, X: Any) -> np.ndarray:
    """Return the number of each object that is binned."""
    ask: Callable[[Any], Any] = _column_of(what) if isinstance(what, str | Integral) else getattr(what, "predict", what)
    if not callable(ask):
        msg = f"bins of {what!r}: expected a column's name or number, a fitted model, or a function of X."
        raise TypeError(msg)
    values = np.asarray(ask(X), dtype=np.float64).reshape(-1)
    if values.size != count_rows(X):
        msg = f"{what!r} gave {values.size} values for {count_rows(X)} objects: expected one for each."
        raise ValueError(msg)
    return values


def _column_of(name: Any) -> Callable[[Any], Any]:
    def look(X: Any) -> Any:
        if isinstance(name, str):
            if not is_frame(X) or name not in list(X.columns):
                has = (
                    ", ".join(map(str, list(X.columns)[:20]))
                    if is_frame(X)
                    else f"no names, being a {type(X).__name__}"
                )
                msg = f"X has no column {name!r} to bin: it has {has}."
                raise ValueError(msg)
            return X[name]
        return X.iloc[:, int(name)] if hasattr(X, "iloc") else X[:, int(name)]

    return look
