"""Any classifier, or the outputs of one, as a nonconformity measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metadata_routing import MetadataRouter

from exactcp._answers import distinct_labels
from exactcp._changes import changes
from exactcp._parallel import FREE, Effort
from exactcp._parameters import BOOLEAN, NONE, RANDOM_STATE, check_parameters, integer, number, one_of
from exactcp._seeds import draw_seed
from exactcp._values import check_unmasked
from exactcp.measures._contract import Measure, Objects
from exactcp.measures._model import (
    check_frozen,
    describe_input,
    fit_model,
    is_frozen,
    is_precomputed,
    name_of,
    refuse_idle,
    require_fitted,
    route,
    routed,
    task_of,
)
from exactcp.measures.models._classifier import CLASSIFIER, COLUMN_LABELS, classes_of
from exactcp.measures.models._fixed_label_bag import FixedLabelBag
from exactcp.measures.models._label_outputs import (
    GivenOutputs,
    ModelOutputs,
    OneLabel,
    Outputs,
    has_probabilities,
)
from exactcp.measures.models._score_formulas import adaptive, margins, odds, ranks, regularised
from exactcp.pvalues import tau_of_objects

SCORES = ("probability", "odds", "margin", "aps", "raps", "topk")
NEED_PROBABILITIES = ("probability", "aps", "raps")
SHARE = 5 << 32  # makes of a seed another: an object's share in APS is independent of what smooths its p-value


class ScoreName(str):
    """The name of a score; called, it is the method `score` that every measure has."""

    _method: Callable[[Any, Any], np.ndarray]

    def __new__(cls, name: str, method: Callable[[Any, Any], np.ndarray]) -> Self:
        named = super().__new__(cls, name)
        named._method = method
        return named

    def __call__(self, X: Any, y: Any) -> np.ndarray:
        """Return the score of each example.

        Parameters
        ----------
        X : objects
        y : array-like of shape (m,)

        Returns
        -------
        ndarray of shape (m,)
        """
        return self._method(X, y)


class ModelScore(Measure):
    """How strange a label is to a classifier: by its probability, its odds, its margin or its place among the labels.

    Parameters
    ----------
    estimator : classifier or "precomputed"
        Any classifier that has `predict_proba` or `decision_function`. It is cloned before it is fitted; where its
        random_state is None, a predictor lends it its own seed. A model that was trained elsewhere is given as
        `sklearn.frozen.FrozenEstimator(model)`, and learns nothing more. With "precomputed", X *are* the outputs of
        some model: the probability, or logit, of each label (n, l).
    score : {"probability", "odds", "margin", "aps", "raps", "topk"}, default="probability"
        With p the probability of the label, s that of all likelier labels and u times that of it and its equals:

        - "probability": -p.
        - "odds": log(1 - p) - log p, which orders labels as "probability" does, and tells apart what rounds to 1.
        - "margin": the largest probability of another label, minus p.
        - "aps": s, as -log(1 - s) [1]_: sets take the likeliest labels until they have enough probability, so that hard
          objects have larger sets. u in (0, 1] is a function of the seed and the object.
        - "raps": s + regularisation * max(0, rank - k_reg), in a scale of its own [2]_: labels far down cost more.
        - "topk": the rank, 1 + how many labels are likelier.

        A classifier that has decision values only ("odds", "margin" and "topk") is compared by them: "odds" is then
        minus the label's decision value.
    regularisation : float, default=0.01
        Of "raps": the cost of a rank.
    k_reg : int, default=None
        Of "raps": how many ranks cost nothing. None means 1.
    logits : bool, default=False
        Whether precomputed outputs are logits, whose softmax is the probabilities.
    classes : array-like of shape (l,), default=None
        The labels of the columns of precomputed outputs; None means the sorted labels of `fit`.
    random_state : int, RandomState or None, default=None
        Of u. Where it is None, a predictor lends its own seed.

    Attributes
    ----------
    estimator_ : classifier
        The fitted clone, or None where all examples have one label or X are outputs.
    classes_ : ndarray of shape (l,)
        The labels of the outputs' columns.

    Notes
    -----
    A label that the classifier has not seen has probability 0, or the decision value -inf: no label of the object is
    stranger. Labels of equal probability have equal scores.

    In full CP, a measure whose model is frozen or whose outputs are given scores each example once. Any other runs
    through Algorithm 1, with one refit for each training example, test object and label; split CP needs one fit.

    References
    ----------
    .. [1] Y. Romano, M. Sesia, E. Candès, "Classification with Valid and Adaptive Coverage", NeurIPS 2020.
    .. [2] A. Angelopoulos, S. Bates, J. Malik, M. Jordan, "Uncertainty Sets for Image Classifiers using Conformal
       Prediction", ICLR 2021.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from exactcp.measures import ModelScore
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], ["a", "a", "b", "b"]
    >>> ModelScore(GaussianNB()).fit(X, y).score([[0.5], [0.5]], ["a", "b"]).round(3) + 0.0
    array([-1.,  0.])
    >>> measure = ModelScore(GaussianNB(), score="odds").fit(X, y)
    >>> measure.score([[0.5], [0.5]], ["a", "b"]).round(1)
    array([-32.,  32.])

    Outputs of a network, of which only these are known:

    >>> measure = ModelScore("precomputed", score="margin", classes=["cat", "dog"])
    >>> measure.fit([[0.9, 0.1], [0.2, 0.8]], ["cat", "dog"]).score([[0.75, 0.25]], ["dog"])
    array([0.5])
    """

    tie_floor: ClassVar = 1.0

    allowed_parameters: ClassVar = {
        "estimator": CLASSIFIER,
        "score": one_of(*SCORES),
        "regularisation": number("a cost of ranks", "a finite number of at least 0", lambda x: 0 <= x < np.inf),
        "k_reg": integer("a number of ranks", at_least=0) | NONE,
        "logits": BOOLEAN,
        "classes": COLUMN_LABELS,
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        estimator: Any,
        *,
        score: str = "probability",
        regularisation: float = 0.01,
        k_reg: int | None = None,
        logits: bool = False,
        classes: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.score = score
        self.regularisation = regularisation
        self.k_reg = k_reg
        self.logits = logits
        self.classes = classes
        self.random_state = random_state

    @property
    def score(self) -> Any:
        """The name of the score, which is called as the method that returns the score of each example."""
        name = self._score_name
        return ScoreName(name, super().score) if isinstance(name, str) else name

    @score.setter
    def score(self, name: Any) -> None:
        self._score_name = name

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002
        """Return the parameters as they were given.

        Parameters
        ----------
        deep : bool, default=True
            Whether those of the estimator are among them.

        Returns
        -------
        dict
        """
        return {**super().get_params(deep=deep), "score": self._score_name}

    @property
    def objects(self) -> Objects:
        """What the measure's objects may be."""
        return Objects.ANYTHING

    @property
    def is_fixed(self) -> bool:
        """Whether scores do not depend on the examples of `fit`: those of a frozen model, or of given outputs."""
        return is_precomputed(self.estimator) or is_frozen(self.estimator)

    @property
    def fixed_classes(self) -> np.ndarray | None:
        """The labels that a frozen model knows, or that given columns have, sorted; None if `fit` tells them."""
        if is_frozen(self.estimator):
            check_frozen(self.estimator)
            return np.unique(classes_of(self.estimator, None))
        COLUMN_LABELS.check("classes", self.classes)
        return np.unique(self.classes) if is_precomputed(self.estimator) and self.classes is not None else None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        return tags if task_of(self.estimator) is None else describe_input(tags, self.estimator)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata routing of scikit-learn: parameters of `fit` that the classifier may request.

        Returns
        -------
        MetadataRouter
        """
        if is_precomputed(self.estimator):
            return MetadataRouter(owner=type(self).__name__)
        return route(self, "estimator", self.estimator)

    @changes
    def fit(self, X: Any, y: Any, **fit_parameters: Any) -> Self:
        """Fit a clone of the classifier; a frozen one, and given outputs, stay what they are.

        Parameters
        ----------
        X : objects
            Whatever the classifier takes; the outputs (n, l) if they are precomputed.
        y : array-like of shape (n,)
        **fit_parameters : dict
            For the classifier's `fit`, such as `sample_weight`.

        Returns
        -------
        self
        """
        self._check(fit_parameters)
        check_unmasked(X, "X")
        check_unmasked(y, "y")
        labels = distinct_labels(np.asarray(y))
        self.estimator_ = None
        if is_precomputed(self.estimator):
            self.classes_ = labels if self.classes is None else np.asarray(self.classes)
            self._outputs: Outputs = GivenOutputs(self.classes_.size, bool(self.logits))
            self._outputs.logs(X)  # tells at once what is wrong with them
        elif labels.size > 1 or self.is_fixed:
            self.estimator_ = fit_model(self.estimator, X, y, routed(self, fit_parameters)["estimator"])
            self.classes_ = classes_of(self.estimator_, None if self.is_fixed else labels)
            self._outputs = ModelOutputs(self.estimator_, self.classes_.size)
        else:  # most classifiers refuse a single label; Algorithm 1 may meet one when it leaves an example out
            self.classes_ = labels
            self._outputs = OneLabel(has_probabilities(self.estimator))
        self._seed = draw_seed(self.random_state) ^ SHARE
        return self

    def _check(self, fit_parameters: Mapping[str, Any]) -> None:
        """Refuse parameters that are not allowed, or not together."""
        check_parameters(self)
        if self.is_fixed:
            refuse_idle(self, fit_parameters)
        if is_precomputed(self.estimator):
            return
        name = name_of(self.estimator)
        for parameter in ("logits", "classes"):
            value = getattr(self, parameter)
            if value is not None and value is not False:
                msg = (
                    f"{parameter}={value!r} tells of precomputed outputs, and {name} says itself what its own mean: "
                    "leave it out, or use ModelScore('precomputed')."
                )
                raise ValueError(msg)
        if self._score_name in NEED_PROBABILITIES and not has_probabilities(self.estimator):
            msg = (
                f"score={self._score_name!r} needs probabilities, and {name} has none: use an instance that has "
                "predict_proba, wrap yours in CalibratedClassifierCV, or take decision values: "
                f"ModelScore({name}(...), score='odds'), 'margin' or 'topk'."
            )
            raise TypeError(msg)

    def score_labels(self, X: Any, labels: Any) -> np.ndarray:
        """Return the scores (m, l) of every object with every one of the labels.

        Parameters
        ----------
        X : objects
        labels : array-like of shape (l,)

        Returns
        -------
        ndarray of shape (m, l)
        """
        require_fitted(self, "classes_")
        wanted, known = np.asarray(labels).tolist(), self.classes_.tolist()
        if wanted == known and len(known) > 1:
            return self._score_columns(X, unseen=False)
        column = {label: j for j, label in enumerate(known)}
        scores = self._score_columns(X, unseen=True)
        return np.ascontiguousarray(scores[:, [column.get(label, len(known)) for label in wanted]])

    def _score_columns(self, X: Any, *, unseen: bool) -> np.ndarray:
        """Return the scores of the outputs' columns, and of one more, of a label that the model has not seen, if so."""
        said, name = self._outputs, self._score_name
        if name == "probability":
            return -_with_unseen(said.probabilities(X), 0.0, unseen)
        if not said.has_probabilities:
            values = _with_unseen(said.decisions(X), -np.inf, unseen)
            return -values if name == "odds" else (margins if name == "margin" else ranks)(values)
        if name == "margin":
            return margins(_with_unseen(said.probabilities(X), 0.0, unseen))
        logs = _with_unseen(said.logs(X), -np.inf, unseen)
        if name in ("odds", "topk"):
            return odds(logs) if name == "odds" else ranks(logs)
        u = tau_of_objects(self._seed, X)
        if name == "aps":
            return adaptive(logs, u)
        return regularised(logs, u, float(self.regularisation), 1 if self.k_reg is None else int(self.k_reg))

    def bag(self, X: Any, codes: np.ndarray, n_labels: int, *, effort: Effort = FREE) -> FixedLabelBag | None:  # noqa: ARG002
        """Return the bag of these examples if scores do not depend on them; else None, and full CP refits.

        Parameters
        ----------
        X : objects
        codes : ndarray of shape (n,)
            Labels as 0..n_labels-1: places in `fixed_classes`, or columns of given outputs.
        n_labels : int
        effort : Effort
            Not used.

        Returns
        -------
        FixedLabelBag or None
        """
        self._check({})
        if not self.is_fixed:
            return None
        labels = np.arange(n_labels) if self.fixed_classes is None else self.fixed_classes
        if labels.size != n_labels:
            msg = (
                f"there are {n_labels} labels, and {name_of(self.estimator)} knows {labels.size}: expected the labels "
                f"{labels.tolist()}. Give examples with these alone, or a model that knows all."
            )
            raise ValueError(msg)
        named = self if self.fixed_classes is not None else clone(self).set_params(classes=labels)
        return FixedLabelBag(clone(named).fit(X, labels[codes]), labels, X, codes)


def _with_unseen(outputs: np.ndarray, value: float, unseen: bool) -> np.ndarray:  # noqa: FBT001
    """Return outputs, with a column of the value that a label has which the model has not seen, if so."""
    return np.column_stack([outputs, np.full(outputs.shape[0], value)]) if unseen else outputs
