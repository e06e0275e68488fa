"""A stream of examples: data to p-values to a martingale, one example at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from exactcp import pvalues
from exactcp._answers import check_stream_labels, check_targets
from exactcp._changes import changes, drop_bag, forked, stream
from exactcp._compared import compares_objects
from exactcp._estimator import Estimator
from exactcp._parallel import ALONE
from exactcp._parameters import NONE, RANDOM_STATE, Allowed, check_parameters, integer, one_of, shown
from exactcp._rows import count_rows, take_rows
from exactcp._seeds import draw_seed
from exactcp._warning import warn
from exactcp.exchangeability._objects import check_pairs, many_objects, one_object, takes_anything
from exactcp.exchangeability._record import Record
from exactcp.exchangeability.betting import BETTING
from exactcp.exchangeability.martingale import ALARM, THRESHOLD, Martingale
from exactcp.measures._choice import (
    LABEL_MEASURE,
    TARGET_MEASURE,
    classification_measure,
    keeps_float32,
    label_bag,
    objects_of,
    one_class_measure,
    regression_measure,
    target_bag,
)
from exactcp.measures._contract import Objects

CHUNK = 1024  # examples that a bag counts and learns together
_OF_OBJECTS = ("n_features_in_", "feature_names_in_")
_OF_A_STREAM = ("_bag", "_codes", "_martingale", "_p", "_seed", "_has_answers", "_takes_anything", "_takes_pairs")
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
        for a stream of labelled objects. With a measure of regression, such as `KNNResidual()`, y is a real target. A
        frozen model must have been fitted on examples before the stream.
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
        How many examples to keep. None means all. See Notes.
    mondrian : {None, "label"}, default=None
        "label" compares an example with those of its own label: changes in the labels' frequencies then go unnoticed,
        and only changes within labels count.
    restart : {"statistic", "all"}, default="statistic"
        After an alarm the alarm's statistic starts anew. With "all" the examples and the past bets are forgotten, too:
        the test then learns what is normal after the change, and can find the next one.
    forget : {"oldest", "all"}, default="oldest"
        What goes when there are more examples than the window has room for. With "oldest" the window slides, and each
        example is compared with the last ones; the bounds on false alarms then hold approximately. With "all" it is
        emptied when it is full, and the next example is the first again; the bounds hold exactly.

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

    With a window that slides, each p-value is uniform, but p-values of overlapping windows are not independent, and the
    bound on false alarms holds approximately only. Forgetting everything at once, when a window is full or after an
    alarm, costs nothing: given all that came before, the examples that follow are exchangeable. But a change that falls
    between two such windows goes unnoticed, so make them long.

    An object of this class can be saved or pickled in mid-stream, and has the same future.

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

    _takes_pairs = False  # whether X holds values between examples instead of objects

    allowed_parameters: ClassVar = {
        "measure": MEASURE,
        "betting": BETTING,
        "alarm": ALARM,
        "threshold": THRESHOLD,
        "random_state": RANDOM_STATE,
        "window": integer("a number of examples", at_least=1) | NONE,
        "mondrian": one_of(None, "label"),
        "restart": one_of("statistic", "all"),
        "forget": one_of("oldest", "all"),
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
        forget: str = "oldest",
    ) -> None:
        self.measure = measure
        self.betting = betting
        self.alarm = alarm
        self.threshold = threshold
        self.random_state = random_state
        self.window = window
        self.mondrian = mondrian
        self.restart = restart
        self.forget = forget

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        codes = state.get("_codes")
        return state if codes is None else {**state, "_codes": list(codes)}  # labels are no texts, as keys in files are

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        codes = state.get("_codes")
        known = {} if codes is None else {"_codes": {label: c for c, label in enumerate(codes)}}
        super().__setstate__({**state, **known})

    @changes
    def update(self, x: Any, y: Any = None) -> float:
        """Return the p-value of the next example, and then learn it.

        Parameters
        ----------
        x : array-like of shape (p,), or whatever the measure's function compares
            With a model: one row of whatever it takes, such as a text, or a frame of one row. With
            metric="precomputed", the distances to the examples that it is compared with, in the order in which they
            came, and to itself: n + 1 numbers. Of the first, one.
        y : label, or target if the measure is one of regression, default=None
            Give it with every example, or with none.

        Returns
        -------
        float
            In (0, 1]. Small when the example is strange to those before it.
        """
        X = one_object(self, x, is_first=not self._started)
        return float(self._advance(X, None if y is None else self._take_answers([y], single=True))[-1])

    @changes
    def update_many(self, X: Any, y: Any = None) -> np.ndarray:
        """Return the p-values of the next examples, each given all before it, and learn them: as `update` one by one.

        Parameters
        ----------
        X : array-like of shape (m, p), or a sequence of whatever the measure's function compares
            With a model: rows of whatever it takes, such as a frame or a list of texts. With metric="precomputed", the
            distances to the examples that they are compared with, then to each other. Rows must not overlap, as
            sliding windows of a series do: alarms are then false.
        y : array-like of shape (m,), default=None

        Returns
        -------
        ndarray of shape (m,)
        """
        X = many_objects(self, X, is_first=not self._started)
        answers = None if y is None else self._take_answers(y)
        if answers is not None and len(answers) != count_rows(X):
            what = "target" if self._wants_targets else "label"
            msg = f"y has shape {np.shape(y)}: expected one {what} for each of the {count_rows(X)} rows of X."
            raise ValueError(msg)
        return np.array(self._advance(X, answers))

    @changes
    def reset(self) -> Self:
        """Forget everything; the next example is the first.

        Returns
        -------
        self
        """
        for name in (*_OF_A_STREAM, *_OF_OBJECTS, "measure_"):
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
    def _keeps_float32(self) -> bool:
        """Whether vectors in float32 are taken as they are."""
        return keeps_float32(vars(self).get("measure_", self.measure))

    @property
    def _wants_targets(self) -> bool:
        """Whether y is a real target: the measure says so, and what has been learned is known."""
        if self._started:
            return self._has_answers and self._codes is None
        return self.measure is not None and TARGET_MEASURE.accepts(self.measure)

    @property
    def _compares(self) -> bool:
        """Whether a function compares objects, which may then be of any kind."""
        return objects_of(self.measure) is Objects.COMPARED

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

    def _start(self, *, labelled: bool) -> None:
        """Check the parameters, and take the first example's word for its kind."""
        check_parameters(self)
        if self.mondrian == "label" and not labelled:
            raise ValueError("mondrian='label' got an example without a label: give y, or use mondrian=None.")
        if self.forget == "all" and self.window is None:
            raise ValueError("forget='all' would have no effect without window=: say how many examples there may be.")
        martingale = Martingale(self.betting, self.alarm, self.threshold)
        seed = draw_seed(self.random_state)
        self.measure_, self._seed = self._choose(seed, labelled=labelled), seed
        kind = objects_of(self.measure_)
        self._takes_pairs, self._takes_anything = kind is Objects.PAIRS, kind is Objects.ANYTHING
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

    def _check(self, labels: list[Any] | None) -> None:
        """Refuse answers that are missing, or not like those before them."""
        if labels is not None and any(label is None or label != label for label in labels):
            raise ValueError("y has a missing label: expected a label for each object. Nothing has been learned.")
        if self._started and (labels is None) == self._has_answers:
            had, has = ("one", "none") if self._has_answers else ("no", "one")
            what = "target" if self._wants_targets else "label"
            msg = f"the examples before had {had} {what}, and this one has {has}: give y always or never."
            raise ValueError(msg)

    def _advance(self, X: Any, labels: list[Any] | None) -> Sequence[float] | np.ndarray:
        """Take examples, and return their p-values."""
        self._check(labels)
        if not self._started:
            self._start(labelled=labels is not None)
            if not (takes_anything(self) or compares_objects(self) or self._takes_pairs):
                self.n_features_in_ = X.shape[1]
        m, known = count_rows(X), 0
        if self._takes_pairs:
            known = 0 if self._bag is None else self._bag.n
            check_pairs(X, known)
        codes, n_labels = self._encode(m, labels)
        self._p, self._martingale = self._p.fork(), self._martingale.fork()
        if self._bag is not None:
            n_known = n_labels if self._wants_targets else self._bag.sizes.size
            if m == 1 and not self._slides and n_labels == n_known:
                return [self._take_one(X, codes)]
            bag = forked(self)
            if n_labels > n_known:
                bag.relabel(np.arange(n_known), n_labels)
        before = len(self._p)
        first = 0
        while first < m:
            together = np.arange(first, min(m, first + self._room()))
            part = take_rows(X, together)
            if self._takes_pairs:  # with those alone that are left of all before it, and with itself
                left = 0 if self._bag is None else self._bag.n
                part = part[:, known + first - left : known + first + 1]
            self._step(part, codes[together], n_labels)
            first += together.size
        return self._p.values[before:]

    @property
    def _slides(self) -> bool:
        """Whether the oldest example makes room for the newest."""
        return self.window is not None and self.forget == "oldest"

    def _room(self) -> int:
        """Return how many examples may be taken before some are forgotten, or may have to be."""
        if self._slides or self.restart == "all" or self._takes_pairs:
            return 1
        return CHUNK if self.window is None else min(CHUNK, self.window - (0 if self._bag is None else self._bag.n))

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

    def _take_one(self, X: Any, codes: np.ndarray) -> float:
        """Take one example, which the bag may learn in place: `_step` in plain numbers, quicker than arrays of one."""
        total = int(self._bag.sizes[codes[0]]) if self.mondrian == "label" else self._bag.n
        greater, equal, *others = stream(self, X, codes)[0].tolist()
        if self.mondrian != "label":
            greater, equal = greater + others[0], equal + others[1]
        tau = float(pvalues.tau_of_steps(self._seed, len(self._p), 1)[0])
        p = (greater + tau * (equal + 1)) / (total + 1)  # the operations of `smoothed_p`
        alarmed = self._martingale.update(p)
        self._p.append(p)
        self._make_room(alarmed=alarmed)
        return p

    def _step(self, X: Any, codes: np.ndarray, n_labels: int) -> None:
        """Take examples that neither a window nor an alarm separates."""
        counts = self._count_and_learn(X, codes, n_labels)
        p = pvalues.smoothed_p(counts, pvalues.tau_of_steps(self._seed, len(self._p), codes.size))
        alarmed = self._martingale.update_many(p.tolist())
        self._p.extend(p)
        self._make_room(alarmed=alarmed[-1])

    def _make_room(self, *, alarmed: bool) -> None:
        """Forget what an alarm, or the window, says."""
        if self.restart == "all" and alarmed:
            drop_bag(self)
            self._martingale.forget()
        elif self.window is None or self._bag.n < self.window + self._slides:
            return
        elif self._slides:
            self._bag.unlearn(np.zeros(1, dtype=np.int64), effort=ALONE)
        else:
            drop_bag(self)

    def _count_and_learn(self, X: Any, codes: np.ndarray, n_labels: int) -> pvalues.Counts:
        """Return, for each example, the counts of smoothed p-values given all before it; learn it then."""
        m, n, sizes = codes.size, 0, np.zeros(n_labels, np.int64)
        counts, first, by_label = np.zeros((m, 4), np.int64), 0, self.mondrian == "label"
        if self._bag is None:
            self._bag = self._first_bag(take_rows(X, np.arange(1)), codes[:1], n_labels)
            first = 1
        else:
            n, sizes = self._bag.n, np.array(self._bag.sizes) if by_label else sizes
        if first < m:
            counts[first:] = self._bag.stream(take_rows(X, np.arange(first, m)), codes[first:])
        if by_label:
            before = np.array([(codes[:i] == codes[i]).sum() for i in range(m)], dtype=np.int64)
            return pvalues.Counts(counts[:, 0], counts[:, 1], sizes[codes] + before)
        return pvalues.Counts(counts[:, 0] + counts[:, 2], counts[:, 1] + counts[:, 3], n + np.arange(m))

    def _first_bag(self, X: Any, codes: np.ndarray, n_labels: int) -> Any:
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
