"""The front door of all predictors: what a user gives becomes what the measure takes, or a sentence.

A measure says what its objects may be. Vectors and pairs become float64 matrices here; anything else, for models, goes
through as it is, and models say themselves what they do not take. Columns that hold categories stay outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from exactcp._estimator import Estimator
from exactcp._rows import is_frame
from exactcp._validation import (
    check_answers,
    check_anything,
    check_examples,
    check_indices,
    check_labels,
    check_new_pairs,
    check_objects,
    check_regression_examples,
    check_targets,
    check_training_objects,
)
from exactcp.measures._choice import held_by, objects_of
from exactcp.measures._contract import Objects
from exactcp.measures._model import describe_input, route, routed
from exactcp.predicting.taxonomy import Taxonomy, columns_of, without_columns


class FrontDoor(Estimator):
    """Base of predictors: examples and test objects enter here, as the measure declares them."""

    _has_labels: ClassVar[bool] = True
    measure: Any
    _bag: Any
    _taxonomy: Taxonomy = Taxonomy(None, beside=False)  # of predictors without categories

    def _kind(self) -> Objects:
        """Return what the objects may be: what the measure says, once there is one the fitted measure."""
        return objects_of(vars(self).get("measure_", self.measure))

    def _takes_pairs(self) -> bool:
        """Tell whether X holds values between examples instead of objects."""
        return self._kind() is Objects.PAIRS

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        held = held_by(vars(self).get("measure"))
        if held is not None:
            describe_input(tags, held)
        tags.input_tags.pairwise = self._takes_pairs()
        return tags

    def get_metadata_routing(self) -> Any:
        """Return who wants which parameters of `fit`: the model may.

        Returns
        -------
        MetadataRouter
        """
        held = held_by(vars(self).get("measure"))
        return super().get_metadata_routing() if held is None else route(self, "measure", held)

    def _route(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return those parameters of `fit` that go on to the measure: all, or as scikit-learn's routing says."""
        if held_by(self.measure) is None:
            return parameters
        return routed(self, parameters, ("measure",))["measure"]

    def __sklearn_is_fitted__(self) -> bool:
        return "_bag" in vars(self)

    def _inside(self, X: Any) -> Any:
        """Return objects without the columns that hold categories, unless these are to be kept."""
        columns = columns_of(vars(self).get("mondrian"))
        if not columns or vars(self)["mondrian_columns"] == "keep":
            return X
        return without_columns(X, columns)

    def _take_objects(self, X: Any) -> Any:
        """Return the objects of a question to a fitted predictor."""
        self._require_fitted()
        X = self._inside(X)
        return check_anything(self, X, reset=False) if self._kind() is Objects.ANYTHING else check_objects(self, X)

    def _take_positions(self, indices: Any) -> np.ndarray:
        """Return the positions of examples to forget, each once."""
        self._require_fitted()
        return check_indices(indices, self._bag.n)

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)  # which says so

    def _take_training_objects(self, X: Any) -> Any:
        """Return the objects of `fit`, where there are no labels."""
        X = self._inside(X)
        if self._kind() is Objects.ANYTHING:
            return check_anything(self, X, reset=True)
        return check_training_objects(self, X)

    def _take_labelled(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, np.ndarray]:
        """Return the objects and labels of `fit`, or others beside them."""
        X = self._inside(X)
        if self._kind() is not Objects.ANYTHING:
            return check_examples(self, X, y, reset=reset)
        X = check_anything(self, X, reset=reset)
        return X, check_answers(self, X, y, check_labels)

    def _take_targeted(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, np.ndarray]:
        """Return the objects and targets of `fit`, or others beside them."""
        X = self._inside(X)
        if self._kind() is not Objects.ANYTHING:
            return check_regression_examples(self, X, y, reset=reset)
        X = check_anything(self, X, reset=reset)
        return X, check_answers(self, X, y, check_targets)

    def _take_more_objects(self, X: Any) -> Any:
        """Return objects for the bag to learn; precomputed, with those that it has and with each other."""
        if self._takes_pairs():
            return check_new_pairs(X, np.zeros(len(X)), self._bag.n)[0]
        return self._take_objects(X)

    def _take_more_labelled(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Return labelled examples for the bag to learn."""
        if self._takes_pairs():
            return check_new_pairs(X, y, self._bag.n)
        return self._take_labelled(X, y, reset=False)

    def _take_more_targeted(self, X: Any, y: Any) -> tuple[Any, np.ndarray]:
        """Return examples with targets for the bag to learn."""
        if self._takes_pairs():
            return check_new_pairs(X, y, self._bag.n, check_y=check_targets)
        return self._take_targeted(X, y, reset=False)

    def _count_features(self) -> None:
        """Take note of the bag's size after a change: precomputed values have a column for each example."""
        if self._takes_pairs():
            self.n_features_in_ = self._bag.n

    def _sort(self, X: Any, objects: Any, y: Any, categories: Any, *, more: bool = False) -> np.ndarray:
        """Return the numbers of the categories of examples to learn; a taxonomy gets X as the user gave it."""
        known = self._taxonomy if more else self._new_taxonomy(beside=categories is not None)
        self._taxonomy, numbers = known.learned(self._as_given(X, objects), y, categories)
        return numbers

    def _new_taxonomy(self, *, beside: bool) -> Taxonomy:
        return Taxonomy(vars(self).get("mondrian"), beside=beside, labelled=self._has_labels)

    def _sort_objects(self, X: Any, objects: Any, categories: Any) -> np.ndarray:
        """Return the numbers (m,) of the categories of test objects."""
        return self._taxonomy.of_objects(self._as_given(X, objects), categories)

    def _sort_candidates(self, X: Any, objects: Any, classes: np.ndarray, categories: Any) -> np.ndarray:
        """Return the numbers (m, l) of the categories of test objects with each label."""
        return self._taxonomy.of_candidates(self._as_given(X, objects), classes, categories)

    def _as_given(self, X: Any, objects: Any) -> Any:
        """Return X, if it is a frame or array; what became a matrix in the door, as this matrix."""
        return objects if isinstance(objects, np.ndarray) and not is_frame(X) else X
