"""The first examples of a stream, which are learned together before the first prediction."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from exactcp import pvalues
from exactcp._changes import twin
from exactcp._parameters import NONE, integer
from exactcp._rows import join_rows

N_INITIAL = integer("a number of examples", at_least=0) | NONE


def is_fitted(predictor: Any) -> bool:
    """Tell whether a predictor can be asked."""
    try:
        check_is_fitted(predictor)
    except NotFittedError:
        return False
    return True


def learn_first(predictor: Any, X: Any, y: np.ndarray, classes: Any = None) -> None:
    """Let a predictor that has learned nothing learn its first examples."""
    if not _wants_a_fit(predictor):
        predictor.partial_fit(X, y, **({} if classes is None else {"classes": classes}))
    elif classes is None:
        predictor.fit(X, y)
    else:
        msg = (
            f"classes= were given, and {type(predictor).__name__} takes them from the examples that it is fitted on: "
            "leave them out."
        )
        raise ValueError(msg)


def _wants_a_fit(predictor: Any) -> bool:
    """Tell whether a predictor cannot start with `partial_fit`: it has none, or transformers that must be fitted."""
    return isinstance(predictor, Pipeline) or not hasattr(predictor, "partial_fit")


class Beginning:
    """Collects examples until a predictor can learn them, and then predict.

    Parameters
    ----------
    predictor : conformal predictor
    epsilon : Fraction
        Of the sets or intervals to come.
    classes : array-like, default=None
        All labels that will ever come.
    wanted : int, default=None
        How many examples to learn first; None means as few as possible.
    """

    def __init__(self, predictor: Any, epsilon: Fraction, classes: Any = None, wanted: int | None = None) -> None:
        N_INITIAL.check("n_initial", wanted, None)
        self._predictor, self._classes, self.wanted = predictor, classes, wanted
        self._by_label, self._is_fitted = is_classifier(predictor), is_fitted(predictor)
        self._needed = self._fewest(epsilon) if wanted is None else wanted
        self._X: list[Any] = []
        self._y: list[Any] = []

    def __len__(self) -> int:
        return len(self._y)

    def _fewest(self, epsilon: Fraction) -> int:
        if self._is_fitted:
            return 0
        inner = getattr(self._predictor, "predictor", self._predictor)  # of an adaptive level
        if _wants_a_fit(inner):
            msg = f"{type(inner).__name__} is fitted on the first examples of the stream: say in n_initial on how many."
            raise ValueError(msg)
        if hasattr(inner, "calibrate"):
            return 2 * pvalues.fewest_examples(epsilon)  # one half fits, the other calibrates
        return 1 if self._by_label else pvalues.fewest_examples(epsilon)

    @property
    def lacks_some(self) -> bool:
        """Whether more examples are needed."""
        return len(self) < self._needed or (not self._is_fitted and (not self._y or self._lacks_a_label()))

    def _lacks_a_label(self) -> bool:
        return self._by_label and self._classes is None and len(set(np.asarray(self._y).tolist())) < 2

    def add(self, x: Any, y: Any) -> None:
        """Keep one more example."""
        self._X.append(x)
        self._y.append(y)

    def with_one(self, x: Any, y: Any) -> Beginning:
        """Return the same with one more example."""
        longer: Beginning = twin(self, _X=[*self._X, x], _y=[*self._y, y])
        return longer

    def learn(self) -> None:
        """Let the predictor learn the examples."""
        if self._y:
            X, y, classes = reduce(join_rows, self._X), np.asarray(self._y), self._classes if self._by_label else None
            if self._is_fitted:
                self._predictor.partial_fit(X, y)
            else:
                learn_first(self._predictor, X, y, classes)

    def refuse_end(self) -> None:
        """Say that the stream was too short."""
        if self.wanted is None or self._needed <= len(self):
            name = type(self._predictor).__name__
            msg = f"the stream ended after {len(self)} example(s) with a label, before {name} could predict."
        else:
            msg = f"n_initial={self.wanted} examples were to be learned first, and the stream has {len(self)}."
        raise ValueError(msg)
