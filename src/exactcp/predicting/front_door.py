"""The front door of all predictors: what a user gives becomes what the measure takes, or a sentence.

A measure says what its objects may be. Vectors and pairs become float64 matrices here, or stay in float32 where the
measure takes that, and objects that a function compares become a column; anything else, for models, goes through as it
is, and models say themselves what they do not take. Columns that hold categories stay outside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from exactcp._answers import check_answers, check_labels, check_targets
from exactcp._compared import is_column
from exactcp._estimator import Estimator
from exactcp._parameters import check_parameters
from exactcp._rows import is_frame
from exactcp._validation import (
    check_anything,
    check_computed,
    check_examples,
    check_new_pairs,
    check_objects,
    check_regression_examples,
    check_training_objects,
)
from exactcp.measures._choice import held_by, keeps_float32, objects_of
from exactcp.measures._contract import Objects
from exactcp.measures._model import describe_input, route, routed
from exactcp.predicting.preprocessing import Preprocessing, WaitingBag
from exactcp.predicting.taxonomy import Taxonomy, columns_of_taxonomy, without_columns
from exactcp.predicting.validity import FEWER_KEYS, KnownExamples, precision_of, warn_of_precision, warn_of_search


class FrontDoor(Estimator):
    """Base of predictors: examples and test objects enter here, as the measure declares them."""

    _has_labels: ClassVar[bool] = True
    measure: Any
    measure_: Any
    preprocess_on: str
    _bag: Any
    _fitted_kind: Objects | None = None
    _fitted_float32: bool | None = None
    _taxonomy: Taxonomy = Taxonomy(None, beside=False)  # of predictors without categories
    _preprocessing: Preprocessing | None = None
    _precision = ""  # of the objects of `fit`
    _known: KnownExamples | None = None  # until examples are forgotten, which may come again
    _warned_levels: Set[str] = frozenset()
    _met: tuple[Any, Any, WaitingBag] | None = None  # of a view: X, its objects, and the bag that waited for them

    def _kind(self) -> Objects:
        """Return what the objects may be: what the measure says, once there is one the fitted measure."""
        return objects_of(vars(self).get("measure_", self.measure))

    def _known_kind(self) -> Objects:
        """Return the same, which is found out once after each `fit` has begun."""
        if self._fitted_kind is None:
            self._fitted_kind = self._kind()
        return self._fitted_kind

    def _takes_pairs(self) -> bool:
        """Tell whether X holds values between examples instead of objects."""
        return self._known_kind() is Objects.PAIRS

    @property
    def _compares(self) -> bool:
        """Whether a function compares objects, which may then be of any kind."""
        return self._kind() is Objects.COMPARED

    @property
    def _keeps_float32(self) -> bool:
        """Whether vectors in float32 are taken as they are, which Algorithm 1 as written does not; asked in `fit`."""
        if self._fitted_float32 is None:
            is_standard = vars(self).get("algorithm") == "standard"
            self._fitted_float32 = not is_standard and keeps_float32(vars(self).get("measure_", self.measure))
        return self._fitted_float32

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        held = held_by(vars(self).get("measure"))
        if held is not None:
            describe_input(tags, held)
        tags.input_tags.pairwise = self._kind() is Objects.PAIRS  # a fit may not have begun
        preprocess = vars(self).get("preprocess")
        if hasattr(preprocess, "__sklearn_tags__"):
            describe_input(tags, preprocess)
        return tags

    def get_metadata_routing(self) -> Any:
        """Return the metadata routing of scikit-learn: parameters of `fit` that the model may request.

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
        if not isinstance(X, np.ndarray):
            check_computed(self, X, "X")
        self._compare_precision(X)
        mondrian = vars(self).get("mondrian")
        if mondrian is None or not isinstance(mondrian, str | list | tuple):
            return X
        if vars(self).get("mondrian_columns", "keep") == "keep":
            return X
        columns = columns_of_taxonomy(mondrian)
        return without_columns(X, columns) if columns else X

    def _take_objects(self, X: Any) -> Any:
        """Return the objects of a question to a fitted predictor."""
        self._require_fitted()
        if self._preprocessing is not None and self._preprocessing.is_together:
            return self._meet(X)
        return self._take_one_by_one(X)

    def _compare_precision(self, X: Any) -> None:
        """Say once after each `fit` that objects come in another precision."""
        asked, said = precision_of(X), self.__dict__.setdefault("_warned_levels", set())  # which views share
        if {asked, self._precision} == {"float32", "float64"} and "dtype" not in said:
            warn_of_precision(self._precision, asked)
            said.add("dtype")

    def _take_one_by_one(self, X: Any) -> Any:
        """Return objects that each become what they are without the others."""
        X = self._inside(X)
        if self._takes_anything():
            return self._transform(check_anything(self, X, reset=False))
        return check_objects(self, X)

    def _takes_anything(self) -> bool:
        """Tell whether a model, or a transformer, says what objects may be; it is asked once, in `fit`."""
        if self._preprocessing is not None:
            return True
        return self._known_kind() is Objects.ANYTHING

    def _begin_fit(self, X: Any) -> None:
        """Let the parameters of a new `fit` say what objects are, not what was fitted before."""
        warn_of_search(type(self).__name__)
        self._precision, self._warned_levels = precision_of(X), set()
        for name in ("_fitted_kind", "_fitted_float32", "measure_"):
            self.__dict__.pop(name, None)

    def _transform(self, X: Any, *, reset: bool = False) -> Any:
        """Return checked objects as the measure takes them; those that wait for test objects as they are."""
        if self._preprocessing is None:
            return X
        if not reset:
            return X if self._preprocessing.is_together else self._preprocessing.transform(X)
        objects = self._preprocessing.fit(X)
        if self._preprocessing.fitted is not None:
            self.preprocess_ = self._preprocessing.fitted
        return objects

    def _meet(self, X: Any) -> Any:
        """Return the objects of a question, transformed together with the training objects, in a view with their bag.

        A question may take its objects several times.
        """
        if self._met is not None and self._met[0] is X:
            return self._met[1]
        waiting: WaitingBag = self._bag if self._met is None else self._met[2]
        training, objects = waiting.meet(check_anything(self, self._inside(X), reset=False))
        self.measure_ = clone(self.measure_)  # several questions may be answered at once
        self._bag = self._build(training, waiting.codes())
        self._met = X, objects, waiting
        return objects

    def _begin_preprocessing(self, measure: Any, seed: int) -> None:
        """Take note, in `fit`, of the transformer before a measure."""
        self.__dict__.pop("preprocess_", None)
        given = vars(self).get("preprocess")
        if given is None:
            if self.preprocess_on != "together":
                msg = f"preprocess_on={self.preprocess_on!r} would have no effect without preprocess=: leave it out."
                raise ValueError(msg)
            self._preprocessing = None
            return
        check_parameters(measure)  # its bag, which would do it, is not built yet
        self._preprocessing = Preprocessing(given, self.preprocess_on, objects_of(measure), seed)

    def _begin_bag(self, objects: Any, y: np.ndarray, n_labels: int = 0) -> Any:
        """Return the bag of a fit, or what waits for test objects."""
        if self._preprocessing is not None and self._preprocessing.is_together:
            return WaitingBag(self._preprocessing, objects, y, n_labels)
        return self._build(objects, y)

    def _build(self, objects: Any, y: np.ndarray) -> Any:
        """Return the measure's bag of these examples."""
        raise NotImplementedError

    def _require_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)  # which says so

    def _take_training_objects(self, X: Any) -> Any:
        """Return the objects of `fit`, where there are no labels."""
        self._begin_fit(X)
        X = self._inside(X)
        if self._takes_anything():
            return self._transform(check_anything(self, X, reset=True), reset=True)
        return check_training_objects(self, X)

    def _take_labelled(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, np.ndarray]:
        """Return the objects and labels of `fit`, or others beside them."""
        return self._take_examples(X, y, check_examples, check_labels, reset=reset)

    def _take_targeted(self, X: Any, y: Any, *, reset: bool = True) -> tuple[Any, np.ndarray]:
        """Return the objects and targets of `fit`, or others beside them."""
        return self._take_examples(X, y, check_regression_examples, check_targets, reset=reset)

    def _note(self, objects: Any, y: Any) -> None:
        """Take note of the examples of `fit`, which are recognised if they come again, and say if many are copies."""
        self._known = None if self._takes_pairs() else KnownExamples(objects, y).warn_of_copies()

    def _note_calibrating(self, objects: Any, y: np.ndarray, *, more: bool) -> None:
        """Say if examples that calibrate, beside others or instead of them, have fitted the measure or are copies."""
        if not more and not self._takes_pairs():
            KnownExamples(objects, y, FEWER_KEYS).warn_of_copies()
        self._known = None if self._known is None else self._known.after(objects, y, are_learned=False)

    def _take_examples(
        self, X: Any, y: Any, check_vectors: Callable[..., Any], check_y: Callable[[Any], np.ndarray], *, reset: bool
    ) -> tuple[Any, np.ndarray]:
        """Return objects and answers, checked together where objects are vectors, else each by itself."""
        if reset:
            self._begin_fit(X)
        X = self._inside(X)
        check_computed(self, y, "y")
        if not self._takes_anything():
            return check_vectors(self, X, y, reset=reset)  # type: ignore[no-any-return]
        X = check_anything(self, X, reset=reset)
        y = check_answers(self, X, y, check_y)
        return self._transform(X, reset=reset), y

    def _take_more_objects(self, X: Any) -> Any:
        """Return objects for the bag to learn; precomputed, with those that it has and with each other."""
        if self._takes_pairs():
            return check_new_pairs(X, np.zeros(len(X)), self._bag.n)[0]
        return self._take_one_by_one(X)

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
        self._taxonomy, numbers = known.learned(self._as_given(X, objects, known), y, categories)
        return numbers

    def _new_taxonomy(self, *, beside: bool) -> Taxonomy:
        mondrian = vars(self).get("mondrian")
        if mondrian is None and not beside:
            return FrontDoor._taxonomy  # which learns nothing
        return Taxonomy(mondrian, beside=beside, labelled=self._has_labels)

    def _sort_objects(self, X: Any, objects: Any, categories: Any) -> np.ndarray:
        """Return the numbers (m,) of the categories of test objects."""
        given = objects if self._taxonomy.is_trivial else self._as_given(X, objects, self._taxonomy)
        return self._taxonomy.of_objects(given, categories)

    def _sort_candidates(self, X: Any, objects: Any, classes: np.ndarray, categories: Any) -> np.ndarray:
        """Return the numbers (m, l) of the categories of test objects with each label."""
        return self._taxonomy.of_candidates(self._as_given(X, objects, self._taxonomy), classes, categories)

    def _as_given(self, X: Any, objects: Any, taxonomy: Taxonomy) -> Any:
        """Return X, if it is a frame or array, or was transformed; what became a matrix in the door, as this matrix.

        A function gets a matrix in float64, in which it may compare otherwise than in float32.
        """
        if self._preprocessing is not None or is_column(objects):
            return X
        if not isinstance(objects, np.ndarray) or is_frame(X):
            return X
        is_narrow = taxonomy.is_function and objects.dtype == np.float32 and not self._takes_anything()
        return objects.astype(np.float64) if is_narrow else objects
