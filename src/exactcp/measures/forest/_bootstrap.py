"""The bootstrap measure with any classifier."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.validation import check_is_fitted

from exactcp._changes import changes
from exactcp._parallel import FREE, Effort
from exactcp._parameters import RANDOM_STATE, Allowed, check_parameters
from exactcp._rows import count_rows, symmetric_order, take_parameters, take_rows
from exactcp._seeds import lend_seed
from exactcp._values import check_unmasked
from exactcp.measures._contract import Measure, Objects
from exactcp.measures._model import ask_labels, describe_input, fit_model, is_frozen, route, routed, task_of, why_no
from exactcp.measures.forest._bootstrap_bag import BootstrapBag
from exactcp.measures.forest._resampling import N_ESTIMATORS, multinomial_samples, seed_of
from exactcp.textbook.forest import Trainer


class Bootstrap(Measure):
    """Minus the number of classifiers, of those trained on samples without the example, that give it its label.

    Parameters
    ----------
    estimator : scikit-learn classifier
        It is cloned and trained on bootstrap samples. X may be whatever it takes.
    n_estimators : int, default=10
        Classifiers that vote for each example.
    random_state : int, RandomState or None, default=None
        Of the samples. None takes the predictor's seed, or 0 where there is no predictor. So does the classifier where
        its own random_state is None: it would differ from fit to fit.

    See Also
    --------
    RandomForest : Trees that take in the test example without being trained again: far faster.

    Notes
    -----
    Bootstrap samples of the bag and a placeholder for the test example are drawn until every example is missing from
    `n_estimators` of them [1]_; it votes with the classifiers of these. All examples share the samples, about
    64 of them with 10,000 examples and `n_estimators=10`. Those without the placeholder are trained once, in `fit`; the
    others for each test object and label, and a warning says how many trainings that makes. `partial_fit` and `unlearn`
    draw all samples anew, because their size is that of the bag.

    References
    ----------
    .. [1] G. Cherubin, K. Chatzikokolakis, M. Jaggi, "Exact Optimization of Conformal Predictors via Incremental and
       Decremental Learning", ICML 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from exactcp import SplitConformalClassifier
    >>> from exactcp.measures import Bootstrap
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = SplitConformalClassifier(Bootstrap(GaussianNB()), random_state=0)
    >>> clf.fit(X[1::2], y[1::2]).predict_set(X[[0, 76, 120]], confidence_level=0.9)
    array([[ True, False, False],
           [False,  True, False],
           [False, False,  True]])
    """

    tie_tolerance: ClassVar = 0.0

    allowed_parameters: ClassVar = {
        "estimator": Allowed(
            "a classifier",
            "an instance of a scikit-learn classifier, such as GaussianNB()",
            lambda value: task_of(value) == "classifier" and not isinstance(value, Measure) and not is_frozen(value),
            lambda value: (
                "A frozen model learns nothing from a sample: use ModelScore."
                if is_frozen(value)
                else why_no("classifier", value)
            ),
            TypeError,
        ),
        "n_estimators": N_ESTIMATORS,
        "random_state": RANDOM_STATE,
    }

    def __init__(self, estimator: Any, n_estimators: int = 10, random_state: Any = None) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.random_state = random_state

    @property
    def objects(self) -> Objects:
        """What the measure's objects may be."""
        return Objects.ANYTHING

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        return describe_input(tags, self.estimator) if isinstance(self.estimator, BaseEstimator) else tags

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata routing of scikit-learn: parameters of `fit` that the classifier may request.

        Returns
        -------
        MetadataRouter
        """
        return route(self, "estimator", self.estimator)

    def samples(self, arrivals: np.ndarray, x: np.ndarray) -> np.ndarray:  # noqa: ARG002
        """Return how often each bootstrap sample holds each example, the test example last.

        Parameters
        ----------
        arrivals : ndarray of shape (n,)
            Arrival numbers of the training examples, of which only the number counts.
        x : ndarray of shape (p,)
            The test object; not used.

        Returns
        -------
        ndarray of shape (samples, n + 1)
        """
        check_parameters(self)
        return multinomial_samples(arrivals.size + 1, int(self.n_estimators), seed_of(self.random_state))

    def trainer(self, n_labels: int, n: int, p: int) -> Trainer:  # noqa: ARG002
        """Return how a classifier is trained on a bootstrap sample.

        Parameters
        ----------
        n_labels, n, p : int
            Not used.

        Returns
        -------
        callable
        """

        def train(number: int, X: Any, labels: np.ndarray, weights: np.ndarray) -> Callable[[Any], int]:  # noqa: ARG001
            model = self.train_on(X, labels, weights)
            return lambda x: int(model(x)[0])

        return train

    def train_on(self, X: Any, labels: np.ndarray, weights: np.ndarray) -> Callable[[Any], np.ndarray]:
        """Train on a sample, given as the weight of each example, in an order that the examples tell.

        Parameters
        ----------
        X : objects
        labels : ndarray of shape (n,)
        weights : ndarray of int of shape (n,)

        Returns
        -------
        callable
        """
        order = symmetric_order(X, labels)
        places = np.repeat(order, weights[order])
        return self.train(take_rows(X, places), labels[places])

    def train(
        self, X: Any, labels: np.ndarray, parameters: Mapping[str, Any] | None = None
    ) -> Callable[[Any], np.ndarray]:
        """Train on a sample, and return a function that tells the labels of objects.

        Parameters
        ----------
        X : objects
        labels : ndarray of shape (n,)
        parameters : mapping, default=None
            Of the classifier's `fit`.

        Returns
        -------
        callable
        """
        if (labels == labels[0]).all():  # most classifiers refuse a single label
            return SaysOneLabel(labels[0])
        model = lend_seed(clone(self.estimator), seed_of(self.random_state))
        return SaysAsTrained(fit_model(model, X, labels, parameters))

    @changes
    def fit(self, X: Any, y: Any, **fit_parameters: Any) -> Self:
        """Train `n_estimators` classifiers, each on a sample of the examples.

        Parameters
        ----------
        X : objects
            Whatever the classifier takes.
        y : array-like of shape (n,)
        **fit_parameters : dict
            For the classifier's `fit`, such as sample_weight; what has a value for each example goes with the examples.

        Returns
        -------
        self
        """
        check_parameters(self)
        check_unmasked(X, "X")
        check_unmasked(y, "y")
        y = np.asarray(y)
        self.classes_ = np.unique(y)
        rng = np.random.default_rng(seed_of(self.random_state))
        draws = [np.sort(rng.integers(0, len(y), len(y))) for _ in range(self.n_estimators)]
        passed = routed(self, fit_parameters, ("estimator",))["estimator"]
        self._models = [
            self.train(take_rows(X, draw), y[draw], take_parameters(passed, draw, len(y))) for draw in draws
        ]
        return self

    def score_labels(self, X: Any, labels: Any) -> np.ndarray:
        """Return the scores (m, l) of every row of X with every one of the labels.

        Parameters
        ----------
        X : objects
        labels : array-like of shape (l,)

        Returns
        -------
        ndarray of shape (m, l)
        """
        check_is_fitted(self)
        predicted = np.array([model(X) for model in self._models])
        return np.column_stack([-(predicted == label).sum(axis=0).astype(np.float64) for label in labels])

    def bag(self, X: Any, codes: np.ndarray, n_labels: int, *, effort: Effort = FREE) -> BootstrapBag:
        """Return the bag of these examples.

        Parameters
        ----------
        X : objects
        codes : ndarray of shape (n,)
            Labels as 0..n_labels-1.
        n_labels : int
        effort : Effort
            Threads, and whether progress is told.

        Returns
        -------
        BootstrapBag
        """
        check_parameters(self)
        return BootstrapBag(self, X, codes, n_labels).fill(effort=effort)


@dataclass(frozen=True)
class SaysAsTrained:
    """Tells the labels of objects as a model does; unlike its method, it can be stored."""

    model: Any

    def __call__(self, objects: Any) -> np.ndarray:
        """Return the label of each object."""
        return ask_labels(self.model, objects)


@dataclass(frozen=True)
class SaysOneLabel:
    """Tells the label that a sample without any other teaches."""

    label: Any

    def __call__(self, objects: Any) -> np.ndarray:
        """Return the label for each object."""
        return np.full(count_rows(objects), self.label)
