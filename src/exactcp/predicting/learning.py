"""Learning and unlearning examples, for predictors that keep them in a bag."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

import numpy as np

from exactcp._answers import encode
from exactcp._changes import changes, forked, learn, unlearn
from exactcp._parallel import effort_of
from exactcp._validation import check_indices
from exactcp.predicting.front_door import FrontDoor
from exactcp.predicting.levels import ONCE_A_FIT
from exactcp.predicting.names import Names


class Learning(FrontDoor):
    """Base of predictors that unlearn examples, by their positions or their ids."""

    _names: Names | None = None
    _training_categories: Any = None  # numbers (n,), where p-values are made within categories
    _learns = True  # what comes by partial_fit, and does not calibrate alone

    @property
    def n_examples_(self) -> int:
        """Number of examples that have been learned and not forgotten."""
        self._require_fitted()
        return int(self._bag.n)

    @property
    def ids_(self) -> list[Hashable]:
        """The ids of these examples in the order of learning, if they were given."""
        self._require_fitted()
        if self._names is None:
            msg = f"this {type(self).__name__} has no ids_, since fit got none: give fit(..., ids=...)."
            raise AttributeError(msg)
        return self._names.ids

    def _name(self, ids: Any, n: int) -> None:
        """Take note of the ids of the examples of `fit`."""
        self._names = None if ids is None else Names(ids, n)

    def _name_more(self, ids: Any, m: int) -> None:
        """Take note of the ids of m more examples; all have one, or none."""
        if (ids is None) != (self._names is None):
            msg = (
                "ids= was given here and not in fit: give the ids of all examples in fit, or of none."
                if self._names is None
                else "fit got ids=, and this call has none: give ids= here, too, an id for each example."
            )
            raise ValueError(msg)
        if self._names is not None:
            self._names = self._names.joined(ids, m)

    def _unname(self, positions: np.ndarray) -> None:
        """Take note that examples are forgotten."""
        if self._names is not None:
            self._names = self._names.without(positions)

    def _take_forgotten(self, indices: Any, ids: Any) -> np.ndarray:
        """Return the positions of examples to forget, each once."""
        self._require_fitted()
        if (indices is None) == (ids is None):
            msg = (
                f"unlearn got {'neither indices nor ids' if ids is None else 'both indices and ids'}: expected one of "
                "them, unlearn([0, 1]) or unlearn(ids=['Ada', 'Bob'])."
            )
            raise TypeError(msg)
        if ids is None:
            return check_indices(indices, self._bag.n)
        if self._names is None:
            msg = "unlearn got ids=, and fit got none: give fit(..., ids=...), or unlearn by position."
            raise ValueError(msg)
        return self._names.positions(ids)

    @changes
    def unlearn(self, indices: Any = None, *, ids: Any = None) -> Self:
        """Forget examples; the state is then that of `fit` on the rest.

        Forgetting the strangest ones costs the guarantee, since new examples are not cleaned.

        Parameters
        ----------
        indices : int, array-like of int, or array-like of bool of shape (n,), default=None
            Positions in the order of learning, counted from 0, or from the end where they are negative; or a mask. The
            examples after a forgotten one move up.
        ids : array-like, default=None
            The ids of the examples instead, if they were given when these were learned.

        Returns
        -------
        self
        """
        positions = self._take_forgotten(indices, ids)
        if positions.size:
            self._forgotten(positions)
            self._unname(positions)
            self._forget(positions)
            self._count_features()
        return self

    def _learned(self, X: Any, objects: Any, y: Any, categories: Any) -> None:
        """Take note of examples, given as X, before the bag learns them."""
        if self._known is not None:
            self._known = self._known.after(objects, y, are_learned=self._learns)
        numbers = self._sort(X, objects, y, categories, more=True)
        if self._training_categories is not None:
            self._training_categories = np.concatenate([self._training_categories, numbers])
        self._warned_levels = ONCE_A_FIT & self._warned_levels

    def _forgotten(self, positions: np.ndarray) -> None:
        """Take note that the bag is to forget examples."""
        if self._training_categories is not None:
            self._training_categories = np.delete(self._training_categories, positions)
        self._known, self._warned_levels = None, ONCE_A_FIT & self._warned_levels

    def _forget(self, positions: np.ndarray) -> None:
        """Let the bag forget examples; one at least stays."""
        if positions.size == self._bag.n:
            msg = f"unlearning all {positions.size} examples would leave none: keep one at least, or fit anew."
            raise ValueError(msg)
        unlearn(self, positions, effort=effort_of(self))


class LabelledLearning(Learning):
    """Base of predictors that learn and unlearn labelled examples.

    The predictor defines `_fit(X, y, declared, categories, ids)`.
    """

    classes_: np.ndarray
    _declared: Any

    def _fit(self, X: Any, y: Any, declared: Any, categories: Any, ids: Any) -> Self:
        raise NotImplementedError

    def _partial_fit(self, X: Any, y: Any, classes: Any, ids: Any, categories: Any = None) -> Self:
        """Learn more examples; the state is then that of `fit` on all of them."""
        if not self.__sklearn_is_fitted__():
            return self._fit(X, y, classes, categories, ids)
        objects, y = self._take_more_labelled(X, y)
        self._name_more(ids, y.size)
        declared = self._declared
        if classes is not None:
            remedy = "declare every label that has been learned, too."
            encode(self.classes_, np.unique(classes), what="the learned examples", remedy=remedy)
            declared = classes
        known = np.union1d(self.classes_, y) if declared is None else np.unique(declared)
        codes = encode(y, known, what="y", remedy="the classes were declared in partial_fit; declare this one as well.")
        self._learned(X, objects, y, categories)
        if known.size > self.classes_.size:
            bag = forked(self)
            bag.relabel(np.searchsorted(known, self.classes_), known.size)
            bag.learn(objects, codes, effort=effort_of(self))
        else:
            learn(self, objects, codes, effort=effort_of(self))
        self.classes_, self._declared = known, declared
        self._count_features()
        return self

    def _forget(self, positions: np.ndarray) -> None:
        """Let the bag forget examples; of two classes at least, or of those that were declared, some stay."""
        sizes = self._bag.sizes
        if positions.size >= sizes[sizes > 0].min():  # else every class keeps some
            sizes = sizes - np.bincount(self._bag.codes()[positions], minlength=self.classes_.size)
        kept = np.flatnonzero(sizes) if self._declared is None else np.arange(self.classes_.size)
        if sizes.sum() == 0 or kept.size < 2:
            msg = (
                f"unlearning {positions.size} of {self._bag.n} examples would leave {int(sizes.sum())} of "
                f"{kept.size} class(es): keep examples of two classes, or declare the classes in partial_fit."
            )
            raise ValueError(msg)
        if kept.size < self.classes_.size:
            new_codes = np.full(self.classes_.size, -1)
            new_codes[kept] = np.arange(kept.size)
            bag = forked(self)
            bag.unlearn(positions, effort=effort_of(self))
            bag.relabel(new_codes, kept.size)
            self.classes_ = self.classes_[kept]
        else:
            unlearn(self, positions, effort=effort_of(self))
