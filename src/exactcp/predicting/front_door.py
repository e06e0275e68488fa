"""The front door of all predictors: what a user gives becomes what the measure takes, or a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from exactcp._estimator import Estimator
from exactcp._validation import (
    check_examples,
    check_indices,
    check_new_pairs,
    check_objects,
    check_regression_examples,
    check_targets,
    check_training_objects,
)
from exactcp.measures._choice import objects_of
from exactcp.measures._contract import Objects


class FrontDoor(Estimator):
    """Base of predictors: examples and test objects enter here, as the measure declares them.

    Vectors and pairs become float64 matrices. Models, which take anything, are given vectors as well.
    """

    measure: Any
    _bag: Any

    def _kind(self) -> Objects:
        """Return what the objects may be: what the measure says, once there is one the fitted measure."""
        return objects_of(vars(self).get("measure_", self.measure))

    def _takes_pairs(self) -> bool:
        """Tell whether X holds values between examples instead of objects."""
        return self._kind() is Objects.PAIRS

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._takes_pairs()
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return "_bag" in vars(self)

    def _take_objects(self, X: Any) -> np.ndarray:
        """Return the objects of a question to a fitted predictor."""
        self._require_fitted()
        return check_objects(self, X)

    def _take_positions(self, indices: Any) -> np.ndarray:
        """Return the positions of examples to forget, each once."""
        self._require_fitted()
        return check_indices(indices, self._bag.n)

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)  # which says so

    def _take_training_objects(self, X: Any) -> np.ndarray:
        """Return the objects of `fit`, where there are no labels."""
        return check_training_objects(self, X)

    def _take_labelled(self, X: Any, y: Any, *, reset: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Return the objects and labels of `fit`, or others beside them."""
        return check_examples(self, X, y, reset=reset)

    def _take_targeted(self, X: Any, y: Any, *, reset: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Return the objects and targets of `fit`, or others beside them."""
        return check_regression_examples(self, X, y, reset=reset)

    def _take_more_objects(self, X: Any) -> np.ndarray:
        """Return objects for the bag to learn; precomputed, with those that it has and with each other."""
        if self._takes_pairs():
            return check_new_pairs(X, np.zeros(len(X)), self._bag.n)[0]
        return check_objects(self, X)

    def _take_more_labelled(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return labelled examples for the bag to learn."""
        if self._takes_pairs():
            return check_new_pairs(X, y, self._bag.n)
        return self._take_labelled(X, y, reset=False)

    def _take_more_targeted(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return examples with targets for the bag to learn."""
        if self._takes_pairs():
            return check_new_pairs(X, y, self._bag.n, check_y=check_targets)
        return self._take_targeted(X, y, reset=False)

    def _count_features(self) -> None:
        """Take note of the bag's size after a change: precomputed values have a column for each example."""
        if self._takes_pairs():
            self.n_features_in_ = self._bag.n
