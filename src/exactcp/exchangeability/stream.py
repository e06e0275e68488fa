"""A stream of examples: data to p-values to a martingale, one example at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from exactcp import pvalues
from exactcp._changes import changes, drop_bag, forked, stream
from exactcp._estimator import Estimator
from exactcp._parallel import ALONE
from exactcp._parameters import NONE, RANDOM_STATE, Allowed, check_parameters, integer, one_of, shown
from exactcp._seeds import draw_seed
from exactcp._validation import check_stream_labels, check_stream_objects, check_targets
from exactcp._warning import warn
from exactcp.exchangeability._record import Record
from exactcp.exchangeability.betting import BETTING
from exactcp.exchangeability.martingale import ALARM, THRESHOLD, Martingale
from exactcp.measures._choice import (
    LABEL_MEASURE,
    TARGET_MEASURE,
    classification_measure,
    label_bag,
    objects_of,
    one_class_measure,
    regression_measure,
    target_bag,
)
from exactcp.measures._contract import Objects

CHUNK = 1024  # examples that a bag counts and learns together
MEASURE = (
    Allowed(
        "a nonconformity measure",
        "an instance from exactcp.measures, such as KNN(k=15) or KNNResidual(k=15), a scikit-learn classifier or "
        "regressor",
        lambda value: LABEL_MEASURE.accepts(value) or TARGET_MEASURE.accepts(value),
        LABEL_MEASURE.hint,
        TypeError,
    )
    | NONE
)


class ExchangeabilityTest(Estimator):
    """Test whether the examples of a stream are exchangeable (IID, for instance), while they come in.

    Parameters
    ----------
    measure : measure from `exactcp.measures`, or scikit-learn classifier or regressor, default=None
        How strange an example is to those before it. None means `SimplifiedKNN()` for a stream of objects and `KNN()`
        for a stream of labelled objects. With a measure of regression, such as `KNNResidual()`, y is a real target.
    betting : {"power", "mixture", "jumper", "composite", "plugin"} or Betting, default="composite"
        How to bet against the p-values' uniformity; `exactcp.exchangeability` has the strategies with parameters.
    alarm : {"ville", "cusum", "shiryaev-roberts"}, default="ville"
        When to raise an alarm. "ville" has a false alarm, ever, with probability at most 1/threshold. The other two
        find a late change sooner, and their mean time to a false alarm is at least `threshold`.
    threshold : float, default=100.0
        Above 1.
    random_state : int, RandomState or None, default=None
        Of the smoothing.
    window : int, default=None
        Compare with this many of the last examples only. None means with all. See Notes.
    mondrian : {None, "label"}, default=None
        "label" compares an example with those of its own label: changes in the labels' frequencies then go unnoticed,
        and only changes within labels count.
    restart : {"statistic", "all"}, default="statistic"
        After an alarm the alarm's statistic starts anew. With "all" the examples and the past bets are forgotten, too:
        the test then learns what is normal after the change, and can find the next one.

    Attributes
    ----------
    p_values_ : ndarray of shape (n,)
        Smoothed p-value of each example, given those before it.
    log_martingale_ : ndarray of shape (n,)
        log S_n, the natural logarithm of the wealth of the gambler who started with 1. No alarm interrupts it.
    log_statistic_ : ndarray of shape (n,)
        Logarithm of the alarm rule's statistic, which starts anew after each alarm; with "ville" it is log S_n until
        the first one.
    alarms_ : ndarray of int
        The examples, counted from 0, that raised an alarm.
    p_value_ : float
        Against exchangeability, of the whole stream so far: 1 over the largest wealth, and at most 1. It may be looked
        at whenever one likes: below any c, ever, with probability at most c.
    measure_ : measure
        The clone of `measure` in use.
    classes_ : ndarray
        Labels, in the order in which they came first.
    n_features_in_ : int

    Notes
    -----
    An example costs O(n) with k-NN, KDE and LS-SVM: the p-values of a stream cost n^2 distances instead of the n^3 of
    Algorithm 1 [1]_. If the examples are exchangeable, the p-values are independent and uniform, and S is a test
    martingale [2]_: it exceeds c, ever, with probability at most 1/c.

    With a window, each p-value is uniform, but p-values of overlapping windows are not independent, and the bound on
    false alarms holds approximately only.

    An object of this class can be pickled in mid-stream, and has the same future.

    References
    ----------
    .. [1] G. Cherubin, K. Chatzikokolakis, M. Jaggi, "Exact Optimization of Conformal Predictors via Incremental and
       Decremental Learning", ICML 2021.
    .. [2] V. Vovk, A. Gammerman, G. Shafer, "Algorithmic Learning in a Random World", 2nd edition, Springer 2022.

    Examples
    --------
    The mean of a signal shifts after 200 examples:

    >>> import numpy as np
    >>> from exactcp import ExchangeabilityTest
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> X[200:] += 1.5
    >>> test = ExchangeabilityTest(alarm="cusum", random_state=0)
    >>> p = test.update_many(X)
    >>> bool(abs(p[:200].mean() - 0.5) < 0.1), test.alarms_[:1]
    (True, array([225]))

    What a signal causes changes, and the signal itself does not:

    >>> from exactcp.measures import KNNResidual
    >>> X, noise = rng.normal(size=(400, 1)), rng.normal(size=400)
    >>> y = np.where(np.arange(400) < 200, X[:, 0], -X[:, 0]) + 0.3 * noise
    >>> test = ExchangeabilityTest(KNNResidual(), alarm="cusum", random_state=0)
    >>> p = test.update_many(X, y)
    >>> test.alarms_[:1], test.p_value_ < 0.001
    (array([245]), True)
    """

    allowed_parameters: ClassVar = {
        "measure": MEASURE,
        "betting": BETTING,
        "alarm": ALARM,
        "threshold": THRESHOLD,
        "random_state": RANDOM_STATE,
        "window": integer("a number of examples", at_least=1) | NONE,
        "mondrian": one_of(None, "label"),
        "restart": one_of("statistic", "all"),
    }

    def __init__(
        self,
        measure: Any = None,
        *,
        betting: Any = "composite",
        alarm: str = "ville",
        threshold: float = 100.0,
        random_state: Any = None,
        window: int | None = None,
        mondrian: str | None = None,
        restart: str = "statistic",
    ) -> None:
        self.measure = measure
        self.betting = betting
        self.alarm = alarm
        self.threshold = threshold
        self.random_state = random_state
        self.window = window
        self.mondrian = mondrian
        self.restart = restart

    @changes
    def update(self, x: Any, y: Any = None) -> float:
        """Return the p-value of the next example, and then learn it.

        Parameters
        ----------
        x : array-like of shape (p,)
        y : label, or target if the measure is one of regression, default=None
            Give it with every example, or with none.

        Returns
        -------
        float
            In (0, 1]. Small when the example is strange to those before it.
        """
        X = check_stream_objects(x, "x")
        X = X.reshape(1, -1) if X.ndim < 2 else X
        if X.ndim != 2 or X.shape[0] != 1:
            msg = f"x has shape {X.shape}: expected one object, a flat array. Use update_many for several."
            raise ValueError(msg)
        return float(self._advance(X, None if y is None else self._take_answers([y], single=True))[-1])

    @changes
    def update_many(self, X: Any, y: Any = None) -> np.ndarray:
        """Return the p-values of the next examples, each given all before it, and learn them: as `update` one by one.

        Parameters
        ----------
        X : array-like of shape (m, p)
        y : array-like of shape (m,), default=None

        Returns
        -------
        ndarray of shape (m,)
        """
        X = check_stream_objects(X, "X")
        if X.ndim != 2:
            msg = f"X has shape {X.shape}: expected a row for each object. Use update for one object."
            raise ValueError(msg)
        answers = None if y is None else self._take_answers(y)
        if answers is not None and len(answers) != X.shape[0]:
            what = "target" if self._wants_targets else "label"
            msg = f"y has shape {np.shape(y)}: expected one {what} for each of the {X.shape[0]} rows of X."
            raise ValueError(msg)
        return np.array(self._advance(X, answers))

    @changes
    def reset(self) -> Self:
        """Forget everything; the next example is the first.

        Returns
        -------
        self
        """
        for name in ("_bag", "_codes", "_martingale", "_p", "_seed", "_has_answers", "measure_", "n_features_in_"):
            self.__dict__.pop(name, None)
        return self

    @property
    def p_values_(self) -> np.ndarray:
        """Smoothed p-value of each example."""
        return self._p.values if self._started else np.empty(0)

    @property
    def log_martingale_(self) -> np.ndarray:
        """Log S_n after each example."""
        return self._martingale.log_wealth if self._started else np.empty(0)

    @property
    def log_statistic_(self) -> np.ndarray:
        """Logarithm of the alarm rule's statistic after each example."""
        return self._martingale.log_statistic if self._started else np.empty(0)

    @property
    def alarms_(self) -> np.ndarray:
        """Examples that raised an alarm."""
        return self._martingale.alarms if self._started else np.empty(0, np.int64)

    @property
    def p_value_(self) -> float:
        """1 over the largest wealth so far, and at most 1."""
        return float(np.exp(-self.log_martingale_.max(initial=0.0)))

    @property
    def classes_(self) -> np.ndarray:
        """Labels in the order in which they came first; before them, those that a frozen model knows."""
        return np.array(list(self._codes) if self._started and self._codes is not None else [])

    @property
    def _started(self) -> bool:
        return "_martingale" in self.__dict__

    @property
    def _wants_targets(self) -> bool:
        """Whether y is a real target: the measure says so."""
        return self.measure is not None and TARGET_MEASURE.accepts(self.measure)

    def _take_answers(self, y: Any, *, single: bool = False) -> list[Any]:
        """Return the labels or targets of examples; of a single one, the label as it is."""
        if self._wants_targets:
            return check_targets(y).tolist()
        check_stream_labels(y)
        if single:
            return list(y)
        labels = np.asarray(y)
        if labels.ndim != 1:
            msg = f"y has shape {labels.shape}: expected one label for each row of X, a flat array."
            raise ValueError(msg)
        return labels.tolist()

    def _start(self, n_features: int, *, labelled: bool) -> None:
        """Check the parameters, and take the first example's word for its kind."""
        check_parameters(self)
        if self.mondrian == "label" and not labelled:
            raise ValueError("mondrian='label' got an example without a label: give y, or use mondrian=None.")
        if objects_of(self.measure) is Objects.PAIRS:
            msg = (
                f"measure={self.measure!r} wants precomputed values, and the examples of a stream do not know each "
                "other: give objects, and a function of two of them if no metric has a name."
            )
            raise ValueError(msg)
        martingale = Martingale(self.betting, self.alarm, self.threshold)
        seed = draw_seed(self.random_state)
        self.measure_, self.n_features_in_, self._seed = self._choose(seed, labelled=labelled), n_features, seed
        self._bag: Any = None
        self._has_answers = labelled
        self._codes: dict[Any, int] | None = None
        if labelled and not self._wants_targets:
            known = self.measure_.fixed_classes
            self._codes = {label: c for c, label in enumerate([] if known is None else known.tolist())}
        self._p = Record()
        self._martingale = martingale

    def _choose(self, seed: int, *, labelled: bool) -> Any:
        """Return a fresh measure that suits the examples."""
        if not self._wants_targets:
            return (classification_measure if labelled else one_class_measure)(self.measure, seed)
        if not labelled:
            msg = (
                f"measure={shown(self.measure)} scores targets, and the example has none: give y, or use a measure of "
                "objects alone, such as SimplifiedKNN()."
            )
            raise ValueError(msg)
        if self.mondrian == "label":
            msg = (
                f"mondrian='label' needs labels, and y are the targets of measure={shown(self.measure)}: "
                "use mondrian=None."
            )
            raise ValueError(msg)
        return regression_measure(self.measure, seed)

    def _check(self, X: np.ndarray, labels: list[Any] | None) -> None:
        """Refuse examples that are not like those before them, or not numbers."""
        if X.shape[1] == 0:
            msg = f"Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is required."
            raise ValueError(msg)
        are_finite = np.vdot(X, X) < np.inf or np.isfinite(X).all()  # the first is quicker, and no squares may overflow
        if not are_finite:
            row = int(np.flatnonzero(~np.isfinite(X).all(axis=1))[0])
            bad = X[row][~np.isfinite(X[row])][0]
            msg = (
                f"the object in row {row} of {X.shape[0]} has the value {bad}: expected finite numbers. Nothing has "
                "been learned; leave the object out, or impute it."
            )
            raise ValueError(msg)
        if labels is not None and any(label is None or label != label for label in labels):
            raise ValueError("y has a missing label: expected a label for each object. Nothing has been learned.")
        if self._started:
            if X.shape[1] != self.n_features_in_:
                msg = f"the object has {X.shape[1]} features, and those before it {self.n_features_in_}: give as many."
                raise ValueError(msg)
            if (labels is None) == self._has_answers:
                had, has = ("one", "none") if self._has_answers else ("no", "one")
                what = "target" if self._wants_targets else "label"
                msg = f"the examples before had {had} {what}, and this one has {has}: give y always or never."
                raise ValueError(msg)

    def _advance(self, X: np.ndarray, labels: list[Any] | None) -> Sequence[float] | np.ndarray:
        """Take examples, and return their p-values."""
        self._check(X, labels)
        if not self._started:
            self._start(X.shape[1], labelled=labels is not None)
        codes, n_labels = self._encode(X.shape[0], labels)
        self._p, self._martingale = self._p.fork(), self._martingale.fork()
        if self._bag is not None:
            n_known = n_labels if self._wants_targets else self._bag.sizes.size
            if codes.size == 1 and self.window is None and n_labels == n_known:
                return [self._take_one(X, codes)]
            bag = forked(self)
            if n_labels > n_known:
                bag.relabel(np.arange(n_known), n_labels)
        before = len(self._p)
        size = CHUNK if self.window is None and self.restart == "statistic" else 1
        for first in range(0, X.shape[0], size):
            self._step(X[first : first + size], codes[first : first + size], n_labels)
        return self._p.values[before:]

    def _encode(self, m: int, labels: list[Any] | None) -> tuple[np.ndarray, int]:
        """Return the labels as numbers, in the order in which they came first, and how many there are; or targets."""
        if labels is None:
            return np.zeros(m, np.int64), 1
        if self._codes is None:
            return np.array(labels, dtype=np.float64), 1
        known = self._codes
        codes = [known.get(label, -1) for label in labels]
        if -1 in codes:
            known = self._codes = dict(known)
            codes = [known.setdefault(label, len(known)) for label in labels]
        return np.array(codes, dtype=np.int64), len(known)

    def _take_one(self, X: np.ndarray, codes: np.ndarray) -> float:
        """Take one example, which the bag may learn in place: `_step` in plain numbers, quicker than arrays of one."""
        total = int(self._bag.sizes[codes[0]]) if self.mondrian == "label" else self._bag.n
        greater, equal, *others = stream(self, X, codes)[0].tolist()
        if self.mondrian != "label":
            greater, equal = greater + others[0], equal + others[1]
        tau = float(pvalues.tau_of_steps(self._seed, len(self._p), 1)[0])
        p = (greater + tau * (equal + 1)) / (total + 1)  # the operations of `smoothed_p`
        alarmed = self._martingale.update(p)
        self._p.append(p)
        if self.restart == "all" and alarmed:
            drop_bag(self)
            self._martingale.forget()
        return p

    def _step(self, X: np.ndarray, codes: np.ndarray, n_labels: int) -> None:
        """Take examples that neither a window nor an alarm separates."""
        counts = self._count_and_learn(X, codes, n_labels)
        p = pvalues.smoothed_p(counts, pvalues.tau_of_steps(self._seed, len(self._p), codes.size))
        alarmed = [self._martingale.update(value) for value in p.tolist()]
        self._p.extend(p)
        if self.restart == "all" and alarmed[-1]:
            drop_bag(self)
            self._martingale.forget()
        elif self.window is not None and self._bag.n > self.window:
            if self._bag.n == 1:
                drop_bag(self)
            else:
                self._bag.unlearn(np.zeros(1, dtype=np.int64), effort=ALONE)

    def _count_and_learn(self, X: np.ndarray, codes: np.ndarray, n_labels: int) -> pvalues.Counts:
        """Return, for each example, the counts of smoothed p-values given all before it; learn it then."""
        m, n, sizes = codes.size, 0, np.zeros(n_labels, np.int64)
        counts, first, by_label = np.zeros((m, 4), np.int64), 0, self.mondrian == "label"
        if self._bag is None:
            self._bag = self._first_bag(X[:1], codes[:1], n_labels)
            first = 1
        else:
            n, sizes = self._bag.n, np.array(self._bag.sizes) if by_label else sizes
        if first < m:
            counts[first:] = self._bag.stream(X[first:], codes[first:])
        if by_label:
            before = np.array([(codes[:i] == codes[i]).sum() for i in range(m)], dtype=np.int64)
            return pvalues.Counts(counts[:, 0], counts[:, 1], sizes[codes] + before)
        return pvalues.Counts(counts[:, 0] + counts[:, 2], counts[:, 1] + counts[:, 3], n + np.arange(m))

    def _first_bag(self, X: np.ndarray, codes: np.ndarray, n_labels: int) -> Any:
        if self._wants_targets:
            return target_bag(self.measure_, X, codes, effort=ALONE)  # which says itself what it costs
        bag = label_bag(self.measure_, X, codes, n_labels, effort=ALONE)
        if bag.refits:
            msg = (
                f"{type(self.measure_).__name__} cannot learn and unlearn one example, so each p-value refits it as "
                "often as there are examples. KNN, KDE and LSSVM can."
            )
            warn(msg)
        return bag
