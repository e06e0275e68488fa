"""Learning and unlearning labelled examples, for predictors that keep them in a bag."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from exactcp._changes import changes, forked, learn, unlearn
from exactcp._parallel import effort_of
from exactcp._validation import encode
from exactcp.predicting.front_door import FrontDoor


class LabelledLearning(FrontDoor):
    """Base of predictors that learn and unlearn labelled examples.

    The predictor defines `_fit(X, y, declared, categories)`, and may want to know what was `_learned` and `_forgotten`.
    """

    classes_: np.ndarray
    _declared: Any

    def _fit(self, X: Any, y: Any, declared: Any, categories: Any) -> Self:
        raise NotImplementedError

    def _learned(self, X: Any, objects: Any, y: np.ndarray, categories: Any) -> None:
        """Take note of examples, given as X, before the bag learns them."""

    def _forgotten(self, positions: np.ndarray) -> None:
        """Take note that the bag forgot examples."""

    def _partial_fit(self, X: Any, y: Any, classes: Any, categories: Any = None) -> Self:
        """Learn more examples; the state is then that of `fit` on all of them."""
        if not self.__sklearn_is_fitted__():
            return self._fit(X, y, classes, categories)
        objects, y = self._take_more_labelled(X, y)
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

    @changes
    def unlearn(self, indices: Any) -> Self:
        """Forget examples; the state is then that of `fit` on the rest.

        Parameters
        ----------
        indices : int or array-like of int
            Positions in the order of learning, counted from 0. The examples after a forgotten one move up.

        Returns
        -------
        self
        """
        positions = self._take_positions(indices)
        if positions.size == 0:
            return self
        sizes = self._bag.sizes - np.bincount(self._bag.codes()[positions], minlength=self.classes_.size)
        kept = np.flatnonzero(sizes) if self._declared is None else np.arange(self.classes_.size)
        if sizes.sum() == 0 or kept.size < 2:
            msg = (
                f"unlearning {positions.size} of {self._bag.n} examples would leave {int(sizes.sum())} of "
                f"{kept.size} class(es): keep examples of two classes, or declare the classes in partial_fit."
            )
            raise ValueError(msg)
        self._forgotten(positions)
        if kept.size < self.classes_.size:
            new_codes = np.full(self.classes_.size, -1)
            new_codes[kept] = np.arange(kept.size)
            bag = forked(self)
            bag.unlearn(positions, effort=effort_of(self))
            bag.relabel(new_codes, kept.size)
            self.classes_ = self.classes_[kept]
        else:
            unlearn(self, positions, effort=effort_of(self))
        self._count_features()
        return self
