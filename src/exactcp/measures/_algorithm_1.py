"""Algorithm 1 in the shape of a bag: for `algorithm="standard"`, and for measures that have no bag of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from exactcp import textbook
from exactcp._changes import ReplacingBag
from exactcp._parallel import map_blocks
from exactcp._warning import warn
from exactcp.counting.label_counts import LabelCounts
from exactcp.measures import Measure
from exactcp.pvalues import compare

LABELLED = "SplitConformalClassifier needs one."
ONE_CLASS = "SimplifiedKNN() and KDE() can, and need none."


class StandardBag(ReplacingBag):
    """Training examples and a measure; every question is answered by refitting, as the paper writes it."""

    def __init__(self, measure: Measure, X: np.ndarray, codes: np.ndarray, n_labels: int) -> None:
        self._measure = measure
        self._X = np.array(X)
        self._codes = np.array(codes)
        self._n_labels = n_labels
        self._warned = False
        self._arrivals = np.arange(codes.size)  # where bootstrap samples depend on them

    @property
    def n(self) -> int:
        """Number of examples."""
        return int(self._codes.size)

    def codes(self) -> np.ndarray:
        """Labels of the examples in the order of arrival."""
        return self._codes

    @property
    def sizes(self) -> np.ndarray:
        """Number of examples of each label."""
        return np.bincount(self._codes, minlength=self._n_labels)

    def warn_of_cost(self, m: int, alternative: str = LABELLED) -> None:
        """Say, once, how often the measure will be fitted for m test objects."""
        if self._warned:
            return
        self._warned = True
        refits = m * self._n_labels * (self.n + 1)
        msg = (
            f"{type(self._measure).__name__} cannot learn and unlearn one example, so full CP runs Algorithm 1: "
            f"{refits:,} refits for {m} test object(s). {alternative}"
        )
        warn(msg)

    def _precomputed(self) -> str | None:
        """Return which parameter says that X holds values between examples: "metric", "kernel" or none."""
        params = self._measure.get_params(deep=False)
        return next((name for name in ("metric", "kernel") if params.get(name) == "precomputed"), None)

    def _score(self, x: np.ndarray) -> tuple[textbook.ScoreFunction, np.ndarray, np.ndarray]:
        """Return the score function, the training objects and the test object as it takes them."""
        name = self._precomputed()
        if name is None:
            score = textbook.twin(self._measure) or textbook.refitted(lambda: clone(self._measure))
            return score, self._X, x
        n = self.n
        values = np.empty((n + 1, n + 1))
        values[:n, :n] = self._X
        values[n, :n] = values[:n, n] = x[:n]
        values[n, n] = self._X[0, 0]  # 0 for distances; a kernel's diagonal is constant
        # objects are numbers of rows, and the metric or kernel looks their values up
        named = clone(self._measure).set_params(**{name: lambda a, b: float(values[int(a[0]), int(b[0])])})
        objects = np.arange(n + 1.0)[:, None]
        score = textbook.twin(named) or textbook.refitted(lambda: clone(named))
        return score, objects[:n], objects[n]

    def scores(self, X: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield, for every row of X, the training scores (n_labels, n), and the candidates'."""
        train = textbook.trainer(self._measure, self._n_labels, *self._X.shape)
        for row in X:
            if train is not None:
                yield self._votes(train, row)
                continue
            score, objects, x = self._score(row)
            pairs = [textbook.algorithm_1(score, objects, self._codes, x, c) for c in range(self._n_labels)]
            yield np.array([training for training, _ in pairs]), np.array([candidate for _, candidate in pairs])

    def _votes(self, train: textbook.Trainer, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores of a measure that votes with bootstrap samples (Algorithm 3 of the paper)."""
        samples = self._measure.samples(self._arrivals, x)  # type: ignore[attr-defined]
        how = (samples, self._measure.get_params(deep=False)["n_estimators"])
        pairs = [textbook.bootstrap_votes(train, self._X, self._codes, x, c, *how) for c in range(self._n_labels)]
        return -np.array([votes for votes, _ in pairs], float), -np.array([votes for _, votes in pairs], float)

    def label_counts(self, X: np.ndarray, *, n_jobs: int | None = None, verbose: int = 0) -> LabelCounts:  # noqa: ARG002
        """Return counts and candidate scores of all labels for every row of X."""
        rule = {"floor": self._measure.tie_floor, "tolerance": self._measure.tie_tolerance}
        same = self._codes == np.arange(self._n_labels)[:, None]

        def count(i: int) -> list[np.ndarray]:
            training, candidate = next(self.scores(X[i : i + 1]))
            own = compare(np.where(same, training, np.nan), candidate, **rule)
            other = compare(np.where(same, np.nan, training), candidate, **rule)
            return [own.greater, own.equal, other.greater, other.equal, candidate]

        rows = map_blocks(count, range(X.shape[0]), n_jobs=1, verbose=verbose, task="refitting")
        shape = (X.shape[0], self._n_labels)
        return LabelCounts(*(np.array([row[j] for row in rows]).reshape(shape) for j in range(5)))

    def relabel(self, new_codes: np.ndarray, n_labels: int) -> None:
        """Rename label c to new_codes[c], out of n_labels."""
        self._codes = new_codes[self._codes]
        self._n_labels = n_labels

    def learn(self, X: np.ndarray, codes: np.ndarray, *, n_jobs: int | None = None) -> None:  # noqa: ARG002
        """Add examples."""
        n = self.n
        if self._precomputed():
            self._X = np.block([[self._X, X[:, :n].T], [X[:, :n], X[:, n:]]])
        else:
            self._X = np.concatenate([self._X, X])
        self._codes = np.concatenate([self._codes, codes])
        first = int(self._arrivals.max(initial=-1)) + 1
        self._arrivals = np.concatenate([self._arrivals, np.arange(first, first + codes.size)])

    def unlearn(self, indices: np.ndarray, *, n_jobs: int | None = None) -> None:  # noqa: ARG002
        """Forget the examples with these positions."""
        self._X = np.delete(self._X, indices, axis=0)
        if self._precomputed():
            self._X = np.delete(self._X, indices, axis=1)
        self._codes = np.delete(self._codes, indices)
        self._arrivals = np.delete(self._arrivals, indices)


def make_bag(measure: Measure, X: np.ndarray, codes: np.ndarray, n_labels: int, *, algorithm: str, **how: Any) -> Any:
    """Return the measure's own bag, or Algorithm 1 if it has none or the algorithm is the standard one."""
    bag = None if algorithm == "standard" else measure.bag(X, codes, n_labels, **how)
    return StandardBag(measure, X, codes, n_labels) if bag is None else bag
