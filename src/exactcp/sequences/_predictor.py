"""Conformal prediction of sequences with hidden states."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from exactcp import pvalues
from exactcp._answers import check_two_classes, encode
from exactcp._changes import changes, reads
from exactcp._parallel import effort_of
from exactcp._parameters import (
    BOOLEAN,
    SEEDED,
    check_parameters,
    integer,
    number,
    one_of,
)
from exactcp._seeds import draw_seed
from exactcp.measures._choice import LABEL_MEASURE, classification_measure, label_bag, objects_of
from exactcp.measures._contract import Objects
from exactcp.predicting.front_door import FrontDoor
from exactcp.sequences._input import join_labels, join_objects, split_rows
from exactcp.sequences._ranking import MarkovChain, estimate_chain, ranked_sequences


@dataclass(frozen=True)
class CandidateSequence:
    """A sequence of labels from the prediction sets, and how probable it looks.

    Attributes
    ----------
    labels : ndarray of shape (T,)
    log_probability : float
        Logarithm of the sequence's probability in the estimated Markov chain, times, at each position, the share of
        the label's p-value in the p-values of all labels.
    """

    labels: np.ndarray
    log_probability: float

    def __len__(self) -> int:
        return int(self.labels.shape[0])

    def to_numpy(self) -> np.ndarray:
        """Return the labels.

        Returns
        -------
        ndarray of shape (T,)
        """
        return self.labels


class ConformalSequencePredictor(FrontDoor):
    """Sets of label sequences that contain the true one with a given probability, and their ranking.

    Parameters
    ----------
    measure : measure from `exactcp.measures`, or scikit-learn classifier, default=None
        How strange an object is with a label. None means `KNN()`; a classifier is wrapped in `ModelScore`.
    mondrian : {"label", None}, default="label"
        "label" compares an object with those of the label under test only. None compares with all. See Notes for what
        each assumes.
    smoothing : float, default=1.0
        Added to every count when the initial and transition probabilities are estimated. With 0, sequences with a
        transition that has not been seen have probability 0 and come last; they are not left out.
    smoothed : bool, default=False
        Break ties at random, which makes p-values exactly uniform instead of conservative. The random number of an
        object is a function of the seed and the object, as in `FullConformalClassifier`: equal objects have equal ones.
    random_state : int, RandomState or None, default=None
        Of the smoothed p-values, and of the measure where its own is None. With None, a seed is drawn in `fit`, and
        kept.
    n_jobs : int or None, default=None
        Threads; None means all cores. The result does not depend on it.
    verbose : int, default=0
        Above 0, long work shows a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (l,)
    measure_ : measure
        The clone of `measure` in use.
    initial_ : ndarray of shape (l,)
        Estimated probabilities of the first label.
    transition_ : ndarray of shape (l, l)
        Estimated probabilities of the column's label after the row's.
    n_features_in_ : int

    Notes
    -----
    Each of the T positions of a test sequence gets the set of labels with p > epsilon / T. By the union bound, all T
    true labels are in their sets, that is, the true sequence is in the product of the sets, with probability at least
    1 - epsilon = `confidence_level`: if the p-value of each true label is valid. Nothing is assumed about how the
    errors of different positions hang together, nor that the ranking's probabilities are right.

    *What makes the p-values valid.* With mondrian="label": given the labels of all sequences, objects are independent,
    and those with the same label have the same distribution (or at least are exchangeable). Hidden Markov models
    satisfy this, and so does any model in which an object depends on its own label only; the labels may follow
    any law, a Markov chain or not, and the test sequence's may follow another one than the training sequences'. With
    mondrian=None: the pairs of object and label at all training positions and the test position are exchangeable. In
    a Markov chain they are not, because neighbouring labels depend on each other, so this is for sequences of
    independent pairs.

    *The ranking* of the sequences in the product takes the estimated chain and the p-values together, as a hidden
    Markov model takes transitions and emissions: at level epsilon / T the sets of a long sequence exclude little, and
    transitions alone would know nothing of what was observed. It is a help, and no part of the guarantee.

    To exclude a label at level epsilon / T takes T / epsilon - 1 training positions with this label at least.

    Predicting costs what full CP costs for each position, and each candidate sequence O(T l) steps of a heap. The
    idea is that of [1]_.

    References
    ----------
    .. [1] G. Cherubin, I. Nouretdinov, "Hidden Markov Models with Confidence", COPA 2016.

    Examples
    --------
    Was the coffee machine fine (f) or clogged (c), by the seconds that a cup took?

    >>> import numpy as np
    >>> from exactcp import ConformalSequencePredictor
    >>> from exactcp.measures import KNN
    >>> rng = np.random.default_rng(0)
    >>> y = [np.repeat(["f", "c", "f"], [20, 10, 10]) for _ in range(5)]
    >>> seconds = [np.where(labels == "f", 30, 33) + rng.normal(size=40) for labels in y]
    >>> X = [sequence[:, None] for sequence in seconds]
    >>> model = ConformalSequencePredictor(KNN(k=3)).fit(X, y)
    >>> today = [[30.2], [29.8], [31.6], [33.3], [32.9]]
    >>> model.predict_set([today], confidence_level=0.8)[0].astype(int)
    array([[0, 1],
           [0, 1],
           [1, 1],
           [1, 0],
           [1, 0]])
    >>> for candidate in model.candidates(today, confidence_level=0.8):
    ...     print("".join(candidate.labels), round(candidate.log_probability, 2))
    fffcc -4.24
    ffccc -4.52
    """

    classes_: np.ndarray
    _bag: Any
    _chain: MarkovChain
    _seed: int

    allowed_parameters: ClassVar = {
        "measure": LABEL_MEASURE,
        "mondrian": one_of("label", None),
        "smoothing": number("a pseudo-count", "a number >= 0", lambda x: 0 <= x < np.inf),
        "smoothed": BOOLEAN,
        **SEEDED,
    }

    def __init__(
        self,
        measure: Any = None,
        *,
        mondrian: str | None = "label",
        smoothing: float = 1.0,
        smoothed: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.mondrian = mondrian
        self.smoothing = smoothing
        self.smoothed = smoothed
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @changes
    def fit(self, X: Any, y: Any, lengths: Any = None) -> Self:
        """Learn labelled sequences.

        Parameters
        ----------
        X : list of array-like of shape (T_i, p), or array-like of shape (sum of T_i, p)
            Sequences of objects, or all of them one below the other, as texts must be; or whatever a model takes.
        y : list of array-like of shape (T_i,), or array-like of shape (sum of T_i,)
            Their labels, in the same form.
        lengths : array-like of int, default=None
            With one array: the length of each sequence. None means that the array is one sequence.

        Returns
        -------
        self
        """
        check_parameters(self)
        seed = draw_seed(self.random_state)
        measure = classification_measure(self.measure, seed)
        if objects_of(measure) is Objects.PAIRS:
            msg = f"measure={measure!r} wants precomputed values: give objects, and a function of two objects instead."
            raise ValueError(msg)
        joined = join_objects(X, lengths)
        X, y = self._take_labelled(joined.rows, join_labels(y, joined))
        classes = np.unique(y if measure.fixed_classes is None else measure.fixed_classes)
        check_two_classes(classes, self)
        codes = encode(y, classes, what="y", remedy="these are the labels that the model knows.")
        bag = label_bag(measure, X, codes, classes.size, effort=effort_of(self))
        chain = estimate_chain(codes, joined.lengths, classes.size, float(self.smoothing))
        self.classes_, self.measure_, self._bag, self._chain = classes, measure, bag, chain
        self._seed = seed
        self.initial_, self.transition_ = np.exp(chain.log_initial), np.exp(chain.log_transition)
        return self

    @reads
    def predict_p(self, X: Any, lengths: Any = None) -> list[np.ndarray]:
        """Return the p-value of every label at every position.

        Parameters
        ----------
        X : list of array-like of shape (T_i, p), or array-like of shape (sum of T_i, p)
        lengths : array-like of int, default=None
            As in `fit`.

        Returns
        -------
        list of ndarray of shape (T_i, l)
        """
        check_is_fitted(self)
        joined = join_objects(X, lengths)
        objects = self._take_objects(joined.rows)
        counts = self._bag.label_counts(objects, effort=effort_of(self))
        if self.mondrian == "label":
            compared = pvalues.label_conditional(counts, self._bag.sizes)
        else:
            compared = pvalues.marginal(counts, self._bag.n)
        if self.smoothed:
            p = pvalues.smoothed_p(compared, pvalues.tau_of_objects(self._seed, objects))
        else:
            p = pvalues.deterministic_p(compared)
        return split_rows(p, joined)

    @reads
    def predict_set(self, X: Any, lengths: Any = None, *, confidence_level: float = 0.95) -> list[np.ndarray]:
        """Return the set of labels of every position: p > (1 - confidence_level) / T.

        Parameters
        ----------
        X : list of array-like of shape (T_i, p), or array-like of shape (sum of T_i, p)
        lengths : array-like of int, default=None
        confidence_level : float, default=0.95
            The probability, at least, with which all true labels of a sequence are in their sets.

        Returns
        -------
        list of ndarray of bool of shape (T_i, l)
        """
        epsilon = pvalues.significance(confidence_level)
        return [pvalues.exceeds(p, epsilon / p.shape[0]) for p in self.predict_p(X, lengths)]

    @reads
    def candidates(self, x: Any, *, confidence_level: float = 0.95) -> Iterator[CandidateSequence]:
        """Return an iterator over the sequences in the product of the sets, the most probable first.

        Parameters
        ----------
        x : array-like of shape (T, p)
            One sequence.
        confidence_level : float, default=0.95
            As in `predict_set`.

        Returns
        -------
        iterator of CandidateSequence
            It ends at once if the set of some position is empty. Each sequence is searched for when it is asked for.
        """
        epsilon = pvalues.significance(confidence_level)
        (p,) = self.predict_p([x])
        return self._ranked(p, pvalues.exceeds(p, epsilon / p.shape[0]))

    def _ranked(self, p: np.ndarray, sets: np.ndarray) -> Iterator[CandidateSequence]:
        shares = np.log(p) - np.log(p.sum(axis=1, keepdims=True))
        for codes, log_probability in ranked_sequences(self._chain, sets, shares):
            yield CandidateSequence(self.classes_[codes], log_probability)

    @reads
    def predict_candidates(
        self, X: Any, lengths: Any = None, *, n_candidates: int = 10, confidence_level: float = 0.95
    ) -> list[list[CandidateSequence]]:
        """Return the most probable sequences in the product of the sets, for every test sequence.

        Parameters
        ----------
        X : list of array-like of shape (T_i, p), or array-like of shape (sum of T_i, p)
        lengths : array-like of int, default=None
        n_candidates : int, default=10
            How many at most.
        confidence_level : float, default=0.95
            As in `predict_set`.

        Returns
        -------
        list of list of CandidateSequence
        """
        integer("a number of sequences", at_least=1).check("n_candidates", n_candidates)
        epsilon = pvalues.significance(confidence_level)
        each = [(p, pvalues.exceeds(p, epsilon / p.shape[0])) for p in self.predict_p(X, lengths)]
        return [list(islice(self._ranked(p, sets), int(n_candidates))) for p, sets in each]

    @reads
    def predict(self, X: Any, lengths: Any = None, *, confidence_level: float = 0.95) -> Any:
        """Return the most probable sequence of labels in the product of the sets.

        Parameters
        ----------
        X : list of array-like of shape (T_i, p), or array-like of shape (sum of T_i, p)
        lengths : array-like of int, default=None
        confidence_level : float, default=0.95
            Where a set is empty, the label with the largest p-value stands in for it.

        Returns
        -------
        list of ndarray of shape (T_i,), or ndarray of shape (sum of T_i,)
            In the form of X.
        """
        epsilon = pvalues.significance(confidence_level)
        sequences = []
        for p in self.predict_p(X, lengths):
            sets = pvalues.exceeds(p, epsilon / p.shape[0])
            sets[~sets.any(axis=1)] = (p == p.max(axis=1, keepdims=True))[~sets.any(axis=1)]
            sequences.append(next(self._ranked(p, sets)).labels)
        return sequences if join_objects(X, lengths).as_list else np.concatenate(sequences)
