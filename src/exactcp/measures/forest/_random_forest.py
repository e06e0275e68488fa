"""The random-forest measure: the bootstrap measure of the paper with CART trees."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from exactcp import textbook
from exactcp._answers import positions_of
from exactcp._changes import changes
from exactcp._parallel import FREE, Effort, map_blocks
from exactcp._parameters import NONE, RANDOM_STATE, check_parameters, integer, number, one_of
from exactcp._validation import check_examples, check_objects
from exactcp.measures._contract import Measure
from exactcp.measures.forest._forest_bag import ForestBag
from exactcp.measures.forest._rank_codes import RankCodes
from exactcp.measures.forest._resampling import N_ESTIMATORS, arrival_keys, drawn_samples, held_by_bernoulli, seed_of
from exactcp.measures.forest._sharded import ShardedForest
from exactcp.measures.forest._trees import ForestPlan, Sample, gather, grow_tree
from exactcp.measures.forest.kernels.grow import count_votes
from exactcp.measures.forest.kernels.layout import as_compiled
from exactcp.textbook.forest import Trainer

BOTTOMLESS = 2**31  # a depth that no tree reaches
MOST_EXAMPLES = 2**26  # examples whose squared number float64 holds exactly


class RandomForest(Measure):
    """Minus the number of trees, of those grown without the example, that give it its label.

    Parameters
    ----------
    n_estimators : int, default=100
        Trees that vote for each example. Time and memory are proportional to it; the paper has 10.
    max_depth : int or None, default=10
        None grows until leaves are pure.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Features that each node considers; a float is a share of all, None means all.
    resampling : {"multinomial", "bernoulli"}, default="multinomial"
        "multinomial" draws bootstrap samples with replacement, as the paper does; all test objects then share one
        column of them. "bernoulli" puts each example into each sample with probability 1 - 1/e, independently, and each
        test object has a column of its own: error rates of one fitted forest vary less.
    random_state : int, RandomState or None, default=None
        Of samples and features. None takes the predictor's seed, or 0 where there is no predictor.

    Notes
    -----
    An example votes with the first `n_estimators` trees whose bootstrap samples lack it [1]_; samples are drawn until
    every example has as many. Trees are scikit-learn's CART with the Gini criterion, except that a node draws its
    features from its place in the tree, which is what lets a tree take in one example without growing anew. Scores have
    `n_estimators` + 1 levels only, so deterministic p-values are conservative; smoothed ones are exact.

    Full CP costs one walk down each tree for all labels, and growing again those branches that the test example
    changes and whose votes matter; `predict_set` grows fewer, since bounds on the votes usually decide. With
    multinomial resampling, `partial_fit` and `unlearn` draw all samples anew, because their size is that of the bag.
    With Bernoulli resampling each example's column depends on the seed and its arrival number, so both are exact
    updates of the trees; the examples left by `unlearn` keep their arrival numbers.

    In split CP the forest is `n_estimators` trees, each grown on a sample of the proper training set.

    References
    ----------
    .. [1] G. Cherubin, K. Chatzikokolakis, M. Jaggi, "Exact Optimization of Conformal Predictors via Incremental and
       Decremental Learning", ICML 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from exactcp import FullConformalClassifier
    >>> from exactcp.measures import RandomForest
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = FullConformalClassifier(RandomForest(), random_state=0).fit(X[1::2], y[1::2])
    >>> clf.predict_set(X[[0, 76, 120]], confidence_level=0.9)
    array([[ True, False, False],
           [False,  True, False],
           [False, False,  True]])
    """

    is_formula: ClassVar = True
    tie_tolerance: ClassVar = 0.0

    allowed_parameters: ClassVar = {
        "n_estimators": N_ESTIMATORS,
        "max_depth": integer("a depth", at_least=0) | NONE,
        "max_features": one_of("sqrt", "log2", None)
        | integer("", at_least=1)
        | number("", "a share above 0 and up to 1", lambda x: 0 < x <= 1),
        "resampling": one_of("multinomial", "bernoulli"),
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        n_estimators: int = 100,
        max_depth: int | None = 10,
        max_features: str | float | None = "sqrt",
        resampling: str = "multinomial",
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.max_depth = max_depth
        self.max_features = max_features
        self.resampling = resampling
        self.random_state = random_state

    def _plan(self, n: int, p: int) -> ForestPlan:
        """Return what the forest is made of, all checked."""
        check_parameters(self)
        depth = BOTTOMLESS if self.max_depth is None else self.max_depth
        if n > MOST_EXAMPLES:
            msg = (
                f"RandomForest got {n} examples: expected at most {MOST_EXAMPLES}, whose squares float64 holds exactly."
            )
            raise ValueError(msg)
        return ForestPlan(
            int(self.n_estimators), int(depth), self._features_of(p), self.resampling, seed_of(self.random_state)
        )

    def _features_of(self, p: int) -> int:
        """Return how many of p features a node considers."""
        wanted = self.max_features
        if wanted is None:
            return p
        if wanted == "sqrt":
            return max(1, int(np.sqrt(p)))
        if wanted == "log2":
            return max(1, int(np.log2(p)))
        if isinstance(wanted, Integral):
            return min(int(wanted), p)
        return max(1, int(float(wanted) * p))

    def trainer(self, n_labels: int, n: int, p: int) -> Trainer:
        """Return how the textbook grows a tree from a bootstrap sample.

        Parameters
        ----------
        n_labels, n, p : int
            Numbers of labels, examples and features.

        Returns
        -------
        callable
        """
        plan = self._plan(n, p)
        return textbook.forest.tree_trainer(
            n_labels, seed=plan.seed, max_depth=plan.max_depth, n_features=plan.n_features
        )

    def samples(self, arrivals: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return how often each bootstrap sample holds each example, the test example last.

        Parameters
        ----------
        arrivals : ndarray of shape (n,)
            Arrival numbers of the training examples.
        x : ndarray of shape (p,)
            The test object.

        Returns
        -------
        ndarray of shape (samples, n + 1)
        """
        plan = self._plan(arrivals.size, x.size)
        return drawn_samples(plan.resampling, arrivals, x, plan.n_estimators, plan.seed)

    @changes
    def fit(self, X: Any, y: Any) -> Self:
        """Grow `n_estimators` trees, each on a sample of the examples.

        Parameters
        ----------
        X : array-like of shape (n, p)
        y : array-like of shape (n,)

        Returns
        -------
        self
        """
        check_parameters(self)
        X, y = check_examples(self, X, y, reset=True)
        n, p = X.shape
        plan = self._plan(n, p)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if plan.resampling == "multinomial":
            rng = np.random.default_rng(plan.seed)
            draws = (rng.integers(0, n, n) for _ in range(plan.n_estimators))
            held = np.array([np.bincount(draw, minlength=n) for draw in draws])
        else:
            held = held_by_bernoulli(arrival_keys(np.arange(n), plan.seed), 0, plan.n_estimators).T
        examples = RankCodes(X).labelled(codes.astype(np.int64))
        nobody = np.empty(0, np.int64)

        def work(b: int) -> Any:
            rows = np.flatnonzero(held[b])
            sample = Sample(b, rows, held[b, rows], nobody, 0, votes_for_test=True)
            return grow_tree(examples, sample, plan, self.classes_.size)

        trees = map_blocks(work, range(plan.n_estimators))
        self._trees, self._roots = gather(trees, self.classes_.size)
        return self

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        super().__setstate__({name: as_compiled(value) for name, value in state.items()})

    def score_labels(self, X: Any, labels: Any) -> np.ndarray:
        """Return the scores (m, l) of every row of X with every one of the labels.

        Parameters
        ----------
        X : array-like of shape (m, p)
        labels : array-like of shape (l,)
            A label that no example of `fit` had is allowed: no tree votes for it.

        Returns
        -------
        ndarray of shape (m, l)
        """
        check_is_fitted(self)
        X = np.require(check_objects(self, X), np.float64, ["C", "W"])
        votes = np.zeros((X.shape[0], self.classes_.size), np.int64)
        count_votes(self._trees, self._roots, X, votes)
        position, is_known = positions_of(np.asarray(labels), self.classes_)
        return np.where(is_known, -votes[:, position].astype(np.float64), 0.0)

    def bag(self, X: np.ndarray, codes: np.ndarray, n_labels: int, *, effort: Effort = FREE) -> ForestBag:
        """Return the bag of these examples.

        Parameters
        ----------
        X : ndarray of shape (n, p)
        codes : ndarray of shape (n,)
            Labels as 0..n_labels-1.
        n_labels : int
        effort : Effort
            Threads, and whether progress is told.

        Returns
        -------
        ForestBag
        """
        return ForestBag(X, codes, n_labels, self._plan(*X.shape)).fill(effort=effort)

    def sharded(self) -> ShardedForest:
        """Return what the measure does with examples that lie in shards, its parameters checked.

        Returns
        -------
        ShardedForest
        """
        check_parameters(self)
        return ShardedForest(clone(self)._plan)  # noqa: SLF001  (its own kind)
