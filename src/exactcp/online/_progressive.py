"""Progressive validation: predict, score, learn, one example at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from exactcp import pvalues
from exactcp._frame import make_records
from exactcp._parallel import progress
from exactcp._parameters import integer
from exactcp._rows import is_missing
from exactcp.measures._contract import Objects
from exactcp.online._adaptive import AdaptiveLevel
from exactcp.online._beginning import Beginning
from exactcp.online._examples import Pair, kind_of, pairs_of
from exactcp.online._given import GivenPredictor, given_rows
from exactcp.online._judging import Step, is_venn, judge_of

DELAY = integer("a number of examples", at_least=0)
LEVEL = 0.95  # where none is given


@dataclass(frozen=True)
class ProgressiveResult:
    """What a predictor did on a stream, example by example; those whose label never came are left out.

    Attributes
    ----------
    p : ndarray of shape (t,)
        p-value of the true label (or target) before it was learned; nan if the label had never been seen, or the
        predictor has no p-values.
    error : ndarray of bool of shape (t,)
        Whether the prediction set missed the truth. Of a Venn predictor, whether the most probable label was wrong.
    size : ndarray of shape (t,)
        Number of labels in the set, or length of the interval; of a Venn predictor, that of the probability of the most
        probable label.
    excess : ndarray of shape (t,)
        Efficiency, smaller is better: for labels the sum of the false labels' p-values (observed fuzziness), for
        intervals their length, for Venn predictors the log loss of `predict_proba`.
    epsilon : float
        1 - the confidence level of the sets, in the long run if it adapts; nan for Venn predictors.
    n_initial : int
        Examples that were learned before the first prediction.
    position : ndarray of int of shape (t,)
        Of the examples in the stream, counted from 0.
    lower, upper : ndarray of shape (t,)
        Ends of the intervals; of a Venn predictor, of the probability that its most probable label is right. nan for
        sets.

    Examples
    --------
    >>> import numpy as np
    >>> from exactcp.online._progressive import ProgressiveResult
    >>> p, size = np.array([0.5, 0.02, 0.7]), np.array([1.0, 1.0, 2.0])
    >>> result = ProgressiveResult(p, p <= 0.1, size, size - 1, epsilon=0.1, n_initial=2)
    >>> result.cumulative_errors, result.running_size.round(2)
    (array([0, 1, 1]), array([1.  , 1.  , 1.33]))
    """

    p: np.ndarray
    error: np.ndarray
    size: np.ndarray
    excess: np.ndarray
    epsilon: float
    n_initial: int
    position: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    lower: np.ndarray = field(default_factory=lambda: np.empty(0))
    upper: np.ndarray = field(default_factory=lambda: np.empty(0))

    @classmethod
    def of_steps(cls, steps: list[Step], epsilon: float, n_initial: int, *, counts_labels: bool) -> ProgressiveResult:
        """Return the result of these steps, each with a truth."""
        columns: dict[str, Any] = dict(zip(Step._fields, zip(*steps, strict=True), strict=False))
        dtypes = {"error": bool, "position": np.int64, "size": np.int64 if counts_labels else np.float64}
        arrays = {name: np.array(columns.get(name, ()), dtype=dtypes.get(name, np.float64)) for name in Step._fields}
        return cls(epsilon=epsilon, n_initial=n_initial, **arrays)

    def __len__(self) -> int:
        return int(self.error.shape[0])

    @property
    def cumulative_errors(self) -> np.ndarray:
        """Number of errors up to each example."""
        return np.cumsum(self.error)

    @property
    def running_error(self) -> np.ndarray:
        """Mean error up to each example."""
        return self._running(self.error)

    @property
    def running_size(self) -> np.ndarray:
        """Mean size up to each example."""
        return self._running(self.size)

    @property
    def running_excess(self) -> np.ndarray:
        """Mean excess up to each example."""
        return self._running(self.excess)

    def _running(self, values: np.ndarray) -> np.ndarray:
        return np.asarray(np.cumsum(values) / np.arange(1, len(self) + 1))

    def errors_at(self, epsilon: float) -> np.ndarray:
        """Return whether the set at another epsilon would have missed the truth: p <= epsilon, or never seen.

        Parameters
        ----------
        epsilon : float
            A significance level.

        Returns
        -------
        ndarray of bool of shape (t,)
        """
        if epsilon == self.epsilon:
            return self.error
        unknown = np.isnan(self.p)
        if unknown.all() and len(self):
            remedy = "a Venn predictor has no levels" if np.isnan(self.epsilon) else "run it at that level"
            msg = f"errors at epsilon={epsilon} need p-values, and the predictor gave none: {remedy}."
            raise ValueError(msg)
        return unknown | ~pvalues.exceeds(self.p, epsilon)

    def to_numpy(self) -> np.ndarray:
        """Return a record array with the fields p, error, size and excess.

        Returns
        -------
        ndarray of shape (t,)
        """
        return make_records(self, "p", "error", "size", "excess")

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, indexed by the position in the stream, with the running means and ends.

        Returns
        -------
        pandas.DataFrame
        """
        import pandas as pd

        running = {name: getattr(self, name) for name in ("running_error", "running_size", "running_excess")}
        ends = {} if np.isnan(self.lower).all() else {"lower": self.lower, "upper": self.upper}
        index = pd.Index(self.position, name="example")
        return pd.DataFrame(self.to_numpy(), index=index).assign(**ends, **running)


def progressive(
    predictor: Any,
    stream: Any,
    *,
    confidence_level: float | None = None,
    classes: Any = None,
    n_initial: int | None = None,
    delay: int = 0,
    on_step: Callable[[Step], Any] | None = None,
    verbose: int = 0,
) -> ProgressiveResult:
    """Let a predictor see a stream one example at a time: predict it, score the prediction, learn it.

    Parameters
    ----------
    predictor : conformal predictor with `partial_fit`
        A classifier or regressor, full or split (whose calibration set grows), a Venn predictor, a pipeline that ends
        in one of them, an `AdaptiveLevel` around one, or anything with their methods. It learns: it knows the whole
        stream afterwards. If it is fitted already, the first example is predicted.
    stream : iterable of pairs (x, y), or the pair (X, y)
        X may be an array, a frame, a sparse matrix or a list of texts or dicts; x is one of its rows. Dicts go as they
        are to models, pipelines and functions of two objects; of others, their values are taken in the order of the
        first one's keys. With precomputed values, x has those with all that the predictor knew before the stream, then
        with the examples of the stream, up to itself at least. Where y is None or nan, the label never comes: the
        example is predicted, and neither scored nor learned. Which labels come must not depend on the predictions.
    confidence_level : float, default=None
        None means 0.95, or the level of an `AdaptiveLevel`. Venn predictors have none.
    classes : array-like, default=None
        All labels that will ever come, if the classifier is not fitted yet. Without it, a label never seen is an error
        of the set, and then becomes a class.
    n_initial : int, default=None
        How many examples to learn before the first prediction. None means as few as possible: none if the predictor is
        fitted; else, for a classifier, one, or until there are two labels if `classes` are not given; for a regressor,
        1/epsilon - 1, since every interval is infinite before; twice as many for a split predictor. A pipeline needs a
        number, if it is not fitted: its transformers see these examples and no others.
    delay : int, default=0
        How many more examples are predicted before the label of one comes and is learned. Those that are still out when
        the stream ends come then.
    on_step : callable, default=None
        Called after each prediction, also where the label never comes, with a named tuple of `position`, `p`, `error`
        (None if the label never comes), `size`, `excess`, `lower` and `upper`. If it returns True, the run ends.
    verbose : int, default=0
        Above 0, a progress bar, if the stream has a length.

    Returns
    -------
    ProgressiveResult
        Arrays, an element for each example that was scored: `p`, `error`, `size`, `excess` (observed fuzziness, length
        of the interval, or log loss), `position`, `lower` and `upper`; with `cumulative_errors`, `running_error`,
        `running_size`, `running_excess`, and `errors_at(epsilon)`, the errors of sets at another level.

    Notes
    -----
    With `smoothed=True`, errors at different steps are independent, and their frequency is exactly epsilon, if the
    examples are exchangeable and their objects differ (equal objects have the same random number); otherwise errors are
    at most as frequent.

    With a delay, or where labels never come, each prediction is as valid as that of a fit on what is known by then, if
    it does not depend on the labels which of them come, and when.

    An error or an interruption leaves the predictor with all examples before it, and a stream that is an iterator after
    them: the same call goes on, but for labels that were still out. What has been scored was given to `on_step`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.utils import shuffle
    >>> from exactcp import FullConformalClassifier
    >>> from exactcp.measures import KNN
    >>> from exactcp.online import progressive
    >>> X, y = shuffle(*load_iris(return_X_y=True), random_state=0)
    >>> result = progressive(FullConformalClassifier(KNN(k=3)), (X, y), confidence_level=0.9)
    >>> len(result), result.n_initial, int(result.cumulative_errors[-1])
    (148, 2, 13)
    >>> float(result.running_size[-1].round(2))
    1.04
    """
    level = _level_of(predictor, confidence_level)
    epsilon = pvalues.significance(level)
    DELAY.check("delay", delay, 0)
    if kind_of(predictor) is Objects.PAIRS and hasattr(type(predictor), "n_examples_"):
        predictor, stream = GivenPredictor(predictor), given_rows(stream)
    judge = judge_of(predictor, level)
    pairs, total = (stream, None) if isinstance(predictor, GivenPredictor) else pairs_of(stream, predictor)
    arriving = iter(enumerate(pairs if total is None else progress(pairs, total, verbose, "learning")))
    n_initial = _learn_initial(predictor, arriving, classes, n_initial, epsilon)
    steps: list[Step] = []
    waiting: deque[tuple[Any, Any, Step]] = deque()
    for position, (x, y) in arriving:
        step = judge.judge(position, x, y)
        if step.error is not None:
            steps.append(step)
        waiting.append((x, y, step))
        if len(waiting) > delay:
            judge.learn(*waiting.popleft())
        if on_step is not None and on_step(step) is True:
            break
    for example in waiting:
        judge.learn(*example)
    counts_labels = is_classifier(predictor) and not is_venn(predictor)
    return ProgressiveResult.of_steps(
        steps, float("nan") if is_venn(predictor) else float(epsilon), n_initial, counts_labels=counts_labels
    )


def _level_of(predictor: Any, confidence_level: float | None) -> float:
    """Return the level of the sets: what is given, or that of an adaptive predictor."""
    if confidence_level is not None and is_venn(predictor):
        name = type(predictor).__name__
        msg = f"confidence_level={confidence_level} was given, and {name} has no levels: leave it out."
        raise ValueError(msg)
    if not isinstance(predictor, AdaptiveLevel):
        return LEVEL if confidence_level is None else confidence_level
    if confidence_level not in (None, predictor.confidence_level):
        msg = (
            f"confidence_level={confidence_level} was given, and AdaptiveLevel has a level of its own, "
            f"{predictor.confidence_level}: leave one out."
        )
        raise ValueError(msg)
    return predictor.confidence_level


def _learn_initial(
    predictor: Any, arriving: Iterator[tuple[int, Pair]], classes: Any, wanted: int | None, epsilon: Fraction
) -> int:
    """Learn the first examples without predicting them; return how many they were."""
    beginning = Beginning(predictor, epsilon, classes, wanted)
    while beginning.lacks_some:
        _, (x, y) = next(arriving, (0, (None, beginning)))
        if y is beginning:
            beginning.refuse_end()
        elif not is_missing(y):
            beginning.add(x, y)
    beginning.learn()
    return len(beginning)
