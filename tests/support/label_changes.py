"""Changes of a full conformal classifier, to be cut short: few and many examples, and labels that come and go."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactcp import FullConformalClassifier
from interruptions import assert_all_or_nothing

N = 40
_rng = np.random.default_rng(4)
X = np.concatenate([_rng.normal(size=(N, 2)), _rng.integers(-2, 3, (2 * N, 2))])
Y = np.concatenate([[2, 2], np.arange(3 * N - 2) % 2])  # two examples have the third label
PROBE = np.concatenate([_rng.normal(size=(7, 2)), X[:2]])  # enough for training scores to be sorted

CHANGES = {
    "learn one": lambda clf: clf.partial_fit(X[N : N + 1], Y[N : N + 1]),
    "learn few": lambda clf: clf.partial_fit(X[N : N + 3], Y[N : N + 3]),
    "learn many": lambda clf: clf.partial_fit(X[N:], Y[N:]),
    "unlearn one": lambda clf: clf.unlearn(7),
    "unlearn few": lambda clf: clf.unlearn([9, 30]),
    "unlearn many": lambda clf: clf.unlearn(np.arange(4, 26)),
    "a label comes": lambda clf: clf.partial_fit(X[N : N + 2], [1, 3]),
    "a label goes": lambda clf: clf.unlearn([0, 1]),
}


def _answers(clf: FullConformalClassifier) -> list[Any]:
    return [clf.classes_, clf.predict_p(PROBE)]


def assert_survives(measure: Any, change: str, error: type[BaseException] = KeyboardInterrupt, **where: Any) -> None:
    """Cut a change short at many places, and ask again each time."""

    def make() -> FullConformalClassifier:
        clf = FullConformalClassifier(measure, n_jobs=1).fit(X[: N - 1], Y[: N - 1])
        return clf.partial_fit(X[N - 1 : N], Y[N - 1 : N])  # so that there is room for the next one

    assert assert_all_or_nothing(make, CHANGES[change], _answers, error, **where) > 0
