"""How difficult objects are for a regressor: learned from residuals of examples that it has not seen."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.model_selection import PredefinedSplit, check_cv
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import check_array

from exactcp._parameters import Allowed, integer, one_of
from exactcp._rows import count_rows, take_parameters, take_rows
from exactcp.measures._folds import make_folds
from exactcp.measures._model import fit_model, is_frozen
from exactcp.measures.models._regressors import REGRESSOR, ask_regressor
from exactcp.pvalues import tau_of_objects

USUAL_NEIGHBOURS = 25
SHARE_OF_MEAN = 0.1  # added to every learned difficulty, so that none is zero
KINDS = ("knn", "knn distance", "knn spread")
_FUNCTION_OF_OBJECTS = Allowed("", "a function of X", lambda value: callable(value) and not isinstance(value, type))
DIFFICULTY = Allowed(
    "a regressor",
    f"an instance with fit and predict, {', '.join(map(repr, KINDS))}, a function of X, or None",
    lambda value: (
        value is None or any(rule.accepts(value) for rule in (REGRESSOR, one_of(*KINDS), _FUNCTION_OF_OBJECTS))
    ),
    REGRESSOR.hint,
    TypeError,
)
FOLDS = integer("a number of folds", at_least=2) | Allowed(
    "", "a splitter, such as KFold(5)", lambda value: not isinstance(value, str | type) and hasattr(value, "split")
)


def is_function(difficulty: Any) -> bool:
    """Tell whether a difficulty is a function of X, and no regressor."""
    return callable(difficulty) and not hasattr(difficulty, "predict")


def is_learned(difficulty: Any) -> bool:
    """Tell whether a difficulty depends on the examples of `fit`."""
    return difficulty is not None and not is_function(difficulty) and not is_frozen(difficulty)


def needs_residuals(difficulty: Any) -> bool:
    """Tell whether a difficulty is learned from residuals."""
    return is_learned(difficulty) and not (isinstance(difficulty, str) and difficulty != "knn")


def fold_count(cv: Any, n: int) -> int:
    """Return how many times a regressor is fitted for its residuals of n examples."""
    return min(int(cv), n) if isinstance(cv, Integral) else int(check_cv(cv).get_n_splits(np.zeros(n)))


def out_of_fold(estimator: Any, X: Any, y: np.ndarray, cv: Any, parameters: Mapping[str, Any]) -> np.ndarray:
    """Return the absolute residuals (n,) of a regressor, each from a clone that has not learned the example."""
    n = y.size
    if n < 2:
        return np.zeros(n)
    splitter = PredefinedSplit(_fold_numbers(X, y, fold_count(cv, n))) if isinstance(cv, Integral) else cv
    residuals = np.zeros(n)
    for fitting, out in make_folds(splitter, np.zeros(n), y, None):
        taken = take_parameters(parameters, fitting, n)
        model = fit_model(estimator, take_rows(X, fitting), y[fitting], taken)
        residuals[out] = np.abs(y[out] - ask_regressor(model, take_rows(X, out)))
    return residuals


def _fold_numbers(X: Any, y: np.ndarray, folds: int) -> np.ndarray:
    """Return a number of a fold for each example, by what it is and not by where it stands.

    So a difficulty does not depend on the order of the examples, and full CP keeps its symmetry.
    """
    numbers = np.empty(y.size, np.int64)
    numbers[np.lexsort((y, tau_of_objects(0, X)))] = np.arange(y.size) % folds
    return numbers


class NeighbourDifficulty:
    """The mean residual of the nearest examples, the sum of their distances, or the spread of their targets.

    Features are scaled to [0, 1] by the examples, and objects outside are moved to the border.
    """

    def __init__(self, kind: str, k: int) -> None:
        self._kind, self._k = kind, k

    def fit(self, X: Any, residuals: np.ndarray | None, y: np.ndarray) -> Self:
        """Learn the examples, of which there may be less than neighbours."""
        objects = self._vectors(X)
        self._scaler = MinMaxScaler(clip=True).fit(objects)
        self._neighbours = NearestNeighbors(n_neighbors=min(self._k, y.size)).fit(self._scaler.transform(objects))
        self._values = y if residuals is None else residuals
        return self

    def typical(self) -> float:
        """Return what the tenth of is added: the mean residual or distance, or the spread of all targets."""
        if self._kind == "knn":
            return float(self._values.mean())
        if self._kind == "knn spread":
            return float(self._values.std())
        n = self._neighbours.n_samples_fit_
        distances, _ = self._neighbours.kneighbors(n_neighbors=min(self._k, n - 1)) if n > 1 else (np.zeros(1), None)
        return float(distances.sum() / n)

    def predict(self, X: Any) -> np.ndarray:
        """Return the difficulty of every object."""
        distances, places = self._neighbours.kneighbors(self._scaler.transform(self._vectors(X)))
        if self._kind == "knn distance":
            return np.asarray(distances.sum(axis=1))
        values = self._values[places]
        return np.asarray(values.mean(axis=1) if self._kind == "knn" else values.std(axis=1))

    def _vectors(self, X: Any) -> np.ndarray:
        try:
            return np.asarray(check_array(X, dtype=np.float64))
        except (ValueError, TypeError) as error:
            msg = (
                f"difficulty={self._kind!r} measures distances between vectors of numbers, and X is of type "
                f"{type(X).__name__} ({error}): give a regressor that takes such objects, or a function of X."
            )
            raise ValueError(msg) from error


def ask_function(difficulty: Any, X: Any) -> np.ndarray:
    """Return what a user's function says of every object; refuse what is no difficulty."""
    m, values = count_rows(X), np.asarray(difficulty(X), dtype=np.float64)
    if values.shape != (m,):
        msg = f"difficulty returned shape {values.shape} for {m} objects: expected ({m},), one number for each."
        raise ValueError(msg)
    if not (values >= 0).all() or not np.isfinite(values).all():
        row = int((~((values >= 0) & np.isfinite(values))).argmax())
        msg = f"difficulty returned {values[row]} for object {row}: expected a finite number that is not negative."
        raise ValueError(msg)
    return values
