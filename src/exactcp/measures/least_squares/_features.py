"""Where a primal bag keeps its examples: rows of features, behind an explicit feature map or none."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from exactcp._changes import twin
from exactcp._growing import Rows
from exactcp._parameters import NONE, Allowed
from exactcp._values import check_scale, check_size

TELLING_ROWS = 16  # that tell of most columns that they vary
FEATURE_MAP = (
    Allowed(
        "a feature map",
        "a function of X, a fitted transformer",
        lambda value: callable(value) or callable(getattr(value, "transform", None)),
        error=TypeError,
    )
    | NONE
)


def is_transformer(feature_map: Any) -> bool:
    """Tell whether a feature map is an object that transforms, and not a function."""
    return callable(getattr(feature_map, "transform", None))


class FeatureMap:
    """A checked feature map: objects (m, p) to rows of features (m, q); None maps objects to themselves."""

    def __init__(self, feature_map: Any) -> None:
        self._map = feature_map
        if is_transformer(feature_map) and isinstance(feature_map, BaseEstimator):
            try:
                check_is_fitted(feature_map)
            except NotFittedError as error:
                msg = (
                    f"feature_map={feature_map!r} is not fitted. Fit it on other data first: a map fitted on the "
                    "training objects would treat the test object differently, and full CP would not be valid."
                )
                raise ValueError(msg) from error

    def _apply(self, X: np.ndarray) -> Any:
        if self._map is None:
            return X  # checked in the front door
        rows = self._map.transform(X) if is_transformer(self._map) else self._map(X)
        return rows.toarray() if sparse.issparse(rows) else rows

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """Return rows of features, checked."""
        rows = np.asarray(self._apply(X), dtype=np.float64)
        if rows.ndim != 2 or rows.shape[0] != X.shape[0] or rows.shape[1] == 0:
            msg = f"feature_map returned shape {rows.shape} for {X.shape[0]} objects: expected a row for each of them."
            raise ValueError(msg)
        if self._map is not None and not np.isfinite(rows).all():
            msg = "feature_map returned values that are not finite: expected numbers."
            raise ValueError(msg)
        check_size(rows)
        return rows

    def check_rowwise(self, X: np.ndarray, rows: np.ndarray) -> None:
        """Refuse a map whose result for an object depends on the objects beside it."""
        if self._map is not None and X.shape[0] > 1:
            alone = self(X[:1])
            if alone.shape[1] != rows.shape[1] or not np.allclose(alone, rows[:1], rtol=1e-6, atol=1e-6):
                msg = (
                    "feature_map maps an object differently when others are beside it (does it subtract the mean of "
                    "what it is given?): expected a map of each object by itself."
                )
                raise ValueError(msg)


def _middle(features: np.ndarray) -> np.ndarray:
    """Return the mean of each column; of one that does not vary, its value.

    A mean of equal numbers may differ from them by rounding. What was left of them would get a coefficient that is
    rounding, too, and would make something of an object that is far enough away.
    """
    middle, value = features.mean(axis=0), features[0]
    some = features[:: max(1, features.shape[0] // TELLING_ROWS)]
    for column in np.flatnonzero((some == value).all(axis=0)):
        if (features[:, column] == value[column]).all():
            middle[column] = value[column]
    return np.asarray(middle)


class FeatureStore:
    """Rows of features in the order of arrival; if there is a bias, with a leading 1, and shifted."""

    def __init__(self, feature_map: FeatureMap, X: np.ndarray, *, intercept: bool) -> None:
        self._map, self._intercept = feature_map, intercept
        self.width = -1
        features = self._mapped(X)
        check_scale(features)
        feature_map.check_rowwise(X, features)
        # a bias absorbs any shift, and rows near the origin lose fewer digits
        self._shift = _middle(features) if intercept else np.zeros(features.shape[1])
        self._rows = Rows(self._with_bias(features))

    @classmethod
    def shifted(cls, feature_map: FeatureMap, X: np.ndarray, shift: np.ndarray, *, intercept: bool) -> FeatureStore:
        """Return a store of some examples, shifted as those of all are."""
        store = object.__new__(cls)
        store._map, store._intercept, store._shift, store.width = feature_map, intercept, shift, shift.size
        store._rows = Rows(store._with_bias(store._mapped(X)))
        return store

    def fork(self) -> FeatureStore:
        """Return a store with the same examples that may be changed while others read this one."""
        return twin(self, _rows=self._rows.fork())

    @property
    def n(self) -> int:
        """Number of examples."""
        return self._rows.n

    def _mapped(self, X: np.ndarray) -> np.ndarray:
        features = self._map(X)
        if self.width >= 0 and features.shape[1] != self.width:
            msg = f"feature_map returned {features.shape[1]} features, and {self.width} when the measure was fitted."
            raise ValueError(msg)
        self.width = features.shape[1]
        return features

    def _with_bias(self, features: np.ndarray) -> np.ndarray:
        if self._intercept:
            return np.concatenate([np.ones((features.shape[0], 1)), features - self._shift], axis=1)
        return np.array(features, order="C")

    @property
    def rows(self) -> np.ndarray:
        """The stored rows, with the leading 1."""
        return self._rows.array

    @property
    def features(self) -> np.ndarray:
        """The stored rows, without it."""
        return self.rows[:, 1:] if self._intercept else self.rows

    def row(self, position: int) -> np.ndarray:
        """Return one of them."""
        return self._rows.row(position)

    def times(self, vector: np.ndarray) -> np.ndarray:
        """Return the product of each of them with a vector."""
        return self._rows.values(lambda rows: rows @ vector)

    def prepare(self, X: np.ndarray) -> np.ndarray:
        """Return test objects as rows."""
        return self._with_bias(self._mapped(X))

    def columns(self, prepared: np.ndarray) -> np.ndarray:
        """Return test rows as the factorisations take them."""
        return prepared

    def check_new(self, X: np.ndarray) -> None:
        """Accept new examples: `prepare` has checked them."""

    def append(self, x: np.ndarray, row: np.ndarray) -> None:  # noqa: ARG002
        """Store one example."""
        self._rows.append(row)

    def remove(self, position: int) -> None:
        """Forget an example."""
        self._rows.drop(position)
