"""The bootstrap bag: samples without the test example are trained once, the others for each test object and label."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, Protocol

import numpy as np

from exactcp._parallel import FREE, Effort, map_tasks
from exactcp._rows import copy_rows, count_rows, drop_rows, join_rows, take_rows
from exactcp._stored_frames import KeepsRows
from exactcp._warning import warn
from exactcp.counting.labels import LabelCounts
from exactcp.measures.forest._coded_bag import CodedBag
from exactcp.measures.forest._resampling import voters

Predictor = Callable[[Any], np.ndarray]


class Trainable(Protocol):
    """A measure that draws samples and trains on one."""

    n_estimators: int

    def samples(self, arrivals: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Return how often each sample holds each example, the test example last."""
        ...

    def train_on(self, X: Any, labels: np.ndarray, weights: np.ndarray) -> Predictor:
        """Train on a sample, given as the weight of each example."""
        ...


class BootstrapBag(KeepsRows, CodedBag):
    """State of full CP with the bootstrap measure (Algorithm 3 of the paper).

    Parameters
    ----------
    measure : Bootstrap
    X : objects
    codes : ndarray of shape (n,)
        Labels as 0..n_labels-1.
    n_labels : int
    """

    def __init__(self, measure: Trainable, X: Any, codes: np.ndarray, n_labels: int) -> None:
        self._measure = measure
        self._X = copy_rows(X)
        self._codes = np.array(codes, dtype=np.int64)
        self._n_labels = n_labels
        self._warned = False

    def fill(self, *, effort: Effort = FREE) -> BootstrapBag:
        """Draw samples, train on those without the test example, and let the examples vote."""
        n = self.n
        samples = self._measure.samples(np.arange(n), np.empty(0))
        chosen = voters(samples, int(self._measure.n_estimators))
        self._users = [np.flatnonzero((chosen[:n] == b).any(axis=1)) for b in range(samples.shape[0])]
        self._samples = samples
        used = [b for b in range(samples.shape[0]) if self._users[b].size or b in chosen[n]]
        self._stars = [b for b in used if samples[b, n]]
        alone = [b for b in used if not samples[b, n]]

        def train(b: int) -> Predictor:
            return self._measure.train_on(self._X, self._codes, samples[b, :n])

        models = dict(zip(alone, map_tasks(train, alone, effort=effort, task="training"), strict=True))
        self._votes = np.zeros(n, dtype=np.int64)
        for b, model in models.items():
            users = self._users[b]
            if users.size:
                self._votes[users] += model(take_rows(self._X, users)) == self._codes[users]
        self._models = [models[b] for b in chosen[n].tolist()]
        self._warned = False
        return self

    def _say_cost(self, m: int) -> None:
        if not self._warned:
            self._warned = True
            msg = (
                f"Bootstrap trains on {len(self._stars)} of its {self._samples.shape[0]} samples again for each test "
                f"object and label: {len(self._stars) * m * self._n_labels:,} trainings for {m} test object(s). "
                "RandomForest and SplitConformalClassifier need none."
            )
            warn(msg)

    def _star_votes(self, task: tuple[Any, int, int]) -> np.ndarray:
        """Return who of the users of a sample with the test example (x, label) is right."""
        x, label, b = task
        users = self._users[b]
        X, labels = join_rows(self._X, x), np.append(self._codes, label)
        return self._measure.train_on(X, labels, self._samples[b])(take_rows(self._X, users)) == self._codes[users]

    def _all_votes(self, X: Any, **how: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the votes (n_labels, n) of the training examples and (n_labels,) of the candidates, for each row."""
        m = count_rows(X)
        self._say_cost(m)
        stars = [b for b in self._stars if self._users[b].size]
        own = np.array([model(X) for model in self._models])  # (B, m)
        tasks = list(product([take_rows(X, np.array([i])) for i in range(m)], range(self._n_labels), stars))
        results = iter(map_tasks(self._star_votes, tasks, **how))
        for i in range(m):
            votes = np.tile(self._votes, (self._n_labels, 1))
            for label, b in product(range(self._n_labels), stars):
                votes[label, self._users[b]] += next(results)
            yield votes, (own[:, i] == np.arange(self._n_labels)[:, None]).sum(axis=1)

    def scores(self, X: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield, for every row of X, the training scores (n_labels, n), and the candidates'."""
        for votes, own in self._all_votes(X):
            yield -votes.astype(np.float64), -own.astype(np.float64)

    def label_counts(self, X: Any, *, effort: Effort = FREE) -> LabelCounts:
        """Return counts and candidate scores of all labels for every row of X."""
        same = self._codes == np.arange(self._n_labels)[:, None]
        rows = []
        for votes, own in self._all_votes(X, effort=effort, task="training"):
            fewer, equal = votes < own[:, None], votes == own[:, None]
            parts = [(which & part).sum(axis=1) for part in (same, ~same) for which in (fewer, equal)]
            rows.append([*parts, -own.astype(np.float64)])
        return LabelCounts(*(np.array([row[j] for row in rows]) for j in range(5)))

    def learn(self, X: Any, codes: np.ndarray, *, effort: Effort = FREE) -> None:
        """Add examples: the samples are drawn anew."""
        self._X, self._codes = join_rows(self._X, X), np.concatenate([self._codes, codes])
        self.fill(effort=effort)

    def unlearn(self, indices: np.ndarray, *, effort: Effort = FREE) -> None:
        """Forget the examples with these positions: the samples are drawn anew."""
        self._X, self._codes = drop_rows(self._X, indices), np.delete(self._codes, indices)
        self.fill(effort=effort)
