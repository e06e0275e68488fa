"""Prediction sets as an array that knows its labels: as lists, as a frame, as chips in a notebook."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from exactcp._frame import make_frame
from exactcp._html import TABLE_ROWS, chips, table
from exactcp.predicting.frames import set_columns
from exactcp.predicting.levels import Levels
from exactcp.pvalues import as_decimal

__all__ = ["PredictionSets"]

_NAMELESS = "these sets do not know their labels any more: ask what predict_set returned, or rows of it."


class PredictionSets(np.ndarray):
    """What `predict_set` returns: an array of bool, which also knows the labels of its columns.

    It is used like any array, and whatever is computed from it is a plain one. Rows of it are prediction sets again.

    Attributes
    ----------
    classes : ndarray of shape (l,) or None
        The labels; None where they are not known any more.
    confidence_levels : list of float
        One, or as many as the last axis has.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from exactcp import FullConformalClassifier
    >>> iris = load_iris()
    >>> X, y, held_out = iris.data, iris.target_names[iris.target], [0, 70, 120]
    >>> X_train, y_train = np.delete(X, held_out, axis=0), np.delete(y, held_out)
    >>> clf = FullConformalClassifier().fit(X_train, y_train)
    >>> sets = clf.predict_set(X[held_out], confidence_level=0.99)
    >>> sets.to_list()
    [['setosa'], ['versicolor', 'virginica'], ['virginica']]
    >>> sets.sizes
    array([1, 2, 1])
    >>> sets.to_frame()["set_text"].tolist()
    ['setosa', 'versicolor|virginica', 'virginica']
    """

    classes: np.ndarray | None
    confidence_levels: list[Any]

    @classmethod
    def of(cls, sets: np.ndarray, classes: np.ndarray, confidence_levels: list[Any]) -> Self:
        """Return an array of sets that knows its labels."""
        known = np.asarray(sets).view(cls)
        known.classes, known.confidence_levels = classes, confidence_levels
        return known

    def __array_finalize__(self, obj: Any) -> None:
        # what is made of sets are other numbers, of which nobody knows whether columns are still labels
        self.classes, self.confidence_levels = None, []

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:  # noqa: FBT001, FBT002
        return array[()] if return_scalar else np.asarray(array)

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if not isinstance(found, PredictionSets):
            return found
        if isinstance(key, tuple) or found.ndim != self.ndim or self.classes is None:
            return np.asarray(found)
        return self.of(found, self.classes, self.confidence_levels)

    def __repr__(self) -> str:
        return repr(np.asarray(self))  # which is what it is used as

    def __reduce__(self) -> Any:
        return _restored, (np.asarray(self), self.classes, self.confidence_levels)

    def copy(self, order: Any = "C") -> Any:
        """Return a copy that knows the labels, too."""
        copied = np.array(self, order=order)
        return copied if self.classes is None else self.of(copied, self.classes, self.confidence_levels)

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    @property
    def sizes(self) -> np.ndarray:
        """How many labels each set has: (m,), or (m, levels)."""
        counted: np.ndarray = np.asarray(self).sum(axis=1)
        return counted

    def at(self, confidence_level: float) -> PredictionSets:
        """Return the sets at one of several levels.

        Parameters
        ----------
        confidence_level : float
            One of `confidence_levels`.

        Returns
        -------
        PredictionSets of shape (m, l)
        """
        wanted = as_decimal(confidence_level)
        for number, level in enumerate(self.confidence_levels):
            if as_decimal(level) == wanted:
                return self.of(self._level(number), self._classes(), [level])
        known = ", ".join(map(str, self.confidence_levels))
        msg = f"there are no sets at confidence_level={confidence_level}: expected {known}, what predict_set was asked."
        raise ValueError(msg)

    def _classes(self) -> np.ndarray:
        if self.classes is None:
            raise ValueError(_NAMELESS)
        return self.classes

    def _level(self, number: int) -> np.ndarray:
        return np.asarray(self) if self.ndim == 2 else np.asarray(self)[..., number]

    def to_list(self) -> list[list[Any]]:
        """Return the labels of every set; of several levels choose one first, by `at`.

        Returns
        -------
        list of lists of labels
        """
        if self.ndim != 2:
            msg = f"these sets have {len(self.confidence_levels)} levels: choose one, such as sets.at(0.9).to_list()."
            raise ValueError(msg)
        labels, _ = set_columns(np.asarray(self), self._classes())
        return [list(labels.values[place]) for place in labels.places]

    def to_frame(self, index: Any = None, library: str = "pandas") -> Any:
        """Return a frame with the columns set (labels) and set_text ("a|b"); with several levels set_0.8 and so on.

        Parameters
        ----------
        index : index of pandas, default=None
            Of the frame; None means 0, 1 and so on.
        library : {"pandas", "polars"}, default="pandas"
            Whose frame it is.

        Returns
        -------
        DataFrame
        """
        columns: dict[str, Any] = {}
        levels = Levels.of(self._given())
        for number, names in enumerate(zip(levels.names("set"), levels.names("set_text"), strict=True)):
            columns |= dict(zip(names, set_columns(self._level(number), self._classes()), strict=True))
        return make_frame(columns, library, index)

    def _given(self) -> Any:
        return self.confidence_levels if self.ndim == 3 else self.confidence_levels[0]

    def _repr_html_(self) -> str | None:
        if self.classes is None:
            return None
        rows, known = min(self.shape[0], TABLE_ROWS), self.classes.tolist()
        cells = [[str(t), *(_chips(self._level(j)[t], known) for j in range(self._width()))] for t in range(rows)]
        sizes = ", ".join(f"{size:.3g}" for size in np.atleast_1d(self.sizes.mean(axis=0))) if self.shape[0] else "-"
        names = [f"set, {level}" for level in self.confidence_levels]
        return table(["", *names], cells, f"labels a set, on average: {sizes}", self.shape[0])

    def _width(self) -> int:
        return 1 if self.ndim == 2 else self.shape[2]


def _chips(inside: np.ndarray, labels: list[Any]) -> str:
    numbers = np.flatnonzero(inside)
    return chips([labels[number] for number in numbers], numbers.tolist())


def _restored(sets: np.ndarray, classes: np.ndarray | None, confidence_levels: list[Any]) -> np.ndarray:
    return sets if classes is None else PredictionSets.of(sets, classes, confidence_levels)
