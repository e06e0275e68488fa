"""Full conformal classification."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassifierMixin

from exactcp import pvalues
from exactcp._answers import check_two_classes
from exactcp._changes import changes
from exactcp._parallel import effort_of
from exactcp._parameters import BOOLEAN, SEEDED, check_parameters, one_of
from exactcp._rows import count_rows
from exactcp._seeds import draw_seed
from exactcp.measures._choice import LABEL_MEASURE, classification_measure, label_bag
from exactcp.predicting.labels import Evaluation, LabelPrediction, Size, classes_and_codes
from exactcp.predicting.learning import LabelledLearning
from exactcp.predicting.preprocessing import PREPROCESSING
from exactcp.predicting.taxonomy import MONDRIAN_COLUMNS, TAXONOMY, TaxonomyLike, count_within


class FullConformalClassifier(LabelPrediction, ClassifierMixin, LabelledLearning):
    """Full (transductive) conformal classifier: sets with a finite-sample guarantee, from all of the training data.

    Parameters
    ----------
    measure : measure from `exactcp.measures`, or scikit-learn classifier, default=None
        How strange an example is to a bag of others. None means `KNN()`; a classifier is wrapped in `ModelScore`, with
        margins where it has no probabilities.
    algorithm : {"optimized", "standard"}, default="optimized"
        "optimized" uses the measure's incremental and decremental bag; "standard" runs Algorithm 1 as written, for
        comparison. The p-values are the same.
    mondrian : None, "label", str, callable or list of these, default=None
        Categories within which p-values are valid. "label": for each label. Another name is a column of a data frame. A
        callable takes X, or (X, y), and returns the category of each example; its X is what the user gave. A list of
        these, such as ["label", "site"]: within each combination. Categories can be given beside the objects, in `fit`
        and in every question, instead or as one thing more. They must not be learned on these examples, as the leaves
        of a tree are. Where labels are missing more often in one class, "label" keeps the guarantee.
    mondrian_columns : {"drop", "keep"}, default="drop"
        Whether the measure sees the columns that `mondrian` names.
    preprocess : transformer, default=None
        What X goes through before the measure: X may then be anything that the transformer takes. It is fitted without
        labels. A `FrozenEstimator`, fitted on other data, is used as it is.
    preprocess_on : {"together", "training"}, default="together"
        What `preprocess` is fitted on. "together": on training and test objects of each call, which is exactly valid;
        the answer then depends on the other objects of the call, and each call costs a new bag. "training": once, in
        `fit`, which is fast; coverage can be far below: 0.43 at 0.9 where columns outnumber rows.
    smoothed : bool, default=False
        Break ties at random, which makes p-values exactly uniform instead of conservative. The random number of an
        object is a function of the seed and the object: it does not matter with which others it is predicted. Equal
        objects thus have equal numbers, so that p-values are uniform over seeds, but not over the rows of a table with
        few distinct objects; judge the coverage there with smoothed=False.
    random_state : int, RandomState or None, default=None
        Of the smoothing, and of the measure where its own is None. With None, a seed is drawn in `fit`, and kept: a
        fitted predictor gives the same answer whenever it is asked.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    verbose : int, default=0
        Above 0, long work shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
    measure_ : measure
        The clone of `measure` in use.
    preprocess_ : transformer
        The fitted `preprocess`, unless each call fits its own.
    n_examples_ : int
        How many are learned.
    ids_ : list
        Their ids in the order of learning, if they were given.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X had string column names.

    See Also
    --------
    SplitConformalClassifier : Cheaper with measures that have no bag; it learns from a part of the data only.

    Notes
    -----
    If the examples are exchangeable, a set contains the true label with probability at least `confidence_level`, unless
    the label is in no example and not declared (`classes=` of `fit`). This
    is Algorithm 1 of [1]_, whose p-value counts how many of the n training examples would be as strange as the test
    example, each judged by the bag that contains the test example in its place.

    Cost: that of the measure's bag, which the page of the measure tells; with `KNN`, about one product of a test object
    with the training matrix. A measure that has none, such as a classifier that is not frozen, is refitted for each
    training example, test object and label, and a warning says so.

    References
    ----------
    .. [1] G. Cherubin, K. Chatzikokolakis, M. Jaggi, "Exact Optimization of Conformal Predictors via Incremental and
       Decremental Learning", ICML 2021.

    Examples
    --------
    Four flowers, of which the second and third lie between two species, and their sets at 99 %:

    >>> import numpy as np
    >>> from sklearn.datasets import load_iris
    >>> from exactcp import FullConformalClassifier
    >>> from exactcp.measures import KNN
    >>> iris = load_iris()
    >>> X, y = iris.data, iris.target_names[iris.target]
    >>> held_out = [0, 70, 106, 120]
    >>> X_train, y_train = np.delete(X, held_out, axis=0), np.delete(y, held_out)
    >>> clf = FullConformalClassifier(KNN(k=5)).fit(X_train, y_train)
    >>> clf.predict_p(X[held_out]).round(3)
    array([[1.   , 0.007, 0.007],
           [0.007, 0.014, 0.054],
           [0.007, 0.054, 0.014],
           [0.007, 0.007, 0.599]])
    >>> clf.predict_set(X[held_out], confidence_level=0.99)
    array([[ True, False, False],
           [False,  True,  True],
           [False,  True,  True],
           [False, False,  True]])
    >>> result = clf.predict_confidence(X[held_out])
    >>> result.label.tolist(), result.credibility.round(3)
    (['setosa', 'virginica', 'versicolor', 'virginica'], array([1.   , 0.054, 0.054, 0.599]))
    """

    allowed_parameters: ClassVar = {
        "measure": LABEL_MEASURE,
        "algorithm": one_of("optimized", "standard"),
        "mondrian": TAXONOMY,
        "mondrian_columns": MONDRIAN_COLUMNS,
        **PREPROCESSING,
        "smoothed": BOOLEAN,
        **SEEDED,
    }

    def __init__(
        self,
        measure: Any = None,
        *,
        algorithm: str = "optimized",
        mondrian: TaxonomyLike = None,
        mondrian_columns: str = "drop",
        preprocess: Any = None,
        preprocess_on: str = "together",
        smoothed: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.algorithm = algorithm
        self.mondrian = mondrian
        self.mondrian_columns = mondrian_columns
        self.preprocess = preprocess
        self.preprocess_on = preprocess_on
        self.smoothed = smoothed
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @changes
    def fit(self, X: Any, y: Any, categories: Any = None, ids: Any = None, classes: Any = None) -> Self:
        """Learn the training examples.

        Parameters
        ----------
        X : array-like of shape (n, p), or whatever a model, a metric or `preprocess` takes
            Objects; with metric="precomputed", their distances to each other. Rows that belong together, as those of
            one patient do, are not exchangeable: give one of each. Columns that were chosen by looking at y of these
            examples cost the guarantee, too.
        y : array-like of shape (n,)
        categories : array-like of shape (n,), default=None
            The category of each example, where X does not hold it; every question then needs the objects' categories.
        ids : array-like of shape (n,), default=None
            A name for each example, any hashable, by which `unlearn` finds it; all examples have one, or none.
        classes : array-like, default=None
            All labels that may come, those that no example of `fit` has among them. Without it a label never seen is in
            no set, so that coverage is lost where labels are many and rare.

        Returns
        -------
        self
        """
        return self._fit(X, y, classes, categories, ids)

    @changes
    def partial_fit(self, X: Any, y: Any, classes: Any = None, categories: Any = None, ids: Any = None) -> Self:
        """Learn more examples; the state is then that of `fit` on all of them.

        Give all that come, or a random part: coverage falls if only those are learned that were predicted right.

        Parameters
        ----------
        X : array-like of shape (m, p), or whatever a model, a metric or `preprocess` takes
            With metric="precomputed", their distances to the examples learned so far, then to each other.
        y : array-like of shape (m,)
        classes : array-like, default=None
            All labels that will ever come. They stay in `classes_` even when no example has them. Without it, a new
            label becomes a new class.
        categories : array-like of shape (m,), default=None
            As in `fit`.
        ids : array-like of shape (m,), default=None
            As in `fit`.

        Returns
        -------
        self
        """
        return self._partial_fit(X, y, classes, ids, categories)

    def _fit(self, X: Any, y: Any, declared: Any, categories: Any, ids: Any) -> Self:
        check_parameters(self)
        seed = draw_seed(self.random_state)
        measure = classification_measure(self.measure, seed)
        self._begin_preprocessing(measure, seed)
        objects, y = self._take_labelled(X, y)
        self._name(ids, y.size)
        self._note(objects, y)
        classes, codes, fixed = classes_and_codes(measure.fixed_classes, y, declared)
        check_two_classes(classes, self)
        numbers = self._sort(X, objects, y, categories)
        self._training_categories = None if self._counts_by_label() else numbers
        self.classes_, self.measure_, self._declared, self._seed = classes, measure, fixed, seed
        self._bag = self._begin_bag(objects, codes, classes.size)
        return self

    def _label_sizes(self) -> np.ndarray | None:
        return None if self._declared is not None else self._bag.sizes

    def _build(self, objects: Any, y: np.ndarray) -> Any:
        n_labels, algorithm = self.classes_.size, self.algorithm
        return label_bag(self.measure_, objects, y, n_labels, algorithm=algorithm, effort=effort_of(self))

    def _count(self, X: Any, objects: Any, categories: Any) -> tuple[pvalues.Counts, np.ndarray]:
        """Return counts and candidate scores (m, l) within the categories of the taxonomy."""
        if self._bag.refits:
            self._bag.warn_of_cost(count_rows(objects))
        if not self._counts_by_label():
            candidates = self._sort_candidates(X, objects, self.classes_, categories)
            rule = {"floor": self.measure_.tie_floor, "tolerance": self.measure_.tie_tolerance}
            return count_within(
                self._bag, objects, self._training_categories, candidates, effort=effort_of(self), **rule
            )
        self._refuse_categories(categories)
        # deterministic p-values do not need to know which scores tie; some bags are faster then
        count = self._bag.label_counts if self.smoothed else self._bag.at_least_counts
        counts = count(objects, effort=effort_of(self))
        if self._taxonomy.is_trivial:
            return pvalues.marginal(counts, self._bag.n), counts.scores
        return pvalues.label_conditional(counts, self._bag.sizes), counts.scores

    def _counts_by_label(self) -> bool:
        """Tell whether bags, which count within and across labels, know what the taxonomy asks for."""
        return self._taxonomy.is_trivial or self._taxonomy.is_by_label

    def _refuse_categories(self, categories: Any) -> None:
        if categories is not None:
            self._taxonomy.require(categories)

    def _evaluate(self, X: Any, categories: Any = None) -> Evaluation:
        objects = self._take_objects(X)
        counts, scores = self._count(X, objects, categories)
        if self.smoothed:
            return Evaluation(pvalues.smoothed_p(counts, pvalues.tau_of_objects(self._seed, objects)), scores)
        smallest = counts.total.flat[0] if self._taxonomy.is_trivial else counts.total.min()
        return Evaluation(pvalues.deterministic_p(counts), scores, counts, int(smallest))

    def _decide(self, X: Any, epsilon: Fraction, categories: Any = None) -> tuple[np.ndarray, Size]:
        if self.smoothed or not self._counts_by_label():
            return super()._decide(X, epsilon, categories)
        objects, by_label = self._take_objects(X), self._taxonomy.is_by_label
        self._refuse_categories(categories)
        sizes = self._bag.sizes if by_label else np.full(self.classes_.size, self._bag.n)
        thresholds = pvalues.threshold(epsilon, sizes)
        sets = self._bag.label_sets(objects, thresholds, same_only=by_label, effort=effort_of(self))
        return super()._decide(X, epsilon, categories) if sets is None else (sets, int(sizes.min()))
