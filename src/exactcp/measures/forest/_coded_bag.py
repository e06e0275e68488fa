"""What the two bags of this family have in common: the labels of their examples."""

from __future__ import annotations

from operator import attrgetter

import numpy as np

from exactcp._changes import ReplacingBag
from exactcp.measures._bags import LabelBag


class CodedBag(ReplacingBag, LabelBag):
    """A bag that keeps the labels of its examples as `_codes`, 0.._n_labels-1, in the order of arrival."""

    _codes: np.ndarray
    _n_labels: int

    n = property(attrgetter("_codes.size"), doc="Number of examples.")

    @property
    def sizes(self) -> np.ndarray:
        """Number of examples of each label."""
        return np.bincount(self._codes, minlength=self._n_labels)

    def codes(self) -> np.ndarray:
        """Labels of the examples in the order of arrival."""
        return self._codes

    def relabel(self, new_codes: np.ndarray, n_labels: int) -> None:
        """Rename label c to new_codes[c], out of n_labels; ties of labels may fall otherwise, so all is made anew."""
        self._codes = new_codes[self._codes]
        self._n_labels = n_labels
        self.fill()

    def fill(self) -> object:
        """Make all models of the examples."""
        raise NotImplementedError
