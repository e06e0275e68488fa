"""What a nonconformity measure is: all that predictors ask of one; `_bags` says what its bag is.

A measure declares what it can do by what it overrides; nobody probes it.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import numpy as np

from exactcp._estimator import Estimator
from exactcp._parallel import FREE, Effort
from exactcp._rows import count_rows
from exactcp.measures._bags import LabelBag, TargetBag

if TYPE_CHECKING:
    from exactcp.measures._left_out import LeftOut
    from exactcp.measures._shards import ShardedLabels, ShardedTargets
    from exactcp.textbook.algorithm import ScoreFunction
    from exactcp.textbook.forest import Trainer
    from exactcp.textbook.regression import ResidualFunction


class Objects(Enum):
    """What the objects of a measure may be."""

    VECTORS = "rows of a finite float matrix"
    PAIRS = "distances or kernel values between examples, given"
    COMPARED = "vectors, or objects of any kind, which a function compares"
    ANYTHING = "whatever has rows"

    def __reduce__(self) -> tuple[type[Objects], tuple[str]]:
        return Objects, (self.value,)  # which a saved model asks for


def pairs_or_vectors(parameter: Any) -> Objects:
    """Return what objects are by the kernel of a measure, whatever the user gave as such."""
    is_precomputed = isinstance(parameter, str) and parameter == "precomputed"
    return Objects.PAIRS if is_precomputed else Objects.VECTORS


def objects_by_metric(metric: Any) -> Objects:
    """Return what objects are by the metric of a measure: a function compares whatever it likes."""
    return Objects.COMPARED if callable(metric) else pairs_or_vectors(metric)


class _Declaring(Estimator):
    """What measures of labels and of targets declare alike."""

    is_formula: ClassVar[bool] = False  # ours: limits BLAS itself, so that no digit depends on n_jobs
    why_whole: ClassVar[str] = "each of its scores comes from a fit to all examples"  # and they cannot lie in shards
    _keeps_float32: ClassVar[bool] = False  # takes such vectors as they are, and answers as if they were in float64

    @property
    def objects(self) -> Objects:
        """What the measure's objects may be."""
        return Objects.VECTORS

    @property
    def _compares(self) -> bool:
        """Whether a function compares objects, which may then be of any kind."""
        return self.objects is Objects.COMPARED

    @property
    def is_fixed(self) -> bool:
        """Whether scores do not depend on the examples of `fit`: those of a frozen model, or given outputs."""
        return False

    def _refuse_shards(self, others: str) -> NoReturn:
        """Say why the examples of this measure cannot lie in shards, and which measures' can."""
        msg = (
            f"{type(self).__name__} needs all examples in one place, since {self.why_whole}: expected a measure that "
            f"puts together what it finds in shards. Use {others}, or a predictor of one machine."
        )
        raise ValueError(msg)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.objects is Objects.PAIRS
        return tags


class Measure(_Declaring):
    """A nonconformity measure: `fit(X, y)`, then `score(X, y)` or `score_labels(X, labels)`, large means strange.

    A measure defines one of the two scores and gets the other. One that can learn and unlearn an example overrides
    `bag`; one that the textbook knows names its `twin`.

    Notes
    -----
    Cost: in split CP one fit. In full CP a measure without a bag is fitted anew for each training example, test object
    and label; with one, the bag tells.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from exactcp import SplitConformalClassifier
    >>> from exactcp.measures import Measure
    >>> class MeanDistance(Measure):
    ...     def fit(self, X, y):
    ...         self.means = {label: X[y == label].mean(axis=0) for label in np.unique(y)}
    ...         return self
    ...
    ...     def score_labels(self, X, labels):
    ...         distances = [np.linalg.norm(X - self.means[label], axis=1) for label in labels]
    ...         return np.column_stack(distances)
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = SplitConformalClassifier(MeanDistance(), random_state=0).fit(X[::2], y[::2])
    >>> clf.predict_set(X[[1, 71, 121]], confidence_level=0.9)
    array([[ True, False, False],
           [False,  True,  True],
           [False,  True,  True]])
    """

    tie_floor: ClassVar[float] = 0.0  # s0 of the tie rule: 0 for sums and ratios of distances, 1 for signed, log scores
    tie_tolerance: ClassVar[float] = 1e-10  # 0 for integer scores
    compares_labels: ClassVar[bool] = False  # whether a score needs examples of other labels

    @property
    def fixed_classes(self) -> np.ndarray | None:
        """The labels that a fixed measure knows, sorted; None if those of the examples are all."""
        return None

    def score(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the score of each example: how strange it is to the examples of `fit`."""
        labels, codes = np.unique(np.asarray(y), return_inverse=True)
        return self.score_labels(X, labels)[np.arange(codes.size), codes]

    def score_labels(self, X: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Return the scores (m, l) of every row of X with every one of the labels."""
        return np.column_stack([self.score(X, np.full(count_rows(X), label)) for label in labels])

    def spread_scores(self, X: np.ndarray, labels: np.ndarray, effort: Effort) -> np.ndarray:  # noqa: ARG002
        """Return `score_labels(X, labels)`, with the threads that there may be."""
        return self.score_labels(X, labels)

    def bag(
        self,
        X: np.ndarray,  # noqa: ARG002
        codes: np.ndarray,  # noqa: ARG002
        n_labels: int,  # noqa: ARG002
        *,
        effort: Effort = FREE,  # noqa: ARG002
    ) -> LabelBag | None:
        """Return the bag of these examples, or None if the measure has none and needs Algorithm 1."""
        return None

    def sharded(self) -> ShardedLabels:
        """Return what the measure does with examples that lie in shards, its parameters checked; most refuse."""
        self._refuse_shards("KNN, SimplifiedKNN, NN, KDE, LSSVM or RandomForest")

    def twin(self) -> ScoreFunction | None:
        """Return the textbook's score function with these parameters, None if it has none."""
        return None

    def trainer(self, n_labels: int, n: int, p: int) -> Trainer | None:  # noqa: ARG002
        """Return how the measure trains on a bootstrap sample, None if its scores are not votes of such samples."""
        return None

    def samples(self, arrivals: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return the bootstrap samples of the examples and a test object; only for measures that have a `trainer`."""
        raise NotImplementedError


class RegressionMeasure(_Declaring):
    """A nonconformity measure of regression: `fit(X, y)`, then `predict(X)` and `score(X, y)`, large means strange.

    One that can learn and unlearn an example overrides `bag`; one that the textbook knows names its `twin`.

    Notes
    -----
    Cost: in split CP one fit. In full CP a measure without a bag is fitted anew for each target that is tried.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from exactcp import SplitConformalRegressor
    >>> from exactcp.measures import RegressionMeasure
    >>> class FromMedian(RegressionMeasure):
    ...     def fit(self, X, y):
    ...         self.median = np.median(y)
    ...         return self
    ...
    ...     def predict(self, X):
    ...         return np.full(len(X), self.median)
    ...
    ...     def score(self, X, y):
    ...         return np.abs(y - self.median)
    >>> X, y = load_diabetes(return_X_y=True)
    >>> reg = SplitConformalRegressor(FromMedian(), random_state=0).fit(X[:400], y[:400])
    >>> reg.predict_interval(X[400:402], confidence_level=0.9)
    array([[  4., 268.],
           [  4., 268.]])
    """

    @property
    def follows_shifts(self) -> bool:
        """Whether adding a number to all targets adds it to all predictions, and so changes no score."""
        return False

    @property
    def fits_itself(self) -> bool:
        """Whether an example is judged by a fit that it took part in."""
        return False

    @property
    def has_scale(self) -> bool:
        """Whether residuals are divided by a `scale` that depends on the object."""
        return False

    def predict(self, X: Any) -> np.ndarray:
        """Return the point prediction of every object."""
        raise NotImplementedError

    def spread_predictions(self, X: Any, effort: Effort) -> np.ndarray:  # noqa: ARG002
        """Return `predict(X)`, with the threads that there may be."""
        return self.predict(X)

    def scale(self, X: Any) -> np.ndarray:
        """Return what the residual of every object is divided by."""
        return np.ones(count_rows(X))

    def band(self, X: Any, *, effort: Effort = FREE) -> np.ndarray:
        """Return the lower and upper ends (m, 2) that intervals widen by a multiple of `scale`: the prediction, twice.

        Scores are max(lower - y, y - upper) / scale.
        """
        predictions = np.asarray(self.spread_predictions(X, effort), dtype=np.float64)
        return np.array([predictions, predictions]).T  # each end in one piece

    def score(self, X: Any, y: Any) -> np.ndarray:
        """Return the score of each example: how far its target is outside of the band, or from the prediction."""
        lower, upper = self.band(X).T
        targets = np.asarray(y, dtype=np.float64)
        return np.asarray(np.maximum(lower - targets, targets - upper) / self.scale(X))

    def bag(self, X: np.ndarray, y: np.ndarray, *, effort: Effort = FREE) -> TargetBag | None:  # noqa: ARG002
        """Return the bag of these examples, or None if the measure has none and needs Algorithm 1."""
        return None

    def leave_one_out(self, X: np.ndarray, y: np.ndarray, *, effort: Effort = FREE) -> LeftOut | None:  # noqa: ARG002
        """Return the models that leave out one example each, None if they must be refitted."""
        return None

    def sharded(self) -> ShardedTargets:
        """Return what the measure does with examples that lie in shards, its parameters checked; most refuse."""
        self._refuse_shards("KNNResidual or RidgeResidual")

    def twin(self) -> ResidualFunction | None:
        """Return the textbook's residual function with these parameters, None if it has none."""
        return None
